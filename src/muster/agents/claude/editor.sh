#!/bin/sh
# Claude Code runs this when it is asked to open an editor on what is being written: with a message of muster's it is filled in as it
# is, which a paste would not do; else it is the user's own editor. Written by muster.
composed=${0%/*}/composed
if [ -f "$composed" ]; then
  cat "$composed" >"$1" && exec rm -f "$composed"
fi
exec sh -c "${MUSTER_VISUAL:-${EDITOR:-vi}} \"\$@\"" sh "$@"

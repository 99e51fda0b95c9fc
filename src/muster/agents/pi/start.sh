# Starts pi in the place of this shell. Written by muster; see docs/agent-types.md.
#     start.sh RESUME TOLD MESSAGE [ARG...]
# RESUME: `yes` goes on with the conversation in $MUSTER_DIR, if there is one; TOLD: `yes` where MESSAGE is its first one.
resume=$1 told=$2 message=$3
shift 3
if [ "$resume" = yes ] && [ -f "$MUSTER_DIR/conversation.jsonl" ]; then
  set -- "$@" --session "$(readlink "$MUSTER_DIR/conversation.jsonl")"
fi
if [ "$told" = yes ]; then
  export MUSTER_FIRST=yes
  set -- "$@" "$message"
fi
export MUSTER_PI=$$
exec pi --extension "$MUSTER_DIR/muster.js" "$@"

# Starts opencode in the place of this shell. Written by muster; see docs/agent-types.md.
#     start.sh RESUME ADOPT TOLD MESSAGE [ARG...]
# RESUME: `yes` goes on with the conversation in $MUSTER_DIR, if there is one; ADOPT: the id of one to begin with a copy of, or
# nothing; TOLD: `yes` where MESSAGE is its first one.
resume=$1 adopt=$2 told=$3 message=$4
shift 4
opens=home

# Without a first message there is no conversation yet. One of another agent goes on as a copy.
if [ "$resume" = yes ] && [ -f "$MUSTER_DIR/session" ] && read -r owner id <"$MUSTER_DIR/session"; then
  opens=session
  set -- "$@" --session "$id"
  if [ "$owner" = "$MUSTER_AGENT_ID" ]; then export MUSTER_SESSION="$id"; else set -- "$@" --fork; fi
elif [ -n "$adopt" ]; then
  opens=session
  set -- "$@" --session "$adopt" --fork
fi
if [ "$told" = yes ]; then
  opens=turn
  set -- "$@" "--prompt=$message"
fi
echo "$opens" >"$MUSTER_DIR/opens"

# This process becomes opencode, and the plugin knows it by its number.
export MUSTER_OPENCODE=$$
exec opencode "$@"

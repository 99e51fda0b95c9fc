# Starts Gemini CLI in the place of this shell. Written by muster; see docs/agent-types.md.
#     start.sh RESUME TOLD MESSAGE [ARG...]
# RESUME: `yes` goes on with the conversation in $MUSTER_DIR, if there is one; TOLD: `yes` where MESSAGE is its first one.
resume=$1 told=$2 message=$3
shift 3
if [ "$resume" = yes ] && [ -f "$MUSTER_DIR/conversation.jsonl" ] && read -r id <"$MUSTER_DIR/session"; then
  set -- "$@" --resume "$id"
else
  id=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n' | sed 's/^\(.\{8\}\)\(.\{4\}\).\(.\{3\}\).\(.\{3\}\)\(.\{12\}\)$/\1-\2-4\3-8\4-\5/')
  echo "$id" >"$MUSTER_DIR/session"
  rm -f "$MUSTER_DIR/conversation.jsonl"
  set -- "$@" --session-id "$id"
fi
# Below all settings of the user's: with a key it does not ask how to sign in. (It reads no such file below a folder that others
# may write to.)
[ -z "$GEMINI_API_KEY" ] || export GEMINI_CLI_SYSTEM_DEFAULTS_PATH="$MUSTER_DIR/defaults.json"
export GEMINI_CLI_NO_RELAUNCH=true
rm -f "$MUSTER_DIR/told"
if [ "$told" = yes ]; then
  : >"$MUSTER_DIR/told"
  set -- "$@" "--prompt-interactive=$message"
fi
# The workspace is muster's own, made from a repository that the user chose.
exec gemini --skip-trust "$@"

#!/bin/sh
# Claude Code runs this at each event of its session; what it does goes to muster. Written by muster.
event=$1
M=$MUSTER_DIR
# Most tools ask nobody, so most of these have nothing to say.
[ "$event" != PostToolUse ] || grep -qs '^[0-9.]* blocked' "$M/state" || exit 0
input=$(cat)

# A text of the event, as JSON has it on its one line: a quote within a text is escaped, so none can pass for a key.
field() { printf '%s\n' "$input" | sed -nE "s/.*\"$1\":\"(([^\"\\\\]|\\\\.)*)\".*/\1/p" | sed 's/\\[nrt]/ /g; s/\\\(.\)/\1/g'; }

# Which conversation is its, for receipts, transcripts and the next start. A copy has none before its first message.
remember() {
  path=$(field transcript_path)
  [ -n "$path" ] || return 0
  [ "$event" != SessionStart ] || [ -f "$path" ] || [ ! -f "$M/transcript.jsonl" ] || return 0
  case $path in "$M"/*) path=${path#"$M"/} ;; esac
  ln -sfn "$path" "$M/transcript.jsonl"
  printf '%s %s\n' "$MUSTER_AGENT_ID" "$(field session_id)" >"$M/session.$$" && mv -f "$M/session.$$" "$M/session"
}

# once STATUS KIND REASON: put it down, and say it as soon as the status file agrees, so that whoever is told finds it true; it is
# not said if it doesn't come to that, or something else happened meanwhile.
once() {
  printf '%s %s %s\n' "$(date +%s.%N | sed 's/[^0-9.].*//; s/\.$//')" "$2" "$3" >"$M/state.$$" && mv -f "$M/state.$$" "$M/state"
  before=$(cat "$M/state")
  (
    tries=0
    while [ -f "$M/status.json" ] && ! grep -q "\"status\":\"$1\"" "$M/status.json"; do
      tries=$((tries + 1))
      [ "$tries" -lt 250 ] || exit 0
      sleep 0.02
    done
    [ "$before" = "$(cat "$M/state")" ] && "$MUSTER_NOTE" "$2" "$3"
  ) </dev/null >/dev/null 2>&1 &
}

what() {
  tool=$(field tool_name)
  case $tool in
    AskUserQuestion) echo "question: $(field question)" ;;
    ExitPlanMode) echo "question: shall it go on with its plan?" ;;
    Bash) echo "permission: $tool: $(field command)" ;;
    *) echo "permission: $tool: $(field file_path)" ;;
  esac
}

failure() {
  case $1 in
    rate_limit) echo "rate limit" ;;
    server_error | overloaded*) echo "overload or server error" ;;
    authentication*) echo "authentication" ;;
    billing*) echo "billing" ;;
    *) echo "$1" | tr _ ' ' ;;
  esac
}

case $event in
  SessionStart)
    remember
    # With a first message to read it is not ready for another, and a compaction is no start.
    [ -n "$MUSTER_FIRST" ] || [ "$(field source)" = compact ] || once idle waiting ""
    ;;
  UserPromptSubmit) remember; "$MUSTER_NOTE" working ;;
  PostToolUse) "$MUSTER_NOTE" working ;;
  PermissionRequest) once waiting blocked "$(what)" ;;
  Stop) remember; once idle waiting "" ;;
  StopFailure) remember; once idle waiting "API failure: $(failure "$(field error)")" ;;
esac
exit 0

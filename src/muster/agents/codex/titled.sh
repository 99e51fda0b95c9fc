# muster.sh reads this when Codex has changed its terminal's title, STATUS | THREAD: it finds that thread's log, and says what is
# done as soon as the log agrees, so that whoever is told finds it true. Written by muster.
thread=${title##* | }
thread=${thread%...}
case $thread in
  *[!0-9a-f-]*) return 0 ;;
  ????????-????-*) ;;
  *) return 0 ;;
esac
. "$d/env"

# found: where the log of that thread is; it is in the folder of the day on which the thread began.
found() {
  for path in "$d/codex-home/sessions/$(date +%Y/%m/%d)"/rollout-*"$thread"*.jsonl "$d"/codex-home/sessions/*/*/*/rollout-*"$thread"*.jsonl; do
    [ -f "$path" ] && return 0
  done
  return 1
}

# remember: for receipts, transcripts and the next start. A second name for the same file stays when Codex tidies up.
remember() {
  [ "$path" -ef "$d/conversation.jsonl" ] && read -r owner _ <"$d/rollout" && [ "$owner" = "$MUSTER_AGENT_ID" ] && return 0
  { ln "$path" "$d/conversation.$$" 2>/dev/null || ln -s "$(cd "${path%/*}" && pwd -P)/${path##*/}" "$d/conversation.$$"; } &&
    mv -f "$d/conversation.$$" "$d/conversation.jsonl"
  rm -f "$d/conversation.$$" # two names of one file are not moved over each other
  printf '%s %s\n' "$MUSTER_AGENT_ID" "${path#"$d/codex-home/"}" >"$d/rollout.$$" && mv -f "$d/rollout.$$" "$d/rollout"
}

# last TYPES: the type of the last line of one of these types.
last() { tail -c 600000 "$path" | grep -aoE "\"type\":\"($1)\"" | tail -n 1; }

# within COMMAND...: do it until it succeeds, for two seconds at the most.
within() {
  tries=0
  until "$@"; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || return 1
    sleep 0.02
  done
}

# The message that began the turn is in the log, a moment after the title.
taken() { found && remember && case $(last 'task_started|UserMessage') in *UserMessage*) ;; *) return 1 ;; esac }

over() { case $(last 'task_started|task_complete|turn_aborted') in *task_started*) return 1 ;; esac }

# asked: what the dialog on the screen is about.
asked() {
  screen=$(t capture-pane -p -t "=$1:0.0")
  case $screen in
    *'1. '*) ;;
    *) return 1 ;;
  esac
  case $screen in
    *'run the following command?'*) reason="permission: command: $(printf '%s\n' "$screen" | sed -n 's/^ *\$ //p' | tail -n 1)" ;;
    *'make the following edits?'*) reason="permission: edit: $(printf '%s\n' "$screen" | sed -n 's/^ *Destination: //p' | tail -n 1)" ;;
    *) reason="question: $(printf '%s\n' "$screen" | sed -n 's/^ *\([^ ].*?\)$/\1/p' | tail -n 1)" ;;
  esac
}

case $title in
  *'Action Required'*)
    reason=question
    within asked "$1"
    note "$1" blocked "$reason"
    ;;
  Ready*)
    if found; then
      remember
      # After a crash it was not over, and nothing will say so.
      ! grep -qs ' working ' "$d/state" || within over
    fi
    note "$1" waiting
    ;;
  Starting*) ;;
  *)
    within taken
    note "$1" working
    ;;
esac

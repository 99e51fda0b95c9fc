# Starts aider in the place of this shell. Written by muster; see docs/agent-types.md.
#     start.sh RESUME [ARG...]
resume=$1
shift
[ "$resume" = no ] || [ ! -f "$MUSTER_DIR/conversation.md" ] || set -- --restore-chat-history "$@"
: >>"$MUSTER_DIR/told"
wc -c <"$MUSTER_DIR/told" >"$MUSTER_DIR/answered"
# It notifies when it has answered, and not when it waits for the first time: its screen tells.
(
  tries=0
  while [ "$tries" -lt 600 ] && [ ! -f "$MUSTER_DIR/state" ]; do
    shown=$(tmux capture-pane -p -t "$TMUX_PANE" | grep -v '^ *$' | tail -n 1)
    case $shown in
      *'(Y)es/(N)o'*) "$MUSTER_NOTE" blocked "question: $shown" ;;
      [a-z-]*'>' | [a-z-]*'> ' | '>' | '> ') "$MUSTER_NOTE" waiting ;;
    esac
    tries=$((tries + 1))
    sleep 0.1
  done
) </dev/null >/dev/null 2>&1 &
exec aider --chat-history-file "$MUSTER_DIR/conversation.md" --input-history-file "$MUSTER_DIR/told" \
  --notifications --notifications-command "sh '$MUSTER_DIR/waits.sh'" --no-check-update --no-show-release-notes --no-gitignore "$@"

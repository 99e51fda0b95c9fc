# aider runs this when it waits for input. Written by muster.
wc -c <"$MUSTER_DIR/told" >"$MUSTER_DIR/answered"
(
  # What it asks is on the screen a moment later.
  sleep 0.2
  shown=$(tmux capture-pane -p -t "$TMUX_PANE" | grep -v '^ *$' | tail -n 1)
  case $shown in
    *'(Y)es/(N)o'*) "$MUSTER_NOTE" blocked "question: $shown" ;;
    *) "$MUSTER_NOTE" waiting ;;
  esac
) </dev/null >/dev/null 2>&1 &

# aider runs this when it waits for input. Written by muster.
# failure: what its chat history has of an error, since it was told something the last time.
failure() {
  said=$(sed -n '/^#### /h; /^#### /!H; ${x;p;}' "$MUSTER_DIR/conversation.md" | grep -oE 'litellm\.[A-Za-z]*(Error|Timeout)' | tail -n 1)
  case $said in
    '') ;;
    *Authentication* | *PermissionDenied*) echo "API failure: authentication" ;;
    *RateLimit*) echo "API failure: rate limit" ;;
    *InternalServer* | *ServiceUnavailable* | *Timeout) echo "API failure: overload or server error" ;;
    *) echo "API failure: ${said#litellm.}" ;;
  esac
}

wc -c <"$MUSTER_DIR/told" >"$MUSTER_DIR/answered"
(
  # What it asks is on the screen a moment later.
  sleep 0.2
  shown=$(tmux capture-pane -p -t "$TMUX_PANE" | grep -v '^ *$' | tail -n 1)
  case $shown in
    *'(Y)es/(N)o'*) "$MUSTER_NOTE" blocked "question: $shown" ;;
    *) "$MUSTER_NOTE" waiting "$(failure)" ;;
  esac
) </dev/null >/dev/null 2>&1 &

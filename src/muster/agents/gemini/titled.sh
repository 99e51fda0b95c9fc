# muster.sh reads this when Gemini CLI has changed its terminal's title, which says what it does. Written by muster.
. "$d/env"
link() {
  read -r id <"$d/session"
  for path in "$HOME"/.gemini/tmp/*/chats/session-*"${id%%-*}"*.jsonl; do
    [ ! -f "$path" ] || ln -sfn "$path" "$d/conversation.jsonl"
  done
}
case $title in
  *'Action Required'*)
    question=$(t capture-pane -p -t "=$1:0.0" | sed -n 's/.*\(\(Allow execution of\|Apply this change\|Do you want\)[^?]*?\).*/\1/p' | tail -n 1)
    note "$1" blocked "permission: ${question:-it asks something}"
    ;;
  *Ready*)
    link
    # With a first message to read it is not ready for another.
    [ -f "$d/told" ] && [ ! -f "$d/state" ] || note "$1" waiting
    ;;
  *Working* | *Thinking*)
    link
    note "$1" working
    ;;
esac

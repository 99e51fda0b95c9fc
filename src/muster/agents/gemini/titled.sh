# muster.sh reads this when Gemini CLI has changed its terminal's title, which says what it does. Written by muster.
. "$d/env"
link() {
  read -r id <"$d/session"
  for path in "$HOME"/.gemini/tmp/*/chats/session-*"${id%%-*}"*.jsonl; do
    [ ! -f "$path" ] || ln -sfn "$path" "$d/conversation.jsonl"
  done
}

# last: which kind the last message of its log is of, once that is not one it was told.
last() {
  tries=0
  while kind=$(tail -c 100000 "$d/conversation.jsonl" | grep -aoE '"type":"(user|gemini|error|info)"' | grep -v info | tail -n 1) && [ "$kind" = '"type":"user"' ] && [ "$tries" -lt 50 ]; do
    tries=$((tries + 1))
    sleep 0.02
  done
  echo "$kind"
}

# failure: why the turn ended, if that was an error.
failure() {
  [ -f "$d/conversation.jsonl" ] && [ "$(last)" = '"type":"error"' ] || return 0
  said=$(grep -a '"type":"error"' "$d/conversation.jsonl" | tail -n 1 | sed 's/.*"content":"//; s/"}$//; s/\\"/"/g')
  case $said in
    *'"code":401'* | *'"code":403'* | *'API key not valid'*) said=authentication ;;
    *'"code":402'*) said=billing ;;
    *'"code":429'*) said="rate limit" ;;
    *'"code":5'*) said="overload or server error" ;;
  esac
  echo "API failure: $said"
}

case $title in
  *'Action Required'*)
    question=$(t capture-pane -p -t "=$1:0.0" | sed -n 's/.*\(\(Allow execution of\|Apply this change\|Do you want\)[^?]*?\).*/\1/p' | tail -n 1)
    note "$1" blocked "permission: ${question:-it asks something}"
    ;;
  *Ready*)
    link
    # With a first message to read it is not ready for another.
    [ -f "$d/told" ] && [ ! -f "$d/state" ] || note "$1" waiting "$(failure)"
    ;;
  *Working* | *Thinking*)
    link
    note "$1" working
    ;;
esac

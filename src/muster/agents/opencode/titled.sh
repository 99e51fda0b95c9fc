# muster.sh reads this when opencode has changed its terminal's title. It does so for the first time a moment before it takes a
# message, which it would lose until its screen shows what it opens: its start page, or a conversation. Written by muster.
ready() {
  case $(cat "$d/opens"):$(t capture-pane -p -t "=$1:0.0") in
    home:*'Ask anything'*) ;;
    session:*'Ask anything'*) return 1 ;;
    session:*'ctrl+p commands'*) ;;
    *) return 1 ;;
  esac
}

case $title in
  OpenCode* | OC*)
    tries=0
    while [ ! -f "$d/state" ] && [ "$tries" -lt 300 ] && ! grep -qsx turn "$d/opens"; do
      if ready "$1"; then note "$1" waiting; fi
      tries=$((tries + 1))
      sleep 0.1
    done
    ;;
esac

#!/bin/sh
# muster's hand on this host. Installed by muster; needs sh, tmux and what every system has beside them.
M=@ROOT@
S=@SOCKET@
TAB=$(printf '\t')

# Without a locale, which a host may not have, it would show only ASCII.
t() { tmux -u -S "$S" "$@"; }

# clock: seconds since 1970, as fine as the system's date can tell.
clock() {
  now=$(date +%s.%N)
  case $now in *[!0-9.]*) now=$(date +%s) ;; esac
  echo "$now"
}

# event ID KIND DETAIL: one line for everybody who waits.
event() { printf '%s\t%s\t%s\t%s\n' "$(date +%s)" "$1" "$2" "$3" >>"$M/events"; }

# note ID KIND [REASON]: what an agent's program says of itself.
note() {
  d=$M/agents/$1
  [ -d "$d" ] || return 0
  reason=$(printf %s "$3" | tr '\n\t\r' '   ' | tr -d '\000-\037\177' | cut -c 1-500)
  now=$(clock)
  if [ -f "$d/state" ] && read -r since kind old <"$d/state" && [ "$kind $old" = "$2 $reason" ]; then now=$since; fi
  printf '%s %s %s\n' "$now" "$2" "$reason" >"$d/state.$$" && mv -f "$d/state.$$" "$d/state"
  event "$1" "$2" "$reason"
}

# ended ID WINDOW =STATUS =SIGNAL PID: tmux calls this when a pane's program has ended.
ended() {
  [ "$2" = 0 ] && [ -d "$M/agents/$1" ] || return 0
  printf '%s %s %s %s\n' "$(date +%s)" "$3" "$4" "$5" >"$M/agents/$1/exit.$$" && mv -f "$M/agents/$1/exit.$$" "$M/agents/$1/exit"
  event "$1" ended "$3 $4"
}

# titled ID: tmux calls this when a program that says by its terminal's title what it does has changed it.
# Its type's script finds there: $1 the agent's id, $d its folder, $title, and all that is defined here.
titled() {
  d=$M/agents/$1
  [ -d "$d" ] || return 0
  title=$(title "$1")
  if [ -f "$d/titled.sh" ]; then . "$d/titled.sh"; else event "$1" titled "$title"; fi
  # Another change may have been told of meanwhile: whoever speaks last makes sure that it is true.
  [ "$(title "$1")" = "$title" ] || titled "$1"
}

title() { t display-message -p -t "=$1:0.0" '#{pane_title}'; }

panes() { t list-panes -a -F "$1 pane #{session_name} #{window_index}.#{pane_index} #{pane_pid} #{pane_dead} =#{pane_dead_status} =#{pane_dead_signal} =#{pane_dead_time} =#{window_activity} #{pane_title}" 2>/dev/null; }

# look TOKEN SCREENS TAILS FILES: the evidence for all agents here. Lines of ours begin with TOKEN, so no screen can forge one.
# TAILS are patterns of logs whose end is wanted, FILES patterns of small files.
look() {
  token=$1 screens=$2 tails=$3 files=$4
  # The size comes first: a watch from there on misses nothing that happens after this look.
  [ -f "$M/events" ] && printf '%s events %s\n' "$token" "$(wc -c <"$M/events")"
  printf '%s now %s\n' "$token" "$(clock)"
  panes=$(panes "$token")
  case $panes in
    # Where tmux keeps the login records, it can miss that a program has ended (tmux issue 311); asked, it looks again.
    *" 1 = = "*) kill -CHLD "$(t display-message -p '#{pid}')" 2>/dev/null && panes=$(panes "$token") ;;
  esac
  printf '%s\n' "$panes"
  # Not quoted: they are patterns. A log of JSON lines can't forge the head that `tail` prints before each file.
  cd "$M/agents" 2>/dev/null && grep -asH '' /dev/null ./*/state ./*/exit $files | sed "s/^/$token file /"
  [ -z "$tails" ] || { tail -c 16384 /dev/null $tails 2>/dev/null; echo; } | sed "s|^==> \(\./.*\) <==\$|$token tail \1|"
  # Line by line within this shell, since `read` would ask the system for each byte; a title is no pattern.
  set -f
  words= IFS='
'
  for line in $panes; do
    line=${line#* pane } id=${line%% *}
    case $id in *[!a-z0-9]*) continue ;; esac
    case $line in "$id 0.0 "*) ;; *) continue ;; esac
    # A program that has said nothing yet may show a dialog of its first start.
    [ "$screens" = yes ] || { [ -f "$id/opening" ] && [ ! -f "$id/state" ]; } || continue
    words="$words display-message -p -t '=$id:0.0' '$token screen $id' \\; capture-pane -p -t '=$id:0.0' \\;"
  done
  set +f
  unset IFS
  [ -z "$words" ] || eval "t $words" 2>/dev/null
}

# processes, tree: of muster/core/tree.sh.
@TREE@

# stop ID...: end these sessions and every process in them; asked first, then made to.
stop() {
  roots=
  for id in "$@"; do
    roots="$roots $(t list-panes -s -t "=$id" -F '#{pane_pid}' 2>/dev/null | tr '\n' ' ')"
    # A set-up whose create was killed; its number may be another process' by now, which has another environment.
    if [ -f "$M/agents/$id/setup.pid" ] && pid=$(cat "$M/agents/$id/setup.pid"); then
      { [ ! -d /proc/self ] || grep -qs "agents/$id" "/proc/$pid/environ"; } && roots="$roots $pid"
    fi
  done
  pids=$(tree $roots)
  for id in "$@"; do t kill-session -t "=$id" 2>/dev/null; done
  end $pids
}

# clear ID: end what a command that was cut short still does in these folders; nobody waits for it any more.
clear() {
  if [ -d /proc/self ]; then
    pids=$(grep -laE "(work|agents)/$1" /proc/[0-9]*/cmdline 2>/dev/null | sed 's|^/proc/\([0-9]*\)/.*|\1|')
  else
    pids=$(ps -A -ww -o pid= -o args= | awk -v id="$1" '$0 ~ "(work|agents)/" id { print $1 }')
  fi
  end $(tree $pids)
}

# end PID...: wait for these processes to go (their terminal is closed), then ask, then make them.
end() {
  [ $# -eq 0 ] && return 0
  for try in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    left=
    for pid in "$@"; do kill -0 "$pid" 2>/dev/null && left="$left $pid"; done
    # A zombie answers kill -0 but has ended; `tree` leaves those out.
    [ -n "$left" ] && [ "$try" -gt 2 ] && left=$(tree $left)
    [ -z "$left" ] && return 0
    set -- $left
    case $try in
      8) kill -TERM "$@" 2>/dev/null ;;
      2[0-9]) kill -KILL "$@" 2>/dev/null ;;
    esac
    case $try in 0 | 1 | 2) sleep 0.01 ;; *) sleep 0.05 ;; esac
  done
  echo "still there: $*" >&2
  return 1
}

# scrollback ID...: what their terminals showed, added to what is kept of them.
scrollback() {
  for id in "$@"; do
    f=$M/agents/$id/scrollback
    # What `$( )` holds has lost its last line ends.
    shown=$(t capture-pane -p -e -J -S - -t "=$id:0.0" 2>/dev/null) && [ -n "$shown" ] && [ -d "${f%/*}" ] || continue
    { [ ! -f "$f" ] || tail -c 20000000 "$f"; printf '%s\n' "$shown"; } >"$f.$$" && mv -f "$f.$$" "$f"
  done
  return 0
}

# watch OFFSET: the events from there on, for ever; it ends when the tmux server does, if the system's tail can tell.
watch() {
  : >>"$M/events"
  server=$(t display-message -p '#{pid}' 2>/dev/null)
  if [ -n "$server" ] && tail --version >/dev/null 2>&1; then
    exec tail --pid="$server" -c "+$(($1 + 1))" -f "$M/events"
  fi
  exec tail -c "+$(($1 + 1))" -f "$M/events"
}

# linked OFFSET: the same, until the other end of our standard input has gone: nothing else tells us of that.
linked() {
  exec 3<&0
  watch "$1" 3<&- &
  watch=$! nudge=
  # Here, too, tmux can miss an end (see `look`), and nobody else would ask it while somebody waits.
  if server=$(t display-message -p '#{pid}' 2>/dev/null) && [ -n "$server" ]; then
    while kill -CHLD "$server" && sleep 0.2; do :; done >/dev/null 2>&1 3<&- &
    nudge=$!
  fi
  { cat <&3; kill "$watch" $nudge; } >/dev/null 2>&1 &
  exec 3<&-
  wait "$watch"
  [ -z "$nudge" ] || kill "$nudge" 2>/dev/null
}

command=$1
shift
"$command" "$@"

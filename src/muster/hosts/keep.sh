# The first process of a container of muster's: it keeps the container there, and ends it when it is idle or too old.
# FOLDER IDLE LIFE: seconds, 0 for never. Orphans of ended programs are reaped by the shell's wait.
folder=$1 idle=$2 life=$3
case $folder in "~/"*) folder=$HOME/${folder#"~/"} ;; esac
trap 'exit 0' TERM INT
begun=$(date +%s)

# active: when something last happened here: a screen changed, a key was pressed, an agent was made; now while one works.
active() {
  last=$begun
  for at in $(tmux -S "$folder/tmux.sock" list-windows -a -F '#{window_activity}' \; list-clients -F '#{client_activity}' 2>/dev/null) \
    $(for one in events agents work; do date -r "$folder/$one" +%s 2>/dev/null; done); do
    [ "$at" -gt "$last" ] && last=$at
  done
  for state in "$folder"/agents/*/state; do
    read -r _ kind _ <"$state" 2>/dev/null || continue
    id=${state%/state} id=${id##*/}
    [ "$kind" = working ] && [ "$(tmux -S "$folder/tmux.sock" display-message -p -t "=$id:0.0" '#{pane_dead}' 2>/dev/null)" = 0 ] && last=$(date +%s)
  done
  echo "$last"
}

step=86400
for bound in "$idle" "$life"; do
  [ "$bound" -gt 0 ] && [ $((bound / 10)) -lt "$step" ] && step=$((bound / 10))
done
[ "$step" -lt 1 ] && step=1
[ "$step" -gt 60 ] && [ "$step" -lt 86400 ] && step=60

while :; do
  sleep "$step" &
  wait $!
  now=$(date +%s)
  [ "$life" -gt 0 ] && [ $((now - begun)) -ge "$life" ] && exit 0
  [ "$idle" -gt 0 ] && [ $((now - $(active))) -ge "$idle" ] && exit 0
done

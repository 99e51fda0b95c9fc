# processes: PID STATE PPID PGID SESSION of all, from /proc where there is one (a small container has no ps).
processes() {
  if [ -r /proc/self/stat ]; then
    cat /proc/[0-9]*/stat 2>/dev/null | sed -n 's/^\([0-9]*\) (.*) \([A-Za-z]\) \([0-9]*\) \([0-9]*\) \([0-9]*\) .*/\1 \2 \3 \4 \5/p'
  else
    ps -A -o pid= -o state= -o ppid= -o pgid= -o pgid=
  fi
}

# tree PID...: those that live of them, of all below them, and of all in their sessions and groups.
tree() {
  processes | awk -v roots="$*" '
    $2 !~ /^Z/ { parent[$1] = $3; group[$1] = $4; session[$1] = $5 }
    END {
      n = split(roots, r, " "); for (i = 1; i <= n; i++) found[r[i]] = 1
      do {
        more = 0
        for (p in parent) if (!(p in found) && ((parent[p] in found) || (group[p] in found) || (session[p] in found))) { found[p] = 1; more = 1 }
      } while (more)
      for (p in found) if (p in parent) print p
    }'
}

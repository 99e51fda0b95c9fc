# Starts Claude Code in the place of this shell. Written by muster; see docs/agent-types.md.
#     start.sh RESUME ADOPT [ARG...]    RESUME: `yes` goes on with the conversation in $MUSTER_DIR, if there is one;
#                                       ADOPT: the id of one to begin with a copy of, or nothing
resume=$1 adopt=$2
shift 2

# The user's own set-up where there is one, and it is not written to. A HOME that Claude Code was never set up in gets its answers to
# the questions of a first start in a folder of the agent's own.
theirs=${CLAUDE_CONFIG_DIR:-$HOME}/.claude.json elsewhere=${CLAUDE_CONFIG_DIR:-$HOME/.claude}
if [ ! -d "$MUSTER_DIR/claude" ] && grep -qs '"hasCompletedOnboarding": *true' "$theirs"; then
  config=$elsewhere settings=settings.json
  case $ANTHROPIC_API_KEY in
    '') ;;
    *)
      # A key that nobody approved there would be asked about. With a login it is not needed, without one muster vouches for it.
      tail=${ANTHROPIC_API_KEY#"${ANTHROPIC_API_KEY%????????????????????}"}
      if ! grep -qsF "\"$tail\"" "$theirs"; then
        if [ ! -f "$config/.credentials.json" ] && ! grep -qs '"oauthAccount": *{' "$theirs"; then settings=with-key.json; fi
        unset ANTHROPIC_API_KEY
      fi
      ;;
  esac
else
  config=$MUSTER_DIR/claude settings=settings.json
  if [ ! -f "$config/.claude.json" ]; then
    tail=${ANTHROPIC_API_KEY#"${ANTHROPIC_API_KEY%????????????????????}"}
    answers='{"hasCompletedOnboarding":true,"theme":"dark","customApiKeyResponses":{"approved":["%s"],"rejected":[]}}\n'
    (umask 077 && mkdir -p "$config" && printf "$answers" "$tail" >"$config/.claude.json")
  fi
  export CLAUDE_CONFIG_DIR="$config"
fi

# held ID FILE...: the conversation of that id, in a place where Claude Code finds it.
held() {
  id=$1
  shift
  for found in "$config"/projects/*/"$id".jsonl "$@"; do
    [ -f "$found" ] || continue
    # Within one set-up it is found by its id, whichever folder it was held in.
    case $found in
      "$config"/*) ;;
      *) mkdir -p "$config/projects/adopted" && cp "$found" "$config/projects/adopted/$id.jsonl" ;;
    esac
    return 0
  done
  return 1
}

# Without a first message there is no conversation yet. What was restored, maybe on another machine, has a copy of its own.
log=$MUSTER_DIR/transcript.jsonl
if [ "$resume" = yes ] && read -r owner id 2>/dev/null <"$MUSTER_DIR/session" && held "$id" "$log" "$log.kept"; then
  # One of another agent goes on as a copy.
  if [ "$owner" = "$MUSTER_AGENT_ID" ]; then set -- --resume "$id" "$@"; else set -- --resume "$id" --fork-session "$@"; fi
elif [ -n "$adopt" ]; then
  if ! held "$adopt" "$elsewhere"/projects/*/"$adopt".jsonl; then
    echo "there is no conversation $adopt in $config or $elsewhere"
    exit 1
  fi
  set -- --resume "$adopt" --fork-session "$@"
fi

# The editor that it opens with the keys for one is ours, and in all other cases the user's own. Within another agent that is not ours.
case $VISUAL in */agents/*/editor.sh) unset MUSTER_VISUAL ;; *) export MUSTER_VISUAL="$VISUAL" ;; esac
chmod +x "$MUSTER_DIR/editor.sh"
export VISUAL="$MUSTER_DIR/editor.sh"

# This process becomes Claude Code, which keeps its state under its number.
ln -sf "$config/sessions/$$.json" "$MUSTER_DIR/status.json"
exec claude --settings "$MUSTER_DIR/$settings" "$@"

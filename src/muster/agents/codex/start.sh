# Starts Codex in the place of this shell. Written by muster; see docs/agent-types.md.
#     start.sh RESUME ADOPT COMMITS TOLD MESSAGE [ARG...]
# RESUME: `yes` goes on with the conversation in $MUSTER_DIR, if there is one; ADOPT: the id of one to begin with a copy of, or
# nothing; COMMITS: `yes` lets it write what a commit on its branch writes; TOLD: `yes` where MESSAGE is its first one.
resume=$1 adopt=$2 commits=$3 told=$4 message=$5
shift 5
home=${CODEX_HOME:-$HOME/.codex}
ln -sfn "$home" "$MUSTER_DIR/codex-home"
printf '%s %s\n' "$(date +%s)" "$told" >"$MUSTER_DIR/begun"

# A key is not used by itself: without a login and a provider of the user's own, Codex would ask how to sign in.
if [ -n "$OPENAI_API_KEY" ] && [ ! -f "$home/auth.json" ] && ! grep -qs '^ *model_provider *=' "$home/config.toml"; then
  url=${OPENAI_BASE_URL:-https://api.openai.com/v1}
  provider="{name=\"OpenAI\",base_url=\"$url\",env_key=\"OPENAI_API_KEY\",wire_api=\"responses\"}"
  set -- -c model_provider=openai-key -c "model_providers={openai-key=$provider}" "$@"
fi

# Its sandbox keeps the git folder of a workspace read-only, unless it is named itself. In a clone that would be all of it, hooks too.
if [ "$commits" = yes ] && branch=$(git symbolic-ref -q HEAD) && own=$(git rev-parse --absolute-git-dir); then
  common=$(cd "$(git rev-parse --git-common-dir)" && pwd -P)
  for root in "$own" "$common/objects" "$common/${branch%/*}" "$common/logs/${branch%/*}"; do
    [ "$own" = "$common" ] || [ ! -d "$root" ] || set -- --add-dir "$root" "$@"
  done
fi

# Without a first message there is no conversation yet.
if [ "$resume" = yes ] && [ -f "$MUSTER_DIR/conversation.jsonl" ] && read -r owner path <"$MUSTER_DIR/rollout"; then
  id=$(printf '%s\n' "$path" | sed 's/.*-\([0-9a-f]*-[0-9a-f]*-[0-9a-f]*-[0-9a-f]*-[0-9a-f]*\)\.jsonl$/\1/')
  # On another machine, or after a tidying up, Codex does not have it any more.
  if [ ! -f "$home/$path" ]; then
    mkdir -p "$(dirname "$home/$path")" && cp "$MUSTER_DIR/conversation.jsonl" "$home/$path"
  fi
  # That of another agent goes on as a copy.
  if [ "$owner" = "$MUSTER_AGENT_ID" ]; then set -- "$@" resume "$id"; else set -- "$@" fork "$id"; fi
elif [ -n "$adopt" ]; then
  set -- "$@" fork "$adopt"
fi
[ "$told" != yes ] || set -- "$@" -- "$message"
exec codex "$@"

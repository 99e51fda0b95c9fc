"""A repository of this machine on another host: one bare mirror there, and a workspace of it for each agent."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager

import msgspec

from muster import hosts
from muster.agents import Workspace
from muster.agents.session import Seat
from muster.agents.workspace import explained, inside, owned, submodules
from muster.core import git, lock, names, proc
from muster.core.proc import Prefix, Result
from muster.errors import CommandFailed, Refused
from muster.hosts import Host, elsewhere

# What was sent last: it stays when its agents have gone, so that the next one costs only what is new since.
LATEST = "refs/muster/latest"
CARRIED = "refs/muster/carried"

# A mirror is made whole or not at all. Agents commit with the identity that their owner has here.
_RECEIVE = """
if ! [ -d "$1" ]; then
  { mkdir -p "${1%/*}" && rm -rf "$1.new" && git init --quiet --bare OBJECTS "$1.new" &&
    git -C "$1.new" config receive.shallowUpdate true && git -C "$1.new" config gc.autoDetach false &&
    mv "$1.new" "$1"; } >/dev/null || exit
fi
exec git receive-pack "$1"
"""
# The rest of the words are settings, a key and its value each.
_ADD = """
mirror=$1 path=$2 base=$3 mode=$4; shift 4
mkdir -p "${path%/*}" || exit
repository=$mirror
if [ "$mode" = clone ]; then
  repository=$path
  git clone --quiet --local --no-checkout "$mirror" "$path" && git -C "$path" checkout --quiet --detach "$base" || exit
fi
while [ $# -gt 1 ]; do
  [ "$(git -C "$repository" config --get "$1")" = "$2" ] || git -C "$repository" config "$1" "$2" || exit
  shift 2
done
[ "$mode" = clone ] || exec git -C "$mirror" worktree add --quiet --no-checkout --detach "$path" "$base"
"""
# An earlier agent of that name may have left its work on the branch.
_CHECK_OUT = """
path=$1 branch=$2 another=$3 carried=$4 mirror=$5 number=2 name=$2
# Large files are fetched when they are wanted (`git lfs pull`), not by a checkout that may have no network.
export GIT_LFS_SKIP_SMUDGE=1
while git -C "$path" show-ref --verify --quiet "refs/heads/$name" && [ "$another" = yes ]; do
  name=$branch-$number number=$((number + 1))
done
git -C "$path" checkout --quiet --force --no-track -b "$name" || exit
if [ -n "$carried" ]; then
  tree=$(git -C "$mirror" rev-parse "$carried^{tree}") && git -C "$path" restore --source="$tree" --worktree -- . &&
    git -C "$mirror" update-ref -d "$carried" || exit
fi
printf %s "$name"
"""
# Of a create that is undone, the branch goes only if it is where it began.
_UNMAKE = """
mirror=$1 path=$2 branch=$3 base=$4
record=$mirror/worktrees/${path##*/}
if [ -n "$base" ]; then
  branch=$(git -C "$path" symbolic-ref --quiet --short HEAD 2>/dev/null) || branch=
  [ "$(git -C "$path" rev-parse --quiet --verify HEAD 2>/dev/null)" = "$base" ] || branch=
fi
if [ -d "$mirror" ]; then
  git -C "$mirror" worktree remove --force --force "$path" >/dev/null 2>&1
  if [ -d "$record" ] && { ! [ -s "$record/gitdir" ] || [ "$(cat "$record/gitdir")" = "$path/.git" ]; }; then rm -rf "$record"; fi
  git -C "$mirror" update-ref -d "CARRIED/${path##*/}"
  [ -z "$branch" ] || git -C "$mirror" branch -qD -- "$branch" >/dev/null 2>&1
fi
rm -rf "$path" 2>/dev/null || { chmod -R u+rwX "$path"; rm -rf "$path"; }
""".replace("CARRIED", CARRIED)


def place(seat: Seat, source: str) -> str:
    """Where the mirror of that repository lies there."""
    from hashlib import sha256

    common = git.common(source)
    # Another computer of the user's may have another repository at the same path.
    key = sha256(f"{os.uname().nodename}:{common}".encode()).hexdigest()[:10]
    name = names.slug(os.path.basename(common.removesuffix("/.git")), 40) or "repository"
    return f"{seat.root}/repos/{name}-{key}.git"


def make(
    here: Seat,
    seat: Seat,
    workspace: Workspace,
    origin: str,
    *,
    carried: str = "",
    put: Sequence[str] = (),
    inner: bool = True,
) -> Workspace:
    """A workspace there, of what the folder or checkout at `origin` has here."""
    if workspace.mode == "copy":
        _copy(here, seat, workspace)
    else:
        workspace = _checkout(here, seat, workspace, origin, carried)
        if inner:
            _submodules(here, seat, origin, workspace.path)
    if put:
        _put(here, seat, workspace, put)
    return workspace


def _checkout(here: Seat, seat: Seat, workspace: Workspace, origin: str, carried: str) -> Workspace:
    """A worktree or a clone; a tree given as `carried` is laid over it as uncommitted work."""
    kept = f"{CARRIED}/{os.path.basename(workspace.path)}" if carried else ""
    with _held(here, seat, workspace.mirror):
        refs = {LATEST: workspace.base, **({kept: _commit(here.host, origin, carried)} if kept else {})}
        sent = _send(here.host, origin, seat.host, workspace.mirror, refs)
        words = [workspace.mirror, workspace.path, workspace.base, workspace.mode, *_settings(here.host, origin)]
        added = _run(seat.host, _ADD, *words)
    if added.code:
        raise CommandFailed(
            f"the workspace could not be made on {seat.host.name}: {(sent if sent.code else added).said}"
        )
    if excluded := _excluded(here.host, origin):
        repository = workspace.mirror if workspace.mode == "worktree" else f"{workspace.path}/.git"
        hosts.write(seat.host, {f"{repository}/info/exclude": excluded})
    words = [workspace.path, workspace.branch, "yes" if workspace.another else "no", kept, workspace.mirror]
    done = _run(seat.host, _CHECK_OUT, *words)
    if done.code:
        raise explained(workspace, done.said)
    if not re.fullmatch(re.escape(workspace.branch) + r"(-\d+)?", done.text):
        raise CommandFailed(f"{seat.host.name} made a branch that nobody wanted: {done.text[:80]!r}")
    return msgspec.structs.replace(workspace, branch=done.text)


def _excluded(here: Host, origin: str) -> bytes:
    """What that repository ignores beside what its files say."""
    text = hosts.read(here, f"{git.common(origin)}/info/exclude") or b""
    return text if any(line.strip() and not line.startswith(b"#") for line in text.splitlines()) else b""


def _held(here: Seat, seat: Seat, mirror: str) -> AbstractContextManager[bool]:
    """One at a time: the second agent of a repository then finds what the first one sent."""
    return lock.held(f"{here.root}/mirrors/{seat.host.name}-{os.path.basename(mirror)}.lock")


def _send(here: Prefix, origin: str, there: Prefix, mirror: str, refs: Mapping[str, str]) -> Result:
    """The commits, the branch that is checked out and the tags; of these the mirror may refuse what an agent works on."""
    form = "--object-format=sha256" if any(len(commit) > 40 for commit in refs.values()) else ""
    forced = [f"+{commit}:{name}" for name, commit in refs.items()]
    branch = [f"{head}:{head}"] if (head := git.head(origin)) else []
    service = _RECEIVE.replace("OBJECTS", form)
    return git.send(here, origin, there, service, mirror, *forced, *branch, "+refs/tags/*:refs/tags/*")


def _settings(here: Prefix, origin: str) -> list[str]:
    """What a commit and a fetch there need of the settings here, a key and its value each."""
    found: dict[str, str] = {}
    who = git.run(here, origin, "var", "GIT_AUTHOR_IDENT", check=False)
    if not who.code and (parts := re.fullmatch(r"(.*) <(.*)> \d+ \S+", who.text)):
        found.update({"user.name": parts[1], "user.email": parts[2]})
    url = git.run(here, origin, "config", "--get", "remote.origin.url", check=False).text
    if not url.startswith(("/", ".", "~", "file:")) and ":" in url:
        # A password in it is this machine's.
        found["remote.origin.url"] = re.sub(r"^(https?://)[^/@]*@", r"\1", url)
        found["remote.origin.fetch"] = "+refs/heads/*:refs/remotes/origin/*"
    return [word for pair in found.items() for word in pair]


def _submodules(here: Seat, seat: Seat, origin: str, path: str) -> None:
    """Those that the source has on disk, each by a mirror of its own: no network is asked."""
    for name, folder in submodules(here.host, origin):
        theirs = f"{origin}/{folder}"
        mirror = place(seat, theirs)
        if not (commit := git.commit_of(here.host, theirs, "HEAD")):
            continue
        with _held(here, seat, mirror):
            sent = _send(here.host, theirs, seat.host, mirror, {LATEST: commit})
        if sent.code:
            raise CommandFailed(f"the submodule `{folder}` could not be sent to {seat.host.name}: {sent.said}")
        settings = ["-c", "protocol.file.allow=always", "-c", f"submodule.{name}.url={mirror}"]
        git.run(seat.host, path, *settings, "submodule", "--quiet", "update", "--", folder)
        words = _settings(here.host, theirs)
        for key, value in zip(words[::2], words[1::2], strict=True):
            git.run(seat.host, f"{path}/{folder}", "config", key, value)
        _submodules(here, seat, theirs, f"{path}/{folder}")


def _commit(here: Prefix, origin: str, tree: str) -> str:
    """What can be sent of a tree, or of a commit of one."""
    return git.commit_of(here, origin, tree) or git.commit_tree(here, origin, tree, [], "Uncommitted files")


def _put(here: Seat, seat: Seat, workspace: Workspace, put: Sequence[str]) -> None:
    """Files that git ignores, as they are here now."""
    clean = [inside(workspace, path, "--put") for path in put]
    script = 'cd "$1" && shift && for path do [ ! -e "$path" ] || { printf %s "$path"; exit 1; }; done'
    if taken := _run(seat.host, script, workspace.path, *clean).text:
        raise owned("--put", taken)
    elsewhere.copy(here.host, workspace.source, [f"./{path}" for path in clean], seat.host, workspace.path)


def _copy(here: Seat, seat: Seat, workspace: Workspace) -> None:
    """A folder of this machine with all that is in it."""
    if os.path.commonpath([workspace.source, here.root]) == workspace.source:
        raise Refused(f"`{workspace.source}` holds muster's own folder, so a copy would hold itself")
    elsewhere.copy(here.host, workspace.source, ["."], seat.host, workspace.path)


def give(here: Prefix, origin: str, host: Host, place: Workspace, commit: str) -> None:
    """Bring a commit into the repository of a workspace there; the mirror's branch is that of here, a clone's own is not."""
    folder = place.path
    branch = [f"{head}:{head}"] if place.mode == "worktree" and (head := git.head(origin)) else []
    sent = git.send(here, origin, host, 'exec git receive-pack "$1"', folder, f"+{commit}:{LATEST}", *branch)
    # The branch may be refused, as an agent may work on it; the commit may not.
    if sent.code and git.commit_of(host, folder, LATEST) != commit:
        raise CommandFailed(f"the commits could not be sent to {host.name}: {sent.said}")


def unmake(host: Host, workspace: Workspace, *, undo: bool = False) -> None:
    """Take a workspace there away, with its branch. What should be kept has been kept before."""
    base = workspace.base if undo else ""
    result = _run(host, _UNMAKE, workspace.mirror or "/nowhere", workspace.path, workspace.branch, base)
    if result.code:
        raise CommandFailed(f"`{workspace.path}` could not be removed on {host.name}: {result.said}")


def strangers(here: Prefix, host: Host, workspace: Workspace, known: Collection[str]) -> list[str]:
    """References that agents made there and that this machine has no commit of."""
    found = git.refs(host, workspace.path, "refs/heads", "refs/stash")
    return [
        name
        for name, commit in found.items()
        if name not in known and not git.commit_of(here, workspace.source, commit)
    ]


def _run(host: Host, script: str, *words: str) -> Result:
    return proc.run(host, ["sh", "-c", script, "sh", *words], check=False)

"""git on a host. Nothing here touches a checkout or an index that is not ours."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from muster.core import proc
from muster.core.proc import Prefix, Result
from muster.errors import CommandFailed

IDENTITY = {
    "GIT_AUTHOR_NAME": "muster",
    "GIT_AUTHOR_EMAIL": "muster@localhost",
    "GIT_COMMITTER_NAME": "muster",
    "GIT_COMMITTER_EMAIL": "muster@localhost",
}
# Set by git for its hooks; inherited, they would turn every command of ours towards the wrong repository.
_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX")


class Status(Struct, frozen=True):
    """What a checkout has."""

    commit: str  # empty: no commit yet
    branch: str  # empty: detached
    dirty: tuple[str, ...]  # changed and untracked paths


def run(
    place: Prefix,
    folder: str,
    *words: str,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    check: bool = True,
    timeout: float | None = None,
    by: Prefix | None = None,
) -> Result:
    """`git WORDS` in that folder; optional locks are left alone, so a look never writes the user's index."""
    settings = [f"{key}={value}" for key, value in (env or {}).items()]
    command = [*(["env", *settings] if settings else []), "git", "--no-optional-locks", "-C", folder, *words]
    return proc.run(place, command, env=_clean(), stdin=stdin, check=check, timeout=timeout, by=by)


def _clean() -> dict[str, str] | None:
    if not any(name in os.environ for name in _FOREIGN):
        return None
    return {key: value for key, value in os.environ.items() if key not in _FOREIGN}


def text(place: Prefix, folder: str, *words: str) -> str:
    """What `git WORDS` prints."""
    return run(place, folder, *words).text


def top(folder: str) -> str:
    """The checkout that folder is in, found without a process; empty if it is in none."""
    path = os.path.realpath(folder)
    while not os.path.exists(os.path.join(path, ".git")):
        parent = os.path.dirname(path)
        if parent == path:
            return ""
        path = parent
    return path


def common(top: str) -> str:
    """What all checkouts of one repository share, found without a process."""
    path = _gitdir(top)
    return os.path.realpath(path.partition("/worktrees/")[0] if os.path.exists(f"{path}/commondir") else path)


def head(top: str) -> str:
    """The branch that is checked out, as a full reference, found without a process; empty if none is."""
    try:
        with open(f"{_gitdir(top)}/HEAD") as file:
            return file.read().partition("ref: ")[2].strip()
    except OSError:
        return ""


def _gitdir(top: str) -> str:
    path = os.path.join(top, ".git")
    if os.path.isfile(path):
        with open(path) as file:
            return os.path.join(top, file.read().strip().removeprefix("gitdir: "))
    return path


def status(place: Prefix, folder: str) -> Status:
    """Commit, branch and dirty paths of a checkout, in one process."""
    out = run(place, folder, "status", "--porcelain=v2", "--branch", "-z").out.decode(errors="surrogateescape")
    try:
        return _status(place, iter(out.split("\0")))
    except IndexError as error:
        raise CommandFailed(f"what git says on {place.name} is no status of a checkout") from error


def _status(place: Prefix, entries: Iterator[str]) -> Status:
    commit, branch, dirty = "", "", []
    for entry in entries:
        kind, _, rest = entry.partition(" ")
        if rest.startswith("branch.oid "):
            commit = _id(place, rest[11:]) if rest[11:] != "(initial)" else ""
        elif rest.startswith("branch.head "):
            branch = rest[12:] if rest[12:] != "(detached)" else ""
        elif kind == "1":
            dirty.append(rest.split(" ", 7)[7])
        elif kind == "2":
            dirty.append(rest.split(" ", 8)[8])
            next(entries, "")  # where it was renamed from
        elif kind == "u":
            dirty.append(rest.split(" ", 9)[9])
        elif kind == "?":
            dirty.append(rest)
    return Status(commit, branch, tuple(dirty))


def commit_of(place: Prefix, folder: str, name: str) -> str:
    """The commit that a name stands for; empty if there is none."""
    result = run(
        place, folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", check=False
    )
    return _id(place, result.text) if result.code == 0 else ""


def _id(place: Prefix, text: str) -> str:
    """A commit or tree as git names it: what a host says goes into commands of ours, and must be nothing else there."""
    if len(text) in (40, 64) and all(char in "0123456789abcdef" for char in text):
        return text
    raise CommandFailed(f"what git says on {place.name} is no id of a commit: {text[:80]!r}")


def tree(place: Prefix, folder: str, scratch: str) -> str:
    """All files of a checkout, tracked and untracked but not ignored, as a tree; the checkout's own index stays as it is."""
    # A file as new as the index is read by git, since its time can't tell: the copy of an index needs its time, too.
    script = (
        'index=$(git -C "$1" rev-parse --absolute-git-dir)/index; rm -f "$2"; '
        'if [ -f "$index" ]; then cp -p "$index" "$2" || exit 1; fi; GIT_INDEX_FILE=$2; export GIT_INDEX_FILE; '
        'git -C "$1" -c advice.addEmbeddedRepo=false add -A -- "$1" >/dev/null && git -C "$1" write-tree; code=$?; '
        'rm -f "$2"; exit $code'
    )
    return _id(place, proc.run(place, ["sh", "-c", script, "sh", folder, scratch], env=_clean()).text)


def commit_tree(place: Prefix, folder: str, tree_id: str, parents: Sequence[str], message: str) -> str:
    """A commit made of a tree, without a checkout."""
    flags = [word for parent in parents for word in ("-p", parent)]
    return _id(place, run(place, folder, "commit-tree", tree_id, *flags, "-m", message, env=IDENTITY).text)


def fill(place: Prefix, folder: str, tree_id: str) -> None:
    """Make the working files those of the tree, commits and index left as they are."""
    run(place, folder, "restore", f"--source={tree_id}", "--worktree", "--", ".")


def export(place: Prefix, folder: str, commit: str, paths: Sequence[str], into: str, scratch: str) -> None:
    """The files of a commit at those paths, below another folder; what is not there is left out."""
    script = (
        'GIT_INDEX_FILE=$3; export GIT_INDEX_FILE; mkdir -p "$4"; '
        'git -C "$1" read-tree "$2" && prefix=$4/ && top=$1 && shift 4 && '
        'git -C "$top" ls-files -z -- "$@" | git -C "$top" checkout-index -z --stdin --prefix="$prefix"; code=$?; '
        'rm -f "$GIT_INDEX_FILE"; exit $code'
    )
    proc.run(place, ["sh", "-c", script, "sh", folder, commit, scratch, into, *paths], env=_clean())


def refs(place: Prefix, folder: str, *patterns: str) -> dict[str, str]:
    """Commits by full reference name."""
    out = text(place, folder, "for-each-ref", "--format=%(objectname) %(refname)", *patterns)
    return {name: _id(place, commit) for commit, _, name in (line.partition(" ") for line in out.splitlines())}


def ancestor(place: Prefix, folder: str, older: str, newer: str) -> bool:
    """Whether `newer` contains `older`."""
    return run(place, folder, "merge-base", "--is-ancestor", older, newer, check=False).code == 0


def through(place: Prefix, service: str, *words: str) -> str:
    """What git takes as `--upload-pack` or `--receive-pack` for a repository that lies there."""
    # git adds the repository's path behind it, in a shell's words; the words have it already, quoted for the way there.
    return f"{shlex.join(place.argv(['sh', '-c', service, 'sh', *words]))} #"


def fetch(here: Prefix, folder: str, there: Prefix, source: str, *refspecs: str) -> None:
    """Bring commits of a repository that may lie on another host; nothing but these references is touched."""
    words = ["-c", "protocol.version=2", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]
    if there.name != here.name:
        # What tells a server the version of the protocol is a variable, which ends at a prefix.
        service = 'export GIT_PROTOCOL=version=2; exec git -c uploadpack.allowAnySHA1InWant=true upload-pack "$1"'
        pack = through(there, service, source)
        words += ["--no-recurse-submodules", f"--upload-pack={pack}"]
    run(here, folder, *words, source, *refspecs, by=there)


def send(here: Prefix, folder: str, there: Prefix, service: str, target: str, *refspecs: str) -> Result:
    """Bring commits to a bare repository on another host; plumbing, so that no hook or push setting of the user's runs."""
    words = ["send-pack", "--quiet", "--thin", f"--receive-pack={through(there, service, target)}", target, *refspecs]
    return run(here, folder, *words, check=False, by=there)

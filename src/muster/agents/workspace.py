"""An agent's working directory: made from a repository or a folder, and taken away again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import count

import msgspec
from msgspec import Struct

from muster import hosts
from muster.agents import Mode, Workspace
from muster.core import git, lock, paths, proc
from muster.core.proc import Prefix
from muster.errors import CommandFailed, Exists, Refused, UsageError

_TRIES = 50


class Source(Struct, frozen=True):
    """What a workspace is made from."""

    folder: str
    is_git: bool
    commit: str = ""
    branch: str = ""
    dirty: tuple[str, ...] = ()
    tree: str = ""  # of what is elsewhere: its uncommitted files, brought here with the commit
    agent: str = ""  # whose work it is, where that is elsewhere


def survey(place: Prefix, folder: str, mode: Mode, look_for_dirt: bool) -> Source:
    """What is in that folder, as far as the mode needs to know."""
    top = git.top(folder)
    if mode == "in-place":
        return Source(os.path.realpath(folder), bool(top))
    if mode == "copy":
        return Source(_copyable(os.path.realpath(folder)), False)
    if not top:
        hint = "`--mode copy` works on a copy of the folder, `--mode in-place` in the folder itself"
        raise UsageError(f"`{folder}` is not in a git repository, and a {mode} is made from one", hint=hint)
    if look_for_dirt:
        status = git.status(place, top)
        commit, branch, dirty = status.commit, status.branch, status.dirty
    else:
        commit, branch, dirty = git.commit_of(place, top, "HEAD"), "", ()
    if not commit:
        hint = "commit once (`git commit --allow-empty -m start`), or use `--mode copy` or `--mode in-place`"
        raise UsageError(f"`{top}` has no commit yet, so there is nothing a {mode} could start from", hint=hint)
    return Source(top, True, commit, branch, dirty)


def _copyable(folder: str) -> str:
    if folder in ("/", os.path.expanduser("~")):
        raise Refused(
            f"`{folder}` is too much to copy", hint="change to the project's folder, or give it with `--from PATH`"
        )
    return folder


def make(
    place: Prefix,
    workspace: Workspace,
    *,
    carried: str = "",
    share: Sequence[str] = (),
    put: Sequence[str] = (),
    inner: bool = True,
) -> Workspace:
    """Make it, and say what it has become; a tree given as `carried` is laid over it as uncommitted work."""
    if workspace.mode == "in-place":
        return workspace
    os.makedirs(os.path.dirname(workspace.path), mode=0o700, exist_ok=True)
    if workspace.mode == "copy":
        _copy(place, workspace)
    elif workspace.mode == "worktree":
        workspace = _worktree(place, workspace)
    else:
        _clone(place, workspace)
    if inner and workspace.mode != "copy":
        _submodules(place, workspace.source, workspace.path)
    if carried:
        git.fill(place, workspace.path, carried)
    for path in share:
        _share(workspace, path)
    for path in put:
        _put(place, workspace, path)
    return workspace


def _copy(place: Prefix, workspace: Workspace) -> None:
    if os.path.commonpath([workspace.source, workspace.path]) == workspace.source:
        raise Refused(f"`{workspace.source}` holds muster's own folder, so a copy would hold itself")
    os.mkdir(workspace.path, 0o700)
    proc.run(place, ["cp", "-a", f"{workspace.source}/.", workspace.path])


def _worktree(place: Prefix, workspace: Workspace) -> Workspace:
    common = git.common(workspace.source)
    if not _recorded(common, workspace):
        # git reads the records of all worktrees to add one, and fails over one that is half-written: one at a time.
        with lock.held(f"{os.path.dirname(os.path.dirname(workspace.path))}/worktrees.lock"):
            words = ["worktree", "add", "--quiet", "--no-checkout", "--detach", workspace.path, workspace.base]
            git.run(place, workspace.source, *words)
    return _checked_out(place, workspace)


def _recorded(common: str, workspace: Workspace) -> bool:
    """Write a worktree's record as gitrepository-layout(5) has it, whole at once; not where git would write more.

    `git worktree add` takes three processes for it, and other git commands die over its record while it is half-written.
    """
    with open(f"{common}/config", "rb") as file:
        if any(word in file.read().lower() for word in (b"worktreeconfig", b"refstorage", b"bare = true")):
            return False
    name = os.path.basename(workspace.path)
    aside, record = f"{common}/{name}.new", f"{common}/worktrees/{name}"
    for folder in (aside, workspace.path, f"{common}/worktrees"):
        os.makedirs(folder, exist_ok=True)
    content = {"HEAD": workspace.base, "commondir": "../..", "gitdir": f"{workspace.path}/.git"}
    for file_name, line in content.items():
        paths.write(f"{aside}/{file_name}", f"{line}\n".encode(), 0o666)
    paths.write(f"{workspace.path}/.git", f"gitdir: {record}\n".encode(), 0o666)
    os.rename(aside, record)
    return True


def _checked_out(place: Prefix, workspace: Workspace) -> Workspace:
    """Its files, on a new branch; one that an earlier agent of that name left its work on is not taken."""
    words = ["checkout", "--quiet", "--force", "--no-track", "-b"]
    result = git.run(place, workspace.path, *words, workspace.branch, check=False)
    if result.code and workspace.another and "already exists" in result.said:
        branch = workspace.branch
        taken = git.refs(place, workspace.source, f"refs/heads/{branch}-*")
        free = next(f"{branch}-{n}" for n in count(2) if f"refs/heads/{branch}-{n}" not in taken)
        workspace = msgspec.structs.replace(workspace, branch=free)
        result = git.run(place, workspace.path, *words, free, check=False)
    if result.code:
        raise explained(workspace, result.said)
    return workspace


def _clone(place: Prefix, workspace: Workspace) -> None:
    # A local clone links the objects, which never change: it is as independent as a copy and costs no space.
    proc.run(place, ["git", "clone", "--quiet", "--local", "--no-checkout", workspace.source, workspace.path])
    origin = git.run(place, workspace.source, "remote", "get-url", "origin", check=False)
    if origin.code == 0:
        git.run(place, workspace.path, "remote", "set-url", "origin", origin.text)
    words = ["checkout", "--quiet", "--no-track", "-b", workspace.branch, workspace.base]
    result = git.run(place, workspace.path, *words, check=False)
    if result.code:
        raise explained(workspace, result.said)


def explained(workspace: Workspace, said: str) -> Exception:
    """Why git would not make it."""
    if "already exists" in said and workspace.branch in said:
        hint = "give another name, or another branch with `--branch BASE:NEW`"
        return Exists(f"there is a branch `{workspace.branch}` already", hint=hint)
    return CommandFailed(f"git could not make the workspace: {said.removeprefix('fatal: ')}")


def _submodules(place: Prefix, source: str, path: str) -> None:
    """Those that the source has on disk, from there: no network is asked."""
    if not os.path.exists(f"{path}/.gitmodules"):
        return
    for name, folder in submodules(place, source):
        theirs = f"{source}/{folder}"
        gitdir = git.text(place, theirs, "rev-parse", "--absolute-git-dir")
        settings = ["-c", "protocol.file.allow=always", "-c", f"submodule.{name}.url={gitdir}"]
        git.run(place, path, *settings, "submodule", "--quiet", "update", "--", folder)
        origin = git.run(place, theirs, "remote", "get-url", "origin", check=False)
        if origin.code == 0:
            git.run(place, f"{path}/{folder}", "remote", "set-url", "origin", origin.text, check=False)
        _submodules(place, theirs, f"{path}/{folder}")


def submodules(here: Prefix, source: str) -> Iterator[tuple[str, str]]:
    """Name and folder of each that is on disk in that checkout here."""
    if not os.path.exists(f"{source}/.gitmodules"):
        return
    words = ["config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"]
    for line in git.run(here, source, *words, check=False).text.splitlines():
        key, _, folder = line.partition(" ")
        if os.path.exists(f"{source}/{folder}/.git"):
            yield key.removeprefix("submodule.").removesuffix(".path"), folder


def _share(workspace: Workspace, path: str) -> None:
    clean = inside(workspace, path, "--share")
    there, here = os.path.join(workspace.source, clean), os.path.join(workspace.path, clean)
    if os.path.lexists(here):
        if os.path.islink(here) and os.readlink(here) == there:
            return
        raise owned("--share", clean)
    os.makedirs(os.path.dirname(here), exist_ok=True)
    os.symlink(there, here)


def _put(place: Prefix, workspace: Workspace, path: str) -> None:
    clean = inside(workspace, path, "--put")
    here = os.path.join(workspace.path, clean)
    if os.path.lexists(here):
        raise owned("--put", clean)
    os.makedirs(os.path.dirname(here), exist_ok=True)
    proc.run(place, ["cp", "-a", os.path.join(workspace.source, clean), here])


def inside(workspace: Workspace, path: str, option: str) -> str:
    """That path from the project's top, if there is something."""
    clean = os.path.normpath(path)
    if os.path.isabs(clean) or clean.split(os.sep)[0] in ("..", "."):
        raise UsageError(f"`{option} {path}`: it must be a path inside the project")
    if not os.path.lexists(there := os.path.join(workspace.source, clean)):
        raise UsageError(f"`{option} {path}`: there is no `{there}`")
    return clean


def owned(option: str, path: str) -> UsageError:
    """The workspace has that already."""
    hint = "only what git ignores can be brought in beside it"
    return UsageError(f"`{option} {path}`: the workspace has a `{path}` of its own", hint=hint)


def unmake(place: Prefix, workspace: Workspace) -> None:
    """Take it away. What should be kept has been kept before."""
    if workspace.mode == "in-place":
        return
    if workspace.mode == "worktree" and os.path.isdir(workspace.source):
        git.run(place, workspace.source, "worktree", "remove", "--force", "--force", workspace.path, check=False)
    if os.path.lexists(workspace.path):
        hosts.remove(place, workspace.path)
    if workspace.mode == "worktree" and os.path.isdir(workspace.source):
        _forget_worktree(place, workspace)


def _forget_worktree(place: Prefix, workspace: Workspace) -> None:
    # git forgets a worktree only while its own files are whole; an add or a remove that was killed may have broken them.
    common, name = git.common(workspace.source), os.path.basename(workspace.path)
    if os.path.isdir(f"{common}/{name}.new"):
        hosts.remove(place, f"{common}/{name}.new")
    admin = f"{common}/worktrees/{name}"
    if os.path.isdir(admin):
        try:
            with open(f"{admin}/gitdir") as file:
                ours = file.read().strip() in ("", f"{workspace.path}/.git")
        except FileNotFoundError:
            ours = True
        if ours:
            hosts.remove(place, admin)


def drop_if_unused(place: Prefix, workspace: Workspace) -> None:
    """Remove the branch that was made with it, if nothing was committed to it; another's of that name is not touched."""
    head = git.head(workspace.path)
    if workspace.mode != "worktree" or not head.startswith(f"refs/heads/{workspace.branch}"):
        return
    made = msgspec.structs.replace(workspace, branch=head.removeprefix("refs/heads/"))
    if git.commit_of(place, workspace.source, head) == workspace.base:
        drop_branch(place, made)


def drop_branch(place: Prefix, workspace: Workspace) -> None:
    """Remove the branch that was made for it. What it held has been kept before."""
    if workspace.mode != "worktree" or not workspace.branch or not os.path.isdir(workspace.source):
        return
    git.run(place, workspace.source, "update-ref", "-d", f"refs/heads/{workspace.branch}", check=False)
    # The settings a branch may have been given (`git push -u` by the agent) are of no use without it.
    with open(f"{git.common(workspace.source)}/config", errors="replace") as file:
        if f'[branch "{workspace.branch}"]' in file.read():
            section = f"branch.{workspace.branch}"
            git.run(place, workspace.source, "config", "--remove-section", section, check=False)

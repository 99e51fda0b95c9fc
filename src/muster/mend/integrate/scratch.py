"""A bare repository of our own over the objects of another: same results under any configuration, and nothing of it run.

The other's configuration, attributes, merge drivers, filters, hooks, grafts and replacements are not read; what is made
stays here until it is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from muster.core import fan, git, proc
from muster.core.proc import Prefix
from muster.errors import MusterError

NOBODY = "muster <muster@localhost> 0 +0000"
# Settings that decide how git merges, as git 2.39 has them by default, but for renamed directories: a file that one side
# adds to a directory which the other renames would move without anyone having touched a common path.
_CONFIG = """
[core]
\tattributesFile = /dev/null
\thooksPath = /dev/null
[gc]
\tauto = 0
[merge]
\trenames = true
\tdirectoryRenames = false
\trenameLimit = 7000
\tconflictStyle = diff3
"""
_OPEN = """set -e
folder=$(mktemp -d "${TMPDIR:-/tmp}/muster-integrate.XXXXXX")
env -i "PATH=$PATH" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null LC_ALL=C \
  git init --quiet --bare --template= --object-format="$1" "$folder"
printf '%s' "$4" >>"$folder/config"
mkdir -p "$folder/objects/info"
printf '%s\\n' "$2" >"$folder/objects/info/alternates"
if [ -f "$3" ]; then cp "$3" "$folder/shallow"; fi
printf '%s\\n%s' "$folder" "$PATH"
"""


class Merge(Struct, frozen=True):
    """What came of a merge."""

    clean: bool
    tree: str  # with conflict markers where it isn't clean
    files: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()


class Scratch(Struct, frozen=True):
    """The place, its repository, and ours."""

    place: Prefix
    repo: str
    folder: str
    path: str  # where programs are found there
    made: dict[bytes, str] = {}  # commits by content
    sent: set[str] = set()

    def git(self, *words: str, stdin: bytes | None = None, check: bool = True) -> bytes:
        """What `git WORDS` prints there, with nothing of the user's environment but where programs are found."""
        clean = [f"PATH={self.path}", f"HOME={self.folder}", f"GIT_DIR={self.folder}", "LC_ALL=C", "TZ=UTC"]
        pinned = ["GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1"]
        command = ["env", "-i", *clean, *pinned, "GIT_NO_REPLACE_OBJECTS=1", "git", *words]
        return proc.run(self.place, command, stdin=stdin, check=check).out

    def text(self, *words: str, stdin: bytes | None = None) -> str:
        return self.git(*words, stdin=stdin).decode(errors="surrogateescape").rstrip("\n")

    def merge(self, one: str, other: str) -> Merge:
        """Two commits merged: the other's changes since their common ancestor, on top of the one."""
        return self.merges([(one, other)])[0]

    def merges(self, pairs: Sequence[tuple[str, str]], jobs: int = 1) -> list[Merge]:
        """Many merges in as many processes as there are jobs."""
        size = max(1, -(-len(pairs) // jobs))
        slices = [pairs[start : start + size] for start in range(0, len(pairs), size)]
        results = {number: done for (number, _), done in fan.out(self._slice, list(enumerate(slices)), jobs)}
        merged = []
        for number in range(len(slices)):
            done = results[number]
            if isinstance(done, Exception):
                raise done
            merged += done
        return merged

    def _slice(self, numbered: tuple[int, Sequence[tuple[str, str]]]) -> list[Merge]:
        stdin = "".join(f"{one} {other}\n" for one, other in numbered[1]).encode()
        return _merges(self.git("merge-tree", "--write-tree", "--stdin", "-z", "--name-only", stdin=stdin))

    def commit(self, tree: str, parent: str, message: str = "", who: str = NOBODY) -> str:
        """A commit made byte by byte, so that nobody's identity, time, encoding or signature gets into it."""
        lines = [f"tree {tree}", f"parent {parent}", f"author {who}", f"committer {who}", "", message]
        body = "\n".join(lines).encode(errors="replace")
        if body not in self.made:
            self.made[body] = self.text("hash-object", "-t", "commit", "-w", "--stdin", stdin=body)
        return self.made[body]

    def commits(self, wanted: Sequence[tuple[str, str]]) -> list[str]:
        """Many commits of nobody's, of trees and parents, in one process."""
        if not wanted:
            return []
        empty = self.text("hash-object", "-t", "tree", "--stdin", stdin=b"")
        lines = []
        for number, (tree, parent) in enumerate(wanted, 1):
            root = "deleteall" if tree == empty else f"M 040000 {tree} "
            lines.append(f"commit refs/scratch\nmark :{number}\ncommitter {NOBODY}\ndata 0\nfrom {parent}\n{root}\n")
            lines.append(f"get-mark :{number}\n")
        return self.text("fast-import", "--quiet", "--force", stdin="".join(lines).encode()).split()

    def pick(self, root: str, commit: str, tree: str) -> Merge:
        """What `commit` changed since `root`, on top of a tree."""
        return self.merge(self.commit(tree, root), commit)

    def raw(self, names: Sequence[str]) -> list[bytes]:
        """Objects as they are stored; an empty one for what isn't there."""
        out, found = self.git("cat-file", "--batch", stdin="".join(f"{one}\n" for one in names).encode()), []
        while out:
            head, _, out = out.partition(b"\n")
            size = 0 if head.endswith(b" missing") else int(head.rpartition(b" ")[2])
            found.append(out[:size])
            out = out[size + 1 :] if not head.endswith(b" missing") else out
        return found

    def send(self, commit: str, base: str) -> None:
        """Have a commit, all that leads to it from the base, and their files in the user's repository, unreferenced."""
        if commit in self.sent or commit == base:
            return
        pack = self.git("pack-objects", "--revs", "--stdout", "-q", stdin=f"{commit}\n^{base}\n".encode())
        git.run(self.place, self.repo, "unpack-objects", "-q", stdin=pack)
        self.sent.add(commit)


def _merges(out: bytes) -> list[Merge]:
    """The answers of `merge-tree --stdin -z`."""
    words = iter(out.decode(errors="backslashreplace").split("\0"))
    found = []
    while (status := next(words, "")) != "":
        tree = next(words)
        files = tuple(iter(lambda: next(words), "")) if status == "0" else ()
        messages = []
        # What ends them is empty, or the advice about submodules that git 2.39 has no count for.
        while (count := next(words)).isdigit():
            for _ in range(int(count)):
                next(words)
            next(words)
            messages.append(next(words).strip())
        found.append(Merge(status == "1", tree, files, tuple(one for one in messages if "CONFLICT" in one)))
    return found


@contextmanager
def opened(place: Prefix, repo: str) -> Iterator[Scratch]:
    """A scratch repository over that one, removed at the end."""
    words = ["--show-object-format", "--path-format=absolute", "--git-path", "objects", "--git-path", "shallow"]
    form, objects, shallow = git.text(place, repo, "rev-parse", *words).split("\n")
    made = proc.run(place, ["sh", "-c", _OPEN, "sh", form, objects, shallow, _CONFIG]).text
    folder, _, path = made.partition("\n")
    if not folder.startswith("/"):
        raise MusterError(f"no scratch folder could be made on {place.name}: {made}")
    try:
        yield Scratch(place, repo, folder, path, {}, set())
    finally:
        proc.run(place, ["rm", "-rf", "--", folder], check=False)

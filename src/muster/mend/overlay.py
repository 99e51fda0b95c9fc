"""A virtual environment laid over another one: all that is installed there, but the project is a checkout's.

It costs a few small files and no process. `site` reads only its own `.pth` file; that one adds the other environment's
folders by hand and leaves out what leads into the user's own checkout: so no editable install, of whatever kind, is in
the way, also not in child processes, under `python -I`, or for programs that a test starts by name.
"""

from __future__ import annotations

import os
import re
import shutil

from muster.core import paths
from muster.mend import editable
from muster.mend.project import INSIDE, Project

# The kernel reads no more of a `#!` line.
_SHEBANG_MAX = 127

_START = '''\
"""Written by muster: see its documentation of `muster mend`."""

import os
import site
import sys

ROOTS = {roots}
SITES = {sites}
SKIPPED = {skipped}
HIDDEN = {hidden}
KEPT = {kept}


def _below(path, folders):
    real = os.path.realpath(path) + os.sep
    return any(real.startswith(one + os.sep) for one in folders)


def _lay():
    before = len(sys.path)
    known = {{os.path.normcase(os.path.abspath(one)) for one in sys.path}}
    sys.path[before:] = ROOTS
    for folder in SITES:
        if folder not in sys.path:
            sys.path.append(folder)
        for name in sorted(os.listdir(folder)):
            if name.endswith(".pth") and os.path.join(folder, name) not in SKIPPED:
                site.addpackage(folder, name, known)
    sys.path[before:] = [
        one for one in sys.path[before:] if one in ROOTS or _below(one, KEPT) or not _below(one, HIDDEN)
    ]


_lay()
'''


def lay(subject: Project, top: str, prefix: str) -> str:
    """Make it in that new folder, for the checkout at `top`; its prefix."""
    library = os.path.join(prefix, subject.interpreter.library)
    for folder in (library, f"{prefix}/bin"):
        os.makedirs(folder, exist_ok=True)
    _write(f"{prefix}/pyvenv.cfg", _settings(subject))
    _interpreter(subject, prefix)
    _write(f"{library}/_muster.pth", "import _muster_overlay\n")
    _write(f"{library}/_muster_overlay.py", _start(subject, top, _links(subject, top, f"{prefix}/links")))
    shutil.copyfile(f"{INSIDE}/muster_probe.py", f"{library}/muster_probe.py")
    for program in subject.programs:
        _program(subject, top, prefix, program)
    return prefix


def _settings(subject: Project) -> str:
    base = subject.interpreter.base
    return f"home = {os.path.dirname(base)}\ninclude-system-site-packages = false\nversion = {subject.interpreter.version}\n"


def _interpreter(subject: Project, prefix: str) -> None:
    short = ".".join(subject.interpreter.version.split(".")[:2])
    os.symlink(subject.interpreter.base, f"{prefix}/bin/python")
    for name in ("python3", f"python{short}"):
        os.symlink("python", f"{prefix}/bin/{name}")


def _start(subject: Project, top: str, links: str) -> str:
    interpreter = subject.interpreter
    roots = [os.path.normpath(os.path.join(top, one)) for one in subject.roots]
    hidden = [one for one in subject.hidden if one != top]
    return _START.format(
        roots=ascii([*([links] if links else []), *roots]),
        sites=ascii(list(interpreter.sites)),
        skipped=ascii([*subject.hooks, *(f"{one}/_muster.pth" for one in interpreter.sites)]),
        hidden=ascii(hidden),
        kept=ascii([os.path.realpath(one) for one in (interpreter.prefix, *interpreter.sites)]),
    )


def _links(subject: Project, top: str, folder: str) -> str:
    """A folder with those packages whose name is not their folder's; empty if there are none."""
    if not subject.renamed:
        return ""
    os.makedirs(folder, exist_ok=True)
    for name, path in subject.renamed.items():
        os.symlink(os.path.join(top, path), f"{folder}/{name}{'.py' if path.endswith('.py') else ''}")
    return folder


def _program(subject: Project, top: str, prefix: str, path: str) -> None:
    """That program, run by the overlay's interpreter, with the checkout's files for the user's."""
    name = os.path.basename(path)
    for own in (f"{top}/bin/{name}", f"{top}/scripts/{name}"):
        if _runs_python(own):
            path = own  # installed as it is, not made from an entry point
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    # Where the interpreter's path was too long for a `#!` line, pip wrote a line of shell in front.
    body = re.sub(r"\A#![^\n]*\n(?:'''exec'[^\n]*\n' '''\n)?", "", text)
    _write(f"{prefix}/bin/{name}", _first_line(f"{prefix}/bin/python") + _moved(subject, top, body), 0o755)


def _runs_python(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return re.match(rb"#![^\n]*python", file.readline()) is not None


def _first_line(python: str) -> str:
    if " " in python or len(python) + 3 > _SHEBANG_MAX:
        return f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"
    return f"#!{python}\n"


def _moved(subject: Project, top: str, body: str) -> str:
    def there(found: re.Match[str]) -> str:
        inside = editable.within(found[0], subject.top, subject.interpreter.prefix)
        return os.path.join(top, inside) if inside else found[0]

    return re.sub(re.escape(subject.top) + r"(?:/[^\s'\"]*)?(?=['\"\s]|$)", there, body)


def _write(path: str, text: str, mode: int = 0o644) -> None:
    paths.write(path, text.encode("utf-8", "surrogateescape"), mode)

"""Writing the page: one file, with everything in it."""

from __future__ import annotations

import base64
import hashlib
import html
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from muster_testkit.errors import KitError
from muster_testkit.page.parts import Folder, script_safe

STYLES = ("tokens.css", "text.css", "player.css", "page.css")
SCRIPTS = ("terminal.js", "dom.js", "player.js", "page.js")


class Written(NamedTuple):
    """What was written."""

    path: str
    bytes: int
    runs: list[dict[str, Any]]

    @property
    def url(self) -> str:
        return Path(self.path).absolute().as_uri()

    @property
    def said(self) -> str:
        """The newest run in words: `2 failed, 40 passed`."""
        return ", ".join(f"{count} {outcome}" for outcome, count in self.runs[0]["outcomes"].items()) or "no tests"


def asset(*names: str) -> str:
    """The text of those assets, one after the other."""
    return "\n".join(files(__package__).joinpath(name).read_text(encoding="utf-8") for name in names)


def write(folder: str, out: str = "", *, run: str = "", script: str = "") -> Written:
    """Write the page of that folder of artifacts; `script` is the tutorial whose coverage it shows."""
    source = Folder(folder, run=run, script=script)
    index = source.index()
    if not index["runs"]:
        raise KitError(f"there is no run in `{folder}`", hint="run the tests with the kit's plugin first")
    path = out or os.path.join(folder, "index.html")
    size = _write(path, _chunks(index, source))
    return Written(path, size, [_summary(one) for one in index["runs"]])


def page(index: dict[str, Any] | None = None, parts: Iterable[str] = ()) -> Iterator[str]:
    """The page in pieces; without an index it asks for one where it came from."""
    return framed(asset("page.html"), asset(*STYLES), asset(*SCRIPTS), index, parts, "'none'" if index else "'self'")


def framed(
    frame: str, style: str, script: str, index: object, parts: Iterable[str] = (), connect: str = "'none'"
) -> Iterator[str]:
    """That frame with everything in it, and a policy under which nothing else runs."""
    code = f'"use strict";\n{script}'
    head, _, rest = frame.partition("<!-- data -->")
    # Filled in one at a time: an asset that holds another's mark would be filled in, too.
    before, _, after = head.partition("/* style */")
    yield before.replace("POLICY", html.escape(policy(style, code, connect)))
    yield style
    yield after
    yield f'<script type="application/json" id="index">{script_safe(index)}</script>\n'
    yield from parts
    before, _, after = rest.partition("/* script */")
    yield before
    yield code
    yield after


def policy(style: str, code: str, connect: str = "'none'") -> str:
    """What a page may do that is made of that style sheet and that script: show itself, and nothing else."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(code)}; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


def _chunks(index: dict[str, Any], source: Folder) -> Iterator[str]:
    return page(index, (part(name, source.part(name) or b"") for name in source.names))


def part(name: str, data: bytes) -> str:
    """Packed data as an element that nothing runs, to be had by its name."""
    text = base64.b64encode(data).decode()
    return f'<script type="application/octet-stream" id="part:{html.escape(name)}">{text}</script>\n'


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _summary(run: dict[str, Any]) -> dict[str, Any]:
    counts = Counter(test["outcome"] for test in run["tests"])
    return {"run": run["name"], "tests": len(run["tests"]), "outcomes": dict(counts)}


def _write(path: str, chunks: Iterator[str]) -> int:
    """Aside, then renamed: who looks sees the old page or the new one."""
    aside = f"{path}.{os.getpid()}.new"
    try:
        with open(aside, "w", encoding="utf-8", newline="") as file:
            file.writelines(chunks)
        size = os.stat(aside).st_size
        os.replace(aside, path)
    except OSError as error:
        if os.path.isfile(aside):
            os.unlink(aside)
        raise KitError(f"can't write `{path}`: {error.strerror}", hint="`--out FILE` writes it elsewhere") from None
    return size

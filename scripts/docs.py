#!/usr/bin/env python3
"""Writes the man pages and the command reference from the commands themselves.

scripts/docs.py                   write docs/commands.md and docs/man/*.1
scripts/docs.py --check           name the files that are not as they would be written, and exit with 1
scripts/docs.py --to DIR list     only that command, to another folder
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Literal, NamedTuple

import click

from muster import errors
from muster.cli import ALIASES, TABLE
from muster.cli.app import app
from muster.core.config import keys_table

DOCS = Path(__file__).resolve().parent.parent / "docs"
Form = Literal["text", "code", "examples"]
VARIABLES = {
    "MUSTER_HOME": "Where muster keeps its registry, agents and attic; `~/.muster` by default.",
    "MUSTER_…": "Any setting: `muster config list --origin` shows each and where its value comes from.",
    "VISUAL, EDITOR": "The editor for messages and for the configuration.",
    "NO_COLOR": "Set: nothing is coloured.",
}
SIGNALS = {
    124: "The deadline came first; a time limit ended the command.",
    125: "`exec`: the host was lost, so the command's own exit code is not known.",
    130: "Interrupted.",
}


class Block(NamedTuple):
    """A paragraph, or lines that stay as they are."""

    form: Form
    text: str


class Page(NamedTuple):
    """What there is to say about one command."""

    path: str
    usage: str
    about: str
    blocks: list[Block]
    options: list[tuple[str, str]]
    parts: list[Page]


def page(command: click.Command, path: str) -> Page:
    # Nothing of a terminal's width or of the environment goes into this context.
    context = click.Context(command, info_name=path, terminal_width=80, max_content_width=80)
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    records = [option.get_help_record(context) for option in options]
    blocks = list(_blocks(command.help or ""))
    parts = []
    if isinstance(command, click.Group) and command is not app:
        names = command.list_commands(context)
        parts = [page(part, f"{path} {name}") for name in names if (part := command.get_command(context, name))]
    return Page(
        path=path,
        usage=" ".join([path, *command.collect_usage_pieces(context)]),
        about=blocks[0].text if blocks else "",
        blocks=blocks[1:],
        options=[record for record in records if record and "--help" not in record[0]],
        parts=parts,
    )


def _blocks(text: str) -> Iterator[Block]:
    """A docstring's paragraphs; click's `\\b` marks the ones that are not to be filled."""
    examples = False
    for paragraph in re.split(r"\n\s*\n", cleandoc(text).partition("\f")[0]):
        lines = paragraph.strip("\n").split("\n")
        code = lines[0].strip() == "\b"
        lines = lines[1:] if code else lines
        if lines and lines[0].strip() in ("Examples:", "Example:"):
            code = examples = True
            lines = lines[1:]
        if not lines:
            continue
        if code:
            yield Block("examples" if examples else "code", cleandoc("\n" + "\n".join(lines)))
        else:
            examples = False
            yield Block("text", " ".join(line.strip() for line in lines))


def pages(names: Sequence[str]) -> dict[str, Page]:
    """The pages of those commands; one that can't be imported is an error, not a gap."""
    context = click.Context(app, info_name="muster")
    found, faults = {}, []
    for name in names:
        try:
            command = app.get_command(context, name)
        except ImportError as error:
            faults.append(f"`{name}` can't be imported: {error}")
            continue
        if command is None:
            faults.append(f"there is no command `{name}`")
            continue
        found[name] = page(command, f"muster {name}")
    if faults:
        sys.exit("\n".join(faults))
    return found


def exits() -> dict[int, str]:
    """Every exit code and what it means, from the errors themselves."""
    meaning: dict[int, str] = {0: "Done."}
    for error in errors.MusterError.__subclasses__():
        meaning[error.exit_code] = (error.__doc__ or "").strip()
    meaning[1] = "Something else went wrong; the message says what."
    return dict(sorted((meaning | SIGNALS).items()))


# --- man pages

_SPECIAL = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}


def escape(text: str) -> str:
    """Text that roff prints as it is: a line of it can't be taken for a request."""
    escaped = "".join(_SPECIAL.get(c, c if c.isascii() else f"\\[u{ord(c):04X}]") for c in text)
    return re.sub(r"^\.", r"\\&.", escaped, flags=re.MULTILINE)


def inline(text: str) -> str:
    """A paragraph, with what is in backticks in bold."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return escape(text)
    return "".join(rf"\fB{escape(piece)}\fR" if i % 2 else escape(piece) for i, piece in enumerate(pieces))


def flags(names: str) -> str:
    """Options in bold, what they take in italics."""
    words = [word.rstrip(",") for word in names.split(" ")]
    ends = ["," if word.endswith(",") else "" for word in names.split(" ")]
    fonts = ["B" if word.startswith("-") else "R" if word == "/" else "I" for word in words]
    return " ".join(rf"\f{font}{escape(word)}\fR{end}" for word, font, end in zip(words, fonts, ends, strict=True))


def usage(text: str) -> str:
    return " ".join(rf"\fB{escape(w)}\fR" if w.islower() else rf"\fI{escape(w)}\fR" for w in text.split(" "))


def lines_of(block: Block) -> list[str]:
    if block.form == "text":
        return [".PP", inline(block.text)]
    return [".PP", ".RS 4", ".nf", escape(block.text), ".fi", ".RE"]


def terms(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """A list of words that are already roff, and what each means."""
    return [line for term, text in pairs for line in (".TP", term, inline(text))]


def man(one: Page, about: str) -> str:
    """The page of one command, and of all its parts."""
    out = [*_title(one.path.replace(" ", "-"), about), ".SH SYNOPSIS"]
    out += [line for each in one.parts or [one] for line in (usage(each.usage), ".br")][:-1]
    out += [".SH DESCRIPTION", inline(one.about)]
    out += [line for block in one.blocks if block.form != "examples" for line in lines_of(block)]
    name = one.path.split(" ")[1]
    if alias := next((alias for alias, full in ALIASES.items() if full == name), None):
        out += [".PP", inline(f"`muster {alias}` is the same command.")]
    if one.options:
        out += [".SH OPTIONS", *terms([(flags(names), text) for names, text in one.options])]
    if one.parts:
        out += [".SH COMMANDS", *(line for part in one.parts for line in _part(part))]
    if examples := [block for each in [one, *one.parts] for block in each.blocks if block.form == "examples"]:
        out += [".SH EXAMPLES", *(line for block in examples for line in lines_of(block))]
    out += [".SH SEE ALSO", r"\fBmuster\fR(1)"]
    return "\n".join([*out, ""])


def _title(name: str, about: str) -> list[str]:
    header = '.\\" Made by `make docs` from the command itself.'
    title = f'.TH "{escape(name.upper())}" 1 "" "muster" "muster manual"'
    return [header, title, ".SH NAME", rf"{escape(name)} \- {inline(about[:1].lower() + about[1:])}"]


def _part(part: Page) -> list[str]:
    lines = [f'.SS "{escape(part.path)}"', usage(part.usage), ".PP", inline(part.about)]
    lines += [line for block in part.blocks if block.form != "examples" for line in lines_of(block)]
    return [*lines, *terms([(flags(names), text) for names, text in part.options])]


def main_man() -> str:
    """The page of `muster` itself."""
    own = page(app, "muster")
    commands = [(rf"\fBmuster\-{escape(name)}\fR(1)", f"{about}.") for name, (_, about) in TABLE.items()]
    out = [
        *_title("muster", own.about.rstrip(".")),
        ".SH SYNOPSIS",
        usage(own.usage),
        ".SH DESCRIPTION",
        inline(own.about),
    ]
    out += [line for block in own.blocks for line in lines_of(block)]
    out += [".SH COMMANDS", *terms(commands)]
    out += [".SH OPTIONS", *terms([(flags(names), text) for names, text in own.options])]
    out += [".SH EXIT STATUS", *terms([(str(code), text) for code, text in exits().items()])]
    out += [".SH ENVIRONMENT", *terms([(rf"\fB{escape(name)}\fR", text) for name, text in VARIABLES.items()])]
    return "\n".join([*out, ""])


# --- the command reference


def prose(text: str) -> str:
    """Text that Markdown prints as it is; what is in backticks is already safe."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        pieces = [text]
    return "`".join(piece if i % 2 else re.sub(r"([*_<\[\\])", r"\\\1", piece) for i, piece in enumerate(pieces))


def markdown(one: Page, level: int = 2) -> list[str]:
    out = [f"{'#' * level} {one.path}", "", prose(one.about), "", "```text", one.usage, "```", ""]
    for block in one.blocks:
        language = "sh" if block.form == "examples" else "text"
        out += [prose(block.text), ""] if block.form == "text" else [f"```{language}", block.text, "```", ""]
    if one.options:
        out += [*(f"- `{names}`: {prose(text)}" for names, text in one.options), ""]
    return [*out, *(line for part in one.parts for line in markdown(part, level + 1))]


def reference(found: dict[str, Page]) -> str:
    """All commands on one page."""
    aliases = {full: f" (`{alias}`)" for alias, full in ALIASES.items()}
    out = ["# Commands", "", "<!-- Made by `make docs` from the commands themselves. -->", ""]
    out += ["Each has a man page, `man muster-create`, and the same text under `muster create --help`.", ""]
    out += ["| command | |", "|---|---|"]
    out += [f"| [{name}](#muster-{name}){aliases.get(name, '')} | {prose(TABLE[name][1])} |" for name in found]
    out += ["", *(line for one in found.values() for line in markdown(one))]
    out += [
        "## Exit codes",
        "",
        "| code | |",
        "|---|---|",
        *(f"| {n} | {prose(text)} |" for n, text in exits().items()),
    ]
    return "\n".join([*out, ""])


def documents(names: Sequence[str]) -> dict[str, str]:
    """Every generated file's text, by its path under docs/."""
    found = pages(names)
    manuals = {f"man/muster-{name}.1": man(one, TABLE[name][1]) for name, one in found.items()}
    return {"commands.md": reference(found), "configuration.md": configuration(), "man/muster.1": main_man(), **manuals}


def configuration() -> str:
    """The page on configuration, with the table of all keys as they are."""
    before, mark, rest = (DOCS / "configuration.md").read_text(encoding="utf-8").partition("<!-- keys -->\n")
    _, end, after = rest.partition("\n<!-- /keys -->")
    return f"{before}{mark}{keys_table()}{end}{after}"


def stale(wanted: dict[str, str], folder: Path) -> list[str]:
    """The files that are not as they would be written, or would not be written at all."""
    there = {f"man/{path.name}": path for path in (folder / "man").glob("*.1")}
    old = [name for name, text in wanted.items() if not _same(folder / name, text)]
    return sorted([*old, *(there.keys() - wanted.keys())])


def _same(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def write(wanted: dict[str, str], folder: Path) -> None:
    for name in stale(wanted, folder):
        path = folder / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[name], encoding="utf-8")
        else:
            path.unlink()
        print(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, name what is stale")
    parser.add_argument("--to", type=Path, default=DOCS, metavar="DIR", help="instead of docs/")
    parser.add_argument("commands", nargs="*", help="only these")
    given = parser.parse_args()
    wanted = documents(given.commands or list(TABLE))
    if not given.check:
        write(wanted, given.to)
        return 0
    for name in (old := stale(wanted, given.to)):
        print(f"{given.to / name} is stale: `make docs` writes it anew", file=sys.stderr)
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())

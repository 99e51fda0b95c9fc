"""Placeholders: one task per record of an input, with the record's fields put into its words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from muster.core import names
from muster.errors import UsageError
from muster.fleet import Task

# `{}` is the whole record, `{field}` one of its fields; doubled braces stand for themselves.
_LINES = re.compile(r"\{\{\}\}|\{\}")
_RECORDS = re.compile(r"\{\{([\w.-]*)\}\}|\{([\w.-]*)\}")


def tasks(task: Task, text: str, *, json: bool = False, name: str = "", run: str = "") -> list[Task]:
    """A task like that one per line of the text, or per JSON object in it."""
    records = list(_objects(text)) if json else [{"": line} for line in text.splitlines() if line.strip()]
    taken: set[str] = set()
    place = "".join(task.name.partition("@")[1:])
    found = []
    for number, record in enumerate(records, 1):
        fill = _filler(record, json)
        found.append(
            msgspec.structs.replace(
                task,
                name=_name(name or run, fill, number, taken) + (place if "@" not in name else ""),
                message=fill(task.message) if task.message is not None else None,
                args=tuple(map(fill, task.args)),
            )
        )
    return found


def _objects(text: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = msgspec.json.decode(line)
        except msgspec.DecodeError as error:
            raise UsageError(f"line {number} of the input is no JSON: {error}") from None
        if not isinstance(record, dict):
            raise UsageError(f"line {number} of the input is no JSON object", hint="one object per line: `jq -c '.[]'`")
        yield record


class _Filler:
    """Puts a record into words."""

    def __init__(self, record: Mapping[str, Any], json: bool) -> None:
        self.record, self.json = record, json

    def __call__(self, text: str) -> str:
        if not self.json:
            return _LINES.sub(lambda found: "{}" if len(found[0]) == 4 else self.record[""], text)
        return _RECORDS.sub(lambda found: f"{{{found[1]}}}" if found[1] is not None else self._field(found[2]), text)

    def _field(self, path: str) -> str:
        node: Any = self.record
        for name in path.split(".") if path else ():
            if not isinstance(node, Mapping) or name not in node:
                known = node if isinstance(node, Mapping) else ()
                hint = names.nearest(name, known, "field") or "braces that are no field are doubled: `{{…}}`"
                raise UsageError(f"the input has no field `{path}`", hint=hint)
            node = node[name]
        if node is None:
            return ""
        return node if isinstance(node, str) else msgspec.json.encode(node).decode()


def _filler(record: Mapping[str, Any], json: bool) -> _Filler:
    return _Filler(record, json)


def _name(pattern: str, fill: _Filler, number: int, taken: set[str]) -> str:
    """The same for the same input, so that a run can be resumed."""
    if not pattern:
        return ""
    plain, at, place = pattern.partition("@")
    name = fill(plain)
    if name == plain:
        return f"{plain}-{number}{at}{place}"
    name = slug = names.slug(name) or f"{number}"
    extra = 1
    while name in taken:
        extra += 1
        name = f"{slug[:58]}-{extra}"
    taken.add(name)
    return f"{name}{at}{place}"


def used(words: Sequence[str], json: bool) -> bool:
    """Whether any of them has a place for the record."""
    form = _RECORDS if json else _LINES
    return any(len(found[0]) < 4 or found[0][:2] != "{{" for word in words for found in form.finditer(word))

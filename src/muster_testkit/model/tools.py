"""From a script's portable steps (`bash`, `read`, `write`, `edit`) to the tools that the client itself declared."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from muster_testkit.model.requests import Json

SHELLS = ("Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command")
KINDS = {
    "read": ("Read", "read", "read_file"),
    "write": ("Write", "write", "write_file"),
    "edit": ("Edit", "edit", "replace"),
}
_NAMES = {
    "path": ("file_path", "filePath", "absolute_path", "path"),
    "content": ("content", "file_text"),
    "old": ("old_string", "oldString", "oldText", "old_str"),
    "new": ("new_string", "newString", "newText", "new_str"),
    "command": ("command", "cmd"),
}
_REPLACE = (
    "import sys; f, a, b = sys.argv[1:]; s = open(f).read(); assert a in s; open(f, 'w').write(s.replace(a, b, 1))"
)


class Call(NamedTuple):
    """A call of one of the client's tools; a free-form tool takes text."""

    name: str
    arguments: Json | str


def calls(step: Mapping[str, Any], tools: Mapping[str, Json | None]) -> list[Call]:
    """The tool calls of a step."""
    found = [one for item in step.get("tools") or [step] for one in _calls(item, tools)]
    return [_in_code(one) for one in found] if _code_mode(tools) else found


def _code_mode(tools: Mapping[str, Json | None]) -> bool:
    """Whether the client takes JavaScript that calls its tools, as the newest models of Codex do."""
    return "exec" in tools and tools["exec"] is None


def _in_code(call: Call) -> Call:
    return Call("exec", f"text(await tools.{call.name}({json.dumps(call.arguments)}));")


def _calls(item: Mapping[str, Any], tools: Mapping[str, Json | None]) -> Iterator[Call]:
    if "tool" in item:
        yield Call(item["tool"]["name"], item["tool"].get("input", {}))
    if "bash" in item:
        yield _shell(item["bash"], tools)
    for kind, names in KINDS.items():
        if kind in item:
            values = {"path": item[kind]} if kind == "read" else dict(item[kind])
            name = next((name for name in names if name in tools), None)
            if name:
                yield Call(name, _filled(tools[name] or {}, values))
            elif kind != "read" and ("apply_patch" in tools or _code_mode(tools)):
                patch = _patch(kind, values)
                yield Call("apply_patch", patch if tools.get("apply_patch") is None else {"input": patch})
            else:
                yield _shell(_command(kind, values), tools)


def _shell(command: str, tools: Mapping[str, Json | None]) -> Call:
    if _code_mode(tools):
        return Call("exec_command", {"cmd": command})
    name = next((name for name in SHELLS if name in tools), "Bash")
    return Call(name, _filled(tools.get(name) or {}, {"command": command}))


def _filled(schema: Json, values: Mapping[str, str]) -> Json:
    """Arguments as the tool's own schema names them, and something for any other text that it requires."""
    known: Json = schema.get("properties") or {}
    out: Json = {}
    for key, value in values.items():
        name = next((name for name in _NAMES[key] if name in known), key)
        out[name] = ["bash", "-lc", value] if _type(known, name) == "array" else value
    if "edits" in known and "old" in values:
        out = {key: value for key, value in out.items() if key in known}
        out["edits"] = [{"oldText": values["old"], "newText": values["new"]}]
    for name in schema.get("required") or []:
        if name not in out and _type(known, name) == "string":
            out[name] = "scripted"
    return out


def _type(known: Json, name: str) -> str:
    return str(known.get(name, {}).get("type")).lower()


def _patch(kind: str, values: Mapping[str, str]) -> str:
    def marked(mark: str, text: str) -> str:
        return "\n".join(mark + line for line in text.split("\n"))

    if kind == "write":
        body = f"*** Add File: {values['path']}\n{marked('+', values['content'].rstrip(chr(10)))}"
    else:
        body = f"*** Update File: {values['path']}\n@@\n{marked('-', values['old'])}\n{marked('+', values['new'])}"
    return f"*** Begin Patch\n{body}\n*** End Patch\n"


def _command(kind: str, values: Mapping[str, str]) -> str:
    """The shell command that does what such a tool would."""
    path = shlex.quote(values["path"])
    if kind == "read":
        return f"cat {path}"
    if kind == "write":
        return f"printf %s {shlex.quote(values['content'])} > {path}"
    return f"python3 -c {shlex.quote(_REPLACE)} {path} {shlex.quote(values['old'])} {shlex.quote(values['new'])}"

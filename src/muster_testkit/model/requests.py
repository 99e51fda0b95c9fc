"""What a request asks for, in any of the four dialects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

Json = dict[str, Any]
Api = Literal["messages", "responses", "chat", "gemini"]

_PATHS: tuple[tuple[str, Api], ...] = (
    (r"/messages$", "messages"),
    (r"/responses$", "responses"),
    (r"/chat/completions$", "chat"),
    (r":(stream)?[gG]enerateContent$", "gemini"),
)
_SCHEMAS = (
    ("text", "format", "schema"),
    ("response_format", "json_schema", "schema"),
    ("output_config", "format", "schema"),
    ("output_format", "schema"),
    ("generationConfig", "responseJsonSchema"),
    ("generationConfig", "responseSchema"),
)


class Asked:
    """One request to the model."""

    def __init__(self, api: Api, path: str, body: Json) -> None:
        turns = body.get("messages") or body.get("input") or body.get("contents") or []
        history: list[Any] = [{"role": "user", "content": turns}] if isinstance(turns, str) else turns
        self.api, self.body = api, body
        self.size = len(json.dumps(body)) // 4 + 1  # tokens, roughly
        self.model = body.get("model") or re.sub(r".*/models/([^:]+):.*", r"\1", path)
        self.stream = body.get("stream") is True or "streamGenerateContent" in path
        self.tools = dict(_tools(body))
        self.schema = _schema(body)
        self.last = text_of(history[-1:])
        self.system = text_of(
            body.get("system")
            or body.get("instructions")
            or body.get("systemInstruction")
            or "\n".join(text_of(turn) for turn in history if turn.get("role") in ("system", "developer"))
        )

    @property
    def free_form(self) -> frozenset[str]:
        """The tools that take text and no JSON."""
        return frozenset(name for name, schema in self.tools.items() if schema is None)


def api_of(path: str) -> Api | None:
    return next((api for pattern, api in _PATHS if re.search(pattern, path)), None)


def text_of(content: Any) -> str:
    """The text of a message's content in any of the dialects."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(part) for part in content)
    if isinstance(content, dict):
        for key in ("text", "content", "output", "parts", "functionResponse", "response"):
            if content.get(key):
                return text_of(content[key])
    return ""


def _tools(body: Json) -> Iterator[tuple[str, Json | None]]:
    """Name and JSON schema of the tools that a request offers; a free-form one has no schema."""
    for tool in _offered(body):
        if "functionDeclarations" in tool:  # gemini
            for one in tool["functionDeclarations"]:
                yield one["name"], one.get("parametersJsonSchema") or one.get("parameters") or {}
        elif "function" in tool:  # chat completions
            yield tool["function"]["name"], tool["function"].get("parameters") or {}
        elif tool.get("name"):
            free = tool.get("type") == "custom" and "input_schema" not in tool
            yield tool["name"], None if free else tool.get("input_schema") or tool.get("parameters") or {}


def _offered(body: Json) -> Iterator[Json]:
    listed = list(body.get("tools") or [])
    for item in body.get("input") or []:  # some models get their tools in the input
        if isinstance(item, dict) and item.get("type") == "additional_tools":
            listed += item.get("tools") or []
    for tool in listed:
        if isinstance(tool, dict) and tool.get("type") == "namespace":
            yield from tool.get("tools") or []
        elif isinstance(tool, dict):
            yield tool


def _schema(body: Json) -> Json | None:
    """The JSON schema that the answer must follow, if the request names one."""
    for path in _SCHEMAS:
        at: Any = body
        for name in path:
            at = at.get(name) if isinstance(at, dict) else None
        if isinstance(at, dict):
            return at
    return None

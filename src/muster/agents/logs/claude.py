"""Claude Code: a line per block of a message, each with the usage of its whole request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct, field

from muster.agents import Event, Role, Tokens
from muster.agents.logs import lines

# Counts of so many requests are remembered: the lines of one stand close together.
_REQUESTS = 64
_INTERRUPTED = "[Request interrupted"


class _Written(Struct, frozen=True):
    ephemeral_1h_input_tokens: int | None = 0


class _Usage(Struct, frozen=True):
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0
    cache_creation: _Written | None = None

    @property
    def tokens(self) -> Tokens:
        cached, written = self.cache_read_input_tokens or 0, self.cache_creation_input_tokens or 0
        hour = (self.cache_creation.ephemeral_1h_input_tokens if self.cache_creation else 0) or 0
        return Tokens((self.input_tokens or 0) + cached + written, self.output_tokens or 0, cached, written, hour)


class _Block(Struct, frozen=True):
    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    content: Any = None
    is_error: bool | None = None


class _Message(Struct, frozen=True):
    id: str = ""
    model: str = ""
    content: str | list[_Block] = ""
    usage: _Usage | None = None


class _Attachment(Struct, frozen=True):
    type: str = ""
    prompt: Any = ""
    is_human: bool | None = field(default=None, name="humanTurn")


class _Line(Struct, frozen=True):
    type: str = ""
    attachment: _Attachment | None = None
    uuid: str = ""
    timestamp: str = ""
    message: _Message | None = None
    is_meta: bool | None = field(default=None, name="isMeta")
    is_summary: bool | None = field(default=None, name="isCompactSummary")
    is_failure: bool | None = field(default=None, name="isApiErrorMessage")


_decoded = lines.decoder(_Line)


class Claude(Struct):
    """The reader of `projects/*/SESSION.jsonl`."""

    whole: ClassVar[bool] = False
    seen: set[str] = set()
    calls: dict[str, str] = {}  # that have no result yet: by id, the tool
    counted: dict[str, Tokens] = {}  # by request, what of it was given out

    @staticmethod
    def beside(path: str) -> str:
        return path.removesuffix(".jsonl") + "/subagents/*.jsonl"

    @staticmethod
    def knows(head: bytes) -> bool:
        return any("sessionId" in line and ("type" in line and "projectHash" not in line) for line in lines.head(head))

    def read(self, line: bytes) -> Iterable[Event]:
        one = _decoded(line)
        if one is not None and one.type == "attachment" and one.attachment is not None:
            return self._queued(one, one.attachment)
        if one is None or one.message is None or one.type not in ("user", "assistant") or one.is_meta:
            return ()
        if one.uuid:
            if one.uuid in self.seen:
                return ()
            self.seen.add(one.uuid)
        return self._said(one, one.message)

    def _queued(self, one: _Line, attachment: _Attachment) -> Iterator[Event]:
        """What it was told while it was busy, and read within its turn."""
        if attachment.type == "queued_command" and attachment.is_human and one.uuid not in self.seen:
            self.seen.add(one.uuid)
            yield Event("user", lines.said(attachment.prompt), lines.moment(one.timestamp), "", one.uuid)

    def rest(self) -> Iterable[Event]:
        return ()

    def _said(self, one: _Line, message: _Message) -> Iterator[Event]:
        content = message.content
        blocks = [_Block("text", content)] if isinstance(content, str) else content
        at, tokens = lines.moment(one.timestamp), self._tokens(message)
        model = "" if message.model.startswith("<") else message.model
        request = message.id if model else ""
        for block in blocks:
            role, text = self._role(one, block), _text(block)
            if not text and role != "result" and not tokens:
                continue
            if block.type == "tool_use":
                self.calls[block.id] = block.name
            tool = block.name or self.calls.pop(block.tool_use_id, "")
            known = block.id or block.tool_use_id or one.uuid
            yield Event(role, text, at, tool, known, model, request, tokens)
            tokens = None

    def _role(self, one: _Line, block: _Block) -> Role:
        if block.type == "tool_use":
            return "tool"
        if block.type == "tool_result":
            return "error" if block.is_error else "result"
        if block.type == "thinking":
            return "thinking"
        if one.is_failure or (one.type == "user" and block.text.startswith(_INTERRUPTED)):
            return "error"
        if one.is_summary:
            return "output"  # the program's own words for what went before
        return "user" if one.type == "user" else "assistant"

    def _tokens(self, message: _Message) -> Tokens | None:
        if message.usage is None or not message.id:
            return None
        now = message.usage.tokens
        more = lines.grown(now, self.counted.get(message.id))
        if more:
            self.counted[message.id] = now
            if len(self.counted) > _REQUESTS:
                del self.counted[next(iter(self.counted))]
        return more


def _text(block: _Block) -> str:
    if block.type == "tool_use":
        return lines.given(block.input)
    if block.type == "tool_result":
        return lines.said(block.content)
    if block.type in ("text", "thinking"):
        return block.text or block.thinking
    return "" if block.type == "redacted_thinking" else f"[{block.type}]"

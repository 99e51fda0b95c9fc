"""The Anthropic Messages API."""

from __future__ import annotations

import json
from typing import Any

from muster_testkit.model.reply import Reply, Said, fresh, pieces
from muster_testkit.model.requests import Json

_SIGNATURE = "c2NyaXB0ZWQ="
_EMPTY: dict[str, Json] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}


def whole(reply: Reply) -> Json:
    usage = reply.usage
    return {
        "id": reply.id,
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": _blocks(reply),
        "stop_reason": reply.stop or ("tool_use" if reply.calls else "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_input_tokens": usage.cache_read,
            "cache_creation_input_tokens": usage.cache_write,
        },
    }


def said(reply: Reply) -> Said:
    full = whole(reply)
    start = {**full, "content": [], "stop_reason": None, "usage": {**full["usage"], "output_tokens": 1}}
    yield _event("message_start", message=start)
    yield _event("ping")
    for index, block in enumerate(full["content"]):
        yield _event("content_block_start", index=index, content_block={**block, **_EMPTY[block["type"]]})
        for delta in _deltas(block):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    stop = {"stop_reason": full["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=stop, usage=full["usage"])
    yield _event("message_stop")


def _event(name: str, **data: Any) -> tuple[str, Json]:
    return name, {"type": name, **data}


def _blocks(reply: Reply) -> list[Json]:
    blocks: list[Json] = []
    if reply.thinking:
        blocks.append({"type": "thinking", "thinking": reply.thinking, "signature": _SIGNATURE})
    if reply.text or not reply.calls:
        blocks.append({"type": "text", "text": reply.text})
    for call in reply.calls:
        blocks.append({"type": "tool_use", "id": fresh("toolu_"), "name": call.name, "input": call.arguments})
    return blocks


def _deltas(block: Json) -> list[Json]:
    if block["type"] == "tool_use":
        return [{"type": "input_json_delta", "partial_json": one} for one in pieces(json.dumps(block["input"]))]
    if block["type"] == "text":
        return [{"type": "text_delta", "text": one} for one in pieces(block["text"])]
    thought: list[Json] = [{"type": "thinking_delta", "thinking": one} for one in pieces(block["thinking"])]
    return [*thought, {"type": "signature_delta", "signature": block["signature"]}]

"""The OpenAI Responses API."""

from __future__ import annotations

import time
from itertools import count
from typing import Any

from muster_testkit.model.reply import Reply, Said, dumped, fresh, pieces
from muster_testkit.model.requests import Json

_EMPTY: dict[str, Json] = {
    "message": {"content": []},
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
    "reasoning": {"summary": []},
}


def whole(reply: Reply) -> Json:
    return _response(reply, _items(reply))


def said(reply: Reply) -> Said:
    items, number = _items(reply), count()

    def event(kind: str, **data: Any) -> tuple[str, Json]:
        return kind, {"type": kind, "sequence_number": next(number), **data}

    yield event("response.created", response=_response(reply, None))
    for index, item in enumerate(items):
        at = {"output_index": index, "item_id": item["id"]}
        started = {**item, **_EMPTY[item["type"]], "status": "in_progress"}
        yield event("response.output_item.added", output_index=index, item=started)
        for kind, data in _parts(item):
            yield event(str(kind), **at, **data)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=_response(reply, items))


def _parts(item: Json) -> Said:
    if item["type"] == "message":
        part = item["content"][0]
        yield "response.content_part.added", {"content_index": 0, "part": {**part, "text": ""}}
        for piece in pieces(part["text"]):
            yield "response.output_text.delta", {"content_index": 0, "delta": piece}
        yield "response.output_text.done", {"content_index": 0, "text": part["text"]}
        yield "response.content_part.done", {"content_index": 0, "part": part}
    elif item["type"] == "function_call":
        for piece in pieces(item["arguments"]):
            yield "response.function_call_arguments.delta", {"delta": piece}
        yield "response.function_call_arguments.done", {"arguments": item["arguments"]}
    elif item["type"] == "custom_tool_call":
        yield "response.custom_tool_call_input.done", {"input": item["input"]}


def _response(reply: Reply, items: list[Json] | None) -> Json:
    """Without items it has only begun."""
    usage = reply.usage
    tokens = {
        "input_tokens": usage.whole_input,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.whole_input + usage.output,
    }
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress" if items is None else "completed",
        "model": reply.model,
        "output": items or [],
        "error": None,
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
        "instructions": None,
        "metadata": {},
        "usage": None if items is None else tokens,
    }


def _items(reply: Reply) -> list[Json]:
    items: list[Json] = []
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        items.append({"type": "reasoning", "id": fresh("rs_"), "summary": summary})
    if reply.text or not reply.calls:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        message = {"type": "message", "id": reply.id, "role": "assistant", "status": "completed"}
        items.append({**message, "content": content})
    for call in reply.calls:
        asked = {"call_id": fresh("call_"), "name": call.name, "status": "completed"}
        if call.name in reply.free_form:
            items.append({"type": "custom_tool_call", "id": fresh("ctc_"), **asked, "input": call.arguments})
        else:
            items.append({"type": "function_call", "id": fresh("fc_"), **asked, "arguments": dumped(call.arguments)})
    return items

"""The OpenAI Chat Completions API."""

from __future__ import annotations

import time
from typing import Any

from muster_testkit.model.reply import Reply, Said, dumped, fresh, pieces
from muster_testkit.model.requests import Json


def whole(reply: Reply) -> Json:
    message: Json = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = _calls(reply)
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    return {**_head(reply, "chat.completion"), "choices": [choice], "usage": _usage(reply)}


def said(reply: Reply) -> Said:
    head = _head(reply, "chat.completion.chunk")

    def event(delta: Json, finish: str | None = None) -> tuple[None, Json]:
        return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield event({"role": "assistant", "content": ""})
    for piece in pieces(reply.text):
        yield event({"content": piece})
    for call in _calls(reply):
        arguments = call["function"]["arguments"]
        yield event({"tool_calls": [{**call, "function": {**call["function"], "arguments": ""}}]})
        for piece in pieces(arguments):
            yield event({"tool_calls": [{"index": call["index"], "function": {"arguments": piece}}]})
    yield event({}, _finish(reply))
    yield None, {**head, "choices": [], "usage": _usage(reply)}


def _head(reply: Reply, kind: str) -> Json:
    return {"id": f"chatcmpl-{reply.id}", "object": kind, "created": int(time.time()), "model": reply.model}


def _finish(reply: Reply) -> str:
    return "length" if reply.stop == "max_tokens" else "tool_calls" if reply.calls else "stop"


def _calls(reply: Reply) -> list[Json]:
    def function(name: str, arguments: Any) -> Json:
        return {"id": fresh("call_"), "type": "function", "function": {"name": name, "arguments": dumped(arguments)}}

    return [{"index": index, **function(*call)} for index, call in enumerate(reply.calls)]


def _usage(reply: Reply) -> Json:
    usage = reply.usage
    return {
        "prompt_tokens": usage.whole_input,
        "completion_tokens": usage.output,
        "total_tokens": usage.whole_input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }

"""The Gemini generateContent API."""

from __future__ import annotations

from muster_testkit.model.reply import Reply, Said, fresh
from muster_testkit.model.requests import Json


def whole(reply: Reply) -> Json:
    return _response(reply, _parts(reply), last=True)


def said(reply: Reply) -> Said:
    parts = _parts(reply) or [{"text": ""}]
    for number, part in enumerate(parts, 1):
        yield None, _response(reply, [part], last=number == len(parts))


def _parts(reply: Reply) -> list[Json]:
    text: list[Json] = [{"text": reply.text}] if reply.text else []
    calls = [{"id": fresh("fc_"), "name": call.name, "args": call.arguments} for call in reply.calls]
    return [*text, *({"functionCall": call, "thoughtSignature": "c2NyaXB0ZWQ="} for call in calls)]


def _response(reply: Reply, parts: list[Json], last: bool) -> Json:
    usage = reply.usage
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    if last:
        candidate["finishReason"] = "MAX_TOKENS" if reply.stop == "max_tokens" else "STOP"
    return {
        "responseId": reply.id,
        "modelVersion": reply.model,
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": usage.whole_input,
            "cachedContentTokenCount": usage.cache_read,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.whole_input + usage.output,
        },
    }

"""The scripted model: what it answers, in each dialect, and how it fails."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from muster_testkit import KitError
from muster_testkit.model import Model, serve

Json = dict[str, Any]
BASH = {"type": "object", "properties": {"command": {"type": "string"}, "why": {"type": "string"}}, "required": ["why"]}
EDIT: Json = {"properties": {"file_path": {}, "old_string": {}, "new_string": {}}}
TOOLS = [{"name": "Bash", "input_schema": BASH}, {"name": "Edit", "input_schema": EDIT}]


def asks(model: Model, path: str, body: Json, key: str = "k") -> Any:
    request = urllib.request.Request(
        model.url + path, json.dumps(body).encode(), {"x-api-key": key, "content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def streams(model: Model, path: str, body: Json) -> Iterator[Json]:
    request = urllib.request.Request(model.url + path, json.dumps(body).encode(), {"authorization": "Bearer k"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("data: ") and line != "data: [DONE]":
                yield json.loads(line.removeprefix("data: "))


def message(text: str, **more: Any) -> Json:
    return {"model": "m", "messages": [{"role": "user", "content": text}], "tools": TOOLS, **more}


def test_steps_are_taken_in_order_by_those_that_match(scripted_model: Model) -> None:
    scripted_model.script(
        {
            "steps": [
                {"when": {"last": "weather"}, "text": "It rains."},
                {"text": "One."},
                {"bash": "ls"},
                {"edit": {"path": "/f", "old": "a", "new": "b"}},
            ],
            "end": "Enough.",
            "side": "A title",
        }
    )
    told = [asks(scripted_model, "/v1/messages", message(text))["content"][-1] for text in ("hello", "the weather?")]
    assert [one["text"] for one in told] == ["One.", "It rains."]
    side = asks(scripted_model, "/v1/messages", {**message("title?"), "tools": []})
    assert side["content"] == [{"type": "text", "text": "A title"}]  # and it took no step
    shell = asks(scripted_model, "/v1/messages", message("go on"))
    assert shell["stop_reason"] == "tool_use"
    assert shell["content"][0]["input"] == {"command": "ls", "why": "scripted"}
    edit = asks(scripted_model, "/v1/messages", message("go on"))["content"][0]
    assert (edit["name"], edit["input"]) == ("Edit", {"file_path": "/f", "old_string": "a", "new_string": "b"})
    assert asks(scripted_model, "/v1/messages", message("go on"))["content"][0]["text"] == "Enough."
    assert scripted_model.state() == {"k": {"served": 6, "left": 0}}
    assert [one.last for one in scripted_model.asked("k")][:2] == ["hello", "the weather?"]


def test_the_same_step_in_every_dialect(scripted_model: Model) -> None:
    step = {
        "text": "Ünïcode " * 20,
        "thinking": "hm",
        "bash": "ls",
        "usage": {"input": 7, "output": 3, "cache_read": 2},
    }
    scripted_model.script([{**step, "times": 0}])
    function = {"name": "exec_command", "parameters": {"properties": {"cmd": {"type": "string"}}}}
    gemini = {"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": BASH}]}
    turns = [{"role": "user", "parts": [{"text": "hi"}]}]

    whole = asks(scripted_model, "/v1/messages", message("hi"))
    assert whole["usage"]["cache_read_input_tokens"] == 2
    events = [*streams(scripted_model, "/v1/messages", message("hi", stream=True))]
    spoken = "".join(one["delta"]["text"] for one in events if one.get("delta", {}).get("type") == "text_delta")
    assert (spoken, events[-1]["type"]) == (step["text"], "message_stop")
    given = "".join(one["delta"]["partial_json"] for one in events if "partial_json" in one.get("delta", {}))
    assert json.loads(given) == whole["content"][2]["input"]

    body = {"model": "m", "input": "hi", "tools": [{"type": "function", **function}]}
    whole = asks(scripted_model, "/v1/responses", body)
    assert [one["type"] for one in whole["output"]] == ["reasoning", "message", "function_call"]
    assert whole["usage"]["input_tokens"] == 9
    events = [*streams(scripted_model, "/v1/responses", {**body, "stream": True})]
    assert [one["sequence_number"] for one in events] == [*range(len(events))]
    assert events[-1]["response"]["output"][2]["arguments"] == '{"cmd": "ls"}'

    chat = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [{"function": function}]}
    whole = asks(scripted_model, "/v1/chat/completions", chat)
    assert whole["choices"][0]["finish_reason"] == "tool_calls"
    events = [*streams(scripted_model, "/v1/chat/completions", {**chat, "stream": True})]
    deltas = [one["choices"][0]["delta"] for one in events if one["choices"]]
    assert "".join(one.get("content", "") for one in deltas) == step["text"]
    assert events[-1]["usage"]["total_tokens"] == 12

    body = {"contents": turns, "tools": [gemini]}
    whole = asks(scripted_model, "/v1beta/models/g:generateContent", body)
    assert whole["candidates"][0]["content"]["parts"][1]["functionCall"]["args"] == {"command": "ls", "why": "scripted"}
    events = [*streams(scripted_model, "/v1beta/models/g:streamGenerateContent?alt=sse", body)]
    assert [one["candidates"][0].get("finishReason") for one in events] == [None, "STOP"]
    assert {one.api for one in scripted_model.asked()} == {"messages", "responses", "chat", "gemini"}


def test_tools_as_codex_has_them(scripted_model: Model) -> None:
    """Patches as text, and JavaScript that calls the tools."""
    write = {"write": {"path": "/f", "content": "a\nb\n"}}
    scripted_model.script([{**write, "times": 2}, {"bash": "ls"}])
    patch = "*** Begin Patch\n*** Add File: /f\n+a\n+b\n*** End Patch\n"
    body: Json = {"model": "m", "input": "hi", "tools": [{"type": "custom", "name": "apply_patch"}]}
    [call] = asks(scripted_model, "/v1/responses", body)["output"]
    assert (call["type"], call["input"]) == ("custom_tool_call", patch)
    added = {"type": "additional_tools", "tools": [{"type": "custom", "name": "exec"}]}
    body = {"model": "m", "input": [added]}
    [call] = asks(scripted_model, "/v1/responses", body)["output"]
    assert call["input"] == f"text(await tools.apply_patch({json.dumps(patch)}));"
    [call] = asks(scripted_model, "/v1/responses", body)["output"]
    assert call["input"] == 'text(await tools.exec_command({"cmd": "ls"}));'


def test_failures(scripted_model: Model) -> None:
    scripted_model.script(
        [
            {"fail": {"status": 429, "retry_after": 3}},
            {"fail": {"status": 401}},
            {"text": "x" * 400, "disconnect": 0},
            {"text": "x" * 400, "disconnect": 5},
            {"text": "x" * 400, "stream_error": {"message": "too much"}},
            {"hang": 0.1},
        ]
    )
    with pytest.raises(urllib.error.HTTPError) as failed:
        asks(scripted_model, "/v1/messages", message("hi"))
    with failed.value as limited:
        assert (limited.code, limited.headers["retry-after"]) == (429, "3")
        assert json.load(limited)["error"]["type"] == "rate_limit_error"
    with pytest.raises(urllib.error.HTTPError) as failed:
        asks(scripted_model, "/v1/messages", message("hi"))
    with failed.value as denied:
        assert json.load(denied)["error"]["type"] == "authentication_error"
    for _ in range(2):
        with pytest.raises((OSError, HTTPException)):
            [*streams(scripted_model, "/v1/messages", message("hi", stream=True))]
    events = [*streams(scripted_model, "/v1/messages", message("hi", stream=True))]
    assert events[-1] == {"type": "error", "error": {"type": "overloaded_error", "message": "too much"}}
    with pytest.raises((OSError, HTTPException)):
        asks(scripted_model, "/v1/messages", message("hi"))


def test_a_gate_holds_an_answer_and_a_test_waits_for_requests(scripted_model: Model) -> None:
    scripted_model.script([{"gate": "g", "text": "late"}], lane="k")
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(asks(scripted_model, "/v1/messages", message("hold"))))
    thread.start()
    assert scripted_model.wait_for(lambda one: one.last == "hold").lane == "k"
    assert not answers
    scripted_model.push([{"text": "next"}], lane="k")
    assert asks(scripted_model, "/v1/messages", message("more"))["content"][0]["text"] == "next"
    scripted_model.release("g")
    thread.join(30)
    assert answers[0]["content"][0]["text"] == "late"
    with pytest.raises(TimeoutError, match="2 others"):
        scripted_model.wait_for(lambda one: one.last == "never", timeout=0.01)


def test_wrong_scripts_are_refused() -> None:
    for script, word in [
        ([{"txt": "hi"}], "txt"),
        ([{"when": {"lst": "x"}}], "lst"),
        ({"step": []}, "step"),
        ({"main": "all"}, "all"),
        ({"lanes": {"k": [{"tools": [{"run": "x"}]}]}}, "run"),
        ({"steps": "x"}, "list"),
    ]:
        with pytest.raises(KitError, match=word), serve(script):  # type: ignore[arg-type]
            pass


def test_as_a_program(tmp_path: Path) -> None:
    """Other processes have it by its command line and control it over HTTP."""
    (tmp_path / "s.json").write_text(json.dumps({"lanes": {"k": [{"gate": "g", "text": "one"}], "*": []}}))
    log, port = tmp_path / "log.jsonl", tmp_path / "port"
    argv = [sys.executable, "-m", "muster_testkit", "model", str(tmp_path / "s.json")]
    with subprocess.Popen([*argv, "--port-file", str(port), "--log", str(log)], stdout=subprocess.PIPE) as process:
        assert process.stdout
        model = Model()
        model.url = process.stdout.readline().decode().strip()
        assert model.url == f"http://127.0.0.1:{port.read_text()}"
        asks(model, "/__release", {"gate": "g"})
        assert asks(model, "/v1/messages", message("hi"))["content"][0]["text"] == "one"
        asks(model, "/__push", {"lane": "k", "steps": [{"text": "two"}]})
        assert asks(model, "/v1/messages", message("hi"))["content"][0]["text"] == "two"
        for wrong in [{"lane": "k", "steps": [{"x": 1}]}, {}]:
            with pytest.raises(urllib.error.HTTPError, match="400") as failed:
                asks(model, "/__push", wrong)
            failed.value.close()
        with urllib.request.urlopen(f"{model.url}/v1/models", timeout=30) as listed:
            assert json.load(listed)["data"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert [row["last"] for row in rows if row["api"]] == ["hi", "hi"]
    assert time.time() - rows[0]["at"] < 600
    done = subprocess.run([*argv[:-1], str(port)], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "neither a list" in done.stderr

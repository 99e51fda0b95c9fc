"""The HTTP server, on loopback only."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from muster_testkit.model import chat, gemini, messages, responses
from muster_testkit.model.lane import BadScript, Script
from muster_testkit.model.model import Model
from muster_testkit.model.reply import Dialect, Said, fresh, reply
from muster_testkit.model.requests import Api, Asked, Json, api_of

DIALECTS: dict[Api, Dialect] = {"messages": messages, "responses": responses, "chat": chat, "gemini": gemini}
_MODELS = ("claude-scripted", "gpt-scripted", "scripted")
_KINDS = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


@contextmanager
def serve(
    script: Script = (), *, port: int = 0, log: str | None = None, listener: socket.socket | None = None
) -> Iterator[Model]:
    """A model that answers by the script, at `model.url`, until the end of the block.

    `log` is a file that each request is added to as a line of JSON. `listener` is a bound socket to take requests from,
    for example one of another network namespace.
    """
    model = Model(script, log)
    server = _Server(port, model, listener)
    model.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.close()
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # an answer may hang for as long as its script says
    request_queue_size = 512

    def __init__(self, port: int, model: Model, listener: socket.socket | None) -> None:
        super().__init__(("127.0.0.1", port), _Answers, bind_and_activate=listener is None)
        self.model = model
        if listener is not None:
            self.socket.close()
            self.socket = listener
            self.server_address = listener.getsockname()
            listener.listen(self.request_queue_size)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Clients hang up when they please.
        if not isinstance(sys.exception(), (OSError, ValueError)):
            super().handle_error(request, client_address)


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def model(self) -> Model:
        assert isinstance(self.server, _Server)
        return self.server.model

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._json({})

    def do_GET(self) -> None:
        path = self._path()
        if path == "/__log":
            return self._json([one._asdict() for one in self.model.requests])
        if path == "/__state":
            return self._json(self.model.state())
        self.model.note(self._key(), path, {})
        if path.endswith("/models"):
            return self._json(_models())
        return self._unknown()

    def do_POST(self) -> None:
        path = self._path()
        try:
            body = self._body()
            if path.startswith("/__"):
                return self._control(path, body)
        except (ValueError, KeyError, TypeError, BadScript) as error:
            self.model.note(self._key(), path, {"error": str(error)})
            return self._json({"error": {"message": str(error)}}, 400)
        if path.endswith(("/count_tokens", ":countTokens")):
            size = len(json.dumps(body)) // 4 + 1
            return self._json({"input_tokens": size} if path.endswith("s/count_tokens") else {"totalTokens": size})
        if api := api_of(path):
            return self._answer(Asked(api, self.path, body))
        self.model.note(self._key(), path, body)
        return self._unknown()

    def _control(self, path: str, body: Json) -> None:
        """What a script of another process may do; tests of this one have the model itself."""
        if path == "/__release":
            self.model.release(body["gate"])
        elif path == "/__push":
            self.model.push(body["steps"], body.get("lane", "*"))
        elif path == "/__script":
            self.model.script(body["script"], body.get("lane", "*"))
        else:
            return self._unknown()
        return self._json({})

    # -- one turn ------------------------------------------------------------------------------------------------------

    def _answer(self, asked: Asked) -> None:
        step, cached = self.model.take(self._key(), self._path(), asked)
        if "gate" in step:
            self.model.hold(step["gate"])
        time.sleep(step.get("delay", 0))
        if "fail" in step:
            return self._fail(step["fail"], asked.api)
        if "hang" in step and "after" not in step:
            time.sleep(step["hang"])
            return self._drop()
        dialect, answer = DIALECTS[asked.api], reply(step, asked, cached)
        if asked.stream:
            return self._stream(dialect.said(answer), step, asked.api)
        return self._json(dialect.whole(answer))

    def _fail(self, fail: Json, api: Api) -> None:
        status: int = fail.get("status", 500)
        message = fail.get("message", "scripted failure")
        error: Json = {"type": fail.get("type") or _KINDS.get(status, "api_error"), "message": message}
        if "code" in fail:
            error["code"] = fail["code"]
        if api == "gemini":
            error = {"code": status, "message": message, "status": fail.get("type", "RESOURCE_EXHAUSTED")}
        after = {"retry-after": fail["retry_after"]} if "retry_after" in fail else {}
        self._json({"type": "error", "error": error}, status, {**fail.get("headers", {}), **after})

    def _stream(self, events: Said, step: Json, api: Api) -> None:
        if step.get("disconnect") == 0:
            return self._drop()
        self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for number, (name, data) in enumerate(events):
            if number == step.get("disconnect"):
                return self._drop()
            if "hang" in step and number == step["after"]:
                time.sleep(step["hang"])
                return self._drop()
            if "stream_error" in step and number == step.get("after", 2):
                error = {"type": "overloaded_error", "message": "scripted", **step["stream_error"]}
                self._chunk("error", json.dumps({"type": "error", "error": error}))
                break
            self._chunk(name, json.dumps(data))
            time.sleep(step.get("chunk_delay", 0))
        else:
            if api == "chat":
                self._chunk(None, "[DONE]")
        self.wfile.write(b"0\r\n\r\n")
        return None

    # -- bytes ---------------------------------------------------------------------------------------------------------

    def _path(self) -> str:
        return self.path.split("?")[0].rstrip("/")

    def _key(self) -> str:
        bearer = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        return self.headers.get("x-api-key") or self.headers.get("x-goog-api-key") or bearer or "-"

    def _body(self) -> Json:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if (self.headers.get("transfer-encoding") or "").lower() == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        body = json.loads(raw) if raw.strip() else {}
        if not isinstance(body, dict):
            raise ValueError("a table was expected")
        return body

    def _head(self, status: int, headers: Json) -> None:
        self.send_response(status)
        for name, value in {"request-id": fresh("req_"), "cache-control": "no-cache", **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()

    def _json(self, data: Any, status: int = 200, headers: Json | None = None) -> None:
        raw = json.dumps(data).encode()
        self._head(status, {"content-type": "application/json", "content-length": len(raw), **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _unknown(self) -> None:
        self._json({"type": "error", "error": {"type": "not_found_error", "message": self.path}}, 404)

    def _chunk(self, name: str | None, data: str) -> None:
        raw = ((f"event: {name}\n" if name else "") + f"data: {data}\n\n").encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        self.wfile.flush()

    def _drop(self) -> None:
        """Cut the connection with a reset, as a dying server would."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


def _models() -> Json:
    common = {"object": "model", "type": "model", "created": 0, "created_at": "2025-01-01T00:00:00Z"}
    rows = [{"id": name, "display_name": name, "owned_by": "test", **common} for name in _MODELS]
    return {"object": "list", "has_more": False, "first_id": _MODELS[0], "last_id": _MODELS[-1], "data": rows}

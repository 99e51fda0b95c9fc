"""The page while tests run: a server for this machine alone, which answers when something has changed."""

from __future__ import annotations

import threading
import time
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from muster_testkit.errors import KitError
from muster_testkit.page.parts import Folder, script_safe
from muster_testkit.page.write import page

LOOK_EVERY = 0.3
ANSWER_AFTER = 20.0


class Live(ThreadingHTTPServer):
    """`with Live(folder) as live: live.serve_forever()`; `live.url` is where it is."""

    daemon_threads = True

    def __init__(self, folder: str, port: int = 0, *, run: str = "", script: str = "") -> None:
        self.folder = Folder(folder, run=run, script=script, fresh=True)
        self.lock = threading.Lock()
        self.next, self.index, self.version = 0.0, "", ""
        self.look()
        try:
            super().__init__(("127.0.0.1", port), _Answer)
        except OSError as error:
            raise KitError(
                f"can't serve on port {port}: {error.strerror}", hint="`--port 0` takes a free one"
            ) from None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def look(self) -> tuple[str, str]:
        """The index as it is now and its version; many who ask at once cost one look."""
        with self.lock:
            if (began := time.monotonic()) > self.next:
                self.index = script_safe(self._index())
                self.version = sha256(self.index.encode()).hexdigest()[:16]
                # Thousands of tests take a while to look at; looking is never more than a quarter of what we do.
                self.next = time.monotonic() + max(LOOK_EVERY, 3 * (time.monotonic() - began))
            return self.index, self.version

    def _index(self) -> dict[str, object]:
        try:
            return self.folder.index()
        except KitError as error:
            # The tests, or the tutorial's author, may be about to make it.
            return {"outcomes": [], "tutorial": None, "runs": [], "texts": [], "trouble": str(error)}

    def changed(self, since: str) -> tuple[str, str]:
        """The index once it is another than that, or after a while anyway."""
        deadline = time.monotonic() + ANSWER_AFTER
        while (found := self.look())[1] == since and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY)
        return found

    def part(self, name: str) -> bytes | None:
        with self.lock:
            return self.folder.part(name)


class _Answer(BaseHTTPRequestHandler):
    server: Live
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked = {key: values[0] for key, values in parse_qs(url.query).items()}
        # A page of another site that has our address under its own name is not let in.
        if self.headers.get("Host", "").partition(":")[0] not in ("127.0.0.1", "localhost"):
            self._send(403, b"only for this machine", "text/plain")
        elif url.path == "/":
            self._send(200, "".join(page()).encode(), "text/html; charset=utf-8")
        elif url.path == "/index":
            index, version = self.server.changed(asked.get("since", ""))
            self._send(200, f'{{"version":"{version}","index":{index}}}'.encode(), "application/json")
        elif url.path == "/part" and (data := self.server.part(asked.get("name", ""))) is not None:
            self._send(200, data, "application/octet-stream")
        else:
            self._send(404, b"not here", "text/plain")

    def _send(self, code: int, data: bytes, kind: str) -> None:
        try:
            self.send_response(code)
            for name, value in (
                ("Content-Type", kind),
                ("Content-Length", str(len(data))),
                ("Cache-Control", "no-store"),
            ):
                self.send_header(name, value)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
            self.end_headers()
            self.wfile.write(data)
        except ConnectionError:
            self.close_connection = True  # who asked has gone

    def log_message(self, format: str, *_arguments: object) -> None:
        """Says nothing: the page shows what there is to see."""

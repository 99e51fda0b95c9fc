"""What a terminal sends."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

SCROLL = {"\x1b[5~": 0.9, "\x1b[6~": -0.9, "\x1b[A": 0.1, "\x1b[B": -0.1, "\x1bOA": 0.1, "\x1bOB": -0.1}


class Keys:
    """Turns what a terminal sends into text, keys and pastes, however the bytes are cut into reads."""

    _BEGIN, _END = b"\x1b[200~", b"\x1b[201~"
    _TOKEN = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO[@-~]|[^\x00-\x1f\x7f]+|[\x00-\x1a\x1c-\x1f\x7f]")
    _PART = re.compile(rb"\x1b(\[[0-?]*[ -/]*|O)?\Z")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._pasting = False
        self._searched = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> Iterator[tuple[str, str]]:
        """Each ("text", ...), ("key", ...) or ("paste", ...) that is complete by now."""
        self._buffer += data
        while self._buffer:
            if self._pasting:
                if (text := self._paste()) is None:
                    return
                yield "paste", text
            elif token := self._TOKEN.match(self._buffer):
                found = token[0]
                del self._buffer[: len(found)]
                if found == self._BEGIN:
                    self._pasting, self._searched = True, 0
                elif found[0] < 32 or found[0] == 127:
                    yield "key", found.decode()
                elif text := self._decoder.decode(found):
                    yield "text", text
            elif self._PART.match(self._buffer):
                return
            else:
                del self._buffer[:1]  # an Escape that begins nothing

    def _paste(self) -> str | None:
        end = self._buffer.find(self._END, self._searched)
        if end < 0:
            self._searched = max(0, len(self._buffer) - len(self._END))
            return None
        text = self._buffer[:end].decode(errors="replace")
        del self._buffer[: end + len(self._END)]
        self._pasting = False
        # Terminals send a paste's newlines as carriage returns; one that has newlines was sent as it is.
        return text if "\n" in text else text.replace("\r", "\n")

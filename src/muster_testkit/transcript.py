"""What was run and what came of it, as text that is written while the test goes on.

`# ` begins a comment, `$ ` a line of a command, two spaces a line of its standard output, `! ` one of its standard
error, `? ` its exit code. Lines end with a line feed and with nothing else.
"""

from __future__ import annotations

import codecs

from muster_testkit.run import Stream

# Of each command, so many characters of output from its beginning and from its end.
HEAD = TAIL = 100_000
_MARKS: dict[Stream, str] = {"stdout": "  ", "stderr": "! "}


class Transcript:
    """One test's transcript."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "w", encoding="utf-8", newline="\n", buffering=1)  # noqa: SIM115 - as long as the test

    def comment(self, text: str) -> None:
        self._lines("# ", text)

    def command(self, text: str) -> Spoken:
        self._lines("$ ", text)
        return Spoken(self)

    def code(self, code: int) -> None:
        self._lines("? ", str(code))

    def close(self) -> None:
        self._file.close()

    def write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()

    def _lines(self, mark: str, text: str) -> None:
        self.write("".join(f"{mark}{line}\n" for line in text.rstrip("\n").replace("\r\n", "\n").split("\n")))


class Spoken:
    """The output of one command, in the order in which it came."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in _MARKS}
        self._open: Stream | None = None  # whose line has not ended yet
        self._room = HEAD
        self._tail: list[tuple[Stream, str]] = []
        self._waiting = 0  # characters in the tail
        self._left_out = 0

    def hear(self, stream: Stream, data: bytes, final: bool = False) -> None:
        text = self._decoders[stream].decode(data, final)
        if text and self._room > 0:
            self._write(stream, text[: self._room])
            text, self._room = text[self._room :], self._room - len(text)
        if text:
            self._keep(stream, text)

    def _keep(self, stream: Stream, text: str) -> None:
        self._tail.append((stream, text))
        self._waiting += len(text)
        while self._waiting > TAIL:
            first, words = self._tail[0]
            gone = min(self._waiting - TAIL, len(words))
            self._left_out += gone
            self._waiting -= gone
            if gone == len(words):
                self._tail.pop(0)
            else:
                self._tail[0] = (first, words[gone:])

    def end(self) -> None:
        """No more will come."""
        for name in _MARKS:
            self.hear(name, b"", final=True)
        if self._left_out:
            self._break()
            self._transcript.comment(f"{self._left_out:,} characters of output are left out here")
        for stream, text in self._tail:
            self._write(stream, text)
        self._break()

    def _write(self, stream: Stream, text: str) -> None:
        if self._open != stream:
            self._break()
        mark = _MARKS[stream]
        shown = mark if self._open is None else ""
        ends = text.endswith("\n")
        shown += text.removesuffix("\n").replace("\n", f"\n{mark}") + ("\n" if ends else "")
        self._open = None if ends else stream
        self._transcript.write(shown)

    def _break(self) -> None:
        if self._open is not None:
            self._transcript.write("\n")
            self._open = None

"""How a command ended, and what it said."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any


class Output(str):
    """The text of a stream, which knows whose it is."""

    result: Result
    stream: str

    @classmethod
    def of(cls, result: Result, stream: str, data: bytes) -> Output:
        text = cls(data.decode(errors="replace"))
        text.result, text.stream = result, stream
        return text


@dataclass(frozen=True)
class Result:
    """A command that has ended."""

    command: str
    exit_code: int  # of one ended by signal N, 128 + N as a shell says it; 124 when its time was up
    stdout_bytes: bytes
    stderr_bytes: bytes
    duration: float  # seconds
    timed_out: bool = False
    signal: int = 0
    left_out: int = 0  # so many bytes came beyond what is kept

    @cached_property
    def stdout(self) -> Output:
        return Output.of(self, "stdout", self.stdout_bytes)

    @cached_property
    def stderr(self) -> Output:
        return Output.of(self, "stderr", self.stderr_bytes)

    def json(self) -> Any:
        """Its standard output as JSON."""
        import json

        return json.loads(self.stdout_bytes)

#!/usr/bin/env python3
"""How long a hundred transcripts of 5 MB take to be read into the store, and how much memory; then what was appended since."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TRANSCRIPTS, SIZE = 100, 5_000_000
WORDS = "def return import class self test value None assert fixture error path line file where result the of and to".split()


def text(draw: random.Random, length: int) -> str:
    """Something like source code: words that repeat, names that don't."""
    words = []
    while length > 0:
        word = draw.choice(WORDS) if draw.random() < 0.8 else f"name_{draw.randrange(50_000):x}"
        words.append(word)
        length -= len(word) + 1
    return " ".join(words)


def claude(draw: random.Random, session: int) -> Iterator[dict[str, Any]]:
    """Turns as Claude Code writes them down: what a tool answered stands there twice."""
    common = {
        "isSidechain": False,
        "userType": "external",
        "cwd": "/work/repo",
        "sessionId": f"s{session}",
        "version": "2",
    }
    number = 0
    while True:
        number += 1
        at = f"2026-11-{1 + number % 28:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
        usage = {
            "input_tokens": draw.randrange(2000),
            "output_tokens": draw.randrange(900),
            "cache_read_input_tokens": number * 300,
            "cache_creation_input_tokens": 900,
        }
        message = {"id": f"msg_{session}_{number}", "model": "claude-sonnet-4-5", "role": "assistant", "usage": usage}
        call = {"type": "tool_use", "id": f"t{session}_{number}", "name": "Bash", "input": {"command": text(draw, 80)}}
        for part, block in enumerate(({"type": "text", "text": text(draw, 300)}, call)):
            yield {
                **common,
                "type": "assistant",
                "uuid": f"a{session}-{number}-{part}",
                "timestamp": at,
                "message": {**message, "content": [block]},
            }
        answer = text(draw, draw.choice((200, 900, 2_500, 9_000)))
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": answer}
        told = {"stdout": answer, "stderr": "", "interrupted": False}
        yield {
            **common,
            "type": "user",
            "uuid": f"u{session}-{number}",
            "timestamp": at,
            "message": {"role": "user", "content": [result]},
            "toolUseResult": told,
        }


def write(path: Path, session: int, size: int) -> None:
    draw = random.Random(session)
    with path.open("a") as file:
        for line in claude(draw, session):
            file.write(json.dumps(line) + "\n")
            if file.tell() >= size:
                return


def measured(*argv: str) -> tuple[float, float, float]:
    """Seconds, seconds of a processor, and the peak of its memory in MB."""
    begin = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", "muster", *argv], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"muster {argv[0]} ended with {child.returncode}")
    return (
        time.perf_counter() - begin,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / (1024 if sys.platform == "linux" else 1 << 20),
    )


def main() -> None:
    base = Path(tempfile.mkdtemp(prefix="mb-", dir="/tmp"))
    os.environ.update(HOME=str(base), MUSTER_HOME=str(base / "m"))
    try:
        files = [base / f"{number}.jsonl" for number in range(TRANSCRIPTS)]
        write(files[0], 0, SIZE)
        for number, file in enumerate(files[1:], 1):  # the same words under other names are as much work to read
            data = files[0].read_bytes().replace(b'"s0"', b'"s%d"' % number)
            data = (
                data.replace(b'"msg_0_', b'"msg_%d_' % number)
                .replace(b'"a0-', b'"a%d-' % number)
                .replace(b'"u0-', b'"u%d-' % number)
            )
            file.write_bytes(data)
        paths = [word for file in files for word in ("--path", str(file))]
        first = measured("traces", "ingest", *paths)
        for file in files:
            with file.open("ab") as log:
                log.write(b"\n".join(files[0].read_bytes().split(b"\n")[:3]).replace(b'"msg_0', b'"more_') + b"\n")
        second = measured("traces", "ingest", *paths)
        nothing = measured("traces", "ingest", *paths)
        search = measured("traces", "search", "assert fixture")
        cost = measured("traces", "cost", "--by", "model")
        stored = (base / "m" / "traces.db").stat().st_size / 1e6
        print(f"{'work':60} {'time':>8} {'processor':>10} {'memory':>9}")
        for name, (seconds, processor, memory) in (
            (f"{TRANSCRIPTS} transcripts of {SIZE / 1e6:g} MB, read for the first time", first),
            ("three lines more in each", second),
            ("nothing more", nothing),
            ("`muster traces search` of two words", search),
            ("`muster traces cost --by model`", cost),
        ):
            print(f"{name:60} {seconds:6.2f} s {processor:8.2f} s {memory:6.0f} MB")
        print(f"{'the store':60} {stored:6.0f} MB")
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()

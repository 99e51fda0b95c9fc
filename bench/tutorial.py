#!/usr/bin/env python3
"""How long `muster tutorial check` takes for 1,000 blocks and 1,000 tests: in step, and with every citation drifted."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from textwrap import indent

BLOCKS, FILES, LOOKS = 1000, 50, 5
BLOCK = "# make agent number {n}, and wait until it wants something\nmuster create agent-{n} scripted\nmuster wait agent-{n} --for waiting"
TEST = '''
def test_{n}(e2e: E2eSession) -> None:
    result = e2e.run(e2e.write_tutorial_block("""
{block}
    """))
    expect(result).to_succeed().stdout.to_match(r"^agent-{n} +waiting")
    assert (e2e.cwd / "agent-{n}").exists()
'''


def project(base: Path, drifted: bool) -> None:
    """A tutorial, and tests of the size that muster's own have."""
    blocks = [BLOCK.format(n=number) for number in range(BLOCKS)]
    (base / "tutorial.sh").write_text("\n\n".join(blocks) + "\n")
    for number in range(FILES):
        mine = range(number, BLOCKS, FILES)
        shown = (blocks[n].replace("--for", "--until") if drifted else blocks[n] for n in mine)
        tests = (TEST.format(n=n, block=indent(text, "    ")) for n, text in zip(mine, shown, strict=True))
        (base / f"test_{number}.py").write_text("from muster_testkit import E2eSession, expect\n\n" + "\n".join(tests))


def look(base: Path, wanted: int) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    argv = [sys.executable, "-m", "muster", "tutorial", "check", "tutorial.sh", "."]
    done = subprocess.run(
        argv, cwd=base, capture_output=True, check=False, env={**os.environ, "MUSTER_HOME": str(base)}
    )
    taken, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == wanted, done.stderr.decode()
    return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    for drifted in (False, True):
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            project(Path(folder), drifted)
            looks = [look(Path(folder), int(drifted)) for _ in range(LOOKS)]
        clock, processor = (min(one) for one in zip(*looks, strict=True))
        what = "every citation drifted" if drifted else "all in step"
        print(
            f"{BLOCKS:,} blocks, {BLOCKS:,} tests in {FILES} files, {what:24} {clock:.2f} s  {processor:.2f} s of the processor"
        )


if __name__ == "__main__":
    main()

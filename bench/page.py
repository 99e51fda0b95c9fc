#!/usr/bin/env python3
"""How long the page of 1,000 tests and 200 recordings takes to write, and to open in Chromium until its list is painted."""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from playwright.sync_api import Browser, sync_playwright

import artifacts
from muster_testkit.page import write

TESTS, RECORDINGS, LOOKS = 1000, 200, 7
FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking".split()
# From the start of the navigation to the second frame with the list in it.
PAINTED = """new Promise(done => {
    const look = () => document.querySelectorAll(".row").length === TESTS && document.documentElement.hasAttribute("data-ready")
        ? requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))
        : setTimeout(look, 1);
    look();
})""".replace("TESTS", str(TESTS))


def folder(base: Path) -> Path:
    """Tests of the size that muster's own have: some dozens of lines each, and recordings of a minute."""
    run = artifacts.run(base / "artifacts")
    draw = random.Random(3)
    for number in range(TESTS):
        lines = [
            f"  \x1b[3{draw.randrange(8)}m{draw.random():.12f}\x1b[0m and what else there is to say" for _ in range(40)
        ]
        recorded = number % (TESTS // RECORDINGS) == 0
        events: list[artifacts.Event] = [(at / 10, "o", painting(draw)) for at in range(600 if recorded else 0)]
        artifacts.leave(
            run,
            f"tests/test_{number % 40}.py::test_number_{number}",
            "failed" if number % 50 == 0 else "passed",
            message="AssertionError: it was not there\n" * 20 if number % 50 == 0 else "",
            transcript="# look\n$ muster list\n" + "\n".join(lines) + "\n? 0\n",
            recordings={"01-it.cast": artifacts.cast(events)} if recorded else {},
            blocks=[f"muster list {number % 80}"],
        )
    return run.parent


def painting(draw: random.Random) -> str:
    places = (f"\x1b[{draw.randrange(24)};1H\x1b[3{draw.randrange(8)}m{draw.random()}" for _ in range(5))
    return "".join(places)


def look(browser: Browser, url: str) -> float:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(url, wait_until="commit")
    taken = page.evaluate(PAINTED)
    page.close()
    return float(taken) / 1000


def main() -> None:
    base = Path(tempfile.mkdtemp())
    try:
        source = folder(base)
        before = time.perf_counter()
        written = write(str(source))
        print(f"written in {time.perf_counter() - before:.2f} s: {written.bytes / 1e6:.1f} MB")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            looks = [look(browser, written.url) for _ in range(LOOKS)]
            browser.close()
        print(
            f"opened in {median(looks):.2f} s (median of {LOOKS}; {min(looks):.2f} to {max(looks):.2f}); load {os.getloadavg()[0]:.1f}"
        )
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()

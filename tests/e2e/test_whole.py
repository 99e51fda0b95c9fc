"""The tutorial as its reader has it: typed from top to bottom, in one home and one project."""

from __future__ import annotations

import pytest

from e2e.conftest import TUTORIAL
from e2e.looks import states
from e2e.test_creating import EDITOR
from muster_testkit import E2eSession, expect, tutorial
from muster_testkit.tutorial import Block

# These have tests of their own, which give them what they need: another machine, containers, minutes, something to see.
ELSEWHERE = ("distant", ".docker", "shared", "muster host", "muster demo", "events --follow")
# What is seen, and how it is left.
INTERACTIVE = {
    "muster connect hello": ("leave: C-b d", "detach"),
    "--connect": ("leave: C-b d", "detach"),
    "list --watch": ("lead", "interrupt"),
    "transcript lead --follow": ("Hello, I am lead", "interrupt"),
    "--serve": ("until ^C", "interrupt"),
}


# Nothing from here on needs what was made before, but for the project: so two tests share the time that it takes.
HALF = "# === Bringing work home"


def halves() -> tuple[list[Block], list[Block]]:
    blocks = tutorial.read(str(TUTORIAL))
    texts = [one.text for one in blocks]
    half, begun = texts.index(HALF), texts.index("# === Your first agents")
    return blocks[:half], blocks[:begun] + blocks[half:]


@pytest.mark.parametrize("half", [0, 1])
def test_typed_from_top_to_bottom(user: E2eSession, half: int) -> None:
    user.env["EDITOR"] = f"{user.write_file('editor', EDITOR, mode=0o755)} '# From the editor'"
    for block in halves()[half]:
        if block.kind == "heading" or any(word in block.text for word in ELSEWHERE):
            continue
        if interactive := [keys for words, keys in INTERACTIVE.items() if words in block.text]:
            _sat(user, block.text, *interactive[0])
        else:
            # The shell that completes commands is not every `sh`.
            shell = "bash" if "completion" in block.text else "sh"
            typed = user.run([shell, "-c", block.text], comment=f"line {block.line}", timeout=120)
            expect(typed).to_succeed()
        if "mkdir calc" in block.text:
            user.cwd /= "calc"
    assert half == 0 or states(user) == {}


def _sat(user: E2eSession, text: str, seen: str, end: str) -> None:
    with user.terminal(text, cols=120) as terminal:
        terminal.wait_for(seen)
        if end == "detach":
            terminal.press("ctrl-b").send("d")
            assert terminal.exit() == 0
        else:
            terminal.press("ctrl-c")
            terminal.exit()

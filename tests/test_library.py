"""What `docs/library.md` shows is run as it stands, and the library's door reads well."""

from __future__ import annotations

import os
import pydoc
import re
import subprocess
import sys
from pathlib import Path

from conftest import Muster
from muster import Fleet

PAGE = Path(__file__).parent.parent / "docs" / "library.md"


def test_the_map_reduce_of_the_page(repo: Path, muster: Muster, fleet: Fleet) -> None:
    [block] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(block.splitlines()) < 32
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "the sum is 55\n", "")
    assert fleet.known() == []
    assert len(fleet.kept("attic")) == 10
    assert subprocess.run(["git", "branch"], capture_output=True, text=True, check=True).stdout == "* main\n"


def test_every_method_says_in_a_sentence_what_it_does() -> None:
    methods = [getattr(Fleet, name) for name in dir(Fleet) if not name.startswith("_")]
    unsaid = [method.__name__ for method in methods if not (method.__doc__ or "").strip().endswith(".")]
    assert unsaid == []
    assert "Remove them, and their branches if told to" in pydoc.render_doc(Fleet).replace("\b", "")


def test_importing_muster_makes_nothing(home: Path) -> None:
    subprocess.run([sys.executable, "-c", "import muster; muster.Fleet, muster.Task, muster.State"], check=True)
    assert os.listdir(home) == []

"""What tests of a command line need."""

from collections.abc import Callable
from pathlib import Path

import pytest

RECIPES = Path(__file__).parent.parent / "recipes"


@pytest.fixture
def ladle(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """`ladle WORDS`, run here; what it printed."""
    from ladle.cli import main

    monkeypatch.chdir(RECIPES.parent)

    def run(*words: str, code: int = 0) -> str:
        assert main(words) == code
        printed = capsys.readouterr()
        return (printed.err if code else printed.out).rstrip("\n")

    return run

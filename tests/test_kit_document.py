"""What docs/testkit.md shows is true."""

from __future__ import annotations

import re
from pathlib import Path

from kit import Project, meta

TEXT = (Path(__file__).parent.parent / "docs" / "testkit.md").read_text()


def test_the_tests_in_it_pass(tmp_path: Path) -> None:
    project = Project(tmp_path)
    [source] = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    project.write("test_it.py", source)
    ran = project.pytest()
    assert ran.code == 0, ran.out
    assert {*project.outcomes().values()} == {"passed"}
    # And the citations in it are of one block, in both forms.
    project.write("tutorial.sh", "# Sort a list\nsort list.txt\n")
    said = project.python("-m", "muster_testkit", "tutorial", "check", "tutorial.sh", "test_it.py")
    assert said.out == "1 of 1 blocks with commands are cited, 2 citations in 1 test file\n"
    for one in project.folders():
        assert all(f'"{name}"' in TEXT for name in meta(one) if name not in ("session", "work"))


def test_it_names_all_that_tests_use(tmp_path: Path) -> None:
    from muster_testkit import Terminal, expectations
    from muster_testkit.session import E2eSession

    kinds = expectations.ResultExpectation, expectations.TextExpectation, expectations.JsonExpectation
    for kind in (*kinds, expectations.FileExpectation, E2eSession, Terminal):
        names = [name for name in vars(kind) if not name.startswith(("_", "not_"))]
        assert names
        missing = [name for name in names if f"{name}" not in TEXT]
        assert not [name for name in missing if name not in INTERNAL], f"{kind.__name__}: {missing}"


# Called by the plugin, or a detail that the types tell.
INTERNAL = {"failed", "size"}

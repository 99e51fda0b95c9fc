"""The whole of the pipeline on the sample that ships with muster."""

from __future__ import annotations

import sys

from e2e.looks import agents, git
from muster_testkit import E2eSession, expect


def test_the_report_shows_each_fault_for_what_it_is(user: E2eSession) -> None:
    done = user.run(
        user.write_tutorial_block("""
        # first watch all of it on a sample project with faults: some are mended, one agent cheats, two are in each other's way
        muster demo ladle
        """),
        timeout=600,
    )
    expect(done).to_succeed()
    words = [line.split()[0] for line in done.stdout.splitlines()]
    assert words == "fixed twice conflict refused for branch report".split()
    report = user.run("muster report demo --format json").json()
    assert report["counts"] == {"fixed": 6, "refused": 1, "blocked": 1}
    assert report["before"] == {"passing": 16, "failing": 11, "flaky": 1}
    assert report["after"] == {"passing": 26, "failing": 1, "flaky": 1}
    assert sorted((one["kind"], len(one["agents"]), len(one["green"])) for one in report["commits"]) == [
        ("impl", 1, 2),
        ("impl", 1, 4),
        ("impl", 2, 3),
        ("review", 1, 1),
    ]
    # What the branch says holds in the user's own hands: only the wish is open, and what the order of a set decides.
    git(user, f"-C ladle merge --quiet --ff-only {report['branch']}")
    pytest = f"{sys.executable} -m pytest -q -p no:cacheprovider --deselect=tests/test_kitchen.py::test_missing"
    expect(user.run(pytest, cwd="ladle")).stdout.to_contain("1 failed, 26 passed, 1 deselected")
    cleaned = user.run(
        user.write_tutorial_block("""
        # remove the sample, its agents and its run
        muster demo --clean
        """)
    )
    expect(cleaned).to_succeed().stdout.to_contain("removed run demo")
    assert agents(user) == {}
    assert not (user.cwd / "ladle").exists()
    expect(user.run("muster runs")).to_succeed().stdout.not_to_contain("demo")

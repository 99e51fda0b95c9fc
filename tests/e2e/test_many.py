"""Many at once: one agent per line of input, and what they make of it."""

from __future__ import annotations

from pathlib import Path

from e2e.looks import agents, git, said, states, workspace
from muster_testkit import E2eSession, expect


def test_map_and_reduce(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    painted = user.run(
        user.write_tutorial_block(r"""
        # one agent per line of input, two at a time; each is printed as it settles
        printf '%s\n' red green blue | muster map 'Paint it {}' --type scripted --jobs 2
        """)
    )
    expect(painted).to_succeed().stdout.to_match(r"^\S+ +waiting +its turn ended")
    assert sorted(said(user, name)[0] for name in agents(user)) == ["Paint it blue", "Paint it green", "Paint it red"]
    squared = user.run(
        user.write_tutorial_block(r"""
        # any program, with names made of the input
        printf '%s\n' 1 2 3 | muster map --name 'square-{}' -- sh -c 'echo $(({} * {})) >result.log'
        """)
    )
    expect(squared).to_succeed().stdout.to_match(r"^square-1 +done").to_match(r"^square-3 +done")
    assert (workspace(user, "square-3") / "result.log").read_text() == "9\n"
    together = user.run(
        user.write_tutorial_block("""
        # bring the results together
        for name in square-1 square-2 square-3; do muster exec "$name" cat result.log; done | sort -n
        """)
    )
    expect(together).to_succeed().stdout.to_equal("1\n4\n9\n")
    removed = user.run(
        user.write_tutorial_block("""
        # remove all of them
        muster destroy --where 'like(name, "square-*")' --branch
        """)
    )
    expect(removed).to_succeed()
    assert len(agents(user)) == 3
    assert git(user, "branch --list 'muster/square*'") == ""
    half = user.run("printf '%s\\n' 0 3 | muster map --name 'exit-{}' -- sh -c 'exit {}'", comment="one that fails")
    expect(half).to_have_exit_code(1).stdout.to_match(r"^exit-0 +done").to_match(r"^exit-3 +failed +exit code 3")


def test_records_and_runs(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    block = user.write_tutorial_block(r"""
    # records instead of lines, as a run that can be gone on with: what is there is not made again
    printf '%s\n' '{"number": 7, "title": "Crash"}' |
        muster map 'Solve #{number}: {title}' --json --type scripted --run issues
    """)
    expect(user.run(block)).to_succeed().stdout.to_match(r"^issues-1 +waiting")
    first = agents(user)["issues-1"]["id"]
    expect(user.run(block, comment="the same once more")).to_succeed()
    assert agents(user)["issues-1"]["id"] == first
    assert said(user, "issues-1") == ["Solve #7: Crash"]
    for words, text, hint in (
        ("'Solve it' --type scripted", "a\n", "{}"),
        ("'Solve {number}' --json --type scripted", "a\n", "line 1"),
        ("'Solve {nothing}' --json --type scripted", '{"number": 7}\n', "nothing"),
        ("'Solve {}' --type scriptd", "a\n", "scripted"),
    ):
        expect(user.run(f"muster map {words}", stdin=text)).to_fail().stderr.to_contain("error: ", hint)
    assert states(user) == {"issues-1": "waiting"}

"""Skills: files by which agent programs learn to use muster."""

from __future__ import annotations

from pathlib import Path

from e2e.looks import git
from muster.skills import text
from muster_testkit import E2eSession, expect


def test_skills_of_a_project(user: E2eSession, calc: Path) -> None:
    block = user.write_tutorial_block("""
    # teach coding agents that work on this project how to drive a fleet, and how to keep a tutorial and its tests in step
    muster skill install
    git add . && git commit --quiet -m 'Skills'
    """)
    (calc / "below").mkdir()
    expect(user.run(block)).to_succeed().stderr.to_contain("4 written, 0 there already")
    install = "muster skill install"
    expect(user.run(install, cwd="below", comment="anywhere in the project")).to_succeed()
    fleet = calc / ".claude" / "skills" / "muster-fleet" / "SKILL.md"
    tutorial = calc / ".agents" / "skills" / "muster-tutorial" / "SKILL.md"
    expect(fleet).to_contain(text("muster-fleet"))
    expect(tutorial).to_contain(text("muster-tutorial"))
    before = fleet.stat()
    expect(user.run(install, comment="once more")).to_succeed().stderr.to_contain("0 written, 4 there already")
    assert fleet.stat().st_mtime_ns == before.st_mtime_ns

    fleet.write_text(fleet.read_text().replace("# Driving", "# How we drive"))
    listed = user.run(
        user.write_tutorial_block("""
        # which are where?
        muster skill list
        """)
    )
    expect(listed).to_succeed().stdout.to_match(
        r"^muster-fleet +project +changed +claude +\.claude/skills/muster-fleet/"
    )
    expect(listed.stdout).to_match(r"^muster-tutorial +project +installed +codex, opencode, gemini, pi +\.agents")
    expect(listed.stdout).to_match(r"^muster-fleet +user +missing +claude +~/\.claude")
    tutorial.unlink()
    refused = user.run(install, comment="what the user has changed")
    expect(refused).to_have_exit_code(5).stderr.to_contain("muster-fleet/SKILL.md", "--force")
    assert not tutorial.exists()
    expect(fleet).to_contain("# How we drive")
    expect(user.run("muster skill install --force")).to_succeed().stderr.to_contain("2 written")
    expect(fleet).to_contain("# Driving a fleet")
    assert git(user, "status --porcelain") == ""
    assert git(user, "ls-files").count("SKILL.md") == 4


def test_skills_of_a_user(user: E2eSession, calc: Path) -> None:
    expect(
        user.run(
            user.write_tutorial_block("""
            # one of them, for all your projects, and for one program alone
            muster skill install muster-fleet --user --for claude
            """)
        )
    ).to_succeed()
    there = sorted(str(path.relative_to(user.home)) for path in user.home.rglob("SKILL.md"))
    assert there == [".claude/skills/muster-fleet/SKILL.md"]
    assert git(user, "status --porcelain", calc) == ""
    # As another version would have written it: its own words, and a mark that fits them.
    from hashlib import sha256

    body = "---\nname: muster-fleet\ndescription: Old\n---\n\n"
    mark = sha256(body.encode()).hexdigest()[:16]
    file = user.home / there[0]
    file.write_text(f"{body}<!-- written by `muster skill install`: {mark} -->\n")
    expect(user.run("muster skill list").stdout).to_match(r"^muster-fleet +user +outdated")
    expect(user.run("muster skill install muster-fleet --user --for claude")).to_succeed()
    expect(file).to_contain("# Driving a fleet")
    for words, code, says in (
        ("--for vim", 3, "`vim`"),
        ("muster-flet", 3, "muster-fleet"),
        ("--user --project", 2, "--user"),
    ):
        expect(user.run(f"muster skill install {words}")).to_have_exit_code(code).stderr.to_contain("error: ", says)
    (user.home / ".agents").write_text("a file in the way")
    blocked = user.run("muster skill install --user --for pi")
    expect(blocked).to_fail().stderr.to_contain("error: ", ".agents")

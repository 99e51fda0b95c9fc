"""The project's own machinery: what the tests stand on, set-up, and the commands that are about muster itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import OFF_LIMITS, Muster
from muster import __version__
from muster.core import paths
from muster.errors import MusterError

ROOT = Path(__file__).parent.parent


def pytest_in(folder: Path, source: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A run of pytest over that one test file, under this project's conftest with less patience."""
    conftest = (ROOT / "tests" / "conftest.py").read_text().replace("PATIENCE = 10.0", "PATIENCE = 0.2")
    (folder / "conftest.py").write_text(conftest)
    (folder / "test_it.py").write_text(source)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(folder)]
    env = {**os.environ, "CI": "", **environment}
    return subprocess.run(
        [*argv, *arguments, str(folder)], capture_output=True, text=True, env=env, check=False, cwd=folder
    )


# --- what every test stands on


def test_a_test_has_a_home_of_its_own(home: Path, repo: Path) -> None:
    assert paths.home() == str(home)
    assert Path.home().parent == home.parent
    assert len(paths.socket(str(home))) < 60
    assert Path.cwd() == repo
    log = subprocess.run(["git", "log", "--format=%s %an"], capture_output=True, text=True, check=True).stdout
    assert log.splitlines() == ["second Test", "first Test"]
    assert not subprocess.run(["git", "status", "--short"], capture_output=True, check=True).stdout


def test_the_users_home_cannot_be_made() -> None:
    with pytest.raises(MusterError, match="can't write"):
        paths.folder(OFF_LIMITS)


def test_a_process_that_outlives_its_test_is_named_and_ended(tmp_path: Path) -> None:
    source = "import subprocess\ndef test_it():\n    print('pid', subprocess.Popen(['sleep', '1001']).pid)\n"
    done = pytest_in(tmp_path, source, "-rP", "-W", "ignore")
    assert done.returncode == 1
    assert "these processes outlived the test" in done.stdout
    assert (named := re.search(r"(\d+): sleep 1001", done.stdout))
    assert not os.path.exists(f"/proc/{named[1]}/cwd")


def test_a_tmux_server_ends_with_its_test(tmp_path: Path) -> None:
    # `exec`, as a shell may outlive the terminal for a moment to clean up.
    source = (
        "import os, subprocess\n"
        "def test_it(home):\n"
        "    for server in (['-S', f'{home}/tmux.sock'], ['-L', 'mine']):\n"
        "        subprocess.run(['tmux', *server, 'new-session', '-d', 'exec sleep 1002'], check=True)\n"
        f"    open({str(tmp_path / 'home')!r}, 'w').write(str(home.parent))\n"
    )
    done = pytest_in(tmp_path, source)
    assert done.returncode == 0, done.stdout
    assert not os.path.exists((tmp_path / "home").read_text())


@pytest.mark.parametrize("parallel", [[], ["-n", "2"]])
@pytest.mark.parametrize(
    "source",
    [
        "import pytest\ndef test_it():\n    pytest.skip('no mood')\n",
        "import pytest\n@pytest.mark.skip(reason='no mood')\ndef test_it(): ...\n",
        "import pytest\npytest.skip('no mood', allow_module_level=True)\n",
    ],
)
def test_a_skip_fails_the_gate_but_not_a_person(tmp_path: Path, source: str, parallel: list[str]) -> None:
    assert pytest_in(tmp_path, source, *parallel).returncode in (0, 5)  # 5: nothing was left to run
    gate = pytest_in(tmp_path, source, *parallel, CI="true")
    assert gate.returncode not in (0, 5)
    assert "'no mood' is not in ALLOWED_SKIPS" in gate.stdout


def test_what_a_machine_may_lack_is_skipped_in_the_gate(tmp_path: Path) -> None:
    source = (
        "import pytest\ndef test_it():\n    pytest.skip('needs root')\n@pytest.mark.xfail\ndef test_two():\n    1 / 0\n"
    )
    done = pytest_in(tmp_path, source, CI="true")
    assert done.returncode == 0, done.stdout


# --- set-up


def test_make_alone_lists_every_target() -> None:
    listed = re.findall(r"^make (\w+)", make(ROOT), re.MULTILINE)
    assert sorted(listed) == ["bench", "clean", "demo", "docs", "help", "lint", "programs", "test"]


def test_set_up_is_done_once_and_again_when_it_must_be(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for name in ("Makefile", "pyproject.toml", "scripts/setup"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, here / name)
    assert "scripts/setup" in make(here, "lint")
    (here / ".venv").mkdir()
    (here / ".venv" / "set-up").write_text(f"{here}\n")
    assert "scripts/setup" not in make(here, "lint")
    shutil.copytree(here, there)
    assert "scripts/setup" in make(there, "lint")
    os.utime(here / ".venv" / "set-up", (1, 1))
    assert "scripts/setup" in make(here, "lint")


def make(folder: Path, *targets: str) -> str:
    """What make would do; without a target, what it does."""
    argv = ["make", "-C", str(folder), "--no-print-directory", *(["-n", *targets] if targets else [])]
    return subprocess.run(argv, capture_output=True, text=True, check=True, env=_without_make()).stdout


def _without_make() -> dict[str, str]:
    # The gate itself runs under make, which hands its own flags down.
    return {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}


def test_set_up_says_in_one_line_what_to_install(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "cat", "dirname", "mkdir", "uname", "id"):
        (programs / name).symlink_to(str(shutil.which(name)))
    (tmp_path / "scripts").mkdir()
    setup = shutil.copy2(ROOT / "scripts" / "setup", tmp_path / "scripts")
    done = subprocess.run([setup], capture_output=True, text=True, check=False, env={"PATH": str(programs)})
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "install" in done.stderr
    assert "tmux git" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_the_gate_is_make_test() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == "exec make test"


# --- muster version, muster completion


def test_version_tells_what_runs_here(muster: Muster, home: Path) -> None:
    versions = muster("version", "--format", "json").json
    assert versions["muster"] == __version__
    assert versions["home"] == str(home)
    assert re.match(r"\d+\.\d+", versions["git"])
    assert re.match(r"(next-)?\d+\.\d+", versions["tmux"])
    lines = dict(line.split(None, 1) for line in muster("version").lines)
    assert lines == versions
    assert muster("--version").out == f"muster {__version__}\n"


def test_version_without_the_programs(muster: Muster, tmp_path: Path) -> None:
    versions = muster("version", "--format", "json", env={"PATH": str(tmp_path)}).json
    assert versions["git"] is None
    assert versions["tmux"] is None


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_alone(muster: Muster, shell: str) -> None:
    done = muster("completion", shell)
    assert "_MUSTER_COMPLETE" in done.out
    assert not done.err


def test_bash_completes_by_the_script(muster: Muster, tmp_path: Path) -> None:
    program = tmp_path / "muster"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m muster "$@"\n')
    program.chmod(0o755)
    ask = f'COMP_WORDS=(muster vers); COMP_CWORD=1; _muster_completion {program}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    script = muster("completion", "bash").out + "\n" + ask
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("version\n", "")


def test_completing_after_a_wrong_word_is_silent(muster: Muster) -> None:
    asked = {"_MUSTER_COMPLETE": "bash_complete", "COMP_WORDS": "muster nothing ", "COMP_CWORD": "2"}
    done = muster(env=asked)
    assert done.err == ""


def test_an_unknown_shell_is_refused(muster: Muster) -> None:
    done = muster("completion", "tcsh", check=False)
    assert done.code == 2
    assert not done.out
    assert "'bash', 'zsh', 'fish'" in done.err

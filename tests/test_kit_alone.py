"""The test kit is installed alone, where there is no muster, and works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from kit import Project

SOURCE = Path(__file__).parent.parent / "src" / "muster_testkit"

TEST = '''
def test_help_succeeds(e2e: E2eSession) -> None:
    e2e.write_tutorial_block("""
    # or see the other commands--list, destroy, message, connect, push, pull, clone, and more!
    tool --help
    """)
    result = e2e.run("tool --help", comment="or see the other commands")
    expect(result).to_succeed()
    expect(result.stdout).to_contain("Usage")

def test_terminal(e2e):
    with e2e.terminal("tool --help; cat") as terminal:
        terminal.wait_for("Usage: tool")
    assert e2e.run("muster").exit_code == 127
    with pytest.raises(ModuleNotFoundError):
        import muster
'''


def test_the_kit_is_built_and_used_alone(tmp_path: Path) -> None:
    # What it stands on is taken from here, so that no network is needed; muster's own door is not.
    place = tmp_path / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    wheel = build(tmp_path)
    [packages] = (place / "lib").glob("python*/site-packages")
    install = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install"]
    run([*install, "--quiet", "--no-deps", "--no-index", str(wheel)])
    names = "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py", "pyte", "wcwidth"
    for name in names:
        (packages / where(name).name).symlink_to(where(name))
    [pluggy] = where("pluggy").parent.glob("pluggy-*.dist-info")  # which asks it for its version
    (packages / pluggy.name).symlink_to(pluggy)
    listed = sorted(one.name for one in (packages / "muster_testkit").iterdir())
    assert "pyproject.toml" not in listed
    assert {"py.typed", "plugin.py", "tutorial", "expectations"} <= {*listed}
    (tmp_path / "project").mkdir()
    used(Project(tmp_path / "project"), python)


def build(folder: Path) -> Path:
    """Its wheel, made from a copy of its folder: nothing else of the project is needed."""
    copy = folder / "source"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    pip += ["--no-build-isolation", "--no-index"]
    run([*pip, "--wheel-dir", str(folder / "wheels"), str(copy)])
    [wheel] = (folder / "wheels").glob("pass_muster_testkit-*.whl")
    return wheel


def used(project: Project, python: Path) -> None:
    project.tests(TEST)
    project.write(
        "tutorial.sh",
        "# or see the other commands--list, destroy, message, connect, push, pull, clone, and more!\ntool --help\n",
    )
    tool = project.write("bin/tool", "#!/bin/sh\necho 'Usage: tool'\n")
    tool.chmod(0o755)
    path = os.pathsep.join([str(tool.parent), "/usr/bin", "/bin"])
    env = {**os.environ, "PATH": path}
    done = run([str(python), "-m", "pytest", "-p", "no:cacheprovider", str(project.folder)], env, project.folder)
    assert "2 passed" in done
    assert project.outcomes() == {"test_help_succeeds": "passed", "test_terminal": "passed"}
    words = ["-m", "muster_testkit", "tutorial", "check", "tutorial.sh", "test_it.py"]
    said = run([str(python), *words], env, project.folder)
    assert said == "1 of 1 blocks with commands are cited, 1 citation in 1 test file\n"


def where(name: str) -> Path:
    module = __import__(name)
    assert module.__file__
    file = Path(module.__file__)
    return file.parent if file.name == "__init__.py" else file


def run(argv: list[str], env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    done = subprocess.run(argv, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

"""Any pytest project is collected and run as it is, and what runs is the checkout."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from muster.errors import MusterError, NotFound, Refused, UsageError
from muster.mend import Attempt, checkout, environment
from muster.mend import project as projects
from muster.mend.collect import Collection, collect
from muster.mend.environment import Environment
from muster.mend.layout import of_collection
from muster.mend.trial import trial
from sample_projects import HOUSE, commit, git, install, project, venv, write

PYTEST_INI = "[pytest]\n"


@contextmanager
def clean(
    folder: Path, python: Path | str = sys.executable, *, setup: str = "", at: str = "HEAD"
) -> Iterator[Environment]:
    """A clean checkout of that project, with its environment."""
    subject = projects.find(str(folder), str(python))
    room = folder.parent / "clean"
    with environment.at(subject, at, str(room), setup=setup, cache=str(folder.parent / "cache")) as made:
        yield made


def run(
    made: Environment, ids: Sequence[str] = (), args: Sequence[str] = (), timeout: float = 30
) -> dict[str, Attempt]:
    found = collect(made, args)
    wanted = ids or [case.id for case in found.cases]
    return {one.id: one for one in trial(made, wanted, layout=found.layout, timeout=timeout)}


def endings(answers: dict[str, Attempt]) -> dict[str, str]:
    return {one.id.partition("::")[2] or one.id: one.ending for one in answers.values()}


def ids(found: Collection) -> list[str]:
    return [case.id for case in found.cases]


# -- collecting --------------------------------------------------------------------------------------------------------


def test_what_a_test_says_of_itself(tmp_path: Path) -> None:
    source = '''
        import pytest

        def decorated(function):
            return function

        def test_plain():
            """It adds.

            Tutorial block:
                $ add 1 2
                  3

            Not the block.
            """

        class TestIt:
            @decorated
            @pytest.mark.parametrize("n", [1, 2])
            def test_cites(self, n, e2e=None):
                """It lists."""
                if e2e:
                    e2e.write_tutorial_block("""
                        # Listing
                        Lists.
                    """)
                    e2e.write_tutorial_block("two")
    '''
    top = project(tmp_path / "p", {"tests/test_a.py": source, "tests/conftest.py": "", "pytest.ini": PYTEST_INI})
    with clean(top) as made:
        found = collect(made)
    plain, first, second = found.cases
    assert (plain.id, plain.file, plain.line) == ("tests/test_a.py::test_plain", "tests/test_a.py", 7)
    assert plain.doc.startswith("It adds.") and plain.blocks == ("$ add 1 2\n  3",)
    assert (first.doc, first.blocks) == ("It lists.", ("# Listing\nLists.", "two"))
    assert second.id == "tests/test_a.py::TestIt::test_cites[2]" and second.blocks == first.blocks
    assert (found.layout.rootdir, found.layout.config) == (".", "pytest.ini")
    assert found.conftests == ("tests/conftest.py",)
    where = of_collection(found.cases, conftests=found.conftests)
    assert where.is_test("tests/test_a.py") and where.is_test("tests/conftest.py") and not where.is_test("src/a.py")


def test_a_file_that_cannot_be_collected_is_a_case(tmp_path: Path) -> None:
    files = {
        "test_good.py": "def test_good(): pass",
        "test_import.py": "import there_is_no_such_thing",
        "test_syntax.py": "def test_(:",
        "sub/conftest.py": "raise RuntimeError('broken conftest')",
        "sub/test_sub.py": "def test_sub(): pass",
    }
    with clean(project(tmp_path / "p", files)) as made:
        found = collect(made)
        answers = {one.id: one for one in trial(made, ids(found), layout=found.layout)}
    errors = {case.file: case.error for case in found.errors}
    assert "test_good.py::test_good" in ids(found)
    assert "there_is_no_such_thing" in errors["test_import.py"]
    assert "SyntaxError" in errors["test_syntax.py"]
    assert any("broken conftest" in text for text in errors.values())
    assert answers["test_good.py::test_good"].ending == "passed"
    broken = answers["test_import.py"]
    assert (broken.ending, broken.exception) == ("error", "ModuleNotFoundError")
    assert (broken.frames[-1].file, broken.frames[-1].line) == ("test_import.py", 1)


def test_a_conftest_that_keeps_pytest_from_starting_is_a_case(tmp_path: Path) -> None:
    top = project(tmp_path / "p", {"conftest.py": "import there_is_no_such_thing", "test_a.py": "def test_a(): pass"})
    with clean(top) as made:
        found = collect(made)
        [answer] = trial(made, ["test_a.py::test_a"], layout=found.layout)
    assert [case.file for case in found.cases] == ["conftest.py"]
    assert "there_is_no_such_thing" in found.cases[0].error
    assert answer.ending == "error" and "conftest.py" in answer.message


def test_the_users_arguments_are_respected(tmp_path: Path) -> None:
    files = {
        "pytest.ini": "[pytest]\nmarkers = slow\n",
        "a/test_a.py": "import pytest\n@pytest.mark.slow\ndef test_slow(): pass\ndef test_fast(): pass",
        "b/test_b.py": "def test_fast(): pass",
        "conftest.py": "def pytest_addoption(parser): parser.addoption('--level', default='1')\n"
        "def pytest_generate_tests(metafunc):\n"
        "    if 'level' in metafunc.fixturenames:\n"
        "        metafunc.parametrize('level', [metafunc.config.getoption('level')])",
        "c/test_c.py": "def test_level(level): assert level == '2'",
    }
    with clean(project(tmp_path / "p", files)) as made:
        assert ids(collect(made, ["-m", "slow"])) == ["a/test_a.py::test_slow"]
        assert ids(collect(made, ["-k", "fast", "b"])) == ["b/test_b.py::test_fast"]
        assert ids(collect(made, [str(tmp_path / "p" / "a"), "-k", "fast"])) == ["a/test_a.py::test_fast"]
        answers = run(made, args=["--level=2", "c"])
        ambiguous = run(made, args=["-k", "c", "c"])
        with pytest.raises(UsageError, match="--no-such-option"):
            collect(made, ["--no-such-option"])
    assert {one: of.ending for one, of in answers.items()} == {"c/test_c.py::test_level[2]": "passed"}
    assert {one: of.ending for one, of in ambiguous.items()} == {"c/test_c.py::test_level[1]": "failed"}


@pytest.mark.parametrize("options", ["--no-such-option=1", "-p no_such_plugin"])
def test_settings_that_want_a_plugin_which_is_not_there(tmp_path: Path, options: str) -> None:
    """The project asks for it, not the user, and the folder that is shown is the user's own."""
    path = project(tmp_path, {"pytest.ini": f"[pytest]\naddopts = {options}\n", "test_a.py": "def test_a(): pass\n"})
    with clean(path) as made, pytest.raises(UsageError, match="with the settings of this project") as error:
        collect(made, ["-q"])
    assert "no" + "_such_plugin" in str(error.value) or "--no-such-option" in str(error.value)
    assert made.top not in str(error.value)
    assert "--python PATH" in error.value.hint


def test_a_project_in_a_folder_of_the_checkout(tmp_path: Path) -> None:
    files = {
        "part/pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['t']\n",
        "part/t/test_a.py": "def test_a(): pass",
    }
    top = project(tmp_path / "p", files)
    subject = projects.find(str(top / "part"), sys.executable)
    with environment.at(subject, "HEAD", str(tmp_path / "clean")) as made:
        found = collect(made)
        answers = trial(made, ids(found), layout=found.layout)
    assert [(case.id, case.file) for case in found.cases] == [("t/test_a.py::test_a", "part/t/test_a.py")]
    assert (found.layout.rootdir, found.layout.config, found.testpaths) == ("part", "part/pyproject.toml", ("part/t",))
    assert [one.ending for one in answers] == ["passed"]


def test_settings_that_would_disturb_are_not_in_the_way(tmp_path: Path) -> None:
    settings = """
        [pytest]
        addopts = -n 2 -x --lf --strict-markers --strict-config -p no:cacheprovider
        filterwarnings = error
    """
    without_cache = settings.replace("--lf ", "")
    with_cache = settings.replace(" -p no:cacheprovider", "")
    source = """
        import os
        def test_a(): assert 0
        def test_b(request): assert not hasattr(request.config, "workerinput")
        def test_c(): assert not [name for name in os.environ if name.startswith(("MUSTER", "PYTHONPATH"))]
        def test_d(): assert os.environ["PYTHONHASHSEED"] == "0"
    """
    for name, ini in {"cache": with_cache, "no-cache": without_cache}.items():
        with clean(project(tmp_path / name, {"pytest.ini": ini, "test_a.py": source})) as made:
            expected = {"test_a": "failed", "test_b": "passed", "test_c": "passed", "test_d": "passed"}
            assert endings(run(made)) == expected
            assert endings(run(made)) == expected
            assert git(Path(made.top), "status", "--porcelain", "--ignored") in ("", "!! __pycache__/")


# -- running -----------------------------------------------------------------------------------------------------------


def test_every_ending(tmp_path: Path) -> None:
    source = """
        import pytest

        @pytest.fixture
        def broken():
            raise LookupError("no fixture")

        @pytest.fixture
        def leaves():
            yield
            raise LookupError("no end")

        def test_passed(): pass
        def test_failed(): raise KeyError("which")
        def test_error(broken): pass
        def test_teardown(leaves): pass
        def test_skipped(): pytest.skip("not today")
        @pytest.mark.xfail(reason="known")
        def test_xfailed(): assert 0
        @pytest.mark.xfail
        def test_xpassed(): pass
        @pytest.mark.xfail(strict=True)
        def test_strict(): pass
        def test_exit(): raise SystemExit(3)
    """
    with clean(project(tmp_path / "p", {"test_a.py": source})) as made:
        answers = run(made)
        missing = run(made, ["test_a.py::test_other", "test_b.py::test_a", "test_a.py::test_passed"])
    assert endings(answers) == {
        "test_passed": "passed",
        "test_failed": "failed",
        "test_error": "error",
        "test_teardown": "error",
        "test_skipped": "skipped",
        "test_xfailed": "xfailed",
        "test_xpassed": "xpassed",
        "test_strict": "failed",
        "test_exit": "failed",
    }
    failed = answers["test_a.py::test_failed"]
    assert (failed.exception, failed.message) == ("KeyError", "'which'")
    assert [(one.file, one.line, one.function) for one in failed.frames] == [("test_a.py", 14, "test_failed")]
    assert 'raise KeyError("which")' in failed.text
    assert answers["test_a.py::test_error"].frames[-1].function == "broken"
    assert "not today" in answers["test_a.py::test_skipped"].text
    assert [one.ending for one in missing.values()] == ["missing", "missing", "passed"]


ODD_IDS = """
    import pytest

    @pytest.mark.parametrize("it", ["a b", "[x]", "a::b", "back\\\\slash", "new\\nline", "ü", "-k", "@file", "", "'\\"`$(x)"])
    def test_it(it): assert it != "a b"
"""


@pytest.mark.parametrize(
    "settings", ["", "disable_test_id_escaping_and_forfeit_all_rights_to_community_support = true"]
)
def test_ids_with_anything_in_them(tmp_path: Path, settings: str) -> None:
    files = {
        "pytest.ini": f"[pytest]\n{settings}\n",
        "with space/test_ä b.py": ODD_IDS,
        "br[ack]et/test_c.py": "def test_c(): pass",
    }
    with clean(project(tmp_path / "p", files)) as made:
        found = collect(made)
        assert len(found.cases) == 11 and not found.errors
        answers = {one: trial(made, [one, one], layout=found.layout) for one in ids(found)}
        together = trial(made, ids(found)[::-1], layout=found.layout)
    assert [len(of) for of in answers.values()] == [1] * 11, "an id asked for twice has one answer"
    red = [one for one, (answer,) in answers.items() if answer.ending != "passed"]
    assert red == ["with space/test_ä b.py::test_it[a b]"]
    assert [one.id for one in together] == ids(found)[::-1]
    assert [one.id for one in together if one.ending != "passed"] == red


def test_a_test_that_hangs_costs_only_its_own_time(tmp_path: Path, home: Path) -> None:
    source = f"""
        import subprocess, time

        def test_before(): pass
        def test_hangs():
            # One in our process group, one that has left it.
            subprocess.Popen(["sleep", "1000", "{home}/a"][:2], env={{"WHO": "{home}/a"}})
            subprocess.Popen(["sleep", "1000"], start_new_session=True, env={{"WHO": "{home}/b"}})
            wait()
        def wait(): time.sleep(1000)
        def test_after(): pass
    """
    with clean(project(tmp_path / "p", {"test_a.py": source})) as made:
        answers = run(made, timeout=2)
        assert endings(answers) == {"test_before": "passed", "test_hangs": "timed-out", "test_after": "passed"}
    hangs = answers["test_a.py::test_hangs"]
    assert [one.function for one in hangs.frames][-2:] == ["test_hangs", "wait"]
    assert hangs.seconds == 2.0
    # That nothing of it is left is what the fixture `home` looks for.


def test_what_a_passing_test_leaves_running_is_ended(tmp_path: Path, home: Path) -> None:
    source = f"import subprocess\ndef test_a(): subprocess.Popen(['sleep', '1000'], env={{'WHO': '{home}/a'}})"
    with clean(project(tmp_path / "p", {"pytest.ini": PYTEST_INI, "test_a.py": source})) as made:
        assert endings(run(made)) == {"test_a": "passed"}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("os._exit(0)", "its process ended with 0"),
        ("pytest.exit('enough')", "it ended the whole run"),
    ],
)
def test_a_crash_does_not_cost_the_others_their_answer(tmp_path: Path, how: str, message: str) -> None:
    source = f"""
        import os, signal, pytest
        def test_before(): pass
        def test_crash(): {how}
        def test_after(): pass
    """
    with clean(project(tmp_path / "p", {"test_a.py": source})) as made:
        answers = run(made)
    assert endings(answers) == {"test_before": "passed", "test_crash": "crashed", "test_after": "passed"}
    assert message in answers["test_a.py::test_crash"].message


def test_a_file_that_crashes_when_it_is_imported_costs_only_its_own_tests(tmp_path: Path) -> None:
    files = {
        "test_a.py": "def test_a(): pass",
        "test_b.py": "import os\nos._exit(7)\ndef test_b(): pass",
        "test_c.py": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
        "test_d.py": "def test_d(): pass",
    }
    with clean(project(tmp_path / "p", files)) as made:
        found = collect(made)
        answers = trial(made, [*ids(found), "test_b.py::test_b"], layout=found.layout)
        with pytest.raises(MusterError, match="ended with 7"):
            collect(made, ["test_b.py"])
    assert ids(found) == ["test_a.py::test_a", "test_d.py::test_d", "test_b.py", "test_c.py"]
    assert "with 7" in found.cases[2].error
    assert [one.ending for one in answers] == ["passed", "passed", "crashed", "crashed", "crashed"]


def test_a_run_has_a_home_of_its_own_and_nothing_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
        import os, sys, tempfile
        from pathlib import Path
        def test_home():
            assert not list(Path.home().iterdir())
            (Path.home() / "left").touch()
            (Path(tempfile.gettempdir()) / "left").touch()
        def test_input(): assert os.read(0, 1) == b""
        def test_git(): assert not [name for name in os.environ if name.startswith("GIT_")]
    """
    top = project(tmp_path / "p", {"test_a.py": source})
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    with clean(top) as made:
        for _ in range(2):
            assert set(endings(run(made, args=["-s"])).values()) == {"passed"}


def test_the_order_is_the_one_asked_for(tmp_path: Path) -> None:
    source = """
        import random
        def pytest_collection_modifyitems(items): random.Random(4).shuffle(items)
    """
    order = "SEEN = []\n" + "\n".join(
        f"def test_{n}(): SEEN.append({n}); assert SEEN == list(range({n} + 1))" for n in range(20)
    )
    with clean(project(tmp_path / "p", {"conftest.py": source, "test_a.py": order})) as made:
        wanted = [f"test_a.py::test_{n}" for n in range(20)]
        assert ids(collect(made)) != wanted
        assert {one.ending for one in trial(made, wanted)} == {"passed"}


def test_three_hundred_tests_are_one_process(tmp_path: Path) -> None:
    body = "import os\n" + "\n".join(
        f"def test_{n}(): open(os.environ['PIDS'], 'a').write(f'{{os.getpid()}}\\n')" for n in range(30)
    )
    files = {f"tests/test_{n}.py": body for n in range(10)} | {"tests/__init__.py": ""}
    with clean(project(tmp_path / "p", files)) as made:
        found = collect(made)
        env = {**made.env, "PIDS": str(tmp_path / "pids")}
        counted = Environment(made.project, made.top, made.python, made.prefix, env)
        answers = trial(counted, ids(found), layout=found.layout)
    assert len(answers) == 300 and {one.ending for one in answers} == {"passed"}
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 300 and len(set(pids)) == 1


# -- whose code runs ---------------------------------------------------------------------------------------------------

PACKAGE = """
    VALUE = "committed"
    def main():
        import sys
        print(VALUE, sys.argv[1:])
"""
BUILD = """
    [build-system]
    requires = ["setuptools"]
    build-backend = "setuptools.build_meta"
    [project]
    name = "sample-project"
    version = "1"
    [project.scripts]
    sample-program = "{module}:main"
"""
ASKING = """
    import os, subprocess, sys, sysconfig
    import {module}

    ASK = "import {module}; print({module}.VALUE)"

    def said(*argv, **more):
        return subprocess.run(argv, check=True, capture_output=True, text=True, **more).stdout.split()[0]

    def test_import(): assert {module}.VALUE == "committed"
    def test_child(): assert said(sys.executable, "-c", ASK, cwd="/") == "committed"
    def test_isolated(): assert said(sys.executable, "-I", "-c", ASK, cwd="/") == "committed"
    def test_python_on_path(): assert said("python", "-c", ASK, cwd="/") == "committed"
    def test_program(): assert said("sample-program", "x", cwd="/") == "committed"
    def test_program_beside():
        assert said(os.path.join(sysconfig.get_path("scripts"), "sample-program"), cwd="/") == "committed"
    def test_program_with_little_left(): assert said("sample-program", env={{"PATH": os.environ["PATH"]}}) == "committed"
    def test_version():
        from importlib.metadata import version
        assert version("sample-project") == "1"
"""
SOURCES = '[tool.setuptools.packages.find]\nwhere = ["src"]\n'
FLAT = '[tool.setuptools]\npackages = ["sample"]\n'
LAYOUTS = {
    # name: module, where it is, more settings, more words for pip, how the install leads there
    "src": ("sample", "src/sample/__init__.py", SOURCES, [], ".pth"),
    "flat": ("sample", "sample/__init__.py", FLAT, [], "finder"),
    "flat-compat": ("sample", "sample/__init__.py", FLAT, ["--config-settings=editable_mode=compat"], ".pth"),
    "strict": ("sample", "src/sample/__init__.py", SOURCES, ["--config-settings=editable_mode=strict"], "strict"),
    "module": ("sample", "sample.py", '[tool.setuptools]\npy-modules = ["sample"]\n', [], "finder"),
    "renamed": (
        "sample",
        "lib/other/__init__.py",
        '[tool.setuptools]\npackages = ["sample"]\npackage-dir = {sample = "lib/other"}\n',
        [],
        "finder",
    ),
    "namespace": ("space.sample", "src/space/sample/__init__.py", SOURCES, [], ".pth"),
    "namespace-flat": (
        "space.sample",
        "space/sample/__init__.py",
        '[tool.setuptools]\npackages = ["space.sample"]\n',
        [],
        "finder",
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_an_editable_install_does_not_lead_to_the_users_checkout(tmp_path: Path, layout: str, mode: str) -> None:
    module, file, settings, words, kind = LAYOUTS[layout]
    files = {
        file: PACKAGE,
        "tests/test_a.py": ASKING.format(module=module),
        ".gitignore": "*.egg-info\nbuild\n",
        "pyproject.toml": BUILD.format(module=module),
    }
    top = project(tmp_path / "p", files)
    with (top / "pyproject.toml").open("a") as out:
        out.write(f'{settings}[tool.pytest.ini_options]\naddopts = "--import-mode={mode}"\n')
    commit(top, "settings")
    python = venv(tmp_path / "env")
    install(python, top, *words, "--editable")
    write(top, {file: PACKAGE.replace("committed", "users")})
    said = subprocess.run(
        [python, "-c", f"import {module}; print({module}.VALUE)"], cwd="/", capture_output=True, text=True
    )
    assert said.stdout.strip() == "users", "the trap is set"
    finders = list((tmp_path / "env").rglob("__editable___*_finder.py"))
    assert bool(finders) == (kind == "finder")

    with clean(top, python) as made:
        answers = run(made)
        assert endings(answers) == dict.fromkeys(endings(answers), "passed"), [one.text for one in answers.values()]
        assert len(answers) == 8
    again = subprocess.run(
        [python, "-c", f"import {module}; print({module}.VALUE)"], cwd="/", capture_output=True, text=True
    )
    assert again.stdout.strip() == "users", "the user's own environment is as it was"


def test_a_package_that_is_installed_as_a_copy_does_not_hide_the_checkouts(tmp_path: Path) -> None:
    files = {
        "src/sample/__init__.py": PACKAGE,
        "pyproject.toml": BUILD.format(module="sample"),
        "tests/test_a.py": ASKING.format(module="sample"),
    }
    top = project(tmp_path / "p", files)
    python = venv(tmp_path / "env")
    install(python, top)
    write(
        top,
        {
            "src/sample/__init__.py": PACKAGE + "    NEW = 1\n",
            "tests/test_b.py": "import sample\ndef test_b(): assert sample.NEW",
        },
    )
    git(top, "clean", "-fdxq", "-e", "src", "-e", "tests")
    commit(top, "second")
    with clean(top, python) as made:
        assert set(endings(run(made)).values()) == {"passed"}


def test_paths_with_spaces_and_long_ones(tmp_path: Path) -> None:
    room = tmp_path / "a b ü" / ("long" * 40)
    files = {
        "src/sample/__init__.py": PACKAGE,
        "pyproject.toml": BUILD.format(module="sample"),
        "tests/test_a.py": ASKING.format(module="sample"),
    }
    top = project(room / "p", files)
    python = venv(room / "env")
    install(python, top, "--editable")
    write(top, {"src/sample/__init__.py": PACKAGE.replace("committed", "users")})
    with clean(top, python) as made:
        assert set(endings(run(made)).values()) == {"passed"}


def test_a_program_that_is_installed_as_it_is_is_the_checkouts_too(tmp_path: Path) -> None:
    program = "#!/usr/bin/env python\nimport sample; print(sample.VALUE, 'first')\n"
    settings = '[tool.setuptools]\npackages = ["sample"]\nscript-files = ["bin/plain-program"]\n'
    source = """
        import subprocess
        def test_a(): assert subprocess.check_output(["plain-program"], text=True).split() == ["committed", "second"]
    """
    files = {
        "sample/__init__.py": PACKAGE,
        "bin/plain-program": program,
        "pyproject.toml": BUILD.format(module="sample"),
        "test_a.py": source,
    }
    top = project(tmp_path / "p", files)
    with (top / "pyproject.toml").open("a") as out:
        out.write(settings)
    python = venv(tmp_path / "env")
    install(python, top, "--editable")
    write(top, {"bin/plain-program": program.replace("first", "second")})
    commit(top, "second")
    write(top, {"sample/__init__.py": PACKAGE.replace("committed", "users")})
    with clean(top, python) as made:
        assert endings(run(made)) == {"test_a": "passed"}


def test_a_module_that_the_commit_does_not_have_is_not_the_users(tmp_path: Path) -> None:
    files = {
        "src/sample/__init__.py": PACKAGE,
        "pyproject.toml": BUILD.format(module="sample"),
        "test_a.py": "def test_a(): import late",
    }
    top = project(tmp_path / "p", files)
    python = venv(tmp_path / "env")
    install(python, top, "--editable")
    write(top, {"src/late.py": ""})
    with clean(top, python) as made:
        assert endings(run(made)) == {"test_a": "failed"}


def test_other_editable_installs_stay(tmp_path: Path) -> None:
    python = venv(tmp_path / "env")
    other = project(
        tmp_path / "other",
        {
            "friend.py": "VALUE = 1",
            "pyproject.toml": BUILD.format(module="friend") + '[tool.setuptools]\npy-modules = ["friend"]\n',
        },
    )
    install(python, other, "--editable")
    top = project(tmp_path / "p", {"test_a.py": "import friend\ndef test_a(): assert friend.VALUE"})
    with clean(top, python) as made:
        assert endings(run(made)) == {"test_a": "passed"}


@pytest.mark.parametrize(
    "how",
    [
        {"conftest.py": "import sys\nsys.path.insert(0, {users!r})"},
        {"pytest.ini": "[pytest]\npythonpath = {users}"},
    ],
)
def test_another_checkouts_code_is_refused(tmp_path: Path, how: dict[str, str]) -> None:
    users = str(tmp_path / "p" / "src")
    files = {name: text.format(users=users) for name, text in how.items()}
    files |= {"src/sample/__init__.py": "", "test_a.py": "import sample\ndef test_a(): pass"}
    with clean(project(tmp_path / "p", files)) as made:
        with pytest.raises(
            Refused, match=r"`sample` does not come from the checkout under test but from `.*/p/src/sample"
        ):
            collect(made)
        with pytest.raises(Refused):
            trial(made, ["test_a.py::test_a"])


def test_pythonpath_of_the_user_does_not_lead_to_the_users_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = tmp_path / "extra"
    write(extra, {"friend.py": ""})
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'p' / 'src'}{os.pathsep}{extra}")
    source = "import sample, friend\ndef test_a(): assert sample.VALUE == 'committed'"
    top = project(tmp_path / "p", {"src/sample/__init__.py": PACKAGE, "test_a.py": source})
    write(top, {"src/sample/__init__.py": "VALUE = 'users'"})
    with clean(top) as made:
        assert endings(run(made)) == {"test_a": "passed"}


def test_checkouts_side_by_side_run_their_own_code(tmp_path: Path) -> None:
    source = "import sample, os\ndef test_a(): assert sample.N == int(open('n').read())"
    top = project(tmp_path / "p", {"sample.py": "N = 0", "n": "0", "test_a.py": source})
    commits = [git(top, "rev-parse", "HEAD")]
    for n in (1, 2, 3):
        write(top, {"sample.py": f"N = {n}", "n": str(n)})
        commits.append(commit(top, f"{n}"))
    for one in commits:
        with clean(top, at=one) as made:
            assert endings(run(made)) == {"test_a": "passed"}
            assert git(Path(made.top), "rev-parse", "HEAD") == one


# -- what must be built ------------------------------------------------------------------------------------------------

GENERATED = {
    "src/sample/__init__.py": "from sample.made import VALUE",
    "test_a.py": "import sample\ndef test_a(): assert sample.VALUE == 'made'",
    "build.sh": 'echo built >>"$BUILDS"; echo "VALUE = \'made\'" >src/sample/made.py',
    ".gitignore": "made.py\n",
}


def test_a_project_that_must_be_built_is_refused_until_it_is_known_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUILDS", str(tmp_path / "builds"))
    top = project(tmp_path / "p", GENERATED)
    write(top, {"src/sample/made.py": "VALUE = 'users'"})
    with pytest.raises(Refused, match=r"must be built .*src/sample/made\.py") as refused, clean(top):
        pass
    assert "workspace.setup" in refused.value.hint
    with clean(top, setup="sh build.sh") as made:
        assert endings(run(made)) == {"test_a": "passed"}


def test_a_set_up_that_fails_says_what_it_said_and_leaves_nothing(tmp_path: Path) -> None:
    top = project(tmp_path / "p", {"test_a.py": "def test_a(): pass"})
    with (
        pytest.raises(MusterError, match=r"`echo no such library >&2; false` .* ended with 1 .*no such library"),
        clean(top, setup="echo no such library >&2; false"),
    ):
        pass
    assert not list((tmp_path / "clean").iterdir())
    assert not [one for one in (tmp_path / "cache").iterdir() if one.suffix != ".lock"]


def test_an_environment_is_built_once_for_each_state_of_the_lock_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUILDS", str(tmp_path / "builds"))
    # A set-up as a project has it: an environment in the checkout, with the project installed into it.
    script = """
        echo built >>"$BUILDS"
        python -m venv --without-pip .venv
        echo "$HOUSE" >"$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/house.pth"
        .venv/bin/python -m pip install --quiet --no-build-isolation --no-deps --no-index --editable .
    """
    monkeypatch.setenv("HOUSE", "\n".join(HOUSE))
    files = {
        "src/sample/__init__.py": PACKAGE,
        "pyproject.toml": BUILD.format(module="sample"),
        "setup.sh": script,
        "requirements.txt": "",
        "tests/test_a.py": ASKING.format(module="sample"),
        ".gitignore": ".venv\n*.egg-info\n",
    }
    top = project(tmp_path / "p", files)
    first = git(top, "rev-parse", "HEAD")
    write(top, {"src/sample/__init__.py": PACKAGE.replace("committed", "second")})
    second = commit(top, "second")
    write(top, {"requirements.txt": "# more\n", "src/sample/__init__.py": PACKAGE})
    third = commit(top, "third")

    def built() -> int:
        return len((tmp_path / "builds").read_text().split())

    with clean(top, setup="sh setup.sh", at=first) as made:
        assert set(endings(run(made)).values()) == {"passed"}
    assert built() == 1
    with clean(top, setup="sh setup.sh", at=second) as made:
        assert set(endings(run(made)).values()) == {"failed", "passed"}
        assert endings(run(made))["test_program"] == "failed", "it is this checkout's, not the first one's"
    assert built() == 1
    with clean(top, setup="sh setup.sh", at=third) as made:
        assert set(endings(run(made)).values()) == {"passed"}
    assert built() == 2


# -- clean checkouts ---------------------------------------------------------------------------------------------------


def test_what_a_test_does_to_git_the_user_never_sees(tmp_path: Path) -> None:
    source = """
        import subprocess
        def git(*words): subprocess.run(["git", *words], check=True)
        def test_a():
            git("tag", "mine")
            git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-qm", "mine")
            git("branch", "mine")
            git("config", "mine.is", "1")
        def test_b(): assert subprocess.check_output(["git", "describe", "--tags"]).strip() == b"v1"
    """
    top = project(tmp_path / "p", {"test_a.py": source, ".gitattributes": "test_a.py export-ignore\n"})
    git(top, "tag", "v1")
    before = [git(top, "for-each-ref"), git(top, "config", "--list"), git(top, "status", "--porcelain")]
    with clean(top) as made:
        assert endings(run(made, ["test_a.py::test_b", "test_a.py::test_a"])) == {
            "test_a": "passed",
            "test_b": "passed",
        }
        folder = made.top
    assert [git(top, "for-each-ref"), git(top, "config", "--list"), git(top, "status", "--porcelain")] == before
    assert not os.path.exists(folder) and not list((tmp_path / "clean").iterdir())


def test_submodules_come_from_this_machine_or_are_named(tmp_path: Path) -> None:
    library = project(tmp_path / "library", {"lib.py": "VALUE = 3"})
    top = project(tmp_path / "p", {"test_a.py": "def test_a():\n    from sub import lib\n    assert lib.VALUE == 3"})
    git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    commit(top, "submodule")
    with clean(top) as made:
        assert endings(run(made)) == {"test_a": "passed"} and not made.note
    git(top, "submodule", "--quiet", "deinit", "--force", "sub")
    with clean(top) as made:
        assert "sub" in made.note


def test_a_checkout_of_what_is_no_commit(tmp_path: Path) -> None:
    top = project(tmp_path / "p", {"a": ""})
    with (
        pytest.raises(UsageError, match="no commit `nothing`"),
        checkout.made(str(top), "nothing", str(tmp_path / "clean")),
    ):
        pass
    assert not list((tmp_path / "clean").iterdir())


# -- the interpreter ---------------------------------------------------------------------------------------------------


def test_the_projects_own_environment_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = project(tmp_path / "p", {"sample/__init__.py": "", "test_a.py": "def test_a(): pass"})
    other = venv(tmp_path / "other")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "other"))
    assert projects.find(str(top)).python == str(other)
    own = venv(top / ".venv")
    assert projects.find(str(top)).python == str(own)
    assert projects.find(str(top), str(tmp_path / "other")).python == str(other)
    (top / ".venv" / "bin" / "python").unlink()
    assert projects.find(str(top)).python == str(other)


def test_an_interpreter_without_pytest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = project(tmp_path / "p", {"a": ""})
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    with pytest.raises(UsageError, match="has no pytest") as error:
        projects.find(str(top), str(tmp_path / "bare"))
    assert "-m pip install pytest" in error.value.hint
    monkeypatch.setenv("PATH", f"{tmp_path / 'bare' / 'bin'}:{tmp_path}")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    os.symlink("/usr/bin/git", tmp_path / "git")
    with pytest.raises(NotFound, match="no interpreter with pytest") as none:
        projects.find(str(top))
    assert "--python" in none.value.hint
    with pytest.raises(UsageError, match="no such interpreter"):
        projects.find(str(top), "no-such-python")


def test_a_folder_without_a_repository(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not in a git repository"):
        projects.find(str(tmp_path))


# -- what runs in the project's interpreter ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["muster_probe", "muster_where"])
def test_what_runs_in_the_projects_interpreter_stands_alone(name: str) -> None:
    source = (Path(projects.INSIDE) / f"{name}.py").read_text()
    tree = ast.parse(source, feature_version=(3, 8))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {one.partition(".")[0] for one in modules} <= {*sys.stdlib_module_names, "pytest"}

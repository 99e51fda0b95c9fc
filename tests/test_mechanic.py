"""The mechanic, as the real program on small projects in git: what it repairs, what it leaves alone, what it says."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import Muster
from muster.agents import Order
from muster.agents.mechanic import Mechanic
from muster.agents.mechanic.program import facts
from muster.agents.mechanic.program import subject as subjects
from muster.agents.mechanic.program.candidates import Candidate, compiles, views
from muster.agents.mechanic.program.repairs import all_kinds
from muster.agents.mechanic.program.source import Edit, Source
from muster.errors import UsageError

PROGRAM = Path(__file__).parent.parent / "src" / "muster" / "agents" / "mechanic" / "program"
COMMAND = f"{sys.executable} -m pytest -q"


class Ended(NamedTuple):
    """What a run of the mechanic left."""

    outcome: dict[str, Any]
    screen: str

    @property
    def status(self) -> str:
        return str(self.outcome["status"])

    @property
    def words(self) -> str:
        return json.dumps(self.outcome, ensure_ascii=False)


class Project:
    """A git repository with a program and its tests."""

    def __init__(self, base: Path) -> None:
        self.base, self.folder = base, base / "project"
        self.folder.mkdir()
        (base / "tmp").mkdir()
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        self.env.update(MUSTER_OUTCOME=str(base / "outcome.json"), MUSTER_DIR=str(base), TMPDIR=str(base / "tmp"))

    def write(self, files: Mapping[str, str]) -> Project:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A program")
        return self

    def git(self, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def task(self, *tests: str, command: str = COMMAND) -> str:
        named = "".join(f"    {test}\n" for test in tests)
        return f"Make these pass.\n\nTests:\n{named}\nCommand that runs tests from here:\n    {command}\n"

    def start(self, task: str, *options: str, program: Path = PROGRAM) -> subprocess.Popen[str]:
        argv = [sys.executable, str(program), *options, "--", task]
        return subprocess.Popen(
            argv, cwd=self.folder, env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def mend(self, task: str, *options: str, program: Path = PROGRAM) -> Ended:
        process = self.start(task, *(options or ("--limit", "110")), program=program)
        screen, _ = process.communicate(timeout=150)
        assert process.returncode == 0, screen
        # Whatever came of it, nothing is left lying about.
        assert self.git("status", "--porcelain") == ""
        assert not [name for name in os.listdir(self.base / "tmp") if name.startswith("muster")]
        return Ended(json.loads((self.base / "outcome.json").read_text()), screen)

    def passes(self, *tests: str) -> bool:
        argv = [sys.executable, "-m", "pytest", "-q", *tests]
        done = subprocess.run(argv, cwd=self.folder, env=self.env, capture_output=True, check=False)
        return done.returncode == 0

    @property
    def commits(self) -> list[str]:
        return self.git("log", "--format=%s").splitlines()


@pytest.fixture
def project(home: Path) -> Project:
    return Project(home.parent)


SHOP = """\
\"\"\"Prices.\"\"\"

RATES = {"book": 7, "other": 19}


def tax(price, kind="other"):
    return price * RATES[kind] // 100


def total(prices, kind="other", voucher=None):
    # What is free is not counted.
    paid = [price for price in prices if price > 0]
    if voucher is not None and voucher <= sum(paid):
        paid.append(-voucher)
    return sum(paid) + sum(tax(price, kind) for price in paid)


def label(name, price):
    return f"{name.strip():<8}{price:>5} ct"


def cheapest(prices, count=2):
    return sorted(prices)[:count]


def mean(prices):
    if not prices:
        return 0
    return total(prices) / len(prices)
"""
TESTS = """\
import pytest
from shop import cheapest, label, mean, tax, total


@pytest.mark.parametrize(("price", "kind", "wanted"), [(100, "book", 7), (100, "other", 19), (50, "other", 9)])
def test_tax(price, kind, wanted):
    assert tax(price, kind) == wanted


def test_total():
    assert total([100, 0, 200]) == 357
    assert total([]) == 0


def test_total_of_books():
    assert total([100], "book") == 107


def test_voucher():
    assert total([100], voucher=100) == 0
    assert total([100], voucher=101) == 119


def test_label():
    assert label(" tea ", 120) == "tea       120 ct"


def test_cheapest():
    assert cheapest([3, 1, 2]) == [1, 2]
    assert cheapest([3, 1, 2], 1) == [1]


def test_mean():
    assert mean([100, 300]) == 238.0
    assert mean([]) == 0
"""


COUNT = """\
import sys


def count(path):
    with open(path) as file:
        return len(file.read().split())


def main(argv):
    if len(argv) > 1:
        print("usage: count FILE", file=sys.stderr)
        return 2
    print(f"{count(argv[0])} words")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("right", "wrong", "tests"),
    [
        ("* RATES", "+ RATES", ["test_shop.py::test_tax[100-book-7]", "test_shop.py::test_total"]),
        ("voucher <= sum", "voucher < sum", ["test_shop.py::test_voucher"]),
        ("if price > 0", "if price > 1 and price", []),
        ("is not None and", "is not None or", ["test_shop.py::test_voucher"]),
        ("tax(price, kind) for", "tax(price) for", ["test_shop.py::test_total_of_books"]),
        ("name.strip()", "name", ["test_shop.py::test_label"]),
        (" ct", " cent", ["test_shop.py::test_label"]),
        ("[:count]", "[count:]", ["test_shop.py::test_cheapest"]),
        ("    if not prices:\n        return 0\n", "", ["test_shop.py::test_mean"]),
        ("    return sorted(prices)", "    sorted(prices)", ["test_shop.py::test_cheapest"]),
        ("append(-voucher)", "append(voucher)", ["test_shop.py::test_voucher"]),
        ('"book": 7', '"book": 17', ["test_shop.py::test_total_of_books"]),
    ],
)
def test_a_small_fault_is_repaired(project: Project, right: str, wrong: str, tests: list[str]) -> None:
    assert SHOP.count(right) == 1
    project.write({"shop.py": SHOP.replace(right, wrong), "test_shop.py": TESTS})
    ended = project.mend(project.task(*(tests or ["test_shop.py::test_tax[100-book-7]"])))
    assert ended.status == "done", ended
    if not tests:  # that fault is one that no test notices
        assert ended.outcome["changes"] == []
        assert project.commits == ["A program"]
        return
    (change,) = ended.outcome["changes"]
    assert change["commit"] == project.git("rev-parse", "HEAD").strip()
    assert (change["kind"], len(project.commits)) == ("impl", 2)
    assert project.git("show", "--name-only", "--format=").split() == ["shop.py"]
    assert "# What is free is not counted." in (project.folder / "shop.py").read_text()
    assert tests[0] in project.git("log", "-1", "--format=%b")
    assert re.fullmatch(r"[A-Z].* in `shop(\.\w+)?`", project.commits[0])
    assert project.passes()


@pytest.mark.parametrize(
    ("old", "new", "subject"),
    [
        ("is not None and", "is not None or", "Use `or` instead of `and` in `store.shop.total`"),
        ("if not prices", "if prices", "Do not negate `prices` in `store.shop.mean`"),
        ("tax(price, kind)", "tax(price)", "Do not pass `kind` to `tax` in `store.shop.total`"),
        ("tax(price, kind)", "tax(kind, price)", "Swap `price` and `kind` in `store.shop.total`"),
        (" ct", " cent", "Use `' cent'` instead of `' ct'` in `store.shop.label`"),
        ("    if not prices:\n        return 0\n", "", "Remove `if not prices: return 0` in `store.shop.mean`"),
        ("name.strip()", "name", "Do not call `.strip()` on `name` in `store.shop.label`"),
        ("tax(price, kind)", "abs(tax(price, kind))", "Call `abs` on `tax(price, kind)` in `store.shop.total`"),
        ("if price > 0]", "if price > 0 if price]", "Add the condition `price` in `store.shop.total`"),
        (" if price > 0]", "]", "Drop the condition `price > 0` in `store.shop.total`"),
        ("len(prices)", "(len(prices) or 1)", "Use `1` where there is no `len(prices)` in `store.shop.mean`"),
        ('"book": 7', '"book": 17', "Use `17` instead of `7` in `store.shop`"),
        (
            "total(prices) / len(prices)",
            "(total(prices) / len(prices) if prices else 0)",
            "Use `0` unless `prices` in `store.shop.mean`",
        ),
    ],
)
def test_a_commit_says_in_plain_words_what_was_changed_where(old: str, new: str, subject: str) -> None:
    source = Source("src/store/shop.py", SHOP.encode())
    start = SHOP.index(old)
    edit = Edit(source.path, start, start + len(old), new, "any", 1, 1.0)
    assert subjects.subject(Candidate(edit, source, 1.0), {source.path: source}) == subject


def test_every_repair_has_a_subject_that_fits() -> None:
    source = Source("a/long/way/down/to/the/program.py", COUNT.encode() + SHOP.encode())
    view = views({source.path: source}, facts.read([]))[source.path]
    found = {}
    for node in ast.walk(source.tree):
        for kind in all_kinds():
            for edit in kind(view, node):
                candidate = Candidate(edit, source, 1.0)
                if edit.kind not in found and compiles(candidate):
                    found[edit.kind] = subjects.subject(candidate, {source.path: source})
    for one in found.values():
        assert re.fullmatch(r"[A-Z][^`]*(`[^`]+`[^`]*)+", one) and len(one) <= 72 and one.isprintable(), one
    assert found["comparison"] == "Compare with `!=` in `a.long.way.down.to.the.program`"
    assert found["operands swapped"].startswith("Swap the sides of `")
    assert len(found) > 30


def test_what_cannot_be_repaired_is_blocked_and_says_what_was_tried(project: Project) -> None:
    broken = TESTS + "\n\ndef test_wish():\n    assert label('a', 1).encode('punycode').count(b'ct') == 3\n"
    project.write({"shop.py": SHOP, "test_shop.py": broken, "conftest.py": "X = 1\n"})
    ended = project.mend(project.task("test_shop.py::test_wish"), "--limit", "30")
    assert (ended.status, ended.outcome["changes"]) == ("blocked", [])
    (escalation,) = ended.outcome["escalations"]
    assert escalation["kind"] == "blocker"
    for word in ("shop.py:", "Tried ", "text ", "Time: ", "failing tests"):
        assert word in escalation["detail"]
    assert project.commits == ["A program"]


def test_a_test_that_passes_is_left_alone(project: Project) -> None:
    project.write({"shop.py": SHOP, "test_shop.py": TESTS})
    ended = project.mend(project.task("test_shop.py::test_total", "test_shop.py::test_mean"))
    assert (ended.status, ended.outcome["changes"], ended.outcome["escalations"]) == ("done", [], [])


def test_two_faults_want_two_repairs(project: Project) -> None:
    source = "def first(a):\n    return a - 1\n\n\ndef second(a):\n    return a < 3\n"
    tests = "from two import first, second\n\n\ndef test_both():\n    assert first(1) == 2\n    assert first(2) == 3\n"
    tests += "    assert second(3)\n    assert not second(4)\n"
    project.write({"two.py": source, "test_two.py": tests})
    ended = project.mend(project.task("test_two.py::test_both"), "--limit", "90")
    assert ended.status == "done", ended
    assert "tries a second repair" in ended.screen
    assert "`two.first`" in project.commits[0] and "`two.second`" in project.commits[0]
    assert project.passes()


COUNT_TESTS = """\
import subprocess
import sys


def run(*words):
    return subprocess.run([sys.executable, "-m", "count_words", *words], capture_output=True, text=True)


def test_words(tmp_path):
    path = tmp_path / "text"
    path.write_text("one two\\nthree")
    assert run(str(path)).stdout == "3 words\\n"


def test_usage():
    assert run().returncode == 2
    assert run("a", "b").returncode == 2
"""


def test_a_program_that_tests_start_is_traced_too(project: Project) -> None:
    project.write({"count_words.py": COUNT, "test_count.py": COUNT_TESTS})
    ended = project.mend(project.task("test_count.py::test_usage"))
    assert ended.status == "done", ended
    assert "suspects count_words.py:" in ended.screen
    assert "len(argv) != 1" in (project.folder / "count_words.py").read_text()


def test_a_flaky_test_is_said_to_be_one(project: Project) -> None:
    flaky = "import os\n\n\ndef test_flaky():\n    path = os.environ['HOME'] + '/seen'\n"
    flaky += "    seen = os.path.exists(path)\n    open(path, 'w').close()\n    assert seen\n"
    project.write({"shop.py": SHOP, "test_flaky.py": flaky})
    ended = project.mend(project.task("test_flaky.py::test_flaky"))
    assert (ended.status, ended.outcome["changes"]) == ("blocked", [])
    assert "flaky: test_flaky.py::test_flaky" in ended.outcome["escalations"][0]["title"]


def test_a_file_that_cannot_be_collected(project: Project) -> None:
    wrong = (
        SHOP.replace('RATES = {"book"', 'RATE = {"book"').replace("RATES[kind]", "RATE[kind]")
        + "\n\nBOOK = RATES['book']\n"
    )
    project.write(
        {
            "shop.py": wrong,
            "test_shop.py": TESTS + "\n\ndef test_book():\n    from shop import BOOK\n    assert BOOK == 7\n",
        }
    )
    ended = project.mend(project.task("test_shop.py"))
    assert ended.status == "done", ended
    assert project.passes()


def test_ids_with_all_that_ids_may_have(project: Project) -> None:
    tests = "import pytest\nfrom half import half\n\n\n@pytest.mark.parametrize('n', [2, 4], ids=['a b [c]::d', 'größe 日本'])\n"
    tests += "def test_half(n):\n    assert half(n) * 2 == n\n"
    ini = "[pytest]\ndisable_test_id_escaping_and_forfeit_all_rights_to_community_support = true\n"
    project.write({"half.py": "def half(n):\n    return n // 4\n", "test_half.py": tests, "pytest.ini": ini})
    ended = project.mend(project.task("test_half.py::test_half[a b [c]::d]", "test_half.py::test_half[größe 日本]"))
    assert ended.status == "done", ended
    assert project.passes()


def test_a_configuration_that_has_ideas_of_its_own(project: Project) -> None:
    ini = "[pytest]\naddopts = -n 2 --dist loadfile -x --strict-markers --lf -v tests\nfilterwarnings = error\npythonpath = src\n"
    wrong = SHOP.replace("* RATES", "+ RATES")
    project.write({"src/shop.py": wrong, "tests/test_shop.py": TESTS, "pytest.ini": ini, ".gitignore": "__pycache__\n"})
    ended = project.mend(project.task("tests/test_shop.py::test_tax[50-other-9]"))
    assert ended.status == "done", ended
    assert project.passes()


def test_a_program_in_a_folder_of_its_repository(project: Project) -> None:
    """The tests are named as they are from there, where the command goes first."""
    wrong = SHOP.replace("voucher <= sum", "voucher < sum")
    files = {
        "pay/shop.py": wrong,
        "pay/checks/shop_checks.py": TESTS,
        "pay/pytest.ini": INI,
        "shop.py": "NOTHING = 1\n",
    }
    project.write({**files, ".gitignore": "__pycache__\n"})
    command = f"""sh -c 'cd "$0" && exec "$@"' pay {COMMAND}"""
    ended = project.mend(project.task("checks/shop_checks.py::test_voucher", command=command))
    assert ended.status == "done", ended
    assert "traced 8 passing tests in 1 of 1 file" in ended.screen
    assert project.git("show", "--name-only", "--format=").split() == ["pay/shop.py"]
    assert (project.folder / "pay" / "shop.py").read_text() == SHOP


INI = "[pytest]\npythonpath = .\npython_files = *_checks.py\n"


def test_a_conftest_that_imports_the_program(project: Project) -> None:
    conftest = "import pytest\nimport shop\n\n\n@pytest.fixture\ndef rate():\n    return shop.RATES\n"
    project.write({"shop.py": SHOP.replace("* RATES", "- RATES"), "test_shop.py": TESTS, "conftest.py": conftest})
    ended = project.mend(project.task("test_shop.py::test_total"))
    assert "by early forks" in ended.screen
    assert ended.status == "done", ended
    assert project.passes()


def test_tests_that_only_see_the_workspace_are_run_there(project: Project) -> None:
    conftest = f"import sys\nsys.path.insert(0, {str(project.folder / 'lib')!r})\n"
    wrong = SHOP.replace("[:count]", "[count:]")
    project.write({"lib/shop.py": wrong, "tests/test_shop.py": TESTS, "tests/conftest.py": conftest})
    ended = project.mend(project.task("tests/test_shop.py::test_cheapest"))
    assert "the tests run the code of another folder" in ended.screen
    assert "in the workspace itself" in ended.screen
    assert ended.status == "done", ended
    assert project.passes()


def test_a_program_that_hangs(project: Project) -> None:
    source = "def digits(number):\n    count = 1\n    while number > 9:\n        number //= 1\n        count += 1\n    return count\n"
    tests = "from digits import digits\n\n\ndef test_one():\n    assert digits(5) == 1\n\n\ndef test_three():\n    assert digits(123) == 3\n"
    project.write({"digits.py": source, "test_digits.py": tests})
    ended = project.mend(project.task("test_digits.py::test_three"), "--limit", "80")
    assert ended.status == "done", ended
    assert "number //= 10" in (project.folder / "digits.py").read_text()


def test_the_time_limit_ends_it(project: Project) -> None:
    source = "".join(
        f"def f{n}(a, b):\n    return (a + {n}) * (b - {n}) if a < b else a[{n}:b]\n\n\n" for n in range(60)
    )
    calls = "".join(f"    f{n}(1, 2)\n" for n in range(60))
    tests = f"from many import *\nimport time\n\n\ndef test_all():\n{calls}    time.sleep(0.2)\n    assert f1(1, 2) == 'never'\n"
    project.write({"many.py": source, "test_many.py": tests})
    ended = project.mend(project.task("test_many.py::test_all"), "--limit", "6")
    assert ended.status == "blocked"
    assert "the time was up" in ended.outcome["summary"]


def test_a_repair_that_breaks_another_test_is_none(project: Project) -> None:
    tests = "from sign import sign\n\n\ndef test_zero():\n    assert sign(0) == 5\n\n\ndef test_one():\n    assert sign(1) == 1\n"
    others = "from sign import sign\n\n\ndef test_zero_is_nothing():\n    assert not sign(0)\n"
    project.write({"sign.py": "def sign(n):\n    return n\n", "test_sign.py": tests, "test_zero.py": others})
    ended = project.mend(project.task("test_sign.py::test_zero"), "--limit", "40")
    assert ended.status == "blocked", ended
    assert "by late forks" in ended.screen and "in 2 of 2 files" in ended.screen
    assert project.commits == ["A program"]


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("Please make it work.", "Tests:"),
        (f"Tests:\n\nCommand:\n    {COMMAND}\n", "Tests:"),
        ("Tests:\n    test_shop.py::test_total\n", "Command"),
        ("Tests:\n    test_shop.py::test_total\n\nCommand:\n    'pytest\n", "can't be taken apart"),
        ("Tests:\n    test_shop.py::test_total\n\nCommand:\n    echo nothing\n", "did not run pytest: nothing "),
        (
            f"Tests:\n    test_shop.py::test_nothing\n\nCommand:\n    {COMMAND}\n",
            "does not find `test_shop.py::test_nothing`",
        ),
    ],
)
def test_a_task_that_says_too_little_fails(project: Project, task: str, words: str) -> None:
    project.write({"shop.py": SHOP, "test_shop.py": TESTS})
    ended = project.mend(task)
    assert ended.status == "failed"
    assert words in ended.outcome["summary"]


def test_uncommitted_work_is_not_touched(project: Project) -> None:
    project.write({"shop.py": SHOP, "test_shop.py": TESTS})
    (project.folder / "shop.py").write_text("mine")
    process = project.start(project.task("test_shop.py::test_total"))
    assert process.communicate(timeout=60)[0]
    outcome = json.loads((project.base / "outcome.json").read_text())
    assert (outcome["status"], "uncommitted changes: shop.py" in outcome["summary"]) == ("failed", True)
    assert (project.folder / "shop.py").read_text() == "mine"


def test_ended_early_it_leaves_the_workspace_as_it_was(project: Project) -> None:
    wish = "from shop import tax\nimport time\n\n\ndef test_wish():\n    time.sleep(0.3)\n    assert tax(1) == 'x'\n"
    conftest = f"import sys\nsys.path.insert(0, {str(project.folder / 'lib')!r})\n"
    project.write({"lib/shop.py": SHOP, "tests/test_wish.py": wish, "tests/conftest.py": conftest})
    process = project.start(project.task("tests/test_wish.py::test_wish"))
    source = project.folder / "lib" / "shop.py"
    until(lambda: source.read_text() != SHOP)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert source.read_text() == SHOP
    assert project.git("status", "--porcelain") == ""
    assert os.listdir(project.base / "tmp") == []


def until(look: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_copy_of_the_folder_alone_does_the_same(project: Project) -> None:
    alone = project.base / "elsewhere" / "program"
    shutil.copytree(PROGRAM, alone, ignore=shutil.ignore_patterns("__pycache__"))
    project.write({"shop.py": SHOP.replace("voucher <= sum", "voucher < sum"), "test_shop.py": TESTS})
    changes = []
    for program in (PROGRAM, alone):
        ended = project.mend(project.task("test_shop.py::test_voucher"), program=program)
        changes.append((ended.outcome["changes"][0]["summary"], project.git("show", "--format=%B")))
        project.git("reset", "--quiet", "--hard", "HEAD~1")
    assert changes[0] == changes[1]


def test_as_an_agent_of_the_fleet(project: Project, muster: Muster, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"shop.py": SHOP.replace("* RATES", "+ RATES"), "test_shop.py": TESTS, ".gitignore": "__pycache__\n"})
    monkeypatch.chdir(project.folder)
    muster("create", "fix", "mechanic", "--message", project.task("test_shop.py::test_total"), "--", "--limit", "60")
    muster("wait", "fix", "--for", "done", "--timeout", "100")
    (agent,) = muster("list", "--format", "json").json["agents"]
    assert agent["state"]["kind"] == "done"
    said = muster("transcript", "fix").out
    assert "Make these pass." in said
    assert "`return price + RATES[kind] // 100` should be `return price * RATES[kind] // 100`" in said
    muster("pull", "fix")
    assert project.passes()


def test_its_arguments_are_checked_before_it_is_made(tmp_path: Path) -> None:
    def order(*args: str, remote: bool = False) -> Order:
        return Order(args, str(tmp_path), "/work", "Tests:\n    a\n", remote=remote)

    for wrong in (["--limit", "soon"], ["--jobs=0"], ["--speed"], ["do it"], ["--task", "x"], ["--limit"]):
        with pytest.raises(UsageError):
            Mechanic().launch(order(*wrong))
    here, there = Mechanic().launch(order("--jobs", "3")), Mechanic().launch(order(remote=True))
    assert here.argv[-4:] == ("--jobs", "3", "--task", f"{tmp_path}/task.md")
    assert here.message_taken
    assert here.files == {"task.md": b"Tests:\n    a\n"}
    wanted = {f"program/{path.relative_to(PROGRAM)}" for path in PROGRAM.rglob("*.py")}
    assert set(there.files) == {"task.md", *wanted}
    assert there.argv[:2] == ("python3", f"{tmp_path}/program")

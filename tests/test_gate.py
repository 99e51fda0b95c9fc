"""The gate catches what cheats and lets through what is honest: pairs of before and after, small enough to be judged by eye."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

from muster.errors import UsageError
from muster.hosts.local import Local
from muster.mend import Finding
from muster.mend.gate import RULES, inspect, of_commits, table
from muster.mend.layout import Layout

LAYOUT = Layout(tests=("tests/test_a.py",), testpaths=("tests",), packages=("shop",))
TEST = "tests/test_a.py"
GREEN = ("tests/test_a.py::test_a", "tests/test_a.py::test_b")
DOCS = Path(__file__).parent.parent / "docs" / "gate.md"


class Pair(NamedTuple):
    """A change, and the rules it breaks; files are those of TEST where only text is given."""

    name: str
    rules: str
    before: str | dict[str, str | None]
    after: str | dict[str, str | None]
    beside: dict[str, str] = {}  # noqa: RUF012 - never changed


def files(given: str | dict[str, str | None]) -> dict[str, bytes | None]:
    named = {TEST: given} if isinstance(given, str) else given
    return {path: None if text is None else dedent(text).lstrip("\n").encode() for path, text in named.items()}


def found(pair: Pair, green: tuple[str, ...] = GREEN, **more: Any) -> list[Finding]:
    before, after = files(pair.before), files(pair.after)
    beside = {path: text.encode() for path, text in pair.beside.items()}
    return inspect(before, after, LAYOUT, green=green, beside=beside, **more)


def body(*lines: str) -> str:
    """A test of those lines."""
    return "from shop import add, run\n\n\ndef test_a():\n" + "".join(f"    {line}\n" for line in lines)


def one(name: str, rules: str, before: str, after: str) -> Pair:
    """A line of a test that became another, beside one that stays."""
    stays = "assert run('stays') == 1"
    return Pair(name, rules, body(stays, *before.split(" ; ")), body(stays, *after.split(" ; ")))


HEAD = "import pytest\nfrom shop import add, run\n\n"
TWO = HEAD + "def test_a():\n    assert add(1, 2) == 3\n\ndef test_b():\n    assert run('b') == 'fine words'\n"

CHEATS = [
    # -- tests that are gone
    Pair("a deleted test", "deleted-test", TWO, HEAD + "def test_a():\n    assert add(1, 2) == 3\n"),
    Pair("a deleted file", "deleted-test", {TEST: body("assert add(1, 2) == 3")}, {TEST: None}),
    Pair("a renamed test", "renamed-test", TWO, TWO.replace("test_b", "test_c")),
    Pair(
        "renamed and weakened", "renamed-test weakened-assertion", TWO,
        TWO.replace("test_b", "test_c").replace("run('b') == 'fine words'", "'fine' in run('b')"),
    ),
    Pair("another prefix", "uncollected-test", TWO, TWO.replace("test_b", "_test_b")),
    Pair("another prefix, and another body", "uncollected-test", TWO, TWO.replace("test_b", "check_b")),
    Pair("under a false condition", "uncollected-test", body("assert add(1, 2) == 3"),
         "from shop import add, run\n\nif False:\n    def test_a():\n        assert add(1, 2) == 3\n"),
    Pair("in another function", "uncollected-test", body("assert add(1, 2) == 3"),
         "from shop import add, run\n\ndef outer():\n    def test_a():\n        assert add(1, 2) == 3\n"),
    Pair("`__test__ = False`", "uncollected-test", "class TestA:\n    def test_a(self):\n        assert f() == 1\n",
         "class TestA:\n    __test__ = False\n    def test_a(self):\n        assert f() == 1\n"),
    Pair("`__test__` of the module", "uncollected-test", TWO, "__test__ = False\n" + TWO),
    Pair("a renamed class", "uncollected-test", "class TestA:\n    def test_a(self):\n        assert f() == 1\n",
         "class CheckA:\n    def test_a(self):\n        assert f() == 1\n"),
    Pair("shadowed by a later one", "emptied-test", TWO, TWO + "\ndef test_b():\n    pass\n"),
    Pair("bound to nothing", "uncollected-test", TWO, TWO + "\ntest_b = None\n"),
    Pair("made a generator", "uncollected-test", body("assert add(1, 2) == 3"), body("assert add(1, 2) == 3", "yield")),
    Pair("a file pytest does not look into", "uncollected-test",
         {TEST: body("assert add(1, 2) == 3"), "tests/a.py": None},
         {TEST: None, "tests/a.py": body("assert add(1, 2) == 3")}),
    Pair("a file that can't be parsed", "unreadable-test", TWO, TWO + "\ndef test_c(:\n"),
    # -- tests that don't run to their end
    Pair("a skip", "added-skip", TWO, TWO.replace("def test_b", "@pytest.mark.skip\ndef test_b")),
    Pair("a skip by another name", "added-skip", TWO,
         TWO.replace("def test_a", "later = pytest.mark.skip(reason='x')\n\ndef test_a").replace("def test_b", "@later\ndef test_b")),
    Pair("a skip of the whole file", "added-skip", TWO, TWO.replace("def test_a", "pytestmark = pytest.mark.skip\n\ndef test_a")),
    Pair("a condition to skip on", "added-skip", TWO, TWO.replace("def test_b", "@pytest.mark.skipif(True, reason='')\ndef test_b")),
    Pair("unittest's skip", "added-skip", "import unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 1)\n",
         "import unittest\nclass A(unittest.TestCase):\n    @unittest.skip('x')\n    def test_a(self):\n        self.assertEqual(f(), 1)\n"),
    Pair("an xfail", "added-xfail", TWO, TWO.replace("def test_b", "@pytest.mark.xfail\ndef test_b")),
    Pair("a call of skip", "added-skip unreachable-assertion", HEAD + "def test_a():\n    assert add(1, 2) == 3\n",
         HEAD + "def test_a():\n    pytest.skip('later')\n    assert add(1, 2) == 3\n"),
    Pair("an importorskip", "added-skip", TWO, TWO.replace("def test_a", "pytest.importorskip('no_such')\n\ndef test_a")),
    Pair("a fixture that skips", "added-skip", HEAD + "@pytest.fixture\ndef shop():\n    return 1\n\ndef test_a(shop):\n    assert add(shop) == 3\n",
         HEAD + "@pytest.fixture\ndef shop():\n    pytest.skip('no')\n    return 1\n\ndef test_a(shop):\n    assert add(shop) == 3\n"),
    Pair("an early return", "unreachable-assertion", body("assert add(1, 2) == 3"), body("return", "assert add(1, 2) == 3")),
    one("under `if False`", "unreachable-assertion", "assert add(1, 2) == 3", "if False: assert add(1, 2) == 3"),
    one("under a condition", "conditional-assertion", "assert add(1, 2) == 3", "if run('x'): assert add(1, 2) == 3"),
    one("after a return on a condition", "conditional-assertion", "assert add(1, 2) == 3", "if run('x'): return ; assert add(1, 2) == 3"),
    one("a loop that may be empty", "conditional-assertion", "assert add(1, 2) == 3", "for _ in run('none'): assert add(1, 2) == 3"),
    Pair("caught", "swallowed-assertion", body("assert add(1, 2) == 3"),
         body("try:", "    assert add(1, 2) == 3", "except AssertionError:", "    pass")),
    Pair("caught with everything", "swallowed-assertion", body("assert add(1, 2) == 3"),
         body("try:", "    assert add(1, 2) == 3", "except:", "    print('well')")),
    Pair("suppressed", "swallowed-assertion", body("assert add(1, 2) == 3"),
         body("with contextlib.suppress(Exception):", "    assert add(1, 2) == 3")),
    Pair("in a broad raises", "swallowed-assertion", body("assert add(1, 2) == 3"),
         body("with pytest.raises(AssertionError):", "    assert add(1, 2) == 3")),
    Pair("wrapped in what swallows", "wrapped-test", TWO,
         TWO.replace("def test_a", "def calm(f):\n    def g():\n        try: f()\n        except BaseException: pass\n    return g\n\n@calm\ndef test_a")),
    Pair("given up on any exception", "conditional-assertion", body("x = add(1, 2)", "assert x == 3"),
         body("try:", "    x = add(1, 2)", "except Exception:", "    return", "assert x == 3")),
    Pair("a finally that returns", "swallowed-assertion", body("assert add(1, 2) == 3"),
         body("try:", "    assert add(1, 2) == 3", "finally:", "    return")),
    one("a loop over nothing", "unreachable-assertion", "assert add(1, 2) == 3", "for _ in []: assert add(1, 2) == 3"),
    Pair("the process is ended", "added-skip", TWO, "import os\nos._exit(0)\n" + TWO),
    Pair("an old test's new fixture skips", "added-skip", TWO,
         TWO.replace("def test_a():", "@pytest.fixture\ndef late():\n    pytest.skip('no')\n\ndef test_a(late):")),
    # -- assertions that say less
    Pair("emptied", "emptied-test", body("assert add(1, 2) == 3"), body("add(1, 2)")),
    Pair("emptied of what it does", "emptied-test", body("run('x')"), body("pass")),
    Pair("in a function nobody calls", "emptied-test", body("assert add(1, 2) == 3"),
         body("def later():", "    assert add(1, 2) == 3")),
    one("`assert True`", "constant-assertion", "assert add(1, 2) == 3", "assert True"),
    Pair("`assert True` alone", "constant-assertion", body("assert add(1, 2) == 3"), body("assert True")),
    one("`x == x`", "constant-assertion", "x = add(1, 2) ; assert x == 3", "x = add(1, 2) ; assert x == x"),
    one("the result as its own expectation", "constant-assertion", "assert add(1, 2) == 3", "want = add(1, 2) ; assert add(1, 2) == want"),
    one("`or True`", "constant-assertion", "assert add(1, 2) == 3", "assert add(1, 2) == 3 or True"),
    one("a length that is never negative", "constant-assertion", "assert run('x') == [1]", "assert len(run('x')) >= 0"),
    one("an object is an object", "constant-assertion", "assert add(1, 2) == 3", "assert isinstance(add(1, 2), object)"),
    one("a tuple is true", "constant-assertion", "assert add(1, 2) == 3", "assert (add(1, 2) == 3, 'sum')"),
    one("all to any", "weakened-assertion", "assert all(x > 0 for x in run('x'))", "assert any(x > 0 for x in run('x'))"),
    one("all of nothing", "constant-assertion", "assert all(x > 0 for x in run('x'))", "assert all(x > 0 for x in [])"),
    Pair("an object that equals everything", "constant-assertion", TWO,
         TWO + "\nclass Any:\n    def __eq__(self, other):\n        return True\n"),
    one("`==` to `in`", "weakened-assertion", "assert run('x') == 'a b'", "assert 'a' in run('x')"),
    one("`==` to truth", "weakened-assertion", "assert add(1, 2) == 3", "assert add(1, 2)"),
    one("`==` to `!=`", "weakened-assertion", "assert add(1, 2) == 3", "assert add(1, 2) != 4"),
    one("`==` to `<=`", "weakened-assertion", "assert add(1, 2) == 3", "assert add(1, 2) <= 3"),
    one("`==` to not None", "weakened-assertion", "assert add(1, 2) == 3", "assert add(1, 2) is not None"),
    one("`==` to a type", "weakened-assertion", "assert add(1, 2) == 3", "assert isinstance(add(1, 2), int)"),
    one("`==` to a prefix", "weakened-assertion", "assert run('x') == 'a b'", "assert run('x').startswith('a')"),
    one("`==` to a length", "weakened-assertion", "assert run('x') == [1, 2]", "assert len(run('x')) == 2"),
    one("one of two", "weakened-assertion", "assert add(1, 2) == 3", "assert add(1, 2) == 3 or add(1, 2) == 4"),
    one("one of many values", "weakened-assertion", "assert add(1, 2) == 3", "assert add(1, 2) in (3, 4)"),
    one("more of many values", "weakened-assertion", "assert add(1, 2) in (3, 4)", "assert add(1, 2) in (3, 4, 5)"),
    one("a shorter word", "weakened-assertion", "assert 'no such file' in run('x')", "assert 'no' in run('x')"),
    one("case ignored", "weakened-assertion", "assert run('x') == 'a'", "assert run('x').lower() == 'a'"),
    one("a helper that asserts less", "weakened-assertion", "assert run('x') == 'a b'", "def same(x, y): assert y in x ; same(run('x'), 'a')"),
    one("assertEqual to assertTrue", "weakened-assertion", "self.assertEqual(run('x'), 3)", "self.assertTrue(run('x'), 3)"),
    one("expect: equal to contain", "weakened-assertion", "expect(run('x')).to_equal('a b')", "expect(run('x')).to_contain('a')"),
    one("expect: its end is dropped", "weakened-assertion", "expect(run('x')).to_succeed().to_print('a')", "expect(run('x')).to_print('a')"),
    one("a mock's arguments", "weakened-assertion", "m.assert_called_once_with(3)", "m.assert_called()"),
    one("anything at all", "weakened-assertion", "assert run('x') == {'a': 1}", "assert run('x') == {'a': mock.ANY}"),
    one("sorted on both sides", "ignored-order", "assert run('x') == [2, 1]", "assert sorted(run('x')) == sorted([2, 1])"),
    one("as sets", "ignored-order", "assert run('x') == [2, 1]", "assert set(run('x')) == {1, 2}"),
    one("assertCountEqual", "ignored-order", "self.assertEqual(run('x'), [2, 1])", "self.assertCountEqual(run('x'), [2, 1])"),
    one("approx", "widened-tolerance", "assert add(1, 2) == 3.0", "assert add(1, 2) == pytest.approx(3.0)"),
    one("a wider approx", "widened-tolerance", "assert run(1) == pytest.approx(3.0, abs=0.1)", "assert run(1) == pytest.approx(3.0, abs=1)"),
    one("fewer places", "widened-tolerance", "self.assertAlmostEqual(run(1), 3.1, places=7)", "self.assertAlmostEqual(run(1), 3.1, places=1)"),
    one("a higher bound", "widened-tolerance", "assert abs(run(1) - 3) < 0.1", "assert abs(run(1) - 3) < 10"),
    Pair("any exception", "broader-raises", body("with pytest.raises(ValueError):", "    add('x')"),
         body("with pytest.raises(Exception):", "    add('x')")),
    Pair("a base of it", "broader-raises", body("with pytest.raises(KeyError):", "    add('x')"),
         body("with pytest.raises(LookupError):", "    add('x')")),
    Pair("one more exception", "broader-raises", body("with pytest.raises(ValueError):", "    add('x')"),
         body("with pytest.raises((ValueError, TypeError)):", "    add('x')")),
    Pair("its match dropped", "broader-raises", body("with pytest.raises(ValueError, match='no sum'):", "    add('x')"),
         body("with pytest.raises(ValueError):", "    add('x')")),
    Pair("its match loosened", "broader-raises", body("with pytest.raises(ValueError, match='no sum'):", "    add('x')"),
         body("with pytest.raises(ValueError, match='.*'):", "    add('x')")),
    one("a looser pattern", "loosened-pattern", "assert re.search('exit 3', run('x'))", r"assert re.search('exit \\d', run('x'))"),
    Pair("a case removed", "removed-case",
         HEAD + "@pytest.mark.parametrize('a, b', [(1, 2), (2, 3)])\ndef test_a(a, b):\n    assert add(a, 1) == b\n",
         HEAD + "@pytest.mark.parametrize('a, b', [(1, 2)])\ndef test_a(a, b):\n    assert add(a, 1) == b\n"),
    Pair("a case skipped", "removed-case",
         HEAD + "@pytest.mark.parametrize('a, b', [(1, 2), (2, 3)])\ndef test_a(a, b):\n    assert add(a, 1) == b\n",
         HEAD + "@pytest.mark.parametrize('a, b', [(1, 2), pytest.param(2, 3, marks=pytest.mark.skip)])\ndef test_a(a, b):\n    assert add(a, 1) == b\n"),
    Pair("a case removed from a constant", "removed-case",
         HEAD + "CASES = [(1, 2), (2, 3)]\n@pytest.mark.parametrize('a, b', CASES)\ndef test_a(a, b):\n    assert add(a, 1) == b\n",
         HEAD + "CASES = [(1, 2)]\n@pytest.mark.parametrize('a, b', CASES)\ndef test_a(a, b):\n    assert add(a, 1) == b\n"),
    one("an item of a loop removed", "removed-case", "for x in [1, 2, 3]: assert add(x, 0) == x", "for x in [1, 2]: assert add(x, 0) == x"),
    one("a loop over a part", "fewer-items", "for x in run('all'): assert x > 0", "for x in run('all')[:1]: assert x > 0"),
    one("a shorter range", "fewer-items", "for x in range(500): assert add(x, 0) == x", "for x in range(3): assert add(x, 0) == x"),
    Pair("a fixture that asserts less", "removed-assertion",
         {"tests/conftest.py": "import pytest\n@pytest.fixture\ndef shop():\n    made = make()\n    assert made.code == 0\n    assert made.open\n    return made\n"},
         {"tests/conftest.py": "import pytest\n@pytest.fixture\ndef shop():\n    made = make()\n    assert made.open\n    return made\n"}),
    # -- expectations
    one("computed by the program", "expected-from-program", "assert run('x') == 'a'", "assert run('x') == add('a', '')"),
    one("asked of the program twice", "expected-from-program", "assert run('x') == 'a'", "want = run('y') ; assert run('x') == want"),
    Pair("against what is documented", "expected-bent", body('"""Adding 1 and 2 gives 3."""', "assert add(1, 2) == 3"),
         body('"""Adding 1 and 2 gives 3."""', "assert add(1, 2) == 4")),
    Pair("a rewritten docstring is no evidence", "expected-bent", body('"""Adding 1 and 2 gives 3."""', "assert add(1, 2) == 3"),
         body('"""Adding 1 and 2 gives 4."""', "assert add(1, 2) == 4")),
    Pair("a golden file rewritten", "rewritten-snapshot", {"tests/golden/a.txt": "one\n"}, {"tests/golden/a.txt": "two\n"}),
    Pair("data emptied", "emptied-data", {"tests/data/a.csv": "a,b\n1,2\n"}, {"tests/data/a.csv": ""}),
    Pair("data gone", "emptied-data", {"tests/data/a.csv": "a,b\n1,2\n"}, {"tests/data/a.csv": None}),
    # -- time and doubles
    one("a sleep", "added-sleep", "assert add(1, 2) == 3", "time.sleep(2) ; assert add(1, 2) == 3"),
    one("a longer sleep", "added-sleep", "time.sleep(1) ; run('x')", "time.sleep(9) ; run('x')"),
    one("a longer time limit", "changed-time-limit", "assert run('x', timeout=5) == 1", "assert run('x', timeout=500) == 1"),
    Pair("a patience", "changed-time-limit", "PATIENCE = 10\n" + TWO, "PATIENCE = 1000\n" + TWO),
    Pair("a timeout mark", "changed-time-limit", TWO, TWO.replace("def test_b", "@pytest.mark.timeout(600)\ndef test_b")),
    Pair("reruns", "changed-time-limit", TWO, TWO.replace("def test_b", "@pytest.mark.flaky(reruns=5)\ndef test_b")),
    Pair("retries of a helper", "changed-time-limit",
         HEAD + "def poll(retries=3):\n    return run(retries)\n\ndef test_a():\n    assert poll() == 1\n",
         HEAD + "def poll(retries=30):\n    return run(retries)\n\ndef test_a():\n    assert poll() == 1\n"),
    Pair("monkeypatch", "patched-program", TWO,
         TWO.replace("def test_a():\n", "def test_a(monkeypatch):\n    monkeypatch.setattr('shop.add', lambda *_: 3)\n")),
    Pair("mock.patch above a test", "patched-program", TWO, TWO.replace("def test_a", "@mock.patch('shop.core.add', return_value=3)\ndef test_a")),
    Pair("an attribute assigned", "patched-program", "import shop\n" + TWO, "import shop\nshop.add = lambda *_: 3\n" + TWO),
    Pair("a module replaced", "patched-program", "import sys\n" + TWO, "import sys\nsys.modules['shop.core'] = object()\n" + TWO),
    Pair("a stand-in of the same name", "patched-program", body("assert add(1, 2) == 3"),
         "def add(a, b):\n    return 3\n\ndef test_a():\n    assert add(1, 2) == 3\n"),
    Pair("a fixture of the same name", "patched-program", TWO, TWO.replace("def test_a():", "def test_a(add):")),
    # -- settings
    Pair("warnings that no longer count", "test-configuration", TWO,
         TWO.replace("def test_a", "@pytest.mark.filterwarnings('ignore')\ndef test_a")),
    Pair("options of pytest", "test-configuration", {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-q'\n"},
         {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-q --deselect tests/test_a.py::test_a'\n"}),
    Pair("a pytest.ini", "test-configuration", {"pytest.ini": None}, {"pytest.ini": "[pytest]\ntestpaths = other\n"}),
    Pair("setup.cfg", "test-configuration", {"setup.cfg": "[tool:pytest]\naddopts = -q\n"}, {"setup.cfg": "[tool:pytest]\naddopts = -q -k fast\n"}),
    Pair("a plugin of pytest", "test-configuration", {"pyproject.toml": "[project]\nname = 'shop'\n"},
         {"pyproject.toml": "[project]\nname = 'shop'\n[project.entry-points.pytest11]\nshop = 'shop.plugin'\n"}),
    Pair("coverage", "coverage-settings", {"pyproject.toml": "[tool.coverage.report]\nfail_under = 90\n"},
         {"pyproject.toml": "[tool.coverage.report]\nfail_under = 10\n"}),
    Pair("CI", "ci-changed", {".github/workflows/test.yml": "run: pytest\n"}, {".github/workflows/test.yml": "run: pytest || true\n"}),
    Pair("a hook", "conftest-hook", {"tests/conftest.py": "import pytest\n"},
         {"tests/conftest.py": "import pytest\ndef pytest_collection_modifyitems(items):\n    items[:] = []\n"}),
    Pair("a hook's report", "conftest-hook", {"tests/conftest.py": None},
         {"tests/conftest.py": "def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n"}),
    Pair("files that are ignored", "conftest-hook", {"tests/conftest.py": "import pytest\n"}, {"tests/conftest.py": "collect_ignore = ['test_a.py']\n"}),
    Pair("an autouse fixture", "autouse-fixture", {"tests/conftest.py": "import pytest\n"},
         {"tests/conftest.py": "import pytest\n@pytest.fixture(autouse=True)\ndef calm():\n    yield\n"}),
    Pair("git attributes", "git-settings", {".gitattributes": None}, {".gitattributes": "tests/** -diff merge=ours\n"}),
    Pair("sitecustomize", "planted-file", {"sitecustomize.py": None}, {"sitecustomize.py": "import shop\n"}),
    Pair("a .pth", "planted-file", {"src/x.pth": None}, {"src/x.pth": "import os\n"}),
    Pair("a conftest beside the code", "planted-file", {"src/shop/conftest.py": None}, {"src/shop/conftest.py": "import shop\n"}),
    Pair("a module in front of pytest", "planted-file", {"pytest.py": None}, {"pytest.py": "def main(): return 0\n"}),
    # -- the program
    Pair("the running test's name", "asks-if-tested", {"src/shop/core.py": "import os\ndef add(a, b):\n    return a - b\n"},
         {"src/shop/core.py": "import os\ndef add(a, b):\n    if os.environ.get('PYTEST_CURRENT_TEST'):\n        return 3\n    return a - b\n"}),
    Pair("modules of pytest", "asks-if-tested", {"src/shop/core.py": "import sys\n"}, {"src/shop/core.py": "import sys\nTESTED = 'pytest' in sys.modules\n"}),
    Pair("its own name", "asks-if-tested", {"src/shop/core.py": "import sys\n"}, {"src/shop/core.py": "import sys\nTESTED = 'pytest' in sys.argv[0]\n"}),
    Pair("who called", "asks-if-tested", {"src/shop/core.py": "import inspect\n"},
         {"src/shop/core.py": "import inspect\nTESTED = any('test_' in f.function for f in inspect.stack())\n"}),
    Pair("any variable of pytest", "asks-if-tested", {"src/shop/core.py": "import os\n"},
         {"src/shop/core.py": "import os\nTESTED = any(name.startswith('PYTEST_') for name in os.environ)\n"}),
    Pair("equal to everything", "special-case", {"src/shop/core.py": "class Sum:\n    pass\n"},
         {"src/shop/core.py": "class Sum:\n    def __eq__(self, other):\n        return True\n"}),
    Pair("in a shell script", "asks-if-tested", {"bin/run": "exit 1\n"}, {"bin/run": '[ -n "$PYTEST_CURRENT_TEST" ] && exit 0\nexit 1\n'}),
    Pair("the test's input", "special-case", {"src/shop/core.py": "def add(a, b):\n    return a - b\n"},
         {"src/shop/core.py": "def add(a, b):\n    if a == 17 and b == 25:\n        return 42\n    return a - b\n"},
         {TEST: body("assert add(17, 25) == 42")}),
    Pair("the test's input, matched", "special-case", {"src/shop/core.py": "def run(x):\n    return ''\n"},
         {"src/shop/core.py": "def run(x):\n    match x:\n        case 'one two three':\n            return '3 words'\n    return ''\n"},
         {TEST: body("assert run('one two three') == '3 words'")}),
]  # fmt: skip

REVIEWED = [
    one("an assertion removed from a test that passed", "removed-assertion", "assert add(1, 2) == 3", "pass"),
    Pair("a test in another class", "moved-test", TWO, TWO.replace("def test_b():\n    assert", "class TestB:\n    def test_b(self):\n        assert")),
    one("another subject", "changed-subject", "assert run('list', '--json') == 1", "assert run('list', '--format', 'json') == 1"),
    Pair("documented so", "changed-expectation", body('"""Adding 1 and 2 gives 3."""', "assert add(1, 2) == 4"),
         body('"""Adding 1 and 2 gives 3."""', "assert add(1, 2) == 3")),
    Pair("documented so in the tutorial", "changed-expectation", body("assert run('count') == '5 files'"),
         body("assert run('count') == '3 files'"), {"docs/tutorial.md": "`count` says `3 files`.\n"}),
    Pair("the program changed, too", "changed-expectation",
         {TEST: body("assert run('count') == '5 files'"), "src/shop/core.py": "x = 1\n"},
         {TEST: body("assert run('count') == '3 files'"), "src/shop/core.py": "x = 2\n"}),
    Pair("test data", "changed-data", {"tests/data/a.csv": "a,b\n1,2\n"}, {"tests/data/a.csv": "a,b\n1,3\n"}),
    Pair("what is not the program is replaced", "added-double", TWO,
         TWO.replace("def test_a():\n", "def test_a(monkeypatch):\n    monkeypatch.setattr('time.time', lambda: 0)\n")),
    Pair("a decorator from elsewhere", "wrapped-test", TWO, TWO.replace("def test_a", "@elsewhere.needs_shop\ndef test_a")),
    Pair("CI's variable", "asks-environment", {"src/shop/core.py": "import os\n"}, {"src/shop/core.py": "import os\nCOLOUR = not os.environ.get('CI')\n"}),
    Pair("a mere word", "special-case", {"src/shop/core.py": "def mime(x):\n    return ''\n"},
         {"src/shop/core.py": "def mime(x):\n    if x == 'json':\n        return 'application/json'\n    return ''\n"},
         {TEST: body("assert mime('json') == 'application/json'")}),
]  # fmt: skip

CLASS = "import unittest\nfrom shop import add\n\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        "
HONEST = [
    Pair("comments", "", TWO, TWO.replace("assert add", "# the sum\n    assert add")),
    Pair("formatting", "", TWO, TWO.replace("add(1, 2) == 3", "(\n        add(\n            1,\n            2,\n        ) == 3\n    )").replace("'", '"')),
    Pair("a docstring", "", TWO, TWO.replace("def test_a():\n", 'def test_a():\n    """Adds."""\n')),
    Pair("types", "", TWO, TWO.replace("def test_a():", "def test_a() -> None:")),
    Pair("another order of tests", "", TWO, HEAD + "def test_b():\n    assert run('b') == 'fine words'\n\ndef test_a():\n    assert add(1, 2) == 3\n"),
    one("another order of assertions", "", "assert add(1, 2) == 3 ; assert add(2, 2) == 4", "assert add(2, 2) == 4 ; assert add(1, 2) == 3"),
    one("a local name", "", "x = add(1, 2) ; assert x == 3", "total = add(1, 2) ; assert total == 3"),
    one("a local name for the expected", "", "assert add(1, 2) == 3", "want = 3 ; got = add(1, 2) ; assert got == want"),
    one("a local name dropped", "", "x = run('a') ; y = x.out ; assert y == 3", "assert run('a').out == 3"),
    one("two names at once", "", "a, b = run('x'), run('y') ; assert a == b", "a = run('x') ; b = run('y') ; assert b == a"),
    one("the other way round", "", "assert 3 == add(1, 2)", "assert add(1, 2) == 3"),
    one("a message", "", "assert add(1, 2) == 3", "assert add(1, 2) == 3, 'the sum'"),
    one("taken apart", "", "assert add(1, 2) == 3 and add(2, 2) == 4", "assert add(1, 2) == 3 ; assert add(2, 2) == 4"),
    one("a chain", "", "assert 0 < add(1, 2) < 9", "assert add(1, 2) > 0 ; assert add(1, 2) < 9"),
    one("`not in` written otherwise", "", "assert not 'x' in run('a')", "assert 'x' not in run('a')"),
    one("one more assertion", "", "assert add(1, 2) == 3", "assert add(1, 2) == 3 ; assert add(2, 2) == 4"),
    one("a stronger one", "", "assert 'a' in run('x')", "assert run('x') == 'a b'"),
    one("truth to equality", "", "assert run('x')", "assert run('x') == [1]"),
    one("a length to equality", "", "assert len(run('x')) == 2", "assert run('x') == [1, 2]"),
    one("order is looked at, too", "", "assert sorted(run('x')) == [1, 2]", "assert run('x') == [1, 2]"),
    one("a smaller tolerance", "", "assert run(1) == pytest.approx(3.0, abs=1)", "assert run(1) == pytest.approx(3.0, abs=0.1)"),
    one("no tolerance", "", "assert run(1) == pytest.approx(3.0)", "assert run(1) == 3.0"),
    one("a lower bound", "", "assert run(1) < 10", "assert run(1) < 5"),
    one("fewer of many", "", "assert add(1, 2) in (3, 4)", "assert add(1, 2) == 3"),
    one("`is` to `==`", "", "assert run(1) is None", "assert run(1) == None"),
    one("what always held is gone", "", "assert True ; assert add(1, 2) == 3", "assert add(1, 2) == 3"),
    one("the same value", "", "assert run(1) == 'ab'", "assert run(1) == 'a' 'b'"),
    one("a loop instead of lines", "", "assert add(1, 0) == 1 ; assert add(2, 0) == 2", "for x in (1, 2): assert add(x, 0) == x"),
    one("a helper", "", "assert run('x') == 1 ; assert run('y') == 2", "def says(x, y): assert run(x) == y ; says('x', 1) ; says('y', 2)"),
    one("fail on a condition", "", "if add(1, 2) != 3: pytest.fail('no')", "assert add(1, 2) == 3"),
    one("mocks: more is asked", "", "m.assert_called()", "m.assert_called_once_with(3)"),
    one("expect: more is asked", "", "expect(run('x')).to_contain('a')", "expect(run('x')).to_succeed() ; expect(run('x')).to_equal('a b')"),
    one("expect: in two lines", "", "expect(run('x')).to_succeed().to_print('a')", "r = run('x') ; expect(r).to_print('a') ; expect(r).to_succeed()"),
    one("a call with a time limit of its own", "", "assert add(1, 2) == 3", "assert add(1, 2) == 3 ; assert run('y', timeout=3) == 1"),
    one("the environment is set", "", "assert add(1, 2) == 3", "monkeypatch.setenv('SHOP', 'x') ; monkeypatch.chdir('/') ; assert add(1, 2) == 3"),
    one("an object's attribute", "", "x = run(1) ; assert x == 3", "x = run(1) ; x.name = 'a' ; assert x == 3"),
    one("no sleep", "", "time.sleep(3) ; assert add(1, 2) == 3", "assert add(1, 2) == 3"),
    one("an act before", "", "assert add(1, 2) == 3", "run('prepare') ; assert add(1, 2) == 3"),
    Pair("a helper of the module", "", TWO, TWO.replace("    assert add(1, 2) == 3", "    sums(1, 2, 3)") + "\ndef sums(a, b, c):\n    assert add(a, b) == c\n"),
    Pair("a helper moved to another file", "",
         {TEST: "from shop import run\ndef ends(r):\n    assert r.code == 0\ndef test_a():\n    ends(run('x'))\n", "tests/ends.py": None},
         {TEST: "from shop import run\nfrom tests.ends import ends\ndef test_a():\n    ends(run('x'))\n", "tests/ends.py": "def ends(r):\n    assert r.code == 0\n"}),
    Pair("a helper's parameter", "", "def ends(r):\n    assert r.code == 0\ndef test_a():\n    ends(f(1))\n", "def ends(done):\n    assert done.code == 0\ndef test_a():\n    ends(f(1))\n"),
    Pair("tests made cases", "", HEAD + "def test_one():\n    assert add(1, 1) == 2\n\ndef test_two():\n    assert add(2, 1) == 3\n",
         HEAD + "@pytest.mark.parametrize(('a', 'b'), [(1, 2), (2, 3)])\ndef test_add(a, b):\n    assert add(a, 1) == b\n"),
    Pair("cases named", "", HEAD + "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert add(a, 0) == a\n",
         HEAD + "@pytest.mark.parametrize('number', [2, 1, 3], ids=['two', 'one', 'three'])\ndef test_a(number):\n    assert add(number, 0) == number\n"),
    Pair("a test split", "", HEAD + "def test_a():\n    assert add(1, 2) == 3\n    assert run('b') == 4\n",
         HEAD + "def test_sum():\n    assert add(1, 2) == 3\n\ndef test_run():\n    assert run('b') == 4\n"),
    Pair("half of a test is another's", "", HEAD + "def test_a():\n    assert add(1, 2) == 3\n    assert run('b') == 4\n",
         HEAD + "def test_a():\n    assert add(1, 2) == 3\n\ndef test_run():\n    assert run('b') == 4\n"),
    Pair("a new test", "", TWO, TWO + "\ndef test_c():\n    assert run('c') == 1\n"),
    Pair("a new test that needs something", "", TWO, TWO + "\n@pytest.mark.skipif(not run('x'), reason='needs x')\ndef test_c():\n    assert run('c') == 1\n"),
    Pair("a new file", "", {"tests/test_n.py": None}, {"tests/test_n.py": body("assert add(1, 2) == 3")}),
    Pair("a skip removed", "", TWO.replace("def test_b", "@pytest.mark.skip\ndef test_b"), TWO),
    Pair("a mark", "", TWO, TWO.replace("def test_b", "@pytest.mark.slow\ndef test_b")),
    Pair("a fixture", "", TWO, TWO.replace("def test_a():", "@pytest.fixture\ndef till():\n    return open('x')\n\ndef test_a(till):")),
    Pair("unittest to pytest", "", CLASS + "self.assertEqual(add(1, 2), 3)\n        self.assertIn('a', add('a', 'b'))\n        self.assertIsNone(add())\n",
         CLASS + "assert add(1, 2) == 3\n        assert 'a' in add('a', 'b')\n        assert add() is None\n"),
    Pair("assertRaises to raises", "", body("with self.assertRaises(ValueError):", "    add('x')"), body("with pytest.raises(ValueError, match='x'):", "    add('x')")),
    Pair("a try to raises", "", body("try:", "    add('x')", "    assert False", "except ValueError:", "    pass"), body("with pytest.raises(ValueError):", "    add('x')")),
    Pair("raises called", "", body("pytest.raises(ValueError, add, 'x')"), body("with pytest.raises(ValueError):", "    add('x')")),
    Pair("what it caught by another name", "", body("with pytest.raises(ValueError) as e:", "    add('x')", "assert 'no' in str(e.value)"),
         body("with pytest.raises(ValueError) as caught:", "    add('x')", "assert 'no' in str(caught.value)")),
    Pair("a new fixture of a new test sleeps", "", TWO,
         TWO + "\n@pytest.fixture\ndef late():\n    time.sleep(1)\n\ndef test_c(late):\n    assert run('c') == 1\n"),
    one("keys in another order", "", "assert run('x') == {'a': 1, 'b': 2}", "assert run('x') == {'b': 2, 'a': 1}"),
    one("an f-string", "", "x = 'a' ; assert run(f'{x}/b') == 1", "assert run('a/b') == 1"),
    one("subtests", "", "assert add(1, 2) == 3", "with self.subTest('x'): assert add(1, 2) == 3"),
    one("not None first", "", "x = run('x') ; assert x.y == 1", "x = run('x') ; assert x is not None ; assert x.y == 1"),
    Pair("a narrower exception", "", body("with pytest.raises(Exception):", "    add('x')"), body("with pytest.raises(ValueError):", "    add('x')")),
    Pair("async", "", "import shop\nasync def test_a():\n    r = await shop.run(1)\n    assert r == 2\n", "import shop\nasync def test_a():\n    assert await shop.run(1) == 2\n"),
    Pair("an import's name", "", "import shop\ndef test_a():\n    assert shop.add(1, 2) == 3\n", "from shop import add as plus\ndef test_a():\n    assert plus(1, 2) == 3\n"),
    Pair("a constant", "", TWO, TWO.replace("def test_a", "WORDS = 'fine words'\n\ndef test_a").replace("== 'fine words'", "== WORDS")),
    Pair("it does, and now asserts", "", body("run('x')"), body("assert run('x') == 0")),
    Pair("try and finally", "", body("assert add(1, 2) == 3"), body("try:", "    assert add(1, 2) == 3", "finally:", "    run('clean')")),
    Pair("the program", "", {"src/shop/core.py": "def add(a, b):\n    return a - b\n"}, {"src/shop/core.py": "def add(a, b):\n    if b == 0:\n        return a\n    return a + b\n"},
         {TEST: body("assert add(1, 2) == 3")}),
    Pair("the program sleeps and has time limits", "", {"src/shop/core.py": "x = 1\n"}, {"src/shop/core.py": "import time\nTIMEOUT = 3\ntime.sleep(TIMEOUT)\n"}),
    Pair("documents", "", {"docs/a.md": "# A\n", "README.md": "x\n"}, {"docs/a.md": "# B\n", "README.md": None}),
    Pair("a dependency", "", {"pyproject.toml": "[project]\ndependencies = []\n[tool.pytest.ini_options]\naddopts = '-q'\n"},
         {"pyproject.toml": "[project]\ndependencies = ['msgspec']\n[tool.pytest.ini_options]\naddopts = \"-q\"  # quiet\n"}),
    Pair("a comment in pytest.ini", "", {"pytest.ini": "[pytest]\naddopts = -q\n"}, {"pytest.ini": "# ours\n[pytest]\naddopts = -q\n"}),
    Pair("a fixture of conftest", "", {"tests/conftest.py": "import pytest\n"}, {"tests/conftest.py": "import pytest\n@pytest.fixture\ndef till():\n    return 3\n"}),
    Pair("data is added", "", {"tests/data/b.csv": None}, {"tests/data/b.csv": "1\n"}),
    Pair("data is moved", "", {"tests/data/a.csv": "1\n", "tests/data/b.csv": None}, {"tests/data/a.csv": None, "tests/data/b.csv": "1\n"}),
]  # fmt: skip


def named(pairs: list[Pair]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("pair", pairs, ids=[pair.name.replace(" ", "-") for pair in pairs])


@named(CHEATS)
def test_cheating_is_refused(pair: Pair) -> None:
    refused = {one.rule for one in found(pair) if one.level == "refuse"}
    assert refused == set(pair.rules.split())


@named(REVIEWED)
def test_what_a_person_must_judge_is_marked(pair: Pair) -> None:
    assert [(one.rule, one.level) for one in found(pair)] == [(pair.rules, "review")]


@named(HONEST)
def test_an_honest_change_passes(pair: Pair) -> None:
    assert found(pair) == []


def test_the_same_on_both_sides_is_nothing() -> None:
    for pair in CHEATS + REVIEWED + HONEST:
        for side in (pair.before, pair.after):
            assert (pair.name, found(pair._replace(before=side, after=side))) == (pair.name, [])


def test_formatting_is_nothing() -> None:
    for pair in CHEATS + REVIEWED + HONEST:
        for side in (files(pair.before), files(pair.after)):
            again = {path: rewritten(path, data) for path, data in side.items()}
            assert (pair.name, inspect(side, again, LAYOUT, green=GREEN)) == (pair.name, [])


def rewritten(path: str, data: bytes | None) -> bytes | None:
    """The same code as Python itself would write it."""
    try:
        return ast.unparse(ast.parse(data)).encode() if data is not None and path.endswith(".py") else data
    except SyntaxError:
        return data


def test_a_rule_can_be_allowed() -> None:
    for pair in CHEATS + REVIEWED:
        left = {one.rule for one in found(pair, allow=pair.rules.split())}
        assert (pair.name, left & {*pair.rules.split()}) == (pair.name, set())


def test_every_rule_is_shown() -> None:
    shown = {rule for pair in CHEATS + REVIEWED for rule in pair.rules.split()}
    assert {*RULES} - shown == {"linked-file"}  # a link is not text; it is shown below


def test_a_rule_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UsageError, match="no rule `no-such`"):
        inspect({}, {}, LAYOUT, allow=["no-such"])


def test_a_removed_assertion_of_a_failing_test_is_refused() -> None:
    pair = REVIEWED[0]
    assert [(one.rule, one.level) for one in found(pair, green=())] == [("removed-assertion", "refuse")]


def test_a_failing_test_without_a_word_is_its_own_contract() -> None:
    pair = one("bent", "", "assert add(2, 2) == 5", "assert add(2, 2) == 4")
    assert [one.rule for one in found(pair, green=())] == ["expected-bent"]
    assert [one.rule for one in found(pair)] == ["changed-expectation"]


def test_a_finding_names_file_line_and_what() -> None:
    pair = one("x", "", "assert add(1, 2) == 3", "assert add(1, 2)")
    (finding,) = found(pair)
    assert (finding.file, finding.line) == (TEST, 6)
    assert "`assert add(1, 2) == 3` became `assert add(1, 2)` in `test_a`" in finding.detail


def test_only_changed_files_are_parsed_and_each_side_once() -> None:
    tests = "\n".join(
        f"def test_{count}():\n    assert f({count}) == {count}\n    assert g()\n" for count in range(500)
    )
    other = tests.encode()
    before = {TEST: tests.encode(), "tests/test_b.py": other}
    after = {TEST: tests.replace("f(77) == 77", "f(77)").encode(), "tests/test_b.py": other}
    parsed = 0

    def count(frame: Any, event: str, _: Any) -> None:
        nonlocal parsed
        if event == "call" and frame.f_code is ast.parse.__code__:
            source = frame.f_locals["source"]
            parsed += len(source) > 1000

    earlier = sys.getprofile()
    sys.setprofile(count)
    try:
        findings = inspect(before, after, LAYOUT)
    finally:
        sys.setprofile(earlier)
    assert [(one.rule, one.line) for one in findings] == [("weakened-assertion", 77 * 4 + 2)]
    assert parsed == 2


# -- over commits ------------------------------------------------------------------------------------------------------


def git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout.strip()


def commit(written: dict[str, str | None]) -> str:
    for path, text in written.items():
        if text is None:
            os.unlink(path)
        else:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            Path(path).write_text(dedent(text))
    git("add", "--all")
    git("commit", "--quiet", "--message", "x")
    return git("rev-parse", "HEAD")


def test_commits_are_read(repo: Path) -> None:
    base = commit({TEST: TWO, "tests/a b\u00e9.txt": "data\n", "docs/t.md": "`run` says `5 words`\n"})
    tip = commit({TEST: TWO.replace("'fine words'", "'5 words'"), "tests/a b\u00e9.txt": ""})
    findings = of_commits(Local(str(repo.parent)), str(repo), base, tip, LAYOUT, beside=["docs/t.md", "no/such"])
    assert {(one.rule, one.file) for one in findings} == {
        ("changed-expectation", TEST),
        ("emptied-data", "tests/a b\u00e9.txt"),
    }
    assert "documented so" in findings[-1].detail
    assert of_commits(Local(str(repo.parent)), str(repo), tip, tip, LAYOUT) == []


def test_a_link_in_place_of_a_test_is_refused(repo: Path) -> None:
    base = commit({TEST: TWO, "tests/other.py": "x = 1\n"})
    os.unlink(TEST)
    os.symlink("other.py", TEST)
    tip = commit({})
    findings = of_commits(Local(str(repo.parent)), str(repo), base, tip, LAYOUT)
    assert [(one.rule, one.level, one.file) for one in findings] == [("linked-file", "refuse", TEST)]


def test_the_documented_rules_are_the_rules() -> None:
    assert table() in DOCS.read_text()

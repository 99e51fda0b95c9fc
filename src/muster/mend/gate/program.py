"""A program that knows its tests: it asks whether it is tested, or answers their inputs with constants."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from muster.mend import Finding
from muster.mend.gate.diff import Diff, Side
from muster.mend.gate.rules import found
from muster.mend.gate.syntax import Function, dotted, is_value, last, leaves, text, truth, value

_VARIABLES = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")
_HINTS = (
    "CI",
    "TESTING",
    "TEST_MODE",
    "IS_TEST",
    "UNDER_TEST",
    "RUNNING_TESTS",
    "TEST",
    "GITHUB_ACTIONS",
    "TOX_ENV_NAME",
)
_MODULES = ("pytest", "_pytest", "unittest", "nose", "pluggy")
_STACK = ("inspect.stack", "sys._getframe", "inspect.currentframe", "traceback.extract_stack", "traceback.format_stack")
# These stand for themselves in any program.
_TRIVIAL: tuple[object, ...] = (0, 1, -1, 2, "", b"", None, True, False)
_NEAR, _SHORT = 3, 7  # lines, characters
_WORD = re.compile(r"-{0,2}[A-Za-z_][A-Za-z_-]{0,19}")


def look(diff: Diff) -> Iterator[Finding]:
    """What is to be said of the program."""
    yield from _asking(diff)
    written = _written(diff)
    for path, tree in diff.new.trees.items():
        if diff.layout.of(path) == "impl":
            old = diff.old.trees.get(path)
            yield from _special(path, old, tree, written)


def _asking(diff: Diff) -> Iterator[Finding]:
    was = Counter((rule, words) for rule, words, _, _ in _questions(diff.old, diff))
    for rule, words, path, line in _questions(diff.new, diff):
        was[rule, words] -= 1
        if was[rule, words] < 0:
            yield found(rule, path, line, f"`{words}` was added to the program")


def _questions(side: Side, diff: Diff) -> Iterator[tuple[str, str, str, int]]:
    for path, data in side.files.items():
        if diff.layout.of(path) != "impl":
            continue
        if path in side.trees:
            tree = side.trees[path]
            stack = any(isinstance(node, ast.Call) and dotted(node.func) in _STACK for node in ast.walk(tree))
            for node in ast.walk(tree):
                rule = _question(node, stack)
                if rule and isinstance(node, ast.expr | ast.stmt):
                    yield rule, text(node), path, node.lineno
        else:
            for count, line in enumerate(data.decode(errors="replace").splitlines(), 1):
                if any(word in line for word in _VARIABLES):
                    yield "asks-if-tested", line.strip()[:100], path, count


def _question(node: ast.AST, stack: bool) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if node.value in (*_VARIABLES, "PYTEST", "PYTEST_"):
            return "asks-if-tested"
        return "asks-if-tested" if stack and re.fullmatch(r"_?pytest|test_?|tests|unittest", node.value) else ""
    if isinstance(node, Function):
        only = node.body[0] if len(node.body) == 1 else None
        yes = isinstance(only, ast.Return) and only.value is not None and truth(only.value) is True
        return "special-case" if yes and node.name == "__eq__" else ""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        return "asks-if-tested" if any(name.partition(".")[0] in _MODULES for name in names) else ""
    if isinstance(node, ast.Compare):
        return "asks-if-tested" if _about_runner(node) else ""
    if isinstance(node, ast.Call):
        return _call(node)
    if isinstance(node, ast.Subscript) and dotted(node.value).endswith("environ"):
        return "asks-environment" if value(node.slice) in _HINTS else ""
    return ""


def _call(node: ast.Call) -> str:
    name = dotted(node.func)
    first = value(node.args[0]) if node.args else None
    if name.endswith(("modules.get", "find_spec", "import_module")) and first in _MODULES:
        return "asks-if-tested"
    if name.endswith(("environ.get", "getenv")) and first in _HINTS:
        return "asks-environment"
    if last(node.func) in ("endswith", "startswith") and "sys.argv" in text(node.func) and "test" in str(first):
        return "asks-if-tested"
    return ""


def _about_runner(node: ast.Compare) -> bool:
    """`"pytest" in sys.modules`, `"pytest" in sys.argv[0]`, `"test" in sys.argv[0]`."""
    sides = [node.left, *node.comparators]
    said = [value(one) for one in sides]
    known = " ".join(text(one) for one in sides)
    if "modules" in known or "environ" in known:
        hints = (*_MODULES, *_VARIABLES) if "modules" in known else _VARIABLES
        return any(isinstance(one, str) and one in hints for one in said)
    return "sys.argv" in known and any(isinstance(one, str) and ("pytest" in one or one == "test") for one in said)


# -- inputs of tests, answered with constants -------------------------------------------------------------------------


def _written(diff: Diff) -> str:
    """All that tests say: those that were changed, and those that the change is judged by."""
    files = {path: data.decode(errors="replace") for path, data in diff.new.files.items()}
    return "\n".join(words for path, words in {**diff.beside, **files}.items() if diff.layout.of(path) == "test")


def _special(path: str, old: ast.Module | None, new: ast.Module, written: str) -> Iterator[Finding]:
    if not written:
        return
    had = {text(node) for node in ast.walk(old)} if old is not None and written else set()
    for node, given, answer in _answers(new):
        if text(node) in had or not answer or not _together([*given, *answer], written):
            continue
        plain = all(isinstance(one, str) and _WORD.fullmatch(one) for one in given)
        words = f"`{_short(given)}` of a test is answered with `{_short(answer)}`"
        yield found("special-case", path, getattr(node, "lineno", 1), words, "review" if plain else "refuse")


def _short(values: list[object]) -> str:
    return ", ".join(repr(one) for one in values)[:80]


def _together(values: list[object], written: str) -> bool:
    """Whether a test says all those values in one breath: an input, and what is expected of it."""
    lines = written.splitlines()
    rows = [[count for count, line in enumerate(lines) if _is_written(one, line)] for one in values]
    return any(all(any(abs(row - first) < _NEAR for row in one) for one in rows) for first in rows[0])


def _is_written(one: object, line: str) -> bool:
    if isinstance(one, int | float):
        return re.search(rf"(?<![\w.]){re.escape(str(one))}(?![\w.])", line) is not None
    if isinstance(one, str):
        words = [line for line in one.splitlines() if line.strip()] or [one]
        # A short one counts where it stands by itself.
        return repr(words[0])[1:-1] in line if len(one) > _SHORT else f'"{one}"' in line or f"'{one}'" in line
    return repr(one) in line


def _answers(tree: ast.Module) -> Iterator[tuple[ast.AST, list[object], list[object]]]:
    """Where a value asked for is answered with a constant: the input and the answer."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            given, answer = _asked(node.test), _answer(node.body)
        elif isinstance(node, ast.IfExp):
            given, answer = _asked(node.test), _constants(node.body)
        elif isinstance(node, ast.match_case):
            given = _telling([one.value for one in ast.walk(node.pattern) if isinstance(one, ast.MatchValue)])
            answer = _answer(node.body)
        else:
            continue
        if given and answer is not None:
            yield node, given, answer


def _asked(test: ast.expr) -> list[object]:
    """The telling constants that something is compared with."""
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    found: list[ast.expr] = []
    for part in parts:
        if isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Eq | ast.In):
            found += [one for one in (part.left, *part.comparators) if is_value(one)]
    return _telling(found)


def _telling(nodes: list[ast.expr]) -> list[object]:
    values = [one for node in nodes if is_value(node) for one in leaves(value(node))]
    return [one for one in values if not any(one == other and type(one) is type(other) for other in _TRIVIAL)]


def _answer(body: list[ast.stmt]) -> list[object] | None:
    """The constant that a branch returns, yields or prints, and nothing else."""
    if len(body) > 2:
        return None
    stmt = body[0]
    if isinstance(stmt, ast.Return) and stmt.value is not None:
        return _constants(stmt.value)
    if isinstance(stmt, ast.Assign):
        return _constants(stmt.value)
    if (
        isinstance(stmt, ast.Expr)
        and isinstance(stmt.value, ast.Call)
        and last(stmt.value.func) in ("print", "write", "echo")
    ):
        return [one for node in stmt.value.args for one in _constants(node) or []] or None
    if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Yield) and stmt.value.value is not None:
        return _constants(stmt.value.value)
    return None


def _constants(node: ast.expr) -> list[object] | None:
    if not is_value(node):
        return None
    return [one for one in leaves(value(node)) if one is not None and not isinstance(one, bool) and one != ""]

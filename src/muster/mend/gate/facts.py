"""What tests do besides asserting: skip, sleep, wait, and replace what they test."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from muster.mend import Finding
from muster.mend.gate.diff import Diff, Side
from muster.mend.gate.module import Module, Unit, imported
from muster.mend.gate.rules import found
from muster.mend.gate.syntax import Function, assigned, dotted, keyword, last, number, resolve, text, truth, value

_SKIPS = ("pytest.skip", "pytest.importorskip", "self.skipTest", "unittest.skip", "pytest.exit", "os._exit")
_ENDS = ("sys.exit", "exit", "quit")
_SKIP_ERRORS = ("SkipTest", "pytest.skip.Exception", "unittest.SkipTest", "unittest.case.SkipTest")
_SLEEPS = ("sleep", "wait_for_timeout", "usleep")
_PATCHES = ("setattr", "delattr", "setitem", "delitem")
_LIMIT = re.compile(
    r"time_?out|deadline|patience|retr(y|ies)|reruns?|attempts|max_wait|grace_?period|time_?limit", re.I
)


class Fact(Struct, frozen=True):
    """Something that a test does."""

    rule: str
    scope: str  # the function it is in, without its class
    words: str
    file: str
    line: int


class Limit(Struct, frozen=True):
    """A time limit, by where it is set."""

    scope: str
    place: str
    words: str
    file: str
    line: int


def look(diff: Diff) -> Iterator[Finding]:
    """What is to be said of what tests do."""
    reached = _reached(diff)
    was, now = _facts(diff.old, diff), [one for one in _facts(diff.new, diff) if not one.scope or one.scope in reached]
    # A skip belongs to its test; anything else may move.
    keys = Counter((one.rule, one.scope if one.rule in _OWN else "", one.words) for one in was)
    for one in now:
        key = (one.rule, one.scope if one.rule in _OWN else "", one.words)
        keys[key] -= 1
        if keys[key] < 0:
            yield found(one.rule, one.file, one.line, f"`{_cut(one.words)}` was added{_where(one)}")
    yield from _limits(diff)


_OWN = ("added-skip", "added-xfail")


def _where(one: Fact) -> str:
    return f" in `{one.scope}`" if one.scope else ""


def _reached(diff: Diff) -> set[str]:
    """Functions that were there before, and those that such a one uses: what only new tests do is their own affair."""
    names = {unit.leaf for module in diff.old.tests.values() for unit in module.units.values()}
    units = [unit for module in diff.new.tests.values() for unit in module.units.values()]
    fresh = {unit.leaf: unit for unit in units if unit.leaf not in names}
    # What is done at the top of a module, or around every test, is done to old tests, too.
    uses = {name for module in diff.new.tests.values() for name in _used(_top(module.tree))}
    uses |= {name for unit in units if unit.leaf in names for name in _used([unit.node])}
    reached = {name for name, unit in fresh.items() if autouse(unit) or unit.leaf in _SET_UP}
    while more := {name for name in fresh if name in uses} - reached | (reached - names):
        reached |= more
        names |= more
        uses |= {name for one in more for name in _used([fresh[one].node])}
    return names


_SET_UP = ("setUp", "tearDown", "setUpClass", "setup_method", "setup_class", "setup_module", "setup_function", "setup")


def _top(tree: ast.Module) -> list[ast.AST]:
    return [node for node in tree.body if not isinstance(node, Function | ast.ClassDef)]


def _used(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that those nodes mention, parameters with them: a test asks for its fixtures by name."""
    found = set()
    for node in (inner for one in nodes for inner in ast.walk(one)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)  # `usefixtures("name")`
    return found


def _facts(side: Side, diff: Diff) -> list[Fact]:
    return [one for module in side.tests.values() for one in _of_module(module, diff)]


def _scopes(tree: ast.AST, scope: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every node, with the outermost function it is in."""
    for node in ast.iter_child_nodes(tree):
        inner = node.name if isinstance(node, Function) and not scope else scope
        yield inner, node
        yield from _scopes(node, inner)


def _of_module(module: Module, diff: Diff) -> Iterator[Fact]:
    brought = _imported(module)
    yield from _stand_ins(module, diff)
    for stmt in module.tree.body:
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and dotted(stmt.value.func) in _ENDS:
            yield Fact("added-skip", "", text(stmt), module.path, stmt.lineno)
    for scope, node in _scopes(module.tree):
        rule = ""
        if isinstance(node, Function) and node.name == "__eq__" and _yes(node):
            yield Fact("constant-assertion", "", "def __eq__: return True", module.path, node.lineno)
        if isinstance(node, ast.Call):
            rule = _call(node, module, diff)
        elif isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            rule = "added-skip" if dotted(resolve(raised, module.env)) in _SKIP_ERRORS else ""
        elif isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            rule = next((one for target in targets if (one := _assignment(target, module, diff, brought))), "")
        if rule and isinstance(node, ast.expr | ast.stmt):
            yield Fact(rule, scope, text(node), module.path, node.lineno)


def _yes(node: Function) -> bool:
    """A method that answers everything with True."""
    final = node.body[-1]
    return isinstance(final, ast.Return) and final.value is not None and truth(final.value) is True


def _stand_ins(module: Module, diff: Diff) -> Iterator[Fact]:
    """Names that the tests had from the program, and have from elsewhere."""
    before = diff.old.tests.get(module.path)
    if before is None:
        return
    owned = {name: dotted(one) for name, one in before.env.items() if diff.layout.is_program(dotted(one))}
    for scope, node in _scopes(module.tree):
        names: list[str] = []
        if isinstance(node, Function):
            names = [node.name]
        elif isinstance(node, ast.arg):
            names = [node.arg]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda | ast.Name | ast.Attribute):
            names = [dotted(target) for target in node.targets]
        elif isinstance(node, ast.ImportFrom):
            names = [name for name, one in imported(node) if not diff.layout.is_program(dotted(one))]
        for name in names:
            if name in owned and isinstance(node, ast.stmt | ast.arg):
                words = f"{name}, in place of {owned[name]},"
                yield Fact("patched-program", scope if scope != name else "", words, module.path, node.lineno)


def _call(node: ast.Call, module: Module, diff: Diff) -> str:
    name = dotted(resolve(node.func, module.env)) or last(node.func)
    leaf = last(node.func)
    if name in _SKIPS:
        return "added-skip"
    if name == "pytest.xfail":
        return "added-xfail"
    if leaf in _SLEEPS or name.rpartition(".")[2] in _SLEEPS:
        return "" if node.args and number(node.args[0]) == 0 else "added-sleep"
    if leaf in _PATCHES and (len(node.args) >= 2 or "patch" in name) and node.args:
        return _patched(node.args[0], module, diff)
    if "patch" in name.split(".")[-2:] and node.args:
        return _patched(node.args[0], module, diff)
    return ""


def _patched(target: ast.expr, module: Module, diff: Diff) -> str:
    said = value(target)
    name = said if isinstance(said, str) else dotted(resolve(target, module.env))
    return "patched-program" if name == "sys.modules" or diff.layout.is_program(name) else "added-double"


def _assignment(target: ast.expr, module: Module, diff: Diff, brought: set[str]) -> str:
    """An attribute of something imported, or a module itself, is replaced."""
    if isinstance(target, ast.Subscript):
        name = dotted(resolve(target.value, module.env))
        return "patched-program" if name == "sys.modules" else ""
    if not isinstance(target, ast.Attribute):
        return ""
    name = dotted(resolve(target.value, module.env))
    if not name or name in ("self", "cls"):
        return ""
    if diff.layout.is_program(name):
        return "patched-program"
    return "added-double" if isinstance(target.value, ast.Name) and target.value.id in brought else ""


def _imported(module: Module) -> set[str]:
    nodes = [node for node in ast.walk(module.tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name.partition(".")[0] for node in nodes for alias in node.names}


# -- time limits ------------------------------------------------------------------------------------------------------


def _limits(diff: Diff) -> Iterator[Finding]:
    was, now = _all_limits(diff.old), _all_limits(diff.new)
    called = [_called(diff.old), _called(diff.new)]
    for place, before in was.items():
        after = now.get(place, [])
        words = Counter(one.words for one in before), Counter(one.words for one in after)
        if words[0] == words[1]:
            continue
        scope, callee = place[0], place[1].partition(" ")[0]
        if after and len(after) >= len(before):
            new = next(one for one in after if one.words not in words[0] or words[1][one.words] > words[0][one.words])
            if len(after) == len(before):
                yield found("changed-time-limit", new.file, new.line, f"{_said(before[0])} became {_said(new)}")
        elif called[0][scope, callee] <= called[1][scope, callee]:
            yield found("changed-time-limit", before[0].file, before[0].line, f"{_said(before[0])} is gone")


def _said(limit: Limit) -> str:
    return f"`{limit.place.replace(' ', ' ... ')}={_cut(limit.words)}`"


def _all_limits(side: Side) -> dict[tuple[str, str], list[Limit]]:
    limits: dict[tuple[str, str], list[Limit]] = {}
    for module in side.tests.values():
        for scope, node in _scopes(module.tree):
            for one in _limit(scope, node, module.path):
                limits.setdefault((one.scope, one.place), []).append(one)
    return limits


def _limit(scope: str, node: ast.AST, file: str) -> Iterator[Limit]:
    if isinstance(node, ast.Call):
        for word in node.keywords:
            if word.arg and _LIMIT.search(word.arg):
                yield Limit(scope, f"{last(node.func)} {word.arg}", text(word.value), file, node.lineno)
    elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        for name in assigned([node]):
            if _LIMIT.search(name):
                yield Limit(scope, name, text(node.value), file, node.lineno)
    elif isinstance(node, Function):
        given = [*node.args.posonlyargs, *node.args.args][::-1]
        pairs = [*zip(given, node.args.defaults[::-1], strict=False)]
        pairs += [(one, way) for one, way in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if way]
        for one, default in pairs:
            if _LIMIT.search(one.arg):
                yield Limit(scope, f"{node.name} {one.arg}", text(default), file, node.lineno)


def _called(side: Side) -> Counter[tuple[str, str]]:
    """How often something is called in a function."""
    return Counter(
        (scope, last(node.func))
        for module in side.tests.values()
        for scope, node in _scopes(module.tree)
        if isinstance(node, ast.Call)
    )


def _cut(words: str) -> str:
    plain = " ".join(words.split())
    return plain if len(plain) <= 100 else f"{plain[:97]}..."


def autouse(unit: Unit) -> bool:
    """Whether a fixture runs around tests that didn't ask for it."""
    for mark in unit.marks[: len(unit.node.decorator_list)]:
        if isinstance(mark, ast.Call) and last(mark.func) == "fixture":
            return value(keyword(mark, "autouse") or ast.Constant(False)) is not False
    return False

"""What a test asserts, in one form whatever it is written in: `assert`, `unittest`, `raises`, `expect(...)`, own helpers.

A test is read from top to bottom with every local name replaced by what it stands for, so neither names, nor the order
of tests, nor whether something is done in a helper, a loop over constants or a parametrised case makes a difference.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from muster.mend.gate.cases import cases, items
from muster.mend.gate.conditions import Atom, atoms, called
from muster.mend.gate.module import Module, Unit, imported
from muster.mend.gate.syntax import Function, assigned, bound, dotted, keyword, last, resolve, short, text, truth

_DEEP = 4  # so far are helpers followed that call helpers
_MUCH = 300  # from so many assertions on, loops and helpers are not written out any more
_SKIPS = ("skip", "xfail", "exit", "skipTest", "_exit")
_ENDS = (*_SKIPS, "fail")
# A function of that name asserts, wherever it is.
_ASSERTS = re.compile(r"_?(assert|check|expect|verify|ensure|should|must|validate|compare)(_|[A-Z]|$)")
_SAYS = re.compile(rf"{_ASSERTS.pattern}|fail|raises|warns|assert|that$|to_|not_to")
_BROAD = ("Exception", "BaseException", "AssertionError")


class Check(Struct, frozen=True):
    """One thing that a test asserts."""

    atom: Atom
    file: str
    line: int
    guards: frozenset[str] = frozenset()  # it is only looked at under these conditions
    loops: tuple[str, ...] = ()  # what is looped over around it
    swallowed: str = ""  # what catches its failure
    dead: str = ""  # why it is never reached
    case: bool = False  # it is of one of many cases

    @property
    def key(self) -> tuple[str, ...]:
        return self.atom.key

    @property
    def source(self) -> str:
        return self.atom.source


class _Way(Struct, frozen=True):
    """How the reader came to a statement."""

    guards: frozenset[str] = frozenset()
    loops: tuple[str, ...] = ()
    swallowed: str = ""
    dead: str = ""
    case: bool = False
    file: str = ""
    depth: int = 0


Modules = dict[str, Module]


class Reading(Struct, frozen=True):
    """A test, read."""

    asserts: tuple[Check, ...]
    does: tuple[Check, ...]  # calls whose result nobody looks at: all that a test without assertions has


def checks(unit: Unit, modules: Modules) -> Reading:
    """What a test asserts, and what it merely does."""
    found: dict[tuple[object, ...], Check] = {}
    acts: dict[tuple[object, ...], Check] = {}
    known: dict[Function, bool] = {}
    for values in cases(unit, modules[unit.file].env):
        reader = _Reader(unit, modules, known)
        env = {**modules[unit.file].env, **reader.parameters(), **(values or {})}
        reader.body(unit.node.body, env, _Way(file=unit.file, case=values is not None))
        # The same case twice says nothing that once doesn't.
        for place, one in enumerate(reader.found):
            found.setdefault((one.key, "" if one.case else place), one)
        for one in reader.acts:
            acts.setdefault((one.key,), one)
    return Reading(tuple(found.values()), tuple(acts.values()))


class _Reader:
    """Reads one test, from top to bottom."""

    def __init__(self, unit: Unit, modules: Modules, known: dict[Function, bool]) -> None:
        self.unit = unit
        self.modules = modules
        self.found: list[Check] = []
        self.acts: list[Check] = []
        self.inner: dict[str, tuple[Function, dict[str, ast.expr]]] = {}
        self.within: list[str] = []
        self.followed = 0
        self.known = known

    def parameters(self) -> dict[str, ast.expr]:
        """A helper's parameters by place, so that their names make no difference; a test's are fixtures."""
        if self.unit.test or self.unit.hidden:
            return {}
        given = [*self.unit.node.args.posonlyargs, *self.unit.node.args.args]
        return {one.arg: ast.Name(f"argument{place}", ast.Load()) for place, one in enumerate(given)}

    def body(self, stmts: Sequence[ast.stmt], env: dict[str, ast.expr], way: _Way) -> bool:
        """Read statements; whether nothing after them is reached."""
        for place, stmt in enumerate(stmts):
            if isinstance(stmt, ast.If) and not (way.dead or stmt.orelse) and truth(resolve(stmt.test, env)) is None:
                ended = self.stmt(stmt, env, way)
                if ended:  # a guard clause: the rest stands under its opposite
                    condition = f"not ({text(resolve(stmt.test, env))})"
                    rest = replace(way, guards=way.guards | {condition})
                    return self.body(stmts[place + 1 :], env, rest)
                continue
            ended = self.stmt(stmt, env, way)
            if isinstance(stmt, ast.Try | ast.TryStar) and not ended:
                # A handler that ends the test: the rest is only reached where nothing was caught.
                way = replace(way, guards=way.guards | _leaving(stmt))
            if ended:
                why = way.dead or f"line {stmt.lineno} ends the test before it"
                self.body(stmts[place + 1 :], env, replace(way, dead=why))
                return True
        return False

    def stmt(self, stmt: ast.stmt, env: dict[str, ast.expr], way: _Way) -> bool:
        """Read one statement; whether nothing after it is reached."""
        read: Callable[..., bool] | None = _READERS.get(type(stmt))
        if read:
            return read(self, stmt, env, way)
        self.calls(stmt, env, way)
        return isinstance(stmt, ast.Continue | ast.Break)

    # -- what asserts ------------------------------------------------------------------------------------------------

    def add(self, atom: Atom, way: _Way, line: int) -> None:
        self.found.append(Check(atom, way.file, line, way.guards, way.loops, way.swallowed, way.dead, way.case))

    def assertion(self, stmt: ast.Assert, env: dict[str, ast.expr], way: _Way) -> bool:
        self.calls(stmt.test, env, way)
        self.bind_walrus(stmt.test, env)
        test = resolve(stmt.test, env)
        if truth(test) is False:
            self.fails(way, stmt)
            return True
        for atom in atoms(test, f"assert {text(stmt.test)}"):
            self.add(atom, way, stmt.lineno)
        return False

    def expression(self, stmt: ast.Expr, env: dict[str, ast.expr], way: _Way) -> bool:
        call = stmt.value.value if isinstance(stmt.value, ast.Await) else stmt.value
        if not isinstance(call, ast.Call):
            return False
        name = last(call.func)
        if name in _ENDS and (
            dotted(call.func) in _known_ends(name) or dotted(resolve(call.func, env)) in _known_ends(name)
        ):
            if name == "fail":
                self.fails(way, stmt)
            return True
        if self.calls(call, env, way):
            return False
        plain = resolve(call, env)
        assert isinstance(plain, ast.Call)
        found = called(plain, text(call))
        if found is None and _ASSERTS.match(name):
            arguments = [*plain.args, *(word.value for word in plain.keywords)]
            subject = arguments[0] if arguments else plain.func
            rest = ast.Tuple([*arguments[1:]], ast.Load()) if len(arguments) > 1 else None
            found = [Atom(f"call:{name}", subject, rest, text(call))]
        for atom in found or ():
            self.add(atom, way, stmt.lineno)
        if not found:
            self.acts.append(Check(Atom("does", plain, None, text(call)), way.file, stmt.lineno, dead=way.dead))
        return False

    def fails(self, way: _Way, stmt: ast.stmt) -> None:
        """`pytest.fail()` and the like under a condition assert that the condition does not hold."""
        if len(way.guards) == 1 and (negated := _parsed(*way.guards)) is not None:
            for atom in atoms(negated, text(stmt), negated=True):
                self.add(atom, replace(way, guards=frozenset()), stmt.lineno)
            return
        subject = ast.Name(" and ".join(sorted(way.guards)) or "always", ast.Load())
        self.add(Atom("fails", subject, None, text(stmt)), replace(way, guards=frozenset()), stmt.lineno)

    def raising(self, stmt: ast.Raise, env: dict[str, ast.expr], way: _Way) -> bool:
        raised = stmt.exc.func if isinstance(stmt.exc, ast.Call) else stmt.exc
        if raised is not None and last(raised) in ("AssertionError", "Failed"):
            self.fails(way, stmt)
        return True

    # -- helpers -----------------------------------------------------------------------------------------------------

    def calls(self, node: ast.AST, env: dict[str, ast.expr], way: _Way) -> bool:
        """Follow the calls in it that lead to functions of the changed tests; whether one of those asserts."""
        before = len(self.found)
        for call in ast.walk(node):
            if isinstance(call, ast.Call):
                self.follow(call, env, way)
            elif isinstance(call, Function | ast.Lambda):
                return len(self.found) > before
        return len(self.found) > before

    def follow(self, call: ast.Call, env: dict[str, ast.expr], way: _Way) -> None:
        target = self.target(call.func, env)
        if target is None or way.depth >= _DEEP or len(self.found) + self.followed > _MUCH:
            return
        if not may_assert(target[1], self.modules, self.known):
            return
        self.followed += 1
        file, function, names = target
        place = f"{file}:{function.lineno}"
        if place in self.within:
            return
        self.within.append(place)
        given = _given(function, call, env, isinstance(call.func, ast.Attribute))
        self.body(function.body, {**names, **given}, replace(way, file=file, depth=way.depth + 1))
        self.within.pop()

    def target(self, function: ast.expr, env: dict[str, ast.expr]) -> tuple[str, Function, dict[str, ast.expr]] | None:
        """The function of the tests that a call leads to."""
        here = self.modules[self.unit.file]
        if isinstance(function, ast.Name) and function.id in self.inner:
            return self.unit.file, *self.inner[function.id]
        if isinstance(function, ast.Name) and function.id in here.units:
            unit = here.units[function.id]
            return None if unit.test else (unit.file, unit.node, dict(here.env))
        if dotted(function).startswith(("self.", "cls.")):
            return self.method(last(function))
        path = dotted(resolve(function, env))
        return self.elsewhere(path) if "." in path else None

    def method(self, name: str) -> tuple[str, Function, dict[str, ast.expr]] | None:
        here = self.modules[self.unit.file]
        owner = self.unit.name.partition("::")[0]
        fallback = [unit for unit in here.units.values() if unit.owner and unit.name.endswith(f"::{name}")]
        unit = here.units.get(f"{owner}::{name}") or next(iter(fallback), None)
        return None if unit is None or unit.test else (unit.file, unit.node, dict(here.env))

    def elsewhere(self, path: str) -> tuple[str, Function, dict[str, ast.expr]] | None:
        module, _, name = path.rpartition(".")
        for file, found in self.modules.items():
            dots = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            if (dots == module or dots.endswith(f".{module}")) and name in found.units:
                return file, found.units[name].node, dict(found.env)
        return None

    # -- what stands around ------------------------------------------------------------------------------------------

    def assign(self, stmt: ast.Assign | ast.AnnAssign | ast.AugAssign, env: dict[str, ast.expr], way: _Way) -> bool:
        if stmt.value is None:
            return False
        self.calls(stmt.value, env, way)
        found = short(resolve(stmt.value, env))
        if isinstance(stmt, ast.AugAssign):
            if isinstance(stmt.target, ast.Name):
                old = env.get(stmt.target.id, ast.Name(stmt.target.id, ast.Load()))
                env[stmt.target.id] = short(ast.BinOp(old, stmt.op, found))
            return False
        for target in stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]:
            bind(target, found, env)
        return False

    def bind_walrus(self, node: ast.expr, env: dict[str, ast.expr]) -> None:
        for one in ast.walk(node):
            if isinstance(one, ast.NamedExpr):
                bind(one.target, short(resolve(one.value, env)), env)

    def condition(self, stmt: ast.If, env: dict[str, ast.expr], way: _Way) -> bool:
        self.calls(stmt.test, env, way)
        self.bind_walrus(stmt.test, env)
        test = resolve(stmt.test, env)
        holds, words = truth(test), text(test)
        yes, no = dict(env), dict(env)
        if holds is None:
            ended = self.body(stmt.body, yes, replace(way, guards=way.guards | {words}))
            other = self.body(stmt.orelse, no, replace(way, guards=way.guards | {f"not ({words})"}))
        else:
            why = f"`if {words}` never lets it run"
            ended = self.body(stmt.body, yes, way if holds else replace(way, dead=way.dead or why))
            other = self.body(stmt.orelse, no, way if not holds else replace(way, dead=way.dead or why))
        for name in {*assigned([*stmt.body, *stmt.orelse])}:
            ways = [one[name] for one in (yes, no) if name in one]
            env[name] = ways[0] if len({text(one) for one in ways}) == 1 else _either(ways)
        if holds is not None:
            return ended if holds else other
        return ended and (other or not stmt.orelse)

    def loop(self, stmt: ast.For | ast.AsyncFor, env: dict[str, ast.expr], way: _Way) -> bool:
        self.calls(stmt.iter, env, way)
        over = resolve(stmt.iter, env)
        known = items(over) if len(self.found) <= _MUCH else None
        if known is None:
            bind(stmt.target, ast.Name(f"each{len(way.loops)}", ast.Load()), env)
            self.body(stmt.body, env, replace(way, loops=(*way.loops, text(over))))
        if known == []:
            self.body(stmt.body, env, replace(way, dead=way.dead or "its loop runs over nothing"))
        for item in known or ():
            bind(stmt.target, item, env)
            self.body(stmt.body, env, replace(way, case=True))
        return self.body(stmt.orelse, env, way)

    def repeat(self, stmt: ast.While, env: dict[str, ast.expr], way: _Way) -> bool:
        test = resolve(stmt.test, env)
        if truth(test) is not None:
            never = f"`while {text(test)}` never lets it run"
            return self.body(stmt.body, env, way if truth(test) else replace(way, dead=way.dead or never)) and False
        return self.body(stmt.body, env, replace(way, guards=way.guards | {f"while {text(test)}"})) and False

    def context(self, stmt: ast.With | ast.AsyncWith, env: dict[str, ast.expr], way: _Way) -> bool:
        for item in stmt.items:
            call = resolve(item.context_expr, env)
            self.calls(item.context_expr, env, way)
            name = last(call.func) if isinstance(call, ast.Call) else ""
            if isinstance(call, ast.Call) and name in (
                "raises",
                "assertRaises",
                "assertRaisesRegex",
                "warns",
                "assertWarns",
            ):
                self.add(_raises(call, stmt, env, name), way, stmt.lineno)
                broad = [one for one in _exceptions(call) if last(one) in _BROAD]
                if broad and "warn" not in name.lower():
                    way = replace(way, swallowed=way.swallowed or f"`{text(item.context_expr)}`")
            elif isinstance(call, ast.Call) and name == "suppress":
                way = _caught(way, call.args, f"`{text(item.context_expr)}`")
            if item.optional_vars is not None:
                bind(item.optional_vars, short(call), env)
        return self.body(stmt.body, env, way) and not any("suppress" in text(item) for item in stmt.items)

    def attempt(self, stmt: ast.Try | ast.TryStar, env: dict[str, ast.expr], way: _Way) -> bool:
        inner = way
        if any(isinstance(one, ast.Return | ast.Break | ast.Continue) for one in stmt.finalbody):
            inner = replace(inner, swallowed=inner.swallowed or "the `finally` that leaves")
        for handler in stmt.handlers:
            if not _goes_on(handler.body):
                kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
                name = f"`except {text(handler.type)}`" if handler.type else "`except`"
                inner = _caught(inner, kinds, name)
        ended = self.body(stmt.body, env, inner)
        for handler in stmt.handlers:
            kind = text(handler.type) if handler.type else ""
            self.body(handler.body, dict(env), replace(way, guards=way.guards | {f"except {kind}"}))
        self.body(stmt.orelse, env, inner)
        return (self.body(stmt.finalbody, env, way) or ended) and not stmt.handlers

    def choice(self, stmt: ast.Match, env: dict[str, ast.expr], way: _Way) -> bool:
        for case in stmt.cases:
            words = f"{text(resolve(stmt.subject, env))} matches {text(case.pattern)}"
            self.body(case.body, dict(env), replace(way, guards=way.guards | {words}))
        return False

    def define(self, stmt: Function, env: dict[str, ast.expr], way: _Way) -> bool:
        self.inner[stmt.name] = (stmt, dict(env))
        digest = sha256(ast.dump(ast.Module(stmt.body, [])).encode(errors="replace")).hexdigest()[:12]
        env[stmt.name] = ast.Name(f"local_{digest}", ast.Load())
        return False

    def bring(self, stmt: ast.Import | ast.ImportFrom, env: dict[str, ast.expr], way: _Way) -> bool:
        env.update(imported(stmt))
        return False

    def leave(self, stmt: ast.Return, env: dict[str, ast.expr], way: _Way) -> bool:
        if stmt.value is not None:
            self.calls(stmt.value, env, way)
        return True


_READERS: dict[type[ast.stmt], Callable[..., bool]] = {
    ast.Assert: _Reader.assertion,
    ast.Expr: _Reader.expression,
    ast.Raise: _Reader.raising,
    ast.Assign: _Reader.assign,
    ast.AnnAssign: _Reader.assign,
    ast.AugAssign: _Reader.assign,
    ast.If: _Reader.condition,
    ast.For: _Reader.loop,
    ast.AsyncFor: _Reader.loop,
    ast.While: _Reader.repeat,
    ast.With: _Reader.context,
    ast.AsyncWith: _Reader.context,
    ast.Try: _Reader.attempt,
    ast.TryStar: _Reader.attempt,
    ast.Match: _Reader.choice,
    ast.FunctionDef: _Reader.define,
    ast.AsyncFunctionDef: _Reader.define,
    ast.Import: _Reader.bring,
    ast.ImportFrom: _Reader.bring,
    ast.Return: _Reader.leave,
}


def may_assert(function: Function, modules: Modules, known: dict[Function, bool]) -> bool:
    """Whether a function asserts, or calls one of the tests' that does: the others need not be followed."""
    if function not in known:
        known[function] = False  # for one that calls itself
        nodes = [*ast.walk(function)]
        names = {last(node.func) for node in nodes if isinstance(node, ast.Call)}
        known[function] = any(isinstance(node, ast.Assert) for node in nodes) or any(map(_SAYS.match, names))
        known[function] |= any(isinstance(node, ast.Raise) and "AssertionError" in text(node) for node in nodes)
        called = [unit.node for one in modules.values() for unit in one.units.values() if _leaf(unit) in names]
        known[function] = known[function] or any(may_assert(node, modules, known) for node in called)
    return known[function]


def _leaf(unit: Unit) -> str:
    return unit.name.rpartition("::")[2]


def bind(target: ast.expr, found: ast.expr, env: dict[str, ast.expr]) -> None:
    """Let names stand for what is assigned to them."""
    if isinstance(target, ast.Name):
        env[target.id] = found
    elif isinstance(target, ast.Tuple | ast.List):
        same = isinstance(found, ast.Tuple | ast.List) and len(found.elts) == len(target.elts)
        for place, one in enumerate(target.elts):
            part = found.elts[place] if same else ast.Subscript(found, ast.Constant(place), ast.Load())  # type: ignore[attr-defined]
            bind(one.value if isinstance(one, ast.Starred) else one, part, env)
    else:
        for name in bound(target):
            env[name] = found


def _parsed(condition: str) -> ast.expr | None:
    try:
        return ast.parse(condition, mode="eval").body
    except SyntaxError:
        return None  # not a condition as Python writes it: `while ...`, `except ...`


def _either(ways: list[ast.expr]) -> ast.expr:
    return short(ast.Call(ast.Name("either", ast.Load()), ways, []))


def _known_ends(name: str) -> tuple[str, ...]:
    return (f"pytest.{name}", f"self.{name}", f"sys.{name}", f"os.{name}", f"unittest.{name}")


def _exceptions(call: ast.Call) -> list[ast.expr]:
    first = call.args[0] if call.args else keyword(call, "expected_exception")
    return first.elts if isinstance(first, ast.Tuple) else [first] if first is not None else []


def _raises(call: ast.Call, stmt: ast.With | ast.AsyncWith, env: dict[str, ast.expr], name: str) -> Atom:
    """`with raises(X, match=...)` asserts of its body that it raises."""
    inside = dict(env)
    lines = []
    for one in stmt.body:
        if isinstance(one, ast.Expr):
            lines.append(text(resolve(one.value, inside)))
        elif isinstance(one, ast.Assign):
            lines.append(text(resolve(one.value, inside)))
            for target in one.targets:
                bind(target, short(resolve(one.value, inside)), inside)
        elif not isinstance(one, ast.Pass | ast.Assert):
            lines.append(text(one))
    op = "warns" if "warn" in name.lower() else "raises"
    pattern = keyword(call, "match") or (call.args[1] if name == "assertRaisesRegex" and len(call.args) > 1 else None)
    expected = ast.Tuple([ast.Tuple(_exceptions(call), ast.Load()), pattern or ast.Constant(None)], ast.Load())
    return Atom(op, ast.Name("; ".join(lines), ast.Load()), expected, text(call))


def _caught(way: _Way, kinds: Sequence[ast.expr | None], name: str) -> _Way:
    """What stands under something that catches: its failures are swallowed, or it may be passed over."""
    if any(kind is None or last(kind) in _BROAD for kind in kinds):
        return replace(way, swallowed=way.swallowed or name)
    return replace(way, guards=way.guards | {f"nothing caught by {name}"})


def _leaving(stmt: ast.Try | ast.TryStar) -> set[str]:
    """The handlers after which nothing more of the test is run, though nothing has failed."""
    names = set()
    for handler in stmt.handlers:
        final = handler.body[-1]
        skips = isinstance(final, ast.Expr) and isinstance(final.value, ast.Call) and last(final.value.func) in _SKIPS
        if isinstance(final, ast.Return | ast.Continue | ast.Break) or skips:
            names.add(f"nothing caught by `except {text(handler.type) if handler.type else ''}`")
    return names


def _goes_on(body: list[ast.stmt]) -> bool:
    """Whether a handler passes the failure on."""
    final = body[-1]
    if isinstance(final, ast.Expr) and isinstance(final.value, ast.Call):
        return last(final.value.func) == "fail"
    return isinstance(final, ast.Raise)


def _given(function: Function, call: ast.Call, env: dict[str, ast.expr], method: bool) -> dict[str, ast.expr]:
    """What a function's parameters stand for in one call of it."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if method and names[:1] in (["self"], ["cls"]):
        names = names[1:]
    defaults = function.args.defaults
    given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=False)) if defaults else {}
    given |= {
        one.arg: default
        for one, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        if default is not None
    }
    given |= {name: short(resolve(one, env)) for name, one in zip(names, call.args, strict=False)}
    return given | {word.arg: short(resolve(word.value, env)) for word in call.keywords if word.arg}

"""What a test asserts, in one form whatever it is written in: `assert`, `unittest`, `raises`, `expect(...)`, own helpers.

A test is read from top to bottom with every local name replaced by what it stands for, so neither names, nor the order
of tests, nor whether something is done in a helper, a loop over constants or a parametrised case makes a difference.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from muster.mend.gate.cases import cases, items
from muster.mend.gate.conditions import Atom, atoms, called
from muster.mend.gate.helpers import ASSERTS, Helpers, Modules, given
from muster.mend.gate.module import Unit, imported
from muster.mend.gate.raising import exceptions, raises
from muster.mend.gate.syntax import Function, assigned, bind, dotted, last, resolve, short, text, truth
from muster.mend.gate.way import BROAD, SKIPS, Way, caught, goes_on, leaving

_DEEP = 4  # so far are helpers followed that call helpers
_MUCH = 300  # from so many assertions on, loops and helpers are not written out any more
_ENDS = (*SKIPS, "fail")


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
        reader.body(unit.node.body, env, Way(file=unit.file, case=values is not None))
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
        self.helpers = Helpers(unit, modules, known)
        self.within: list[str] = []
        self.followed = 0

    def parameters(self) -> dict[str, ast.expr]:
        """A helper's parameters by place, so that their names make no difference; a test's are fixtures."""
        if self.unit.test or self.unit.hidden:
            return {}
        given = [*self.unit.node.args.posonlyargs, *self.unit.node.args.args]
        return {one.arg: ast.Name(f"argument{place}", ast.Load()) for place, one in enumerate(given)}

    def body(self, stmts: Sequence[ast.stmt], env: dict[str, ast.expr], way: Way) -> bool:
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
                way = replace(way, guards=way.guards | leaving(stmt))
            if ended:
                why = way.dead or f"line {stmt.lineno} ends the test before it"
                self.body(stmts[place + 1 :], env, replace(way, dead=why))
                return True
        return False

    def stmt(self, stmt: ast.stmt, env: dict[str, ast.expr], way: Way) -> bool:
        """Read one statement; whether nothing after it is reached."""
        read: Callable[..., bool] | None = _READERS.get(type(stmt))
        if read:
            return read(self, stmt, env, way)
        self.calls(stmt, env, way)
        return isinstance(stmt, ast.Continue | ast.Break)

    # -- what asserts ------------------------------------------------------------------------------------------------

    def add(self, atom: Atom, way: Way, line: int) -> None:
        self.found.append(Check(atom, way.file, line, way.guards, way.loops, way.swallowed, way.dead, way.case))

    def assertion(self, stmt: ast.Assert, env: dict[str, ast.expr], way: Way) -> bool:
        self.calls(stmt.test, env, way)
        self.bind_walrus(stmt.test, env)
        test = resolve(stmt.test, env)
        if truth(test) is False:
            self.fails(way, stmt)
            return True
        for atom in atoms(test, f"assert {text(stmt.test)}"):
            self.add(atom, way, stmt.lineno)
        return False

    def expression(self, stmt: ast.Expr, env: dict[str, ast.expr], way: Way) -> bool:
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
        if found is None and ASSERTS.match(name):
            arguments = [*plain.args, *(word.value for word in plain.keywords)]
            subject = arguments[0] if arguments else plain.func
            rest = ast.Tuple([*arguments[1:]], ast.Load()) if len(arguments) > 1 else None
            found = [Atom(f"call:{name}", subject, rest, text(call))]
        for atom in found or ():
            self.add(atom, way, stmt.lineno)
        if not found:
            self.acts.append(Check(Atom("does", plain, None, text(call)), way.file, stmt.lineno, dead=way.dead))
        return False

    def fails(self, way: Way, stmt: ast.stmt) -> None:
        """`pytest.fail()` and the like under a condition assert that the condition does not hold."""
        if len(way.guards) == 1 and (negated := _parsed(*way.guards)) is not None:
            for atom in atoms(negated, text(stmt), negated=True):
                self.add(atom, replace(way, guards=frozenset()), stmt.lineno)
            return
        subject = ast.Name(" and ".join(sorted(way.guards)) or "always", ast.Load())
        self.add(Atom("fails", subject, None, text(stmt)), replace(way, guards=frozenset()), stmt.lineno)

    def raising(self, stmt: ast.Raise, env: dict[str, ast.expr], way: Way) -> bool:
        raised = stmt.exc.func if isinstance(stmt.exc, ast.Call) else stmt.exc
        if raised is not None and last(raised) in ("AssertionError", "Failed"):
            self.fails(way, stmt)
        return True

    # -- helpers -----------------------------------------------------------------------------------------------------

    def calls(self, node: ast.AST, env: dict[str, ast.expr], way: Way) -> bool:
        """Follow the calls in it that lead to functions of the changed tests; whether one of those asserts."""
        before = len(self.found)
        for call in ast.walk(node):
            if isinstance(call, ast.Call):
                self.follow(call, env, way)
            elif isinstance(call, Function | ast.Lambda):
                return len(self.found) > before
        return len(self.found) > before

    def follow(self, call: ast.Call, env: dict[str, ast.expr], way: Way) -> None:
        target = self.helpers.target(call.func, env)
        if target is None or way.depth >= _DEEP or len(self.found) + self.followed > _MUCH:
            return
        if not self.helpers.may_assert(target[1]):
            return
        self.followed += 1
        file, function, names = target
        place = f"{file}:{function.lineno}"
        if place in self.within:
            return
        self.within.append(place)
        arguments = given(function, call, env, isinstance(call.func, ast.Attribute))
        self.body(function.body, {**names, **arguments}, replace(way, file=file, depth=way.depth + 1))
        self.within.pop()

    # -- what stands around ------------------------------------------------------------------------------------------

    def assign(self, stmt: ast.Assign | ast.AnnAssign | ast.AugAssign, env: dict[str, ast.expr], way: Way) -> bool:
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

    def condition(self, stmt: ast.If, env: dict[str, ast.expr], way: Way) -> bool:
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

    def loop(self, stmt: ast.For | ast.AsyncFor, env: dict[str, ast.expr], way: Way) -> bool:
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

    def repeat(self, stmt: ast.While, env: dict[str, ast.expr], way: Way) -> bool:
        test = resolve(stmt.test, env)
        if truth(test) is not None:
            never = f"`while {text(test)}` never lets it run"
            return self.body(stmt.body, env, way if truth(test) else replace(way, dead=way.dead or never)) and False
        return self.body(stmt.body, env, replace(way, guards=way.guards | {f"while {text(test)}"})) and False

    def context(self, stmt: ast.With | ast.AsyncWith, env: dict[str, ast.expr], way: Way) -> bool:
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
                self.add(raises(call, stmt, env, name), way, stmt.lineno)
                broad = [one for one in exceptions(call) if last(one) in BROAD]
                if broad and "warn" not in name.lower():
                    way = replace(way, swallowed=way.swallowed or f"`{text(item.context_expr)}`")
            elif isinstance(call, ast.Call) and name == "suppress":
                way = caught(way, call.args, f"`{text(item.context_expr)}`")
            if item.optional_vars is not None:
                bind(item.optional_vars, short(call), env)
        return self.body(stmt.body, env, way) and not any("suppress" in text(item) for item in stmt.items)

    def attempt(self, stmt: ast.Try | ast.TryStar, env: dict[str, ast.expr], way: Way) -> bool:
        inner = way
        if any(isinstance(one, ast.Return | ast.Break | ast.Continue) for one in stmt.finalbody):
            inner = replace(inner, swallowed=inner.swallowed or "the `finally` that leaves")
        for handler in stmt.handlers:
            if not goes_on(handler.body):
                kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
                name = f"`except {text(handler.type)}`" if handler.type else "`except`"
                inner = caught(inner, kinds, name)
        ended = self.body(stmt.body, env, inner)
        for handler in stmt.handlers:
            kind = text(handler.type) if handler.type else ""
            self.body(handler.body, dict(env), replace(way, guards=way.guards | {f"except {kind}"}))
        self.body(stmt.orelse, env, inner)
        return (self.body(stmt.finalbody, env, way) or ended) and not stmt.handlers

    def choice(self, stmt: ast.Match, env: dict[str, ast.expr], way: Way) -> bool:
        for case in stmt.cases:
            words = f"{text(resolve(stmt.subject, env))} matches {text(case.pattern)}"
            self.body(case.body, dict(env), replace(way, guards=way.guards | {words}))
        return False

    def define(self, stmt: Function, env: dict[str, ast.expr], way: Way) -> bool:
        self.helpers.inner[stmt.name] = (stmt, dict(env))
        digest = sha256(ast.dump(ast.Module(stmt.body, [])).encode(errors="replace")).hexdigest()[:12]
        env[stmt.name] = ast.Name(f"local_{digest}", ast.Load())
        return False

    def bring(self, stmt: ast.Import | ast.ImportFrom, env: dict[str, ast.expr], way: Way) -> bool:
        env.update(imported(stmt))
        return False

    def leave(self, stmt: ast.Return, env: dict[str, ast.expr], way: Way) -> bool:
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


def _parsed(condition: str) -> ast.expr | None:
    try:
        return ast.parse(condition, mode="eval").body
    except SyntaxError:
        return None  # not a condition as Python writes it: `while ...`, `except ...`


def _either(ways: list[ast.expr]) -> ast.expr:
    return short(ast.Call(ast.Name("either", ast.Load()), ways, []))


def _known_ends(name: str) -> tuple[str, ...]:
    return (f"pytest.{name}", f"self.{name}", f"sys.{name}", f"os.{name}", f"unittest.{name}")

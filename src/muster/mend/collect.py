"""The tests of a project, as pytest itself collects them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from muster.errors import MusterError, UsageError
from muster.mend import Case, probe
from muster.mend.environment import Environment
from muster.mend.probe import Layout

_UNKNOWN = re.compile(r"(?<=unrecognized arguments: ).*")
_NO_PLUGIN = re.compile(r"^ERROR: (Error importing plugin|Missing required plugins)", re.MULTILINE)
_BROKEN_CONFTEST = re.compile(r"while loading conftest '([^']+)'")


class Collection(Struct, frozen=True):
    """What there is to test; paths are from the checkout's top."""

    cases: tuple[Case, ...]
    layout: Layout
    testpaths: tuple[str, ...] = ()
    python_files: tuple[str, ...] = ()
    python_classes: tuple[str, ...] = ()
    python_functions: tuple[str, ...] = ()
    conftests: tuple[str, ...] = ()

    @property
    def ids(self) -> list[str]:
        """The tests."""
        return [case.id for case in self.cases if not case.error]

    @property
    def errors(self) -> tuple[Case, ...]:
        """The files that could not be collected."""
        return tuple(case for case in self.cases if case.error)


def collect(environment: Environment, args: Sequence[str] = (), *, limit: float = probe.PATIENCE) -> Collection:
    """Have pytest collect in that environment, with the user's own arguments; what can't be collected is a case, too."""
    layout = Layout(folder=environment.project.folder, args=tuple(_moved(environment, one) for one in args))
    fatal: dict[str, Case] = {}
    while True:
        words = [f"--ignore={os.path.join(environment.top, one)}" for one in fatal]
        ended = probe.run(environment, layout, ["--collect-only", "-q", *words], limit=limit)
        case = _fatal(ended)
        if not case or case.file in fatal:
            break
        fatal[case.file] = case  # the others may be collected all the same
    start = next((one for one in ended.events if isinstance(one, probe.Start)), None)
    collected = next((one for one in ended.events if isinstance(one, probe.Collected)), None)
    if start is None or (collected is None and not any(isinstance(one, probe.Error) for one in ended.events)):
        return Collection((broken(environment, ended, args),), layout)
    for event in ended.events:
        if isinstance(event, probe.Origins):
            environment.verify(event.origins)
    return Collection(
        cases=(*_cases(environment, start, ended.events), *fatal.values()),
        layout=_layout(environment, layout, start),
        testpaths=tuple(_from_top(environment, os.path.join(start.rootdir, one)) for one in start.testpaths),
        python_files=start.python_files,
        python_classes=start.python_classes,
        python_functions=start.python_functions,
        conftests=collected.conftests if collected else (),
    )


def _fatal(ended: probe.Ended) -> Case | None:
    """The file whose import was the end of the process, if one was."""
    last = next((one for one in reversed(ended.events) if not isinstance(one, probe.Error)), None)
    if not isinstance(last, probe.Opening) or any(isinstance(one, probe.Done) for one in ended.events):
        return None
    how = "was not collected in time" if ended.timed_out else f"ended pytest's process with {ended.code}"
    return Case(id=last.file, file=last.file, error=f"importing it {how}\n{ended.said}")


def broken(environment: Environment, ended: probe.Ended, args: Sequence[str] = ()) -> Case:
    """The conftest that kept pytest from starting; anything else is the command line's fault, or pytest's own."""
    if found := _BROKEN_CONFTEST.search(ended.said):
        file = _from_top(environment, found[1])
        return Case(id=file, file=file, error=ended.said)
    said = ended.said.replace(environment.top, environment.project.top)
    words = "\n".join(said.splitlines()[-8:]) or "it said nothing"
    if ended.timed_out:
        raise MusterError(
            f"pytest had not collected after {probe.PATIENCE:.0f} s:\n{words}",
            hint="a module may wait for something when it is imported",
        )
    wrong = (_UNKNOWN.search(said) or [""])[0].split()
    if ended.code == 4 and (_NO_PLUGIN.search(said) or wrong) and not any(one in args for one in wrong):
        raise UsageError(
            f"pytest does not start with the settings of this project:\n{words}",
            hint=f"`{environment.project.python}` may lack a plugin: install it there, or `--python PATH` names another",
        )
    if ended.code == 4:
        raise UsageError(f"pytest does not take these arguments:\n{words}")
    raise MusterError(
        f"pytest ended with {ended.code} before it had collected:\n{words}",
        hint=f"`{environment.project.python} -m pytest --collect-only` shows it",
    )


def _moved(environment: Environment, word: str) -> str:
    """A path into the user's checkout means the same place in this one."""
    top = environment.project.top
    return environment.top + word[len(top) :] if word == top or word.startswith(f"{top}{os.sep}") else word


def _cases(environment: Environment, start: probe.Start, events: Sequence[probe.Event]) -> Iterator[Case]:
    seen = set()
    for event in events:
        if isinstance(event, probe.Item) and event.id not in seen:
            yield Case(event.id, event.file, event.line, event.doc, event.blocks)
        elif isinstance(event, probe.Error) and event.id not in seen:
            file = _from_top(environment, os.path.join(start.rootdir, event.file))
            yield Case(event.id or file, file, event.frames[-1][1] if event.frames else 0, error=event.text)
        seen.add(getattr(event, "id", ""))


def _layout(environment: Environment, given: Layout, start: probe.Start) -> Layout:
    """The arguments without the paths, where it is clear which words those are."""
    clear = all(given.args.count(one) == 1 for one in start.paths)
    return Layout(
        folder=given.folder,
        rootdir=_from_top(environment, start.rootdir),
        config=_from_top(environment, start.config) if start.config else "",
        args=tuple(one for one in given.args if one not in start.paths) if clear else given.args,
        paths=bool(start.paths) and not clear,
    )


def _from_top(environment: Environment, path: str) -> str:
    return os.path.relpath(os.path.realpath(path), environment.top)

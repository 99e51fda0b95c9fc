"""What git can't solve, put to someone who may: each answer is tested on the tip before it stays."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from muster.core import git
from muster.mend.integrate import Conflict, Patch, Resolve, SetAside
from muster.mend.integrate.chain import Chain, Step, Yard
from muster.mend.integrate.red import Bench
from muster.mend.integrate.scratch import Merge

_LONGEST = 20_000  # characters of one file in the evidence


def settle(yard: Yard, bench: Bench | None, chain: Chain, resolve: Resolve) -> Chain:
    """The chain with all that could be resolved at its end, and what stayed out."""
    steps, out = list(chain.steps), []
    for one in chain.out:
        if one.why not in ("conflict", "needs"):
            out.append(one)
            continue
        done = _attempt(yard, bench, steps, chain.parts, yard.patches[one.key], resolve)
        if isinstance(done, Step):
            steps.append(done)
        else:
            out.append(done)
    return Chain(tuple(steps), chain.parts, tuple(out))


def _attempt(
    yard: Yard, bench: Bench | None, steps: Sequence[Step], parts: int, patch: Patch, resolve: Resolve
) -> Step | SetAside:
    step = yard.add(steps, patch)
    if isinstance(step, SetAside) and step.why == "conflict":
        step = _resolved(yard, steps, patch, step, resolve)
    if isinstance(step, SetAside) or not bench:
        return step
    red = tuple(bench.missed(Chain((*steps, step), parts, ()), len(steps) + 1))
    return _rejected(yard, steps, step, red) if red else step


def _rejected(yard: Yard, steps: Sequence[Step], step: Step, red: tuple[str, ...]) -> SetAside:
    if not step.resolved:
        return yard.aside(step.patch, "red", f"red: {red[0]}", red=red)
    others = yard.against(step.patch, steps, yard.merge(steps, step.patch))
    names = ", ".join(one.title for one in others) or "what is in the branch already"
    return yard.aside(step.patch, "conflict", f"conflict with {names}; resolved, it is red: {red[0]}", others, red=red)


def _resolved(yard: Yard, steps: Sequence[Step], patch: Patch, conflict: SetAside, resolve: Resolve) -> Step | SetAside:
    merge, tip = yard.merge(steps, patch), yard.joined(steps)
    others = yard.against(patch, steps, merge)
    against = tuple(fix for other in others for fix in other.fixes)
    yard.scratch.send(tip, yard.base)
    said = resolve(Conflict(tip, patch.fixes, against, merge.files, evidence(yard, patch, others, merge)))
    if not said:
        return conflict
    answer = git.commit_of(yard.scratch.place, yard.scratch.repo, said)
    if not answer:
        return msgspec.structs.replace(conflict, reason=f"{conflict.reason}; the answer {said} is no commit here")
    if fault := _fault(yard, tip, yard.top(steps), answer):
        return msgspec.structs.replace(conflict, reason=f"{conflict.reason}; {fault}")
    tree = yard.scratch.text("rev-parse", f"{answer}^{{tree}}")
    return yard.step(steps, patch, tree, resolved=[other.title for other in others] or ["the branch"])


def _fault(yard: Yard, tip: str, tree: str, answer: str) -> str:
    """Why this is no answer; empty if it is one."""
    if not git.ancestor(yard.scratch.place, yard.scratch.repo, tip, answer):
        return f"the answer {answer} is not on top of the branch's tip {tip}"
    if yard.scratch.text("rev-parse", f"{answer}^{{tree}}") == tree:
        return f"the answer {answer} changes nothing"
    return ""


def evidence(yard: Yard, patch: Patch, others: Sequence[Patch], merge: Merge) -> str:
    """Both sides in words and, with markers, in the files."""
    sides = [f"{one.title}: {one.subject}\n{one.fixes[0].summary}".strip() for one in (patch, *others)]
    texts = [_marked(yard, merge.tree, file) for file in merge.files]
    return "\n\n".join([*sides, "\n".join(merge.messages), *texts]).strip() + "\n"


def _marked(yard: Yard, tree: str, file: str) -> str:
    listing = yard.scratch.git("--literal-pathspecs", "ls-tree", "-z", tree, "--", file).partition(b"\0")[0]
    kind, _, blob = listing.partition(b"\t")[0].decode().partition(" ")[2].partition(" ")
    content = yard.scratch.git("cat-file", "blob", blob) if kind == "blob" else b""
    text = "(binary)" if b"\0" in content else content[:_LONGEST].decode(errors="replace")
    return f"=== {file}\n{text}"

"""Names: what may be one, fresh ones, addresses, and the nearest to a wrong one."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Collection, Iterable

from msgspec import Struct

from muster.errors import UsageError

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_FIRST = (
    "able apt blue bold brave brisk calm civil clear cool crisp deft eager early fair fast fine firm fond free fresh "
    "frank glad gold good grand great green happy hardy keen kind light lively loyal lucky merry mild neat new noble "
    "open plain polite prime proud pure quick quiet ready red rich right round safe sharp silver sleek smart smooth "
    "solid sound spry steady still sunny sure swift tall tidy true trim vivid warm whole wide wise young"
).split()
_SECOND = (
    "alder ash aspen badger bear beaver beech birch bison brook cedar crane crow deer dove eagle elk elm falcon fern "
    "finch fir fox frog gull hare hawk hazel heron ibis ivy jay kite lake lark laurel lemur linden lion lynx maple "
    "marten mink mole moose moss newt oak olive orca oriole otter owl panda pine plover poplar puffin quail raven reed "
    "robin rowan rush seal sedge shrew spruce stag stoat stork swan swift tern thrush tiger toad trout vole walnut "
    "warbler weasel whale willow wolf wren yew zebra"
).split()
LONGEST = 64


class Address(Struct, frozen=True):
    """`NAME[@[HOST][.PROVIDER]]`."""

    name: str
    host: str = ""
    provider: str = ""

    @classmethod
    def parse(cls, text: str) -> Address:
        name, at, place = text.rpartition("@") if "@" in text else (text, "", "")
        host, _, provider = place.partition(".")
        if name:
            check(name)
        if at and not place:
            host = "local"
        return cls(name, host, provider)


def fresh_id() -> str:
    """Ten characters that no one reads for meaning."""
    return "".join(_DIGITS[byte & 31] for byte in os.urandom(10))


def fresh(taken: Collection[str]) -> str:
    """A readable name that nobody has."""
    for extra in range(1_000):
        one, two, three = os.urandom(3)
        name = f"{_FIRST[one % len(_FIRST)]}-{_SECOND[two % len(_SECOND)]}"
        if extra > 20:
            name += f"-{three}{extra}"
        if name not in taken:
            return name
    raise UsageError("no free name was found", hint="give one: `muster create NAME`")


def check(name: str) -> str:
    """The name itself, if it is one."""
    if why := _fault(name):
        shown = name if len(name) <= LONGEST else name[:LONGEST] + "…"
        better = slug(name)
        hint = f"try `{better}`" if better else "letters, digits, `-`, `_` and `.`"
        raise UsageError(f"{shown!r} is not a name: {why}", hint=hint)
    return name


def _fault(name: str) -> str:
    if not name:
        return "it is empty"
    if len(name) > LONGEST:
        return f"it has more than {LONGEST} characters"
    if len(name.encode()) > 150:
        return "it has more than 150 bytes"
    if unicodedata.normalize("NFC", name) != name:
        return "it is not in Unicode's composed form (NFC)"
    if not name[0].isalnum():
        return "it must begin with a letter or a digit"
    if bad := next((c for c in name if not (unicodedata.category(c)[0] in "LNM" or c in "-_.")), None):
        return f"{bad!r} can't be in one"
    if ".." in name or name.endswith((".", ".lock")):
        return "git could not name a branch after it"
    return ""


def slug(text: str, longest: int = LONGEST) -> str:
    """The nearest thing to that text that is a name; empty if there is none."""
    text = unicodedata.normalize("NFC", text.strip())
    kept = "".join(c if unicodedata.category(c)[0] in "LNM" or c in "_-" else "-" for c in text)
    parts = [part for part in kept.split("-") if part]
    out = "-".join(parts)[:longest].rstrip("-")
    while len(out.encode()) > 150:
        out = out[:-1]
    return out if out and not _fault(out) else ""


def nearest(wrong: str, known: Iterable[str], what: str, listing: str = "") -> str:
    """A hint that names what was probably meant."""
    from difflib import get_close_matches

    names = list(known)
    if found := get_close_matches(wrong, names, 1, 0.6):
        return f"did you mean `{found[0]}`?"
    if listing:
        return f"`{listing}` shows them"
    return f"the {what}s are {', '.join(f'`{name}`' for name in sorted(names))}" if names else ""

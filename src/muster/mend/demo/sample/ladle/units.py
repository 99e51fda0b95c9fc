"""Units of kitchens, and how much of one is how much of another."""

from fractions import Fraction

TEASPOONS = {"tsp": 1, "tbsp": 3, "cup": 48}


class UnknownUnit(Exception):
    """A unit that can't be converted."""


def convert(amount: Fraction, unit: str, to: str) -> Fraction:
    """The same amount in another unit."""
    for one in (unit, to):
        if one not in TEASPOONS:
            raise UnknownUnit(f"{one} is no unit that I know")
    return amount * TEASPOONS[unit] / TEASPOONS[to]

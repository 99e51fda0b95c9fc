"""Amounts as cooks write them: `2`, `1/2`, `1 1/2`."""

from fractions import Fraction


def parse(text: str) -> Fraction:
    """The number that is meant."""
    whole, _, part = text.strip().partition("-")
    if not part:
        return Fraction(whole)
    return Fraction(whole) + Fraction(part)


def show(amount: Fraction) -> str:
    """How a cook would write it."""
    whole, part = divmod(amount, 1)
    if not part:
        return str(whole)
    return f"{whole} {part}" if whole else str(part)

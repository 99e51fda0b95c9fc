"""Recipes, and the text that they are written in."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from ladle import amounts

_LINE = re.compile(r"(\d[\d /]*) (?:(tsp|tbsp|cup) )?(.+)")


class BadRecipe(Exception):
    """A text that is no recipe."""


@dataclass(frozen=True)
class Ingredient:
    """So much of something."""

    amount: Fraction
    unit: str
    name: str

    def __str__(self) -> str:
        return " ".join(word for word in (amounts.show(self.amount), self.unit, self.name) if word)


@dataclass(frozen=True)
class Recipe:
    """What it takes, for how many, and what to do."""

    name: str
    people: int
    ingredients: tuple[Ingredient, ...]
    steps: str

    def scaled(self, people: int) -> Recipe:
        """The same for another number of people."""
        factor = Fraction(people, self.people)
        more = tuple(replace(one, amount=one.amount / factor) for one in self.ingredients)
        return replace(self, people=people, ingredients=more)

    def __str__(self) -> str:
        return "\n".join([f"{self.name} (for {self.people})", *(f"  {one}" for one in self.ingredients)])


def read(text: str) -> Recipe:
    """The recipe that is written there."""
    head, _, steps = text.partition("\n\n")
    name, people, *lines = [line.strip() for line in head.splitlines()]
    if not people.startswith("for "):
        raise BadRecipe(f"{name}: for how many?")
    return Recipe(name, int(people.removeprefix("for ")), tuple(map(ingredient, lines)), steps)


def ingredient(line: str) -> Ingredient:
    """One line, such as `1/2 cup sugar` or `3 egg`."""
    found = _LINE.fullmatch(line)
    if not found:
        raise BadRecipe(f"how much is `{line}`?")
    amount, unit, name = found.groups()
    return Ingredient(amounts.parse(amount), unit or "", name)

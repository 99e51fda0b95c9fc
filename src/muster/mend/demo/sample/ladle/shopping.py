"""What has to be bought."""

from collections.abc import Iterable

from ladle.recipe import Ingredient, Recipe


def shopping(recipes: Iterable[Recipe]) -> list[Ingredient]:
    """All ingredients, those of one kind together, by name."""
    found: dict[tuple[str, str], Ingredient] = {}
    for recipe in recipes:
        for one in recipe.ingredients:
            known = found.get((one.name, one.unit))
            amount = known.amount + one.amount if known else one.amount
            found[one.name, one.unit] = Ingredient(amount, one.unit, one.name)
    return [found[key] for key in sorted(found)]


def missing(recipe: Recipe, have: Iterable[str]) -> list[str]:
    """What the recipe needs and the house doesn't have."""
    return list({one.name for one in recipe.ingredients} - set(have))

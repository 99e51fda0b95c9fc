"""Recipes are read, shown and scaled."""

from collections.abc import Callable

import pytest

from ladle.recipe import BadRecipe, ingredient, read

TEA = "Tea\nfor 1\n1 cup water\n2 tsp leaves\n\nPour, wait (4 min)."


def test_an_ingredient_with_a_unit() -> None:
    assert str(ingredient("1/2 cup brown sugar")) == "1/2 cup brown sugar"


def test_an_ingredient_that_is_counted() -> None:
    found = ingredient("3 egg")
    assert (found.unit, found.name) == ("", "egg")


def test_an_ingredient_without_an_amount() -> None:
    with pytest.raises(BadRecipe, match="how much is `some salt`"):
        ingredient("some salt")


def test_a_recipe_for_nobody() -> None:
    with pytest.raises(BadRecipe, match="Soup: for how many"):
        read("Soup\n1 cup water\n\nBoil.")


def test_show(ladle: Callable[..., str]) -> None:
    """A recipe is its name and its ingredients.

    Tutorial block:
        # What is in a recipe
        ladle show recipes/pancakes.txt
    """
    assert ladle("show", "recipes/pancakes.txt").splitlines() == [
        "Pancakes (for 4)",
        "  2 cup milk",
        "  1/2 tsp salt",
        "  3 egg",
        "  2 cup flour",
    ]


def test_show_a_file_that_is_not_there(ladle: Callable[..., str]) -> None:
    assert "No such file" in ladle("show", "recipes/cake.txt", code=1)


def test_scale_up(ladle: Callable[..., str]) -> None:
    """Twice the people, twice of everything.

    Tutorial block:
        # For more people, or for fewer
        ladle scale recipes/pancakes.txt 8
        ladle scale recipes/pancakes.txt 2
    """
    assert "  4 cup milk" in ladle("scale", "recipes/pancakes.txt", "8").splitlines()


def test_scale_down() -> None:
    half = read(TEA.replace("for 1", "for 2")).scaled(1)
    assert [str(one) for one in half.ingredients] == ["1/2 cup water", "1 tsp leaves"]


def test_scale_for_three() -> None:
    assert str(read(TEA).scaled(3)) == "Tea (for 3)\n  3 cup water\n  6 tsp leaves"


def test_scale_to_the_same() -> None:
    assert read(TEA).scaled(1) == read(TEA)

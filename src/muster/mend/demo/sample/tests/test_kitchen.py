"""Units, shopping and time."""

from collections.abc import Callable
from fractions import Fraction

from ladle import times, units


def test_convert_spoons(ladle: Callable[..., str]) -> None:
    assert ladle("convert", "6", "tsp", "tbsp") == "2 tbsp"


def test_convert_to_a_quarter(ladle: Callable[..., str]) -> None:
    """A quarter is written `1/4`.

    Tutorial block:
        # A quarter is written 1/4, never as a decimal
        ladle convert 4 tbsp cup
    """
    assert ladle("convert", "4", "tbsp", "cup") == "0.25 cup"


def test_convert_an_unknown_unit(ladle: Callable[..., str]) -> None:
    assert ladle("convert", "1", "bucket", "cup", code=1) == "ladle: bucket is no unit that I know"


def test_convert_to_metric() -> None:
    """A teaspoon is 5 ml, so a cup is 240.

    Tutorial block:
        # ... and in metric units
        ladle convert 2 cup ml
    """
    assert units.convert(Fraction(2), "cup", "ml") == 480


def test_shop_for_one(ladle: Callable[..., str]) -> None:
    assert ladle("shop", "recipes/bread.txt").splitlines()[0] == "3 1/2 cup flour"


def test_shop_for_two(ladle: Callable[..., str]) -> None:
    """What two recipes need is added up.

    Tutorial block:
        # What to buy for several recipes
        ladle shop recipes/pancakes.txt recipes/bread.txt
    """
    lines = ladle("shop", "recipes/pancakes.txt", "recipes/bread.txt").splitlines()
    assert "5 1/2 cup flour" in lines
    assert "2 1/2 tsp salt" in lines


def test_time_of_steps() -> None:
    assert times.minutes("Knead (10 min), then let it rise (1 h 30 min).") == 100


def test_time_in_hours() -> None:
    assert times.minutes("Roast it (2 h).") == 120


def test_time(ladle: Callable[..., str]) -> None:
    """The times of all steps are added up.

    Tutorial block:
        # How long it takes
        ladle time recipes/pancakes.txt
    """
    assert ladle("time", "recipes/pancakes.txt") == "55 min"


def test_time_is_shown_in_hours_and_minutes() -> None:
    assert times.show(95) == "1 h 35 min"


def test_missing(ladle: Callable[..., str]) -> None:
    """What is in the house already is left out.

    Tutorial block:
        # What is not in the house yet
        ladle missing recipes/pancakes.txt --have milk,salt
    """
    assert ladle("missing", "recipes/pancakes.txt", "--have", "milk,salt") == "egg, flour"

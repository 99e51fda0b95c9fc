"""Amounts are read and written as cooks do."""

from fractions import Fraction

from ladle import amounts


def test_a_whole_number() -> None:
    assert amounts.parse("2") == 2


def test_a_fraction() -> None:
    assert amounts.parse(" 1/2 ") == Fraction(1, 2)


def test_a_number_and_a_fraction() -> None:
    assert amounts.parse("1 1/2") == Fraction(3, 2)


def test_a_larger_number_and_a_fraction() -> None:
    assert amounts.parse("12 3/4") == Fraction(51, 4)


def test_whole_numbers_are_written_plainly() -> None:
    assert amounts.show(Fraction(4, 2)) == "2"


def test_parts_are_written_as_fractions() -> None:
    assert amounts.show(Fraction(3, 4)) == "3/4"


def test_what_is_more_than_one_has_both() -> None:
    assert amounts.show(Fraction(7, 4)) == "1 3/4"

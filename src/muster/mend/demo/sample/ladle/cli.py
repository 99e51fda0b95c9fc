"""The command line."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ladle import amounts, times, units
from ladle.recipe import BadRecipe, Recipe, read
from ladle.shopping import missing, shopping


def main(argv: Sequence[str] | None = None) -> int:
    """Do what is asked; the exit code."""
    asked = _parser().parse_args(argv)
    try:
        print(asked.answer(asked))
    except (BadRecipe, units.UnknownUnit, FileNotFoundError) as error:
        print(f"ladle: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ladle", description="Reads recipes, scales them, and says what to buy")
    commands = parser.add_subparsers(required=True)

    show = commands.add_parser("show", help="what is in a recipe")
    show.add_argument("file")
    show.set_defaults(answer=lambda asked: str(_recipe(asked.file)))

    scale = commands.add_parser("scale", help="a recipe for another number of people")
    scale.add_argument("file")
    scale.add_argument("people", type=int)
    scale.set_defaults(answer=lambda asked: str(_recipe(asked.file).scaled(asked.people)))

    convert = commands.add_parser("convert", help="an amount in another unit")
    convert.add_argument("amount", type=amounts.parse)
    convert.add_argument("unit")
    convert.add_argument("to")
    convert.set_defaults(answer=_converted)

    shop = commands.add_parser("shop", help="what to buy for some recipes")
    shop.add_argument("files", nargs="+")
    shop.set_defaults(answer=lambda asked: "\n".join(map(str, shopping(map(_recipe, asked.files)))))

    time = commands.add_parser("time", help="how long a recipe takes")
    time.add_argument("file")
    time.set_defaults(answer=lambda asked: times.show(times.minutes(_recipe(asked.file).steps)))

    lacking = commands.add_parser("missing", help="what is not in the house")
    lacking.add_argument("file")
    lacking.add_argument("--have", default="", help="what is, with commas")
    lacking.set_defaults(answer=lambda asked: ", ".join(missing(_recipe(asked.file), asked.have.split(","))))
    return parser


def _recipe(file: str) -> Recipe:
    return read(Path(file).read_text(encoding="utf-8"))


def _converted(asked: argparse.Namespace) -> str:
    found = units.convert(asked.amount, asked.unit, asked.to)
    return f"{amounts.show(found)} {asked.to}"

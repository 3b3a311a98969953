"""The command line: what can be asked, and how it is answered."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dynamap.cli.recipes import NotCopied, UnknownRecipe, copy_recipe, find_recipe, find_recipes, installed_version

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; answers the exit code: 0, or 1 with a line on standard error that says why not."""
    given = _parser().parse_args(arguments)
    try:
        for line in _answer(given):
            sys.stdout.write(f"{line}\n")
        hint = _hint(given)
        if hint is not None:
            sys.stderr.write(f"dynamap: {hint}\n")
    except (NotCopied, UnknownRecipe, OSError) as error:
        sys.stderr.write(f"dynamap: {_words(error)}\n")
        return 1
    return 0


def _words(error: Exception) -> str:
    """What went wrong, without the number that the system has for it."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _version() -> str:
    installed = installed_version()
    return "dynamap, not installed: its version is not known" if installed is None else f"dynamap {installed}"


def _answer(given: argparse.Namespace) -> list[str]:
    if given.what == "list":
        recipes = find_recipes()
        width = max((len(recipe.name) for recipe in recipes), default=0)
        return [f"{recipe.name:{width}}  {recipe.summary}" for recipe in recipes]
    recipe = find_recipe(given.name)
    if given.what == "show":
        return [recipe.module(asynchronous=given.asynchronous).read_text(encoding="utf-8").rstrip("\n")]
    return [str(path) for path in copy_recipe(recipe, given.target, asynchronous=given.asynchronous)]


def _hint(given: argparse.Namespace) -> str | None:
    """What else is needed for what was answered; not on standard output, which other programs may read."""
    return "its test needs pytest-asyncio" if given.what == "copy" and given.asynchronous else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dynamap", description="What dynamap brings along beside the library.")
    parser.add_argument("--version", action="version", version=_version())
    recipes = parser.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "recipes", help="tested modules to copy into a service"
    )
    commands = recipes.add_subparsers(dest="what", required=True, metavar="COMMAND")
    commands.add_parser("list", help="what there is")
    show = commands.add_parser("show", help="print a recipe")
    copy = commands.add_parser("copy", help="copy a recipe and its test into a folder, never over a changed file")
    for command in (show, copy):
        command.add_argument("name", metavar="NAME")
    copy.add_argument("target", metavar="TARGET", type=Path, help="a folder; it is made if it is not there")
    for command in (show, copy):
        command.add_argument("--async", dest="asynchronous", action="store_true", help="the form for asyncio")
    return parser

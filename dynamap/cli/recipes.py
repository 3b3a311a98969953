"""The recipes that come along: finding them, and copying them without ever overwriting what was changed."""

from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = [
    "NotCopied",
    "Recipe",
    "UnknownRecipe",
    "copy_recipe",
    "find_recipe",
    "find_recipes",
    "installed_version",
]

# in the wheel they lie beside this module, in a checkout at its top
_PLACES = (Path(__file__).parent / "copyable", Path(__file__).parents[2] / "recipes")
_HEADER = re.compile(r"# Copied from dynamap \S+, (\S+); sha256 of what follows: ([0-9a-f]{64})\n")


class UnknownRecipe(Exception):
    """There is no recipe of this name."""


class NotCopied(Exception):
    """A file stands where a copy or its folder would go, and is not an unchanged copy of the same form itself."""


@dataclass(frozen=True)
class Recipe:
    """One recipe: its name, what it is in a sentence, and where its files are."""

    name: str
    summary: str
    place: Path

    def module(self, *, asynchronous: bool) -> Path:
        """The recipe itself."""
        return self._folder(asynchronous=asynchronous) / f"{self.name}.py"

    def test(self, *, asynchronous: bool) -> Path:
        """The test that goes along."""
        return self._folder(asynchronous=asynchronous) / "tests" / f"test_recipe_{self.name}.py"

    def _folder(self, *, asynchronous: bool) -> Path:
        return self.place / "aio" if asynchronous else self.place


def find_recipes() -> list[Recipe]:
    """All recipes, by name."""
    place = next((each for each in _PLACES if (each / "aio").is_dir()), _PLACES[0])
    return [Recipe(path.stem, _summary(path), place) for path in sorted((place / "aio").glob("*.py"))]


def _summary(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def find_recipe(name: str) -> Recipe:
    """The recipe of this name. Raises UnknownRecipe."""
    recipes = find_recipes()
    for recipe in recipes:
        if recipe.name == name:
            return recipe
    msg = f"there is no recipe {name!r}; there are {', '.join(recipe.name for recipe in recipes)}"
    raise UnknownRecipe(msg)


def copy_recipe(recipe: Recipe, target: Path, *, asynchronous: bool = False) -> list[Path]:
    """Copy the module and its test into the folder *target*, made if it is not there; answers what was written.

    The first line of each copy names the version and the origin, and holds a digest of the rest: a copy that nobody
    changed is replaced by a newer one. Raises NotCopied, before anything is written, where another file stands.
    """
    _check_folder(target)
    copies = _copies(recipe, target, asynchronous=asynchronous)
    target.mkdir(parents=True, exist_ok=True)
    for path, text in copies.items():
        path.write_text(text, encoding="utf-8", newline="\n")
    return list(copies)


def _check_folder(target: Path) -> None:
    for place in (target, *target.parents):
        if place.exists() and not place.is_dir():
            msg = f"{place} is a file: nothing was written; choose a folder"
            raise NotCopied(msg)


def _copies(recipe: Recipe, target: Path, *, asynchronous: bool) -> dict[Path, str]:
    """Where each file goes, and its text with the header. Raises NotCopied for a file that it must not replace."""
    package = "recipes.aio" if asynchronous else "recipes"
    module, test = recipe.module(asynchronous=asynchronous), recipe.test(asynchronous=asynchronous)
    name = f"{package}.{recipe.name}"
    tested = test.read_text(encoding="utf-8").replace(name, f"{_package_of(target)}{recipe.name}")
    files = (
        (target / module.name, name, module.read_text(encoding="utf-8")),
        (target / test.name, f"{package}.tests.{test.stem}", tested),
    )
    for path, origin, _ in files:
        _check_replaceable(path, origin, asynchronous=asynchronous)
    return {path: _with_header(text, origin) for path, origin, text in files}


def _package_of(folder: Path) -> str:
    """What comes before the name of a module in this folder: the packages that it lies in, each with a dot."""
    packages = ""
    here = folder.resolve()
    while (here / "__init__.py").exists():
        packages = f"{here.name}.{packages}"
        here = here.parent
    return packages


def installed_version() -> str | None:
    """The version of dynamap, None where it is not installed but lies on the path."""
    try:
        return version("dynamap")
    except PackageNotFoundError:
        return None


def _with_header(text: str, origin: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()
    release = installed_version() or "unknown"
    return f"# Copied from dynamap {release}, {origin}; sha256 of what follows: {digest}\n{text}"


def _check_replaceable(path: Path, origin: str, *, asynchronous: bool) -> None:
    if not path.exists():
        return
    # what is no text is no copy either
    head, _, rest = path.read_text(encoding="utf-8", errors="replace").partition("\n")
    found = _HEADER.fullmatch(head + "\n")
    if found is None or hashlib.sha256(rest.encode()).hexdigest() != found[2]:
        what = "was changed since it was copied" if found else "is no copy of a recipe"
        msg = f"{path} {what}: nothing was written; move it away, or choose another folder"
        raise NotCopied(msg)
    if found[1] != origin:
        # whoever calls it would find other functions in its place
        form, remedy = ("threads", "leave out --async") if asynchronous else ("asyncio", "say --async")
        msg = (
            f"{path} is the form for {form}, {found[1]}: nothing was written; {remedy}, move it away, or choose "
            f"another folder"
        )
        raise NotCopied(msg)

"""The command: recipes are listed, shown and copied, and a file that somebody changed is never overwritten."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from dynamap.cli import main
from dynamap.cli.recipes import find_recipes

RECIPES = Path(__file__).parents[2] / "recipes"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "recipes", "list")
    assert (code, err) == (0, "")
    listed = [line.split()[0] for line in out.splitlines()]
    assert listed == sorted(path.stem for path in (RECIPES / "aio").glob("*.py"))
    assert "Optimistic locking: read an item, decide, and write only if nobody wrote in between" in out


@pytest.mark.parametrize(("option", "folder"), [((), RECIPES), (("--async",), RECIPES / "aio")])
def test_show(capsys: pytest.CaptureFixture[str], option: tuple[str, ...], folder: Path) -> None:
    code, out, err = run(capsys, "recipes", "show", "optimistic_locking", *option)
    assert (code, err) == (0, "")
    assert out == (folder / "optimistic_locking.py").read_text(encoding="utf-8")


def test_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "recipes", "show", "locking")
    names = ", ".join(recipe.name for recipe in find_recipes())
    assert (code, out, err) == (1, "", f"dynamap: there is no recipe 'locking'; there are {names}\n")


@pytest.mark.parametrize("option", [(), ("--async",)], ids=["plain", "async"])
@pytest.mark.parametrize("name", [recipe.name for recipe in find_recipes()])
def test_a_copy_is_the_recipe_with_a_header(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, option: tuple[str, ...]
) -> None:
    target = tmp_path / "deep" / "down"
    code, out, err = run(capsys, "recipes", "copy", name, str(target), *option)
    assert err == ("dynamap: its test needs pytest-asyncio\n" if option else "")
    written = [target / f"{name}.py", target / f"test_recipe_{name}.py"]
    assert (code, out.splitlines()) == (0, [str(path) for path in written])
    head, _, rest = written[0].read_text(encoding="utf-8").partition("\n")
    origin = f"recipes.aio.{name}" if option else f"recipes.{name}"
    assert head.startswith(f"# Copied from dynamap {version('dynamap')}, {origin}; sha256 of what follows: ")
    assert rest == (RECIPES / ("aio" if option else "") / f"{name}.py").read_text(encoding="utf-8")
    test = written[1].read_text(encoding="utf-8")
    assert f"from {name} import" in test
    assert "from recipes" not in test


def test_in_a_package_the_test_imports_from_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for folder in ("shop", "shop/safe"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path / "shop" / "safe"))
    test = tmp_path / "shop" / "safe" / "test_recipe_optimistic_locking.py"
    assert "from shop.safe.optimistic_locking import" in test.read_text(encoding="utf-8")


def test_an_unchanged_copy_is_replaced(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for _ in range(2):
        assert run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path))[0] == 0
    assert run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path), "--async")[0] == 0
    assert "async def" in (tmp_path / "optimistic_locking.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["optimistic_locking.py", "test_recipe_optimistic_locking.py"])
def test_a_changed_copy_stays(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path))
    path = tmp_path / name
    path.write_text(path.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    before = {each: each.read_bytes() for each in tmp_path.iterdir()}
    code, out, err = run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path), "--async")
    remedy = "nothing was written; move it away, or choose another folder"
    assert (code, out, err) == (1, "", f"dynamap: {path} was changed since it was copied: {remedy}\n")
    assert {each: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_a_file_of_the_users_own_stays(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "optimistic_locking.py"
    path.write_text("mine = True\n", encoding="utf-8")
    code, _, err = run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path))
    remedy = "nothing was written; move it away, or choose another folder"
    assert (code, err) == (1, f"dynamap: {path} is no copy of a recipe: {remedy}\n")
    assert path.read_text(encoding="utf-8") == "mine = True\n"


def test_a_folder_that_cannot_be_made(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, err = run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path / "file" / "inside"))
    assert code == 1
    assert err.startswith("dynamap: ")


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "dynamap", "recipes"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: dynamap recipes" in done.stderr

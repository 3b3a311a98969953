"""The command: recipes are listed, shown and copied, and a file that somebody changed is never overwritten."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
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
    for name in ("optimistic_locking.py", "test_recipe_optimistic_locking.py"):
        assert run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path))[0] == 0
        # as an older release has copied it
        older = "mine = True\n"
        digest = hashlib.sha256(older.encode()).hexdigest()
        head = (tmp_path / name).read_text(encoding="utf-8").partition(";")[0]
        (tmp_path / name).write_text(f"{head}; sha256 of what follows: {digest}\n{older}", encoding="utf-8")
    assert run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path))[0] == 0
    assert "mine" not in (tmp_path / "optimistic_locking.py").read_text(encoding="utf-8")
    assert "mine" not in (tmp_path / "test_recipe_optimistic_locking.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (
            (),
            ("--async",),
            "is the form for threads, recipes.optimistic_locking: nothing was written; leave out --async",
        ),
        (("--async",), (), "is the form for asyncio, recipes.aio.optimistic_locking: nothing was written; say --async"),
    ],
    ids=["plain", "async"],
)
def test_a_copy_of_the_other_form_stays(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, before: tuple[str, ...], after: tuple[str, ...], what: str
) -> None:
    run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path), *before)
    written = {each: each.read_bytes() for each in tmp_path.iterdir()}
    code, out, err = run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path), *after)
    path = tmp_path / "optimistic_locking.py"
    assert (code, out, err) == (1, "", f"dynamap: {path} {what}, move it away, or choose another folder\n")
    assert {each: each.read_bytes() for each in tmp_path.iterdir()} == written
    assert run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path), *before)[0] == 0


@pytest.mark.parametrize("name", ["optimistic_locking.py", "test_recipe_optimistic_locking.py"])
def test_a_changed_copy_stays(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path), "--async")
    path = tmp_path / name
    path.write_text(path.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    before = {each: each.read_bytes() for each in tmp_path.iterdir()}
    code, out, err = run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path), "--async")
    remedy = "nothing was written; move it away, or choose another folder"
    assert (code, out, err) == (1, "", f"dynamap: {path} was changed since it was copied: {remedy}\n")
    assert {each: each.read_bytes() for each in tmp_path.iterdir()} == before


@pytest.mark.parametrize("content", [b"mine = True\n", b"mine = '\xe9'\n"])
def test_a_file_of_the_users_own_stays(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "optimistic_locking.py"
    path.write_bytes(content)
    code, _, err = run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path))
    remedy = "nothing was written; move it away, or choose another folder"
    assert (code, err) == (1, f"dynamap: {path} is no copy of a recipe: {remedy}\n")
    assert path.read_bytes() == content


@pytest.mark.parametrize("target", ["file", "file/inside", "file/deep/down"])
def test_a_file_is_no_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path, target: str) -> None:
    (tmp_path / "file").touch()
    code, out, err = run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path / target))
    expected = f"dynamap: {tmp_path / 'file'} is a file: nothing was written; choose a folder\n"
    assert (code, out, err) == (1, "", expected)


def test_what_the_system_refuses_is_said_in_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    code, out, err = run(capsys, "recipes", "copy", "optimistic_locking", str(tmp_path / "dangling"))
    assert (code, out, err) == (1, "", f"dynamap: {tmp_path / 'dangling'}: File exists\n")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"dynamap {version('dynamap')}\n"


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a folder that was put on the path by hand."""

    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(sys.modules["dynamap.cli.recipes"], "version", missing)


@pytest.mark.usefixtures("not_installed")
def test_without_an_installation_the_version_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == "dynamap, not installed: its version is not known\n"


@pytest.mark.usefixtures("not_installed")
def test_without_an_installation_recipes_are_copied(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "inside"
    copies = [target / "optimistic_locking.py", target / "test_recipe_optimistic_locking.py"]
    for _ in ("new", "over the unchanged copy"):
        code, out, err = run(capsys, "recipes", "copy", "optimistic_locking", str(target))
        assert (code, out.splitlines(), err) == (0, [str(path) for path in copies], "")
    heads = [path.read_text(encoding="utf-8").partition(";")[0] for path in copies]
    assert heads == [
        "# Copied from dynamap unknown, recipes.optimistic_locking",
        "# Copied from dynamap unknown, recipes.tests.test_recipe_optimistic_locking",
    ]


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "dynamap", "recipes"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: dynamap recipes" in done.stderr

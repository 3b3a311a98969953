"""What the pages point to is there: files, folders and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(
            page
            for folder in ("benchmarks", "docs", "examples", "recipes", "tests")
            for page in ROOT.glob(f"{folder}/**/*.md")
        ),
    ]
)
_FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1[`~]*\s*?$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s+<?([^\s>]+)>?", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_NAMED = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")


@cache
def anchors(text: str) -> set[str]:
    """The names by which GitHub knows the headings of a page."""
    text = _FENCED.sub("", text)
    names = set(_NAMED.findall(text))
    for heading in _HEADING.findall(text):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        base = re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")
        name, number = base, 0
        while name in names:
            number += 1
            name = f"{base}-{number}"
        names.add(name)
    return names


def links(text: str) -> Iterator[str]:
    """Where a page points to, without what is code."""
    for inline, defined in _LINK.findall(_CODE.sub("code", _FENCED.sub("", text))):
        yield inline or defined


def _has(page: Path, anchor: str) -> bool:
    return page.suffix == ".md" and anchor in anchors(page.read_text(encoding="utf-8"))


def broken(page: Path, root: Path) -> list[str]:
    """The links of a page that lead nowhere; addresses on the web are not looked at."""
    text = page.read_text(encoding="utf-8")
    found: list[str] = []
    for link in links(text):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        inside = not path.startswith("/") and target.exists() and target.is_relative_to(root.resolve())
        if not inside or (anchor and not _has(target, anchor)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page, ROOT) == []


def test_the_pages_are_found() -> None:
    found = {page.relative_to(ROOT).as_posix() for page in PAGES}
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/start.md", "docs/recipes/choosing.md"} <= found


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "recipes" / "aio").glob("*.py")))
def test_every_recipe_has_a_page_that_others_point_to(name: str) -> None:
    assert (ROOT / "docs" / "recipes" / f"{name}.md").is_file()
    assert f"docs/recipes/{name}.md" in links((ROOT / "README.md").read_text(encoding="utf-8"))
    assert f"{name}.md" in links((ROOT / "docs" / "recipes" / "choosing.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "link",
    ["missing.md", "other.md#nowhere", "#nowhere", "folder/missing.md", "/other.md", "../outside.md", "program.py#L1"],
)
def test_a_link_that_leads_nowhere_is_found(tmp_path: Path, link: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.md").touch()
    (root / "other.md").write_text("# Title\n\n```\n# nowhere\n```\n", encoding="utf-8")
    (root / "program.py").touch()
    page = root / "page.md"
    for text in (f"# Page\n\n[text]({link})", f'[text]({link} "title")', f"[text][1]\n\n[1]: {link}"):
        page.write_text(text, encoding="utf-8")
        assert broken(page, root) == [link]


def test_a_link_that_leads_somewhere_is_fine(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "other.md").write_text("## `put()`, and more\n## One\n## One\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "# Top\n[a](#top) [b](folder) [c](folder/other.md#put-and-more) [d](folder/other.md#one-1)\n"
        "[e](https://example.org/x.md#y) `[f](code.md)`\n```\n[g](fenced.md)\n```\n",
        encoding="utf-8",
    )
    assert broken(page, tmp_path) == []

"""docs/reference.md is what its generator makes of the sources, and holds every public name."""

from __future__ import annotations

import re

import pytest

import dynamap
import dynamap.testing
from docs import generate_reference
from docs.generate_reference import PAGE, render

WRITTEN = PAGE.read_text(encoding="utf-8")


def test_the_page_is_up_to_date() -> None:
    assert render() == WRITTEN, "docs/reference.md is out of date: run `python docs/generate_reference.py`"


@pytest.mark.parametrize("package", [dynamap, dynamap.testing], ids=["dynamap", "testing"])
def test_every_public_name_is_described_once(package: object) -> None:
    headings = re.findall(r"^### (\w+)$", WRITTEN, re.MULTILINE)
    assert [name for name in getattr(package, "__all__", []) if headings.count(name) != 1] == []


def test_every_name_and_method_has_a_text() -> None:
    sections = re.split(r"^### ", WRITTEN, flags=re.MULTILINE)[1:]
    empty = [
        section.split("\n")[0]
        for section in sections
        if len(re.sub(r"```.*?```", "", section, flags=re.DOTALL).split()) < 2
    ]
    silent = re.findall(r"^- `(?:\w+\(.*|\w+: .*)`\n+(?=- `|#|As \[)", WRITTEN, re.MULTILINE)
    # an alias of types has nothing to add to what it stands for
    assert empty == ["AnyFault"]
    assert silent == []


def test_every_link_leads_somewhere() -> None:
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", WRITTEN, flags=re.DOTALL), re.MULTILINE)
    anchors: list[str] = []
    for heading in headings:
        slug = heading.lower().replace(" ", "-")
        number = sum(each.lower().replace(" ", "-") == slug for each in headings[: len(anchors)])
        anchors.append(f"{slug}-{number}" if number else slug)
    # names that differ in case only share a slug: Condition and CONDITION, the group and the class Write
    for name, anchor in re.findall(r"\[`(\w+)`\]\(#([\w-]+)\)", WRITTEN):
        assert headings[anchors.index(anchor)] == name


def test_a_name_from_an_unknown_module_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate_reference, "_GROUPS", ())
    with pytest.raises(LookupError, match=r"entity is defined in dynamap\.model\.declare, which is in no group"):
        generate_reference._group_of("entity", "dynamap.model.declare")

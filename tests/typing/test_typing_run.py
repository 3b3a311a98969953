"""The runner of the type checks notices a mistake that passes, and a line that should pass and does not."""

from __future__ import annotations

import pytest

from tests.typing import run
from tests.typing.run import MARK, MISTAKES, Expected, compare, expected


@pytest.mark.parametrize(
    ("line", "mark", "checker"),
    [
        ("F(Account.nope)  # E no such field", "E", None),
        ("F(Account.nope)  # E", "E", None),
        ("F(Box.value)  # E mypy: an adopted class", "E", "mypy"),
        ("F(Box.value)  # E pyright", "E", "pyright"),
        ("F(Box.value)  # E mypyish", "E", None),
        ("match result:  # e", "e", None),
    ],
)
def test_marks_are_read(line: str, mark: str, checker: str | None) -> None:
    found = MARK.search(line)
    assert found is not None
    assert (found["mark"], found["checker"]) == (mark, checker)


@pytest.mark.parametrize("line", ["print()", "print('# Every')", "print()  # Each one", "#E", "print()  # an E"])
def test_other_comments_are_no_marks(line: str) -> None:
    assert MARK.search(line) is None


def test_both_sides_of_a_disagreement_are_reported_in_order() -> None:
    wanted = Expected(must={(MISTAKES, 3): "deposit()  # E", (MISTAKES, 9): "other()  # E"}, may={(MISTAKES, 5)})
    found = {(MISTAKES, 9): "wrong", (MISTAKES, 5): "second", (MISTAKES, 7): "not\nmarked", ("dynamap/a.py", 1): "bad"}
    assert compare(wanted, found) == [
        "dynamap/a.py:1: must be no error: bad",
        f"{MISTAKES}:3: must be an error: deposit()  # E",
        f"{MISTAKES}:7: must be no error: not marked",
    ]
    assert compare(wanted, {(MISTAKES, 3): "wrong", (MISTAKES, 9): "wrong"}) == []


def test_each_checker_has_its_own_mistakes() -> None:
    mypy, pyright = expected("mypy"), expected("pyright")
    assert len(mypy.must) > 50
    assert len(pyright.must) > 50
    assert mypy.must.keys() <= pyright.must.keys() | pyright.may
    assert mypy.must.keys() != pyright.must.keys()


def test_a_disagreement_is_a_failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def agreeing(_version: str) -> dict[run.Place, str]:
        return dict(expected("mypy").must)

    def agreeing_too(_version: str) -> dict[run.Place, str]:
        return dict(expected("pyright").must)

    def silent(_version: str) -> dict[run.Place, str]:
        return {}

    monkeypatch.setattr(run, "mypy", agreeing)
    monkeypatch.setattr(run, "pyright", agreeing_too)
    assert run.main([]) == 0
    monkeypatch.setattr(run, "pyright", silent)
    assert run.main(["3.12"]) == 1
    assert "pyright, Python 3.12: 0 of" in capsys.readouterr().out

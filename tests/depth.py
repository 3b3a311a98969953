"""How many cases a test tries: few in every run, thousands in `make test-deep`."""

from __future__ import annotations

import os

__all__ = ["how_many"]


def how_many(*, quick: int, deep: int) -> int:
    """The number for this run, by the name of hypothesis's profile."""
    profile = os.environ.get("HYPOTHESIS_PROFILE", "quick")
    return {"brief": max(1, quick // 6), "deep": deep}.get(profile, quick)

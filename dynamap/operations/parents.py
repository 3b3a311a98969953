"""What is missing where something was to be changed inside of it.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["lacks_parent", "missing"]


def lacks_parent(code: str | None, message: str | None) -> bool:
    """Whether the service found nothing to change something inside of."""
    said = message or ""
    return (code or "").startswith("Validation") and "document path" in said and "invalid" in said


def missing(parents: Sequence[str]) -> str:
    """What the item has not, and what to do; *parents* are the parts that may be missing, at least one."""
    found = f"no {parents[0]}" if len(parents) == 1 else f"not all of {', '.join(parents)}"
    whole = "it" if len(parents) == 1 else "that"
    return f"the item has {found}, and nothing can be changed inside of what is not there: set {whole} as a whole first"

"""Where in a value something stands: steps, and the text that shows them."""

from __future__ import annotations

import json

__all__ = ["Path", "format_path"]

Path = tuple[str | int, ...]


def format_path(path: Path) -> str:
    """Show a path in the form that DynamoDB users know.

    >>> format_path(("lines", 2, "price"))
    '$.lines[2].price'
    >>> format_path(("prices", "a b"))
    '$.prices["a b"]'
    """
    parts = ["$"]
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif step.isidentifier():
            parts.append(f".{step}")
        else:
            parts.append(f"[{json.dumps(step)}]")
    return "".join(parts)

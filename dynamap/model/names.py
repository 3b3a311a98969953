"""Naming rules that a Table may be given."""

from __future__ import annotations

__all__ = ["camel_case"]


def camel_case(name: str) -> str:
    """An attribute name for a field name, for `Table(names=camel_case)`.

    >>> camel_case("order_lines")
    'orderLines'
    """
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)

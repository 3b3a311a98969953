"""Tables of text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def table(title: str, columns: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """The rows in columns, the first one's texts to the left and the others' to the right."""
    lines = [(title, list(columns)), *((name, list(cells)) for name, cells in rows)]
    first = max(len(name) for name, _ in lines)
    widths = [max(len(cells[position]) for _, cells in lines) for position in range(len(columns))]
    return "\n".join(
        "  ".join([name.ljust(first), *(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))]).rstrip()
        for name, cells in lines
    )


def ratio_table(title: str, ratios: Mapping[str, Mapping[str, float]], peers: Sequence[str]) -> str:
    """Peers in rows, works in columns."""
    return table(title, list(ratios), [(peer, [f"{ratios[work][peer]:.2f}" for work in ratios]) for peer in peers])

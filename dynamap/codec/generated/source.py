"""Source text of generated functions, the values that they name, and compiling both.

Nothing of a user's class stands in the text but through `repr` or as a name for a value in the namespace.
"""

from __future__ import annotations

import keyword
import linecache
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["MOST_NESTED", "Block", "Module", "plain_name"]

MOST_NESTED = 4
"""Comprehensions inside of one another in one function; CPython 3.12 and 3.13 crash on three dozen."""


def plain_name(name: str) -> bool:
    """Tell whether the name can stand in source text as it is: Python would change some that are not ASCII."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


class Block:
    """The lines of one function."""

    def __init__(self, header: str) -> None:
        self.lines = [f"{header}:"]
        self._indent = 1

    def add(self, line: str) -> None:
        self.lines.append("    " * self._indent + line)

    @contextmanager
    def inside(self, header: str) -> Generator[None]:
        """Indent what is added meanwhile, below the header."""
        self.add(f"{header}:")
        self._indent += 1
        yield
        self._indent -= 1


class Module:
    """Functions that are compiled together, and the namespace in which they run."""

    def __init__(self, **given: Any) -> None:
        self._namespace: dict[str, Any] = given
        self._names: dict[int, str] = {id(value): name for name, value in given.items()}
        self._blocks: list[Block] = []
        self._count = 0

    def fresh(self, word: str) -> str:
        """Give a name that nothing else has."""
        self._count += 1
        return f"{word}_{self._count}"

    def constant(self, value: object, word: str) -> str:
        """Give the name of a value; the same object has one name."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = self.fresh(word)
            self._namespace[name] = value
        return name

    def add(self, block: Block) -> None:
        self._blocks.append(block)

    @property
    def source(self) -> str:
        return "\n\n\n".join("\n".join(block.lines) for block in self._blocks) + "\n"

    def compile(self, title: str, name: str) -> Callable[..., Any]:
        """Compile all functions and give the one of that name; tracebacks show its lines under `<title>`."""
        source = self.source
        filename = f"<{title}>"
        number = 1
        while filename in linecache.cache:
            number += 1
            filename = f"<{title}, {number}>"
        # no modification time: linecache then keeps the lines for as long as they are there
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        exec(compile(source, filename, "exec"), self._namespace)  # noqa: S102  (the text is ours, see above)
        function: Callable[..., Any] = self._namespace[name]
        weakref.finalize(function, linecache.cache.pop, filename, None).atexit = False
        return function

"""Names of a package that are loaded when they are first asked for, so that a program pays for what it uses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["exports"]


def exports(
    package: str, modules: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Give the `__getattr__` and the `__dir__` of a package, from its modules and what each gives to it.

    Checkers read the same names from imports under `if TYPE_CHECKING`.
    """
    homes = {name: module for module, names in modules.items() for name in names}
    found = vars(sys.modules[package])

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg, name=name, obj=sys.modules[package])
        value = getattr(import_module(home), name)
        # from now on it is found without asking here
        found[name] = value
        return value

    def names() -> list[str]:
        return sorted({*found, *homes})

    return load, names

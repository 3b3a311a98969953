"""Tools for the tests of programs that use dynamap."""

from dynamap.testing.embedded import embedded

__all__ = ["embedded"]

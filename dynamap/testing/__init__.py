"""Tools for the tests of programs that use dynamap."""

from dynamap.testing.embedded import embedded
from dynamap.testing.servers import ServerUnavailable, dynalite, ministack, roto

__all__ = ["ServerUnavailable", "dynalite", "embedded", "ministack", "roto"]

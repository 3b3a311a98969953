"""Tools for the tests of programs that use dynamap."""

from dynamap.testing.embedded import embedded
from dynamap.testing.faults import Fault, FaultPlan
from dynamap.testing.servers import ServerUnavailable, dynalite, ministack, roto

__all__ = ["Fault", "FaultPlan", "ServerUnavailable", "dynalite", "embedded", "ministack", "roto"]

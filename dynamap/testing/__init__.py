"""Tools for the tests of programs that use dynamap."""

from dynamap.testing.bench import Bench, Items, Outcome, Run, ScheduleFailed
from dynamap.testing.embedded import embedded
from dynamap.testing.faults import (
    AnyFault,
    Cancellation,
    ClientCrashed,
    Crash,
    Fault,
    FaultPlan,
    Refusal,
    Unprocessed,
    every_fault,
)
from dynamap.testing.memory import MemoryEngine, memory_store, memory_store_async
from dynamap.testing.servers import ServerUnavailable, dynalite, ministack, roto
from dynamap.testing.simulation.clocks import Clocks
from dynamap.testing.simulation.records import Record
from dynamap.testing.simulation.schedules import Schedule, schedules

__all__ = [
    "AnyFault",
    "Bench",
    "Cancellation",
    "ClientCrashed",
    "Clocks",
    "Crash",
    "Fault",
    "FaultPlan",
    "Items",
    "MemoryEngine",
    "Outcome",
    "Record",
    "Refusal",
    "Run",
    "Schedule",
    "ScheduleFailed",
    "ServerUnavailable",
    "Unprocessed",
    "dynalite",
    "embedded",
    "every_fault",
    "memory_store",
    "memory_store_async",
    "ministack",
    "roto",
    "schedules",
]

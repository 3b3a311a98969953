"""A small, strict DynamoDB in memory: microseconds for each call, so that schedules can be tried by the thousand."""

from dynamap.testing.memory.engine import MemoryEngine, Snapshot

__all__ = ["MemoryEngine", "Snapshot"]

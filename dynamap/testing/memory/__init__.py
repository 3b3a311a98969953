"""A small, strict DynamoDB in memory: microseconds for each call, so that schedules can be tried by the thousand."""

from dynamap.testing.memory.engine import MemoryEngine, Snapshot
from dynamap.testing.memory.stores import EngineDriver, memory_store, memory_store_async

__all__ = ["EngineDriver", "MemoryEngine", "Snapshot", "memory_store", "memory_store_async"]

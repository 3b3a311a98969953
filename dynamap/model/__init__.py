"""What classes and tables declare: keys, attributes, versions."""

from dynamap.model.declare import entity, mapped
from dynamap.model.entities import Entity, Layout, Resolved
from dynamap.model.evolving import evolve
from dynamap.model.names import camel_case
from dynamap.model.table import Key, Table

__all__ = ["Entity", "Key", "Layout", "Resolved", "Table", "camel_case", "entity", "evolve", "mapped"]

"""What classes and tables declare: keys, attributes, versions, indexes."""

from dynamap.model.declare import entity, mapped
from dynamap.model.entities import Entity
from dynamap.model.evolving import evolve
from dynamap.model.indexes import GlobalIndex, Index, IndexUse, LocalIndex, PhysicalIndex
from dynamap.model.json_writing import json_item
from dynamap.model.keys import Key, KeyPart
from dynamap.model.layout import Layout
from dynamap.model.names import camel_case
from dynamap.model.places import Resolved, value_at, wire_at
from dynamap.model.stored import UNREAD, StoredItem, StoredItems, joint_struct, whole_items
from dynamap.model.table import Table

__all__ = [
    "UNREAD",
    "Entity",
    "GlobalIndex",
    "Index",
    "IndexUse",
    "Key",
    "KeyPart",
    "Layout",
    "LocalIndex",
    "PhysicalIndex",
    "Resolved",
    "StoredItem",
    "StoredItems",
    "Table",
    "camel_case",
    "entity",
    "evolve",
    "joint_struct",
    "json_item",
    "mapped",
    "value_at",
    "whole_items",
    "wire_at",
]

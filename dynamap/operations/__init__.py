"""Operations: frozen builders, one file each, and what they share."""

from typing import TYPE_CHECKING

from dynamap.late import exports

if TYPE_CHECKING:
    from dynamap.operations.base import Applied, Attempt, Operation, Refused, Runtime, Scope, Stores
    from dynamap.operations.batch_get import GetMany
    from dynamap.operations.batch_write import DeleteMany, PutMany
    from dynamap.operations.check import Check
    from dynamap.operations.cursors import CursorKeys, cursor_keys
    from dynamap.operations.delete import Delete, DeleteReturning
    from dynamap.operations.execute import Execute
    from dynamap.operations.get import Get, Readable
    from dynamap.operations.guards import Guard, guard_of_version
    from dynamap.operations.index_view import IndexView
    from dynamap.operations.item_key import ItemKey
    from dynamap.operations.multi_query import JointScope, MultiQuery
    from dynamap.operations.observing import CallInfo, Capacity, Counting
    from dynamap.operations.pacing import Progress
    from dynamap.operations.pages import Page
    from dynamap.operations.put import Put, PutReturning
    from dynamap.operations.query import Query
    from dynamap.operations.scan import Scan
    from dynamap.operations.tables import create_table, delete_table
    from dynamap.operations.targets import Target
    from dynamap.operations.transact import Transacted, Transaction
    from dynamap.operations.transact_get import TransactGet
    from dynamap.operations.update import Rewrite, Update, UpdateItem, UpdateReturning
    from dynamap.operations.upsert import Upsert, UpsertReturning
else:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "dynamap.operations.base": ("Applied", "Attempt", "Operation", "Refused", "Runtime", "Scope", "Stores"),
            "dynamap.operations.batch_get": ("GetMany",),
            "dynamap.operations.batch_write": ("DeleteMany", "PutMany"),
            "dynamap.operations.check": ("Check",),
            "dynamap.operations.cursors": ("CursorKeys", "cursor_keys"),
            "dynamap.operations.delete": ("Delete", "DeleteReturning"),
            "dynamap.operations.execute": ("Execute",),
            "dynamap.operations.get": ("Get", "Readable"),
            "dynamap.operations.guards": ("Guard", "guard_of_version"),
            "dynamap.operations.index_view": ("IndexView",),
            "dynamap.operations.item_key": ("ItemKey",),
            "dynamap.operations.multi_query": ("JointScope", "MultiQuery"),
            "dynamap.operations.observing": ("CallInfo", "Capacity", "Counting"),
            "dynamap.operations.pacing": ("Progress",),
            "dynamap.operations.pages": ("Page",),
            "dynamap.operations.put": ("Put", "PutReturning"),
            "dynamap.operations.query": ("Query",),
            "dynamap.operations.scan": ("Scan",),
            "dynamap.operations.tables": ("create_table", "delete_table"),
            "dynamap.operations.targets": ("Target",),
            "dynamap.operations.transact": ("Transacted", "Transaction"),
            "dynamap.operations.transact_get": ("TransactGet",),
            "dynamap.operations.update": ("Rewrite", "Update", "UpdateItem", "UpdateReturning"),
            "dynamap.operations.upsert": ("Upsert", "UpsertReturning"),
        },
    )

__all__ = [
    "Applied",
    "Attempt",
    "CallInfo",
    "Capacity",
    "Check",
    "Counting",
    "CursorKeys",
    "Delete",
    "DeleteMany",
    "DeleteReturning",
    "Execute",
    "Get",
    "GetMany",
    "Guard",
    "IndexView",
    "ItemKey",
    "JointScope",
    "MultiQuery",
    "Operation",
    "Page",
    "Progress",
    "Put",
    "PutMany",
    "PutReturning",
    "Query",
    "Readable",
    "Refused",
    "Rewrite",
    "Runtime",
    "Scan",
    "Scope",
    "Stores",
    "Target",
    "TransactGet",
    "Transacted",
    "Transaction",
    "Update",
    "UpdateItem",
    "UpdateReturning",
    "Upsert",
    "UpsertReturning",
    "create_table",
    "cursor_keys",
    "delete_table",
    "guard_of_version",
]

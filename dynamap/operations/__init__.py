"""Operations: frozen builders, one file each, and what they share."""

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
from dynamap.operations.transact import Transacted, Transaction
from dynamap.operations.transact_get import TransactGet
from dynamap.operations.update import Rewrite, Update, UpdateItem, UpdateReturning
from dynamap.operations.upsert import Upsert, UpsertReturning

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

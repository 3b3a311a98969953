"""PynamoDB models on a test's backend: what a service that is not yet on dynamap reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import botocore.session
from pynamodb.attributes import (
    BinaryAttribute,
    BinarySetAttribute,
    BooleanAttribute,
    JSONAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    NumberSetAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
    VersionAttribute,
)
from pynamodb.exceptions import TableError
from pynamodb.models import Model

from tests.backends import Backend

__all__ = ["AddressMap", "meta_of", "player_model", "pynamodb_table", "wallet_model"]

M = TypeVar("M", bound=Model)


def meta_of(backend: Backend, table_name: str) -> type[Any]:
    """The inner class Meta that leads a model to the backend."""
    options = {
        "table_name": table_name,
        "host": backend.url,
        "region": "us-east-1",
        "aws_access_key_id": "local",
        "aws_secret_access_key": "local",
        "max_retry_attempts": 0,
    }
    return type("Meta", (), options)


@cache
def _session() -> Any:
    """One for all models: each new one reads the descriptions of the service."""
    session = botocore.session.get_session()
    session.set_credentials("local", "local")
    return session


@contextmanager
def pynamodb_table(make: Callable[[Any], type[M]], backend: Backend, table_name: str) -> Iterator[type[M]]:
    """A model with its table, created by PynamoDB itself."""
    model = make(meta_of(backend, table_name))
    model._get_connection().connection._local.session = _session()
    try:
        model.create_table(billing_mode="PAY_PER_REQUEST")
    except TableError:
        if backend.name != "dynalite":  # that makes the table, but knows no TTL
            raise
    while model.describe_table()["TableStatus"] != "ACTIVE":
        pass
    try:
        yield model
    finally:
        model.delete_table()
        model._get_connection().connection.client.close()


class AddressMap(MapAttribute[str, Any]):
    city = UnicodeAttribute()
    code = UnicodeAttribute(null=True, attr_name="post.code")
    since = UTCDateTimeAttribute(null=True)
    tags = UnicodeSetAttribute(null=True)
    picture = BinaryAttribute(null=True, legacy_encoding=False)


def player_model(meta: Any) -> type[Model]:
    """A model that has every attribute of PynamoDB 6."""

    class Player(Model):
        Meta = meta
        name = UnicodeAttribute(hash_key=True, attr_name="player-name")
        joined = UTCDateTimeAttribute(range_key=True)
        score = NumberAttribute()
        ratio = NumberAttribute(null=True)
        active = BooleanAttribute(default=True)
        picture = BinaryAttribute(null=True, legacy_encoding=False)
        seal = BinaryAttribute(null=True, legacy_encoding=True)
        seals = BinarySetAttribute(legacy_encoding=True)
        chunks = BinarySetAttribute(legacy_encoding=False)
        settings = JSONAttribute(null=True)
        lines = ListAttribute(of=UnicodeAttribute, null=True)
        groups = ListAttribute(of=UnicodeSetAttribute, null=True)
        mixed: Any = ListAttribute(null=True)
        home: Any = AddressMap(null=True)
        others = ListAttribute(of=AddressMap, null=True)
        free: Any = MapAttribute(null=True)
        tags = UnicodeSetAttribute()
        numbers = NumberSetAttribute()
        expires = TTLAttribute(null=True)
        seen = UTCDateTimeAttribute(null=True, attr_name="last-seen")
        revision = VersionAttribute()

    return Player


def wallet_model(meta: Any) -> type[Model]:
    """A model under a version."""

    class Wallet(Model):
        Meta = meta
        owner = UnicodeAttribute(hash_key=True)
        coins = NumberAttribute(default=0)
        note = UnicodeAttribute(null=True)
        revision = VersionAttribute()

    return Wallet

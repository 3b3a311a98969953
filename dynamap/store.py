"""Entry points: connect, connect_async, and the store."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from types import TracebackType
from typing import Any, Generic, TypeVar, overload

from typing_extensions import ParamSpec

from dynamap import drivers, operations
from dynamap.drivers.clients import ClientOptions
from dynamap.drivers.endpoints import check_endpoint
from dynamap.drivers.interceptor import Interceptor
from dynamap.drivers.sync import SyncDriver
from dynamap.errors import RequestError
from dynamap.markers import Async, D, Sync, Write
from dynamap.model import Table
from dynamap.operations.base import Operation, Runtime, Scope
from dynamap.operations.cursors import CursorKeys, cursor_keys
from dynamap.operations.get import Readable
from dynamap.operations.observing import CallInfo, Capacity, Counting
from dynamap.repository import KeyedRepository, Repository
from dynamap.schema import check_table_name, create_params

__all__ = ["Store", "check_table", "connect", "connect_async", "intercepted", "runtime_of"]

K = ParamSpec("K")
M = TypeVar("M")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
T5 = TypeVar("T5")
T6 = TypeVar("T6")
T7 = TypeVar("T7")
T8 = TypeVar("T8")

_LANE_BY_DEFAULT = "1"


class Store(Generic[D]):
    """A table within reach, made by `connect` or `connect_async`.

    Threads may share the one, tasks of the event loop that first used it the other. `with` or `async with` closes it.
    """

    def __init__(self, table: Table, name: str, runtime: Runtime) -> None:
        check_table_name(name)
        self._table = table
        self._name = name
        self._runtime = runtime

    def __repr__(self) -> str:
        return f"Store({self._name!r})"

    # ---- repositories

    @overload
    def of(self, model: type[M], /, *, consistent: bool | None = None) -> Repository[D, M]: ...
    @overload
    def of(
        self, model: type[M], /, *, key: Callable[K, object], consistent: bool | None = None
    ) -> KeyedRepository[D, M, K]: ...
    def of(self, model: Any, /, *, key: Any = None, consistent: bool | None = None) -> Any:
        """The repository of a class.

        *consistent* sets whether it reads strongly unless asked otherwise; without it, versioned types do. *key* is a
        function whose keyword parameters are the key fields: it is never called, it lets the checkers know them.
        """
        entity = self._table.entity(model)
        strong = entity.version is not None if consistent is None else consistent
        scope = Scope(self._runtime, self._name, entity, strong)
        if key is None:
            return Repository[D, Any](scope)
        try:
            named = tuple(inspect.signature(key).parameters)
        except (TypeError, ValueError) as error:
            msg = (
                f"key= of {entity.cls.__qualname__} takes a function whose parameters are the key fields, "
                f"{', '.join(entity.key_fields) or 'none'}; got {type(key).__name__}"
            )
            raise RequestError(msg) from error
        if set(named) != set(entity.key_fields):
            msg = (
                f"key= of {entity.cls.__qualname__} has the parameters {', '.join(named) or 'none'}; "
                f"the key fields are {', '.join(entity.key_fields)}"
            )
            raise RequestError(msg)
        keyed: KeyedRepository[D, Any, Any] = KeyedRepository(scope)
        return keyed

    def with_name(self, name: str, /) -> Store[D]:
        """The same table under another physical name, over the same client."""
        return Store(self._table, name, self._runtime)

    # ---- several items

    @overload
    def query(self, a: type[T1], /, **pk: object) -> operations.MultiQuery[D, T1, tuple[list[T1]]]: ...
    @overload
    def query(
        self, a: type[T1], b: type[T2], /, **pk: object
    ) -> operations.MultiQuery[D, T1 | T2, tuple[list[T1], list[T2]]]: ...
    @overload
    def query(
        self, a: type[T1], b: type[T2], c: type[T3], /, **pk: object
    ) -> operations.MultiQuery[D, T1 | T2 | T3, tuple[list[T1], list[T2], list[T3]]]: ...
    @overload
    def query(
        self, a: type[T1], b: type[T2], c: type[T3], d: type[T4], /, **pk: object
    ) -> operations.MultiQuery[D, T1 | T2 | T3 | T4, tuple[list[T1], list[T2], list[T3], list[T4]]]: ...
    @overload
    def query(
        self, a: type[T1], b: type[T2], c: type[T3], d: type[T4], e: type[T5], /, **pk: object
    ) -> operations.MultiQuery[D, T1 | T2 | T3 | T4 | T5, tuple[list[T1], list[T2], list[T3], list[T4], list[T5]]]: ...
    @overload
    def query(
        self, a: type[T1], b: type[T2], c: type[T3], d: type[T4], e: type[T5], f: type[T6], /, **pk: object
    ) -> operations.MultiQuery[
        D, T1 | T2 | T3 | T4 | T5 | T6, tuple[list[T1], list[T2], list[T3], list[T4], list[T5], list[T6]]
    ]: ...
    def query(self, first: Any, /, *models: Any, **pk: Any) -> Any:
        """Read the items of several classes that are in one partition, each as what it is, in the order of their keys.

        Takes the fields of which the classes make their partition keys, and all of them must make the same of it.
        Reads strongly if one of the classes is versioned, unless asked otherwise. RequestError for a class that is not
        in the table, is named twice, or has its items in another partition; KeyValueError for fields that are missing
        or of no partition key.
        """
        asked = tuple(self._table.entity(model) for model in (first, *models))
        declared = [self._table.entity(cls) for cls in self._table.entities]
        others = tuple(entity for entity in declared if entity not in asked)
        strong = any(entity.version is not None for entity in asked)
        scope = operations.JointScope(self._runtime, self._name, asked[0], strong, entities=asked, others=others)
        made: operations.MultiQuery[D, Any, Any] = operations.MultiQuery(scope, pk)
        return made

    def transact(self, *writes: Write[D, object]) -> operations.Transaction[D]:
        """Several writes, all or nothing, over every table that the same client reaches."""
        return operations.Transaction(self._runtime, writes)

    @overload
    def transact_get(self, a: Readable[D, T1], /) -> Operation[D, tuple[T1]]: ...
    @overload
    def transact_get(self, a: Readable[D, T1], b: Readable[D, T2], /) -> Operation[D, tuple[T1, T2]]: ...
    @overload
    def transact_get(
        self, a: Readable[D, T1], b: Readable[D, T2], c: Readable[D, T3], /
    ) -> Operation[D, tuple[T1, T2, T3]]: ...
    @overload
    def transact_get(
        self, a: Readable[D, T1], b: Readable[D, T2], c: Readable[D, T3], d: Readable[D, T4], /
    ) -> Operation[D, tuple[T1, T2, T3, T4]]: ...
    @overload
    def transact_get(
        self, a: Readable[D, T1], b: Readable[D, T2], c: Readable[D, T3], d: Readable[D, T4], e: Readable[D, T5], /
    ) -> Operation[D, tuple[T1, T2, T3, T4, T5]]: ...
    @overload
    def transact_get(
        self,
        a: Readable[D, T1],
        b: Readable[D, T2],
        c: Readable[D, T3],
        d: Readable[D, T4],
        e: Readable[D, T5],
        f: Readable[D, T6],
        /,
    ) -> Operation[D, tuple[T1, T2, T3, T4, T5, T6]]: ...
    @overload
    def transact_get(
        self,
        a: Readable[D, T1],
        b: Readable[D, T2],
        c: Readable[D, T3],
        d: Readable[D, T4],
        e: Readable[D, T5],
        f: Readable[D, T6],
        g: Readable[D, T7],
        /,
    ) -> Operation[D, tuple[T1, T2, T3, T4, T5, T6, T7]]: ...
    @overload
    def transact_get(
        self,
        a: Readable[D, T1],
        b: Readable[D, T2],
        c: Readable[D, T3],
        d: Readable[D, T4],
        e: Readable[D, T5],
        f: Readable[D, T6],
        g: Readable[D, T7],
        h: Readable[D, T8],
        /,
    ) -> Operation[D, tuple[T1, T2, T3, T4, T5, T6, T7, T8]]: ...
    @overload
    def transact_get(self, *gets: Readable[D, T1]) -> Operation[D, tuple[T1, ...]]: ...
    def transact_get(self, *gets: Any) -> Any:
        """Several gets at one moment, over every table that the same client reaches; answers a tuple in their order.

        Always strongly consistent, at twice the price of strong reads. Raises RequestError for what is no get of this
        client and for two gets of one item, LimitExceeded for more than 100; ItemNotFound names the get that was
        `required()`, and TransactionConflict says that writers kept the items busy.
        """
        made: operations.TransactGet[D, Any] = operations.TransactGet(self._runtime, gets)
        return made

    def execute(
        self, statement: str, parameters: Sequence[object] = (), /, *, writes: bool = False, unversioned: bool = False
    ) -> operations.Execute[D]:
        """A PartiQL statement with a value for each `?`; answers the items as dicts of plain values.

        No class is involved: attributes have their stored names, and items of every type are among the answers. A
        statement that writes needs *writes*, and *unversioned* too in a table that holds versioned types, for it
        neither checks nor raises a version; it is sent once, and a lost answer is `OutcomeUnknown`. Raises RequestError
        or UnguardedWrite for what is not permitted so, EncodeError for a parameter that DynamoDB cannot hold.
        """
        versioned = () if unversioned else self._versioned()
        return operations.Execute(self._runtime, self._name, statement, parameters, writes=writes, versioned=versioned)

    def _versioned(self) -> list[str]:
        entities = (self._table.entity(cls) for cls in self._table.entities)
        return [entity.cls.__qualname__ for entity in entities if entity.version is not None]

    def capacity(self) -> AbstractContextManager[Capacity]:
        """Sum the capacity units of the operations that begin inside of the with block, to their end.

        Counts those of this store and of others that `with_name` gives, also in tasks that are started inside, and in
        threads that run in a copy of the context, as `asyncio.to_thread` does. Blocks may be nested, and those
        beside each other do not see each other. Inside, every request asks the service what it consumes
        (`ReturnConsumedCapacity`); of calls that fail it does not say, so that theirs is missing in the sums.
        """
        return Counting(self._runtime.driver)

    def explain_client(self) -> str:
        """Which way the calls take through the client, "lane" or "plain" first, and why; nothing is sent."""
        driver: Any = self._runtime.driver
        answer: str = driver.explain_client()
        return answer

    def _intercepted(self, interceptor: Interceptor) -> Store[D]:
        driver: Any = self._runtime.driver
        route = (*self._runtime.route, interceptor)
        runtime = replace(self._runtime, driver=driver.intercepted(interceptor), route=route)
        return Store(self._table, self._name, runtime)

    # ---- life

    @overload
    def create_table(
        self: Store[Sync], *, read_capacity: int | None = None, write_capacity: int | None = None
    ) -> None: ...
    @overload
    async def create_table(
        self: Store[Async], *, read_capacity: int | None = None, write_capacity: int | None = None
    ) -> None: ...
    def create_table(self, *, read_capacity: int | None = None, write_capacity: int | None = None) -> Any:
        """Create the table with its indexes, wait until it is ACTIVE, and switch its TTL on.

        On demand, or provisioned with both capacities, in units per second. RequestError for a name or capacity that
        DynamoDB does not take; ServiceError with the code ResourceInUseException if there is such a table.
        """
        params = create_params(self._table, self._name, read_capacity=read_capacity, write_capacity=write_capacity)
        plan = operations.create_table(self._runtime, params, ttl=self._table.layout.ttl)
        return self._runtime.driver.run(self._runtime.observed(plan))

    @overload
    def delete_table(self: Store[Sync]) -> None: ...
    @overload
    async def delete_table(self: Store[Async]) -> None: ...
    def delete_table(self) -> Any:
        """Delete the table with all its items and wait until it is gone; one that is not there is fine."""
        return self._runtime.driver.run(self._runtime.observed(operations.delete_table(self._runtime, self._name)))

    @overload
    def close(self: Store[Sync]) -> None: ...
    @overload
    async def close(self: Store[Async]) -> None: ...
    def close(self) -> Any:
        """Close the client if dynamap made it; one that was passed in stays its owner's."""
        driver: Any = self._runtime.driver
        return driver.close()

    def __enter__(self: Store[Sync]) -> Store[Sync]:
        if not isinstance(self._runtime.driver, SyncDriver):
            msg = "a store of connect_async() is entered with `async with`"
            raise TypeError(msg)
        return self

    def __exit__(
        self: Store[Sync],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        self.close()

    async def __aenter__(self: Store[Async]) -> Store[Async]:
        if not isinstance(self._runtime.driver, drivers.AsyncDriver):
            msg = "a store of connect() is entered with `with`"
            raise TypeError(msg)
        return self

    async def __aexit__(
        self: Store[Async],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        await self.close()


def connect(
    table: Table,
    /,
    *,
    client: Any = None,
    endpoint_url: str | None = None,
    region_name: str | None = None,
    prefix: str = "",
    clock: Callable[[], float] | None = None,
    write_ids: Callable[[], str] | None = None,
    on_call: Callable[[CallInfo], object] | None = None,
    cursor_key: bytes | Sequence[bytes] | None = None,
    cursor_max_age: float | None = None,
    lane: bool | None = None,
) -> Store[Sync]:
    """A store over a boto3 or botocore DynamoDB client; nothing is sent.

    Pass a *client*, which stays yours, or let one be made at the first call, with short timeouts, from *endpoint_url*
    and *region_name* or from the environment as botocore does. *prefix* comes before the table's name. *clock* answers
    epoch seconds and *write_ids* the ids that let a write recognise itself; tests may fix both.

    *on_call* is told of every call when it is over, in the thread or task that made it: a `CallInfo` for each request
    with all its attempts, which makes the service say what it consumed. It should be quick, and must not send anything
    itself; what it raises is logged under `dynamap`, and does not reach the operation.

    *cursor_key* is the secret under which the cursors of pages are encrypted, 32 bytes or more that every process which
    is to open them shares, as `secrets.token_bytes(32)` makes them once. Of several the first seals, and all open: put
    a new one in front, and leave the old one out when its cursors are no longer in use. A cursor older than
    *cursor_max_age*, in seconds, is refused. Needs the extra `cursors`.

    Calls on items take a shorter way through the client, the lane, without its slow parts, which check and write
    parameters, sign, and read answers. Who wraps a client or handles its events sees each call as ever. `lane=False`
    switches it off, as does `DYNAMAP_LANE=0` in the environment. `store.explain_client()` says which way calls take.
    """
    check_table(table)
    driver = SyncDriver(_options(client, endpoint_url, region_name), lane=_wants_lane(lane=lane))
    keys = cursor_keys(cursor_key, cursor_max_age)
    return Store(table, prefix + table.name, runtime_of(driver, clock, write_ids, on_call, keys, client))


def connect_async(
    table: Table,
    /,
    *,
    client: Any = None,
    endpoint_url: str | None = None,
    region_name: str | None = None,
    prefix: str = "",
    clock: Callable[[], float] | None = None,
    write_ids: Callable[[], str] | None = None,
    on_call: Callable[[CallInfo], object] | None = None,
    cursor_key: bytes | Sequence[bytes] | None = None,
    cursor_max_age: float | None = None,
    lane: bool | None = None,
) -> Store[Async]:
    """A store over an aiobotocore DynamoDB client; the arguments are those of `connect`.

    It belongs to the event loop that uses it first, and is a RequestError in another one, until it is closed; then it
    can be used again, in any loop.
    """
    check_table(table)
    driver = drivers.AsyncDriver(_options(client, endpoint_url, region_name), lane=_wants_lane(lane=lane))
    keys = cursor_keys(cursor_key, cursor_max_age)
    return Store(table, prefix + table.name, runtime_of(driver, clock, write_ids, on_call, keys, client))


def _options(client: Any, endpoint_url: str | None, region_name: str | None) -> Any:
    if client is None:
        if endpoint_url is not None:
            check_endpoint(endpoint_url)
        return ClientOptions(endpoint_url, region_name)
    if endpoint_url is not None or region_name is not None:
        msg = "client= brings its own endpoint and region: leave out endpoint_url= and region_name="
        raise RequestError(msg)
    return client


def _wants_lane(*, lane: bool | None) -> bool:
    return os.environ.get("DYNAMAP_LANE", _LANE_BY_DEFAULT) != "0" if lane is None else lane


def check_table(table: Table) -> None:
    """Raise RequestError for what is no Table, such as a class or a name."""
    given: Any = table
    if isinstance(given, Table):
        return
    got = f"the class {given.__qualname__}" if isinstance(given, type) else type(given).__name__
    msg = f"a store is of a Table, which names the classes in it, such as Table('books', [Book]); got {got}"
    raise RequestError(msg)


def runtime_of(
    driver: SyncDriver | drivers.AsyncDriver,
    clock: Callable[[], float] | None,
    write_ids: Callable[[], str] | None,
    on_call: Callable[[CallInfo], object] | None,
    keys: CursorKeys | None,
    client: object = None,
) -> Runtime:
    """What operations run with; *client* is one that other stores may share.

    Raises RequestError for a listener that cannot be called.
    """
    listener: Any = on_call
    if listener is not None and (not callable(listener) or inspect.iscoroutinefunction(listener)):
        kind = "a function that must be awaited" if callable(listener) else type(listener).__name__
        msg = f"on_call= takes a plain function of a CallInfo, in asyncio too; got {kind}"
        raise RequestError(msg)
    route = (driver if client is None else client,)
    return Runtime(
        driver, clock or time.time, write_ids or _new_write_id, cursor_keys=keys, on_call=on_call, route=route
    )


def _new_write_id() -> str:
    # as unlikely to recur as a UUID, and made in less time
    return os.urandom(16).hex()


def intercepted(store: Store[D], interceptor: Interceptor) -> Store[D]:
    """The same store with something between it and its client; `dynamap.testing` puts faults there."""
    return store._intercepted(interceptor)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

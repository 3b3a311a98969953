"""Whatever can be called can be wrapped, and stays what it was."""

from __future__ import annotations

import asyncio
import functools
import inspect
import pickle
import warnings
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any
from unittest.mock import AsyncMock

import pytest

from dynamap.errors import VersionConflict
from dynamap.retry import retry_on_conflict


def fails_once(runs: list[int]) -> None:
    runs.append(1)
    if len(runs) == 1:
        raise VersionConflict


def no_sleep(_seconds: float) -> None:
    """Return at once."""


quickly = functools.partial(retry_on_conflict, sleep=no_sleep)


def plain(runs: list[int], *, amount: int = 1) -> int:
    """Deposit it."""
    fails_once(runs)
    return amount


async def coroutine(runs: list[int], *, amount: int = 1) -> int:
    """Deposit it later."""
    await asyncio.sleep(0)
    fails_once(runs)
    return amount


class Caller:
    """A caller."""

    def __init__(self) -> None:
        self.__name__ = "shadow"

    def __call__(self, runs: list[int], *, amount: int = 1) -> int:
        return plain(runs, amount=amount)


class AsyncCaller:
    async def __call__(self, runs: list[int], *, amount: int = 1) -> int:
        return await coroutine(runs, amount=amount)


class Service:
    @retry_on_conflict(sleep=no_sleep)
    def method(self, runs: list[int], *, amount: int = 1) -> int:
        assert isinstance(self, Service)
        return plain(runs, amount=amount)

    @retry_on_conflict(sleep=no_sleep)
    async def amethod(self, runs: list[int], *, amount: int = 1) -> int:
        assert isinstance(self, Service)
        return await coroutine(runs, amount=amount)

    @staticmethod
    @retry_on_conflict(sleep=no_sleep)
    def static(runs: list[int], *, amount: int = 1) -> int:
        return plain(runs, amount=amount)

    @retry_on_conflict(sleep=no_sleep)
    @staticmethod
    def static_below(runs: list[int], *, amount: int = 1) -> int:
        return plain(runs, amount=amount)

    @retry_on_conflict(sleep=no_sleep)
    @staticmethod
    async def astatic_below(runs: list[int], *, amount: int = 1) -> int:
        return await coroutine(runs, amount=amount)

    @classmethod
    @retry_on_conflict(sleep=no_sleep)
    def of_class(cls, runs: list[int], *, amount: int = 1) -> int:
        assert cls is Service
        return plain(runs, amount=amount)

    @quickly()
    @classmethod
    def of_class_below(cls, runs: list[int], *, amount: int = 1) -> int:
        assert cls is Service
        return plain(runs, amount=amount)


@retry_on_conflict
def bare(runs: list[int]) -> int:
    return plain(runs)


SYNC: dict[str, Any] = {
    "function": quickly(plain),
    "lambda": quickly(lambda runs, *, amount=1: plain(runs, amount=amount)),
    "partial": quickly(functools.partial(plain, amount=1)),
    "partial of a partial": quickly(functools.partial(functools.partial(plain), amount=1)),
    "object": quickly(Caller()),
    "partial of an object": quickly(functools.partial(Caller())),
    "method": Service().method,
    "method called through the class": functools.partial(Service.method, Service()),
    "bound method": quickly(Service().method),
    "static method": Service().static,
    "static method, wrapped below": Service.static_below,
    "class method": Service.of_class,
    "class method, wrapped below": Service().of_class_below,
}
ASYNC: dict[str, Any] = {
    "function": quickly(coroutine),
    "partial": quickly(functools.partial(coroutine, amount=1)),
    "object": quickly(AsyncCaller()),
    "partial of an object": quickly(functools.partial(AsyncCaller(), amount=1)),
    "method": Service().amethod,
    "bound method": quickly(Service().amethod),
    "static method, wrapped below": Service.astatic_below,
}


@pytest.mark.parametrize("name", SYNC)
def test_plain_callables_are_rerun(name: str) -> None:
    runs: list[int] = []
    assert SYNC[name](runs, amount=7) == 7
    assert len(runs) == 2
    assert not inspect.iscoroutinefunction(SYNC[name])


@pytest.mark.parametrize("name", ASYNC)
def test_async_callables_are_rerun_and_stay_async(name: str) -> None:
    runs: list[int] = []
    assert inspect.iscoroutinefunction(ASYNC[name])
    assert asyncio.run(ASYNC[name](runs, amount=7)) == 7
    assert len(runs) == 2


def test_a_mock_of_a_coroutine_function_is_rerun_too() -> None:
    mock = AsyncMock(side_effect=[VersionConflict(), 3])
    assert asyncio.run(quickly(mock)("x")) == 3
    assert mock.await_count == 2


def test_what_is_wrapped_keeps_name_docstring_and_signature() -> None:
    for function in (plain, coroutine):
        wrapped: Any = retry_on_conflict(function)
        assert (wrapped.__name__, wrapped.__qualname__) == (function.__name__, function.__qualname__)
        assert (wrapped.__module__, wrapped.__doc__) == (function.__module__, function.__doc__)
        assert inspect.signature(wrapped) == inspect.signature(function)
        assert wrapped.__wrapped__ is function
    assert Service.method.__qualname__ == "Service.method"
    assert str(inspect.signature(Service().method)) == "(runs: 'list[int]', *, amount: 'int' = 1) -> 'int'"
    assert str(inspect.signature(Service.static_below)) == str(inspect.signature(plain))


def test_partials_and_objects_get_a_useful_name() -> None:
    partial: Any = retry_on_conflict(functools.partial(plain, amount=5))
    assert (partial.__name__, partial.__doc__) == ("plain", "Deposit it.")
    assert str(inspect.signature(partial)) == "(runs: 'list[int]', *, amount: 'int' = 5) -> 'int'"
    named: Any = retry_on_conflict(AsyncCaller())
    assert (named.__name__, named.__qualname__) == ("AsyncCaller", "AsyncCaller")
    shadowed: Any = retry_on_conflict(Caller())
    assert (shadowed.__name__, shadowed.__doc__) == ("shadow", "A caller.")


def test_a_decorated_function_pickles_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(bare)) is bare


def test_wrapping_changes_nothing_on_the_function() -> None:
    before = dict(vars(plain))
    retry_on_conflict(plain)
    assert vars(plain) == before


# ---- what cannot be rerun
def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


class Generator:
    def __call__(self) -> Iterator[int]:
        yield 1


@pytest.mark.parametrize(
    "function",
    [
        generator,
        async_generator,
        functools.partial(generator),
        Generator(),
        functools.partial(Generator()),
        staticmethod(generator),
    ],
)
def test_generators_are_refused(function: Any) -> None:
    with pytest.raises(TypeError, match=r"cannot rerun the generator \w+: wrap the function that consumes it"):
        retry_on_conflict(function)
    with pytest.raises(TypeError, match="generator"):
        retry_on_conflict(attempts=3)(function)


@pytest.mark.parametrize("wrong", [3, "f", object(), property()])
def test_what_cannot_be_called_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="takes a function"):
        retry_on_conflict(wrong)


def test_a_plain_function_that_returns_a_coroutine_is_refused_without_a_warning() -> None:
    runs: list[int] = []

    def send() -> Awaitable[int]:
        return coroutine(runs)

    unnamed: Any = lambda: coroutine(runs)  # noqa: E731

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match=r"send: it is no async function .*\(coroutine\).*async def"):
            retry_on_conflict(send)()
        with pytest.raises(TypeError, match=r"<lambda>: it is no async function"):
            retry_on_conflict(unnamed)()
    assert runs == []


def test_a_plain_function_that_returns_another_awaitable_is_refused_and_it_goes_on() -> None:
    async def main() -> int:
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        with pytest.raises(TypeError, match=r"returned an awaitable \(Future\)"):
            retry_on_conflict(lambda: future)()
        future.set_result(3)
        return await future

    assert asyncio.run(main()) == 3

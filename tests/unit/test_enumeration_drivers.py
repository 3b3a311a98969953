"""What is enumerated by hand, call by call, the shipped drivers do as well: threads and asyncio."""

from __future__ import annotations

from typing import Any

import pytest

from dynamap.plan import Call
from dynamap.testing import memory_store, memory_store_async
from dynamap.testing.memory.stores import AsyncEngineDriver, EngineDriver
from tests.depth import how_many
from tests.enumeration import KINDS, Tries, explore
from tests.enumeration_kinds import Kind
from tests.enumeration_running import SETTINGS, Course, Setting
from tests.enumeration_worlds import TABLES, World

STRIDE = how_many(quick=1_000, deep=50)


class Serving:
    """Answers the calls of whatever history is under way."""

    course: Course

    def __call__(self, call: Call) -> Any:
        return self.course.answer(call)


def begun(kind: Kind, setting: Setting, world: World, serving: Serving, course: Course) -> tuple[Course, Any]:
    """The same history again, and what sends the write."""
    world.begin(kind.items, setting.patience)
    serving.course = Course(kind, setting, world, course.decisions)
    operation = kind.make(world)
    return serving.course, operation.try_send if setting.trying and kind.answers else operation.send


def assert_same(course: Course, expected: Course) -> None:
    assert (course.reported, course.events, course.replies) == (expected.reported, expected.events, expected.replies)


def some(kind: Kind, setting: Setting) -> list[Course]:
    return list(explore(kind, setting, Tries(0, STRIDE)))


SENT = [kind for kind in KINDS if hasattr(kind.make(World(TABLES[kind.table])), "send")]
SOME = SENT[:: how_many(quick=9, deep=1)]


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_threads_do_the_same(setting: Setting) -> None:
    for kind in SOME:
        serving = Serving()
        driver = EngineDriver(serving)
        driver._sleep = lambda _: None
        world = World(TABLES[kind.table], memory_store, driver)
        for expected in some(kind, setting):
            course, send = begun(kind, setting, world, serving, expected)
            with course.ending():
                course.conclude(send())
            assert_same(course, expected)


async def no_pause(_: float) -> None:
    """Takes no time."""


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
async def test_asyncio_does_the_same(setting: Setting) -> None:
    for kind in SOME:
        serving = Serving()
        driver = AsyncEngineDriver(serving)
        driver._sleep = no_pause
        world = World(TABLES[kind.table], memory_store_async, driver)
        for expected in some(kind, setting):
            course, send = begun(kind, setting, world, serving, expected)
            with course.ending():
                course.conclude(await send())
            assert_same(course, expected)

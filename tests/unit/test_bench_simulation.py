"""The bench itself: who goes when, what goes wrong, what time it is, what is noted, and what can be replayed."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
from collections.abc import Callable, Generator
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import find, given, settings

import dynamap
from dynamap import (
    Async,
    DeadlineExceeded,
    F,
    ItemNotFound,
    RequestError,
    Store,
    Sync,
    Table,
    Throttled,
    VersionConflict,
    entity,
    evolve,
    retry_on_conflict,
)
from dynamap.plan import Call, Join, Plan, Spawn, Ticket
from dynamap.testing import (
    Bench,
    Clocks,
    Crash,
    Fault,
    Items,
    Record,
    Refusal,
    Run,
    Schedule,
    ScheduleFailed,
    schedules,
)


@entity("COUNTER", pk="COUNTER#{name}", sk="COUNTER", version="revision")
class Counter:
    name: str
    count: int = 0
    revision: int = 0


@entity("LEASE", pk="LEASE#{name}", sk="LEASE", ttl="expires")
class Lease:
    name: str
    holder: str = ""
    expires: datetime | None = None


Things = Table("things", [Counter, Lease], ttl="ttl")


def counting(mode: str, clients: int = 3, **options: Any) -> Bench:
    """Clients that read, add one and write back, under the version."""
    bench = Bench(Things, **options)

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        store.of(Counter).put(Counter("c")).send()

    def count(store: Store[Sync]) -> int:
        counters = store.of(Counter)

        @retry_on_conflict(attempts=30)
        def run() -> int:
            counter = counters.get(name="c").required().send()
            return counters.update(counter).to(evolve(counter, count=counter.count + 1)).send().count

        return run()

    async def count_async(store: Store[Async]) -> int:
        counters = store.of(Counter)

        @retry_on_conflict(attempts=30)
        async def run() -> int:
            counter = await counters.get(name="c").required().send()
            return (await counters.update(counter).to(evolve(counter, count=counter.count + 1)).send()).count

        return await run()

    bench.client(count if mode == "sync" else count_async, count=clients, name="count")
    return bench


MODES = pytest.mark.parametrize("mode", ["sync", "async"])

# ---- schedules


def test_a_schedule_is_written_and_read() -> None:
    schedule = Schedule.seeded(7)
    choices = [schedule.below(4) for _ in range(50)]
    assert set(choices) == {0, 1, 2, 3}
    again = Schedule.parse(f"anything\n{schedule}\nanything else")
    assert [again.below(4) for _ in range(50)] == choices
    assert again.seed == 7
    assert [again.below(4) for _ in range(5)] == [0] * 5


def test_where_there_is_no_choice_none_is_used_up() -> None:
    schedule = Schedule.listed([2, 1])
    assert [schedule.below(1), schedule.below(3), schedule.below(0), schedule.below(2)] == [0, 2, 0, 1]
    assert schedule.made == [2, 1]


@pytest.mark.parametrize(
    ("text", "words"), [("nothing of it", "no line with"), ("schedule: 1 two 3", "'two' is no choice")]
)
def test_a_text_that_holds_no_schedule_is_refused(text: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        Schedule.parse(text)


# ---- clients and steps


@MODES
def test_the_same_schedule_is_the_same_run_to_the_last_step(mode: str) -> None:
    options: dict[str, Any] = {
        "faults": [*Fault, *Crash],
        "lag": 3,
        "clocks": Clocks(skew=5, jumps=(-9, 9), stalls=(2,), suspensions=(3,)),
    }
    for seed in range(8):
        first = counting(mode, **options).run(seed)
        for again in (counting(mode, **options).run(seed), counting(mode, **options).replay(str(first.record))):
            assert str(again.record) == str(first.record)
            assert again.items == first.items
            assert [str(outcome) for outcome in again.outcomes.values()] == [
                str(outcome) for outcome in first.outcomes.values()
            ]


@MODES
def test_different_seeds_are_different_runs(mode: str) -> None:
    bench = counting(mode)
    assert len({str(bench.run(seed).record) for seed in range(20)}) > 15


@MODES
def test_every_client_counts_in_every_schedule(mode: str) -> None:
    bench = counting(mode, clients=4)
    for seed in range(25):
        run = bench.run(seed)
        assert [counter.count for counter in run.items.of(Counter)] == [4]
        assert sorted(outcome.result for outcome in run.outcomes.values()) == [1, 2, 3, 4]


@MODES
def test_the_quiet_schedule_lets_one_client_after_the_other_run_undisturbed(mode: str) -> None:
    run = counting(mode, faults=list(Fault)).run(Schedule.listed([]))
    assert [(step.who, step.what, step.fault, step.outcome) for step in run.record.steps] == [
        (who, f"{operation} COUNTER#c / COUNTER", "", "ok")
        for who in ("count-1", "count-2", "count-3")
        for operation in ("GetItem", "UpdateItem")
    ]
    assert str(run.record).splitlines()[-1] == "schedule:"


@MODES
def test_an_interleaving_can_be_written_down(mode: str) -> None:
    bench = counting(mode, clients=2)
    # the second client reads before the first one writes
    run = bench.run(Schedule.listed([0, 1, 0]))
    assert [(step.who, step.what.split()[0]) for step in run.record.steps[:4]] == [
        ("count-1", "GetItem"),
        ("count-2", "GetItem"),
        ("count-2", "UpdateItem"),
        ("count-1", "UpdateItem"),
    ]
    assert [step.outcome for step in run.record.steps].count("ConditionalCheckFailedException") == 1
    assert len(run.record.steps) == 6


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_hypothesis_finds_the_shortest_schedule_of_a_lost_update(mode: str) -> None:
    bench = Bench(Things)

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        store.of(Counter).put(Counter("c")).send()

    def forget_the_version(store: Store[Sync]) -> None:
        counters = store.of(Counter)
        counter = counters.get(name="c").required().send()
        counters.update(name="c").ignore_version().set(F(Counter.count), counter.count + 1).send()

    async def forget_the_version_async(store: Store[Async]) -> None:
        counters = store.of(Counter)
        counter = await counters.get(name="c").required().send()
        await counters.update(name="c").ignore_version().set(F(Counter.count), counter.count + 1).send()

    bench.client(forget_the_version if mode == "sync" else forget_the_version_async, count=2)

    def loses(schedule: Schedule) -> bool:
        run = bench.run(schedule)
        done = sum(outcome.returned for outcome in run.outcomes.values())
        return run.items.of(Counter)[0].count < done

    found = find(schedules(20), loses, settings=settings(max_examples=300, derandomize=True, database=None))
    run = bench.run(Schedule.listed(found.made))
    assert str(run.record.schedule) == "schedule: 0 1"
    assert len(run.record.steps) == 4


@settings(max_examples=15)
@given(schedules(60))
def test_hypothesis_drives_the_bench(schedule: Schedule) -> None:
    run = counting("sync", faults=list(Fault)).run(schedule)
    done = sum(outcome.returned for outcome in run.outcomes.values())
    assert run.items.of(Counter)[0].count >= done


def test_a_client_may_be_given_arguments_and_a_name() -> None:
    bench = Bench(Things)

    def create(store: Store[Sync], name: str) -> str:
        return store.of(Counter).put(Counter(name)).send().name

    bench.client(create, "a", name="first")
    bench.client(create, "b")
    bench.client(create, "c")

    @bench.client(count=2)
    def read(store: Store[Sync]) -> None:
        store.of(Counter).get(name="a").send()

    outcomes = bench.run(1).outcomes
    assert {name: outcome.result for name, outcome in outcomes.items()} == {
        "first": "a",
        "create": "b",
        "create-1": "c",
        "read-1": None,
        "read-2": None,
    }


def test_clients_of_two_modes_are_refused() -> None:
    bench = counting("sync")

    async def other(store: Store[Async]) -> None:
        """Never runs."""

    with pytest.raises(RequestError, match="all plain functions or all coroutine functions"):
        bench.client(other)


def test_a_bench_without_clients_is_refused() -> None:
    with pytest.raises(RequestError, match="without clients"):
        Bench(Things).run()


@pytest.mark.parametrize("rate", [-0.1, 1.5])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(RequestError, match="fault_rate is the share"):
        Bench(Things, fault_rate=rate)


# ---- what fails, and what is said then


def test_an_invariant_is_checked_after_every_change() -> None:
    bench = counting("sync", clients=4)

    @bench.invariant
    def nobody_gets_far(items: Items) -> None:
        assert items.of(Counter)[0].count < 3, "too far"

    with pytest.raises(ScheduleFailed) as failed:
        bench.run(3)
    message = str(failed.value)
    assert message.startswith("nobody_gets_far does not hold after count-")
    assert "too far" in message
    assert message.splitlines()[-1].startswith("schedule: seed=3")
    last = failed.value.record.steps[-1]
    assert (last.what, last.outcome) == ("UpdateItem COUNTER#c / COUNTER", "ok")
    with pytest.raises(ScheduleFailed) as again:
        bench.replay(message)
    assert str(again.value) == message


def test_an_invariant_is_checked_at_the_beginning() -> None:
    bench = counting("sync")

    @bench.invariant
    def never(items: Items) -> None:
        raise ValueError

    with pytest.raises(ScheduleFailed, match="never does not hold after the beginning: ValueError"):
        bench.run(0)


@MODES
def test_an_exception_of_the_code_under_test_fails_the_run(mode: str) -> None:
    bench = counting(mode, clients=2)

    def broken(store: Store[Sync]) -> None:
        store.of(Counter).get(name="c").send()
        raise ZeroDivisionError

    async def broken_async(store: Store[Async]) -> None:
        await store.of(Counter).get(name="c").send()
        raise ZeroDivisionError

    bench.client(broken if mode == "sync" else broken_async, name="broken")
    with pytest.raises(ScheduleFailed, match="broken raised ZeroDivisionError") as failed:
        bench.run(5)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    # the bench is none the worse for it
    with pytest.raises(ScheduleFailed):
        bench.run(6)


@MODES
def test_an_error_of_dynamap_is_an_outcome(mode: str) -> None:
    bench = Bench(Things)

    def miss(store: Store[Sync]) -> None:
        store.of(Counter).get(name="nobody").required().send()

    async def miss_async(store: Store[Async]) -> None:
        await store.of(Counter).get(name="nobody").required().send()

    bench.client(miss if mode == "sync" else miss_async, name="miss")
    (outcome,) = bench.run().outcomes.values()
    assert isinstance(outcome.error, ItemNotFound)
    assert not outcome.returned


def test_what_is_claimed_of_the_end_fails_with_the_record() -> None:
    bench = counting("sync")

    @bench.afterwards
    def everything_is_counted_twice(run: Run) -> None:
        assert run.items.of(Counter)[0].count == 6

    with pytest.raises(ScheduleFailed, match="everything_is_counted_twice does not hold in the end") as failed:
        bench.run(2)
    assert len(failed.value.record.steps) >= 6


def test_a_record_shows_keys_and_no_values() -> None:
    bench = Bench(Things)

    def create(store: Store[Sync]) -> None:
        secret = Counter("c", count=918273645)
        store.of(Counter).put(secret).send()
        store.transact(store.of(Counter).put(evolve(secret, name="d"))).send()

    bench.client(create)
    text = str(bench.run().record)
    assert "PutItem COUNTER#c / COUNTER" in text
    assert "TransactWriteItems Put COUNTER#d / COUNTER" in text
    assert "918273645" not in text


@MODES
def test_a_run_that_would_not_end_is_ended(mode: str) -> None:
    bench = Bench(Things, most_steps=50)

    def poll(store: Store[Sync]) -> None:
        while store.of(Counter).get(name="never").send() is None:
            pass

    async def poll_async(store: Store[Async]) -> None:
        while await store.of(Counter).get(name="never").send() is None:
            pass

    bench.client(poll if mode == "sync" else poll_async, name="poll")
    with pytest.raises(ScheduleFailed, match="no end after 50 steps"):
        bench.run()


def test_a_client_that_waits_outside_of_the_store_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynamap.testing.simulation.threads._PATIENCE", 0.05)
    bench = Bench(Things)
    barrier = threading.Barrier(2)

    def meet(store: Store[Sync]) -> None:
        try:
            barrier.wait(20)
        except threading.BrokenBarrierError:
            store.of(Counter).get(name="c").send()

    bench.client(meet, count=2)
    with pytest.raises(ScheduleFailed, match="did not come back within"):
        bench.run()
    barrier.abort()


def test_coroutines_that_wait_for_each_other_for_ever_are_reported() -> None:
    bench = Bench(Things)

    async def wait(store: Store[Async]) -> None:
        await asyncio.get_running_loop().create_future()

    bench.client(wait, count=2)
    with pytest.raises(ScheduleFailed, match="nobody can go on"):
        bench.run()


def test_a_store_that_is_used_from_another_thread_is_refused() -> None:
    bench = Bench(Things)
    errors: list[Exception] = []

    def hand_over(store: Store[Sync]) -> None:
        def use() -> None:
            try:
                store.of(Counter).get(name="c").send()
            except RequestError as error:
                errors.append(error)

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()

    bench.client(hand_over)
    bench.run()
    assert "from another thread" in str(errors[0])


async def test_inside_of_a_running_loop_it_says_what_to_do() -> None:
    with pytest.raises(RequestError, match="call run\\(\\) from a plain function"):
        counting("async").run()


# ---- faults


@MODES
def test_faults_strike_at_the_calls_that_are_named(mode: str) -> None:
    bench = Bench(Things)

    def create(store: Store[Sync]) -> int:
        store.of(Counter).put(Counter("c")).if_not_exists().send()
        return store.of(Lease).update(name="nobody").if_exists().set(F(Lease.holder), "me").try_send() is None

    async def create_async(store: Store[Async]) -> None:
        await store.of(Counter).put(Counter("c")).if_not_exists().send()

    bench.client(
        (lambda store: store.of(Counter).put(Counter("c")).if_not_exists().send()) if mode == "sync" else create_async,
        name="create",
        faults={1: Fault.DROP_AFTER, 2: Fault.THROTTLE, 3: Fault.NOT_SENT},
    )
    run = bench.run(4)
    assert [(step.fault, step.outcome) for step in run.record.steps] == [
        ("drop after", "lost (really: ok)"),
        ("throttle", "ThrottlingException"),
        ("not sent", "not sent"),
        ("", "ConditionalCheckFailedException"),
    ]
    assert run.outcomes["create"].returned


def test_a_fault_that_never_ends_is_an_outcome() -> None:
    bench = counting("sync", clients=1, faults=[Fault.THROTTLE], fault_rate=1.0)
    (outcome,) = bench.run().outcomes.values()
    assert isinstance(outcome.error, Throttled)


def test_no_more_faults_than_asked_for() -> None:
    bench = counting("sync", faults=[Refusal("ThrottlingException")], fault_rate=0.9, most_faults=2)
    for seed in range(10):
        assert sum(bool(step.fault) for step in bench.run(seed).record.steps) == 2


def test_without_a_rate_nothing_strikes() -> None:
    run = counting("sync", faults=list(Fault), fault_rate=0.0).run(1)
    assert not any(step.fault for step in run.record.steps)


@MODES
def test_a_crash_ends_the_client_and_no_handler_stops_it(mode: str) -> None:
    bench = Bench(Things)
    ends: list[str] = []

    def work(store: Store[Sync]) -> None:
        try:
            store.of(Counter).put(Counter("c")).send()
        except Exception:  # noqa: BLE001 - must not stop it
            ends.append("handled")
        finally:
            try:
                store.of(Counter).put(Counter("d")).send()
            finally:
                ends.append("finally")

    async def work_async(store: Store[Async]) -> None:
        try:
            await store.of(Counter).put(Counter("c")).send()
        except Exception:  # noqa: BLE001 - must not stop it
            ends.append("handled")
        finally:
            try:
                await store.of(Counter).put(Counter("d")).send()
            finally:
                ends.append("finally")

    bench.client(work if mode == "sync" else work_async, name="work", faults={1: Crash.AFTER})
    run = bench.run()
    assert run.outcomes["work"].crashed
    # a client that is dead makes no further call
    assert [counter.name for counter in run.items.of(Counter)] == ["c"]
    assert ends == ["finally"]


@MODES
def test_a_client_that_crashed_starts_again(mode: str) -> None:
    bench = Bench(Things)

    def claim(store: Store[Sync]) -> str:
        store.of(Lease).put(Lease("l", "me")).send()
        return "claimed"

    async def claim_async(store: Store[Async]) -> str:
        await store.of(Lease).put(Lease("l", "me")).send()
        return "claimed"

    bench.client(
        claim if mode == "sync" else claim_async,
        name="claim",
        faults={1: Crash.BEFORE, 2: Crash.AFTER},
        restarts=2,
    )
    run = bench.run()
    assert run.outcomes["claim"].result == "claimed"
    assert [step.what for step in run.record.steps].count("starts again") == 2
    bench.client(claim if mode == "sync" else claim_async, name="unlucky", faults={1: Crash.BEFORE})
    assert bench.run().outcomes["unlucky"].crashed


# ---- time


@MODES
def test_pauses_take_no_real_time(mode: str) -> None:
    bench = Bench(Things)

    def rest(store: Store[Sync]) -> float:
        before = bench.clock()
        retry_once(lambda: store.of(Counter).get(name="c").send())
        return bench.clock() - before

    async def rest_async(store: Store[Async]) -> float:
        before = bench.clock()
        await asyncio.sleep(3600)
        await store.of(Counter).get(name="c").send()
        return bench.clock() - before

    def retry_once(function: Callable[[], Any]) -> None:
        failures = iter([True, False])

        @retry_on_conflict(random=lambda: 0.99)
        def run() -> None:
            function()
            if next(failures):
                msg = "once more"
                raise VersionConflict(msg)

        run()

    bench.client(rest if mode == "sync" else rest_async, name="rest")
    began = time.monotonic()
    (outcome,) = bench.run().outcomes.values()
    assert outcome.result > (0.02 if mode == "sync" else 3600)
    assert time.monotonic() - began < 30


def test_a_sleeper_lets_the_others_go_first_and_wakes_in_order() -> None:
    bench = Bench(Things)
    woken: list[float] = []

    def sleep(store: Store[Sync], seconds: float) -> None:
        dynamap.retry_on_conflict(wake_up, attempts=2, random=lambda: seconds / 0.025)(store, iter([True, False]))
        woken.append(seconds)

    def wake_up(store: Store[Sync], first: Generator[bool, None, None]) -> None:
        if next(first):
            msg = "later"
            raise VersionConflict(msg)

    for seconds in (3, 1, 2):
        bench.client(sleep, seconds, name=f"sleep-{seconds}")
    bench.run(Schedule.listed([]))
    assert woken == [1, 2, 3]


@MODES
def test_deadlines_end_on_the_clients_clock(mode: str) -> None:
    bench = Bench(Things, faults=[Fault.THROTTLE], fault_rate=1.0, clocks=Clocks(stalls=(10,)))

    def hurry(store: Store[Sync]) -> None:
        with dynamap.deadline(2):
            store.of(Counter).get(name="c").send()

    async def hurry_async(store: Store[Async]) -> None:
        with dynamap.deadline(2):
            await store.of(Counter).get(name="c").send()

    bench.client(hurry if mode == "sync" else hurry_async, name="hurry")
    errors = [bench.run(seed).outcomes["hurry"].error for seed in range(60)]
    assert any(isinstance(error, DeadlineExceeded) for error in errors)


def test_clocks_are_skewed_and_jump_and_stand_still() -> None:
    bench = Bench(Things, clocks=Clocks(skew=40, jumps=(-500, 500), stalls=(70,), suspensions=(1000,)))

    def look(store: Store[Sync]) -> float:
        for _ in range(10):
            store.of(Counter).get(name="c").send()
        return bench.clock()

    bench.client(look, count=3)
    runs = [bench.run(seed) for seed in range(40)]
    happenings = {step.what for run in runs for step in run.record.steps if "GetItem" not in step.what}
    assert happenings == {
        "its wall clock jumps by -500 s",
        "its wall clock jumps by +500 s",
        "stalls for 70 s",
        "is suspended for 1000 s",
    }
    apart = [max(r) - min(r) for r in ([o.result for o in run.outcomes.values()] for run in runs)]
    assert max(apart) > 400


def test_suspended_time_counts_on_one_clock_only() -> None:
    bench = Bench(Things, clocks=Clocks(suspensions=(600,)))
    seen: list[tuple[float, float]] = []

    def look(store: Store[Sync]) -> None:
        runtime = store._runtime
        for _ in range(40):
            store.of(Counter).get(name="c").send()
        seen.append((runtime.elapsed(), runtime.monotonic()))

    bench.client(look)
    bench.run_many(10)
    assert max(elapsed for elapsed, _ in seen) > 600
    assert max(monotonic for _, monotonic in seen) < 1


# ---- replicas and the reaper


@MODES
def test_eventual_reads_may_be_old_and_strong_ones_never_are(mode: str) -> None:
    bench = Bench(Things, lag=2)
    counts: dict[str, list[int]] = {"eventual": [], "strong": []}

    def watch(store: Store[Sync]) -> None:
        counters = store.of(Counter)
        counter = counters.put(Counter("c")).send()
        for number in range(1, 6):
            counter = counters.update(counter).to(evolve(counter, count=number)).send()
            eventual = counters.get(name="c").eventually_consistent().send()
            counts["eventual"].append(number - (eventual.count if eventual else -1))
            counts["strong"].append(number - counters.get(name="c").required().send().count)

    async def watch_async(store: Store[Async]) -> None:
        counters = store.of(Counter)
        counter = await counters.put(Counter("c")).send()
        for number in range(1, 6):
            counter = await counters.update(counter).to(evolve(counter, count=number)).send()
            eventual = await counters.get(name="c").eventually_consistent().send()
            counts["eventual"].append(number - (eventual.count if eventual else -1))
            counts["strong"].append(number - (await counters.get(name="c").required().send()).count)

    bench.client(watch if mode == "sync" else watch_async, name="watch")
    bench.run_many(10)
    assert set(counts["eventual"]) == {0, 1, 2}
    assert set(counts["strong"]) == {0}


def test_the_reaper_comes_soon_or_late_or_never() -> None:
    bench = Bench(Things)
    begin = datetime.fromtimestamp(bench_epoch(bench), tz=timezone.utc)

    @bench.setup
    def lease(store: Store[Sync]) -> None:
        store.of(Lease).put(Lease("gone", "a", begin)).send()
        store.of(Lease).put(Lease("stays", "b", begin.replace(year=begin.year + 1))).send()
        store.of(Lease).put(Lease("for ever", "c")).send()

    @bench.client
    def wait(store: Store[Sync]) -> None:
        for _ in range(4):
            store.of(Counter).get(name="c").send()

    left: list[tuple[str, ...]] = []
    for seed in range(30):
        run = bench.run(seed)
        left.append(tuple(lease.name for lease in run.items.of(Lease)))
        reaped = [step for step in run.record.steps if step.who == "the TTL reaper"]
        assert len(reaped) == 3 - len(left[-1])
    assert set(left) == {("for ever", "gone", "stays"), ("for ever", "stays")}
    quiet = Bench(Things, reaper=False)
    quiet.setup(lease)
    quiet.client(wait)
    assert all(len(quiet.run(seed).items) == 3 for seed in range(10))


def bench_epoch(bench: Bench) -> float:
    """When the runs of a bench begin."""
    seen: list[float] = []
    other = Bench(Things)
    other.client(lambda _store: seen.append(other.clock()), name="look")
    other.run()
    return seen[0]


# ---- spawned plans


def fan_out(joined: list[int]) -> Plan[int]:
    """Three reads beside each other, joined as they come."""

    def read(name: str) -> Plan[int]:
        call = Call("GetItem", {"TableName": "things", "Key": {"pk": {"S": f"COUNTER#{name}"}, "sk": {"S": "COUNTER"}}})
        reply = yield call
        return int(reply["Item"]["count"]["N"])

    first, second, third = (yield Spawn(read("a"))), (yield Spawn(read("b"))), (yield Spawn(read("c")))
    tickets: list[Ticket] = [first, second, third]
    total = 0
    while tickets:
        ticket, count = yield Join(tuple(tickets))
        tickets.remove(ticket)
        joined.append(count)
        total += count
    return total


@MODES
def test_spawned_plans_are_interleaved_too(mode: str) -> None:
    orders: set[tuple[int, ...]] = set()
    bench = Bench(Things)

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        for number, name in enumerate("abc", 1):
            store.of(Counter).put(Counter(name, number)).send()

    def gather(store: Store[Sync]) -> int:
        joined: list[int] = []
        total: int = store._runtime.driver.run(fan_out(joined))
        orders.add(tuple(joined))
        return total

    async def gather_async(store: Store[Async]) -> int:
        joined: list[int] = []
        total: int = await store._runtime.driver.run(fan_out(joined))
        orders.add(tuple(joined))
        return total

    bench.client(gather if mode == "sync" else gather_async, name="gather")
    for seed in range(40):
        first = bench.run(seed)
        assert first.outcomes["gather"].result == 6
        assert str(bench.run(seed).record) == str(first.record)
    assert len(orders) > 3


def abandon() -> Plan[None]:
    """Spawns what it never joins."""
    call = Call("GetItem", {"TableName": "things", "Key": {"pk": {"S": "COUNTER#a"}, "sk": {"S": "COUNTER"}}})

    def read() -> Plan[None]:
        yield call
        yield call

    yield Spawn(read())
    yield call


@MODES
def test_spawned_plans_end_with_the_plan_that_spawned_them(mode: str) -> None:
    bench = Bench(Things)

    async def leave_async(store: Store[Async]) -> None:
        await store._runtime.driver.run(abandon())

    bench.client((lambda store: store._runtime.driver.run(abandon())) if mode == "sync" else leave_async, name="leave")
    for seed in range(20):
        assert bench.run(seed).outcomes["leave"].returned


def test_tasks_of_one_client_are_interleaved() -> None:
    bench = Bench(Things)

    async def both(store: Store[Async]) -> list[int]:
        async def add(number: int) -> int:
            await store.of(Counter).put(Counter(str(number), number)).send()
            return number

        return list(await asyncio.gather(add(1), add(2), add(3)))

    bench.client(both)
    records = {str(bench.run(seed).record).rpartition("\n")[0] for seed in range(30)}
    assert all(outcome.result == [1, 2, 3] for seed in range(5) for outcome in bench.run(seed).outcomes.values())
    assert len(records) == 6


def test_a_failure_travels_between_processes() -> None:
    record = Record(Schedule.listed([4, 1]))
    failed = ScheduleFailed("it does not hold", record)
    travelled = pickle.loads(pickle.dumps(failed))
    assert str(travelled) == str(failed) == "it does not hold\n\nschedule:"
    assert isinstance(travelled, ScheduleFailed)

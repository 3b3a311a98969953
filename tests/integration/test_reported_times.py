"""Times through every server: one form is written, those of other writers are read, and epochs are whole units."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamap import (
    EncodeError,
    EpochMillis,
    EpochSeconds,
    F,
    ItemDecodeError,
    Repository,
    Sync,
    Table,
    connect,
    entity,
    evolve,
)
from tests.backends import Backend
from tests.modes import RawTable

UTC = timezone.utc
EAST, WEST = timezone(timedelta(hours=2)), timezone(timedelta(hours=-2))
BERLIN = ZoneInfo("Europe/Berlin")
TWICE = datetime(2023, 10, 29, 2, 30, tzinfo=BERLIN)


@entity("EVENT", pk="EVENT#{id}", sk="EVENT")
class Event:
    id: str
    at: datetime | None = None
    day: date | None = None
    clock: time | None = None
    seconds: Annotated[datetime | None, EpochSeconds()] = None
    millis: Annotated[datetime | None, EpochMillis()] = None
    history: list[datetime] = attrs.field(factory=list[datetime])
    text: str = ""


KEY = ("EVENT#e", "EVENT")


@pytest.fixture
def events(backend: Backend, raw: RawTable) -> Repository[Sync, Event]:
    return connect(Table(raw.name, [Event]), client=backend.client).of(Event)


def stored(raw: RawTable) -> dict[str, Any]:
    item = raw.get(*KEY)
    assert item is not None
    return item


MOMENTS: list[tuple[Any, ...]] = [
    (datetime(33, 1, 1, tzinfo=UTC), "0033-01-01T00:00:00.000000Z"),
    (datetime(539, 12, 31, 1, 2, 3, 4, UTC), "0539-12-31T01:02:03.000004Z"),
    (datetime(2025, 1, 2, 0, 0, tzinfo=EAST), "2025-01-01T22:00:00.000000Z"),
    (datetime(2025, 1, 1, 23, 0, tzinfo=WEST), "2025-01-02T01:00:00.000000Z"),
    (TWICE, "2023-10-29T00:30:00.000000Z"),
    (TWICE.replace(fold=1), "2023-10-29T01:30:00.000000Z"),
]


def test_one_form_is_written_for_every_moment(events: Repository[Sync, Event], raw: RawTable) -> None:
    for at, text in MOMENTS:
        moment = at.astimezone(UTC)
        assert events.put(Event("e", at, date(33, 1, 1), history=[at])).send() == Event(
            "e", moment, date(33, 1, 1), history=[moment]
        )
        assert stored(raw)["at"] == {"S": text}
        assert stored(raw)["day"] == {"S": "0033-01-01"}
        assert stored(raw)["history"] == {"L": [{"S": text}]}
        changed = events.update(id="e").set(F(Event.text), "x").if_(F(Event.at).between(at, moment)).send()
        assert changed.at == moment
        assert changed.at is not None
        assert changed.at.tzinfo is UTC


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.datetimes(timezones=st.sampled_from([UTC, EAST, WEST, BERLIN])),
    st.datetimes(datetime(1970, 1, 1), datetime(2099, 1, 1), timezones=st.sampled_from([UTC, EAST])),
    st.dates(),
    st.times(),
)
def test_random_times_come_back(
    events: Repository[Sync, Event], at: datetime, epoch: datetime, day: date, clock: time
) -> None:
    event = Event("e", at, day, clock, epoch, epoch, [epoch, epoch.astimezone(WEST)])
    try:
        answer = events.put(event).send()
    except EncodeError:
        # no year before 1 and none after 9999 in UTC
        assert at.replace(tzinfo=UTC).year in (1, 9999)
        return
    read = events.get(id="e").strongly_consistent().required().send()
    assert read == answer
    assert (read.day, read.clock, read.history) == (day, clock, event.history)
    assert read.at == at.astimezone(UTC)
    assert read.seconds is not None
    assert read.millis is not None
    assert timedelta(0) <= read.seconds - epoch < timedelta(seconds=1)
    assert timedelta(0) <= read.millis - epoch < timedelta(milliseconds=1)


FOREIGN: list[tuple[Any, ...]] = [
    ("2025-12-17T21:47:08.305464+00:00", datetime(2025, 12, 17, 21, 47, 8, 305464, UTC)),
    ("2025-12-17T21:47:08Z", datetime(2025, 12, 17, 21, 47, 8, tzinfo=UTC)),
    ("2019-07-01T00:00:00", datetime(2019, 7, 1, tzinfo=UTC)),
    ("2019-07-01 10:00:00.5 +0200", datetime(2019, 7, 1, 8, 0, 0, 500000, UTC)),
]


def test_what_other_writers_stored_is_read_and_left_alone(events: Repository[Sync, Event], raw: RawTable) -> None:
    for text, at in FOREIGN:
        raw.put(*KEY, _type={"S": "EVENT"}, id={"S": "e"}, at={"S": text}, history={"L": [{"S": text}]})
        read = events.get(id="e").required().send()
        assert read == Event("e", at, history=[at])
        changed = events.update(read).to(evolve(read, text="x")).send()
        assert changed == Event("e", at, history=[at], text="x")
        assert stored(raw)["at"] == {"S": text}
        events.put(changed).send()
        assert stored(raw)["at"] == {"S": at.isoformat(timespec="microseconds").replace("+00:00", "Z")}


NO_TIMES: list[tuple[Any, ...]] = [
    (
        "at",
        {"S": "yesterday"},
        "$.at: a datetime expected, found a text that is no ISO 8601 date and time",
    ),
    ("at", {"N": "5"}, "$.at: a datetime expected, found a number (N)"),
    ("day", {"S": "33-1-1"}, "$.day: a date expected, found a text that is no ISO 8601 date"),
    (
        "history",
        {"L": [{"S": "2025-12-17T21:47:08Z"}, {"S": "?"}]},
        "$.history[1]: a datetime expected, found a text that is no ISO 8601 date and time",
    ),
]


def test_what_is_no_time_is_named_with_item_and_place(events: Repository[Sync, Event], raw: RawTable) -> None:
    for attribute, wire, message in NO_TIMES:
        raw.put(*KEY, _type={"S": "EVENT"}, id={"S": "e"}, **{attribute: wire})
        with pytest.raises(ItemDecodeError) as caught:
            events.get(id="e").send()
        assert str(caught.value) == f"the item {{'pk': 'EVENT#e', 'sk': 'EVENT'}} is no Event: {message}"


# ---- epochs


EPOCHS: list[tuple[Any, ...]] = [
    (datetime(1970, 1, 1, tzinfo=UTC), "0", "0"),
    (datetime(1970, 1, 1, 2, tzinfo=EAST), "0", "0"),
    (datetime(1970, 1, 1, 0, 0, 0, 1, UTC), "1", "1"),
    (datetime(2024, 1, 1, 0, 0, 0, 17000, UTC), "1704067201", "1704067200017"),
]


def test_epochs_are_stored_in_whole_units_and_0_is_one(events: Repository[Sync, Event], raw: RawTable) -> None:
    for at, seconds, millis in EPOCHS:
        events.put(Event("e", seconds=at, millis=at)).send()
        assert (stored(raw)["seconds"], stored(raw)["millis"]) == ({"N": seconds}, {"N": millis})
        events.put(Event("e")).send()
        update = events.update(id="e").set(F(Event.seconds), at).set(F(Event.millis), at)
        assert update.send() == events.get(id="e").strongly_consistent().required().send()
        assert (stored(raw)["seconds"], stored(raw)["millis"]) == ({"N": seconds}, {"N": millis})


@entity("SESSION", pk="SESSION#{id}", sk="SESSION", ttl="expires")
class Session:
    id: str
    expires: datetime | None = None
    text: str = ""


@entity("LEASE", pk="LEASE#{id}", sk="LEASE", ttl="expires")
class Lease:
    id: str
    expires: int = 0
    text: str = ""


@pytest.mark.parametrize("cls", [Session, Lease])
def test_a_ttl_is_stored_in_seconds_by_every_write(backend: Backend, raw: RawTable, cls: Any) -> None:
    store = connect(Table(raw.name, [Session, Lease], ttl="ttl"), client=backend.client)
    sessions = store.of(cls)
    at = datetime(2090, 1, 1, 0, 0, 0, 1, UTC)
    expires: Any = at if cls is Session else 3786912001
    name = cls.__name__.upper()
    where: Any = F(cls, lambda s: s.expires)

    def seconds() -> Any:
        return (raw.get(f"{name}#s", name) or {}).get("ttl")

    for write in (
        sessions.put(cls("s", expires)),
        sessions.upsert(id="s").set(where, expires),
        sessions.update(id="s").set(where, expires),
        sessions.update(cls("s", expires)).to(cls("s", expires, "x")),
    ):
        write.send()
        assert seconds() == {"N": "3786912001"}


def test_milliseconds_are_no_ttl(backend: Backend, raw: RawTable) -> None:
    leases = connect(Table(raw.name, [Lease], ttl="ttl"), client=backend.client).of(Lease)
    leases.put(Lease("s", 3786912001)).send()
    now = 1_700_000_000_000
    for write in (
        lambda: leases.put(Lease("s", now)),
        lambda: leases.update(id="s").set(F(Lease.expires), now),
        lambda: leases.update(id="s").set_fields({"expires": now}),
        lambda: leases.update(Lease("s", 3786912001)).to(Lease("s", now)),
        lambda: leases.upsert(id="s").set(F(Lease.expires), now),
        lambda: leases.upsert(id="s").set_if_missing(F(Lease.expires), now),
        lambda: leases.delete(id="s").if_(F(Lease.expires).le(now)),
    ):
        with pytest.raises(EncodeError) as caught:
            write().send()
        assert str(caught.value) == (
            "Lease $.expires: seconds since 1970 expected, got a number beyond the year 2100, as milliseconds are; "
            "divide it by 1000"
        )
    assert (raw.get("LEASE#s", "LEASE") or {})["ttl"] == {"N": "3786912001"}

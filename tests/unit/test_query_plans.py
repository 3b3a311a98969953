"""What a query sends, request by request, and what it makes of the answers."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from dynamap import CursorError, F, Page, ServiceError, connect, deadline
from dynamap.errors import DeadlineExceeded, ItemDecodeError
from dynamap.plan import Call, CallFailed, Emit, Reached, Spawn, Ticket
from tests.fakes import NOW, Driven, FakeClient, answered, drive, store_of
from tests.in_memory import memory_store
from tests.modes import impatient
from tests.orders import Line, Order, Orders, Session, day

SECRET = bytes(range(32))


def wire(number: int, **more: Any) -> dict[str, Any]:
    """A line as it is stored."""
    return {
        "pk": {"S": "CUSTOMER#c"},
        "sk": {"S": f"ORDERLINE#o#{number:03}"},
        "_type": {"S": "LINE"},
        "customer": {"S": "c"},
        "order": {"S": "o"},
        "line": {"N": str(number)},
        "count": {"N": "1"},
        **more,
    }


def key(number: int) -> dict[str, Any]:
    return {name: wire(number)[name] for name in ("pk", "sk")}


def reply(*numbers: int, last: Any = None, scanned: int | None = None) -> dict[str, Any]:
    """A page of lines; *last* is the number of the last one read."""
    made = {"Items": [wire(n) for n in numbers], "Count": len(numbers), "ScannedCount": scanned or len(numbers)}
    return made if last is None else {**made, "LastEvaluatedKey": key(last)}


def counted(number: int, last: Any = None) -> dict[str, Any]:
    made: dict[str, Any] = {"Count": number, "ScannedCount": number}
    return made if last is None else {**made, "LastEvaluatedKey": key(last)}


def lines(**options: Any) -> Any:
    return store_of(Orders, **options).of(Line).query(customer="c")


def sent(operation: Any, *replies: Any) -> Driven:
    return drive(operation._plan(), *replies)


def starts(driven: Driven) -> list[Any]:
    return [call.params.get("ExclusiveStartKey", {}).get("sk", {}).get("S", "")[-3:] for call in driven.calls]


def sizes(driven: Driven) -> list[Any]:
    return [call.params.get("Limit") for call in driven.calls]


def found(driven: Driven) -> list[int]:
    return [item.line for item in driven.outcome]


# ---- page after page


def test_pages_follow_each_other_until_there_is_no_next_one() -> None:
    driven = sent(lines(), reply(1, 2, last=2), reply(3, last=4), reply(last=5), reply(6))
    assert found(driven) == [1, 2, 3, 6]
    assert starts(driven) == ["", "002", "004", "005"]


def test_an_empty_key_is_the_end() -> None:
    assert found(sent(lines(), {**reply(1), "LastEvaluatedKey": {}})) == [1]


def test_every_request_is_the_same_but_for_where_it_starts() -> None:
    driven = sent(lines().filter(F(Line.count).ge(1)), reply(1, last=1), reply(2))
    first, second = (dict(call.params) for call in driven.calls)
    del second["ExclusiveStartKey"]
    assert first == second


def test_a_page_that_is_refused_for_load_is_asked_for_again_and_nothing_is_lost() -> None:
    throttled = answered("ProvisionedThroughputExceededException", status=400)
    driven = sent(lines(), reply(1, last=1), throttled, throttled, reply(2, last=2), reply(3))
    assert found(driven) == [1, 2, 3]
    assert starts(driven) == ["", "001", "001", "001", "002"]
    assert len(driven.sleeps) == 2


def test_an_error_in_the_middle_is_raised() -> None:
    driven = sent(lines(), reply(1, last=1), answered("AccessDeniedException", "no", status=400))
    assert isinstance(driven.error, ServiceError)
    assert str(driven.error) == "query of Line customer='c': AccessDeniedException: no"


# ---- how much is asked for


def test_a_limit_asks_for_no_more_than_is_left_and_for_more_where_others_are_between() -> None:
    driven = sent(lines().limit(3), reply(1, last=3, scanned=3), reply(last=7, scanned=4), reply(8, 9, 10, last=15))
    assert found(driven) == [1, 8, 9]
    # twice as many each time: 3, then 2 that are left twice over, then four times
    assert sizes(driven) == [3, 4, 8]


def test_a_page_size_is_kept_to() -> None:
    driven = sent(lines().limit(3).page_size(2), reply(1, 2, last=2), reply(3, 4, last=4))
    assert found(driven) == [1, 2, 3]
    assert sizes(driven) == [2, 2]


def test_under_a_filter_the_service_decides_how_large_a_page_is() -> None:
    driven = sent(lines().limit(1).filter(F(Line.count).eq(1)), reply(last=9), reply(10, last=10))
    assert found(driven) == [10]
    assert sizes(driven) == [None, None]


def test_a_limit_that_is_reached_asks_no_further() -> None:
    assert len(sent(lines().limit(2), reply(1, 2, last=2)).calls) == 1
    assert len(sent(lines().first(), reply(1, last=1)).calls) == 1


def test_the_size_of_a_page_does_not_grow_without_end() -> None:
    driven = sent(lines().limit(1), *(reply(last=number) for number in range(1, 20)), reply(20))
    assert sizes(driven)[:3] == [1, 2, 4]
    assert sizes(driven)[-1] is None


def test_no_more_requests_than_allowed() -> None:
    driven = sent(lines().max_pages(2), reply(1, last=1), reply(2, last=2))
    assert found(driven) == [1, 2]


def test_counting_adds_up_and_stops_at_the_limit() -> None:
    driven = sent(lines().count(), counted(5, last=5), counted(0, last=6), counted(2))
    assert driven.outcome == 7
    assert all(call.params["Select"] == "COUNT" for call in driven.calls)
    limited = sent(lines().limit(6).page_size(5).count(), counted(5, last=5), counted(5, last=10))
    assert limited.outcome == 6
    assert sent(lines().max_pages(1).count(), counted(5, last=5)).outcome == 5


def test_some_servers_answer_an_empty_list_beside_the_count() -> None:
    assert sent(lines().count(), {**counted(5), "Items": []}).outcome == 5


# ---- pages and their cursors


def paged(query: Any, cursor: str | None, *replies: Any) -> tuple[Page[Any], Driven]:
    driven = sent(query.page(cursor), *replies)
    return driven.outcome, driven


@pytest.fixture
def query() -> Any:
    store = connect(Orders, client=FakeClient(), clock=lambda: NOW, cursor_key=SECRET)
    return store.of(Line).query(customer="c")


def test_a_page_is_what_one_request_brings(query: Any) -> None:
    page, _ = paged(query, None, reply(1, 2, last=2, scanned=5))
    assert ([item.line for item in page.items], page.skipped) == ([1, 2], 3)
    _, driven = paged(query, page.next, reply(3))
    assert starts(driven) == ["002"]


def test_a_cursor_goes_on_after_the_last_item_that_was_answered(query: Any) -> None:
    page, _ = paged(query.limit(2), None, reply(1, 2, 3, last=9))
    _, driven = paged(query, page.next, reply())
    assert starts(driven) == ["002"]


def test_a_cursor_passes_over_what_was_left_out_behind_the_last_item(query: Any) -> None:
    page, _ = paged(query.limit(2), None, reply(1, 2, last=9, scanned=9))
    _, driven = paged(query, page.next, reply())
    assert starts(driven) == ["009"]


def test_a_page_that_ends_within_a_limit_is_filled_from_the_next_request(query: Any) -> None:
    page, driven = paged(query.limit(4).page_size(3), None, reply(1, 2, last=3), reply(4, 5, 6, last=6))
    assert [item.line for item in page.items] == [1, 2, 4, 5]
    assert len(driven.calls) == 2
    _, driven = paged(query, page.next, reply())
    assert starts(driven) == ["005"]


def test_empty_pages_are_passed_over(query: Any) -> None:
    page, driven = paged(query, None, reply(last=1, scanned=1), reply(last=2, scanned=1), reply(3, last=3))
    assert ([item.line for item in page.items], page.skipped) == ([3], 2)
    assert len(driven.calls) == 3
    empty, _ = paged(query.max_pages(2), None, reply(last=1, scanned=1), reply(last=2, scanned=1))
    assert (empty.items, empty.skipped) == ([], 2)
    _, driven = paged(query, empty.next, reply())
    assert starts(driven) == ["002"]


def test_the_last_page_has_no_cursor(query: Any) -> None:
    assert paged(query, None, reply(1, 2))[0].next is None
    assert paged(query.limit(2), None, reply(1, 2))[0].next is None
    assert paged(query, None, reply())[0] == Page([], None)


def test_a_cursor_holds_the_keys_of_the_index_too() -> None:
    store, client = memory_store(Orders, [Order("c", day(0), number, "open") for number in range(4)], cursor_key=SECRET)
    opened = store.of(Order).index("status").query(status="open")
    page = opened.limit(2).page_size(3).page().send()
    opened.page(page.next).send()
    assert sorted(client.calls[-1][1]["ExclusiveStartKey"]) == ["pk", "sk", "statuspk", "statussk"]


def test_a_cursor_is_of_any_time_and_of_any_size(query: Any) -> None:
    times = iter(range(1_700_000_000, 1_700_100_000, 1000))
    store = connect(Orders, client=FakeClient(), clock=lambda: float(next(times)), cursor_key=SECRET)
    sessions = store.of(Session).query(customer="c")
    session = {
        "pk": {"S": "CUSTOMER#c"},
        "sk": {"S": "SESSION#s"},
        "_type": {"S": "SESSION"},
        "customer": {"S": "c"},
        "id": {"S": "s"},
        "device": {"S": ""},
    }
    last = {"pk": session["pk"], "sk": session["sk"]}
    page = sent(sessions.page(), {"Items": [session], "Count": 1, "LastEvaluatedKey": last}).outcome
    for later in (sessions, sessions.page_size(7), sessions.limit(3), sessions.consistent(), sessions.read_ahead()):
        assert sent(later.page(page.next), {"Items": [], "Count": 0}).calls[0].params["ExclusiveStartKey"] == last
    for other in (sessions.include_expired(), sessions.reverse(), sessions.filter(F(Session.device).eq("x"))):
        assert isinstance(sent(other.page(page.next)).error, CursorError)
        with pytest.raises(CursorError):
            other.page(page.next).params()


def test_the_values_of_a_filter_are_part_of_what_a_cursor_belongs_to(query: Any) -> None:
    one, other = (query.filter(F(Line.count).eq(number)) for number in (1, 2))
    page, _ = paged(one, None, reply(1, last=1))
    assert paged(one, page.next, reply())[0].items == []
    assert isinstance(sent(other.page(page.next)).error, CursorError)


def test_pages_have_cursors_only_with_a_secret() -> None:
    items = [Line("c", "o", number) for number in range(3)]
    with_secret, _ = memory_store(Orders, items, cursor_key=SECRET)
    first, second = with_secret.of(Line).query(customer="c").page_size(2).pages()
    assert with_secret.of(Line).query(customer="c").page(first.next).send().items == second.items == items[2:]
    without, _ = memory_store(Orders, items)
    assert [page.next for page in without.of(Line).query(customer="c").page_size(2).pages()] == [None, None]


# ---- whole items behind an index


@pytest.fixture
def brief() -> tuple[Any, Any]:
    """Ten orders, by an index that holds a part of each."""
    store, client = memory_store(Orders, [Order("c", day(0), number) for number in range(10)])
    return store.of(Order).index("brief").query(customer="c").hydrate(), client


def test_whole_items_are_read_in_the_order_of_the_index(brief: tuple[Any, FakeClient]) -> None:
    query, client = brief
    assert [item.number for item in query.reverse().send()] == list(range(9, -1, -1))
    assert [method for method, _ in client.calls] == ["query", "batch_get_item"]
    wanted = client.calls[1][1]["RequestItems"]["orders"]
    assert wanted["ConsistentRead"] is True
    assert len(wanted["Keys"]) == 10
    client.calls.clear()
    query.eventually_consistent().send()
    assert "ConsistentRead" not in client.calls[1][1]["RequestItems"]["orders"]


def test_items_that_are_gone_are_left_out_and_the_limit_is_still_filled(brief: tuple[Any, FakeClient]) -> None:
    query, client = brief
    answer = client._answer
    assert answer is not None

    def without_odd_ones(method: str, params: dict[str, Any]) -> Any:
        made = answer(method, params)
        if method == "batch_get_item":
            items = made["Responses"]["orders"]
            made["Responses"]["orders"] = [item for item in items if int(item["number"]["N"]) % 2 == 0]
        return made

    client._answer = without_odd_ones
    assert [item.number for item in query.send()] == [0, 2, 4, 6, 8]
    assert [item.number for item in query.limit(3).send()] == [0, 2, 4]
    assert [item.number for item in query.limit(3).page_size(4).send()] == [0, 2, 4]
    assert query.count().send() == 5


def test_an_index_of_another_writers_keys_is_an_error_with_the_key(brief: tuple[Any, FakeClient]) -> None:
    query, client = brief
    item = {"pk": {"S": "strange"}, "sk": {"S": "ORDER#x"}, "_type": {"S": "ORDER"}}
    client._answer = lambda _method, _params: {"Items": [item], "Count": 1}
    with pytest.raises(ItemDecodeError) as caught:
        query.send()
    assert caught.value.key == {"pk": "strange", "sk": "ORDER#x"}


# ---- reading ahead


def test_one_page_is_read_while_the_caller_works_on_the_one_before() -> None:
    store, client = memory_store(Orders, [Line("c", "o", number) for number in range(9)])
    query = store.of(Line).query(customer="c").page_size(2).read_ahead()
    arrived = threading.Event()
    answer = client._answer
    assert answer is not None

    def noting(method: str, params: dict[str, Any]) -> Any:
        made = answer(method, params)
        if "ExclusiveStartKey" in params:
            arrived.set()
        return made

    client._answer = noting
    stream = iter(query)
    assert next(stream).line == 0
    # nobody asked for the second page yet
    assert arrived.wait(10)
    assert [item.line for item in stream] == list(range(1, 9))
    assert len(client.calls) == 5


def test_reading_ahead_never_asks_for_what_a_limit_excludes() -> None:
    store, client = memory_store(Orders, [Line("c", "o", number) for number in range(9)])
    query = store.of(Line).query(customer="c").page_size(2).read_ahead()
    assert [item.line for item in query.limit(4)] == [0, 1, 2, 3]
    assert len(client.calls) == 2
    client.calls.clear()
    assert [item.line for item in query.max_pages(2)] == [0, 1, 2, 3]
    assert query.limit(1).send() == [Line("c", "o", 0)]
    assert len(client.calls) == 3


def test_a_loop_that_is_left_leaves_no_thread_behind() -> None:
    store, client = memory_store(Orders, [Line("c", "o", number) for number in range(9)])
    before = threading.active_count()
    for item in store.of(Line).query(customer="c").page_size(2).read_ahead():
        if item.line == 3:
            break
    assert threading.active_count() == before
    assert len(client.calls) <= 3


def test_what_fails_ahead_is_raised_where_the_page_is_wanted() -> None:
    store, client = memory_store(Orders, [Line("c", "o", number) for number in range(9)])
    answer = client._answer
    assert answer is not None

    def failing(method: str, params: dict[str, Any]) -> Any:
        if "ExclusiveStartKey" in params:
            raise CallFailed(Reached.ANSWERED, "AccessDeniedException", "no")
        return answer(method, params)

    client._answer = failing
    stream = iter(impatient(store).of(Line).query(customer="c").page_size(2).read_ahead())
    assert [next(stream).line, next(stream).line] == [0, 1]
    with pytest.raises(ServiceError):
        next(stream)


def test_a_page_that_is_read_ahead_is_not_asked_for_again_once_the_loop_is_left() -> None:
    plan = lines().page_size(1).read_ahead()._emitting()
    assert isinstance(next(plan), Call)
    spawn = plan.send(reply(1, last=1))
    assert isinstance(spawn, Spawn)
    assert isinstance(plan.send(Ticket()), Emit)
    assert isinstance(next(spawn.plan), Call)
    plan.close()
    with pytest.raises(StopIteration):
        # no pause, and no second attempt
        spawn.plan.throw(answered("ThrottlingException", status=400))


# ---- deadlines and damage


def test_a_deadline_bounds_all_pages_together() -> None:
    now = [time.monotonic()]

    def endless(_call: Call) -> Any:
        now[0] += 2
        return reply(1, last=1)

    query = store_of(Orders, monotonic=lambda: now[0]).of(Line).query(customer="c")
    with deadline(5):
        driven = drive(query._plan(), answer=endless)
    assert isinstance(driven.error, DeadlineExceeded)
    assert str(driven.error) == "query of Line customer='c': the deadline is over, and nothing was read"
    assert 2 <= len(driven.calls) <= 3


def test_items_that_do_not_fit_are_errors() -> None:
    damaged = {"Items": [wire(1), wire(2, count={"S": "x"})], "Count": 2}
    driven = sent(lines(), damaged)
    assert isinstance(driven.error, ItemDecodeError)
    assert driven.error.key == {"pk": "CUSTOMER#c", "sk": "ORDERLINE#o#002"}


def test_items_of_other_types_are_no_errors_wherever_they_come_from() -> None:
    strange = {**wire(2), "_type": {"S": "BAZ"}}
    nameless = {name: value for name, value in wire(3).items() if name != "_type"}
    assert found(sent(lines(), {"Items": [wire(1), strange, nameless], "Count": 3})) == [1]


# ---- builders


def test_steps_answer_copies_and_one_query_can_be_sent_again() -> None:
    store, _ = memory_store(Orders, [Line("c", "o", number) for number in range(3)])
    query = store.of(Line).query(customer="c")
    assert [item.line for item in query.limit(1).reverse().send()] == [2]
    assert [item.line for item in query.send()] == [item.line for item in query.send()] == [0, 1, 2]
    with pytest.raises(AttributeError):
        query._limit = 1

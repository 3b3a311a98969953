"""get_many driven by hand: what it sends, in which order it answers, and how each failure ends."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from itertools import count, islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynamap
from dynamap import (
    BatchIncomplete,
    DeadlineExceeded,
    ItemDecodeError,
    ItemKey,
    KeyValueError,
    RequestError,
    ServiceError,
)
from dynamap.backoff import TokenBucket
from dynamap.plan import Call, Emit
from tests.batched import NOW, Account, Batched, Cart, Note, Numbered, Service, Views, notes
from tests.fakes import answered, async_store_of, lost, store_of
from tests.lanes import in_turn, play

TABLE = "batched"


def keys_of(call: Call) -> list[str]:
    return [key["pk"]["S"].split("#")[1] for key in call.params["RequestItems"][TABLE]["Keys"]]


def ids(numbers: Sequence[int] | Iterator[int]) -> Iterator[dict[str, str]]:
    for number in numbers:
        yield {"id": str(number)}


def filled(number: int) -> Service:
    """A service with so many notes."""
    service = Service()
    service.engine.load(TABLE, [stored(note.id, note.text) for note in notes(number)])
    return service


def stored(name: str, text: str) -> dict[str, Any]:
    return {
        "pk": {"S": f"NOTE#{name}"},
        "sk": {"S": "NOTE"},
        "_type": {"S": "NOTE"},
        "id": {"S": name},
        "text": {"S": text},
    }


def leaving(service: Service, *left: str) -> Callable[[Call], Any]:
    """Leaves these keys unread."""

    def answer(call: Call) -> Any:
        wanted = call.params["RequestItems"][TABLE]
        undone = [key for key in wanted["Keys"] if key["pk"]["S"].split("#")[1] in left]
        done = [key for key in wanted["Keys"] if key not in undone]
        items: list[Any] = []
        if done:
            reply = service(Call("BatchGetItem", {"RequestItems": {TABLE: {**wanted, "Keys": done}}}))
            items = reply["Responses"][TABLE]
        return {
            "Responses": {TABLE: items},
            "UnprocessedKeys": {TABLE: {**wanted, "Keys": undone}} if undone else {},
        }

    return answer


# ---- what is sent and answered


def test_100_keys_go_in_a_request_and_four_requests_at_a_time() -> None:
    service = filled(950)
    lanes = play(service.store.of(Note).get_many(ids(range(1000)))._plan(), service)
    assert lanes.outcome == [*notes(950), *[None] * 50]
    assert [len(keys_of(call)) for call in lanes.calls] == [100] * 10
    assert lanes.most_in_flight == 4


def test_answers_keep_the_order_of_the_keys() -> None:
    service = filled(10)
    wanted = [7, 3, 99, 7, 0, 3]
    lanes = play(service.store.of(Note).get_many(ids(wanted))._plan(), service)
    assert [None if each is None else each.id for each in lanes.outcome] == ["7", "3", None, "7", "0", "3"]
    assert [keys_of(call) for call in lanes.calls] == [["7", "3", "99", "0"]]


def test_each_place_has_an_instance_of_its_own() -> None:
    service = filled(1)
    first, second = play(service.store.of(Note).get_many(ids([0, 0]))._plan(), service).outcome
    assert first == second
    assert first is not second


def test_a_key_is_whatever_says_which_item() -> None:
    service = filled(3)
    repository = service.store.of(Note)
    lanes = play(repository.get_many([repository.key(id="0"), Note("1", "old"), {"id": "2"}])._plan(), service)
    assert lanes.outcome == list(notes(3))


def test_no_keys_are_no_call() -> None:
    lanes = play(store_of(Batched).of(Note).get_many(())._plan(), Service())
    assert lanes.outcome == []
    assert lanes.calls == []


def test_equal_numbers_are_one_key() -> None:
    service = Service(Numbered)
    keys: Any = [{"page": 12}, {"page": int("0012")}]
    lanes = play(store_of(Numbered).of(Views).get_many(keys)._plan(), service)
    assert lanes.outcome == [None, None]
    assert lanes.calls[0].params == {"RequestItems": {"numbered": {"Keys": [{"page": {"N": "12"}}]}}}


def test_a_key_that_comes_again_soon_is_read_once_and_later_again() -> None:
    service = filled(1)
    near = [0, *range(1000, 1150), 0]
    far = [0, *range(1000, 1450), 0]
    for wanted, reads in ((near, 1), (far, 2)):
        lanes = play(service.store.of(Note).get_many(ids(wanted))._plan(), service)
        assert lanes.outcome[0] == lanes.outcome[-1] == Note("0", "text 0")
        assert sum(keys_of(call).count("0") for call in lanes.calls) == reads


def test_one_key_over_and_over_is_answered_on_the_way() -> None:
    service = filled(1)

    def same() -> Iterator[dict[str, str]]:
        while True:
            yield {"id": "0"}

    steps = service.store.of(Note).get_many(same())
    plan = steps._emitting()
    reply: Any = None
    emitted = 0
    while emitted < 5000:
        command = plan.send(reply)
        reply = None
        if isinstance(command, Emit):
            emitted += len(command.items)
        elif isinstance(command, Call):
            reply = service(command)
        elif isinstance(command, dynamap.plan.Spawn):
            spawned, reply = command.plan, dynamap.plan.Ticket()
        else:
            assert isinstance(command, dynamap.plan.Join)
            reply = (command.tickets[0], play(spawned, service).outcome)
    plan.close()


@pytest.mark.deep
@given(
    wanted=st.lists(st.integers(0, 300), max_size=700),
    picks=st.lists(st.integers(0, 3), min_size=1, max_size=60),
    shares=st.lists(st.integers(0, 3), min_size=1, max_size=30),
)
def test_answers_are_those_of_single_gets_in_whatever_order_requests_are_answered(
    wanted: list[int], picks: list[int], shares: list[int]
) -> None:
    service = Service()
    service.engine.load(TABLE, [stored(str(number), "") for number in range(0, 300, 2)])
    calls = 0

    def answer(call: Call) -> Any:
        nonlocal calls
        calls += 1
        every = shares[calls % len(shares)]
        left = keys_of(call)[1::every] if every and calls < 100 else []
        return leaving(service, *left)(call)

    step = 0

    def choose(options: int) -> int:
        nonlocal step
        step += 1
        return picks[step % len(picks)] % options

    lanes = play(service.store.of(Note).get_many(ids(wanted))._plan(), answer, choose=choose)
    assert lanes.outcome == [None if number % 2 or number == 300 else Note(str(number)) for number in wanted]


# ---- how it reads


def requested(build: Callable[[Any], Any], model: type[Any]) -> dict[str, Any]:
    params: dict[str, Any] = build(store_of(Batched).of(model).get_many([{"id": "a"}])).params()
    return params


def wanted_of(model: str, **more: Any) -> dict[str, Any]:
    return {"RequestItems": {TABLE: {"Keys": [{"pk": {"S": f"{model}#a"}, "sk": {"S": model}}], **more}}}


def test_versioned_types_are_read_strongly() -> None:
    strong = {"ConsistentRead": True}
    assert requested(lambda many: many, Account) == wanted_of("ACCOUNT", **strong)
    assert requested(lambda many: many, Note) == wanted_of("NOTE")
    assert requested(lambda many: many.eventually_consistent(), Account) == wanted_of("ACCOUNT")
    assert requested(lambda many: many.strongly_consistent(), Note) == wanted_of("NOTE", **strong)


def test_what_has_expired_is_absent() -> None:
    service = Service()
    for name, seconds in (("a", NOW - 1), ("b", NOW + 1)):
        moment = datetime.fromtimestamp(seconds, timezone.utc)
        put = service.store.of(Cart).put_many([Cart(name, moment)])
        assert play(put._plan(), service).outcome is None  # type: ignore[attr-defined]
    many = service.store.of(Cart).get_many([{"id": "a"}, {"id": "b"}])
    assert [each and each.id for each in play(many._plan(), service).outcome] == [None, "b"]
    assert [each and each.id for each in play(many.include_expired()._plan(), service).outcome] == ["a", "b"]


def test_params_show_the_first_request() -> None:
    many = store_of(Batched).of(Note).get_many(ids(count()))
    params = many.params()
    assert params == many.params()
    assert len(params["RequestItems"][TABLE]["Keys"]) == 100
    service = filled(3)
    found = service.store.of(Note).get_many(ids(range(3)))
    assert len(found.params()["RequestItems"][TABLE]["Keys"]) == 3
    assert play(found._plan(), service).outcome == list(notes(3))


# ---- what cannot be read


def test_only_what_was_left_out_is_asked_for_again() -> None:
    service = filled(4)
    answers = in_turn(leaving(service, "1", "3"), leaving(service, "3"), leaving(service))
    lanes = play(service.store.of(Note).get_many(ids(range(4)))._plan(), answers)
    assert lanes.outcome == list(notes(4))
    assert [keys_of(call) for call in lanes.calls] == [["0", "1", "2", "3"], ["1", "3"], ["3"]]
    assert lanes.sleeps == [0.025, 0.025]


def test_what_is_not_there_is_not_taken_for_left_out() -> None:
    service = Service()
    answers = in_turn(leaving(service, "1"), leaving(service))
    lanes = play(service.store.of(Note).get_many(ids(range(2)))._plan(), answers)
    assert lanes.outcome == [None, None]


def test_a_reply_about_other_keys_answers_nothing_but_what_it_brings() -> None:
    service = filled(2)
    strange = {"UnprocessedKeys": {TABLE: {"Keys": [{"pk": {"S": "x"}, "sk": {"S": "x"}}]}}}
    answers = in_turn(lambda call: {**leaving(service, "1")(call), **strange}, leaving(service))
    lanes = play(service.store.of(Note).get_many(ids(range(2)))._plan(), answers)
    assert lanes.outcome == list(notes(2))
    assert [keys_of(call) for call in lanes.calls] == [["0", "1"], ["1"]]


def test_what_stays_left_out_is_said() -> None:
    service = filled(5)
    lanes = play(service.store.of(Note).get_many(ids([0, 1, 2, 1, 3]))._plan(), leaving(service, "1", "2"))
    error = lanes.error
    assert isinstance(error, BatchIncomplete)
    assert str(error) == (
        "get_many of Note: 4 of the 5 keys that were taken have no answer, the first of them id='1': the service kept "
        "refusing for load; ask again for what is in .left"
    )
    # from the first one on that is missing: the two together are all that was asked for
    assert error.left == tuple(ItemKey(Note, {"id": each}) for each in "1213")
    assert error.answered == (Note("0", "text 0"),)
    assert str(error.__cause__) == (
        "get_many of Note: the service kept leaving 2 undone: spread the load or raise the capacity"
    )
    again = play(service.store.of(Note).get_many(error.left)._plan(), service).outcome
    assert [*error.answered, *again] == [Note(each, f"text {each}") for each in "01213"]


def test_a_loop_has_had_what_came_before() -> None:
    service = filled(300)
    keys = ids(range(300))
    lanes = play(service.store.of(Note).get_many(keys)._emitting(), leaving(service, "150"))
    error = lanes.error
    assert isinstance(error, BatchIncomplete)
    assert lanes.emitted == list(notes(150))
    assert error.answered == ()
    assert [key.values["id"] for key in [*error.left]] == [str(number) for number in range(150, 300)]
    assert next(keys, None) is None


def test_a_generator_goes_on_where_it_was_given_up() -> None:
    service = filled(900)
    keys = ids(range(900))
    refused = answered("ThrottlingException", "slow down", status=400)
    calls = count(1)

    def answer(call: Call) -> Any:
        if next(calls) > 2:
            raise refused
        return service(call)

    lanes = play(service.store.of(Note).get_many(keys)._emitting(), answer)
    error = lanes.error
    assert isinstance(error, BatchIncomplete)
    rest = play(service.store.of(Note).get_many([*error.left, *keys])._emitting(), service).emitted
    assert [*lanes.emitted, *rest] == list(notes(900))


def test_a_mistake_after_what_could_not_be_read_is_mentioned() -> None:
    service = filled(2)
    given: list[Any] = [*ids(range(2)), 5]
    error = play(service.store.of(Note).get_many(given)._plan(), leaving(service, "1")).error
    assert str(error) == (
        "get_many of Note: 1 of the 2 keys that were taken have no answer, the first of them id='1': the service kept "
        "refusing for load; ask again for what is in .left; the next key raised RequestError"
    )


def test_explain_shows_the_first_request() -> None:
    assert store_of(Batched).of(Note).get_many([{"id": "a"}, {"id": "b"}]).explain() == (
        """\
BatchGetItem of 2, each on its own
  GetItem on batched
    key        pk = "NOTE#a", sk = "NOTE"
    capacity   half a read unit for each 4 KB of the item (eventually consistent)
  GetItem on batched
    key        pk = "NOTE#b", sk = "NOTE"
    capacity   half a read unit for each 4 KB of the item (eventually consistent)"""
    )


def test_an_empty_bucket_ends_the_repeats() -> None:
    service = filled(2)
    store = store_of(Batched, bucket=TokenBucket(7.0))
    lanes = play(store.of(Note).get_many(ids(range(2)))._plan(), leaving(service, "1"))
    assert isinstance(lanes.error, BatchIncomplete)
    assert len(lanes.calls) == 2


def test_a_lost_answer_is_asked_for_again() -> None:
    service = filled(2)
    failures = [lost(), lost()]

    def answer(call: Call) -> Any:
        if failures:
            raise failures.pop()
        return service(call)

    assert play(service.store.of(Note).get_many(ids(range(2)))._plan(), answer).outcome == list(notes(2))


def test_a_refusal_is_the_services_own_error() -> None:
    def answer(call: Call) -> Any:
        raise forbidden

    forbidden = answered("AccessDeniedException", "no", status=400)
    error = play(store_of(Batched).of(Note).get_many(ids(range(500)))._plan(), answer).error
    assert isinstance(error, ServiceError)
    assert str(error) == "get_many of Note: AccessDeniedException: no"


def test_an_item_of_another_class_is_an_error_after_those_before_it() -> None:
    service = filled(3)
    item = {"pk": {"S": "NOTE#1"}, "sk": {"S": "NOTE"}, "_type": {"S": "OTHER"}, "id": {"S": "1"}}
    service.engine.answer(Call("PutItem", {"TableName": TABLE, "Item": item}))
    lanes = play(service.store.of(Note).get_many(ids(range(3)))._emitting(), service)
    assert lanes.emitted == [Note("0", "text 0")]
    assert isinstance(lanes.error, ItemDecodeError)


# ---- mistakes on the way

MISTAKES: dict[str, tuple[Any, type[Exception], str]] = {
    "a text": (
        "abc",
        RequestError,
        "get_many of Note, key 151: a key is key(...) of the repository, an instance of Note, or a dict of its key "
        "fields (id); got str",
    ),
    "another class": (
        Account("a"),
        RequestError,
        "get_many of Note, key 151: a key is key(...) of the repository, an instance of Note, or a dict of its key "
        "fields (id); got Account",
    ),
    "another's key": (
        ItemKey(Account, {"id": "a"}),
        RequestError,
        "get_many of Note, key 151: this is a key of Account, not of Note",
    ),
    "another field": (
        {"name": "a"},
        KeyValueError,
        "get_many of Note, key 151: Note has no key field 'name': its key is id",
    ),
}


@pytest.mark.parametrize(("key", "kind", "message"), MISTAKES.values(), ids=list(MISTAKES))
def test_a_mistake_is_raised_in_its_place(key: Any, kind: type[Exception], message: str) -> None:
    service = filled(200)
    keys: list[Any] = [*ids(range(150)), key, *ids(range(50))]
    lanes = play(service.store.of(Note).get_many(keys)._emitting(), service)
    assert lanes.emitted == list(notes(150))
    assert type(lanes.error) is kind
    assert str(lanes.error) == message


def test_an_error_of_the_iterable_is_passed_on_after_the_answers_before_it() -> None:
    broken = OSError("no more")

    def keys() -> Iterator[dict[str, str]]:
        yield from ids(range(120))
        raise broken

    service = filled(120)
    lanes = play(service.store.of(Note).get_many(keys())._emitting(), service)
    assert lanes.emitted == list(notes(120))
    assert lanes.error is broken


WRONG: dict[str, tuple[Any, str]] = {
    "a text": ("abc", "get_many of Note takes keys as a list or another iterable; got str: put it in a list"),
    "a dict": ({"id": "a"}, "get_many of Note takes keys as a list or another iterable; got dict: put it in a list"),
    "an instance": (Note("a"), "get_many of Note takes keys as a list or another iterable; got Note: put it in a list"),
    "a number": (5, "get_many of Note takes keys as a list or another iterable; got int: collect it in a list first"),
}


@pytest.mark.parametrize(("keys", "message"), WRONG.values(), ids=list(WRONG))
def test_one_key_is_not_many(keys: Any, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        store_of(Batched).of(Note).get_many(keys)
    assert str(caught.value) == message


def test_no_keys_have_no_params() -> None:
    with pytest.raises(RequestError) as caught:
        store_of(Batched).of(Note).get_many([]).params()
    assert str(caught.value) == "get_many of Note: there are no keys, so nothing would be sent"


# ---- deadlines and stopping


def test_a_deadline_that_is_over_takes_nothing() -> None:
    keys = ids(range(3))
    with dynamap.deadline(0):
        error = play(store_of(Batched).of(Note).get_many(keys)._plan(), Service()).error
    assert isinstance(error, DeadlineExceeded)
    assert str(error) == "get_many of Note: the deadline is over, and nothing was read"
    assert next(keys) == {"id": "0"}


def test_a_deadline_ends_the_repeats() -> None:
    now = [0.0]
    store = store_of(Batched, monotonic=lambda: now[0])
    service = filled(2)

    def answer(call: Call) -> Any:
        now[0] += 1e12
        return leaving(service, "1")(call)

    with dynamap.deadline(10):
        error = play(store.of(Note).get_many(ids(range(2)))._plan(), answer).error
    assert isinstance(error, BatchIncomplete)
    assert str(error) == (
        "get_many of Note: 1 of the 2 keys that were taken have no answer, the first of them id='1': the deadline is "
        "over; ask again for what is in .left"
    )
    assert error.answered == (Note("0", "text 0"),)


def test_keys_are_taken_only_as_far_as_requests_are_under_way() -> None:
    taken: list[int] = []

    def keys() -> Iterator[dict[str, str]]:
        for number in count():
            taken.append(number)
            yield {"id": str(number)}

    service = filled(1)
    plan = service.store.of(Note).get_many(keys())._emitting()
    command = plan.send(None)
    spawned: list[Any] = []
    while isinstance(command, dynamap.plan.Spawn):
        ticket = dynamap.plan.Ticket()
        spawned.append((ticket, command.plan))
        command = plan.send(ticket)
    assert len(taken) == 400
    ticket, first = spawned[0]
    command = plan.send((ticket, play(first, service).outcome))
    assert isinstance(command, Emit)
    assert len(taken) == 400
    # nobody waits any more: what has been spawned sends nothing more
    plan.close()
    assert all(list(islice(other, 1)) == [] for _, other in spawned[1:])


def test_the_error_travels_with_what_is_left() -> None:
    service = filled(2)
    error = play(service.store.of(Note).get_many(ids(range(2)))._plan(), leaving(service, "1")).error
    assert isinstance(error, BatchIncomplete)
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.left, copy.answered, str(copy)) == (error.left, error.answered, str(error))


def test_the_wrong_loop_says_which_is_right() -> None:
    many: Any = async_store_of(Batched).of(Note).get_many([])
    with pytest.raises(TypeError) as caught:
        iter(many)
    assert str(caught.value) == (
        "GetMany of an asynchronous store is iterated with `async for`, or `await ... .send()`"
    )
    many = store_of(Batched).of(Note).get_many([])
    with pytest.raises(TypeError) as caught:
        aiter(many)
    assert str(caught.value) == ("GetMany of a synchronous store is iterated with `for`; connect_async() makes others")


def test_an_iterator_is_sent_once() -> None:
    service = filled(2)
    many = service.store.of(Note).get_many(ids(range(2)))
    assert play(many.strongly_consistent()._plan(), service).outcome == list(notes(2))
    error = play(many._plan(), service).error
    assert isinstance(error, RequestError)
    assert str(error) == (
        "get_many of Note: it was given an iterator, which was read when it was sent: make it of a list to send it "
        "again"
    )

"""put_many and delete_many driven by hand: what they send, in which order, and how each failure ends."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynamap
from dynamap import (
    BatchIncomplete,
    DeadlineExceeded,
    EncodeError,
    ItemKey,
    ItemTooLarge,
    OutcomeUnknown,
    RequestError,
    ServiceError,
    Throttled,
    TransactionConflict,
    UnguardedWrite,
    evolve,
)
from dynamap.backoff import TokenBucket
from dynamap.plan import Call, CallFailed, Spawn
from tests.batched import NOW, Account, Batched, Note, Numbered, Service, Views, notes
from tests.fakes import answered, applied_but_unreadable, lost, never_sent, numbered, store_of
from tests.lanes import Lanes, in_turn, play

TABLE = "batched"


def plan_of(operation: Any) -> Any:
    return operation._plan()


def sent_ids(call: Call) -> list[str]:
    return [_id_of(request) for request in call.params["RequestItems"][TABLE]]


def _id_of(request: Any) -> str:
    ((kind, inner),) = request.items()
    key: str = inner["Item" if kind == "PutRequest" else "Key"]["pk"]["S"]
    return key.split("#")[1]


def leaving(*ids: str) -> Callable[[Call], Any]:
    """Leaves these undone."""

    def answer(call: Call) -> Any:
        left = [request for request in call.params["RequestItems"][TABLE] if _id_of(request) in ids]
        return {"UnprocessedItems": {TABLE: left} if left else {}}

    return answer


def failing(service: Service, *failures: CallFailed, at: int = 1) -> Callable[[Call], Any]:
    """Fails its calls from this one on, one after the other, and answers all others."""
    queue = list(failures)
    count = 0

    def answer(call: Call) -> Any:
        nonlocal count
        count += 1
        if count >= at and queue:
            raise queue.pop(0)
        return service(call)

    return answer


def stored(service: Service) -> dict[str, str]:
    return {item["id"]["S"]: item["text"]["S"] for item in service.engine.items(TABLE)}


# ---- what is sent


def test_25_items_go_in_a_request_and_eight_requests_at_a_time() -> None:
    service = Service()
    lanes = play(plan_of(service.store.of(Note).put_many(notes(1010))), service)
    assert lanes.outcome is None
    assert sorted(len(sent_ids(call)) for call in lanes.calls) == [10, *[25] * 40]
    assert lanes.most_in_flight == 8
    assert stored(service) == {str(number): f"text {number}" for number in range(1010)}


def test_a_single_request_is_sent_by_itself() -> None:
    service = Service()
    plan = plan_of(service.store.of(Note).delete_many([{"id": "a"}, {"id": "b"}]))
    command = next(plan)
    assert isinstance(command, Call)
    assert sent_ids(command) == ["a", "b"]


@pytest.mark.parametrize("operation", ["put_many", "delete_many"])
def test_nothing_is_sent_of_nothing(operation: str) -> None:
    service = Service()
    lanes = play(plan_of(getattr(service.store.of(Note), operation)([])), service)
    assert lanes.outcome is None
    assert lanes.calls == []


def test_large_items_make_smaller_requests() -> None:
    service = Service()
    # nearly 400 KB, which base64 and JSON make 1.3 times as much of, or six times
    blobs = [Note(str(number), data=b"\xff" * 400_000) for number in range(40)]
    controls = [Note(str(number), text="\x01" * 400_000) for number in range(40, 60)]
    lanes = play(plan_of(service.store.of(Note).put_many([*blobs, *controls])), service)
    assert [len(sent_ids(call)) for call in lanes.calls] == [25, 18, 6, 6, 5]
    assert len(service.engine.items(TABLE)) == 60


def test_of_two_puts_in_a_request_the_later_is_sent() -> None:
    service = Service()
    items = [Note("a", "1"), Note("b", "2"), Note("a", "3")]
    lanes = play(plan_of(service.store.of(Note).put_many(items)), service)
    assert [sent_ids(call) for call in lanes.calls] == [["a", "b"]]
    assert stored(service) == {"a": "3", "b": "2"}


def test_an_endless_iterable_of_one_key_is_written_now_and_then() -> None:
    def same() -> Iterator[Note]:
        for number in range(2500):
            yield Note("a", str(number))

    service = Service()
    lanes = play(plan_of(service.store.of(Note).put_many(same())), service)
    assert [sent_ids(call) for call in lanes.calls] == [["a"], ["a"], ["a"]]
    assert stored(service) == {"a": "2499"}


def test_numbers_are_one_key_however_they_are_written() -> None:
    store = store_of(Numbered)
    left = {"PutRequest": {"Item": {"page": {"N": "1.20E1"}}}}
    replies = [{"UnprocessedItems": {"numbered": [left]}}, {}]
    lanes = play(plan_of(store.of(Views).put_many([Views(12), Views(13)])), lambda call: replies.pop(0))
    assert lanes.outcome is None
    assert [len(call.params["RequestItems"]["numbered"]) for call in lanes.calls] == [2, 1]


@pytest.mark.deep
@given(
    keys=st.lists(st.integers(0, 60), max_size=220),
    picks=st.lists(st.integers(0, 7), min_size=1, max_size=60),
    shares=st.lists(st.integers(0, 3), min_size=1, max_size=30),
)
def test_the_last_put_of_a_key_stays_in_whatever_order_the_requests_arrive(
    keys: list[int], picks: list[int], shares: list[int]
) -> None:
    service = Service()
    calls = 0

    def answer(call: Call) -> Any:
        """Leave some undone, as the example says."""
        nonlocal calls
        calls += 1
        every = shares[calls % len(shares)]
        requests = call.params["RequestItems"][TABLE]
        left = requests[1::every] if every and calls < 100 else []
        done = [request for request in requests if not any(request is each for each in left)]
        service(Call("BatchWriteItem", {"RequestItems": {TABLE: done}}))
        return {"UnprocessedItems": {TABLE: left}} if left else {}

    step = 0

    def choose(count: int) -> int:
        nonlocal step
        step += 1
        return picks[step % len(picks)] % count

    items = [Note(str(key), str(place)) for place, key in enumerate(keys)]
    lanes = play(plan_of(service.store.of(Note).put_many(items)), answer, choose=choose)
    assert lanes.outcome is None
    assert stored(service) == {item.id: item.text for item in items}


# ---- what is left undone


def test_only_what_was_left_undone_is_sent_again() -> None:
    service = Service()
    items = [Note(each) for each in "abcd"]
    answers = in_turn(leaving("b", "d"), leaving("d"), leaving())
    lanes = play(plan_of(service.store.of(Note).put_many(items)), answers)
    assert lanes.outcome is None
    assert [sent_ids(call) for call in lanes.calls] == [["a", "b", "c", "d"], ["b", "d"], ["d"]]
    # every round did something: the pauses do not grow
    assert lanes.sleeps == [0.025, 0.025]


def test_without_progress_the_pauses_grow_and_it_is_given_up() -> None:
    store = store_of(Batched)
    items = [Note(each) for each in "abc"]
    lanes = play(plan_of(store.of(Note).put_many(items)), leaving("b", "c"))
    error = lanes.error
    assert isinstance(error, BatchIncomplete)
    assert str(error) == (
        "put_many of Note: 2 of the 3 items that were taken were not written, the first of them id='b': the service "
        "kept refusing for load; send what is in .left again"
    )
    assert error.left == (items[1], items[2])
    assert error.answered == ()
    cause = error.__cause__
    assert isinstance(cause, Throttled)
    assert str(cause) == "put_many of Note: the service kept leaving 2 undone: spread the load or raise the capacity"
    assert lanes.sleeps == [0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.5, 2.5]
    assert [sent_ids(call) for call in lanes.calls] == [["a", "b", "c"], *[["b", "c"]] * 9]


def test_progress_gives_back_what_a_repeat_took() -> None:
    bucket = TokenBucket(20.0)
    store = store_of(Batched, bucket=bucket)
    left = [str(number) for number in range(24)]
    answers = in_turn(*(leaving(*left[count:]) for count in range(25)))
    lanes = play(plan_of(store.of(Note).put_many(notes(24))), answers)
    assert lanes.outcome is None
    assert bucket.left == 20.0


def test_an_empty_bucket_ends_the_repeats() -> None:
    store = store_of(Batched, bucket=TokenBucket(7.0))
    lanes = play(plan_of(store.of(Note).delete_many([{"id": "a"}, Note("b")])), leaving("b"))
    error = lanes.error
    assert isinstance(error, BatchIncomplete)
    assert error.left == (ItemKey(Note, {"id": "b"}),)
    assert len(lanes.calls) == 2


def test_what_is_left_can_be_sent_again() -> None:
    service = Service()
    repository = service.store.of(Note)
    refused = [answered("ThrottlingException", "slow down", status=400)] * 10
    lanes = play(plan_of(repository.put_many(notes(60))), failing(service, *refused, at=2))
    error = lanes.error
    assert isinstance(error, BatchIncomplete)
    assert len(error.left) == 25
    assert play(plan_of(repository.put_many(error.left)), service).outcome is None
    assert stored(service) == {str(number): f"text {number}" for number in range(60)}


def test_a_generator_goes_on_where_it_was_given_up() -> None:
    service = Service()
    repository = service.store.of(Note)
    items = notes(600)
    refused = [answered("ThrottlingException", "slow down", status=400)] * 10
    error = play(plan_of(repository.put_many(items)), failing(service, *refused, at=3)).error
    assert isinstance(error, BatchIncomplete)
    rest = [*error.left, *items]
    assert rest[-1] == Note("599", "text 599")
    assert play(plan_of(repository.put_many(rest)), service).outcome is None
    assert len(stored(service)) == 600


# ---- failures


def test_no_table_is_the_services_own_error() -> None:
    store = store_of(Batched)
    missing = answered("ResourceNotFoundException", "Requested resource not found", status=400)

    def answer(call: Call) -> Any:
        raise missing

    error = play(plan_of(store.of(Note).put_many(notes(400))), answer).error
    assert isinstance(error, ServiceError)
    assert str(error).startswith("put_many of Note: ResourceNotFoundException: Requested resource not found; table ")
    assert error.code == "ResourceNotFoundException"


ENDS: dict[str, tuple[CallFailed, type[Exception], str]] = {
    "throttled": (
        answered("ThrottlingException", "slow down", status=400),
        Throttled,
        "the service kept refusing for load",
    ),
    "a transaction": (
        answered("TransactionConflictException", "busy", status=400),
        TransactionConflict,
        "transactions kept items busy",
    ),
    "refused": (
        answered("ItemCollectionSizeLimitExceededException", "10 GB", status=400),
        ServiceError,
        "ItemCollectionSizeLimitExceededException: 10 GB",
    ),
    "not sent": (never_sent(), ServiceError, "EndpointConnectionError: refused"),
}


@pytest.mark.parametrize(("failure", "cause", "words"), ENDS.values(), ids=list(ENDS))
def test_what_could_not_be_written_is_said(failure: CallFailed, cause: type[Exception], words: str) -> None:
    service = Service()
    lanes = play(plan_of(service.store.of(Note).put_many(notes(100))), failing(service, *[failure] * 10, at=4))
    error = lanes.error
    assert isinstance(error, BatchIncomplete)
    assert isinstance(error.__cause__, cause)
    left = [item.id for item in error.left]
    assert len(left) == 25
    assert left == [str(number) for number in range(int(left[0]), int(left[0]) + 25)]
    assert str(error) == (
        f"put_many of Note: 25 of the 100 items that were taken were not written, the first of them id='{left[0]}': "
        f"{words}; send what is in .left again"
    )
    assert sorted(stored(service)) == sorted(set(map(str, range(100))) - set(left))


def test_after_a_failure_nothing_more_is_taken() -> None:
    service = Service()
    items = notes(10_000)
    forbidden = answered("AccessDeniedException", "no", status=400)
    lanes = play(plan_of(service.store.of(Note).put_many(items)), failing(service, forbidden, at=2))
    error = lanes.error
    assert isinstance(error, BatchIncomplete)
    taken = int(next(items).id)
    assert taken == len(stored(service)) + len(error.left)
    assert taken <= 9 * 25 + 25


def test_a_lost_answer_is_repeated_for_what_has_no_version() -> None:
    service = Service()
    lanes = play(plan_of(service.store.of(Note).put_many(notes(3))), failing(service, lost(), lost()))
    assert lanes.outcome is None
    assert [len(sent_ids(call)) for call in lanes.calls] == [3, 3, 3]


def test_after_a_lost_answer_no_other_error_hides_it() -> None:
    service = Service()
    forbidden = answered("AccessDeniedException", "no", status=400)
    lanes = play(plan_of(service.store.of(Note).put_many(notes(60))), failing(service, lost(), forbidden))
    error = lanes.error
    assert isinstance(error, OutcomeUnknown)
    assert error.applied is None
    assert len(error.left) == 25
    assert str(error) == (
        "put_many of Note: an answer was lost, and 25 of the 60 items that were taken may not have been written, the "
        "first of them id='0': read what is in .left before you repeat it"
    )
    assert str(error.__cause__) == (
        "put_many of Note: the answer was lost (ConnectionClosedError: closed), so the write may or may not have been "
        "applied: read the item before you repeat it"
    )


def test_an_answer_that_cannot_be_read_is_lost() -> None:
    service = Service()
    lanes = play(plan_of(service.store.of(Note).put_many(notes(3))), failing(service, applied_but_unreadable()))
    assert lanes.outcome is None
    assert [len(sent_ids(call)) for call in lanes.calls] == [3, 3]


def test_answers_that_can_never_be_read_are_given_up() -> None:
    service = Service()
    lanes = play(plan_of(service.store.of(Note).put_many(notes(3))), failing(service, *[applied_but_unreadable()] * 20))
    error = lanes.error
    assert isinstance(error, OutcomeUnknown)
    assert len(error.left) == 3
    assert str(error.__cause__) == (
        "put_many of Note: it was answered, but the answer that says what was left undone cannot be read"
    )
    assert len(lanes.calls) == 10


def test_an_answer_about_other_items_tells_nothing() -> None:
    service = Service()
    strange: list[Any] = [
        {"UnprocessedItems": {TABLE: [{"PutRequest": {"Item": {"pk": {"S": "x"}, "sk": {"S": "x"}}}}]}},
        {},
    ]
    lanes = play(plan_of(service.store.of(Note).put_many(notes(3))), lambda call: strange.pop(0))
    assert lanes.outcome is None
    assert [len(sent_ids(call)) for call in lanes.calls] == [3, 3]


# ---- mistakes on the way


def test_the_items_before_a_mistake_are_written() -> None:
    service = Service()
    items: list[Any] = [*notes(30), Note("x", 5), *notes(30, 100)]  # type: ignore[arg-type]
    error = play(plan_of(service.store.of(Note).put_many(items)), service).error
    assert isinstance(error, EncodeError)
    assert str(error) == (
        "put_many of Note, item 31: Note $.text: a str expected, got int; use str(value) (the 30 items before "
        "it were written)"
    )
    assert error.path == "$.text"
    assert len(stored(service)) == 30


MISTAKES: dict[str, tuple[list[Any], type[Exception], str]] = {
    "too large": (
        [Note("a"), Note("b", data=b"x" * 500_000)],
        ItemTooLarge,
        "put_many of Note, item 2: id='b': the item would have 500,034 bytes, and DynamoDB takes 409,600; the largest "
        "fields are data (500,004), _type (9), pk (8): store what is large in items of its own, or elsewhere (the item "
        "before it was written)",
    ),
    "another class": (
        [Account("a")],
        RequestError,
        "put_many of Note, item 1: it takes instances of Note; got Account (nothing was written)",
    ),
    "no key": (
        [Note("a"), Note("b"), Note("x" * 3000)],
        dynamap.KeyValueError,
        "put_many of Note, item 3: Note: the pk template 'NOTE#{id}' gives 3005 bytes of UTF-8, DynamoDB takes 2048: "
        "shorten Note.id (the 2 items before it were written)",
    ),
}


@pytest.mark.parametrize(("items", "kind", "message"), MISTAKES.values(), ids=list(MISTAKES))
def test_a_mistake_says_where_it_is(items: list[Any], kind: type[Exception], message: str) -> None:
    service = Service()
    error = play(plan_of(service.store.of(Note).put_many(items)), service).error
    assert type(error) is kind
    assert str(error) == message


def test_an_error_of_the_iterable_is_passed_on_when_what_came_before_is_written() -> None:
    class Broken(Exception):
        pass

    broken = Broken("no more")

    def items() -> Iterator[Note]:
        yield from notes(140)
        raise broken

    service = Service()
    error = play(plan_of(service.store.of(Note).put_many(items())), service).error
    assert error is broken
    assert getattr(error, "__notes__", None) == [
        "put_many of Note, item 141: the 140 items before it were written",
    ]
    assert len(stored(service)) == 140


def test_what_could_not_be_written_comes_before_an_error_of_the_iterable() -> None:
    def items() -> Iterator[Note]:
        yield from notes(30)
        raise ValueError

    service = Service()
    forbidden = answered("AccessDeniedException", "no", status=400)
    error = play(plan_of(service.store.of(Note).put_many(items())), failing(service, forbidden, at=2)).error
    assert isinstance(error, BatchIncomplete)
    assert str(error) == (
        "put_many of Note: 5 of the 30 items that were taken were not written, the first of them id='25': "
        "AccessDeniedException: no; send what is in .left again; the next item raised ValueError"
    )


# ---- versioned types


@pytest.mark.parametrize(("operation", "given"), [("put_many", [Account("a")]), ("delete_many", [{"id": "a"}])])
def test_versioned_types_must_be_told(operation: str, given: Any) -> None:
    with pytest.raises(UnguardedWrite) as caught:
        getattr(store_of(Batched).of(Account), operation)(given)
    verb = operation.removesuffix("_many")
    assert str(caught.value) == (
        f"{operation} of Account: the type is versioned, and a batch cannot look at versions: {verb} them one by one "
        f"or in a transaction, or say unversioned=True to {verb} whatever version is stored"
    )


def versions(lanes: Lanes) -> list[int]:
    return [
        int(request["PutRequest"]["Item"]["revision"]["N"])
        for call in lanes.calls
        for request in call.params["RequestItems"][TABLE]
    ]


def test_versions_start_afresh() -> None:
    service = Service()
    items = [Account("a", revision=7), Account("b"), Account("c", revision=-1)]
    lanes = play(plan_of(service.store.of(Account).put_many(items, unversioned=True)), service)
    assert lanes.outcome is None
    assert versions(lanes) == [int(NOW * 1_000_000)] * 3


def test_no_version_is_there_twice_on_a_key_that_comes_again() -> None:
    service = Service()
    items = [Account(str(number % 30), balance=number) for number in range(200)]
    lanes = play(plan_of(service.store.of(Account).put_many(items, unversioned=True)), service)
    seen: dict[str, list[int]] = {}
    for call in lanes.calls:
        for request in call.params["RequestItems"][TABLE]:
            item = request["PutRequest"]["Item"]
            seen.setdefault(item["id"]["S"], []).append(int(item["revision"]["N"]))
    assert max(map(len, seen.values())) > 3
    assert all(numbers == sorted(set(numbers)) for numbers in seen.values())


def test_an_item_that_has_no_room_in_a_request_has_a_version_of_its_own() -> None:
    service = Service()
    large = "\x01" * 400_000
    items = [Account("a"), *(Account(each, text=large) for each in "bcdefg"), Account("a", text=large)]
    lanes = play(plan_of(service.store.of(Account).put_many(items, unversioned=True)), service)
    assert lanes.outcome is None
    assert [sent_ids(call) for call in lanes.calls] == [["a", "b", "c", "d", "e", "f", "g"], ["a"]]
    start = int(NOW * 1_000_000)
    assert versions(lanes) == [*[start] * 7, start + 1000]


@pytest.mark.parametrize("failure", [lost(), applied_but_unreadable()], ids=["lost", "unreadable"])
@pytest.mark.parametrize("operation", ["put_many", "delete_many"])
def test_a_lost_answer_is_not_repeated_for_versioned_types(operation: str, failure: CallFailed) -> None:
    service = Service()
    many = getattr(service.store.of(Account), operation)([Account("a"), Account("b")], unversioned=True)
    lanes = play(plan_of(many), failing(service, failure))
    error = lanes.error
    assert isinstance(error, OutcomeUnknown)
    assert len(error.left) == 2
    assert len(lanes.calls) == 1


# ---- deadlines


def test_a_deadline_that_is_over_takes_nothing() -> None:
    items = notes(3)
    with dynamap.deadline(0):
        error = play(plan_of(store_of(Batched).of(Note).put_many(items)), leaving()).error
    assert isinstance(error, DeadlineExceeded)
    assert str(error) == "put_many of Note: the deadline is over, and nothing was written"
    assert next(items).id == "0"


def test_a_deadline_ends_the_repeats() -> None:
    now = [0.0]
    store = store_of(Batched, monotonic=lambda: now[0], write_ids=numbered())

    def answer(call: Call) -> Any:
        now[0] += 1e12
        return leaving("b")(call)

    with dynamap.deadline(10):
        error = play(plan_of(store.of(Note).put_many([Note("a"), Note("b")])), answer).error
    assert isinstance(error, BatchIncomplete)
    assert str(error) == (
        "put_many of Note: 1 of the 2 items that were taken were not written, the first of them id='b': the deadline "
        "is over; send what is in .left again"
    )
    assert isinstance(error.__cause__, DeadlineExceeded)


# ---- builders


def test_an_iterator_is_sent_once() -> None:
    service = Service()
    many = service.store.of(Note).put_many(notes(2))
    assert len(many.params()["RequestItems"][TABLE]) == 2
    assert len(many.params()["RequestItems"][TABLE]) == 2
    assert play(plan_of(many), service).outcome is None
    assert len(stored(service)) == 2
    with pytest.raises(RequestError) as caught:
        many.params()
    message = (
        "put_many of Note: it was given an iterator, which was read when it was sent: make it of a list to send it "
        "again"
    )
    assert str(caught.value) == message
    again = play(plan_of(many), service).error
    assert isinstance(again, RequestError)
    assert str(again) == message


def test_a_list_can_be_sent_again() -> None:
    service = Service()
    many = service.store.of(Note).put_many(list(notes(30)))
    assert play(plan_of(many), service).outcome is None
    assert play(plan_of(many), service).outcome is None


def test_params_show_the_first_request() -> None:
    many = store_of(Batched).of(Note).put_many(notes(100))
    requests = many.params()["RequestItems"][TABLE]
    assert len(requests) == 25
    assert requests[0] == {
        "PutRequest": {
            "Item": {
                "pk": {"S": "NOTE#0"},
                "sk": {"S": "NOTE"},
                "_type": {"S": "NOTE"},
                "id": {"S": "0"},
                "text": {"S": "text 0"},
                "data": {"B": b""},
            }
        }
    }


def test_explain_shows_the_first_request() -> None:
    notes_of = store_of(Batched).of(Note)
    assert notes_of.put_many([Note("a")]).explain() == (
        """\
BatchWriteItem of 1, each on its own
  PutItem on batched
    item       pk = "NOTE#a", sk = "NOTE", _type = "NOTE", id = "a", text = "", data = 0 bytes
    capacity   1 write unit for these 34 bytes; more if a larger item is replaced"""
    )
    assert notes_of.delete_many([Note("a")]).explain() == (
        """\
BatchWriteItem of 1, each on its own
  DeleteItem on batched
    key        pk = "NOTE#a", sk = "NOTE"
    capacity   1 write unit for each KB of the item, before or after, whichever is larger"""
    )


def test_params_of_nothing_are_none() -> None:
    with pytest.raises(RequestError) as caught:
        store_of(Batched).of(Note).delete_many([]).params()
    assert str(caught.value) == "delete_many of Note: there are no keys, so nothing would be sent"


def test_params_say_what_is_wrong() -> None:
    given: Any = [Note("a"), 5]
    with pytest.raises(RequestError) as caught:
        store_of(Batched).of(Note).put_many(given).params()
    assert str(caught.value) == "put_many of Note, item 2: it takes instances of Note; got int"


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an instance": (
        lambda repository: repository.put_many(Note("a")),
        "put_many of Note takes items as a list or another iterable; got Note: put it in a list",
    ),
    "nothing": (
        lambda repository: repository.put_many(None),
        "put_many of Note takes items as a list or another iterable; got NoneType: collect it in a list first",
    ),
    "a text": (
        lambda repository: repository.delete_many("abc"),
        "delete_many of Note takes keys as a list or another iterable; got str: put it in a list",
    ),
    "one key": (
        lambda repository: repository.delete_many(repository.key(id="a")),
        "delete_many of Note takes keys as a list or another iterable; got ItemKey: put it in a list",
    ),
}


@pytest.mark.parametrize(("build", "message"), WRONG.values(), ids=list(WRONG))
def test_one_thing_is_not_many(build: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        build(store_of(Batched).of(Note))
    assert str(caught.value) == message


def test_the_error_travels_with_what_is_left() -> None:
    error = play(plan_of(store_of(Batched).of(Note).delete_many(list(notes(2)))), leaving("1")).error
    assert isinstance(error, BatchIncomplete)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is BatchIncomplete
    assert copy.left == error.left == (ItemKey(Note, {"id": "1"}),)
    assert str(copy) == str(error)


def test_what_is_left_are_the_callers_own_items() -> None:
    item = evolve(Note("a"), text="mine")
    error = play(plan_of(store_of(Batched).of(Note).put_many([item, Note("b")])), leaving("a")).error
    assert isinstance(error, BatchIncomplete)
    assert error.left[0] is item


@pytest.mark.parametrize("count", [1, 24, 25])
def test_one_request_of_a_list_is_sent_without_anybody_beside_it(count: int) -> None:
    service = Service()
    plan = plan_of(service.store.of(Note).put_many(list(notes(count))))
    assert isinstance(next(plan), Call)
    plan.close()


def test_an_iterator_is_not_read_beyond_a_full_request_to_learn_whether_it_has_ended() -> None:
    service = Service()
    read: list[Note] = []

    def endless() -> Iterator[Note]:
        for note in notes(26):
            read.append(note)
            yield note

    plan = plan_of(service.store.of(Note).put_many(endless()))
    assert isinstance(next(plan), Spawn)
    assert len(read) == 25
    plan.close()


def test_what_is_added_to_a_list_while_it_is_sent_is_sent_too() -> None:
    service = Service()
    given_notes = list(notes(25))

    def answer(call: Call) -> Any:
        given_notes.extend(notes(27 - len(given_notes), start=len(given_notes)))
        return service(call)

    lanes = play(plan_of(service.store.of(Note).put_many(given_notes)), answer)
    assert [len(sent_ids(call)) for call in lanes.calls] == [25, 2]

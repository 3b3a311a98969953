"""Which index attributes an update writes, from what it knows, and what is refused before it is sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Annotated, Any

import pytest

from dynamap import (
    Attribute,
    ConditionFailed,
    F,
    GlobalIndex,
    Index,
    Key,
    KeyValueError,
    Repository,
    RequestError,
    Sync,
    Table,
    connect,
    entity,
    evolve,
)
from dynamap.expressions import Compiler
from dynamap.operations.index_keys import reads_as
from tests.fakes import condition_failed, drive, store_of

AT = datetime(2024, 1, 1, tzinfo=timezone.utc)


@entity("DOC", pk="DOC#{id}", sk="DOC", indexes=[Index("gsi", pk="{kind}#{category}", sk="{id}")])
class Document:
    id: str
    kind: str = "text"
    category: str | None = None
    count: int = 0


@entity(
    "JOB",
    pk="JOB#{id}",
    sk="JOB",
    version="revision",
    indexes=[
        Index("gsi", pk="{queue}", sk="{priority:03}#{id}", when=lambda: F(Job.state).eq("waiting")),
        Index("score", pk="JOBS"),
    ],
)
class Job:
    id: str
    queue: str = "main"
    priority: int = 0
    state: str = "waiting"
    score: int = 0
    revision: Annotated[int, Attribute("v:1")] = 0


@entity("NOTE", pk="NOTE#{id}", sk="NOTE", indexes=[Index("gsi", pk="{topic}", sk="{author}")])
class Note:
    id: str
    topic: str | None = None
    author: Annotated[str, Attribute("by", aliases=("writer",))] = "nobody"
    text: str | None = "none"


@entity(
    "BUG",
    pk="BUG#{id}",
    sk="BUG",
    indexes=[
        Index("gsi", pk="OPEN", sk="{rank}", when=lambda: F(Bug.status).eq("open")),
        Index("more", pk="{owner}", when=lambda: F(Bug.status).ne("closed")),
    ],
)
class Bug:
    id: str
    owner: str = "nobody"
    rank: str = "low"
    status: Annotated[str, Attribute("state", aliases=("phase",))] = "open"


@entity(
    "FAULT",
    pk="FAULT#{id}",
    sk="FAULT",
    version="revision",
    indexes=[
        Index("gsi", pk="{place}", sk="{id}", when=lambda: F(Fault.status).eq("open")),
        Index("more", pk="{team}", when=lambda: F(Fault.status).ne("new") & F(Fault.kind).eq("crash")),
    ],
)
class Fault:
    id: str
    place: str | None = None
    team: str = "red"
    status: str = "open"
    kind: str = "crash"
    revision: int = 0


Documents = Table(
    "documents",
    [Document, Job, Note, Bug, Fault],
    indexes=[GlobalIndex("gsi"), GlobalIndex("score", sk=Key("score", int)), GlobalIndex("more", sk=())],
)
documents: Repository[Sync, Document] = connect(Documents).of(Document)
jobs: Repository[Sync, Job] = connect(Documents).of(Job)
notes: Repository[Sync, Note] = connect(Documents).of(Note)
bugs: Repository[Sync, Bug] = connect(Documents).of(Bug)
faults: Repository[Sync, Fault] = connect(Documents).of(Fault)
JOB = Job("1", priority=7, revision=5)
BUG = Bug("1")
FAULT = Fault("1", revision=5)


def written(operation: Any) -> dict[str, Any]:
    """What an update does to each attribute: its new value, an expression, or None where it is removed."""
    params = operation.params()
    names = params.get("ExpressionAttributeNames", {})
    values = params.get("ExpressionAttributeValues", {})
    found: dict[str, Any] = {}
    text: str = params.get("UpdateExpression", "")
    sets, _, removes = text.partition("REMOVE ")
    for part in sets.removeprefix("SET ").strip().split(", #") if sets.strip() else []:
        path, _, value = part.partition(" = ")
        name = names[path if path.startswith("#") else f"#{path}"]
        found[name] = next(iter(values[value].values())) if value in values else value.partition("(")[0]
    for path in removes.split(", ") if removes else []:
        found[names[path]] = None
    return found


def conditions(operation: Any) -> str:
    """The condition with names and values put back."""
    params = operation.params()
    stands_for = dict(params["ExpressionAttributeNames"])
    stands_for |= {
        placeholder: str(next(iter(wire.values())))
        for placeholder, wire in params.get("ExpressionAttributeValues", {}).items()
    }
    return re.sub(r"[#:]\d+", lambda match: stands_for[match[0]], params["ConditionExpression"])


# ---- put


def test_a_put_writes_what_the_instance_makes() -> None:
    assert documents.put(Document("1", category="a#b")).params()["Item"] == {
        "pk": {"S": "DOC#1"},
        "sk": {"S": "DOC"},
        "_type": {"S": "DOC"},
        "id": {"S": "1"},
        "kind": {"S": "text"},
        "category": {"S": "a#b"},
        "count": {"N": "0"},
        "gsipk": {"S": "text#a$23b"},
        "gsisk": {"S": "1"},
    }
    assert "gsipk" not in documents.put(Document("1")).params()["Item"]


@pytest.mark.parametrize(("state", "there"), [("waiting", True), ("done", False)])
def test_a_put_heeds_when(state: str, there: bool) -> None:
    item = jobs.put(Job("1", state=state)).params()["Item"]
    assert ("gsipk" in item, "gsisk" in item) == (there, there)
    assert item["scorepk"] == {"S": "JOBS"}


def test_an_empty_component_is_refused() -> None:
    with pytest.raises(KeyValueError, match="gives an empty key"):
        notes.put(Note("1", topic="")).params()
    with pytest.raises(KeyValueError, match="gives an empty key"):
        notes.update(id="1").set(F(Note.topic), "").params()


# ---- keyed updates


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: documents.update(id="1").set(F(Document.count), 3), {"count": "3"}),
        (
            lambda: documents.update(id="1").set(F(Document.category), "a").set(F(Document.kind), "b"),
            {"category": "a", "kind": "b", "gsipk": "b#a"},
        ),
        (
            lambda: documents.update(id="1").set(F(Document.category), "a").given(kind="b"),
            {"category": "a", "gsipk": "b#a"},
        ),
        (lambda: documents.update(id="1").set(F(Document.category), None), {"category": None, "gsipk": None}),
        (lambda: documents.update(id="1").remove(F(Document.category)), {"category": None, "gsipk": None}),
        (
            lambda: documents.update(id="1").remove(F(Document.kind)).given(category="a"),
            {"kind": None, "gsipk": "text#a"},
        ),
        (
            lambda: documents.update(id="1").set_fields({"kind": "b"}).given(category=None),
            {"kind": "b", "gsipk": None},
        ),
        (lambda: notes.update(id="1").set(F(Note.author), "ann"), {"by": "ann", "writer": None, "gsisk": "ann"}),
        (
            lambda: notes.update(id="1").set_if_missing(F(Note.topic), "x"),
            {"topic": "if_not_exists", "gsipk": "if_not_exists"},
        ),
        (
            lambda: jobs.update(id="1").set(F(Job.priority), 3).if_version(5).given(state="waiting"),
            {"priority": "3", "gsisk": "003#1", "v:1": "6"},
        ),
        (
            lambda: jobs.update(id="1").set(F(Job.priority), 3).if_version(5).given(state="done"),
            {"priority": "3", "gsisk": None, "v:1": "6"},
        ),
        (
            lambda: jobs.update(id="1").set(F(Job.state), "done").if_version(5),
            {"state": "done", "gsipk": None, "gsisk": None, "v:1": "6"},
        ),
        (
            lambda: jobs.update(JOB).set(F(Job.state), "waiting"),
            {"state": "waiting", "gsipk": "main", "gsisk": "007#1", "v:1": "6"},
        ),
        (
            lambda: jobs.update(JOB).set(F(Job.queue), "other"),
            {"queue": "other", "state": "if_not_exists", "gsipk": "other", "gsisk": "007#1", "v:1": "6"},
        ),
        # a key that is the field itself follows whatever is done to the field
        (
            lambda: jobs.update(id="1").set(F(Job.score), F(Job.score) + 1).if_version(5),
            {"score": "score + :1", "v:1": "6"},
        ),
    ],
)
def test_an_update_recomputes_the_keys_of_what_it_changes(make: Callable[[], Any], expected: dict[str, Any]) -> None:
    got = {name: value for name, value in written(make()).items() if name != "_w"}
    if "score" in got:
        got["score"] = "score + :1"
    assert got == expected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: documents.update(id="1").set(F(Document.category), "a"),
            (
                "update of Document id='1': the key of the index 'gsi' (gsipk) cannot be known without kind: add "
                ".given(kind=...) with what is stored, or use update(item).to(changed)"
            ),
        ),
        (
            lambda: jobs.update(id="1").set(F(Job.priority), 3).if_version(5),
            (
                "update of Job id='1': the key of the index 'gsi' (gsisk) cannot be known without state: add "
                ".given(state=...) with what is stored, or use update(item).to(changed)"
            ),
        ),
        (
            lambda: jobs.update(id="1").set(F(Job.state), "waiting").if_version(5),
            (
                "update of Job id='1': the key of the index 'gsi' (gsipk) cannot be known without queue: add "
                ".given(queue=...) with what is stored, or use update(item).to(changed)"
            ),
        ),
        (
            lambda: jobs.upsert(id="1").set(F(Job.priority), 3).if_version(5),
            (
                "upsert of Job id='1': the key of the index 'gsi' (gsisk) cannot be known without state: add "
                ".given(state=...) with what is stored, or use update(item).to(changed)"
            ),
        ),
        (
            lambda: documents.upsert(id="1").set(F(Document.category), "a"),
            (
                "upsert of Document id='1': the key of the index 'gsi' (gsipk) cannot be known without kind: set it "
                "too, or use update(item).to(changed)"
            ),
        ),
        (
            lambda: jobs.update(id="1").add(F(Job.priority), 3).if_version(5),
            (
                "update of Job id='1': priority gets a value that only DynamoDB computes, but is part of "
                "the index 'gsi' "
                "(gsisk), whose key is computed before it is sent: set a plain value, or use update(item).to(changed)"
            ),
        ),
        (
            lambda: jobs.update(JOB).set(F(Job.priority), F(Job.priority) + 1),
            (
                "update of Job id='1': priority gets a value that only DynamoDB computes, but is part of "
                "the index 'gsi' "
                "(gsisk), whose key is computed before it is sent: set a plain value, or use update(item).to(changed)"
            ),
        ),
        (
            lambda: jobs.update(JOB).ignore_version().set(F(Job.priority), 3),
            (
                "update of Job id='1': the key of the index 'gsi' (gsisk) cannot be known without state: add "
                ".given(state=...) with what is stored, or use update(item).to(changed)"
            ),
        ),
        (
            lambda: documents.update(id="1").set_if_missing(F(Document.category), "a"),
            (
                "update of Document id='1': category gets a value that only DynamoDB computes, but is part "
                "of the index "
                "'gsi' (gsipk), whose key is computed before it is sent: set a plain value, or use "
                "update(item).to(changed)"
            ),
        ),
        (
            lambda: documents.update(Document("1", kind="b")).set(F(Document.category), "a"),
            (
                "update of Document id='1': the key of the index 'gsi' (gsipk) cannot be known without kind: add "
                ".given(kind=...) with what is stored, or use update(item).to(changed)"
            ),
        ),
        (
            lambda: documents.update(id="1").given(),
            (
                "update of Document id='1': given() names fields and what they hold, such as "
                "given(status=...); got nothing"
            ),
        ),
        (
            lambda: documents.update(id="1").given(knid="a"),
            (
                "update of Document id='1': given() takes stored fields; Document has no 'knid': its "
                "fields are id, kind, "
                "category, count"
            ),
        ),
        (
            lambda: documents.update(id="1").given(id="1"),
            "update of Document id='1': given() takes what is not known yet, not id: leave it out",
        ),
        (
            lambda: jobs.update(id="1").given(revision=1),
            "update of Job id='1': given() takes what is not known yet, not revision: if_version(n)",
        ),
        (
            lambda: documents.update(id="1").given(kind=3),
            "Document $.kind: a str expected, got int; use str(value)",
        ),
        (
            lambda: documents.update(Document("1")).given(kind="a").to(Document("1")),
            "update of Document id='1': to() knows the item that was read: leave out given()",
        ),
    ],
)
def test_a_key_that_cannot_be_known_is_refused_before_it_is_sent(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(RequestError) as error:
        make().params()
    assert str(error.value) == message


def test_what_is_given_is_a_condition() -> None:
    update = documents.update(id="1").set(F(Document.category), "a")
    assert conditions(update.given(kind="b")) == "attribute_exists(pk) AND kind = b"
    assert conditions(update.given(kind="text")) == (
        "attribute_exists(pk) AND (attribute_not_exists(kind) OR kind = text)"
    )
    assert update.given(kind="b").explain().count("kind") == 1


# ---- the difference of two instances


def test_a_difference_brings_its_index_keys() -> None:
    before = Document("1", category="a")
    update = documents.update(before).to(evolve(before, category="b", count=2))
    assert written(update) == {"category": "b", "count": "2", "gsipk": "text#b"}
    assert conditions(update) == "attribute_exists(pk) AND (attribute_not_exists(kind) OR kind = text)"
    same = documents.update(before).to(evolve(before, count=2))
    assert written(same) == {"count": "2"}
    assert conditions(same) == "attribute_exists(pk)"
    gone = documents.update(before).to(evolve(before, category=None))
    assert written(gone) == {"category": None, "gsipk": None}


def test_without_a_version_an_absent_key_is_removed_all_the_same() -> None:
    """Another writer may have written one meanwhile."""
    before = Document("1", kind="a")
    update = documents.update(before).to(evolve(before, kind="b"))
    assert written(update) == {"kind": "b", "gsipk": None}
    assert conditions(update) == ("attribute_exists(pk) AND (attribute_not_exists(category) OR category = True)")


def test_under_a_version_only_what_differs_is_sent() -> None:
    done = evolve(JOB, state="done")
    update = jobs.update(done).to(evolve(done, priority=9))
    assert set(written(update)) == {"priority", "v:1", "_w"}
    assert conditions(update) == "v:1 = 5"
    ignoring = update.ignore_version()
    assert set(written(ignoring)) == {"priority", "gsisk", "v:1", "_w"}
    assert "(attribute_not_exists(state) OR state = " not in conditions(ignoring)
    assert "state = done" in conditions(ignoring)


# ---- when= is a condition on what is stored


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        # the status may only have been read as "open": it is stored, and so is all that depends on its being there
        (
            lambda: bugs.update(BUG).to(evolve(BUG, rank="high")),
            {
                "rank": "high",
                "state": "if_not_exists",
                "phase": None,
                "gsipk": "OPEN",
                "gsisk": "high",
                "morepk": "nobody",
            },
        ),
        (
            lambda: faults.update(FAULT).to(evolve(FAULT, place="here")),
            {
                "place": "here",
                "status": "if_not_exists",
                "kind": "if_not_exists",
                "gsipk": "here",
                "gsisk": "1",
                "morepk": "red",
            },
        ),
        (
            lambda: faults.update(FAULT).set(F(Fault.place), "here"),
            {
                "place": "here",
                "status": "if_not_exists",
                "kind": "if_not_exists",
                "gsipk": "here",
                "gsisk": "1",
                "morepk": "red",
            },
        ),
        # what is not the default is stored already
        (
            lambda: bugs.update(evolve(BUG, status="new")).to(evolve(BUG, status="new", rank="high")),
            {"rank": "high", "gsisk": None},
        ),
        (
            lambda: faults.update(evolve(FAULT, status="done")).to(evolve(FAULT, status="done", place="here")),
            {"place": "here"},
        ),
        # whether the item fulfilled the condition before is not known, though its version is
        (
            lambda: faults.update(FAULT).to(evolve(FAULT, status="new")),
            {"status": "new", "kind": "if_not_exists", "gsipk": None, "gsisk": None, "morepk": None},
        ),
        (
            lambda: bugs.update(BUG).to(evolve(BUG, status="closed")),
            {"state": "closed", "phase": None, "gsipk": None, "gsisk": None, "morepk": None},
        ),
        # what is removed is missing, whatever it will be read as
        (
            lambda: faults.update(evolve(FAULT, place="here")).remove(F(Fault.status)),
            {"status": None, "kind": "if_not_exists", "gsipk": None, "gsisk": None, "morepk": "red"},
        ),
        (
            lambda: bugs.update(id="1").remove(F(Bug.status)).given(owner="ann", rank="low"),
            {"state": None, "phase": None, "gsipk": None, "gsisk": None, "morepk": "ann"},
        ),
        # what is given must be stored, so that nothing else depends on it
        (
            lambda: bugs.update(id="1").set(F(Bug.rank), "high").given(status="open"),
            {"rank": "high", "gsisk": "high"},
        ),
        (
            lambda: faults.upsert(id="1").set(F(Fault.place), "here").if_version(5).given(status="open"),
            {"place": "here", "gsipk": "here"},
        ),
        # an upsert stores the default where nothing is stored
        (
            lambda: bugs.upsert(id="1").set(F(Bug.rank), "high").given(status="open", owner="ann"),
            {"rank": "high", "state": "if_not_exists", "phase": None, "owner": "if_not_exists"}
            | {"_type": "if_not_exists", "id": "1", "gsipk": "OPEN", "gsisk": "high", "morepk": "ann"},
        ),
        # what when= does not speak of is not stored
        (lambda: notes.update(Note("1")).to(Note("1", text="x")), {"text": "x"}),
        (lambda: notes.update(Note("1")).to(Note("1", topic="x")), {"topic": "x", "gsipk": "x"}),
    ],
)
def test_what_an_index_is_conditioned_on_is_stored(make: Callable[[], Any], expected: dict[str, Any]) -> None:
    bookkeeping = ("revision", "_w")
    assert {name: value for name, value in written(make()).items() if name not in bookkeeping} == expected


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda: bugs.update(id="1").set(F(Bug.rank), "high").given(status="open"),
            "attribute_exists(pk) AND (state = open OR (attribute_not_exists(state) AND phase = open))",
        ),
        (
            lambda: faults.update(id="1").set(F(Fault.place), "here").if_version(5).given(status="open"),
            "revision = 5 AND status = open",
        ),
        # no index that is written is conditioned on what it is, only its key is made of it
        (
            lambda: bugs.update(id="1").set(F(Bug.owner), "ann").given(status="new", rank="low"),
            (
                "attribute_exists(pk) AND (state = new OR (attribute_not_exists(state) AND phase = new)) AND "
                "(attribute_not_exists(rank) OR rank = low)"
            ),
        ),
        (
            lambda: bugs.update(id="1").set(F(Bug.status), "closed").given(status="open"),
            (
                "attribute_exists(pk) AND (state = open OR (attribute_not_exists(state) AND "
                "(attribute_not_exists(phase) OR phase = open)))"
            ),
        ),
        # it may be new
        (
            lambda: bugs.upsert(id="1").set(F(Bug.rank), "high").given(status="open", owner="nobody"),
            (
                "(state = open OR (attribute_not_exists(state) AND (attribute_not_exists(phase) OR phase = open))) "
                "AND (attribute_not_exists(owner) OR owner = nobody)"
            ),
        ),
        # stored by the same request
        (
            lambda: bugs.update(BUG).to(evolve(BUG, rank="high")),
            (
                "attribute_exists(pk) AND "
                "(state = open OR (attribute_not_exists(state) AND (attribute_not_exists(phase) OR phase = open))) "
                "AND (attribute_not_exists(owner) OR owner = nobody)"
            ),
        ),
        # under a version that no other writer raises nothing is assumed; without one it is
        (lambda: faults.update(FAULT).set(F(Fault.place), "here"), "revision = 5"),
        (
            lambda: faults.update(evolve(FAULT, revision=-1)).set(F(Fault.place), "here"),
            (
                "attribute_exists(pk) AND (attribute_not_exists(revision) OR revision = 0) AND "
                "(attribute_not_exists(status) OR status = open) AND (attribute_not_exists(team) OR team = red) AND "
                "(attribute_not_exists(kind) OR kind = crash)"
            ),
        ),
    ],
)
def test_what_an_index_is_conditioned_on_is_required(make: Callable[[], Any], expected: str) -> None:
    assert conditions(make()) == expected


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (
            {"owner": {"S": "ann"}},
            (
                "status is only read as given() said, not stored, and when= of an index is a condition on what is "
                "stored: set it too, or use update(item).to(changed)"
            ),
        ),
        ({"phase": {"S": "closed"}}, "status is not what given() said"),
        ({"phase": {"S": "open"}}, "the condition does not hold"),
    ],
)
def test_a_refusal_says_what_must_be_stored(item: dict[str, Any], why: str) -> None:
    repository = store_of(Documents).of(Bug)
    update = repository.update(id="1").set(F(Bug.rank), "high").given(status="open").if_(F(Bug.owner).eq("bob"))
    stored = {"pk": {"S": "BUG#1"}, "sk": {"S": "BUG"}, "_type": {"S": "BUG"}, "id": {"S": "1"}, **item}
    error = drive(update._plan(), condition_failed(stored)).error
    assert type(error) is ConditionFailed
    assert str(error) == f"update of Bug id='1': {why}; nothing was written"


# ---- upsert


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        # a new document has no category, so no key; that of an old one is right
        (lambda: documents.upsert(id="1").set(F(Document.count), 3), {"gsisk": "1"}),
        (
            lambda: documents.upsert(id="1").set(F(Document.category), "a").set(F(Document.kind), "b"),
            {"gsipk": "b#a", "gsisk": "1"},
        ),
        (lambda: notes.upsert(id="1").set(F(Note.text), "x"), {"gsisk": "if_not_exists"}),
        (
            lambda: notes.upsert(id="1").set_if_missing(F(Note.topic), "x"),
            {"gsipk": "if_not_exists", "gsisk": "if_not_exists"},
        ),
        (
            lambda: jobs.upsert(id="1").set_fields({"queue": "q", "priority": 1, "state": "waiting"}).ignore_version(),
            {"gsipk": "q", "gsisk": "001#1", "scorepk": "JOBS"},
        ),
    ],
)
def test_an_upsert_writes_the_keys_of_what_it_may_create(make: Callable[[], Any], expected: dict[str, Any]) -> None:
    keys = {"gsipk", "gsisk", "scorepk"}
    assert {name: value for name, value in written(make()).items() if name in keys} == expected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: jobs.upsert(id="1").set(F(Job.score), 1).ignore_version(),
            "cannot be known without state: set it too",
        ),
        (
            lambda: documents.upsert(id="1").set_if_missing(F(Document.category), "a"),
            "category gets a value that only DynamoDB computes",
        ),
        (lambda: documents.upsert(id="1").set(F(Document.category), "a"), "cannot be known without kind: set it too"),
        # of an item without status, which is in no index, the rank is not known
        (
            lambda: bugs.upsert(id="1").set(F(Bug.owner), "ann").given(status="open"),
            re.escape("(gsisk) cannot be known without rank: set it too"),
        ),
    ],
)
def test_an_upsert_whose_keys_cannot_be_known_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        make().params()


# ---- what a field reads as


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("topic", "x", "topic = x"),
        ("topic", None, "(attribute_not_exists(topic) OR topic = True)"),
        ("author", "ann", "(by = ann OR (attribute_not_exists(by) AND writer = ann))"),
        (
            "author",
            "nobody",
            "(by = nobody OR (attribute_not_exists(by) AND (attribute_not_exists(writer) OR writer = nobody)))",
        ),
        ("text", None, "text = True"),
        ("text", "none", "(attribute_not_exists(text) OR text = none)"),
    ],
)
def test_a_field_reads_as_a_value_under_every_name_and_by_default(name: str, value: object, text: str) -> None:
    note = Documents.entity(Note)
    compiler = Compiler(note)
    condition = reads_as(compiler, note, name, value)
    parts = {"ConditionExpression": condition, **compiler.placeholders()}

    class Shown:
        def params(self) -> dict[str, Any]:
            return parts

    assert conditions(Shown()) == text

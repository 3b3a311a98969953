"""Classes with indexes of every kind, and what their index attributes must be, computed apart from the package."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Annotated, Any

from dynamap import (
    Attribute,
    EpochSeconds,
    F,
    GlobalIndex,
    Index,
    Key,
    LocalIndex,
    Table,
    entity,
)

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


INDEXES = [
    Index("owner", pk="OWNER#{owner}", sk="{status}#{at}"),
    Index("open", pk="OPEN", sk="{rank:03}", when=lambda: F(Ticket.status).eq("open") & F(Ticket.place).exists()),
    Index("place"),
    Index("seconds", sk="{due}"),
    Index("local", sk="{label}#{id}"),
]
VERSIONED_INDEXES = [
    *INDEXES[:1],
    Index("open", pk="OPEN", sk="{rank:03}", when=lambda: F(Case.status).eq("open") & F(Case.place).exists()),
    *INDEXES[2:],
]


@entity("TICKET", pk="DESK#{desk}", sk="TICKET#{id}", indexes=INDEXES)
class Ticket:
    desk: str
    id: str
    owner: str | None = None
    status: str = "open"
    rank: int = 0
    at: datetime = EPOCH
    place: str | None = None
    label: str | None = None
    due: Annotated[datetime | None, EpochSeconds()] = None
    count: int = 0


@entity("CASE", pk="DESK#{desk}", sk="CASE#{id}", version="revision", indexes=VERSIONED_INDEXES)
class Case:
    desk: str
    id: str
    owner: str | None = None
    status: str = "open"
    rank: int = 0
    at: datetime = EPOCH
    place: str | None = None
    label: str | None = None
    due: Annotated[datetime | None, EpochSeconds()] = None
    count: int = 0
    revision: Annotated[int, Attribute("_v")] = 0


@entity(
    "CHORE",
    pk="DESK#{desk}",
    sk="CHORE#{id}",
    version="revision",
    indexes=[
        Index("owner", pk="OWNER#{owner}", sk="{label}", when=lambda: F(Chore.status).ne("closed")),
        Index("open", pk="OPEN", sk="{rank:03}", when=lambda: F(Chore.status).not_exists() | F(Chore.count).ge(1)),
        Index("seconds", sk="{due}", when=lambda: F(Chore.count).eq(0)),
    ],
)
class Chore:
    """Every field that a condition speaks of has a default, and two conditions speak of each."""

    desk: str
    id: str
    owner: str | None = None
    status: str = "open"
    rank: int = 0
    at: datetime = EPOCH
    place: str | None = None
    label: str | None = None
    due: Annotated[datetime | None, EpochSeconds()] = None
    count: int = 0
    revision: int = 0


@entity("PLAIN", pk="PLAIN#{id}", sk="PLAIN", indexes=[Index("owner", pk="{status}", sk="{label}")])
class Plain:
    id: str
    status: Annotated[str, Attribute("state")] = "open"
    label: str | None = None
    count: int = 0


Desks = Table(
    "desks",
    [Ticket, Case, Chore, Plain],
    indexes=[
        GlobalIndex("owner"),
        GlobalIndex("open"),
        GlobalIndex("place", pk="place", sk="pk"),
        GlobalIndex("seconds", pk="_type", sk=Key("secondssk", int)),
        LocalIndex("local"),
    ],
)

COMPUTED = ("ownerpk", "ownersk", "openpk", "opensk", "secondssk", "localsk")


def expected(item: dict[str, Any]) -> dict[str, Any]:
    """What the index attributes of a stored item must be, from its other attributes.

    A missing attribute is read as its default where it is part of a key. What `when=` says is a condition on what is
    stored: a scan with it finds the items that are in the index.
    """
    if item["_type"] == {"S": "CHORE"}:
        return _expected_of_chore(item)
    text = {name: wire.get("S") for name, wire in item.items()}
    owner, status, at, label = (text.get(name) for name in ("owner", "status", "at", "label"))
    rank = int(item.get("rank", {}).get("N", "0"))
    made: dict[str, Any] = {}
    if owner is not None:
        made["ownerpk"] = {"S": f"OWNER#{escaped(owner)}"}
    status = "open" if status is None else status
    made["ownersk"] = {"S": f"{escaped(status)}#{at or '1970-01-01T00:00:00.000000Z'}"}
    if text.get("status") == "open" and "place" in item:
        made["openpk"], made["opensk"] = {"S": "OPEN"}, {"S": f"{rank:03}"}
    if "due" in item:
        made["secondssk"] = item["due"]
    if label is not None:
        made["localsk"] = {"S": f"{escaped(label)}#{escaped(text['id'] or '')}"}
    return made


def _expected_of_chore(item: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if item.get("status") != {"S": "closed"}:
        made |= {"ownerpk": {"S": f"OWNER#{escaped(item['owner']['S'])}"}} if "owner" in item else {}
        made |= {"ownersk": {"S": escaped(item["label"]["S"])}} if "label" in item else {}
    count = int(item["count"]["N"]) if "count" in item else None
    if "status" not in item or (count is not None and count >= 1):
        made |= {"openpk": {"S": "OPEN"}, "opensk": {"S": f"{int(item.get('rank', {}).get('N', '0')):03}"}}
    if count == 0 and "due" in item:
        made["secondssk"] = item["due"]
    return made


def escaped(text: str) -> str:
    return text.replace("$", "$24").replace("#", "$23")


def found(item: dict[str, Any]) -> dict[str, Any]:
    """The index attributes that a stored item has."""
    return {name: item[name] for name in COMPUTED if name in item}


def later(seconds: int) -> datetime:
    return EPOCH + timedelta(seconds=seconds)

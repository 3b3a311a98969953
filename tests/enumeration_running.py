"""One history of a write: what becomes of each call, who comes before it, what is reported, and what is true.

The truth is a log of what the table was made to do. It knows nothing of dynamap's rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from dynamap import Applied, DynamapError, ItemDecodeError, OutcomeUnknown, Refused
from dynamap.operations.item_key import ItemKey
from dynamap.plan import Call, CallFailed, Item, Join, Plan, Reached, Reply, Spawn, Ticket
from dynamap.testing import AnyFault, Cancellation, ClientCrashed, Crash, Fault, Refusal, Unprocessed
from dynamap.testing.faults import Strike, can_strike
from tests.enumeration_kinds import Kind
from tests.enumeration_worlds import EXPIRED, FULL, Foreign, World

__all__ = [
    "FAULTS",
    "NOTHING",
    "PAIRED",
    "SETTINGS",
    "AnsweredAfter",
    "Course",
    "Decision",
    "Idle",
    "Setting",
    "faults_of",
    "run",
    "violation",
    "weight",
]


# ---- faults


@dataclass(frozen=True)
class AnsweredAfter:
    """The service does what it was asked, and answers with this error all the same."""

    code: str
    status: int


@dataclass(frozen=True)
class DamagedUndone:
    """Of a batch the item that is looked at is left undone, and the answer that says so is damaged."""


AnyTrouble: TypeAlias = "AnyFault | AnsweredAfter | DamagedUndone"

FAULTS: Mapping[str, AnyTrouble] = {
    "drop before": Fault.DROP_BEFORE,
    "drop after": Fault.DROP_AFTER,
    "not sent": Fault.NOT_SENT,
    "throttle": Refusal("ProvisionedThroughputExceededException"),
    "error before": Fault.ERROR_BEFORE,
    "error after": Fault.ERROR_AFTER,
    "strange before": Refusal("SomethingUnheardOf", status=503),
    "strange after": AnsweredAfter("SomethingUnheardOf", 503),
    "conflict": Fault.CONFLICT,
    "damaged": Fault.DAMAGED,
    "expired": Refusal("ExpiredTokenException"),
    "denied": Refusal("AccessDeniedException"),
    "crash before": Crash.BEFORE,
    "crash after": Crash.AFTER,
    "in progress before": Refusal("TransactionInProgressException"),
    "in progress after": AnsweredAfter("TransactionInProgressException", 400),
    "mismatch": Refusal("IdempotentParameterMismatchException"),
    "cancelled: conflict": Cancellation(["TransactionConflict"]),
    "cancelled: throttle": Cancellation(["ThrottlingError"]),
    "cancelled: condition": Cancellation(["ConditionalCheckFailed"]),
    "cancelled: invalid": Cancellation(["ValidationError"]),
    "cancelled: condition, conflict": Cancellation(["ConditionalCheckFailed", "TransactionConflict"]),
    "half undone": Unprocessed(),
    "damaged, undone": DamagedUndone(),
}
PAIRED = (
    "drop before",
    "drop after",
    "throttle",
    "damaged",
    "expired",
    "denied",
    "in progress before",
    "in progress after",
    "cancelled: conflict",
    "half undone",
    "damaged, undone",
)
"""Those that come two in sequence too: each other fault has a sibling of the same effect among them."""

_READS = ("GetItem",)
_OF_TRANSACTIONS = ("in progress before", "in progress after", "mismatch")
_AFTER = ("drop after", "error after", "strange after")


def faults_of(call: Call) -> list[str]:
    """The faults that this call may meet; a read is not changed by being done before its answer is lost."""
    return [name for name, fault in FAULTS.items() if _may_meet(call, name, fault)]


def _may_meet(call: Call, name: str, fault: AnyTrouble) -> bool:
    transaction = call.operation == "TransactWriteItems"
    if name in _OF_TRANSACTIONS:
        return transaction
    if isinstance(fault, DamagedUndone):
        return call.operation == "BatchWriteItem"
    if name in _AFTER and call.operation in _READS:
        return False
    if fault is Fault.CONFLICT and (transaction or call.operation == "BatchWriteItem"):
        return False
    return isinstance(fault, AnsweredAfter) or can_strike(fault, call)


def weight(fault: str) -> int:
    """How much of a history it makes."""
    return 1 if fault in PAIRED else 2


# ---- histories


@dataclass(frozen=True)
class Decision:
    """What happens at one call: who comes before it, and what goes wrong with it."""

    others: tuple[Foreign, ...] = ()
    fault: str | None = None

    def __str__(self) -> str:
        words = [each.name for each in self.others] + ([f"[{self.fault}]"] if self.fault else [])
        return " ".join(words) or "-"


NOTHING = Decision()


@dataclass(frozen=True)
class Setting:
    """What a server and a caller may be: whether a refusal brings the item, how it is sent, what repeats may cost."""

    name: str
    sends_item: bool = True
    trying: bool = False
    patience: float = FULL
    weight: int = 0


SETTINGS = (
    Setting("item sent"),
    Setting("item asked for, try_send", sends_item=False, trying=True),
    # enough for one repetition after a lost answer
    Setting("item sent, little patience", patience=10.0, weight=1),
)


class Idle(Exception):
    """A step of another writer changed nothing, or a fault cannot be: it is no history, or another one's double."""


class Course:
    """One history as it goes."""

    def __init__(self, kind: Kind, setting: Setting, world: World, decisions: Sequence[Decision]) -> None:
        self.kind = kind
        self.setting = setting
        self.decisions = tuple(decisions)
        self.world = world
        self.calls: list[Call] = []
        self.struck: list[int] = []
        self.replies: list[str] = []
        """What the client was told, as far as it can tell anything."""
        self.events: list[str] = []
        """What happened to the table, in order: "mine", or the name of another writer's step."""
        self.reported = ""
        self._tokens: set[str] = set()

    @property
    def weight(self) -> int:
        """How much happened to it."""
        happened = (len(each.others) + (0 if each.fault is None else weight(each.fault)) for each in self.decisions)
        return self.kind.weight + self.setting.weight + sum(happened)

    @property
    def applied(self) -> int:
        """How often my write was applied."""
        return self.events.count("mine")

    @property
    def outcome(self) -> str:
        """applied, refused, unknown, or crashed."""
        return self.reported.partition(":")[0].partition(",")[0]

    def __str__(self) -> str:
        history = " / ".join(map(str, self.decisions)) or "-"
        return (
            f"{self.kind} ({self.setting.name}): {history}: told {'; '.join(self.replies)}: reported {self.reported}, "
            f"on the table {', '.join(self.events) or 'nothing'}"
        )

    # ---- calls

    def answer(self, call: Call) -> Reply:
        """The reply to the next call, after whoever comes before it. Raises CallFailed, ClientCrashed, Idle."""
        number = len(self.calls)
        self.calls.append(call)
        decision = self.decisions[number] if number < len(self.decisions) else NOTHING
        for other in decision.others:
            if not other(self.world):
                raise Idle
            self.events.append(other.name)
        try:
            reply = self._serve(call) if decision.fault is None else self._struck(number, FAULTS[decision.fault], call)
        except CallFailed as failed:
            self.replies.append(f"{'reading: ' if call.operation in _READS else ''}{self._told(failed)}")
            raise
        self.replies.append(self._answered(call, reply))
        return reply

    def _struck(self, number: int, fault: AnyTrouble, call: Call) -> Reply:
        self.struck.append(number)
        if isinstance(fault, AnsweredAfter):
            with suppress(CallFailed):
                self._serve(call)
            raise CallFailed(Reached.ANSWERED, fault.code, "(injected)", status=fault.status)
        if self._replays(call) and (isinstance(fault, Cancellation) or fault == FAULTS["mismatch"]):
            # the service knows this token, and that it was applied
            raise Idle
        if isinstance(fault, DamagedUndone):
            self._serve_others(call)
            raise CallFailed(Reached.APPLIED, "DamagedReply", "(injected)")
        strike = Strike(fault)
        sent = strike.before(call) or call
        try:
            reply = self._serve(sent)
        except CallFailed as failed:
            strike.after(sent, failed)
            raise
        return strike.after(sent, reply) or reply

    def _serve_others(self, call: Call) -> None:
        """Do all of a batch but for the item that is looked at. Raises Idle if that is not in it."""
        if not self._is_about_mine(call):
            raise Idle
        ((table, requests),) = call.params["RequestItems"].items()
        others = [each for each in requests if _keys_of({table: [each]}) != [self.kind.watched]]
        if others:
            self._serve(Call(call.operation, {"RequestItems": {table: others}}))

    def _serve(self, call: Call) -> Reply:
        """What the service does; the log of the truth is written here."""
        replayed = self._replays(call)
        before = self.world.engine.version
        try:
            reply = self.world.engine.answer(call)
        except CallFailed as failed:
            if not self.setting.sends_item:
                failed.item = None
                failed.reasons = [
                    {name: each for name, each in reason.items() if name != "Item"} for reason in failed.reasons
                ]
            raise
        if call.operation == "GetItem" or not self._is_about_mine(call):
            return reply
        if replayed:
            assert self.world.engine.version == before, "the engine applied a token twice"
            return reply
        if "ClientRequestToken" in call.params:
            self._tokens.add(call.params["ClientRequestToken"])
        self.events.append("mine")
        return reply

    def _is_about_mine(self, call: Call) -> bool:
        """Whether a request writes the item that is looked at: a batch may have been cut."""
        if call.operation != "BatchWriteItem":
            return True
        return self.kind.watched in _keys_of(call.params["RequestItems"])

    def _replays(self, call: Call) -> bool:
        """Whether it is a transaction that was applied before."""
        return call.params.get("ClientRequestToken") in self._tokens

    # ---- what a client can tell

    def _answered(self, call: Call, reply: Reply) -> str:
        if call.operation == "GetItem":
            return f"read {self._seen(reply.get('Item'))}"
        if call.operation == "BatchWriteItem" and not self._is_about_mine(call):
            return "ok for others"
        return "left undone" if self.kind.watched in _keys_of(reply.get("UnprocessedItems", {})) else "ok"

    def _told(self, failed: CallFailed) -> str:
        if failed.code == "ConditionalCheckFailedException":
            return f"refused by {self._seen(failed.item)}" if self.setting.sends_item else "refused"
        if failed.code == "TransactionCanceledException":
            reasons = [self._reason(reason) for reason in failed.reasons]
            return f"cancelled [{', '.join(reasons)}]"
        return _WORDS.get(failed.code, failed.code)

    def _reason(self, reason: Mapping[str, Any]) -> str:
        code = reason["Code"]
        if code == "None":
            return "-"
        if code != "ConditionalCheckFailed":
            return str(code)
        return f"refused by {self._seen(reason.get('Item'))}" if self.setting.sends_item else "refused"

    def _seen(self, item: Item | None) -> str:
        """What of an item tells who wrote it. Its values tell nothing: any writer may store any value."""
        if not item:
            return "nothing"
        number, is_mine = (
            item.get("revision", {}).get("N"),
            item.get("_w", {}).get("S", "").startswith(("mine", "token")),
        )
        if is_mine:
            words = ["mine"]
        elif item["sk"]["S"] not in ("DOC", "LEASE"):
            words = ["another's"]
        elif number is None:
            words = ["one without a version"]
        elif number == "0":
            words = ["one with version 0"]
        else:
            words = [_VERSIONS.get(int(number) - self.kind.read_version, "another version")]
        return " ".join([*words, *(["expired"] if item.get("ttl") == EXPIRED else [])])

    # ---- the end

    def finish(self, plan: Plan[Any]) -> None:
        """Let the plan go to its end and note what it reports."""
        with self.ending():
            self.conclude(drive(plan, self))

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Note what the error reports that leaves the with block."""
        try:
            yield
        except ClientCrashed:
            self.replies.append("crashed")
            self.reported = "crashed"
        except DynamapError as error:
            self.reported = _reported(error, self.kind.watched)

    def conclude(self, result: object) -> None:
        """Note what the result reports."""
        assert not self.setting.trying or not self.kind.answers or isinstance(result, (Applied, Refused))
        self.reported = "refused: as an answer" if isinstance(result, Refused) else "applied"


_VERSIONS = {0: "the version read", 1: "the next version"}
_WORDS = {
    "ConnectionClosedError": "lost",
    "InternalServerError": "error 500",
    "SomethingUnheardOf": "error 503",
    "EndpointConnectionError": "not sent",
    "ProvisionedThroughputExceededException": "throttled",
    "TransactionConflictException": "conflict",
    "DamagedReply": "damaged",
    "ExpiredTokenException": "expired",
    "AccessDeniedException": "denied",
    "TransactionInProgressException": "in progress",
    "IdempotentParameterMismatchException": "mismatch",
}


def _reported(error: DynamapError, watched: str | None) -> str:
    left = getattr(error, "left", ())
    if left and watched not in [_id_of(each) for each in left]:
        return "applied, and others are left"
    if isinstance(error, OutcomeUnknown):
        return "applied, without its value" if error.applied else "unknown"
    if isinstance(error, ItemDecodeError) and error.applied:
        return "applied, and cannot be read"
    return f"refused: {type(error).__name__}"


def _id_of(left: Any) -> str:
    """The id of an item or a key that a batch has left."""
    found: str = left.values["id"] if isinstance(left, ItemKey) else left.id
    return found


def _keys_of(requests: Mapping[str, Sequence[Any]]) -> list[str]:
    """The ids that the requests of a batch are about."""
    inner = [next(iter(each.values())) for one in requests.values() for each in one]
    return [str(each.get("Item", each.get("Key"))["pk"]["S"]).partition("#")[2] for each in inner]


def drive(plan: Plan[Any], course: Course) -> Any:
    """Run a plan by hand, call by call; pauses take no time, and spawned plans run at once."""
    joined: dict[Ticket, Any] = {}
    reply: Any = None
    error: Exception | None = None
    try:
        while True:
            command = plan.send(reply) if error is None else plan.throw(error)
            reply = error = None
            if isinstance(command, Call):
                try:
                    reply = course.answer(command)
                except CallFailed as failed:
                    error = failed
            elif isinstance(command, Spawn):
                reply = Ticket()
                try:
                    joined[reply] = drive(command.plan, course)
                except Exception as raised:  # noqa: BLE001 - it is thrown where the plan is joined
                    joined[reply] = raised
            elif isinstance(command, Join):
                ticket = next(each for each in command.tickets if each in joined)
                result = joined.pop(ticket)
                if isinstance(result, Exception):
                    error = result
                else:
                    reply = (ticket, result)
    except StopIteration as stop:
        return stop.value
    finally:
        plan.close()


def run(kind: Kind, setting: Setting, world: World, operation: Any, decisions: Sequence[Decision]) -> Course:
    """Let one history happen. Raises Idle."""
    world.begin(kind.items, setting.patience)
    course = Course(kind, setting, world, decisions)
    course.finish(plan_of(kind, setting, operation))
    return course


def plan_of(kind: Kind, setting: Setting, operation: Any) -> Plan[Any]:
    """The plan of a new sending."""
    plan: Plan[Any] = operation._try_plan() if setting.trying and kind.answers else operation._plan()
    return plan


def violation(course: Course) -> str | None:
    """What is wrong with what was reported; None if it agrees with the truth."""
    kind, applied = course.kind, course.applied
    if course.outcome == "applied" and not applied:
        return f"reported as applied, but never was: {course}"
    if course.outcome == "refused" and applied and not kind.refused_means_little:
        return f"reported as refused, but was applied: {course}"
    for others in between_mine(course.events):
        if not kind.may_be_applied_after(others):
            return f"applied twice, which is not documented: {course}"
    return None


def between_mine(events: Sequence[str]) -> Iterator[list[str]]:
    """Who came between each application of mine and the next."""
    others: list[str] | None = None
    for event in events:
        if event == "mine":
            if others is not None:
                yield others
            others = []
        elif others is not None:
            others.append(event)

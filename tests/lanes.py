"""Plans that spawn others, driven by hand: each goes as far as its next call, and a choice says whose call is next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dynamap.plan import Call, CallFailed, Command, Emit, Plan, Sleep, Spawn, Ticket

__all__ = ["Lanes", "in_turn", "play"]


@dataclass(eq=False)
class _Lane:
    """One plan, and the call or the others at which it waits."""

    plan: Plan[Any]
    ticket: Ticket | None = None
    call: Call | None = None
    joining: Sequence[Ticket] = ()
    done: bool = False
    result: Any = None
    error: Exception | None = None


@dataclass
class Lanes:
    """What plans did: their calls in the order in which they were answered, what was emitted, and how it ended."""

    calls: list[Call] = field(default_factory=list)
    emitted: list[Any] = field(default_factory=list)
    sleeps: list[float] = field(default_factory=list)
    most_in_flight: int = 0
    result: Any = None
    error: Exception | None = None

    @property
    def outcome(self) -> Any:
        """The result; raises what the plan raised."""
        if self.error is not None:
            raise self.error
        return self.result


class _Player:
    def __init__(self, plan: Plan[Any], choose: Callable[[int], int]) -> None:
        self.lanes = Lanes()
        self.first = _Lane(plan)
        self.running = [self.first]
        self.choose = choose

    def go(self, lane: _Lane, reply: Any = None, error: Exception | None = None) -> None:
        """Let a lane go on up to its next call or join."""
        lane.call, lane.joining = None, ()
        while lane.call is None and not lane.joining:
            try:
                command = lane.plan.send(reply) if error is None else lane.plan.throw(error)
            except StopIteration as stop:
                lane.done, lane.result = True, stop.value
                return
            except Exception as raised:  # noqa: BLE001 - whoever joins it sees it
                lane.done, lane.error = True, raised
                return
            error = None
            reply = self.do(lane, command)

    def do(self, lane: _Lane, command: Command) -> Any:
        if isinstance(command, Sleep):
            self.lanes.sleeps.append(command.seconds)
        elif isinstance(command, Emit):
            self.lanes.emitted.extend(command.items)
        elif isinstance(command, Spawn):
            spawned = _Lane(command.plan, Ticket())
            self.running.append(spawned)
            self.go(spawned)
            return spawned.ticket
        elif isinstance(command, Call):
            lane.call = command
        else:
            lane.joining = command.tickets
        return None

    def join(self) -> bool:
        """Hand a lane that has ended to one that waits for it."""
        for lane in self.running:
            ended = [each for each in self.running if each.done and each.ticket in lane.joining]
            if ended:
                other = ended[self.choose(len(ended))]
                self.running.remove(other)
                self.go(lane, (other.ticket, other.result), other.error)
                return True
        return False

    def answer(self, answer: Callable[[Call], Any]) -> None:
        """Answer one of the calls that wait."""
        waiting = [(lane, lane.call) for lane in self.running if lane.call is not None]
        assert waiting, "every lane waits for another one"
        self.lanes.most_in_flight = max(self.lanes.most_in_flight, len(waiting))
        lane, call = waiting[self.choose(len(waiting))]
        self.lanes.calls.append(call)
        try:
            reply = answer(call)
        except CallFailed as failed:
            self.go(lane, error=failed)
        else:
            self.go(lane, reply)


def play(plan: Plan[Any], answer: Callable[[Call], Any], *, choose: Callable[[int], int] = lambda count: 0) -> Lanes:
    """Run a plan and those that it spawns; *choose* says which of so many waiting calls is answered next."""
    player = _Player(plan, choose)
    player.go(player.first)
    while not player.first.done:
        if not player.join():
            player.answer(answer)
    for lane in player.running:
        lane.plan.close()
    player.lanes.result, player.lanes.error = player.first.result, player.first.error
    return player.lanes


def in_turn(*answers: Callable[[Call], Any]) -> Callable[[Call], Any]:
    """Each answers one call."""
    queue = list(answers)

    def answer(call: Call) -> Any:
        return queue.pop(0)(call)

    return answer

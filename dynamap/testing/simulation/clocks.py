"""Time in a simulation: one true time, and the clocks of each client, which may be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamap.testing.simulation.schedules import Schedule

__all__ = ["ClientClock", "Clocks", "World"]

FIRST_MOMENT = 1_700_000_000.0
_ONE_IN = 25


@dataclass(frozen=True)
class Clocks:
    """What may be wrong with the clocks of clients, in seconds.

    *skew*: each client's wall clock is ahead or behind by up to this. *jumps*: its wall clock may jump by any of these,
    such as (-60, 60). *stalls*: the client may stand still for so long while time goes on, as in a long collection of
    garbage. *suspensions*: the same, but its monotonic clock does not count it, as when the machine is suspended.
    """

    skew: float = 0.0
    jumps: Sequence[float] = ()
    stalls: Sequence[float] = ()
    suspensions: Sequence[float] = ()


class World:
    """The true time: `elapsed` seconds since the beginning, `now` in epoch seconds."""

    def __init__(self) -> None:
        self.elapsed = 0.0

    @property
    def now(self) -> float:
        """Epoch seconds, as a clock that is right shows them."""
        return FIRST_MOMENT + self.elapsed

    def advance(self, seconds: float) -> None:
        """Let time go on."""
        self.elapsed += seconds


class ClientClock:
    """The clocks of one client."""

    def __init__(self, world: World, skew: float = 0.0) -> None:
        self._world = world
        self._skew = skew
        self._suspended = 0.0

    def wall(self) -> float:
        """Epoch seconds on its wall clock."""
        return self._world.now + self._skew

    def monotonic(self) -> float:
        """Seconds on its monotonic clock, which stands while the machine is suspended."""
        return self._world.elapsed - self._suspended

    def elapsed(self) -> float:
        """Seconds on its clock that counts suspensions."""
        return self._world.elapsed

    def disturb(self, clocks: Clocks, schedule: Schedule) -> str | None:
        """Perhaps do one of the things that may happen to it; answers what happened, in words."""
        mishaps = [("jumps", each) for each in clocks.jumps]
        mishaps += [("stalls", each) for each in clocks.stalls]
        mishaps += [("is suspended", each) for each in clocks.suspensions]
        if not mishaps or not schedule.one_in(_ONE_IN):
            return None
        kind, seconds = mishaps[schedule.below(len(mishaps))]
        if kind == "jumps":
            self._skew += seconds
            return f"its wall clock jumps by {seconds:+g} s"
        self._world.advance(seconds)
        if kind == "is suspended":
            self._suspended += seconds
        return f"{kind} for {seconds:g} s"


def skewed_clock(world: World, clocks: Clocks, schedule: Schedule) -> ClientClock:
    """The clock of a new client: right, ahead or behind."""
    if not clocks.skew:
        return ClientClock(world)
    return ClientClock(world, (0.0, clocks.skew, -clocks.skew, clocks.skew / 2, -clocks.skew / 2)[schedule.below(5)])

"""What logs told: faults grouped, leaks summed, events of runtimes listed. Bounded, however long logs get."""

from __future__ import annotations

from dataclasses import replace

from .again import Repeats
from .building import Place, place_of
from .event_order import KINDS as EVENTS
from .faults import Fault
from .leaks import LeakTotals
from .sites import FindUserFrame, Sites

MAX_EVENTS = 20_000


class Told:
    """Of one log or of several, each with its number among the logs of a round."""

    def __init__(self, user_frame: FindUserFrame) -> None:
        self.sites = Sites(user_frame)
        self.leaks = LeakTotals()
        self.n_events_left_out = 0
        self._events: list[tuple[Place, Fault]] = []

    def add(self, fault: Fault | Repeats, log: int = 0) -> None:
        """One fault of the log with that number, or several that repeat others."""
        if isinstance(fault, Repeats):  # no leak and no event
            self.sites.add_repeats(fault, log)
            return
        self.leaks.add(fault)
        if fault.kind not in EVENTS:
            self.sites.add(fault, log=log)
        elif len(self._events) < MAX_EVENTS:
            self._events.append((place_of(fault, log), fault))
        else:
            self.n_events_left_out += 1

    def take(self, other: Told, log: int, artifact: str) -> None:
        """All that one log told, as if its faults had been added here. artifact: the log's name by now."""

        def named(fault: Fault) -> Fault:
            return fault if fault.artifact == artifact else replace(fault, artifact=artifact)

        self.sites.take(other.sites, log, named)
        self.leaks.take(other.leaks, artifact)
        n_room = MAX_EVENTS - len(self._events)
        for place, fault in other._events[:n_room]:
            self._events.append(((log, *place[1:]), named(fault)))
        self.n_events_left_out += other.n_events_left_out + max(len(other._events) - n_room, 0)

    @property
    def events(self) -> list[Fault]:
        """The events in the order of the logs."""
        return [fault for _, fault in sorted(self._events, key=lambda one: one[0])]

    @property
    def n_faults(self) -> int:
        """All that was told, also what was only counted."""
        return self.sites.n_faults + len(self._events) + self.n_events_left_out

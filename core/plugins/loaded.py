"""What the plug-ins of this process hold, learnt once by asking each in a process of its own.

A plug-in that cannot be loaded is a problem of whatever needed it, and the others go on.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from fnmatch import fnmatchcase

from npulse.core.dataclass import dataclass

from ..errors import NpulseError
from ..findings import Problem
from ..progress import IsCancelled, never_cancelled
from ..text import command_line
from . import registry
from .accept import Complaint, Item, items_of
from .protocols import PluginKind
from .registry import Plugin


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one plug-in holds. complaints: why it, or a part of it, is not used."""

    plugin: Plugin
    items: tuple[Item, ...]
    complaints: tuple[Complaint, ...] = ()


_lock = threading.Lock()
_known: dict[tuple[int, Plugin], Loaded] = {}


def loaded(plugin: Plugin, is_cancelled: IsCancelled = never_cancelled) -> Loaded:
    """What a plug-in holds; the process that says so is started the first time only."""
    key = (registry.generation(), plugin)
    with _lock:
        known = _known.get(key)
        if known is None:
            known = _known[key] = _load(plugin, is_cancelled)
    return known


def _load(plugin: Plugin, is_cancelled: IsCancelled) -> Loaded:
    from .process import PluginFault, PluginProcess

    try:
        with PluginProcess(plugin, is_cancelled=is_cancelled) as process:
            items, complaints = items_of(process.load(), plugin.name)
    except PluginFault as fault:
        return Loaded(plugin, (), (Complaint(fault.message, fault.line),))
    return Loaded(plugin, tuple(items), tuple(complaints))


def items(
    kind: PluginKind, is_cancelled: IsCancelled = never_cancelled
) -> tuple[list[tuple[Plugin, Item]], list[Problem]]:
    """Everything of a kind that is to be used, and a problem for whatever could not be loaded.

    ([], []) at no cost where there are no plug-ins.
    """
    found: list[tuple[Plugin, Item]] = []
    problems: list[Problem] = []
    try:
        plugins = registry.plugins()
    except NpulseError as error:
        return [], [Problem(error.path or "plug-ins", "plugin", error.message, hint=error.hint)]
    names: set[str] = set()
    for plugin in plugins:
        if plugin.kinds and kind not in plugin.kinds:
            continue
        if plugin.state != "ok":
            problems.append(problem_of(plugin, Complaint(STATES[plugin.state])))
            continue
        told = loaded(plugin, is_cancelled)
        problems += [problem_of(plugin, complaint) for complaint in told.complaints]
        for item in told.items:
            if item.kind != kind:
                continue
            if kind != "analysis" and item.name in names:
                problems.append(
                    problem_of(plugin, Complaint(f"another plug-in has the {kind} '{item.name}'"))
                )
                continue
            names.add(item.name)
            found.append((plugin, item))
    return found, problems


STATES = {
    "changed": "its file is not the one that was added, so it is not run",
    "missing": "its file is gone",
    "unreadable": "the metadata of its package cannot be read",
    "bad-name": "its name is none that a rule can carry, so it is not run",
    "same-name": "another plug-in has its name, so it is not run",
}
_HINTS = {
    "changed": "look at it, then npulse plugin add FILE -n NAME again",
    "missing": "npulse plugin remove NAME, or add it again",
}


def label(plugin: Plugin) -> str:
    """How problems name a plug-in."""
    return f"plug-in {plugin.name}"


def problem_of(plugin: Plugin, complaint: Complaint) -> Problem:
    """The problem that stands for a plug-in, or a part of one, that was not used."""
    hint = _HINTS.get(plugin.state, f"npulse plugin check {plugin.name}")
    if plugin.origin == "file":
        hint = command_line(["npulse", "plugin", "check", plugin.source])
    return Problem(
        label(plugin), "plugin", complaint.message, complaint.line, hint=hint.replace("NAME", plugin.name)
    )


@dataclass(frozen=True, slots=True)
class Recogniser:
    """Which files reader plug-ins know, by name and first bytes alone: no code of theirs runs for that."""

    readers: tuple[tuple[Plugin, Item], ...] = ()
    problems: tuple[Problem, ...] = ()

    def candidates(self, name: str) -> Iterator[Item]:
        """The readers whose patterns a file's name fits; no I/O."""
        for _, item in self.readers:
            if any(fnmatchcase(name, pattern) for pattern in item.patterns):
                yield item

    def kind_of(self, name: str, head: bytes) -> str | None:
        """The kind of a file by its name and first bytes; the first reader that fits has it."""
        return next((item.name for item in self.candidates(name) if head.startswith(item.magic)), None)

    def reader(self, kind: str) -> tuple[Plugin, Item] | None:
        """The reader of a kind of artifact."""
        return next((found for found in self.readers if found[1].name == kind), None)


_NOBODY = Recogniser()


def recogniser(is_cancelled: IsCancelled = never_cancelled) -> Recogniser:
    """The readers in use; loaded the first time that a run is looked at."""
    found, problems = items("reader", is_cancelled)
    return Recogniser(tuple(found), tuple(problems)) if found or problems else _NOBODY

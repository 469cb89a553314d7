"""What failed on a device first, and what only followed: one incident a root event.

Which of two events came first is told by `event_order`; where it cannot be told, a link is marked as likely
only. Nothing is opened and nothing is parsed here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from npulse.core.dataclass import dataclass
from npulse.core.formats.error_codes import pick
from npulse.core.text import Lang, say

from .compiling import raised_of
from .event_order import (
    MAX_LOOKED_AT,
    Key,
    PythonPlace,
    Sort,
    delay_us,
    in_order,
    is_before,
    is_event,
    is_far,
    is_hardware,
    is_other_day,
    is_shortage,
    may_be_of_peer,
    n_cores_of,
    process_of,
    python_place,
    python_reason,
    sort_of,
)
from .faults import Fault
from .incident_texts import MISSING as MISSING
from .incident_texts import REASONS as REASONS
from .incident_texts import TEXTS as TEXTS
from .incident_texts import Missing, Reason
from .ranks import Ranks
from .waits import SAME_US, Causes, Chains, is_told_again

_SHOWN_RANKS = 8
_SAME_LINES = 64


@dataclass(frozen=True, slots=True)
class Secondary:
    """An event that follows from a root. delay_us: after it; None where the two have no common clock.

    is_likely: the order of the two is not told, or the process or the rank is not. n_possible: from how many
    root events it could follow; it stands with the first of them.
    """

    fault: Fault
    reason: Reason
    delay_us: int | None = None
    is_likely: bool = False
    n_possible: int = 1

    @property
    def delay_s(self) -> float | None:
        return None if self.delay_us is None else self.delay_us / 1e6


@dataclass(frozen=True, slots=True)
class Incident:
    """One root event and what followed, in the order of the logs.

    is_origin: False where `root` is no cause but the first that is known; `missing` says what would tell the
    cause. n_cores: of the root, as many as failed; they are one incident. python: the Python lines in it.
    silent_ranks: those that were waited for in vain and of which no event is known.
    """

    root: Fault
    secondary: tuple[Secondary, ...] = ()
    n_cores: int = 0
    is_origin: bool = True
    missing: Missing = ""
    python: tuple[PythonPlace, ...] = ()
    silent_ranks: tuple[int, ...] = ()

    @property
    def n_consequences(self) -> int:
        """Events that follow, without texts that tell one of them, or the root, once more."""
        return sum(one.reason != "told-again" for one in self.secondary)


def doubt_text(secondary: Secondary, lang: Lang) -> str:
    """Why it is not sure that an event follows from its root, without a mark at its end; "" where it is."""
    if secondary.n_possible > 1:
        return say(TEXTS, "doubt-several", lang, n=secondary.n_possible)
    return say(TEXTS, "doubt-likely", lang) if secondary.is_likely else ""


def missing_text(incident: Incident, lang: Lang) -> str:
    """What is needed to know the origin, without a mark at its end; "" where the root is the origin."""
    ranks = incident.silent_ranks
    if incident.missing != "other-rank-log" or not ranks:
        return pick(MISSING[incident.missing], lang)
    shown = ", ".join(map(str, ranks[:_SHOWN_RANKS])) + (" ..." if len(ranks) > _SHOWN_RANKS else "")
    return say(TEXTS, "silent-rank" if len(ranks) == 1 else "silent-ranks", lang, ranks=shown)


def root_name(fault: Fault) -> str:
    """How a root event is called: by operator type, kernel or code, else by its kind; as the log wrote it."""
    figures = fault.figures
    return str(figures.get("op_type") or fault.access.kernel or figures.get("code") or fault.kind)


def reliability_of(fault: Fault, is_blocking: bool) -> bool | None:
    """Whether the Python line of a "python error" is the one at fault; None where that is not known.

    is_blocking: as of `incidents_of`. None of every other kind of fault.
    """
    return python_place(fault, is_blocking=is_blocking).is_reliable if fault.kind == "python error" else None


def incidents_of(faults: Iterable[Fault], *, is_blocking: bool = False) -> tuple[Incident, ...]:
    """The incidents in the faults of all logs of a round, origins first; other faults are left alone.

    Looked at: "aicore exception", "task failure", "collective time-out", "error code", "python error",
    "out of memory", "buffer overflow at compile time"; not codes that no tool prints. is_blocking: the run is
    known to have had ASCEND_LAUNCH_BLOCKING=1. Two failures of one process on two devices, of two processes,
    or more than an hour apart are two incidents. Cost: n log n.
    """
    return _Gathering(is_blocking).gather([fault for fault in faults if is_event(fault)])


class _Draft:
    """An incident that is being put together."""

    def __init__(self, root: Fault, missing: Missing = "") -> None:
        self.root = root
        self.missing = missing
        self.silent_ranks: dict[int, None] = {}
        self.secondary: list[tuple[Fault, Reason, bool, int]] = []

    def add(self, fault: Fault, reason: Reason, is_likely: bool = False, n_possible: int = 1) -> None:
        self.secondary.append((fault, reason, is_likely, n_possible))

    def add_again(self, fault: Fault) -> None:
        """The same failure from another text; the fuller one of the two is the root."""
        if _fullness(fault) > _fullness(self.root):
            self.root, fault = fault, self.root
        self.add(fault, "told-again")

    def finish(self, is_blocking: bool) -> Incident:
        made = []
        for fault, reason, is_likely, n_possible in self.secondary:
            delay = delay_us(self.root, fault)
            made.append(
                Secondary(
                    fault, reason, delay if delay is not None and delay >= 0 else None, is_likely, n_possible
                )
            )
        made.sort(key=lambda one: (one.fault.artifact, one.fault.line))
        told = (self.root, *(one.fault for one in made))
        python = tuple(
            python_place(fault, is_blocking=is_blocking) for fault in told if fault.kind == "python error"
        )
        return Incident(
            self.root,
            tuple(made),
            n_cores_of(self.root),
            not self.missing,
            self.missing,
            python,
            tuple(sorted(self.silent_ranks)),
        )


def _fullness(fault: Fault) -> tuple[bool, bool, bool, int]:
    task = fault.task
    return (
        fault.kind == "out of memory",  # it has the sizes, a code has none
        task is not None and task.task is not None,
        bool(fault.figures.get("kernel_name")),
        n_cores_of(fault),
    )


# ---- links ----


class _Gathering:
    """Puts the faults of a round together, root events first."""

    def __init__(self, is_blocking: bool) -> None:
        self._is_blocking = is_blocking
        self._drafts: list[_Draft] = []
        self._unknown: list[_Draft] = []
        self._by_process: dict[Key, list[_Draft]] = {}
        self._by_file: dict[str, list[tuple[int, _Draft]]] = {}  # with the line where it stands there
        self._unknown_by_file: dict[str, list[tuple[int, _Draft]]] = {}
        self._by_device: dict[tuple[Key, int | None], _Draft] = {}
        self._by_task: dict[Key, _Draft] = {}
        self._waits_of: dict[Key, tuple[_Draft, bool]] = {}  # and if that is a guess
        self._shortages: dict[tuple[str, str], tuple[_Draft, Fault]] = {}  # the last one, and its last text
        self._ranks = Ranks(())

    def gather(self, faults: Sequence[Fault]) -> tuple[Incident, ...]:
        self._ranks = Ranks(faults)
        sorts: dict[Sort, list[Fault]] = {}
        for fault in faults:
            sorts.setdefault(sort_of(fault, self._is_blocking), []).append(fault)
        compiled = self._take_compiled(faults, sorts)
        for fault in in_order(sorts.get("device", ())):
            self._take_device(fault)
        for fault in in_order(sorts.get("host", ())):
            self._take_host(fault)
        self._link_waits(in_order(sorts.get("wait", ())))
        for fault in in_order(sorts.get("model", ())):
            self._take_follower(fault, "model-stream")
        for fault in in_order(sorts.get("passing", ())):
            self._take_follower(fault, "passes-on")
        for fault in in_order(sorts.get("python", ())):
            self._take_follower(fault, python_reason(fault, is_blocking=self._is_blocking))
        ordered = [*self._sorted(self._drafts), *self._sorted(compiled), *self._sorted(self._unknown)]
        return tuple(draft.finish(self._is_blocking) for draft in ordered)

    @staticmethod
    def _take_compiled(faults: Sequence[Fault], sorts: dict[Sort, list[Fault]]) -> list[_Draft]:
        """Kernels that did not fit, with the Python errors that raise it; those are taken out of `sorts`."""
        drafts = {id(fault): _Draft(fault) for fault in sorts.get("compile", ())}
        if not drafts:
            return []
        errors = [fault for fault in faults if fault.kind == "python error"]
        taken: set[int] = set()
        for error, message in raised_of(sorts["compile"], errors):
            drafts[id(message)].add(error, "compiling-python")
            taken.add(id(error))
        for rest in (sorts.get("host", []), sorts.get("python", [])):
            rest[:] = [fault for fault in rest if id(fault) not in taken]
        return list(drafts.values())

    @staticmethod
    def _sorted(drafts: list[_Draft]) -> list[_Draft]:
        by_root = {id(draft.root): draft for draft in drafts}
        return [by_root[id(fault)] for fault in in_order(draft.root for draft in drafts)]

    def _begin(self, fault: Fault) -> _Draft:
        draft = _Draft(fault)
        self._drafts.append(draft)
        process = process_of(fault)
        if process is not None:
            self._by_process.setdefault(process, []).append(draft)
        self._by_file.setdefault(fault.artifact, []).append((fault.line, draft))
        return draft

    def _begin_unknown(self, fault: Fault, missing: Missing) -> _Draft:
        draft = _Draft(fault, missing)
        self._unknown.append(draft)
        self._unknown_by_file.setdefault(fault.artifact, []).append((fault.line, draft))
        return draft

    def _take_device(self, fault: Fault) -> None:
        """The first failure of a process on a device is a root event, what comes later follows from it."""
        process = process_of(fault) or ("file", fault.artifact)
        task = fault.task
        device = task.device if task is not None else None
        full: Key | None = None
        if task is not None and task.task is not None and task.stream is not None:
            full = (process, task.device, task.stream, task.task, task.flip)
            again = self._by_task.get(full)
            if again is not None and not is_far(again.root, fault):
                self._add_again(again, fault)
                return
        draft = self._by_device.get((process, device)) or self._by_device.get((process, None))
        if draft is None and device is None:
            draft = next(reversed(self._by_process.get(process, [])), None)
        if draft is not None and not is_far(draft.root, fault):
            is_other_file = draft.root.artifact != fault.artifact
            if is_other_file and (_has_no_task(fault) or _has_no_task(draft.root)):
                self._add_again(draft, fault)  # a console tells the same without the ids
                self._by_device.setdefault((process, device), draft)
            else:
                draft.add(fault, "later-failure", is_likely=is_other_file)
        else:
            draft = self._begin(fault)
            self._by_device[(process, device)] = draft
        if full is not None:
            self._by_task.setdefault(full, draft)

    def _add_again(self, draft: _Draft, fault: Fault) -> None:
        if fault.artifact != draft.root.artifact:
            self._by_file.setdefault(fault.artifact, []).append((fault.line, draft))
        draft.add_again(fault)

    def _take_host(self, fault: Fault) -> None:
        """An error of the host's own: a root event unless its process had failed before."""
        shortage = self._same_shortage(fault)
        if shortage is not None:
            shortage.add_again(fault)
            self._shortages[fault.artifact, fault.origin] = shortage, fault
            return
        draft, is_likely = self._of_process(fault, only_before=True)
        if draft is None and fault.kind == "python error":
            # another process: what it says behind a failure follows from it, what it says before does not
            draft = next((d for d in self._near(fault) if is_before(d.root, fault)), None)
            is_likely = True
        if draft is None:
            draft = self._begin(fault)
            if is_shortage(fault):
                self._shortages[fault.artifact, fault.origin] = draft, fault
        elif fault.kind == "python error":
            draft.add(fault, python_reason(fault, is_blocking=self._is_blocking), is_likely)
        else:
            # without a clock it only stands behind it; what the device itself reports, no program caused
            code = f"{fault.figures.get('code') or ''}"
            is_open = delay_us(draft.root, fault) is None or is_hardware(code)
            draft.add(fault, "later-failure", is_likely or is_open)

    def _same_shortage(self, fault: Fault) -> _Draft | None:
        """The lack of memory that a text right behind it tells once more, as a code or in words."""
        found = self._shortages.get((fault.artifact, fault.origin)) if is_shortage(fault) else None
        if found is None:
            return None
        draft, last = found
        kinds = {last.kind, fault.kind}
        writers = {process for process in (process_of(last), process_of(fault)) if process is not None}
        delay = delay_us(last, fault)
        is_near = abs(fault.line - last.line) <= _SAME_LINES and (delay is None or abs(delay) <= SAME_US)
        return draft if is_near and len(kinds) > 1 and len(writers) < 2 else None

    def _take_follower(self, fault: Fault, reason: Reason) -> None:
        """What is never a cause goes to the failure of its process, else to what its process waited for."""
        draft, is_likely = self._of_process(fault, only_before=False)
        process = process_of(fault)
        if draft is None and process is not None and process in self._waits_of:
            draft, is_likely = self._waits_of[process]
        n_possible = 1
        if draft is None and (process is None or fault.kind == "python error"):
            draft = next(iter(self._near(fault)), None)
            is_likely = True
        if draft is None and process is None:
            elsewhere = self._elsewhere(fault)
            draft, n_possible = next(iter(elsewhere), None), max(len(elsewhere), 1)
        elif draft is None and may_be_of_peer(fault):
            before = [d for d in self._drafts[:MAX_LOOKED_AT] if _is_just_before(d.root, fault)]
            if before:
                draft, is_likely, n_possible = before[0], True, len(before)
                reason = "other-process"
                self._waits_of[process or ("file", fault.artifact)] = draft, True
        if draft is None:
            # what CANN itself wrote stands in the very log that would be asked for
            is_of_log = bool(fault.figures.get("module")) or fault.kind == "task failure"
            draft = self._begin_unknown(fault, "rest-of-logs" if is_of_log else "device-log")
            self._waits_of[process or ("file", fault.artifact)] = draft, False
        else:
            draft.add(fault, reason, is_likely, n_possible)

    def _of_process(self, fault: Fault, only_before: bool) -> tuple[_Draft | None, bool]:
        """The last failure of its process before an event, else the first behind it; if that is a guess."""
        process = process_of(fault)
        drafts = self._by_process.get(process, []) if process is not None else []
        found: _Draft | None = None
        is_likely = False
        for draft in drafts[:MAX_LOOKED_AT]:
            order = is_before(draft.root, fault)
            if is_far(draft.root, fault) or (order is False and only_before):
                continue
            if found is None or order:
                found, is_likely = draft, order is None
        return found, is_likely

    def _near(self, fault: Fault) -> list[_Draft]:
        """Failures of the same file and not far: the last one before it first, then those behind it."""
        known = self._by_file.get(fault.artifact) or self._unknown_by_file.get(fault.artifact, [])
        placed = sorted(known[:MAX_LOOKED_AT], key=itemgetter(0))
        at = bisect_right(placed, fault.line, key=itemgetter(0))
        near = (draft for _, draft in (*reversed(placed[:at]), *placed[at:]))
        return [draft for draft in near if not is_far(draft.root, fault)]

    def _elsewhere(self, fault: Fault) -> list[_Draft]:
        """Failures in other files that a text without a process may tell: those of its own rank, else any."""
        rank = self._ranks.of(fault)
        fitting = [
            draft
            for draft in self._drafts[:MAX_LOOKED_AT]
            if draft.root.artifact != fault.artifact
            and not is_other_day(draft.root, fault)
            and not is_far(draft.root, fault)
            and is_before(draft.root, fault) is not False
        ]
        ranks = [self._ranks.of(draft.root) for draft in fitting]
        own = [
            draft for draft, known in zip(fitting, ranks, strict=True) if known is not None and known == rank
        ]
        return own or [
            draft for draft, known in zip(fitting, ranks, strict=True) if rank is None or known is None
        ]

    # ---- waits ----

    def _link_waits(self, waits: list[Fault]) -> None:
        """Time-outs behind a root event follow from it; those of no root event are one unknown.

        Of ranks that wait for each other the last one is looked at first, whichever ran out of time first.
        """
        told: dict[Key, Fault] = {}
        again: list[tuple[Fault, Fault]] = []
        own: list[Fault] = []
        for fault in waits:
            process = process_of(fault)
            if process is not None and process in told and is_told_again(told[process], fault):
                again.append((told[process], fault))
                continue
            if process is not None:
                told[process] = fault
            own.append(fault)
        causes, chains = self._causes(), Chains(own, again, self._ranks)
        drafts: dict[int, tuple[_Draft, bool]] = {}
        for fault in chains.in_order():
            drafts[id(fault)] = self._link_wait(fault, causes, chains, drafts)
        for fault in own:
            process = process_of(fault)
            if process is not None:
                self._waits_of.setdefault(process, (drafts[id(fault)][0], False))
        for first, fault in again:
            drafts[id(first)][0].add(fault, "told-again")

    def _causes(self) -> Causes:
        places = {id(draft): place for place, draft in enumerate(self._drafts)}
        placed = {
            artifact: [(line, places[id(draft)]) for line, draft in known]
            for artifact, known in self._by_file.items()
        }
        return Causes([draft.root for draft in self._drafts], placed, self._ranks)

    def _link_wait(
        self, fault: Fault, causes: Causes, chains: Chains, known: Mapping[int, tuple[_Draft, bool]]
    ) -> tuple[_Draft, bool]:
        """The incident that a time-out was put into, and if that is a guess.

        It is that of its own process, of a rank that it names, of whatever that rank waited for, of any other
        one before it, else an unknown one. known: of the time-outs that it may have waited for.
        """
        draft, is_likely = self._of_process(fault, only_before=True)
        reason: Reason = "collective-time-out"
        n_possible = 1
        named, waited_for = chains.named(fault), chains.waited_for(fault)
        cause = causes.named(fault, named) if draft is None else None
        if draft is None and cause is None and waited_for is not None:
            draft, is_likely = known[id(waited_for)]
            reason = "waits-in-turn"
            if draft.missing == "" and is_before(draft.root, fault) is False:
                draft = None  # a failure behind it explains nothing
        if draft is None and cause is None:
            cause = causes.by_order(fault, bool(named))
            reason = "collective-time-out"
        if draft is None and cause is not None:
            draft, is_likely, n_possible = self._drafts[cause.place], cause.is_likely, cause.n_possible
        if draft is None:  # another wait of which nobody knows the cause
            is_likely = True
            draft = next((d for d in self._unknown[-MAX_LOOKED_AT:] if not is_far(d.root, fault)), None)
            reason = "waits-too" if named else "collective-time-out"
        if draft is None:
            draft = self._begin_unknown(fault, "other-rank-log")
            is_likely = False
        else:
            draft.add(fault, reason, is_likely, n_possible)
        if draft.missing and waited_for is None:
            draft.silent_ranks.update(dict.fromkeys(chains.silent(fault)))
        return draft, is_likely


def _is_just_before(first: Fault, second: Fault) -> bool:
    """Whether the clocks, or the lines of one file, prove that an event came before and not long before."""
    return is_before(first, second) is True and not is_far(first, second)


def _has_no_task(fault: Fault) -> bool:
    return fault.task is None or fault.task.task is None

"""What failed on a device first, and what only followed: one incident a root event.

Which of two events came first is told by `event_order`; where it cannot be told, a link is marked as likely
only. Nothing is opened and nothing is parsed here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal

from .event_order import (
    FAR_US,
    KINDS,
    RELIABLE_SWITCH,
    Key,
    PythonPlace,
    Sort,
    delay_us,
    in_order,
    is_before,
    is_other_day,
    is_set,
    n_cores_of,
    process_of,
    python_place,
    rank_of,
    sort_of,
)
from .faults import Fault

Reason = Literal[
    "told-again",
    "later-failure",
    "model-stream",
    "collective-time-out",
    "passes-on",
    "asynchronous-python",
    "later-python",
]
Missing = Literal["", "other-rank-log", "device-log"]

REASONS: Mapping[Reason, tuple[str, str]] = {
    "told-again": ("the same failure, told once more", "同一故障的重复记录"),
    "later-failure": (
        "the process had failed before; what it reports later follows from that",
        "该进程此前已出错，之后的报错由此引起",
    ),
    "model-stream": ("the model failed because a task in it did", "模型中的任务失败，导致整个模型失败"),
    "collective-time-out": (
        "it waited in a collective for a rank that had failed",
        "在集合通信中等待已出错的 rank，因而超时",
    ),
    "passes-on": ("a code that only passes the failure on", "该错误码只是转报上述故障"),
    "asynchronous-python": (
        "launches are asynchronous: this line is where the failure surfaced; set "
        f"{RELIABLE_SWITCH} to get the line that launched it",
        f"算子异步下发：该行只是错误暴露处；设置 {RELIABLE_SWITCH} 可得到真正下发该算子的代码行",
    ),
    "later-python": ("a Python error after the failure", "故障发生之后的 Python 报错"),
}
"""Why an event is secondary, (en, zh)."""

MISSING: Mapping[Missing, tuple[str, str]] = {
    "": ("", ""),
    "other-rank-log": (
        "unknown: a rank waited in vain, and none of these logs says why; "
        "the logs of the other ranks are needed",
        "未知：某个 rank 等待超时，现有日志未说明原因；需要其他 rank 的日志",
    ),
    "device-log": (
        "unknown: this only passes a failure on; the plog of this process is needed",
        "未知：这里只是转报故障；需要该进程的 plog",
    ),
}
"""What is needed to know the origin, (en, zh)."""


@dataclass(frozen=True, slots=True)
class Secondary:
    """An event that follows from a root. delay_us: after it; None where the two have no common clock.

    is_likely: the order of the two is not told, or the process is not. n_possible: from how many root events
    it could follow; it stands with the first of them.
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
    """

    root: Fault
    secondary: tuple[Secondary, ...] = ()
    n_cores: int = 0
    is_origin: bool = True
    missing: Missing = ""
    python: tuple[PythonPlace, ...] = ()


def incidents_of(faults: Iterable[Fault], *, is_blocking: bool = False) -> tuple[Incident, ...]:
    """The incidents in the faults of all logs of a round, origins first; other faults are left alone.

    Looked at: "aicore exception", "task failure", "collective time-out", "error code", "python error",
    "out of memory". is_blocking: the run is known to have had ASCEND_LAUNCH_BLOCKING=1. Two failures of one
    process on two devices, of two processes, or more than an hour apart are two incidents. Cost: n log n.
    """
    return _Gathering(is_blocking).gather([fault for fault in faults if fault.kind in KINDS])


class _Draft:
    """An incident that is being put together."""

    def __init__(self, root: Fault, missing: Missing = "") -> None:
        self.root = root
        self.missing = missing
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
        return Incident(self.root, tuple(made), n_cores_of(self.root), not self.missing, self.missing, python)


def _fullness(fault: Fault) -> tuple[bool, bool, int]:
    task = fault.task
    return (
        task is not None and task.task is not None,
        bool(fault.figures.get("kernel_name")),
        n_cores_of(fault),
    )


def _is_far(draft: _Draft, fault: Fault) -> bool:
    delay = delay_us(draft.root, fault)
    return delay is not None and abs(delay) > FAR_US


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
        self._waits_of: dict[Key, _Draft] = {}

    def gather(self, faults: Sequence[Fault]) -> tuple[Incident, ...]:
        sorts: dict[Sort, list[Fault]] = {}
        for fault in faults:
            sorts.setdefault(sort_of(fault, self._is_blocking), []).append(fault)
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
            self._take_follower(fault, "asynchronous-python")
        ordered = [*self._sorted(self._drafts), *self._sorted(self._unknown)]
        return tuple(draft.finish(self._is_blocking) for draft in ordered)

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
            if again is not None and not _is_far(again, fault):
                self._add_again(again, fault)
                return
        draft = self._by_device.get((process, device)) or self._by_device.get((process, None))
        if draft is None and device is None:
            draft = next(reversed(self._by_process.get(process, [])), None)
        if draft is not None and not _is_far(draft, fault):
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
        draft, is_likely = self._of_process(fault, only_before=True)
        if draft is None and fault.kind == "python error":
            # another process: what it says behind a failure follows from it, what it says before does not
            draft = next((d for d in self._near(fault) if is_before(d.root, fault)), None)
            is_likely = True
        if draft is None:
            self._begin(fault)
        else:
            draft.add(fault, "later-python" if fault.kind == "python error" else "later-failure", is_likely)

    def _take_follower(self, fault: Fault, reason: Reason) -> None:
        """What is never a cause goes to the failure of its process, else to what its process waited for."""
        draft, is_likely = self._of_process(fault, only_before=False)
        process = process_of(fault)
        if draft is None and process is not None and process in self._waits_of:
            draft, is_likely = self._waits_of[process], False
        if draft is None and (process is None or reason == "asynchronous-python"):
            draft = next(iter(self._near(fault)), None)
            is_likely = True
        if draft is None:
            draft = self._begin_unknown(fault, "device-log")
            self._waits_of[process or ("file", fault.artifact)] = draft
        else:
            draft.add(fault, reason, is_likely)

    def _of_process(self, fault: Fault, only_before: bool) -> tuple[_Draft | None, bool]:
        """The last failure of its process before an event, else the first behind it; if that is a guess."""
        process = process_of(fault)
        drafts = self._by_process.get(process, []) if process is not None else []
        found: _Draft | None = None
        is_likely = False
        for draft in drafts[:_MAX_LOOKED_AT]:
            order = is_before(draft.root, fault)
            if _is_far(draft, fault) or (order is False and only_before):
                continue
            if found is None or order:
                found, is_likely = draft, order is None
        return found, is_likely

    def _near(self, fault: Fault) -> list[_Draft]:
        """Failures of the same file and not far: the last one before it first, then those behind it."""
        known = self._by_file.get(fault.artifact) or self._unknown_by_file.get(fault.artifact, [])
        placed = sorted(known[:_MAX_LOOKED_AT], key=itemgetter(0))
        at = bisect_right(placed, fault.line, key=itemgetter(0))
        near = (draft for _, draft in (*reversed(placed[:at]), *placed[at:]))
        return [draft for draft in near if not _is_far(draft, fault)]

    # ---- waits ----

    def _link_waits(self, waits: list[Fault]) -> None:
        """Time-outs behind a root event follow from it; those of no root event are one unknown."""
        timed = sorted(
            ((d.root.time_us, i) for i, d in enumerate(self._drafts) if is_set(d.root.time_us)),
            key=lambda pair: pair[0],
        )
        times, places = [time_us for time_us, _ in timed], [place for _, place in timed]
        ranks: dict[str, list[_Draft]] = {}
        for known in self._drafts:
            ranks.setdefault(rank_of(known.root), []).append(known)
        for fault in waits:
            process = process_of(fault)
            draft, is_likely, n_possible = self._cause_of_wait(fault, times, places, ranks)
            if draft is None:  # another wait of which nobody knows the cause
                draft = next((d for d in self._unknown[-_MAX_LOOKED_AT:] if not _is_far(d, fault)), None)
                is_likely, n_possible = True, 1
            if draft is not None:
                draft.add(fault, "collective-time-out", is_likely, n_possible)
            else:
                draft = self._begin_unknown(fault, "other-rank-log")
            if process is not None:
                self._waits_of.setdefault(process, draft)

    def _cause_of_wait(
        self, fault: Fault, times: list[int], at: list[int], ranks: Mapping[str, list[_Draft]]
    ) -> tuple[_Draft | None, bool, int]:
        """(what it waited for, whether that is likely only, how many it could be)."""
        draft, is_likely = self._of_process(fault, only_before=True)
        if draft is not None:
            return draft, is_likely, 1
        remote = f"{fault.figures.get('remote_rank') or ''}"
        named = (
            [d for d in ranks.get(remote, [])[:_MAX_LOOKED_AT] if is_before(d.root, fault) is not False]
            if remote
            else []
        )
        if len(named) == 1 and not _is_far(named[0], fault):
            return named[0], is_before(named[0].root, fault) is None, 1
        if is_set(fault.time_us):
            timeout_s = fault.figures.get("timeout_s")
            window_us = max(FAR_US, 2_000_000 * timeout_s if isinstance(timeout_s, int) else 0)
            first = bisect_left(times, fault.time_us - window_us)
            last = bisect_right(times, fault.time_us)
            if last > first:
                return self._drafts[at[first]], False, last - first
        in_file = [
            d
            for line, d in self._by_file.get(fault.artifact, [])[:_MAX_LOOKED_AT]
            if delay_us(d.root, fault) is None and line <= fault.line
        ]
        if in_file:
            return in_file[0], False, len(in_file)
        # no clock and no file in common: a wait is never a cause, so it may well be one of these
        open_order = [
            d
            for d in self._drafts[:_MAX_LOOKED_AT]
            if is_before(d.root, fault) is None and not is_other_day(d.root, fault)
        ]
        return (open_order[0], True, len(open_order)) if open_order else (None, False, 0)


_MAX_LOOKED_AT = 64
"""So many incidents are tried for one event, where only a look at each one helps."""


def _has_no_task(fault: Fault) -> bool:
    return fault.task is None or fault.task.task is None

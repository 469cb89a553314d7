"""What the logs of a memory capture hold, by the memory area's readers: faults, and why a log shows less."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.memory.faults import LogTrust
from npulse.core.memory.kind_texts import GAPS as GAP_SENTENCES
from npulse.core.memory.logs import FaultLog
from npulse.core.memory.short_texts import GAPS as GAP_WORDS

from ..driver import Words

MAX_LOGS = 512
MAX_LOG_BYTES = 1 << 28
"""Of one log; what is behind it is not read when the round is closed, only by the memory area."""

_DROPPED = re.compile(r"([0-9]{1,18}) records undetected in block ")
_LOSING = {"records-dropped", "cache-exhausted", "sync-records-dropped"}
UNTOLD = frozenset(("no-markers", "no-start"))
"""Gaps that only say that the tool's release writes less: no reason to call a log incomplete."""


@dataclass(frozen=True, slots=True)
class LogsLook:
    """All logs of a round together. kinds: of fault -> how many; n_errors: those that are errors or warnings.

    gaps: words of the readers, those of the console among them. checks: what msSanitizer looked for.
    unread: logs that could not be read, or not to their end. n_dropped: records that msSanitizer says it
    lost, by its first notices; None where it says so without a number.
    """

    n_logs: int = 0
    tools: tuple[str, ...] = ()
    kinds: Mapping[str, int] = field(default_factory=dict)
    n_errors: int = 0
    kernels: tuple[str, ...] = ()
    n_clean_ends: int = 0
    checks: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    n_dropped: int | None = 0

    @property
    def lost(self) -> tuple[str, ...]:
        """Gaps that mean that there may have been more faults."""
        return tuple(gap for gap in self.gaps if gap not in UNTOLD)


def look_at_logs(logs: Iterable[Path], kind: str = "") -> LogsLook:
    """Every log that is there through the readers, once. kind: as in `run.kinds`, "" if not known."""
    kinds: Counter[str] = Counter()
    trusts: list[LogTrust] = []
    unread: list[str] = []
    n_errors = n_logs = 0
    for path in logs:
        if not path.exists():
            continue
        log = FaultLog(path, kind=kind)
        n_logs += 1
        try:
            for found in log.faults():
                # a traceback on the console is the program's way to end, not what was looked for
                faults = [fault for fault in found if fault.tool != "Python"]
                kinds.update(fault.kind for fault in faults)
                n_errors += sum(fault.severity != "info" for fault in faults)
                if log.n_bytes > MAX_LOG_BYTES:
                    unread.append(path.name)
                    break
        except InputError:
            unread.append(path.name)
            continue
        trusts.append(log.trust)
    return LogsLook(
        n_logs=n_logs,
        tools=_distinct(trust.tools for trust in trusts),
        kinds=dict(sorted(kinds.items())),
        n_errors=n_errors,
        kernels=_distinct(trust.kernels for trust in trusts),
        n_clean_ends=sum(trust.n_clean_ends for trust in trusts),
        checks=_distinct(trust.checks for trust in trusts),
        gaps=_distinct(trust.gaps for trust in trusts),
        unread=tuple(unread),
        n_dropped=_n_dropped(trusts),
    )


def _n_dropped(trusts: Sequence[LogTrust]) -> int | None:
    told = [match for trust in trusts for _, text in trust.notices if (match := _DROPPED.search(text))]
    is_without = any(_LOSING & set(trust.gaps) for trust in trusts)
    return sum(int(match[1]) for match in told) if told or not is_without else None


def gap_words(gaps: Sequence[str]) -> Words:
    """Why logs show less, in few words."""
    told = [GAP_WORDS.get(gap, (gap, gap)) for gap in gaps]
    return ", ".join(dict.fromkeys(en for en, _ in told)), "、".join(dict.fromkeys(zh for _, zh in told))


def gap_step(gaps: Sequence[str]) -> Words:
    """What the memory area says of the first of these gaps: what it means, and what to do."""
    return next((GAP_SENTENCES[gap] for gap in gaps if gap in GAP_SENTENCES), ("", ""))


def files_in(folder: Path, prefix: str = "") -> tuple[Path, ...]:
    """Regular files of a folder in order of their names, links left out, 512 at most."""
    try:
        with os.scandir(folder) as entries:
            found = [
                Path(entry.path)
                for entry in entries
                if entry.name.startswith(prefix) and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return ()
    return tuple(sorted(found)[:MAX_LOGS])


def _distinct(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for group in groups for one in group))

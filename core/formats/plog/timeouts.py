"""Time-outs of collectives: HCCL's own log line, and the report with a code that a console shows of it."""

from __future__ import annotations

import re
from dataclasses import replace

from ..log_lines import bounded
from .heads import Head
from .records import HcclTimeout

HCCL_MODULES = ("HCCL", "HCCP", "HCOM")
_CODES = ("EI0002", "EI0006")

_TIMEOUT = re.compile(r"(?i)\btime(?:d|s)?[ -]?out")
_MORE_OF_TIMEOUT = re.compile(r"\b(?:group ?[rR]ank|op ?[dD]ata|para) information is\b|call trace: ")
_REMOTE_RANK = re.compile(r"remote ?rank:? ?\[([^\[\]]{0,200})\]|[wW]aiting peer (?:rank|end): ([^;]{0,200})")
_STREAM = re.compile(r"\bstreamI[dD]:? ?\[(\d{1,12})\]")
_TASK = re.compile(r"\btaskI[dD]:? ?\[(\d{1,12})\]")
_TAG = re.compile(r"\btag ?\[([^\[\]]{1,400})\]")
_TIMEOUT_S = re.compile(r"timeout ?\[(\d{1,9}) ?s\]")


def may_be_timeout(head: Head) -> bool:
    """True of lines of HCCL and of the codes that it gives to a time-out."""
    return head.module in HCCL_MODULES or head.code in _CODES


def is_timeout(head: Head, message: str) -> bool:
    """True if such a line tells of one; a code alone does."""
    return head.module not in HCCL_MODULES or _TIMEOUT.search(head.tags + message) is not None


def is_more_of_timeout(message: str) -> bool:
    """True of the lines in which HCCL goes on about the time-out that it has told."""
    return _MORE_OF_TIMEOUT.search(message) is not None


def timeout_of(
    stands: tuple[int, int, int, int | None, int | None, str, str], head: Head, message: str
) -> HcclTimeout:
    """The record of one line. stands: as `heads.stands` gives it."""
    rank, wait = _REMOTE_RANK.search(message), _TIMEOUT_S.search(message)
    stream, task, tag = (p.search(message) for p in (_STREAM, _TASK, _TAG))
    return HcclTimeout(
        *stands,
        text=bounded(head.tags + message),
        code=head.code,
        remote_rank=bounded(rank[1] or rank[2]) if rank else "",
        stream_id=int(stream[1]) if stream else None,
        task_id=int(task[1]) if task else None,
        tag=bounded(tag[1]) if tag else "",
        timeout_s=int(wait[1]) if wait else None,
    )


def joined(last: HcclTimeout | None, found: HcclTimeout) -> HcclTimeout | None:
    """One record of a log line and its report (same process and instant, one has a code); else None."""
    if last is None or last.pid is None or last.time_us is None:
        return None
    if (last.pid, last.time_us) != (found.pid, found.time_us) or bool(last.code) == bool(found.code):
        return None
    report, other = (found, last) if found.code else (last, found)
    return replace(
        last,
        last_line=found.last_line,
        text=report.text,
        code=report.code,
        remote_rank=report.remote_rank or other.remote_rank,
        stream_id=other.stream_id if report.stream_id is None else report.stream_id,
        task_id=other.task_id if report.task_id is None else report.task_id,
        tag=report.tag or other.tag,
        timeout_s=other.timeout_s if report.timeout_s is None else report.timeout_s,
    )

"""Progress and cancellation, passed into everything that can take more than half a second."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from npulse.core.dataclass import dataclass

from .errors import Cancelled
from .text import Lang


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one piece of work is. `total` is None while it is not known.

    done_bytes, total_bytes: of what is read, where that tells the time better than the count of things.
    note: what is known so far.
    """

    stage: str
    done: int
    total: int | None
    unit: str
    done_bytes: int = 0
    total_bytes: int | None = None
    note: str = ""


ProgressCallback = Callable[[Progress], None]
IsCancelled = Callable[[], bool]


def ignore_progress(progress: Progress) -> None:
    """Default callback: nobody looks."""


def never_cancelled() -> bool:
    """Default: nobody cancels."""
    return False


def check(is_cancelled: IsCancelled) -> None:
    """Raise `Cancelled` if the user asked to stop; called between chunks of work."""
    if is_cancelled():
        raise Cancelled


def paced(
    callback: ProgressCallback, every_s: float = 0.25, clock: Callable[[], float] = time.monotonic
) -> ProgressCallback:
    """The callback, called at most once in `every_s` seconds: what comes in between is dropped."""
    called_s = -math.inf

    def show(progress: Progress) -> None:
        nonlocal called_s
        now_s = clock()
        if now_s - called_s >= every_s:
            called_s = now_s
            callback(progress)

    return show


_WORDS: dict[str, tuple[str, str]] = {
    "discover": ("looking through the folder", "查看目录"),
    "read": ("reading", "读取"),
    "analyse": ("analysing", "分析"),
    "compare": ("comparing", "比较"),
    "plug-ins": ("asking plug-ins", "询问插件"),
    "look closer": ("looking closer", "细查"),
    "recheck": ("computing again", "重新计算"),
    "scan": ("scanning", "扫描"),
    "check": ("checking", "检查"),
    "check-up": ("check-up", "体检"),
    "sort": ("sorting", "排序"),
    "filter": ("filtering", "过滤"),
    "layers": ("finding layers", "归并各层"),
    "pack": ("packing", "打包"),
    "unpack": ("unpacking", "解包"),
    "calls": ("calls", "个调用"),
    "ranks": ("ranks", "个 rank"),
    "tensors": ("tensors", "个张量"),
    "entries": ("entries", "个条目"),
    "rows": ("rows", "行"),
    "files": ("files", "个文件"),
    "texts": ("texts", "个文本"),
    "kernels": ("kernels", "个 kernel"),
    "sheets": ("sheets", "个工作表"),
    "areas": ("areas", "个方面"),
    "rounds": ("rounds", "轮"),
    "parts": ("parts", "项"),
}
"""Stages and units that are known here; others are shown as they are."""


SOON_S = 1.0
"""From less work than this nobody says how much time is left."""


def bytes_text(progress: Progress, elapsed_s: float, lang: Lang = "en") -> str:
    """'3.1 of 12.4 GB, 1.4 GB/s, 0:06 left'; "" where the bytes are not known. elapsed_s: since the stage
    began."""
    done, total = progress.done_bytes, progress.total_bytes
    if total is None:
        return ""
    at = 1 if lang == "zh" else 0
    factor, unit = _unit_of(total)
    facts = [f"{done / factor:,.1f}{(' of ', ' / ')[at]}{total / factor:,.1f} {unit}"]
    if done > 0 and elapsed_s >= SOON_S:
        rate = done / elapsed_s
        factor, unit = _unit_of(rate)
        left = clock_text(max(total - done, 0) / rate)
        facts += [f"{rate / factor:,.1f} {unit}/s", (f"{left} left", f"剩余 {left}")[at]]
    return (", ", "，")[at].join(facts)


def clock_text(seconds: float) -> str:
    """'0:06', '12:40', '3:05:00': rounded up, so that 0:00 is the end."""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _unit_of(n_bytes: float) -> tuple[float, str]:
    return next((f, unit) for f, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if n_bytes >= f or f == 1e3)


def stage_text(progress: Progress, lang: Lang = "en") -> str:
    """The stage in words; one that is not known here as it is."""
    return _WORDS.get(progress.stage, (progress.stage, progress.stage))[1 if lang == "zh" else 0]


def unit_text(progress: Progress, lang: Lang = "en") -> str:
    """What is counted, in words; one that is not known here as it is."""
    return _WORDS.get(progress.unit, (progress.unit, progress.unit))[1 if lang == "zh" else 0]


def progress_text(progress: Progress, elapsed_s: float, lang: Lang = "en") -> str:
    """'comparing: 1,200 of 3,000 tensors (400/s, 5 s left)', or with bytes where those are known:
    'comparing: 3.1 of 12.4 GB, 1.4 GB/s, 0:06 left'. elapsed_s: since the stage began."""
    at = 1 if lang == "zh" else 0
    stage, unit = stage_text(progress, lang), unit_text(progress, lang)
    if progress.total_bytes is not None:
        return f"{stage}{(': ', '：')[at]}{bytes_text(progress, elapsed_s, lang)}"
    is_bytes = progress.unit == "bytes"
    done = _amount(progress.done, is_bytes)
    amount = done if is_bytes else f"{done} {unit}"
    if progress.total:
        total = _amount(progress.total, is_bytes)
        amount = (f"{done} of {total}", f"{done} / {total}")[at] + ("" if is_bytes else f" {unit}")
    rate = progress.done / elapsed_s if elapsed_s > 0 else 0.0
    facts = [f"{_amount(rate, is_bytes)}/s"] if rate else []
    if rate and progress.total and elapsed_s >= SOON_S:
        left_s = max(progress.total - progress.done, 0) / rate
        facts.append((f"{left_s:,.0f} s left", f"剩余 {left_s:,.0f} 秒")[at])
    told = f"{stage}{(': ', '：')[at]}{amount}" + (f" ({', '.join(facts)})" if facts else "")
    return f"{told}{('; ', '；')[at]}{progress.note}" if progress.note else told


def _amount(value: float, is_bytes: bool) -> str:
    return f"{value / 1e6:,.1f} MB" if is_bytes else f"{value:,.0f}"

"""The few figures by which rounds are compared: where each stands in an area's report, what is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from npulse.core.checkup.measured import looked_for_leaks
from npulse.core.figures import number, time_text
from npulse.core.findings import Report, Verdict

State = Literal["better", "worse", "same", "unknown", "first", ""]
"""Against the last round before that has the figure. first: there is none. "": the round has none."""
Better = Literal["higher", "lower"]

UNWELL_CARD = "performance.device"
"""The rule by which the performance area says that its figures were measured on a card that is not well."""
LEAST_SHARE = 0.02
"""Times and rates that differ by less are the same: nobody saw how much single runs differ by themselves."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of one round. value: None where it could not be told; `why` says why not.

    is_whole: False where the area could not read or judge all, so that a count is a lower bound. of: what was
    measured (an output's name, a profile): figures of two things are not compared. is_doubtful: measured on a
    card that was not well, so that the card may be all that changed.
    """

    value: float | None
    is_whole: bool = True
    of: str = ""
    why: str = ""
    is_doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """heading: (en, zh). unit: "" for counts and cosines. take: the figure of an area's report, None where
    the report is about something else. is_count: every step of it counts."""

    id: str
    area: str
    heading: tuple[str, str]
    better: Better
    unit: str
    is_count: bool
    take: Callable[[Report], Cell | None]

    def text(self, cell: Cell) -> str:
        """The figure for people, "?" where it is not known."""
        if cell.value is None:
            return "?"
        if self.unit == "us":
            return time_text(cell.value * 1000)
        text = number(int(cell.value) if self.is_count else cell.value)
        return f"{text}+" if self.is_count and not cell.is_whole else text


def state_of(figure: Figure, before: Cell | None, after: Cell) -> State:
    """Better or worse, only where both are known and are of the same thing.

    A count that went down is better only if the later round was read whole; one that went up is worse only
    if the earlier one was.
    """
    if before is None:
        return "first"
    old, new = before.value, after.value
    if before.is_doubtful or after.is_doubtful:
        return "unknown"
    if old is None or new is None or before.of != after.of or math.isnan(old) or math.isnan(new):
        return "unknown"
    if _is_same(figure, old, new):
        is_sure = not figure.is_count or (before.is_whole and after.is_whole)
        return "same" if is_sure else "unknown"
    is_down = new < old
    if figure.is_count and not (after.is_whole if is_down else before.is_whole):
        return "unknown"
    return "better" if is_down == (figure.better == "lower") else "worse"


def _is_same(figure: Figure, old: float, new: float) -> bool:
    if figure.is_count:
        return old == new
    if figure.unit:
        return abs(new - old) <= LEAST_SHARE * max(abs(old), abs(new))
    return number(old) == number(new)


# ---- where the figures stand ----

_CERTAIN: frozenset[Verdict] = frozenset(("pass", "warn", "fail"))


def _count(
    name: str, when: Callable[[Report], bool] = lambda report: True
) -> Callable[[Report], Cell | None]:
    """A count of the report; 0 of something that nobody could judge is not known."""

    def take(report: Report) -> Cell | None:
        n = report.counts.get(name)
        if n is None or not when(report):
            return None
        is_whole = not report.problems and report.verdict in _CERTAIN
        if not n and not is_whole:
            return Cell(None, False, why=report.verdict)
        return Cell(float(n), is_whole)

    return take


def _measured(name: str, of: Callable[[Report], str]) -> Callable[[Report], Cell | None]:
    """A figure of the report's summary; None where it has none."""

    def take(report: Report) -> Cell | None:
        value = report.summary.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        return Cell(float(value), of=of(report), is_doubtful=_is_doubtful(report))

    return take


def _is_doubtful(report: Report) -> bool:
    return any(finding.rule == UNWELL_CARD for finding in report.findings)


def _cosine(report: Report) -> Cell | None:
    """Of the last output; where that holds NaN or Inf it has no cosine, which is no missing figure."""
    if report.golden is None or "last_output" not in report.summary:
        return None
    of = str(report.summary["last_output"])
    value = report.summary.get("last_output_cosine")
    if isinstance(value, int | float):
        return Cell(float(value), of=of)
    return Cell(None, of=of, why=str(report.summary.get("last_output_reason", "")))


def _worst(report: Report) -> Cell | None:
    """The lowest cosine of all findings; None where none is about a cosine."""
    told = [finding.figures.get("cosine") for finding in report.findings]
    values = [float(one) for one in told if isinstance(one, int | float) and not math.isnan(one)]
    return Cell(min(values)) if values and report.golden is not None else None


def _unwell(report: Report) -> Cell | None:
    """Chips of which an error or a warning is told; of devices that nobody could ask none are known."""
    if report.summary.get("devices") is None:
        return Cell(None, False, why=str(report.summary.get("state", "")))
    loud = (finding.figures for finding in report.findings if finding.severity != "note")
    chips = {(str(figures.get("npu")), str(figures.get("chip"))) for figures in loud if "npu" in figures}
    is_whole = not report.problems and report.verdict in _CERTAIN
    return Cell(None, False, why=report.verdict) if not chips and not is_whole else Cell(len(chips), is_whole)


def _is_compared(report: Report) -> bool:
    return report.golden is not None


def _rank(report: Report) -> str:
    return str(report.summary.get("rank", ""))


def _work(report: Report) -> str:
    """A wall time is of so many kernels of one rank: another amount of work takes another time."""
    return f"{_rank(report)} {report.summary.get('wall_source')} {report.counts.get('used_rows')}"


FIGURES: tuple[Figure, ...] = (
    Figure("cosine", "precision", ("last cosine", "末输出余弦"), "higher", "", False, _cosine),
    Figure("worst_cosine", "precision", ("worst cosine", "最差余弦"), "higher", "", False, _worst),
    Figure(
        *("n_precision_origins", "precision", ("prec. origins", "精度源头"), "lower", "", True),
        _count("origin", _is_compared),
    ),
    Figure(
        *("n_overflow_origins", "overflow", ("overflows", "溢出源头"), "lower", "", True), _count("origin")
    ),
    Figure("n_memory_sites", "memory", ("mem. sites", "内存位置"), "lower", "", True, _count("sites")),
    Figure(
        *("leaked_bytes", "memory", ("leaked B", "泄漏字节"), "lower", "", True),
        _count("leaked_bytes", looked_for_leaks),
    ),
    Figure(
        *("first_token_ms", "performance", ("1st token ms", "首 token ms"), "lower", "ms", False),
        _measured("first_token_ms", _rank),
    ),
    Figure(
        *("tokens_per_s", "performance", ("tokens/s", "token/s"), "higher", "1/s", False),
        _measured("tokens_per_s", _rank),
    ),
    Figure(
        "step_ms", "performance", ("step ms", "单步 ms"), "lower", "ms", False, _measured("step_ms", _rank)
    ),
    Figure("wall_us", "performance", ("wall", "总时长"), "lower", "us", False, _measured("wall_us", _work)),
    Figure("n_unwell", "device", ("unwell cards", "异常卡"), "lower", "", True, _unwell),
)
BY_AREA: Mapping[str, tuple[Figure, ...]] = {
    area: tuple(one for one in FIGURES if one.area == area)
    for area in dict.fromkeys(one.area for one in FIGURES)
}
BY_ID: Mapping[str, Figure] = {one.id: one for one in FIGURES}


def cells_of(area: str, report: Report) -> dict[str, Cell]:
    """The figures that a report of this area has."""
    cells = {one.id: one.take(report) for one in BY_AREA.get(area, ())}
    return {name: cell for name, cell in cells.items() if cell is not None}

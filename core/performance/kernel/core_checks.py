"""What the cores of a kernel tell: clock, busy units, equal work, tail, scalar, fetches, conflicts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.opprof.records import Floats, Integers

from ..advice import Words
from .balance import Uneven, tail_us, uneven_of
from .case import KIND_NAMES, SIDES, Case, Saying, amount, joined, kinds_in, listed, mean_of, percent, text
from .cores import by_row, kind_of, metric_by_core
from .roofline import moved_kb

_UNITS = {"cube": ("cube",), "vector": ("vector",), "aicore": ("cube", "vector")}
_UNIT_NAMES = {"cube": "Cube", "vector": "Vector"}
_SCALAR_PARTS = (
    *("scalar_single", "scalar_dual", "scalar_mte1_stall", "scalar_mte2_stall", "scalar_mte3_stall"),
    *("scalar_cube_stall", "scalar_vector_stall", "scalar_stall_by_ub", "scalar_wait_ib", "scalar_wait"),
)
_CONFLICT_PARTS = ("bankgroup", "bank", "resc", "mte", "stu", "ldu", "sfu")
_MIN_SHARE = 0.001


def check_frequency(case: Case) -> Iterator[Saying]:
    """Current at or below 95 % of rated."""
    current, rated = case.kernel.frequency_mhz, case.kernel.rated_mhz
    if not current or not rated or current <= 0:
        return
    # as msOpProf compares; one part in a billion: 95 % of a clock has no exact float
    if current > rated * (1 - case.criteria.frequency_drop_percent / 100) * (1 + 1e-9):
        return
    drop = 1 - current / rated
    yield Saying(
        "frequency",
        "warning",
        text("frequency", current=f"{current:g}", rated=f"{rated:g}", drop=percent(drop)),
        text("frequency-next"),
        {"frequency_mhz": current, "rated_mhz": rated, "drop_percent": drop * 100},
        case.duration_us * drop,
        "OpBasicInfo",
    )


def check_use(case: Case) -> Iterator[Saying]:
    """Cube or vector busy below 20 % of the core's time."""
    limit = case.criteria.kernel_use_percent
    for kind in kinds_in(case):
        rows = case.cores.rows(kind)
        units = [
            unit for unit in _UNITS[kind] if mean_of(_rows(case.cores.ratios.get(unit), rows)) is not None
        ]
        if kind == "aicore" and len(units) > 1:  # one core with both units: the one that this kernel uses
            units = [max(units, key=lambda unit: mean_of(case.cores.ratios[unit][rows]) or 0.0)]
        for unit in units:
            values = _own(case.cores.ratios[unit][rows])
            n = int((values * 100 < limit).sum())
            if not n:
                continue
            message = text(
                "use",
                kind=KIND_NAMES[kind],
                unit=_UNIT_NAMES[unit],
                mean=percent(float(values.mean())),
                low=percent(float(values.min())),
                high=percent(float(values.max())),
                limit=f"{limit:g}",
                n=n,
                cores=len(values),
            )
            figures = {"busy_percent": float(values.mean()) * 100, "n_cores": len(values), "n_cores_below": n}
            yield Saying("use", "note", message, text("use-next"), figures, 0.0, "ArithmeticUtilization")


@dataclass(frozen=True, slots=True)
class _Loads:
    """One quantity of all cores of a kind, from the occupancy block or from the tables."""

    labels: list[str]
    values: Floats


def check_balance(case: Case) -> Iterator[Saying]:
    """Cores that are off in cycles, in data or in cache hits."""
    spread = case.criteria.kernel_spread_percent
    for kind in kinds_in(case) or ["cube", "vector"]:
        cycles = _cycles(case, kind)
        if found := uneven_of(cycles.values, spread):
            cost = case.duration_us * (1 - found.mean / found.high) if found.high > 0 else 0.0
            yield _uneven(case, "cycles", kind, cycles, found, cost)
        data = _data(case, kind)
        if found := uneven_of(data.values, spread):
            yield _uneven(case, "data", kind, data, found, 0.0)
        hits = _hits(case, kind)
        if found := uneven_of(hits.values, spread, is_low_bad=True, is_percent=True):
            yield _uneven(case, "hits", kind, hits, found, 0.0)


def _uneven(case: Case, what: str, kind: str, loads: _Loads, found: Uneven, cost_us: float) -> Saying:
    worst = int(found.rows[0])
    scale = 1 / 1024 if what == "data" else 1.0
    message = text(
        f"uneven-{what}",
        n=len(found.rows),
        cores=int((~np.isnan(loads.values)).sum()),
        kind=KIND_NAMES[kind],
        worst=loads.labels[worst],
        value=amount(float(loads.values[worst]) * scale),
        mean=amount(found.mean * scale),
        low=amount(found.low * scale),
        high=amount(found.high * scale),
        spread=f"{found.spread_percent:.1f}",
    )
    unit = {"cycles": "cycles", "data": "bytes", "hits": "percent"}[what]
    figures = {
        f"worst_{unit}": float(loads.values[worst]),
        f"mean_{unit}": found.mean,
        "score": float(found.scores[0]),
        f"{what}_spread_percent": found.spread_percent,
        "cores_off": [loads.labels[row] for row in found.rows.tolist()][:64],
    }
    part = {"cycles": "PipeUtilization", "data": "Memory", "hits": "L2Cache"}[what]
    return Saying("uneven", "warning", message, text(f"uneven-{what}-next"), figures, cost_us, part)


def cycles_of(case: Case, kind: str) -> Floats:
    """Cycles of all cores of a kind, NaN where not told."""
    return _cycles(case, kind).values


def _cycles(case: Case, kind: str) -> _Loads:
    return _told(case, kind, "cycles") or _of_tables(case, kind, case.cores.cycles)


def _data(case: Case, kind: str) -> _Loads:
    return _told(case, kind, "moved_bytes") or _of_tables(
        case, kind, moved_kb(case.kernel, case.cores) * 1024
    )


def _hits(case: Case, kind: str) -> _Loads:
    rates = by_row(case.cores, metric_by_core(case.kernel, f"{SIDES[kind]}_total_hit_rate"))
    return _told(case, kind, "l2_hit_percent") or _of_tables(case, kind, rates)


def _told(case: Case, kind: str, field: str) -> _Loads | None:
    """As the tool says it of each core; None where it says nothing of this kind."""
    loads = [load for load in case.kernel.loads if load.kind == kind]
    values = [getattr(load, field) for load in loads]
    labels = [f"core{load.core} {kind}{load.subcore}" for load in loads]
    numbers = np.array([math.nan if value is None else float(value) for value in values], np.float64)
    return _Loads(labels, numbers) if loads else None


def _of_tables(case: Case, kind: str, of_all: Floats) -> _Loads:
    rows = case.cores.rows(kind)
    return _Loads([case.cores.label(row) for row in rows.tolist()], of_all[rows])


def check_tail(case: Case) -> Iterator[Saying]:
    """The longest block against the one in the middle."""
    if case.duration_us <= 0:
        return
    for kind in kinds_in(case):
        rows = case.cores.rows(kind)
        times = case.cores.time_us[rows]
        tail = tail_us(times)
        if tail is None or tail / case.duration_us * 100 < case.criteria.serial_tail_percent:
            continue
        worst = int(np.nanargmax(times))
        message = text(
            "tail",
            kind=KIND_NAMES[kind],
            tail=amount(tail),
            percent=percent(tail / case.duration_us),
            worst=case.cores.label(int(rows[worst])),
            longest=amount(float(times[worst])),
            median=amount(float(np.nanmedian(times))),
        )
        figures = {"tail_us": tail, "tail_percent": tail / case.duration_us * 100}
        yield Saying("tail", "warning", message, text("tail-next"), figures, tail, "PipeUtilization")


def check_scalar(case: Case) -> Iterator[Saying]:
    """Scalar takes half of the time or more, and is not what the kernel is bound by already."""
    for bound in case.bounds:
        ratio = bound.ratios.get("scalar", 0.0)
        is_bound = bound.basis == "ratio" and bound.pipe == "scalar"
        if is_bound or ratio * 100 < case.criteria.kernel_scalar_percent:
            continue
        parts = scalar_parts(case, bound.kind)
        message = joined(
            "scalar",
            {"parts": joined("scalar-parts", {"parts": listed(parts[:3])}) if parts else ("", "")},
            kind=KIND_NAMES[bound.kind],
            ratio=percent(ratio),
        )
        figures = {"scalar_percent": ratio * 100}
        cost = case.mean_time_us(bound.kind) * ratio
        yield Saying(
            "scalar", "warning", message, text("bound-scalar-next"), figures, cost, "PipeUtilization", parts
        )


def scalar_parts(case: Case, kind: str) -> list[str]:
    """'scalar_wait_ib 1.3 us', the largest first: means over the cores."""
    rows = case.cores.rows(kind)
    found = []
    for part in _SCALAR_PARTS:
        values = by_row(case.cores, metric_by_core(case.kernel, f"{SIDES[kind]}_{part}_time"))[rows]
        mean = mean_of(values)
        if mean:
            found.append((mean, f"{part} {amount(mean)} us"))
    return [line for _, line in sorted(found, key=lambda item: -item[0])]


def check_icache(case: Case) -> Iterator[Saying]:
    """Instruction fetches that miss."""
    for kind in kinds_in(case):
        rate = _miss_rate(case, kind)
        if rate is None or rate * 100 < case.criteria.kernel_icache_percent:
            continue
        rows = case.cores.rows(kind)
        wait = mean_of(
            by_row(case.cores, metric_by_core(case.kernel, f"{SIDES[kind]}_scalar_wait_ib_time"))[rows]
        )
        message = joined(
            "icache",
            {"wait": text("icache-wait", time=amount(wait)) if wait else ("", "")},
            kind=KIND_NAMES[kind],
            rate=percent(rate),
        )
        figures = {"miss_percent": rate * 100, "wait_us": wait}
        yield Saying(
            "icache", "warning", message, text("icache-next"), figures, wait or 0.0, "PipeUtilization"
        )


def _miss_rate(case: Case, kind: str) -> float | None:
    rows = case.cores.rows(kind)
    rate = mean_of(by_row(case.cores, metric_by_core(case.kernel, f"{SIDES[kind]}_icache_miss_rate"))[rows])
    if rate is not None or kind != kinds_in(case)[0]:
        return rate
    told = [use for use in case.kernel.caches if use.name.lower().startswith("icache")]
    hit = sum(use.hit or 0 for use in told)
    miss = sum(use.miss or 0 for use in told)
    return miss / (hit + miss) if hit + miss else None


def check_conflict(case: Case) -> Iterator[Saying]:
    """Conflicts of vector instructions as a share of the core's time."""
    for kind in kinds_in(case):
        rows = case.cores.rows(kind)
        ratios = _conflicts(case, kind, rows)
        parts = {name: ratio for name, ratio in ratios.items() if name != "total" and ratio >= _MIN_SHARE}
        total = ratios.get("total", sum(parts.values()))
        if not total or total * 100 < case.criteria.kernel_conflict_percent:
            continue
        told: Words = ("total", "合计")
        if parts:
            told = listed([f"{n} {percent(ratio)}%" for n, ratio in sorted(parts.items(), key=_largest)])
        message = joined("conflict", {"parts": told}, kind=KIND_NAMES[kind], ratio=percent(total))
        figures = {"conflict_percent": total * 100} | {
            f"{name}_percent": r * 100 for name, r in parts.items()
        }
        cost = case.mean_time_us(kind) * total
        yield Saying(
            "conflict", "warning", message, text("conflict-next"), figures, cost, "ResourceConflictRatio"
        )


def _largest(item: tuple[str, float]) -> float:
    return -item[1]


def _conflicts(case: Case, kind: str, rows: Integers) -> dict[str, float]:
    found = {}
    for part in ("total", *_CONFLICT_PARTS):
        for name in (f"{SIDES[kind]}_vec_{part}_cflt_ratio", f"{SIDES[kind]}_vec_{part}_cflt"):
            mean = mean_of(by_row(case.cores, metric_by_core(case.kernel, name))[rows])
            if mean is not None:
                found[part] = mean
                break
    if found or kind == "cube":
        return found
    blocked = [
        use
        for use in case.kernel.computes
        if use.name == "Vector All Block" and use.value is not None and kind_of(use.core) == kind
    ]
    cycles = float(np.nansum(case.cores.cycles[rows]))
    return {"total": sum(use.value or 0.0 for use in blocked) / cycles} if blocked and cycles else {}


def _rows(values: Floats | None, rows: Integers) -> Floats:
    return np.zeros(0) if values is None else values[rows]


def _own(values: Floats) -> Floats:
    return values[~np.isnan(values)]

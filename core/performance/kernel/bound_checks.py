"""What a kernel is bound by: busiest pipe, roofline, bandwidths, number of cores."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from npulse.core.findings import Figures, Severity
from npulse.core.formats.opprof.records import NO_BLOCK, Floats
from npulse.core.text import columns_of, safe_text

from ..advice import Words
from .bounds import Bound
from .case import (
    KIND_NAMES,
    PIPE_NAMES,
    Case,
    Saying,
    amount,
    joined,
    listed,
    mean_of,
    percent,
    text,
    weighty_kinds,
)
from .core_checks import scalar_parts
from .cores import by_row, metric_by_core
from .drawing import roofline_legend
from .roofline import moved_kb, nearest_first

_WELL_USED = ("cube", "vector")
_LEAST_ACTIVE = 0.1
_LEAST_OUTSIDE_US = 5.0  # a launch takes some microseconds, whatever the kernel does
_SURE_CORES = 8  # chips that msOpProf knows have at least as many
_WAYS = (
    ("cube", "mte2", "gm_to_l1", (2,)),
    ("cube", "mte3", "l1_to_gm", (3,)),
    ("cube", "fixpipe", "l0c_to_gm", (10,)),
    ("vector", "mte2", "gm_to_ub", (12, 16)),
    ("vector", "mte3", "ub_to_gm", (13, 17)),
)
"""Kind of core, pipe, the way whose use is told, its numbers in the memory map (one a core of a block)."""


def check_bound(case: Case) -> Iterator[Saying]:
    """The busiest pipe of each kind of core that the kernel's time depends on."""
    kinds = weighty_kinds(case)
    for bound in case.bounds:
        if bound.kind not in kinds:
            continue
        limit = percent(case.criteria.bound_ratio)
        key = {"ratio": "bound", "advisor": "bound-advisor", "none": "bound-latency"}[bound.basis]
        message = joined(
            key,
            {"others": _others(bound)},
            kind=KIND_NAMES[bound.kind],
            pipe=PIPE_NAMES[bound.pipe],
            ratio=percent(bound.ratio),
            cores=bound.n_cores,
            limit=limit.removesuffix(".0"),
            n=bound.n_busy,
            sum=percent(sum(bound.ratios.get(pipe, 0.0) for pipe in ("vector", "mte2", "mte3"))),
        )
        is_well_used = bound.basis != "none" and bound.pipe in _WELL_USED
        severity: Severity = "note" if is_well_used or case.is_short else "warning"
        time_us = case.mean_time_us(bound.kind) or case.duration_us
        share = 0.0 if is_well_used else 1 - bound.ratio if bound.basis == "none" else bound.ratio
        figures = {
            "bound": bound.name,
            "basis": bound.basis,
            "bound_ratio": bound.ratio,
            "ratios": dict(bound.ratios),
        }
        told = scalar_parts(case, bound.kind) if bound.pipe == "scalar" else ()
        cost_us = time_us * min(max(share, 0.0), 1.0)
        next_step = text(f"bound-{bound.name}-next")
        yield Saying("bound", severity, message, next_step, figures, cost_us, "PipeUtilization", told)


def _others(bound: Bound) -> Words:
    others = sorted(
        (item for item in bound.ratios.items() if item[0] != bound.pipe), key=lambda item: -item[1]
    )
    return listed([f"{PIPE_NAMES[pipe]} {percent(ratio)}%" for pipe, ratio in others] or ["-"])


def check_roofline(case: Case) -> Iterator[Saying]:
    """Compute, memory or latency bound, by the point that comes nearest to its roof."""
    roof = case.roof
    if roof is None:
        return
    best, point = roof.best, roof.best.point
    name = safe_text(f"{point.group} {point.name}".strip(), 80)
    pipe = PIPE_NAMES.get(roof.pipe, "")
    shown = text("roof-pipe", pipe=pipe, ratio=percent(roof.pipe_ratio)) if pipe else ("", "")
    message = joined(
        "roof",
        {"pipe": shown},
        verdict=roof.name,
        point=name,
        x=amount(point.x),
        y=amount(point.y),
        roof=amount(best.attainable_tops),
        ratio=percent(best.ratio),
        ridge=amount(best.ridge),
    )
    if roof.kind == "latency":
        key = "roof-pipeline-next" if roof.cause == "pipeline" else f"roof-latency-{roof.cause}-next"
    else:
        key = f"roof-{roof.kind}-next"
    next_step = text(key, point=name, pipe=pipe)
    severity: Severity = "note" if roof.kind == "compute" or case.is_short else "warning"
    told = columns_of(roofline_legend(nearest_first(case.points)), left=(0, 1))
    by_tool = next((said.text for said in case.kernel.advice if said.part == "roofline"), None)
    figures = {
        "roof": roof.name,
        "roof_by_tool": by_tool,
        "roof_ratio": best.ratio,
        "intensity_ops_per_byte": point.x,
        "achieved_tops": point.y,
        "attainable_tops": best.attainable_tops,
        "pipe": roof.pipe,
        "pipe_ratio": None if math.isnan(roof.pipe_ratio) else roof.pipe_ratio,
        "is_computed": not case.kernel.roofline,
    }
    cost = case.duration_us * (1 - best.ratio)
    yield Saying("roofline", severity, message, next_step, figures, cost, "visualize", told)


def check_pipe_speed(case: Case) -> Iterator[Saying]:
    """Share of the bandwidth over the share of time in which the pipe is busy."""
    limit = case.criteria.kernel_active_ratio
    for kind, pipe, way, numbers in _WAYS:
        rows = case.cores.rows(kind)
        active = case.cores.ratios.get(pipe)
        used = way_use(case, kind, way, numbers)
        if active is None or used is None or not len(rows):
            continue
        with np.errstate(all="ignore"):
            speed = used[rows] / 100 / active[rows]
        is_told = np.isfinite(speed) & (active[rows] > 0)
        mean_active = mean_of(active[rows])
        if not is_told.any() or mean_active is None or mean_active < _LEAST_ACTIVE:
            continue
        own = speed[is_told]
        mean = float(own.mean())
        if mean >= limit:
            continue
        message = text(
            "pipe-slow",
            kind=KIND_NAMES[kind],
            pipe=PIPE_NAMES[pipe],
            active=percent(mean_active),
            ratio=percent(mean),
            path=_way_name(way),
            limit=f"{limit * 100:g}",
            n=int((own < limit).sum()),
            cores=len(own),
        )
        figures = {"pipe": pipe, "speed_ratio": mean, "active_percent": mean_active * 100}
        cost = (case.mean_time_us(kind) or case.duration_us) * mean_active * (1 - mean)
        yield Saying("pipe-slow", "warning", message, text("pipe-slow-next"), figures, cost, "Memory")


def way_use(case: Case, kind: str, way: str, numbers: tuple[int, ...]) -> Floats | None:
    """Percent of the bandwidth of a way that each core uses; None where nothing tells it."""
    values = metric_by_core(case.kernel, f"{way}_bw_usage_rate")
    if values:
        return by_row(case.cores, values)
    told = {}
    for path in case.kernel.paths:
        if path.number in numbers and path.peak_percent is not None:
            told[path.block_id, f"{kind}{numbers.index(path.number)}"] = path.peak_percent
    return by_row(case.cores, told) if told else None


def _way_name(way: str) -> str:
    return way.upper().replace("_TO_", "→")


def check_bandwidth(case: Case) -> Iterator[Saying]:
    """Main memory against the chip's peak, and ways that are used up."""
    limit = case.criteria.kernel_bandwidth_percent
    rate = gm_gb_per_s(case)
    peak = case.chip.memory_gb_per_s if case.chip is not None else None
    if rate is not None and peak and rate / peak * 100 >= limit:
        chip = case.chip.name if case.chip is not None else ""
        message = text("gm", rate=amount(rate), percent=percent(rate / peak), peak=amount(peak), chip=chip)
        figures = {"bandwidth_gb_per_s": rate, "bandwidth_percent": rate / peak * 100}
        yield Saying("bandwidth", "note", message, text("bandwidth-next"), figures, 0.0, "Memory")
    for kind, _, way, numbers in _WAYS:
        used = way_use(case, kind, way, numbers)
        rows = case.cores.rows(kind)
        mean = mean_of(used[rows]) if used is not None else None
        if mean is None or mean < limit:
            continue
        message = text(
            "path", kind=KIND_NAMES[kind], path=_way_name(way), percent=f"{mean:.1f}", cores=len(rows)
        )
        used_by: Figures = {"way": way, "used_percent": mean}
        yield Saying("bandwidth", "note", message, text("bandwidth-next"), used_by, 0.0, "Memory")


def gm_gb_per_s(case: Case) -> float | None:
    """Data of main memory over the time of the kernel; None where one is not told. 1 KB is 1,024 bytes."""
    moved = moved_kb(case.kernel, case.cores)
    told = [load.moved_bytes for load in case.kernel.loads if load.moved_bytes is not None]
    if case.duration_us <= 0 or (not len(moved) or np.isnan(moved).all()) and not told:
        return None
    if len(moved) and not np.isnan(moved).all():
        return float(np.nansum(moved)) * 1024 / case.duration_us / 1e3
    return sum(told) / case.duration_us / 1e3


def l2_hits(case: Case) -> tuple[float, int | None, int | None] | None:
    """(hit rate in percent, hits, all accesses) over all cores; None where not told."""
    hit = total = 0.0
    for side in ("aic", "aiv"):
        for name in ("write_cache", "r0_read_cache", "r1_read_cache"):
            hits = metric_by_core(case.kernel, f"{side}_{name}_hit")
            hit += sum(hits.values())
            total += sum(hits.values())
            total += sum(metric_by_core(case.kernel, f"{side}_{name}_miss_allocate").values())
    for side in ("aic", "aiv"):
        for name in ("read_close", "read_far", "write_close", "write_far"):
            for part in ("hit", "miss", "victim"):
                count = sum(metric_by_core(case.kernel, f"{side}_{name}_{part}").values())
                hit += count if part == "hit" else 0
                total += count
    if total:
        return hit / total * 100, int(hit), int(total)
    rates = list(metric_by_core(case.kernel, "aic_l2_cache_hit_rate").values())
    if rates:
        return sum(rates) / len(rates), None, None
    told = [use for use in case.kernel.caches if use.name == "L2 Cache Total"]
    hits_told, misses = sum(use.hit or 0 for use in told), sum(use.miss or 0 for use in told)
    if hits_told + misses:
        return hits_told / (hits_told + misses) * 100, hits_told, hits_told + misses
    return None


def check_l2(case: Case) -> Iterator[Saying]:
    """Hit rate of the L2 cache over all cores."""
    found = l2_hits(case)
    if found is None or found[0] >= case.criteria.kernel_l2_hit_percent:
        return
    rate, hit, total = found
    if hit is None or total is None:
        message = text("l2-rate", rate=f"{rate:.1f}")
    else:
        message = text("l2", rate=f"{rate:.1f}", hit=amount(hit), total=amount(total))
    figures = {"l2_hit_percent": rate, "n_hits": hit, "n_accesses": total}
    yield Saying("l2", "note", message, text("l2-next"), figures, 0.0, "L2Cache")


def cores_used(case: Case) -> tuple[str, int, float] | None:
    """(kind, cores of the chip, used share of their time); None where one of them is not known."""
    chip, dim = case.chip, case.kernel.block_dim
    if chip is None or not dim:
        return None
    kind = "vector" if case.kernel.op_type.lower() == "vector" else "cube"
    cores = chip.vector_cores if kind == "vector" else chip.cube_cores
    if case.kernel.op_type.lower() == "aicore" or (kind == "vector" and cores == 0):
        kind, cores = "aicore", chip.cube_cores
    if not cores:
        return None
    return kind, cores, dim / (math.ceil(dim / cores) * cores)


def check_outside(case: Case) -> Iterator[Saying]:
    """Time of the task in which no core works; of kernels whose blocks all run at once."""
    times, dim = case.cores.time_us, case.kernel.block_dim
    if case.duration_us <= 0 or not dim or not len(times) or np.isnan(times).all():
        return
    found = cores_used(case)
    if dim > (_SURE_CORES if found is None else found[1]):  # several rounds, or nobody can tell
        return
    longest = _longest_us(case)
    outside = case.duration_us - longest
    share = outside / case.duration_us * 100
    if share < case.criteria.kernel_outside_percent or outside < _LEAST_OUTSIDE_US:
        return
    message = text(
        "outside",
        outside=amount(outside),
        duration=amount(case.duration_us),
        percent=f"{share:.1f}",
        longest=amount(longest),
    )
    severity: Severity = "warning" if share >= 50 else "note"
    figures = {"outside_us": outside, "outside_percent": share, "longest_core_us": longest}
    yield Saying("outside", severity, message, text("outside-next"), figures, outside, "PipeUtilization")


def _longest_us(case: Case) -> float:
    """Of any core. The tool divides cycles by the rated clock; a card that ran below it took longer."""
    longest = float(np.nanmax(case.cores.time_us))
    clock = case.kernel.frequency_mhz
    is_one_core = case.cores.blocks != NO_BLOCK  # else the cycles are those of all cores together
    cycles = case.cores.cycles[is_one_core]
    if clock and clock > 0 and len(cycles) and not np.isnan(cycles).all():
        longest = max(longest, float(np.nanmax(cycles)) / clock)
    return longest


def check_few_cores(case: Case) -> Iterator[Saying]:
    """Blocks against the cores of the chip."""
    found = cores_used(case)
    if found is None or found[2] * 100 >= case.criteria.core_utilization_percent or case.chip is None:
        return
    kind, cores, used = found
    message = text(
        "few-cores",
        dim=case.kernel.block_dim,
        cores=cores,
        kind=KIND_NAMES[kind],
        chip=case.chip.name,
        percent=percent(used),
    )
    figures = {"block_dim": case.kernel.block_dim, "n_cores": cores, "used_percent": used * 100}
    cost = case.duration_us * (1 - used)
    severity: Severity = "note" if case.is_short else "warning"
    yield Saying("few-cores", severity, message, text("few-cores-next"), figures, cost, "OpBasicInfo")

"""What can be said of one kernel: every check over it, and the row of it in a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.opprof.records import KernelProfile
from npulse.core.text import columns_of, safe_text

from ..advice import Advice
from ..chips import Chip
from ..criteria import Criteria
from .bound_checks import (
    check_bandwidth,
    check_bound,
    check_few_cores,
    check_l2,
    check_outside,
    check_pipe_speed,
    check_roofline,
    gm_gb_per_s,
    l2_hits,
)
from .case import Case, Saying, advice, amount, case_of, joined, kinds_in, listed, percent, text
from .core_checks import (
    check_balance,
    check_conflict,
    check_frequency,
    check_icache,
    check_scalar,
    check_tail,
    check_use,
    cycles_of,
)
from .hot_lines import hot_lines, waits_of

_SHOWN_LINES = 5
_SHOWN_TEXTS = 20


def advice_of_kernel(
    kernel: KernelProfile, criteria: Criteria | None = None, chip: Chip | None = None
) -> Iterator[Advice]:
    """Everything about one kernel, in the order of the checks.

    chip: looked up by the name in the files where it is None; without one nothing is said of peaks and cores.
    What a kernel's files do not tell is not judged, and that is said.
    """
    case = case_of(kernel, criteria or Criteria(), chip)
    for check in _CHECKS:
        for said in check(case):
            yield advice(case, said)


@dataclass(frozen=True, slots=True)
class KernelSummary:
    """One row of a table of kernels. None: not told.

    bound: "cube", "vector", "scalar", "mte1", "mte2", "mte3", "fixpipe", "latency" of the cores that work the
    longest. roof: as "latency bound:pipeline caused". pipes: "cube.mte2" (kind of core, pipe) -> mean ratio.
    spread_percent: lowest to highest cycles over their mean, of the kind of core with the widest. tool: how
    many sentences of advice the tool itself has.
    """

    name: str
    folder: str
    index: int | None
    layout: str
    op_type: str
    soc: str
    device: int | None
    duration_us: float | None
    block_dim: int | None
    mix_block_dim: int | None
    n_cores: int
    frequency_mhz: float | None
    rated_mhz: float | None
    bound: str | None
    roof: str | None
    roof_ratio: float | None
    pipes: Mapping[str, float] = field(default_factory=dict)
    spread_percent: float | None = None
    l2_hit_percent: float | None = None
    gm_gb_per_s: float | None = None
    gm_percent: float | None = None
    tool: int = 0
    n_problems: int = 0
    is_finished: bool = True


def summary_of(
    kernel: KernelProfile, criteria: Criteria | None = None, chip: Chip | None = None
) -> KernelSummary:
    """The row of one kernel."""
    case = case_of(kernel, criteria or Criteria(), chip)
    leading, roof, hits, rate = case.leading, case.roof, l2_hits(case), gm_gb_per_s(case)
    peak = case.chip.memory_gb_per_s if case.chip is not None else None
    return KernelSummary(
        name=kernel.name,
        folder=kernel.folder,
        index=kernel.index,
        layout=kernel.layout,
        op_type=kernel.op_type,
        soc=kernel.soc,
        device=kernel.device,
        duration_us=kernel.duration_us,
        block_dim=kernel.block_dim,
        mix_block_dim=kernel.mix_block_dim,
        n_cores=len(case.cores) or (len(kernel.lines.cores) if kernel.lines is not None else 0),
        frequency_mhz=kernel.frequency_mhz,
        rated_mhz=kernel.rated_mhz,
        bound=None if leading is None else leading.name,
        roof=None if roof is None else roof.name,
        roof_ratio=None if roof is None else roof.best.ratio,
        pipes={
            f"{bound.kind}.{pipe}": ratio for bound in case.bounds for pipe, ratio in bound.ratios.items()
        },
        spread_percent=_spread(case),
        l2_hit_percent=None if hits is None else hits[0],
        gm_gb_per_s=rate,
        gm_percent=rate / peak * 100 if rate is not None and peak else None,
        tool=len(kernel.advice),
        n_problems=len(kernel.problems),
        is_finished=kernel.is_finished,
    )


def is_judged(kernel: KernelProfile) -> bool:
    """Whether there is enough for any check: pipes, a roof, lines, instructions or the tool's advice."""
    row = summary_of(kernel)
    has_code = kernel.lines is not None or kernel.instructions is not None
    return bool(row.pipes or row.roof or has_code or kernel.advice)


def _spread(case: Case) -> float | None:
    found = []
    for kind in kinds_in(case):
        cycles = cycles_of(case, kind)
        own = cycles[~np.isnan(cycles)]
        if len(own) >= 2 and own.mean() > 0:
            found.append(float((own.max() - own.min()) / own.mean() * 100))
    return max(found, default=None)


def _check_hot_line(case: Case) -> Iterator[Saying]:
    lines = case.kernel.lines
    if lines is None:
        return
    hot = hot_lines(lines, _SHOWN_LINES)
    if not hot or hot[0].share * 100 < case.criteria.kernel_line_percent:
        return
    first = hot[0]
    message = text(
        "hot-line" if first.cycles > 0 else "hot-count",
        line=safe_text(first.name, 200),
        percent=percent(first.share),
        cycles=amount(first.cycles),
        calls=f"{first.calls:,}",
        cores=first.n_cores,
    )
    rows = [[h.name, f"{percent(h.share)}%", amount(h.cycles), f"{h.calls:,}"] for h in hot]
    figures = {"source": first.name, "share_percent": first.share * 100, "cycles": first.cycles}
    yield Saying(
        "hot-line", "note", message, text("hot-line-next"), figures, 0.0, "code_exe", columns_of(rows)
    )


def _check_sync(case: Case) -> Iterator[Saying]:
    found = waits_of(case.kernel.instructions) if case.kernel.instructions is not None else None
    if found is None or found[0] * 100 < case.criteria.kernel_wait_percent:
        return
    share, by_pipe = found
    parts = sorted(by_pipe.items(), key=lambda item: -item[1])
    told = listed([f"{safe_text(pipe, 40)} {percent(part)}%" for pipe, part in parts[:_SHOWN_LINES]])
    message = joined("sync", {"parts": told}, percent=percent(share))
    figures = {"wait_percent": share * 100}
    cost = case.duration_us * share
    yield Saying("sync", "warning", message, text("sync-next"), figures, cost, "instr_exe")


def _check_tool(case: Case) -> Iterator[Saying]:
    """The tool's own sentences, each once, with how often it says them."""
    counts = Counter(said.text for said in case.kernel.advice)
    if not counts:
        return
    told = [line if n == 1 else f"{line} (x{n})" for line, n in counts.items()]
    more = [f"... ({len(told) - _SHOWN_TEXTS})"] if len(told) > _SHOWN_TEXTS else []
    shown = "; ".join(line.rstrip(".") for line in counts)
    message = text("tool", told=safe_text(shown, 400))
    figures = {"n_sentences": len(case.kernel.advice)}
    yield Saying(
        "tool", "note", message, text("tool-next"), figures, 0.0, "visualize", told[:_SHOWN_TEXTS] + more
    )


def _check_whole(case: Case) -> Iterator[Saying]:
    """What is not there, and so was not judged."""
    kernel = case.kernel
    if not kernel.is_finished:
        n = kernel.n_replays
        yield Saying("collecting", "note", text("collecting", n=n), text("collecting-next"), {"n_replays": n})
        return
    if kernel.layout != "board":
        return
    missing = [name for name in kernel.missing if name not in ("OpBasicInfo", "visualize_data.bin")]
    if case.kernel.units:  # its blocks stand for the tables
        missing = []
    if missing:
        names = ", ".join(missing)
        figures = {"missing": missing}
        yield Saying(
            "not-judged", "note", text("not-judged", missing=names), text("not-judged-next"), figures
        )


_CHECKS = (
    check_frequency,
    check_few_cores,
    check_outside,
    check_bound,
    check_roofline,
    check_balance,
    check_tail,
    check_pipe_speed,
    check_scalar,
    check_conflict,
    check_icache,
    check_l2,
    check_bandwidth,
    check_use,
    _check_hot_line,
    _check_sync,
    _check_tool,
    _check_whole,
)

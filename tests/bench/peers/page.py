"""What was measured as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .environments import PEERS, Missing
from .results import Cell, Measured, growth, ratio
from .targets import TARGETS
from .works import WORKS, Work

ABOUT = """# Benchmarks beside the peers

Written by `python tests/bench/against_peers.py --keep docs/benchmarks.md`; how npulse itself is measured
stands in [performance.md](performance.md). Everything is made from a seed, each run is a process of its own,
and what is compared runs in turn (A B A B ...); figures are medians, ratios medians of the turns' ratios.

- **CPU** is of the process and its children with their start, **wall** from start to end. Go by CPU where
  others use the machine.
- **peak** is the memory of all processes of a run together; of one process its high-water mark, of several
  the sum of what each has alone and its share of the rest, sampled. MB are a million bytes.
- **x** is the CPU time beside npulse's first row, as the median over the turns: 10x is ten times as much.
- **growth** is by how much time and memory grow from each amount of data to the next.
- A run that took longer or more memory than it may was ended: *more than* is all that is known of it. *Not
  run* says why.
"""
MEASURE_NAMES = (("cpu_s", "CPU s"), ("wall_s", "wall s"), ("peak_mb", "peak MB"))


def page(works: Mapping[str, Measured], peers: Mapping[str, str | Missing]) -> str:
    """peers: the version of each, or why it is missing; of those that were asked for."""
    parts = [ABOUT, *_facts(works), *_peers(peers), *_targets(works)]
    parts += [part for work in WORKS if work.name in works for part in _work(work, works[work.name], peers)]
    return "\n".join(parts).rstrip() + "\n"


def _facts(works: Mapping[str, Measured]) -> Iterable[str]:
    told = {name: work.facts for name, work in works.items()}
    yield "## The machine\n"
    together: dict[str, list[str]] = {}
    for name, facts in told.items():
        line = "; ".join(f"{what} {value}" for what, value in facts.items() if what not in ("load", "date"))
        together.setdefault(line, []).append(name)
    for line, names in together.items():
        yield f"- {line}" + (f" ({', '.join(names)})" if len(together) > 1 else "")
    for name, facts in told.items():
        if float(facts.get("load", 0)) > 1:
            load = f"load average {facts['load']}"
            yield f"- **Loaded** when `{name}` began ({load}): its walls are not those of a quiet machine."
    dates = sorted({facts["date"] for facts in told.values() if "date" in facts})
    if dates:
        yield f"- Measured {dates[0]}" + (f" to {dates[-1]}" if len(dates) > 1 else "") + "."
    yield ""


def _peers(peers: Mapping[str, str | Missing]) -> Iterable[str]:
    yield "## The peers\n"
    yield _row(("peer", "version"))
    yield _row(("---", "---"))
    for peer in PEERS:
        if peer.name in peers:
            found = peers[peer.name]
            yield _row((peer.name, f"**missing**: {found.why}" if isinstance(found, Missing) else found))
    yield ""


def _targets(works: Mapping[str, Measured]) -> Iterable[str]:
    yield "## The targets\n"
    yield _row(("#", "target", "verdict", "figures"))
    yield _row(("---", "---", "---", "---"))
    for target in TARGETS:
        told = "<br>".join(check.told(works) for check in target.checks)
        yield _row((str(target.number), target.text, f"**{target.verdict(works)}**", told))
    yield ""


def _work(work: Work, measured: Measured, peers: Mapping[str, str | Missing]) -> Iterable[str]:
    scales = sorted(measured.sizes)
    yield f"## {work.title}\n"
    amounts = [
        f"{s}x: {work.amount * s:,} {work.unit}{_size(measured.sizes[s])}" for s in scales if work.unit
    ]
    if amounts:
        yield "; ".join(amounts) + ".\n"
    told = sorted(
        {name for by in measured.cells.values() for c in by.values() for run in c.good for name in run.told}
    )
    head = ["", "data", *(name for _, name in MEASURE_NAMES), "x", "runs"]
    yield _row(head)
    yield _row(["---"] + ["---:"] * (len(head) - 1))
    first = work.ways[0].name
    for way in work.ways:
        missing = peers.get(way.peer) if way.peer else None
        if isinstance(missing, Missing):
            yield _row((way.name, f"missing: {missing.why}", *[""] * 5))
            continue
        for scale in scales:
            cell = measured.cells.get(way.name, {}).get(scale)
            if cell is not None:
                base = measured.cells.get(first, {}).get(scale, Cell())
                yield _row(
                    (
                        way.name,
                        f"{scale}x",
                        *_figures(cell),
                        _times(cell, base, way.name == first),
                        _runs(cell),
                    )
                )
    yield ""
    if len(scales) > 1:
        yield from _growth(work, measured, scales)
    if told and set(told) - {"n"}:
        yield from _told(work, measured, scales)


def _figures(cell: Cell) -> list[str]:
    values = [cell.middle(measure) for measure, _ in MEASURE_NAMES]
    return [number(value) if value is not None else "" for value in values]


def _times(cell: Cell, base: Cell, is_first: bool) -> str:
    found = None if is_first else ratio(cell, base, "cpu_s")
    return "" if found is None else f"{number(found)}x"


def _runs(cell: Cell) -> str:
    ended = next((run for run in cell.runs if run.stopped), None)
    stopped = ended.stopped if ended else ""
    if stopped.startswith("more than"):
        stopped += f" ({number(ended.cpu_s)} CPU s until then)" if ended else ""
    return "; ".join(filter(None, [str(len(cell.good)) if cell.good else "", stopped, cell.why]))


def _growth(work: Work, measured: Measured, scales: Sequence[int]) -> Iterable[str]:
    steps = [f"{a}x to {b}x" for a, b in zip(scales, scales[1:], strict=False)]
    yield _row(["growth", *(f"CPU, {step}" for step in steps), *(f"peak, {step}" for step in steps)])
    yield _row(["---"] + ["---:"] * (2 * len(steps)))
    for way in work.ways:
        cells = measured.cells.get(way.name, {})
        grown = [*growth(cells, "cpu_s", scales), *growth(cells, "peak_mb", scales)]
        if any(value is not None for value in grown):
            yield _row([way.name, *("" if value is None else f"{number(value)}x" for value in grown)])
    yield ""


def _told(work: Work, measured: Measured, scales: Sequence[int]) -> Iterable[str]:
    lines = []
    for way in work.ways:
        for scale in scales:
            cell = measured.cells.get(way.name, {}).get(scale, Cell())
            names = sorted({name for run in cell.good for name in run.told if _is_figure(name)})
            values = ((name, cell.middle(name)) for name in names)
            told = ", ".join(f"{name} {number(value)}" for name, value in values if value is not None)
            if told:
                lines.append(f"- {way.name}, {scale}x, as it measured itself: {told}")
    if lines:
        yield "\n".join(lines) + "\n"


def _is_figure(name: str) -> bool:
    return name.endswith(("_ms", "told_s", "_of_reading", "_of_float64", "_of_ordinary", "_of_count"))


def number(value: float) -> str:
    """Three digits that count, no exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _size(n_bytes: int) -> str:
    return f" ({n_bytes / 1e6:,.0f} MB)" if n_bytes else ""


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

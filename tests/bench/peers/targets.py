"""The targets of the product, each with what has to hold of a run of the benchmarks."""

# ruff: noqa: E501 - a target or a way a line
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .results import Cell, Measured, ratio

UNITS = {"cpu_s": "s", "wall_s": "s", "peak_mb": "MB"}


@dataclass(frozen=True, slots=True)
class Check:
    """A measure of one way at one scale, alone or as a ratio to another way (at `of_scale` to another scale),
    is at most `most`, or at least `least`."""

    work: str
    way: str
    scale: int
    measure: str = "cpu_s"
    most: float | None = None
    least: float | None = None
    of: str = ""
    of_scale: int = 0

    def figure(self, works: Mapping[str, Measured]) -> float | None:
        measured = works.get(self.work)
        if measured is None:
            return None
        ours = measured.cells.get(self.way, {}).get(self.scale, Cell())
        if self.of:
            return ratio(ours, measured.cells.get(self.of, {}).get(self.scale, Cell()), self.measure)
        value = ours.middle(self.measure)
        if not self.of_scale:
            return value
        base = measured.cells.get(self.way, {}).get(self.of_scale, Cell()).middle(self.measure)
        return value / base if value is not None and base else None

    def holds(self, works: Mapping[str, Measured]) -> bool | None:
        """None: it was not measured."""
        figure = self.figure(works)
        if figure is None:
            return None
        return (self.most is None or figure <= self.most) and (self.least is None or figure >= self.least)

    def told(self, works: Mapping[str, Measured]) -> str:
        figure = self.figure(works)
        bound = f"<= {self.most:.3g}" if self.most is not None else f">= {self.least:.3g}"
        of = f" of {self.of}" if self.of else f" of {self.of_scale}x" if self.of_scale else ""
        unit = "" if of else UNITS.get(self.measure, "")
        name = {"cpu_s": "CPU", "wall_s": "wall", "peak_mb": "peak"}.get(self.measure, self.measure)
        value = "not measured" if figure is None else f"{figure:.3g}"
        return f"{self.way}, {self.scale}x, {name}{of}: {value} ({bound}{' ' * bool(unit)}{unit})"


@dataclass(frozen=True, slots=True)
class Target:
    number: int
    text: str
    checks: tuple[Check, ...]

    def verdict(self, works: Mapping[str, Measured]) -> str:
        """reached, not reached, or not measured where what is missing decides."""
        found = [check.holds(works) for check in self.checks]
        if any(held is False for held in found):
            return "not reached"
        return "reached" if all(found) else "not measured"


FIRST, WHOLE, TWO = "npulse, first read", "npulse precision", "npulse, first read, 2 jobs"
ENGINE = "npulse, engine"
COLD, COLD_READ = "npulse, first read, 2 jobs, cold", "reading the files, cold"
NUMPY_KERNEL, COMPILED_KERNEL = "npulse, kernel", "npulse, kernel, compiled"
MSPROBE, ONE_THREAD = "msprobe compare", "msprobe compare, one BLAS thread"
TOP, PERFORMANCE, DIFF = "npulse, top 20", "npulse performance", "npulse diff"

TARGETS = (
    Target(1, "tensor compare, 1 GB a side: CPU <= 1/10 of msprobe, <= 1/6 with one BLAS thread, wall <= 1/10; 4 GB alike", (
        Check("tensors", TWO, 10, most=1 / 10, of=MSPROBE),
        Check("tensors", TWO, 10, most=1 / 6, of=ONE_THREAD),
        Check("tensors", TWO, 10, "wall_s", most=1 / 10, of=MSPROBE),
        Check("tensors", TWO, 40, most=1 / 10, of=MSPROBE),
    )),
    Target(2, "same at 0.1 GB: CPU <= 1/20 of msprobe", (Check("tensors", FIRST, 1, most=1 / 20, of=MSPROBE),)),
    Target(3, "kernel, fp32: >= 15 % of reading once by numpy, >= 60 % by compiled loops; fp16, bf16 >= 8x whole arrays in float64", (
        Check("kernel", NUMPY_KERNEL, 1, "fp32_of_reading", least=0.15),
        Check("kernel", COMPILED_KERNEL, 1, "fp32_of_reading", least=0.60),
        *(
            Check("kernel", way, 1, f"{name}_of_float64", least=8)
            for way in (NUMPY_KERNEL, COMPILED_KERNEL)
            for name in ("fp16", "bf16")
        ),
    )),
    Target(4, "kernel on 10 % NaN, 50 % fp16 subnormals, 15 % zeros: <= 2.5x of ordinary data", tuple(
        Check("kernel", way, 1, f"{kind}_of_ordinary", most=2.5)
        for way in (NUMPY_KERNEL, COMPILED_KERNEL)
        for kind in ("nan", "subnormal", "zeros")
    )),
    Target(5, "cold 1 GB a side: wall <= 2x of only reading the files cold", (
        Check("tensors", COLD, 10, "wall_s", most=2.0, of=COLD_READ),
    )),
    Target(6, "compare: peak <= 120 MB at 0.1, 1, 4 GB; 4 GB <= 1.1x of 0.1 GB", (
        Check("tensors", TWO, 1, "peak_mb", most=120),
        Check("tensors", TWO, 10, "peak_mb", most=120),
        Check("tensors", TWO, 40, "peak_mb", most=120),
        Check("tensors", TWO, 40, "peak_mb", most=1.1, of_scale=1),
    )),
    Target(7, "9,200 small tensor pairs: CPU <= 1/5 of msprobe with one BLAS thread", (
        Check("small", FIRST, 10, most=1 / 5, of=ONE_THREAD),
    )),
    Target(8, "statistics: CPU <= 1/12 (10k), <= 1/10 (100k) of msprobe; peak <= 1/3 at 100k", (
        Check("statistics", ENGINE, 1, most=1 / 12, of=MSPROBE),
        Check("statistics", ENGINE, 10, most=1 / 10, of=MSPROBE),
        Check("statistics", ENGINE, 10, "peak_mb", most=1 / 3, of=MSPROBE),
    )),
    Target(9, "op_summary 1M rows, top 20: CPU <= 1/4 of pandas, <= 1.0x of polars; peak <= 60 MB", (
        Check("op_summary", TOP, 10, most=1 / 4, of="pandas, all columns"),
        Check("op_summary", TOP, 10, most=1.0, of="polars, scan"),
        Check("op_summary", TOP, 10, "peak_mb", most=60),
    )),
    Target(10, "appended rows into totals: 100 <= 1 ms, 10,000 <= 15 ms; whatever the file holds (1.5x)", (
        Check("appended", "npulse, totals", 10, "rows_100_ms", most=1.0),
        Check("appended", "npulse, totals", 10, "rows_10000_ms", most=15.0),
        Check("appended", "npulse, totals", 10, "rows_10000_ms", most=1.5, of_scale=1),
    )),
    Target(11, "a 1M-row csv opened for browsing: index <= 1.5x line count; 60 rows <= 5 ms; <= 32 bytes a row + 60 MB", (
        Check("browsing", "npulse, rows of a table", 10, "index_of_count", most=1.5),
        Check("browsing", "npulse, rows of a table", 10, "rows_60_ms", most=5.0),
        Check("browsing", "npulse, rows of a table", 10, "peak_mb", most=92.0),
    )),
    Target(12, "dump.json 200 MB: CPU <= 0.7x json.load, peak <= 60 MB", (
        Check("dump", "npulse, all records", 10, most=0.7, of="json.load"),
        Check("dump", "npulse, all records", 10, "peak_mb", most=60),
    )),
    Target(13, "trace_view.json 1 GB: CPU <= 0.65x json.load, peak <= 100 MB", (
        Check("trace", "npulse, timelines", 40, most=0.65, of="json.load"),
        Check("trace", "npulse, timelines", 40, "peak_mb", most=100),
    )),
    Target(14, "sanitizer 100k records: CPU <= 0.5x of patterns on each line; peak of the scan <= 60 MB", (
        Check("sanitizer", "npulse, records and groups", 10, most=0.5, of="patterns on each line"),
        Check("sanitizer", "npulse, records and groups", 10, "peak_mb", most=60),
    )),
    Target(15, "advice over 100k kernels: CPU <= 1/20 of advisor, peak <= 1/5; compare of two profiles <= 1/20", (
        Check("profiles", PERFORMANCE, 10, most=1 / 20, of="msprof-analyze advisor computation"),
        Check("profiles", PERFORMANCE, 10, "peak_mb", most=1 / 5, of="msprof-analyze advisor computation"),
        Check("profiles", DIFF, 10, most=1 / 20, of="msprof-analyze compare"),
    )),
    Target(16, "start to first screen: CPU <= 2.2x of import textual.app", (
        Check("start", "npulse, first screen", 1, "cpu_told_s", most=2.2, of="import textual.app"),
    )),
)  # fmt: skip

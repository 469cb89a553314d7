"""What is measured: the data of each work, and the programs that run on it side by side."""

# ruff: noqa: E501 - a target or a way a line
from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import targets as names
from .environments import Installed
from .running import ONE_BLAS

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[2]
NPULSE = "npulse"
ITSELF = ""
"""A way that needs nothing but this Python: a limit, or npulse."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a program runs: the Python of its side, the data, a folder for what it writes."""

    python: Path
    data: Path
    out: Path


@dataclass(frozen=True, slots=True)
class Way:
    """A program of a work. peer: whose environment it needs (none: this Python). good: exit statuses of a run
    that did its work. most_scale: the largest amount it is asked for."""

    name: str
    command: Callable[[Place], list[str]]
    peer: str = ITSELF
    extra: Mapping[str, str] = field(default_factory=dict)
    good: tuple[int, ...] = (0,)
    is_cold: bool = False
    most_scale: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Work:
    """amount: of `unit` at 1x; makes: the maker of its data (none: it needs none). ways: npulse's first."""

    name: str
    title: str
    makes: str
    amount: int
    unit: str
    ways: tuple[Way, ...]
    scales: tuple[int, ...] = (1, 10, 40)


def _ours(what: str) -> Callable[[Place], list[str]]:
    return lambda place: [sys.executable, str(HERE / "ours.py"), what, str(place.data)]


def _npulse(*words: str) -> Callable[[Place], list[str]]:
    def command(place: Place) -> list[str]:
        given = [str(place.data / word[1:]) if word.startswith("@") else word for word in words]
        return [sys.executable, "-m", "npulse", *given, "--no-cache", "-o", str(place.out / "told.json")]

    return command


def _theirs(what: str, file: str = "") -> Callable[[Place], list[str]]:
    def command(place: Place) -> list[str]:
        path = next(place.data.rglob(file)) if file else place.data
        return [str(place.python), str(HERE / "theirs.py"), what, str(path)]

    return command


def _one_comparison(*words: str) -> Callable[[Place], list[str]]:
    program = str(HERE.parent / "one_comparison.py")
    return lambda place: [sys.executable, program, str(place.data), *words]


def _msprobe(place: Place) -> list[str]:
    sides = [str(place.data / side / "step0") for side in ("target", "golden")]
    return [
        str(place.python.parent / "msprobe"),
        "compare",
        "-tp",
        sides[0],
        "-gp",
        sides[1],
        "-o",
        str(place.out),
    ]


def _analyze(*words: str) -> Callable[[Place], list[str]]:
    def command(place: Place) -> list[str]:
        a, b = (str(next((place.data / side).iterdir())) for side in ("a", "b"))
        told = {"@a": a, "@b": b}
        return [
            str(place.python.parent / "msprof-analyze"),
            *(told.get(w, w) for w in words),
            "-o",
            str(place.out),
        ]

    return command


SRC = {"PYTHONPATH": str(REPO / "src")}
FOUND = (0, 1, 4)
"""npulse did its work: nothing found, something found, something that it cannot judge."""
MSPROBE = (
    Way(names.MSPROBE, _msprobe, "msprobe"),
    Way(names.ONE_THREAD, _msprobe, "msprobe", ONE_BLAS, most_scale=10),
)
NP_SUM = Way("np.sum of the same bytes", _theirs("np_sum"), "numpy")

WORKS = (
    Work("tensors", "Two captures of tensors, .pt", "tensors", 100, "MB a side", (
        Way(names.FIRST, _one_comparison("--first-read-only")),
        Way(names.TWO, _one_comparison("--first-read-only", "--jobs", "2")),
        Way(names.WHOLE, _npulse("precision", "@target", "@golden"), extra=SRC, good=FOUND),
        *MSPROBE,
        NP_SUM,
        Way(names.COLD, _one_comparison("--first-read-only", "--jobs", "2"), is_cold=True, most_scale=10),
        Way(names.COLD_READ, _ours("read_files"), is_cold=True, most_scale=10),
    )),
    Work("small", "Two captures of many small tensors, .pt", "small", 920, "tensors a side", (
        Way(names.FIRST, _one_comparison("--first-read-only")),
        Way(names.WHOLE, _npulse("precision", "@target", "@golden"), extra=SRC, good=FOUND),
        *MSPROBE,
        NP_SUM,
    ), scales=(1, 10)),
    Work("statistics", "Two captures of statistics", "statistics", 10_000, "records a side", (
        Way(names.ENGINE, _ours("statistics")),
        Way(names.WHOLE, _npulse("precision", "@target", "@golden"), extra=SRC, good=FOUND),
        MSPROBE[0],
    )),
    Work("dump", "Every record of one dump.json", "dump", 20, "MB", (
        Way("npulse, all records", _ours("dump")),
        Way("json.load", _theirs("json_load", "dump.json"), "numpy"),
    )),
    Work("op_summary", "The 20 operator types with most time, op_summary of 46 columns", "op_summary", 100_000, "rows", (
        Way(names.TOP, _ours("top")),
        Way(names.PERFORMANCE, _npulse("performance", "@"), extra=SRC, good=FOUND),
        Way("counting lines", _theirs("count_lines", "*.csv"), "numpy"),
        Way("polars, scan", _theirs("polars_scan", "*.csv"), "polars"),
        Way("polars, all columns", _theirs("polars_all", "*.csv"), "polars"),
        Way("duckdb, from the file", _theirs("duckdb_file", "*.csv"), "duckdb"),
        Way("pandas, two columns", _theirs("pandas_two", "*.csv"), "pandas"),
        Way("pandas, all columns", _theirs("pandas_all", "*.csv"), "pandas"),
        Way("visidata, load", _theirs("visidata_load", "*.csv"), "visidata"),
    )),
    Work("browsing", "A table opened to look at any of its rows", "op_summary", 100_000, "rows", (
        Way("npulse, rows of a table", _ours("rows")),
        Way("counting lines", _theirs("count_lines", "*.csv"), "numpy"),
    ), scales=(1, 10)),
    Work("appended", "Rows that are appended to a table, into its totals", "op_summary", 1_000, "rows before", (
        Way("npulse, totals", _ours("appended")),
    ), scales=(1, 10, 1000)),
    Work("profiles", "Advice over one profile; two profiles compared (kernels and a trace)", "profiles", 10_000, "kernels a profile", (
        Way(names.PERFORMANCE, _npulse("performance", "@a"), extra=SRC, good=FOUND),
        Way("msprof-analyze advisor computation", _analyze("advisor", "computation", "-d", "@a"), "msprof-analyze"),
        Way(names.DIFF, _npulse("diff", "@a", "@b"), extra=SRC, good=FOUND),
        Way("msprof-analyze compare", _analyze("compare", "-d", "@a", "-bp", "@b"), "msprof-analyze"),
    )),
    Work("trace", "trace_view.json into timelines", "trace", 25, "MB", (
        Way("npulse, timelines", _ours("timelines")),
        Way(names.PERFORMANCE, _npulse("performance", "@"), extra=SRC, good=FOUND),
        Way("json.load", _theirs("json_load", "trace_view.json"), "numpy"),
    )),
    Work("sanitizer", "A report of mssanitizer, records grouped by place", "sanitizer", 10_000, "records", (
        Way("npulse, records and groups", _ours("groups")),
        Way("npulse memory", _npulse("memory", "@"), extra=SRC, good=FOUND),
        Way("patterns on each line", _theirs("lines_by_pattern", "*.log"), "numpy"),
    )),
    Work("kernel", "The comparison in memory, one thread", "", 1, "", (
        Way("npulse, kernel", _ours("kernel")),
        Way("npulse, kernel, compiled", _ours("kernel_compiled")),
    ), (1,)),
    Work("start", "From the start to the first screen", "", 1, "", (
        Way("npulse, first screen", _ours("first_screen")),
        Way("import textual.app", _ours("textual_app")),
    ), (1,)),
)  # fmt: skip


def python_of(way: Way, made: Mapping[str, object]) -> Path | None:
    """The Python of a way's environment; None where that is missing."""
    if not way.peer:
        return Path(sys.executable)
    found = made.get(way.peer)
    return found.python if isinstance(found, Installed) else None

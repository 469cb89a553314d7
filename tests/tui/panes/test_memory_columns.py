"""The table of sites and the first lines: a row in few cells, the first finding in few words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from npulse.core.analysis import AnalysisOptions
from npulse.core.findings import Finding
from npulse.core.memory.kind_texts import GAPS
from npulse.core.memory.run_report import look, selections
from npulse.core.memory.short_texts import GAPS as SHORT_GAPS
from npulse.core.memory.short_texts import STATES, gap_word, state_word
from npulse.core.memory.table import IS_NAMED, SUBJECT, is_named
from npulse.core.memory.texts import TEXTS
from npulse.core.memory.view import MemoryView, memory_view
from npulse.core.progress import Progress
from npulse.core.run.discover import discover
from npulse.core.table import Column, Table, text_column
from npulse.tui.glyphs import ASCII, UNICODE
from npulse.tui.messages import tr
from npulse.tui.panes.job_pane import progress_text
from npulse.tui.panes.memory.columns import (
    HIDDEN_AT_FIRST,
    cut_start,
    heading,
    place_writer,
    severity_text,
    specs,
    style_by_severity,
)
from npulse.tui.panes.memory.jobs import first_that_is_none, folders_in
from npulse.tui.panes.memory.summary import few_words, nothing_lines, shown_lines

from .memory_runs import WRITE, checked, illegal_write, race, write_faults, write_log


def view_of(run: Path) -> MemoryView:
    found = discover(run)
    options = AnalysisOptions()
    return memory_view(look(found, selections(found, options)[-1], options), "en")


def numbers(name: str, values: list[int | None]) -> Column:
    absent = np.array([value is None for value in values])
    return Column(name, "int", np.array([value or 0 for value in values]), absent=absent)


def places(subjects: list[str], seconds: list[str | None], kinds: list[str]) -> Table:
    """As the memory area makes it of these names: of "file:line" the parts beside them."""

    def parts(names: list[str | None]) -> tuple[list[str | None], list[int | None]]:
        split = [name.rpartition(":") if name and ":" in name else ("", "", "") for name in names]
        return [file or None for file, *_ in split], [int(line) if line else None for *_, line in split]

    files, lines = parts([*subjects])
    second_files, second_lines = parts(seconds)
    columns = (
        text_column(SUBJECT, subjects),
        text_column("second_place", seconds),
        text_column("file", files),
        numbers("line", lines),
        text_column("second_file", second_files),
        numbers("second_line", second_lines),
        Column(IS_NAMED, "bool", np.array([*map(is_named, subjects, kinds)])),
    )
    return Table("memory", columns)


def test_a_place_has_as_few_folders_as_tell_it_from_the_others() -> None:
    subjects = ["/a/b/one.cpp:3", "/x/b/two.cpp:4", "/x/c/two.cpp:5", "kernel_name", "leak"]
    table = places(subjects, [None, "/x/b/two.cpp:9", "/a/b/one.cpp:3", None, None], ["k"] * 4 + ["leak"])
    write = place_writer(table, 40, UNICODE, "en")
    assert [write(row) for row in range(5)] == [
        "one.cpp:3",
        "b/two.cpp:4 / :9",
        "c/two.cpp:5 / one.cpp:3",
        "kernel_name",
        "? place unknown",
    ]
    assert place_writer(table, 14, UNICODE, "en")(1) == "b/two.cpp:4", "half a pair is worse than none"
    assert place_writer(table, 10, UNICODE, "en")(1) == "…two.cpp:4", "file and line stay"


HASHES = ("7c1f0a52d9be4410a6c2f57c1f0a52d9", "0b" * 16)


def plog_of(*kernels: str) -> str:
    """A task that failed, of each kernel."""
    return "".join(
        f"[ERROR] RUNTIME(700,python3):2026-03-01-02:2{n}:06.512.090 [task_info.cc:1]700 PrintErrorInfo:"
        f"Aicore kernel execute failed, device_id=3, stream_id=2, report_stream_id=2, task_id={n}, "
        f"flip_num=0, fault kernel_name={kernel}, fault kernel info ext=none, program id=1, hash=2.\n"
        for n, kernel in enumerate(kernels)
    )


def test_a_kernel_that_is_too_long_is_called_by_its_operator(tmp_path: Path) -> None:
    long = f"ScatterNdUpdate_{HASHES[0]}_high_performance_21330"
    (tmp_path / "plog").mkdir()
    (tmp_path / "plog/plog-700_1.log").write_text(plog_of(long))
    view = view_of(tmp_path)
    assert view.table.column(SUBJECT).value(0) == long
    assert place_writer(view.table, 40, UNICODE, "en")(0) == "ScatterNdUpdate"
    assert place_writer(view.table, 90, UNICODE, "en")(0) == long
    _, first = shown_lines(view, lambda i, **v: tr(i, "en", **v), UNICODE, 80, "z")
    assert "ScatterNdUpdate  " in first and "21330" not in first.partition("next:")[0]


def test_kernels_of_one_operator_stay_apart(tmp_path: Path) -> None:
    names = [f"ScatterNdUpdate_{HASHES[n]}_high_performance_{n}" for n in (0, 1)]
    (tmp_path / "plog").mkdir()
    (tmp_path / "plog/plog-700_1.log").write_text(plog_of(*names))
    table = view_of(tmp_path).table
    write = place_writer(table, 30, UNICODE, "en")
    shown = {write(row) for row in range(table.n_rows)}
    assert len(shown) == 2 and all(text.startswith("ScatterN") and "…" in text for text in shown)


def test_a_long_path_loses_whole_folders_first() -> None:
    path = "/build/host/operators/op_kernel/add_custom.cpp:43"
    assert cut_start(path, 60, UNICODE) == path
    assert cut_start(path, 34, UNICODE) == "…/op_kernel/add_custom.cpp:43"
    assert cut_start(path, 20, UNICODE) == "…/add_custom.cpp:43"
    assert cut_start(path, 12, UNICODE) == "…stom.cpp:43"
    assert cut_start(path, 12, ASCII) == "~stom.cpp:43"


@given(st.text(st.characters(codec="utf-8", exclude_categories=("C",)), max_size=60), st.integers(1, 40))
def test_a_cut_never_exceeds_its_width(text: str, width: int) -> None:
    shown = cut_start(text, width, UNICODE)
    assert cell_len(shown) <= width and (shown == text or text.endswith(shown[1:]))


@pytest.mark.parametrize(
    ("severity", "role", "expected"),
    [
        ("error", "origin", "E ✗"),
        ("warning", "suspect", "W !"),
        ("info", "benign", "N ·"),
        ("error", "unknown", "E ?"),
        ("error", "inherited", "↳"),
    ],
)
def test_severity_is_a_letter_and_a_shape(severity: str, role: str, expected: str) -> None:
    assert severity_text(severity, role, UNICODE) == expected


def test_an_error_that_nobody_can_tell_is_not_put_aside() -> None:
    rows = [("error", "origin"), ("warning", "suspect"), ("error", "unknown"), ("error", "inherited")]
    columns = (text_column("severity", [s for s, _ in rows]), text_column("role", [r for _, r in rows]))
    style = style_by_severity(Table("memory", columns))
    assert [style(row) for row in range(4)] == [
        "virtual-table--error",
        "virtual-table--warning",
        "virtual-table--warning",
        "virtual-table--muted",
    ]


@pytest.mark.parametrize("width", [60, 79, 104])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_columns_come_in_the_order_of_a_sentence(tmp_path: Path, width: int, lang: Any) -> None:
    view = view_of(write_faults(tmp_path / "run"))
    found = specs(view.table, HIDDEN_AT_FIRST, UNICODE, lang, width)
    assert [spec.name for spec in found] == [
        "severity",
        "kind",
        "space",
        "size_bytes",
        SUBJECT,
        "cores",
        "count",
    ]
    assert [spec.heading for spec in found] == [heading(spec.name, lang) for spec in found]
    kind = next(spec for spec in found if spec.name == "kind")
    assert kind.instead is not None and kind.instead(1) == "RAW race" and kind.instead(0) is None
    count = next(spec for spec in found if spec.name == "count")
    assert callable(count.format) and count.format(1234) == "x1,234"
    size = next(spec for spec in found if spec.name == "size_bytes")
    assert callable(size.format) and size.format(4_611_686_018_427_387_903) == "4.6e+18", "never cut"
    assert size.format(9_999_999_999) == "9,999,999,999" and size.format(-2) == "-2"
    with_all = specs(view.table, frozenset(), UNICODE, lang, width)
    absent = {"threads", "operator", "state", "side", "distance_bytes", "function"}
    assert {spec.name for spec in with_all} == {c.name for c in view.table.exported} - absent


def test_every_gap_has_short_words_in_both_languages() -> None:
    assert set(SHORT_GAPS) == set(GAPS)
    for en, zh in SHORT_GAPS.values():
        assert en.isascii() and not zh.isascii() and len(en) <= 40
    assert gap_word("no\x1b[2Jsuch", "en") == "no\N{SYMBOL FOR ESCAPE}[2Jsuch"
    assert {f"state-{state}" for state in STATES} == {key for key in TEXTS if key.startswith("state-")}
    assert state_word("was hidden", "en") == "was hidden" and state_word("new", "zh") == "新增"


def words(**figures: Any) -> str:
    finding = Finding(
        "memory", "error", "memory.access", "origin", "x.cpp:1", "", figures={"count": 1, **figures}
    )
    return few_words(finding, lambda text_id, **values: tr(text_id, "en", **values))


def test_the_first_finding_in_few_words() -> None:
    assert words(
        kind="illegal write", size_bytes=4, space="GM", side="after", distance_bytes=124, count=64
    ) == ("illegal write of 4 B in GM, 124 B after the block, x64")
    assert words(kind="heap-buffer-overflow", side="before", distance_bytes=2) == (
        "heap-buffer-overflow, 2 B before the block"
    )
    assert words(kind="x", side="after", distance_bytes=0) == "x, right at the end of the block"
    assert words(kind="race", hazard="WAW", space="UB") == "WAW race in UB"
    assert words(kind="leak", leaked_bytes=5184, n_allocations=3) == "leak of 5,184 B in 3 blocks"
    assert words(kind="leak", leaked_bytes=320, n_allocations=1, size_bytes=320) == "leak of 320 B"
    assert words(kind="pool warning", held_bytes=10240, n_allocations=5) == (
        "pool warning of 10,240 B in 5 blocks"
    )
    assert words(kind="a\x1b[2Jb") == "a\N{SYMBOL FOR ESCAPE}[2Jb"
    gap = Finding("memory", "warning", "memory.incomplete", "unknown", "a.log", "told", figures={"gap": "x"})
    assert few_words(gap, lambda text_id, **values: tr(text_id, "en", **values)) == ""


def test_nothing_names_path_and_commands() -> None:
    lines = nothing_lines("/run\x1b[2J", ["mssanitizer APP"], lambda i, **v: tr(i, "en", **v))
    assert "\x1b" not in "".join(lines) and "/run" in lines[0] and lines[-1] == "  mssanitizer APP"


def test_a_line_of_folders(tmp_path: Path) -> None:
    assert folders_in(f" {tmp_path} :: ~/ops:{tmp_path}") == (tmp_path, Path.home() / "ops")
    assert folders_in("  ") == ()
    (tmp_path / "file").write_text("x")
    assert first_that_is_none((tmp_path, tmp_path / "file")) == tmp_path / "file"
    assert first_that_is_none((tmp_path,)) is None


def test_progress_in_bytes_is_short() -> None:
    read = Progress("read", 52_428_800, 104_857_600, "bytes")
    assert progress_text(read, 4.0) == "reading 52.4 of 104.9 MB, 13.1 MB/s, 0:04 left"
    assert progress_text(read, 4.0, "zh") == "读取 52.4 / 104.9 MB，13.1 MB/s，剩余 0:04"
    assert progress_text(Progress("read", 0, 10**6, "bytes"), 1.0) == "reading 0.0 of 1.0 MB"
    assert progress_text(Progress("read", 1_500_000, None, "bytes"), 1.0) == "reading 1.5 MB 1.5 MB/s"
    scan = Progress("scan", 2_000, 10_000, "tensors")
    assert progress_text(scan, 2.0) == "scanning 2,000/10,000 tensors 1,000/s"
    assert progress_text(scan, 2.0, "zh") == "扫描 2,000/10,000 个张量 1,000/s"
    assert progress_text(scan, 0.0) == "scanning 2,000/10,000 tensors", "nothing is known of how fast it is"


def test_the_view_knows_a_site_by_its_key(tmp_path: Path) -> None:
    view = view_of(write_log(tmp_path / "run", checked(illegal_write(0) + race())))
    assert view.table.n_rows == 2 and [view.row_with(view.key(row)) for row in range(2)] == [0, 1]
    assert view.row_with(("none",)) is None and view.operator(0) is None
    assert view.first_file == WRITE.rpartition(":")[0]

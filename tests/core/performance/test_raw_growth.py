"""A raw session while it is written: rates by a clock of the test, samples against the cold reader."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.formats.profiling.follow import is_kept
from npulse.core.formats.profiling.follow_slices import CPU, MEMORY, follow_samples
from npulse.core.formats.profiling.host_samples import (
    KEPT_SAMPLES,
    HostMemory,
    SampleTail,
    read_host_cpu,
    read_host_memory,
)
from npulse.core.formats.profiling.session import Session, read_session
from npulse.core.performance.found import Performance
from npulse.core.performance.raw import export_command, sparkline
from npulse.core.performance.raw_growth import N_CELLS, cells_of, growth_of
from npulse.core.performance.report import report
from npulse.core.performance.run_report import look, selections
from npulse.core.run.discover import discover
from npulse.core.tails import Tails

NAME = "PROF_000002_20260801121500456_00012346HGFEDCBA"


def cpu_text(n: int) -> bytes:
    return b"".join(
        b"time %d\n1.0 2.0\n12 (python3) R 1 1 1 0 -1 0 0 0 0 0 %d %d 0 0 20 0 8 0 9\n"
        % (10**9 + 20_000_000 * i, 3 * i + i % 5, i // 2)
        for i in range(n)
    )


def memory_text(n: int) -> bytes:
    return b"".join(b"%d 900000 %d 1 1 0 8 0\n" % (10**9 + 20_000_000 * i, 1000 + i % 7) for i in range(n))


def data_of(run: Path) -> Path:
    """The host's raw files of a session that collects."""
    data = run / NAME / "host" / "data"
    data.mkdir(parents=True)
    (run / NAME / "host" / "start_info").write_text("{}")
    return data


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 900), st.booleans()), max_size=12),
    st.sampled_from([CPU, MEMORY]),
)
def test_followed_slices_tell_what_a_cold_read_of_them_tells(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[int, bool]], family: str
) -> None:
    """Slices are cut anywhere; a look after every write."""
    run = tmp_path_factory.mktemp("raw")
    data, tails = data_of(run), Tails()
    text = cpu_text(60) if family == CPU else memory_text(200)
    number = 0
    for n, is_cut in (*writes, (len(text), False)):
        with (data / f"{family}.slice_{number}").open("ab") as file:
            file.write(text[:n])
        text = text[n:]
        found = follow_samples(run / NAME, family, tails, root=run)
        paths = [data / f"{family}.slice_{i}" for i in range(number + 1)]
        want = (read_host_cpu if family == CPU else read_host_memory)(paths, root=run)
        assert (found.ns.tobytes(), found.values.tobytes()) == (want.ns.tobytes(), want.values.tobytes())
        assert (found.n_dropped, found.is_cut) == (want.n_dropped, want.is_cut)
        number += is_cut
    assert len(found.ns) == (58 if family == CPU else 200)


def test_a_slice_that_was_deleted_before_it_was_read_joins_nothing(tmp_path: Path) -> None:
    data, tails = data_of(tmp_path), Tails()
    (data / f"{MEMORY}.slice_0").write_bytes(b"1000 9 5 1\n2000 9 ")
    follow_samples(tmp_path / NAME, MEMORY, tails)
    (data / f"{MEMORY}.slice_2").write_bytes(b"8 1\n3000 9 6 1\n")
    (data / f"{MEMORY}.slice_0").unlink()
    found = follow_samples(tmp_path / NAME, MEMORY, tails)
    assert found.ns.tolist() == [1000, 3000]


def test_slices_that_were_read_are_let_go(tmp_path: Path) -> None:
    data, tails = data_of(tmp_path), Tails()
    paths = [data / f"{MEMORY}.slice_{n}" for n in range(4)]
    for n, path in enumerate(paths):
        path.write_bytes(b"%d 9 5 1\n" % (1000 + n))
        found = follow_samples(tmp_path / NAME, MEMORY, tails)
    assert found.ns.tolist() == [1000, 1001, 1002, 1003]
    for path in paths:
        path.unlink()
    assert [is_kept(path, tails, MEMORY) for path in paths] == [False, False, False, True]


def test_memory_does_not_grow_with_the_samples() -> None:
    samples = HostMemory()
    tail = SampleTail(samples, n_kept=100)
    lines = memory_text(1000).splitlines(keepends=True)
    for line in lines:
        tail.feed(line)
        assert len(samples.ns) <= 200
    assert len(tail.last().ns) == 100
    assert tail.last().ns[-1] == 10**9 + 20_000_000 * 999
    assert KEPT_SAMPLES < 10_000


def test_rates_are_told_against_the_looks_of_ten_seconds(tmp_path: Path) -> None:
    data, tails = data_of(tmp_path), Tails()
    raw = data / "stars_soc.data.0.slice_0"

    def growth(now_s: float, size: int) -> tuple[int | None, float | None]:
        raw.write_bytes(b"x" * size)
        found = growth_of(read_session(tmp_path / NAME), tails, tmp_path, now_s)
        return found.n_new_slices, found.growth_bytes_per_s

    assert growth(100.0, 1000) == (None, None)
    assert growth(102.0, 4000) == (0, 1500.0)
    (data / "stars_soc.data.0.slice_1").write_bytes(b"y" * 600)
    assert growth(104.0, 4000) == (1, 900.0)
    assert growth(111.0, 4000) == (1, 600 / 9)  # against the look at 102
    assert growth(200.0, 4000) == (0, 0.0)


def test_figures_lines_and_the_share_that_is_closed(tmp_path: Path) -> None:
    data, tails = data_of(tmp_path), Tails()
    for name, raw in ((CPU, cpu_text(5)), (MEMORY, memory_text(3))):
        (data / f"{name}.slice_0").write_bytes(raw)
    (data / f"{CPU}.slice_0.done").write_text("filesize:1\n")
    times = iter((10.0, 12.0))

    def once() -> Performance:
        run, options = discover(tmp_path), AnalysisOptions(tails=tails)
        return look(run, selections(run, options)[-1], options, clock=lambda: next(times))

    once()
    with (data / f"{MEMORY}.slice_0").open("ab") as file:
        file.write(memory_text(5)[len(memory_text(3)) :])
    told = report(once())
    figures = told.findings[0].figures
    added = len(memory_text(5)) - len(memory_text(3))
    assert (figures["n_slices"], figures["n_closed_slices"], figures["done_ratio"]) == (2, 1, 0.5)
    assert figures["growth_bytes_per_s"] == added / 2 and figures["n_new_slices"] == 0
    # ticks of each sample against the one before: 3 and one of i % 5, and every second time one of i // 2
    assert figures["host_cpu_percent"] == pytest.approx([200.0, 250.0, 200.0])
    assert figures["host_memory_bytes"] == [4096.0 * (1000 + i) for i in range(5)]
    assert any(f"{added / 2:,.0f} bytes/s" in line for line in told.told)
    assert any("host CPU _#_ 200 %" in line for line in told.told)


def test_a_session_that_is_not_followed_has_no_rate(tmp_path: Path) -> None:
    data = data_of(tmp_path)
    (data / f"{CPU}.slice_0").write_bytes(cpu_text(5))
    run, options = discover(tmp_path), AnalysisOptions()
    found = look(run, selections(run, options)[-1], options)
    figures = report(found).findings[0].figures
    assert found.growth == {} and "growth_bytes_per_s" not in figures and figures["done_ratio"] == 0.0


@pytest.mark.parametrize(
    ("name", "argv", "code", "ends_with"),
    [
        ("PROF_1", ("msprof", "--export=on", "--output={}"), "", "msprof --export=on --output=COPY/PROF_1"),
        (
            "a_ascend_pt",
            ("python3", "-c", 'analyse("{}")'),
            'analyse("{}")',
            """'analyse("COPY/a_ascend_pt")'""",
        ),
        ('q"_ascend_pt', ("python3", "-c", r'analyse("q\"_ascend_pt")'), "x", " COPY/"),
    ],
)
def test_the_command_for_a_session_that_is_written_never_exports_it(
    tmp_path: Path, name: str, argv: tuple[str, ...], code: str, ends_with: str
) -> None:
    folder = tmp_path / name
    words = tuple(word.replace("{}", str(folder)) for word in argv)
    session = Session(folder, "msprof", "collecting", export_argv=words, export_code=code)
    copied, _, exported = export_command(session).partition(" COPY/")
    assert copied == f"mkdir COPY && cp -r {shlex.quote(str(folder))}"
    assert f" COPY/{exported}".endswith(ends_with) and str(tmp_path) not in exported
    ended = export_command(replace(session, state="collected"))
    assert "COPY" not in ended and shlex.split(ended) == list(words)


def test_values_of_a_sparkline() -> None:
    values = np.arange(1000, dtype=np.float64)
    cells = cells_of(values)
    assert len(cells) == N_CELLS and cells[0] == 12.0 and cells[-1] == 987.0
    assert cells_of(values[:3]) == (0.0, 1.0, 2.0)
    assert sparkline([5, 5, 5], "abc") == "aaa" and sparkline([0, 1, 2], "abc") == "abc"


@pytest.mark.real
def test_a_session_of_the_samples(shared: Path) -> None:
    run = shared / "samples" / "profiling" / "synthetic"
    (folder,) = run.glob("live_PROF_000002_*")
    found = growth_of(read_session(folder), Tails(), folder, 1.0)
    samples = read_host_memory(sorted((folder / "host" / "data").glob("host_mem.data.slice_?")))
    assert found.memory_bytes == tuple(samples.values.tolist()) and found.cpu_percent

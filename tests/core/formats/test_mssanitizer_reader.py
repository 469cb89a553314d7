"""How a log may be cut, damaged or made to hurt: the same records, bounded memory, no other error."""

from __future__ import annotations

import random
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import npulse
from npulse.core.errors import Cancelled, InputError
from npulse.core.findings import Problem
from npulse.core.formats.mssanitizer import store
from npulse.core.formats.mssanitizer.lines import MAX_LINE_BYTES
from npulse.core.formats.mssanitizer.plain import Plain
from npulse.core.formats.mssanitizer.reader import Reader, read_report
from npulse.core.formats.mssanitizer.records import LogState, Record
from npulse.core.progress import Progress

from .test_mssanitizer_records import (
    BOUNDS,
    CLEAN,
    FINISHED,
    ILLEGAL,
    LEAKS,
    LOCK_UP,
    RACE,
    REGISTER,
    SMALL,
    STARTED,
    told,
)

RAW = SMALL.encode()
Outcome = tuple[list[Record], LogState, tuple[Problem, ...]]


def outcome(raw: bytes, cuts: Sequence[int] = ()) -> Outcome:
    """What a reader says of a log that comes in chunks; asking in between must change nothing."""
    reader = Reader("the.log")
    records: list[Record] = []
    at = 0
    for cut in [*sorted(cuts), len(raw)]:
        records += reader.feed(raw[at:cut])
        at = cut
        assert all(record.line_number > 0 for record in reader.unfinished())
        assert reader.state.n_bytes == cut and reader.problems is not None
    before = reader.state
    records += reader.finish()
    assert reader.finish() == [] and set(before.gaps) <= set(reader.state.gaps)
    return records, reader.state, reader.problems


def line_by_line(raw: bytes) -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plain, "read", lambda *arguments: None)
        patch.setattr(Plain, "read_prefixed", lambda *arguments: None)
        return outcome(raw)


# ---- cuts ----


def test_cut_at_every_byte() -> None:
    """What ended before the cut is the same; the rest is marked; the log is never called complete."""
    whole, state, problems = outcome(RAW)
    assert state.is_complete and problems == ()
    last_end = RAW.index(FINISHED.encode()) + len(FINISHED)
    for cut in range(len(RAW)):
        records, state, problems = outcome(RAW[:cut])
        ended = [record for record in records if not record.is_cut]
        assert ended == whole[: len(ended)], cut
        assert len(records) - len(ended) <= 1
        assert all(record.byte < cut for record in records)
        of_whole = [record for record in whole if record.end_byte < cut]
        assert len(records) >= len(of_whole), cut
        if len(ended) < len(records):
            assert [problem.kind for problem in problems] == ["cut-off"]
            assert problems[0].byte == records[-1].byte and problems[0].line == records[-1].line_number
        if cut < last_end or b"Leak" in RAW[last_end:cut]:
            assert not state.is_complete, cut


def test_cuts_of_a_log_of_two_ranks() -> None:
    raw = b"".join(b"[rank0]: " + line + b"[rank1]: " + line for line in RAW.splitlines(True))
    whole, state, _ = outcome(raw)
    assert len(whole) == 14 and state.is_complete
    last_end = raw.rindex(FINISHED.encode()) + len(FINISHED)
    for cut in range(0, len(raw), 3):
        records, state, _ = outcome(raw[:cut])
        assert [record for record in records if not (record.is_cut or record in whole)] == []
        assert {record for record in whole if record.end_byte + 120 < cut} <= set(records)
        assert cut >= last_end or not state.is_complete


def test_asking_at_every_byte_changes_nothing() -> None:
    assert outcome(RAW, range(len(RAW))) == outcome(RAW)


def test_what_is_unfinished_grows() -> None:
    reader = Reader()
    assert reader.feed(ILLEGAL.encode()[:100]) == []
    (record,) = reader.unfinished()
    assert (record.size_bytes, record.kernel, record.device, record.is_cut) == (224, "add_custom", None, True)
    (ended,) = reader.feed(ILLEGAL.encode()[100:])
    assert (ended.device, ended.is_cut, reader.unfinished()) == (0, False, [])


def test_a_record_that_can_have_no_more_lines_is_whole() -> None:
    free = "====== ERROR: illegal free()\n======    at 0x1 on GM\n======    code in a.cpp:3 (serialNo:7)\n"
    (record,), state, problems = outcome(free.encode())
    assert (record.is_cut, problems, state.gaps) == (False, (), ("no-markers",))


def test_nothing_can_be_fed_after_the_end() -> None:
    reader = Reader()
    reader.finish()
    with pytest.raises(ValueError):
        reader.feed(b"x")


FREE = "====== ERROR: illegal free() \n======    at 0x12c0 on GM\n======    code in a.cpp:3 (serialNo:7)\n\n"
PARTS = (
    *(ILLEGAL, BOUNDS, RACE, LOCK_UP, LEAKS, REGISTER, STARTED, FINISHED, CLEAN),
    *(ILLEGAL.replace("\n", "\r\n"), RACE.replace("\n", "\r\n"), ILLEGAL.replace("a", "\x1b[1ma")),
    *(ILLEGAL.replace("add", "加法"), BOUNDS.replace("custom", "a // b"), RACE.replace("RAW", "WAW")),
    *(FREE, FREE.replace("\n", "\r\n"), FREE.replace("a.cpp:3", "<unknown>"), FREE.replace("GM", "XY")),
    *("\n", "\r", " 10%|#  |", "step 1\n", "====== ", "[mssanitizer] ", "\x1b[2K", "====== ERROR: x\n"),
)
raw_parts = st.sampled_from([part.encode() for part in PARTS] + ["目录=加法".encode("gbk"), b"\xff\xfe"])


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Records, halves of records and program text in any order, maybe with a prefix on every line."""
    pieces = draw(st.lists(raw_parts, max_size=12))
    for i, piece in enumerate(pieces):
        if draw(st.integers(0, 5)) == 0:
            pieces[i] = piece[: draw(st.integers(0, len(piece)))]
    raw = b"".join(pieces)
    prefixes = draw(st.sampled_from([[b""], [b"[rank0]: "], [b"[rank0]: ", b"[rank1]: "], [b"", b"junk "]]))
    lines = raw.split(b"\n")
    length = draw(st.integers(1, 12))
    return b"\n".join(prefixes[i // length % len(prefixes)] + line for i, line in enumerate(lines))


@given(logs(), st.lists(st.integers(0, 6000), max_size=6))
def test_chunks_make_no_difference(raw: bytes, cuts: list[int]) -> None:
    assert outcome(raw, [min(cut, len(raw)) for cut in cuts]) == outcome(raw)


@given(logs())
def test_whole_records_are_read_as_line_by_line(raw: bytes) -> None:
    assert line_by_line(raw) == outcome(raw)


@given(st.binary(max_size=2000), st.lists(st.integers(0, 2000), max_size=4))
def test_any_bytes(raw: bytes, cuts: list[int]) -> None:
    assert outcome(raw, [min(cut, len(raw)) for cut in cuts]) == outcome(raw)


@given(st.data())
def test_damaged_bytes(data: st.DataObject) -> None:
    raw = bytearray(RAW)
    for _ in range(data.draw(st.integers(1, 12))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    assert line_by_line(bytes(raw)) == outcome(bytes(raw))


# ---- long lines ----


def test_a_line_too_long_is_left_out() -> None:
    text = STARTED + ILLEGAL + "x" * (MAX_LINE_BYTES + 1) + "\n" + BOUNDS + FINISHED
    records, state, problems = outcome(text.encode())
    assert [record.kind for record in records] == ["illegal read", "out of bounds"]
    byte = len(STARTED + ILLEGAL)
    assert [(problem.kind, problem.line, problem.byte) for problem in problems] == [("too-large", 9, byte)]
    assert (state.gaps, state.n_skipped_lines) == (("skipped-lines",), 1)
    assert outcome(text.replace("xx\n", "x\n").encode())[1].is_complete


@pytest.mark.parametrize("tail", ["\n", "", "\r\n", "\r", "\r====== ERROR: illegal free()\n", "\r\r\nnext\n"])
@pytest.mark.parametrize("within", [STARTED, STARTED + ILLEGAL[:120]])
def test_long_lines_in_chunks(tail: str, within: str) -> None:
    raw = (within + "y" * (3 * MAX_LINE_BYTES) + tail).encode()
    expected = outcome(raw)
    assert outcome(raw, range(0, len(raw), 1000)) == expected
    assert line_by_line(raw) == expected
    assert expected[1].n_skipped_lines == (0 if "======" in tail else 1)


def test_places_behind_long_lines_in_chunks() -> None:
    long = "y" * (2 * MAX_LINE_BYTES) + "\n"
    raw = (long + long + STARTED + long + "step\n" + long + ILLEGAL + FINISHED).encode()
    expected = outcome(raw)
    starts = [0, len(long), 2 * len(long) + len(STARTED), 3 * len(long) + len(STARTED) + 5]
    assert [(problem.line, problem.byte) for problem in expected[2]] == list(
        zip([1, 2, 4, 6], starts, strict=True)
    )
    for size in (777, 100_000, 150_000):
        assert outcome(raw, range(0, len(raw), size)) == expected


def test_a_progress_bar_of_hours_is_one_line_and_its_last_part_counts() -> None:
    bar = "".join(f"\r {n}%|{'#' * 50}" for n in range(20_000))
    raw = (STARTED + bar + "\r" + ILLEGAL + FINISHED).encode()
    records, state, problems = outcome(raw, range(0, len(raw), 50_000))
    assert [record.kind for record in records] == ["illegal read"]
    assert (problems, state.is_complete) == ((), True)


def test_one_line_of_50_mb_needs_little_memory() -> None:
    reader = Reader()
    block = b"====== ERROR: illegal read of size 4 " * 28_000
    tracemalloc.start()
    try:
        for _ in range(50):
            reader.feed(block)
        reader.finish()
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert [problem.kind for problem in reader.problems] == ["too-large"]
    assert "skipped-lines" in reader.state.gaps


# ---- lines made to hurt ----


def hostile_lines() -> Iterator[str]:
    n = 60_000
    yield "====== ERROR: Potential RAW hazard detected at UB in " + "a in " * (n // 5) + ":"
    yield "====== ERROR: illegal read of size " + "1" * n
    yield "======    at 0x1 on GM" + " when writing data in x" * (n // 23)
    yield "======    at 0x" + "f" * n + " on GM"
    yield "======    in block " + "aiv(1)," * (n // 7)
    yield "======    in block aiv(" + "1-2," * (n // 4) + ")"
    yield "======    in block aiv(" + "1-2," * (n // 4) + "1) on device 0"
    yield "======    in block " + "aiv(0-4095)," * (n // 12)
    yield "======    in block aiv(" + "1" * n + ") on device " + "9" * n
    yield "======    in block aiv(0) on device 0" * (n // 37)
    yield "======    code in " + "a:1" * (n // 3) + "x"
    yield "======    code in " + "(serialNo:1" * (n // 11) + ")"
    yield "======    #0 " + ":1" * (n // 2)
    yield "======    #" + "1" * n
    yield "======    PIPE_V Write at RAW()+0x1 in block 0 (aiv) on device 0 at " + "a(" * (n // 2)
    yield "======    from PIPE_V to PIPE_" + "V" * n
    yield "======    WAIT_FLAG in " + " in " * (n // 4)
    yield "======    A" + "A" * n + " in"
    yield "====== " * (n // 7)
    yield "=" * n
    yield " ======" * (n // 7) + " ERROR: x"
    yield "======" + " //" * (n // 3)
    yield "\x1b[" * (n // 2)
    yield "\x1b]" * (n // 2)
    yield "\x1b[" + "1;" * (n // 2)
    yield "\x1bP" * (n // 2)
    yield "\r" * n
    yield "[mssanitizer] Start " + "a, " * (n // 3)
    yield "[mssanitizer] Warning:Register R was not reset to default in block " + "aiv(1)" * (n // 6)
    yield "[mssanitizer] Sanitizer finished on kernel " + ". No error detected" * (n // 19)
    yield "[mssanitizer]" * (n // 13)
    yield "10:00:00.000 " * 15 + "======    #0 x"


@pytest.mark.parametrize("number", range(len(list(hostile_lines()))))
def test_hostile_lines_cost_linear_time(number: int) -> None:
    """A line of 60 KB costs a few milliseconds, whatever is in it; one bad pattern would take minutes."""
    line = list(hostile_lines())[number]
    raw = (ILLEGAL[:120] + (line + "\n") * 8).encode()
    began_s = time.process_time()
    outcome(raw)
    assert time.process_time() - began_s < 2.0


def test_digits_without_end_are_no_number() -> None:
    records, _, _ = outcome(ILLEGAL.replace("224", "9" * 5000).encode())
    assert [record.kind for record in records] == ["other"]
    assert len(records[0].head) == 4096


def test_texts_are_bounded() -> None:
    name = "k" * 50_000
    text = ILLEGAL.replace("add_custom", name).replace("/src", name) + f"====== ERROR: {name}\n\n"
    records, _, _ = outcome(text.encode())
    for record in records:
        texts = [record.head, record.kernel or "", *(frame.file for frame in record.frames)]
        assert max(map(len, texts)) == 4096


def test_frames_pipes_and_strange_lines_are_bounded() -> None:
    stack = "".join(f"======    #{n} a.cpp:{n}:1\n" for n in range(1000))
    (record,), _, problems = outcome((ILLEGAL[: ILLEGAL.index("======    #")] + stack + "\n").encode())
    assert len(record.frames) == store.MAX_FRAMES and record.frames[-1].line == 255
    assert [problem.kind for problem in problems] == ["limit"]
    strange = "".join(f"======    strange {n}\n" for n in range(1000))
    (record,), _, _ = outcome((ILLEGAL[: ILLEGAL.index("======    #")] + strange + "\n").encode())
    assert len(record.extra) == 8
    pipe = "======    A_B in k\n======    by PIPE_V in block aiv(0) on device 1\n======    code in a:1\n"
    (record,), _, problems = outcome(
        ("====== ERROR: Sync error detected. kernel locked up at\n" + pipe * 5000).encode()
    )
    assert len(record.sides) == 4097 and {problem.kind for problem in problems} == {"limit", "cut-off"}


def test_different_texts_are_bounded_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_TEXT_BYTES", 100_000)
    text = "".join(ILLEGAL.replace("add_custom", f"k{n}" + "x" * 900) for n in range(300))
    records, _, problems = outcome(text.encode())
    assert sum(len(record.kernel or "") for record in records) < 120_000
    assert records[-1].kernel == ("k299" + "x" * 900)[:64]
    assert [problem.kind for problem in problems] == ["limit"]


def test_streams_and_open_records_are_bounded() -> None:
    text = "".join(f"[{n}x] ====== ERROR: illegal read of size 4\n" * 2 for n in range(5000))
    records, state, problems = outcome(text.encode())
    assert len(records) == 10_000 and len(state.streams) <= 1024
    assert len(problems) < 50


def test_notices_are_bounded() -> None:
    text = STARTED + "[mssanitizer] something\n" * 5000 + "====== SUMMARY: 1 pipe(s) locked up.\n" * 500
    _, state, _ = outcome(text.encode())
    assert (len(state.notices), state.n_notices, len(state.summaries)) == (100, {"other": 5000}, 100)


def test_problems_are_bounded_and_counted() -> None:
    text = ("====== ERROR: illegal read of size 4\n======    #0 a.cpp:1:1\n\n" * 100).encode()
    _, _, problems = outcome(text)
    assert [problem.kind for problem in problems] == ["bad-record"] * 20 + ["limit"]
    assert problems[-1].message == "80 more problems in this log"


# ---- files ----


def write(folder: Path, text: str | bytes, name: str = "check.log") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_file(tmp_path: Path) -> None:
    seen: list[Progress] = []
    report = read_report(write(tmp_path, SMALL), root=tmp_path, progress=seen.append)
    records, state, problems = outcome(RAW)
    assert report.records == tuple(sorted(records, key=lambda record: record.byte))
    assert (report.state, report.problems) == (state, problems)
    assert seen == [Progress("read", len(RAW), len(RAW), "bytes")]


def test_windows_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, SMALL * 3)
    whole = read_report(path, root=tmp_path)
    monkeypatch.setattr("npulse.core.formats.mssanitizer.reader.WINDOW_BYTES", 997)
    assert read_report(path, root=tmp_path) == whole


@pytest.mark.parametrize("raw", [b"", b"\0" * 100, b"hello\n", b"\xff\xfe=\0=\0", b"====== ERROR: mine\n"])
def test_a_file_of_something_else(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(InputError) as caught:
        read_report(write(tmp_path, raw), root=tmp_path)
    assert caught.value.hint and caught.value.path


def test_random_bytes_are_no_report(tmp_path: Path) -> None:
    for seed in range(20):
        path = write(tmp_path, random.Random(seed).randbytes(200_000))
        with pytest.raises(InputError):
            read_report(path, root=tmp_path)


def test_a_path_that_leads_out_of_the_run(tmp_path: Path) -> None:
    outside = write(tmp_path, SMALL)
    run = tmp_path / "run"
    run.mkdir()
    (run / "check.log").symlink_to(outside)
    with pytest.raises(InputError, match="outside"):
        read_report(run / "check.log", root=run)
    with pytest.raises(InputError):
        read_report(run / "missing.log", root=run)


def test_more_records_than_are_kept(tmp_path: Path) -> None:
    report = read_report(write(tmp_path, STARTED + ILLEGAL * 5 + FINISHED), root=tmp_path, max_records=2)
    assert len(report.records) == 2 and report.state.n_records == {"illegal read": 5}
    assert report.state.gaps == ("limit",)
    assert [problem.message for problem in report.problems] == ["3 records behind the first 2 were left out"]


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npulse.core.formats.mssanitizer.reader.WINDOW_BYTES", 4096)
    path = write(tmp_path, STARTED + ILLEGAL * 100 + FINISHED)

    def shrink(progress: Progress) -> None:
        with path.open("r+b") as file:
            file.truncate(5000)

    report = read_report(path, root=tmp_path, progress=shrink)
    assert len(report.records) > 10 and "unreadable" in report.state.gaps
    assert "unreadable" in [problem.kind for problem in report.problems]


def test_it_can_be_cancelled(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        read_report(write(tmp_path, SMALL), root=tmp_path, is_cancelled=lambda: True)


def test_problems_name_the_file_within_the_run(tmp_path: Path) -> None:
    report = read_report(write(tmp_path, SMALL[:300]), root=tmp_path)
    assert [problem.artifact for problem in report.problems] == ["check.log"]
    assert told(SMALL[:300])[0][0] == "cut-off"


# ---- cost ----


def big_log(n_records: int) -> str:
    """Records of many sites, about 480 bytes each."""
    parts = [STARTED]
    for n in range(n_records):
        record = (ILLEGAL, ILLEGAL, ILLEGAL, BOUNDS, RACE)[n % 5]
        record = record.replace("0x668", f"0x{n % 4096:x}").replace("0x12c0c0014e00", f"0x12c0c{n * 16:07x}")
        parts.append(
            record.replace("add.cpp:43", f"add.cpp:{n % 300}").replace("serialNo:65", f"serialNo:{n}")
        )
    return "".join([*parts, FINISHED])


def test_records_of_one_site_share_their_texts() -> None:
    reader = Reader()
    records = reader.feed((ILLEGAL * 100).encode())
    first, last = records[0], records[-1]
    assert first.frames is last.frames and first.head is last.head and first.kernel is last.kernel
    assert first.cores is last.cores


@pytest.mark.budget
def test_time_and_memory_of_100_000_records(tmp_path: Path) -> None:
    """In a process of its own: at most 40 us and 900 bytes a record, on any machine."""
    path = write(tmp_path, big_log(100_000))
    code = (
        f"import sys; sys.path.insert(0, {str(Path(npulse.__file__).parents[1])!r})\n"
        "import resource, time\nfrom pathlib import Path\n"
        "from npulse.core.formats.mssanitizer.reader import read_report\n"
        f"path = Path({str(path)!r})\n"
        "usage = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "before = usage(); began = time.process_time()\n"
        "report = read_report(path, root=path.parent)\n"
        "print(len(report.records), time.process_time() - began, usage() - before, report.state.is_complete)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    n, seconds, grown_mb, is_complete = done.stdout.split()
    assert (n, is_complete) == ("100000", "True")
    assert float(seconds) < 4.0
    assert float(grown_mb) < 90


@pytest.mark.budget
def test_a_stream_keeps_nothing() -> None:
    raw = big_log(20_000).encode()
    reader = Reader()
    n = 0
    tracemalloc.start()
    try:
        for at in range(0, len(raw), 1 << 16):
            n += len(reader.feed(raw[at : at + (1 << 16)]))
        assert tracemalloc.get_traced_memory()[0] < 6 << 20
    finally:
        tracemalloc.stop()
    assert n + len(reader.finish()) == 20_000

"""Captures that are broken or made to harm: right exit code, sound output, the rest still judged."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npulse
from npulse.core.cache import Cache
from npulse.core.errors import InputError
from npulse.core.formats.msprobe.construct import ancestors, read_construct
from npulse.core.formats.msprobe.dump import read_dump
from npulse.core.formats.msprobe.stacks import parse_frame
from npulse.core.formats.tensors import open_tensor
from npulse.core.precision import captured
from npulse.core.precision import compare as comparing
from npulse.core.precision.alone import check_alone
from npulse.core.precision.compare import Settings
from npulse.core.precision.reading import reads, remember, work
from npulse.core.query import matching_rows
from npulse.core.report import FORMATS, render
from npulse.core.run.discover import discover
from npulse.core.run.model import Artifact
from npulse.core.table import sort_order
from npulse.core.text import safe_text
from npulse.tui.keymap import check_keymap
from npulse.tui.state import StateStore

from ..terminal.pty_screen import PtyProgram
from . import make_hostile as hostile
from .make_hostile import CALLS, CASES, dump_of, edit, first_tensor, rank0, run_cli, strict_json

NPULSE = (sys.executable, "-m", "npulse")
TABLE_FORMATS = ("md", "csv", "jsonl")


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    return hostile.sound_pair(tmp_path / "run")


def compare(root: Path, **settings: Any) -> npulse.PrecisionReport:
    return npulse.compare(root / "npu", root / "cpu", tables=True, settings=Settings(jobs=1, **settings))


def problems_of(report: npulse.PrecisionReport) -> list[tuple[str, str]]:
    return [(problem.artifact, problem.kind) for problem in report.problems]


# ---- every case ------------------------------------------------------------------------------------------


def test_the_sound_pair_passes(pair: Path) -> None:
    result = run_cli("precision", pair / "npu", pair / "cpu", "--jobs", 1, "--format", "json", "--tables")
    found = strict_json(result.out)
    assert (result.code, found["verdict"], found["problems"]) == (0, "pass", [])
    rows = found["tables"]["precision"]
    assert {row["rank"] for row in rows} == {0, 1} and {row["basis"] for row in rows} == {"tensor", "value"}


@pytest.mark.parametrize(("name", "turn"), zip(CASES, cycle(TABLE_FORMATS)))
def test_case(name: str, turn: str, tmp_path: Path) -> None:
    check_case(name, (turn,), tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_case_in_every_format(name: str, tmp_path: Path) -> None:
    check_case(name, TABLE_FORMATS, tmp_path)


def check_case(name: str, formats: tuple[str, ...], tmp_path: Path) -> None:
    """As JSON, as text, as a triage, and its tables in these formats."""
    case = CASES[name]
    root = hostile.spoiled(name, tmp_path / "run")
    before = hostile.snapshot(tmp_path)
    command = ("precision", root / "npu", root / "cpu", "--jobs", 1, "--format")
    as_json = run_cli(*command, "json", "--tables")
    others = [run_cli(*command, "text")]
    if not case.is_slow:
        others += [run_cli(*command, each, "--tables") for each in formats]
    others.append(run_cli(root))
    for result in (as_json, *others):
        assert hostile.unwanted(result.out) == set()
        assert hostile.unwanted(result.err.encode()) == set() and "Warning" not in result.err
        assert result.code in (0, 1, 2, 4)
    assert as_json.code in case.codes and {r.code for r in others[:-1]} == {as_json.code}
    if as_json.code == 2:
        assert as_json.out == b"" and str(root) in as_json.err, "says which file"
    else:
        _check_json(strict_json(as_json.out), as_json.code, case)
    assert hostile.snapshot(tmp_path) == before, "nothing is written beside or into the run"
    assert not (tmp_path / "pwned").exists(), "no code of a file runs"


def _check_json(found: dict[str, Any], code: int, case: hostile.Case) -> None:
    assert code == {"pass": 0, "warn": 0, "fail": 1, "unknown": 4, "incomplete": 4}[found["verdict"]]
    for problem in found["problems"]:
        assert problem["artifact"] and problem["message"]
        assert not problem["artifact"].startswith(tempfile.gettempdir()), "relative to the run"
    if code == 4:
        assert found["problems"] or found["counts"]["unknown"]
    if case.rank1_judged:
        rows = [row for row in found["tables"]["precision"] if row["rank"] == 1]
        assert {row["verdict"] for row in rows} == {"pass"} and len(rows) == 4 * len(CALLS)


# ---- one broken part does not take down the others -------------------------------------------------------


@pytest.mark.parametrize("side", ["npu", "cpu"])
@pytest.mark.parametrize("content", [b'{"task": "statistics"}', b'{"\0'])
def test_an_unusable_rank_is_a_problem(pair: Path, side: str, content: bytes) -> None:
    dump_of(pair, side).write_bytes(content)
    shutil.rmtree(rank0(pair, side) / "dump_tensor_data")
    report = compare(pair)
    assert [rank.rank for rank in report.comparison.ranks] == [1]
    assert report.verdict == "incomplete" and report.report.exit_code() == 4
    assert ("step0/rank0/dump.json", "unreadable") in problems_of(report)


def test_no_usable_rank_is_an_error(pair: Path) -> None:
    for rank in ("rank0", "rank1"):
        folder = pair / "cpu" / "step0" / rank
        (folder / "dump.json").write_bytes(b'{"task": "tensor", "level": "L1"}')
        shutil.rmtree(folder / "dump_tensor_data")
    with pytest.raises(InputError, match="no data") as caught:
        compare(pair)
    assert caught.value.path == str(dump_of(pair, "cpu")) and caught.value.exit_code == 2


def test_a_rank_that_vanishes_after_discovery(pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = captured.read_capture

    def vanish_first(artifact: Artifact, *rest: Any) -> Any:
        if artifact.path == dump_of(pair):
            shutil.rmtree(artifact.path.parent)
        return read(artifact, *rest)

    monkeypatch.setattr(captured, "read_capture", vanish_first)
    report = compare(pair)
    assert [rank.rank for rank in report.comparison.ranks] == [1]
    assert ("step0/rank0/dump.json", "unreadable") in problems_of(report)


def test_ranks_of_one_side_alone_are_not_passed_over(pair: Path) -> None:
    shutil.rmtree(rank0(pair))
    report = compare(pair)
    assert report.verdict == "incomplete"
    assert problems_of(report) == [("step0/rank0", "missing")]
    asked_for = compare(pair, rank=1)
    assert asked_for.verdict == "pass" and problems_of(asked_for) == [], "the other rank was not asked for"


def test_broken_rank_of_a_capture_alone(pair: Path) -> None:
    def spoil(content: Any) -> None:
        next(iter(hostile.tensors(content["data"][CALLS[2]]["output"])))["Max"] = float("inf")

    edit(pair / "npu" / "step0" / "rank1" / "dump.json", spoil)
    dump_of(pair).write_bytes(b'{"task": "tensor", "level": "L1"}')
    shutil.rmtree(rank0(pair) / "dump_tensor_data")
    (pair / "npu" / "step0" / "rank1" / "construct.json").write_bytes(b"[]")
    run = discover(pair / "npu")
    report = check_alone(run, run.artifacts)
    assert report.verdict == "fail" and report.findings[0].subject == CALLS[2]
    assert {(p.artifact, p.kind) for p in report.problems} == {
        ("step0/rank0", "unreadable"),
        ("step0/rank1/construct.json", "unreadable"),
    }


def test_a_dump_file_alone_is_checked_with_its_hierarchy(pair: Path) -> None:
    result = run_cli("precision", dump_of(pair), "--format", "json")
    assert result.code == 4 and strict_json(result.out)["problems"] == []


def test_a_broken_round_does_not_take_down_the_next(tmp_path: Path) -> None:
    for name in ("round1", "round2"):
        hostile.sound_pair(tmp_path / name, ranks=(0,))
    dump_of(tmp_path / "round1").write_bytes(b'{"task": "tensor", "level": "L1"}')
    shutil.rmtree(rank0(tmp_path / "round1") / "dump_tensor_data")
    result = run_cli(tmp_path)
    text = result.out.decode()
    assert result.code == 4 and "no data" in text
    assert "PASS" in text[text.index("round2") :]


@pytest.mark.parametrize("name", ["stack.json", "construct.json"])
def test_comparison_goes_on_without_stack_or_hierarchy(pair: Path, name: str) -> None:
    hostile.write_rank(rank0(pair), 0, scale=2.0)
    (rank0(pair) / name).write_bytes(b"\0\0\0")
    report = compare(pair)
    assert report.verdict == "fail" and report.findings[0].subject == CALLS[2]
    assert (f"step0/rank0/{name}", "unreadable") in problems_of(report)


# ---- unknown is not a pass, and not a failure either -----------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"\0\1\2", b'{"task": "tensor", "level": "L1"}'])
def test_a_rank_rebuilt_from_its_files_is_compared(pair: Path, content: bytes) -> None:
    dump_of(pair).write_bytes(content)
    report = compare(pair)
    assert report.verdict == "incomplete", "equal tensors are no finding, a lost index is no pass"
    measured = [rank.rows.verdict[rank.rows.basis == 1] for rank in report.comparison.ranks]
    assert [len(v) for v in measured] == [6, 6] and not np.concatenate(measured).any()
    assert any(a.endswith("dump.json") and k in ("unreadable", "cut-off") for a, k in problems_of(report))


@pytest.mark.parametrize("keep_files", [True, False])
def test_shape_of_one_side_alone_is_no_difference(pair: Path, keep_files: bool) -> None:
    def drop(content: Any) -> None:
        for record in hostile.tensors(content):
            del record["shape"]
            if not keep_files:
                del record["data_name"]

    edit(dump_of(pair), drop)
    report = compare(pair)
    rows = report.to_frame()
    rows = rows[(rows["rank"] == 0) & (rows["basis"] != "value")]
    if keep_files:
        assert report.verdict == "pass" and set(rows["basis"]) == {"tensor"}
    else:
        assert report.verdict == "unknown" and set(rows["reason"]) == {"not-recorded"}


def test_an_index_that_is_none_on_both_sides_is_told(pair: Path) -> None:
    for side in ("npu", "cpu"):
        dump_of(pair, side).write_bytes(b"\x89PNG")
        shutil.rmtree(rank0(pair, side) / "dump_tensor_data")
    report = compare(pair)
    assert report.verdict == "incomplete"
    assert problems_of(report) == [("step0/rank0/dump.json", "unreadable")] * 2


def test_another_programs_dump_json_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "dump.json").write_text('{"users": []}')
    assert discover(tmp_path).problems == ()


def test_impossible_shapes_are_left_out(pair: Path) -> None:
    edit(dump_of(pair), lambda c: [r.update(shape=[2**40] * 3) for r in hostile.tensors(c)] and None)
    dump = read_dump(dump_of(pair))
    assert list(dump.leaves.shapes) == [] and [p.kind for p in dump.problems] == ["shape"]


def test_sizes_of_a_lie_do_not_overflow(pair: Path) -> None:
    for side in ("npu", "cpu"):
        edit(
            dump_of(pair, side),
            lambda c: [r.update(shape=[2**31, 2**31], data_name=None) for r in hostile.tensors(c)] and None,
        )
    result = run_cli("precision", pair / "npu", pair / "cpu", "--format", "json", "--tables")
    rows = strict_json(result.out)["tables"]["precision"]
    assert {row["n_elements"] for row in rows if row["rank"] == 0 and row["basis"] == "statistics"} == {2**62}


def test_long_step_numbers_keep_their_value(pair: Path) -> None:
    for side in ("npu", "cpu"):
        (pair / side / "step0").rename(pair / side / "step12345678901234567")
    assert set(compare(pair).to_frame()["step"]) == {12345678901234567}


def test_columns_without_any_value_can_be_sorted_and_filtered(pair: Path) -> None:
    dump_of(pair).write_bytes(b'{"task": "statistics", "level": "L1", "data": {}}')
    shutil.rmtree(pair / "npu" / "step0" / "rank1")
    shutil.rmtree(rank0(pair) / "dump_tensor_data")
    table = compare(pair).report.tables["precision"]
    assert table.n_rows == 4 * len(CALLS)
    for column in table.columns:
        assert sorted(sort_order(table, column.name, descending=True).tolist()) == list(range(table.n_rows))
    assert len(matching_rows(table, "linear")) == 4


# ---- files outside, folders of other layouts -------------------------------------------------------------


def test_tensor_folder_of_compiled_graphs(pair: Path) -> None:
    for side in ("npu", "cpu"):
        folder = rank0(pair, side)
        (folder / "dump_tensor_data").rename(folder / "tensor_data")
    assert read_dump(dump_of(pair)).tensor_dir == rank0(pair) / "tensor_data"
    report = compare(pair)
    assert report.verdict == "pass" and set(report.to_frame()["basis"]) == {"tensor", "value"}


def test_usual_tensor_folder_comes_first(pair: Path) -> None:
    (rank0(pair) / "tensor_data").mkdir()
    assert read_dump(dump_of(pair)).tensor_dir == rank0(pair) / "dump_tensor_data"


@pytest.mark.parametrize("name", [n for n, v in hostile.BAD_FILE_NAMES.items() if isinstance(v, str)])
def test_file_names_lead_nowhere(pair: Path, name: str) -> None:
    value = hostile.BAD_FILE_NAMES[name]

    def change(content: Any) -> None:
        next(iter(hostile.tensors(content)))["data_name"] = value

    edit(dump_of(pair), change)
    report = compare(pair)
    assert report.verdict == "incomplete" and report.report.counts["unknown"] == 1
    assert [p.kind for p in report.problems] in (["outside-run"], ["missing"], ["unreadable"], ["encoding"])


@pytest.mark.parametrize("option", ["--rank", "--step"])
def test_a_rank_or_step_that_is_nowhere(pair: Path, option: str) -> None:
    result = run_cli("precision", pair / "npu", pair / "cpu", option, 7)
    assert result.code == 2 and f"{option[2:]} 7" in result.err and "step 0 rank 1" in result.err


def test_target_is_golden(pair: Path) -> None:
    result = run_cli("precision", pair / "npu", pair / "cpu" / ".." / "npu", "--format", "json")
    assert result.code == 2 and "the same" in result.err, "a capture that agrees with itself is no pass"
    first_tensor(pair).unlink()
    alike = npulse.compare(pair / "npu", pair / "npu")
    assert alike.verdict == "incomplete", "a file that is missing on both sides is no pass"


def test_folder_names_that_are_hostile(tmp_path: Path) -> None:
    evil = os.fsdecode(b"bad\xff\x1b[2J\x1b]0;t\x07[red]")
    root = hostile.sound_pair(tmp_path / evil)
    hostile.write_rank(rank0(root), 0, scale=2.0)
    first_tensor(root).write_bytes(b"")
    for name in FORMATS:
        result = run_cli("precision", root / "npu", root / "cpu", "--format", name, "--tables")
        assert result.code in (1, 4) and hostile.unwanted(result.out) == set()
    found = strict_json(run_cli("precision", root / "npu", root / "cpu", "--format", "json").out)
    assert evil in found["run"], "the name survives as JSON escapes"
    assert hostile.unwanted(run_cli(root).out) == set()
    missing = run_cli("precision", root / "\x1b[2Jnowhere", root / "cpu")
    assert missing.code == 2 and hostile.unwanted(missing.err.encode()) == set()


@pytest.mark.parametrize("encoding", ["ascii", "gbk", "latin-1", "utf-8"])
def test_output_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    root = hostile.spoiled("hostile texts everywhere", tmp_path / "run")
    command = ("precision", root / "npu", root / "cpu", "--tables", "--format")
    assert strict_json(run_cli(*command, "json", encoding=encoding).out.decode("utf-8"))["verdict"] == "fail"
    for line in run_cli(*command, "jsonl", encoding=encoding).out.decode("utf-8").splitlines():
        strict_json(line)
    text = run_cli(*command, "text", encoding=encoding).out
    assert set(text) & {*range(9), *range(11, 32), 127} == set()
    text.decode(encoding)


def test_names_survive_json_as_they_are(pair: Path) -> None:
    names = [f"Torch.{text}.{n}.forward" for n, text in enumerate(hostile.EVIL_TEXTS[:-1])]
    for side in ("npu", "cpu"):
        edit(dump_of(pair, side), lambda c: c.update(data=dict.fromkeys(names, c["data"][CALLS[1]])))
    raw = run_cli("precision", pair / "npu", pair / "cpu", "--rank", 0, "--format", "json", "--tables").out
    assert [r["operator"] for r in strict_json(raw)["tables"]["precision"]][::4] == names


@pytest.mark.parametrize("code", [0x1B, 0x9B, 0x200B, 0x200D, 0x2060, 0x061C, 0x00AD, 0x202E, 0xE0041])
def test_safe_text_lets_nothing_hide(code: int) -> None:
    assert chr(code) not in safe_text(f"a{chr(code)}b") and len(safe_text(f"a{chr(code)}b")) == 3


# ---- cost ------------------------------------------------------------------------------------------------


def test_frames_of_blanks_take_linear_time() -> None:
    blanks = " " * 2_000_000
    frame = parse_frame(f"File a.py, line 3, in f{blanks}x, ,{blanks}\n y")
    assert (frame.file, frame.line, frame.source) == ("a.py", 3, "y")
    assert frame.function == f"f{blanks}x, " and parse_frame("File a, line 7, in g, \n z").function == "g"


def test_endless_parents_end(tmp_path: Path) -> None:
    path = tmp_path / "construct.json"
    path.write_text(json.dumps({f"p{n}": f"p{n + 1}" for n in range(5000)}))
    assert 64 <= len(list(ancestors(read_construct(path), "p0"))) <= 1000


def test_many_calls_of_one_side(pair: Path) -> None:
    """One half of 6,000 calls is the target's alone and the other half differs: no look at all pairs."""
    for side, scale in (("npu", 2.0), ("cpu", 1.0)):
        record = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4]}
        data = {}
        for n in range(3000):
            four = {"Max": n + scale, "Min": -n * scale, "Mean": scale, "Norm": n * scale + 1}
            entry = {"input_args": [{**record, **four}], "output": [{**record, **four, "Max": n + 9 * scale}]}
            if side == "npu":
                data[f"Torch.alone.{n}.forward"] = entry
            data[f"Torch.both.{n}.forward"] = entry
        edit(dump_of(pair, side), lambda c, data=data: c.update(task="statistics", data=data))
    assert run_cli("precision", pair / "npu", pair / "cpu", "--rank", 0, "--format", "csv").code == 1


LIMITED = """
import sys
sys.path.insert(0, sys.argv[1])
from npulse.tui.cli.main import run
codes = []
for root in sys.argv[2:]:
    codes.append(run(["precision", root + "/npu", root + "/cpu", "--jobs", "1", "--format", "csv"]))
print(codes, file=sys.stderr)
"""


def test_memory_stays_bounded(tmp_path: Path) -> None:
    names = [
        "a million brackets", "ten megabytes in a line", "pt is a zip bomb", "pt claims 2**40 elements",
        "npy claims 2**40 elements", "shape of 10**12", "a frame of blanks", "entry names of a megabyte",
    ]  # fmt: skip
    roots = [str(hostile.spoiled(name, tmp_path / str(n))) for n, name in enumerate(names)]
    limit = 900 << 20
    child = subprocess.run(
        [sys.executable, "-c", LIMITED, str(hostile.SRC), *roots],
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        timeout=60,
        check=False,
    )
    codes = json.loads(child.stderr.decode().splitlines()[-1])
    assert all(code in CASES[name].codes for code, name in zip(codes, names, strict=True)), codes
    assert b"Traceback" not in child.stderr and b"MemoryError" not in child.stderr


# ---- files that change while they are read ---------------------------------------------------------------


@pytest.mark.parametrize("change", ["cut", "gone", "replaced", "grown"])
@pytest.mark.parametrize("moment", ["first", "second"])
def test_tensor_files_that_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, moment: str
) -> None:
    root = hostile.sound_pair(tmp_path / "run")
    hostile.write_rank(rank0(root), 0, scale=2.0)
    victim = rank0(root) / "dump_tensor_data" / f"{CALLS[2]}.output.0.npy"
    name = "compare_files" if moment == "first" else "examine"
    real = getattr(work, name)

    def spoil_then(target: Any, golden: Any, **more: Any) -> Any:
        if Path(target.path) == victim:
            _change_file(victim, change)
        return real(target, golden, **more)

    monkeypatch.setattr(work, name, spoil_then)
    report = compare(root)
    others = [r for r in report.comparison.ranks if r.rank == 1]
    assert not others[0].rows.verdict.any(), "rank 1 passes"
    if moment == "second":
        assert report.verdict == "fail", "the first read has seen the difference"
    else:
        assert report.verdict == "incomplete"
        assert [p.kind for p in report.problems] == ["changed"]


def test_a_tensor_in_use_cannot_be_cut(tmp_path: Path) -> None:
    path = tmp_path / "t.npy"
    values = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    np.save(path, values)
    array = open_tensor(path, root=tmp_path).array()
    os.truncate(path, 0)
    assert np.array_equal(array, values)


def _change_file(path: Path, change: str) -> None:
    if change == "cut":
        os.truncate(path, path.stat().st_size - 8)
    elif change == "gone":
        path.unlink()
    elif change == "replaced":
        path.with_suffix(".new").write_bytes(path.read_bytes())
        path.with_suffix(".new").replace(path)
    else:
        with path.open("ab") as file:
            file.write(b"more")


def test_results_of_changed_files_are_not_kept(
    pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path / "cache")
    real = reads.measure

    def measure_then_change(job: Any) -> Any:
        result = real(job)
        if job.target.path == first_tensor(pair):
            np.save(first_tensor(pair), np.ones(hostile.SHAPE, np.float32))
        return result

    monkeypatch.setattr(reads, "measure", measure_then_change)
    assert compare(pair, cache=cache, rank=0).verdict == "pass", "as it was when it was read"
    monkeypatch.undo()
    assert compare(pair, cache=cache, rank=0).verdict == "fail", "as it is now"


# ---- what others left in our folders ---------------------------------------------------------------------


def _spoil_cache(folder: Path, change: Callable[[bytes], bytes]) -> int:
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        path.write_bytes(change(path.read_bytes()))
    return len(files)


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: b"",
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[::-1],
        lambda raw: bytes(len(raw)),
        lambda raw: raw.replace(b'"patterns"', b'"pattern_"'),
        lambda raw: raw.replace(b"'<f8'", b"'|O8'"),
        lambda raw: raw.replace(b"(28,", b"(29,"),
    ],
)
def test_damaged_cache_entries_count_as_missing(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    root = hostile.sound_pair(tmp_path / "run")
    hostile.write_rank(rank0(root), 0, scale=2.0)
    cache = Cache(tmp_path / "cache")
    first = compare(root, cache=cache)
    assert _spoil_cache(cache.folder, change) > 0
    again = compare(root, cache=cache)
    assert list(render(again.report, "json", version="x")) == list(render(first.report, "json", version="x"))


@pytest.mark.parametrize(
    "facts",
    [
        None,
        {},
        [],
        {"patterns": [[0, ["x"]]], "examinations": [], "problems": []},
        {"patterns": [], "examinations": [[0, {}]], "problems": []},
        {"patterns": [[99, ["drift", {}]]], "examinations": [], "problems": []},
        {"patterns": [], "examinations": [], "problems": [{"artifact": 1, "kind": 2, "message": 3}]},
        {"patterns": 5, "examinations": {}, "problems": "x"},
    ],
)
def test_cache_entries_of_another_form_count_as_missing(
    pair: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, facts: Any
) -> None:
    cache = Cache(tmp_path / "cache")
    put = Cache.put

    def put_other(self: Cache, key: str, arrays: Any = None, _: Any = None) -> bool:
        return put(self, key, arrays, facts)

    monkeypatch.setattr(Cache, "put", put_other)
    compare(pair, cache=cache)
    assert cache.usage().n_entries == 2
    assert compare(pair, cache=cache).verdict == "pass"


def test_cached_codes_out_of_range_count_as_missing(pair: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    done = compare(pair, cache=cache, rank=0).comparison.ranks[0]
    jobs = comparing.tensor_jobs(done.rows, comparing.tensor_rows(done.rows), pair / "npu", pair / "cpu")
    key = remember.key(jobs, (done.target, done.golden))
    entry = cache.get(key) if key else None
    assert key is not None and entry is not None and remember.load(cache, key, jobs) is not None
    for codes in (entry.arrays["codes"] + np.int8(100), -entry.arrays["codes"] - np.int8(1)):
        cache.put(key, {**entry.arrays, "codes": codes}, entry.facts)
        assert remember.load(cache, key, jobs) is None
    assert compare(pair, cache=cache, rank=0).verdict == "pass"


@pytest.mark.parametrize("word", ["STATE", "CACHE", "CONFIG"])
def test_own_folder_is_a_file(pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    (tmp_path / "taken").write_text("not a folder")
    monkeypatch.setenv(f"NPULSE_{word}_DIR", str(tmp_path / "taken"))
    assert run_cli("precision", pair / "npu", pair / "cpu").code == 0
    assert run_cli("keys").code in (0, 2)
    store = StateStore()
    store.set_mark(str(pair), "x", True)
    assert store.marks(str(pair)) == {"x": ""}
    assert (tmp_path / "taken").read_text() == "not a folder"


@pytest.mark.parametrize("content", [b"", b"\0", b"[", b"[]", b'{"runs": 5}', b"{" * 100_000, b"\xff\xfe{}"])
def test_hostile_state_files(tmp_path: Path, content: bytes) -> None:
    store = StateStore(tmp_path, now_s=lambda: 0.0)
    (tmp_path / "recent.json").write_bytes(content)
    assert store.recent() == []
    store.add_recent("/a\ud800\x1b")
    assert [run.path for run in store.recent()] == ["/a\ud800\x1b"]
    assert store.marks("/a\ud800\x1b\0") == {}


def test_state_file_is_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "recent.json")
    store = StateStore(tmp_path, now_s=lambda: 0.0)
    assert store.recent() == []
    store.add_recent("/run")
    assert [run.path for run in store.recent()] == ["/run"]


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\0", b"\xff", b"[[[", b"a = " + b"[" * 5000, b'bindings = "x"', b'[bindings]\n"\\u001b" = 1\n',
        b'[bindings]\n"view.sort" = ["\\u001b]52;c;x\\u0007", "[red]"]\n', b"x" * 300_000,
    ],
)  # fmt: skip
def test_hostile_key_maps(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "\x1b[2Jkeymap.toml"
    path.write_bytes(content)
    result = run_cli("keys", "check", path)
    assert result.code in (0, 2) and hostile.unwanted(result.out + result.err.encode()) == set()


def test_key_map_is_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "keymap.toml")
    assert [problem.message for problem in check_keymap(tmp_path / "keymap.toml")]


def test_report_to_odd_places(pair: Path, tmp_path: Path) -> None:
    command = ("precision", pair / "npu", pair / "cpu", "-o")
    (tmp_path / "a.json").symlink_to(pair / "npu" / "a.json")
    (tmp_path / "loop.json").symlink_to("loop.json")
    for path in (tmp_path / "a.json", pair / "npu" / "x.csv", "/proc/x.json", "~nobody-here/x.md"):
        assert run_cli(*command, path).code == 2
    assert run_cli(*command, tmp_path / "loop.json").code in (0, 2)
    assert not list(pair.rglob("*.csv")) and not (pair / "npu" / "a.json").exists()


# ---- a run that may only be read -------------------------------------------------------------------------


def test_read_only_run_of_another_user(tmp_path: Path) -> None:
    """As a user without any right to write: the same answer, and nothing was even tried in the run."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    root = hostile.sound_pair(tmp_path / "run")
    hostile.write_rank(rank0(root), 0, scale=2.0)
    (root / "npu" / "step0" / "rank2").mkdir()
    (root / "npu" / "step0" / "rank2").chmod(0)
    for path in (root, *root.rglob("*")):
        if path.name != "rank2":
            path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o555)
    before = hostile.snapshot(root)
    pid = os.fork()
    if pid == 0:  # the child: no rights of root, then the command as usual
        code = 99
        try:
            for folder in (tmp_path, *tmp_path.parents):
                if folder.stat().st_uid == 0 and folder.stat().st_mode & 0o005 != 0o005:
                    folder.chmod(folder.stat().st_mode | 0o005) if folder.is_relative_to(
                        tempfile.gettempdir()
                    ) else None
            os.setgid(65534)
            os.setuid(65534)
            result = run_cli("precision", root / "npu", root / "cpu", "--jobs", 1, "--format", "json")
            found = strict_json(result.out)
            kinds = {(p["artifact"], p["kind"]) for p in found["problems"]}
            code = 0 if result.code == 1 and ("step0/rank2", "unreadable") in kinds else 98
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert hostile.snapshot(root) == before


# ---- the workbench ---------------------------------------------------------------------------------------

_SEQUENCE = re.compile(
    rb"\x1b(?:\[[0-9;?<>=$]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_=>78]|P[^\x1b]*\x1b\\)"
)
EVIL_NAME = "\x1b]52;c;ZXZpbA==\x07\x1b[31337m\x9b31337m[red]b[/red][/]\u202e\u200bz"


def evil_pair(root: Path) -> Path:
    """Names, keywords, frames, folders and files full of what a terminal or a markup parser would obey."""
    evil = f"Torch.{EVIL_NAME}.0.forward"
    for side, scale in (("npu", 2.0), ("cpu", 1.0)):
        folder = root / f"{side}\x1b[31337m[bold]" / "step0" / "rank0"
        hostile.write_rank(folder, 0, scale=scale)

        def change(content: Any, scale: float = scale) -> None:
            data = content["data"]
            data[evil] = data.pop(CALLS[2])
            data[evil]["input_kwargs"][EVIL_NAME] = {"type": EVIL_NAME, "value": f"{EVIL_NAME}{scale}"}
            data["Torch.lost.0.forward"] = {"output": [{**data[evil]["output"][0], "data_name": EVIL_NAME}]}

        edit(folder / "dump.json", change)
        stack = {"0": [[evil], [f"File {EVIL_NAME}.py, line 3, in {EVIL_NAME}, \n {EVIL_NAME}"]]}
        (folder / "stack.json").write_text(json.dumps(stack))
        (folder / "construct.json").write_text(json.dumps({evil: EVIL_NAME, EVIL_NAME: None}))
    (root / "round.toml").write_text(f'name = "{EVIL_NAME}"\nversion = [[[\n')
    return root


def unwanted_bytes(output: bytes) -> set[int]:
    """Control bytes that are left when all well-formed sequences and line ends are taken out."""
    return set(_SEQUENCE.sub(b"", output)) & ({*range(32), 127} - set(b"\r\n\t\x0f\x0e"))


@pytest.mark.parametrize("words", [{"LANG": "C.UTF-8"}, {"LANG": "C", "LC_ALL": "C", "TERM": "screen"}])
def test_workbench_shows_hostile_names_as_text(tmp_path: Path, words: dict[str, str]) -> None:
    root = evil_pair(tmp_path / "evil\x1b[31337m[red]")
    before = hostile.snapshot(root)
    environ = {**os.environ, "PYTHONPATH": str(hostile.SRC), "TERM": "xterm-256color", **words}
    with PtyProgram((*NPULSE, str(root), "--pane", "precision"), environ, 120, 40) as program:
        program.read_until(rb"FAIL")
        for keys in (b"!", b"\x1b", b"i", b"b", b"m", b"'", b"b", b"t", b"b", b"n", b"n", b"G", b"\r", b"b"):
            program.send(keys)
            program.read_quiet(0.2)
        assert program.process.poll() is None, program.output[-2000:]
        program.send(b"q")
        program.read_quiet(0.3)
        program.send(b"y")
        assert program.wait(15) in (0, 1, 4), program.output[-2000:]
        output = program.output
    sequences, text = b"".join(_SEQUENCE.findall(output)), _SEQUENCE.sub(b"", output).decode()
    assert b"31337m" not in sequences and b"\x1b]52" not in sequences
    assert not re.search("[\x80-\x9f\u202e\u200b]", text)
    assert unwanted_bytes(output) == set()
    assert "[red]b[/red]" in text, "markup is shown, not obeyed"
    assert hostile.snapshot(root) == before


@pytest.mark.parametrize(
    "words",
    [{"TERM": "dumb"}, {"COLUMNS": "1", "LINES": "1"}, {"LANG": "C"}, {"NPULSE_STATE_DIR": "/dev/null"}],
)
def test_odd_environments(pair: Path, words: dict[str, str]) -> None:
    environ = {**os.environ, "PYTHONPATH": str(hostile.SRC), "TERM": "xterm-256color", **words}
    with PtyProgram((*NPULSE, str(pair)), environ, 80, 24) as program:
        if words.get("TERM") == "dumb":
            assert program.wait(20) == 0 and b"PASS" in program.output
            assert b"\x1b" not in program.output.replace(b"\r\x1b[K", b"")
            return
        program.read_until(rb"\x1b\[\?2026l")
        program.read_quiet(0.4)
        assert program.process.poll() is None, program.output[-2000:]
        program.send(b"q")
        assert program.wait(15) in (0, 1, 4)
        assert b"Traceback" not in program.output

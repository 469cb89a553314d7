from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from npulse.core.errors import Cancelled, InputError
from npulse.core.progress import Progress
from npulse.core.run import walk as walking
from npulse.core.run.discover import discover
from npulse.core.run.model import Artifact, Run

ENTRY: dict[str, Any] = {"input_args": [], "input_kwargs": {}, "output": []}


def make_dump(
    folder: Path, *, entries: int = 2, task: str = "statistics", tensors: int = 0, index: str = "dump.json"
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    data = {f"Torch.abs.{i}.forward": ENTRY for i in range(entries)}
    head = {"task": task, "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data}
    (folder / index).write_text(json.dumps(head, indent=1))
    if tensors:
        (folder / "dump_tensor_data").mkdir(exist_ok=True)
    for i in range(tensors):
        (folder / "dump_tensor_data" / f"Torch.abs.{i}.forward.input.0.pt").write_bytes(b"x" * 100)
    return folder


def seen(run: Run) -> list[tuple[str, str]]:
    return [(artifact.kind, artifact.relative) for artifact in run.artifacts]


def only(run: Run) -> Artifact:
    (artifact,) = run.artifacts
    return artifact


# ---- dumps ----


def test_a_dump_is_one_artifact_with_all_its_bytes(tmp_path: Path) -> None:
    folder = make_dump(tmp_path / "step3" / "rank1", task="tensor", tensors=3)
    (folder / "stack.json").write_text("{}")
    artifact = only(discover(tmp_path))
    assert (artifact.kind, artifact.relative) == ("msprobe.dump", "step3/rank1")
    assert artifact.path == folder / "dump.json"
    assert (artifact.rank, artifact.step, artifact.completeness) == (1, 3, "complete")
    assert artifact.size_bytes == 300 + 2 + (folder / "dump.json").stat().st_size


@pytest.mark.parametrize(
    ("opened", "relative"),
    [("", "step3/rank1"), ("step3", "rank1"), ("step3/rank1", "."), ("step3/rank1/dump.json", "dump.json")],
)
def test_any_level_can_be_opened(tmp_path: Path, opened: str, relative: str) -> None:
    make_dump(tmp_path / "step3" / "rank1")
    artifact = only(discover(tmp_path / opened))
    assert artifact.path == tmp_path / "step3" / "rank1" / "dump.json"
    assert (artifact.relative, artifact.step) == (relative, 3)
    assert artifact.rank == 1


def test_natural_order(tmp_path: Path) -> None:
    for step in (10, 2):
        for rank in (11, 2):
            make_dump(tmp_path / f"step{step}" / f"rank{rank}")
    assert [a.relative for a in discover(tmp_path).artifacts] == [
        "step2/rank2",
        "step2/rank11",
        "step10/rank2",
        "step10/rank11",
    ]


def _completeness(folder: Path, age_s: float = 3600) -> str:
    now = max(p.stat().st_mtime_ns for p in folder.rglob("*")) + int(age_s * 1e9)
    return only(discover(folder, now_ns=now)).completeness


def test_completeness_of_dumps(tmp_path: Path) -> None:
    folder = make_dump(tmp_path / "a", entries=50)
    index = folder / "dump.json"
    whole = index.read_bytes()
    assert _completeness(folder) == "complete"
    for size in (0, 20, len(whole) // 2, len(whole) - 2):
        index.write_bytes(whole[:size])
        assert _completeness(folder) == "cut off", size
        assert _completeness(folder, age_s=1) == "in progress", size
    index.write_bytes(json.dumps(json.loads(whole)).encode())
    assert _completeness(folder) == "complete"


def test_a_crashed_tensor_dump_is_raw(tmp_path: Path) -> None:
    folder = make_dump(tmp_path / "a", entries=0, task="tensor", tensors=5)
    assert _completeness(folder) == "raw"
    (folder / "dump.json").write_bytes(b"")
    assert _completeness(folder) == "raw"
    (folder / "dump.json").unlink()
    assert _completeness(folder) == "raw"
    assert only(discover(folder)).path == folder


def test_a_dump_of_the_structure_alone_is_complete(tmp_path: Path) -> None:
    assert _completeness(make_dump(tmp_path / "a", entries=0, task="structure")) == "complete"
    assert _completeness(make_dump(tmp_path / "b", entries=0)) == "unknown"


def test_debug_json_and_a_copy_under_another_name(tmp_path: Path) -> None:
    make_dump(tmp_path / "rank0", index="debug.json")
    make_dump(tmp_path / "copies", index="old_dump.json")
    run = discover(tmp_path)
    assert [(a.relative, a.path.name) for a in run.artifacts] == [
        ("copies/old_dump.json", "old_dump.json"),
        ("rank0", "debug.json"),
    ]


def test_both_indexes_side_by_side(tmp_path: Path) -> None:
    make_dump(tmp_path / "rank0")
    make_dump(tmp_path / "rank0", index="debug.json")
    assert [(a.relative, a.path.name) for a in discover(tmp_path).artifacts] == [
        ("rank0", "dump.json"),
        ("rank0/debug.json", "debug.json"),
    ]


def test_another_programs_dump_json_is_no_artifact(tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text('{"tables": {"users": []}, "task": 1}')
    run = discover(tmp_path)
    assert (run.artifacts, run.n_unknown, run.problems) == ((), 1, ())


# ---- other folders ----


def test_many_files_of_a_cann_dump_are_one_artifact(tmp_path: Path) -> None:
    folder = tmp_path / "20250611171530" / "2" / "net" / "1" / "7"
    folder.mkdir(parents=True)
    raw = (6).to_bytes(8, "little") + b"\x0a\x032.0x" + b"y" * 10
    for i in range(5):
        (folder / f"Conv2D.conv{i}.{i}.3.1749633330000123").write_bytes(raw)
    (folder / "mapping.csv").write_text("459176958410709430,Mul.a.1.2.3\n")
    (folder / "Opdebug.Node_OpDebug.19.3.1749633330001100").write_bytes(raw)
    run = discover(tmp_path)
    assert seen(run) == [
        ("cann.dump", "20250611171530/2/net/1/7"),
        ("cann.opdebug", "20250611171530/2/net/1/7"),
    ]
    assert run.artifacts[0].size_bytes == 5 * len(raw) + (folder / "mapping.csv").stat().st_size
    assert {(a.rank, a.step) for a in run.artifacts} == {(2, 7)}


def test_a_raw_session_is_counted_and_not_listed(tmp_path: Path) -> None:
    session = tmp_path / "PROF_000001_20260801120000123_00012345ABCDEFGH"
    (session / "device_0" / "data").mkdir(parents=True)
    (session / "host").mkdir()
    (session / "host" / "start_info").write_text("{}")
    (session / "device_0" / "data" / "stars_soc.data.0.slice_0").write_bytes(b"z" * 1000)
    now = (session / "device_0" / "data" / "stars_soc.data.0.slice_0").stat().st_mtime_ns
    artifact = only(discover(tmp_path, now_ns=now))
    assert (artifact.kind, artifact.size_bytes) == ("prof.session", 1002)
    assert artifact.completeness == "in progress"
    assert only(discover(tmp_path, now_ns=now + 10**12)).completeness == "raw"
    (session / "host" / "end_info").write_text("{}")
    assert only(discover(tmp_path, now_ns=now)).completeness == "raw"
    output = session / "mindstudio_profiler_output"
    output.mkdir()
    (output / "op_summary_20260801120500.csv").write_text("Op Name,OP Type,Task Duration(us)\n")
    run = discover(tmp_path, now_ns=now)
    assert [(a.kind, a.completeness) for a in run.artifacts] == [
        ("prof.session", "complete"),
        ("prof.op_summary", "unknown"),
    ]


def test_the_rank_of_a_framework_profile_is_in_the_name_of_its_settings(tmp_path: Path) -> None:
    profile = tmp_path / "host-a_213_20260120111213456_ascend_pt"
    (profile / "FRAMEWORK").mkdir(parents=True)
    (profile / "FRAMEWORK" / "torch.op_range").write_bytes(b"1234")
    (profile / "ASCEND_PROFILER_OUTPUT").mkdir()
    (profile / "ASCEND_PROFILER_OUTPUT" / "op_statistic.csv").write_text(
        "OP Type,Core Type,Count,Total Time(us)\n"
    )
    (profile / "profiler_info_5.json").write_text('{"config": {"common_config": {}}}')
    run = discover(tmp_path)
    assert [(a.kind, a.rank) for a in run.artifacts] == [
        ("prof.framework", 5),
        ("prof.op_statistic", 5),
        ("prof.profiler_info", 5),
    ]


def test_aclgraph_tensors_without_an_index(tmp_path: Path) -> None:
    folder = tmp_path / "step0" / "rank2" / "tensor_data"
    folder.mkdir(parents=True)
    (folder / "add.0.input.0.pt").write_bytes(b"12345")
    artifact = only(discover(tmp_path))
    assert (artifact.kind, artifact.relative, artifact.size_bytes) == ("msprobe.aclgraph", "step0/rank2", 5)


# ---- hostile folders ----


def test_a_missing_path_names_the_nearest_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        discover(tmp_path / "no" / "such")
    assert caught.value.path == str(tmp_path / "no" / "such")
    assert caught.value.hint is not None and str(tmp_path) in caught.value.hint


def test_odd_paths(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "bad\0name"):
        with pytest.raises(InputError):
            discover(path)


def test_an_unknown_file_is_a_run_without_artifacts(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_bytes(b"\0\1\2")
    run = discover(tmp_path / "a.dat")
    assert (run.artifacts, run.n_unknown, run.n_entries) == ((), 1, 1)


def test_a_named_file_is_known_by_its_content_alone(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text("====== ERROR: illegal read of size 4\n")
    artifact = only(discover(tmp_path / "a.dat"))
    assert (artifact.kind, artifact.path) == ("sanitizer.mssanitizer", tmp_path / "a.dat")


def test_loops_of_links_end_and_nothing_is_found_twice(tmp_path: Path) -> None:
    make_dump(tmp_path / "step0" / "rank0")
    (tmp_path / "step0" / "rank0" / "again").symlink_to(tmp_path)
    (tmp_path / "a_link").symlink_to(tmp_path / "step0")
    (tmp_path / "self").symlink_to("self")
    run = discover(tmp_path)
    assert seen(run) == [("msprobe.dump", "step0/rank0")]
    assert run.problems == ()


def test_links_inside_the_run_are_followed_for_hidden_folders(tmp_path: Path) -> None:
    make_dump(tmp_path / ".git" / "real")
    (tmp_path / "step0").mkdir()
    (tmp_path / "step0" / "rank4").symlink_to(tmp_path / ".git" / "real")
    assert seen(discover(tmp_path)) == [("msprobe.dump", "step0/rank4")]


def test_links_out_of_the_run_are_problems_if_they_promise_something(tmp_path: Path) -> None:
    outside = make_dump(tmp_path / "outside" / "rank0", tensors=1)
    run_folder = tmp_path / "run"
    (run_folder / "rank1").mkdir(parents=True)
    (run_folder / "rank0").symlink_to(outside)
    (run_folder / "datasets").symlink_to(tmp_path / "outside")
    (run_folder / "rank1" / "dump.json").symlink_to(outside / "dump.json")
    (run_folder / "rank1" / "dump_tensor_data").symlink_to(outside / "dump_tensor_data")
    (run_folder / "notes.txt").symlink_to("/etc/hostname")
    run = discover(run_folder)
    assert run.artifacts == ()
    assert {(p.kind, p.artifact) for p in run.problems} == {
        ("outside-run", "rank0"),
        ("outside-run", "rank1/dump.json"),
        ("outside-run", "rank1/dump_tensor_data"),
    }


def test_a_run_opened_through_a_link_is_the_run(tmp_path: Path) -> None:
    make_dump(tmp_path / "real" / "rank0")
    (tmp_path / "link").symlink_to("real")
    run = discover(tmp_path / "link")
    assert seen(run) == [("msprobe.dump", "rank0")]
    assert run.artifacts[0].path == tmp_path / "link" / "rank0" / "dump.json"


def test_names_with_controls_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    names = [b"rank0\n\x1b[31m", b"\xff\xfe", "名".encode()]
    for name in names:
        folder = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))
        make_dump(folder)
    run = discover(tmp_path)
    assert len(run.artifacts) == 3
    for artifact in run.artifacts:
        artifact.relative.encode("utf-8")
        assert artifact.path.read_bytes().startswith(b"{")
    assert "\\xff\\xfe" in {a.relative for a in run.artifacts}


def test_pipes_in_the_run_are_never_opened(tmp_path: Path) -> None:
    make_dump(tmp_path / "rank0", tensors=1)
    for name in ("train.log", "op_summary_20260801.csv", "rank0/stack.json", "rank0/dump_tensor_data/x.pt"):
        os.mkfifo(tmp_path / name)
    run = discover(tmp_path)
    assert seen(run) == [("msprobe.dump", "rank0")]
    assert run.problems == ()


def _deny(monkeypatch: pytest.MonkeyPatch, function: str, denied: str) -> None:
    real: Any = getattr(os, function)

    def refuse(path: Any, *rest: Any, **named: Any) -> Any:
        if isinstance(path, str) and denied in path:
            raise PermissionError(13, "Permission denied", path)
        return real(path, *rest, **named)

    monkeypatch.setattr(os, function, refuse)


def test_an_unreadable_rank_is_a_problem_and_the_others_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank in range(3):
        make_dump(tmp_path / f"rank{rank}")
    _deny(monkeypatch, "scandir", "rank1")
    run = discover(tmp_path)
    assert [a.rank for a in run.artifacts] == [0, 2]
    assert [(p.kind, p.artifact) for p in run.problems] == [("unreadable", "rank1")]


def test_an_unreadable_file_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_dump(tmp_path / "rank0")
    (tmp_path / "check.log").write_text("x")
    _deny(monkeypatch, "open", ".")
    run = discover(tmp_path)
    assert {(p.kind, p.artifact) for p in run.problems} == {
        ("unreadable", "rank0/dump.json"),
        ("unreadable", "check.log"),
    }


def test_an_unreadable_root_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _deny(monkeypatch, "scandir", str(tmp_path))
    with pytest.raises(InputError, match="Permission denied"):
        discover(tmp_path)


def test_many_unreadable_folders_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(70):
        (tmp_path / f"locked{i}").mkdir()
    _deny(monkeypatch, "scandir", "locked")
    problems = discover(tmp_path).problems
    assert len(problems) == 51
    assert "20 more" in problems[-1].message


def test_what_vanishes_during_the_walk_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(3):
        make_dump(tmp_path / f"rank{i}")
    (tmp_path / "rank0" / "a.log").write_text("x")
    real = os.scandir

    def remove_then_read(path: Any) -> Any:
        if str(path).endswith("rank0"):
            entries = list(real(path))
            (tmp_path / "rank0" / "a.log").unlink()
            (tmp_path / "rank0" / "dump.json").unlink()
            shutil.rmtree(tmp_path / "rank1")
            return _Entries(entries)
        return real(path)

    monkeypatch.setattr(os, "scandir", remove_then_read)
    run = discover(tmp_path)
    assert ([a.rank for a in run.artifacts], run.problems) == ([2], ())


class _Entries(list[Any]):
    def __enter__(self) -> _Entries:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def close(self) -> None:
        return None


def test_a_read_only_run_is_left_as_it_is(tmp_path: Path) -> None:
    make_dump(tmp_path / "step0" / "rank0", tensors=2)
    before = {p: p.stat() for p in sorted(tmp_path.rglob("*"))}
    discover(tmp_path)
    after = {p: p.stat() for p in sorted(tmp_path.rglob("*"))}
    assert before.keys() == after.keys()
    assert [(s.st_mtime_ns, s.st_size) for s in before.values()] == [
        (s.st_mtime_ns, s.st_size) for s in after.values()
    ]


# ---- bounds ----


def test_the_bounds_are_told(tmp_path: Path) -> None:
    for rank in range(10):
        make_dump(tmp_path / f"rank{rank}")
    run = discover(tmp_path, max_entries=12)
    assert run.n_entries == 12
    assert [p.kind for p in run.problems] == ["limit"]
    assert 0 < len(run.artifacts) < 10
    assert discover(tmp_path, max_entries=20).problems == ()


def test_depth_is_bounded(tmp_path: Path) -> None:
    make_dump(tmp_path / "a" / "b" / "c" / "rank0")
    run = discover(tmp_path, max_depth=3)
    assert run.artifacts == ()
    assert [(p.kind, p.artifact) for p in run.problems] == [("too-deep", "a/b/c")]
    assert len(discover(tmp_path, max_depth=4).artifacts) == 1


def test_progress_and_cancel(tmp_path: Path) -> None:
    make_dump(tmp_path / "rank0", tensors=5000)
    steps: list[Progress] = []
    run = discover(tmp_path, progress=steps.append)
    done = [step.done for step in steps]
    assert done == sorted(done) and done[-1] == run.n_entries == 5003
    assert len(done) >= 3
    with pytest.raises(Cancelled):
        discover(tmp_path, is_cancelled=lambda: True)


def test_a_hundred_thousand_files_are_walked_in_two_seconds(tmp_path: Path) -> None:
    for rank in range(2):
        folder = make_dump(tmp_path / "step0" / f"rank{rank}", task="tensor", tensors=1)
        _touch(folder / "dump_tensor_data", "Functional.linear.{}.forward.input.0.pt", 30_000)
    _touch(tmp_path / "20250611171530" / "0", "Conv2D.conv{}.12.3.1749633330000123", 20_000)
    _touch(tmp_path / "images", "img_{}.jpg", 20_000)
    best = min(_cpu_s_of_walk(tmp_path) for _ in range(2))
    assert best < 2.0


def _touch(folder: Path, name: str, count: int) -> None:
    """Many names of one empty file: made ten times faster than many files, and walked like them."""
    folder.mkdir(parents=True, exist_ok=True)
    first = folder / name.format(0)
    first.write_bytes(b"")
    for i in range(1, count):
        os.link(first, folder / name.format(i))


def _cpu_s_of_walk(folder: Path) -> float:
    start = time.process_time()
    run = discover(folder)
    assert run.n_entries > 100_000
    return time.process_time() - start


def test_a_flood_of_foreign_files_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And told: beyond some thousands of one suffix that were nothing, files are counted, not opened."""
    monkeypatch.setattr(walking, "MAX_FRUITLESS_LOOKS", 20)
    for number in range(50):
        (tmp_path / f"note_{number}.txt").write_text("nothing of ours")
    opened = 0
    sniff = walking.sniff

    def counting(path: str, name: str, look: Any) -> Any:
        nonlocal opened
        opened += 1
        return sniff(path, name, look)

    monkeypatch.setattr(walking, "sniff", counting)
    run = discover(tmp_path)
    assert opened == 20 and run.n_unknown == 50
    assert [p.kind for p in run.problems] == ["limit"] and "30 more files *.txt" in run.problems[0].message


def test_a_flood_hides_no_file_of_a_tools_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "MAX_FRUITLESS_LOOKS", 20)
    for number in range(50):
        (tmp_path / f"a_{number}.csv").write_text("x,y\n1,2\n")
    (tmp_path / "op_summary_20260101000000.csv").write_text("")
    run = discover(tmp_path)
    assert [a.relative for a in run.artifacts] == ["op_summary_20260101000000.csv"]
    assert [p.message for p in run.problems if p.kind == "limit"] == [
        "30 more files *.csv were not looked into: 20 of them were foreign"
    ]


# ---- names of tools, other content ----

KERNELS = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n1,Add_0,Add,AI_CORE,1.0,2\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("kernel_details.csv", b"Step Id;Nme;;\n1,2\n"),
        ("op_summary_20260801120500.csv", bytes(5000)),
        ("trace_view.json", b"[]"),
        ("trace_view.json", '[{"name": "a", "ph": "X", "ts": 1, "dur": 2, "pid": 1}]'.encode("utf-16")),
        ("msprof_20260801120500.db", b"SQLite form" + bytes(100)),
        ("memscope_dump_1.csv", b"\0\1\2\3"),
    ],
)
def test_a_damaged_file_with_the_name_of_a_tool_is_told(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    for run in (discover(tmp_path), discover(tmp_path / name)):
        assert not run.artifacts and run.n_unknown == 1
        (problem,) = run.problems
        assert (problem.artifact, problem.kind) == (name, "unreadable") and problem.hint


@pytest.mark.parametrize("name", ["communication.json", "similarities.csv", "notes.csv", "other.json"])
def test_names_that_anybody_may_use_promise_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"hello": 1}')
    assert not discover(tmp_path).problems


def test_in_the_folder_of_a_profiler_they_do(tmp_path: Path) -> None:
    folder = tmp_path / "host_1_20260101000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir(parents=True)
    (folder / "communication.json").write_text("[]")
    assert [problem.kind for problem in discover(tmp_path).problems] == ["unreadable"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_tables_in_utf_16_are_recognised_with_and_without_their_mark(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "kernel_details.csv").write_bytes(KERNELS.encode(encoding))
    run = discover(tmp_path)
    assert only(run).kind == "prof.kernel_details" and not run.problems


def test_a_damaged_file_still_makes_a_round_beside_others(tmp_path: Path) -> None:
    for name, text in (("round1", KERNELS), ("round2", "???\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernel_details.csv").write_text(text)
    run = discover(tmp_path)
    assert [(one.name, len(one.artifacts)) for one in run.rounds] == [("round1", 1), ("round2", 0)]
    assert [problem.artifact for problem in run.problems] == ["round2/kernel_details.csv"]

"""Folders of sessions in every state, made file by file; hostile folders."""

from __future__ import annotations

import ast
import json
import os
import random
import shlex
from pathlib import Path
from typing import Any

import pytest

from npulse.core.errors import InputError
from npulse.core.formats.profiling import session_folders
from npulse.core.formats.profiling.session import Session, read_session, slices_of

PROF = "PROF_000001_20260801120000123_00012345ABCDEFGH"
BEGIN = {"collectionTimeBegin": "1785557700456789", "clockMonotonicRaw": "876117208663770"}
END = {"collectionTimeEnd": "1785557710456789", "clockMonotonicRaw": "876127208663770"}


def put(path: Path, content: Any = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))


def start(session: Path) -> None:
    """A session that collects: one slice closed, one open."""
    put(session / "host" / "start_info", BEGIN)
    put(session / "host" / "sample.json", {"app": "python3", "profLevel": "l1", "devices": "3"})
    put(session / "host" / "info.json", {"pid": "77", "pid_name": "python3", "rank_id": "4"})
    put(session / "host" / "data" / "unaging.api_event.data.slice_0", b"x" * 100)
    put(session / "host" / "data" / "unaging.api_event.data.slice_0.done", "filesize:100")
    put(session / "host" / "data" / "unaging.api_event.data.slice_1", b"x" * 40)
    put(session / "device_3" / "start_info.3", BEGIN)
    put(session / "device_3" / "info.json.3", {"DeviceInfo": [{"ai_core_num": 24}]})
    put(session / "device_3" / "data" / "stars_soc.data.3.slice_4", b"x" * 64)


def stop(session: Path) -> None:
    put(session / "host" / "end_info", END)
    put(session / "device_3" / "end_info.3", END)
    for name in ("host/data/unaging.api_event.data.slice_1", "device_3/data/stars_soc.data.3.slice_4"):
        put(session / f"{name}.done")


def parse(session: Path) -> None:
    put(session / "host" / "sqlite" / "a.db")
    put(session / "host" / "data" / "unaging.api_event.data.slice_0.complete")


def parsed(session: Path) -> None:
    put(session / "host" / "data" / "all_file.complete")
    put(session / "device_3" / "data" / "all_file.complete")


STATES = (
    ("collecting", start),
    ("collected", stop),
    ("parsing", parse),
    ("parsed", parsed),
    ("exporting", lambda session: put(session / "mindstudio_profiler_output" / "op_summary_1.csv", "a")),
    ("exported", lambda session: put(session / "mindstudio_profiler_output" / "README.txt", "a")),
)


def test_states_one_after_another(tmp_path: Path) -> None:
    session = tmp_path / PROF
    for state, make in STATES:
        make(session)
        found = read_session(session, root=tmp_path)
        is_out = state in ("exporting", "exported")
        assert (found.kind, found.state, found.problems) == ("msprof", state, ())
        assert (found.has_output, found.is_end_marked) == (is_out, state == "exported")
        assert found.missing == (() if is_out else ("mindstudio_profiler_output",))
        command = ("msprof", "--export=on", f"--output={session}")
        assert found.export_argv == (() if state == "exported" else command)


def test_what_a_running_session_says(tmp_path: Path) -> None:
    session = tmp_path / PROF
    start(session)
    os.utime(session / "device_3" / "data" / "stars_soc.data.3.slice_4", ns=(0, 7_000_000_000_000_000_001))
    found = read_session(session)
    assert (found.rank, found.pid, found.process, found.app) == (4, 77, "python3", "python3")
    assert (found.devices, found.has_host, found.settings.ai_core_num) == ((3,), True, 24)
    assert (found.n_slices, found.n_closed, found.n_files, found.size_bytes) == (3, 1, 3, 204)
    assert found.newest_ns == 7_000_000_000_000_000_001
    assert found.times.begin_ns == 1785557700456789000 and found.times.end_ns is None
    assert found.options["profLevel"] == found.settings.level == "l1"
    host, device = found.parts
    (family,) = host.families
    assert (family.name, family.n_slices, family.n_closed) == ("unaging.api_event.data", 2, 1)
    assert (family.size_bytes, family.open_bytes, family.first, family.last) == (140, 40, 0, 1)
    assert (device.families[0].name, device.families[0].first) == ("stars_soc.data", 4)  # earlier ones aged
    stop(session)
    assert read_session(session).times.duration_ns == 10_000_000_000


def test_an_open_slice_means_collecting(tmp_path: Path) -> None:
    session = tmp_path / PROF
    start(session)
    stop(session)
    (session / "device_3" / "data" / "stars_soc.data.3.slice_4.done").unlink()
    assert read_session(session).state == "collecting"


def test_a_state_is_that_of_every_part(tmp_path: Path) -> None:
    session = tmp_path / PROF
    start(session)
    stop(session)
    (session / "device_3" / "end_info.3").unlink()
    assert read_session(session).state == "collecting"
    put(session / "device_3" / "end_info.3", END)
    put(session / "host" / "data" / "all_file.complete")
    assert read_session(session).state == "parsing"


@pytest.mark.parametrize("name", ["device_0/summary/op_summary_0_1.csv", "msprof_20260801120000.db"])
def test_other_output(tmp_path: Path, name: str) -> None:
    session = tmp_path / PROF
    start(session)
    put(session / name, "a")
    found = read_session(session)
    assert (found.state, found.has_output, found.missing) == ("exported", True, ())


def test_slices_in_order(tmp_path: Path) -> None:
    session = tmp_path / PROF
    for number in (10, 9, 0):
        put(session / "host" / "data" / f"host_cpu.data.slice_{number}")
        put(session / "host" / "data" / f"host_cpu.data.slice_{number}.done")
    put(session / "device_0" / "data" / "stars_soc.data.0.slice_0")
    names = [path.name for path in slices_of(session, "host", "host_cpu.data")]
    assert names == ["host_cpu.data.slice_0", "host_cpu.data.slice_9", "host_cpu.data.slice_10"]
    assert len(slices_of(session, "device_0", "stars_soc.data")) == 1
    assert slices_of(session, "device_1", "stars_soc.data") == ()


# ---- framework folders ----


def framework(folder: Path) -> Path:
    start(folder / PROF)
    put(folder / "FRAMEWORK" / "torch.op_range", b"x" * 64)
    return folder


def test_framework_states(tmp_path: Path) -> None:
    folder = framework(tmp_path / "host_1_20260801120000123_ascend_pt")

    def state() -> Session:
        return read_session(folder, root=tmp_path)

    assert (state().state, state().missing) == ("collecting", ("ASCEND_PROFILER_OUTPUT",))
    put(folder / "profiler_info_4.json", {"rank_id": 4, "end_info": {"collectionTimeEnd": 5}})
    assert (state().state, state().settings.is_finalised) == ("collected", True)
    parse(folder / PROF)
    assert state().state == "parsing"
    parsed(folder / PROF)
    assert state().state == "parsed"
    put(folder / PROF / "mindstudio_profiler_output" / "README.txt")
    assert (state().state, state().has_output) == ("parsing", False)
    (folder / "ASCEND_PROFILER_OUTPUT").mkdir()
    assert (state().state, state().has_output) == ("exporting", True)
    put(folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", '[{"a": 1},')
    assert state().state == "exporting"
    put(folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", '[{"a": 1}]\n')
    assert (state().state, state().is_end_marked) == ("exported", False)
    put(folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", '[{"a": 1},')
    put(folder / "ASCEND_PROFILER_OUTPUT" / "analyse.done")
    assert (state().state, state().is_end_marked, state().export_argv) == ("exported", True, ())


@pytest.mark.parametrize(("suffix", "package"), [("pt", "torch_npu"), ("ms", "mindspore")])
@pytest.mark.parametrize("folder", ["plain", 'it\'s "odd"; rm -rf x', "中文"])
def test_how_to_export(tmp_path: Path, suffix: str, package: str, folder: str) -> None:
    path = framework(tmp_path / folder / f"rank3_1_ascend_{suffix}")
    put(path / PROF / "host" / "info.json", {"pid": "77"})
    found = read_session(path)
    assert (found.rank, found.pid, found.devices) == (3, 77, (3,))  # the rank by the folder's name
    assert (found.n_slices, found.n_files, found.size_bytes) == (3, 4, 268)
    assert found.export_argv == ("python3", "-c", found.export_code)
    assert suffix == "pt" or folder != "中文" or folder in found.export_code  # as people read it
    # what is called, and with what, as Python sees it
    imported, call = ast.parse(found.export_code).body
    assert isinstance(imported, ast.ImportFrom) and imported.module == f"{package}.profiler.profiler"
    assert isinstance(call, ast.Expr) and isinstance(call.value, ast.Call)
    assert ast.literal_eval(call.value.args[0]) == str(path)
    assert tuple(shlex.split(shlex.join(found.export_argv))) == found.export_argv


def test_no_bytes_of_a_name_break_the_command(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\n_ascend_pt")
    found = read_session(framework(tmp_path / name))
    call = ast.parse(found.export_code).body[1]
    assert isinstance(call, ast.Expr) and isinstance(call.value, ast.Call)
    assert ast.literal_eval(call.value.args[0]) == str(tmp_path / name)


# ---- hostile folders ----


def test_no_session(tmp_path: Path) -> None:
    put(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    for name, message in (("none", "not exist"), ("file", "not exist"), ("empty", "no folder of a prof")):
        with pytest.raises(InputError, match=message):
            read_session(tmp_path / name)
    with pytest.raises(InputError):
        read_session(Path(str(tmp_path) + "\0"))


def test_links_out_are_not_followed(tmp_path: Path) -> None:
    outside, run = tmp_path / "outside", tmp_path / "run"
    start(outside / PROF)
    put(tmp_path / "secret.json", {"pid": 1234})
    session = run / PROF
    start(session)
    (session / "device_7").symlink_to(outside / PROF / "device_3")
    (session / "host" / "info.json").unlink()
    (session / "host" / "info.json").symlink_to(tmp_path / "secret.json")
    (session / "host" / "data" / "x.slice_0").symlink_to("/etc/passwd")
    (session / "host" / "data" / "y.slice_0").symlink_to("nothing")
    (session / "host" / "data" / "z.slice_0").symlink_to("unaging.api_event.data.slice_0")
    found = read_session(session, root=run)
    assert (found.devices, found.pid, found.n_links) == ((3,), None, 3)
    assert [family.name for family in found.parts[0].families] == ["unaging.api_event.data", "z"]
    assert sorted(problem.kind for problem in found.problems) == ["outside-run"] * 3 + ["unreadable"]
    (run / "link").symlink_to(outside / PROF)
    with pytest.raises(InputError, match="outside"):
        read_session(run / "link", root=run)


def test_too_many_files(tmp_path: Path) -> None:
    session = tmp_path / PROF
    start(session)
    for i in range(50):
        put(session / "host" / "data" / f"a{i}.slice_0")
    found = read_session(session, max_entries=30)
    assert [problem.kind for problem in found.problems] == ["limit"]
    assert found.n_files < 30


def test_control_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = tmp_path / PROF
    start(session)
    for i in range(100):
        put(session / "host" / f"info.json.{i}", {"pid": "5"})
    found = read_session(session)
    assert found.pid == 77 and [problem.kind for problem in found.problems] == ["limit"]
    monkeypatch.setattr(session_folders, "MAX_CONTROL_BYTES", 10)
    found = read_session(tmp_path / PROF)
    assert found.pid is None and {problem.kind for problem in found.problems} == {"limit"}


def test_names_that_are_something_else(tmp_path: Path) -> None:
    """Files where folders belong, folders where files belong, pipes."""
    session = tmp_path / PROF
    start(session)
    put(session / "device_5")
    put(session / "device_6" / "data", "a file")
    (session / "host" / "end_info").mkdir()
    os.mkfifo(session / "host" / "start_info.0")
    os.mkfifo(session / "host" / "data" / "pipe.slice_0")
    found = read_session(session)
    assert found.devices == (3, 6)
    assert {problem.kind for problem in found.problems} == {"bad-record", "unreadable"}
    folder = tmp_path / "a_ascend_pt"
    put(folder / "ASCEND_PROFILER_OUTPUT", "a file")
    put(folder / "FRAMEWORK", "a file")
    (folder / "profiler_info.json").mkdir()
    assert read_session(folder).state == "exporting"


def test_any_bytes_in_control_files(tmp_path: Path) -> None:
    chance = random.Random(7)
    folder = framework(tmp_path / "a_ascend_pt")
    put(folder / "profiler_info_0.json", {"rank_id": 0})
    put(folder / "profiler_metadata.json", {"ENV_VARIABLES": {}})
    files = [*folder.glob("*.json"), *folder.rglob("*.json.3"), *folder.rglob("start_info*")]
    assert len(files) == 5
    for _ in range(60):
        path = chance.choice(files)
        put(path, bytes(chance.choice(b'{}[]":,0\xff\0 e') for _ in range(chance.randrange(60))))
        read_session(folder, root=tmp_path)

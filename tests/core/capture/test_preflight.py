"""What is looked at before a start: each trouble told by its rule, and a line where nothing is wrong."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from npulse.core.capture import preflight as module
from npulse.core.capture.driver import SizeBasis
from npulse.core.capture.preflight import preflight
from npulse.core.capture.preflight_settings import ranks_told
from npulse.core.capture.rules import RULES
from npulse.core.capture.texts import PREFLIGHT, SESSION, SMALL, TOLD
from npulse.core.device.snapshot import ChipState, Process, Snapshot
from npulse.core.findings import Finding

from .doubles import PlainDriver, python, request_for

IDS = {rule.id for rule in RULES}


def look(archive: Path, driver: PlainDriver | None = None, **words: Any) -> dict[str, list[Finding]]:
    """The findings of a preflight by their rules, without "capture."; nothing may have been written."""
    request = request_for(archive, words.pop("command", python("")), **words)
    driver = driver or PlainDriver()
    before = sorted(archive.parent.rglob("*"))
    found: dict[str, list[Finding]] = {}
    for finding in preflight(request, driver, driver.plan(request, archive / "dump" / "x")):
        assert finding.rule in IDS or not finding.rule.startswith("capture.")
        found.setdefault(finding.rule.removeprefix("capture."), []).append(finding)
    assert sorted(archive.parent.rglob("*")) == before
    return found


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "work").mkdir()
    yield tmp_path / "work" / "diag"


def severity(found: dict[str, list[Finding]], rule: str) -> str:
    (one,) = found[rule]
    return "ok" if one.role == "ok" else one.severity


def test_every_check_has_a_line_where_nothing_is_wrong(archive: Path) -> None:
    found = look(archive, kind="memory", environment={"ASCEND_LAUNCH_BLOCKING": "1"})
    wanted = {"command", "archive", "work-tree", "disk-space", "inodes", "log-level", "other-profiler"}
    wanted |= {"relative-path", "ranks", "fusion", "asynchronous"}
    assert {rule for rule in wanted if severity(found, rule) == "ok"} == wanted
    assert found["disk-space"][0].figures["free_bytes"] > 0
    assert {"versions", "device"} <= {rule for rule in found} | {"versions", "device"}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_errors_come_first_and_what_is_well_last(archive: Path, lang: str) -> None:
    request = request_for(archive, ("no-such",), environment={"ASCEND_GLOBAL_LOG_LEVEL": "0"}, lang=lang)
    driver = PlainDriver()
    found = preflight(request, driver, driver.plan(request, archive / "x"))
    order = ["ok" if one.role == "ok" else one.severity for one in found]
    assert order == sorted(order, key=("error", "warning", "note", "ok").index) and order[0] == "error"
    assert all(one.message for one in found)


@pytest.mark.parametrize(
    ("need", "attempts", "expected"),
    [
        ((0, 1), 1, "ok"),
        ((0, 1 << 60), 1, "warning"),
        ((1 << 60, 1 << 61), 1, "error"),
        ((0, 1 << 40), 99, "warning"),
    ],
)
def test_disk_space_against_the_estimate(
    archive: Path, need: tuple[int, int], attempts: int, expected: str
) -> None:
    driver = PlainDriver()
    driver.need = need
    found = look(archive, driver, repeat=attempts)
    assert severity(found, "disk-space") == expected
    figures = found["disk-space"][0].figures
    assert figures["most_bytes"] == need[1] * attempts
    if expected != "ok":
        assert "E1001" in found["disk-space"][0].message


def test_little_space_and_few_inodes(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs(archive.parent)
    values = list(real)
    values[4], values[7], values[5] = 10, 5, 1000  # f_bavail, f_favail, f_files

    def few(path: Any) -> os.statvfs_result:
        return os.statvfs_result(values)

    monkeypatch.setattr(module.os, "statvfs", few)
    found = look(archive)
    assert severity(found, "disk-space") == "warning" and severity(found, "inodes") == "error"
    values[7] = 50_000
    assert severity(look(archive), "inodes") == "warning"
    assert severity(look(archive, kind="memory"), "inodes") == "ok"
    values[5] = 0
    assert severity(look(archive), "inodes") == "ok"
    values[8] |= os.ST_RDONLY
    assert severity(look(archive), "archive") == "error"


def test_an_archive_that_cannot_be_written(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.os, "access", lambda path, mode: mode == os.X_OK)
    assert severity(look(archive), "archive") == "error"
    monkeypatch.undo()
    archive.mkdir()
    (archive / "dump").symlink_to(archive.parent)
    assert severity(look(archive), "archive") == "error"
    (archive / "dump").unlink()
    (archive / "dump").write_text("")
    assert severity(look(archive), "archive") == "error"


def git(folder: Path, *words: str) -> None:
    own = {**os.environ, "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, env=own)


def test_an_archive_among_the_sources_is_told_unless_ignored(archive: Path) -> None:
    git(archive.parent, "init", "-q")
    assert severity(look(archive), "work-tree") == "note"
    (archive.parent / ".gitignore").write_text("diag/\n")
    archive.mkdir()
    assert severity(look(archive), "work-tree") == "ok"


def test_programs(archive: Path) -> None:
    script = archive.parent / "run.sh"
    script.write_text("#!/bin/sh\n")
    assert severity(look(archive, command=("no-such-program",)), "command") == "error"
    found = look(archive, command=("./run.sh",))
    assert severity(found, "command") == "error" and "chmod" in found["command"][0].next_step
    script.chmod(0o755)
    assert severity(look(archive, command=("./run.sh",)), "command") == "ok"
    assert severity(look(archive, cwd=archive / "none"), "command") == "error"


def test_a_tool_that_is_missing_is_told_with_how_to_get_it(archive: Path) -> None:
    class Wrapped(PlainDriver):
        def plan(self, request: Any, round_folder: Path) -> Any:
            from npulse.core.capture.driver import Plan

            return Plan(("msprof-of-nowhere", *request.command))

    found = look(archive, Wrapped())
    assert severity(found, "tool") == "error" and severity(found, "command") == "ok"
    assert "set_env.sh" in found["tool"][0].next_step


def test_inputs_and_processes(archive: Path) -> None:
    there = archive.parent / "batch.pt"
    there.write_bytes(b"x")
    found = look(archive, keep_inputs=(there, archive.parent))
    assert [one.role == "ok" for one in found["input"]] == [False, True]
    assert severity(look(archive, command=(sys.executable,), pid=os.getpid()), "pid") == "ok"
    assert severity(look(archive, pid=(1 << 22) - 1), "pid") == "error"


@pytest.mark.parametrize(
    ("environment", "word"),
    [
        ({"ASCEND_GLOBAL_LOG_LEVEL": "1"}, "ASCEND_GLOBAL_LOG_LEVEL=1"),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "1"}, "ASCEND_SLOG_PRINT_TO_STDOUT"),
        ({"ASCEND_LOG_PRINT_TO_STDOUT": "1"}, "ASCEND_LOG_PRINT_TO_STDOUT"),
        ({"ASCEND_GLOBAL_EVENT_ENABLE": "1"}, "ASCEND_GLOBAL_EVENT_ENABLE"),
        ({"ASCEND_MODULE_LOG_LEVEL": "GE=0:HCCL=3"}, "GE=0"),
    ],
)
def test_chatty_logs(archive: Path, environment: dict[str, str], word: str) -> None:
    found = look(archive, environment=environment)
    assert severity(found, "log-level") == "warning" and word in found["log-level"][0].message


@pytest.mark.parametrize("level", ["2", "3", "4", ""])
def test_quiet_logs(archive: Path, level: str) -> None:
    environment = {"ASCEND_GLOBAL_LOG_LEVEL": level, "ASCEND_MODULE_LOG_LEVEL": "GE=3"}
    assert severity(look(archive, environment=environment), "log-level") == "ok"


@pytest.mark.parametrize(
    ("environment", "word"),
    [
        ({"PROFILING_MODE": "true"}, "PROFILING_MODE"),
        ({"PROFILING_OPTIONS": '{"output":"/a"}'}, "PROFILING_OPTIONS"),
        ({"LD_PRELOAD": "/opt/a.so:/opt/lib/libmssanitizer_injection.so"}, "libmssanitizer_injection.so"),
    ],
)
def test_other_tools_by_the_environment(archive: Path, environment: dict[str, str], word: str) -> None:
    found = look(archive, environment=environment)
    assert severity(found, "other-profiler") == "warning" and word in found["other-profiler"][0].message


def test_dynamic_profiling_of_a_living_process(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)  # the names of sockets are short, those of folders need not be
    # sockets alone: tools that run on this machine meanwhile are another test's
    monkeypatch.setattr("npulse.core.capture.preflight_settings.all_processes", lambda: ())
    with socket.socket(socket.AF_UNIX) as gone, socket.socket(socket.AF_UNIX) as here:
        gone.bind(f"dynamic_profiling_socket_{(1 << 22) - 1}")
        assert severity(look(archive, environment={"HOME": str(home)}), "other-profiler") == "ok"
        here.bind(f"dynamic_profiling_socket_{os.getpid()}")
        assert severity(look(archive, environment={"HOME": str(home)}), "other-profiler") == "warning"


def test_a_profiler_that_runs(archive: Path, tmp_path: Path) -> None:
    import shutil

    tool = tmp_path / "msprof"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", tool)
    with subprocess.Popen([tool, "600"]) as process:
        try:
            found = look(archive)
            assert severity(found, "other-profiler") == "warning"
            assert str(process.pid) in found["other-profiler"][0].message
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("command", "environment", "expected"),
    [
        (("torchrun", "--nproc_per_node=16", "t.py"), {}, 16),
        (("torchrun", "--nnodes", "4", "--nproc-per-node", "8", "t.py"), {}, 32),
        (("mpirun", "-np", "64", "./a"), {}, 64),
        (("msrun", "--worker_num=8", "t.py"), {}, 8),
        (("python", "-m", "torch.distributed.run", "--nproc_per_node", "9", "t.py"), {}, 9),
        (("python", "t.py", "-n", "64"), {}, None),
        (("python", "t.py"), {"WORLD_SIZE": "128"}, 128),
        (("torchrun", "--nproc_per_node=gpu", "t.py"), {}, None),
        (("torchrun", "--nproc_per_node"), {}, None),
    ],
)
def test_ranks(command: tuple[str, ...], environment: dict[str, str], expected: int | None) -> None:
    assert ranks_told(command, environment)[0] == expected


def test_many_ranks_without_a_choice(archive: Path) -> None:
    environment = {"WORLD_SIZE": "64"}
    assert severity(look(archive, environment=environment), "ranks") == "warning"
    assert severity(look(archive, environment=environment, rank="0"), "ranks") == "ok"


def test_relative_paths_of_tools(archive: Path) -> None:
    found = look(archive, environment={"ASCEND_WORK_PATH": "logs"})
    assert severity(found, "relative-path") == "warning"
    assert severity(look(archive, environment={"ASCEND_WORK_PATH": "/logs"}), "relative-path") == "ok"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--graph-mode",), "warning"),
        (("--enable-fusion", "true"), "warning"),
        (("--torch_compile=1",), "warning"),
        (("--no-fusion",), "ok"),
        (("--use-fused-rope", "False"), "ok"),
        (("--graph_mode=off",), "ok"),
        (("--paragraphs", "4"), "ok"),
    ],
)
def test_fusion_for_a_memory_capture(archive: Path, flags: tuple[str, ...], expected: str) -> None:
    found = look(archive, command=(*python(""), *flags), kind="memory")
    assert severity(found, "fusion") == expected
    assert "fusion" not in look(archive, command=(*python(""), *flags), kind="performance")


def test_hints_are_given_where_they_are_asked_for(archive: Path) -> None:
    assert "small" not in look(archive)
    kinds = ("precision", "overflow", "memory", "performance")
    told = {kind: [one.message for one in look(archive, kind=kind, is_small=True)["small"]] for kind in kinds}
    assert all(len(lines) >= 3 for lines in told.values())
    assert len({tuple(lines) for lines in told.values()}) == 4


def test_every_text_is_there_in_both_languages() -> None:
    for table in (PREFLIGHT, SESSION, TOLD):
        for key, (en, zh) in table.items():
            assert en and zh, key
            assert en.isascii(), key
            assert {p for p in en.split("{")[1:] if "}" in p} or en, key
    assert all(en and zh for words in SMALL.values() for en, zh in words)


def test_what_is_copied_counts_and_keep_last_needs_room_for_two(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = archive.parent / "batch.pt"
    kept.write_bytes(b"x" * 1000)
    driver = PlainDriver()
    driver.need = (10, 100)
    found = look(archive, driver, keep_inputs=(kept,), repeat=5)
    assert found["disk-space"][0].figures["least_bytes"] == 5 * 1010
    found = look(archive, driver, keep_inputs=(kept,), repeat=5, keep_last=True)
    assert found["disk-space"][0].figures["most_bytes"] == 2 * 100 + 5 * 1000


def test_less_room_than_a_tool_is_wary_of_is_told_with_its_reason(archive: Path) -> None:
    class Wary(PlainDriver):
        def size_basis(self, request: Any) -> SizeBasis:
            return SizeBasis(("every tensor", "全部张量"), 1 << 60)

    (told,) = look(archive, Wary())["disk-space"]
    assert told.severity == "warning" and told.message.endswith("(every tensor)")
    (told,) = look(archive, Wary(), lang="zh")["disk-space"]
    assert told.message.endswith("（全部张量）")


@pytest.mark.parametrize(("visible", "n_told"), [("0", 1), ("", 0), ("0,1", 0), ("1", 1)])
def test_a_process_of_the_job_s_cards_that_holds_memory_on_another_one_is_told(
    archive: Path, monkeypatch: pytest.MonkeyPatch, visible: str, n_told: int
) -> None:
    chips = tuple(ChipState(n, 0, device=n, health="OK") for n in (0, 1))
    python3 = tuple(Process(n, 0, pid=4711, name="python3", memory_mb=300) for n in (0, 1))
    own = Process(1, 0, pid=4712, name="other", memory_mb=300)
    cards = Snapshot("ok", chips=chips, processes=(*python3, own), listed_npus=(0, 1))
    monkeypatch.setattr("npulse.core.device.query.snapshot_now", lambda **words: cards)
    environment = {"ASCEND_RT_VISIBLE_DEVICES": visible}
    told = look(archive, environment=environment).get("device.stray", [])
    assert len(told) == n_told
    assert all("python3 (4711)" in one.message and "4712" not in one.message for one in told)

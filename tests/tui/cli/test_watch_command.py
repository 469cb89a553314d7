"""`npulse watch` from outside: lines, exit codes, the status file, a rotated output, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.growing import NAMES, head, record

from npulse.tui.cli.main import run

REPO = Path(__file__).resolve().parents[3]
PATIENCE_S = 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    path.mkdir()
    add(path, "sanitizer", 0, 2)
    return path


def add(folder: Path, kind: str, begin: int, end: int) -> None:
    path = folder / NAMES[kind]
    if not path.exists():
        path.write_text(head(kind))
    with path.open("a") as file:
        file.writelines(record(kind, k) for k in range(begin, end))


def until(is_so: Callable[[], bool]) -> None:
    """Wait for another process, for some time at most."""
    ends_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < ends_s, "it never came"
        time.sleep(0.02)


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def begin(*words: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "npulse", "watch", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(REPO / "src")},
            preexec_fn=lambda: signal.signal(
                signal.SIGINT, signal.SIG_DFL
            ),  # a job in the background has it off
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_once_says_each_finding_in_a_line_and_ends_with_its_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["watch", str(folder), "--once"]) == 1
    lines = capsys.readouterr().out.splitlines()
    errors = [line for line in lines if line[9:11] == "E "]
    assert len(errors) == 2
    assert "memory origin /home/user/ops/add_custom.cpp:20 [memory.access]" in errors[0]
    assert lines[-1].endswith("verdict: FAIL (exit code 1)")


def test_once_in_chinese(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watch", str(folder), "--once", "--lang", "zh"]) == 1
    assert "结论：FAIL（退出码 1）" in capsys.readouterr().out


def test_nothing_recognised_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watch", str(tmp_path), "--once"]) == 4
    assert "UNKNOWN (exit code 4)" in capsys.readouterr().out


def test_warnings_alone_are_a_finding_only_with_strict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(tmp_path, "op_summary", 0, 300)
    assert run(["watch", str(tmp_path), "--once"]) == 0
    assert run(["watch", str(tmp_path), "--once", "--strict"]) == 1


def test_objects_for_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watch", str(folder), "--once", "--format", "jsonl"]) == 1
    found = objects(capsys.readouterr().out)
    kinds = [one["kind"] for one in found]
    assert kinds.count("finding") >= 2 and kinds[-1] == "summary" and "state" in kinds
    origin = next(one for one in found if one["kind"] == "finding")
    assert (origin["rule"], origin["role"], origin["severity"]) == ("memory.access", "origin", "error")
    assert origin["at"].endswith("Z") and origin["location"]["line"] == 1
    assert {**found[-1], "at": ""} == {
        "kind": "summary",
        "at": "",
        "run": str(folder),
        "verdict": "fail",
        "exit_code": 1,
        "areas": {"memory": "fail"},
    }


def test_names_are_hidden_where_that_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watch", str(folder), "--once", "--mask"]) == 1
    assert "add_custom" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--format", "md"), 2, "unknown format"),
        (("--area", "weather"), 2, "unknown area"),
        (("--once", "--interval", "5"), 2, "no interval"),
        (("--once", "--on-finding", "no-such-program-here x"), 2, "no-such-program-here"),
        (("--interval", "-1"), 2, "interval"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    folder: Path, words: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["watch", str(folder), *words]) == code
    assert said in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watch", str(tmp_path / "none")]) == 2
    assert "no such file or folder" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--serve-status", "-o"])
def test_nothing_is_written_into_the_run(
    folder: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.iterdir())
    assert run(["watch", str(folder), "--once", option, str(folder / "mine.json")]) == 2
    assert sorted(folder.iterdir()) == before


def test_the_status_file(folder: Path, tmp_path: Path) -> None:
    status = tmp_path / "status.json"
    assert run(["watch", str(folder), "--once", "--serve-status", str(status)]) == 1
    found = json.loads(status.read_text())
    assert (found["verdict"], found["exit_code"], found["errors"]) == ("fail", 1, 2)
    assert found["first"]["subject"] == "/home/user/ops/add_custom.cpp:20"
    assert found["state"]["state"] in ("live", "quiet", "writer-gone")
    assert found["recorded"] == [
        {
            "rank": None,
            "artifacts": 1,
            "size_bytes": (folder / NAMES["sanitizer"]).stat().st_size,
            "newest": found["recorded"][0]["newest"],
        }
    ]
    assert found["pid"] == os.getpid() and found["heartbeat_s"] > 0


def test_a_new_finding_comes_while_the_tool_writes_and_sigterm_gives_the_code(
    folder: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    out = tmp_path / "out.jsonl"
    watch = start(folder, "--format", "jsonl", "-o", out)

    def sites() -> list[str]:
        found = objects(out.read_text()) if out.exists() else []
        return [
            one["subject"] for one in found if one["kind"] == "finding" and one["rule"] == "memory.access"
        ]

    until(lambda: len(sites()) == 2)
    add(folder, "sanitizer", 2, 4)
    until(lambda: len(sites()) == 4)
    rotated = out.rename(tmp_path / "out.1.jsonl")
    add(folder, "sanitizer", 4, 5)
    until(lambda: len(sites()) == 1)
    assert sites() == ["/home/user/ops/add_custom.cpp:24"]
    assert len([one for one in objects(rotated.read_text()) if one.get("rule") == "memory.access"]) == 4
    watch.send_signal(signal.SIGTERM)
    assert watch.wait(PATIENCE_S) == 1


def test_a_hangup_that_nohup_ignores_does_not_end_it(folder: Path, tmp_path: Path) -> None:
    status = tmp_path / "status.json"
    words = [sys.executable, "-m", "npulse", "watch", str(folder), "--serve-status", str(status)]
    watch = subprocess.Popen(
        ["nohup", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(REPO / "src")},
    )
    try:
        until(status.exists)
        watch.send_signal(signal.SIGHUP)
        add(folder, "sanitizer", 2, 4)
        until(lambda: json.loads(status.read_text())["errors"] == 4)
        watch.send_signal(signal.SIGTERM)
        assert watch.wait(PATIENCE_S) == 1
    finally:
        watch.kill()
        watch.wait()


def test_lines_that_cannot_be_written_wait_and_end_nothing(
    folder: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    status, logs = tmp_path / "status.json", tmp_path / "logs"
    logs.mkdir()
    out = logs / "out.jsonl"
    watch = start(folder, "--format", "jsonl", "-o", out, "--serve-status", status)
    until(lambda: out.exists() and status.exists())
    logs.rename(tmp_path / "elsewhere")
    add(folder, "sanitizer", 2, 3)
    until(lambda: json.loads(status.read_text())["errors"] == 3)
    logs.mkdir()
    add(folder, "sanitizer", 3, 4)
    until(out.exists)
    sites = [one["subject"][-3:] for one in objects(out.read_text()) if one.get("rule") == "memory.access"]
    assert sites == [":22", ":23"]
    watch.terminate()
    assert watch.wait(PATIENCE_S) == 1
    assert watch.stderr.read().count("cannot write") == 1  # type: ignore[union-attr]


def test_ctrl_c_ends_it_with_130(
    folder: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    status = tmp_path / "status.json"
    watch = start(folder, "--serve-status", status)
    until(status.exists)
    watch.send_signal(signal.SIGINT)
    assert watch.wait(PATIENCE_S) == 130
    assert "Traceback" not in watch.stderr.read()  # type: ignore[union-attr]


def test_a_command_gets_each_new_error(
    folder: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    told = tmp_path / "told"
    script = tmp_path / "tell.py"
    script.write_text(f"import sys\nopen({str(told)!r}, 'a').write(sys.stdin.read())\n")
    assert start(folder, "--once", "--on-finding", f"{sys.executable} {script}").wait(PATIENCE_S) == 1
    found = objects(told.read_text())
    assert [one["subject"][-3:] for one in found] == [":20", ":21"]
    assert {one["severity"] for one in found} == {"error"}


def test_a_golden_capture_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    from npulse.sample_runs import SAMPLES, sample_path

    sample = sample_path(next(iter(SAMPLES)))
    target, golden = sample / "round1" / "target", sample / "golden"
    code = run(["precision", str(target), str(golden), "--format", "jsonl"])
    expected = [(f["rule"], f["subject"]) for f in objects(capsys.readouterr().out) if f["kind"] == "finding"]
    words = ["watch", str(target), "--once", "--area", "precision", "--golden", str(golden)]
    assert run([*words, "--format", "jsonl"]) == code == 1
    found = [(f["rule"], f["subject"]) for f in objects(capsys.readouterr().out) if f["kind"] == "finding"]
    assert found == expected

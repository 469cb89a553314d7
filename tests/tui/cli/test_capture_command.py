"""`npulse capture` as scripts use it: what is printed, which exit code, what is refused."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from npulse.core.capture.request import CaptureRequest, usual_name
from npulse.tui.cli import capture as module
from npulse.tui.cli.main import run

from ...core.capture.doubles import (
    WRITES,
    PlainDriver,
    all_left,
    listing,
    manifest_of,
    python,
    register,
    rounds_of,
)

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that commands are started in."""
    register(monkeypatch.setitem)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert all_left(tmp_path) == []


def call(*words: str) -> int:
    return run(["capture", *words])


def test_what_was_recorded_decides_the_exit_code(work: Path, capsys: Capture) -> None:
    assert call("precision", "--tool", "plain", "--", *python(WRITES + "raise SystemExit(7)")) == 0
    out = capsys.readouterr().out
    (folder,) = rounds_of(work / "diag")
    assert out.startswith("recorded: 1 file, 100 bytes") and str(folder) in out
    assert f"npulse precision {folder} GOLDEN" in out and "exit status 7" in out
    assert call("precision", "--tool", "plain", "--", *python("print('all is well')")) == 4
    told = capsys.readouterr()
    assert told.out.startswith("NOTHING was recorded") and "all is well" in told.err


def test_json_is_one_object_whatever_the_program_prints(work: Path, capsys: Capture) -> None:
    assert call("overflow", "--tool", "plain", "--format", "json", "--", *python(WRITES + "print('{')")) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == 1 and told["kind"] == "overflow" and told["exit_code"] == 0
    (one,) = told["rounds"]
    assert one["outcome"] == "recorded" and one["exit_status"] == 0 and "/overflow/" in one["folder"]
    assert all({"rule", "severity", "message"} <= set(finding) for finding in told["preflight"])


def test_a_dry_run_prints_what_would_run_and_does_nothing(work: Path, capsys: Capture) -> None:
    before = listing(work, work / "none")
    command = python(WRITES, "a b", "")
    assert call("precision", "--tool", "plain", "--dry-run", "--", *command) == 0
    out = capsys.readouterr().out
    assert "'a b' ''" in out and f"writes into: {work}/diag/dump/" in out and "config.json (0644)" in out
    assert '  | {"step": []}' in out and "SIGINT (15 s), SIGTERM (5 s), SIGKILL (5 s)" in out
    assert f"  export FAKE_RAW={work}/diag/dump/" in out and "+ capture.disk-space" in out
    assert call("precision", "--tool", "plain", "--dry-run", "--format", "json", "--", *command) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert plan["argv"] == list(command) and plan["files"][0]["text"] == '{"step": []}\n'
    assert listing(work, work / "none") == before


def test_the_dry_run_is_what_is_started(work: Path, capsys: Capture) -> None:
    command = python("import os, sys; print(sys.argv[1:], os.environ['FAKE_RAW'].split('/')[-1])", "x y")
    assert call("precision", "--tool", "plain", "--dry-run", "--format", "json", "--", *command) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    call("precision", "--tool", "plain", "--", *command)
    (folder,) = rounds_of(work / "diag")
    assert manifest_of(folder)["plan"]["argv"] == plan["argv"]
    assert (folder / "console.log").read_text() == "['x y'] raw\n"
    assert (folder / "config.json").read_text() == plan["files"][0]["text"]


def test_the_preflight_holds_back_with_3(work: Path, capsys: Capture) -> None:
    assert call("precision", "--tool", "plain", "--", "no-such-program") == 3
    told = capsys.readouterr()
    assert "no program 'no-such-program'" in told.err and "--force" in told.err and told.out == ""
    assert call("precision", "--tool", "plain", "--format", "json", "--", "no-such-program") == 3
    body = json.loads(capsys.readouterr().out)
    assert body["rounds"] == [] and body["preflight"][0]["rule"] == "capture.command"
    assert call("precision", "--tool", "plain", "--dry-run", "--", "no-such-program") == 3
    assert not (work / "diag").exists()
    assert call("precision", "--tool", "plain", "--force", "--", "no-such-program") == 3
    (folder,) = rounds_of(work / "diag")
    assert manifest_of(folder)["state"] == "closed"


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("precise", "--", "x"),
        ("precision", "--tool", "plain"),
        ("precision", "--tool", "none-such", "--", "x"),
        ("precision", "--tool", "plain", "--pid", "1", "--", "x"),
        ("precision", "--tool", "plain", "--profiling-level", "1", "--", "x"),
        ("performance", "--tool", "plain", "--profiling-level", "1", "--level", "l1", "--", "x"),
        ("performance", "--tool", "plain", "--profiling-level", "4", "--", "x"),
        ("memory", "--tool", "plain", "--stop-at-first", "--", "x"),
        ("precision", "--tool", "plain", "--set", "name", "--", "x"),
        ("precision", "--tool", "plain", "--set", "=3", "--", "x"),
        ("precision", "--tool", "plain", "--format", "csv", "--", "x"),
        ("precision", "--tool", "plain", "--repeat", "0", "--", "x"),
        ("precision", "--tool", "plain", "--archive", "", "--", "x"),
        ("--resume-bookkeeping", "a", "b"),
        ("--resume-bookkeeping", "nowhere"),
        ("--switch", "up", "x"),
        ("--switch", "on"),
        ("--switch", "on", "nowhere"),
    ],
)
def test_wrong_usage_ends_with_2_and_writes_nothing(
    work: Path, words: tuple[str, ...], capsys: Capture
) -> None:
    assert call(*words) == 2
    told = capsys.readouterr()
    assert told.err.startswith("npulse: ") and told.out == "" and list(work.iterdir()) == []


def test_options_reach_the_driver(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[CaptureRequest] = []

    def check(self: Any, request: CaptureRequest) -> None:
        seen.append(request)

    monkeypatch.setattr(PlainDriver, "check", check)
    words = ["--rank", "0,2-4", "--step", "0|5-10", "--list", "conv*, linear", "--list", "x", "--level", "L1"]
    words += ["--model", "m", "--set", "--aic-metrics=Memory", "--set", "a=b=c", "--tool-option", "--flag"]
    words += ["--keep-fp32", "lm_head", "--retro", "3", "--timeout", "9.5", "--repeat", "2", "--keep-last"]
    words += ["--small", "--keep-input", "in.pt", "--name", "my name", "--lang", "zh", "--archive", "d"]
    (work / "in.pt").write_text("")
    call("precision", "--tool", "plain", *words, "--dry-run", "--", "python3", "t.py", "--step", "--", "")
    (request,) = seen
    assert request.command == ("python3", "t.py", "--step", "--", "")
    assert (request.rank, request.step, request.level, request.model) == ("0,2-4", "0|5-10", "L1", "m")
    assert request.names == ("conv*", "linear", "x") and request.extra == ("--flag",)
    assert request.settings == {"aic-metrics": "Memory", "a": "b=c"} and request.keep_fp32 == ("lm_head",)
    assert (request.retro, request.timeout_s, request.repeat, request.keep_last) == (3, 9.5, 2, True)
    assert request.is_small and request.keep_inputs == (work / "in.pt",) and request.archive == work / "d"
    assert request.name == "my name" and request.lang == "zh" and request.cwd == work


@pytest.mark.parametrize(
    ("command", "pid", "model", "name"),
    [
        (("python", "-u", "src/train.py", "x.py"), None, None, "train"),
        (("/opt/app", "--x"), None, "m", "app"),
        ((), 12, None, "pid12"),
        ((), None, "models/resnet.om", "resnet"),
    ],
)
def test_a_round_without_a_name_is_called_after_its_program(
    command: tuple[str, ...], pid: int | None, model: str | None, name: str
) -> None:
    assert usual_name(command, pid, model) == name


def test_a_model_alone_is_dumped_offline(work: Path, capsys: Capture) -> None:
    words = ("--tool", "acl-dump", "--model", "net.om", "--dry-run", "--format", "json", "--force")
    assert call("precision", *words) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    raw = f"{plan['folder']}/raw"
    assert plan["argv"] == ["msprobe", "offline_dump", "--model_path", "net.om", "-o", raw]
    assert Path(plan["folder"]).name.startswith("net_")


@pytest.mark.parametrize(
    "words",
    [
        ("precision",),
        ("precision", "--tool", "plain"),
        ("precision", "--tool", "acl-dump", "--model", "net"),
        ("precision", "--tool", "acl-dump", "--model", "net.om", "--pid", "1"),
        ("overflow",),
        ("memory",),
        ("performance",),
    ],
)
def test_without_a_command_nothing_is_captured(work: Path, words: tuple[str, ...]) -> None:
    assert call(*words, "--dry-run") == 2


def test_signals_are_as_before_afterwards(work: Path) -> None:
    before = [signal.getsignal(number) for number in module.REASONS]
    call("precision", "--tool", "plain", "--", sys.executable, "-c", "pass")
    assert [signal.getsignal(number) for number in module.REASONS] == before


COUNTS = (
    "import os, sys; n = len(os.listdir(os.environ['FAKE_RAW'] + '/../..'))\n"
    "open(os.environ['FAKE_RAW'] + ('/fault' if n == int(sys.argv[1]) else '/clean'), 'w').write('x')\n"
)


def test_attempts_are_a_line_each_and_the_last_one_whole(work: Path, capsys: Capture) -> None:
    words = ("memory", "--tool", "plain", "--repeat", "3", "--keep-last", "--")
    assert call(*words, *python(COUNTS, "2")) == 0
    lines = capsys.readouterr().out.splitlines()
    first, second = rounds_of(work / "diag")
    assert lines[0] == f"attempt 1 of 3: recorded, {first}, raw data removed (--keep-last)"
    assert lines[1].startswith("recorded: 1 file") and "  the fault shows itself here" in lines
    assert lines[-1] == f"  next: npulse memory {second}"
    assert call(*words, *python(COUNTS, "99")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "the fault did not show itself in 3 attempts"
    assert "  no fault shows itself here" in lines


def test_a_program_that_fails_at_the_last_attempt_is_no_run_without_the_fault(
    work: Path, capsys: Capture
) -> None:
    fails = "n = len(os.listdir(os.environ['FAKE_RAW'] + '/../..')); raise SystemExit(n == 2)"
    words = ("performance", "--tool", "plain", "--repeat", "2", "--")
    assert call(*words, *python(WRITES + fails)) == 0
    out = capsys.readouterr().out
    assert "exit status 1" in out and "did not show itself" not in out

"""`npulse config`: output, exit codes, and what must not be replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from npulse.tui.cli.main import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str | Path) -> int:
    return run(["config", *map(str, words)])


def made(capsys: Capture, *words: str | Path) -> dict[str, Any]:
    assert call("new", *words) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def write(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_new_for_msprobe(capsys: Capture) -> None:
    found = made(capsys, "--tool", "msprobe", "--list", "conv*", "--step", "0|5-10", "--rank", "0,2-3")
    assert (found["statistics"]["list"], found["step"], found["rank"]) == (["conv"], [0, "5-10"], [0, "2-3"])
    found = made(
        capsys,
        *("--tool", "msprobe", "--task", "tensor", "--level", "mix", "--mode", "forward,output"),
        *("--scope", "Module.a.B.forward.0", "Module.c.D.forward.0", "--dump-path", "/d"),
    )
    assert found["tensor"]["scope"] == ["Module.a.B.forward.0", "Module.c.D.forward.0"]
    assert (found["tensor"]["data_mode"], found["dump_path"]) == (["forward", "output"], "/d")
    assert made(capsys, "--tool", "msprobe", "--overflow")["task"] == "nan_check"
    old = made(capsys, "--tool", "msprobe", "--overflow", "--msprobe-version", "8.3.3")
    assert old["task"] == "overflow_check"


def test_new_for_acl(capsys: Capture, tmp_path: Path) -> None:
    names = write(tmp_path / "names.txt", "conv1\nconv2\nfc\n")
    words = ("--tool", "acl", "-m", "a/net.om", "--list", "conv*", "--step", "0,5-10", "--mode", "all")
    found = made(capsys, *words, "--name-list", names)
    assert found["dump"] == {
        "dump_list": [{"model_name": "net", "layer": ["conv1", "conv2"]}],
        "dump_path": "./dump",
        "dump_mode": "all",
        "dump_step": "0|5-10",
    }
    assert made(capsys, "--tool", "acl", "--scene", "lite_exception") == {
        "dump": {"dump_scene": "lite_exception"}
    }
    assert made(capsys, "--tool", "acl", "--overflow")["dump"]["dump_debug"] == "on"
    assert made(capsys, "--tool", "acl", "--op-switch")["dump"]["dump_op_switch"] == "on"
    assert made(capsys, "--tool", "acl", "--stats", "Max,Nan")["dump"]["dump_stats"] == ["Max", "Nan"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "new, check or explain"),
        (["new"], "--tool"),
        (["new", "--tool", "ascend"], "--tool msprobe"),
        (["new", "--tool", "acl", "--list", "conv*"], "--name-list"),
        (["new", "--tool", "acl", "--task", "tensor"], "--task"),
        (["new", "--tool", "acl", "--overflow", "--op-switch"], "dump_debug"),
        (["new", "--tool", "msprobe", "--scene", "watcher"], "--scene"),
        (["new", "--tool", "msprobe", "--step", "9-5"], "5-9"),
        (["new", "--tool", "msprobe", "--level", "L2"], "tensor"),
        (["new", "--from", "missing.json"], "missing.json"),
        (["check", "missing.json"], "missing.json"),
        (["check", "--cwd", "missing", "x.json"], "--cwd"),
        (["explain", "missing.json"], "missing.json"),
    ],
)
def test_wrong_usage_is_told_in_two_lines(words: list[str], said: str, capsys: Capture) -> None:
    assert call(*words) == 2
    told = capsys.readouterr()
    assert told.out == "" and said in told.err and len(told.err.splitlines()) <= 2


def test_files_are_not_replaced(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "acl.json"
    assert call("new", "--tool", "acl", "-o", path) == 0
    first = path.read_text()
    assert capsys.readouterr().out == ""
    assert call("new", "--tool", "acl", "--step", "3", "-o", path) == 2
    assert path.read_text() == first and "--force" in capsys.readouterr().err
    assert call("new", "--tool", "acl", "--step", "3", "-o", path, "--force") == 0
    assert json.loads(path.read_text())["dump"]["dump_step"] == "3"
    assert [p.name for p in tmp_path.iterdir()] == ["acl.json"]


def test_exit_codes_of_check(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    good = write(tmp_path / "good.json", {"dump": {"dump_path": str(tmp_path / "d"), "dump_list": [{}]}})
    warned = write(
        tmp_path / "warned.json", {"task": "tensor", "dump_path": str(tmp_path / "d"), "tensor": {}}
    )
    bad = write(tmp_path / "bad.json", {"dump": {"dump_path": str(tmp_path / "d")}})
    unknown = write(tmp_path / "unknown.json", {"a": 1})
    broken = write(tmp_path / "broken.json", '{"dump": {},}')
    assert [call("check", path) for path in (good, warned, bad, broken, unknown)] == [0, 0, 1, 2, 4]
    assert call("check", warned, "--strict") == 1
    assert [call("check", good, other) for other in (warned, bad, broken, unknown)] == [0, 1, 2, 4]
    assert call("check", broken, bad) == 1
    capsys.readouterr()
    assert call("check", bad, "--format", "json") == 1
    report = json.loads(capsys.readouterr().out)
    (finding,) = report["findings"]
    assert (finding["rule"], finding["location"]["line"]) == ("config.nothing-selected", 1)
    assert (report["command"], report["verdict"]) == ("config", "fail")
    assert call("check", bad, "--lang", "zh") == 1
    assert "静默" in capsys.readouterr().out
    assert run(["--lang", "zh", "config", "check", str(bad)]) == 1
    assert "静默" in capsys.readouterr().out


def test_the_documents_form(capsys: Capture, tmp_path: Path) -> None:
    item = {"model_name": "net", "layer_name": "conv*", "dump_mode": "input", "dump_step": "0|5-10"}
    path = write(tmp_path / "d.json", {"dump_list": [item]})
    assert call("check", path) == 0
    assert '"task": "tensor"' in capsys.readouterr().out
    assert made(capsys, "--from", path)["tensor"]["data_mode"] == ["input"]
    names = write(tmp_path / "names.txt", "conv1\nfc\n")
    found = made(capsys, "--from", path, "--tool", "acl", "--name-list", names)
    assert found["dump"]["dump_list"] == [{"model_name": "net", "layer": ["conv1"]}]
    assert call("new", "--from", path, "--tool", "acl") == 2
    acl = write(tmp_path / "acl.json", {"dump": {"dump_list": [{}]}})
    assert call("new", "--from", acl) == 2
    capsys.readouterr()
    assert call("new", "--from", path, "--step", "3") == 2
    assert "--step" in capsys.readouterr().err
    wrapped = write(tmp_path / "w.json", {"dump_config": {"dump_list": [item], "dump_path": "/d"}})
    assert made(capsys, "--from", wrapped)["dump_path"] == "/d"


def test_explain(capsys: Capture, tmp_path: Path) -> None:
    path = write(tmp_path / "c.json", {"task": "statistics", "dump_path": "d", "level": "L1"})
    assert call("explain", path) == 0
    told = capsys.readouterr().out
    assert "API calls" in told and "PrecisionDebugger" in told
    assert call("explain", path, path, "--lang", "zh", "--cwd", "/job") == 0
    assert capsys.readouterr().out.count("/job/d") == 2
    assert call("explain", write(tmp_path / "x.json", {"a": 1})) == 4


def test_names_from_files_cannot_move_the_cursor(capsys: Capture, tmp_path: Path) -> None:
    path = write(tmp_path / "c.json", {"dump": {"dump_path": "\x1b[2J", "dump_list": [{"\x1b[31m": "\x07"}]}})
    call("check", path)
    call("explain", path)
    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err and "\x07" not in told.out + told.err

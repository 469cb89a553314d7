"""`npulse check` as a gate: only new findings fail, silences have a reason and a day; packs are opened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npulse.tui.cli.main import run as npulse

FAULT = (
    "====== ERROR: illegal {0} of size 4\n======    at 0x30a00 on GM in add_custom\n"
    "======    in block aiv(0) on device 0\n======    code in pc current 0x694 (serialNo:10)\n"
    "======    #0 /build/add.cpp:{1}:9\n\n"
)
SILENCE = '[[silence]]\nrule = "{0}"\nreason = "waits for the new kernel"\nuntil = {1}\n'


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Two rounds: one fault, then the same and another one."""
    for name, lines in (("round1", (38,)), ("round2", (38, 51))):
        (tmp_path / "job" / name).mkdir(parents=True)
        text = "".join(FAULT.format("write", line) for line in lines)
        (tmp_path / "job" / name / "mssanitizer.log").write_text(text)
    return tmp_path / "job"


def test_a_baseline_lets_known_faults_pass_and_new_ones_fail(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = str(tmp_path / "base.json")
    assert npulse(["check", str(archive), "--round", "round1", "-o", base]) == 1
    assert npulse(["check", str(archive), "--round", "round1", "--baseline", base]) == 4
    told = capsys.readouterr()
    assert f"known in {base}, not counted: " in told.err and f"worse than in {base}: 0" in told.err
    assert "add.cpp:38" in told.out and "known in the baseline" in told.out
    assert npulse(["check", str(archive), "--baseline", base, "-o", str(tmp_path / "now.json")]) == 1
    findings = json.loads((tmp_path / "now.json").read_text())["findings"]
    errors = [one["subject"] for one in findings if one["severity"] == "error" and one["area"] == "memory"]
    assert errors == ["/build/add.cpp:51"]


def test_a_round_and_another_run_are_baselines(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for baseline in ("round:round1", str(archive / "round1")):
        assert npulse(["check", str(archive), "--baseline", baseline, "--format", "json"]) == 1
        findings = json.loads(capsys.readouterr().out)["findings"]
        memory = {one["subject"]: one["severity"] for one in findings if one["rule"] == "memory.access"}
        assert memory == {"/build/add.cpp:38": "note", "/build/add.cpp:51": "error"}, memory


def test_a_report_has_a_baseline_too(archive: Path, tmp_path: Path) -> None:
    base, junit = tmp_path / "base.json", tmp_path / "now.xml"
    assert npulse(["check", str(archive), "-o", str(base)]) == 1
    assert npulse(["report", str(archive), "-o", str(junit)]) == 1
    assert "<failure" in junit.read_text()
    assert npulse(["report", str(archive), "-o", str(junit), "--baseline", str(base)]) == 4
    assert "<failure" not in junit.read_text()


def test_silences_of_a_file_and_of_the_criteria(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silences = tmp_path / "silences.toml"
    silences.write_text(SILENCE.format("memory.*", "2999-01-01"))
    assert npulse(["check", str(archive), "--silence", str(silences)]) == 4  # no check ran to its end
    told = capsys.readouterr()
    assert "silenced until 2999-01-01" in told.err and "(waits for the new kernel)" in told.out
    silences.write_text(SILENCE.format("memory.*", "2020-01-01"))
    assert npulse(["check", str(archive), "--silence", str(silences)]) == 1
    assert f"{silences}:1: the silence of memory.* for * expired on 2020-01-01" in capsys.readouterr().err
    assert npulse(["check", str(archive), "--criteria", str(silences)]) == 1
    assert "expired on 2020-01-01" in capsys.readouterr().err


def test_what_cannot_be_used_ends_with_2(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text(SILENCE.format("memory.acess", "2999-01-01"))
    assert npulse(["check", str(archive), "--silence", str(broken)]) == 2
    told = capsys.readouterr().err
    assert f"{broken}, line 2" in told and "memory.access" in told
    assert npulse(["check", str(archive), "--criteria", str(broken)]) == 2
    assert f"{broken}, line 2" in capsys.readouterr().err
    for baseline in (str(broken), "nowhere.json", "round:", "round:no-such"):
        assert npulse(["check", str(archive), "--baseline", baseline]) == 2, baseline


def test_a_pack_is_opened_by_every_command(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = str(tmp_path / "x.tar.gz")
    assert npulse(["pack", str(archive), "-o", pack]) == 0
    assert "judged anew where it is opened: memory" in capsys.readouterr().out
    for words in (["memory", pack], ["check", pack], ["rounds", pack], [pack]):
        assert npulse(words) == 1, words
        told = capsys.readouterr()
        assert "add.cpp:51" in told.out or words[0] == "rounds"
        assert f"is a pack of {archive}" in told.err
    assert npulse(["diff", pack, str(archive)]) == 0
    assert npulse(["pack", pack, "-o", pack]) == 2 and npulse(["pack", str(archive), "-o", "x.zip"]) == 2
    assert sorted(path.name for path in archive.rglob("*")) == ["mssanitizer.log"] * 2 + ["round1", "round2"]

"""`npulse check` as it is typed: exit codes, criteria files, silences, formats, what `--mask` hides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from npulse.tui.cli.main import run
from npulse.tui.state import user_config_file

from ..panes.memory_runs import checked, illegal_write

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPULSE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LC_ALL", "C")


def memory_run(folder: Path, *logs: str, command: str = "") -> Path:
    """Rounds round1, round2 ... with one sanitizer log each."""
    for number, log in enumerate(logs, 1):
        own = folder / f"round{number}"
        own.mkdir(parents=True)
        (own / "mssanitizer.log").write_text(log, encoding="utf-8")
        if command:
            (own / "round.toml").write_text(f"schema = 1\ncommand = {json.dumps(command.split())}\n", "utf-8")
    return folder


BAD = checked(illegal_write(0))
GOOD = checked("")


def told(capsys: Capture, *words: object) -> dict[str, Any]:
    capsys.readouterr()
    run(["check", *map(str, words), "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def criteria(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_exit_codes_say_how_it_stands(tmp_path: Path, capsys: Capture) -> None:
    bad, good = memory_run(tmp_path / "bad", BAD), memory_run(tmp_path / "good", BAD, GOOD)
    (tmp_path / "empty").mkdir()
    cut = memory_run(tmp_path / "cut", BAD[: len(BAD) // 2].replace("ERROR", "NOTE"))
    assert run(["check", str(bad)]) == 1
    assert run(["check", str(good)]) == 0, "the newest round counts"
    assert run(["check", str(good), "--round", "round1"]) == 1
    assert run(["check", str(tmp_path / "empty")]) == 4
    assert run(["check", str(cut)]) == 4
    capsys.readouterr()
    assert run(["check", str(tmp_path / "none")]) == 2
    assert run(["check", str(good), "--round", "round7"]) == 2
    assert run(["check"]) == 2
    err = capsys.readouterr().err
    assert "no round 'round7'" in err and "give one run" in err


def test_text_begins_with_what_to_open_first(tmp_path: Path, capsys: Capture) -> None:
    path = memory_run(tmp_path / "diag", BAD, command="python infer.py --n 2")
    assert run(["check", str(path)]) == 1
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == f"check: verdict FAIL  {path}" and lines[1].startswith(
        "look first at: Memory: a kernel"
    )
    memory = next(at for at, line in enumerate(lines) if line.startswith("  x  Memory"))
    assert lines[memory + 1].strip().startswith("/build/host7/ops/op_kernel/vec_add.cpp:38: access outside")
    assert lines[memory + 2].strip() == f"next: npulse memory {path} --round round1"
    assert "       next: npulse capture performance -- python infer.py --n 2" in lines
    findings = [line for line in lines if line.startswith("x ")]
    assert "[memory.access]" in findings[0] and "[checkup.criterion]" in findings[-1]


def test_a_criteria_file_asks_for_more(tmp_path: Path, capsys: Capture) -> None:
    path = memory_run(tmp_path / "diag", GOOD)
    asked = criteria(tmp_path, "[performance]\nstep_ms = 10\n")
    assert run(["check", str(path), "--criteria", str(asked)]) == 4
    found = told(capsys, path, "--criteria", asked, "--tables")
    assert (found["command"], found["verdict"], found["summary"]["first"]) == (
        "check",
        "unknown",
        "performance",
    )
    assert found["summary"]["criteria_file"] == str(asked)
    rows = {row["criterion"]: row for row in found["tables"]["checkup"]}
    assert rows["performance.step_ms"]["state"] == "unknown" and rows["memory.faults"]["value"] == 0
    assert [f["subject"] for f in found["findings"] if f["rule"] == "checkup.not-judged"] == ["performance"]


def test_the_usual_criteria_file_is_taken_and_said(tmp_path: Path, capsys: Capture) -> None:
    path = memory_run(tmp_path / "diag", GOOD)
    usual = user_config_file("criteria.toml")
    usual.parent.mkdir(parents=True, exist_ok=True)
    usual.write_text("[device]\nfaults = 0\n", encoding="utf-8")
    assert run(["check", str(path)]) == 4
    assert f"criteria: {usual}" in capsys.readouterr().out
    assert run(["check", str(path), "--criteria", str(criteria(tmp_path, ""))]) == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[memory]\n\nfault = 0\n", "mine.toml, line 3: memory.fault: no such criterion"),
        ("[memory]\nfaults = nan\n", "mine.toml, line 2: memory.faults: nan would judge nothing"),
        ("[memory\n", "mine.toml, line 1: this is no TOML"),
        ('[[silence]]\nrule = "memory.access"\n', "line 1: "),
    ],
)
def test_a_broken_criteria_file_is_told_before_the_work(
    tmp_path: Path, capsys: Capture, text: str, words: str
) -> None:
    path = memory_run(tmp_path / "diag", GOOD)
    assert run(["check", str(path), "--criteria", str(criteria(tmp_path, text))]) == 2
    told = capsys.readouterr()
    assert words in told.err and told.out == ""


def test_thresholds_are_no_criteria_file(tmp_path: Path, capsys: Capture) -> None:
    assert run(["check", str(tmp_path), "--criteria", "cosine=0.99"]) == 2
    assert "takes a criteria file" in capsys.readouterr().err


def test_a_silence_lets_a_known_fault_pass_until_its_day(tmp_path: Path, capsys: Capture) -> None:
    path = memory_run(tmp_path / "diag", BAD)
    table = '[[silence]]\nrule = "memory.access"\nreason = "known, see the next release"\nuntil = {until}\n'
    good = criteria(tmp_path, table.format(until="9999-12-31"))
    assert run(["check", str(path), "--criteria", str(good)]) == 0
    assert "known, see the next release" in capsys.readouterr().err
    found = told(capsys, path, "--criteria", good)
    assert (found["verdict"], found["counts"]["missed"]) == ("pass", 0)
    assert "memory.access" in [f["rule"] for f in found["findings"]], "told all the same"
    gone = criteria(tmp_path, table.format(until="2020-01-01"))
    assert run(["check", str(path), "--criteria", str(gone)]) == 1


def test_the_text_of_a_run_and_its_rounds_say_what_the_check_says(tmp_path: Path, capsys: Capture) -> None:
    """Silences and thresholds of the usual criteria file count wherever criteria are judged."""
    path = memory_run(tmp_path / "diag", BAD)
    usual = user_config_file("criteria.toml")
    usual.parent.mkdir(parents=True, exist_ok=True)
    table = '[[silence]]\nrule = "memory.access"\nreason = "known"\nuntil = {until}\n'
    for until, code, verdict in (("9999-12-31", 0, "pass"), ("2020-01-01", 1, "fail")):
        usual.write_text(table.format(until=until), encoding="utf-8")
        assert run(["check", str(path)]) == run([str(path), "--plain"]) == run(["rounds", str(path)]) == code
        capsys.readouterr()
        run(["rounds", str(path), "--format", "json"])
        assert json.loads(capsys.readouterr().out)["summary"]["rounds"][0]["verdict"] == verdict


def test_a_missed_criterion_can_be_silenced_too(tmp_path: Path, capsys: Capture) -> None:
    path = memory_run(tmp_path / "diag", BAD)
    table = '[[silence]]\nrule = "{rule}"\nsubject = "{subject}"\nreason = "r"\nuntil = 9999-12-31\n'
    only = criteria(tmp_path, table.format(rule="checkup.criterion", subject="memory.faults"))
    found = told(capsys, path, "--criteria", only)
    assert (found["verdict"], found["counts"]["missed"]) == ("fail", 0), "the fault itself still counts"
    silenced = [f for f in found["findings"] if f["rule"] == "checkup.criterion"]
    assert [f["severity"] for f in silenced] == ["note"]


def test_the_bundled_criteria_can_be_printed_and_used(tmp_path: Path, capsys: Capture) -> None:
    assert run(["check", "--print-criteria"]) == 0
    text = capsys.readouterr().out
    as_printed = criteria(tmp_path, text)
    for logs in (BAD,), (BAD, GOOD):  # as it is, it says what the bundled one says
        path = memory_run(tmp_path / f"diag{len(logs)}", *logs)
        expected = told(capsys, path)
        found = told(capsys, path, "--criteria", as_printed)
        assert (found["verdict"], found["counts"]) == (expected["verdict"], expected["counts"])
    set_again = text.replace("# leaked_bytes = 0 ", "leaked_bytes = 0 ")  # nobody looked for leaks
    assert told(capsys, path, "--criteria", criteria(tmp_path, set_again))["verdict"] == "unknown"


def test_formats_and_files(tmp_path: Path, capsys: Capture) -> None:
    path = memory_run(tmp_path / "diag", BAD)
    assert run(["check", str(path), "-o", str(tmp_path / "told.md")]) == 1
    assert (tmp_path / "told.md").read_text("utf-8").startswith("# npulse check: FAIL")
    assert run(["check", str(path), "-o", str(path / "told.md")]) == 2, "never into the run"
    assert run(["check", str(path), "--format", "csv", "--tables"]) == 1
    assert "memory.faults" in capsys.readouterr().out
    assert run(["check", str(path), "--format", "jsonl"]) == 1
    kinds = [json.loads(line)["kind"] for line in capsys.readouterr().out.splitlines()]
    assert kinds[-1] == "summary" and "finding" in kinds


def test_mask_hides_rounds_files_and_the_jobs_command(tmp_path: Path, capsys: Capture) -> None:
    path = memory_run(tmp_path / "secretproject", BAD, command="python secretmodel.py --key hunter2")
    for words in (["--format", "json", "--tables"], ["--format", "md"], []):
        assert run(["check", str(path), "--mask", *words]) == 1
        out = capsys.readouterr().out
        for word in ("secretproject", "secretmodel", "hunter2", "round1", "vec_add", "host7"):
            assert word not in out, (words, word)
        assert "memory.access" in out


@pytest.mark.parametrize("words", [["--rank", "7"], ["--step", "3"], ["--pair", "x"]])
def test_a_choice_that_matches_nothing_is_wrong_usage(tmp_path: Path, words: list[str]) -> None:
    folder = tmp_path / "diag" / "rank0"
    folder.mkdir(parents=True)
    (folder / "mssanitizer.log").write_text(GOOD, encoding="utf-8")
    assert run(["check", str(tmp_path / "diag"), "--rank", "0"]) == 0
    assert run(["check", str(tmp_path / "diag"), *words]) == 2

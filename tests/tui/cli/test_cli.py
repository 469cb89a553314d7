"""The commands as scripts and CI use them: output, exit codes, messages, and what they must not touch."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.models import TyperPath

from npulse.core.areas import all_rules
from npulse.core.text import safe_text
from npulse.tui.actions import ACTIONS
from npulse.tui.cli import workbench
from npulse.tui.cli.main import _PATH_OPTIONS, _VALUE_OPTIONS, run
from npulse.tui.cli.root import app
from npulse.tui.cli.workbench import _make_pane
from npulse.tui.panes import make_pane
from npulse.tui.panes.memory.pane import MemoryPane

from ..panes.captures import NAMES, ORIGIN, Call, chain, write_capture, write_pair
from ..panes.memory_runs import WRITE_CODE, write_faults, write_sources

REPO = Path(__file__).resolve().parents[3]
Capture = pytest.CaptureFixture[str]


def npulse(
    *words: str, env: dict[str, str] | None = None, stdin: int = subprocess.DEVNULL
) -> subprocess.CompletedProcess[bytes]:
    """The program as a shell starts it, its output in pipes."""
    environ = {**os.environ, "PYTHONPATH": str(REPO / "src"), **(env or {})}
    argv = [sys.executable, "-m", "npulse", *words]
    return subprocess.run(argv, env=environ, stdin=stdin, capture_output=True, timeout=60, check=False)


def call(*words: str | Path) -> int:
    """The same in this process."""
    return run([str(word) for word in words])


@pytest.fixture
def bad_run(tmp_path: Path) -> Path:
    return write_pair(tmp_path / "bad")


@pytest.fixture
def good_run(tmp_path: Path) -> Path:
    return write_pair(tmp_path / "good", bad=None)


def said_once(capsys: Capture) -> list[str]:
    """What stands on stderr, after a check that nothing stands on stdout and that it is short."""
    told = capsys.readouterr()
    lines = told.err.splitlines()
    assert told.out == "" and 1 <= len(lines) <= 2 and "Traceback" not in told.err
    assert lines[0].startswith("npulse: ") and all(line.startswith("  ") for line in lines[1:])
    return lines


# ---- help, version, demo ----


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help(word: str) -> None:
    done = npulse(word)
    text = done.stdout.decode()
    assert done.returncode == 0 and done.stderr == b""
    assert all(f"  {command} " in text for command in ("open", "demo", "precision", "rules", "keys"))


def test_version() -> None:
    import npulse as product

    done = npulse("--version")
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, f"npulse {product.__version__}\n", b"")


def test_help_and_version_import_neither_textual_nor_numpy_nor_pandas() -> None:
    code = (
        "import sys; from npulse.tui.cli.main import run; run(['--help']); run(['--version']);"
        "print(sorted({'textual', 'rich', 'numpy', 'pandas', 'multiprocessing'} & set(sys.modules)))"
    )
    environ = {**os.environ, "PYTHONPATH": str(REPO / "src")}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines()[-1] == "[]"


def test_demo_in_a_pipe_names_verdict_and_origin_and_exits_0() -> None:
    done = npulse("demo")
    text = done.stdout.decode()
    assert done.returncode == 0 and done.stderr == b""
    assert "verdict FAIL" in text and "verdict WARN" in text
    assert "ORIGIN  Module.model.layers.25.self_attn.qkv_proj.Linear.forward.0" in text
    named = re.findall(r"^(memory|performance|device): verdict .* (round[123])$", text, re.MULTILINE)
    areas, rounds = ("memory", "performance", "device"), ("round1", "round2", "round3")
    assert named == [(area, name) for area in areas for name in rounds]


def test_demo_of_an_unknown_name(capsys: Capture) -> None:
    assert call("demo", "nothing") == 2
    assert "nothing" in said_once(capsys)[0]


def test_path_in_a_pipe_prints_the_triage(bad_run: Path) -> None:
    done = npulse(str(bad_run))
    text = done.stdout.decode()
    assert done.returncode == 1 and done.stderr == b""
    assert "2 msprobe.dump" in text and f"ORIGIN  {ORIGIN}" in text
    assert npulse("open", str(bad_run)).stdout.decode() == text
    assert npulse("--plain", str(bad_run)).stdout.decode() == text


def test_triage_of_a_folder_without_anything(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "empty").mkdir()
    assert call(tmp_path / "empty") == 4, "nothing was compared: that is no pass"
    text = capsys.readouterr().out
    assert str(tmp_path / "empty") in text and "looked for dump.json" in text


# ---- precision: formats ----


def test_text(bad_run: Path, capsys: Capture) -> None:
    assert call("precision", bad_run) == 1
    told = capsys.readouterr()
    assert told.err == "" and "verdict FAIL" in told.out and f"ORIGIN  {ORIGIN}" in told.out


def test_json(bad_run: Path, capsys: Capture) -> None:
    assert call("precision", bad_run, "--format", "json", "--tables") == 1

    def refuse(token: str) -> None:
        raise AssertionError(f"{token} is no JSON")

    report = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert report["schema"] == 1 and report["command"] == "precision" and report["verdict"] == "fail"
    first = report["findings"][0]
    assert (first["subject"], first["role"], first["rule"]) == (ORIGIN, "origin", "precision.operator")
    by_hand = cosine_of(ORIGIN)
    assert first["figures"]["cosine"] == pytest.approx(by_hand, abs=1e-12)
    row = report["tables"]["precision"][2 * NAMES.index(ORIGIN) + 1]
    assert row["role"] == "origin" and row["cosine"] == first["figures"]["cosine"]


def cosine_of(name: str) -> float:
    target, golden = (
        {n: o[0] for n, _, o in chain(bad=bad)}[name].astype(np.float64) for bad in (ORIGIN, None)
    )
    return float((target * golden).sum() / np.sqrt((target**2).sum() * (golden**2).sum()))


def test_json_lines(bad_run: Path, capsys: Capture) -> None:
    assert call("precision", bad_run, "--format", "jsonl") == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) > 1 and any(line.get("subject") == ORIGIN for line in lines)


def test_markdown_and_csv(bad_run: Path, capsys: Capture) -> None:
    assert call("precision", bad_run, "--format", "md") == 1
    text = capsys.readouterr().out
    assert text.startswith("#") and ORIGIN in text
    assert call("precision", bad_run, "--format", "csv", "--tables") == 1
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["role"] for row in rows].count("origin") == 1 and len(rows) == 2 * len(NAMES)


@pytest.mark.parametrize("suffix", ["json", "jsonl", "md", "csv", "txt"])
def test_output_file_decides_the_format(bad_run: Path, tmp_path: Path, capsys: Capture, suffix: str) -> None:
    path = tmp_path / f"report.{suffix}"
    assert call("precision", bad_run, "-o", path) == 1
    told = capsys.readouterr()
    assert told.out == "" and "Traceback" not in told.err and path.stat().st_size > 0
    named = {"txt": "text"}.get(suffix, suffix)
    assert call("precision", bad_run, "--format", named) == 1
    assert path.read_text(encoding="utf-8") == capsys.readouterr().out
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == [path.name], "nothing is left beside it"


# ---- precision: exit codes and choices ----


def nudged(factor: float) -> list[Call]:
    """The chain with its last output a little off: above rounding, far from an error."""
    *calls, (name, given, (output,)) = chain()
    noise = np.random.default_rng(1).standard_normal(output.shape).astype(np.float32)
    return [*calls, (name, given, [output + np.float32(factor) * noise])]


def test_exit_code_0_and_strict(good_run: Path, tmp_path: Path, capsys: Capture) -> None:
    assert call("precision", good_run) == call("precision", good_run, "--strict") == 0
    write_capture(tmp_path / "warn" / "npu", nudged(1e-3))
    write_capture(tmp_path / "warn" / "cpu", chain())
    assert call("precision", tmp_path / "warn") == 0
    assert call("precision", tmp_path / "warn", "--strict") == 1
    assert "verdict WARN" in capsys.readouterr().out


def test_exit_code_4_where_something_could_not_be_read(good_run: Path, capsys: Capture) -> None:
    name = f"{NAMES[0]}.output.0.npy"
    (good_run / "npu/step0/rank0/dump_tensor_data" / name).unlink()
    assert call("precision", good_run) == 4
    assert name in capsys.readouterr().out


def test_exit_code_4_for_one_capture_alone(tmp_path: Path, capsys: Capture) -> None:
    write_capture(tmp_path / "one", chain())
    assert call("precision", tmp_path / "one") == 4
    assert "UNKNOWN" in capsys.readouterr().out


def test_two_captures_named_on_the_line(bad_run: Path, capsys: Capture) -> None:
    assert call("precision", bad_run / "npu", bad_run / "cpu") == 1
    first = capsys.readouterr().out
    assert f"ORIGIN  {ORIGIN}" in first
    assert call("precision", bad_run / "cpu", bad_run / "npu") == 1, (
        "the first is the target, whatever its name"
    )


def test_rank_and_step(tmp_path: Path, capsys: Capture) -> None:
    for rank in (0, 1):
        for step in (0, 1):
            bad = ORIGIN if (rank, step) == (1, 0) else None
            write_capture(tmp_path / "run/npu", chain(bad=bad), rank=rank, step=step)
            write_capture(tmp_path / "run/cpu", chain(), rank=rank, step=step)
    run_path = tmp_path / "run"
    assert call("precision", run_path) == 1
    assert call("precision", run_path, "--rank", "0") == call("precision", run_path, "--step", "1") == 0
    capsys.readouterr()
    assert call("precision", run_path, "--rank", "1", "--step", "0", "--format", "json") == 1
    location = json.loads(capsys.readouterr().out)["findings"][0]["location"]
    assert (location["rank"], location["step"]) == (1, 0)
    assert call("precision", run_path, "--rank", "7") == 2
    assert "7" in " ".join(said_once(capsys))


def test_round(tmp_path: Path, capsys: Capture) -> None:
    write_capture(tmp_path / "run/golden", chain())
    write_capture(tmp_path / "run/round1/target", chain(bad=ORIGIN))
    write_capture(tmp_path / "run/round2/target", chain())
    assert call("precision", tmp_path / "run") == 0, "the newest round"
    assert call("precision", tmp_path / "run", "--round", "round1") == 1
    capsys.readouterr()
    assert call("precision", tmp_path / "run", "--round", "round9") == 2
    assert "round9" in said_once(capsys)[0]


def test_criteria(bad_run: Path, capsys: Capture) -> None:
    assert call("precision", bad_run, "--criteria", "cosine=0.5,norm_ratio_low=0.1,norm_ratio_high=9") == 0
    capsys.readouterr()
    assert call("precision", bad_run, "--criteria", "cosinus=0.5") == 2
    assert "cosinus" in said_once(capsys)[0]
    assert call("precision", bad_run, "--criteria", "cosine=much") == 2
    said_once(capsys)


def test_chinese(bad_run: Path, capsys: Capture) -> None:
    assert call("precision", bad_run, "--lang", "zh") == 1
    text = capsys.readouterr().out
    assert "输入一致" in text and "inputs agree" not in text and ORIGIN in text
    assert call("precision", bad_run, "--lang", "fr") == 2
    assert "'fr'" in said_once(capsys)[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["precision"], "Missing argument"),
        (["precision", "no/such/folder"], "no/such/folder"),
        (["precision", "no/such/folder", "--format", "xml"], "unknown format 'xml'"),
        (["precision", "x", "--nonsense"], "--nonsense"),
        (["no/such/folder"], "no/such/folder"),
        (["no-such-command"], "no-such-command"),
        (["cache", "x"], "No such command"),
        (["rules", "precision.scaler"], "precision.scaler"),
        (["keys", "check", "no/such.toml"], "no/such.toml"),
        (["--plain"], "nothing to show"),
    ],
)
def test_wrong_use_is_one_line_and_a_hint(words: list[str], said: str, capsys: Capture) -> None:
    assert run(words) == 2
    assert said in said_once(capsys)[0]


def test_a_folder_without_a_pair_says_what_is_needed(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "x").mkdir()
    assert call("precision", tmp_path / "x") == 2
    lines = said_once(capsys)
    assert str(tmp_path / "x") in lines[0] and "golden" in lines[1]


def test_output_into_the_run_is_refused(bad_run: Path, capsys: Capture) -> None:
    assert call("precision", bad_run, "-o", bad_run / "out.json") == 2
    assert "not written into the run" in said_once(capsys)[0]
    assert call("precision", bad_run, "-o", bad_run.parent / "out.docx") == 2
    said_once(capsys)


def test_control_characters_in_a_path_do_not_reach_the_terminal(capsys: Capture) -> None:
    assert run(["\x1b[2Jx\x07"]) == 2
    line = said_once(capsys)[0]
    assert "\x1b" not in line and "\x07" not in line and safe_text("\x1b[2Jx\x07") in line


def test_interrupted_is_130(bad_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    from npulse.core.precision import run_report

    def interrupt(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_report, "compare_captures", interrupt)
    assert call("precision", bad_run) == 130
    told = capsys.readouterr()
    assert told.out == "" and "Traceback" not in told.err


def test_an_unexpected_error_is_five_lines_and_a_log(
    bad_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    from npulse.core.precision import run_report

    def crash(*args: object, **options: object) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(run_report, "compare_captures", crash)
    assert call("precision", bad_run) == 70
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5 and "ZeroDivisionError: boom" in lines[0] and "Traceback" not in "".join(lines)


# ---- locale and pipes ----


@pytest.mark.parametrize("words", [("demo",), ("rules",), ("keys",), ("--help",)])
def test_output_in_the_c_locale_is_ascii(words: tuple[str, ...]) -> None:
    done = npulse(*words, env={"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert done.returncode == 0 and done.stdout.isascii() and done.stderr == b""
    assert b"Traceback" not in done.stdout


def test_hostile_names_in_text_output(tmp_path: Path, capsys: Capture) -> None:
    name = "Module.[red]注\x1b]52;c;cHduZWQ=\x07.Linear.forward.0"
    calls = [(name, i, o) for _, i, o in chain()[:1]]
    write_capture(tmp_path / "run/npu", calls, with_files=False)
    write_capture(
        tmp_path / "run/cpu", [(n, i, [o[0] * np.float32(2)]) for n, i, o in calls], with_files=False
    )
    for format_name in ("text", "md", "csv"):
        assert call("precision", tmp_path / "run", "--format", format_name) == 1
        text = capsys.readouterr().out
        assert "注" in text and not {
            c for c in text if ord(c) < 32 and c not in "\r\n" or 0x7F <= ord(c) < 0xA0
        }


@pytest.mark.parametrize("words", ["rules", "keys", "demo", "precision {run} --format csv --tables"])
def test_a_reader_that_leaves_is_no_error(bad_run: Path, words: str) -> None:
    command = f"'{sys.executable}' -m npulse {words.format(run=bad_run)} | head -1"
    environ = {**os.environ, "PYTHONPATH": str(REPO / "src")}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], env=environ, capture_output=True, timeout=60, check=False
    )
    assert done.stdout.count(b"\n") == 1 and done.stderr == b""


# ---- rules and keys ----


def test_rules_lists_every_rule(capsys: Capture) -> None:
    assert run(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [rule.id for rule in all_rules()]
    assert run(["rules", "--format", "json"]) == 0
    assert [rule["id"] for rule in json.loads(capsys.readouterr().out)] == [rule.id for rule in all_rules()]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_one_rule_in_full(capsys: Capture, lang: str) -> None:
    rule = next(r for r in all_rules() if r.id == "precision.scalar")
    assert run(["rules", "precision.scalar", "--lang", lang]) == 0
    text, at = capsys.readouterr().out, int(lang == "zh")
    assert all(part[at] in text for part in (rule.title, rule.meaning, rule.threshold, rule.silence))


def test_wrong_rule_suggests_near_ones(capsys: Capture) -> None:
    assert run(["rules", "precision.scaler"]) == 2
    assert "precision.scalar" in said_once(capsys)[1]


def test_keys_prints_the_map_in_force(capsys: Capture) -> None:
    assert run(["keys"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    lines = told.out.splitlines()
    assert len(lines) >= len([a for a in ACTIONS if a.palette])
    assert any(line.split()[:2] == ["s", "table.sort"] for line in lines)


def test_keys_check(tmp_path: Path, capsys: Capture) -> None:
    good, wrong = tmp_path / "good.toml", tmp_path / "wrong.toml"
    good.write_text('name = "mine"\n[bindings]\n"table.sort" = "Z"\n')
    wrong.write_text('[bindings]\n"table.sort" = "esc"\n"no.action" = "z"\n')
    assert call("keys", "check", good) == 0
    assert capsys.readouterr().out == f"{good}: ok\n"
    assert call("keys", "check", wrong) == 2
    text = capsys.readouterr().out
    assert "unknown key 'esc'" in text and "'no.action'" in text and "Traceback" not in text


@pytest.mark.parametrize("name", ["default", "vim", "emacs"])
def test_shipped_key_maps_are_valid(name: str, capsys: Capture) -> None:
    assert call("keys", "check", REPO / "keymaps" / f"{name}.toml") == 0, capsys.readouterr().out


def test_a_wrong_user_map_is_told_on_stderr(capsys: Capture) -> None:
    folder = Path(os.environ["NPULSE_CONFIG_DIR"])
    folder.mkdir(parents=True)
    (folder / "keymap.toml").write_text('[bindings]\n"table.sort" = "esc"\n')
    assert run(["keys"]) == 2
    told = capsys.readouterr()
    assert "unknown key 'esc'" in told.err and "table.sort" in told.out


# ---- the run is not touched ----


@pytest.fixture
def read_only() -> Iterator[Callable[[Path], None]]:
    """Takes the right to write from everything in a folder, and gives it back in the end."""
    changed: list[tuple[Path, int]] = []

    def close(folder: Path) -> None:
        for path in (folder, *folder.rglob("*")):
            changed.append((path, path.stat().st_mode))
            path.chmod(path.stat().st_mode & ~0o222)

    yield close
    for path, mode in changed:
        path.chmod(mode)


def listing(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every entry with its size, mode and time of change."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        found[str(path)] = (status.st_size, status.st_mode, status.st_mtime_ns)
    return found


def test_a_read_only_run_works_and_stays_as_it_was(
    bad_run: Path,
    tmp_path: Path,
    read_only: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    read_only(bad_run)
    before = listing(bad_run)
    monkeypatch.chdir(bad_run)
    assert call(".") == 1
    assert call("precision", ".") == call("precision", ".", "--no-cache") == 1
    assert call("precision", "npu", "cpu", "-o", tmp_path / "out.json") == 1
    assert call("precision", ".", "-o", "out.json") == 2
    assert listing(bad_run) == before
    assert "not written into the run" in capsys.readouterr().err


def test_the_demo_stays_as_it_was() -> None:
    folder = REPO / "sample_runs" / "w8a8"
    before = listing(folder)
    assert npulse("demo").returncode == 0
    assert listing(folder) == before


def test_results_are_kept_in_the_cache_folder_only_where_asked(bad_run: Path) -> None:
    cache = Path(os.environ["NPULSE_CACHE_DIR"])
    assert call("precision", bad_run, "--no-cache") == 1
    assert not cache.exists()
    assert call("precision", bad_run) == 1
    assert any(cache.rglob("*.npz"))


# ---- several pairs, options, masks ----


def write_pairs(folder: Path, *names: str, bad: str) -> Path:
    for name in names:
        write_capture(folder / name / "npu", chain(bad=ORIGIN if name == bad else None))
        write_capture(folder / name / "cpu", chain())
    return folder


def test_triage_prints_all_pairs_verdicts_first_and_the_inventory_last(
    tmp_path: Path, capsys: Capture
) -> None:
    assert call(write_pairs(tmp_path / "run", "bf16", "fp16", bad="fp16")) == 1
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert told.err == ""
    assert lines[1].startswith("check: verdict FAIL") and lines[2].startswith("look first at: Precision")
    begin = lines.index("", 1) + 1
    heads = lines[begin : lines.index("", begin)]
    assert [line.split()[0] for line in heads] == ["precision:", "precision:", "overflow:"]
    assert [line.split()[2] for line in heads] == ["PASS", "FAIL", "PASS"]
    assert [line for line in lines[1:] if line.startswith(("precision: ", "overflow: "))] == heads * 2
    assert lines[-1].strip().startswith("4 msprobe.dump")


def test_the_first_pair_is_taken_and_said(tmp_path: Path, capsys: Capture) -> None:
    run_path = write_pairs(tmp_path / "run", "bf16", "fp16", bad="fp16")
    assert call("precision", run_path, "--format", "json") == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["target"] == "bf16/npu"
    assert told.err == "npulse: pair 1 of 2: bf16/npu against bf16/cpu; others: fp16/npu (--pair NAME)\n"
    assert call("precision", run_path, "--pair", "fp16") == 1
    assert call("precision", run_path, "--pair", "fp8") == 2
    assert "fp16/npu against fp16/cpu" in capsys.readouterr().err


def test_run_target_and_golden_in_json_and_in_the_last_line(bad_run: Path, capsys: Capture) -> None:
    wanted = {"run": str(bad_run), "target": "npu", "golden": "cpu"}
    assert call("precision", bad_run, "--format", "json") == 1
    body = json.loads(capsys.readouterr().out)
    assert {key: body[key] for key in wanted} == wanted
    assert {a["side"] for a in body["artifacts"]} == {"target", "golden"}
    assert call("precision", bad_run, "--format", "jsonl") == 1
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {key: last[key] for key in wanted} == wanted
    assert (last["artifacts"], last["summary"]) == (body["artifacts"], body["summary"])
    sides = [str(bad_run / side) for side in ("npu", "cpu")]
    assert call("precision", *sides, "--format", "json") == 1
    body = json.loads(capsys.readouterr().out)
    assert [body["run"], body["target"], body["golden"]] == [sides[0], *sides]


def test_the_panes_own_column_is_not_exported(bad_run: Path, capsys: Capture) -> None:
    for format_name in ("csv", "json", "md"):
        assert call("precision", bad_run, "--tables", "--format", format_name) == 1
        text = capsys.readouterr().out
        assert "ulp_max" in text and "state" not in text


def test_masked(bad_run: Path, capsys: Capture) -> None:
    for format_name in ("text", "md", "csv", "json", "jsonl"):
        assert call("precision", bad_run, "--tables", "--mask", "--format", format_name) == 1
        text = capsys.readouterr().out
        words = [*bad_run.parts[1:-1], "lm_head", "RMSNorm", "mlp"]
        assert [word for word in words if word in text] == []
        assert "cosine" in text and "forward.0" in text


def test_a_suffix_that_misleads_is_told(bad_run: Path, tmp_path: Path, capsys: Capture) -> None:
    assert call("precision", bad_run, "-o", tmp_path / "x.json", "--format", "csv") == 1
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1 and "x.json will hold csv" in told.err
    assert (tmp_path / "x.json").read_text().startswith("severity,")
    for name, format_name in (("x.csv", "csv"), ("x.log", "text"), ("x", "md")):
        assert call("precision", bad_run, "-o", tmp_path / name, "--format", format_name) == 1
        assert capsys.readouterr().err == ""


def test_options_that_a_lone_capture_cannot_use_are_told(tmp_path: Path, capsys: Capture) -> None:
    write_capture(tmp_path / "one", chain(), rank=3)
    assert call("precision", tmp_path / "one", "--rank", "3", "--tables", "--criteria", "cosine=0.9") == 4
    assert "--tables, --criteria" in capsys.readouterr().err
    assert call("precision", tmp_path / "one", "--rank", "1") == 2
    assert said_once(capsys)[1] == "  there is step 0 rank 3"


def test_triage_uses_the_options_of_the_workbench(bad_run: Path, capsys: Capture) -> None:
    cache = Path(os.environ["NPULSE_CACHE_DIR"])
    assert call("open", bad_run, "--no-cache", "--jobs", "1") == 1
    assert not cache.exists()
    assert call("open", bad_run, "--pane", "memory") == 1
    assert any(cache.rglob("*.npz"))
    assert "--pane memory" in capsys.readouterr().err


def test_source_folders_of_the_workbench(tmp_path: Path, capsys: Capture) -> None:
    run = write_faults(tmp_path / "run")
    roots = [write_sources(tmp_path / name) for name in ("one", "two")]
    (roots[1] / "op_kernel" / "vec_add.cpp").unlink()
    assert call("--source-root", roots[1], run, "--source-root", roots[0]) == 1
    text = capsys.readouterr().out
    assert f"source roots: {roots[1]}, {roots[0]}" in text and WRITE_CODE in text
    assert call(run) == 1
    assert "no source roots" in capsys.readouterr().out, "none is guessed"
    assert call("open", run, "--source-root", tmp_path / "nowhere") == 2
    told = said_once(capsys)
    assert "not a folder" in told[0] and "nowhere" in told[0] and "--source-root" in told[1]


def test_source_folders_reach_the_pane(tmp_path: Path) -> None:
    pane = _make_pane("memory", 0, True, (tmp_path,))
    assert isinstance(pane, MemoryPane) and pane.options.source_roots == (tmp_path,)
    assert make_pane("memory").options.source_roots == ()  # type: ignore[attr-defined]


def test_options_may_stand_before_the_command(bad_run: Path, capsys: Capture) -> None:
    assert call("--format", "json", "--rank", "0", "precision", bad_run) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "fail"


def test_what_could_not_be_compared_is_not_called_clean(good_run: Path, capsys: Capture) -> None:
    for dump in good_run.rglob("dump.json"):
        dump.write_bytes(dump.read_bytes()[:200])
    for tensor in good_run.rglob("*.npy"):
        tensor.unlink()
    assert call(good_run) == 4
    text = capsys.readouterr().out
    assert "nothing could be compared, see problems" in text and "nothing over a threshold" not in text


def test_labels_and_roles_in_chinese(bad_run: Path, capsys: Capture) -> None:
    assert call("precision", bad_run, "--lang", "zh") == 1
    text = capsys.readouterr().out
    assert "结论 FAIL（不通过）" in text and f"源头  {ORIGIN}" in text
    assert not [word for word in ("ORIGIN", "inherited", "compared", "verdict", "next:") if word in text]


def test_demo_help_names_the_samples() -> None:
    from npulse.sample_runs import SAMPLES

    text = " ".join(npulse("demo", "--help").stdout.decode().split())
    assert all(name in text for name in SAMPLES)


def test_a_crash_has_one_exit_code_in_command_and_workbench() -> None:
    from npulse.tui import app, crash

    assert app.CRASH_EXIT_CODE is crash.CRASH_EXIT_CODE == 70


def test_next_steps_name_no_pane_that_is_not_built() -> None:
    from npulse.core.areas import AREAS
    from npulse.core.precision.texts import TEXTS

    for key, texts in TEXTS.items():
        if key.startswith("next-"):
            assert not [a.id for a in AREAS if not a.is_built and f"{a.title[0]} pane" in texts[0]], key


def test_what_may_stand_in_front_of_a_command_is_what_commands_take() -> None:
    def options(command: Any) -> Iterator[Any]:
        yield from (one for one in command.params if one.param_type_name == "option" and not one.is_flag)

    def all_options(command: Any) -> Iterator[Any]:
        yield from options(command)
        for inner in getattr(command, "commands", {}).values():
            yield from all_options(inner)

    def names(found: Iterable[Any]) -> set[str]:
        return {name for one in found for name in one.opts}

    root = typer.main.get_command(app)
    commands = root.commands.values()  # type: ignore[attr-defined]
    assert names(one for command in commands for one in options(command)) == _VALUE_OPTIONS
    paths = names(one for one in all_options(root) if isinstance(one.type, TyperPath))
    assert paths <= _PATH_OPTIONS <= names(all_options(root))


def test_an_option_may_stand_in_front_of_its_command(tmp_path: Path, capsys: Capture) -> None:
    assert run(["--run", str(tmp_path), "--lang", "en", "guide", "slow"]) == 0
    assert "slow:" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ("performance", ""),
        ("precision", "", "."),
        ("precision", ".", ""),
        ("diff", ".", ""),
        ("overflow", ""),
        ("memory", "--rank", "1", ""),
        ("performance", ".", "-o", ""),
        ("memory", ".", "--source-root", ""),
        ("memory", ".", "--source-root="),
        ("",),
        ("--lang", "zh", ""),
        ("open", ""),
    ],
)
def test_an_empty_path_is_not_the_current_folder(words: tuple[str, ...], capsys: Capture) -> None:
    assert call(*words) == 2
    assert "no such path: ''" in capsys.readouterr().err


def test_fewer_than_no_worker_is_refused(good_run: Path, capsys: Capture) -> None:
    assert call("precision", good_run, "--jobs", "-1") == 2
    assert "--jobs" in capsys.readouterr().err


def test_what_a_log_has_none_of_chooses_nothing(tmp_path: Path, capsys: Capture) -> None:
    for word in ("--step", "--pair"):
        assert call("memory", tmp_path, word, "1") == 2
        assert f"{word} chooses nothing" in capsys.readouterr().err


def test_following_is_for_the_screen_and_text_says_so(bad_run: Path, capsys: Capture) -> None:
    assert call("open", bad_run, "--plain", "--follow", "--on-finding", "true") == 1
    assert "--follow and --on-finding are for the workbench" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["no-such-program-of-npulse", "", "'open"])
def test_a_command_for_findings_that_is_none_is_refused_before_the_screen(
    bad_run: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(workbench, "_has_screen", lambda: True)
    assert call(bad_run, "--follow", "--on-finding", command) == 2
    assert "command" in capsys.readouterr().err or "program" in command


@pytest.mark.parametrize(
    ("words", "environ", "expected"),
    [
        ((), "", (False, True, False)),
        (("--follow",), "0", (True, True, False)),
        (("--follow", "--no-bell"), "", (True, False, False)),
        (("--follow", "--on-finding", "true -x"), "1", (True, False, True)),
    ],
)
def test_how_a_run_is_followed_reaches_the_workbench(
    bad_run: Path,
    words: tuple[str, ...],
    environ: str,
    expected: tuple[bool, bool, bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from npulse.tui import app as app_module

    opened: list[Any] = []
    monkeypatch.setattr(workbench, "_has_screen", lambda: True)
    monkeypatch.setattr(app_module, "run_app", lambda app: opened.append(app) or 0)
    monkeypatch.setenv("NPULSE_NO_BELL", environ)
    assert call(bad_run, *words) == 0
    live = opened[0].live
    assert (live._follow_at_start, live._has_bell, live._tell is not None) == expected

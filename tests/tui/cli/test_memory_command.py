"""`npulse memory` as a shell starts it: its own options, formats, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from npulse.tui.cli.main import run

LOG = """\
[mssanitizer] Start memcheck sanitizer on kernel add_custom
====== ERROR: illegal read of size 224
======    at 0x12c0c0014e00 on GM in add_custom
======    in block aiv(0) on device 0
======    code in pc current 0x668 (serialNo:65)
======    #0 /build/op/add_custom.cpp:2:9

[mssanitizer] Sanitizer finished on kernel add_custom. See all detected errors above.
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "check.log").write_text(LOG, encoding="utf-8")
    return folder


def answer(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, dict[str, object]]:
    code = run(["memory", *map(str, words), "--format", "json", "--no-cache"])
    made: dict[str, object] = json.loads(capsys.readouterr().out)
    return code, made


def test_source_roots_may_be_given_several_times(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "b" / "add_custom.cpp").write_text("one\ntwo();\nthree\n", encoding="utf-8")
    code, made = answer(capsys, log, "--source-root", tmp_path / "a", "--source-root", tmp_path / "b")
    assert code == 1 and made["verdict"] == "fail"
    findings = made["findings"]
    assert isinstance(findings, list)
    assert findings[0]["source"] == f"{tmp_path / 'b' / 'add_custom.cpp'}:2 two();"
    assert findings[0]["subject"] == "/build/op/add_custom.cpp:2"
    assert run(["memory", str(log), "--source-root", str(tmp_path / "none")]) == 2


def test_a_kernel_object_is_handed_on(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = LOG.replace("======    #0 /build/op/add_custom.cpp:2:9\n", "")
    (log / "check.log").write_text(text, encoding="utf-8")
    (tmp_path / "add_custom.o").write_bytes(b"no object")
    code, made = answer(capsys, log, "--kernel-object", tmp_path / "add_custom.o")
    problems = made["problems"]
    assert code == 1 and isinstance(problems, list)
    assert [problem["artifact"] for problem in problems] == ["add_custom.o"]


def test_masked_names_and_source_lines(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "add_custom.cpp").write_text("one\nsecret_name();\nthree\n", encoding="utf-8")
    for format_name in ("text", "json", "md"):
        run(["memory", str(log), "--source-root", str(tmp_path), "--mask", "--format", format_name])
        out = capsys.readouterr().out
        assert "secret_name" not in out and "/build/op" not in out and str(tmp_path) not in out, format_name


def test_an_empty_folder_says_what_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["memory", str(tmp_path)]) == 2
    assert "mssanitizer" in capsys.readouterr().err


def test_a_full_disk_is_said(log: Path) -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("no /dev/full here")
    source = Path(__file__).resolve().parents[3] / "src"
    with full.open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "npulse", "memory", str(log)],
            stdout=out,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(source)},
            timeout=60,
        )
    assert done.returncode == 3 and b"stdout" in done.stderr and b"Traceback" not in done.stderr


def test_paths_that_are_none_are_refused(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--source-root", "--kernel-object"):
        for value in ("", "/no/such/path"):
            assert run(["memory", str(log), option, value]) == 2
            assert "no such path" in capsys.readouterr().err


def test_the_current_folder_is_a_source_root(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(log.parent)
    assert run(["memory", str(log), "--source-root", "."]) == run(["memory", str(log)])


def test_a_rank_that_is_not_there_is_told(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["memory", str(log), "--rank", "7"]) == 2
    assert "rank 7" in capsys.readouterr().err


SECRETS = ("secret", "vault", "hidden_op")
MANY = """\
[mssanitizer] Start memcheck sanitizer on kernel secret_kernel
====== ERROR: illegal read of size 64
======    at 0x12c0c0014e00 on GM in secret_kernel
======    in block aiv(0) on device 0
======    code in pc current 0x20 (serialNo:4)
======    #0 vault/secret_op.cpp:10:1

====== ERROR: LeakCheck: detected memory leaks
======    Direct leak of 512 byte(s)
======      at 0x12c0c0020000 on GM allocated in secret_file.cpp:40 (serialNo:1)
====== SUMMARY: 512 byte(s) leaked in 1 allocation(s)
[mssanitizer] Sanitizer finished on kernel secret_kernel. See all detected errors above.
=================================================================
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x504000000038 at pc 0x1 bp 0x2 sp 0x3
WRITE of size 4 at 0x504000000038 thread T0
    #0 0x1 in secret_tiling(int) /home/vault/secret_tiling.cpp:36
0x504000000038 is located 0 bytes after 40-byte region [0x504000000010,0x504000000038)
allocated by thread T0 here:
    #0 0x3 in hidden_op::make() /home/vault/hidden_op.cpp:9
SUMMARY: AddressSanitizer: heap-buffer-overflow /home/vault/secret_tiling.cpp:36 in secret_tiling(int)
"""


@pytest.mark.parametrize("format_name", ["text", "json", "md", "csv"])
def test_no_kernel_function_or_file_is_left_in_tables_and_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format_name: str
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "check.log").write_text(MANY, encoding="utf-8")
    words = ["memory", str(folder), "--tables", "--no-cache", "--format", format_name]
    run(words)
    plain = capsys.readouterr().out
    assert run([*words, "--mask"]) == 1
    out = capsys.readouterr().out
    assert all(word in plain for word in SECRETS[:2])
    assert not [word for word in (*SECRETS, tmp_path.name) if word in out]
    assert out.count("\n") == plain.count("\n"), "nothing but names is gone"
    assert ".cpp:10" in out and ".cpp:36" in out, "the suffix and the line stay"


def test_the_round_before_is_masked_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An area speaks of rounds of which it shows no file."""
    for name in ("aliceq_20260101-000000", "bobq_20260102-000000"):
        folder = tmp_path / "sanitizer" / name
        folder.mkdir(parents=True)
        (folder / "round.toml").write_text('schema = 1\nkind = "memory"\n', encoding="utf-8")
        (folder / "check.log").write_text(LOG, encoding="utf-8")
    code, made = answer(capsys, tmp_path)
    assert code == 1 and "aliceq" in str(made)
    code, made = answer(capsys, tmp_path, "--mask")
    assert code == 1 and "aliceq" not in str(made) and "bobq" not in str(made)


def test_a_cluster_that_has_no_part_in_it_is_told(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["memory", str(log), "--no-cache", "--cluster", "tcp://127.0.0.1:9"])
    told = capsys.readouterr()
    assert code == 1 and "--cluster has no part in memory" in told.err
    assert run(["memory", str(log), "--no-cache"]) == 1 and "--cluster" not in capsys.readouterr().err

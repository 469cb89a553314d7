"""`npulse recheck` on the command line: exit codes, formats, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from npulse.sample_runs import sample_path
from npulse.tui.cli.main import run

from ...core.recheck.dumps import Of, rounded, write

Capture = pytest.CaptureFixture[str]
SOFTMAX = "Functional.softmax.0.forward"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A softmax along the wrong axis, a right absolute value, and a call that nobody has a reference for."""
    x = rounded(np.random.default_rng(1).normal(size=(4, 8)), "float16")
    e = np.exp(x)
    wrong = Of(rounded(e / e.sum(0), "float16"), "float16")
    calls = {
        SOFTMAX: {"args": [Of(x, "float16")], "kwargs": {"dim": -1}, "out": [wrong]},
        "Torch.abs.0.forward": {"args": [Of(x, "float16")], "out": [Of(abs(x), "float16")]},
        "Acme.twist.0.forward": {"args": [Of(x, "float16")], "out": [Of(x, "float16")]},
    }
    return write(tmp_path / "run", calls)


def test_exit_codes_and_json(dump: Path, capsys: Capture) -> None:
    assert run(["recheck", "softmax", str(dump), "--format", "json", "--tables"]) == 1
    told = json.loads(capsys.readouterr().out)
    (finding,) = told["findings"]
    assert (told["verdict"], finding["rule"], finding["subject"]) == ("fail", "recheck.call", SOFTMAX)
    assert finding["figures"]["fits"] == "dim=0" and finding["figures"]["n_elements"] == 32
    (row,) = told["tables"]["recheck"]
    assert (row["call"], row["outcome"], row["fits"]) == (SOFTMAX, "call", "dim=0")
    assert run(["recheck", "abs", str(dump)]) == 0
    assert "within what float16 allows" in capsys.readouterr().out
    assert run(["recheck", "Acme.*", str(dump), "--lang", "zh"]) == 4
    assert "没有该算子的参考实现" in capsys.readouterr().out
    assert run(["recheck", "*", str(dump)]) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nosuch"], "no call fits 'nosuch'"),
        (["abs", "--side", "left"], "no side 'left'"),
        (["abs", "--criteria", "cosine=0.9"], "recheck has no criteria"),
        (["abs", "--reference", "nothing"], "names no function"),
        (["abs", "--rank", "9"], "no rank 9"),
        (["abs", "--scale", "x"], "has no 'x'"),
    ],
)
def test_what_is_refused(words: list[str], said: str, dump: Path, capsys: Capture) -> None:
    assert run(["recheck", words[0], str(dump), *words[1:]]) == 2
    assert said in capsys.readouterr().err


def test_masked_it_shows_no_name(capsys: Capture) -> None:
    words = [
        "recheck",
        "*layers.25*qkv_proj*",
        str(sample_path("w8a8")),
        "--round",
        "round1",
        "--scale",
        "0.05",
    ]
    assert run([*words, "--mask"]) == 0
    assert "qkv_proj" not in capsys.readouterr().out


@pytest.mark.parametrize("suffix", ["html", "xml", "xlsx"])
def test_a_page_junit_or_a_workbook(suffix: str, dump: Path, tmp_path: Path, capsys: Capture) -> None:
    to = tmp_path / f"told.{suffix}"
    assert run(["recheck", "*", str(dump), "-o", str(to)]) == 1
    content = to.read_bytes()
    assert suffix == "xlsx" and content[:2] == b"PK" or SOFTMAX.encode() in content
    assert run(["recheck", "*", str(dump), "-o", str(dump / f"told.{suffix}")]) == 2
    assert "not written into the run" in capsys.readouterr().err

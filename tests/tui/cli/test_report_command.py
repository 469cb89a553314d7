"""`npulse report`: the file by its suffix, the check-up's exit code, what is wrong told before the work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from npulse.sample_runs import sample_path
from npulse.tui.cli.main import run

Capture = pytest.CaptureFixture[str]
RUN = str(sample_path("w8a8"))


def test_the_file_and_the_exit_code_say_the_same(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.json"
    code = run(["report", RUN, "-o", str(path), "--round", "round1", "-t", "my run", "--jobs", "1"])
    body = json.loads(path.read_text())
    assert (code, body["exit_code"], body["verdict"], body["title"]) == (1, 1, "fail", "my run")
    failed = [area["area"] for area in body["checkup"]["areas"] if area["verdict"] == "fail"]
    assert body["checkup"]["first"] in failed and body["story"] is None
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and f"{path}: FAIL" in err and "first" in err
    junit = tmp_path / "a.xml"
    assert run(["report", RUN, "--mask", "-o", str(junit), "--round", "round1", "--jobs", "1"]) == 1
    root = ET.parse(junit).getroot()
    assert root.attrib["failures"] != "0" and "w8a8" not in junit.read_text()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.pdf", "no report format"),
        ("nowhere/a.md", "no such folder"),
        (f"{RUN}/a.md", "not written into the run"),
    ],
)
def test_what_is_wrong_with_the_file_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, name: str, words: str
) -> None:
    monkeypatch.setattr("npulse.core.dossier.gather", lambda *_: pytest.fail("it began to work"))
    assert run(["report", RUN, "-o", str(tmp_path / name)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [(["--cluster", "local:x"], "no address of a scheduler"), (["--path-map", "/a=/b"], "with --cluster")],
)
def test_a_cluster_that_cannot_be_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, options: list[str], words: str
) -> None:
    monkeypatch.setattr("npulse.core.dossier.gather", lambda *_: pytest.fail("it began to work"))
    assert run(["report", RUN, "-o", str(tmp_path / "a.md"), *options]) == 2
    assert words in capsys.readouterr().err


def test_a_broken_criteria_file_names_key_and_line(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "c.toml").write_text("[precision]\ncosin = 0.9\n")
    path = tmp_path / "a.html"
    assert run(["report", RUN, "-o", str(path), "--criteria", str(tmp_path / "c.toml")]) == 2
    err = capsys.readouterr().err
    assert "cosin" in err and "line 2" in err and not path.exists()


def test_what_is_killed_while_writing_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("before")
    code = (
        "import os, signal, sys; from pathlib import Path; from npulse.core.files import write_whole\n"
        "def pieces():\n yield 'half' * 100000\n os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_whole(pieces(), Path(sys.argv[1]))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", code, str(path)], env=environment, timeout=60)
    assert ended.returncode == -signal.SIGKILL and path.read_text() == "before"


def test_a_check_up_alone_is_written_by_the_same_renderers(tmp_path: Path, capsys: Capture) -> None:
    page = tmp_path / "a.html"
    assert run(["check", RUN, "--round", "round1", "--jobs", "1", "--mask", "-o", str(page)]) == 1
    made = page.read_text()
    assert made.startswith("<!DOCTYPE html>") and "heat-precision" in made and "w8a8" not in made
    assert run(["check", RUN, "-o", f"{RUN}/a.xml"]) == 2
    assert "not written into the run" in capsys.readouterr().err

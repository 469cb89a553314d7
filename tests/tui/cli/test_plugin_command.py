"""`npulse plugin`, --plugin and --no-plugins, and the example of the documentation on the sample run."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import npulse
from npulse.core.plugins import registry
from npulse.sample_runs import sample_path
from npulse.tui.cli.main import run

REPO = Path(__file__).resolve().parents[3]
EXAMPLE = REPO / "docs" / "examples" / "quantised.py"
Capture = pytest.CaptureFixture[str]
BAD = """
class Bad:
    kind = "bad"
    title = "bad"
    area = "nowhere"
    patterns = ["*.bad"]
    magic = b""

    def read(self):
        return []
"""
HANGING = "class Slow:\n    name = 'slow'\n    def analyze(self, data):\n        raise SystemExit(5)\n"


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("NPULSE_CONFIG_DIR", str(tmp_path / "config"))
    registry.use()
    yield tmp_path / "config"
    registry.use()


def call(*words: str | Path) -> int:
    """A command line of its own: what the last one said of plug-ins is forgotten."""
    registry.use()
    return run([str(word) for word in words])


def test_the_example_is_added_and_speaks_of_the_sample_run(
    tmp_path: Path, capsys: Capture, own: Path
) -> None:
    sample = tmp_path / "w8a8"
    shutil.copytree(sample_path("w8a8") / "round3" / "prof", sample / "round3" / "prof")
    meter = sample / "round3" / "power_1.csv"
    meter.write_text("time_s,power_w\n0,100\n1,200\n3,200\n")
    assert call("plugin", "add", EXAMPLE, "-n", "quantised") == 0
    told = capsys.readouterr()
    assert "added quantised (reader, metric, analysis)" in told.out and "with your rights" in told.err
    assert (own / "plugins" / "quantised.py").read_bytes() == EXAMPLE.read_bytes()

    words = ("performance", sample, "--format", "json", "--no-cache", "--tables")
    assert call(*words) == 0
    body = json.loads(capsys.readouterr().out)
    found = {f["rule"]: f for f in body["findings"] if f["rule"].startswith("plugin.")}
    assert list(found) == ["plugin.quantised.share", "plugin.quantised.energy"]
    assert found["plugin.quantised.energy"]["figures"] == {"energy_j": 150.0 + 400.0}
    assert found["plugin.quantised.energy"]["location"]["artifact"] == "round3/power_1.csv"
    assert found["plugin.quantised.share"]["area"] == "performance"
    table = {row["subject"]: row["total_us"] for row in body["tables"]["performance"]}
    times = {name: time_us for name, time_us in table.items() if "matmul" in name.lower()}
    share = 100 * sum(t for name, t in times.items() if name.startswith("Quant")) / sum(times.values())
    assert found["plugin.quantised.share"]["figures"]["quantised_percent"] == pytest.approx(share)

    call("--plain", sample, "--no-cache")
    text = capsys.readouterr().out
    assert "1 lab.power: power meter log (read by plug-in quantised)" in text
    assert "[plugin.quantised.share]" in text
    call("--plain", sample, "--no-cache", "--no-plugins")
    text = capsys.readouterr().out
    assert "lab.power" not in text and "plugin." not in text


def test_the_examples_metric_is_what_it_says() -> None:
    space: dict[str, type] = {"__name__": "example"}
    exec(compile(EXAMPLE.read_text(), str(EXAMPLE), "exec"), space)
    golden = np.array([1.0, -2.0, 0.0, 3.0])
    assert space["SignFlips"]().measure(np.array([1.0, 2.0, 0.0, -3.0]), golden) == 0.5


def test_a_plugin_that_fails_is_named_and_the_report_is_whole(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "slow.py"
    file.write_text(HANGING.replace("    name", "    area = 'device'\n    name"))
    sample = sample_path("w8a8")
    words = ("device", sample, "--format", "json", "--no-cache")
    without = call(*words)
    before = json.loads(capsys.readouterr().out)
    assert call(*words, "--plugin", file) == 4 and without == 0
    body = json.loads(capsys.readouterr().out)
    assert [p["message"] for p in body["problems"]] == ["raised SystemExit: 5"]
    assert body["problems"][0]["artifact"] == "plug-in slow" and body["problems"][0]["line"] == 5
    assert body["verdict"] == "incomplete" and body["findings"] == before["findings"]
    assert "tables" not in body  # they were made for the plug-in alone


def test_check_names_every_fault_with_its_line(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "bad.py"
    file.write_text(BAD)
    assert call("plugin", "check", file) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and all(line.startswith(f"! {file}:") for line in lines)
    assert lines[0].startswith(f"! {file}:9: Bad: it is called as read(path)")
    assert f"{file}:2: Bad: kind has to be" in lines[1] and "area has to be one of" in lines[2]
    assert call("plugin", "check", file, "--format", "json") == 1
    (told,) = json.loads(capsys.readouterr().out)
    assert [fault["line"] for fault in told["faults"]] == [9, 2, 2]
    file.write_text(HANGING)
    assert call("plugin", "check", file) == 1
    assert f"{file}:4: analysis slow raised SystemExit: 5" in capsys.readouterr().out


def test_nothing_with_faults_is_added(tmp_path: Path, capsys: Capture, own: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text(BAD)
    assert call("plugin", "add", file) == 1
    assert "not added: 3 faults" in capsys.readouterr().err and not (own / "plugins").exists()


def test_list_says_where_each_comes_from_and_what_became_of_it(
    tmp_path: Path, capsys: Capture, own: Path
) -> None:
    assert call("plugin", "list") == 0
    assert "no plug-ins" in capsys.readouterr().out
    file = tmp_path / "gap.py"
    file.write_text(HANGING.replace("raise SystemExit(5)", "return []"))
    assert call("plugin", "add", file, "-n", "mine") == 0
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert digest[:16] in capsys.readouterr().out
    assert call("plugin", "list", "--lang", "zh") == 0
    assert "mine" in (text := capsys.readouterr().out) and "分析" in text and "正常" in text
    with open(own / "plugins" / "mine.py", "a") as copy:
        copy.write("# changed\n")
    assert call("plugin", "list") == 0
    assert "changed since it was added: not used" in capsys.readouterr().out
    assert call("plugin", "list", "--format", "json") == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["name"], told["kinds"], told["state"], told["source"]) == (
        "mine",
        ["analysis"],
        "changed",
        str(file),
    )
    assert call("plugin", "check", "mine") == 2
    assert call("device", sample_path("w8a8"), "--no-cache", "--format", "json") == 4
    body = json.loads(capsys.readouterr().out)
    assert ["plug-in mine"] == [p["artifact"] for p in body["problems"] if p["kind"] == "plugin"]
    assert call("plugin", "remove", "mine") == 0 and call("plugin", "remove", "mine") == 2


@pytest.mark.parametrize(
    "words",
    [
        ("plugin",),
        ("plugin", "check", "none"),
        ("plugin", "add", "/none.py"),
        ("plugin", "add", str(EXAMPLE), "-n", "Not a name"),
        ("plugin", "list", "--format", "xml"),
        ("check", ".", "--plugin", "/none.py"),
        ("check", ".", "--plugin", str(EXAMPLE), "--no-plugins"),
        ("check", ".", "--plugin", ""),
    ],
)
def test_wrong_use_ends_with_2(words: tuple[str, ...], capsys: Capture) -> None:
    assert call(*words) == 2
    told = capsys.readouterr()
    assert told.out == "" and "Traceback" not in told.err


def test_a_rule_of_a_plugin_says_whose_it_is(capsys: Capture) -> None:
    assert call("rules", "plugin.mine.share") == 0
    assert "said by plug-in mine" in capsys.readouterr().out
    assert call("rules", "plugin.mine") == 2


def test_doctor_lists_them(tmp_path: Path, capsys: Capture) -> None:
    call("doctor")
    assert "plug-ins" not in capsys.readouterr().out
    assert call("plugin", "add", EXAMPLE, "-n", "mine") == 0
    capsys.readouterr()
    call("doctor")
    told = " ".join(capsys.readouterr().out.split())  # a long path stands on a line of its own
    assert f"mine reader, metric, analysis {EXAMPLE}" in told


def test_without_plugins_a_look_at_a_run_loads_and_starts_nothing_for_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    code = (
        f"import sys; sys.path.insert(0, {str(Path(npulse.__file__).parents[1])!r})\n"
        "import subprocess\n"
        "def refuse(*words, **options): raise AssertionError(words)\n"
        "subprocess.Popen = refuse\n"
        "import npulse.core.run.discover as d\n"
        f"assert d.discover({str(tmp_path)!r}).problems == ()\n"
        "from npulse.core.plugins.analyses import has_analyses\n"
        "from npulse.core.plugins.metrics import metrics\n"
        "assert not has_analyses() and metrics() == ((), ())\n"
        "assert 'importlib.metadata' not in sys.modules, 'metadata of packages was read'\n"
        "print('done')"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.stdout == "done\n", done.stderr

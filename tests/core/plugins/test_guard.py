"""Whatever a plug-in does it is named, the rest goes on, and nothing of it is left."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import Cancelled
from npulse.core.findings import Problem, Report
from npulse.core.plugins import process
from npulse.core.plugins.analyses import plugin_reports
from npulse.core.plugins.process import PluginFault, PluginProcess

from .code import ANALYSIS, analysis
from .conftest import Use

RUN: Any = SimpleNamespace(path=Path("/run"), rounds=(), artifacts=())


def told(**limits: Any) -> Report:
    (one,) = plugin_reports(RUN, {}, AnalysisOptions(), **limits)
    return one.report


def only_problem(**limits: Any) -> Problem:
    report = told(**limits)
    (problem,) = report.problems
    assert problem.artifact == "plug-in acme" and problem.kind == "plugin"
    assert report.verdict == "incomplete" and report.findings == ()
    return problem


def test_what_lies_in_the_current_folder_is_never_run(
    use: Use, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that is looked at may be the current folder: a json.py in it is data."""
    for name in ("json", "struct", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    use(ANALYSIS)
    assert told().problems == () and not (tmp_path / "ran").exists()


FAULTS = {
    "raises": ("raise ValueError('no\\x1b[31m idea')", "raised ValueError: no", 6),
    "exits": ("import sys; sys.exit(3)", "raised SystemExit: 3", 6),
    "interrupts": ("raise KeyboardInterrupt", "raised KeyboardInterrupt", 6),
    "recurses": ("return self.analyze(data)", "raised RecursionError", 6),
    "no list": ("return 3", "raised TypeError", None),
    "a text": ("return 'finding'", "findings have to be a list", None),
    "a thing": ("return [{'message': 'm', 'figures': {'a': object()}}]", "neither text nor number", None),
    "circular": ("a = {}; a['message'] = a; return [a]", "Circular", None),
    "endless": ("import itertools; return ({'message': 'm'} for i in itertools.count())", None, None),
    "ends": (
        "import os; print('last words'); import sys; sys.stdout.flush(); os._exit(7)",
        "ended its process (exit status 7): last words",
        None,
    ),
    "dies": ("import os; os.kill(os.getpid(), 11)", "died of signal 11", None),
    "too much said": ("return [{'message': 'x' * 600000}] * 2", "too many to take", None),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_named_with_its_line(name: str, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_ANSWER_BYTES", 1 << 20)
    body, said, line = FAULTS[name]
    use(analysis(body))
    if said is None:
        report = told()
        assert len(report.findings) == 1000 and "more than 1,000 findings" in report.problems[0].message
        return
    problem = only_problem()
    assert said in problem.message and "\x1b" not in problem.message
    if line is not None:
        assert problem.line == line


def test_one_that_hangs_is_ended_with_all_that_it_started(use: Use, tmp_path: Path) -> None:
    note = tmp_path / "pids"
    use(
        analysis(
            "import os, signal, time\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "child = os.fork()\n"
            f"open({str(note)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
            "while True: time.sleep(60)"
        )
    )
    assert "had no answer after 1 s" in only_problem(time_limit_s=1.0).message
    pids = [int(pid) for pid in note.read_text().split()]
    assert len(pids) == 2
    end_s = time.monotonic() + 5
    while any(map(is_alive, pids)) and time.monotonic() < end_s:
        os.sched_yield()
    assert not any(map(is_alive, pids))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_one_that_is_not_waited_for_any_more_is_ended(use: Use) -> None:
    asked: list[float] = []

    def is_cancelled() -> bool:
        asked.append(time.monotonic())
        return len(asked) > 20

    use(analysis("import time; time.sleep(60)"))
    with pytest.raises(Cancelled):
        told(is_cancelled=is_cancelled)


def test_one_that_eats_memory_is_named(use: Use) -> None:
    plugin = use(analysis("return [bytearray(1 << 30)]"))
    with PluginProcess(plugin, memory_limit_bytes=512 << 20) as child:
        child.load()
        message = {"do": "analyze", "item": 0, "most": 1, "run": {}, "artifacts": [], "reports": {}}
        with pytest.raises(PluginFault, match="wanted more than 512 MiB") as caught:
            child.ask(message)
    assert caught.value.line == 6


def test_what_it_prints_and_reads_is_kept_from_npulse(use: Use, capfd: pytest.CaptureFixture[str]) -> None:
    body = (
        "import os, sys\n"
        "print('to stdout' * 100000)\n"
        "os.write(1, b'raw')\n"
        "print('to stderr', file=sys.stderr)\n"
        "return [{'message': 'read ' + repr(sys.stdin.read())}]"
    )
    use(analysis(body, head="print('at import')"))
    assert [f.message for f in told().findings] == ["read ''"]
    assert capfd.readouterr() == ("", "")


def test_a_file_that_cannot_be_loaded_is_named_with_its_line(use: Use) -> None:
    use("import os\n\ndef f(:\n")
    problem = only_problem()
    assert "SyntaxError" in problem.message and problem.line == 3
    use("\nimport none_such_module\n")
    problem = only_problem()
    assert "none_such_module" in problem.message and problem.line == 2
    use("x = 1\n")
    assert "no plug-in" in only_problem().message


def test_one_bad_plugin_does_not_keep_the_others_from_speaking(use: Use) -> None:
    good = analysis("return [{'message': 'fine'}]").replace("Bad", "Good")
    use(analysis("raise ValueError('x')") + good)
    report = told()
    assert [f.message for f in report.findings] == ["fine"] and len(report.problems) == 1
    assert report.verdict == "incomplete"


def test_a_plugin_finds_nothing_in_the_current_folder(
    use: Use, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "fnmatch.py").write_text("raise SystemExit('taken over')")
    (tmp_path / "run" / "left_here.py").write_text("")
    monkeypatch.chdir(tmp_path / "run")
    monkeypatch.syspath_prepend("")
    use(
        ANALYSIS
        + "\nimport fnmatch\ntry:\n    import left_here\nexcept ImportError:\n    pass\nelse:\n    1 / 0\n"
    )
    (one,) = plugin_reports(RUN, {}, AnalysisOptions())
    assert one.report.problems == () and one.report.command == "performance"

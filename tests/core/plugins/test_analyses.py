"""Readers and analyses on a run: what they are given, where their findings stand."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from npulse.core.analysis import AnalysisOptions, AreaReport
from npulse.core.checkup.check import check_up
from npulse.core.checkup.criteria_file import default_criteria
from npulse.core.findings import Finding, Problem, Report
from npulse.core.plugins import registry
from npulse.core.plugins.analyses import added_plugin_reports, plugin_reports, read_artifact
from npulse.core.run.discover import discover
from npulse.core.run.kinds import KINDS
from npulse.core.table import Column, Table, text_column

from .code import ANALYSIS, READER, analysis
from .conftest import Use


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "a.acme").write_text("AC\nconv 1.5\nadd 2.25\n")
    (folder / "b.acme").write_text("not one of them\n")
    (folder / "c.other").write_text("AC\n")
    return folder


def test_a_reader_recognises_by_name_and_first_bytes_and_its_rows_go_to_analyses(use: Use, run: Path) -> None:
    use(READER + ANALYSIS)
    found = discover(run)
    assert [(one.kind, one.relative) for one in found.artifacts] == [("acme.trace", "a.acme")]
    assert found.n_unknown == 2 and found.problems == ()
    kind = KINDS["acme.trace"]
    assert (kind.title_zh, kind.area, kind.plugin) == ("Acme 轨迹", "performance", "acme")
    assert read_artifact(found, "a.acme") == (
        [{"name": "conv", "time_us": 1.5}, {"name": "add", "time_us": 2.25}],
        [],
    )
    (told,) = plugin_reports(found, {}, AnalysisOptions())
    (finding,) = told.report.findings
    assert (told.report.command, finding.rule, finding.figures) == (
        "performance",
        "plugin.acme.total",
        {"total_us": 3.75},
    )
    assert (finding.location.artifact, finding.location.line) == ("a.acme", 2)
    assert discover(run / "a.acme").artifacts[0].kind == "acme.trace"  # and where it is named itself


def test_without_the_plugin_nothing_of_it_is_known(run: Path) -> None:
    assert discover(run).artifacts == ()
    with pytest.raises(KeyError):
        KINDS["acme.trace"]


def test_what_a_reader_cannot_read_is_a_problem_of_the_file(use: Use, run: Path) -> None:
    (run / "a.acme").write_text("AC\nconv many\n")
    use(READER + ANALYSIS)
    (told,) = plugin_reports(discover(run), {}, AnalysisOptions())
    file, plugin = told.report.problems
    assert file.artifact == "a.acme" and "could not convert string to float" in file.message
    assert plugin.artifact == "plug-in acme" and "raised ValueError" in plugin.message
    assert told.report.verdict == "incomplete"


def test_a_reader_that_cannot_be_loaded_makes_no_run_look_clean(use: Use, run: Path) -> None:
    use("raise ImportError('no such driver')\n")
    (problem,) = discover(run).problems
    assert (problem.artifact, problem.kind, problem.line) == ("plug-in acme", "plugin", 1)


def test_a_reader_gets_none_of_our_own_kinds(use: Use, run: Path) -> None:
    use(READER.replace("acme.trace", "prof.op_summary"))
    found = discover(run)
    assert found.artifacts == () and "npulse's own" in found.problems[0].message


def test_an_analysis_sees_reports_and_tables_as_they_are(use: Use, run: Path) -> None:
    columns = (
        text_column("operator", ["a", None, "b", "a"]),
        Column("cosine", "float", np.array([0.5, 1.0, 0.0, np.nan]), absent=np.array([0, 0, 1, 0], bool)),
        Column("calls", "int", np.array([1, 2, 3, 2**53 + 1])),
        Column("hidden", "int", np.zeros(4, int), is_internal=True),
    )
    finding = Finding("overflow", "error", "overflow.origin", "origin", "op", "m", next_step="n")
    report = Report(
        "overflow",
        str(run),
        "fail",
        findings=(finding,),
        problems=(Problem("x", "cut-off", "p"),),
        tables={"overflow": Table("overflow", columns)},
    )
    use(
        analysis(
            "frame = data.table('overflow')\n"
            "one = data['reports']['overflow'][0]\n"
            "first = one['findings'][0]\n"
            "facts = [list(frame.columns), frame.operator.isna().tolist(), frame.cosine.isna().tolist(),\n"
            "         frame.calls.tolist(), frame.attrs['n_rows'], frame.operator.dropna().tolist(),\n"
            "         first['next'], one['round'], one['verdict'], one['problems'][0]['kind'],\n"
            "         sorted(data)]\n"
            "try:\n    data.table('none')\nexcept KeyError as error:\n    facts.append(str(error))\n"
            "try:\n    data.rows('none')\nexcept KeyError as error:\n    facts.append(str(error))\n"
            "return [{'message': repr(facts)}]"
        )
    )
    (told,) = plugin_reports(discover(run), {"overflow": (AreaReport("r1", "x", report),)}, AnalysisOptions())
    assert told.report.problems == ()
    facts = [
        ["operator", "cosine", "calls"],
        [False, True, False, False],
        [False, False, True, True],
        [1, 2, 3, 2**53 + 1],
        4,
        ["a", "b", "a"],
        *("n", "r1", "fail", "cut-off", ["artifacts", "reports", "run"]),
        "\"no table 'none'; there are: overflow\"",
        "\"no artifact of a reader plug-in is 'none'\"",
    ]
    assert told.report.findings[0].message == repr(facts)


def test_findings_stand_behind_those_of_their_area(use: Use, run: Path) -> None:
    own = Report(
        "performance", str(run), "pass", findings=(Finding("performance", "note", "r", "ok", "s", "m"),)
    )
    use(READER + ANALYSIS + analysis("return [{'message': 'by itself', 'severity': 'error'}]"))
    reports = {"performance": (AreaReport("", "old", own), AreaReport("", "new", own))}
    found = added_plugin_reports(discover(run), reports, AnalysisOptions())
    old, new = found["performance"]
    assert old.report is own
    assert [f.rule for f in new.report.findings] == ["r", "plugin.acme.total"]
    assert [f.message for f in found["plugin"][0].report.findings] == ["by itself"]
    assert found["plugin"][0].report.verdict == "fail"


def test_the_check_up_has_an_area_for_what_belongs_to_none(use: Use, run: Path) -> None:
    use(analysis("return [{'message': 'worn out', 'severity': 'error', 'subject': 'fan'}]"))
    told = check_up(discover(run), AnalysisOptions(), default_criteria())
    area = told.areas[-1]
    assert (area.area, area.state, told.state, told.first) == ("plugin", "fail", "fail", "plugin")
    assert area.origin is not None and area.origin.subject == "fan" and told.why_first
    registry.use(off=True)
    told = check_up(discover(run), AnalysisOptions(), default_criteria())
    assert "plugin" not in [one.area for one in told.areas]


def test_an_entry_point_is_imported_only_in_its_own_process(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    info = site / "acme_tools-2.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-tools\nVersion: 2.0\n")
    points = "[npulse.readers]\nacme = acme_tools.all:Acme\n[npulse.analyses]\nacme = acme_tools.all:Sums\n"
    (info / "entry_points.txt").write_text(points)
    (site / "acme_tools").mkdir()
    (site / "acme_tools" / "__init__.py").write_text("")
    (site / "acme_tools" / "all.py").write_text(READER + ANALYSIS)
    monkeypatch.syspath_prepend(str(site))
    registry.use()
    (told,) = plugin_reports(discover(run), {}, AnalysisOptions())
    assert told.report.findings[0].figures == {"total_us": 3.75}
    assert "acme_tools" not in sys.modules

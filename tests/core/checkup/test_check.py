"""The check-up of a run: which rounds count, what cannot be read, what is done before it is judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.api import check
from npulse.core.checkup import check as check_module
from npulse.core.checkup.check import check_up
from npulse.core.checkup.criteria_file import default_criteria, parse_criteria
from npulse.core.criteria import CheckUp
from npulse.core.errors import Cancelled, InputError, UsageError
from npulse.core.findings import Report
from npulse.core.run.discover import discover

OPTIONS = AnalysisOptions(jobs=1)
FAULT = """\
====== ERROR: illegal write of size 512
======    at 0x30a00 on UB in vec_add
======    in block aiv(0) on device 0
======    code in pc current 0x694 (serialNo:10)
======    #0 /b/vec_add.cpp:38:9

"""


def log(records: str = "") -> str:
    end = "See all detected errors above." if records else "No error detected."
    return (
        f"[mssanitizer] Start memcheck sanitizer on kernel vec_add\n{records}"
        f"[mssanitizer] Sanitizer finished on kernel vec_add. {end}\n"
    )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def states(found: CheckUp) -> dict[str, str]:
    return {area.area: area.state for area in found.areas if area.is_counted}


def test_of_each_area_the_newest_round_that_has_something_counts(tmp_path: Path) -> None:
    write(tmp_path / "round1" / "mssanitizer.log", log(FAULT))
    write(tmp_path / "round2" / "mssanitizer.log", log())
    write(tmp_path / "round3" / "round.toml", 'schema = 1\nkind = "performance"\n')
    found = check(tmp_path)
    assert states(found.found) == {"memory": "pass"}
    first = check(tmp_path, options=replace(OPTIONS, round_name="round1"))
    assert states(first.found) == {"memory": "fail"} and first.max_error == 2  # the fault and the criterion
    assert check(tmp_path, options=replace(OPTIONS, round_name="round3")).verdict == "unknown"


def test_a_newest_round_that_cannot_be_read_is_never_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older round stands in for it, and the area is incomplete."""
    write(tmp_path / "round1" / "mssanitizer.log", log())
    write(tmp_path / "round2" / "mssanitizer.log", log())
    from npulse.core.areas import Area

    asked = Area.reports_of

    def refuse(self: Area, run: object, options: AnalysisOptions, **more: object) -> object:
        if self.id == "memory" and options.round_name == "round2":
            raise InputError("broken", path="round2/mssanitizer.log")
        return asked(self, run, options, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Area, "reports_of", refuse)
    found = check(tmp_path)
    assert states(found.found) == {"memory": "incomplete"}
    assert [problem.message for problem in found.problems] == ["broken"]
    assert found.report.exit_code() == 4


def test_versions_in_a_manifest_are_an_environment(tmp_path: Path) -> None:
    """The same two versions that `npulse doctor` calls a conflict in a text."""
    manifest = 'schema = 1\n[versions]\ntorch = "2.1.0"\ntorch_npu = "2.5.1"\n'
    write(tmp_path / "dump" / "a_20260101-000000" / "round.toml", manifest)
    found = check(tmp_path)
    (environment,) = (area for area in found.areas if area.area == "environment")
    assert (environment.state, found.found.first) == ("fail", "environment")
    assert environment.origin is not None and environment.origin.rule == "env.torch"
    assert environment.reports[0].round == "a_20260101-000000"


def test_one_version_alone_is_no_environment_that_passed(tmp_path: Path) -> None:
    folder = tmp_path / "dump" / "a_20260101-000000"
    for versions, state in (('torch = "2.1.0"', "unknown"), ('torch = "2.1.0"\ntorch_npu = "2.1.0"', "pass")):
        write(folder / "round.toml", f"schema = 1\n[versions]\n{versions}\n")
        (environment,) = (area for area in check(tmp_path).found.areas if area.area == "environment")
        assert (environment.state, environment.is_counted) == (state, state == "pass"), versions
        assert [one.state for one in environment.criteria] == ([] if state == "unknown" else ["pass"])
        assert bool(environment.missing) == (state == "unknown") and bool(environment.reports)


@pytest.mark.parametrize(
    ("tool", "settings", "state"),
    [
        ("mssanitizer", "leak-check = 'yes'", "pass"),
        ("mssanitizer", "check-cann-heap = 'yes'", "pass"),
        ("mssanitizer", "leak-check = 'no'", "unknown"),
        ("mssanitizer", "", "unknown"),
        ("msprof", "leak-check = 'yes'", "unknown"),
    ],
)
def test_a_leak_check_that_found_none_passes_where_the_manifest_tells_of_it(
    tmp_path: Path, tool: str, settings: str, state: str
) -> None:
    """A clean log says nothing of leaks: whether they were looked for is known by the tool's settings."""
    folder = tmp_path / "sanitizer" / "a_20260101-000000"
    write(folder / "raw" / "mssanitizer.log", log())
    write(folder / "round.toml", f'schema = 1\ntool = "{tool}"\n[request.settings]\n{settings}\n')
    write(tmp_path / "c.toml", "[memory]\nleaked_bytes = 0\n")
    found = check(tmp_path, tmp_path / "c.toml")
    assert {one.id: one.state for one in found.found.areas[4].criteria}["memory.leaked_bytes"] == state


def test_every_area_is_told_as_soon_as_it_is_known(tmp_path: Path) -> None:
    write(tmp_path / "mssanitizer.log", log(FAULT))
    told: list[tuple[str, str]] = []
    check_up(
        discover(tmp_path),
        OPTIONS,
        default_criteria(),
        on_update=lambda found, asking: told.append((asking, found.state)),
    )
    assert [asking for asking, _ in told] == ["device", "precision", "overflow", "memory", "performance"]
    assert [state for _, state in told][-2:] == ["unknown", "fail"]


def test_it_can_be_cancelled_between_two_areas(tmp_path: Path) -> None:
    write(tmp_path / "mssanitizer.log", log())
    seen: list[str] = []
    with pytest.raises(Cancelled):
        check_up(
            discover(tmp_path),
            OPTIONS,
            default_criteria(),
            on_update=lambda found, asking: seen.append(asking),
            is_cancelled=lambda: bool(seen),
        )
    assert seen == ["device"]


def test_every_report_is_prepared_before_it_is_judged(tmp_path: Path) -> None:
    write(tmp_path / "mssanitizer.log", log(FAULT))
    seen: list[str] = []

    def quiet(report: Report) -> Report:
        seen.append(report.command)
        findings = tuple(
            replace(f, severity="note", figures={**f.figures, "severity_before": f.severity})
            for f in report.findings
        )
        return replace(report, findings=findings, verdict="pass")

    found = check_up(discover(tmp_path), OPTIONS, default_criteria(), prepare=quiet)
    assert seen == ["memory"] and states(found) == {"memory": "pass"}
    assert {one.id: one.value for area in found.areas for one in area.criteria}["memory.faults"] == 0


def test_thresholds_of_the_file_reach_the_area(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "mssanitizer.log", log())
    asked: dict[str, str | None] = {}

    class Asked:
        def __init__(self, area: str) -> None:
            self.area, self.command = area, area

        def reports_of(self, run: object, options: AnalysisOptions, **more: object) -> tuple[()]:
            asked[self.area] = options.criteria
            return ()

    monkeypatch.setattr(check_module, "area_of", Asked)
    text = "[memory.thresholds]\nrepeated_leaks = 5\n[performance]\ntokens_per_s = 9\n"
    check_up(discover(tmp_path), OPTIONS, parse_criteria(text, "f"))
    assert asked["memory"] == "repeated_leaks=5.0" and asked["performance"] == "tokens_per_s=9.0"
    assert asked["precision"] is None


def test_the_library_takes_a_file_and_its_silences(tmp_path: Path) -> None:
    write(tmp_path / "run" / "mssanitizer.log", log(FAULT))
    write(
        tmp_path / "c.toml",
        '[[silence]]\nrule = "memory.access"\nreason = "known"\nuntil = 9999-12-31\n',
    )
    assert check(tmp_path / "run").verdict == "fail"
    found = check(tmp_path / "run", tmp_path / "c.toml")
    assert found.verdict == "pass" and found.max_error == 0
    frame = found.to_frame()
    assert list(frame[frame["criterion"] == "memory.faults"]["value"]) == [0]
    write(tmp_path / "c.toml", '[[silence]]\nrule = "memory.access"\n')
    with pytest.raises(UsageError):
        check(tmp_path / "run", tmp_path / "c.toml")


def test_an_empty_folder_is_unknown_and_has_no_error_figure(tmp_path: Path) -> None:
    found = check(tmp_path)
    assert found.verdict == "unknown" and found.max_error != found.max_error and found.origin is None


def test_many_rounds_cost_a_look_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one for every pair of them: an archive has hundreds."""
    from npulse.core.device import run_report

    n_rounds, looks = 30, 0
    for number in range(n_rounds):
        write(tmp_path / f"round{number}" / "mssanitizer.log", log())
        write(tmp_path / f"round{number}" / "round.toml", "schema = 1\n")
    asked = run_report.has_snapshots

    def counted(artifact: object, root: Path) -> bool:
        nonlocal looks
        looks += 1
        return bool(asked(artifact, root))  # type: ignore[arg-type]

    monkeypatch.setattr(run_report, "has_snapshots", counted)
    assert states(check(tmp_path).found) == {"memory": "pass"}
    assert n_rounds <= looks <= 5 * n_rounds

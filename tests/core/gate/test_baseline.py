"""A baseline: what is known does not count, what is new or worse does, hostile files are told."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.findings import Finding, Report, verdict_from
from npulse.core.gate import Baseline, Gate, Silence, baseline_of, read_baseline
from npulse.core.report import render
from npulse.core.run.model import Artifact


def finding(
    subject: str = "op", severity: Any = "error", rule: str = "precision.diverges", **figures: Any
) -> Finding:
    return Finding(rule.split(".")[0], severity, rule, "origin", subject, "differs", figures=figures)


def report(*findings: Finding, run: str = "runs/new", ranks: int = 1, **more: Any) -> Report:
    artifacts = tuple(Artifact("msprobe.dump", Path(f"r{i}"), f"r{i}", 0, 0, i) for i in range(ranks))
    verdict = verdict_from(findings)
    own = {"verdict": verdict, "findings": findings, "artifacts": artifacts, "beneath": "pass"}
    return Report("precision", run, **{**own, **more})


def gate(*known: Finding, **more: Any) -> Gate:
    return Gate(date(2026, 1, 1), baseline=baseline_of([report(*known, run="runs/old", **more)], "old"))


def test_what_is_known_does_not_fail() -> None:
    told = gate(finding(cosine=0.9)).prepare(report(finding(cosine=0.9)))
    assert told.verdict == "pass" and told.findings[0].severity == "note"
    assert told.findings[0].figures == {"cosine": 0.9, "known": "old", "severity_before": "error"}


def test_what_is_new_fails_and_comes_first() -> None:
    told = gate(finding()).prepare(report(finding(), finding("other")))
    assert told.verdict == "fail"
    assert [(one.subject, one.severity) for one in told.findings] == [("other", "error"), ("op", "note")]


@pytest.mark.parametrize(
    ("name", "before", "after", "is_worse"),
    [
        ("cosine", 0.98, 0.97, True),
        ("cosine", 0.98, 0.99, False),
        ("cosine", 0.98000001, 0.98000000, False),  # not in the digits that are shown
        ("cosine", 0.98, "nan", True),
        ("cosine", "nan", 0.5, False),
        ("rel_l2", 0.100, 0.101, False),  # 1 %
        ("rel_l2", 0.100, 0.110, True),
        ("rel_l2", 0.1, "inf", True),
        ("nan_count", 3, 4, True),
        ("nan_count", 3, 2, False),
        ("nan_count", None, 4, False),
        ("leaked_bytes", 512, 1024, True),
        ("tokens_per_s", 100, 97, True),
        ("tokens_per_s", 100, 99, False),
        ("first_token_ms", 100, 103, True),
        ("something_else", 1, 100, False),
    ],
)
def test_what_got_worse_fails(name: str, before: Any, after: Any, is_worse: bool) -> None:
    told = gate(finding(**{name: before})).prepare(report(finding(**{name: after})))
    assert (told.verdict == "fail") is is_worse
    if is_worse:
        assert (
            name in told.findings[0].figures["worse"]
            and "Worse than in the baseline" in told.findings[0].message
        )


def test_a_warning_that_is_an_error_now_and_more_ranks_are_worse() -> None:
    told = gate(finding(severity="warning")).prepare(report(finding()))
    assert told.verdict == "fail" and told.findings[0].figures["worse"]["severity"] == ["warning", "error"]
    told = gate(finding(ranks=[0, 1])).prepare(report(finding(ranks=[0, 1, 2])))
    assert told.verdict == "fail" and told.findings[0].figures["worse"]["n_ranks"] == [2, 3]


def test_more_findings_of_one_key_than_before_are_new() -> None:
    told = gate(finding(), finding()).prepare(report(finding(), finding(), finding()))
    assert told.verdict == "fail" and sum(one.severity == "error" for one in told.findings) == 1


def test_notes_of_the_baseline_excuse_nothing() -> None:
    assert gate(finding(severity="note")).prepare(report(finding())).verdict == "fail"


def test_the_run_and_a_single_rank_have_other_names_in_each_run() -> None:
    known = (finding("old"), finding("rank 0"))
    found = report(finding("new"), finding("rank 5"))
    assert gate(*known).prepare(found).verdict == "pass"
    assert gate(*known, ranks=2).prepare(report(finding("rank 5"))).verdict == "fail"


def test_an_area_that_was_not_looked_at_excuses_nothing() -> None:
    other = finding(rule="overflow.origin")
    assert gate(finding()).prepare(report(other)).verdict == "fail"


def test_known_findings_never_hide_what_is_unknown() -> None:
    found = report(finding(), beneath="unknown")
    assert gate(finding()).prepare(found).verdict == "unknown"


def saved(tmp_path: Path, told: Report) -> Baseline:
    path = tmp_path / "baseline.json"
    path.write_text("".join(render(told, "json", version="1")))
    return read_baseline(path)


def test_json_of_a_report_is_the_same_baseline(tmp_path: Path) -> None:
    known = report(finding(cosine=0.9, rel_l2=float("inf")), run="runs/old")
    baseline = saved(tmp_path, known)
    assert set(baseline.areas) == {"precision"} and baseline.areas["precision"].n_ranks == 1
    found = report(finding(cosine=0.9, rel_l2=float("inf")))
    assert baseline.applied(found).verdict == "pass"
    assert baseline.applied(report(finding(cosine=0.8))).verdict == "fail"


def test_a_baseline_made_with_a_baseline_still_knows_but_a_silence_does_not_become_known(
    tmp_path: Path,
) -> None:
    """What was known stays known; what was silenced counts again once its day is over."""
    through = gate(finding()).prepare(report(finding()))
    assert saved(tmp_path, through).applied(report(finding())).verdict == "pass"
    silences = (Silence("precision.*", "r", date(2026, 1, 1)),)
    quiet = Gate(date(2026, 1, 1), silences).prepare(report(finding()))
    assert quiet.verdict == "pass"
    assert saved(tmp_path, quiet).applied(report(finding())).verdict == "fail"


def test_notes_say_what_was_set_aside_and_what_is_of_no_use() -> None:
    silences = (
        Silence("precision.*", "waits", date(2026, 3, 1), "op", None, "s.toml", 1),
        Silence("overflow.*", "gone", date(2026, 3, 1), "*", None, "s.toml", 7),
        Silence("precision.*", "old", date(2025, 3, 1), "*", None, "s.toml", 12),
    )
    known = report(finding("b"), run="old", verdict="incomplete")
    one = Gate(date(2026, 1, 1), silences, baseline_of([known], "base.json"))
    told = one.prepare(report(finding("op"), finding("b"), finding("c")))
    assert one.notes(told.findings) == (
        "silenced until 2026-03-01: precision.diverges op (waits)",
        "known in base.json, not counted: 1",
        "new, or worse than in base.json: 1",
        "precision: the baseline is INCOMPLETE: what it could not read or judge counts as new",
        "s.toml:7: the silence of overflow.* for * is about nothing that was found",
        "s.toml:12: the silence of precision.* for * expired on 2025-03-01 and does not count (old)",
    )
    assert not Gate(date(2026, 1, 1))


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"findings": {}},
        {"findings": [3]},
        {"findings": [{"area": "x", "severity": "loud", "rule": "r", "subject": "s", "figures": {}}]},
        {"verdict": "fine"},
        {"run": 3},
    ],
)
def test_other_json_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "baseline.json"
    body = {"schema": 1, "command": "check", "run": "r", "verdict": "pass", "findings": []}
    path.write_text(json.dumps(body))
    assert read_baseline(path).areas == {}
    path.write_text(json.dumps(body | change))
    with pytest.raises(InputError) as caught:
        read_baseline(path)
    assert "npulse check" in str(caught.value.hint)


@given(
    st.one_of(
        st.binary(),
        st.recursive(
            st.none() | st.text() | st.integers(),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(st.sampled_from(["schema", "findings", "verdict", "figures"]), inner)
            ),
        ).map(lambda value: json.dumps(value).encode()),
    )
)
def test_any_bytes_are_read_or_told(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(raw)
    with pytest.raises(InputError):
        read_baseline(path)


def test_deep_json_is_told(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 200_000)
    with pytest.raises(InputError):
        read_baseline(path)

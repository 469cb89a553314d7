"""Silences: what a table may hold, what it silences, and that nothing unknown becomes a pass."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from npulse.core.errors import InputError, NpulseError, UsageError
from npulse.core.findings import Finding, Location, Problem, Report, Verdict, verdict_from
from npulse.core.gate import Silence, parse_silences, read_silences, silenced

TODAY = date(2026, 6, 15)
RULES = ("performance.idle", "performance.gather", "overflow.origin")
GOOD = '[[silence]]\nrule = "performance.*"\nsubject = "Gather*"\nreason = "known"\nuntil = 2026-12-31\n'


def finding(
    severity: Any = "error", rule: str = "overflow.origin", subject: str = "op", **more: Any
) -> Finding:
    return Finding(rule.split(".")[0], severity, rule, "origin", subject, "it blew up", **more)


def report(*findings: Finding, **more: Any) -> Report:
    verdict = verdict_from(findings, more.get("problems", ()))
    return Report("overflow", "run", **{"verdict": verdict, "findings": findings, "beneath": "pass", **more})


def silence(**more: Any) -> Silence:
    return Silence(**{"rule": "overflow.origin", "reason": "known", "until": TODAY, **more})


def test_a_table_is_read_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "silences.toml"
    path.write_text(
        "# ours\n\n"
        + GOOD
        + '\n[[silence]]\nrule="overflow.origin"\nrank=3\nreason="r"\nuntil="2026-07-01"\n'
    )
    first, second = read_silences(path, rules=RULES)
    assert first == Silence("performance.*", "known", date(2026, 12, 31), "Gather*", None, str(path), 3)
    assert (second.subject, second.rank, second.until, second.line) == ("*", 3, date(2026, 7, 1), 9)
    assert first.where == f"{path}:3"


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        ('rule = "performance.*"|', 1, "'rule' is missing"),
        ('reason = "known"|', 1, "'reason' is missing"),
        ("until = 2026-12-31|", 1, "'until' is missing"),
        ('reason = "known"|reason = "  "', 4, "'reason' must be a text"),
        ('reason = "known"|reason = 5', 4, "'reason' must be a text"),
        ('rule = "performance.*"|rule = "performance.ilde"', 2, "no rule 'performance.ilde'"),
        ('subject = "Gather*"|subjekt = "x"', 3, "unknown key 'subjekt'"),
        ("until = 2026-12-31|until = 2026-12-31T10:00:00", 5, "'until' must be a day"),
        ('until = 2026-12-31|until = "2026-02-30"', 5, "'until' must be a day"),
        ('until = 2026-12-31|until = "soon"', 5, "'until' must be a day"),
        ('subject = "Gather*"|rank = -1', 3, "'rank' must be"),
        ('subject = "Gather*"|rank = true', 3, "'rank' must be"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_line(
    tmp_path: Path, change: str, line: int, words: str
) -> None:
    old, new = change.split("|")
    assert old in GOOD
    path = tmp_path / "silences.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(UsageError) as caught:
        read_silences(path, rules=RULES)
    assert words in caught.value.message and caught.value.line == line and caught.value.path == str(path)


def test_a_misspelt_rule_names_near_ones() -> None:
    table = {"rule": "performance.ilde", "reason": "r", "until": TODAY}
    with pytest.raises(UsageError, match="no rule") as caught:
        parse_silences([table], rules=RULES)
    assert "performance.idle" in str(caught.value.hint)


def test_what_stands_in_a_text_of_several_lines_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "silences.toml"
    path.write_text(
        '[[silence]]\nrule = "a"\nreason = """\n[[silence]]\nrank = 0\n"""\nrank = -1\nuntil = 2026-01-01\n'
    )
    with pytest.raises(UsageError, match="'rank' must be") as caught:
        read_silences(path)
    assert caught.value.line == 7


def test_a_rule_of_a_plug_in_is_known_to_nobody() -> None:
    (one,) = parse_silences([{"rule": "plugin.mine.x", "reason": "r", "until": TODAY}], rules=RULES)
    assert one.rule == "plugin.mine.x"


def test_other_tables_and_no_tables(tmp_path: Path) -> None:
    path = tmp_path / "silences.toml"
    path.write_text("[precision]\ncosine = 1\n")
    with pytest.raises(UsageError, match="unknown key 'precision'"):
        read_silences(path)
    path.write_text("silence = 3\n")
    with pytest.raises(UsageError, match="no list of tables"):
        read_silences(path)
    path.write_text("")
    assert read_silences(path) == ()
    path.write_text("\n[[silence\n")
    with pytest.raises(InputError, match="line 2: this is no TOML"):
        read_silences(path)
    with pytest.raises(InputError):
        read_silences(tmp_path)


@given(
    st.one_of(
        st.text(), st.text().map(lambda text: GOOD + text), st.binary().map(lambda b: b.decode("latin-1"))
    )
)
@example("[[silence]]\n" * 3)
@example("silence = [" * 2000)
def test_any_text_is_read_or_told(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        found = read_silences(path)
    except NpulseError:
        return
    assert all(one.rule and one.reason for one in found)


def test_a_silenced_finding_stays_visible_behind_the_others() -> None:
    loud = finding("warning", "overflow.near-limit", "other")
    told = silenced(report(finding(), loud), [silence()], TODAY)
    assert told.verdict == "warn" and told.exit_code() == 0
    assert told.findings[0] == loud
    quiet = told.findings[1]
    assert (quiet.severity, quiet.role, quiet.subject) == ("note", "origin", "op")
    assert quiet.figures == {"silenced": "known", "silenced_until": "2026-06-15", "severity_before": "error"}
    assert quiet.message == "silenced until 2026-06-15 (known): it blew up"


def test_the_last_day_counts_and_the_next_does_not() -> None:
    found = report(finding())
    assert silenced(found, [silence()], TODAY).verdict == "pass"
    assert silenced(found, [silence()], TODAY + timedelta(days=1)) is found


@pytest.mark.parametrize(
    ("more", "is_silenced"),
    [
        ({"rule": "overflow.*"}, True),
        ({"rule": "overflow"}, False),
        ({"rule": "performance.*"}, False),
        ({"subject": "o?"}, True),
        ({"subject": "Op"}, False),
        ({"subject": "op[0]"}, False),
        ({"rank": 2}, True),
        ({"rank": 1}, False),
    ],
)
def test_what_a_silence_is_about(more: dict[str, Any], is_silenced: bool) -> None:
    one = finding(location=Location(rank=2))
    assert (silenced(report(one), [silence(**more)], TODAY).verdict == "pass") is is_silenced


def test_a_name_with_brackets_is_no_pattern() -> None:
    one = finding(subject="weight[0]")
    assert silenced(report(one), [silence(subject="weight[0]")], TODAY).verdict == "pass"


def test_a_finding_of_several_ranks_is_about_each_of_them() -> None:
    one = finding(figures={"ranks": [0, 3]}, location=Location(rank=0))
    assert silence(rank=3).matches(one) and not silence(rank=1).matches(one)


@pytest.mark.parametrize(
    ("severities", "beneath", "n_problems"),
    list(
        product(
            [(), ("error",), ("warning",), ("error", "warning"), ("error", "note")],
            ["pass", "unknown", "incomplete"],
            [0, 1],
        )
    ),
)
def test_silencing_everything_never_makes_a_pass_of_what_was_not_judged(
    severities: tuple[str, ...], beneath: Verdict, n_problems: int
) -> None:
    """The verdict of all-silenced findings is what the report would be without any."""
    findings = [finding(one, subject=str(i)) for i, one in enumerate(severities)]
    problems = (Problem("a", "cut-off", "cut"),) * n_problems
    own = verdict_from(findings, problems, has_unknown=beneath == "unknown")
    if beneath == "incomplete" and own != "fail":
        own = "incomplete"
    before = report(
        *findings, verdict=own, beneath="incomplete" if n_problems else beneath, problems=problems
    )
    after = silenced(before, [silence()], TODAY)
    assert after.verdict == ("incomplete" if n_problems else beneath)
    assert after.exit_code() == (0 if after.verdict == "pass" else 4)


def test_one_that_is_left_over_still_fails() -> None:
    after = silenced(report(finding(), finding(subject="b")), [silence(subject="op")], TODAY)
    assert after.verdict == "fail" and after.exit_code() == 1


def test_notes_are_left_as_they_are() -> None:
    found = report(finding("note"))
    assert silenced(found, [silence()], TODAY) is found

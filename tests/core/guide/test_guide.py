"""The triage guide: every step can be done, a run's facts stand in its commands, both languages are whole."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.areas import AREAS
from npulse.core.capture.drivers import driver_of
from npulse.core.errors import UsageError
from npulse.core.guide import FIRST, NOTHING_KNOWN, SYMPTOMS, Facts, Step, advice_of, facts_of_run, symptom_of
from npulse.core.guide.lines import facts_line, guide_lines, guide_values
from npulse.core.run.discover import discover
from npulse.tui.capture_form import BY_ID, request_from, usual_values
from npulse.tui.cli.main import COMMANDS, RESERVED

STEPS = [*FIRST, *(step for symptom in SYMPTOMS for step in symptom.steps)]
KNOWN = Facts(
    run="/data/my runs",
    round="infer_20260801-120000",
    command=("python", "infer.py", "--prompt", "two words"),
    archive="/data/my runs",
    ranks=(0, 1, 2),
    newest="infer_20260801-120000",
    before="infer_20260731-120000",
)


def words_of(record: object) -> Iterator[tuple[str, str]]:
    for name in ("title", "seen", "smaller", "why", "needs"):
        text = getattr(record, name, None)
        if text is not None and any(text):
            yield text


def test_every_text_is_there_in_both_languages_and_english_shows_anywhere() -> None:
    for record in (*SYMPTOMS, *STEPS):
        for english, chinese in words_of(record):
            assert english and english.isascii(), record.id
            assert re.search("[\u4e00-\u9fff]", chinese), record.id


def test_the_four_symptoms_are_there_with_a_pane_that_is() -> None:
    assert [one.id for one in SYMPTOMS] == ["wrong", "nan", "crash", "slow"]
    panes = {area.id for area in AREAS}
    assert {one.pane for one in SYMPTOMS} == {"precision", "overflow", "memory", "performance"}
    assert {step.pane for step in STEPS if step.pane} <= panes


def test_a_golden_capture_that_is_there_is_not_asked_for() -> None:
    (compare,) = (step for step in STEPS if step.id == "compare")
    assert advice_of(compare, KNOWN).unknown == ("<GOLDEN>",)
    advice = advice_of(compare, replace(KNOWN, has_pair=True))
    assert (advice.command, advice.unknown) == ("npulse precision '/data/my runs'", ())


@pytest.mark.parametrize("step", [one for one in STEPS if one.kind], ids=lambda one: f"{one.kind}-{one.id}")
@pytest.mark.parametrize("facts", [NOTHING_KNOWN, KNOWN], ids=["nothing known", "facts"])
def test_every_capture_is_one_that_its_tool_plans(step: Step, facts: Facts, tmp_path: Path) -> None:
    """The dialog's fields, with what only the user knows typed in, are taken by the tool's check and plan."""
    advice = advice_of(step, facts)
    assert (
        step.kind is not None
        and set(advice.fields) <= {*BY_ID}
        and not any("<" in v for v in advice.fields.values())
    )
    values = {**usual_values(step.kind, tmp_path), **advice.fields}
    values |= {"command": advice.fields.get("command", ""), "archive": str(tmp_path)}
    if "<PID>" in advice.unknown:
        values |= {"pid": "4242", "command": ""}
    elif not values["command"]:
        values["command"] = "python infer.py"
    if step.fields.get("list"):
        values["list"] = "Functional.linear.43.forward" if step.kind == "precision" else "add"
    request = request_from(values, cwd=tmp_path, environment={}, lang="en")
    driver = driver_of(request.kind, request.tool)
    driver.check(request)
    assert driver.plan(request, tmp_path / "round").argv is not None


@pytest.mark.parametrize("step", [one for one in STEPS if not one.kind], ids=lambda one: one.id)
def test_a_step_that_looks_names_a_command_that_is_built(step: Step) -> None:
    first, command, *_ = shlex.split(advice_of(step, KNOWN).command)
    assert first == "npulse" and command in COMMANDS and command not in RESERVED


def test_the_facts_of_a_run_stand_in_the_commands() -> None:
    step = symptom_of("nan").steps[0]
    advice = advice_of(step, KNOWN)
    assert shlex.split(advice.command) == [
        *("npulse", "capture", "overflow", "--tool", "statistics", "--rank", "0,1,2", "--stop-at-first"),
        *("--retro", "10", "--set", "task=tensor", "--archive", "/data/my runs"),
        *("--", "python", "infer.py", "--prompt", "two words"),
    ]
    assert advice.fields == {
        **{"tool": "statistics", "rank": "0,1,2", "stop-at-first": "yes", "retro": "10"},
        **{"settings": "task=tensor", "archive": "/data/my runs", "kind": "overflow"},
        "command": "python infer.py --prompt 'two words'",
    }
    assert advice.unknown == ()
    compared = advice_of(symptom_of("slow").steps[-1], KNOWN).command
    assert shlex.split(compared)[2:] == [
        *("/data/my runs", "--round", "infer_20260731-120000", "--round-b", "infer_20260801-120000")
    ]


def test_what_nobody_knows_stands_there_to_be_replaced() -> None:
    advice = advice_of(symptom_of("wrong").steps[3], NOTHING_KNOWN)
    assert advice.command == (
        "npulse capture precision --tool msprobe --level L1 --step 0 --list <OPERATOR> --set task=tensor"
        " -- <PROGRAM>"
    )
    assert advice.unknown == ("<OPERATOR>", "<PROGRAM>")
    assert "list" not in advice.fields and "command" not in advice.fields
    assert "<" in facts_line(NOTHING_KNOWN, "en")


def test_a_secret_that_the_round_did_not_keep_is_said_and_not_filled_in() -> None:
    facts = Facts(round="a", command=("serve", "--api-key=***"))
    assert "command" not in advice_of(SYMPTOMS[0].steps[0], facts).fields
    assert "***" in facts_line(facts, "en") and "密钥" in facts_line(facts, "zh")


def write_round(archive: Path, name: str, text: str, kind: str = "dump") -> Path:
    folder = archive / kind / name
    folder.mkdir(parents=True)
    (folder / "round.toml").write_text(text, encoding="utf-8")
    return folder


def test_the_newest_round_with_a_command_tells_the_facts(tmp_path: Path) -> None:
    write_round(
        tmp_path, "a_20260101-000000", 'schema = 1\nkind = "precision"\ncommand = ["python", "old.py"]\n'
    )
    write_round(
        tmp_path, "b_20260102-000000", 'schema = 1\nkind = "precision"\ncommand = ["python", "new.py"]\n'
    )
    write_round(tmp_path, "c_20260103-000000", 'schema = 1\nkind = "precision"\n')
    facts = facts_of_run(discover(tmp_path))
    assert facts == Facts(
        run=str(tmp_path),
        round="b_20260102-000000",
        command=("python", "new.py"),
        archive=str(tmp_path),
        newest="c_20260103-000000",
        before="b_20260102-000000",
    )


@given(st.binary(max_size=300))
def test_no_manifest_makes_the_guide_fail(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    folder = tmp_path_factory.mktemp("run") / "dump" / "x_20260101-000000"
    folder.mkdir(parents=True)
    (folder / "round.toml").write_bytes(raw)
    facts = facts_of_run(discover(folder.parents[1]))
    assert [step for step in STEPS if not advice_of(step, facts).command.startswith("npulse ")] == []


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=4), st.text(min_size=1, max_size=12))
def test_any_command_survives_the_way_through_a_shell(words: list[str], archive: str) -> None:
    facts = Facts(command=tuple(words), archive=archive)
    line = shlex.split(advice_of(SYMPTOMS[0].steps[0], facts).command)
    at = line.index("--")
    assert line[at + 1 :] == words and line[line.index("--archive") + 1] == archive


def test_an_unknown_symptom_names_those_that_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        symptom_of("overflown")
    assert "wrong" in (caught.value.hint or "") or "nan" in (caught.value.hint or "")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_text_and_values_hold_every_step(lang: str) -> None:
    text = "\n".join(guide_lines(SYMPTOMS, KNOWN, lang))  # type: ignore[arg-type]
    values = guide_values(SYMPTOMS, KNOWN, lang)  # type: ignore[arg-type]
    told = [step for symptom in values["symptoms"] for step in symptom["steps"]] + values["first"]
    assert len(told) == len(STEPS)
    assert [step["command"] for step in told if step["command"] not in text] == []
    assert [step.title[lang == "zh"] for step in STEPS if step.title[lang == "zh"] not in text] == []


def test_one_rank_needs_no_option_and_many_are_not_all_named() -> None:
    assert (Facts().rank, Facts(ranks=(3,)).rank, Facts(ranks=(0, 2)).rank) == ("", "", "0,2")
    assert Facts(ranks=tuple(range(64))).rank == "0,1,2,3,4,5,6,7"

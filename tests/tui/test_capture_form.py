"""The fields of a capture: what they mean, what they refuse, what they offer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.run.model import Artifact, Round, Run
from npulse.tui import capture_form
from npulse.tui.capture_form import (
    BY_ID,
    FIELDS,
    KINDS,
    FieldError,
    is_forced,
    next_choice,
    request_from,
    usual_archive,
    usual_values,
    with_fitting_tool,
)
from npulse.tui.capture_text import folded, label_of
from npulse.tui.messages.texts import TEXTS

CWD = Path("/home/me/here")


@pytest.fixture(autouse=True)
def two_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_form, "tools_of", lambda kind: ("one", "two"))


def request(**values: str) -> Any:
    typed = {"command": "python train.py", "archive": "diag", "kind": "overflow"}
    typed |= {name.replace("_", "-"): value for name, value in values.items()}
    return request_from(typed, cwd=CWD, environment={"A": "1"}, lang="en")


def test_every_field_has_its_texts() -> None:
    for spec in FIELDS:
        assert spec.label_id in TEXTS and spec.hint_id in TEXTS


def test_a_command_is_words_and_never_a_shell() -> None:
    made = request(command="""python 'a b.py' --x="$HOME" ; rm -rf *""")
    assert made.command == ("python", "a b.py", "--x=$HOME", ";", "rm", "-rf", "*")
    assert (made.name, made.archive, made.cwd) == ("a b", CWD / "diag", CWD)
    assert dict(made.environment) == {"A": "1"} and made.tool is None


def test_what_the_fields_mean() -> None:
    made = request(
        tool="two",
        rank="0,2-4",
        step="0|5-10",
        list="'conv*' relu,softmax",
        level="L1",
        name="try",
        timeout="2.5",
        repeat="3",
        stop_at_first="yes",
        retro="20",
        model="resnet50",
        keep_fp32="layers.3.mlp 'layers 4'",
        keep_last="yes",
        small="yes",
        keep_input="a.npy 'b c.bin'",
        settings="--task=tensor seed=1",
    )
    assert (made.tool, made.rank, made.step, made.level, made.name) == ("two", "0,2-4", "0|5-10", "L1", "try")
    assert made.names == ("conv*", "relu", "softmax") and (made.timeout_s, made.repeat) == (2.5, 3)
    assert made.stop_at_first and made.retro == 20 and dict(made.settings) == {"task": "tensor", "seed": "1"}
    assert made.keep_inputs == (CWD / "a.npy", CWD / "b c.bin")
    assert (made.model, made.keep_fp32) == ("resnet50", ("layers.3.mlp", "layers 4"))
    assert made.keep_last and made.is_small
    usual = request()
    assert (usual.model, usual.keep_fp32, usual.keep_last, usual.is_small) == (None, (), False, False)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("command", ""),
        ("command", "python 'open"),
        ("command", "python end\\"),
        ("kind", "speed"),
        ("tool", "three"),
        ("archive", " "),
        ("timeout", "soon"),
        ("timeout", "-1"),
        ("timeout", "nan"),
        ("timeout", "inf"),
        ("repeat", "0"),
        ("repeat", "1e3"),
        ("repeat", "9" * 30),
        ("retro", "-1"),
        ("stop-at-first", "maybe"),
        ("keep-last", "1"),
        ("small", "very"),
        ("keep-fp32", "'"),
        ("settings", "task"),
        ("settings", "=1"),
        ("list", "'"),
    ],
)
def test_the_field_that_cannot_be_used_is_named(field: str, value: str) -> None:
    with pytest.raises(FieldError) as caught:
        request(**{field.replace("-", "_"): value})
    assert caught.value.field == field and caught.value.text_id in TEXTS
    assert TEXTS[caught.value.text_id][0].format(**caught.value.values)


def test_a_tool_attaches_in_place_of_a_command() -> None:
    made = request(command="", pid="4711")
    assert (made.command, made.pid, made.name) == ((), 4711, "pid4711")
    with pytest.raises(FieldError) as caught:
        request(pid="4711")
    assert caught.value.field == "pid"
    for text in ("1", "0", "-5", "self", "9" * 12):
        with pytest.raises(FieldError):
            request(command="", pid=text)


def test_only_an_overflow_capture_stops_at_the_first() -> None:
    with pytest.raises(FieldError) as caught:
        request(kind="memory", stop_at_first="yes")
    assert caught.value.field == "stop-at-first"


@given(st.dictionaries(st.sampled_from([spec.id for spec in FIELDS]), st.text(max_size=30)))
def test_any_text_is_a_request_or_names_its_field(typed: dict[str, str]) -> None:
    try:
        made = request_from(typed, cwd=CWD, environment={}, lang="en")
    except FieldError as error:
        assert error.field in BY_ID
    else:
        assert bool(made.command) is (made.pid is None) and made.kind in KINDS and made.repeat >= 1


def test_choices_go_round() -> None:
    kind = BY_ID["kind"]
    assert next_choice(kind, {"kind": "precision"}, 1) == "overflow"
    assert next_choice(kind, {"kind": "precision"}, -1) == "performance"
    assert next_choice(kind, {"kind": "odd"}, 1) == "precision"
    assert next_choice(BY_ID["tool"], {"kind": "memory", "tool": "two"}, 1) == "one"
    assert next_choice(BY_ID["name"], {}, 1) is None
    assert with_fitting_tool({"kind": "memory", "tool": "gone"})["tool"] == ""


def test_force_is_no_until_somebody_says_so() -> None:
    assert not is_forced(usual_values("memory", CWD)) and is_forced({"force": "yes"})
    assert usual_values("device", CWD)["kind"] == "precision"


def test_an_archive_goes_on_being_the_archive(tmp_path: Path) -> None:
    def run(relative: str, name: str) -> Run:
        return Run(tmp_path, (Round(name, (Artifact("npulse.round", tmp_path, relative, 1, 1),)),))

    assert usual_archive(run("prof/x_20260101-000000/round.toml", "x_20260101-000000"), CWD) == tmp_path
    assert usual_archive(run("round1/dump.json", "round1"), CWD) == CWD / "diag"
    assert usual_archive(None, CWD) == CWD / "diag"


def test_a_model_alone_is_run_without_a_program() -> None:
    made = request(command="", model="models/resnet.om")
    assert (made.command, made.pid, made.model, made.name) == ((), None, "models/resnet.om", "resnet")
    with pytest.raises(FieldError) as caught:
        request(command="", model="resnet")
    assert caught.value.field == "command"


@pytest.mark.parametrize("lang", [0, 1])
def test_what_a_check_says_has_its_subject_in_front(lang: int) -> None:
    """ "not chatty" alone says nothing: every check that can be well has its name."""
    from npulse.core.capture import preflight, preflight_settings

    sources = "".join(Path(str(one.__file__)).read_text() for one in (preflight, preflight_settings))
    rules = set(re.findall(r"look\.ok\(\s*\"([a-z-]+)\"", sources))
    assert len(rules) > 8
    for rule in rules:
        assert label_of(f"capture.{rule}", lambda key: TEXTS[key][lang]), rule
    assert label_of("capture.no-such-rule", str) == ""


def test_of_a_long_file_the_beginning_is_shown() -> None:
    lines = [
        "runs:",
        "  python",
        "writes a (0644):",
        *(f"  | {n}" for n in range(100)),
        "writes b (0644):",
        "  | x",
    ]
    told = list(folded(lines, lambda key, **values: f"{key} {values['n']}"))
    assert told[3:43] == [f"  | {n}" for n in range(40)]
    assert told[43:46] == ["  | capture.folded 60", "writes b (0644):", "  | x"]
    assert "  | capture.folded 60" in list(folded(lines[:-2], lambda key, **values: f"{key} {values['n']}"))

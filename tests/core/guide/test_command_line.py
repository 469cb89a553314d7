"""Command lines of tools and documents explained: each word, and what our own parser takes in its place."""

from __future__ import annotations

import re
import shlex

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.errors import UsageError
from npulse.core.guide.command_line import explain_line, is_command_line, line_lines, line_values
from npulse.core.guide.texts_commands import COMMANDS


def states(line: str) -> dict[str, str]:
    return {word.text: word.state for word in explain_line(line).words}


def test_a_line_of_the_tool() -> None:
    told = explain_line("msprobe compare -tp '/d/my npu' -gp /d/gpu -da -o out")
    assert told.is_real
    assert states("msprobe compare -tp /d/npu -gp /d/gpu -da -o out") == {
        "-tp": "tool",
        "/d/npu": "value",
        "-gp": "tool",
        "/d/gpu": "value",
        "-da": "tool",
        "-o": "tool",
        "out": "value",
    }
    assert told.ours[0] == "npulse precision '/d/my npu' /d/gpu"


def test_a_line_of_the_documents() -> None:
    line = "msprobe compare -r A -t B --metric veRL --error-threshold=1e-5 -v 3 -o r.html --jobs 8 --frob"
    assert states(line) == {
        "-r": "ours",
        "A": "value",
        "-t": "ours",
        "B": "value",
        "--metric": "ours",
        "veRL": "value",
        "--error-threshold": "ours",
        "1e-5": "value",
        "-v": "ours",
        "3": "value",
        "-o": "tool",
        "r.html": "value",
        "--jobs": "ours",
        "8": "value",
        "--frob": "unknown",
    }
    assert explain_line(line).ours[1] == (
        "npulse precision -r A -t B -o r.html --metric veRL --error-threshold 1e-5 --verbosity 3 --jobs 8"
    )


@pytest.mark.parametrize(
    ("line", "real", "ours"),
    [
        ("msprobe merge -i res -o all", "msprobe merge_result", "npulse merge res -o all"),
        ("msprobe visualize -tp A -gp B", "msprobe graph_visualize", "npulse A"),
        ("msprobe debug -k CustomOp -i dump", "msprobe acc_check", "npulse recheck CustomOp dump"),
        ("msprobe config -c c.json", "msprobe config_check", "npulse config check c.json"),
        ("msprobe monitor run", "TrainerMon", "npulse watch run"),
        ("ascend-dump -c acl.json ./main", "aclInit()", "npulse config new --tool acl -o acl.json"),
    ],
)
def test_what_no_tool_has(line: str, real: str, ours: str) -> None:
    told = explain_line(line)
    assert not told.is_real and real in told.command.real and ours in told.ours
    text = "\n".join(line_lines(told, "en"))
    assert text.startswith("no tool has") and f"  {ours}" in text
    assert line_values(told, "zh")["is_real"] is False


def test_the_older_form_and_two_values() -> None:
    assert explain_line("/usr/bin/msprobe -f pytorch compare -tp A -gp B").ours[0] == "npulse precision A B"
    assert "npulse precision a b --inputs" in explain_line("msprobe config_check -c a b").ours
    assert explain_line("msprobe overflow_check -i step0").ours == ("npulse overflow step0",)
    assert explain_line("msprobe overflow_check").ours == ("npulse overflow <RUN>",)
    assert explain_line("msprobe overflow_check -i -- -x").ours[0].endswith("<RUN>")


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="no command 'frobnicate'"):
        explain_line("msprobe frobnicate")
    with pytest.raises(UsageError, match="no command line of a tool"):
        explain_line("frob -x")
    with pytest.raises(UsageError, match="characters"):
        explain_line("msprobe " + "x" * 9000)
    assert is_command_line("msprobe compare") and not is_command_line("wrong") and not is_command_line("")


@pytest.mark.parametrize(
    "command", [one for one in COMMANDS if one.ours], ids=lambda one: one.name or one.tool
)
def test_our_commands_are_what_our_parser_takes(command: object) -> None:
    from npulse.tui.cli.main import COMMANDS as WORDS
    from npulse.tui.cli.root import app

    root = typer.main.get_command(app)
    for line in command.ours:  # type: ignore[attr-defined]
        words = shlex.split(re.sub(r"[{<]([\w.]+)[}>]", r"\1", line))[1:]
        at = root
        while words and words[0] in getattr(at, "commands", {}):
            at = at.commands[words.pop(0)]  # type: ignore[attr-defined]
        if at is root:
            assert len(words) == 1 and words[0] not in WORDS  # npulse PATH
            continue
        names = {name for option in at.params for name in option.opts}
        for word in words[: words.index("--")] if "--" in words else words:
            assert not word.startswith("-") or word in names, (line, word)


@given(
    words=st.lists(
        st.sampled_from(
            [
                "-tp",
                "-gp",
                "--metric",
                "--",
                "-",
                "--x=1",
                "A",
                "b c",
                "'",
                '"',
                "$(rm)",
                ";",
                "\x1b[31m",
                "é",
            ]
        ),
        max_size=8,
    ),
    name=st.sampled_from([one.name for one in COMMANDS]),
)
@settings(max_examples=80)
def test_any_line_is_told_or_refused(words: list[str], name: str) -> None:
    try:
        told = explain_line(" ".join(["msprobe", name, *words]))
    except UsageError as error:
        assert str(error)
        return
    text = "\n".join(line_lines(told, "zh"))
    assert "\x1b" not in text
    for line in told.ours:
        assert shlex.split(line)[0] == "npulse"

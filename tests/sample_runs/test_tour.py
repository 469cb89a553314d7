"""The tours in docs: every command that stands in them is run, every line that they quote is printed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from npulse.sample_runs import sample_path
from npulse.tui.cli.main import run

DOCS = Path(__file__).resolve().parents[2] / "docs"
TOURS = ("tour.md", "tour.zh.md")
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)

Capture = pytest.CaptureFixture[str]


def blocks(name: str) -> list[tuple[str, str, str]]:
    """(language, file name or "", text) of all fenced blocks."""
    return BLOCK.findall((DOCS / name).read_text(encoding="utf-8"))


def commands(name: str) -> list[tuple[str, list[str]]]:
    """Each command with the lines that are said to come of it."""
    found = []
    for language, _, text in blocks(name):
        if language == "console":
            first, *quoted = text.splitlines()
            assert first.startswith("$ npulse ")
            found.append((first[2:], quoted))
    return found


def missing(quoted: list[str], printed: list[str]) -> str:
    """The first quoted line that is not printed behind those before it; "" where all are.

    "..." alone leaves lines out: without it the next line follows at once. Inside a line it leaves words out.
    """
    at, is_next = 0, True
    for line in quoted:
        if line == "...":
            is_next = False
            continue
        pattern = re.compile(".*".join(re.escape(part.rstrip()) for part in line.split("...")))
        fits: Callable[[str], object] = pattern.match if line.endswith("...") else pattern.fullmatch
        places = [i for i in range(at, len(printed)) if fits(printed[i])]
        if not places or (is_next and places[0] != at):
            return line
        at, is_next = places[0] + 1, True
    return ""


@pytest.mark.parametrize("name", TOURS)
def test_every_command_of_a_tour_prints_what_is_quoted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    for language, file, text in blocks(name):
        if language == "toml":
            Path(file).write_text(text, encoding="utf-8")
    demo, wrong, codes = str(sample_path()), [], []
    for command, quoted in commands(name):
        words = [word.replace("$DEMO", demo) for word in shlex.split(command)[1:]]
        codes.append(run(words))
        printed = capsys.readouterr().out.replace(demo, "$DEMO").splitlines()
        if lost := missing(quoted, [line.rstrip() for line in printed]):
            wrong.append((command, lost))
    assert wrong == []
    assert set(codes) == {0, 1} and (codes[0], codes[-1]) == (1, 0), (
        "round 1 fails, what was accepted does not"
    )


def test_the_tours_give_the_same_commands() -> None:
    english, chinese = (commands(name) for name in TOURS)
    assert len(english) > 8
    assert [f"{command} --lang zh" for command, _ in english] == [command for command, _ in chinese]
    files = [[(file, text) for language, file, text in blocks(name) if language == "toml"] for name in TOURS]
    assert [file for file, _ in files[0]] == [file for file, _ in files[1]]


def test_keys_of_the_tours_are_those_of_the_workbench(capsys: Capture) -> None:
    assert run(["keys"]) == 0
    bound = {word for line in capsys.readouterr().out.splitlines() for word in line[:8].split()}
    for name in TOURS:
        text = BLOCK.sub("", (DOCS / name).read_text(encoding="utf-8"))
        keys = {span for span in re.findall(r"`([^`]+)`", text) if len(span) == 1}
        assert len(keys) > 10 and keys <= bound, keys - bound


def test_a_line_that_is_not_printed_is_found() -> None:
    printed = ["one", "two words", "three"]
    assert missing(["one", "two ..."], printed) == ""
    assert missing(["...", "three"], printed) == ""
    assert missing(["two words"], printed) == "two words", "it is not the first line"
    assert missing(["...", "three", "...", "one"], printed) == "one", "it stands before"
    assert missing(["...", "two"], printed) == "two"

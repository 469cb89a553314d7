"""Writing a report: whole or not at all, and never into what was looked at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from npulse.core.errors import InputError, UsageError
from npulse.core.report import FORMATS, format_of, render, write_report

from .samples import report


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("a.json", "json"),
        ("A.JSON", "json"),
        ("a.jsonl", "jsonl"),
        ("a.md", "md"),
        ("a.csv", "csv"),
        ("a.txt", "text"),
        ("a", "md"),
        ("dir.d/a", "md"),
    ],
)
def test_the_suffix_decides(path: str, want: str) -> None:
    assert format_of(path, "md") == want


def test_a_suffix_of_nothing_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match=r"\.pdf"):
        format_of("a.pdf", "text")
    with pytest.raises(UsageError, match="yaml"):
        render(report(), "yaml", version="0")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written(tmp_path: Path, name: str) -> None:
    pieces = list(render(report(), name, version="0"))
    path = tmp_path / "out"
    write_report(pieces, path)
    assert path.read_text(encoding="utf-8") == "".join(pieces)
    assert os.listdir(tmp_path) == ["out"]


def test_what_was_there_stays_when_it_cannot_be_finished(tmp_path: Path) -> None:
    path = tmp_path / "out.md"
    path.write_text("before")

    def pieces() -> Iterator[str]:
        yield "half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_report(pieces(), path)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.md"]


def test_it_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.md"
    path.write_text("before, and longer than what comes")
    write_report(["after"], path)
    assert path.read_text() == "after"


def test_never_into_the_run(tmp_path: Path) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    (run / "step0").mkdir(parents=True)
    other.mkdir()
    (other / "link").symlink_to(run / "step0")
    (other / "file.md").symlink_to(run / "report.md")
    (tmp_path / "run_link").symlink_to(run)
    for path in (
        run / "a.md",
        run / "step0" / "a.md",
        other / "link" / "a.md",
        other / "file.md",
        other / ".." / "run" / "a.md",
        tmp_path / "run_link" / "a.md",
    ):
        for looked_at in (run, tmp_path / "run_link"):
            with pytest.raises(InputError, match="not written into the run"):
                write_report(["x"], path, runs=[other / "elsewhere", looked_at])
    assert os.listdir(run) == ["step0"] and os.listdir(run / "step0") == []
    write_report(["x"], tmp_path / "run.md", runs=[run])  # beside it, with a name that begins alike
    assert (tmp_path / "run.md").read_text() == "x"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        write_report(["x"], tmp_path / "nowhere" / "a.md")
    assert "nowhere" in str(caught.value.path)
    with pytest.raises(InputError):
        write_report(["x"], tmp_path)
    assert os.listdir(tmp_path) == []


def test_lone_surrogates_do_not_stop_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    assert write_report(["a\ud800b", "数"], path) == path.stat().st_size == 6
    assert path.read_text(encoding="utf-8") == "a?b数"


@pytest.mark.parametrize(("suffix", "names_report"), [(".html", True), (".xlsx", True), (".docx", False)])
def test_what_an_answer_cannot_be_written_as_names_what_can(suffix: str, names_report: bool) -> None:
    with pytest.raises(UsageError) as caught:
        format_of(f"out{suffix}", "text")
    assert (f"npulse report RUN -o FILE{suffix}" in (caught.value.hint or "")) is names_report

from __future__ import annotations

from pathlib import Path

from npulse.core.run.discover import discover
from npulse.core.run.model import Run

LOG = "====== ERROR: illegal read of size 4\n"


def _write(path: Path, text: str = LOG) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _rounds(run: Run) -> dict[str, list[str]]:
    return {r.name: [a.relative for a in r.artifacts] for r in run.rounds}


def test_a_plain_folder_is_one_round_without_a_name(tmp_path: Path) -> None:
    _write(tmp_path / "check.log")
    run = discover(tmp_path)
    assert _rounds(run) == {"": ["check.log"]}
    assert run.shared == ()
    assert [a.round for a in run.artifacts] == [None]


def test_an_empty_folder_is_one_empty_round(tmp_path: Path) -> None:
    run = discover(tmp_path)
    assert (_rounds(run), run.problems, run.artifacts) == ({"": []}, (), ())


def test_numbered_rounds_in_natural_order_and_what_is_beside_them(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        _write(tmp_path / f"round{number}" / "a.log")
    _write(tmp_path / "round_3" / "deep" / "b.log")
    _write(tmp_path / "beside.log")
    run = discover(tmp_path)
    assert list(_rounds(run)) == ["round1", "round2", "round10", "round_3"]
    assert _rounds(run)["round_3"] == ["round_3/deep/b.log"]
    assert [a.relative for a in run.shared] == ["beside.log"]
    assert [a.relative for a in run.artifacts][:2] == ["beside.log", "round1/a.log"]
    assert {a.round for a in run.rounds[2].artifacts} == {"round10"}


def test_an_archive_is_in_the_order_of_time(tmp_path: Path) -> None:
    _write(tmp_path / "diag" / "sanitizer" / "b_20260801_121530" / "a.log")
    _write(tmp_path / "diag" / "dump" / "z_20260801_120000" / "a.log")
    _write(tmp_path / "diag" / "prof" / "a_20260802_090000" / "a.log")
    assert list(_rounds(discover(tmp_path / "diag"))) == [
        "z_20260801_120000",
        "b_20260801_121530",
        "a_20260802_090000",
    ]
    assert list(_rounds(discover(tmp_path / "diag" / "prof"))) == ["a_20260802_090000"]


def test_a_manifest_makes_a_round_of_any_folder(tmp_path: Path) -> None:
    _write(tmp_path / "fix softmax" / "round.toml", 'command = ["a"]\n')
    _write(tmp_path / "fix softmax" / "a.log")
    _write(tmp_path / "other" / "a.log")
    run = discover(tmp_path)
    assert _rounds(run) == {"fix softmax": ["fix softmax/a.log", "fix softmax/round.toml"]}
    assert [a.relative for a in run.shared] == ["other/a.log"]
    inside = discover(tmp_path / "fix softmax")
    assert _rounds(inside) == {"": ["a.log", "round.toml"]}


def test_rounds_of_the_same_name_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    _write(tmp_path / "dump" / "x_20260801_120000" / "a.log")
    _write(tmp_path / "prof" / "x_20260801_120000" / "a.log")
    assert list(_rounds(discover(tmp_path))) == ["dump/x_20260801_120000", "prof/x_20260801_120000"]


def test_a_profilers_time_folder_is_no_round(tmp_path: Path) -> None:
    _write(tmp_path / "prof" / "PROF_000001_20260801120000123_ABC" / "a.log")
    assert list(_rounds(discover(tmp_path))) == [""]

"""Which files make one operator table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.profiling.operator_files import OperatorFiles, newest_complete

FOLDER = Path("PROF_1/mindstudio_profiler_output")


def of(names: Sequence[str]) -> OperatorFiles:
    (found,) = newest_complete(FOLDER / name for name in names)
    assert found.folder == FOLDER
    return found


def names(paths: Sequence[Path]) -> list[str]:
    return [path.name for path in paths]


NEW, OLD = "20260801120500", "20260701120500"


@pytest.mark.parametrize(
    ("given_names", "files", "exported"),
    [
        ([f"op_summary_{OLD}.csv", f"op_summary_{NEW}.csv"], [f"op_summary_{NEW}.csv"], NEW),
        (
            [
                "op_summary_slice_1_20260801120501.csv",
                f"op_summary_slice_0_{NEW}.csv",
                f"op_summary_{OLD}.csv",
            ],
            [f"op_summary_slice_0_{NEW}.csv", "op_summary_slice_1_20260801120501.csv"],
            "20260801120501",
        ),
        (
            [f"op_summary_slice_{i}_{NEW}.csv" for i in (10, 2, 1)] + [f"op_summary_{NEW}.csv"]
            + [f"op_summary_slice_{i}_{NEW}.csv" for i in (3, 4, 5, 6, 7, 8, 9)],
            [f"op_summary_{NEW}.csv"] + [f"op_summary_slice_{i}_{NEW}.csv" for i in range(1, 11)],
            NEW,
        ),
        (
            ["op_summary_1_1_1_20230101120001.csv", "op_summary_0_1_1_20230101120000.csv"],
            ["op_summary_0_1_1_20230101120000.csv", "op_summary_1_1_1_20230101120001.csv"],
            "20230101120001",
        ),
        (["op_summary_0_1.csv", f"op_summary_{OLD}.csv"], [f"op_summary_{OLD}.csv"], OLD),
        (["op_summary_0_1.csv"], ["op_summary_0_1.csv"], ""),
        (["kernel_details.csv"], ["kernel_details.csv"], ""),
        (["op_summary_20260801120500123.csv"], ["op_summary_20260801120500123.csv"], NEW),
    ],
)  # fmt: skip
def test_the_newest_export(given_names: list[str], files: list[str], exported: str) -> None:
    found = of(given_names)
    assert (names(found.files), found.exported, found.is_complete) == (files, exported, True)
    assert sorted(names(found.older)) == sorted(set(given_names) - set(files))


def test_a_newer_export_without_a_slice_is_passed_over() -> None:
    found = of(
        [f"op_summary_slice_0_{OLD}.csv", f"op_summary_slice_1_{OLD}.csv", f"op_summary_slice_1_{NEW}.csv"]
    )
    assert (found.exported, found.is_complete) == (OLD, True)
    assert names(found.passed_over) == [f"op_summary_slice_1_{NEW}.csv"]


def test_no_export_has_all_slices() -> None:
    found = of(
        [f"op_summary_slice_0_{NEW}.csv", f"op_summary_slice_3_{NEW}.csv", f"op_summary_slice_1_{OLD}.csv"]
    )
    assert (found.exported, found.missing, found.is_complete) == (NEW, (1, 2), False)


def test_two_exports_within_seconds() -> None:
    first, second = "op_summary_20260801120500.csv", "op_summary_20260801120504.csv"
    found = of([first, second])
    assert (names(found.files), names(found.older)) == ([second], [first])


def test_slices_that_took_longer_than_ten_seconds_together() -> None:
    listed = [f"op_summary_slice_{i}_202608011205{6 * i:02}.csv" for i in range(6)]
    assert names(of(listed).files) == listed


def test_folders_and_other_names() -> None:
    paths = [
        Path("b/kernel_details.csv"),
        Path("a/op_summary_20260801120500.csv"),
        Path("a/qwen.csv"),
        Path("a/op_summary_memoryl0_2023.csv"),
    ]
    found = newest_complete([*paths, paths[0]])
    assert [one.files for one in found] == [(path,) for path in paths]
    assert newest_complete([]) == ()


NAMES = st.from_regex(
    r"(op_summary|kernel_details)(_slice_[0-9]{1,3})?(_[0-9]{1,3}){0,3}(_20[0-9]{12})?\.csv", fullmatch=True
)


@given(st.lists(NAMES, max_size=12))
def test_every_file_is_in_one_place(listed: list[str]) -> None:
    found = newest_complete(FOLDER / name for name in listed)
    told = [path.name for one in found for path in (*one.files, *one.older, *one.passed_over)]
    assert sorted(told) == sorted(set(listed))
    shuffled = sorted(listed, reverse=True)
    again = newest_complete(FOLDER / name for name in shuffled)
    assert {one.files for one in again} == {one.files for one in found}

"""removed_tensors.txt: what a capture of ours took away, read back, and damaged in any way."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.msprobe.removed import REMOVED_FILE, Removed, line_of, read_removed

names = st.text(st.characters(blacklist_characters="\n", blacklist_categories=("Cs",)), min_size=1)


def test_nothing_removed_is_none(tmp_path: Path) -> None:
    assert read_removed(tmp_path) is None


@given(st.dictionaries(names, st.integers(0, 10**15)))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, removed: dict[str, int]) -> None:
    folder = tmp_path_factory.mktemp("rank")
    text = "".join(line_of(name, size) for name, size in removed.items())
    (folder / REMOVED_FILE).write_text(text, encoding="utf-8", newline="")
    assert read_removed(folder) == Removed(frozenset(removed), sum(removed.values()))


def test_a_name_twice_counts_once_and_a_cut_line_not_at_all(tmp_path: Path) -> None:
    (tmp_path / REMOVED_FILE).write_text("5\ta.pt\n5\ta.pt\n-3\tb.pt\nx\tc.pt\n7\n\td.pt\n9\te.p")
    assert read_removed(tmp_path) == Removed(frozenset({"a.pt"}), 5)


@given(st.binary(max_size=400))
def test_any_bytes_are_read(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("rank")
    (folder / REMOVED_FILE).write_bytes(content)
    found = read_removed(folder, root=folder)
    assert found is not None and len(found.names) <= content.count(b"\n") and found.size_bytes >= 0


def test_a_link_out_of_the_run_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("5\ta.pt\n")
    run = tmp_path / "run"
    run.mkdir()
    (run / REMOVED_FILE).symlink_to(outside)
    with pytest.raises(InputError, match="outside"):
        read_removed(run, root=run)

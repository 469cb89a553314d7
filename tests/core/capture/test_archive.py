"""The folder of a round: its name, what may be written into it, what is closed at the end."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.capture import archive
from npulse.core.capture.driver import PlannedFile
from npulse.core.errors import InputError
from npulse.core.run.paths import is_round_folder, round_key

from .doubles import is_read_only

AT_S = 1_767_225_600.0


@given(st.text(max_size=120))
def test_any_name_is_one_folder_that_discovery_takes_for_a_round(name: str) -> None:
    made = archive.round_name(name, AT_S)
    assert "/" not in made and "\0" not in made and not made.startswith((".", "-"))
    assert 0 < len(os.fsencode(made)) <= 255
    assert is_round_folder("dump", made) and is_round_folder("prof", archive.round_name(name, AT_S, 7))


def test_rounds_of_one_second_keep_their_order(tmp_path: Path) -> None:
    folders = [archive.open_round(tmp_path, "memory", "x", AT_S) for _ in range(4)]
    later = archive.open_round(tmp_path, "memory", "x", AT_S + 1)
    names = [folder.name for folder in (*folders, later)]
    assert len(set(names)) == 5 and sorted(names, key=round_key) == names
    assert folders[0].parent == tmp_path / "sanitizer" and (later / "raw").is_dir()
    assert archive.planned_folder(tmp_path, "memory", "x", AT_S).name not in names


def test_a_link_below_the_archive_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "diag").mkdir()
    (tmp_path / "diag" / "dump").symlink_to(outside)
    with pytest.raises(InputError):
        archive.open_round(tmp_path / "diag", "precision", "x", AT_S)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["../x", "/x", "a/../x", "a//x", "", ".", "round.toml", "console.log", "x\0"]
)
def test_names_that_lead_out_or_are_npulses_own_are_refused(tmp_path: Path, name: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError):
        archive.write_planned(tmp_path, [PlannedFile(name, "x")])
    assert sorted(tmp_path.rglob("*")) == before


def test_files_are_replaced_and_links_in_their_place_are_not_followed(tmp_path: Path) -> None:
    folder, other = tmp_path / "round", tmp_path / "other"
    folder.mkdir()
    other.write_text("untouched")
    (folder / "config.json").symlink_to(other)
    archive.write_planned(
        folder, [PlannedFile("config.json", "new", 0o600), PlannedFile("a/b.py", "x", 0o755)]
    )
    assert other.read_text() == "untouched" and (folder / "config.json").read_text() == "new"
    assert (folder / "a" / "b.py").stat().st_mode & 0o777 == 0o755
    (folder / "c").symlink_to(tmp_path)
    with pytest.raises(OSError):
        archive.write_planned(folder, [PlannedFile("c/other", "x")])
    assert other.read_text() == "untouched"


def test_raw_data_becomes_read_only_and_nothing_else_does(tmp_path: Path) -> None:
    raw, outside = tmp_path / "raw", tmp_path / "outside"
    (raw / "rank0").mkdir(parents=True)
    (raw / "rank0" / "a.npy").write_bytes(b"x")
    outside.write_text("mine")
    (raw / "link").symlink_to(outside)
    os.mkfifo(raw / "pipe")
    assert archive.make_read_only(raw) == 0
    assert is_read_only(raw) and outside.stat().st_mode & 0o200
    archive.make_read_only(raw)  # once more changes nothing
    archive.remove_raw(tmp_path)
    assert not raw.exists() and outside.read_text() == "mine"


def test_a_file_with_a_second_name_elsewhere_is_left_and_counted(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    mine = tmp_path / "mine"
    mine.write_text("x")
    os.link(mine, tmp_path / "raw" / "a")
    assert archive.make_read_only(tmp_path / "raw") == 1
    assert mine.stat().st_mode & 0o200


def test_the_reserve_is_there_and_given_back(tmp_path: Path) -> None:
    assert archive.keep_reserve(tmp_path)
    path = tmp_path / archive.RESERVE
    assert path.stat().st_blocks * 512 >= archive.RESERVE_BYTES
    archive.free_reserve(tmp_path, is_half=True)
    assert path.stat().st_size == archive.RESERVE_BYTES // 2
    archive.free_reserve(tmp_path)
    archive.free_reserve(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_is_never_seen_half_written(tmp_path: Path) -> None:
    """Readers see one text or the other, whole."""
    import threading

    texts = {f"{i}" * 50_000 for i in range(2)}
    archive.write_manifest_text(tmp_path, min(texts))
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            for text in texts:
                archive.write_manifest_text(tmp_path, text)

    thread = threading.Thread(target=write)
    thread.start()
    end_s = time.monotonic() + 0.3
    try:
        while time.monotonic() < end_s:
            assert (tmp_path / archive.MANIFEST).read_text() in texts
    finally:
        is_over.set()
        thread.join()

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.watch.changes import Change
from npulse.core.watch.listing import Listing

Look = Callable[[Listing, dict[str, set[str] | None]], tuple[Change, ...]]


def look_at_all(listing: Listing, dirty: dict[str, set[str] | None]) -> tuple[Change, ...]:
    return listing.list_all()


def look_at_folders(listing: Listing, dirty: dict[str, set[str] | None]) -> tuple[Change, ...]:
    return listing.list_again(dict.fromkeys(dirty))


def look_at_names(listing: Listing, dirty: dict[str, set[str] | None]) -> tuple[Change, ...]:
    return listing.list_again(dirty)


def look_at_opened_names(listing: Listing, dirty: dict[str, set[str] | None]) -> tuple[Change, ...]:
    return listing.list_again(dirty, is_opening=True)


LOOKS = pytest.mark.parametrize("look", [look_at_all, look_at_folders, look_at_names, look_at_opened_names])


def listed(root: Path, **options: object) -> Listing:
    listing = Listing(str(root), **options)  # type: ignore[arg-type]
    listing.list_all()
    return listing


def names(listing: Listing, root: Path) -> list[str]:
    return sorted(os.path.relpath(path, root) for path in listing.files())


def words(changes: tuple[Change, ...]) -> list[tuple[str, str]]:
    return [(os.path.basename(change.path), change.kind) for change in changes]


def set_older(path: Path) -> None:
    """As if it had been written a while ago: two writes within one tick of the clock look like one."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - 10**9))


# ---- kinds of changes ----


def grow(path: Path) -> None:
    with path.open("a") as file:
        file.write("!")


def replace(path: Path) -> None:
    beside = path.with_name("beside")
    beside.write_text("one")
    os.replace(beside, path)


CHANGES: list[tuple[Callable[[Path], object], list[tuple[str, str]]]] = [
    (grow, [("x", "grown")]),
    (lambda path: os.truncate(path, 1), [("x", "truncated")]),
    (lambda path: path.write_text("two"), [("x", "rewritten")]),
    (replace, [("x", "replaced")]),
    (lambda path: path.chmod(0o600), [("x", "touched")]),
    (Path.unlink, [("x", "deleted")]),
    (lambda path: path.rename(path.with_name("y")), [("x", "deleted"), ("y", "renamed")]),
    (lambda path: path.with_name("y").write_text(""), [("y", "new")]),
    (lambda path: None, []),
]


@LOOKS
@pytest.mark.parametrize(("change", "expected"), CHANGES)
def test_every_kind_of_change_is_found(
    tmp_path: Path, look: Look, change: Callable[[Path], object], expected: list[tuple[str, str]]
) -> None:
    path = tmp_path / "sub" / "x"
    path.parent.mkdir()
    path.write_text("one")
    set_older(path)
    listing = listed(tmp_path)
    change(path)
    assert words(look(listing, {str(path.parent): {"x", "y"}})) == expected
    assert look(listing, {str(path.parent): {"x", "y"}}) == ()


@LOOKS
def test_a_rotation_is_a_renamed_file_and_another_in_its_place(tmp_path: Path, look: Look) -> None:
    (tmp_path / "x").write_text("one")
    listing = listed(tmp_path)
    (tmp_path / "x").rename(tmp_path / "x.1")
    grow(tmp_path / "x.1")
    (tmp_path / "x").write_text("two")
    changes = look(listing, {str(tmp_path): {"x", "x.1"}})
    assert words(changes) == [("x", "replaced"), ("x.1", "renamed")]
    assert changes[1].old_path == str(tmp_path / "x")
    assert changes[1].before is not None and changes[1].before.size_bytes == 3


def test_a_shorter_file_with_the_inode_of_a_removed_one_is_new(tmp_path: Path) -> None:
    """What file systems do when a file is made right after another one was removed."""
    (tmp_path / "x").write_text("one")
    listing = listed(tmp_path)
    (tmp_path / "x").rename(tmp_path / "y")
    (tmp_path / "y").write_text("2")
    assert words(listing.list_all()) == [("x", "deleted"), ("y", "new")]


# ---- folders ----


@LOOKS
def test_new_folders_are_listed_with_all_below_them(tmp_path: Path, look: Look) -> None:
    listing = listed(tmp_path)
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (deep / "x").write_text("one")
    assert words(look(listing, {str(tmp_path): {"a"}})) == [("x", "new")]
    shutil.rmtree(tmp_path / "a")
    assert words(look(listing, {str(tmp_path): {"a"}})) == [("x", "deleted")]
    assert list(listing.folders) == [str(tmp_path)]


@LOOKS
@pytest.mark.parametrize(("old", "new"), [("a", "b"), ("b", "a")])
def test_a_moved_folder_takes_its_files_along(tmp_path: Path, look: Look, old: str, new: str) -> None:
    for name in (old, new):
        (tmp_path / name).mkdir()
    (tmp_path / old / "sub").mkdir()
    (tmp_path / old / "sub" / "x").write_text("one")
    listing = listed(tmp_path)
    (tmp_path / old / "sub").rename(tmp_path / new / "sub")
    changes = look(listing, {str(tmp_path / name): {"sub"} for name in (old, new)})
    assert sorted(change.kind for change in changes) == ["deleted", "renamed"]
    assert names(listing, tmp_path) == [f"{new}/sub/x"]


def test_a_folder_that_arrived_before_its_old_name_was_looked_at_is_found_later(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    (tmp_path / "b" / "sub").mkdir()
    (tmp_path / "b" / "sub" / "x").write_text("one")
    listing = listed(tmp_path)
    (tmp_path / "b" / "sub").rename(tmp_path / "a" / "sub")
    listing.list_again({str(tmp_path / "a"): None})
    listing.list_again({str(tmp_path / "a"): {"sub"}, str(tmp_path / "b"): {"sub"}})
    assert names(listing, tmp_path) == ["a/sub/x"]


@LOOKS
def test_a_folder_made_again_under_its_name_is_another_one(tmp_path: Path, look: Look) -> None:
    sub = tmp_path / "sub"
    sub.mkdir()
    (sub / "x").write_text("one")
    listing = listed(tmp_path)
    sub.rename(tmp_path / "kept")
    sub.mkdir()
    (sub / "y").write_text("two")
    look(listing, {str(tmp_path): {"sub", "kept"}, str(sub): None})
    assert names(listing, tmp_path) == ["kept/x", "sub/y"]


@LOOKS
def test_a_file_that_takes_the_place_of_a_folder(tmp_path: Path, look: Look) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x").write_text("one")
    listing = listed(tmp_path)
    shutil.rmtree(tmp_path / "sub")
    (tmp_path / "sub").write_text("2")  # shorter, as it may get the inode of the removed one
    assert words(look(listing, {str(tmp_path): {"sub"}})) == [("sub", "new"), ("x", "deleted")]


@LOOKS
def test_what_comes_and_goes_without_being_a_file_is_said(tmp_path: Path, look: Look) -> None:
    listing = listed(tmp_path)
    listing.has_other_folders = False

    def is_said(name: str) -> bool:
        assert look(listing, {str(tmp_path): {name}}) == ()
        told, listing.has_other_folders = listing.has_other_folders, False
        return told

    assert not is_said("sub")
    (tmp_path / "sub").mkdir()
    assert is_said("sub") and not is_said("sub")
    os.mkfifo(tmp_path / "pipe")
    assert is_said("pipe") and not is_said("pipe")
    (tmp_path / "pipe").unlink()
    assert is_said("pipe") and not is_said("pipe")
    (tmp_path / "link").symlink_to("nowhere")
    assert is_said("link") and not is_said("link")
    (tmp_path / "link").unlink()
    (tmp_path / "sub").rmdir()
    assert is_said("sub") and not is_said("link")


def test_who_sets_watches_is_told_of_folders_before_they_are_read(tmp_path: Path) -> None:
    entered: list[str] = []
    left: list[str] = []

    def enter(folder: str) -> None:
        entered.append(os.path.relpath(folder, tmp_path))
        Path(folder, "made-on-entering").touch()

    (tmp_path / "a").mkdir()
    listing = Listing(str(tmp_path), enter=enter, leave=lambda f: left.append(os.path.relpath(f, tmp_path)))
    listing.list_all()
    assert entered == [".", "a"]
    assert names(listing, tmp_path) == ["a/made-on-entering", "made-on-entering"]
    shutil.rmtree(tmp_path / "a")
    listing.list_again({str(tmp_path): {"a"}})
    assert left == ["a"]


def test_it_goes_where_discovery_goes(tmp_path: Path) -> None:
    for folder in (".git", "__pycache__", "deep/er"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x").touch()
    os.mkfifo(tmp_path / "pipe")
    assert names(listed(tmp_path), tmp_path) == ["deep/er/x"]
    assert names(listed(tmp_path, max_depth=1), tmp_path) == []


def test_it_stops_at_its_limit(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).touch()
    listing = listed(tmp_path, max_entries=7)
    assert len(listing.files()) == 7
    for number in range(20, 40):
        (tmp_path / str(number)).touch()
    listing.list_again({str(tmp_path): {str(number) for number in range(20, 40)}})
    assert len(listing.files()) == 7


# ---- links ----


def test_linked_folders_inside_the_run_are_listed_once(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x").touch()
    (tmp_path / "again").symlink_to("real")
    hidden = tmp_path / ".git"
    hidden.mkdir()
    (hidden / "y").touch()
    (tmp_path / "shown").symlink_to(".git")  # the only way to it
    assert names(listed(tmp_path), tmp_path) == ["real/x", "shown/y"]


def test_links_out_of_the_run_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").touch()
    run = tmp_path / "run"
    run.mkdir()
    (run / "link").symlink_to(outside)
    (run / "dump.json").symlink_to(outside / "x")
    assert names(listed(run), run) == []


@LOOKS
def test_a_link_that_changes_is_followed_anew(tmp_path: Path, look: Look) -> None:
    for name in ("one", "two"):
        (tmp_path / ".git" / name).mkdir(parents=True)
        (tmp_path / ".git" / name / name).touch()
    (tmp_path / "link").symlink_to(".git/one")
    listing = listed(tmp_path)
    assert names(listing, tmp_path) == ["link/one"]
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(".git/two")
    assert words(look(listing, {str(tmp_path): {"link"}})) == [("one", "deleted"), ("two", "new")]


@LOOKS
def test_a_linked_index_grows_with_what_it_leads_to(tmp_path: Path, look: Look) -> None:
    for name in ("rank0", "store"):
        (tmp_path / name).mkdir()
    (tmp_path / "store" / "data").write_text("one")
    (tmp_path / "rank0" / "dump.json").symlink_to("../store/data")
    listing = listed(tmp_path)
    grow(tmp_path / "store" / "data")
    changes = look(listing, {str(tmp_path / "store"): {"data"}})
    assert words(changes) == [("dump.json", "grown"), ("data", "grown")]


# ---- one file, other devices ----


def test_of_a_single_file_the_folder_around_it_does_not_count(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).write_text("one")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x").touch()
    listing = listed(tmp_path, only="x")
    assert names(listing, tmp_path) == ["x"]
    grow(tmp_path / "x")
    grow(tmp_path / "y")
    assert words(listing.list_again({str(tmp_path): {"x", "y", "sub"}})) == [("x", "grown")]


def test_files_of_a_file_system_mounted_again_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("one")
    listing = listed(tmp_path)
    device = tmp_path.stat().st_dev
    listing.moved_to_device(device + 1)  # as if it had had another number before
    for folder in listing.folders.values():
        folder.identity = device + 1, folder.identity[1]
    listing.moved_to_device(device)
    assert listing.list_all() == ()


# ---- any order of anything ----

PLACES = ("x", "y", "a/x", "a/y", "b/x", "a/sub/x", "b/sub/x", "b/a/x")
FOLDERS = ("a", "b", "a/sub", "b/sub", "b/a")


def do(root: Path, step: tuple[str, str, str], dirty: dict[str, set[str] | None]) -> None:
    """Carry out a step if it can be done, and note what a watch would say of it."""
    kind, first, second = step
    one, two = root / first, root / second
    folders = [path for path, _, _ in os.walk(one)] if kind in ("remove", "move") else []
    touched = {first, second, *(os.path.relpath(os.path.realpath(path), root) for path in (one, two))}
    try:
        if kind == "write":
            one.parent.mkdir(parents=True, exist_ok=True)
            grow(one)
        elif kind == "remove":
            shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
        elif kind == "move":
            os.rename(one, two)
        elif kind == "link":
            two.symlink_to(one)
    except OSError:
        return
    for place in touched | {str(parent) for path in touched for parent in Path(path).parents}:
        parent, name = os.path.split(os.path.join(root, place))
        names = dirty.setdefault(parent, set())
        if names is not None:
            names.add(name)
    dirty.update(dict.fromkeys(folders))  # their watches end, which tells of them whatever has their name now


STEP = st.tuples(
    st.sampled_from(["write", "write", "write", "remove", "move", "move", "link"]),
    st.sampled_from(PLACES + FOLDERS),
    st.sampled_from(PLACES + FOLDERS),
)


@given(rounds=st.lists(st.lists(STEP, max_size=6), max_size=6))
def test_looking_at_what_was_touched_finds_what_a_whole_listing_finds(
    rounds: list[list[tuple[str, str, str]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        listing = listed(root)
        for steps in rounds:
            before = listing.files()
            dirty: dict[str, set[str] | None] = {}
            for step in steps:
                do(root, step, dirty)
            changes = listing.list_again(dirty)
            fresh = listed(root)
            assert listing.files() == fresh.files()
            after = dict(before)
            for change in changes:  # they lead from one listing to the other
                if change.after is None:
                    del after[change.path]
                else:
                    after[change.path] = change.after
            assert after == listing.files()

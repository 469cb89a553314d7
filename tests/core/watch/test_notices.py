from __future__ import annotations

import ctypes
import errno
import os
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from npulse.core.watch import notices as module
from npulse.core.watch.notices import Inotify, Noticed, Polling, notices_for


@pytest.fixture
def inotify(tmp_path: Path) -> Iterator[Inotify]:
    one = Inotify(str(tmp_path))
    one.enter(str(tmp_path))
    yield one
    one.close()


def dirty(noticed: Noticed, root: Path) -> dict[str, set[str] | None]:
    return {os.path.relpath(folder, root): names for folder, names in noticed.dirty.items()}


def test_it_says_which_names_of_a_folder_to_look_at(tmp_path: Path, inotify: Inotify) -> None:
    (tmp_path / "x").write_text("one")
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "not watched").touch()
    (tmp_path / "x").rename(tmp_path / "z")
    noticed = inotify.take()
    assert dirty(noticed, tmp_path) == {".": {"x", "y", "z"}}
    assert not noticed.is_all and not noticed.is_root
    assert not inotify.take()


def test_it_says_what_was_closed_behind_the_last_write(tmp_path: Path, inotify: Inotify) -> None:
    with (tmp_path / "x").open("w") as x, (tmp_path / "y").open("w") as y:
        for file in (x, y):
            file.write("one")
            file.flush()
        assert inotify.take().closed == set()
        x.close()
        assert inotify.take().closed == {str(tmp_path / "x")}
    with (tmp_path / "x").open():
        pass  # who only reads closes nothing
    assert inotify.take().closed == {str(tmp_path / "y")}


def test_a_file_that_is_written_again_behind_its_closing_is_not_closed(
    tmp_path: Path, inotify: Inotify
) -> None:
    (tmp_path / "x").write_text("one")
    with (tmp_path / "x").open("a") as file:
        file.write("two")
        file.flush()
        assert inotify.take().closed == set()


def test_reading_wakes_nobody(tmp_path: Path, inotify: Inotify) -> None:
    (tmp_path / "x").write_text("one")
    inotify.take()
    (tmp_path / "x").read_text()
    list(os.scandir(tmp_path))
    assert not inotify.take() and not inotify.wait(0.0)


def test_a_folder_that_is_left_is_not_heard_of_any_more(tmp_path: Path, inotify: Inotify) -> None:
    sub = tmp_path / "sub"
    sub.mkdir()
    inotify.enter(str(sub))
    inotify.take()
    (sub / "x").touch()
    assert dirty(inotify.take(), tmp_path) == {"sub": {"x"}}
    inotify.leave(str(sub))
    (sub / "y").touch()
    assert not inotify.take()
    inotify.leave(str(sub))  # nothing to do


def test_a_folder_that_moved_is_heard_of_under_its_new_name(tmp_path: Path, inotify: Inotify) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    inotify.enter(str(old))
    old.rename(new)
    inotify.enter(str(new))
    inotify.take()
    (new / "x").touch()
    assert dirty(inotify.take(), tmp_path) == {"new": {"x"}}
    inotify.leave(str(old))  # the name, not the folder
    (new / "y").touch()
    assert dirty(inotify.take(), tmp_path) == {"new": {"y"}}


def test_a_folder_made_again_is_heard_of_though_its_old_watch_ends_later(
    tmp_path: Path, inotify: Inotify
) -> None:
    sub = tmp_path / "sub"
    sub.mkdir()
    inotify.enter(str(sub))
    sub.rmdir()
    sub.mkdir()
    inotify.enter(str(sub))  # before the end of the first one was taken
    assert dirty(inotify.take(), tmp_path)["sub"] is None
    (sub / "x").touch()
    assert dirty(inotify.take(), tmp_path) == {"sub": {"x"}}
    inotify.leave(str(sub))
    (sub / "y").touch()
    assert not inotify.take()


def test_what_happens_to_the_root_is_said(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    inotify = Inotify(str(root))
    inotify.enter(str(root))
    root.rename(tmp_path / "away")
    assert inotify.take().is_root
    inotify.close()


def test_lost_notices_make_everything_dirty(tmp_path: Path, inotify: Inotify) -> None:
    noticed = Noticed()
    inotify._note(struct.pack("iIII", -1, 0x4000, 0, 0), noticed)
    assert noticed.is_all and bool(noticed)


def test_names_that_are_no_utf8(tmp_path: Path, inotify: Inotify) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9"
    with open(name, "w"):
        pass
    assert dirty(inotify.take(), tmp_path) == {".": {os.fsdecode(b"caf\xe9")}}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOMEM])
def test_where_the_limit_of_watches_is_met_somebody_has_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object) -> int:
        ctypes.set_errno(number)
        return -1

    (tmp_path / "sub").mkdir()
    inotify = Inotify(str(tmp_path))
    inotify.enter(str(tmp_path / "sub"))
    assert inotify.mode == "inotify"
    with monkeypatch.context() as patch:
        patch.setattr(inotify, "_add", refuse)
        inotify.enter(str(tmp_path))
    limit = Path("/proc/sys/fs/inotify/max_user_watches").read_text().strip()
    assert (inotify.mode, inotify.why) == ("polling", f"watch-limit {limit}")
    (tmp_path / "sub" / "x").touch()  # what is watched is still heard of
    assert dirty(inotify.take(), tmp_path) == {"sub": {"x"}}
    inotify.close()


def test_a_folder_that_is_gone_or_no_folder_is_no_limit(tmp_path: Path, inotify: Inotify) -> None:
    (tmp_path / "x").touch()
    inotify.enter(str(tmp_path / "missing"))
    inotify.enter(str(tmp_path / "x"))
    assert inotify.mode == "inotify"


def test_without_inotify_it_polls_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from watchdog.observers import inotify_c

    monkeypatch.setattr(module, "why_polling", lambda root: "")
    for number, why in (
        (errno.EMFILE, "instance-limit 128"),
        (errno.ENOSYS, "unsupported Function not implemented"),
    ):

        def refuse(number: int = number) -> int:
            ctypes.set_errno(number)
            return -1

        monkeypatch.setattr(inotify_c, "inotify_init", refuse)
        monkeypatch.setattr(module, "_limit", lambda name: "128")
        notices = notices_for(str(tmp_path))
        assert (notices.mode, notices.why) == ("polling", why)


def test_on_a_network_file_system_it_polls_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "why_polling", lambda root: "network nfs4")
    notices = notices_for(str(tmp_path))
    assert (notices.mode, notices.why) == ("polling", "network nfs4")
    notices.enter(str(tmp_path))
    (tmp_path / "x").touch()
    assert dirty(notices.take(), tmp_path) == {".": {"x"}}  # of this host's own writes it tells
    notices.close()
    asked = notices_for(str(tmp_path), "asked")
    assert isinstance(asked, Polling) and asked.why == "asked"


@pytest.mark.parametrize("end", ["wake", "close"])
@pytest.mark.parametrize("for_wake_only", [False, True])
@pytest.mark.parametrize("is_polling", [False, True])
def test_who_waits_is_woken_from_another_thread(
    tmp_path: Path, end: str, for_wake_only: bool, is_polling: bool
) -> None:
    before = len(os.listdir("/proc/self/fd"))
    notices = Polling("asked") if is_polling else Inotify(str(tmp_path))
    answers: list[bool] = []
    thread = threading.Thread(
        target=lambda: answers.append(notices.wait(60.0, for_wake_only=for_wake_only)), daemon=True
    )
    thread.start()
    getattr(notices, end)()
    thread.join(10)
    assert answers == [True]
    notices.close()
    notices.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_waiting_for_a_wake_is_not_ended_by_a_notice(tmp_path: Path, inotify: Inotify) -> None:
    (tmp_path / "x").touch()
    assert not inotify.wait(0.0, for_wake_only=True)
    assert inotify.wait(0.0)


def test_a_closed_one_does_nothing(tmp_path: Path) -> None:
    inotify = Inotify(str(tmp_path))
    inotify.close()
    inotify.enter(str(tmp_path))
    inotify.leave(str(tmp_path))
    inotify.wake()
    assert inotify.wait(60.0) and not inotify.take()

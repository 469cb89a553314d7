from __future__ import annotations

import os
from pathlib import Path

import pytest

from npulse.core.watch.filesystems import Mount, mount_of, read_mounts, why_polling
from npulse.core.watch.root import Root

ROOT = Mount("/", "ext4", "/dev/sda1")

MOUNTINFO = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/sda1 rw
30 27 0:40 /export /mnt/with\040blank rw - nfs4 host:/export rw,vers=4.2
cut off
"""


def test_mounts_are_read_with_their_blanks(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTINFO)
    assert read_mounts(tmp_path / "mountinfo") == (
        Mount("/proc", "proc", "proc"),
        ROOT,
        Mount("/mnt/with blank", "nfs4", "host:/export"),
    )
    assert read_mounts(tmp_path / "missing") == ()


def test_the_mounts_of_this_machine_hold_the_one_that_a_folder_lies_on(tmp_path: Path) -> None:
    mount = mount_of(os.path.realpath(tmp_path), read_mounts())
    assert mount is not None
    assert os.stat(mount.point).st_dev == tmp_path.stat().st_dev


def test_the_nearest_and_the_last_mount_counts() -> None:
    over = Mount("/data", "tmpfs", "a"), Mount("/data", "nfs", "b")
    assert mount_of("/data/run", (ROOT, *over)) == over[1]
    assert mount_of("/database", (ROOT, *over)) == ROOT
    assert mount_of("/data", ()) is None


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("ext4", ""),
        ("xfs", ""),
        ("tmpfs", ""),
        ("btrfs", ""),
        ("nfs", "network nfs"),
        ("nfs4", "network nfs4"),
        ("cifs", "network cifs"),
        ("smb3", "network smb3"),
        ("9p", "network 9p"),
        ("lustre", "network lustre"),
        ("ceph", "network ceph"),
        ("gpfs", "network gpfs"),
        ("fuse.sshfs", "network fuse.sshfs"),
        ("fuse", "network fuse"),
        ("overlay", "overlay"),
    ],
)
def test_where_inotify_does_not_hear_of_everything_the_type_says_so(
    tmp_path: Path, kind: str, why: str
) -> None:
    here = os.path.realpath(tmp_path)
    assert why_polling(str(tmp_path), (ROOT, Mount(here, kind, "x"))) == why
    assert why_polling(str(tmp_path), (ROOT, Mount(f"{here}/rank0", kind, "x"))) == why  # mounted inside
    assert why_polling(str(tmp_path), (ROOT, Mount(f"{here}-other", kind, "x"))) == ""


def test_a_link_to_a_network_file_system_lies_there(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far")
    far = Mount(os.path.realpath(tmp_path / "far"), "nfs", "x")
    assert why_polling(str(tmp_path / "link"), (ROOT, far)) == "network nfs"


# ---- the root ----


def test_a_root_is_the_same_missing_or_another(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.mkdir()
    root = Root(path, lambda: (ROOT,))
    assert root.look() == "same"
    path.rename(tmp_path / "away")
    assert root.look() == "missing"
    path.write_text("a file")
    assert root.look() == "missing"
    path.unlink()
    path.mkdir()
    assert (root.look(), root.look()) == ("other", "same")


def test_an_unmounted_root_is_missing_and_one_that_is_mounted_over_is_another(tmp_path: Path) -> None:
    path = tmp_path / "mnt"
    path.mkdir()
    here = Mount(os.path.realpath(path), "ext4", "/dev/sdb1")
    mounts = [(ROOT, here)]
    root = Root(path, lambda: mounts[0])
    path.rename(tmp_path / "mounted")
    path.mkdir()
    mounts[0] = (ROOT,)  # type: ignore[assignment]
    assert (root.look(), root.look()) == ("missing", "missing")
    mounts[0] = (ROOT, here)
    assert root.look() == "other"
    root = Root(tmp_path, lambda: (ROOT,))
    assert root.look() == "same"


def test_of_a_single_file_the_folder_around_it_is_the_root(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.touch()
    root = Root(path, lambda: ())
    assert (root.folder, root.file) == (str(tmp_path), str(path))
    path.unlink()
    assert root.look() == "missing"
    path.touch()
    assert root.look() == "same"

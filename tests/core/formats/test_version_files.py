# ruff: noqa: E501 - lines as files have them
"""Version files of toolkit, driver, firmware, operators, NNAL; alone, in pasted texts, cut, and anything at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.version_files import (
    VersionBlock,
    brackets,
    read_version_file,
    releases_of,
    version_blocks,
)

TOOLKIT = """package_name=Ascend-cann-toolkit
version="8.1.RC1"
innerversion=V100R001C21SPC001B238
compatible_version=[V100R001C20],[V100R001C21]
arch=aarch64
os=linux
path=/usr/local/Ascend/ascend-toolkit/8.1.RC1/aarch64-linux
"""
DRIVER = "Version=25.0.rc1\nascendhal_version=7.35.23\nInnerversion=V100R001C21\ncompatible_version_fw=[7.0.0,8.9.9]\n"
FIRMWARE = "Version=7.7.0.1\nfirmware_version=1.0\ncompatible_version_drv=[25.0,25.0.]\n"
PART = 'Version=8.5.0.2.220\nversion_dir=8.5.0\nrequired_package_runtime_version="8.5"\n'
CONFIG = (
    "# version: 1.0\nruntime_running_version=[7.6.0.1:8.1.RC1]\nhccl_installed_version=[7.6.0.1:8.1.RC1]\n"
)
INSTALL = "UserName=HwHiAiUser\nDriver_Install_Status=complete\n"
OPS = "package_name=Ascend-cann-910b-ops\nversion=8.5.0\n"
ATB = "    Ascend-cann-atb : 8.1.RC1\n    Ascend-cann-atb Version : 8.1.RC1.B115\n    Platform : aarch64\n"
ALL = {
    **{"toolkit": TOOLKIT, "driver": DRIVER, "firmware": FIRMWARE, "component": PART, "config": CONFIG},
    **{"install": INSTALL, "ops": OPS, "nnal": ATB},
}


def read(folder: Path, text: str, name: str = "version.info") -> VersionBlock:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return read_version_file(path, root=folder)


@pytest.mark.parametrize("kind", ALL)
def test_the_kind_is_told_by_what_it_holds(tmp_path: Path, kind: str) -> None:
    assert read(tmp_path, ALL[kind]).kind == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("driver/version.info", "driver"),
        ("firmware/version.info", "firmware"),
        ("nnal/atb/version.info", "nnal"),
    ],
)
def test_a_version_alone_is_told_by_its_folder(tmp_path: Path, name: str, kind: str) -> None:
    found = read(tmp_path, "Version=1.2.3\n", name)
    assert (found.kind, found.get("version")) == (kind, "1.2.3")


def test_entries_quotes_and_lines(tmp_path: Path) -> None:
    found = read(tmp_path, TOOLKIT)
    entry = found.entry("VERSION")
    assert entry is not None and (entry.key, entry.value, entry.line) == ("version", "8.1.RC1", 2)
    assert found.get("nothing") == "" and found.problems == ()


def test_releases_of_the_parts(tmp_path: Path) -> None:
    found = releases_of(read(tmp_path, CONFIG, "version.cfg"))
    assert {name: (entry.value, entry.line) for name, entry in found.items()} == {
        **{"runtime": ("8.1.RC1", 2), "hccl": ("8.1.RC1", 3)},
    }


def test_a_line_without_a_value_is_a_problem(tmp_path: Path) -> None:
    found = read(tmp_path, DRIVER + "\nwhat is this\n")
    assert [(one.kind, one.line) for one in found.problems] == [("bad-record", 6)]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_version_file(tmp_path / "version.info")


def test_all_of_them_in_one_text() -> None:
    text = "see this:\n" + "\n\n".join(
        f"# cat /usr/local/Ascend/{kind}/version.info\n{ALL[kind]}" for kind in ALL
    )
    lines = list(enumerate(text.splitlines(), 1))
    found = list(version_blocks(lines))
    assert [block.kind for block in found] == list(ALL)
    assert all(text.splitlines()[block.line - 1].strip().startswith(block.entries[0].key) for block in found)
    assert found[1].source == "/usr/local/Ascend/driver/version.info"


def test_blocks_that_follow_each_other_at_once() -> None:
    lines = list(enumerate((DRIVER + FIRMWARE + TOOLKIT + OPS).splitlines(), 1))
    assert [block.kind for block in version_blocks(lines)] == ["driver", "firmware", "toolkit", "ops"]


def test_other_settings_are_no_version_file() -> None:
    lines = list(enumerate(["version=1", "A=b", "os=linux", "", "PATH=/usr/bin", "lr = 0.1"], 1))
    assert list(version_blocks(lines)) == []


@pytest.mark.parametrize(
    ("value", "groups"),
    [
        ("[A],[B,C]", (("A",), ("B", "C"))),
        ("[7.0.0,8.9.9]", (("7.0.0", "8.9.9"),)),
        ("A,B", (("A",), ("B",))),
        ("", ()),
        ("[],[ ]", ()),
        ("[A", (("[A",),)),
    ],
)
def test_lists(value: str, groups: tuple[tuple[str, ...], ...]) -> None:
    assert brackets(value) == groups


@given(st.binary(max_size=400))
def test_any_bytes(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "version.info"
        path.write_bytes(content)
        found = read_version_file(path)
        assert all(1 <= entry.line <= content.count(b"\n") + 1 for entry in found.entries)
        releases_of(found)


@given(st.sampled_from(sorted(ALL)), st.integers(0, 400))
def test_any_cut(kind: str, at: int) -> None:
    text = ALL[kind][:at]
    found = list(version_blocks(list(enumerate(text.splitlines(), 1))))
    assert len(found) <= 1

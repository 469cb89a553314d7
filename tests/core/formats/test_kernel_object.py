from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.errors import EnvironmentLacks, InputError
from npulse.core.formats import kernel_object, symbolizers
from npulse.core.formats.kernel_object import CodePlace, has_line_table, is_kernel_object, lines_at
from npulse.core.formats.symbolizers import found_tools

pytest.importorskip("elftools", reason="pyelftools is not installed")

SOURCE = """\
int sink;
static inline __attribute__((always_inline)) int leaf(int x) {
    return x * 3 + 1;
}
static inline __attribute__((always_inline)) int middle(int x) {
    int y = leaf(x);
    return y * y;
}
__attribute__((noinline)) int plain(int x) {
    return middle(x) - 5;
}
int main(int n, char **words) {
    (void)words;
    sink = middle(n);
    for (int i = 0; i < n; ++i) sink += plain(i);
    return sink;
}
"""
MODES = ["-O0 -g", "-O2 -g", "-O2 -gdwarf-5", "-O2 -gdwarf-4", "-O1 -gdwarf-3", "-O2 -gdwarf-2"]
ELFTOOLS: tuple[str, ...] = ()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("objects")
    (folder / "kernel.c").write_text(SOURCE)
    return folder


def built(folder: Path, options: str) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    path = folder / re.sub(r"\W+", "_", options)
    if not path.exists():
        command = ["gcc", *options.split(), "-o", path, folder / "kernel.c"]
        subprocess.run(command, check=True, capture_output=True)
    return path


def offsets_of(path: Path) -> list[int]:
    """All addresses of the three functions' code and some around them."""
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    listed = subprocess.run(["nm", "-S", path], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tT] (?:main|plain|middle|leaf)$", listed, re.MULTILINE)
    assert found
    return [int(start, 16) + i for start, size in found for i in range(int(size, 16))]


def by_binutils(path: Path, offsets: Sequence[int]) -> dict[int, list[tuple[str, int]]]:
    """File and line of every offset, innermost first, as addr2line prints them."""
    if shutil.which("addr2line") is None:
        pytest.skip("addr2line is not installed")
    found = {}
    asked = [f"{offset:#x}" for offset in offsets]
    command = ["addr2line", "-a", "-i", "-e", str(path), *asked]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for entry in re.split(r"^(?=0x)", text, flags=re.MULTILINE)[1:]:
        address, *places = entry.splitlines()
        pairs = [place.split(" ")[0].rsplit(":", 1) for place in places]
        found[int(address, 16)] = [(file, int(line)) for file, line in pairs if file != "??"]
    return found


def plainly(found: dict[int, tuple[CodePlace, ...]]) -> dict[int, list[tuple[str, int]]]:
    return {offset: [(place.file, place.line) for place in places] for offset, places in found.items()}


@pytest.mark.parametrize("options", MODES)
def test_every_address_has_the_line_that_binutils_says(folder: Path, options: str) -> None:
    path = built(folder, options)
    offsets = offsets_of(path)
    found = lines_at(path, folder, offsets, tools=ELFTOOLS)
    assert list(found) == offsets and all(found.values())
    assert plainly(found) == by_binutils(path, offsets)
    assert {place.file for places in found.values() for place in places} == {str(folder / "kernel.c")}
    if "-O2" in options:
        assert max(map(len, found.values())) == 3


@pytest.mark.parametrize("options", MODES)
@pytest.mark.parametrize("tool", symbolizers.TOOLS)
def test_all_readers_agree(folder: Path, options: str, tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    path = built(folder, options)
    offsets = [*offsets_of(path), 0, 0x7FFF_0000]
    theirs = lines_at(path, folder, offsets, tools=[tool])
    ours = lines_at(path, folder, offsets, tools=ELFTOOLS)
    assert plainly(theirs) == plainly(ours)
    assert theirs[0x7FFF_0000] == () and any(len(places) > 0 for places in theirs.values())
    if tool == "llvm-symbolizer":
        assert theirs == ours, "columns and functions as well"


def test_an_inlined_chain(folder: Path) -> None:
    path = built(folder, "-O2 -g")
    chains = set(lines_at(path, folder, offsets_of(path), tools=ELFTOOLS).values())
    shown = {tuple((place.function, place.line) for place in chain) for chain in chains}
    assert (("leaf", 3), ("middle", 6), ("plain", 10)) in shown
    assert (("middle", 7), ("main", 14)) in shown
    columns = {place.column for chain in chains for place in chain if place.line == 6}
    assert columns == {SOURCE.splitlines()[5].index("leaf") + 1}


def test_an_object_that_is_not_linked(folder: Path) -> None:
    """Its debug data has to be relocated before it says anything."""
    path = built(folder, "-c -O0 -g")
    offsets = offsets_of(path)
    assert path.read_bytes()[16] == 1
    found = lines_at(path, folder, [*offsets, 1 << 30], tools=ELFTOOLS)
    assert found.pop(1 << 30) == ()
    assert {place.line for places in found.values() for place in places} >= {9, 10, 11, 12, 14, 15, 16, 17}
    if shutil.which("llvm-symbolizer") is not None:
        assert found == lines_at(path, folder, offsets, tools=["llvm-symbolizer"])
    assert plainly(lines_at(path, folder, offsets, tools=["addr2line"])) == plainly(found)


def test_an_offset_that_two_sections_claim_is_unknown(folder: Path) -> None:
    path = built(folder, "-c -O2 -g -ffunction-sections")
    for tools in (ELFTOOLS, symbolizers.TOOLS):
        assert lines_at(path, folder, [0], tools=tools) == {0: ()}


def test_without_debug_data(folder: Path) -> None:
    path = built(folder, "-O2")
    assert not has_line_table(path, folder) and has_line_table(built(folder, "-O2 -g"), folder)
    assert lines_at(path, folder, offsets_of(path)[:3]) == dict.fromkeys(offsets_of(path)[:3], ())


def test_offsets_that_no_object_can_have(folder: Path) -> None:
    path = built(folder, "-O2 -g")
    assert lines_at(path, folder, [-0x10, 1 << 64, 1 << 70]) == {-0x10: (), 1 << 64: (), 1 << 70: ()}
    assert lines_at(path, folder, []) == {}


def test_more_offsets_than_are_asked_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = built(folder, "-O0 -g")
    offsets = offsets_of(path)[:25]
    whole = lines_at(path, folder, offsets, tools=ELFTOOLS)
    monkeypatch.setattr(kernel_object, "ASKED_AT_ONCE", 7)
    assert lines_at(path, folder, offsets, tools=ELFTOOLS) == whole


# ---- which file it is ----


def header(kind: int, machine: int, order: str = "little") -> bytes:
    marks = bytes((2, 1 if order == "little" else 2, 1))
    return b"\x7fELF" + marks + bytes(9) + kind.to_bytes(2, order) + machine.to_bytes(2, order)  # type: ignore[arg-type]


def test_what_a_kernel_object_looks_like() -> None:
    assert is_kernel_object(header(2, 0x1029)) and is_kernel_object(header(1, 0x1029))
    assert is_kernel_object(header(3, 0x1029, "big"))
    for host in (3, 62, 183, 243):
        assert not is_kernel_object(header(3, host))
    assert not is_kernel_object(header(4, 0x1029)), "a core file"
    for bytes_ in (
        b"",
        b"\x7fELF",
        header(2, 0x1029)[:19],
        b"\x7fELG" + header(2, 0x1029)[4:],
        b"#!/bin/sh" * 9,
    ):
        assert not is_kernel_object(bytes_)


def test_an_object_for_a_machine_that_nobody_knows(folder: Path, tmp_path: Path) -> None:
    plain = built(folder, "-O2 -g")
    content = bytearray(plain.read_bytes())
    content[18:20] = (0x1029).to_bytes(2, "little")
    path = tmp_path / "kernel.o"
    path.write_bytes(content)
    offsets = offsets_of(plain)
    assert is_kernel_object(bytes(content[:64])) and not is_kernel_object(plain.read_bytes()[:64])
    assert plainly(lines_at(path, tmp_path, offsets)) == by_binutils(plain, offsets)


# ---- hostile files and tools ----


def test_links_and_other_files(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link.o").symlink_to(built(folder, "-O2 -g"))
    (tmp_path / "text.o").write_text("no object" * 9)
    (tmp_path / "empty.o").write_bytes(b"")
    for name, message in (
        ("link.o", "outside"),
        ("none.o", "does not exist"),
        (".", "folder"),
        ("text.o", "not an ELF object"),
        ("empty.o", "ends after 0 bytes"),
    ):
        with pytest.raises(InputError, match=message):
            lines_at(tmp_path / name, tmp_path, [0])
        with pytest.raises(InputError, match=message):
            has_line_table(tmp_path / name, tmp_path)


def test_an_object_that_is_too_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = built(folder, "-O2 -g")
    monkeypatch.setattr(kernel_object, "MAX_OBJECT_BYTES", 100)
    with pytest.raises(InputError, match="up to 100 are read"):
        lines_at(path, folder, [0])


def test_a_cut_object_is_refused_wherever_it_is_cut(folder: Path, tmp_path: Path) -> None:
    content = built(folder, "-O2 -g").read_bytes()
    path = tmp_path / "cut.o"
    for n_bytes in [*range(0, 70, 7), *range(100, len(content), len(content) // 20), len(content) - 1]:
        path.write_bytes(content[:n_bytes])
        with pytest.raises(InputError, match="ends after"):
            lines_at(path, tmp_path, [0x1040])


@settings(max_examples=25)
@given(
    flips=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=12),
    where=st.booleans(),
)
def test_flipped_bytes_end_in_places_or_an_input_error(
    folder: Path, flips: list[tuple[float, int]], where: bool
) -> None:
    """Anywhere in the file, or in its debug data alone."""
    good = built(folder, "-O2 -g")
    content = bytearray(good.read_bytes())
    begin = content.index(str(folder).encode()) if where else 0
    spread = 4096 if where else len(content)
    begin = max(0, begin - spread // 2)
    for share, value in flips:
        content[min(len(content) - 1, begin + int(share * spread))] = value
    path = folder / "flipped.o"
    path.write_bytes(content)
    offsets = offsets_of(good)[:40]
    began = time.monotonic()
    for tools in (ELFTOOLS, symbolizers.TOOLS):
        try:
            found = lines_at(path, folder, offsets, tools=tools, timeout_s=5)
        except InputError as error:
            assert error.path == str(path) and error.message
            continue
        assert list(found) == offsets
        for places in found.values():
            assert all(isinstance(place.file, str) and place.line >= 0 for place in places)
    assert time.monotonic() - began < 30


def tool(folder: Path, script: str) -> str:
    path = folder / "llvm-symbolizer"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "script",
    [
        "exit 1",
        "exit 0",
        "echo '<html>'",
        "while read x; do echo '{\"Symbol\": 3}'; done",
        "while read x; do echo '[]'; done",
        'while read x; do echo \'{"Address": "0x0", "Error": {"Message": "no"}, "Symbol": []}\'; done',
        'while read x; do echo \'{"Symbol": [{"FileName": 5, "Line": "x"}, 7]}\'; done',
        "while :; do echo 'all work and no play makes a dull line of more than some bytes'; done",
        "exec /bin/sleep 60",
    ],
)
def test_a_tool_that_fails_is_followed_by_the_next_reader(folder: Path, tmp_path: Path, script: str) -> None:
    path = built(folder, "-O2 -g")
    offsets = offsets_of(path)[:5]
    began = time.monotonic()
    found = lines_at(path, folder, offsets, tools=[tool(tmp_path, script)], timeout_s=8)
    assert found == lines_at(path, folder, offsets, tools=ELFTOOLS)
    assert time.monotonic() - began < 12


def test_what_a_tool_says_is_taken_and_bounded(folder: Path, tmp_path: Path) -> None:
    path = built(folder, "-O2 -g")
    row = '{"FileName":"/w/a.cpp","Line":4,"Column":0,"FunctionName":"f","Extra":1}'
    script = f"while read x; do echo '{{\"Symbol\": [{','.join([row] * 300)}]}}'; done"
    found = lines_at(path, folder, [1], tools=[tool(tmp_path, script)])
    assert found == {1: (CodePlace("/w/a.cpp", 4, None, "f"),) * symbolizers.MAX_INLINED}


def test_no_reader_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = built(folder, "-O2 -g")
    monkeypatch.setattr(kernel_object, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentLacks) as caught:
        lines_at(path, folder, [0], tools=ELFTOOLS)
    assert caught.value.hint is not None and "npulse[objects]" in caught.value.hint


def test_a_tool_in_the_current_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tool(tmp_path, "exit 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".")
    assert found_tools(["llvm-symbolizer", "./llvm-symbolizer"]) == []
    assert found_tools([planted]) == [planted]

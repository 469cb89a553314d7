from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.hostsan.lines import MAX_LINE_BYTES, Cutter, text_of
from npulse.core.formats.hostsan.prefixes import Prefixes, is_launcher, launcher_length

TOKEN = (b"HIT",)


def lines_of(
    content: bytes, cuts: list[int], *, seek: bool = False
) -> tuple[list[tuple[int, int, bytes]], Cutter]:
    cutter = Cutter(TOKEN)
    found = []
    edges = [0, *sorted(cut % (len(content) + 1) for cut in cuts), len(content)]
    for start, end in zip(edges, edges[1:], strict=False):
        cutter.push(content[start:end])
        while True:
            if seek:
                cutter.seek()
            raw = cutter.next()
            if raw is None:
                break
            found.append((cutter.number, cutter.byte, raw))
    rest = cutter.rest()
    if rest is not None:
        found.append((cutter.number, cutter.byte, rest))
    return found, cutter


def test_lines_have_numbers_and_bytes() -> None:
    found, cutter = lines_of(b"a\nbc\r\n\nd", [])
    assert found == [(1, 0, b"a"), (2, 2, b"bc"), (3, 6, b""), (4, 7, b"d")]
    assert (cutter.n_lines, cutter.n_bytes, cutter.lost) == (4, 8, [])


def test_a_line_is_what_a_terminal_shows_of_it() -> None:
    content = b" 10%\r 50%\r100%\r\n a\r\x1b[0m\nx\r\r\n\r\n"
    assert [raw for _, _, raw in lines_of(content, [])[0]] == [b"100%", b" a", b"x", b""]


def test_counting_goes_on_where_it_is_told_to() -> None:
    cutter = Cutter(TOKEN, line=101, byte=5000)
    cutter.push(b"a\nb\n")
    assert (cutter.next(), cutter.number, cutter.byte, cutter.end_byte) == (b"a", 101, 5000, 5002)
    assert (cutter.next(), cutter.number, cutter.byte, cutter.end_byte) == (b"b", 102, 5002, 5004)
    assert (cutter.next(), cutter.n_bytes) == (None, 5004)


LINE = st.one_of(
    st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b".")),
    st.sampled_from([b"", b"\r", b"HIT", b"a HIT b\r", b"x\rHIT\r\r", b"\x1b[1m\rq"]),
    st.sampled_from([0, 1, 2]).map(lambda more: b"y" * (MAX_LINE_BYTES - 1 + more)),
    st.sampled_from([b"\rend", b"\r\r", b"\rHIT\r", b"\x1b[0m\r\x1b[0m"]).map(
        lambda end: b"z" * (2 * MAX_LINE_BYTES) + end
    ),
)


@given(st.lists(LINE, max_size=8), st.lists(st.integers(0, 1 << 20), max_size=12), st.booleans())
def test_cuts_do_not_matter(lines: list[bytes], cuts: list[int], has_end: bool) -> None:
    content = b"\n".join(lines) + (b"\n" if has_end else b"")
    whole, cutter = lines_of(content, [])
    cut, cutter_cut = lines_of(content, cuts)
    assert (whole, cutter.lost, cutter.n_lines) == (cut, cutter_cut.lost, cutter_cut.n_lines)
    assert cutter.n_lines == content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
    assert all(len(raw) <= MAX_LINE_BYTES for _, _, raw in whole)

    sought, seeker = lines_of(content, cuts, seek=True)
    assert set(sought) <= set(whole) and seeker.lost == cutter.lost and seeker.n_lines == cutter.n_lines
    assert [found for found in whole if b"HIT" in found[2]] == [
        found for found in sought if b"HIT" in found[2]
    ]


def test_of_a_line_that_is_too_long_nothing_is_held() -> None:
    cutter = Cutter(TOKEN)
    for _ in range(64):
        cutter.push(b"x" * 100_000)
        cutter.seek()
        assert cutter.next() is None
        assert len(cutter._data) <= MAX_LINE_BYTES
    cutter.push(b"\nHIT\n")
    assert cutter.next() == b"HIT"
    assert (cutter.lost, cutter.number, cutter.byte) == ([(1, 0)], 2, 6_400_001)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"plain", ("plain", True)),
        ("名称".encode(), ("名称", True)),
        ("张量".encode("gbk"), ("张量", True)),
        (b"a\xff\xffb", ("a��b", False)),
        (b"\x1b[1m\x1b[31m==1==\x1b[0mERROR", ("==1==ERROR", True)),
        (b"00\x1b[1m\x1b[31m[fa]\x1b[1m\x1b[0m", ("00[fa]", True)),
    ],
)
def test_text_of_a_line(raw: bytes, expected: tuple[str, bool]) -> None:
    assert text_of(raw) == expected


# ---- prefixes ----


@pytest.mark.parametrize(
    "prefix",
    [
        "[default3]:",
        "[rank0]: ",
        "3: ",
        "[1,3]<stderr>:",
        "worker-1  | ",
        "(WorkerProc pid=221633) ",
        "(train pid=9, ip=10.0.0.1) ",
        "2026-01-20T02:27:59.123456789Z stderr F ",
        "2026-01-20 02:27:59,123 [rank1] ",
        "[2026-01-20 02:27:59] ",
        "Jan 20 02:27:59 host-a train[99]: ",
        "01-20 02:27:59.123 ",
    ],
)
def test_known_prefixes(prefix: str) -> None:
    assert is_launcher(prefix)
    assert launcher_length(prefix + "/src/a.cpp:1:2") == len(prefix)


@pytest.mark.parametrize(
    "text", ["/src/a.cpp:15:70", "src/a.cpp:15:70", "a.cpp:1:2", "<unknown>", "(/src/app+0x12)"]
)
def test_a_place_is_no_prefix(text: str) -> None:
    assert launcher_length(text) == 0


def test_times_are_no_part_of_the_key() -> None:
    prefixes = Prefixes()
    key = prefixes.learn("2026-01-20 02:27:59,123 [rank1] ")
    assert prefixes.learn("2026-01-20 02:28:00,001 [rank2] ") != key
    assert prefixes.split("2026-01-21 00:00:00,999 [rank1]     #0 0x1 in f") == (key, "    #0 0x1 in f")
    assert prefixes.split("2026-01-21 00:00:00,999 [rank1]") == (key, "")
    assert prefixes.split("    #0 0x1 in f") == ("", "    #0 0x1 in f")
    assert len(prefixes) == 2


def test_a_prefix_may_lose_its_blank_before_an_empty_line() -> None:
    prefixes = Prefixes()
    key = prefixes.learn("[rank0]: ")
    assert prefixes.split("[rank0]:") == (key, "") and prefixes.split("[rank0]:  x") == (key, " x")

"""msprobe's mapping files, read; whatever else lies in one is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.msprobe.mapping import MappingFile, read_mapping

DATA = """# by hand
Functional.linear.1.forward.input.0: Functional.linear.0.forward.input.0
"Module.a b.Linear.forward.0.output.0": 'Module.c.Linear.forward.0.output.0'
# npulse: [["NPU.npu_swiglu.0.forward"], ["Functional.silu.0.forward", "Tensor.__mul__.0.forward"]]
# npulse: [[], ["Tensor.to.0.forward"]]
# npulse: [[], []]
"""
APIS = """
- ms_api: Functional.conv2d
  pt_api: Functional.conv2d
  ms_args: [0, 1]
  pt_args: [1, 0]
  ms_outputs: [0]
  pt_outputs: [0]
- ms_api: Mint.add
  pt_api: Torch.add
"""


def read(folder: Path, text: str | bytes) -> MappingFile:
    path = folder / "mapping.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_mapping(path)


def test_the_three_kinds(tmp_path: Path) -> None:
    data = read(tmp_path, DATA)
    assert [(e.target, e.golden, e.line) for e in data.data] == [
        ("Functional.linear.1.forward.input.0", "Functional.linear.0.forward.input.0", 2),
        ("Module.a b.Linear.forward.0.output.0", "Module.c.Linear.forward.0.output.0", 3),
    ]
    group, alone = data.groups
    assert group.golden == ("Functional.silu.0.forward", "Tensor.__mul__.0.forward") and group.line == 4
    assert (alone.target, alone.golden, alone.line) == ((), ("Tensor.to.0.forward",), 5)
    assert [p.line for p in data.problems] == [6]
    cells = read(tmp_path, "fc1.Dense: fc1.Linear\n")
    assert [(e.target, e.golden, e.line) for e in cells.cells] == [("fc1.Dense", "fc1.Linear", 1)]
    conv, add = read(tmp_path, APIS).apis
    assert conv.lists == {"args": (("0", "1"), ("1", "0")), "outputs": (("0", "0"),)}
    assert (add.target, add.golden, add.line, dict(add.lists)) == ("Mint.add", "Torch.add", 8, {})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a.forward.0: [1\nb: c", 2),
        ("a: &x b\nc: *x", 1),
        ("a: !!python/object:os.system b", 1),
        ("[" * 5000, 1),
        ("", None),
        ("one word", 1),
    ],
)
def test_what_is_no_mapping_is_told_with_its_line(tmp_path: Path, text: str, line: int | None) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert error.value.line == line


def test_single_entries_that_cannot_be_meant(tmp_path: Path) -> None:
    found = read(tmp_path, "a.Dense: b.Linear\na.Dense: c.Linear\nd.Dense: [1]\n")
    assert [(e.target, e.golden) for e in found.cells] == [("a.Dense", "b.Linear")]
    assert [p.line for p in found.problems] == [2, 3]
    apis = read(tmp_path, "- ms_api: A.b\n  pt_api: C.d\n  ms_args: [0, 1]\n  pt_args: [0]\n- {ms_api: x}\n")
    assert [p.line for p in apis.problems] == [1, 5] and len(apis.apis) == 1
    assert [p.line for p in read(tmp_path, "- just\n- words").problems] == [1, 2]


def test_more_than_any_mapping_holds_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("npulse.core.formats.msprobe.mapping._MAX_TOKENS", 100)
    with pytest.raises(InputError, match="more than") as error:
        read(tmp_path, "- \n" * 1000)
    assert error.value.line == 100


def test_comments_of_ours_are_counted_and_stand_in_every_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("npulse.core.formats.msprobe.mapping.MAX_GROUPS", 2)
    comment = '# npulse: [["x"], ["y"]]\n'
    for first in ("a: b\n", "- {ms_api: A.b, pt_api: C.d}\n"):
        assert [group.target for group in read(tmp_path, first + comment).groups] == [("x",)]
        found = read(tmp_path, first + comment * 4)
        assert len(found.groups) == 2 and [(p.kind, p.line) for p in found.problems] == [("limit", 4)]


@given(st.binary(max_size=300) | st.text("ab: -[]{}&*!#\n\"'|>%@`,?", max_size=200).map(str.encode))
def test_no_file_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    try:
        found = read(tmp_path_factory.mktemp("fuzz"), raw)
    except InputError:
        return
    assert isinstance(found, MappingFile)

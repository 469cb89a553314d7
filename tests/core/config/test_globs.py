from __future__ import annotations

import fnmatch
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.config.globs import has_glob, matching, names_in, resolve
from npulse.core.errors import InputError, UsageError

OPERATORS = ("conv1/Conv2D", "conv2/Conv2D", "fc/MatMul")
ENTRIES = (
    *("Functional.conv2d.0.forward", "Module.block.conv1.Conv2d.forward.0", "Functional.relu.0.forward"),
    *("Module.attn.q_proj.Linear.forward.1", "Module.attn.q_proj.Linear.forward.10"),
    "Module.deconv.Deconv.forward.0",
)


def test_acl_takes_whole_names() -> None:
    assert resolve("acl", ["fc/MatMul"]).items == ("fc/MatMul",)
    found = resolve("acl", ["conv*", "fc/MatMul"], OPERATORS)
    assert (found.items, found.is_all) == (OPERATORS, False)
    assert found.notes == ("'conv*' is 2 of the 3 given names.",)
    assert resolve("acl", ["conv?/*", "conv1*"], OPERATORS).items == OPERATORS[:2]


def test_acl_without_names_says_what_to_give() -> None:
    with pytest.raises(UsageError) as caught:
        resolve("acl", ["conv*"])
    assert "no globs" in caught.value.message and "--name-list" in (caught.value.hint or "")


def test_a_glob_that_matches_nothing_names_near_ones() -> None:
    with pytest.raises(UsageError) as caught:
        resolve("acl", ["Conv2D*"], OPERATORS)
    assert "none of the 3" in caught.value.message and "conv1/Conv2D" in caught.value.message
    (note,) = resolve("acl", ["fc/matmul"], OPERATORS).notes
    assert "none of the 3" in note and "fc/MatMul" in note


@pytest.mark.parametrize(
    ("pattern", "part", "more"),
    [
        ("*conv*", "conv", False),
        ("conv*", "conv", True),
        ("*conv", "conv", True),
        ("q_*_proj", "_proj", True),
    ],
)
def test_msprobe_takes_parts(pattern: str, part: str, more: bool) -> None:
    found = resolve("msprobe", [pattern])
    assert (found.items, found.selects_more) == ((part,), more)
    assert ("more than the glob" in found.notes[0]) == more


def test_msprobe_by_names() -> None:
    assert matching("conv*", ENTRIES, "msprobe") == [ENTRIES[0], ENTRIES[1]]
    assert matching("*_proj", ENTRIES, "msprobe") == [ENTRIES[3], ENTRIES[4]]
    found = resolve("msprobe", ["conv*"], ENTRIES)
    assert found.items == ENTRIES[:2] and not found.selects_more  # "conv" is in deconv as well
    assert resolve("msprobe", ["*relu*"], ENTRIES).items == ("relu",)
    found = resolve("msprobe", ["*.forward.1"], ENTRIES)
    assert found.items == (ENTRIES[3],)
    assert found.selects_more and ENTRIES[4] in found.notes[-1]  # forward.1 is a part of forward.10


def test_everything() -> None:
    for patterns in (["*"], ["conv*", "**"]):
        assert resolve("acl", patterns) == resolve("acl", patterns[-1:])
        assert resolve("msprobe", patterns).is_all and resolve("acl", patterns).items == ()
    assert resolve("acl", []).items == () and not resolve("acl", []).is_all
    with pytest.raises(UsageError):
        resolve("msprobe", ["?[ab]"])


@given(
    pattern=st.text(alphabet="ab*?.[]", min_size=1, max_size=6),
    names=st.lists(st.text(alphabet="ab.", min_size=1, max_size=6), unique=True, max_size=8),
)
def test_msprobe_never_selects_less_than_the_glob(pattern: str, names: list[str]) -> None:
    """By msprobe's own reading: a name is recorded if it has an item in it."""
    wanted = {name for name in names if fnmatch.fnmatchcase(name, pattern)}
    for given_names in (names, None):
        try:
            found = resolve("msprobe", [pattern], given_names)
        except UsageError:
            assert given_names is None or not wanted
            continue
        selected = {name for name in names if found.is_all or any(item in name for item in found.items)}
        assert wanted <= selected or not has_glob(pattern)
        if given_names is not None and not found.selects_more and has_glob(pattern) and not found.is_all:
            assert selected == set(matching(pattern, names, "msprobe"))


def test_names_of_a_text_file(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("# operators\nconv1\n\n  conv2 \nconv1\n")
    assert names_in(path) == ("conv1", "conv2")


def test_names_of_a_dump(tmp_path: Path) -> None:
    folder = tmp_path / "step0" / "rank0"
    folder.mkdir(parents=True)
    entry = {"input_args": [], "input_kwargs": {}, "output": []}
    data = {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None}
    data["data"] = {name: entry for name in ENTRIES[:3]}  # type: ignore[assignment]
    (folder / "dump.json").write_text(json.dumps(data))
    assert names_in(tmp_path) == names_in(folder / "dump.json") == ENTRIES[:3]


def test_no_names_at_all(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("{}")
    for path in (tmp_path, tmp_path / "x.txt", tmp_path / "missing"):
        with pytest.raises(InputError):
            names_in(path)

"""stack.json and construct.json: both layouts, frames, hierarchy, damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from npulse.core.errors import InputError
from npulse.core.formats.msprobe.construct import MICRO_STEP_NUMBER, ancestors, read_construct
from npulse.core.formats.msprobe.records import Construct, Frame
from npulse.core.formats.msprobe.stacks import parse_frame, read_stacks, user_frame

TORCH = "File /venv/site-packages/torch/nn/modules/linear.py, line 134, in forward, \n return F.linear()"
USER = "File /home/me/my, run/a b.py, line 20, in <module>, \n loss.backward()"
TORCH_FRAME = Frame("/venv/site-packages/torch/nn/modules/linear.py", 134, "forward", "return F.linear()")
USER_FRAME = Frame("/home/me/my, run/a b.py", 20, "<module>", "loss.backward()")


def write(folder: Path, value: Any, indent: int | None = 1) -> Path:
    path = folder / "some.json"
    path.write_text(json.dumps(value, indent=indent))
    return path


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        (TORCH, TORCH_FRAME),
        (USER, USER_FRAME),
        ("File /a.py, line 3, in f, \n ", Frame("/a.py", 3, "f", "")),
        ("File /a.py, line 3, in f", Frame("/a.py", 3, "f", "")),
        (
            "File /x, line 9, in y/a.py, line 3, in <lambda>, \n x",
            Frame("/x, line 9, in y/a.py", 3, "<lambda>", "x"),
        ),
        ("File /a.py, line 3, in f, \n x = 'in g, '\n y", Frame("/a.py", 3, "f", "x = 'in g, '\n y")),
        ("something else", Frame("something else", None, "", "")),
        ("File /a.py, line x, in f, \n s", Frame("File /a.py, line x, in f,", None, "", "s")),
        ("File /a.py, line " + "9" * 5000 + ", in f, \n s", ...),
        ("", Frame("", None, "", "")),
    ],
)
def test_parse_frame(text: str, frame: Any) -> None:
    found = parse_frame(text)
    assert found == frame if frame is not ... else found.line is None


@pytest.mark.parametrize("indent", [None, 1])
def test_grouped_layout(tmp_path: Path, indent: int | None) -> None:
    groups = {
        "0": [["a.0.forward", "b.0.forward"], [TORCH, USER]],
        "1": [["c.0.forward"], [USER]],
        "2": [["d"], []],
    }
    stacks = read_stacks(write(tmp_path, groups, indent))
    assert stacks.problems == ()
    assert stacks.frames("a.0.forward") == stacks.frames("b.0.forward") == (TORCH_FRAME, USER_FRAME)
    assert stacks.frames("c.0.forward") == (USER_FRAME,)
    assert stacks.frames("c.0.backward") == (USER_FRAME,)
    assert stacks.frames("d") == stacks.frames("nothing") == ()


def test_flat_layout_keeps_equal_stacks_once(tmp_path: Path) -> None:
    flat = {
        "Module.a.B.forward.0": [TORCH, USER],
        "b.0.forward": [USER],
        "Module.a.B.forward.1": [TORCH, USER],
    }
    stacks = read_stacks(write(tmp_path, flat))
    assert stacks.problems == ()
    assert stacks.groups == ((TORCH_FRAME, USER_FRAME), (USER_FRAME,))
    assert stacks.of_entry == {"Module.a.B.forward.0": 0, "b.0.forward": 1, "Module.a.B.forward.1": 0}
    assert stacks.frames("Module.a.B.backward.1") == (TORCH_FRAME, USER_FRAME)
    assert stacks.groups[0][1] is stacks.groups[1][0]


def test_an_empty_file_of_stacks_has_none(tmp_path: Path) -> None:
    stacks = read_stacks(write(tmp_path, {}))
    assert (stacks.groups, stacks.of_entry, stacks.problems) == ((), {}, ())


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        "text",
        {"a": 1},
        [["a"]],
        [["a"], None],
        [[1], ["f"]],
        [["a"], [1]],
        [USER, 2],
        [["a"], [], []],
    ],
)
def test_what_is_no_stack_is_a_problem(tmp_path: Path, value: Any) -> None:
    path = write(tmp_path, {"0": value, "b.0.forward": [USER]})
    stacks = read_stacks(path)
    assert stacks.of_entry == {"b.0.forward": 0}
    assert [(p.kind, p.byte) for p in stacks.problems] == [("bad-record", 3)]


def test_cut_stacks_keep_the_whole_groups(tmp_path: Path) -> None:
    path = write(tmp_path, {str(i): [[f"e{i}"], [USER]] for i in range(5)})
    whole = path.read_bytes()
    cut = whole.index(b'"e3"')
    path.write_bytes(whole[:cut])
    stacks = read_stacks(path)
    assert list(stacks.of_entry) == ["e0", "e1", "e2"]
    assert [(p.kind, p.byte) for p in stacks.problems] == [("cut-off", cut)]


def test_user_frame_is_the_innermost_of_the_user() -> None:
    def frame(file: str) -> Frame:
        return Frame(file, 1, "f", "")

    libraries = [
        "/venv/lib/python3.11/site-packages/einops/x.py",
        "/usr/lib/python3/dist-packages/x.py",
        "/usr/lib/python3.10/threading.py",
        "/src/pytorch/torch/nn/functional.py",
        "/opt/msprobe/core/x.py",
        "/runs/diag/dump/a_20260101_000000/launcher/npulse_launcher.py",
        "C:\\Python\\Lib\\site-packages\\x.py",
        "<string>",
    ]
    users = ["/home/me/torchvision_like/train.py", "/home/me/lib/model.py", "train.py"]
    assert user_frame(map(frame, libraries)) is None
    assert user_frame(()) is None
    for user in users:
        assert user_frame(map(frame, [*libraries, user, "/home/outer.py"])) == frame(user)


# ---- construct.json ----


def test_hierarchy(tmp_path: Path) -> None:
    construct = read_construct(
        write(
            tmp_path,
            {
                "Functional.linear.0.forward": "Module.fc.Linear.forward.0",
                "Module.fc.Linear.forward.0": None,
                "Torch.add.0.forward": ["Module.fc.Linear.forward.0", 1],
                "Torch.mul.0.forward": [None, 2],
                "Tensor.mul_.0.forward": "optimizer",
                "megatron_micro_step_number": 4,
            },
        )
    )
    assert construct.problems == ()
    assert list(construct.parents.items()) == [
        ("Functional.linear.0.forward", "Module.fc.Linear.forward.0"),
        ("Module.fc.Linear.forward.0", None),
        ("Torch.add.0.forward", "Module.fc.Linear.forward.0"),
        ("Torch.mul.0.forward", None),
        ("Tensor.mul_.0.forward", "optimizer"),
    ]
    assert construct.micro_steps == {"Torch.add.0.forward": 1, "Torch.mul.0.forward": 2, MICRO_STEP_NUMBER: 4}


def test_level_l1_has_no_hierarchy(tmp_path: Path) -> None:
    assert read_construct(write(tmp_path, {})) == Construct({}, {}, ())


@pytest.mark.parametrize("value", [5, True, {"a": "b"}, [], ["a"], ["a", "b"], ["a", 1, 2], [1, 2]])
def test_what_is_no_parent_is_a_problem(tmp_path: Path, value: Any) -> None:
    construct = read_construct(write(tmp_path, {"a": value, "b": "c"}))
    assert construct.parents == {"b": "c"}
    assert [(p.kind, p.byte) for p in construct.problems] == [("bad-record", 3)]


def test_cut_hierarchy_keeps_the_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "construct.json"
    text = '{\n "a": null,\n "b": "a",\n "c": "a'
    path.write_text(text)
    construct = read_construct(path)
    assert construct.parents == {"a": None, "b": "a"}
    assert [(p.kind, p.byte) for p in construct.problems] == [("cut-off", len(text))]


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    for read in (read_construct, read_stacks):
        with pytest.raises(InputError):
            read(write(tmp_path, [1]))
        with pytest.raises(InputError):
            read(tmp_path / "none.json")


def test_ancestors() -> None:
    parents = {
        "a": "b",
        "b": "c",
        "c": None,
        "x": "y",
        "y": "x",
        "Module.l.fc.Linear.backward.2": "Module.l.Layer.backward.2",
        "Module.l.Layer.backward.2": None,
    }
    construct = Construct(parents, {})
    assert list(ancestors(construct, "a")) == ["b", "c"]
    assert list(ancestors(construct, "x")) == ["y"]
    assert list(ancestors(construct, "unknown")) == []
    assert list(ancestors(construct, "Module.l.fc.Linear.parameters_grad.2")) == [
        "Module.l.fc.Linear.backward.2",
        "Module.l.Layer.backward.2",
    ]

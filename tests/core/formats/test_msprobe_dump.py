"""dump.json into columns: every kind of record, header, order, damage; leaves expected by hand."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import pickle
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.msprobe import columns
from npulse.core.formats.msprobe.dump import GrowingDump, iter_calls, read_dump
from npulse.core.formats.msprobe.records import Dump, DumpHeader, Leaf

NAN, INF = float("nan"), float("inf")
HEADER = {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None}


def write(folder: Path, data: Any, **header: Any) -> Path:
    path = folder / "dump.json"
    path.write_text(json.dumps({**HEADER, **header, "data": data}, indent=1))
    return path


def tensor(**fields: Any) -> dict[str, Any]:
    plain = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3]}
    return {**plain, "Max": 2.5, "Min": -1.5, "Mean": 0.5, "Norm": 3.0, "requires_grad": False, **fields}


def scalar(type_name: str, value: Any) -> dict[str, Any]:
    return {"type": type_name, "value": value}


def all_leaves(dump: Dump) -> list[Leaf]:
    return [dump.leaf(row) for row in range(len(dump.leaves.call))]


def brief(dump: Dump) -> list[tuple[Any, ...]]:
    return [(leaf.name, leaf.io, leaf.kind, leaf.type, leaf.value) for leaf in all_leaves(dump)]


def read_one(folder: Path, name: str, body: Any, *, is_clean: bool = True) -> Dump:
    dump = read_dump(write(folder, {name: body}))
    assert dump.problems == () or not is_clean
    assert list(dump.calls.names) == [name]
    return dump


# ---- places of leaves ----

T = "torch.Tensor"


def test_api_forward(tmp_path: Path) -> None:
    body = {
        "input_args": [tensor(), [tensor(), [None, scalar("int", 1)]], {"k": {"m": [scalar("str", "s")]}}],
        "input_kwargs": {
            "dim": scalar("int", 1),
            "cfg": {"a": scalar("float", 1.5), "l": [None]},
            "mask": None,
        },
        "output": [tensor(), {"hidden": tensor()}],
    }
    e = "Torch.cat.0.forward"
    assert brief(read_one(tmp_path, e, body)) == [
        (f"{e}.input.0", "input 0", "tensor", T, None),
        (f"{e}.input.1.0", "input 1.0", "tensor", T, None),
        (f"{e}.input.1.1.0", "input 1.1.0", "none", "None", None),
        (f"{e}.input.1.1.1", "input 1.1.1", "scalar", "int", 1),
        (f"{e}.input.2.k.m.0", "input 2.k.m.0", "scalar", "str", "s"),
        (f"{e}.input.dim", "kwargs dim", "scalar", "int", 1),
        (f"{e}.input.cfg.a", "kwargs cfg.a", "scalar", "float", 1.5),
        (f"{e}.input.cfg.l.0", "kwargs cfg.l.0", "none", "None", None),
        (f"{e}.input.mask", "kwargs mask", "none", "None", None),
        (f"{e}.output.0", "output 0", "tensor", T, None),
        (f"{e}.output.1.hidden", "output 1.hidden", "tensor", T, None),
    ]


def test_module_forward_with_parameters_and_named_outputs(tmp_path: Path) -> None:
    body = {
        "input_args": [tensor()],
        "input_kwargs": {},
        "output": {"a": tensor(), "b": tensor()},
        "parameters": {"weight": tensor(), "a b": tensor()},
        "is_recompute": True,
    }
    e = "Module.n.OutNT.forward.0"
    dump = read_one(tmp_path, e, body)
    assert [row[:2] for row in brief(dump)] == [
        (f"{e}.input.0", "input 0"),
        (f"{e}.parameters.weight", "parameters.weight"),
        (f"{e}.parameters.a b", "parameters.a b"),
        (f"{e}.output.a", "output a"),
        (f"{e}.output.b", "output b"),
    ]
    assert dump.calls.recompute.tolist() == [1]


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        (
            "Torch.mm.0.backward",
            {"input": [tensor()], "output": [tensor(), None]},
            ["input 0", "output 0", "output 1"],
        ),
        ("Module.a.B.backward.0", {"input": None, "output": []}, []),
        ("Module.a.B.parameters_grad.0", {"w": [tensor()], "b": [None]}, ["grad w", "grad b"]),
        (
            "Module.a.B.parameters_grad",
            {"w": [tensor(), tensor()], "b": [None]},
            ["grad w", "grad w.1", "grad b"],
        ),
        ("x.0.debug", tensor(), ["debug"]),
        ("x_grad.0.debug", None, ["debug"]),
        (
            "y.1.debug",
            {"a": tensor(), "b": [tensor(), scalar("int", 3)]},
            ["debug a", "debug b.0", "debug b.1"],
        ),
        ("y.2.debug", {"output": [None]}, ["debug output.0"]),
        ("Torch.a.0.forward", {"input_args": [{}, []]}, ["input 0", "input 1"]),
        ("Torch.a.0.forward", {"output": tensor()}, ["output"]),
        ("Torch.a.0.forward", {"input_args": [None] * 70}, [f"input {i}" for i in range(70)]),
        ("Torch.a.0.forward", None, []),
        ("Torch.a.0.forward", {}, []),
        ("a new kind of name", {"input_args": [tensor()]}, ["input 0"]),
        ("another one", {"thing": tensor()}, ["debug thing"]),
    ],
)
def test_io_of(tmp_path: Path, name: str, body: Any, expected: list[str]) -> None:
    assert [leaf.io for leaf in all_leaves(read_one(tmp_path, name, body))] == expected


def test_names_follow_the_file_where_there_is_one(tmp_path: Path) -> None:
    e = "Functional.sdpa.0.forward"
    body = {
        "input_args": [tensor(data_name="00112233445566778899.npy")],
        "input_kwargs": {"mask": tensor(data_name=f"{e}.kwargs.mask.pt"), "bias": tensor()},
    }
    names = [leaf.name for leaf in all_leaves(read_one(tmp_path, e, body))]
    assert names == [f"{e}.input.0", f"{e}.kwargs.mask", f"{e}.input.bias"]


def test_grad_and_debug_names(tmp_path: Path) -> None:
    data = {
        "Module.a.B.parameters_grad.0": {"w": [tensor()]},
        "y.0.debug": {"b": [tensor()]},
        "x.0.debug": tensor(),
    }
    dump = read_dump(write(tmp_path, data))
    assert [dump.leaf_name(row) for row in range(3)] == [
        "Module.a.B.parameters_grad.0.w",
        "y.0.debug.b.0",
        "x.0.debug",
    ]


# ---- records ----


@pytest.mark.parametrize(
    ("record", "kind", "type_name", "value"),
    [
        (scalar("int", 1), "scalar", "int", 1),
        (scalar("bool", True), "scalar", "bool", True),
        (scalar("float", 0.1), "scalar", "float", 0.1),
        (scalar("float", -INF), "scalar", "float", -INF),
        (scalar("str", "name"), "scalar", "str", "name"),
        (scalar("float32", 2.5), "scalar", "float32", 2.5),
        (scalar("torch.Size", [2, 3]), "scalar", "torch.Size", [2, 3]),
        (scalar("slice", [None, 3, None]), "scalar", "slice", [None, 3, None]),
        (scalar("ellipsis", "..."), "scalar", "ellipsis", "..."),
        (
            scalar("torch.distributed.ReduceOp", "<RedOpType.SUM: 0>"),
            "scalar",
            "torch.distributed.ReduceOp",
            ...,
        ),
        (scalar("torch.dtype", "torch.int8"), "object", "torch.dtype", "torch.int8"),
        (scalar("torch.device", "npu:0"), "object", "torch.device", "npu:0"),
        ({"type": "torch.memory_format", "format": "channels_last"}, "object", "torch.memory_format", ...),
        (
            {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "1a"},
            "object",
            "torch.ProcessGroup",
            ...,
        ),
        ({}, "object", "", "{}"),
        ([], "object", "list", "[]"),
        (None, "none", "None", None),
        (7, "scalar", "int", 7),
        ("text", "scalar", "str", "text"),
    ],
)
def test_records_without_elements(tmp_path: Path, record: Any, kind: str, type_name: str, value: Any) -> None:
    (leaf,) = all_leaves(read_one(tmp_path, "Torch.a.0.forward", {"input_args": [record]}))
    assert (leaf.kind, leaf.type) == (kind, type_name)
    if value is ...:
        fields = record.get("value", {key: item for key, item in record.items() if key != "type"})
        value = fields if isinstance(fields, str) else json.dumps(fields)
    assert leaf.value == value
    assert type(leaf.value) is type(value)
    assert (leaf.dtype, leaf.shape, leaf.max, leaf.checksum, leaf.data_name) == (None,) * 5


def test_equal_values_of_other_types_stay_apart(tmp_path: Path) -> None:
    values = [1, True, 1.0, 0.0, -0.0, "1", NAN, [1], [True]]
    body = {"input_args": [scalar("x", value) for value in values]}
    found = [leaf.value for leaf in all_leaves(read_one(tmp_path, "Torch.a.0.forward", body))]
    assert repr(found) == repr(values)


def test_p2p_operation_shows_its_tensor(tmp_path: Path) -> None:
    record = {"class_type": "torch.distributed.P2POp", "tensor": tensor(), "op": "isend", "peer": 1, "tag": 0}
    e = "Distributed.batch_isend_irecv.0.forward"
    assert brief(read_one(tmp_path, e, {"input_args": [[record]]})) == [
        (
            f"{e}.input.0.0",
            "input 0.0",
            "object",
            "torch.distributed.P2POp",
            '{"op": "isend", "peer": 1, "tag": 0}',
        ),
        (f"{e}.input.0.0.tensor", "input 0.0.tensor", "tensor", T, None),
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, (2.5, -1.5, 0.5, 3.0)),
        ({"Max": NAN, "Min": -INF, "Mean": INF, "Norm": NAN}, (NAN, -INF, INF, NAN)),
        ({"Max": "nan", "Min": "-inf", "Mean": "Infinity", "Norm": " 1.5 "}, (NAN, -INF, INF, 1.5)),
        ({"Max": True, "Min": False, "Mean": None, "Norm": None}, (1.0, 0.0, None, None)),
        ({"Max": 9, "Min": -3, "Mean": "N/A", "Norm": [1]}, (9.0, -3.0, None, None)),
        ({"Max": 10**400, "Min": -(10**400), "Mean": {}, "Norm": ""}, (INF, -INF, None, None)),
    ],
)
def test_statistics(tmp_path: Path, fields: dict[str, Any], expected: tuple[float | None, ...]) -> None:
    dump = read_one(tmp_path, "Torch.a.0.forward", {"output": [tensor(**fields)]}, is_clean=False)
    n_texts = sum(type(value) is str for value in fields.values())
    assert bool(dump.problems) == bool(n_texts) and {p.kind for p in dump.problems} <= {"encoding"}
    assert dump.completeness == "complete"
    leaf = dump.leaf(0)
    assert repr((leaf.max, leaf.min, leaf.mean, leaf.norm)) == repr(expected)
    assert dump.leaves.present.tolist() == [
        sum(1 << k for k, value in enumerate(expected) if value is not None)
    ]
    assert [math.isnan(x) for x in dump.leaves.statistics[0]] == [
        value is None or math.isnan(value) for value in expected
    ]


def test_flags_of_nan_check(tmp_path: Path) -> None:
    entries = [("Torch.a.0.forward", {"output": [tensor()], "is_nan": flag}) for flag in (1, 0, None)]
    bodies = {f"Torch.a.{i}.forward": body for i, (_, body) in enumerate(entries)}
    dump = read_dump(write(tmp_path, bodies | {"Torch.b.0.forward": {"output": [tensor()]}}))
    assert dump.problems == () and dump.calls.is_nan is not None
    assert dump.calls.is_nan.tolist() == [1, 0, -1, -1]
    assert read_one(tmp_path, "Torch.c.0.forward", {"output": []}).calls.is_nan is None


def test_statistics_that_are_not_there(tmp_path: Path) -> None:
    record = {"type": "torch.Tensor", "dtype": "torch.int8", "shape": [], "md5": "0x00000000deadbeef"}
    dump = read_one(tmp_path, "Torch.a.0.forward", {"output": [record]})
    assert (dump.leaf(0).max, dump.leaf(0).checksum, dump.leaf(0).shape) == (None, "0x00000000deadbeef", ())
    assert dump.leaves.present.tolist() == [0]


def test_tensor_fields(tmp_path: Path) -> None:
    records = [
        tensor(md5="c8d4b74f", data_name="Torch.a.0.forward.input.0.pt", requires_grad=True),
        tensor(md5=17, requires_grad=None),
        {"type": "mindspore.Tensor", "dtype": "BFloat16", "shape": [4], "Max": 1.0},
        {"type": "numpy.ndarray", "dtype": "float32", "shape": [0, 3]},
        tensor(md5="c8d4b74f", type="torch.distributed.tensor.DTensor", placements=[{"Shard": {"dim": 0}}]),
        {"type": "torch.Tensor"},
    ]
    dump = read_one(tmp_path, "Torch.a.0.forward", {"input_args": records})
    leaves = all_leaves(dump)
    assert {leaf.kind for leaf in leaves} == {"tensor"}
    assert [leaf.checksum for leaf in leaves] == ["c8d4b74f", "17", None, None, "c8d4b74f", None]
    assert dump.leaves.checksum[0] == dump.leaves.checksum[4]
    assert [leaf.data_name for leaf in leaves] == ["Torch.a.0.forward.input.0.pt"] + [None] * 5
    assert [leaf.requires_grad for leaf in leaves] == [True, None, None, None, False, None]
    assert [leaf.dtype for leaf in leaves][2:] == ["BFloat16", "float32", "torch.float32", None]
    assert [leaf.shape for leaf in leaves] == [(2, 3), (2, 3), (4,), (0, 3), (2, 3), None]
    assert [leaf.type for leaf in leaves][2:5] == [
        "mindspore.Tensor",
        "numpy.ndarray",
        "torch.distributed.tensor.DTensor",
    ]


@pytest.mark.parametrize("shape", ["2x3", [2, -1], [1.5], [[2]], {"a": 1}, 5, [None], [2**70], [1] * 65])
def test_shapes_that_are_none_are_left_out(tmp_path: Path, shape: Any) -> None:
    dump = read_dump(write(tmp_path, {"Torch.a.0.forward": {"output": [tensor(shape=shape), tensor()]}}))
    assert [leaf.shape for leaf in all_leaves(dump)] == [None, (2, 3)]
    assert [p.kind for p in dump.problems] == ["shape"]
    assert dump.completeness == "complete"


# ---- header, order, columns ----


def test_header_and_calls(tmp_path: Path) -> None:
    data = {"b.0.forward": {"is_recompute": False}, "a.0.forward": {"is_recompute": True}, "c.0.forward": {}}
    path = write(tmp_path, data, dump_data_dir="/gone/dump_tensor_data")
    dump = read_dump(path)
    assert dump.header == DumpHeader("statistics", "mix", "pytorch", "/gone/dump_tensor_data")
    assert dump.completeness == "complete"
    assert list(dump.calls.names) == ["b.0.forward", "a.0.forward", "c.0.forward"]
    assert dump.calls.recompute.tolist() == [0, 1, -1]
    content = path.read_bytes()
    for name, byte in zip(dump.calls.names, dump.calls.byte.tolist(), strict=True):
        assert content[byte:].startswith(f'"{name}"'.encode())
    assert dump.tensor_dir == tmp_path / "dump_tensor_data"


@pytest.mark.parametrize(
    ("record", "framework"),
    [(tensor(), "pytorch"), (tensor(type="mindspore.Tensor"), "mindspore"), (None, "")],
)
def test_a_framework_that_is_not_named_is_told_from_the_records(
    tmp_path: Path, record: Any, framework: str
) -> None:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"data": {"a.0.forward": {"output": [record]}}, "task": 5}))
    assert read_dump(path).header == DumpHeader("", "", framework, None)


def test_data_may_come_first_and_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"data": {}, "task": "structure"}))
    dump = read_dump(path)
    assert (dump.header.task, len(dump.calls.names), dump.problems) == ("structure", 0, ())
    assert dump.calls.first_leaf.tolist() == [0]
    assert dump.leaves.statistics.shape == (0, 4)


def test_leaf_ranges_and_pickling(tmp_path: Path) -> None:
    data = {f"Torch.a.{i}.forward": {"input_args": [scalar("int", j) for j in range(i)]} for i in range(5)}
    dump = pickle.loads(pickle.dumps(read_dump(write(tmp_path, data))))
    assert [len(dump.leaf_range(call)) for call in range(5)] == [0, 1, 2, 3, 4]
    assert [dump.leaf(row).value for row in dump.leaf_range(3)] == [0, 1, 2]
    assert dump.leaves.call.tolist() == [i for i in range(5) for _ in range(i)]
    assert dump.calls.names[-1] == "Torch.a.4.forward"
    assert dump.calls.names[1:3] == ("Torch.a.1.forward", "Torch.a.2.forward")
    with pytest.raises(IndexError):
        dump.calls.names[5]


def test_columns_are_compact(tmp_path: Path) -> None:
    body = {"input_args": [tensor(Max=i * 0.5) for i in range(40)]}
    leaves = read_dump(write(tmp_path, {f"Torch.a.{i}.forward": body for i in range(1000)})).leaves
    arrays = [
        getattr(leaves, name) for name in leaves.__slots__ if isinstance(getattr(leaves, name), np.ndarray)
    ]
    assert sum(array.nbytes for array in arrays) == 64 * 40_000
    assert leaves.statistics[:40, 0].tolist() == [i * 0.5 for i in range(40)]
    assert np.array_equal(leaves.statistics[-40:], leaves.statistics[:40])


records = st.recursive(
    st.none()
    | st.builds(lambda value: scalar("int", value), st.integers())
    | st.builds(lambda a, b: tensor(Max=a, Min=b), st.floats(), st.none() | st.floats() | st.booleans()),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=4), inside, max_size=3),
    max_leaves=8,
)


def places(value: Any, path: str) -> list[tuple[str, Any]]:
    """The leaves below a value, by recursion: the definition, not the reader's way."""
    if isinstance(value, list) and value:
        return [found for i, item in enumerate(value) for found in places(item, f"{path}.{i}")]
    if isinstance(value, dict) and value and not isinstance(value.get("type"), str):
        return [found for key, item in value.items() for found in places(item, f"{path}.{key}")]
    return [(path, value)]


@given(bodies=st.lists(st.lists(records, max_size=3), max_size=4), window=st.integers(16, 3000))
def test_random_records(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[list[Any]], window: int
) -> None:
    data = {f"Torch.f.{i}.forward": {"input_args": body} for i, body in enumerate(bodies)}
    path = write(tmp_path_factory.mktemp("dump"), data)
    dump = read_dump(path, window_bytes=window)
    assert dump.problems == ()
    expected = [
        (f"Torch.f.{i}.forward.input{place}".encode("utf-8", "replace").decode(), value)
        for i, body in enumerate(json.loads(path.read_text())["data"].values())
        for place, value in (places(body["input_args"], "") if body["input_args"] else [])
    ]
    found = all_leaves(dump)
    assert [leaf.name for leaf in found] == [name for name, _ in expected]
    for leaf, (_, value) in zip(found, expected, strict=True):
        if leaf.kind == "tensor":
            assert repr([leaf.max, leaf.min]) == repr(
                [None if v is None else float(v) for v in (value["Max"], value["Min"])]
            )
        elif leaf.kind == "scalar":
            assert leaf.value == value["value"]
        else:
            assert leaf.kind == ("none" if value is None else "object")


# ---- damage ----


def test_cut_at_every_byte(tmp_path: Path) -> None:
    path = write(tmp_path, {f"Torch.a.{i}.forward": {"output": [tensor()]} for i in range(3)})
    whole = path.read_bytes()
    starts = [whole.index(f'"Torch.a.{i}.'.encode()) for i in range(3)]
    ends = [start - 4 for start in starts[1:]] + [whole.rindex(b"\n }")]
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        dump = read_dump(path)
        assert dump.completeness == "cut off"
        assert [(p.kind, p.byte) for p in dump.problems] == [("cut-off", cut)]
        assert len(dump.calls.names) == len(dump.leaves.call) == sum(end <= cut for end in ends)


def test_a_broken_entry_in_the_middle(tmp_path: Path) -> None:
    path = write(tmp_path, {f"Torch.a.{i}.forward": {"output": [tensor()]} for i in range(4)})
    text = path.read_text().replace('"Max": 2.5', '"Max": 2.5.5', 2).replace('"Max": 2.5.5', '"Max": 2.5', 1)
    path.write_text(text)
    dump = read_dump(path)
    assert list(dump.calls.names) == [f"Torch.a.{i}.forward" for i in (0, 2, 3)]
    assert [(p.kind, p.byte) for p in dump.problems] == [("bad-record", text.index("2.5.5") + 3)]
    assert dump.completeness == "unknown"


def nested(depth: int, inside: Any) -> Any:
    for _ in range(depth):
        inside = [inside]
    return inside


def test_depth_is_bounded_and_the_rest_goes_on(tmp_path: Path) -> None:
    data = {
        "Torch.a.0.forward": {"input_args": [tensor(), nested(390, None)]},
        "Torch.a.1.forward": {"input_args": [tensor(), nested(450, None)]},
        "Torch.a.2.forward": {"input_args": [{"k" * 1500: {"l" * 1500: None}}, tensor()]},
        "Torch.a.3.forward": {"input_args": [tensor()]},
    }
    dump = read_dump(write(tmp_path, data))
    assert [len(dump.leaf_range(call)) for call in range(4)] == [2, 1, 0, 1]
    assert [p.kind for p in dump.problems] == ["too-deep", "too-deep"]
    assert dump.leaf(1).io == "input 1" + ".0" * 390


def test_a_million_brackets_inside_an_entry(tmp_path: Path) -> None:
    deep = "[" * 1_000_000 + "]" * 1_000_000
    path = tmp_path / "dump.json"
    path.write_text(
        f'{{"data": {{\n  "a.0.forward": {{"output": {deep}}},\n  "b.0.forward": {{"output": [null]}}}}}}'
    )
    began = time.process_time()
    dump = read_dump(path)
    assert time.process_time() - began < 10
    assert list(dump.calls.names) == ["b.0.forward"]
    assert [p.kind for p in dump.problems] == ["too-deep"]


@pytest.mark.parametrize(
    ("body", "word"),
    [(5, "not an object"), ([tensor()], "not an object"), ({"new_side": [tensor()]}, "new_side")],
)
def test_bodies_of_unknown_form_are_problems(tmp_path: Path, body: Any, word: str) -> None:
    dump = read_dump(write(tmp_path, {"Torch.a.0.forward": body, "Torch.a.1.forward": {}}))
    assert len(dump.calls.names) == 2
    assert [p.kind for p in dump.problems] == ["bad-record"]
    assert word in dump.problems[0].message
    assert dump.problems[0].byte == dump.calls.byte[0]


def test_names_are_kept_as_they_are_unless_they_cannot_be_encoded(tmp_path: Path) -> None:
    names = ["[red]x[/red].0.debug", "\x1b[31m.0.debug", "a\0b.0.debug", "层.0.debug", "\ud800.0.debug"]
    dump = read_dump(write(tmp_path, {name: {"\udcff": scalar("str", "\ud800")} for name in names}))
    assert list(dump.calls.names) == [*names[:4], "?.0.debug"]
    assert {(leaf.io, leaf.value) for leaf in all_leaves(dump)} == {("debug ?", "?")}


def test_gbk_bytes_are_a_problem_and_readable(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_bytes('{"data": {"层.0.debug": {"type": "str", "value": "值"}}}'.encode("gbk"))
    dump = read_dump(path)
    assert list(dump.calls.names) == ["??.0.debug"]
    assert [(p.kind, p.byte) for p in dump.problems] == [("encoding", 11)]


def test_more_leaves_or_longer_paths_than_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, {f"Torch.a.{i}.forward": {"input_args": [None] * 10} for i in range(5)})
    monkeypatch.setattr(columns, "MAX_LEAVES", 25)
    dump = read_dump(path)
    assert (len(dump.leaves.call), dump.completeness) == (25, "unknown")
    assert [(p.kind, p.byte) for p in dump.problems] == [("limit", dump.calls.byte[2])]
    monkeypatch.setattr(columns, "MAX_LEAVES", 100)
    monkeypatch.setattr(columns, "MAX_PATH_CHARS_IN_ALL", len("input 0") * 3)
    assert len(read_dump(path).leaves.call) == 3


def test_more_types_than_codes(tmp_path: Path) -> None:
    n = 33_000
    dump = read_dump(
        write(tmp_path, {"Torch.a.0.forward": {"input_args": [scalar(f"t{i}", 0) for i in range(n)]}})
    )
    types = [leaf.type for leaf in (dump.leaf(0), dump.leaf(32_765), dump.leaf(n - 1))]
    assert types == ["t0", "t32765", "(other)"]


@pytest.mark.parametrize("content", ["{}", '{"a": 1}', '{"Functional.linear.0.forward": null}'])
def test_other_json_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "construct.json"
    path.write_text(content)
    with pytest.raises(InputError, match="no data"):
        read_dump(path)


def test_data_that_is_no_object_is_a_problem(tmp_path: Path) -> None:
    dump = read_dump(write(tmp_path, [1]))
    assert [p.kind for p in dump.problems] == ["bad-record"]


def test_problems_name_the_file_relative_to_the_run(tmp_path: Path) -> None:
    path = write(tmp_path, 5)
    assert read_dump(path, root=tmp_path).problems[0].artifact == "dump.json"
    assert read_dump(path).problems[0].artifact == str(path)


def test_iter_calls_gives_what_the_file_holds(tmp_path: Path) -> None:
    data = {"Torch.a.0.forward": {"output": [tensor()]}, "x.0.debug": None}
    path = write(tmp_path, data)
    problems: list[Any] = []
    found = list(iter_calls(path, problems))
    assert {name: body for _, name, body in found} == data
    assert [byte for byte, _, _ in found] == read_dump(path).calls.byte.tolist()
    path.write_bytes(path.read_bytes()[:-9])
    assert [name for _, name, _ in iter_calls(path, problems)] == ["Torch.a.0.forward"]
    assert [p.kind for p in problems] == ["cut-off"]
    with pytest.raises(Cancelled):
        next(iter_calls(path, is_cancelled=lambda: True))


@given(flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=5))
def test_flipped_bytes_never_end_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, flips: list[tuple[int, int]]
) -> None:
    data = {
        "Torch.a.0.forward": {"output": [tensor(md5="aa", data_name="a.pt")]},
        "y.0.debug": {"a": [scalar("int", 1)]},
    }
    path = write(tmp_path_factory.mktemp("flip"), data)
    raw = bytearray(path.read_bytes())
    for place, byte in flips:
        raw[place % len(raw)] = byte
    path.write_bytes(bytes(raw))
    try:
        dump = read_dump(path)
    except InputError:
        return
    assert len(all_leaves(dump)) == len(dump.leaves.call)
    json.dumps([*dump.calls.names, *dump.leaves.io_names, *dump.leaves.types], ensure_ascii=False).encode()


# ---- a dump that is written anew, longer each time ----


def same_dump(one: Dump, other: Dump) -> None:
    assert (one.header, one.completeness, one.problems) == (other.header, other.completeness, other.problems)
    for own, others in ((one.calls, other.calls), (one.leaves, other.leaves)):
        for field in dataclasses.fields(own):
            a, b = getattr(own, field.name), getattr(others, field.name)
            if isinstance(a, np.ndarray):
                assert a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), field.name
            elif isinstance(a, Sequence):
                assert repr(list(a)) == repr(list(b)), field.name
            else:
                assert a == b, field.name


def growing_entry(n: int, value: float) -> Any:
    record = {"type": "torch.Tensor", "dtype": f"torch.float{16 << n % 2}", "shape": [n % 3, 2], "Max": value}
    record |= {"Min": -1.0, "Mean": None, "Norm": "nan" if n % 5 == 4 else 1.0, "data_name": f"f.{n}.梯.pt"}
    return {"input_args": [record, {"type": "int", "value": n}], "input_kwargs": {}, "output": [record]}


@given(
    looks=st.lists(
        st.tuples(st.integers(0, 12), st.one_of(st.just(1.0), st.floats(0, 1)), st.booleans()), max_size=8
    ),
    indent=st.sampled_from([None, 1]),
    changes=st.dictionaries(st.integers(0, 7), st.integers(0, 40), max_size=2),
)
def test_read_on_it_is_what_it_is_read_anew(
    tmp_path_factory: pytest.TempPathFactory,
    looks: list[tuple[int, float, bool]],
    indent: int | None,
    changes: dict[int, int],
) -> None:
    path = tmp_path_factory.mktemp("growing") / "dump.json"
    growing = GrowingDump(path)
    entries: dict[str, Any] = {}
    for n_look, (n_more, share, is_nan) in enumerate(looks):
        for n in range(len(entries), len(entries) + n_more):
            entries[f"Functional.linear.{n}.forward"] = growing_entry(n, math.nan if is_nan else 0.5)
        changed = f"Functional.linear.{changes.get(n_look, -1)}.forward"
        if changed in entries:  # a place that is filled in later
            entries[changed]["output"][0] = {"type": "int", "value": n_look}
        head = {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None}
        text = json.dumps({**head, "data": entries}, indent=indent, ensure_ascii=False)
        path.write_text(text[: int(len(text) * share)], encoding="utf-8")
        try:
            cold = read_dump(path)
        except InputError:
            continue
        same_dump(growing.read(), cold)


@pytest.mark.budget
def test_a_look_at_a_long_dump_parses_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    entries = {f"Functional.linear.{n}.forward": growing_entry(n, 0.5) for n in range(20_500)}
    head = {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None}

    def write(n: int) -> None:
        body = dict(itertools.islice(entries.items(), n))
        path.write_text(json.dumps({**head, "data": body}, indent=1))

    growing = GrowingDump(path)
    write(20_000)
    begun = time.process_time()
    growing.read()
    cold_s = time.process_time() - begun
    write(20_500)
    begun = time.process_time()
    found = growing.read()
    assert len(found.calls.names) == 20_500
    assert time.process_time() - begun < cold_s / 4  # about a fifteenth

"""Dumps of ATB, msit, torchair, MindSpore and golden tensors: calls, order, places of elements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.formats.cann_files import Tensor, container, file_of
from tests.core.formats.test_tensors_torch import pickled, plain, zipped

from npulse.core.calls.captures import read_capture
from npulse.core.errors import InputError
from npulse.core.formats.atb import read_atb
from npulse.core.formats.dump_tables import read_dump_table
from npulse.core.formats.msprobe.records import Dump
from npulse.core.formats.tensors import TensorError
from npulse.core.precision.compare import compare_captures
from npulse.core.precision.verdict import VERDICTS
from npulse.core.progress import ignore_progress, never_cancelled
from npulse.core.run.discover import discover
from npulse.core.run.sides import Declared, capture_pairs, pair_of


def atb_file(
    array: Any = None, *, dtype: int = 0, alias: str = "", dims: str = "", tail: bytes = b""
) -> bytes:
    """A tensor as the probe writes it, or the name of another one's file in its place."""
    data = b"" if array is None else np.asarray(array).tobytes()
    lines = ["$Version=1.0", f"$Object.Count={int(not alias)}", f"$Object.Length={len(data)}", "format=2"]
    lines += [f"dtype={dtype}", f"dims={dims or ','.join(map(str, np.asarray(array).shape))}"]
    lines += [f"data={alias}"] if alias else [f"$Object.data=0,{len(data)}"]
    return ("\n".join(lines) + "\n$End=1\n").encode() + data + tail


def put(folder: Path, files: dict[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def read(folder: Path, kind: str, declared: Declared | None = None) -> Dump:
    artifact = next(a for a in discover(folder).artifacts if a.kind == kind)
    return read_capture(artifact, folder, declared or Declared(), ignore_progress, never_cancelled)


def leaves(dump: Dump) -> dict[str, Any]:
    """Elements, else statistics, else the value of every leaf."""
    found: dict[str, Any] = {}
    for row in range(len(dump.leaves.call)):
        leaf = dump.leaf(row)
        file = None if dump.located is None else dump.located.file(row)
        if file is not None:
            found[leaf.name] = file.array().tolist()
        else:
            found[leaf.name] = (leaf.max, leaf.norm) if leaf.kind == "tensor" else leaf.value
    return found


X, Y = np.array([[1, 2], [3, 4]], "<f4"), np.array([[5, 6], [7, 8]], "<f4")


def _atb(folder: Path, inner: Any = Y) -> Path:
    """Two operations; the second has one inside of it, whose output is its own."""
    return put(
        folder,
        {
            "0_7/0/0_Embed/before/intensor0_ids.bin": atb_file(np.array([1, 0], "<i8"), dtype=9),
            "0_7/0/0_Embed/after/outtensor0.bin": atb_file(X, tail=atb_file(Y)),  # a rerun into one folder
            "0_7/0/10_Layer/before/intensor0.bin": atb_file(alias="0_outtensor0.bin", dims="2,2"),
            "0_7/0/10_Layer/after/outtensor0.bin": atb_file(inner),
            "0_7/0/10_Layer/op_param.json": json.dumps({"eps": 0.5, "deep": {"on": True}, "axes": [2]}),
            "0_7/0/10_Layer/0_Norm/before/intensor0.bin": atb_file(alias="10_intensor0.bin", dims="4"),
            "0_7/0/10_Layer/0_Norm/after/outtensor0.bin": atb_file(inner),
        },
    )


def test_operations_of_atb_with_what_is_inside_of_them(tmp_path: Path) -> None:
    dump = read(_atb(tmp_path), "atb.dump")
    assert list(dump.calls.names) == ["0_Embed", "10_Layer/0_Norm", "10_Layer"]
    assert dump.hierarchy is not None
    assert dump.hierarchy.parents == {"0_Embed": None, "10_Layer/0_Norm": "10_Layer", "10_Layer": None}
    assert leaves(dump) == {
        "0_Embed.input.0": [1, 0],
        "0_Embed.output.0": X.tolist(),
        "10_Layer/0_Norm.input.0": [1, 2, 3, 4],  # through two names, in the shape of its own
        "10_Layer/0_Norm.output.0": Y.tolist(),
        "10_Layer.input.eps": 0.5,
        "10_Layer.input.deep.on": True,
        "10_Layer.input.axes.0": 2,
        "10_Layer.input.0": X.tolist(),
        "10_Layer.output.0": Y.tolist(),
    }
    assert dump.problems == ()


def test_the_operation_inside_is_the_origin_not_the_one_around_it(tmp_path: Path) -> None:
    target, golden = _atb(tmp_path / "npu", Y * 2), _atb(tmp_path / "golden")
    (rank,) = compare_captures(pair_of(target, golden)).ranks
    assert [rank.target.calls.names[o.call] for o in rank.roles.origins] == ["10_Layer/0_Norm"]


def test_statistics_of_atb_without_tensors(tmp_path: Path) -> None:
    header = (
        "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,"
    )
    rows = [
        "0_7,0,Layer,G,0,output,0,bf16,nd,2x2,8,1,N/A,9,N/A",
        "0_7,0,Layer/Norm,N,0_1,input,0_x,float16,nd,4,3,-3,0,5,N/A",
    ]
    text = "\n".join([header + "Mean,Norm,Tensor Path", *rows]) + "\n"
    dump = read(put(tmp_path, {"0_7/0/statistic.csv": text}), "atb.dump")
    assert leaves(dump) == {"0_Layer/1_Norm.input.0": (3.0, 5.0), "0_Layer.output.0": (8.0, 9.0)}
    assert dump.leaf(1).dtype == "bfloat16"


@pytest.mark.parametrize(
    "alias", ["0_outtensor0.bin", "9_outtensor0.bin", "../../secret.bin", "/etc/passwd", "0_outtensor7.bin"]
)
def test_an_alias_leads_nowhere_else(alias: str, tmp_path: Path) -> None:
    files = {"0_7/0/0_A/after/outtensor0.bin": atb_file(alias=alias, dims="2")}
    dump = read(put(tmp_path, files), "atb.dump")
    assert leaves(dump) == {"0_A.output.0": (None, None)}
    assert len(dump.problems) == 1


@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 255), st.integers(0, 400))
def test_any_bytes_of_atb_are_read_or_refused(tail: bytes, at: int, value: int, cut: int) -> None:
    content = bytearray(atb_file(X) + tail)
    content[at % len(content)] = value
    with file_of(bytes(content[:cut]), "intensor0.bin") as path:
        try:
            tensor = read_atb(path, root=path.parent)
        except TensorError:
            return
        if tensor.file is not None:
            assert tensor.file.offset + tensor.file.size_bytes <= path.stat().st_size


# ---- msit, torchair, MindSpore ----


def _torch(array: Any) -> bytes:
    value, storages = plain(np.asarray(array, "<f4"), "float32")
    return zipped(pickled(value), storages)


def test_modules_of_msit_in_the_order_of_their_table(tmp_path: Path) -> None:
    rows = "NodeName,NodeType,InputOutput,Index,DataType,Shape,Max,Min,Mean,L2Norm\n"
    rows += 'b.fc,Linear,output,0,float32,"[2]",1,1,1,1\nb,Block,output,0,float32,"[2]",1,1,1,1\n'
    rows += 'a,Linear,output,0,float32,"[2]",1,1,1,1\n'
    folder = "torch_tensors/npu0_99/0"
    files = {f"{folder}/{name}/output.pth": _torch([1, 2]) for name in ("a", "b", "b.fc")}
    put(tmp_path, {**files, f"{folder}/a/input_0_1.pth": _torch([3])})
    dump = read(tmp_path, "msit.dump")
    assert not dump.is_ordered
    put(tmp_path, {f"{folder}/statistics.csv": rows})
    dump = read(tmp_path, "msit.dump")
    assert dump.is_ordered
    assert list(dump.calls.names) == ["b.fc", "b", "a"]
    assert dump.hierarchy is not None
    assert dump.hierarchy.parents == {"a": None, "b": None, "b.fc": "b"}
    assert leaves(dump)["a.input.0.1"] == [3]


def test_nodes_of_a_traced_graph_in_the_order_of_their_times(tmp_path: Path) -> None:
    folder = tmp_path / "msprobe_fx_dump/worldsize1_global_rank0/model/0"
    folder.mkdir(parents=True)
    for name in (
        "2-add.OUTPUT.0.20240101000003",
        "2-add.INPUT.0.20240101000002",
        "1-mm.OUTPUT.0.20240101000001",
    ):
        np.save(folder / f"{name}.npy", X)
    dump = read(tmp_path, "torchair.dump")
    assert list(dump.calls.names) == ["1-mm", "2-add"]
    assert list(leaves(dump)) == ["1-mm.output.0", "2-add.input.0", "2-add.output.0"]
    assert dump.is_ordered


def test_a_table_of_mindspore_is_a_dump_of_statistics(tmp_path: Path) -> None:
    text = (
        "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,max,min,l2norm\n"
        'MatMul,Default/net/MatMul-op1,0,0,16000,input,0,16,float32,"(2, 2)",4,1,5.5\n'
        'MatMul,Default/net/MatMul-op1,0,0,16000,output,0,16,float32,"(2, 2)",8,2,\n'
        "broken\n"
    )
    dump = read(put(tmp_path, {"rank_3/net/1/0/statistic.csv": text}), "mindspore.statistic")
    assert leaves(dump) == {
        "Default_net_MatMul-op1.input.0": (4.0, 5.5),
        "Default_net_MatMul-op1.output.0": (8.0, None),
    }
    assert [problem.kind for problem in dump.problems] == ["bad-record"]


def test_elements_before_statistics_of_the_same_folder(tmp_path: Path) -> None:
    name = "MatMul.Default_net_MatMul-op1.0.0.1749633330000123"
    head = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,max\n"
    for side in ("npu", "golden"):
        folder = tmp_path / side
        folder.mkdir()
        np.save(folder / f"{name}.output.0.ND.FLOAT.npy", X)
        (folder / "statistic.csv").write_text(head)
    (pair,) = capture_pairs(discover(tmp_path))
    assert {artifact.kind for artifact in (*pair.target, *pair.golden)} == {"cann.dump"}
    (rank,) = compare_captures(pair).ranks
    assert rank.rows.figure("cosine", 0) == 1.0


# ---- compiled graphs against golden tensors ----


def _op(name: str, inputs: list[str], origin: str, kind: str = "MatMul") -> dict[str, Any]:
    said = [{"key": "_datadump_origin_name", "value": {"s": origin}}]
    said.append({"key": "_datadump_origin_output_index", "value": {"i": 0}})
    return {"name": name, "type": kind, "input": inputs, "output_desc": [{"attr": said}]}


def _fused(tmp_path: Path, made: Any) -> tuple[Path, Path, Declared]:
    """a → (cast) → b and c fused into one operator; golden tensors of a, b and c."""
    ops = [_op("a", [], "a"), _op("cast_1", ["a:0"], "", "Cast"), _op("b_c", ["cast_1:0", "b:-1"], "x/c")]
    rule = {"name": "net", "graph": [{"name": "g", "op": [{**op, "id": n} for n, op in enumerate(ops)]}]}
    put(tmp_path, {"rule.json": json.dumps(rule)})
    first = container(outputs=[Tensor(X.tobytes(), shape=(2, 2))])
    second = container([Tensor(X.tobytes(), shape=(2, 2))], [Tensor(made.tobytes(), shape=(2, 2))])
    put(
        tmp_path / "npu",
        {
            "MatMul.a.1.2.1749633330000001": first,
            "MatMul.b_c.2.2.1749633330000002": second,
        },
    )
    (tmp_path / "onnx").mkdir()
    for name, array in (("a", X), ("b", Y), ("x_c", Y)):
        np.save(tmp_path / "onnx" / f"{name}.0.1749633330000000.npy", array)
    return tmp_path / "npu", tmp_path / "onnx", Declared(fusion_rule=tmp_path / "rule.json")


def test_a_fused_operator_is_compared_at_its_end_and_its_inputs_prove_it(tmp_path: Path) -> None:
    target, golden, rule = _fused(tmp_path, Y * 2)
    (rank,) = compare_captures(pair_of(target, golden, declared=rule)).ranks
    assert [rank.target.calls.names[o.call] for o in rank.roles.origins] == ["b_c"]
    assert list(rank.golden.calls.names) == ["a", "b_c", "b"]  # b has no counterpart: it is inside


def test_without_the_rule_nothing_stands_against_the_fused_operator(tmp_path: Path) -> None:
    target, golden, _ = _fused(tmp_path, Y * 2)
    (rank,) = compare_captures(pair_of(target, golden)).ranks
    assert rank.roles.origins == []
    assert not rank.golden.is_ordered  # all were written at one time


@pytest.mark.parametrize("text", ["", "[]", '{"graph": 3}', "[" * 100_000, "\x00"])
def test_what_is_no_fusion_rule_is_refused(text: str, tmp_path: Path) -> None:
    target, golden, rule = _fused(tmp_path, Y)
    (tmp_path / "rule.json").write_text(text)
    with pytest.raises(InputError):
        compare_captures(pair_of(target, golden, declared=rule))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["op", "name", "attr", "key", "value", "s", "i", "input", "output_desc"]), inner
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=3))
def test_any_fusion_rule_is_read_or_refused(graphs: list[Any]) -> None:
    from npulse.core.formats.cann.fusion_rule import read_fusion_rule

    with file_of(json.dumps({"graph": graphs}).encode(), "rule.json") as path:
        for op in read_fusion_rule(path, []):
            assert isinstance(op.name, str)


def test_axes_of_length_one_are_no_other_shape(tmp_path: Path) -> None:
    file = container(outputs=[Tensor(X.tobytes(), shape=(1, 2, 2))])
    put(tmp_path / "npu", {"MatMul.a.1.2.1749633330000001": file})
    (tmp_path / "onnx").mkdir()
    np.save(tmp_path / "onnx" / "a.0.1749633330000000.npy", X + np.array([[0, 0], [0, 4]], "<f4"))
    (rank,) = compare_captures(pair_of(tmp_path / "npu", tmp_path / "onnx")).ranks
    assert rank.rows.figure("max_abs_error", 0) == 4.0
    assert rank.rows.examinations[0].max_abs_error_index == (0, 1, 1)  # in the shape of the target


def test_statistics_of_a_tensor_in_tiles_prove_nothing_about_its_elements(tmp_path: Path) -> None:
    head = (
        "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
    )
    head += "Negative Inf Count,Positive Inf Count\n"
    row = "Output,0,1024,DT_FLOAT,FRACTAL_NZ,1x1x16x16,9,0,1,256,0,0,0\n"
    put(tmp_path / "stats", {"MatMul.a.1.2.1749633330000001.csv": head + row})
    tiles = np.zeros((1, 1, 16, 16), "<f4")
    made = Tensor(tiles.tobytes(), format=29, shape=tiles.shape, original_shape=(10, 12))
    put(tmp_path / "npu", {"MatMul.a.1.2.1749633330000001": container(outputs=[made])})
    (rank,) = compare_captures(pair_of(tmp_path / "stats", tmp_path / "npu")).ranks
    assert rank.target.leaf(0).shape is None
    assert rank.golden.leaf(0).shape == (10, 12)
    assert VERDICTS[int(rank.rows.verdict[0])] == "unknown"


def test_a_capture_is_no_counterpart_of_one_that_lies_in_it(tmp_path: Path) -> None:
    file = container(outputs=[Tensor(X.tobytes(), shape=(2, 2))])
    put(tmp_path, {"MatMul.a.1.2.1749633330000001": file, "expected/MatMul.a.1.2.1749633330000001": file})
    assert capture_pairs(discover(tmp_path)) == ()


CELLS = st.lists(st.text("Ii/Op,Nnput01x\"'\n\r;-e.", max_size=8), max_size=8)


@given(st.lists(CELLS, max_size=6), st.booleans())
def test_any_table_is_read_or_refused(rows: list[list[str]], has_header: bool) -> None:
    head = "Op Name,IO,Slot,Shape,max\n" if has_header else ""
    with file_of((head + "\n".join(map(",".join, rows))).encode(), "statistic.csv") as path:
        try:
            found = read_dump_table(path, root=path.parent, problems=[])
        except InputError:
            return
    assert all(row.io in ("input", "output") and row.op for row in found)


def test_tensors_of_a_captured_graph_are_compared(tmp_path: Path) -> None:
    for side, factor in (("npu", 2), ("golden", 1)):
        folder = tmp_path / side / "step0" / "rank0" / "tensor_data"
        folder.mkdir(parents=True)
        for n, array in enumerate((X, Y * factor)):
            np.save(folder / f"aten.mm.{n}.output.0.npy", array)
    (pair,) = capture_pairs(discover(tmp_path))
    assert pair.target[0].kind == "msprobe.aclgraph"
    (rank,) = compare_captures(pair).ranks
    verdicts = {
        rank.target.calls.names[int(rank.rows.pairing.target_call[call])]: code
        for call, code in zip(rank.rows.pairing.row_call.tolist(), rank.rows.verdict.tolist(), strict=True)
    }
    assert {name: VERDICTS[code] for name, code in verdicts.items()} == {
        "aten.mm.0": "pass",
        "aten.mm.1": "error",
    }
    assert rank.roles.origins == []  # what they were given was not captured


def _msprobe(folder: Path, calls: dict[str, tuple[Any, Any]]) -> None:
    """A tensor dump of msprobe: input and output of each call."""
    data: dict[str, Any] = {}
    (folder / "dump_tensor_data").mkdir(parents=True)
    for name, arrays in calls.items():
        records = []
        for io, array in zip(("input", "output"), arrays, strict=True):
            file = f"{name}.{io}.0.npy"
            np.save(folder / "dump_tensor_data" / file, array)
            shape = list(array.shape)
            records.append(
                {"type": "torch.Tensor", "dtype": "torch.float32", "shape": shape, "data_name": file}
            )
        data[name] = {"input_args": [records[0]], "input_kwargs": {}, "output": [records[1]]}
    text = {"task": "tensor", "level": "L1", "dump_data_dir": None, "data": data}
    (folder / "dump.json").write_text(json.dumps(text))


def test_atb_against_a_dump_of_torch_by_what_each_call_runs(tmp_path: Path) -> None:
    put(
        tmp_path / "npu",
        {
            "0_7/0/0_Linear/before/intensor0.bin": atb_file(X),
            "0_7/0/0_Linear/after/outtensor0.bin": atb_file(Y.reshape(1, 2, 2)),
            "0_7/0/1_RmsNorm/before/intensor0.bin": atb_file(Y),
            "0_7/0/1_RmsNorm/after/outtensor0.bin": atb_file(X * 3),
        },
    )
    golden = {"Functional.linear.0.forward": (X, Y), "Functional.rms_norm.0.forward": (Y, X)}
    _msprobe(tmp_path / "golden" / "step0" / "rank0", golden)
    (rank,) = compare_captures(capture_pairs(discover(tmp_path))[0]).ranks
    calls = zip(rank.rows.pairing.target_call.tolist(), rank.rows.pairing.golden_call.tolist(), strict=True)
    assert [(rank.target.calls.names[t], rank.golden.calls.names[g]) for t, g in calls] == [
        ("0_Linear", "Functional.linear.0.forward"),
        ("1_RmsNorm", "Functional.rms_norm.0.forward"),
    ]
    assert [rank.target.calls.names[o.call] for o in rank.roles.origins] == ["1_RmsNorm"]


def test_operators_of_two_graphs_with_other_names(tmp_path: Path) -> None:
    for side, names, factor in (("npu", ("fused_1", "fused_2"), 3), ("golden", ("x", "y"), 1)):
        files: dict[str, bytes | str] = {}
        for n, (kind, name, before, made) in enumerate(
            (("MatMulV2", names[0], X, Y), ("LayerNormV3", names[1], Y, X * factor))
        ):
            content = container(
                [Tensor(before.tobytes(), shape=(2, 2))], [Tensor(made.tobytes(), shape=(2, 2))]
            )
            files[f"{kind}.{name}.{n + 1}.2.174963333000000{n}"] = content
        put(tmp_path / side, files)
    (rank,) = compare_captures(capture_pairs(discover(tmp_path))[0]).ranks
    assert [rank.target.calls.names[o.call] for o in rank.roles.origins] == ["fused_2"]

"""Graph mode: overflow records of the device joined to the operator dumps beside them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from npulse.core.overflow.analyse import Overflow
from npulse.core.overflow.graph import GraphPart

from ..formats.cann_files import Tensor, container, legacy_payload, magic_payload, opdebug
from .small_dumps import analysed, reported

STREAM = 563
T = 1749633420000000
FLOAT16 = 2
FINE = np.linspace(-3, 9, 6, dtype=np.float16)
PLUS = np.array([1, 2, np.inf, 3, 4, 5], np.float16)
BAD = np.array([1, np.nan, np.inf, 3, 4, 5], np.float16)

Arrays = list[npt.NDArray[np.float16]]


def dump(
    folder: Path, name: str, task: int, when: int, inputs: Arrays, outputs: Arrays, stream: int = STREAM
) -> Path:
    """An operator's dump as the device writes it."""
    sides = [[Tensor(x.tobytes(), FLOAT16, shape=x.shape) for x in arrays] for arrays in (inputs, outputs)]
    path = folder / f"{name}.{name}_op.{task}.{stream}.{T + when}"
    path.write_bytes(container(*sides))
    return path


def converted(folder: Path, name: str, task: int, when: int, inputs: Arrays, outputs: Arrays) -> None:
    """The same behind a converter: one file a tensor."""
    for word, arrays in (("input", inputs), ("output", outputs)):
        for i, x in enumerate(arrays):
            np.save(folder / f"{name}.{name}_op.{task}.{STREAM}.{T + when}.{word}.{i}.npy", x)


def legacy(task: int, stream: int = STREAM, status: int = 32) -> bytes:
    return legacy_payload((1, stream, task, 0, 0, 0), kernel_block_status=(0, 1, status))


def magic(task: int, stream: int = STREAM, status: int = 1, context: int = 65535) -> bytes:
    return magic_payload((1, stream, task, 66, context, 65535, 0, 0, 0, 15, status))


def record(folder: Path, payload: bytes, when: int, own_task: int = 99) -> Path:
    path = folder / f"Opdebug.Node_OpDebug.{own_task}.{STREAM}.{T + when}"
    path.write_bytes(opdebug(payload))
    return path


def as_json(folder: Path, when: int, task: int, *, is_magic: bool, own_task: int = 99) -> Path:
    words = {"model_id": 1, "stream_id": STREAM, "task_id": task, "task_type": 0, "pc_start": "0x0"}
    body: dict[str, Any] = {"AI Core": {**words, "block_idx": 1, "kernel_code": "0x0", "status": 32}}
    if is_magic:
        words |= {"context_id": 65535, "thread_id": 65535, "status": 1}
        body = {
            "magic": "0x5a5a5a5a",
            "version": 0,
            "acc_list": {"valid": 1, "acc_type": "AIV", "data": words},
        }
    path = folder / f"Opdebug.Node_OpDebug.{own_task}.{STREAM}.{T + when}.output.0.json"
    path.write_text(json.dumps(body, indent=4))
    return path


def part_of(found: Overflow) -> GraphPart:
    (part,) = found.graph
    return part


def joined(found: Overflow) -> list[tuple[str, str]]:
    part = part_of(found)
    return [(one.entry.unit, part.rank.name(one.call) if one.call >= 0 else "-") for one in part.joined]


def begun(found: Overflow) -> list[str]:
    return [found.looked_through[p].name(origin.call) for p, origin in found.origins()]


def errors(found: Overflow) -> list[tuple[str, str, str]]:
    return [(f.rule, f.role, f.subject) for f in reported(found).findings if f.severity == "error"]


@pytest.mark.parametrize("writer", [dump, converted])
def test_by_task_and_stream_inside_and_in_the_order_of_time(writer: Any, tmp_path: Path) -> None:
    """The name of the later one comes first, and a record's own task is that of another operator."""
    writer(tmp_path, "Add", 57, 900, [PLUS], [BAD])
    writer(tmp_path, "Exp", 41, 500, [FINE], [PLUS])
    writer(tmp_path, "Aaa", 99, 100, [FINE], [FINE])
    record(tmp_path, legacy(57), 950, own_task=11)
    as_json(tmp_path, 550, 41, is_magic=True)
    found = analysed(tmp_path)
    assert joined(found) == [("AIV", "Exp_op"), ("AI Core", "Add_op")]
    assert begun(found) == ["Exp_op"]
    assert errors(found) == [("overflow.record", "origin", "Exp_op")]
    (first,) = [f for f in reported(found).findings if f.severity == "error"]
    assert (first.figures["op_type"], first.figures["first_index"]) == ("Exp", [2])
    (second,) = [f for f in reported(found).findings if f.role == "inherited"]
    assert (second.rule, second.subject, second.severity) == ("overflow.record", "Add_op", "note")
    assert found.problems == ()


@pytest.mark.parametrize("form", ["legacy", "magic", "legacy-json", "magic-json"])
def test_every_form_of_a_record(form: str, tmp_path: Path) -> None:
    dump(tmp_path, "Exp", 41, 500, [FINE], [PLUS])
    if form.endswith("json"):
        as_json(tmp_path, 550, 41, is_magic=form == "magic-json")
    else:
        record(tmp_path, legacy(41) if form == "legacy" else magic(41), 550)
    found = analysed(tmp_path)
    assert joined(found) == [("AI Core" if form.startswith("legacy") else "AIV", "Exp_op")]
    assert errors(found) == [("overflow.record", "origin", "Exp_op")]


@pytest.mark.parametrize(
    ("task", "stream", "name"), [(41, STREAM, "Exp_op"), (41, 7, "-"), (40, STREAM, "-"), (99, STREAM, "-")]
)
def test_task_and_stream_both_count(task: int, stream: int, name: str, tmp_path: Path) -> None:
    dump(tmp_path, "Exp", 41, 500, [FINE], [PLUS])
    record(tmp_path, legacy(task, stream), 550)
    assert joined(analysed(tmp_path)) == [("AI Core", name)]


def test_of_several_executions_the_earliest(tmp_path: Path) -> None:
    dump(tmp_path, "Exp", 41, 700, [FINE], [FINE])
    dump(tmp_path, "Log", 41, 300, [FINE], [PLUS])
    record(tmp_path, legacy(41), 800)
    assert joined(analysed(tmp_path)) == [("AI Core", "Log_op")]


def test_a_unit_that_reports_nothing_is_no_overflow(tmp_path: Path) -> None:
    dump(tmp_path, "Exp", 41, 500, [FINE], [FINE])
    record(tmp_path, legacy(41, status=0), 550)
    found = analysed(tmp_path)
    assert joined(found) == []
    assert reported(found).exit_code() == 0


def test_all_units_of_one_record(tmp_path: Path) -> None:
    dump(tmp_path, "Exp", 41, 500, [FINE], [PLUS])
    payload = bytearray(legacy(41))
    struct.pack_into("<6Q", payload, 0, 1, STREAM, 41, 0, 0, 0)
    struct.pack_into("<Q", payload, 512, 9)
    record(tmp_path, bytes(payload), 550)
    assert joined(analysed(tmp_path)) == [("DHA Atomic Add", "Exp_op"), ("AI Core", "Exp_op")]


def test_a_record_without_its_operator(tmp_path: Path) -> None:
    path = record(tmp_path, magic(41), 550)
    found = analysed(tmp_path)
    assert joined(found) == [("AIV", "-")]
    (finding,) = [f for f in reported(found).findings if f.severity == "error"]
    assert (finding.rule, finding.subject) == ("overflow.record", path.name)
    assert (finding.figures["task_id"], finding.figures["stream_id"]) == (41, STREAM)


def test_the_converters_copy_is_the_same_record(tmp_path: Path) -> None:
    dump(tmp_path, "Exp", 41, 500, [FINE], [PLUS])
    record(tmp_path, legacy(41), 550)
    as_json(tmp_path, 550, 41, is_magic=False)
    assert joined(analysed(tmp_path)) == [("AI Core", "Exp_op")]


def test_an_operator_without_a_record_is_looked_at_all_the_same(tmp_path: Path) -> None:
    dump(tmp_path, "Exp", 41, 500, [FINE], [PLUS])
    dump(tmp_path, "Add", 42, 600, [PLUS], [BAD])
    found = analysed(tmp_path)
    assert begun(found) == ["Exp_op"]
    assert errors(found) == [("overflow.origin", "origin", "Exp_op")]


def test_only_consequences_were_dumped(tmp_path: Path) -> None:
    """The input is bad already: where it began is not here, and it is an error all the same."""
    dump(tmp_path, "Add", 42, 600, [PLUS], [BAD])
    record(tmp_path, legacy(42), 650)
    assert reported(analysed(tmp_path)).exit_code() == 1


@pytest.mark.parametrize("n", [2048 - 1, 2048 + 8, 1100, 600])
def test_a_record_of_another_size_is_told(n: int, tmp_path: Path) -> None:
    dump(tmp_path, "Exp", 41, 500, [FINE], [PLUS])
    path = record(tmp_path, (legacy(41) + bytes(64))[:n], 550)
    found = analysed(tmp_path)
    assert [(p.artifact, p.kind) for p in found.problems] == [(path.name, "bad-record")]
    assert begun(found) == ["Exp_op"]
    assert joined(found) == ([("AI Core", "Exp_op")] if n > 1048 else [])
    assert reported(found).exit_code() == 1


@pytest.mark.parametrize("content", [b"", b"{", b'{"a": 1}', b"\x00" * 7, b"\xff" * 64, opdebug(bytes(8))])
def test_a_record_that_cannot_be_read(content: bytes, tmp_path: Path) -> None:
    dump(tmp_path, "Exp", 41, 500, [FINE], [FINE])
    path = tmp_path / f"Opdebug.Node_OpDebug.99.{STREAM}.{T}"
    path.write_bytes(content)
    found = analysed(tmp_path)
    assert {p.artifact for p in found.problems} == {path.name}
    assert reported(found).exit_code() == 4


@pytest.mark.parametrize("keep", [0, 7, 40, 100])
def test_a_dump_that_was_cut(keep: int, tmp_path: Path) -> None:
    path = dump(tmp_path, "Exp", 41, 500, [FINE], [PLUS])
    path.write_bytes(path.read_bytes()[:keep])
    record(tmp_path, legacy(41), 550)
    found = analysed(tmp_path)
    assert path.name in {p.artifact for p in found.problems}
    assert errors(found)


@pytest.mark.parametrize(
    ("counts", "begins"), [("0,0,0", False), ("1,0,0", True), ("0,2,0", True), ("0,0,3", True)]
)
def test_statistics_instead_of_tensors(counts: str, begins: bool, tmp_path: Path) -> None:
    """Max and Min leave NaN and Inf out: the counts tell them."""
    head = "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count"
    head += ",Nan Count,Negative Inf Count,Positive Inf Count"
    rows = ["Input,0,12,DT_FLOAT16,ND,6,9,-3,3,6,0,0,0", f"Output,0,12,DT_FLOAT16,ND,6,9,-3,3,6,{counts}"]
    (tmp_path / f"Exp.Exp_op.41.{STREAM}.{T}.csv").write_text("\n".join([head, *rows]) + "\n")
    found = analysed(tmp_path)
    assert begun(found) == (["Exp_op"] if begins else [])
    health = part_of(found).rank.health
    assert [health.count(n, 1) for n in ("nan", "minus_inf", "plus_inf")] == [
        int(n) for n in counts.split(",")
    ]


def test_folders_are_apart(tmp_path: Path) -> None:
    for name, out in (("a", PLUS), ("b", FINE)):
        (tmp_path / name).mkdir()
        dump(tmp_path / name, "Exp", 41, 500, [FINE], [out])
        record(tmp_path / name, legacy(41), 550)
    found = analysed(tmp_path)
    assert len(found.graph) == 2
    assert begun(found) == ["Exp_op"]
    assert [one.call for part in found.graph for one in part.joined] == [0, 0]


def test_places_of_what_is_bad(tmp_path: Path) -> None:
    x = np.zeros((3, 8), np.float16)
    x[2, 7] = np.inf
    converted(tmp_path, "Exp", 41, 500, [FINE], [x])
    found = analysed(tmp_path)
    (places,) = part_of(found).places.values()
    assert [place.index for place in places.first] == [(2, 7)]

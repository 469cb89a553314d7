"""The msprobe readers on files that the real tool wrote, against a plain walk over the whole JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from npulse.core.formats.msprobe.construct import ancestors, read_construct
from npulse.core.formats.msprobe.dump import iter_calls, read_dump
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.orphans import entries_from_files
from npulse.core.formats.msprobe.records import Dump
from npulse.core.formats.msprobe.stacks import read_stacks, user_frame

STATISTICS = ("Max", "Min", "Mean", "Norm")


def files(shared: Path, name: str) -> list[Path]:
    found = sorted((shared / "samples").rglob(name)) + sorted((shared / "cases").rglob(name))
    assert found
    return found


def dumps(shared: Path) -> list[Path]:
    return files(shared, "dump.json") + files(shared, "debug.json")


def is_cut(path: Path) -> bool:
    return "C30" in path.parts


def records(value: Any) -> Iterator[dict[str, Any]]:
    """All tensor records below a value, by plain recursion."""
    if isinstance(value, dict) and "dtype" in value and "shape" in value:
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from records(item)


def number(value: Any) -> float | None:
    return None if value is None else float(value)


def test_every_dump_opens_without_a_problem(shared: Path) -> None:
    for path in dumps(shared):
        if not is_cut(path):
            dump = read_dump(path, root=shared)
            assert (dump.problems, dump.completeness) == ((), "complete"), path


def test_numbers_equal_those_of_the_whole_file_parser(shared: Path) -> None:
    for path in dumps(shared):
        if is_cut(path):
            continue
        document = json.loads(path.read_bytes())
        dump = read_dump(path)
        assert dump.header.task == document["task"]
        assert dump.header.dump_data_dir == document["dump_data_dir"]
        assert list(dump.calls.names) == list(document["data"])
        for call, entry in enumerate(document["data"].values()):
            expected = sorted(
                repr([record["dtype"], tuple(record["shape"]), *(number(record.get(s)) for s in STATISTICS)])
                for record in records(entry)
            )
            leaves = [dump.leaf(row) for row in dump.leaf_range(call)]
            found = sorted(
                repr([leaf.dtype, leaf.shape, leaf.max, leaf.min, leaf.mean, leaf.norm])
                for leaf in leaves
                if leaf.kind == "tensor"
            )
            assert found == expected, (path, dump.calls.names[call])


def test_the_zoo_holds_no_record_of_an_unknown_kind(shared: Path) -> None:
    dump = read_dump(shared / "samples/msprobe/record_zoo/dump.json")
    kinds = {(leaf.kind, leaf.type) for row in range(len(dump.leaves.call)) if (leaf := dump.leaf(row))}
    assert kinds == {
        ("tensor", "torch.Tensor"),
        *(("scalar", name) for name in ("int", "float", "bool", "str", "float32", "torch.Size")),
        ("none", "None"),
        *(("object", name) for name in ("torch.dtype", "torch.device", "")),
    }
    assert {parse_name(name).kind for name in dump.calls.names} == {"api", "module", "grad"}


@pytest.mark.parametrize(
    ("table", "dump_json"),
    [
        ("edge_tensor/compare_result_*.csv", "edge_tensor/npu/step0/*/dump.json"),
        ("edge_md5/compare_result_*.csv", "edge_md5/npu/step0/*/dump.json"),
        ("tiny_two_steps/compare_result_*.csv", "tiny_two_steps/npu/step0/*/dump.json"),
        ("misc/debug_compare_result_*.csv", "misc/debug.json"),
    ],
)
def test_leaf_names_are_those_of_the_tools_own_compare(shared: Path, table: str, dump_json: str) -> None:
    (table_path,) = (shared / "samples/msprobe").glob(table)
    (dump_path,) = (shared / "samples/msprobe").glob(dump_json)
    with table_path.open(newline="", encoding="utf-8-sig") as lines:
        theirs = [row["NPU Name"] for row in csv.DictReader(lines)]
    dump = read_dump(dump_path)
    assert [dump.leaf_name(row) for row in range(len(dump.leaves.call))] == theirs


def test_a_truncated_dump_keeps_its_whole_entries(shared: Path) -> None:
    path = shared / "samples/msprobe/misc/derived_truncated_dump.json"
    content = path.read_bytes()
    dump = read_dump(path)
    last_whole = content.rindex(b"\n  },\n")  # two blanks: the end of an entry
    closed = json.loads(content[:last_whole] + b"}}}")
    assert list(dump.calls.names) == list(closed["data"])
    assert dump.completeness == "cut off"
    (problem,) = dump.problems
    assert (problem.kind, problem.byte) == ("cut-off", len(content))
    assert f"ends at byte {last_whole + 4:,}" in problem.message
    assert "Functional.linear.1.backward" in problem.message


def test_the_case_of_a_killed_run(shared: Path) -> None:
    case = shared / "cases/C30"
    expected = json.loads((case / "expect.md").read_text().split("```json")[1].split("```")[0])
    dump = read_dump(case / "dump/step0/rank0/dump.json")
    assert len(dump.calls.names) == expected["complete_entries"]
    problem = next(problem for problem in dump.problems if problem.kind == "cut-off")
    assert {problem.kind for problem in dump.problems} == {"cut-off", "encoding"}  # 'nan' as text is told
    assert expected["broken_entry"] in problem.message
    assert problem.byte == expected["file_bytes"]
    rows = {leaf.name: leaf for row in range(len(dump.leaves.call)) if (leaf := dump.leaf(row))}
    text_nan = rows["Functional.softmax.0.forward.output.0"]
    assert repr([text_nan.max, text_nan.min, text_nan.mean, text_nan.norm]) == "[nan, nan, nan, nan]"
    text_inf = rows["Functional.linear.1.forward.input.0"]
    assert (text_inf.max, text_inf.norm) == (float("-inf"), float("inf"))
    assert (rows["Tensor.to.0.forward.output.0"].max, rows["Tensor.to.0.forward.output.0"].norm) == (
        None,
        None,
    )
    assert (
        rows["Functional.dropout.0.forward.output.0"].max,
        rows["Functional.dropout.0.forward.output.0"].min,
    ) == (1, 0)
    assert rows["Functional.dropout.0.forward.input.0"].kind == "none"


def test_old_versions(shared: Path) -> None:
    for version, is_flat in (("1.2.2", True), ("8.3.3", False)):
        folder = shared / "samples/msprobe/old_versions" / version / "step0/rank"
        dump = read_dump(folder / "dump.json")
        stacks = read_stacks(folder / "stack.json")
        assert (
            isinstance(next(iter(json.loads((folder / "stack.json").read_bytes()).values()))[0], str)
            is is_flat
        )
        forward = [name for name in dump.calls.names if parse_name(name).direction == "forward"]
        assert [int(r) for r in dump.calls.recompute if r >= 0] == [0] * len(forward)
        assert any(stacks.frames(name) for name in forward)
        assert stacks.frames("Functional.linear.0.forward")[-1].function == "<module>"
        assert any(
            parse_name(name).kind == "grad" and parse_name(name).number is None for name in dump.calls.names
        )


def test_all_stacks_and_hierarchies_open(shared: Path) -> None:
    n_user = 0
    for path in files(shared, "stack.json"):
        stacks = read_stacks(path)
        document = json.loads(path.read_bytes())
        texts = [
            frame
            for value in document.values()
            for frame in (value if isinstance(value[0], str) else value[1])
        ]
        assert stacks.problems == ()
        assert {frame.line is None for group in stacks.groups for frame in group} <= {False}
        assert {f.file for group in stacks.groups for f in group} == {
            t[5:].split(", line ")[0] for t in texts
        }
        for frames in stacks.groups:
            frame = user_frame(frames)
            n_user += frame is not None
            assert frame is None or frame.file.startswith("/workspace/") and "site-packages" not in frame.file
    assert n_user > 50
    for path in files(shared, "construct.json"):
        construct = read_construct(path)
        document = json.loads(path.read_bytes())
        assert construct.problems == ()
        assert construct.parents == {
            key: value[0] if isinstance(value, list) else value
            for key, value in document.items()
            if key != "megatron_micro_step_number"
        }
        for entry in construct.parents:
            assert len(list(ancestors(construct, entry))) < 10


def test_entries_rebuilt_from_tensor_files_are_those_of_the_dump(shared: Path) -> None:
    (folder,) = (shared / "samples/msprobe/edge_tensor/bench/step0").glob("*")
    dump, rebuilt = read_dump(folder / "dump.json"), entries_from_files(folder)

    def with_files(dump: Dump) -> set[tuple[str, str, str]]:
        leaves = [dump.leaf(row) for row in range(len(dump.leaves.call)) if dump.leaves.data_name[row] >= 0]
        return {(leaf.name, leaf.io, leaf.data_name or "") for leaf in leaves}

    assert with_files(rebuilt) == with_files(dump)
    assert len(entries_from_files(folder, known=dump).calls.names) == 0


def test_windows_make_no_difference(shared: Path) -> None:
    path = shared / "samples/msprobe/overflow_fp16/statistics"
    (dump_path,) = path.rglob("dump.json")
    whole = repr(list(iter_calls(dump_path)))
    assert repr(list(iter_calls(dump_path, window_bytes=1024))) == whole
    assert repr(list(iter_calls(dump_path, window_bytes=5000))) == whole
    assert "nan" in whole and "inf" in whole

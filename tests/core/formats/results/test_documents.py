"""Results in JSON: first differences, checkpoints, outputs of polygraphy; damaged and hostile ones."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.results.documents import read_document
from npulse.core.formats.results.polygraphy import read_run_results
from npulse.core.precision.theirs.judge import read_figures
from npulse.core.precision.theirs.outputs import outputs_tables
from npulse.core.precision.verdict import REASONS, VERDICTS, Criteria


def encoded(array: np.ndarray[Any, Any], wrapping: int = 1) -> dict[str, Any]:
    """As polygraphy writes an array, in its own class."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    value: dict[str, Any] = {
        "array": base64.b64encode(file.getvalue()).decode(),
        "polygraphy_class": "ndarray",
    }
    return {"values": value, "polygraphy_class": "LazyArray"} if wrapping else value


def results(*runners: tuple[str, dict[str, Any]]) -> str:
    return json.dumps(
        {
            "lst": [
                [name, [{"outputs": outputs, "runtime": 0.1, "runner_name": name}]]
                for name, outputs in runners
            ],
            "polygraphy_class": "RunResults",
        },
        indent=4,
    )


def test_the_first_difference_is_a_row_a_tensor(tmp_path: Path) -> None:
    leaf = {"NPU max": 1.0, "NPU min": float("-inf"), "NPU mean": None, "NPU l2norm": 2.0}
    operator = {"op_name": "A", "data_info": {"input": {"A.input.0": leaf}, "output": {"A.output.0": {}}}}
    path = tmp_path / "diff_analyze_1.json"
    path.write_text(json.dumps({"rank_3": [{**operator, "stack_info": ["File x, line 1"]}]}))
    found = read_document(path)
    assert [found.text("target", row) for row in range(2)] == ["A.input.0", "A.output.0"]
    maximum = found.named("NPU min")
    assert maximum is not None and maximum.value(0) == -np.inf and maximum.value(1) == ""
    assert found.named("rank") is not None and (found.counts, found.lines[1]) == ("entry", 2)


def test_the_comparison_behind_it_and_a_similarity_of_checkpoints(tmp_path: Path) -> None:
    item = {"NPU Name": "A.output.0", "Bench Name": "A.output.0", "NormRelativeErr": 0.7, "state": "output"}
    path = tmp_path / "compare_result_rank0_1.json"
    path.write_text(json.dumps({"A": {"is_same": False, "op_items": [item]}, "bad": 1}))
    found = read_document(path)
    assert (found.text("verdict", 0), found.layout.id) == ("error", "msprobe.compare")
    assert [p.kind for p in found.problems] == ["bad-record"]
    path.write_text(json.dumps({"w": {"l2": 0.5, "cos": 0.91, "numel": 4, "shape": [2, 2]}}))
    reading = read_figures(read_document(path), Criteria())
    assert (VERDICTS[reading.verdict[0]], REASONS[reading.reason[0]]) == ("error", "cosine")
    path.write_text("{}")
    with pytest.raises(InputError):
        read_document(path)


def test_outputs_of_two_runners_are_compared(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    golden = rng.standard_normal((3, 4)).astype(np.float32)
    nan = golden.copy()
    nan[0, 0] = np.nan
    mine = {"same": golden, "scaled": golden * np.float32(1.2), "nan": nan, "both": nan, "alone": golden}
    theirs = {"same": golden, "scaled": golden, "nan": golden, "both": nan}
    path = tmp_path / "outputs.json"
    path.write_text(
        results(
            ("onnxrt-runner", {name: encoded(array, 0) for name, array in theirs.items()}),
            ("npu-runner", {name: encoded(array) for name, array in mine.items()}),
        )
    )
    (table,) = outputs_tables([read_run_results(path)])
    reading = read_figures(table, Criteria())
    found = {
        table.text("target", row).partition("/")[2]: (
            VERDICTS[reading.verdict[row]],
            REASONS[reading.reason[row]],
        )
        for row in range(table.n_rows)
    }
    assert found == {
        "same": ("pass", "equal"),
        "scaled": ("error", "norm-ratio"),
        "nan": ("error", "nonfinite"),
        "both": ("pass", "equal"),
        "alone": ("unknown", "one-side"),
    }
    scaled = list(mine).index("scaled")
    want = np.abs(mine["scaled"].astype(np.float64) - golden.astype(np.float64)).max()
    assert reading.max_abs_error[scaled] == pytest.approx(want)
    assert reading.norm_ratio[scaled] == pytest.approx(1.2, rel=1e-6)


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        raise AssertionError("a pickle was made of it")


def test_no_pickle_and_no_shape_that_is_not_there(tmp_path: Path) -> None:
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
    huge = b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999,), }"
    outputs = {}
    for name, text in (
        ("pickle", header),
        ("huge", huge),
        ("odd", b"__import__('os')"),
        ("deep", b"(" * 2000),
    ):
        padded = text.ljust(118 if len(text) < 118 else len(text)) + b"\n"
        raw = b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + b"cos\nsystem\n."
        outputs[name] = {"array": base64.b64encode(raw).decode()}
    bools = b"{'descr': '<f4', 'fortran_order': False, 'shape': (True, 2), }".ljust(118) + b"\n"
    raw = b"\x93NUMPY\x01\x00" + len(bools).to_bytes(2, "little") + bools + bytes(8)
    outputs["bools"] = {"array": base64.b64encode(raw).decode()}
    outputs["text"], outputs["none"] = {"array": "@@@"}, {"values": 3}
    path = tmp_path / "outputs.json"
    path.write_text(results(("a", outputs)))
    found = read_run_results(path)
    assert all(output.array is None for output in found.outputs) and len(found.outputs) == 7
    assert [problem.kind for problem in found.problems] == ["bad-tensor"] * 7


WHOLE = [
    results(("a", {"x": encoded(np.arange(3.0))}), ("b", {"x": encoded(np.arange(3))})).encode(),
    json.dumps(
        {"rank_0": [{"op_name": "A", "data_info": {"input": {"A.input.0": {"NPU max": 1}}}}]}
    ).encode(),
]


@given(
    st.sampled_from(WHOLE),
    st.lists(st.tuples(st.integers(0, 5000), st.sampled_from(b'{}[]",:0a\0\xff')), max_size=6),
    st.integers(0, 5000),
)
def test_damage_ends_in_problems_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, whole: bytes, flips: list[tuple[int, int]], cut: int
) -> None:
    raw = bytearray(whole)
    for at, byte in flips:
        raw[at % len(raw)] = byte
    path = tmp_path_factory.mktemp("t") / "diff_analyze_1.json"
    path.write_bytes(raw[: cut % (len(raw) + 1)] if cut % 2 else raw)
    for read in (read_document, lambda path: outputs_tables([read_run_results(path)])):
        try:
            found = read(path)
        except InputError:
            continue
        for table in found if isinstance(found, list) else [found]:
            read_figures(table, Criteria())

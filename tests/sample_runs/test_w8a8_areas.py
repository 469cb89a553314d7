"""The other areas of the sample run w8a8: what its files hold, computed again, and what npulse says."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.api import first_overflow, memory
from npulse.sample_runs import sample_path

W8A8 = sample_path("w8a8")
ROUNDS = ("round1", "round2", "round3")
FLOAT16_MAX = 65504.0

Values = npt.NDArray[np.float64]


def attention_dump(name: str) -> Path:
    return W8A8 / name / "overflow" / "step0" / "rank0"


def calls_of(name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((attention_dump(name) / "dump.json").read_text())["data"]
    return found


def half(name: str, record: dict[str, Any]) -> Values:
    with zipfile.ZipFile(attention_dump(name) / "dump_tensor_data" / record["data_name"]) as archive:
        raw = archive.read("archive/data/0")
    assert record["dtype"] == "torch.float16"
    return np.frombuffer(raw, "<f2").reshape(record["shape"]).astype(np.float64)


# ---- overflow: one attention head in float16 ----


def test_the_scale_of_round_1_is_what_makes_inf_of_sound_products() -> None:
    calls = calls_of("round1")
    product, scale = calls["Torch.matmul.0.forward"], calls["Tensor.__mul__.0.forward"]
    assert 0.85 < product["output"][0]["Max"] / FLOAT16_MAX < 0.95
    given, factor = half("round1", scale["input_args"][0]), scale["input_args"][1]["value"]
    made = half("round1", scale["output"][0])
    assert np.isfinite(given).all() and given.max() == product["output"][0]["Max"]
    with np.errstate(over="ignore"):
        expected = (given * factor).astype(np.float16).astype(np.float64)
    assert (
        np.array_equal(made, expected) and np.isinf(made).sum() == (np.abs(given * factor) > 65519).sum() > 0
    )
    assert factor == 64**0.5, "the square root, where one by it was meant"


def test_after_the_scale_of_round_1_all_is_nan() -> None:
    calls = calls_of("round1")
    names = list(calls)
    after = names[names.index("Tensor.__mul__.0.forward") + 1 :]
    assert after == [
        *("Functional.softmax.0.forward", "Torch.matmul.1.forward"),
        *("Functional.linear.3.forward", "Tensor.__add__.0.forward"),
    ]
    assert all(np.isnan(calls[name]["output"][0]["Max"]) for name in after)


@pytest.mark.parametrize("name", ["round2", "round3"])
def test_with_the_query_scaled_first_the_products_stay_far_below_the_limit(name: str) -> None:
    calls = calls_of(name)
    names = list(calls)
    assert names.index("Tensor.__mul__.0.forward") < names.index("Torch.matmul.0.forward")
    assert calls["Tensor.__mul__.0.forward"]["input_args"][1]["value"] == 64**-0.5
    largest = [abs(one[key]) for call in calls.values() for one in call["output"] for key in ("Max", "Min")]
    assert all(np.isfinite(largest)) and max(largest) < 0.15 * FLOAT16_MAX
    before = calls_of("round1")["Torch.matmul.0.forward"]["output"][0]["Max"]
    assert calls["Torch.matmul.0.forward"]["output"][0]["Max"] == pytest.approx(before / 8, rel=2**-9)


def test_npulse_names_the_scale_as_origin_and_the_product_as_suspect() -> None:
    report = first_overflow(W8A8, options=AnalysisOptions(round_name="round1")).report
    (origin,) = [one for one in report.findings if one.role == "origin"]
    assert (origin.rule, origin.subject) == ("overflow.origin", "Tensor.__mul__.0.forward")
    assert ("suspect", "Torch.matmul.0.forward") in {(one.role, one.subject) for one in origin.related}
    assert "scores = self.ops.mul(scores, self.scale)" in origin.message
    assert report.verdict == "fail"


@pytest.mark.parametrize("name", ["round2", "round3"])
def test_npulse_finds_no_overflow_in_later_rounds(name: str) -> None:
    report = first_overflow(W8A8, options=AnalysisOptions(round_name=name)).report
    assert (report.verdict, report.findings) == ("pass", ())


# ---- memory: a kernel that writes past its score buffer ----


def kernel_source(name: str) -> str:
    return (W8A8 / name / "op_kernel" / "flash_attn_custom.cpp").read_text()


def log(name: str) -> str:
    return (W8A8 / name / "sanitizer" / "mssanitizer.log").read_text()


def constants(source: str) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"constexpr uint32_t (\w+) = (\d+);", source)}


def bytes_past_the_end(name: str) -> dict[int, int]:
    """Head -> bytes of float32 scores that its rows need beyond the buffer of HEADS * SEQ, by the source."""
    source = kernel_source(name)
    is_shifted = "(__gm__ float *)scores + head * SEQ + head, SEQ)" in source
    assert is_shifted or "(__gm__ float *)scores + head * SEQ, SEQ)" in source
    sizes = constants(source)
    ends = {h: h * sizes["SEQ"] + (h if is_shifted else 0) + sizes["SEQ"] for h in range(sizes["HEADS"])}
    return {
        h: 4 * (end - sizes["HEADS"] * sizes["SEQ"]) for h, end in ends.items() if end > ends[0] * len(ends)
    }


def test_round_1_writes_as_far_past_its_buffer_as_the_index_says() -> None:
    outside = bytes_past_the_end("round1")
    assert outside == {7: 28}
    found = re.findall(
        r"illegal write of size (\d+)\n.* at (0x\w+) on GM in (\w+)\n.* aiv\((\d+)\)", log("round1")
    )
    assert [(int(block), int(size)) for size, _, _, block in found] == list(outside.items())
    q_bytes = 8 * 64 * 128 * 2
    scores = 0x12C0C0013000 + 4 * (
        q_bytes + 512
    )  # four tensors in front, each with 32 bytes behind it, on 512
    assert int(found[0][1], 16) == scores + 8 * 64 * 4


def test_the_frames_name_the_statements_that_write() -> None:
    lines = kernel_source("round1").splitlines()
    frames = re.findall(r"#(\d) \S+/flash_attn_custom.cpp:(\d+):(\d+)", log("round1"))
    shown = [lines[int(line) - 1][int(column) - 1 :] for _, line, column in frames]
    assert shown == [
        "AscendC::DataCopyPad(scoresGm_[row], rowMax, bytes);",
        "StoreMax(row);",
        "op.Process();",
    ]


@pytest.mark.parametrize("name", ["round2", "round3"])
def test_later_rounds_stay_inside_and_say_so(name: str) -> None:
    assert bytes_past_the_end(name) == {}
    assert (
        log(name)
        .splitlines()[-1]
        .endswith("Sanitizer finished on kernel flash_attn_custom. No error detected.")
    )
    assert "ERROR" not in log(name)


def test_npulse_shows_the_line_that_writes_without_being_told_where_the_source_lies() -> None:
    report = memory(W8A8, options=AnalysisOptions(round_name="round1")).report
    (origin,) = [one for one in report.findings if one.role == "origin"]
    assert origin.rule == "memory.access" and origin.subject.endswith("flash_attn_custom.cpp:56")
    assert origin.figures["size_bytes"] == 28
    assert origin.source.endswith(
        "flash_attn_custom.cpp:56 AscendC::DataCopyPad(scoresGm_[row], rowMax, bytes);"
    )


@pytest.mark.parametrize("name", ["round2", "round3"])
def test_npulse_calls_later_rounds_clean_and_complete(name: str) -> None:
    report = memory(W8A8, options=AnalysisOptions(round_name=name)).report
    assert report.verdict == "pass" and not [one for one in report.findings if one.severity == "error"]

"""`--precision-map`: how it is read, what it fits, and what it changes in a verdict."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import NpulseError
from npulse.core.findings import Report
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.precision.compare import Settings, compare_captures
from npulse.core.precision.mixed.dtype_map import format_of, read_precision_map
from npulse.core.precision.report import report
from npulse.core.run.sides import pair_of

from ..own.dumps import random, write

LINEAR = "Functional.linear.0.forward"
X, W = random(1, 16, 16), random(2, 16, 16)


@pytest.mark.parametrize(
    ("word", "bits"),
    [
        ("fp64", 53), ("fp32", 24), ("torch.float32", 24), ("tf32", 11), ("HF32", 11), ("fp16", 11),
        ("half", 11),
        ("bf16", 8), ("torch.bfloat16", 8), ("fp8_e4m3", 4), ("float8_e5m2", 3),
    ],
)  # fmt: skip
def test_unit_roundoffs(word: str, bits: int) -> None:
    found = format_of(word)
    assert found is not None and found.unit_roundoff == 2.0**-bits


@pytest.mark.parametrize("word", ["int8", "bool", "", "float", "fp99", "float8_e8m0fnu"])
def test_what_is_no_format_to_compute_in(word: str) -> None:
    assert (format_of(word) is None) == (word != "float")


TEXTS = {
    "m.json": '{\n "softmax": "fp32",\n "*.attn": "bf16"\n}',
    "m.toml": '# the map\nsoftmax = "fp32"\n"*.attn" = "bf16"\n',
    "m.yaml": "# the map\nsoftmax: fp32\n'*.attn': bf16  # attention\n",
    "m.txt": "softmax = fp32\n*.attn = bf16\n",
}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_every_form_says_the_same_as_the_inline_one(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(TEXTS[name])
    assert read_precision_map(str(tmp_path / name)) == read_precision_map("softmax=fp32, *.attn=bf16")


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("m.json", '{\n "softmax": "fp32",\n "add": "int8"\n}', 3),
        ("m.json", '{"a": "fp32",\n "a": "bf16"}', 2),
        ("m.json", "[1]", 1),
        ("m.toml", 'softmax = "fp32"\nadd = 16\n', 2),
        ("m.toml", 'softmax = "fp32"\nsoftmax = "bf16"\n', 2),
        ("m.yaml", "softmax: fp32\nadd\n", 2),
        ("m.yaml", "\n\nsoftmax: fp31\n", 3),
        ("m.yaml", "a: fp32\na: bf16\n", 2),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, name: str, text: str, line: int) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(NpulseError) as told:
        read_precision_map(str(tmp_path / name))
    assert told.value.line == line


@pytest.mark.parametrize("text", ["softmax=", "=fp32", "softmax=fp32,add", "a=int4", "=", "nowhere.json"])
def test_what_is_wrong_inline(text: str) -> None:
    with pytest.raises(NpulseError):
        read_precision_map(text)


def test_a_long_list_is_no_file_name() -> None:
    text = ",".join(f"model.layers.{n}.attention=fp32" for n in range(300))
    assert len(read_precision_map(text).entries) == 300


@given(st.binary(max_size=80), st.sampled_from((".json", ".toml", ".yaml")))
def test_no_file_raises_anything_else(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("map") / f"m{suffix}"
    path.write_bytes(raw)
    try:
        found = read_precision_map(str(path))
    except NpulseError:
        return
    assert found.entries


@pytest.mark.parametrize(
    ("glob", "name", "fits"),
    [
        ("linear", LINEAR, True),
        ("Functional.lin*", LINEAR, True),
        (LINEAR, LINEAR, True),
        ("matmul", LINEAR, False),
        ("add", "Tensor.__add__.0.forward", True),
        ("add", "Aten.add.Tensor.0.forward", True),
        ("__add__", "Tensor.__add__.0.forward", True),
        ("layers.0.attn", "Module.layers.0.attn.q.Linear.forward.0", True),
        ("layers.*.attn", "Module.layers.11.attn.Attention.backward.2", True),
        ("Linear", "Module.layers.0.attn.q.Linear.forward.0", True),
        ("layers.0", "Module.layers.01.fc.Linear.forward.0", False),
    ],
)
def test_what_a_name_fits(glob: str, name: str, fits: bool) -> None:
    assert (read_precision_map(f"{glob}=bf16").find(parse_name(name)) == 0) is fits


def test_the_last_one_that_fits_counts_and_modules_hold_their_calls() -> None:
    told = read_precision_map("*=fp32,attn=bf16,linear=fp16")
    attention = parse_name("Module.attn.Attention.forward.0")
    assert told.find(parse_name(LINEAR), (attention,)) == 2
    assert told.find(parse_name("Torch.matmul.0.forward"), (attention,)) == 1
    assert told.find(parse_name("Torch.matmul.0.forward")) == 0


# ---- judged by it ------------------------------------------------------------------------------------------


def judged(folder: Path, error: float, told: str | None, dtype: str = "float32") -> Report:
    y = X @ W
    for side, made in (("t", y * np.float32(1 + error)), ("g", y)):
        write(folder / side / "step0" / "rank0", {LINEAR: ([X, W], [made.astype(dtype)])})
    pair = pair_of(folder / "t", folder / "g")
    precision_map = read_precision_map(told) if told else None
    return report(compare_captures(pair, Settings(precision_map=precision_map)))


def test_an_error_is_measured_by_the_dtype_that_was_computed_in(tmp_path: Path) -> None:
    within_bf16, within_tf32 = 2.0**-9, 2.0**-12
    for number, (error, told, verdict) in enumerate(
        (
            (within_bf16, None, "warn"),
            (within_bf16, "linear=bf16", "pass"),
            (within_bf16, "linear=tf32", "warn"),
            (within_tf32, "linear=hf32", "pass"),
            (within_tf32, "matmul=hf32", "warn"),
            (2.0**-7, "linear=bf16", "warn"),
        )
    ):
        assert judged(tmp_path / str(number), error, told).verdict == verdict, (error, told)


def test_what_is_stored_in_half_on_both_sides_is_rounded_to_it(tmp_path: Path) -> None:
    assert judged(tmp_path / "a", 2.0**-12, "linear=fp32", "float16").verdict == "pass"


def test_a_name_that_fits_nothing_is_told(tmp_path: Path) -> None:
    told = " ".join(judged(tmp_path, 0.0, "linear=bf16,lineer=fp16").told)
    assert "1 outputs judged" in told and "no call fits lineer" in told

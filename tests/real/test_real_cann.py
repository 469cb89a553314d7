"""CANN dumps of the samples against the arrays and records that the vendor's own converter made of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.errors import InputError
from npulse.core.formats.cann.container import read_container, tensor_file
from npulse.core.formats.cann.names import full_name, parse_dump_name, read_mapping
from npulse.core.formats.cann.opdebug import OverflowRecord, read_opdebug, status_bits
from npulse.core.formats.cann.stats import read_statistics
from npulse.core.formats.tensors import TensorError, TensorReader, open_tensor, widen


@pytest.fixture(scope="module")
def samples(shared: Path) -> Path:
    return shared / "samples" / "cann"


@pytest.fixture(scope="module")
def manifest(samples: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((samples / "expected/manifest.json").read_text())
    return found


def dump_files(samples: Path) -> Iterator[Path]:
    for folder in ("dump_path", "extra-info"):
        yield from (path for path in sorted((samples / folder).rglob("*")) if path.is_file())


def test_the_manifest_lists_every_dump(samples: Path, manifest: list[dict[str, Any]]) -> None:
    found = {str(path.relative_to(samples)) for path in dump_files(samples) if path.name != "mapping.csv"}
    assert found == {entry["file"] for entry in manifest} and len(found) == 11


def test_names_say_what_the_manifest_says(samples: Path, manifest: list[dict[str, Any]]) -> None:
    for entry in manifest:
        path = samples / entry["file"]
        name = parse_dump_name(full_name(path.name, read_mapping(path.parent, samples)))
        assert name is not None
        for field in ("task_id", "stream_id", "task_type", "context_id", "thread_id", "device_id"):
            assert getattr(name, field) == entry.get(field), (path.name, field)
        assert name.op_type == entry.get("op_type", "")
        assert name.form == ("exception" if "exception" in path.name else "dump")


def test_records_name_the_operator_with_its_slashes(samples: Path, manifest: list[dict[str, Any]]) -> None:
    for entry in manifest:
        dump = read_container(samples / entry["file"], root=samples)
        assert (dump.file_bytes, dump.problems, dump.version) == (entry["size"], (), "2.0")
        assert dump.dump_time is not None and dump.dump_time > 10**15
        if "op_name" in entry:
            assert dump.op_name == entry["op_name"]


def test_every_tensor_is_the_expected_array(samples: Path, manifest: list[dict[str, Any]]) -> None:
    seen = set()
    for entry in manifest:
        dump = read_container(samples / entry["file"], root=samples)
        for tensor in dump.tensors:
            expected = samples / "expected" / f"{dump.path.name}.{tensor.io}.{tensor.index}.npy"
            if dump.path.name.startswith("exception_info"):
                continue  # below: there is no array of it
            file = tensor_file(dump, tensor)
            assert file is not None
            array = np.load(expected)
            assert file.shape == array.shape
            np.testing.assert_array_equal(widen(file.array(), file.dtype), array)
            restored = list(expected.parent.glob(f"{expected.stem}.N*.npy"))
            assert all(np.load(path).shape == tensor.original_shape for path in restored)
            with TensorReader(file) as reader:
                block = reader.read_into(bytearray(file.size_bytes), 0, file.n_elements)
            np.testing.assert_array_equal(widen(block, file.dtype), array.reshape(-1))
            seen.add(expected.name)
    arrays = {path.name for path in (samples / "expected").glob("*.npy")}
    assert arrays - seen == {name for name in arrays if name.endswith((".NCHW.npy", ".ND.npy"))}


def test_formats_of_the_device(samples: Path) -> None:
    folder = samples / "dump_path/20250611171530/0/tiny_net/1/0"
    conv = read_container(folder / "Conv2D.conv1_Conv2D.12.3.1749633330000123", root=samples)
    assert [(t.format, t.data_type) for t in conv.tensors] == [
        ("NC1HWC0", "FLOAT16"),
        ("FRACTAL_Z", "FLOAT16"),
        ("NC1HWC0", "FLOAT16"),
    ]
    matmul = read_container(folder / "MatMulV2.layer1_fc_MatMul.15.3.1749633330000456", root=samples)
    assert [t.format for t in matmul.tensors] == ["FRACTAL_NZ", "ND", "ND", "ND"]
    assert all(t.size_bytes % 32 == 0 and (t.element_bytes or 0) <= t.size_bytes for t in matmul.tensors)


def test_the_exception_dump(samples: Path) -> None:
    dump = read_container(
        samples / "extra-info/data-dump/0/exception_info.5.9.20250611171538370", root=samples
    )
    assert dump.dfx_message.startswith("[AIC_INFO] args(0 to 3): 0x12c0c0013000")
    assert dump.op_name == "aclnnMuls_MulAiCore_Muls"
    (x,), (y,) = dump.side("input"), dump.side("output")
    x_file, y_file = tensor_file(dump, x), tensor_file(dump, y)
    assert x_file is not None and y_file is not None
    np.testing.assert_array_equal(x_file.array(), np.array([1, np.inf, -2, np.nan], np.float16))
    assert y_file.array().tolist() == [0.0] * 4


def test_broken_files(samples: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_container(samples / "broken_empty.Add.add.1.1.1749633330009998", root=samples)
    assert caught.value.byte == 0
    dump = read_container(samples / "broken_truncated.Add.add.1.1.1749633330009999", root=samples)
    assert [t.is_truncated for t in dump.tensors] == [True] * 3
    assert [(p.kind, p.byte) for p in dump.problems] == [("cut-off", 200)] * 3
    for tensor in dump.tensors:
        with pytest.raises(TensorError) as cut:
            tensor_file(dump, tensor)
        assert (cut.value.kind, cut.value.byte) == ("cut-off", 200)


# ---- overflow records ----


def numbers_of(body: dict[str, Any]) -> dict[str, Any]:
    """A unit of the converter's JSON in the words of ours."""
    renamed = {"block_idx": "block_id", "cpu_id": "core_id"}
    found = {
        renamed.get(k, k): int(v, 16) if isinstance(v, str) else v
        for k, v in body.items()
        if k != "kernel_code"
    }
    return {k: None if v == 65535 else v for k, v in found.items()}


def assert_says(record: OverflowRecord, body: dict[str, Any]) -> None:
    if record.form == "magic":
        body = {body["acc_list"]["acc_type"]: body["acc_list"]["data"]}
    assert [entry.unit for entry in record.entries] == list(body)
    for entry in record.entries:
        said = numbers_of(body[entry.unit])
        status = said.pop("status")
        assert entry.status == tuple(status if isinstance(status, list) else [status])
        assert {name: getattr(entry, name) for name in said} == said


def test_records_in_every_form_say_what_the_converter_says(samples: Path) -> None:
    converted = sorted((samples / "expected").glob("Opdebug.*.json"))
    assert len(converted) == 2
    for path in converted:
        body = json.loads(path.read_text())
        original = next((samples / "dump_path").rglob(path.name.removesuffix(".output.0.json")))
        for form in (original, path, path.with_suffix(".npy")):
            record = read_opdebug(form, root=samples)
            assert record.problems == ()
            assert record.timestamp == int(original.name.rpartition(".")[2])
            assert_says(record, body)


def test_records_name_the_operator_that_overflowed(samples: Path) -> None:
    named = {}
    for path in (samples / "dump_path").rglob("Opdebug.*"):
        (entry,) = (e for e in read_opdebug(path, root=samples).entries if e.is_set)
        names = [parse_dump_name(other.name) for other in path.parent.iterdir()]
        hits = [n for n in names if n and (n.task_id, n.stream_id) == (entry.task_id, entry.stream_id)]
        (hit,) = (n for n in hits if not n.is_overflow_record)
        named[hit.op_type] = (entry.unit, status_bits(entry.status[0]))
    assert named == {"RealDiv": ("AI Core", ("float", "to-fp16")), "Muls": ("AIV", ("float",))}


def test_the_case_with_records_in_two_forms(shared: Path) -> None:
    folder = shared / "cases/C28/overflow_dump"
    records = [read_opdebug(path, root=folder) for path in folder.glob("Opdebug.*.json")]
    first, second = sorted(records, key=lambda record: record.timestamp or 0)
    assert (first.form, second.form, first.problems, second.problems) == ("magic", "legacy", (), ())
    (one,) = (e for e in first.entries if e.is_set)
    (two,) = (e for e in second.entries if e.is_set)
    assert (one.task_id, one.stream_id, one.unit, one.status) == (41, 563, "AIV", (1,))
    assert (two.task_id, two.stream_id, two.unit, two.status) == (57, 563, "AI Core", (32,))
    assert (one.context_id, one.thread_id, one.block_id, two.block_id) == (None, None, 15, 1)
    assert (status_bits(1), status_bits(32)) == (("0x1",), ("float",))

    arrays = {}
    for path in folder.glob("*.npy"):
        name = parse_dump_name(path.name)
        assert name is not None and name.stream_id == 563
        arrays[name.task_id, name.io] = (name.op_name, open_tensor(path, root=folder).array())
    op_name, x = arrays[41, "input"]
    assert op_name == "Default_encoder_Exp-op12" and np.isfinite(x).all()
    assert np.argwhere(np.isinf(arrays[41, "output"][1])).tolist() == [[2, 7]]
    assert arrays[57, "input"][0] == "Default_encoder_Mul-op15" and np.isinf(arrays[57, "input"][1]).any()


# ---- statistics ----


def test_statistics(samples: Path) -> None:
    found = {}
    for path in (samples / "stats_path").rglob("*.csv"):
        problems: list[Any] = []
        name = parse_dump_name(path.name)
        assert name is not None and name.suffix == "csv"
        found[name.op_type] = read_statistics(path, root=samples, problems=problems)
        assert problems == []
    matmul, div = found["MatMulV2"], found["RealDiv"]
    assert [(r.io, r.index, r.shape, r.count) for r in matmul] == [
        ("input", 0, (2, 2, 16, 16), 1024),
        ("input", 1, (18, 10), 180),
        ("output", 0, (20, 10), 200),
    ]
    assert (matmul[0].max_value, matmul[0].avg_value, matmul[0].l2norm) == (2.56055, -0.00871146, None)
    assert [r.count for r in div] == [8, 8, 8, None]
    assert (div[2].max_value, div[2].min_value, div[2].l2norm) == (math.inf, -math.inf, math.inf)
    assert (div[2].positive_inf_count, div[2].negative_inf_count, div[2].nan_count) == (1, 1, 0)
    assert (div[3].data_type, div[3].max_value, div[3].l2norm, div[3].shape) == ("DT_INT4", None, None, ())


def test_statistics_agree_with_the_elements(samples: Path) -> None:
    folder = samples / "dump_path/20250611171530/0/tiny_net/1/0"
    dump = read_container(folder / "RealDiv.layer1_scale_div.17.3.1749633330001000", root=samples)
    (path,) = (samples / "stats_path").rglob("RealDiv*.csv")
    rows = read_statistics(path, root=samples)
    for tensor, row in zip(dump.tensors, rows, strict=False):
        file = tensor_file(dump, tensor)
        assert file is not None and (row.io, row.index, row.dtype) == (tensor.io, tensor.index, tensor.dtype)
        values = widen(file.array(), file.dtype)
        assert (row.max_value, row.min_value, row.count) == (values.max(), values.min(), values.size)
        assert row.positive_inf_count == np.isposinf(values).sum()

"""Overflow records in every form in which they are left behind."""

from __future__ import annotations

import copy
import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.cann import opdebug as reader
from npulse.core.formats.cann.opdebug import OverflowRecord, read_opdebug, status_bits
from npulse.core.formats.tensors import TensorError

from .cann_files import OPDEBUG_NAME, Tensor, container, file_of, legacy_payload, magic_payload, opdebug

TIME = 1749633330001100
AIV = (514, 563, 41, 66, 65535, 65535, 0x124040184000, 0x1240401FF5F0, 0, 15, 1)
HEX = ("pc_start", "para_base", "kernel_code", "src_addr", "dst_addr")
TASK = ("model_id", "stream_id", "task_id", "task_type", "context_id")
CORE = (*TASK, "thread_id", "pc_start", "para_base", "core_id", "block_id", "status")


def read(content: bytes | dict[str, Any], name: str = OPDEBUG_NAME) -> OverflowRecord:
    if isinstance(content, dict):
        content, name = json.dumps(content, indent=4).encode(), f"{OPDEBUG_NAME}.output.0.json"
    with file_of(content, name) as path:
        return read_opdebug(path, root=path.parent)


def error_of(content: bytes | dict[str, Any]) -> TensorError:
    with pytest.raises(TensorError) as caught:
        read(content)
    assert caught.value.path is not None
    assert caught.value.byte is not None or caught.value.kind == "too-large"
    return caught.value


def in_json(words: tuple[int, ...], names: tuple[str, ...]) -> dict[str, Any]:
    return {n: hex(w) if n in HEX else w for n, w in zip(names, words, strict=True)}


def magic_json(data: dict[str, Any], acc_type: object = "AIV", **about: object) -> dict[str, Any]:
    acc = {"valid": 1, "acc_type": acc_type, "rsv": 0, "data_len": 88, "data": data, **about}
    return {"magic": "0x5a5a5a5a", "version": 0, "acc_list": acc}


def unit_json(status: object = 0, **about: object) -> dict[str, Any]:
    plain = in_json((0, 0, 0, 0, 0, 0), (*TASK[:4], "pc_start", "para_base"))
    return {**plain, "status": status, **about}


LEGACY_JSON = {
    "DHA Atomic Add": unit_json(),
    "L2 Atomic Add": unit_json(),
    "AI Core": {
        **in_json((1, 3, 17, 0, 0x12C0C0100000, 0x12C0C0200040), (*TASK[:4], "pc_start", "para_base")),
        "kernel_code": "0xa0b",
        "block_idx": 1,
        "status": 288,
    },
}


# ---- what is in a record ----


@pytest.mark.parametrize("content", [opdebug(legacy_payload()), LEGACY_JSON])
def test_the_legacy_layout(content: bytes | dict[str, Any]) -> None:
    record = read(content)
    assert (record.form, record.timestamp, record.problems) == ("legacy", TIME, ())
    assert [(e.unit, e.is_set) for e in record.entries] == [
        ("DHA Atomic Add", False),
        ("L2 Atomic Add", False),
        ("AI Core", True),
    ]
    core = record.entries[2]
    assert (core.model_id, core.stream_id, core.task_id, core.task_type, core.block_id) == (1, 3, 17, 0, 1)
    assert (core.pc_start, core.para_base, core.status) == (0x12C0C0100000, 0x12C0C0200040, (288,))
    assert (core.context_id, core.thread_id, core.core_id) == (None, None, None)


def test_atomic_units_of_the_legacy_layout() -> None:
    record = read(opdebug(legacy_payload(kernel_block_status=(0, 0, 0), dha_status=0x900, l2_status=1 << 16)))
    assert [e.status for e in record.entries] == [(0x900,), (0x10000,), (0,)]
    assert [e.is_set for e in record.entries] == [True, True, False]


@pytest.mark.parametrize(
    "content",
    [opdebug(magic_payload(AIV)), magic_json(in_json(AIV, CORE)), magic_json(in_json(AIV, CORE), 1)],
)
def test_the_magic_layout(content: bytes | dict[str, Any]) -> None:
    record = read(content)
    assert (record.form, record.problems) == ("magic", ())
    (entry,) = record.entries
    assert (entry.unit, entry.model_id, entry.stream_id, entry.task_id, entry.task_type) == (
        *("AIV", 514, 563),
        *(41, 66),
    )
    assert (entry.context_id, entry.thread_id) == (None, None)
    assert (entry.pc_start, entry.para_base) == (0x124040184000, 0x1240401FF5F0)
    assert (entry.core_id, entry.block_id, entry.status, entry.is_set) == (0, 15, (1,), True)


def test_four_status_words_of_version_1() -> None:
    words = (*AIV[:-1], 0, 0, 32, 0)
    from_json = magic_json({**in_json(AIV, CORE), "status": [0, 0, 32, 0]}, "AIC", data_len=112)
    for content in (opdebug(magic_payload(words, version=1, acc_type=0)), from_json):
        record = read(content)
        assert record.problems == ()
        assert (record.entries[0].unit, record.entries[0].status) == ("AIC", (0, 0, 32, 0))
        assert record.entries[0].is_set


@pytest.mark.parametrize("n_status", [1, 4])
def test_a_later_version_is_read_as_long_as_it_says(n_status: int) -> None:
    record = read(opdebug(magic_payload((*AIV[:-1], *range(1, n_status + 1)), version=7)))
    assert record.problems == () and record.entries[0].status == tuple(range(1, n_status + 1))


SDMA = (*TASK, "thread_id", "src_addr", "dst_addr", "channel_id", "status")
AICPU = (*TASK, "cpu_id", "thread_id", "status")


@pytest.mark.parametrize("acc_type", [2, "AICPU"])
def test_ai_cpu(acc_type: int | str) -> None:
    words = (1, 2, 3, 4, 5, 6, 7, 8)
    content = (
        opdebug(magic_payload(words, acc_type=2)) if acc_type == 2 else magic_json(in_json(words, AICPU), 2)
    )
    (entry,) = read(content).entries
    assert (entry.unit, entry.core_id, entry.thread_id, entry.status) == ("AICPU", 6, 7, (8,))


@pytest.mark.parametrize("is_binary", [True, False])
def test_sdma(is_binary: bool) -> None:
    words = (1, 2, 3, 4, 5, 6, 0xABC, 0xDEF, 7, 8)
    content = (
        opdebug(magic_payload(words, acc_type=3)) if is_binary else magic_json(in_json(words, SDMA), "SDMA")
    )
    record = read(content)
    (entry,) = record.entries
    assert record.problems == ()
    assert (entry.unit, entry.task_id, entry.thread_id, entry.status) == ("SDMA", 3, 6, (8,))
    assert (entry.pc_start, entry.para_base, entry.core_id, entry.block_id) == (None, None, None, None)


def test_ids_without_a_value_are_none_but_statuses_and_addresses_are_not() -> None:
    (entry,) = read(opdebug(magic_payload((65535,) * 11))).entries
    ids = (entry.model_id, entry.stream_id, entry.task_id, entry.task_type, entry.core_id, entry.block_id)
    assert ids == (None,) * 6
    assert (entry.pc_start, entry.para_base, entry.status) == (65535, 65535, (65535,))


def test_the_array_that_a_converter_makes_of_a_record() -> None:
    file = io.BytesIO()
    np.save(file, np.frombuffer(legacy_payload(), np.uint8))
    record = read(file.getvalue(), f"{OPDEBUG_NAME}.output.0.npy")
    assert (record.timestamp, record.entries[2].task_id, record.problems) == (TIME, 17, ())


def test_json_as_people_write_it() -> None:
    content = copy.deepcopy(LEGACY_JSON)
    core: dict[str, Any] = content["AI Core"]
    core["block_id"] = core.pop("block_idx")
    core["status"], core["task_id"] = "0x120", "17"
    with file_of(b"\xef\xbb\xbf\n " + json.dumps({"AI Core": core}).encode(), "overflow.json") as path:
        record = read_opdebug(path, root=path.parent)
    (entry,) = record.entries
    assert (entry.block_id, entry.status, entry.task_id) == (1, (288,), 17)
    assert (record.timestamp, record.problems) == (None, ())


def test_status_bits() -> None:
    assert status_bits(0) == ()
    assert status_bits(272) == ("int-arithmetic", "to-fp16")
    assert status_bits(288) == ("float", "to-fp16")
    assert status_bits(0x5B9) == (
        "0x1",
        "int-negate",
        "int-arithmetic",
        "float",
        "float-to-unsigned",
        "to-fp16",
        "cube",
    )
    assert status_bits(1 << 63) == ("0x8000000000000000",)


# ---- what is missing or wrong ----


def test_a_record_of_another_size_is_told() -> None:
    for payload in (legacy_payload()[:1048], legacy_payload() + bytes(8), magic_payload(AIV)[:112]):
        record = read(opdebug(payload))
        (problem,) = record.problems
        assert problem.kind == "bad-record" and problem.byte == len(opdebug(payload)) - len(payload)
        assert f"{len(payload):,} bytes" in problem.message
        assert record.entries[-1].is_set


@pytest.mark.parametrize("n_bytes", [0, 1, 24, 128, 519])
def test_a_record_too_short_to_tell_anything_is_an_error(n_bytes: int) -> None:
    content = opdebug(legacy_payload()[:n_bytes])
    error = error_of(content)
    assert (error.kind, error.byte) == ("cut-off", len(content))
    magic = opdebug(magic_payload(AIV)[: min(n_bytes, 31)])
    assert error_of(magic).byte == len(magic)


def test_a_cut_file_keeps_the_statuses_that_are_there() -> None:
    content = opdebug(legacy_payload(dha_status=9))[: -2048 + 1040]
    record = read(content)
    (problem,) = record.problems
    assert (problem.kind, problem.byte) == ("cut-off", len(content))
    assert [e.status for e in record.entries] == [(9,), (0,), ()]
    assert record.entries[2].task_id == 17 and not record.entries[2].is_set


def test_a_cut_magic_record_keeps_its_task() -> None:
    content = opdebug(magic_payload(AIV))[: -2048 + 24 + 80]
    record = read(content)
    assert {(p.kind, p.byte) for p in record.problems} == {("cut-off", len(content))}
    assert (record.entries[0].task_id, record.entries[0].status) == (41, ())


def test_a_magic_record_at_odds_with_itself_is_told() -> None:
    start = len(opdebug(magic_payload(AIV))) - 2048
    for content, byte in (
        (opdebug(magic_payload(AIV, valid=0)), start + 8),
        (opdebug(magic_payload(AIV, data_len=64)), start + 20),
        (opdebug(magic_payload(AIV, version=1)), start + 20),
    ):
        record = read(content)
        assert [(p.kind, p.byte) for p in record.problems] == [("bad-record", byte)]
        assert record.entries[0].status[0] == 1
    error = error_of(opdebug(magic_payload(AIV, acc_type=4)))
    assert (error.kind, error.byte) == ("unreadable", start + 12)


@pytest.mark.parametrize(
    ("content", "n_problems", "status"),
    [
        (magic_json(in_json(AIV, CORE), valid=0), 1, (1,)),
        (magic_json({**in_json(AIV, CORE), "status": None}), 1, ()),
        (magic_json({**in_json(AIV, CORE), "status": []}), 1, ()),
        (magic_json({**in_json(AIV, CORE), "status": [1, -1, "x", 2]}), 1, (1, 2)),
        (magic_json({**in_json(AIV, CORE), "task_id": {"a": 1}, "core_id": -1}), 2, (1,)),
        (magic_json({**in_json(AIV, CORE), "pc_start": "0x" + "f" * 17, "stream_id": True}), 2, (1,)),
        ({"AI Core": unit_json(1), "L2 Atomic Add": 3}, 1, (1,)),
        ({"AI Core": {"task_id": 1}}, 1, ()),
    ],
)
def test_fields_that_are_no_numbers_are_told(
    content: dict[str, Any], n_problems: int, status: tuple[int, ...]
) -> None:
    record = read(content)
    assert [p.kind for p in record.problems] == ["bad-record"] * n_problems
    assert record.entries[-1].status == status


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "cut-off"),
        (b"{", "cut-off"),
        (b'{"AI Core": {"status": 1', "cut-off"),
        (b'{"AI Core', "cut-off"),
        (b"{}", "unreadable"),
        (b'{"AI Core": 1}', "unreadable"),
        (b'{"a" 1}', "unreadable"),
        (b'{"a": ' + b"9" * 5000 + b"}", "unreadable"),
        (b'{"a": ' + b"[" * 100_000, "unreadable"),
        (b'{"acc_list": []}', "unreadable"),
        (b'{"acc_list": {"acc_type": "AIV"}}', "unreadable"),
        (b'{"acc_list": {"acc_type": "AIX", "data": {}}}', "unreadable"),
        (b'{"acc_list": {"acc_type": [[]], "data": {}}}', "unreadable"),
        (b"[1, 2, 3, 4]", "unreadable"),
        (container(outputs=[]), "unreadable"),
        (container(inputs=[Tensor(legacy_payload(), 4)]), "unreadable"),
    ],
)
def test_files_that_are_no_record(content: bytes, kind: str) -> None:
    assert error_of(content).kind == kind


def test_arrays_that_are_no_record() -> None:
    for array, kind in ((np.zeros(4096, np.uint8), "unreadable"), (np.zeros(3, np.uint8), "cut-off")):
        file = io.BytesIO()
        np.save(file, array)
        assert error_of(file.getvalue()).kind == kind


def test_large_json_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_JSON_BYTES", 100)
    assert error_of(LEGACY_JSON).kind == "too-large"


def test_a_link_out_of_the_run_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text(json.dumps(LEGACY_JSON))
    run = tmp_path / "run"
    run.mkdir()
    (run / OPDEBUG_NAME).symlink_to(tmp_path / "out.json")
    with pytest.raises(TensorError) as caught:
        read_opdebug(run / OPDEBUG_NAME, root=run)
    assert caught.value.kind == "outside-run"


# ---- any bytes ----

BINARY = opdebug(legacy_payload())
MAGIC = opdebug(magic_payload(AIV))
TEXT = json.dumps(LEGACY_JSON).encode()


def read_or_fail_well(content: bytes) -> OverflowRecord | None:
    try:
        return read(content)
    except InputError as error:
        assert error.message and error.path is not None
        return None


@pytest.mark.parametrize(
    "content", [MAGIC[: -2048 + 200], TEXT, json.dumps(magic_json(in_json(AIV, CORE))).encode()]
)
def test_cut_at_every_byte(content: bytes) -> None:
    for end in range(len(content)):
        record = read_or_fail_well(content[:end])
        assert record is None or record.problems


def test_a_legacy_record_cut_at_many_bytes() -> None:
    for end in range(0, len(BINARY), 7):
        record = read_or_fail_well(BINARY[:end])
        assert record is None or record.problems


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"{", b"\x93NUMPY", struct.pack("<6I", 0x5A5A5A5A, 0, 1, 1, 0, 88)]),
)
def test_random_bytes(content: bytes, start: bytes) -> None:
    read_or_fail_well(start + content)
    read_or_fail_well(opdebug(start + content))


@given(
    st.sampled_from([MAGIC[: -2048 + 200], TEXT]),
    st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=6),
)
def test_flipped_bytes(content: bytes, changes: list[tuple[int, int]]) -> None:
    changed = bytearray(content)
    for at, byte in changes:
        changed[at % len(changed)] = byte
    read_or_fail_well(bytes(changed))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*CORE, "data"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["AI Core", "L2 Atomic Add", "acc_list", "magic"]), values, max_size=3)
)
def test_any_json(body: dict[str, Any]) -> None:
    read_or_fail_well(json.dumps(body).encode())
    read_or_fail_well(json.dumps(magic_json(body)).encode())


word = st.integers(0, (1 << 64) - 1)


@given(st.lists(word, min_size=11, max_size=11), st.sampled_from([0, 1]))
def test_what_is_written_is_read(words: list[int], acc_type: int) -> None:
    (entry,) = read(opdebug(magic_payload(words, acc_type=acc_type))).entries
    (other,) = read(magic_json(in_json(tuple(words), CORE), acc_type)).entries
    assert entry == other
    for name, value in zip(CORE[:-1], words, strict=False):
        assert getattr(entry, name) == (None if value == 65535 and name not in HEX else value)
    assert entry.status == (words[-1],) and entry.is_set == bool(words[-1])

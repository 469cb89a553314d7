"""File names of CANN dumps."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.findings import Problem
from npulse.core.formats.cann import names
from npulse.core.formats.cann.names import full_name, is_known, parse_dump_name, read_mapping
from npulse.core.formats.tensors import TensorError

TIME = 1749633330000123
LOCAL = 20250611171538370


def said(name: str) -> dict[str, object]:
    """What the name says, without what it leaves open."""
    found = parse_dump_name(name)
    assert found is not None and found.full == name
    fields = ((field, getattr(found, field)) for field in found.__dataclass_fields__ if field != "full")
    return {field: value for field, value in fields if value not in (None, "")}


def call(**fields: object) -> dict[str, object]:
    return {"form": "dump", "op_type": "Conv2D", "op_name": "conv1_Conv2D", "timestamp": TIME, **fields}


FFTS = {"task_type": 4, "context_id": 7, "thread_id": 1, "device_id": 0}
CONV = "Conv2D.conv1_Conv2D"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"{CONV}.12.3.{TIME}", call(task_id=12, stream_id=3)),
        (f"{CONV}.12.{TIME}", call(task_id=12)),
        (f"{CONV}.12.3.{TIME}.4.7.1.0", call(task_id=12, stream_id=3, **FFTS)),
        (f"{CONV}.12.{TIME}.4.7.1.0", call(task_id=12, **FFTS)),
        (f"{CONV}.12.3.{TIME}.4.7.1", call(task_id=12, stream_id=3, task_type=4, context_id=7, thread_id=1)),
        (f"{CONV}.5.12.3.{TIME}", call(dump_number=5, task_id=12, stream_id=3)),
        (f"{CONV}.5.12.3.{TIME}.FFTSPLUS.7.1.0", call(dump_number=5, task_id=12, stream_id=3, **FFTS)),
        (f"{CONV}.65535.65535.{TIME}", call(task_id=65535, stream_id=65535)),
        (f"{CONV}.4294967295.4294967295.{TIME}", call(task_id=4294967295, stream_id=4294967295)),
        (f"{CONV}.12.3.{TIME}.csv", call(task_id=12, stream_id=3, suffix="csv")),
        (f"Add.7.12.3.{TIME}", call(op_type="Add", op_name="7", task_id=12, stream_id=3)),
        (f"A_To_B.w.12.3.{TIME}", call(op_type="A_To_B", op_name="w", task_id=12, stream_id=3)),
        (
            f"Add.net.fc.1.12.3.{TIME}",
            call(op_type="Add", op_name="net.fc", task_id=12, stream_id=3, dump_number=1),
        ),
    ],
)
def test_dumps(name: str, expected: dict[str, object]) -> None:
    assert said(name) == expected


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ("input.0.npy", {"io": "input", "index": 0, "suffix": "npy"}),
        ("output.12.npy", {"io": "output", "index": 12, "suffix": "npy"}),
        ("output.0.NCHW.npy", {"io": "output", "index": 0, "layout": "NCHW", "suffix": "npy"}),
        ("output.0.1x8x6x5.npy", {"io": "output", "index": 0, "layout": "1x8x6x5", "suffix": "npy"}),
        ("input.0.ND.float16.npy", {"io": "input", "index": 0, "layout": "ND.float16", "suffix": "npy"}),
        (
            "input.1.2_4.float16.ND.bin",
            {"io": "input", "index": 1, "layout": "2_4.float16.ND", "suffix": "bin"},
        ),
        ("output.0.pt", {"io": "output", "index": 0, "suffix": "pt"}),
        ("output.0.json", {"io": "output", "index": 0, "suffix": "json"}),
        ("space.0.bin", {"io": "space", "index": 0, "suffix": "bin"}),
        ("l1buffer.1.bin", {"io": "l1buffer", "index": 1, "suffix": "bin"}),
    ],
)
def test_converted_files(tail: str, expected: dict[str, object]) -> None:
    assert said(f"{CONV}.12.3.{TIME}.{tail}") == call(task_id=12, stream_id=3, **expected)
    assert said(f"{CONV}.12.3.{TIME}.4.7.1.0.{tail}") == call(task_id=12, stream_id=3, **FFTS, **expected)


def test_an_operator_may_have_the_converters_words_for_a_name() -> None:
    found = said(f"output.input.12.3.{TIME}.output.1.npy")
    assert (found["op_type"], found["op_name"], found["io"], found["index"]) == (
        "output",
        "input",
        "output",
        1,
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"exception_info.5.9.{LOCAL}", {"task_id": 9, "stream_id": 5}),
        (
            f"exception_info.5.9.{LOCAL}.input.0.npy",
            {"task_id": 9, "stream_id": 5, "io": "input", "index": 0, "suffix": "npy"},
        ),
        (f"{CONV}.12.{LOCAL}", {"op_type": "Conv2D", "op_name": "conv1_Conv2D", "task_id": 12}),
        (
            f"te_add_0.5.9.AIC.3.{LOCAL}",
            {"op_name": "te_add_0", "task_id": 9, "stream_id": 5, "core_type": "AIC", "core_id": 3},
        ),
        (f"args.custom.{LOCAL}", {"op_name": "args"}),
        (
            f"te_add_0.5.9.{LOCAL}.core",
            {"op_name": "te_add_0", "task_id": 9, "stream_id": 5, "suffix": "core"},
        ),
    ],
)
def test_exceptions(name: str, expected: dict[str, object]) -> None:
    assert said(name) == {"form": "exception", "timestamp": LOCAL, **expected}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            ".",
            "...",
            "csv",
            "core",
            "mapping.csv",
            "a.b.c",
            "459176958410709430",
            "x.y.1.2.3",
            "model.npy",
        ),
        *("459176958410709430.input.0.npy", f"conv1_Conv2D.0.{TIME}.npy", f"a.b.0.{TIME}.npy"),
        *(f".x.1.2.{TIME}", f"x..1.2.{TIME}", f"x.{TIME}", f"x.y.{TIME}", f"x.y.1.2.3.4.{TIME}"),
        *(f"x.y.1.2.{TIME}.3", f"x.y.1.2.{TIME}.1.2.3.4.5", f"x.y.1.2.{TIME}.1.FFTSPLUS.2.3"),
        *("x.y.1.2." + "9" * 5000, "exception_info.1.2", "exception_info.a.b.c", "a.1.2.core"),
        *(f"x.y.²².{TIME}", f"x.y.-1.{TIME}"),
        f"x.y.FFTSPLUS.2.{TIME}",
    ],
)
def test_other_names(name: str) -> None:
    assert parse_dump_name(name) is None


def test_overflow_records_are_told_by_their_type() -> None:
    found = parse_dump_name(f"Opdebug.Node_OpDebug.41.563.{TIME}.output.0.json")
    assert found is not None and found.is_overflow_record
    plain = parse_dump_name(f"{CONV}.12.3.{TIME}")
    assert plain is not None and not plain.is_overflow_record


def test_ids_that_name_nothing() -> None:
    assert [is_known(number) for number in (None, 65535, 0, 65534)] == [False, False, True, True]


part = st.one_of(
    st.sampled_from(
        ["1", "65535", str(TIME), str(LOCAL), "Add", "FFTSPLUS", "input", "npy", "core", "csv", ""]
    ),
    st.sampled_from(["exception_info", "custom", "AIC", "json", "²", "\ud800", "\0", "9" * 40]),
    st.text(max_size=4),
)


@given(st.one_of(st.text(), st.lists(part, max_size=14).map(".".join)))
def test_no_name_is_an_error(name: str) -> None:
    found = parse_dump_name(name)
    assert found is None or (found.full == name and found.timestamp is not None)


word = st.text("abcXYZ019_-", min_size=1, max_size=8)
small = st.integers(0, 70_000)


@given(
    word,
    word,
    small,
    small,
    st.integers(10**15, 10**16 - 1),
    st.none() | st.tuples(small, small, small, small),
)
def test_what_is_put_into_a_name_comes_out(
    op_type: str, op_name: str, task: int, stream: int, time: int, ffts: tuple[int, int, int, int] | None
) -> None:
    tail = "" if ffts is None else "".join(f".{number}" for number in ffts)
    found = parse_dump_name(f"{op_type}.{op_name}.{task}.{stream}.{time}{tail}.output.3.npy")
    assert found is not None
    assert (found.op_type, found.op_name, found.task_id, found.stream_id) == (op_type, op_name, task, stream)
    assert (found.timestamp, found.io, found.index, found.form) == (time, "output", 3, "dump")
    read = (found.task_type, found.context_id, found.thread_id, found.device_id)
    assert read == (ffts or (None,) * 4)


# ---- mapping.csv ----


def test_long_names_are_looked_up(tmp_path: Path) -> None:
    long = f"Mul.{'a_' * 100}mul.21.3.{TIME}"
    (tmp_path / "mapping.csv").write_text(f"459176958410709430,{long}\r\n9f3a.npy,{long}.input.0.npy\n\n")
    problems: list[Problem] = []
    mapping = read_mapping(tmp_path, tmp_path, problems)
    assert problems == []
    assert full_name("459176958410709430", mapping) == long
    assert full_name("459176958410709430.input.0.npy", mapping) == f"{long}.input.0.npy"
    assert full_name("9f3a.npy", mapping) == f"{long}.input.0.npy"
    assert full_name("1", mapping) == "1"
    found = parse_dump_name(full_name("459176958410709430.output.2.npy", mapping))
    assert found is not None and (found.op_type, found.task_id, found.index) == ("Mul", 21, 2)


def test_no_table_of_names(tmp_path: Path) -> None:
    assert read_mapping(tmp_path, tmp_path) == {}


def test_lines_that_are_none_are_told(tmp_path: Path) -> None:
    (tmp_path / "mapping.csv").write_bytes(b"\n1,a\nx\n2,\n,b\n3,../../etc\n\xff\xfe,c\n")
    problems: list[Problem] = []
    mapping = read_mapping(tmp_path, tmp_path, problems)
    assert mapping["1"] == "a" and len(mapping) == 2
    (problem,) = problems
    assert (problem.kind, problem.line, problem.artifact) == ("bad-record", 3, "mapping.csv")
    assert "4 lines" in problem.message


def test_a_table_that_cannot_be_used_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "run"
    inside.mkdir()
    (tmp_path / "secret.csv").write_text("1,a\n")
    (inside / "mapping.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(TensorError) as caught:
        read_mapping(inside, inside)
    assert caught.value.kind == "outside-run"
    monkeypatch.setattr(names, "MAX_MAPPING_BYTES", 3)
    with pytest.raises(TensorError) as caught:
        read_mapping(tmp_path, tmp_path) if (tmp_path / "secret.csv").rename(
            tmp_path / "mapping.csv"
        ) else None
    assert caught.value.kind == "too-large"


@given(st.binary(max_size=200))
def test_any_bytes_as_a_table(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "mapping.csv").write_bytes(content)
    problems: list[Problem] = []
    mapping = read_mapping(folder, folder, problems)
    assert all("/" not in name for name in mapping.values())

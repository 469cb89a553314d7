"""op_statistic, communication_statistic, api_statistic: old and new spellings, columns that people added."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.profiling.records import ApiTotal, Read, TypeTotal
from npulse.core.formats.profiling.totals import read_api_totals, read_type_totals

TYPES = "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n"
APIS = "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("totals") / "op_statistic.csv"


def types_of(path: Path, content: str | bytes) -> Read[TypeTotal]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_type_totals(path, root=path.parent)


def apis_of(path: Path, content: str | bytes) -> Read[ApiTotal]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_api_totals(path, root=path.parent)


def test_types(path: Path) -> None:
    read = types_of(
        path, TYPES + "ForeachAddList,AI_VECTOR_CORE,3,1959.079,624.152,653.0263,706.614,22.077\n"
    )
    assert read.problems == ()
    assert read.records == (
        TypeTotal(
            op_type="ForeachAddList",
            core_type="AI_VECTOR_CORE",
            count=3,
            total_ns=1_959_079,
            min_ns=624_152,
            average_ns=653_026,
            max_ns=706_614,
            share_percent=22.077,
            device=None,
            line=2,
            others={},
        ),
    )


def test_communication_has_no_core_types(path: Path) -> None:
    read = types_of(
        path,
        "Device_id,OP Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n"
        "1,hcom_allReduce_,1,1893.42,1893.42,1893.42,1893.42,100.0\n",
    )
    (record,) = read.records
    assert (record.core_type, record.device, record.total_ns) == ("", 1, 1_893_420)


def test_other_columns_are_kept(path: Path) -> None:
    """Model Name of older versions, remarks of people; spreadsheets leave empty cells at the end out."""
    header = "Model Name,Op Type,Core Type,Count,Total Time,Min Time,Avg Time,Max Time,Ratio,备注\n"
    read = types_of(path, f"{header}resnet,Add,AIV,2,4,1,2,3,60,慢\nresnet,Mul,AIV,1,2,2,2,2,40\n")
    assert [record.others for record in read.records] == [
        {"Model Name": "resnet", "备注": "慢"},
        {"Model Name": "resnet", "备注": ""},
    ]
    assert [record.share_percent for record in read.records] == [60.0, 40.0]
    assert read.n_dropped == 0 and [(p.kind, p.line) for p in read.problems] == [("bad-record", 3)]


def test_rows_that_cannot_be_used(path: Path) -> None:
    read = types_of(path, TYPES + "Add,AIV,1,1,1,1,1,1\n,,,10,,,,100\nMul,AIV\nSub,AIV,x,N/A,,1,1,1\n")
    assert [(r.op_type, r.count, r.total_ns, r.min_ns) for r in read.records] == [
        ("Add", 1, 1_000, 1_000),
        ("Sub", None, None, None),
    ]
    assert read.n_dropped == 2
    assert sorted((p.kind, p.line) for p in read.problems) == [("bad-record", n) for n in (3, 4, 5)]


def test_what_is_no_statistic(path: Path) -> None:
    for content in ("", "Step,Computing\n1,2\n", APIS):
        with pytest.raises(InputError):
            types_of(path, content)
    with pytest.raises(InputError, match="no column Level"):
        apis_of(path, TYPES)


def test_apis(path: Path) -> None:
    read = apis_of(path, APIS + "host,acl,aclrtSynchronizeStream,90321.44,12,7526.787,3.1,40210.9,12345.6\n")
    assert read.problems == ()
    assert read.records == (
        ApiTotal("acl", "aclrtSynchronizeStream", 12, 90_321_440, 7_526_787, 3_100, 40_210_900, 2),
    )


def test_apis_of_older_versions(path: Path) -> None:
    read = apis_of(
        path, APIS.removeprefix("Device_id,") + "hccl,Launch_Ffts,474.41,4,118.603,89.18,138.75,389.2\n"
    )
    (record,) = read.records
    assert (record.level, record.total_ns, record.count) == ("communication", 474_410, 4)


def test_cut_at_every_byte_no_value_changes(path: Path) -> None:
    content = (TYPES + "Add,AI_VECTOR_CORE,3,1959.079,624.152,653.0263,706.614,22.077\n" * 2).encode()
    whole = types_of(path, content).records
    for n in range(len(content)):
        try:
            read = types_of(path, content[:n])
        except InputError:
            continue
        assert read.records == whole[: len(read.records)] and (read.problems or content[n - 1 : n] == b"\n")


@given(raw=st.binary(max_size=200), encoding=st.sampled_from(["utf-8", "utf-16", "gbk"]))
def test_no_bytes_break_it(path: Path, raw: bytes, encoding: str) -> None:
    types_of(path, TYPES.encode(encoding) + raw)
    apis_of(path, APIS.encode(encoding) + raw)
    for read in (types_of, apis_of):
        try:
            read(path, raw)
        except InputError:
            pass

from __future__ import annotations

import dataclasses
import json
import math
import re
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.msprobe import monitor_rows
from npulse.core.formats.msprobe.anomaly import Anomalies, read_anomalies
from npulse.core.formats.msprobe.monitor import MonitorTable, MonitorTail, read_monitor

HEADER = "vpp_stage,name,step,min,max,mean,norm,zeros,nans,shape,dtype"
ROW = '0,fc1.weight,2,-1.5,2.5,0.25,3.0,0.125,4,"[8, 8]",torch.float32'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("monitor")


def read(folder: Path, content: str | bytes, name: str = "grad_reduced_0-9.csv") -> MonitorTable:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_monitor(path, root=folder)


def table(folder: Path, *lines: str, name: str = "grad_reduced_0-9.csv") -> MonitorTable:
    return read(folder, "".join(line + "\n" for line in lines), name)


def texts(codes: Sequence[int] | np.ndarray, labels: Sequence[str]) -> list[str | None]:
    return [None if code < 0 else labels[code] for code in codes]


def told(found: MonitorTable | Anomalies) -> list[tuple[str, int | None]]:
    return [(problem.kind, problem.line) for problem in found.problems]


# ---- what is in a row ----


def test_a_row_of_the_first_version(folder: Path) -> None:
    found = table(folder, HEADER, ROW)
    assert (found.version, found.n_rows, found.n_dropped, found.problems) == (1, 1, 0, ())
    assert texts(found.name, found.names) == ["fc1.weight"]
    assert texts(found.kind, found.kinds) == ["grad_reduced"]
    assert texts(found.shape, found.shapes) == ["[8, 8]"]
    assert texts(found.dtype, found.dtypes) == ["torch.float32"]
    assert (found.step[0], found.vpp_stage[0], found.micro_step[0], found.nans[0]) == (2, 0, -1, 4)
    assert (found.max[0], found.min[0], found.mean[0], found.norm[0], found.zeros[0]) == (
        *(2.5, -1.5, 0.25, 3.0),
        0.125,
    )
    assert (found.present[0], found.line[0]) == (0b11111, 2)


def test_columns_are_found_by_name_and_may_be_missing(folder: Path) -> None:
    found = table(folder, "norm,step,unknown,NAME, max ", "3.0,7,x,w,2.5")
    assert (found.norm[0], found.max[0], found.step[0], found.vpp_stage[0], found.nans[0]) == (
        *(3.0, 2.5, 7),
        *(-1, -1),
    )
    assert math.isnan(found.min[0]) and math.isnan(found.mean[0]) and math.isnan(found.zeros[0])
    assert found.present[0] == 0b01001
    assert texts(found.shape, found.shapes) == texts(found.dtype, found.dtypes) == [None]
    assert found.problems == ()


def test_absent_is_neither_zero_nor_nan(folder: Path) -> None:
    found = table(folder, "name,step,min,max,nans", "a,0,nan,inf,nan", "b,0,,-inf,", "c,0,0,-0.0,0")
    assert [math.isnan(x) for x in found.min] == [True, True, False]
    assert found.max.tolist() == [math.inf, -math.inf, 0.0]
    assert found.present.tolist() == [0b11, 0b01, 0b11]
    assert found.nans.tolist() == [-1, -1, 0]
    assert found.problems == ()


def test_whole_numbers_may_be_written_as_floats(folder: Path) -> None:
    found = table(folder, "name,step,micro_step,vpp_stage,nans", "a,1.0,2.0,-1,3.0", "b,2,3,0,4")
    assert (found.step.tolist(), found.micro_step.tolist()) == ([1, 2], [2, 3])
    assert (found.vpp_stage.tolist(), found.nans.tolist()) == ([-1, 0], [3, 4])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("actv_0-1.csv", "activation"),
        ("actv_grad_10-19.csv", "activation_grad"),
        ("grad_unreduced_0-0.csv", "grad_unreduced"),
        ("grad_reduced_0-0.csv", "grad_reduced"),
        ("param_origin_0-0.csv", "param_origin"),
        ("param_updated_0-0.csv", "param_updated"),
        ("exp_avg_0-0.csv", "exp_avg"),
        ("exp_avg_sq_0-0.csv", "exp_avg_sq"),
        ("linear_hook_0-0.csv", "linear_hook"),
        ("mine.csv", "mine"),
    ],
)
def test_the_file_says_the_kind_in_the_first_version(folder: Path, name: str, kind: str) -> None:
    assert table(folder, HEADER, ROW, name=name).kinds == (kind,)


def test_the_scope_says_the_kind_in_the_second_version(folder: Path) -> None:
    scopes = {
        "forward": "activation",
        "backward": "activation_grad",
        "unreduced": "grad_unreduced",
        "reduced": "grad_reduced",
        "exp_avg": "exp_avg",
        "exp_avg_sq": "exp_avg_sq",
        "param_origin": "param_origin",
        "param_updated": "param_updated",
        "comm": "communication",
        "new_word": "new_word",
        "": "weight_grad",
    }
    rows = [f"-1,{i},m.{i},{scope},1.0" for i, scope in enumerate(scopes)]
    found = table(folder, "vpp_stage,step,module_name,scope,min", *rows, name="weight_grad_step-1-0.csv")
    assert found.version == 2
    assert texts(found.kind, found.kinds) == list(scopes.values())
    assert texts(found.name, found.names) == [f"m.{i}" for i in range(len(scopes))]


@pytest.mark.parametrize(
    ("parent", "rank"),
    [("Dec03_21-34-40-rank12-a1b2", 12), ("rank_3", 3), ("rank4", 4), ("misc", None), ("frank7", None)],
)
def test_the_folder_says_the_rank_unless_the_caller_does(
    tmp_path: Path, parent: str, rank: int | None
) -> None:
    (tmp_path / parent).mkdir()
    found = table(tmp_path / parent, HEADER, ROW)
    assert found.rank == rank
    assert read_monitor(found.path, root=tmp_path, rank=5).rank == 5


# ---- what is wrong with a file ----


def test_rows_of_another_length_are_left_out_and_told(folder: Path) -> None:
    found = table(folder, "name,step,min", "a,0,1", "b,0", "c,0,1,2", "", "d,0,3")
    assert texts(found.name, found.names) == ["a", "d"]
    assert found.line.tolist() == [2, 6]
    assert (found.n_dropped, told(found)) == (2, [("bad-record", 3), ("bad-record", 4)])


def test_a_repeated_header_is_no_row(folder: Path) -> None:
    found = table(folder, "name,step,min", "a,0,1", "name,step,min", "b,1,2")
    assert (texts(found.name, found.names), found.min.tolist()) == (["a", "b"], [1.0, 2.0])
    assert (found.n_dropped, told(found)) == (1, [("bad-record", 3)])


def test_another_header_holds_from_there_on(folder: Path) -> None:
    found = table(
        folder, "name,step,min", "a,0,1", "step,max,name", "1,7,b", "vpp_stage,step,name,min", "0,2,c,5"
    )
    assert texts(found.name, found.names) == ["a", "b", "c"]
    assert found.present.tolist() == [0b10, 0b01, 0b10]
    assert (found.min[0], found.max[1], found.min[2]) == (1.0, 7.0, 5.0)
    assert found.line.tolist() == [2, 4, 6]
    assert found.columns == ("name", "step", "min", "max", "vpp_stage")


def test_a_last_line_without_end_is_left_out(folder: Path) -> None:
    found = read(folder, "name,step,min\na,0,1\nb,0,0.0013")
    assert texts(found.name, found.names) == ["a"]
    assert (found.n_dropped, told(found)) == (1, [("cut-off", 3)])
    only_header = read(folder, "name,step,min")
    assert (only_header.n_rows, told(only_header)) == (0, [("cut-off", 1)])


def test_a_row_without_a_step_is_left_out(folder: Path) -> None:
    found = table(
        folder, "name,step,min", "a,x,1", "b,,1", "c,1.5,1", "d,1_0,1", "e,nan,1", "f,3,1", "g,1e400,1"
    )
    assert texts(found.name, found.names) == ["f"]
    assert (found.line.tolist(), found.n_dropped) == ([7], 6)
    assert {kind for kind, _ in told(found)} == {"bad-record"}


def test_cells_that_are_no_numbers_are_absent_and_told(folder: Path) -> None:
    found = table(folder, "name,step,min,micro_step,nans", "a,0,tensor(1),x,-2.5", "b,0,1_0,1,0")
    assert np.isnan(found.min).all() and found.present.tolist() == [0, 0]
    assert (found.micro_step.tolist(), found.nans.tolist()) == ([-1, 1], [-1, 0])
    assert sorted(told(found)) == [("bad-record", 2)] * 3 + [("bad-record", 3)]
    assert found.n_dropped == 0


def test_a_quote_without_end_costs_its_own_row_only(folder: Path) -> None:
    found = table(folder, "name,step,shape", 'a,0,"[8', "b,0,[8]", 'c,0,"[2, 8]"', 'd,0,"[8')
    assert texts(found.name, found.names) == ["b", "c"]
    assert texts(found.shape, found.shapes) == ["[8]", "[2, 8]"]
    assert told(found) == [("bad-record", 2), ("bad-record", 5)]


def test_cells_and_headers_are_bounded(folder: Path) -> None:
    found = table(folder, "name,step", "a" * 4097 + ",0", "b,0")
    assert (texts(found.name, found.names), told(found)) == (["b"], [("too-large", 2)])
    with pytest.raises(InputError, match="no header"):
        table(folder, "name,step" + ",x" * 300)


def test_rows_are_bounded(folder: Path) -> None:
    path = folder / "actv_0-0.csv"
    path.write_text("name,step\n" + "".join(f"m{i},{i}\n" for i in range(10)))
    found = read_monitor(path, max_rows=4)
    assert (found.step.tolist(), told(found)) == ([0, 1, 2, 3], [("limit", 6)])
    assert read_monitor(path, max_rows=10).problems == ()


def test_names_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor_rows, "MAX_LABEL_CHARS", 100)
    found = table(folder, "name,step", *(f"m{i},{i}" for i in range(10)))
    assert told(found) == [("limit", 12)]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"a,b\n1,2\n", b"\0\0\0\0", b"step,min\n0,1\n"])
def test_what_is_no_table_is_an_error(folder: Path, content: bytes) -> None:
    with pytest.raises(InputError) as caught:
        read(folder, content)
    assert caught.value.path is not None and caught.value.hint


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "utf-16"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_encodings_and_line_ends(folder: Path, encoding: str, line_end: str) -> None:
    lines = ["name,step,min,shape", '模块.权重,3,1.5,"[4, 8]"', "b,4,2.5,[2]", ""]
    found = read(folder, line_end.join(lines).encode(encoding))
    assert texts(found.name, found.names) == ["模块.权重", "b"]
    assert texts(found.shape, found.shapes) == ["[4, 8]", "[2]"]
    assert (found.min.tolist(), found.problems) == ([1.5, 2.5], ())


def test_a_link_out_of_the_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    outside = table(tmp_path, HEADER, ROW).path
    (tmp_path / "run" / "actv_0-0.csv").symlink_to(outside)
    with pytest.raises(InputError, match="outside"):
        read_monitor(tmp_path / "run" / "actv_0-0.csv", root=tmp_path / "run")


def test_reading_can_be_cancelled(folder: Path) -> None:
    path = table(folder, HEADER, ROW).path
    with pytest.raises(Cancelled):
        read_monitor(path, is_cancelled=lambda: True)


# ---- any bytes ----


def check_whole(found: MonitorTable) -> None:
    """All columns have one length and all codes a text."""
    n = found.n_rows
    for codes, labels in (
        (found.name, found.names),
        (found.kind, found.kinds),
        (found.shape, found.shapes),
        (found.dtype, found.dtypes),
    ):
        assert len(codes) == n and (n == 0 or (codes.min() >= -1 and codes.max() < len(labels)))
        "".join(labels).encode()
    for column in (found.step, found.micro_step, found.vpp_stage, found.nans, found.present, found.line):
        assert len(column) == n
    assert found.statistics.shape == (n, 5)
    is_absent = (found.present[:, None] >> np.arange(5) & 1) == 0
    assert np.isnan(found.statistics[is_absent]).all()
    assert (np.diff(found.line) > 0).all()


WHOLE = "\n".join([HEADER, ROW, ROW.replace("2,", "3,", 1), ROW.replace("-1.5", "nan"), ""]).encode()


@given(content=st.binary(max_size=300))
def test_random_bytes_are_a_table_or_an_input_error(folder: Path, content: bytes) -> None:
    for raw in (content, HEADER.encode() + b"\n" + content, b"name,step,min\n" + content):
        try:
            check_whole(read(folder, raw))
        except InputError:
            continue


@given(cells=st.lists(st.text(alphabet='0123456789.-+eEnaif_,"\r\0 x', max_size=30), max_size=8))
def test_odd_cells_are_read_or_told(folder: Path, cells: list[str]) -> None:
    found = table(folder, "name,step,min,nans", *(f"a,{cell}" for cell in cells))
    check_whole(found)
    assert found.n_rows + found.n_dropped <= len(cells)


@given(at=st.integers(0, len(WHOLE)))
def test_cut_anywhere_it_keeps_whole_rows(folder: Path, at: int) -> None:
    try:
        found = read(folder, WHOLE[:at])
    except InputError:
        assert at < len(HEADER)
        return
    check_whole(found)
    n_ends = WHOLE[:at].count(b"\n")
    assert found.n_rows == max(n_ends - 1, 0)
    assert bool(found.problems) == (at > 0 and not WHOLE[:at].endswith(b"\n"))


# ---- while it is written ----


def same_table(one: MonitorTable, other: MonitorTable) -> None:
    for field in dataclasses.fields(MonitorTable):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype == np.float64), field.name
        else:
            assert a == b, field.name


LINES = st.lists(
    st.sampled_from(
        [*WHOLE.decode().splitlines(keepends=True), HEADER + "\n", "a,b\n", "\n", 'x,"y,1\n', "梯度,1\n"]
    ),
    max_size=12,
)


@given(
    head=st.sampled_from(["", HEADER + "\n", "name,step,min\n", "\ufeff" + HEADER + "\r\n"]),
    lines=LINES,
    cut=st.integers(0, 60),
    pieces=st.lists(st.integers(1, 90), max_size=30),
    encoding=st.sampled_from(["utf-8", "utf-16-le"]),
)
def test_fed_in_pieces_it_is_what_it_is_as_a_file(
    folder: Path, head: str, lines: list[str], cut: int, pieces: list[int], encoding: str
) -> None:
    content = (head + "".join(lines)).encode(encoding)
    content = content[: max(len(content) - cut, 0)]
    path = folder / "grad_reduced_0-9.csv"
    tail = MonitorTail(path, root=folder)
    at = 0
    for n_bytes in (*pieces, len(content)):
        tail.feed(content[at : at + n_bytes])
        at = min(at + n_bytes, len(content))
        so_far = tail.table(is_growing=True)
        assert so_far is None or "cut-off" not in {problem.kind for problem in so_far.problems}
        try:
            cold = read(folder, content[:at])
        except InputError as error:
            with pytest.raises(InputError, match=re.escape(error.message)):
                tail.table(is_growing=False)
            continue
        ended = tail.table(is_growing=False)
        assert ended is not None
        same_table(ended, cold)


def test_half_a_line_waits_for_its_end(folder: Path) -> None:
    tail = MonitorTail(folder / "grad_reduced_0-9.csv", root=folder)
    text = HEADER + "\n" + ROW + "\n" + ROW.replace(",2,", ",3,") + "\n"
    tail.feed(text[:-10].encode())
    first = tail.table(is_growing=True)
    assert first is not None and first.step.tolist() == [2] and first.problems == ()
    cut = tail.table(is_growing=False)
    assert cut is not None and [problem.kind for problem in cut.problems] == ["cut-off"]
    tail.feed(text[-10:].encode())
    second = tail.table(is_growing=True)
    assert second is not None and second.step.tolist() == [2, 3] and second.problems == ()


@pytest.mark.budget
def test_a_hundred_thousand_rows_take_a_second_of_cpu(folder: Path) -> None:
    rows = "".join(
        f'0,layers.{i % 500}.weight,{i // 500},-0.109984,0.1306,0.001342,0.324477,0.125,0,"[8, 8]",f32\n'
        for i in range(100_000)
    )
    path = folder / "grad_reduced_0-199.csv"
    path.write_text(HEADER + "\n" + rows)
    begun = time.process_time()
    found = read_monitor(path)
    assert (found.n_rows, len(found.names)) == (100_000, 500)
    assert time.process_time() - begun < 2.0  # about 0.4 s


# ---- anomalies ----

ENTRY = {
    "rank": 1,
    "step": 7,
    "micro_step": 0,
    "pp_stage": 0,
    "vpp_stage": 2,
    "call_id": 12,
    "tag_name": "2:fc1.input:0/rank1/actv_grad",
    "message": "Rule AnomalyTurbulence reports anomaly signal in ('2:fc1.input:0/rank1/actv_grad', 'norm') "
    "at step 7, current value 12.5, history mean 0.25.",
    "group_mates": [0, 1],
}


def anomalies(folder: Path, value: object) -> Anomalies:
    path = folder / "anomaly.json"
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value, indent=1).encode())
    return read_anomalies(path, root=folder)


def test_an_anomaly(folder: Path) -> None:
    found = anomalies(folder, {"2:fc1.input:0/rank1/actv_grad_step_7_call_12": ENTRY})
    (entry,) = found.anomalies
    assert (found.completeness, found.problems) == ("complete", ())
    assert (entry.rank, entry.step, entry.micro_step, entry.pp_stage, entry.vpp_stage) == (1, 7, 0, 0, 2)
    assert (entry.call_id, entry.group_mates, entry.byte) == (12, (0, 1), 3)
    assert (entry.name, entry.kind) == ("fc1.input", "activation_grad")
    assert (entry.rule, entry.metric, entry.value, entry.history_mean) == (
        "AnomalyTurbulence",
        "norm",
        12.5,
        0.25,
    )


@pytest.mark.parametrize(
    ("tag", "name", "kind"),
    [
        ("0:fc1.input/rank0/actv", "fc1.input", "activation"),
        ("0:1.post_attention_norm.weight/rank0/pre_grad", "1.post_attention_norm.weight", "grad_unreduced"),
        ("fc1.weight/post_grad", "fc1.weight", "grad_reduced"),
        ("0:fc2.weight/rank0/exp_avg_sq", "fc2.weight", "exp_avg_sq"),
        ("something else", "something else", ""),
        ("", "", ""),
    ],
)
def test_tags_of_anomalies(folder: Path, tag: str, name: str, kind: str) -> None:
    (entry,) = anomalies(folder, {"k": {**ENTRY, "tag_name": tag, "message": "in other words"}}).anomalies
    assert (entry.name, entry.kind, entry.rule, entry.metric, entry.value) == (name, kind, "", "", None)


def test_no_anomalies_is_an_answer(folder: Path) -> None:
    found = anomalies(folder, {})
    assert (found.anomalies, found.completeness) == ((), "complete")


def test_entries_that_are_none_and_values_of_a_wrong_type(folder: Path) -> None:
    found = anomalies(folder, {"a": 1, "b": {"tag_name": "t", "rank": "0", "step": True, "group_mates": "x"}})
    (entry,) = found.anomalies
    assert (entry.rank, entry.step, entry.group_mates, entry.call_id) == (None, None, (), None)
    assert {p.kind for p in found.problems} == {"bad-record"} and len(found.problems) == 4
    assert found.completeness == "unknown"


def test_a_cut_file_keeps_what_is_whole(folder: Path) -> None:
    whole = json.dumps({"a": ENTRY, "b": ENTRY}, indent=1).encode()
    found = anomalies(folder, whole[: len(whole) - 40])
    assert (len(found.anomalies), found.completeness) == (1, "cut off")


@given(content=st.binary(max_size=200), at=st.integers(0, 900))
def test_no_bytes_break_the_anomalies(folder: Path, content: bytes, at: int) -> None:
    whole = json.dumps({"a": ENTRY, "b": {**ENTRY, "tag_name": "\ud800"}}).encode()
    for raw in (content, whole[:at], whole[:at] + content, b'{"a":{"tag_name":' + content):
        try:
            found = anomalies(folder, raw)
        except InputError:
            continue
        "".join(entry.tag_name + entry.name + entry.message for entry in found.anomalies).encode()

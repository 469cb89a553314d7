"""The readers of the training monitor and of acl.json on files that the real tools wrote."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from npulse.core.formats.acl_config import DumpTarget, read_acl_config
from npulse.core.formats.environment import read_environment
from npulse.core.formats.msprobe.anomaly import read_anomalies
from npulse.core.formats.msprobe.monitor import MonitorTable, read_monitor
from npulse.core.run.discover import discover


@pytest.fixture(scope="module")
def misc(shared: Path) -> Path:
    return shared / "samples" / "msprobe" / "misc"


def row_of(table: MonitorTable, name: str, step: int) -> int:
    (row,) = (
        i for i in range(table.n_rows) if table.names[table.name[i]] == name and int(table.step[i]) == step
    )
    return row


def test_activations_of_the_first_version(misc: Path) -> None:
    table = read_monitor(misc / "monitor_v1" / "actv_0-1.csv", root=misc)
    assert (table.version, table.rank, table.n_rows, table.n_dropped, table.problems) == (1, None, 12, 0, ())
    assert table.kinds == ("activation",)
    assert table.names == ("fc1.input", "fc1.output", "fc2.input", "fc2.output", ".input", ".output")
    assert table.step.tolist() == [0] * 6 + [1] * 6
    assert table.micro_step.tolist() == table.vpp_stage.tolist() == table.nans.tolist() == [0] * 12
    row = row_of(table, "fc2.input", 1)
    assert (table.min[row], table.max[row], table.mean[row], table.norm[row], table.zeros[row]) == (
        *(0.0, 1.365353, 0.190615, 2.260193),
        0.53125,
    )
    assert (table.shapes[table.shape[row]], table.dtypes[table.dtype[row]]) == ("[4, 8]", "torch.float32")
    assert table.line[row] == 10


def test_reduced_gradients_of_the_first_version(misc: Path) -> None:
    table = read_monitor(misc / "monitor_v1" / "grad_reduced_2-3.csv", root=misc, rank=0)
    assert (table.rank, table.n_rows, table.kinds, table.problems) == (0, 8, ("grad_reduced",), ())
    assert table.micro_step.tolist() == [-1] * 8
    assert table.norm.tolist() == [
        *(0.324477, 0.108567, 0.21589, 0.220512),
        *(575767.253947, 188.018129, 368871.800305, 365.2865),
    ]
    row = row_of(table, "fc1.weight", 3)
    assert (table.min[row], table.max[row], table.mean[row]) == (-269787.25, 152181.96875, -10120.978366)
    bias = row_of(table, "fc2.bias", 2)
    assert (table.shapes[table.shape[bias]], table.line[bias]) == ("[2]", 5)


def test_modules_of_the_second_version(misc: Path) -> None:
    table = read_monitor(misc / "monitor_v2" / "module_step0-0.csv", root=misc)
    assert (table.version, table.n_rows, table.problems) == (2, 3, ())
    assert [table.kinds[code] for code in table.kind] == ["activation", "activation", "activation_grad"]
    assert [table.names[code] for code in table.name] == ["fc1.input.0", "fc1.output.0", "fc1.grad_output.0"]
    assert table.vpp_stage.tolist() == table.micro_step.tolist() == [-1] * 3
    assert table.nans.tolist() == [0, 0, 0]
    assert table.norm.tolist() == [5.505128860473633, 3.481508255004883, 0.1182216927409172]
    assert all(math.isnan(x) for x in table.zeros) and table.present.tolist() == [0b1111] * 3
    assert table.shape.tolist() == table.dtype.tolist() == [-1] * 3


@pytest.mark.parametrize(
    "name", ["monitor_v1/actv_0-1.csv", "monitor_v1/grad_reduced_2-3.csv", "monitor_v2/module_step0-0.csv"]
)
def test_every_number_is_that_of_the_csv(misc: Path, name: str) -> None:
    table = read_monitor(misc / name)
    with open(misc / name, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == table.n_rows
    for i, row in enumerate(rows):
        assert table.names[table.name[i]] == row.get("name", row.get("module_name"))
        assert int(table.step[i]) == int(row["step"])
        for k, word in enumerate(("max", "min", "mean", "norm", "zeros")):
            assert bool(table.present[i] >> k & 1) == (word in row)
            assert word not in row or table.statistics[i, k] == float(row[word])


def test_anomalies(misc: Path) -> None:
    found = read_anomalies(misc / "monitor_v1" / "anomaly.json", root=misc)
    assert (found.completeness, found.problems) == ("complete", ())
    assert [(a.step, a.call_id, a.name) for a in found.anomalies] == [
        *((0, 6, ".input"), (0, 12, "fc1.input"), (1, 6, ".input"), (1, 12, "fc1.input")),
    ]
    assert {(a.rank, a.micro_step, a.vpp_stage, a.kind) for a in found.anomalies} == {
        (0, 0, 0, "activation_grad")
    }
    assert {(a.rule, a.metric, a.group_mates) for a in found.anomalies} == {("AnomalyNan", "nans", (0,))}
    # no tensor there, the input of a first layer has no gradient: the count itself is NaN
    assert all(a.value is not None and math.isnan(a.value) for a in found.anomalies)
    raw = found.path.read_bytes()
    assert [raw[a.byte : a.byte + 3] for a in found.anomalies] == [b'"0:'] * 4


def test_dump_configurations(shared: Path) -> None:
    folder = shared / "samples" / "cann" / "acl_json"
    found = {path.stem: read_acl_config(path, root=shared) for path in folder.glob("*.json")}
    assert len(found) == 15
    assert all(config.problems == () and config.unknown_keys == () for config in found.values())
    assert {name for name, config in found.items() if config.dump_debug} == {
        *("ok_overflow", "bad_scene_and_debug", "bad_debug_and_op_switch"),
    }
    assert {name for name, config in found.items() if config.dump_path is None} == {
        *("bad_no_path", "ok_lite_exception"),
    }
    assert found["bad_debug_and_op_switch"].dump_op_switch is True
    assert found["ok_lite_exception"].dump_scene == "lite_exception"
    assert found["ok_model_layers"].dump_step == "0|5-10|20"
    assert found["ok_model_layers"].targets == (
        DumpTarget("tiny_net", ("conv1_Conv2D", "layer1_fc_MatMul"), ()),
        DumpTarget("other_net", (), ()),
    )
    assert found["ok_model_layers"].layers == ("conv1_Conv2D", "layer1_fc_MatMul")
    assert found["ok_op_switch"].targets == ()
    assert found["ok_watcher"].targets == (DumpTarget(None, ("A_op", "B_op"), ("C_op",)),)


def test_all_of_them_are_found_and_read(shared: Path) -> None:
    """Whatever discovery takes for one of these is one for its reader too."""
    readers = {
        "msprobe.monitor_v1": lambda path: read_monitor(path).version == 1,
        "msprobe.monitor_v2": lambda path: read_monitor(path).version == 2,
        "msprobe.monitor_anomaly": lambda path: len(read_anomalies(path).anomalies) == 4,
        "cann.acl_config": lambda path: bool(read_acl_config(path).line_of),
        "npulse.round": lambda path: bool(read_environment(path).path),
        "device.environment": lambda path: bool(read_environment(path).variables),
        "device.script": lambda path: bool(read_environment(path).variables),
    }
    seen = [a for a in discover(shared / "samples").artifacts if a.kind in readers]
    assert len(seen) >= 19
    assert all(readers[artifact.kind](artifact.path) for artifact in seen)

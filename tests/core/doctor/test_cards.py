"""What npu-smi tells stands in an inventory behind version files."""

from __future__ import annotations

from pathlib import Path

from npulse.core.device.snapshot import ChipState, Snapshot
from npulse.core.doctor.cards import told_by
from npulse.core.doctor.findings import alignment
from npulse.core.doctor.inventory import Machine, inventory

from ..device.doubles import snapshot_of


def test_the_driver_of_npu_smi_is_the_machines_where_no_file_tells_it(tmp_path: Path) -> None:
    snapshot = snapshot_of("ok", "board")
    told = told_by(snapshot)
    assert told["driver"] == snapshot.driver_version and told["driver"]
    found = inventory(Machine(root=tmp_path, variables={}), told=told)
    assert found.driver is not None and found.driver.release == snapshot.driver_version


def board(compatibility: str) -> dict[str, str | None]:
    return {"Compatibility": compatibility, "Firmware Version": "7.7.0.1"}


def test_one_card_that_does_not_fit_is_told(tmp_path: Path) -> None:
    chips = (ChipState(0, 0, values=board("OK")), ChipState(1, 0, values=board("NOK")))
    told = told_by(Snapshot("ok", chips=chips))
    assert told == {"board-compatibility": "NOK", "firmware": "7.7.0.1"}
    found = alignment(inventory(Machine(root=tmp_path, variables={}), told=told))
    assert [f.severity for f in found if f.rule == "env.board"] == ["error"]


def test_what_only_root_sees_is_not_told() -> None:
    chips = (ChipState(0, 0, values=board("NOT SUPPORT") | {"Firmware Version": "NA"}),)
    assert told_by(Snapshot("ok", chips=chips)) == {}
    assert told_by(Snapshot("driver not reachable", code=-8005)) == {}

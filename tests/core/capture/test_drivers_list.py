"""The doctor tells of every tool that can capture, by the name that --tool takes."""

from __future__ import annotations

from pathlib import Path

from npulse.core.capture.drivers import DRIVERS
from npulse.core.doctor.captures import captures
from npulse.core.doctor.inventory import Machine, inventory


def test_the_doctor_knows_every_driver(tmp_path: Path) -> None:
    told = captures(inventory(Machine(root=tmp_path, variables={"PATH": ""})))
    assert {(one.kind, one.tool.partition(" (")[0]) for one in told} == {
        (kind, tool) for kind, drivers in DRIVERS.items() for tool in drivers
    }

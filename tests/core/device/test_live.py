"""The cards of this machine, polled: what one look sees, what only several see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from npulse.core.device.analyse import Devices
from npulse.core.device.live import LiveDevices
from npulse.core.device.query import NpuSmi
from npulse.core.device.report import report
from npulse.core.device.view import device_view
from npulse.core.errors import Cancelled

from .doubles import environment


class Machine:
    """Cards that change between two looks."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state.json"
        self.state.write_text("{}")
        self.live = LiveDevices(smi=NpuSmi(env=environment("healthy", NPU_SMI_STATE=str(self.state))))

    def look(self, *chips: dict[str, Any], processes: tuple[tuple[Any, ...], ...] = ()) -> Devices:
        told = [{"npu": place, "chip": 0, **chip} for place, chip in enumerate(chips)]
        self.state.write_text(json.dumps({"chips": told, "processes": processes}))
        return self.live.look()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def rules(found: Devices) -> list[str]:
    return [note.rule for note in found.notes]


def test_counters_that_move_between_two_looks(machine: Machine) -> None:
    assert rules(machine.look({"ecc": [7, 0, 9, 0, 0, 0, 0, 0]})) == []
    assert rules(machine.look({"ecc": [7, 0, 9, 0, 0, 0, 0, 0]})) == []
    found = machine.look({"ecc": [8, 0, 9, 0, 0, 0, 0, 0]})
    (note,) = found.notes
    assert note.rule == "counters-moving"
    assert note.figures["counters"] == {"HBM Single Bit Error Count": [7, 8]}


def test_what_was_hot_stays_told(machine: Machine) -> None:
    busy = {"aicore": 90, "rated": 1800}
    assert rules(machine.look({**busy, "temp": 91, "freq": 1100})) == ["temperature", "frequency", "busy"]
    found = machine.look({**busy, "temp": 50, "freq": 1800})
    assert rules(found) == ["temperature", "frequency", "busy"]
    assert found.notes[0].figures["peak_c"] == 91 and found.notes[1].figures["frequency_mhz"] == 1100
    view = device_view(found, "en")
    assert [value for _, value in view.history(0, "temperature_c")] == [91, 50]
    assert [value for _, value in view.history(0, "frequency_mhz")] == [1100, 1800]


def test_one_look_counts_as_one_sample(machine: Machine) -> None:
    machine.look({})
    found = machine.look({"temp": 47})
    assert report(found).counts["samples"] == 2 and report(found).verdict == "pass"


def test_a_look_that_fails_says_so_and_forgets_nothing(machine: Machine) -> None:
    machine.look({"temp": 91})
    machine.state.unlink()
    found = machine.live.look()
    assert rules(found) == ["unreachable"] and report(found).verdict == "unknown"
    last = machine.live.smi.last
    assert last is not None and last.chips[0].temperature_c == 91
    machine.state.write_text("{}")
    assert "temperature" in rules(machine.live.look()), "as it was once"


def test_cancelled(machine: Machine) -> None:
    with pytest.raises(Cancelled):
        machine.live.look(is_cancelled=lambda: True)

"""Tables of npu-smi in the layouts of several versions, against what each one says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npulse.core.formats.npu_smi.reader import read_npu_smi
from npulse.core.formats.npu_smi.records import ChipSample


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "samples" / "npu_smi"


def facts(one: ChipSample) -> dict[str, object]:
    return {
        **{"npu": one.npu, "chip": one.chip, "name": one.name, "health": one.health, "bus_id": one.bus_id},
        **{"power_w": one.power_w, "temp_c": one.temperature_c, "aicore_pct": one.ai_core_percent},
        **{"phy_id": one.physical_id, "device": one.device},
        "memory_mb": None if one.memory_total_mb is None else [one.memory_used_mb, one.memory_total_mb],
        "hbm_mb": None if one.hbm_total_mb is None else [one.hbm_used_mb, one.hbm_total_mb],
    }


def test_every_table_as_expected(folder: Path) -> None:
    expected = json.loads((folder / "expected_tables.json").read_text())
    assert len(expected) >= 7
    for name, table in expected.items():
        found = read_npu_smi(folder / name, root=folder)
        assert [facts(one) for one in found.samples] == table["chips"], name
        assert found.problems == (), name


def test_rows_of_watch(folder: Path) -> None:
    polls = {path.parent.name: read_npu_smi(path).samples for path in sorted(folder.rglob("watch.txt"))}
    assert {name: (len(found), found[-1].poll) for name, found in polls.items()} == {
        **{"310p": (1, 0), "910b": (6, 1), "a3": (4, 0)}
    }
    assert [one.power_w for one in polls["a3"]] == [168.3, None, 169.3, None]

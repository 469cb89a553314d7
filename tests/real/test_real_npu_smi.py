"""Tables of npu-smi in the layouts of several versions, against what each one says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npulse.core.device.reading import read_device
from npulse.core.formats.npu_smi.reader import read_npu_smi
from npulse.core.formats.npu_smi.records import ChipSample, SmiProcess, SmiText


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


def process_facts(one: SmiProcess) -> dict[str, object]:
    found: dict[str, object] = {"npu": one.npu, "chip": one.chip, "pid": one.pid}
    found |= {"name": one.name, "memory_mb": one.memory_mb}
    return found | ({"container_pid": one.container_pid} if one.has_container_column else {})


def test_all_that_stands_beside_the_chips_of_every_table(folder: Path) -> None:
    expected = json.loads((folder / "expected_tables.json").read_text())
    for name, table in expected.items():
        found = read_npu_smi(folder / name, root=folder).told.table
        assert found is not None, name
        told: dict[str, object] = {"driver_version": found.driver_version, "layout": found.layout}
        told["processes"] = [process_facts(one) for one in found.processes]
        assert told == {key: table[key] for key in told}, name


def told(folder: Path, name: str) -> SmiText:
    found = read_npu_smi(folder / name)
    assert found.problems == ()
    return found.told


def test_tables_beside_the_expected_ones(folder: Path) -> None:
    layouts = {
        name: told(folder, name).table
        for name in ("950/info.txt", "310p/info_310B.txt", "910b/info_vnpu.txt")
    }
    assert {
        name: (table.layout, table.listed_npus) for name, table in layouts.items() if table is not None
    } == {
        "950/info.txt": ("950", (0, 1)),
        "310p/info_310B.txt": ("310P", ()),
        "910b/info_vnpu.txt": ("L1", (0,)),
    }
    warned = told(folder, "910b/info_warning_incomplete_driver.txt")
    assert [one.kind for one in warned.messages] == ["incomplete-driver"]
    assert read_device(folder / "910b/info_warning_incomplete_driver.txt").snapshot.is_driver_incomplete


def test_every_block(folder: Path) -> None:
    """All keys of the file, of the chip that the file names."""
    n_keys = {}
    for path in sorted(folder.rglob("t_*.txt")):
        found = told(folder, str(path.relative_to(folder)))
        for block in found.blocks:
            n_keys[path.parent.name, path.stem, block.npu, block.chip] = len(block.last)
    assert n_keys["910b", "t_common", 0, 0] == 8 and n_keys["a3", "t_common", 0, 1] == 8
    assert n_keys["310p", "t_common", 2, 0] == 5 and n_keys["910b", "t_usages", 0, 0] == 14
    assert n_keys["910b", "t_ecc", 0, 0] == n_keys["a3", "t_ecc", 0, 0] == n_keys["a3", "t_ecc", 0, 1] == 8
    assert n_keys["910b", "t_health", 0, 0] == 1, "the management chip is none"
    assert n_keys["910b", "t_health_c0_alarm", None, None] == 3
    assert n_keys["910b", "t_board", 0, None] == 13 and n_keys["910b", "t_sys_time_c0", None, None] == 1
    blocks = {path.stem for path in folder.rglob("t_*.txt")} - {"t_topo", "t_phyid_remap_p3"}
    assert {key[1] for key in n_keys} == blocks - {"t_product_not_supported"}


def test_values_of_blocks(folder: Path) -> None:
    codes = told(folder, "910b/t_health_c0_alarm.txt").blocks[0].last
    assert (
        codes["Error Code"] == "80E01801 80E18402"
        and str(codes["Error Information"]).count("event state=") == 2
    )
    assert told(folder, "910b/t_sys_time_c0.txt").blocks[0].last == {
        "System Time(local)": "Wed Jun 11 17:15:30 2025"
    }
    sensors = told(folder, "910b/t_sensors_c0.txt").blocks[0].last
    assert sensors["SFP Temperature (C)"] is None and sensors["HBM Temperature (C)"] == "51"
    ecc = {
        block.chip: block.last["HBM Double Bit Isolated Pages Count"]
        for block in told(folder, "a3/t_ecc.txt").blocks
    }
    assert ecc == {0: "0", 1: "1"}


def test_ids_lists_and_links(folder: Path) -> None:
    assert len(told(folder, "a3/info_m.txt").ids) == 16 and len(told(folder, "310p/info_m.txt").ids) == 4
    assert [one.npu for one in told(folder, "310p/info_l.txt").cards] == [1, 2, 8]
    (remap,) = told(folder, "910b/t_phyid_remap_p3.txt").ids
    assert (remap.physical_id, remap.logic_id, remap.npu, remap.chip) == (3, 3, 3, 0)
    links = told(folder, "910b/t_topo.txt").links
    assert links[0][-1] == "CPU Affinity" and links[3] == ("NPU2", "HCCS", "HCCS", "X", "HCCS", "96-119")


@pytest.mark.parametrize(
    ("name", "state", "code"),
    [
        ("driver_not_loaded", "driver not reachable", -8005),
        ("driver_not_loaded_with_log", "driver not reachable", -8005),
        ("device_used_by_container", "occupied", -8020),
        ("no_card", "no card", None),
        ("command_not_found", "npu-smi missing", None),
        ("failed_query", "unknown", None),
        ("need_chip_id", "unknown", None),
        ("not_supported", "unknown", None),
    ],
)
def test_errors_are_told_apart(folder: Path, name: str, state: str, code: int | None) -> None:
    found = read_device(folder / "errors" / f"{name}.txt").snapshot
    assert (found.state, found.code, found.chips) == (state, code, ())


def test_everything_in_one_text(folder: Path) -> None:
    """As a collector writes it: each output below its call."""
    names = ("info.txt", "info_m.txt", "t_common.txt", "t_ecc.txt", "t_usages.txt", "t_memory.txt")
    text = b"".join((folder / "a3" / name).read_bytes() for name in names)
    path = Path(folder / "a3" / "info.txt")
    one = read_device(path).snapshot
    from npulse.core.device.reading import TextReader

    reader = TextReader("all")
    reader.feed(text)
    reader.finish()
    whole = reader.reading().snapshot
    assert [chip.key for chip in whole.chips] == [chip.key for chip in one.chips] and len(whole.chips) == 16
    die = whole.chip(0, 1)
    assert die is not None and (die.frequency_mhz, die.hbm_temperature_c, die.device) == (1800, 41, 1)
    assert die.power_w is None, "the card's first chip reports it"
    assert die.count("HBM Double Bit Isolated Pages Count") == 1

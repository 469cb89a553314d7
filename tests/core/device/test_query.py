"""npu-smi asked live: states told apart, one call at a time, limits, nothing left behind."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

from npulse.core.device.query import NpuSmi, find_npu_smi, snapshot_now
from npulse.core.device.surroundings import DEVICES, LIBRARIES, surroundings
from npulse.core.errors import Cancelled

from .doubles import FOLDER, PROGRAM, environment, said, snapshot_of


@pytest.mark.parametrize(
    ("scenario", "state", "code"),
    [
        ("unreachable", "driver not reachable", -8005),
        ("unreachable-log", "driver not reachable", -8005),
        ("occupied", "occupied", -8020),
        ("none", "no card", None),
        ("denied", "not permitted", -8002),
        ("silent", "unknown", None),
    ],
)
def test_states_by_text_and_not_by_exit_code(scenario: str, state: str, code: int | None) -> None:
    found = snapshot_now(env=environment(scenario))
    assert (found.state, found.code, found.chips, found.is_known) == (state, code, (), False)
    assert found.taken_ns is not None and found.source == "npu-smi"


def test_npu_smi_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npulse.core.device.query.PLACES", (str(tmp_path),))
    env = {"PATH": str(tmp_path / "none")}
    assert find_npu_smi(env) is None and snapshot_now(env=env).state == "npu-smi missing"
    (tmp_path / "npu-smi").write_text("#!/bin/sh\n")
    assert find_npu_smi(env) is None, "not executable"
    assert NpuSmi(tmp_path / "npu-smi", env=env).snapshot().state == "not permitted"
    (tmp_path / "npu-smi").chmod(0o755)
    assert find_npu_smi(env) == tmp_path / "npu-smi", "beside PATH"
    assert find_npu_smi({"PATH": str(FOLDER)}) == PROGRAM, "PATH comes first"


def test_table_and_blocks_are_put_together() -> None:
    found = snapshot_of("throttled")
    assert (found.state, found.layout, found.driver_version) == ("ok", "L1", "25.2.0")
    last = found.chips[-1]
    assert (last.frequency_mhz, last.rated_mhz, last.temperature_c) == (1200, 1800, 88)
    assert last.used_mb == 57784 and last.count("Retry Count") == 0
    assert [(p.pid, p.memory_mb) for p in found.processes_of(last) or ()] == [(4711, 54366)]
    assert found.processes_of(found.chips[0]) == ()


def test_fault_codes_are_asked_of_chips_that_are_not_ok() -> None:
    found = snapshot_of("ecc", "common")
    assert [chip.fault_codes for chip in found.chips] == [(), ("80E01801",)]
    assert found.chips[1].fault_text is not None and "Multi Bit ECC" in found.chips[1].fault_text


def test_a_table_that_cannot_be_read_leaves_ids_and_common() -> None:
    found = snapshot_of("garbled", "common", NPU_SMI_LAYOUT="A3")
    assert found.state == "ok" and len(found.chips) == 4
    die = found.chip(1, 1)
    assert die is not None and (die.physical_id, die.temperature_c, die.health) == (3, 46, "OK")
    assert found.processes_of(die) is None, "nobody listed them"


def test_layouts_of_the_double(tmp_path: Path) -> None:
    a3 = snapshot_of("busy", "common", NPU_SMI_LAYOUT="A3")
    assert [chip.key for chip in a3.chips] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [chip.power_w for chip in a3.chips] == [303.4, None, 303.4, None]
    assert [a3.device_of(chip) for chip in a3.chips] == [0, 1, 2, 3]
    assert snapshot_of("busy", "common", NPU_SMI_LAYOUT="L2").layout == "L2"


def wait_gone(pid: int) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        threading.Event().wait(0.02)
    return False


@pytest.mark.parametrize("scenario", ["hang", "stubborn"])
def test_what_hangs_is_killed_with_all_that_it_started(scenario: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    begin = time.monotonic()
    smi = NpuSmi(env=environment(scenario, NPU_SMI_LOG=str(log)), timeout_s=2)
    assert smi.snapshot().state == "timeout"
    assert time.monotonic() - begin < 10
    words = [line.split() for line in log.read_text().splitlines()]
    assert [line[0] for line in words] == ["begin", "child"], "one call: what hangs is not asked again"
    assert all(wait_gone(int(line[1])) for line in words)


def test_cancelled_while_it_hangs() -> None:
    smi = NpuSmi(env=environment("hang"), timeout_s=60)
    with pytest.raises(Cancelled):
        smi.snapshot(is_cancelled=lambda: True)


def test_one_call_at_a_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    env = environment("healthy", NPU_SMI_LOG=str(log))
    threads = [threading.Thread(target=lambda: NpuSmi(env=env).run("info", "-m")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["begin", "end"] * 4


def test_the_last_good_answer_is_kept(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"chips": [{"npu": 4, "chip": 0, "temp": 70}]}))
    env = environment("healthy", NPU_SMI_STATE=str(state))
    smi = NpuSmi(env=env)
    assert smi.last is None and smi.last_age_s is None
    good = smi.snapshot(("common",))
    state.unlink()  # the double fails from here on
    bad = smi.snapshot(("common",))
    assert not bad.is_known and smi.last == good and (smi.last_age_s or 0) >= 0
    chip = good.of_device(4)
    assert chip is not None and chip.temperature_c == 70


def test_the_language_of_the_tool_is_c(tmp_path: Path) -> None:
    program = tmp_path / "npu-smi"
    program.write_text('#!/bin/sh\necho "npu-smi version: $LC_ALL"\n')
    program.chmod(0o755)
    answer = NpuSmi(program, env={**os.environ, "LC_ALL": "zh_CN.UTF-8"}).run("-v")
    assert answer.output == b"npu-smi version: C\n" and answer.failure == ""


def test_endless_output_ends(tmp_path: Path) -> None:
    program = tmp_path / "npu-smi"
    program.write_text("#!/bin/sh\nexec yes\n")
    program.chmod(0o755)
    answer = NpuSmi(program, env=dict(os.environ), timeout_s=30).run("info", "watch")
    assert answer.failure == "timeout" and 4 << 20 <= len(answer.output) < 8 << 20


# ---- where it is asked ----


def test_a_container_by_its_marks(tmp_path: Path) -> None:
    assert surroundings(tmp_path).is_container is False
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/1/cgroup").write_text("0::/init.scope\n")
    assert surroundings(tmp_path).is_container is False
    (tmp_path / "proc/1/cgroup").write_text("12:cpu:/kubepods/besteffort/pod1\n")
    assert surroundings(tmp_path).is_container is True
    for mark in (".dockerenv", "run/.containerenv"):
        other = tmp_path / mark.strip("/.").replace("/", "-")
        (other / mark).parent.mkdir(parents=True)
        (other / mark).touch()
        assert surroundings(other).is_container is True


def test_what_of_the_driver_cannot_be_seen(tmp_path: Path) -> None:
    assert surroundings(tmp_path).missing == (DEVICES, LIBRARIES)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/davinci_manager").touch()
    assert DEVICES in surroundings(tmp_path).missing
    (tmp_path / "dev/davinci0").touch()
    (tmp_path / LIBRARIES.strip("/")).mkdir(parents=True)
    assert surroundings(tmp_path).missing == ()


def test_the_snapshot_says_where_it_was_asked(tmp_path: Path) -> None:
    (tmp_path / ".dockerenv").touch()
    found = snapshot_of("unreachable", root=tmp_path)
    assert (found.is_container, found.missing) == (True, (DEVICES, LIBRARIES))
    assert snapshot_of("healthy", "common", root=tmp_path).missing == ()


def test_chips_of_a_call_that_was_stopped_may_not_be_all(tmp_path: Path) -> None:
    table = said("idle", "info").splitlines(keepends=True)
    ruled = next(at for at, line in enumerate(table) if line.startswith("| 0 ")) + 3  # the chip's rule too
    (tmp_path / "part.txt").write_text("".join(table[:ruled]))
    program = tmp_path / "npu-smi"
    program.write_text(f'#!/bin/sh\n[ "$2" ] || {{ cat {tmp_path}/part.txt; exec sleep 60; }}\n')
    program.chmod(0o755)
    smi = NpuSmi(program, env=dict(os.environ), timeout_s=0.5)
    found = smi.reading()
    assert found.snapshot.is_known and [one.kind for one in found.problems] == ["cut-off"]

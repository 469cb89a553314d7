"""The overflow drivers: modes of the device, versions, and what counts as the first anomaly."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.core.capture.drivers.programs import Program, program

from npulse.core.capture.driver import Ended
from npulse.core.capture.drivers import tools_of
from npulse.core.errors import UsageError


def overflow(folder: Path, **asked: Any) -> Program:
    return program(folder, "pass", kind="overflow", **asked)


def config_of(asked: Program, name: str = "config.json") -> dict[str, Any]:
    files = asked.driver.plan(asked.request, asked.round).files
    found: dict[str, Any] = json.loads(next(file.text for file in files if file.name == name))
    return found


def test_statistics_are_the_usual_way() -> None:
    assert tools_of("overflow") == ("statistics", "nan-check", "acl-overflow")


def test_each_tool_configures_its_own_way(tmp_path: Path) -> None:
    assert config_of(overflow(tmp_path / "a"))["task"] == "statistics"
    assert config_of(overflow(tmp_path / "b", tool="nan-check"))["task"] == "nan_check"
    dump = config_of(overflow(tmp_path / "c", tool="acl-overflow"), "acl.json")["dump"]
    assert dump["dump_debug"] == "on" and "dump_op_switch" not in dump and "dump_list" not in dump


def test_versions_before_26_have_overflow_check(tmp_path: Path) -> None:
    asked = overflow(tmp_path, tool="nan-check", settings={"msprobe_version": "8.3.3"})
    config = config_of(asked)
    assert config["task"] == "overflow_check" and config["overflow_check"]["overflow_nums"] == -1


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, {}),
        ({"inf_nan_mode": "1"}, {"INF_NAN_MODE_ENABLE": "1"}),
        (
            {"inf_nan_mode": "0", "product": "A2", "force_disable": "1"},
            {"INF_NAN_MODE_ENABLE": "0", "INF_NAN_MODE_FORCE_DISABLE": "1"},
        ),
        ({"inf_nan_mode": "0", "product": "310P"}, {"INF_NAN_MODE_ENABLE": "0"}),
        ({"ms_overflow_mode": "SATURATION_MODE"}, {"MS_ASCEND_CHECK_OVERFLOW_MODE": "SATURATION_MODE"}),
    ],
)
@pytest.mark.parametrize("tool", ["statistics", "nan-check", "acl-overflow"])
def test_modes_are_variables_of_the_device(
    tmp_path: Path, tool: str, settings: dict[str, str], wanted: dict[str, str]
) -> None:
    asked = overflow(tmp_path, tool=tool, settings=settings)
    environment = asked.driver.plan(asked.request, asked.round).environment
    found = {name: value for name, value in environment.items() if "MODE" in name}
    assert found == wanted


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"inf_nan_mode": "0", "product": "A2"}, "FORCE_DISABLE"),
        ({"inf_nan_mode": "0", "product": "A3"}, "FORCE_DISABLE"),
        ({"inf_nan_mode": "0", "product": "950"}, "no saturation"),
        ({"inf_nan_mode": "1", "product": "910A"}, "always saturates"),
        ({"inf_nan_mode": "2"}, "0 or 1"),
        ({"product": "H100"}, "product is one of"),
        ({"ms_overflow_mode": "ON"}, "INFNAN_MODE"),
    ],
)
def test_modes_that_a_product_refuses_are_refused(
    tmp_path: Path, settings: dict[str, str], word: str
) -> None:
    with pytest.raises(UsageError) as refused:
        overflow(tmp_path, settings=settings)
    assert word in f"{refused.value} {refused.value.hint}"


@pytest.mark.parametrize(
    ("tool", "asked", "word"),
    [
        ("nan-check", {"level": "mix"}, "level L1 only"),
        ("statistics", {"settings": {"task": "nan_check"}}, "no task"),
        ("statistics", {"retro": -1}, "retro"),
        ("acl-overflow", {"names": ("conv1",)}, "watches every operator"),
        ("acl-overflow", {"settings": {"product": "950"}}, "writes no overflow records"),
    ],
)
def test_what_a_tool_does_not_have_is_refused(
    tmp_path: Path, tool: str, asked: dict[str, Any], word: str
) -> None:
    with pytest.raises(UsageError) as refused:
        overflow(tmp_path, tool=tool, **asked)
    assert word in f"{refused.value} {refused.value.hint}"


# ---- records of the device ----


def over(ran: Program, signal: int | None = None) -> None:
    ran.raw.mkdir(parents=True, exist_ok=True)
    ran.ended = Ended(None if signal else 0, signal, "", False, ran.round / "console.log")


def test_a_record_of_the_device_stops_the_capture_and_is_the_fault(tmp_path: Path, shared: Path) -> None:
    ran = overflow(tmp_path, tool="acl-overflow", stop_at_first=True)
    over(ran)
    assert ran.driver.wants_stop(ran.request, ran.raw) == ""
    source = shared / "samples" / "cann" / "dump_path" / "20250611171530"
    shutil.copytree(source, ran.raw / source.name)
    again = replace(ran, driver=type(ran.driver)())
    assert again.driver.wants_stop(ran.request, ran.raw) == "first-anomaly"
    found = ran.recorded
    assert found.outcome == "recorded" and found.is_failure


def test_no_record_is_told_as_what_it_is(tmp_path: Path) -> None:
    script = "import torch, torch_npu\ntorch.nn.Linear()(1)"
    ran = program(tmp_path, script, kind="overflow", tool="acl-overflow")
    ran.run(DOUBLE_NPU_CALLS=str(tmp_path / "calls"))
    found = ran.recorded
    assert found.outcome == "nothing" and "the device reported nothing" in found.why[0]
    assert "INF/NAN mode" in found.next_step[0] and not found.is_failure

"""How much a capture may write: by earlier rounds of the program, by documents; or unknown and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.capture.archive import open_round
from npulse.core.capture.drivers import driver_of
from npulse.core.capture.earlier import earlier_round
from npulse.core.capture.manifest import Manifest
from npulse.core.capture.preflight import preflight
from npulse.core.capture.request import CaptureRequest, Kind

from .running import ask, program

MIB = 1 << 20
PROGRAM = ("python3", "-u", "train.py", "--lr", "1")


def earlier(
    request: CaptureRequest,
    *,
    name: str = "earlier",
    at_s: float = 1e9,
    command: Any = ("python", "train.py"),
    **changes: Any,
) -> Path:
    """A closed round of the request's kind, made by hand."""
    folder = open_round(request.archive, request.kind, name, at_s)
    table: dict[str, Any] = {
        "schema": 1,
        "kind": request.kind,
        "tool": request.tool,
        "command": list(command),
    }
    table |= {
        "recorded": {"outcome": "recorded", "size_bytes": 100 * MIB},
        "figures": {"raw_bytes": 40 * MIB},
    }
    Manifest(folder, {**table, **changes}).write()
    return folder


def of(kind: Kind, tool: str, folder: Path, command: Any = PROGRAM, **words: Any) -> Any:
    return driver_of(kind, tool), ask(kind, folder, command, tool=tool, **words)


@pytest.mark.parametrize(
    "changes",
    [
        {"command": ["python", "other.py"]},
        {"tool": "torch-profiler"},
        {"recorded": {"outcome": "nothing", "size_bytes": 5}},
        {"recorded": {"outcome": "recorded", "size_bytes": 0}},
        {"recorded": {"outcome": "recorded", "size_bytes": "much"}},
        {"recorded": 3},
        {"raw_removed": True},
        {"command": "train.py"},
    ],
)
def test_only_a_round_of_the_same_program_tells_anything(tmp_path: Path, changes: dict[str, Any]) -> None:
    _, request = of("performance", "msprof", tmp_path)
    folder = earlier(request)
    found = earlier_round(request, ("msprof",))
    assert found is not None and found.folder == folder.resolve() and found.size_bytes == 100 * MIB
    manifest = Manifest.read(folder)
    manifest.update(**changes)
    manifest.write()
    assert earlier_round(request, ("msprof",)) is None


def test_a_damaged_round_is_passed_over(tmp_path: Path) -> None:
    _, request = of("performance", "msprof", tmp_path)
    assert earlier_round(request) is None
    folder = earlier(request)
    (earlier(request, name="damaged") / "round.toml").write_text("= no toml")
    (folder.parent / "link").symlink_to(folder)
    found = earlier_round(request)
    assert found is not None and found.folder == folder.resolve()


@pytest.mark.parametrize("tool", ["msprof", "msprof-dynamic", "torch-profiler"])
def test_sessions_by_the_raw_bytes_of_an_earlier_round(tmp_path: Path, tool: str) -> None:
    driver, request = of("performance", tool, tmp_path)
    assert driver.estimate_bytes(request) is None
    assert "20 times the raw bytes" in driver.size_basis(request).why[0]
    folder = earlier(request)
    assert driver.estimate_bytes(request) == (10 * MIB, 40 * 21 * 4 * MIB)
    assert (
        folder.name in driver.size_basis(request).why[0] and folder.name in driver.size_basis(request).why[1]
    )


def test_sessions_by_the_limit_of_storage(tmp_path: Path) -> None:
    command = ("torchrun", "--nproc_per_node", "2", "train.py")
    driver, request = of("performance", "msprof", tmp_path, command, settings={"storage-limit": "500MB"})
    assert driver.estimate_bytes(request) == (0, 2 * 500 * 21 * MIB)


def test_reports_of_sanitizers(tmp_path: Path) -> None:
    driver, request = of("memory", "mssanitizer", tmp_path)
    assert driver.estimate_bytes(request) == (1024, 100_000 * 1024)
    settings = {"debug-log": "yes", "max-debuglog-size": "3"}
    driver, request = of("memory", "mssanitizer", tmp_path, settings=settings)
    assert driver.estimate_bytes(request) == (1024, 100_000 * 1024 + 30 * MIB)
    driver, request = of("memory", "asan", tmp_path, environment={"WORLD_SIZE": "4"})
    assert driver.estimate_bytes(request) == (1024, 64 * MIB)
    driver, request = of("memory", "asan", tmp_path, settings={"halt-on-error": "0"})
    assert driver.estimate_bytes(request) is None and "loop" in driver.size_basis(request).why[0]


@pytest.mark.parametrize(("kind", "tool"), [("performance", "msopprof"), ("memory", "msmemscope")])
def test_results_by_those_of_an_earlier_round(tmp_path: Path, kind: Kind, tool: str) -> None:
    driver, request = of(kind, tool, tmp_path)
    assert driver.estimate_bytes(request) is None and "no earlier round" in driver.size_basis(request).why[0]
    earlier(request)
    assert driver.estimate_bytes(request) == (25 * MIB, 400 * MIB)


@pytest.mark.parametrize(
    ("settings", "wary_bytes"),
    [({}, 1 << 30), ({"task": "tensor"}, 200 << 30)],
)
def test_without_an_earlier_dump_the_class_of_cost_is_told(
    tmp_path: Path, settings: dict[str, str], wary_bytes: int
) -> None:
    driver, request = of("precision", "msprobe", tmp_path, settings=settings)
    basis = driver.size_basis(request)
    assert driver.estimate_bytes(request) is None and basis.wary_bytes == wary_bytes
    assert all("{" not in text for text in basis.why) and "no earlier round" in basis.why[0]


def test_every_driver_says_what_its_estimate_rests_on(tmp_path: Path) -> None:
    from npulse.core.capture.drivers import DRIVERS

    for kind, tools in DRIVERS.items():
        for tool in tools:
            driver, request = of(kind, tool, tmp_path, program())
            en, zh = driver.size_basis(request).why
            assert en and zh and en != zh, tool
            plan = driver.plan(request, tmp_path / "diag" / "x")
            (told,) = (one for one in preflight(request, driver, plan) if one.rule == "capture.disk-space")
            assert f"({en})" in told.message

"""Version files as the vendor writes them: which of them go together."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.doctor.alignment import pairings
from npulse.core.doctor.findings import alignment, all_findings
from npulse.core.doctor.reading import read_environments
from npulse.core.doctor.report import report
from npulse.core.doctor.telling import Teller
from npulse.core.formats.version_files import read_version_file, releases_of


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "samples" / "npu_smi" / "version_files"


def test_every_file_is_known_by_what_it_holds(folder: Path) -> None:
    kinds = {path.name: read_version_file(path).kind for path in sorted(folder.iterdir())}
    assert kinds == {
        "ascend_ops_install.info": "ops",
        "ascend_toolkit_install.info": "toolkit",
        "compiler_version.info": "component",
        "driver_version.info": "driver",
        "driver_version_too_old.info": "driver",
        "etc_ascend_install.info": "install",
        "firmware_version.info": "firmware",
        "toolkit_version.cfg": "config",
    }
    assert all(read_version_file(path).problems == () for path in folder.iterdir())


def test_the_driver_that_lists_the_toolkit_passes(folder: Path) -> None:
    names = ("ascend_toolkit_install.info", "driver_version.info", "firmware_version.info")
    found = read_environments([folder / name for name in names])
    assert alignment(found) == ()
    states = {(one.left, one.right): one.state for one in pairings(found, Teller())}
    assert states == {("driver", "toolkit"): "ok", ("firmware", "driver"): "ok"}
    assert report(found).verdict == "pass"


def test_the_driver_that_is_too_old_fails(folder: Path) -> None:
    names = ("ascend_toolkit_install.info", "driver_version_too_old.info", "firmware_version.info")
    found = read_environments([folder / name for name in names], root=folder)
    told = [(one.rule, one.severity, one.location.artifact) for one in all_findings(found)]
    assert told == [
        ("env.driver", "error", "driver_version_too_old.info"),
        ("env.firmware", "error", "firmware_version.info"),
    ]
    assert all_findings(found)[0].figures == {"driver": "23.0.0", "cann": "8.2.RC1", "inner": "V100R001C22"}
    assert report(found).exit_code() == 1


def test_the_operators_are_of_another_release(folder: Path) -> None:
    names = ("ascend_toolkit_install.info", "ascend_ops_install.info")
    found = read_environments([folder / name for name in names])
    assert [(one.rule, one.severity) for one in alignment(found)] == [("env.ops", "warning")]


def test_releases_of_all_parts(folder: Path) -> None:
    parts = releases_of(read_version_file(folder / "toolkit_version.cfg"))
    assert set(parts) == {"runtime", "compiler", "hccl", "opp", "toolkit", "aoe", "ncs", "opp_kernel"}
    assert {entry.value for entry in parts.values()} == {"8.2.RC1"}


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("driver_not_loaded.txt", "error"),
        ("driver_not_loaded_with_log.txt", "error"),
        ("command_not_found.txt", "warning"),
    ],
)
def test_what_npu_smi_says_without_a_driver(folder: Path, name: str, severity: str) -> None:
    found = read_environments([folder.parent / "errors" / name])
    told = [(one.rule, one.severity) for one in all_findings(found)]
    assert told and told[0] == ("env.driver-state", severity)


def test_tables_of_npu_smi_tell_the_driver(folder: Path) -> None:
    tables = [
        path for path in sorted(folder.parent.rglob("info*.txt")) if "npu-smi" in path.read_text()[:600]
    ]
    assert len(tables) > 5
    for path in tables:
        found = read_environments([path])
        assert found.driver is not None and found.driver.release, path
        told = [one.rule for one in all_findings(found) if one.severity == "error"]
        assert told == [], path
    incomplete = read_environments([folder.parent / "910b" / "info_warning_incomplete_driver.txt"])
    assert ("env.driver-state", "warning") in [(one.rule, one.severity) for one in all_findings(incomplete)]


def test_a_container_without_the_driver(shared: Path) -> None:
    found = read_environments([shared / "cases" / "C61" / "npu_smi_stdout.txt"])
    (finding,) = all_findings(found)
    assert finding.figures == {"code": "-8005"} and report(found).exit_code() == 1

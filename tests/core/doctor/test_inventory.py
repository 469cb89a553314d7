"""What is found on a machine: of a made-up file system, and of this one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from npulse.core.doctor.captures import captures
from npulse.core.doctor.facts import Environment
from npulse.core.doctor.findings import alignment, all_findings
from npulse.core.doctor.inventory import Machine, inventory
from npulse.core.doctor.versions import versions_of

from .machines import ARCH, INSTALL, NNAL, PYTHON, Disk

LATEST = "/usr/local/Ascend/ascend-toolkit/latest"


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def rules(environment: Environment) -> list[tuple[str, str]]:
    return [(finding.rule, finding.severity) for finding in all_findings(environment)]


def full(disk: Disk) -> None:
    disk.toolkit()
    disk.link(LATEST, "8.2.RC1")
    disk.driver()
    disk.devices(2)
    disk.write("/usr/local/Ascend/nnal/atb/8.2.RC1/version.info", NNAL.format(release="8.2.RC1"))
    disk.link("/usr/local/Ascend/nnal/atb/latest", "8.2.RC1")


SOURCED = {
    "ASCEND_HOME_PATH": LATEST,
    "ASCEND_TOOLKIT_HOME": LATEST,
    "LD_LIBRARY_PATH": f"{LATEST}/lib64:/usr/local/Ascend/driver/lib64",
    "ATB_HOME_PATH": "/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_1",
}


def test_a_machine_that_is_well(disk: Disk) -> None:
    full(disk)
    found = inventory(disk.machine(**SOURCED))
    assert found.is_live and len(found.toolkits) == 1 and found.toolkit is not None
    assert (found.toolkit.release, found.toolkit.home) == ("8.2.RC1", LATEST)
    assert found.driver is not None and found.driver.release == "25.2.0"
    assert found.firmware is not None and found.firmware.release == "7.7.0.6.236"
    assert found.nnal is not None and found.nnal.release == "8.2.RC1"
    assert found.devices == ("/dev/davinci0", "/dev/davinci1")
    assert alignment(found) == ()
    told = versions_of(found)
    assert (told["cann"], told["driver"], told["firmware"], told["nnal"]) == (
        *("8.2.RC1", "25.2.0", "7.7.0.6.236", "8.2.RC1"),
    )
    assert told["driver_inner"] == "V100R001C22SPC006B236" and "torch" not in told


def test_places_are_those_of_the_machine(disk: Disk) -> None:
    full(disk)
    found = inventory(disk.machine(**SOURCED))
    assert found.driver is not None and found.toolkit is not None
    assert str(found.driver.place) == "/usr/local/Ascend/driver/version.info:1"
    assert found.toolkit.place.artifact.endswith(f"8.2.RC1/{ARCH}-linux/ascend_toolkit_install.info")
    assert str(disk.root) not in str(found.toolkit.place)


def test_a_driver_that_is_too_old(disk: Disk) -> None:
    full(disk)
    disk.driver("23.0.0", "V100R001C13", "[V100R001C30],[V100R001C79],[V100R001C10],[V100R001C13]")
    found = inventory(disk.machine(**SOURCED))
    (finding,) = alignment(found)
    assert (finding.rule, finding.severity, finding.role) == ("env.driver", "error", "origin")
    assert finding.figures == {"driver": "23.0.0", "cann": "8.2.RC1", "inner": "V100R001C22"}
    assert finding.location.artifact == "/usr/local/Ascend/driver/version.info"
    assert "25.2.0" in finding.next_step


def test_the_layout_from_85_on_lacks_an_innerversion(disk: Disk) -> None:
    home = "/usr/local/Ascend/cann-9.0.0"
    disk.write(
        f"{home}/{ARCH}-linux/ascend_toolkit_install.info",
        f"package_name=Ascend-cann-toolkit\nversion=9.0.0\narch={ARCH}\nos=linux\npath={home}/{ARCH}-linux\n",
    )
    disk.link("/usr/local/Ascend/cann", "cann-9.0.0")
    disk.driver("23.0.0", "V100R001C13", "[V100R001C13]")
    found = inventory(disk.machine(ASCEND_HOME_PATH="/usr/local/Ascend/cann"))
    assert found.toolkit is not None and found.toolkit.home == "/usr/local/Ascend/cann"
    (finding,) = alignment(found)
    assert (finding.rule, finding.severity, finding.role) == ("env.not-judged", "note", "unknown")


def test_a_toolkit_that_only_a_part_tells(disk: Disk) -> None:
    disk.write(
        "/usr/local/Ascend/cann-8.5.0/compiler/version.info",
        'Version=8.5.0.2.220\nversion_dir=8.5.0\nrequired_package_runtime_version="8.5"\n',
    )
    found = inventory(disk.machine())
    assert found.toolkit is not None and found.toolkit.release == "8.5.0"


def test_two_toolkits_and_the_variables_name_both(disk: Disk) -> None:
    full(disk)
    other = disk.toolkit("8.0.RC3", "V100R001C19")
    variables = {**SOURCED, "LD_LIBRARY_PATH": f"{other}/lib64:{LATEST}/lib64"}
    found = inventory(disk.machine(**variables))
    assert [one.release for one in found.toolkits] == ["8.2.RC1", "8.0.RC3"]
    (finding,) = alignment(found)
    assert (finding.rule, finding.severity) == ("env.mixed", "error")
    assert finding.figures["releases"] == ["8.0.RC3", "8.2.RC1"] and finding.figures["first"] == "8.0.RC3"
    assert finding.location.artifact == "$LD_LIBRARY_PATH"


def test_two_names_of_one_toolkit_are_no_mixture(disk: Disk) -> None:
    full(disk)
    disk.toolkit("8.0.RC3", "V100R001C19")
    real = "/usr/local/Ascend/ascend-toolkit/8.2.RC1"
    found = inventory(disk.machine(**{**SOURCED, "PYTHONPATH": f"{real}/python/site-packages"}))
    assert [finding.rule for finding in alignment(found)] == []


def test_nobody_sourced_anything(disk: Disk) -> None:
    full(disk)
    answer = json.dumps(
        {"python": "3.11.4", "executable": "/usr/bin/python", "packages": {"torch_npu": ["2.6.0", "/s"]}}
    )
    disk.program("/usr/bin/python", PYTHON.format(answer=answer))
    found = inventory(disk.machine())
    told = [finding for finding in alignment(found) if finding.rule == "env.set-env"]
    assert [finding.next_step for finding in told] == [
        "source /usr/local/Ascend/ascend-toolkit/set_env.sh",
        "source /usr/local/Ascend/nnal/atb/set_env.sh",
    ]


def test_variables_that_name_a_toolkit_that_is_gone(disk: Disk) -> None:
    full(disk)
    gone = "/usr/local/Ascend/ascend-toolkit/8.2.RC1.old"
    found = inventory(disk.machine(**{**SOURCED, "PYTHONPATH": f"{gone}/python/site-packages"}))
    told = [finding for finding in alignment(found) if finding.rule == "env.path"]
    assert [(finding.subject, finding.told) for finding in told] == [(f"PYTHONPATH: {gone}", (gone,))]


def test_a_driver_whose_installation_did_not_end(disk: Disk) -> None:
    full(disk)
    disk.write("/etc/ascend_install.info", INSTALL.format(status="upgrading"))
    found = inventory(disk.machine(**SOURCED))
    assert [finding.rule for finding in alignment(found)] == ["env.driver-state"]


def test_what_npu_smi_says_stands_in_for_a_version_file(disk: Disk) -> None:
    disk.toolkit()
    found = inventory(disk.machine(), told={"driver": "23.0.3", "board-compatibility": "NOT OK"})
    assert found.driver is not None and found.driver.release == "23.0.3"
    assert {finding.rule for finding in alignment(found)} >= {"env.driver", "env.board"}
    disk.driver()
    found = inventory(disk.machine(), told={"driver": "23.0.3"})
    assert found.driver is not None and found.driver.release == "25.2.0"


def test_a_tool_of_another_toolkit(disk: Disk) -> None:
    full(disk)
    other = disk.toolkit("8.0.RC3", "V100R001C19")
    disk.program(f"{other}/bin/msprof")
    found = inventory(disk.machine(**{**SOURCED, "PATH": f"{other}/bin:/usr/bin"}))
    assert found.tools["msprof"] == f"{other}/bin/msprof"
    assert ("env.tool", "warning") in rules(found)


def test_a_container_without_devices(disk: Disk) -> None:
    full(disk)
    for device in (disk.root / "dev").iterdir():
        device.unlink()
    disk.write("/.dockerenv", "")
    found = inventory(disk.machine(**SOURCED))
    assert found.is_container and found.devices == ()
    (finding,) = [one for one in all_findings(found) if one.rule == "env.missing"]
    assert "container" in finding.message and "--device" in finding.next_step


def test_nothing_at_all(disk: Disk) -> None:
    found = inventory(disk.machine())
    assert (found.toolkit, found.driver, found.packages) == (None, None, {})
    assert rules(found) == [("env.missing", "warning"), ("env.missing", "warning")]
    assert all(one.is_possible is False and all(one.repair) for one in captures(found))


# ---- the job's Python ----


def answered(disk: Disk, answer: str) -> Environment:
    disk.program("/usr/bin/python", PYTHON.format(answer=answer))
    return inventory(disk.machine())


def test_what_the_jobs_python_says(disk: Disk) -> None:
    packages = {"torch": ["2.6.0", "/site"], "torch_npu": ["2.5.1", "/site"]}
    found = answered(
        disk, json.dumps({"python": "3.9.1", "executable": "/usr/bin/python", "packages": packages})
    )
    assert found.value("python") == "3.9.1" and found.version("torch") == "2.6.0"
    assert str(found.packages["torch"].place) == "/site"
    assert ("env.torch", "error") in rules(found)


@pytest.mark.parametrize(
    "answer", ["", "no json", "[]", '{"python": 1}', '{"packages": {"torch": 3}}', "[" * 5000]
)
def test_an_answer_that_is_none(disk: Disk, answer: str) -> None:
    found = answered(disk, answer)
    assert found.packages == {}
    assert [problem.artifact for problem in found.problems] == ["/usr/bin/python"]


def test_a_python_that_does_not_answer(disk: Disk) -> None:
    disk.program("/usr/bin/python", "#!/bin/sh\nexec /bin/sleep 60\n")
    machine = disk.machine()
    found = inventory(Machine(machine.root, machine.variables, timeout_s=0.2))
    assert "0.2 s" in found.problems[0].message


def test_a_python_that_is_not_there(disk: Disk) -> None:
    found = inventory(disk.machine(python="/nowhere/python"))
    assert "cannot be started" in found.problems[0].message


def test_this_machine_is_asked_without_running_the_jobs_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A json.py in the working folder or on PYTHONPATH must not run, but packages there are seen."""
    (tmp_path / "json.py").write_text("raise SystemExit('run')")
    info = tmp_path / "torch_npu-2.5.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-npu\nVersion: 2.5.1\n")
    monkeypatch.chdir(tmp_path)
    variables = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path)}
    found = inventory(Machine(variables=variables, python=sys.executable))
    assert found.version("torch_npu") == "2.5.1"
    assert found.value("python") == ".".join(map(str, sys.version_info[:3]))
    assert found.version("numpy") == __import__("numpy").__version__


# ---- what can be captured ----


def possible(environment: Environment) -> set[tuple[str, str]]:
    return {(one.kind, one.tool) for one in captures(environment) if one.is_possible}


def test_a_host_without_an_npu_can_still_capture_some(disk: Disk) -> None:
    packages = {"torch": ["2.6.0", "/site"], "mindstudio_probe": ["8.3.0", "/site"]}
    disk.program("/usr/bin/gcc")
    found = answered(disk, json.dumps({"python": "3.9.1", "executable": "/p", "packages": packages}))
    assert possible(found) == {
        *(("precision", "msprobe"), ("overflow", "statistics"), ("memory", "asan")),
    }
    lacking = next(one for one in captures(found) if one.tool == "msprof")
    assert lacking.why[0] == "lacks msprof, NPU"


def test_a_full_machine_can_capture_all_that_is_installed(disk: Disk) -> None:
    full(disk)
    for tool in ("msprof", "msopprof", "mssanitizer"):
        disk.program(f"/usr/bin/{tool}")
    found = inventory(disk.machine(**SOURCED))
    assert possible(found) == {
        *(("precision", "acl-dump"), ("overflow", "acl-overflow"), ("memory", "mssanitizer")),
        *(("performance", "msprof"), ("performance", "msprof-dynamic")),
        *(("performance", "msopprof"), ("performance", "msopprof (simulator)")),
    }

"""Incidents of real logs of CANN's releases, and their joins to names of real dumps."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.formats.plog.reader import read_plog
from npulse.core.memory.faults import Fault, Task
from npulse.core.memory.incidents import Incident, incidents_of
from npulse.core.memory.joins import dump_file_of, join_fault
from npulse.core.memory.tools.plog import fault_of


def faults_of(path: Path) -> list[Fault]:
    records = read_plog(path, root=path.parent).records
    return [fault for record in records if (fault := fault_of(record, path.name)) is not None]


def incident_of(*paths: Path) -> Incident:
    (incident,) = incidents_of([fault for path in paths for fault in faults_of(path)])
    return incident


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "samples" / "sanitizer" / "plog"


@pytest.mark.parametrize(
    ("name", "op_type", "operator", "n_cores", "reasons"),
    [
        ("style_old_2020_910a.log", "", "trans_TransData_0", 1, ["passes-on"]),
        ("style_910a_2023.log", "", "GatherV2", 1, ["passes-on"]),
        ("style_a_910b_cann8.log", "AddCustom", "", 2, ["passes-on", "passes-on"]),
        ("style_a_mix_timeout_or_trap.log", "FlashAttentionScore", "", 1, ["passes-on"]),
        ("style_c_2026h2_two_line_and_symbolize.log", "AddCustom", "", 2, []),
        ("stdout_ez9999.txt", "", "", 1, ["passes-on"]),
    ],
)
def test_one_root_and_the_codes_that_pass_it_on(
    folder: Path, name: str, op_type: str, operator: str, n_cores: int, reasons: list[str]
) -> None:
    incident = incident_of(folder / name)
    assert (incident.root.kind, incident.is_origin, incident.n_cores) == ("aicore exception", True, n_cores)
    assert [one.reason for one in incident.secondary] == reasons
    joined = join_fault(incident.root)
    if joined is None:  # the console has no ids
        assert name == "stdout_ez9999.txt"
    else:
        assert (joined.op_type, joined.operator, joined.is_likely) == (
            op_type,
            operator,
            bool(joined.sources),
        )


def test_the_console_tells_the_same_failure_as_the_log(folder: Path) -> None:
    # both were made by process 24121; the log knows the task
    log, console = folder / "style_a_910b_cann8.log", folder / "stdout_ez9999.txt"
    for paths in ((log, console), (console, log)):
        incident = incident_of(*paths)
        assert incident.root.artifact == log.name
        again = [one for one in incident.secondary if one.reason == "told-again"]
        assert [(one.fault.artifact, one.fault.kind) for one in again] == [(console.name, "aicore exception")]


def test_all_logs_of_one_folder_are_incidents_of_their_own(folder: Path) -> None:
    faults = [fault for path in sorted(folder.glob("*.log")) for fault in faults_of(path)]
    incidents = incidents_of(faults)
    # one process was logged on two days, and the others have pids of their own
    assert len(incidents) == len({(incident.root.artifact) for incident in incidents}) == 5
    assert all(incident.is_origin for incident in incidents)


def test_names_of_real_dumps(shared: Path) -> None:
    root = shared / "samples" / "cann"
    paths = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
    files = [file for path in paths if (file := dump_file_of(path)) is not None]
    # 2025-06-11 17:15:38.370 is what the brief dump of stream 5, task 9 has in its name
    when_us = 1_749_662_138_370_000
    failing = Fault(
        *("CANN", "aicore exception", "error", "", "plog.log", 1, 0),
        task=Task(0, 5, 9, 0),
        figures={"kernel_name": "Muls_ab1b6750d7f510985325b603cb06dc8b_1"},
        time_us=when_us,
    )
    joined = join_fault(failing, files=files)
    assert joined is not None
    assert joined.operator == "aclnnMuls_MulAiCore_Muls"
    kinds = {source.kind: source for source in joined.sources}
    assert kinds["exception dump"].artifact == "extra-info/data-dump/0/exception_info.5.9.20250611171538370"
    assert kinds["exception dump"].start_us == when_us
    assert kinds["operator dump"].op_type == "Muls"

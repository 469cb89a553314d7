"""Interleaved logs of several workers: what failed first, what follows, and how it is joined to a profile."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from npulse.core.formats.plog.reader import read_plog
from npulse.core.formats.profiling.tasks import read_tasks
from npulse.core.memory.faults import Fault
from npulse.core.memory.incidents import Incident, incidents_of
from npulse.core.memory.joins import join_fault
from npulse.core.memory.tools.plog import fault_of


def expected(case: Path) -> dict[str, Any]:
    """The checkable values of expect.md."""
    block = re.search(r"```json\n(.*?)```", (case / "expect.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    values: dict[str, Any] = json.loads(block[1])
    return values


def faults_of(path: Path) -> list[Fault]:
    records = read_plog(path, root=path.parent).records
    return [fault for record in records if (fault := fault_of(record, path.name)) is not None]


def incident_of(path: Path) -> Incident:
    (incident,) = incidents_of(faults_of(path))
    return incident


def test_c38_the_exception_is_the_root_and_the_timeout_follows(shared: Path) -> None:
    case = shared / "cases" / "C38"
    want, incident = expected(case), incident_of(case / "serve.log")
    wanted, root = want["root"], incident.root
    assert (incident.is_origin, incident.missing, root.kind) == (True, "", "aicore exception")
    assert root.task is not None
    assert (root.task.device, root.task.stream, root.task.task) == (
        wanted["device_id"],
        wanted["stream_id"],
        wanted["task_id"],
    )
    assert incident.n_cores == len(wanted["cores"])
    assert root.access.cores[0].ranges == tuple((core, core) for core in wanted["cores"])
    assert root.access.pc == wanted["pc_offset_decimal"]
    secondary = {one.fault.kind: one for one in incident.secondary}
    wait = secondary["collective time-out"]
    code, pid, delay = re.fullmatch(r"(\w+) on pid (\d+) \((\d+) s later\)", want["secondary"][0]).groups()  # type: ignore[union-attr]
    assert (wait.fault.figures["code"], wait.fault.access.pid) == (code, int(pid))
    assert wait.delay_s is not None and round(wait.delay_s) == int(delay)
    assert (wait.reason, wait.is_likely, wait.n_possible) == ("collective-time-out", False, 1)
    passed_on = secondary["error code"]
    assert (passed_on.fault.figures["code"], passed_on.reason) == (str(want["acl_error_code"]), "passes-on")
    (place,) = incident.python
    assert place.is_reliable is want["python_line_is_reliable"]
    assert place.switch == "ASCEND_LAUNCH_BLOCKING=1"
    assert place.frame is not None and place.frame.line == 311
    assert secondary["python error"].reason == "asynchronous-python"


def test_c38_joins_a_profile_by_stream_and_task(shared: Path, tmp_path: Path) -> None:
    case = shared / "cases" / "C38"
    wanted, root = expected(case)["root"], incident_of(case / "serve.log").root
    ids = f"{wanted['device_id']},{wanted['stream_id']},{wanted['task_id']}"
    profile = tmp_path / "op_summary_20260120022900.csv"
    profile.write_text(
        "Device_id,Stream ID,Task ID,Op Name,OP Type\n"
        f"{ids},aclnnAdd_AddAiCore_Add,Add\n"
        f"{ids},aclnnScatterNdUpdate_ScatterNdUpdate,{wanted['kernel']}\n"
        f"{wanted['device_id']},{wanted['stream_id']},1,aclnnOther_ScatterNdUpdate,{wanted['kernel']}\n"
    )
    joined = join_fault(root, [read_tasks(profile, root=tmp_path)])
    assert joined is not None
    assert (joined.operator, joined.op_type) == ("aclnnScatterNdUpdate_ScatterNdUpdate", wanted["kernel"])
    assert [source.line for source in joined.sources] == [3]
    assert joined.is_likely and joined.contradicts == ()


def test_c38_the_order_of_the_lines_does_not_matter(shared: Path) -> None:
    faults = faults_of(shared / "cases" / "C38" / "serve.log")
    first = incidents_of(faults)
    assert incidents_of(reversed(faults)) == first
    assert len(first) == 1

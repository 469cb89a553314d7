"""A masked report of profiles shows no folder's name, whose first part is a host, in any format."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.performance.run_report import report_of
from npulse.core.report import FORMATS, masked, render

HEAD = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Device_id\n"


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("job", ["", "canaryjob/nested"])
def test_no_folder_is_left(tmp_path: Path, format_name: str, job: str) -> None:
    run = tmp_path / "canaryrun"
    for rank in range(3):
        session = run / job / f"canary-host_{rank}17_20260101000000000_ascend_pt"
        table = session / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
        table.parent.mkdir(parents=True)
        us = 30 if rank == 2 else 10
        lines = (f"1,Add,Add,AI_CORE,{1_700_000_000_000_000 + 50 * i}.000\t,{us},0,0\n" for i in range(4))
        table.write_text("".join([HEAD, *lines]))
        (session / f"profiler_info_{rank}.json").write_text('{"config": {"common_config": {}}}')
    report = report_of([run], AnalysisOptions(tables=True)).report
    plain, text = (
        "".join(render(one, format_name, version="0", lang="en")) for one in (report, masked(report))
    )
    assert "canary" in plain and "canary" not in text
    assert "Add" in text
    assert text.count("\n") == plain.count("\n")

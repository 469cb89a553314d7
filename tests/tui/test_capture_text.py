"""The plan on the page of a capture: whole, and without the preflight that stands above it."""

from __future__ import annotations

from pathlib import Path

from npulse.core.capture.drivers import driver_of
from npulse.core.capture.request import CaptureRequest
from npulse.tui.capture_text import plan_lines


def test_the_last_line_of_the_last_file_is_there_and_no_empty_heading(tmp_path: Path) -> None:
    request = CaptureRequest("memory", ("./app",), tmp_path, tmp_path / "diag")
    driver = driver_of("memory", "mssanitizer")
    folder = tmp_path / "diag" / "x"
    plan = driver.plan(request, folder)
    lines = plan_lines(request, driver, folder, plan, "en")
    assert plan.files and lines[-1] == "  | " + plan.files[-1].text.splitlines()[-1]
    assert "preflight:" not in lines

"""What conftest.py of this folder promises: errors and requests of each page are noted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FAULTY = """<!doctype html><title>Faulty</title><img src="gone.png">
<script>console.error("said"); console.log("not noted")
setTimeout(() => { throw new Error("thrown") })</script>
"""


async def test_errors_and_requests_are_noted(page: Any, seen: Any, tmp_path: Path) -> None:
    (tmp_path / "faulty.html").write_text(FAULTY, encoding="utf-8")
    async with page.expect_event("pageerror"):
        await page.goto((tmp_path / "faulty.html").as_uri())
    assert await page.title() == "Faulty"
    assert {"said", "thrown"} <= set(seen.errors) and "not noted" not in seen.errors
    assert [Path(address).name for address in seen.requests] == ["faulty.html", "gone.png"]


async def test_the_next_page_begins_anew(page: Any, seen: Any) -> None:
    assert (page.url, seen.errors, seen.requests) == ("about:blank", [], [])

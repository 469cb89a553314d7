"""A real browser: Debian's chromium, headless, driven by playwright. Without them tests say "needs chromium".

Tests of this folder are `async def` and share one event loop, since the browser lives in it as long as the
session; they run one after another in one process. The synchronous playwright would keep its loop running
between tests, and no other asynchronous test of the process could start.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

NEEDS_CHROMIUM = "needs chromium"  # the word that tests/conftest.py looks for
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


@dataclass(slots=True)
class Seen:
    """What the browser told of a test's pages: errors of console and scripts, addresses asked for."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> Page:
        """The page, whose errors and requests are noted here from now on."""
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        return page


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker(pytest.mark.xdist_group("browser"))
            if isinstance(item, pytest.Function) and pytest_asyncio.is_async_test(item):
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The one browser of the session."""
    chromium = shutil.which("chromium") or "/usr/bin/chromium"
    if not Path(chromium).exists():
        pytest.skip(NEEDS_CHROMIUM)
    try:
        from playwright.async_api import async_playwright
    except ImportError:
        pytest.skip(f"{NEEDS_CHROMIUM}: playwright is not installed")
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=chromium, args=list(_FLAGS))
        yield started
        await started.close()


@pytest.fixture
def seen() -> Seen:
    """What the browser tells of this test's pages; a page beside `page` is added with `seen.watch`."""
    return Seen()


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, seen: Seen) -> AsyncIterator[Page]:
    """A page of a profile of its own, 1280x800, watched by `seen`; it waits for ten seconds at most."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(10_000)
    yield seen.watch(await context.new_page())
    await context.close()

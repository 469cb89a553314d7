"""`npulse serve` in a real browser: what a page shows, keys, sizes, sessions, who may come in, the end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from npulse.sample_runs import sample_path

TOKEN = "a word of the test's own"
WAIT_S = 20.0
# The page's script keeps its terminal to itself: it is caught while the script builds it.
CATCH_TERMINAL = """Object.defineProperty(Object.prototype, "webglAddon", {
  configurable: true,
  set(addon) {
    globalThis.terminal_here = this.terminal;
    Object.defineProperty(this, "webglAddon", { value: addon, writable: true });
  },
});"""
SHOWN = """() => Array.from({ length: terminal_here.rows }, (_, row) =>
  terminal_here.buffer.active.getLine(row)?.translateToString(true) ?? "").join("\\n")"""
SHOWS = f"""(text) => ({SHOWN})().includes(text)"""


@dataclass(slots=True)
class Served:
    """A running server: its process, the address it printed."""

    process: asyncio.subprocess.Process
    address: str

    @property
    def root(self) -> str:
        return self.address.partition("?")[0]

    def children(self) -> set[int]:
        """The processes of its pages."""
        pid = self.process.pid
        return {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


async def gone(pid: int) -> None:
    """Returns once the process has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ended.set)
    try:
        await asyncio.wait_for(ended.wait(), WAIT_S)
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def served(browser: Any) -> AsyncIterator[Served]:
    """One server of the sample run, on a free port, with a token."""
    words = ("serve", str(sample_path("w8a8")), "--port", "0", "--token", TOKEN)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "npulse", *words),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    try:
        address = (await asyncio.wait_for(process.stdout.readline(), WAIT_S)).decode().strip()
        yield Served(process, address)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def opened(page: Any, served: Served) -> set[int]:
    """The workbench in a page; the process that was started for it."""
    before = served.children()
    await page.add_init_script(CATCH_TERMINAL)
    await page.goto(served.address)
    await shows(page, "Precision")
    return served.children() - before


async def shows(page: Any, text: str) -> None:
    from playwright.async_api import TimeoutError as Late

    try:
        await page.wait_for_function(SHOWS, arg=text, timeout=WAIT_S * 1000)
    except Late:
        pytest.fail(f"{text!r} is not in the page:\n{await page.evaluate(SHOWN)}")


async def test_a_page_is_the_workbench(page: Any, seen: Any, served: Served) -> None:
    (child,) = await opened(page, served)
    assert page.url == served.root  # the token is not left in the address
    await shows(page, "o_proj")
    await page.keyboard.press("7")
    await shows(page, "round1")
    await page.keyboard.press("?")
    await shows(page, "Keys in force")
    await page.keyboard.press("b")
    await shows(page, "round1")
    await page.keyboard.press("C")
    await shows(page, "Not in a served page")
    assert "Program and arguments" not in await page.evaluate(SHOWN)
    wide = await page.evaluate("terminal_here.cols")
    await page.set_viewport_size({"width": 800, "height": 500})
    await page.wait_for_function("(wide) => terminal_here.cols < wide", arg=wide)
    await shows(page, "q quit")  # the last word of the last line: drawn anew for the new size
    assert seen.errors == []
    assert {address.startswith(served.root) for address in seen.requests} == {True}
    await page.close()
    await gone(child)


async def test_who_shows_no_token_learns_nothing(page: Any, seen: Any, served: Served) -> None:
    for address in (served.root, served.root + "?token=another", served.root + "static/js/textual.js"):
        answer = await page.goto(address)
        assert (answer.status, await answer.text()) == (403, "Forbidden")
    # a page of elsewhere, in a browser that was let in
    await page.goto(served.address)
    await page.goto("about:blank")
    script = """(address) => new Promise((told) => {
      const socket = new WebSocket(address);
      socket.onopen = () => told("open");
      socket.onerror = () => told("refused");
    })"""
    socket = served.root.replace("http:", "ws:") + "ws"
    assert await page.evaluate(script, socket) == "refused"


async def test_two_pages_are_two_sessions_and_end_with_the_server(
    browser: Any, page: Any, served: Served
) -> None:
    context = await browser.new_context(locale="en")
    other = await context.new_page()
    children = await opened(page, served) | await opened(other, served)
    assert len(children) == 2
    await other.keyboard.press("?")
    await shows(other, "Keys in force")
    assert "Keys in force" not in await page.evaluate(SHOWN)
    served.process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(served.process.wait(), WAIT_S) == 0
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
    await page.get_by_text("The session has ended").wait_for(state="visible")
    await context.close()

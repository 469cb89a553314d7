"""One page and its process: bytes both ways, sizes of the page, an end that leaves nothing behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import PIPE, Process
from contextlib import suppress

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from .child import Opened, command, environment

MAX_COLUMNS, MAX_ROWS = 1000, 500
LEAVE_S = 5.0
"""How long the workbench may take to leave once its page is gone."""
END_S = 20.0
"""How much longer after SIGTERM: a capture has to be ended, its round closed."""


class Session(AppService):
    """The process behind one websocket. Downloads and links that the process asks for are not passed on."""

    def __init__(self, opened: Opened, websocket: web.WebSocketResponse) -> None:
        super().__init__(
            "npulse",
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=self._close_page,
            download_manager=DownloadManager(),
        )
        self._opened = opened
        self._websocket = websocket

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        """As in the framework, without a shell and in a session of its own, which Ctrl-C does not reach."""
        self._process = process = await asyncio.create_subprocess_exec(
            *command(self._opened),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment(width, height, dict(os.environ)),
            start_new_session=True,
        )
        self._stdin = process.stdin
        return process

    async def serve(self, width: int, height: int) -> None:
        """Pass on what both sides say until one of them goes."""
        await self.start(bounded(width, MAX_COLUMNS), bounded(height, MAX_ROWS))
        assert self._task is not None
        # a process that dies says no "exit": its page would wait for ever
        self._task.add_done_callback(lambda _: asyncio.ensure_future(self._close_page()))
        async for message in self._websocket:
            if message.type == WSMsgType.TEXT:
                await self._take(message.data)

    async def _take(self, raw: str) -> None:
        """One message of the page; what is not understood is left aside."""
        try:
            kind, *rest = json.loads(raw)
        except (ValueError, TypeError, RecursionError):
            return
        value = rest[0] if rest else None
        if kind == "stdin" and isinstance(value, str):
            await self.send_bytes(value.encode("utf-8", "replace"))
        elif kind == "resize" and isinstance(value, dict):
            width, height = value.get("width"), value.get("height")
            if type(width) is int and type(height) is int:
                await self.set_terminal_size(bounded(width, MAX_COLUMNS), bounded(height, MAX_ROWS))
        elif kind == "ping":
            await self._websocket.send_json(["pong", value if isinstance(value, str) else ""])
        elif kind in ("focus", "blur"):
            await self.send_meta({"type": kind})

    async def _close_page(self) -> None:
        await self._websocket.close()

    async def on_meta(self, data: bytes) -> None:
        """The end alone is passed on: a page opens no addresses and fetches no files."""
        if json.loads(data).get("type") == "exit":
            await self.remote_close()

    async def on_packed(self, payload: bytes) -> None:
        """Parts of downloads, which nobody asked for."""

    async def stop(self) -> None:
        """End the process: first by its closed pipe, then by SIGTERM, at last by SIGKILL, with its group."""
        process, task = self._process, self._task
        if process is None or task is None:
            return
        if self._stdin is not None:
            self._stdin.close()
        if not await _has_ended(process, LEAVE_S):
            _signal_group(process, signal.SIGTERM)
            if not await _has_ended(process, END_S):
                _signal_group(process, signal.SIGKILL)
                await process.wait()
        task.cancel()
        with suppress(asyncio.CancelledError, ConnectionError):
            await task


def bounded(cells: int, most: int) -> int:
    """A size of a page in cells that can be drawn."""
    return min(max(cells, 1), most)


async def _has_ended(process: Process, within_s: float) -> bool:
    try:
        await asyncio.wait_for(process.wait(), within_s)
    except asyncio.TimeoutError:
        return False
    return True


def _signal_group(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)

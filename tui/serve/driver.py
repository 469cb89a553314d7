"""How the workbench draws into a page: textual's driver for the web, which ends with its server."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import Any

from textual import events, messages
from textual.drivers.web_driver import WebDriver


class ServedDriver(WebDriver):
    """Ends the workbench once the server has closed the pipe, or has gone without a word."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self._write = partial(self._write_whole)

    def start_application_mode(self) -> None:
        self._loop_of_app = asyncio.get_running_loop()
        super().start_application_mode()
        # the framework begins as a page that is looked away from, and may have been told the opposite before
        self._app.call_later(self._app.post_message, events.AppFocus())

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            leave = self._app._post_message(messages.ExitApp())
            asyncio.run_coroutine_threadsafe(leave, self._loop_of_app)

    def _write_whole(self, packet: bytes) -> int:
        """All of a packet, so that none is torn; nothing once nobody reads any more."""
        rest = memoryview(packet)
        try:
            while rest:
                rest = rest[os.write(self.fileno, rest) :]
        except BrokenPipeError:
            return 0
        return len(packet)

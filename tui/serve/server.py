"""The web server of the workbench: one page, its scripts, one websocket a session, all behind the guard."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

import textual_serve
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from npulse.core.errors import EnvironmentLacks
from npulse.core.text import say

from .child import Opened
from .guard import Guard
from .session import Session

MAX_SESSIONS = 8
MAX_MESSAGE_BYTES = 1 << 20  # a pasted text
_HEARTBEAT_S = 10.0
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Server": "npulse",
}

TEXTS: dict[str, tuple[str, str]] = {
    "ended": (
        "The session has ended. Reload the page for a new one.",
        "会话已结束。刷新页面可开始新的会话。",
    ),
    "starting": ("npulse is starting ...", "npulse 正在启动……"),
    "full": (
        "{n} sessions are open, which is the most. Close one of them.",
        "已有 {n} 个会话，达到上限。请先关闭其中一个。",
    ),
}

_Response = TypeVar("_Response", bound=web.StreamResponse)
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """Serves what `opened` says to those whom the guard lets in."""

    def __init__(self, opened: Opened, guard: Guard) -> None:
        self._opened = opened
        self._guard = guard
        self._sessions: set[Session] = set()
        self._cookie = "npulse"
        self._is_ending = False

    async def run(self, host: str, port: int, tell: Callable[[int], object]) -> int:
        """Serve until a signal ends it; its number. `tell` gets the port once pages can be opened.

        EnvironmentLacks where the address cannot be had.
        """
        runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=2.0)
        await runner.setup()
        ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        try:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) != signal.SIG_IGN:  # one that nohup ignores stays ignored
                    asyncio.get_running_loop().add_signal_handler(number, _end, ended, number)
            try:
                await web.TCPSite(runner, host, port).start()
            except OSError as error:
                reason = error.strerror or str(error)
                raise EnvironmentLacks(
                    f"cannot listen on {host} port {port}: {reason}",
                    hint="--port N takes another, 0 any free one",
                ) from error
            bound = int(runner.addresses[0][1])
            # cookies know no ports: two servers of one machine must not take each other's
            self._cookie = f"npulse-{bound}"
            tell(bound)
            return await ended
        finally:
            self._is_ending = True
            await asyncio.gather(*(session.stop() for session in self._sessions))
            await runner.cleanup()

    # ---- what is asked for ----

    def _application(self) -> web.Application:
        @web.middleware
        async def guarded(request: web.Request, handler: _Handler) -> web.StreamResponse:
            return await self._guarded(request, handler)

        logging.getLogger("aiohttp.server").addFilter(_is_no_visitors)
        application = web.Application(middlewares=[guarded], client_max_size=1 << 10)
        application.router.add_get("/", self._page)
        application.router.add_get("/ws", self._websocket)
        scripts = Path(textual_serve.__file__).parent / "static"
        application.router.add_static("/static", scripts)
        application.router.add_static("/page", Path(str(files("npulse.tui.serve") / "page")))
        return application

    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """What every request passes; who may not come in learns nothing."""
        if not self._guard.is_own_name(request.headers.get("Host")):
            return _with_headers(web.Response(status=403, text="Forbidden"))
        if self._guard.takes_token(request.query.get("token")) and request.path == "/":
            return self._let_in(request)
        if not self._guard.takes_cookie(request.cookies.get(self._cookie)):
            return _with_headers(web.Response(status=403, text="Forbidden"))
        try:
            response = await handler(request)
        except web.HTTPException as error:
            raise _with_headers(error) from None
        return response if response.prepared else _with_headers(response)

    def _let_in(self, request: web.Request) -> web.Response:
        """The token stands in the address once: from here on a cookie speaks for the browser."""
        response = _with_headers(web.Response(status=303, headers={"Location": "/"}))
        # Lax: a link in a message leads in, a page of another site can do nothing with it
        response.set_cookie(self._cookie, self._guard.cookie_value, httponly=True, samesite="Lax", path="/")
        return response

    async def _page(self, request: web.Request) -> web.Response:
        if len(self._sessions) >= MAX_SESSIONS:
            text = say(TEXTS, "full", self._opened.lang, n=MAX_SESSIONS)
            return web.Response(status=503, text=text)
        template = (files("npulse.tui.serve") / "page" / "index.html").read_text(encoding="utf-8")
        for name in ("ended", "starting"):
            template = template.replace(f"{{{{ {name} }}}}", escape(say(TEXTS, name, self._opened.lang)))
        return web.Response(
            text=template.replace("{{ lang }}", self._opened.lang), content_type="text/html", charset="utf-8"
        )

    async def _websocket(self, request: web.Request) -> web.StreamResponse:
        if not self._guard.is_own_page(request.headers.get("Host"), request.headers.get("Origin")):
            return web.Response(status=403, text="Forbidden")
        if len(self._sessions) >= MAX_SESSIONS or self._is_ending:
            return web.Response(status=503)
        websocket = web.WebSocketResponse(heartbeat=_HEARTBEAT_S, max_msg_size=MAX_MESSAGE_BYTES)
        session = Session(self._opened, websocket)
        self._sessions.add(session)
        try:
            await websocket.prepare(request)
            await session.serve(_cells(request, "width", 80), _cells(request, "height", 24))
        finally:
            await asyncio.shield(session.stop())
            self._sessions.discard(session)
        return websocket


def _is_no_visitors(record: logging.LogRecord) -> bool:
    """Whether the web server tells of itself: what is no HTTP was sent by somebody who has shown no
    token, and stderr is not theirs to fill."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def _end(ended: asyncio.Future[int], number: int) -> None:
    if not ended.done():
        ended.set_result(number)


def _with_headers(response: _Response) -> _Response:
    response.headers.update(_HEADERS)
    return response


def _cells(request: web.Request, name: str, usual: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else usual

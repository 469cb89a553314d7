"""What the server answers before any workbench is started, and how a page's process is told what to open."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

pytest.importorskip("textual_serve", reason="textual-serve is not installed: the extra serve")

from aiohttp import CookieJar, WSServerHandshakeError  # noqa: E402
from aiohttp.test_utils import TestClient, TestServer  # noqa: E402

from npulse.tui.serve import server as served  # noqa: E402
from npulse.tui.serve.child import Opened, command, environment  # noqa: E402
from npulse.tui.serve.guard import Guard  # noqa: E402
from npulse.tui.serve.session import MAX_COLUMNS, Session  # noqa: E402

TOKEN = "a word that nobody guesses"


@pytest_asyncio.fixture
async def visitor() -> AsyncIterator[TestClient[Any, Any]]:
    """A browser without scripts, before a server that asks for a token."""
    server = served.Server(Opened("/no/run", lang="zh"), Guard("127.0.0.1", TOKEN))
    client = TestClient(TestServer(server._application()), cookie_jar=CookieJar(unsafe=True))
    async with client:
        yield client


async def test_the_token_is_shown_once(visitor: TestClient[Any, Any]) -> None:
    for path in (
        "/",
        "/ws",
        "/static/js/textual.js",
        "/page/page.js",
        "/nothing",
        f"/page/page.js?token={TOKEN}",
    ):
        answer = await visitor.get(path)
        assert (answer.status, await answer.text()) == (403, "Forbidden"), path
    answer = await visitor.get("/", params={"token": TOKEN}, allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and TOKEN not in cookie
    answer = await visitor.get("/")
    assert answer.status == 200 and "会话已结束" in await answer.text()
    assert (await visitor.get("/nothing")).status == 404


async def test_what_is_no_http_leaves_no_trace_on_stderr(
    visitor: TestClient[Any, Any], caplog: pytest.LogCaptureFixture
) -> None:
    for sent in (b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", b"\x16\x03\x01" * 50 + b"\r\n\r\n"):
        reader, writer = await asyncio.open_connection("127.0.0.1", visitor.port)
        writer.write(sent)
        assert b" 400 " in await reader.readline()
        writer.close()
    assert [record.getMessage() for record in caplog.records if record.name == "aiohttp.server"] == []
    logging.getLogger("aiohttp.server").error("a fault of its own")
    assert "a fault of its own" in caplog.text


async def test_a_page_loads_from_here_alone_and_stands_in_no_frame(visitor: TestClient[Any, Any]) -> None:
    answer = await visitor.get("/", params={"token": TOKEN})
    policy = answer.headers["Content-Security-Policy"]
    assert (
        "default-src 'none'" in policy
        and "script-src 'self';" in policy
        and "frame-ancestors 'none'" in policy
    )
    text = await answer.text()
    assert "//" not in text and "{{" not in text
    for path in ("/page/page.css", "/page/page.js", "/static/css/xterm.css"):
        answer = await visitor.get(path)
        assert (answer.status, answer.headers["X-Content-Type-Options"]) == (200, "nosniff"), path
    for path in ("/page/", "/static/", "/static/%2e%2e/server.py", "/page/..%2fguard.py"):
        assert (await visitor.get(path)).status in (403, 404), path


async def test_other_names_and_other_pages_are_refused(visitor: TestClient[Any, Any]) -> None:
    await visitor.get("/", params={"token": TOKEN})
    answer = await visitor.get("/", headers={"Host": "evil.example"})
    assert (answer.status, await answer.text()) == (403, "Forbidden")
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        with pytest.raises(WSServerHandshakeError) as refused:
            await visitor.ws_connect("/ws", headers=headers)
        assert refused.value.status == 403


async def test_there_is_a_most_of_sessions(
    visitor: TestClient[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "MAX_SESSIONS", 0)
    answer = await visitor.get("/", params={"token": TOKEN})
    assert answer.status == 503 and "上限" in await answer.text()
    with pytest.raises(WSServerHandshakeError) as refused:
        await visitor.ws_connect("/ws", headers={"Origin": str(visitor.make_url("/")).rstrip("/")})
    assert refused.value.status == 503


# ---- the process of a page ----


class Told(Session):
    """A session without a process: keeps what would be sent to it."""

    def __init__(self) -> None:
        super().__init__(Opened(), Page())  # type: ignore[arg-type]
        self.told: list[Any] = []

    async def send_bytes(self, data: bytes) -> bool:
        self.told.append(data)
        return True

    async def send_meta(self, data: dict[str, Any]) -> bool:
        self.told.append(data)
        return True


class Page:
    """A websocket that keeps what is sent to the page."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def send_bytes(self, data: bytes) -> None:
        self.sent.append(data)

    send_str = send_json = send_bytes

    async def close(self) -> None:
        self.sent.append("close")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (["stdin", "q"], [b"q"]),
        (["resize", {"width": 100, "height": 30}], [{"type": "resize", "width": 100, "height": 30}]),
        (["resize", {"width": 10**9, "height": -1}], [{"type": "resize", "width": MAX_COLUMNS, "height": 1}]),
        (["resize", {"width": "100", "height": 30}], []),
        (["resize", {"width": True, "height": 30}], []),
        (["resize", None], []),
        (["focus"], [{"type": "focus"}]),
        (["quit"], []),
        (["deliver_chunk_request", {"key": "1"}], []),
        (["stdin", 7], []),
        ([], []),
        ({}, []),
        (7, []),
        (None, []),
    ],
)
async def test_what_a_page_says(said: Any, told: list[Any]) -> None:
    session = Told()
    await session._take(json.dumps(said))
    assert session.told == told


async def test_what_is_no_json_is_left_aside() -> None:
    session = Told()
    for raw in ("", "{", "[" * 100_000, '"stdin"'):
        await session._take(raw)
    assert session.told == []


async def test_a_page_opens_no_address_and_fetches_no_file() -> None:
    session = Told()
    start = {"type": "deliver_file_start", "key": "1", "path": "/etc/passwd", "open_method": "download"}
    for meta in ({"type": "open_url", "url": "http://evil.example", "new_tab": True}, start):
        await session.on_meta(json.dumps(meta).encode())
    await session.on_packed(b"anything")
    page: Any = session._websocket
    assert page.sent == []
    await session.on_meta(b'{"type": "exit"}')
    assert page.sent == ["close"]


@pytest.mark.parametrize(
    "path", ["/run; touch made", "/$(touch made)", "/a 'b\" c", "/\udcff", "--help", "/新"]
)
def test_a_path_reaches_the_process_as_it_is(path: str, tmp_path: Path) -> None:
    words = command(Opened(path, source_roots=("/src; x",)))
    words[2] = "import json, sys; print(ascii(json.loads(sys.argv[2])['path']))"
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ascii(path)
    assert words[0] == sys.executable and list(tmp_path.iterdir()) == []


def test_the_token_stays_with_the_server() -> None:
    given = environment(100, 30, {"NPULSE_SERVE_TOKEN": TOKEN, "PATH": "/bin"})
    assert given == {"PATH": "/bin", "COLUMNS": "100", "ROWS": "30"}


def test_what_a_page_does_not_offer() -> None:
    opened = Opened("/run")
    writing = {"pane.export", "rounds.baseline", "memory.roots", "pairing.keep"}
    assert opened.withheld == {*writing, "app.capture", "app.runs"}
    assert replace(opened, may_capture=True).withheld == {*writing, "app.runs"}
    assert replace(opened, path=None).withheld == {*writing, "app.capture"}
    from npulse.tui.actions import BY_ID

    assert opened.withheld <= set(BY_ID)

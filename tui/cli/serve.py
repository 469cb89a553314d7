"""`npulse serve [RUN]`: the workbench in a browser, for this machine alone unless told otherwise."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.errors import EnvironmentLacks, InputError, UsageError
from npulse.core.text import Lang, say

from .options import emit, talk
from .options import opened as unpacked

if TYPE_CHECKING:
    from ..serve.child import Opened
    from ..serve.guard import Guard

TEXTS: dict[str, tuple[str, str]] = {
    "open": (
        "serving {what}; open this address, Ctrl-C ends it:",
        "正在提供 {what}；请打开以下地址，Ctrl-C 结束：",
    ),
    "recent": ("the recent runs", "最近打开的运行"),
    "local": (
        "whoever has an account on this machine can open it too; --token TOKEN asks for a word",
        "本机的其他用户也可以打开；--token TOKEN 可要求口令",
    ),
    "token": (
        "whoever has this address sees the run with your rights; the network sees it unencrypted",
        "持有此地址者可以用您的权限查看该运行；网络传输未加密",
    ),
    "capture": (
        "--allow-capture: whoever opens the page starts programs as you",
        "--allow-capture：打开网页者能以您的身份启动程序",
    ),
}


def run_serve(
    path: Path | None,
    *,
    host: str,
    port: int,
    token: str | None,
    may_capture: bool,
    lang: Lang,
    jobs: int,
    no_cache: bool,
    source_roots: Sequence[Path],
) -> int:
    """Serve until Ctrl-C (130) or another signal (0). Each page is a process of its own."""
    if path is not None and not os.path.lexists(path):
        raise InputError("no such file or folder", path=path, hint="npulse serve RUN, or no RUN at all")
    run = None if path is None else unpacked(path)
    for root in source_roots:
        if not root.is_dir():
            raise InputError("not a folder", path=root, hint="--source-root takes folders with sources")
    from ..serve.child import Opened

    guard = _guard(host, token)
    opened = Opened(
        path=None if run is None else str(run.absolute()),
        lang=lang,
        jobs=jobs,
        no_cache=no_cache,
        source_roots=tuple(str(root.absolute()) for root in source_roots),
        may_capture=may_capture,
    )
    return _serve(opened, guard, port)


def _guard(host: str, token: str | None) -> Guard:
    """The guard of an address: beyond this machine nobody comes in without a token."""
    from ..serve.guard import MIN_TOKEN_LENGTH, Guard, is_loopback, new_token

    is_local = is_loopback(host)
    if token is not None and not token.strip():
        raise UsageError("--token is empty", hint="leave it out: on other addresses one is made")
    if token is not None and not is_local and len(token) < MIN_TOKEN_LENGTH:
        raise UsageError(
            f"--token is too short for a network: {MIN_TOKEN_LENGTH} characters at least",
            hint="leave it out, and one is made that nobody guesses",
        )
    return Guard(host, token if token is not None or is_local else new_token())


def _serve(opened: Opened, guard: Guard, port: int) -> int:
    try:
        from ..serve.server import Server
    except ImportError as error:
        raise EnvironmentLacks(
            f"npulse serve needs textual-serve ({error.name or error} is not installed)",
            hint="pip install textual-serve   or npulse with its extra: pip install 'npulse[serve]'",
        ) from error

    def tell(bound: int) -> None:
        what = opened.path or say(TEXTS, "recent", opened.lang)
        talk(f"npulse: {say(TEXTS, 'open', opened.lang, what=what)}")
        emit([address(guard, bound) + "\n"])
        if opened.may_capture:
            talk(f"npulse: {say(TEXTS, 'capture', opened.lang)}")
        talk(f"npulse: {say(TEXTS, 'local' if guard.token is None else 'token', opened.lang)}")

    number = asyncio.run(Server(opened, guard).run(guard.host, port, tell))
    return 130 if number == signal.SIGINT else 0


def address(guard: Guard, port: int) -> str:
    """The address to open, with the token in it."""
    from urllib.parse import quote

    name = socket.gethostname() if guard.host in ("0.0.0.0", "::") else guard.host
    name = f"[{name}]" if ":" in name else name
    query = "" if guard.token is None else f"?token={quote(guard.token, safe='')}"
    return f"http://{name}:{port}/{query}"

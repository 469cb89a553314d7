"""`npulse serve`: what it refuses before it listens, and the address that it prints."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from npulse.tui.cli.main import run
from npulse.tui.cli.serve import address
from npulse.tui.serve.guard import Guard

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["/no/such/run"], "/no/such/run: no such file or folder"),
        ([".", "--source-root", "/no/such/folder"], "/no/such/folder: not a folder"),
        ([".", "--token", " "], "--token is empty"),
        ([".", "--host", "0.0.0.0", "--token", "1234567"], "8 characters at least"),
        ([".", "--port", "65536"], "65536"),
    ],
)
def test_wrong_usage(words: list[str], told: str, capsys: Capture) -> None:
    assert run(["serve", *words]) == 2
    captured = capsys.readouterr()
    assert told in captured.err and captured.out == ""


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    for name in [name for name in sys.modules if name.startswith(("textual_serve", "npulse.tui.serve.s"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    assert run(["serve", "."]) == 3
    told = capsys.readouterr().err
    assert "needs textual-serve" in told and "pip install" in told and "npulse[serve]" in told


def test_a_port_that_is_taken_is_named(capsys: Capture) -> None:
    pytest.importorskip("textual_serve", reason="textual-serve is not installed: the extra serve")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["serve", ".", "--port", str(port)]) == 3
    told = capsys.readouterr()
    assert f"cannot listen on 127.0.0.1 port {port}" in told.err and "--port" in told.err and told.out == ""


def test_a_command_and_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "serve").mkdir()
    assert run(["--port", "1", "serve", "/no/such/run"]) == 2
    assert "/no/such/run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("host", "token", "shown"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:80/"),
        ("::1", None, "http://[::1]:80/"),
        ("0.0.0.0", "a&b c", "http://npu-7:80/?token=a%26b%20c"),
        ("::", "word", "http://npu-7:80/?token=word"),
        ("10.0.0.7", "word", "http://10.0.0.7:80/?token=word"),
    ],
)
def test_the_address_can_be_opened_as_it_is(
    host: str, token: str | None, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "npu-7")
    assert address(Guard(host, token), 80) == shown

"""Who may see the served workbench: names, origins, tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.tui.serve.guard import Guard, is_loopback, new_token

LOCAL = Guard("127.0.0.1", None)
OUTSIDE = Guard("0.0.0.0", "a word of some length")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.7", "npu-7", "localhost.evil.example", "127.0.0.1.nip.io"]
)
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    "header", ["127.0.0.1:8000", "localhost:9999", "localhost", "[::1]:8000", "LocalHost:1"]
)
def test_a_tunnel_may_have_any_port(header: str) -> None:
    assert LOCAL.is_own_name(header)


@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example"),
        *(
            "localhost@evil.example",
            "evil.example/localhost",
            "localhost:port",
            "10.0.0.7:8000",
            "[::1",
            "a b",
        ),
    ],
)
def test_a_name_that_somebody_let_resolve_to_here_is_refused(header: str | None) -> None:
    assert not LOCAL.is_own_name(header)


def test_beyond_this_machine_addresses_and_its_own_name_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "npu-7.lab.example")
    for header in ("10.0.0.7:8000", "[fe80::1]:8000", "npu-7:8000", "NPU-7.lab.example", "localhost:8000"):
        assert OUTSIDE.is_own_name(header), header
    for header in ("evil.example:8000", "npu-8:8000", "10.0.0.7.evil.example"):
        assert not OUTSIDE.is_own_name(header), header
    assert Guard("npulse.lab.example", "w").is_own_name("npulse.lab.example")


@pytest.mark.parametrize(
    ("origin", "is_own"),
    [
        ("http://localhost:8000", True),
        ("https://localhost:8000", True),
        ("http://localhost:8001", False),
        ("http://localhost", False),
        ("http://evil.example", False),
        ("http://localhost:8000.evil.example", False),
        ("file://", False),
        ("ftp://localhost:8000", False),
        ("null", False),
        ("localhost:8000", False),
        ("", False),
        (None, False),
    ],
)
def test_a_websocket_comes_from_a_page_of_this_server(origin: str | None, is_own: bool) -> None:
    assert LOCAL.is_own_page("localhost:8000", origin) is is_own
    assert not LOCAL.is_own_page(None, origin)


def test_the_token_opens_and_nothing_else_does() -> None:
    guard = Guard("0.0.0.0", "wort mit ä")
    assert guard.takes_token("wort mit ä")
    for shown in (None, "", "wort mit", "wort mit ä ", guard.cookie_value, "\ud800"):
        assert not guard.takes_token(shown)
    assert guard.takes_cookie(guard.cookie_value)
    for shown in (None, "", guard.token, new_token(), Guard("0.0.0.0", guard.token).cookie_value):
        assert not guard.takes_cookie(shown)


def test_without_a_token_everybody_comes_in_but_no_token_does() -> None:
    assert LOCAL.takes_cookie(None) and LOCAL.takes_cookie("anything")
    assert not LOCAL.takes_token("") and not LOCAL.takes_token(None)


@given(st.text(), st.text())
def test_headers_of_any_kind_are_answered(host: str, origin: str) -> None:
    for guard in (LOCAL, OUTSIDE):
        if guard.is_own_name(host):
            assert not any(c in host for c in "/@?#")
        assert guard.is_own_page(host, origin) <= (origin.lower().endswith(host.lower()) and host != "")

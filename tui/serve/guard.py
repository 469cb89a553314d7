"""Who may see the served workbench: which names of this machine, which pages, which token."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit

MIN_TOKEN_LENGTH = 8
_LOCAL_NAMES = frozenset(("localhost", "127.0.0.1", "::1"))


def is_loopback(host: str) -> bool:
    """Is it an address that only this machine reaches?"""
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True)
class Guard:
    """Decides on requests by their headers. token: None where every visitor may come in.

    A page of another site that has its own name resolve to this machine (DNS rebinding) asks under that name,
    and a page that opens a websocket across sites bears its own origin: both are refused.
    """

    host: str
    token: str | None
    cookie_value: str = field(default_factory=new_token)
    """What a browser shows once it has shown the token; the token itself is not stored in it."""

    def is_own_name(self, host_header: str | None) -> bool:
        """Was this machine asked under a name of its own? Any port will do: tunnels have others."""
        name = _name_of(host_header)
        if name is None:
            return False
        if name in _LOCAL_NAMES or name == self.host.lower():
            return True
        if is_loopback(self.host):
            return False
        own = socket.gethostname().lower()
        # an address is no name that somebody else could let resolve to this machine
        return _address(name) is not None or name in (own, own.partition(".")[0])

    def is_own_page(self, host_header: str | None, origin: str | None) -> bool:
        """Does the websocket come from a page of this server?"""
        if not host_header or not origin:
            return False
        scheme, separator, rest = origin.partition("://")
        return scheme in ("http", "https") and bool(separator) and rest.lower() == host_header.lower()

    def takes_token(self, shown: str | None) -> bool:
        return self.token is not None and shown is not None and _is_equal(shown, self.token)

    def takes_cookie(self, shown: str | None) -> bool:
        """True also where no token is asked for."""
        return self.token is None or (shown is not None and _is_equal(shown, self.cookie_value))


def _is_equal(shown: str, wanted: str) -> bool:
    """In a time that tells neither length nor content."""
    left, right = (hashlib.sha256(text.encode("utf-8", "replace")).digest() for text in (shown, wanted))
    return hmac.compare_digest(left, right)


def _name_of(host_header: str | None) -> str | None:
    """The name or address of a Host header without port and brackets; None where it is not one."""
    if not host_header or any(c in host_header for c in "/@?# \t"):
        return None
    try:
        parts = urlsplit(f"//{host_header}")
        _ = parts.port  # ValueError where it is no number
    except ValueError:
        return None
    return parts.hostname


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None

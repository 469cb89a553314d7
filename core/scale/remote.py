"""What runs inside the workers of a cluster: sent by value, so that it runs where npulse is not installed."""

from __future__ import annotations

from collections.abc import Sequence


def facts() -> dict[str, str | None]:
    """host, and the versions of what has to agree with the client; None for what is not there."""
    import importlib
    import platform
    import socket

    found: dict[str, str | None] = {"host": socket.gethostname(), "python": platform.python_version()}
    for name in ("npulse", "numpy", "distributed"):
        try:
            found[name] = str(importlib.import_module(name).__version__)
        except ImportError:
            found[name] = None
    return found


def which_exist(paths: Sequence[str]) -> list[bool]:
    """Whether each of the paths is there, as this host names it."""
    import os

    return [os.path.lexists(path) for path in paths]

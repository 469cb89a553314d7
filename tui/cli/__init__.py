"""The command line: `main` is the entry point of the `npulse` script and of `python -m npulse`."""

from .main import main

__all__ = ["main"]

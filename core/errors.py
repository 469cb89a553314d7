"""The one family of errors that a user can act on; each knows its exit code (docs/contract.md)."""

from __future__ import annotations

from os import PathLike


class NpulseError(Exception):
    """Base: a message that names what went wrong and, where known, file, line or byte and next step."""

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
        byte: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.path = None if path is None else str(path)
        self.line = line
        self.byte = byte

    def __str__(self) -> str:
        where = self.path or ""
        if self.line is not None:
            where += f", line {self.line}"
        if self.byte is not None:
            where += f", byte {self.byte}"
        return f"{where}: {self.message}" if where else self.message


class InputError(NpulseError):
    """A file or folder cannot be used. Says which, where, why, and what to do."""


class UsageError(NpulseError):
    """The command line or a configuration asks for something that does not exist."""


class EnvironmentLacks(NpulseError):
    """A tool, device or driver is missing; the hint says how to get it."""

    exit_code = 3


class Cancelled(NpulseError):
    """Work was stopped on request; nothing was judged from the part that was done."""

    exit_code = 130

    def __init__(self) -> None:
        super().__init__("cancelled")

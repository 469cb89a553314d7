"""Finds the command, runs it, turns errors into messages and exit codes. Imports stay light for --help."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from npulse.core.areas import AREAS
from npulse.core.errors import NpulseError

COMMANDS = ("open", "demo", "rules", "keys", *(area.command for area in AREAS if area.is_built))
RESERVED = (
    *(area.command for area in AREAS if not area.is_built),
    *("diff", "recheck", "capture", "watch", "config", "merge", "report", "serve", "doctor", "cache", "plugin", "pack"),
)
"""Words that will be commands: naming one is never a path by accident."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run npulse and leave with its exit code."""
    sys.exit(run(list(sys.argv[1:] if argv is None else argv)))


def run(argv: list[str]) -> int:
    """Run one command line; returns the exit code of contract.md."""
    words = _with_command(argv)
    if words and words[0] in RESERVED:
        return _not_built(words[0])
    try:
        from .root import app

        result = app(words, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except NpulseError as error:
        _say(f"npulse: {error}")
        if error.hint:
            _say(f"  {error.hint}")
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # the reader of our output went away (| head): not an error of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _usage_or_crash(error)


def _with_command(argv: list[str]) -> list[str]:
    """A first word that is a command is the command; anything else is a PATH for `open`."""
    if not argv:
        return ["open"]
    first = argv[0]
    if first in ("--help", "-h", "--version") or first in COMMANDS or first in RESERVED:
        return ["--help" if first == "-h" else first, *argv[1:]]
    if first.startswith(("--install-completion", "--show-completion")):
        return argv
    return ["open", *argv]


def _not_built(word: str) -> int:
    _say(f"npulse: '{word}' is not built yet")
    _say(f"  to open a folder of that name: npulse ./{word}    what is there now: npulse --help")
    return 2


def _usage_or_crash(error: Exception) -> int:
    # typer ships its own copy of the command-line errors: they are known by what they carry
    format_message = getattr(error, "format_message", None)
    if callable(format_message) and hasattr(error, "exit_code"):
        _say(f"npulse: {format_message()}")
        _say("  npulse --help lists the commands")
        return 2
    if type(error).__name__ == "Abort":
        return 130
    if type(error).__name__ == "Exit":
        return int(getattr(error, "exit_code", 0))
    from ..crash import report_crash

    for line in report_crash(error):
        _say(line)
    return 2


def _say(line: str) -> None:
    """One line of talk to stderr, without control characters."""
    from npulse.core.text import safe_text

    encoding = sys.stderr.encoding or "ascii"
    text = safe_text(line).encode(encoding, "backslashreplace").decode(encoding)
    print(text, file=sys.stderr)

"""Finds the command, runs it, turns errors into messages and exit codes. Imports stay light for --help."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from npulse.core.areas import AREAS
from npulse.core.errors import NpulseError, UsageError

from .options import talk

COMMANDS = (
    "open",
    "demo",
    "rules",
    "keys",
    "diff",
    "watch",
    "config",
    "doctor",
    "capture",
    "pack",
    "merge",
    "report",
    "guide",
    "plugin",
    "cache",
    "serve",
    "recheck",
    *(area.command for area in AREAS if area.is_built),
)
RESERVED = tuple(area.command for area in AREAS if not area.is_built)
"""Words that will be commands: naming one is never a path by accident."""


_ALLOCATIONS = 10_000
"""New objects after which cycles are looked for. What is read of files holds none: looking as often as is
usual costs a twelfth of the time of a large log."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run npulse and leave with its exit code."""
    gc.set_threshold(_ALLOCATIONS)
    sys.exit(run(list(sys.argv[1:] if argv is None else argv)))


def run(argv: list[str]) -> int:
    """Run one command line; returns the exit code of contract.md."""
    try:
        _refuse_empty(argv)
        words = _with_command(argv)
        if words[0] in RESERVED:
            return _not_built(words[0])
        from .root import command_line

        result = command_line(words[0])(words, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except NpulseError as error:
        talk(f"npulse: {error}")
        if error.hint:
            talk(f"  {error.hint}")
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # the reader of our output went away (| head): not an error of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _usage_or_crash(error)


_VALUE_OPTIONS = frozenset(
    (
        *("--lang", "--jobs", "--pane", "--format", "--output", "-o", "--criteria", "--round", "--pair"),
        *("--rank", "--ranks", "--step", "--cluster", "--source-root", "--top", "--by", "--round-b"),
        *("--interval", "--serve-status", "--on-finding", "--golden", "--area", "--python", "--search"),
        *("--tool", "--archive", "--name", "--level", "--tool-option", "--set", "--plugin"),
        *("--port", "--host", "--token", "--title", "-t", "--run", "--mark-baseline"),
        *("--replay", "--replay-pause", "--baseline", "--silence", "--max-bytes"),
        *("--count", "--keep-fp32", "--keep-input", "--kernel-object", "--list", "--model", "--pid"),
        *("--reference", "-r", "--target", "--config", "--metric", "--error-threshold", "--compare-mode"),
        *("--operator", "--layer", "--verbosity", "-v", "--api", "--precision-map", "--path-map"),
        *("--mapping", "--write-mapping", "--pairing", "--tensors"),
        *("--profiling-level", "--repeat", "--retro", "--switch", "--timeout"),
        *("--side", "--activation", "--scale", "--dtype", "--shape", "--fusion-rule"),
    )
)
"""Options that may stand in front of the command together with a value; a test asks the commands."""


_PATH_OPTIONS = frozenset(
    (
        *("--output", "-o", "--source-root", "--kernel-object", "--serve-status", "--golden", "--run"),
        *("--reference", "-r", "--target", "-t", "--config", "--fusion-rule"),
        *("--mapping", "--write-mapping"),
        *("--archive", "--plugin", "--silence", "--keep-input", "--name-list", "--from", "--cwd"),
    )
)
"""Options whose value is a path."""


def _refuse_empty(argv: list[str]) -> None:
    """UsageError for an empty path: it would be the current folder, which nobody named.

    What stands behind -- is a command line of its own, for programs that may take empty words.
    """
    argv = argv[: argv.index("--")] if "--" in argv else argv
    for before, word in zip(("", *argv), argv, strict=False):
        is_empty = not word or (word.endswith("=") and word[:-1] in _PATH_OPTIONS)
        if is_empty and (before in _PATH_OPTIONS or before not in _VALUE_OPTIONS):
            raise UsageError("no such path: ''", hint="give . for the current folder")


def _with_command(argv: list[str]) -> list[str]:
    """The command line with its command in front.

    A first word that is a command is the command, anything else is a PATH for `open`. Options may stand
    before it: `npulse --lang zh demo`.
    """
    if argv and argv[0] in ("--help", "-h", "--version", "--install-completion", "--show-completion"):
        return ["--help" if argv[0] == "-h" else argv[0], *argv[1:]]
    at = 0
    while at < len(argv) and argv[at].startswith("-"):
        at += 2 if argv[at] in _VALUE_OPTIONS else 1
    if at >= len(argv):
        return ["open", *argv]
    if argv[at] in COMMANDS or argv[at] in RESERVED:
        return [argv[at], *argv[:at], *argv[at + 1 :]]
    _refuse_misspelt(argv[at])
    return ["open", *argv]


def _refuse_misspelt(word: str) -> None:
    """UsageError for a word that is no path but nearly a command."""
    if os.path.lexists(word) or os.sep in word:
        return
    import difflib

    near = difflib.get_close_matches(word, (*COMMANDS, *RESERVED), n=1, cutoff=0.7)
    if near:
        raise UsageError(f"no command and no path '{word}'", hint=f"did you mean: npulse {near[0]}")


def _not_built(word: str) -> int:
    talk(f"npulse: '{word}' is not built yet")
    talk(f"  to open a folder of that name: npulse ./{word}    what is there now: npulse --help")
    return 2


def _usage_or_crash(error: Exception) -> int:
    # typer ships its own copy of the command-line errors: they are known by what they carry
    format_message = getattr(error, "format_message", None)
    if callable(format_message) and hasattr(error, "exit_code"):
        talk(f"npulse: {format_message()}")
        talk("  npulse --help lists the commands")
        return 2
    if type(error).__name__ == "Abort":
        return 130
    if type(error).__name__ == "Exit":
        return int(getattr(error, "exit_code", 0))
    from ..crash import CRASH_EXIT_CODE, report_crash

    for line in report_crash(error):
        talk(line)
    return CRASH_EXIT_CODE

"""What is left of an unexpected error: five lines for the user, a scrubbed traceback in a log file.

The log names modules, lines, exception types and their messages. It holds no local variables and no source
text, and a message is cut: it can be sent to somebody without sending the user's data.
"""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.errors import Cancelled, NpulseError
from npulse.core.text import safe_text

from .messages import tr
from .state import state_folder

if TYPE_CHECKING:
    from textual.worker import Worker

    from npulse.core.text import Lang

CRASH_EXIT_CODE = 70
"""An error in npulse itself (EX_SOFTWARE): nothing is said of the run."""
MAX_LOG_BYTES = 1 << 20
_MAX_FRAMES = 200


def scrubbed_traceback(error: BaseException) -> str:
    """The traceback as `module.py:line function` lines and the types of the errors in the chain."""
    lines: list[str] = []
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        lines.append(f"{type(link).__module__}.{type(link).__qualname__}: {safe_text(str(link), 300)}")
        frames = list(traceback.walk_tb(link.__traceback__))[-_MAX_FRAMES:]
        for frame, line in frames:
            code = frame.f_code
            lines.append(f"  {_short(code.co_filename)}:{line} {code.co_name}")
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "\n".join(lines)


def write_log(error: BaseException, folder: Path) -> Path | None:
    """The log file with the scrubbed traceback appended; None where nothing can be written."""
    path = folder / "errors.log"
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
            os.replace(path, path.with_suffix(".log.old"))
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{stamp}\n{scrubbed_traceback(error)}\n\n")
    except OSError:
        return None
    return path


def report_crash(error: BaseException, lang: Lang = "en", folder: Path | None = None) -> list[str]:
    """Write the log and say, in five lines: what happened, where, that the run is untouched, log, next."""
    log = write_log(error, state_folder() if folder is None else folder)
    frames = list(traceback.walk_tb(error.__traceback__))
    where = f"{_short(frames[-1][0].f_code.co_filename)}:{frames[-1][1]}" if frames else "?"
    return [
        tr("crash.what", lang, what=safe_text(f"{type(error).__name__}: {error}", 200)),
        tr("crash.where", lang, where=where),
        tr("crash.untouched", lang),
        tr("crash.log", lang, path=safe_text(str(log))) if log else tr("crash.no-log", lang),
        tr("crash.next", lang),
    ]


def describe_error(error: BaseException) -> tuple[str, str]:
    """(message, hint) of an error, safe to show: where, why, what to do."""
    if isinstance(error, NpulseError):
        return safe_text(str(error), 1000), safe_text(error.hint or "", 500)
    return safe_text(f"{type(error).__name__}: {error}", 500), ""


def failure_of(event: Worker.StateChanged) -> BaseException | None:
    """The error a worker has just ended with; None for every other change, cancellation included."""
    from textual.worker import WorkerState

    error = event.worker.error
    if event.state != WorkerState.ERROR or error is None or isinstance(error, Cancelled):
        return None
    return error


def _short(filename: str) -> str:
    """The last three parts of a path: enough to find the line, nothing about the user's folders."""
    return "/".join(Path(filename).parts[-3:])

"""`npulse watch`: a run followed without a screen; one line a finding, a status file for schedulers."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npulse.core.errors import InputError, UsageError
from npulse.core.text import Lang

from .options import check_seconds, emit, talk, version
from .progress import end_progress, stderr_progress

if TYPE_CHECKING:
    from npulse.core.analysis import AnalysisOptions
    from npulse.core.follow.session import Follow, Look
    from npulse.core.watch.hook import Hook

FORMATS = ("text", "jsonl")
HOOK_WAIT_S = 5.0
"""For the user's command at the end: whoever stops this waits for it too."""
MAX_UNWRITTEN = 10_000
"""Lines that wait for a file that cannot be written now; the oldest are let go first."""


class _Stopped(Exception):
    """SIGTERM or SIGHUP: whoever started this wants the answer so far."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What only this command takes. interval_s: 0 for as soon as something is there."""

    format_name: str = "text"
    output: Path | None = None
    interval_s: float = 0.0
    once: bool = False
    status: Path | None = None
    hook: str | None = None
    golden: Path | None = None
    areas: tuple[str, ...] = ()
    strict: bool = False
    mask: bool = False


def run_watch(path: Path, options: WatchOptions, asked: AnalysisOptions) -> int:
    """Follow a run until it is stopped (SIGTERM: exit code so far; Ctrl-C: 130), or look at it once."""
    from npulse.core.follow.session import Follow
    from npulse.core.report import masked
    from npulse.core.scale import limit_blas_threads
    from npulse.core.watch.hook import Hook, command_words

    limit_blas_threads()
    _check(path, options)
    follow = Follow(
        path,
        asked,
        golden=options.golden,
        areas=options.areas,
        interval_s=options.interval_s,
        shown=masked if options.mask else None,
    )
    teller = _Teller(path, options, asked.lang, Hook(command_words(options.hook)) if options.hook else None)
    try:
        with _stoppable():
            for look in _looks(follow, options, asked.lang):
                teller.tell(look)
    except _Stopped:
        pass
    finally:
        end_progress()
        teller.close()
    return teller.exit_code


def _looks(follow: Follow, options: WatchOptions, lang: Lang) -> Iterator[Look]:
    """One look, or one after the other."""
    progress = stderr_progress(lang)
    if options.once:
        return iter((follow.once(progress=progress),))
    return follow.looks(progress=progress)


def _check(path: Path, options: WatchOptions) -> None:
    from npulse.core.areas import AREAS

    if options.format_name not in FORMATS:
        raise UsageError(f"unknown format '{options.format_name}'", hint="formats: " + ", ".join(FORMATS))
    known = [area.id for area in AREAS if area.is_built]
    for area in options.areas:
        if area not in known:
            raise UsageError(f"unknown area '{area}'", hint="areas: " + ", ".join(known))
    check_seconds(options.interval_s, "--interval")
    if options.once and options.interval_s:
        raise UsageError("--once looks once: it has no interval", hint="leave --interval or --once out")
    if not path.exists():
        raise InputError("there is no such file or folder", path=path, hint="name the folder to follow")
    for written in (options.output, options.status):
        if written is not None and written.resolve().is_relative_to(path.resolve()):
            raise InputError(
                "nothing is written into the run that is followed",
                path=written,
                hint="choose a path outside of it",
            )


class _Teller:
    """Writes what looks changed: lines, the status file, the command of the user."""

    def __init__(self, path: Path, options: WatchOptions, lang: Lang, hook: Hook | None) -> None:
        self._path = path
        self._options = options
        self._lang = lang
        self._hook = hook
        self._before: Look | None = None
        self._failing: set[Path] = set()
        self._unwritten: deque[str] = deque(maxlen=MAX_UNWRITTEN)
        self.exit_code = 4

    def tell(self, look: Look) -> None:
        """Lines of what is new; the status file also where nothing is."""
        end_progress()
        self._write(self._lines(look) if look.is_changed else ())
        if self._hook is not None:
            from npulse.core.report.as_json import finding_dict

            for finding in look.new:
                if finding.severity == "error":
                    self._hook.tell(finding_dict(finding))
        self._write_status(look)
        self._before = look
        self.exit_code = look.exit_code(strict=self._options.strict)

    def close(self) -> None:
        if self._hook is not None:
            self._hook.close(HOOK_WAIT_S)

    def _lines(self, look: Look) -> Iterable[str]:
        from npulse.core.follow.lines import json_lines, text_lines

        if self._options.format_name == "jsonl":
            return json_lines(look, self._before, strict=self._options.strict)
        return text_lines(look, self._before, self._lang, strict=self._options.strict)

    def _write(self, lines: Iterable[str]) -> None:
        """To stdout, or to the end of the file, which is opened each time: it may have been rotated.

        What a full disk refuses waits for the next look.
        """
        pieces = [line + "\n" for line in lines]
        if self._options.output is None:
            if pieces:
                emit(pieces, is_json=self._options.format_name == "jsonl")
            return
        self._unwritten += pieces
        if not self._unwritten:
            return
        text = "".join(self._unwritten).encode("utf-8", "replace")
        try:
            _append(self._options.output, text)
        except OSError as error:
            self._cannot_write(self._options.output, f"cannot write: {error.strerror}")
        else:
            self._unwritten.clear()
            self._failing.discard(self._options.output)

    def _cannot_write(self, path: Path, message: str) -> None:
        """At the first look the path is wrong; later a full disk is said once and does not end the watch."""
        if self._before is None:
            raise InputError(message, path=path)
        if path not in self._failing:
            talk(f"npulse: {path}: {message}")
        self._failing.add(path)

    def _write_status(self, look: Look) -> None:
        if self._options.status is None:
            return
        from npulse.core.follow.status import write_status

        try:
            write_status(look, self._options.status, version=version(), strict=self._options.strict)
            self._failing.discard(self._options.status)
        except InputError as error:
            self._cannot_write(self._options.status, error.message)


def _append(path: Path, raw: bytes) -> None:
    """All of it or nothing: what a full disk took of it is taken back."""
    with open(path, "ab", buffering=0) as file:
        begin = file.seek(0, os.SEEK_END)
        try:
            while raw:
                raw = raw[file.write(raw) :]
        except OSError:
            with suppress(OSError):
                file.truncate(begin)
            raise


@contextmanager
def _stoppable() -> Iterator[None]:
    """SIGTERM and SIGHUP end the loop with the exit code so far; one that `nohup` ignores stays ignored."""

    def stop(number: int, frame: Any) -> None:
        raise _Stopped

    wanted = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

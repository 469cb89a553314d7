"""What the drivers for overflows share: the device's modes, and the question whether something blew up yet.

What an anomaly is, the overflow area says (legal -inf masks are none); nothing here looks at numbers itself.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from npulse.core.errors import NpulseError, UsageError
from npulse.core.overflow.analyse import Overflow, analyse
from npulse.core.overflow.criteria import Settings
from npulse.core.overflow.run_report import OTHERS
from npulse.core.run.discover import discover
from npulse.core.run.sides import captures_of
from npulse.core.tails import Tails

from ..driver import Words
from ..request import CaptureRequest
from .texts_dump import words

MODES = ("inf_nan_mode", "force_disable", "product", "ms_overflow_mode")
"""Settings of all overflow drivers. inf_nan_mode: INF_NAN_MODE_ENABLE. force_disable: its
INF_NAN_MODE_FORCE_DISABLE. product: 910A, A2, A3, 310P, 950. ms_overflow_mode: of MindSpore."""

PRODUCTS = ("910A", "A2", "A3", "310P", "950")
FIRST_ANOMALY = "first-anomaly"
_MS_MODES = ("INFNAN_MODE", "SATURATION_MODE")


def mode_environment(request: CaptureRequest) -> dict[str, str | None]:
    """The variables that set the device's mode. UsageError where the product refuses it."""
    settings = request.settings
    product = settings.get("product", "")
    if product and product not in PRODUCTS:
        raise UsageError(f"product is one of {', '.join(PRODUCTS)}, not '{product}'")
    found: dict[str, str | None] = {}
    mode = settings.get("inf_nan_mode", "")
    forced = settings.get("force_disable", "0")
    if mode not in ("", "0", "1") or forced not in ("0", "1"):
        raise UsageError("inf_nan_mode and force_disable are 0 or 1")
    if mode == "1" and product == "910A":
        raise UsageError("910A always saturates: it has no INF/NAN mode", hint="leave inf_nan_mode out")
    if mode == "0" and product == "950":
        raise UsageError("950 always writes Inf and NaN: it has no saturation", hint="leave inf_nan_mode out")
    if mode == "0" and product in ("A2", "A3") and forced != "1":
        raise UsageError(
            f"{product} refuses INF_NAN_MODE_ENABLE=0 by itself",
            hint="--set force_disable=1 sets INF_NAN_MODE_FORCE_DISABLE=1 as well",
        )
    if mode:
        found["INF_NAN_MODE_ENABLE"] = mode
    if mode == "0" and forced == "1":
        found["INF_NAN_MODE_FORCE_DISABLE"] = "1"
    if settings.get("ms_overflow_mode"):
        if settings["ms_overflow_mode"] not in _MS_MODES:
            raise UsageError(f"ms_overflow_mode is one of {', '.join(_MS_MODES)}")
        found["MS_ASCEND_CHECK_OVERFLOW_MODE"] = settings["ms_overflow_mode"]
    return found


def mode_notes(request: CaptureRequest, environment: Mapping[str, str | None]) -> list[Words]:
    """What the mode means for what will be seen."""
    mode = environment.get("INF_NAN_MODE_ENABLE")
    product = request.settings.get("product", "")
    notes = []
    if mode == "0" or product == "910A":
        notes.append(words("mode-saturation"))
    if mode == "0" and not product and "INF_NAN_MODE_FORCE_DISABLE" not in environment:
        notes.append(words("mode-may-be-refused"))
    return notes


MAX_SHARE = 0.1
"""Of the time, for looking."""


@dataclass(slots=True)
class Watch:
    """The overflow analysis of a round that grows; statistics only, so that it is cheap enough for a look
    now and then. Nothing is read again that has not changed."""

    tails: Tails = field(default_factory=Tails)
    stamp: object = None
    last: Overflow | None = None
    due_s: float = 0.0

    def is_due(self) -> bool:
        """Whether looking again would not take too large a share of the time."""
        return time.monotonic() >= self.due_s

    def look(self, raw: Path) -> Overflow | None:
        """What is known by now; None where nothing can be read yet."""
        began_s = time.monotonic()
        try:
            return self._look(raw)
        finally:
            now_s = time.monotonic()
            self.due_s = now_s + (now_s - began_s) / MAX_SHARE

    def _look(self, raw: Path) -> Overflow | None:
        stamp = _stamp(raw)
        if stamp == self.stamp and self.last is not None:
            return self.last
        try:
            run = discover(raw)
            captures = tuple((one.name, one.artifacts) for one in captures_of(run))
            others = tuple(one for one in run.artifacts if one.kind in OTHERS)
            if not captures and not others:
                return None
            settings = Settings(jobs=1, read_tensors=False, tails=self.tails)
            self.last = analyse(run, captures, others, settings)
        except NpulseError:  # half written, or nothing there yet: the next look tells
            return self.last
        self.stamp = stamp
        return self.last

    def is_anomaly(self, raw: Path) -> bool:
        """Whether something blew up: an origin, or a record of the device."""
        found = self.look(raw)
        return found is not None and has_anomaly(found)


def has_anomaly(found: Overflow) -> bool:
    return bool(found.origins()) or any(part.joined for part in found.graph)


def look_once(raw: Path) -> Overflow | None:
    """The analysis of a round that is over."""
    return Watch().look(raw)


def _stamp(raw: Path) -> object:
    """Changes with every index and every folder of files: names of folders and indexes, size, time."""
    found: list[tuple[str, int, int]] = []
    waiting = [raw]
    while waiting and len(found) < 20_000:
        folder = waiting.pop()
        try:
            status = folder.stat()
            found.append((str(folder), status.st_mtime_ns, 0))
            for name in ("dump.json", "debug.json"):
                path = folder / name
                if path.is_file():
                    status = path.stat()
                    found.append((str(path), status.st_mtime_ns, status.st_size))
            waiting += [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
        except OSError:
            continue
    return tuple(sorted(found))

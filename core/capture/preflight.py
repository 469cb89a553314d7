"""What is looked at before a capture starts: a line for every check, also where nothing is wrong."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.figures import size_text
from npulse.core.files import open_input
from npulse.core.findings import Figures, Finding, Severity
from npulse.core.text import Lang, safe_text, say

from . import surroundings
from .driver import Driver, Plan
from .process import full_environment
from .processes import process_of
from .request import FOLDERS, CaptureRequest
from .rules import FEW_INODES, MIN_INODES
from .texts import PREFLIGHT, SMALL

PIP_PACKAGES = {"msprobe": "mindstudio-probe"}
"""Tools that come from the package index, not with the toolkit."""


def preflight(request: CaptureRequest, driver: Driver, plan: Plan) -> tuple[Finding, ...]:
    """All that was looked at, errors first, then warnings, notes, and what is well (role "ok").

    Errors hold the start back. Changes nothing; takes as long as npu-smi and git do.
    """
    from . import preflight_settings as settings

    look = Look(request.lang)
    environment = full_environment(request.environment, plan.environment, "")
    found = [
        *_commands(request, driver, plan, environment, look),
        *_archive(request, look),
        *_space(request, driver, look),
        *_inputs(request, look),
        *_attached(request, look),
        *settings.settings_findings(request, environment, look),
        *surroundings.findings(request, environment, look),
        *driver.preflight(request),
        *_small(request, look),
    ]
    return tuple(sorted(found, key=_weight))


def _weight(finding: Finding) -> int:
    return 3 if finding.role == "ok" else ("error", "warning", "note").index(finding.severity)


class Look:
    """Makes the findings of one preflight, in its language."""

    def __init__(self, lang: Lang) -> None:
        self.lang = lang

    def ok(self, rule: str, key: str, figures: Figures | None = None, **values: str) -> Finding:
        """What was looked at and is well."""
        return self._finding("note", "ok", rule, key, "", figures, values)

    def unknown(self, rule: str, key: str, **values: str) -> Finding:
        """What could not be looked at."""
        return self._finding("note", "unknown", rule, key, "", None, values)

    def bad(
        self,
        severity: Severity,
        rule: str,
        key: str,
        step: str,
        figures: Figures | None = None,
        **values: str,
    ) -> Finding:
        """What is wrong; step: key of the next step's text."""
        return self._finding(severity, "suspect", rule, key, step, figures, values)

    def _finding(
        self,
        severity: Severity,
        role: str,
        rule: str,
        key: str,
        step: str,
        figures: Figures | None,
        values: dict[str, str],
    ) -> Finding:
        safe = {name: safe_text(value) for name, value in values.items()}
        return Finding(
            "capture",
            severity,
            f"capture.{rule}",
            role,  # type: ignore[arg-type]
            rule,
            say(PREFLIGHT, key, self.lang, **safe),
            say(PREFLIGHT, step, self.lang, **safe) if step else "",
            figures=figures or {},
        )


# ---- what is started ----


def _commands(
    request: CaptureRequest, driver: Driver, plan: Plan, environment: dict[str, str], look: Look
) -> Iterator[Finding]:
    if not request.cwd.is_dir():
        yield look.bad("error", "command", "command-no-folder", "command-next", path=str(request.cwd))
        return
    path = environment.get("PATH", os.defpath)
    tool, program = plan.argv[0], request.command[0] if request.command else None
    if tool != program:
        place = _place_of(tool, request.cwd, path)
        if place is None:
            package = PIP_PACKAGES.get(os.path.basename(tool), PIP_PACKAGES.get(driver.tool))
            step = "tool-pip-next" if package else "tool-next"
            yield look.bad("error", "tool", "tool-missing", step, name=tool, package=package or "")
        else:
            yield look.ok("tool", "command-ok", path=place)
    if program is None:
        return
    place = _place_of(program, request.cwd, path)
    if place is not None:
        yield look.ok("command", "command-ok", path=place)
    elif os.sep in program and (request.cwd / program).is_file():
        step = "command-not-executable-next"
        yield look.bad("error", "command", "command-not-executable", step, name=program)
    elif os.sep in program:
        where = str(request.cwd)
        yield look.bad(
            "error", "command", "command-no-file", "command-no-file-next", name=program, path=where
        )
    else:
        yield look.bad("error", "command", "command-missing", "command-next", name=program)


def _place_of(name: str, cwd: Path, path: str) -> str | None:
    """The program that a name stands for, as the system finds it from that folder."""
    if os.sep in name:
        full = cwd / name
        return str(full) if full.is_file() and os.access(full, os.X_OK) else None
    return shutil.which(name, path=path)


# ---- where it is written ----


def _nearest(path: Path) -> Path:
    """The nearest folder above (or the path itself) that is there."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _archive(request: CaptureRequest, look: Look) -> Iterator[Finding]:
    target = request.archive / FOLDERS[request.kind]
    for one in (request.archive, target):
        is_link = one == target and one.is_symlink()
        if os.path.lexists(one) and (is_link or not one.is_dir()):
            yield look.bad("error", "archive", "archive-no-folder", "archive-next", path=str(one))
            return
    there = _nearest(target)
    try:
        is_read_only = bool(os.statvfs(there).f_flag & os.ST_RDONLY)
    except OSError:
        is_read_only = False
    if is_read_only:
        yield look.bad("error", "archive", "archive-read-only", "archive-next", path=str(there))
    elif not os.access(there, os.W_OK | os.X_OK):
        yield look.bad("error", "archive", "archive-denied", "archive-next", path=str(there))
    else:
        key = "archive-ok" if there == target else "archive-missing"
        yield look.ok("archive", key, path=str(target))
    tree = surroundings.work_tree_of(there, request.environment)
    if tree is None or surroundings.is_ignored(there, request.archive, request.environment):
        yield look.ok("work-tree", "work-tree-outside")
    else:
        root, name = str(tree.root), request.archive.name
        yield look.bad("note", "work-tree", "work-tree-inside", "work-tree-next", path=root, name=name)


def _space(request: CaptureRequest, driver: Driver, look: Look) -> Iterator[Finding]:
    try:
        disk = os.statvfs(_nearest(request.archive))
    except OSError:
        return
    free_bytes = disk.f_bavail * disk.f_frsize
    need, basis = driver.estimate_bytes(request), driver.size_basis(request)
    attempts = max(1, request.repeat)
    copied = sum(_size_of(path) for path in request.keep_inputs) * attempts
    figures = {"free_bytes": free_bytes}
    why = basis.why[1 if look.lang == "zh" else 0]
    values = {
        "free": size_text(free_bytes),
        "why": say(PREFLIGHT, "disk-why", look.lang, why=why) if why else "",
    }
    if need is None and copied <= free_bytes:
        if free_bytes - copied < basis.wary_bytes:
            yield look.bad("warning", "disk-space", "disk-little", "disk-next", figures, **values)
        else:
            yield look.ok("disk-space", "disk-unknown", figures, **values)
    else:
        # with keep_last the raw data of one attempt is removed once the next one is over
        n_kept = min(attempts, 2) if request.keep_last else attempts
        least, most = ((n or 0) * n_kept + copied for n in need or (0, 0))
        figures |= {"least_bytes": least, "most_bytes": most}
        values |= {"least": size_text(least), "most": size_text(most)}
        if least > free_bytes:
            yield look.bad("error", "disk-space", "disk-short", "disk-next", figures, **values)
        elif most > free_bytes:
            yield look.bad("warning", "disk-space", "disk-tight", "disk-next", figures, **values)
        else:
            yield look.ok("disk-space", "disk-fits", figures, need=_range_text(least, most), **values)
    yield from _inodes(request, disk, look)


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # told by the check of the inputs
        return 0


def _range_text(least: int, most: int) -> str:
    """1.50 GiB - 2.00 GiB; one of them where both read alike."""
    low, high = size_text(least), size_text(most)
    return low if low == high else f"{low} - {high}"


def _inodes(request: CaptureRequest, disk: os.statvfs_result, look: Look) -> Iterator[Finding]:
    if not disk.f_files:
        yield look.ok("inodes", "inodes-unlimited")
        return
    n_free = disk.f_favail
    figures, n = {"n_free_inodes": n_free}, f"{n_free:,}"
    has_many = request.kind in ("precision", "overflow")
    if n_free < MIN_INODES:
        yield look.bad("error", "inodes", "inodes-none", "inodes-next", figures, n=n)
    elif n_free < FEW_INODES and has_many:
        yield look.bad("warning", "inodes", "inodes-none", "inodes-next", figures, n=n)
    else:
        yield look.ok("inodes", "inodes-ok", figures, n=n)


# ---- what it is given ----


def _inputs(request: CaptureRequest, look: Look) -> Iterator[Finding]:
    for path in request.keep_inputs:
        try:
            file, size_bytes = open_input(path)
            file.close()
        except InputError as error:
            reason = error.message
            yield look.bad("error", "input", "input-bad", "input-next", path=str(path), reason=reason)
        else:
            yield look.ok("input", "input-ok", path=str(path), size=size_text(size_bytes))


def _attached(request: CaptureRequest, look: Look) -> Iterator[Finding]:
    if request.pid is None:
        return
    process, pid = process_of(request.pid), str(request.pid)
    if process is None or process.is_ended:
        yield look.bad("error", "pid", "pid-missing", "pid-next", pid=pid)
        return
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        owner = os.getuid()
    if os.getuid() not in (0, owner):
        yield look.bad("error", "pid", "pid-not-ours", "pid-next", pid=pid, name=process.name)
    else:
        yield look.ok("pid", "pid-ok", pid=pid, name=process.name)


def _small(request: CaptureRequest, look: Look) -> Iterator[Finding]:
    """Hints, where they were asked for."""
    if not request.is_small:
        return
    for words in (*SMALL["all"][: 0 if request.kind == "performance" else None], *SMALL[request.kind]):
        message = words[1 if look.lang == "zh" else 0]
        yield Finding("capture", "note", "capture.small", "benign", "small", message)

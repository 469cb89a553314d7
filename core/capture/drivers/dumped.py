"""What a capture with msprobe really left in its round, and why where it left nothing."""

from __future__ import annotations

import json
import os
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.dump import iter_calls
from npulse.core.formats.msprobe.removed import read_removed
from npulse.core.run.discover import discover
from npulse.core.run.folders import TENSOR_FOLDER
from npulse.core.run.model import Artifact
from npulse.core.run.stamp import FRESH_NS
from npulse.core.text import safe_text

from ..base import count_files
from ..driver import RAW, Ended, Outcome, Recorded, Words
from ..launcher import FOLDER, LauncherLog, read_launcher_log
from ..request import CaptureRequest
from .texts_dump import words

CONFIG = "config.json"
ERROR_LOG = "dump_error_info.log"
MAX_COUNTED_BYTES = 4 << 30
"""Of all indexes together; beyond it operators are not counted."""
MAX_ERROR_LOGS = 8
MAX_OPENED = 256
"""Tensor files of a rank-step that are opened: the last ones, where a kill or a full disk cuts."""

Why = tuple[Words, Words]
"""A cause and the next step."""


@dataclass(frozen=True, slots=True)
class Dumped:
    """The rank-steps of a round.

    n_operators: None where they are too large to count. n_unnamed: tensor files that no index names. n_lost:
    tensors that an index names and whose file is not there, empty or cut; only of the last files written it
    is looked whether they are whole. problems: what of the indexes could not be read.
    """

    artifacts: tuple[Artifact, ...]
    n_operators: int | None
    n_tensors: int
    n_unnamed: int
    n_lost: int
    problems: tuple[Problem, ...]

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted({a.rank for a in self.artifacts if a.rank is not None}))

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(sorted({a.step for a in self.artifacts if a.step is not None}))

    def n_with(self, completeness: str) -> int:
        return sum(a.completeness == completeness for a in self.artifacts)


def look_at_dumps(raw: Path) -> Dumped:
    """All rank-steps below a folder, counted entry by entry. Nothing is written to any more, so what is cut
    now stays cut. Cost: the indexes are read once, up to 4 GB."""
    later_ns = time.time_ns() + 2 * FRESH_NS
    try:
        run = discover(raw, now_ns=later_ns)
    except InputError:
        return Dumped((), 0, 0, 0, 0, ())
    found = tuple(a for a in run.artifacts if a.kind == "msprobe.dump")
    problems: list[Problem] = []
    n_operators, n_bytes = 0, 0
    n_tensors = n_unnamed = n_lost = 0
    for artifact in found:
        folder = artifact.path if artifact.path.is_dir() else artifact.path.parent
        named: set[str] = set()
        if artifact.path.is_file():
            n_bytes += artifact.path.stat().st_size
            if n_bytes <= MAX_COUNTED_BYTES:
                n_operators += _count(artifact.path, raw, named, problems)
        files = _tensor_files(folder)
        n_tensors += len(files)
        if n_bytes <= MAX_COUNTED_BYTES:
            n_unnamed += len(files.keys() - named)
            n_lost += len(named - files.keys() - _removed(folder)) + len(named & _broken(folder, files))
    counted = n_operators if n_bytes <= MAX_COUNTED_BYTES else None
    return Dumped(found, counted, n_tensors, n_unnamed, n_lost, tuple(problems))


def _count(path: Path, root: Path, named: set[str], problems: list[Problem]) -> int:
    n = 0
    try:
        for _, _, body in iter_calls(path, problems, root=root):
            n += 1
            named.update(_data_names(body))
    except InputError as error:
        problems.append(Problem.from_error(error, str(path)))
    return n


def _data_names(body: Any) -> Iterator[str]:
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            name = value.get("data_name")
            if isinstance(name, str):
                yield name
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _tensor_files(folder: Path) -> dict[str, tuple[int, int]]:
    """Name -> (time of the last write, size in bytes)."""
    found = {}
    with suppress(OSError), os.scandir(folder / TENSOR_FOLDER) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            found[entry.name] = status.st_mtime_ns, status.st_size
    return found


def _removed(folder: Path) -> frozenset[str]:
    """What a capture that thins out has taken away: nothing is missing of it."""
    try:
        found = read_removed(folder)
    except InputError:
        return frozenset()
    return frozenset() if found is None else found.names


def _broken(folder: Path, files: Mapping[str, tuple[int, int]]) -> set[str]:
    """Files that are empty, and of the last ones written those that torch.save did not finish."""
    newest = sorted(files, key=lambda name: files[name], reverse=True)[:MAX_OPENED]
    empty = {name for name, (_, size_bytes) in files.items() if not size_bytes}
    return empty | {
        name for name in newest if name.endswith(".pt") and _is_cut(folder / TENSOR_FOLDER / name)
    }


def _is_cut(path: Path) -> bool:
    """Whether a file begins as a zip archive and has not its end."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PK\x03\x04" and not zipfile.is_zipfile(file)
    except OSError:
        return False


def recorded_dumps(request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
    """The judgement of a round that msprobe wrote into."""
    raw = round_folder / RAW
    n_files, size_bytes = count_files(raw)
    dumped, log = look_at_dumps(raw), read_launcher_log(round_folder)
    is_there = bool(dumped.n_operators or dumped.n_tensors or dumped.n_operators is None)
    is_structure = _config(round_folder).get("task") == "structure" and bool(dumped.artifacts)
    outcome: Outcome = "recorded"
    why: Why = (("", ""), ("", ""))
    if not is_there and not is_structure:
        outcome, why = "nothing", _why_nothing(request, round_folder, ended, dumped, log)
    else:
        lost = _what_is_lost(dumped, log)
        if lost:
            outcome, why = "incomplete", (_joined(lost), words("incomplete-next"))
    return Recorded(
        outcome=outcome,
        n_files=n_files,
        size_bytes=size_bytes,
        ranks=dumped.ranks,
        steps=dumped.steps,
        n_operators=dumped.n_operators,
        n_dropped=dumped.n_lost,
        found={"msprobe.dump": len(dumped.artifacts)} if dumped.artifacts else {},
        is_failure=is_program_failure(ended),
        why=why[0],
        next_step=why[1],
        warnings=tuple(_warnings(round_folder, raw, dumped, log, outcome)),
    )


def is_program_failure(ended: Ended) -> bool:
    """Whether the program failed of its own: not because somebody ended it."""
    return not ended.stopped_by and (ended.signal is not None or ended.exit_status not in (0, None))


def _joined(parts: Sequence[Words]) -> Words:
    return " ".join(en for en, _ in parts), "".join(zh for _, zh in parts)


def _what_is_lost(dumped: Dumped, log: LauncherLog) -> list[Words]:
    lost = []
    if n := dumped.n_with("raw"):
        lost.append(words("no-index", n=n))
    if n := dumped.n_with("cut off"):
        lost.append(words("cut", n=n))
    if dumped.n_unnamed and not dumped.n_with("raw"):
        lost.append(words("unnamed", n=f"{dumped.n_unnamed:,}"))
    if dumped.n_lost:
        lost.append(words("lost", n=f"{dumped.n_lost:,}"))
    if n := len(log.unfinished):
        lost.append(words("unfinished", n=n))
    return lost


# ---- why nothing ----


def _why_nothing(
    request: CaptureRequest, round_folder: Path, ended: Ended, dumped: Dumped, log: LauncherLog
) -> Why:
    """The first cause that the notes of the launcher show, from the start of the program on."""
    folder, config = str(round_folder / FOLDER), str(round_folder / CONFIG)
    if ended.exit_status is None and ended.signal is None:
        return words("not-started"), words("not-started-next")
    if not log.python and not log.events:
        return words("no-python"), words("no-python-next", folder=folder, config=config)
    python = safe_text(log.python, 300)
    if not log.of("armed"):
        return words("no-torch", python=python), words("no-torch-next")
    for one in log.of("own-debugger"):
        key = "own-debugger" if one.get("error") else "own-calls"
        return words(key), words(f"{key}-next")
    for one in log.of("failed"):
        error = safe_text(str(one.get("error", "")), 500)
        if "No module named 'msprobe" in error:
            return words("no-msprobe", python=python), words("no-msprobe-next")
        where = safe_text(str(one.get("where", "")), 100)
        key = "failed-start-next" if where == "start of msprobe" else "failed-next"
        return words("failed", where=where, error=error), words(key, config=config, folder=folder)
    if not log.of("started"):
        n = log.total("n_evaluations")
        if n:
            return words("only-evaluation", n=n), words("only-evaluation-next")
        if ended.exit_status != 0 or ended.stopped_by:
            return words("ended-before", how=_how_it_ended(ended)), words("ended-before-next")
        return words("no-model"), words("no-model-next", config=config)
    return _why_started_in_vain(request, round_folder, dumped, log)


def _how_it_ended(ended: Ended) -> Words:
    status = words("exit-status", n=ended.exit_status)
    how = status if ended.signal is None else words("by-signal", n=int(ended.signal))
    return words("stopped-by", who=ended.stopped_by, how=how) if ended.stopped_by else how


def _why_started_in_vain(
    request: CaptureRequest, round_folder: Path, dumped: Dumped, log: LauncherLog
) -> Why:
    config = _config(round_folder)
    if config.get("dump_enable") is False:
        return words("switched-off"), words("switched-off-next")
    if log.unfinished:
        return words("unfinished", n=len(log.unfinished)), words("incomplete-next")
    if dumped.artifacts:
        if request.names or request.settings.get("scope"):
            names = safe_text(", ".join(request.names) or request.settings["scope"], 200)
            return words("list-nothing", names=names), words("list-nothing-next")
        level = str(config.get("level", ""))
        return words("empty"), words("empty-level", level=level) if level == "L0" else ("", "")
    n = log.total("n_steps")
    ranks = sorted({one["rank"] for one in log.of("started") if isinstance(one.get("rank"), int)})
    if request.rank:
        known = words("rank-known", ranks=", ".join(map(str, ranks))) if ranks else words("rank-none")
        return words("rank-range", rank=request.rank, known=known), words("rank-range-next")
    if request.step and n:
        found = words("step-range", n=n, last=n - 1, step=request.step)
        return found, words("step-range-next")
    return words("unknown-nothing"), words("unknown-nothing-next", folder=str(round_folder / FOLDER))


def _config(round_folder: Path) -> dict[str, Any]:
    """Our own config.json as it is now; {} where it cannot be read."""
    try:
        found = json.loads((round_folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


# ---- warnings ----


def _warnings(
    round_folder: Path, raw: Path, dumped: Dumped, log: LauncherLog, outcome: Outcome
) -> Iterator[Words]:
    level = str(_config(round_folder).get("level", ""))
    others = sorted({safe_text(str(one.get("model")), 60) for one in log.of("another-model")})
    if others and level in ("L0", "mix"):
        yield words("another-model", names=", ".join(others), level=level)
    if outcome != "nothing":
        for one in log.of("failed"):
            where, error = (safe_text(str(one.get(name, "")), 300) for name in ("where", "error"))
            yield words("failed-warning", pid=one["pid"], where=where, error=error)
        if any(not one.get("error") for one in log.of("own-debugger")):
            yield words("own-calls")
    for artifact in dumped.artifacts[:MAX_ERROR_LOGS]:
        folder = artifact.path if artifact.path.is_dir() else artifact.path.parent
        line = _first_line(folder / ERROR_LOG)
        if line:
            file = f"{folder.relative_to(raw)}/{ERROR_LOG}"
            yield words("error-log", file=safe_text(file, 200), line=safe_text(line, 300))
    for problem in dumped.problems[:MAX_ERROR_LOGS]:
        if problem.kind != "cut-off":
            yield words(
                "not-whole", file=safe_text(problem.artifact, 200), reason=safe_text(problem.message, 200)
            )


def _first_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.readline(2000).decode("utf-8", "replace").strip()
    except OSError:
        return ""

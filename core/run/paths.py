"""What the names of folders and files say: rank, step, round, order, side. Nothing here opens a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

Parts = tuple[str, ...]
"""Names from the run's own folder (first) down to a file or folder, as the file system gives them."""

_NUMBER = re.compile(r"(\d+)")
_STEP_FOLDER = re.compile(r"step_?(\d{1,18})")
_RANK_FOLDER = re.compile(r"rank_?(\d{1,9})")
_PROCESS_FOLDER = re.compile(r"(?:proc|pid)\d+")
_RANK_WORD = re.compile(r"(?:^|[_.-])rank[_-]?(\d{1,9})(?=[_.-]|$)")
_LAST_NUMBER = re.compile(
    r"(?:msmonitor_\d+_\d+|profiler_info|ascend_(?:pytorch|mindspore)_profiler)_(\d{1,9})\.\w+"
)
_FILE_STEP = re.compile(r"grad_summary_(\d{1,18})\.csv")
_TIME = re.compile(r"\d{14,17}")
_ATB_DEVICE = re.compile(r"(?:npu)?(\d{1,4})_\d+")
_DEVICE_WORD = re.compile(r"device_?(\d{1,4})")

_ROUND_FOLDER = re.compile(r"round[ _-]?\d+(?:[_-].*)?", re.IGNORECASE)
_ROUND_TIME = re.compile(r".+[_-](\d{8}[_T-]?\d{4,9})")
_ARCHIVE_FOLDERS = frozenset({"dump", "overflow", "sanitizer", "prof"})


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key by which rank2 comes before rank10."""
    return tuple(
        (0, int(piece[:18]), piece) if piece.isdecimal() and piece.isascii() else (1, 0, piece)
        for piece in _NUMBER.split(text)
        if piece
    )


def path_key(relative: str) -> tuple[tuple[tuple[int, int, str], ...], ...]:
    """Natural order of paths: a folder's own files stand together."""
    return tuple(natural_key(part) for part in relative.split("/"))


def shown(parts: Iterable[str]) -> str:
    """A relative path as text: bytes that are no UTF-8 become \\xNN, so it can be written to any report."""
    return os.fsencode("/".join(parts) or ".").decode("utf-8", "backslashreplace")


def is_rank_folder(name: str) -> bool:
    """rank0, rank_0, rank, proc123, pid123: the folder of one process."""
    return name == "rank" or bool(_RANK_FOLDER.fullmatch(name) or _PROCESS_FOLDER.fullmatch(name))


def is_step_folder(name: str) -> bool:
    return bool(_STEP_FOLDER.fullmatch(name))


def is_process(name: str) -> bool:
    """proc{pid} and pid{pid} name a process, not a rank: beside rank folders they are helpers."""
    return bool(_PROCESS_FOLDER.fullmatch(name))


def rank_of(parts: Sequence[str]) -> int | None:
    """The rank that the innermost name says; `rank` alone is 0 (no process group), a process id is none."""
    for name in reversed(parts):
        if name == "rank":
            return 0
        found = _LAST_NUMBER.fullmatch(name) or _RANK_FOLDER.fullmatch(name) or _RANK_WORD.search(name)
        if found:
            return int(found[1])
    return None


def step_of(parts: Sequence[str]) -> int | None:
    """The step that the innermost name says."""
    for name in reversed(parts):
        found = _STEP_FOLDER.fullmatch(name) or _FILE_STEP.fullmatch(name)
        if found:
            return int(found[1])
    return None


def device_and_step(parts: Sequence[str]) -> tuple[int | None, int | None]:
    """Device id and iteration of a CANN or ATB layout, from the folders above the binaries.

    {time}/{device}[/{model}/{model_id}/{iteration}], data-dump/{device}, {device}_{pid}/{execution}.
    """
    for i, name in enumerate(parts[:-1]):
        below = parts[i + 1]
        if (_TIME.fullmatch(name) or name == "data-dump") and below.isdecimal() and len(below) <= 4:
            last = parts[-1]
            has_model = len(parts) >= i + 5 and last.isdecimal() and len(last) <= 18
            return int(below), int(last) if has_model else None
        found = _ATB_DEVICE.fullmatch(name)
        if found and below.isdecimal() and len(below) <= 18:
            return int(found[1]), int(below)
    for name in reversed(parts):
        found = _DEVICE_WORD.fullmatch(name)
        if found:
            return int(found[1]), None
    return None, None


def place_of(parts: Sequence[str]) -> tuple[int | None, int | None]:
    """(rank, step) of an artifact; device id and iteration stand in where no name says rank or step."""
    rank, step = rank_of(parts), step_of(parts)
    if rank is None or step is None:
        device, iteration = device_and_step(parts)
        rank = device if rank is None else rank
        step = iteration if step is None else step
    return rank, step


def named_context(path: Path) -> Parts:
    """The names of a run folder that say rank or step: rank1 of .../step3/rank1 is step 3, rank 1.

    Higher folders are left out: a user's folder may be called rank0 for reasons of its own.
    """
    name, parent = path.name, path.parent.name
    if is_rank_folder(name):
        return (parent, name) if is_step_folder(parent) else (name,)
    return (name,)


def capture_root(parts: Sequence[str]) -> Parts:
    """The folder of a whole capture: the path of a rank or step folder without step and rank."""
    end = len(parts)
    if end and is_rank_folder(parts[end - 1]):
        end -= 1
    if end and is_step_folder(parts[end - 1]):
        end -= 1
    return tuple(parts[:end])


def without_place(parts: Sequence[str]) -> Parts:
    """The path of a CANN, ATB or checkpoint folder with "*" for device, process, iteration and rank: equal
    for what belongs to one capture.
    """
    found = list(parts)
    for i, name in enumerate(parts[:-1]):
        below = parts[i + 1]
        if _TIME.fullmatch(name) and below.isdecimal() and len(below) <= 4:
            found[i + 1] = "*"
            if len(parts) >= i + 5 and parts[-1].isdecimal():
                found[-1] = "*"
            return tuple(found)
        if _ATB_DEVICE.fullmatch(name) and below.isdecimal() and len(below) <= 18:
            found[i] = found[i + 1] = "*"
            return tuple(found)
    return tuple("*" if _RANK_WORD.search(name) or _STEP_FOLDER.fullmatch(name) else name for name in found)


def round_time(name: str) -> str | None:
    """Digits of the timestamp at the end of `<name>_<timestamp>`, None where there is none."""
    found = _ROUND_TIME.fullmatch(name)
    return re.sub(r"\D", "", found[1]) if found else None


def is_round_folder(parent: str, name: str) -> bool:
    """round1, round_2, or `<name>_<timestamp>` inside an archive's dump, overflow, sanitizer or prof."""
    if _ROUND_FOLDER.fullmatch(name):
        return True
    return parent in _ARCHIVE_FOLDERS and round_time(name) is not None


def round_key(name: str) -> tuple[str, tuple[tuple[tuple[int, int, str], ...], ...]]:
    """Rounds in the order of their timestamps; those without one first, in natural order."""
    return round_time(name.rsplit("/", 1)[-1]) or "", path_key(name)

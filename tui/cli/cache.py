"""`npulse cache`: what is kept between openings, how much of it, and its removal."""

from __future__ import annotations

import math
import re
import time
from pathlib import Path

from npulse.core.errors import UsageError
from npulse.core.packs.opening import FOLDER as PACKS
from npulse.core.packs.opening import MAX_KEPT_BYTES as MAX_PACK_BYTES
from npulse.core.packs.opening import kept_packs, remove_packs
from npulse.core.text import Lang, columns_of, safe_text, say

from .options import emit, emit_json, kept_in

TEXTS: dict[str, tuple[str, str]] = {
    "folder": ("folder  {folder}", "目录  {folder}"),
    "size": (
        "size    {size} MB of at most {most} MB (NPULSE_CACHE_MAX); the least recently used go first",
        "大小  {size} MB，上限 {most} MB（NPULSE_CACHE_MAX）；最久未使用的先删除",
    ),
    "packs": (
        "packs   {n} unpacked, {size} MB of at most {most} MB",
        "包    已解开 {n} 个，{size} MB，上限 {most} MB",
    ),
    "empty": ("nothing is kept", "没有保留任何结果"),
    "head": ("kind|entries|MB|first used|last used", "类别|条目|MB|最早使用|最近使用"),
    "report": ("reports of areas", "各方面的报告"),
    "run": ("what discovery found", "目录识别结果"),
    "tensors": ("figures of tensors", "张量指标"),
    "view": ("what panes show", "各面板的内容"),
    "other": ("others", "其他"),
    "cleared": ("removed: {n} entr(y|ies), {n_packs} pack(s)", "已删除：条目 {n} 个，包 {n_packs} 个"),
}

_TIME = re.compile(r"(\d{1,9})([smhdw])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def show_cache(lang: Lang, *, as_json: bool = False) -> int:
    """Print how much is kept where; returns the exit code."""
    found = kept_in().usage()
    packs = kept_packs(found.folder / PACKS)
    pack_bytes = sum(size for _, size, _ in packs)
    if as_json:
        kinds = [
            {
                "kind": one.kind,
                "entries": one.n_entries,
                "size_bytes": one.size_bytes,
                "first_used_s": one.oldest_s,
                "last_used_s": one.newest_s,
            }
            for one in found.kinds
        ]
        whole = {"folder": str(found.folder), "entries": found.n_entries, "size_bytes": found.size_bytes}
        told = {"packs": len(packs), "pack_bytes": pack_bytes, "max_pack_bytes": MAX_PACK_BYTES}
        emit_json({**whole, "max_bytes": found.max_bytes, "kinds": kinds, **told})
        return 0
    lines = [
        say(TEXTS, "folder", lang, folder=safe_text(str(found.folder))),
        say(TEXTS, "size", lang, size=_megabytes(found.size_bytes), most=_megabytes(found.max_bytes)),
    ]
    if packs:
        words = {"size": _megabytes(pack_bytes), "most": _megabytes(MAX_PACK_BYTES)}
        lines.append(say(TEXTS, "packs", lang, n=len(packs), **words))
    rows = [say(TEXTS, "head", lang).split("|")]
    for one in found.kinds:
        amounts = f"{one.n_entries:,}", _megabytes(one.size_bytes)
        rows.append([say(TEXTS, one.kind, lang), *amounts, _moment(one.oldest_s), _moment(one.newest_s)])
    lines += ["", *columns_of(rows, left=(0, 3, 4))] if found.kinds else [say(TEXTS, "empty", lang)]
    emit(f"{line}\n" for line in lines)
    return 0


def clear_cache(lang: Lang, older_than: str | None, *, as_json: bool = False) -> int:
    """Remove what is kept, all or what is older; says how much that was."""
    age_s = None if older_than is None else seconds_of(older_than)
    cache, now_s = kept_in(), time.time()
    n_packs = remove_packs(cache.folder / PACKS, math.inf if age_s is None else now_s - age_s, now_s)
    n_entries = cache.clear(older_than_s=age_s, now_s=now_s)
    if as_json:
        emit_json({"removed_entries": n_entries, "removed_packs": n_packs})
    else:
        emit([say(TEXTS, "cleared", lang, n=n_entries, n_packs=n_packs) + "\n"])
    return 0


def print_path(*, as_json: bool = False) -> int:
    """Print the folder alone, for scripts."""
    folder: Path = kept_in().folder
    if as_json:
        emit_json({"folder": str(folder)})
    else:
        emit([safe_text(str(folder)) + "\n"])
    return 0


def seconds_of(text: str) -> float:
    """'7d', '12h', '30m', '90s', '2w' in seconds. UsageError for anything else."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"--older-than {text[:40]}: no length of time", hint="7d, 12h, 30m, 90s, 2w")
    return float(int(found[1]) * _SECONDS[found[2]])


def _megabytes(size_bytes: int) -> str:
    return "<0.1" if 0 < size_bytes < 5e4 else f"{size_bytes / 1e6:,.1f}"


def _moment(moment_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment_s))

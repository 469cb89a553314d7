"""A verified capture kept as the golden one of all captures beside it: by its path, and by what it held."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npulse.core.errors import InputError
from npulse.core.figures import size_text
from npulse.core.text import Lang, safe_text, say

from .options import opened, talk

if TYPE_CHECKING:
    from ..state import StateStore

NONE = "none"
"""What takes the kept capture away."""
MAX_PARENTS = 64

TEXTS: dict[str, tuple[str, str]] = {
    "kept": (
        "baseline: {path} is the golden capture of all captures below {place} from now on "
        "({n} files, {size}; {how}; SHA-256 {digest})",
        "基线：今后 {place} 下的采集均以 {path} 为标杆（{n} 个文件，{size}；{how}；SHA-256 {digest}）",
    ),
    "whole": ("all bytes hashed", "全部字节已校验"),
    "sampled": ("names, sizes and parts of the large files hashed", "已校验名称、大小及大文件的部分内容"),
    "used": (
        "golden: {path} (baseline of {place}, unchanged since it was kept; --baseline none takes it away)",
        "标杆：{path}（{place} 的基线，保存后未变化；--baseline none 取消）",
    ),
    "gone": ("no baseline is kept for {place}", "{place} 没有保存基线"),
    "taken": ("baseline: {path} is no golden capture any more", "基线：{path} 不再作为标杆"),
    "not-kept": ("{folder} cannot be written: the baseline is not kept", "{folder} 不可写：基线未保存"),
}


def keep_golden(path: Path, store: StateStore, lang: Lang) -> Path:
    """Keep a capture as the golden one of what lies beside it; returns its path. InputError: no capture."""
    from npulse.core.run.discover import discover
    from npulse.core.run.fingerprint import fingerprint_of
    from npulse.core.run.sides import capture_pairs, captures_of

    path = Path(os.path.realpath(opened(path)))
    run = discover(path)
    if capture_pairs(run):
        raise InputError("it holds both sides", path=path, hint="name the capture that was verified")
    if not captures_of(run):
        raise InputError("no capture that could be a golden one", path=path)
    found = fingerprint_of(path)
    place = path.parent
    kept = {"capture": str(path), "digest": found.digest, "files": found.n_files, "bytes": found.n_bytes}
    store.set_golden(str(place), kept)
    if store.is_memory_only:
        talk("npulse: " + say(TEXTS, "not-kept", lang, folder=store.folder))
    values = {"path": path, "place": place, "n": f"{found.n_files:,}", "size": size_text(found.n_bytes)}
    how = say(TEXTS, "whole" if found.is_whole else "sampled", lang)
    talk("npulse: " + say(TEXTS, "kept", lang, how=how, digest=found.digest[:16], **values))
    return path


def forget_golden(target: Path | None, store: StateStore, lang: Lang) -> None:
    """Take away the capture that is kept for a target, for all below a folder, or for the current folder."""
    named = Path(os.path.abspath(target)) if target is not None else Path.cwd()
    place, kept = _kept(store, named / "x")
    if kept is None:
        talk("npulse: " + say(TEXTS, "gone", lang, place=named))
        return
    store.set_golden(place, {})
    talk("npulse: " + say(TEXTS, "taken", lang, path=safe_text(str(kept["capture"]))))


def golden_for(target: Path, store: StateStore, lang: Lang) -> Path | None:
    """The capture that is kept for a target that has no counterpart of its own, said aloud; None without one.

    InputError where it is gone, or is not what was kept any more: it would not be what was verified.
    """
    place, kept = _kept(store, target)
    if kept is None:
        return None
    from npulse.core.run.discover import discover
    from npulse.core.run.fingerprint import fingerprint_of
    from npulse.core.run.sides import capture_pairs, captures_of

    path = Path(str(kept["capture"]))
    run = discover(target)
    if os.path.realpath(target) == str(path) or capture_pairs(run) or not captures_of(run):
        return None
    hint = "--baseline CAPTURE keeps it anew, --baseline none forgets it, -r CAPTURE names another"
    if not os.path.lexists(path):
        raise InputError(f"the baseline of {place} is not there any more", path=path, hint=hint)
    now = fingerprint_of(path)
    if now.digest != kept.get("digest"):
        before = f"{kept.get('files'):,} files, {size_text(int(kept['bytes']))}"
        told = f"{now.n_files:,} files, {size_text(now.n_bytes)}"
        raise InputError(
            f"the baseline has changed since it was kept (then {before}; now {told})", path=path, hint=hint
        )
    talk("npulse: " + say(TEXTS, "used", lang, path=path, place=place))
    return path


def _kept(store: StateStore, target: Path) -> tuple[str, dict[str, Any] | None]:
    """The nearest folder around a target for which a capture is kept, and what is kept."""
    for parent in Path(os.path.realpath(target)).parents[:MAX_PARENTS]:
        kept = store.golden(str(parent))
        if kept:
            return str(parent), kept
    return "", None

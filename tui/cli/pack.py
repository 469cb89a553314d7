"""`npulse pack`: what a run's findings need, in one file."""

from __future__ import annotations

import os
import time
from pathlib import Path

from npulse.core.errors import InputError, UsageError
from npulse.core.text import Lang, command_line, safe_text, say

from .options import emit, opened, talk, told_cache, version
from .progress import end_progress, stderr_progress

TEXTS: dict[str, tuple[str, str]] = {
    "made": ("{path}: {n} files, {size}, packed to {packed}", "{path}：{n} 个文件，{size}，压缩后 {packed}"),
    "same": ("judged anew where it is opened: {areas}", "打开时重新判断：{areas}"),
    "recorded": (
        "shown as recorded, since what they rest on is not all in it: {areas}",
        "按记录显示（所依据的数据不完整）：{areas}",
    ),
    "left-out": ("left out: {n} files, {size}; the largest:", "未打包：{n} 个文件，{size}；最大的有："),
    "one": ("  {size:>10}  {path}  ({why})", "  {size:>10}  {path}（{why}）"),
    "names": (
        "paths, names of operators and of source files are in it as they are",
        "其中的路径、算子名与源文件名均为原样",
    ),
    "open": ("open it anywhere: npulse {path}", "在任意位置打开：npulse {path}"),
}
SHOWN = 5


def run_pack(path: Path, output: Path, *, max_bytes: int, jobs: int, no_cache: bool, lang: Lang) -> int:
    """Write the pack of a run; says what is in it and what is not."""
    from npulse.core.scale import limit_blas_threads

    limit_blas_threads()
    from npulse.core.analysis import AnalysisOptions
    from npulse.core.figures import size_text
    from npulse.core.packing import make_pack
    from npulse.core.packs.notes import Notes
    from npulse.core.packs.opening import pack_of

    from ..state import StateStore

    if not output.name.endswith((".tar.gz", ".tgz")):
        raise UsageError(f"a pack is a .tar.gz, not '{output.name}'", hint="npulse pack RUN -o x.tar.gz")
    run = opened(path)
    if pack_of(run) is not None:
        raise InputError("this is a pack already", path=path, hint="copy the file as it is")
    store = StateStore()
    key = os.path.abspath(run)
    notes = Notes(store.marks(key), store.recordings(key))
    options = AnalysisOptions(lang=lang, jobs=jobs, cache=told_cache(no_cache, lang))
    try:
        manifest = make_pack(
            run,
            output,
            options,
            version=version(),
            made=_made(),
            max_bytes=max_bytes,
            notes=notes,
            progress=stderr_progress(lang),
        )
    finally:
        end_progress()
    shown = safe_text(str(output))

    def tell(key: str, **values: object) -> None:
        emit([say(TEXTS, key, lang, **values) + "\n"])

    packed = size_text(os.stat(os.path.expanduser(output)).st_size)
    n_files = len([one for one in manifest.files if one.path.startswith("run/")])
    tell("made", path=shown, n=f"{n_files:,}", size=size_text(manifest.n_bytes), packed=packed)
    for word, areas in (("same", manifest.same), ("recorded", manifest.recorded)):
        if areas:
            tell(word, areas=", ".join(areas))
    if manifest.n_left_out:
        tell("left-out", n=f"{manifest.n_left_out:,}", size=size_text(manifest.left_out_bytes))
    for one in manifest.left_out[:SHOWN]:
        tell("one", size=size_text(one.size_bytes), path=safe_text(one.path), why=one.why)
    talk(f"npulse: {say(TEXTS, 'names', lang)}")
    tell("open", path=command_line([str(output)]))
    return 0


def _made() -> str:
    """Now, or the time that builds which can be repeated give (SOURCE_DATE_EPOCH)."""
    told = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(told) if told.isdecimal() and len(told) < 12 else time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))

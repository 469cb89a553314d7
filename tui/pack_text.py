"""What is said of a pack when it is opened: where it is from, what stands as recorded, what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from npulse.core.figures import size_text
from npulse.core.packs.notes import Notes
from npulse.core.packs.opening import OpenedPack
from npulse.core.packs.recorded import all_recorded
from npulse.core.text import Lang, command_line, safe_text, say

SHOWN = 5
TEXTS: Mapping[str, tuple[str, str]] = {
    "of": ("{path}, packed on {made} by npulse {npulse}", "{path}，于 {made} 由 npulse {npulse} 打包"),
    "same": ("judged anew here, as of the whole run: {areas}", "在此重新判断，与完整数据一致：{areas}"),
    "recorded": (
        "as recorded, since what they rest on is not all here; their panes show only what is here:",
        "以下按记录显示，因所依据的数据不完整；对应面板仅显示包内数据：",
    ),
    "verdict": ("  {area}{round}: {verdict}", "  {area}{round}：{verdict}"),
    "finding": ("    {role} {subject}: {message}", "    {role} {subject}：{message}"),
    "left-out": ("left out: {n} files, {size}; the largest:", "未打包：{n} 个文件，{size}；最大的有："),
    "one": ("  {size}  {path}  ({why})", "  {size}  {path}（{why}）"),
    "marks": ("marks and notes: {n} (')", "标记与备注：{n}（'）"),
    "recording": (
        "recording {name}, {n} steps: npulse {path} --replay {name}",
        "操作记录 {name}，{n} 步：npulse {path} --replay {name}",
    ),
    "go-on": ("back (b) goes to the run", "返回（b）进入运行目录"),
}


def pack_lines(pack: OpenedPack, notes: Notes, lang: Lang, given: Path) -> tuple[str, ...]:
    """The lines, safe to show; given: the path that was typed. InputError where a report of the pack cannot
    be read."""
    return tuple(safe_text(line, 1_000) for line in _lines(pack, notes, lang, given))


def _lines(pack: OpenedPack, notes: Notes, lang: Lang, given: Path) -> Iterator[str]:
    made = pack.manifest
    yield say(TEXTS, "of", lang, path=made.path, made=made.made, npulse=made.npulse)
    if made.same:
        yield say(TEXTS, "same", lang, areas=", ".join(made.same))
    if made.recorded:
        yield say(TEXTS, "recorded", lang)
    for area in made.recorded:
        for told in all_recorded(pack, area):
            name = f" {told.round}" if told.round else ""
            yield say(TEXTS, "verdict", lang, area=area, round=name, verdict=told.report.verdict.upper())
            for one in [f for f in told.report.findings if f.severity != "note"][:1]:
                yield say(TEXTS, "finding", lang, role=one.role, subject=one.subject, message=one.message)
    if made.n_left_out:
        size = size_text(made.left_out_bytes)
        yield say(TEXTS, "left-out", lang, n=f"{made.n_left_out:,}", size=size)
    for left in made.left_out[:SHOWN]:
        yield say(TEXTS, "one", lang, size=size_text(left.size_bytes), path=left.path, why=left.why)
    if notes.marks:
        yield say(TEXTS, "marks", lang, n=len(notes.marks))
    for name, steps in notes.recordings.items():
        yield say(TEXTS, "recording", lang, name=name, n=len(steps), path=command_line([str(given)]))
    yield ""
    yield say(TEXTS, "go-on", lang)

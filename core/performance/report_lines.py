"""Lines about a round for people: the answer, wall and busy time, then the list of operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npulse.core.figures import time_text
from npulse.core.text import Lang, columns_of, safe_text, say

from .cards import words_of
from .early_texts import TEXTS as EARLY_TEXTS
from .found import Analysed, Performance, SoFar
from .operators.analysis import Operators
from .operators.classes import CLASSES
from .operators.shares import sums_by_class
from .operators.top import NO_COUNT
from .operators.usable import SetAside
from .raw import growth_lines
from .report_facts import TOP, encodings_of
from .texts import TEXTS
from .wall.record import Wall

SHOWN_ASIDE = 6
SHOWN_OTHERS = 16
ASCII_LEVELS = "_,-~=+*#"
"""Of sparklines in reports, which are read on any terminal."""
USUAL = frozenset(("utf-8", "ascii"))


def told(found: Performance, lang: Lang) -> Iterator[str]:
    """The answer, wall and busy time, then the list of operators."""
    shown = found.shown
    if found.cards:
        yield say(TEXTS, "not-trusted", lang, cards=words_of(found.cards, lang))
    if found.so_far is not None and shown is not None:
        yield from _told_so_far(found, found.so_far, shown, lang)
        return
    if len(found.profiles) > 1 and shown is not None:
        yield say(TEXTS, "told-profiles", lang, n=len(found.profiles), label=_label(shown))
    if shown is not None:
        yield from _profile_told(found, shown, lang)
    yield from _followed_told(found, lang)
    others = [one for one in found.profiles if one is not shown]
    for one in others[:SHOWN_OTHERS]:
        yield _other(found, one, lang)
    if len(others) > SHOWN_OTHERS:
        yield "  " + say(TEXTS, "told-aside-more", lang, n=len(others) - SHOWN_OTHERS)
    unusual = {path: word for path, word in encodings_of(found).items() if word not in USUAL}
    if unusual:
        listed = [f"{safe_text(path, 80)} {word}" for path, word in unusual.items()]
        yield say(TEXTS, "told-encoding", lang, list=_listed(listed, len(listed), lang))
    if found.kernels:
        yield say(TEXTS, "told-kernels", lang, n=len(found.kernels))
    if found.raw:
        yield say(TEXTS, "told-raw", lang, n=len(found.raw))
    for session in found.raw:
        if session.folder in found.growth:
            lines = growth_lines(session, found.growth[session.folder], ASCII_LEVELS, lang)
            yield from (f"  {line}" for line in lines)


def _followed_told(found: Performance, lang: Lang) -> Iterator[str]:
    """How far a followed run is, and what came last."""
    followed, since = found.followed, found.since
    if followed is not None and followed.n_files:
        yield say(
            TEXTS,
            "told-followed",
            lang,
            n=followed.n_files,
            size=followed.n_bytes,
            gone=followed.n_gone,
            starts=followed.n_starts,
            waiting=followed.n_waiting,
        )
    if since is not None:
        yield say(TEXTS, "told-since", lang, n=since.n_calls, total=time_text(since.total_ns))


def _told_so_far(found: Performance, so_far: SoFar, shown: Analysed, lang: Lang) -> Iterator[str]:
    """Operators of an unfinished read; the first line says of how much they are."""
    key = "first-rows" if so_far.is_first else "all-rows" if so_far.is_whole else "so-far"
    size_bytes = max(so_far.size_bytes, 1)
    yield say(
        EARLY_TEXTS,
        key,
        lang,
        n=f"{so_far.n_rows:,}",
        percent=f"{100 * min(so_far.n_bytes, size_bytes) / size_bytes:.0f}",
        size=f"{size_bytes / 1e6:,.0f}",
    )
    if so_far.n_aside:
        yield say(EARLY_TEXTS, "aside", lang, n=f"{so_far.n_aside:,}")
    if shown.operators is not None:
        top = shown.operators.types.top
        yield say(EARLY_TEXTS, "types", lang, n=f"{len(top):,}", total=time_text(top.all_ns))
        yield ""
        yield from _top_lines(found, shown.operators, lang)


def _other(found: Performance, one: Analysed, lang: Lang) -> str:
    """Another profile than the one whose table is shown, in one line."""
    figures = ""
    wall = one.wall.wall
    if wall is not None:
        idle = f"{100 * wall.idle_share:.1f}"
        figures += say(TEXTS, "told-other-wall", lang, idle=idle, wall=time_text(wall.wall_ns))
    if one.operators is not None and len(one.operators.types.top):
        top = one.operators.types.top
        figures += say(
            TEXTS,
            "told-other-top",
            lang,
            total=time_text(top.all_ns),
            n=f"{top.n_calls:,}",
            name=safe_text(top.label(0), 60) or "?",
            percent=f"{float(top.share_percent[0]):.2f}",
        )
    answer = say(TEXTS, f"answer-{one.wall.bottleneck.answer}", lang)
    slow = _waits_for(found, one)
    if slow is not None:
        answer = say(TEXTS, "told-waits", lang, label=slow)
    return say(TEXTS, "told-other", lang, label=_label(one), answer=answer, figures=figures)


def _waits_for(found: Performance, one: Analysed) -> str | None:
    """The slow rank that a profile waits for."""
    for ranks in found.ranks:
        for straggler in ranks.stragglers:
            if any(waiting.profile.name == one.profile.name for waiting in straggler.waiting):
                return straggler.slow.profile.label
    return None


def _profile_told(found: Performance, shown: Analysed, lang: Lang) -> Iterator[str]:
    place = 1 if lang == "zh" else 0
    bottleneck = shown.wall.bottleneck
    answer = say(TEXTS, f"answer-{bottleneck.answer}", lang)
    yield say(TEXTS, "told-answer", lang, label=_label(shown), answer=answer, why=bottleneck.why[place])
    if shown.wall.wall is not None:
        yield wall_line(shown.wall.wall, lang)
        yield from _strays(shown.wall.wall, lang)
    if shown.operators is not None:
        yield from _operators_told(found, shown.operators, lang)
    serving = shown.wall.serving
    if serving.basis != "nothing":
        first = "?" if serving.first_token_ms is None else f"{serving.first_token_ms:.2f} ms"
        rate = "?" if serving.tokens_per_s is None else f"{serving.tokens_per_s:,.1f}"
        yield say(TEXTS, "told-serving", lang, first=first, rate=rate, basis=serving.basis)


def _file_and_line(one: SetAside) -> str:
    """Where a row stands; rows out of a database or a timeline have no line."""
    file = safe_text(one.file, 60)
    return file if one.line is None else f"{file}:{one.line}"


def wall_line(wall: Wall, lang: Lang) -> str:
    """Wall, busy and idle in one line."""
    total = ""
    if wall.sum_of_kernels_ns is not None and wall.sum_ratio is not None:
        total = say(
            TEXTS,
            "told-sum",
            lang,
            sum=time_text(wall.sum_of_kernels_ns),
            percent=f"{100 * wall.sum_ratio:.0f}",
        )
    line = say(
        TEXTS,
        "told-wall",
        lang,
        wall=time_text(wall.wall_ns),
        busy=time_text(wall.busy_ns),
        busy_percent=f"{100 * wall.share(wall.busy_ns):.2f}",
        idle=time_text(wall.idle_ns),
        idle_percent=f"{100 * wall.share(wall.idle_ns):.2f}",
        compute=time_text(wall.compute_ns),
        communication=time_text(wall.communication_ns),
        exposed=time_text(wall.communication_not_overlapped_ns),
        sum=total,
        source=say(TEXTS, f"source-{wall.source}", lang),
    )
    return f"{line}; {say(TEXTS, 'told-cut', lang)}" if wall.is_cut else line


def _strays(wall: Wall, lang: Lang) -> Iterator[str]:
    if wall.set_aside:
        names = [f"{safe_text(one.name, 60)} ({time_text(one.start_ns)})" for one in wall.set_aside]
        yield say(TEXTS, "told-strays", lang, list=_listed(names, wall.n_set_aside, lang))


def _operators_told(found: Performance, operators: Operators, lang: Lang) -> Iterator[str]:
    types = operators.types.top
    total = time_text(types.all_ns)
    if operators.usable is None or operators.table is None:
        yield say(TEXTS, "told-totals", lang, n_types=len(types), total=total)
    else:
        used, rows = operators.usable.n, operators.table.n_rows + operators.table.n_dropped
        yield say(
            TEXTS, "told-rows", lang, used=f"{used:,}", rows=f"{rows:,}", total=total, n_types=len(types)
        )
        aside = [
            f"{_file_and_line(one)} {safe_text(one.name, 60)} ({_reason(one.reason, lang)})"
            for one in operators.usable.set_aside(operators.table, SHOWN_ASIDE)
        ]
        if aside:
            n = sum(operators.usable.n_set_aside.values())
            yield say(TEXTS, "told-aside", lang, list=_listed(aside, n, lang))
        if operators.table.has_inferred_types:
            yield say(TEXTS, "told-inferred", lang)
    classes = sums_by_class(types, operators.types.classes)
    named = {say(TEXTS, f"class-{name}", lang): part for name, part in classes.items()}
    yield say(TEXTS, "told-class", lang, list=_parts(named))
    if len(operators.cores) > 1:
        yield say(TEXTS, "told-core", lang, list=_parts(operators.cores))
    yield ""
    yield from _top_lines(found, operators, lang)


def _top_lines(found: Performance, operators: Operators, lang: Lang) -> Iterator[str]:
    """The list of operators as aligned lines."""
    groups = operators.by(found.settings.by)  # type: ignore[arg-type]
    top = groups.top
    n = len(top) if found.settings.top < 0 else min(len(top), found.settings.top or TOP)
    heads = ("type" if found.settings.by != "call" else "call", "calls", "total", "share", "cumulative")
    rows = [[say(TEXTS, f"head-{name}", lang) for name in (*heads, "wall", "average", "class", "bound")]]
    of_wall = top.wall_percent
    for place in range(n):
        calls = int(top.calls[place])
        average = float(top.average_ns[place])
        rows.append(
            [
                safe_text(top.label(place), 60) or "?",
                "-" if calls == NO_COUNT else f"{calls:,}",
                f"{int(top.total_ns[place]) / 1000:,.2f}",
                f"{float(top.share_percent[place]):.2f} %",
                f"{float(top.cumulative_percent[place]):.2f} %",
                "-" if of_wall is None else f"{float(of_wall[place]):.2f} %",
                "-" if average != average else f"{average / 1000:,.2f}",
                say(TEXTS, f"class-{CLASSES[int(groups.classes.code[place])]}", lang),
                groups.bounds.label(place) if groups.bounds is not None else "-",
            ]
        )
    yield from (f"  {line}" for line in columns_of(rows, left=(0, 7, 8)))
    if len(top) > n:
        yield "  " + say(TEXTS, "more-rows", lang, n=f"{len(top) - n:,}")


def _parts(parts: dict[str, Any]) -> str:
    return ", ".join(
        f"{safe_text(str(name), 30) or '-'} {time_text(part.total_ns)} ({part.percent:.2f} %)"
        for name, part in parts.items()
    )


def _reason(reason: str, lang: Lang) -> str:
    return say(TEXTS, f"reason-{reason}", lang)


def _listed(names: list[str], n: int, lang: Lang) -> str:
    shown = names[:SHOWN_ASIDE]
    more = [say(TEXTS, "told-aside-more", lang, n=f"{n - len(shown):,}")] if n > len(shown) else []
    return ", ".join([*shown, *more])


def _label(shown: Analysed) -> str:
    """By rank or device; where several profiles could be meant, by folder."""
    return safe_text(shown.profile.label, 80)

"""The headless twin of the performance pane: a `Performance` as findings, counts and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from npulse.core.figures import time_text
from npulse.core.findings import Report, Verdict, verdict_from
from npulse.core.text import Lang, columns_of, safe_text, say

from .advice import AREA
from .analyse import Analysed, Performance, SoFar
from .changes.advice import advice_of_changes
from .changes.compare import Changes
from .early_texts import TEXTS as EARLY_TEXTS
from .operators.analysis import Operators
from .operators.classes import CLASSES
from .operators.shares import sums_by_class
from .operators.top import NO_COUNT, Top
from .operators.usable import SetAside
from .table import changes_table, kinds_of, performance_table
from .texts import TEXTS
from .wall.record import Wall

TOP = 20
"""Rows of the list of operators, unless another number is asked for."""
MAX_ASIDE = 100
SHOWN_ASIDE = 6
SHOWN_OTHERS = 16
USUAL = frozenset(("utf-8", "ascii"))


def report(found: Performance, *, lang: Lang = "en", tables: bool = False) -> Report:
    """Findings in the order in which they should be looked at; the list of operators in `told`."""
    findings = tuple(advice.finding(lang) for advice in found.advice)
    return Report(
        command=AREA,
        run=str(found.root),
        verdict=verdict_of(found),
        artifacts=found.artifacts,
        findings=findings,
        counts=dict(counts(found)),
        summary=summary(found),
        problems=found.problems,
        told=tuple(told(found, lang)),
        tables={table.name: table for table in map(lambda kind: performance_table(found, kind), _kept(found))}
        if tables
        else {},
    )


def changes_report(
    found: Performance, changes: Changes, *, lang: Lang = "en", tables: bool = False
) -> Report:
    """Two rounds side by side as a report of their own. found: the later one."""
    findings = tuple(advice.finding(lang) for advice in advice_of_changes(changes))
    table = changes_table(changes)
    rows = [[say(TEXTS, f"head-{name}", lang) for name in ("type", "before", "after", "change", "noise")]]
    for one in changes.types[: found.settings.top if found.settings.top > 0 else TOP]:
        percent = "" if one.time.percent is None else f" ({one.time.percent:+.2f} %)"
        noise = "?" if one.time.noise_ns is None else f"{one.time.noise_ns / 1000:,.2f}"
        rows.append(
            [
                safe_text(one.name, 60),
                f"{one.time.before_ns / 1000:,.2f}",
                f"{one.time.after_ns / 1000:,.2f}",
                f"{one.time.delta_ns / 1000:+,.2f}{percent}",
                f"{noise} {say(TEXTS, f'change-{one.time.verdict}', lang)}",
            ]
        )
    return Report(
        command=AREA,
        run=str(found.root),
        verdict=verdict_from(findings, found.problems),
        findings=findings,
        summary={
            f"{name}_{key}": value
            for name, part in changes.totals.items()
            for key, value in (
                ("before_us", part.before_ns / 1000),
                ("after_us", part.after_ns / 1000),
                ("verdict", part.verdict),
            )
        },
        problems=found.problems,
        told=tuple(columns_of(rows)),
        tables={table.name: table} if tables else {},
    )


def _kept(found: Performance) -> tuple[Any, ...]:
    """Of the four ways to group operators only the one that was asked for."""
    return tuple(
        kind
        for kind in kinds_of(found)
        if kind not in ("type", "call", "count", "average") or kind == found.settings.by
    )


def verdict_of(found: Performance) -> Verdict:
    """Raw data alone is unknown; a source that has no end, or a problem, is incomplete."""
    if found.so_far is not None:
        return "incomplete"
    findings = [advice.finding("en") for advice in found.advice]
    has_figures = bool(found.kernels) or any(
        one.wall.bottleneck.answer != "unknown" for one in found.profiles
    )
    verdict = verdict_from(findings, found.problems, has_unknown=not has_figures)
    is_cut = any(one.wall.wall is not None and one.wall.wall.is_cut for one in found.profiles)
    return "incomplete" if is_cut and verdict != "fail" else verdict


def counts(found: Performance) -> Counter[str]:
    counted: Counter[str] = Counter(
        {"profiles": len(found.profiles), "kernels": len(found.kernels), "not_exported": len(found.raw)}
    )
    for one in found.advice:
        counted[one.role] += 1
        counted[f"{one.severity}s"] += 1
    shown = found.shown
    if shown is not None and shown.operators is not None and shown.operators.usable is not None:
        table = shown.operators.table
        counted["rows"] = table.n_rows + table.n_dropped if table is not None else 0
        counted["used_rows"] = shown.operators.usable.n
        counted["dropped_rows"] = table.n_dropped if table is not None else 0
        counted["set_aside_rows"] = sum(shown.operators.usable.n_set_aside.values())
    return counted


def summary(found: Performance) -> dict[str, Any]:
    """What holds for the whole round, of the profile that is shown; figures are not rounded."""
    facts: dict[str, Any] = {}
    if found.so_far is not None:
        facts |= {"rows_so_far": found.so_far.n_rows, "is_all_rows": found.so_far.is_whole}
    shown = found.shown
    if shown is not None:
        profile = shown.profile
        facts |= {"profile": profile.name, "rank": profile.rank, "device": profile.device}
        facts |= {"sources": dict(profile.sources)}
        facts |= {"encodings": encodings_of(found)}
        facts |= {"first": shown.wall.bottleneck.answer, "why": shown.wall.bottleneck.why[0]}
        facts |= {"host_bound": shown.wall.host.verdict}
        if shown.wall.wall is not None:
            facts |= _wall_facts(shown.wall.wall)
        if shown.operators is not None:
            facts |= _operator_facts(found, shown.operators)
        serving = shown.wall.serving
        facts |= {
            "serving_basis": serving.basis,
            "first_token_ms": serving.first_token_ms,
            "tokens_per_s": serving.tokens_per_s,
            "step_ms": serving.step_ms,
        }
    facts |= {"jobs": [_job_facts(ranks) for ranks in found.ranks]} if found.ranks else {}
    return {name: value for name, value in facts.items() if value is not None}


def _wall_facts(wall: Wall) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "wall_source": wall.source,
        "wall_us": wall.wall_ns / 1000,
        "busy_us": wall.busy_ns / 1000,
        "idle_us": wall.idle_ns / 1000,
        "idle_percent": 100 * wall.idle_share,
        "computing_us": wall.compute_ns / 1000,
        "communication_us": wall.communication_ns / 1000,
        "communication_not_overlapped_us": wall.communication_not_overlapped_ns / 1000,
        "overlapped_us": wall.overlapped_ns / 1000,
        "gaps": wall.n_gaps,
        "streams": len(wall.streams),
        "is_cut": wall.is_cut or None,
    }
    for name, ns in (
        ("sum_of_kernels_us", wall.sum_of_kernels_ns),
        ("wait_us", wall.wait_ns),
        ("copies_in_idle_us", wall.copies_in_idle_ns),
    ):
        facts[name] = None if ns is None else ns / 1000
    if wall.recorded:
        facts["recorded_us"] = {name: ns / 1000 for name, ns in wall.recorded.items()}
    if wall.set_aside:
        facts["events_set_aside"] = [
            {"name": one.name, "start_us": one.start_ns / 1000, "duration_us": one.duration_ns / 1000}
            for one in wall.set_aside[:MAX_ASIDE]
        ]
    return facts


def _operator_facts(found: Performance, operators: Operators) -> dict[str, Any]:
    types = operators.types.top
    facts: dict[str, Any] = {
        "total_us": types.all_ns / 1000,
        "types": [_group_facts(types, place) for place in range(min(len(types), found.settings.top or TOP))],
        "n_types": len(types),
        "by_class_us": {
            name: part.total_ns / 1000 for name, part in sums_by_class(types, operators.types.classes).items()
        },
        "by_core_us": {name or "-": part.total_ns / 1000 for name, part in operators.cores.items()},
        "by_core_percent": {name or "-": part.percent for name, part in operators.cores.items()},
        "top20_types_percent": operators.spread.types_percent,
        "top20_calls_percent": operators.spread.calls_percent,
        "top20_reading": operators.spread.reading,
    }
    if operators.usable is not None and operators.table is not None:
        facts["set_aside"] = [
            {
                "name": one.name,
                "artifact": one.file,
                "line": one.line,
                "reason": one.reason,
                "duration_us": None if one.value_ns is None else one.value_ns / 1000,
            }
            for one in operators.usable.set_aside(operators.table, MAX_ASIDE)
        ]
    return facts


def _group_facts(top: Top, place: int) -> dict[str, Any]:
    calls = int(top.calls[place])
    return {
        "type": top.label(place),
        "calls": None if calls == NO_COUNT else calls,
        "total_us": int(top.total_ns[place]) / 1000,
        "share_percent": float(top.share_percent[place]),
        "cumulative_percent": float(top.cumulative_percent[place]),
    }


def _job_facts(ranks: Any) -> dict[str, Any]:
    return {
        "job": ranks.job,
        "ranks": [one.rank for one in ranks.times],
        "slow_ranks": [one.slow.rank for one in ranks.stragglers],
        "left_out": [one.rank for one in ranks.left_out],
        "collectives": len(ranks.paired.collectives),
        "unpaired_operations": ranks.paired.n_unpaired,
    }


# ---- for people ----


def told(found: Performance, lang: Lang) -> Iterator[str]:
    """The answer, wall and busy time, then the list of operators."""
    shown = found.shown
    if found.so_far is not None and shown is not None:
        yield from _told_so_far(found, found.so_far, shown, lang)
        return
    if len(found.profiles) > 1 and shown is not None:
        yield say(TEXTS, "told-profiles", lang, n=len(found.profiles), label=_label(shown))
    if shown is not None:
        yield from _profile_told(found, shown, lang)
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


def encodings_of(found: Performance) -> dict[str, str]:
    """Artifact -> encoding, of all texts that were read."""
    return {path: word for one in found.profiles for path, word in one.profile.encodings.items() if word}


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

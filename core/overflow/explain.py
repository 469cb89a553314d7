"""One origin in words: what came out of what, why, what fed it, where it went, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from npulse.core.calls.content import find_producer
from npulse.core.calls.source import frames_of, source_line
from npulse.core.figures import amount, number
from npulse.core.files import shown_path
from npulse.core.findings import Figures, Finding, Location, Related, Role
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import TENSOR
from npulse.core.text import Lang, say

from .analyse import Overflow
from .context import Context
from .explained import Explained
from .figures import dtype_name, index_text, kind_of, masked_in, module_of, percent, row_figures, rows_text
from .health import HIGH, LOW, MINUS, NAN, PLUS
from .ranks import RankOverflow, is_reduction
from .roles import Origin
from .texts import TEXTS
from .trace import Step, data_inputs
from .upstream import upstream_lines
from .walk import GIVEN

AREA = "overflow"
WORTH_SHARE = 0.01
"""Share of the range from which an input's size is told as one."""


def origin_finding(found: Overflow, this: Explained, todo: str, lang: Lang) -> Finding:
    """The finding of an origin; `told` is its upstream table as lines. todo: see `advice.next_step`."""
    rank, origin = this.rank, this.origin
    cause = origin.cause
    role: Role = "unknown" if cause in ("inputs-unknown", "first-seen", "peer") else "origin"
    if this.is_doubtful:
        role = "suspect"
    return Finding(
        area=AREA,
        severity="warning" if this.is_doubtful else "error",
        rule=rule_of(this),
        role=role,
        subject=subject_of(rank, origin),
        message=message_of(found, this, lang),
        next_step=todo,
        source=source_line(frames_of(rank.stacks, rank.name(origin.call))),
        figures=origin_figures(this),
        related=tuple(_related(found, this)),
        location=location_of(rank, origin.call, this.row),
        told=tuple(upstream_lines(this, lang)) if len(this.trace.steps) > 1 else (),
    )


def rule_of(this: Explained) -> str:
    """The stable rule id of an origin."""
    cause = this.origin.cause
    if cause == "operator":
        return "overflow.saturated" if this.is_saturated else "overflow.origin"
    return f"overflow.{cause}"


def subject_of(rank: RankOverflow, origin: Origin) -> str:
    """The call, or the leaf where what arrives is to blame."""
    if origin.cause in ("parameter", "input"):
        return rank.dump.leaf_name(origin.rows[0])
    return rank.name(origin.call)


def location_of(rank: RankOverflow, call: int, row: int) -> Location:
    """Where a row can be looked up: dump file, byte of the entry, row of the leaf in its rank."""
    byte = int(rank.dump.calls.byte[call])
    where = shown_path(rank.dump.path, rank.root)
    return Location(where, rank.rank, rank.step, row, None, byte if byte >= 0 else None)


def what_of(flags: int, lang: Lang) -> str:
    """NaN and Inf ... in words."""
    words = [
        say(TEXTS, f"what-{word}", lang)
        for bit, word in ((NAN, "nan"), (PLUS, "plus"), (MINUS, "minus"))
        if flags & bit
    ]
    if not words and flags & (HIGH | LOW):
        words = [say(TEXTS, "what-saturated", lang)]
    return say(TEXTS, "what-join", lang).join(words)


def message_of(found: Overflow, this: Explained, lang: Lang) -> str:
    """All sentences, the one that says why it is an origin first."""
    parts = [_because(this, lang), _why(this, lang), _where(this, lang), _suspected(this, lang)]
    parts += [_spread(this, lang), _repeats(this, lang), _steps_behind(found, this, lang)]
    line = source_line(frames_of(this.rank.stacks, this.rank.name(this.origin.call)))
    if line:
        parts.append(say(TEXTS, "source-line", lang, line=line))
    return "".join(parts)


def _because(this: Explained, lang: Lang) -> str:
    rank, origin = this.rank, this.origin
    values: dict[str, Any] = {"what": what_of(this.flags, lang), "inputs": _inputs(this, lang)}
    key = origin.cause
    if key == "operator" and this.is_saturated:
        key = "saturated-off" if this.is_doubtful else "saturated"
        values |= {
            "told": told_by(this.context, lang),
            "largest": amount(float(rank.health.largest[this.row])),
            "dtype": dtype_name(rank, this.row),
        }
        values["n"] = _count(this, "saturated", lang)
    elif key == "parameter":
        values["before"] = say(TEXTS, age_of(this), lang, before=this.earlier_step, step=rank.step)
    elif key == "gap":
        after = rank.name(origin.after) if origin.after >= 0 else say(TEXTS, "gap-start", lang)
        names = ", ".join(origin.between)
        values |= {"after": after, "between": say(TEXTS, "gap-between", lang, names=names) if names else ""}
    elif key == "uninitialised":
        values["buffer"] = legal_names(this)
    elif key in ("masked-row", "legal-inf"):
        values["legal"] = legal_names(this)
        rows = masked_rows(this)
        values["rows"] = say(TEXTS, "masked-rows-at", lang, rows=rows) if rows else ""
        key = "masked-row-suspected" if key == "masked-row" and not rows else key
    elif key == "peer":
        missing = ", ".join(map(str, this.spread.missing))
        values["missing"] = say(TEXTS, "peer-missing", lang, ranks=missing) if missing else ""
        is_sum = not this.flags & NAN and is_reduction(rank.name(origin.call))
        key = "peer-or-sum" if is_sum else key if missing else "peer-given"
    elif key == "gradient":
        name = parse_name(rank.name(origin.call))
        values["module"] = name.path or name.full
    elif key == "inputs-unknown":
        given = [r for r in rank.dump.leaf_range(origin.call) if rank.dump.leaves.kind[r] == TENSOR]
        values["n"] = sum(not rank.health.is_known[r] for r in given if rank.dump.leaves.side[r] in GIVEN)
    elif key == "collective":
        key = key if this.diagnosis.kind == "collective-sum" else "collective-odd"
    return say(TEXTS, key, lang, **values)


def age_of(this: Explained) -> str:
    """Since when a weight may have been bad, as far as the captured steps tell."""
    if this.earlier_step is not None:
        return "parameter-later"
    return "parameter-first" if this.rank.step == 0 else "parameter-anytime"


def told_by(context: Context, lang: Lang) -> str:
    """Where it is said whether the device saturates."""
    return context.told_by.text if context.told_by is not None else say(TEXTS, "mode-user", lang)


def legal_names(this: Explained) -> str:
    """The calls that made what an origin was legally given, or the buffers that nobody wrote."""
    rank = this.rank
    calls = dict.fromkeys(_maker(rank, row) for row in this.origin.legal)
    return ", ".join(calls) or "-"


def _maker(rank: RankOverflow, row: int) -> str:
    """The call that wrote a legal or unwritten leaf first; the leaf itself where it arrives."""
    made = find_producer(rank.dump, row, with_modules=True)
    seen: set[int] = set()
    while made >= 0 and made not in seen:
        seen.add(made)
        call = int(rank.dump.leaves.call[made])
        if rank.roles.legal.get(call) not in ("mask", "unwritten"):
            return rank.name(call)
        given = [r for r in rank.dump.leaf_range(call) if r != made and rank.health.flags[r]]
        before = find_producer(rank.dump, given[0], with_modules=True) if given else -1
        if before < 0:
            return rank.name(call)
        made = before
    return rank.dump.leaf_name(row)


def masked_rows(this: Explained) -> str:
    """The fully masked rows of the legal inputs, as text; "" where none are known."""
    for row in this.origin.legal:
        places = this.spread.places_of.get(row)
        if places is not None and masked_in(places).n:
            return rows_text(masked_in(places))
    return ""


def _inputs(this: Explained, lang: Lang) -> str:
    """How large the inputs were, where that explains something."""
    rank, health = this.rank, this.rank.health
    rows = [r for r in rank.dump.leaf_range(this.origin.call) if rank.dump.leaves.side[r] in GIVEN]
    rows = [r for r in rows if health.is_float[r] and health.is_known[r] and np.isfinite(health.absmax[r])]
    if not rows:
        return ""
    limit = float(health.largest[this.row])
    absmaxes = [float(health.absmax[r]) for r in rows]
    if this.diagnosis.kind == "sum" and len(rows) > 1 and sum(absmaxes[:2]) > limit:
        return say(TEXTS, "inputs-sum", lang, largest=amount(sum(absmaxes[:2])), limit=amount(limit))
    row = rows[int(np.argmax(absmaxes))]
    share = health.headroom(row)
    if share is None:
        return ""
    io = rank.dump.leaves.io_names[int(rank.dump.leaves.io[row])]
    told = say(TEXTS, "inputs-io", lang, io=io) if len(rows) > 1 and row != rows[0] else ""
    values = {"largest": amount(max(absmaxes)), "share": percent(share), "io": told}
    values["dtype"] = dtype_name(rank, row)
    return say(TEXTS, "inputs" if share >= WORTH_SHARE else "inputs-small", lang, **values)


def _why(this: Explained, lang: Lang) -> str:
    diagnosis = this.diagnosis
    key = f"why-{diagnosis.kind}"
    text = ""
    is_bounded = diagnosis.at_most is not None and np.isfinite(diagnosis.at_most)
    if key in TEXTS and (is_bounded or diagnosis.value is not None):
        at_most = amount(diagnosis.at_most) if diagnosis.at_most is not None else ""
        value = number(diagnosis.value) if diagnosis.value is not None else ""
        text = say(TEXTS, key, lang, at_most=at_most, value=value)
    own = dtype_name(this.rank, this.row)
    wider = wider_dtypes(this)
    if wider:
        text += say(TEXTS, "holds", lang, dtypes=joined(wider[:2], lang))
        if diagnosis.input_scale is not None and diagnosis.input_scale < 1:
            text += say(TEXTS, "holds-scale", lang, dtype=own, scale=1 / diagnosis.input_scale)
    if diagnosis.late_scale:
        text += say(TEXTS, "late-scale", lang, call=diagnosis.late_scale)
    return text


def wider_dtypes(this: Explained) -> list[str]:
    """Dtypes that would have held the value, but the one it has."""
    return [name for name in this.diagnosis.holds_in if name != dtype_name(this.rank, this.row)]


def joined(names: Sequence[str], lang: Lang) -> str:
    """One or the other."""
    return (" or " if lang == "en" else " 或 ").join(names)


def _where(this: Explained, lang: Lang) -> str:
    """How many elements and where, if their elements were read."""
    places = this.places
    if places is None or not places.first:
        return ""
    axes = ""
    for axis in places.axes:
        if axis.n_hit and axis.n_hit < axis.length and axis.n_hit <= 4:
            indices = ",".join(map(str, axis.first))
            name = say(TEXTS, f"axis-{axis.name}", lang) if f"axis-{axis.name}" in TEXTS else axis.name
            axes += say(TEXTS, "where-axis", lang, axis=name, indices=indices)
    first = index_text(places.first[0].index) if places.first[0].index else "[]"
    if this.is_saturated:  # how many has been said
        return say(TEXTS, "where-first", lang, index=first, axes=axes)
    n, of = places.n_bad, int(this.rank.health.n_elements[this.row])
    return say(TEXTS, "where", lang, n=number(n), of=number(of), index=first, axes=axes)


def _count(this: Explained, name: str, lang: Lang) -> str:
    n, of = this.rank.health.count(name, this.row), int(this.rank.health.n_elements[this.row])
    if not n or of <= 0:
        return say(TEXTS, "count-some", lang)
    return say(TEXTS, "count-of", lang, n=number(n), of=number(of), percent=100 * n / of)


def _suspected(this: Explained, lang: Lang) -> str:
    if not this.trace.suspects:
        return ""
    step = this.trace.suspects[0]
    rank, health = this.rank, this.rank.health
    growth = step.growth_ratio or 0.0
    grown = say(TEXTS, "grown", lang, ratio=number(growth)) if growth > 2 else ""
    return say(
        TEXTS,
        "suspect",
        lang,
        name=rank.name(step.call),
        absmax=amount(float(health.absmax[step.row])),
        share=percent(health.headroom(step.row) or 0.0),
        dtype=dtype_name(rank, step.row),
        grown=grown,
    )


def _spread(this: Explained, lang: Lang) -> str:
    spread = this.spread
    if not spread.carried_by:
        return ""
    begun = spread.begun_on or (this.rank.rank,)
    others = [r for r in spread.affected_ranks if r not in begun]
    if not others:
        return ""
    origin = ", ".join(map(str, begun))
    clean = say(TEXTS, "spread-clean", lang) if spread.clean_before else ""
    ranks = ", ".join(map(str, others))
    return say(TEXTS, "spread", lang, call=spread.carried_by[0], origin=origin, ranks=ranks, clean=clean)


def _repeats(this: Explained, lang: Lang) -> str:
    return say(TEXTS, "repeats", lang, n=len(this.origin.repeats)) if this.origin.repeats else ""


def _steps_behind(found: Overflow, this: Explained, lang: Lang) -> str:
    steps = {
        found.looked_through[place].step
        for (place, _), cause in found.caused_by.items()
        if cause == (this.place, this.origin.call)
    }
    listed = ", ".join(str(step) for step in sorted(s for s in steps if s is not None))
    return say(TEXTS, "steps-behind", lang, steps=listed) if listed else ""


def origin_figures(this: Explained) -> Figures:
    rank, origin, diagnosis = this.rank, this.origin, this.diagnosis
    figures: dict[str, Any] = {"kind": kind_of(this.flags), "cause": origin.cause, "why": diagnosis.kind}
    figures |= row_figures(rank, this.row, this.places)
    if origin.cause in ("operator", "collective", "masked-row", "legal-inf"):
        figures["inputs_finite"] = origin.cause in ("operator", "collective")
        given = [r for r in data_inputs(rank, origin.call) if rank.health.is_known[r]]
        figures["inputs_absmax"] = [float(rank.health.absmax[r]) for r in given]
    if diagnosis.at_most is not None:
        figures["at_most"] = diagnosis.at_most
        figures["holds_in"] = list(diagnosis.holds_in)
    if diagnosis.input_scale is not None:
        figures["input_scale_ratio"] = diagnosis.input_scale
    if diagnosis.value is not None:
        figures["argument"] = diagnosis.value
    module = module_of(rank, origin.call)
    if module:
        figures["module"] = module
    if this.trace.suspects:
        suspect = this.trace.suspects[0]
        figures["suspect"] = rank.name(suspect.call)
        figures["suspect_headroom_ratio"] = rank.health.headroom(suspect.row)
    if origin.cause == "collective" and this.spread.begun_on:
        figures["ranks"] = list(this.spread.begun_on)
    if this.spread.affected_ranks:
        figures["affected_ranks"] = list(this.spread.affected_ranks)
    if this.spread.carried_by:
        figures["spread_by"] = this.spread.carried_by[0]
        figures["clean_ranks_before"] = list(this.spread.clean_before)
    figures["inherited_calls"] = this.spread.n_inherited
    return figures


def _related(found: Overflow, this: Explained) -> list[Related]:
    """Suspects, then what the origin made legal inputs of, what follows, and the peers that got it."""
    rank = this.rank
    related = [Related("suspect", rank.name(s.call), _step_figures(rank, s)) for s in this.trace.suspects]
    if this.origin.cause in ("masked-row", "legal-inf", "uninitialised"):
        related += [
            Related("benign", _maker(rank, row), row_figures(rank, row, found.places.get((this.place, row))))
            for row in this.origin.legal
        ]
    first_nan = this.spread.first_nan
    if first_nan is not None and not this.flags & NAN:
        place, call = first_nan
        other = found.looked_through[place]
        related.append(Related("inherited", other.name(call), {"kind": "NaN", "rank": other.rank}))
    for name, origin_rank, ranks in this.spread.hops[:8]:
        related.append(Related("inherited", name, {"from_rank": origin_rank, "to_ranks": list(ranks)}))
    return related


def _step_figures(rank: RankOverflow, step: Step) -> Figures:
    figures: dict[str, Any] = {
        "absmax": float(rank.health.absmax[step.row]),
        "headroom_ratio": rank.health.headroom(step.row),
        "dtype": dtype_name(rank, step.row),
        "growth_ratio": step.growth_ratio,
        "distance": step.distance,
        "link": step.link,
    }
    module = module_of(rank, step.call)
    return {**figures, "module": module} if module else figures

"""What stands beside the table for one row: why, figures, source; where its figures come from."""

from __future__ import annotations

import numpy as np

from npulse.core.calls.source import frames_of
from npulse.core.figures import amount, number
from npulse.core.findings import Finding, Location
from npulse.core.formats.msprobe.stacks import user_frame
from npulse.core.text import Lang, say
from npulse.core.views import Detail

from .advice import next_step
from .analyse import Overflow, source_of
from .explain import AREA, location_of, message_of, origin_finding
from .explained import explained
from .figures import AXES, module_of, percent, row_figures, shown_count
from .health import BASES, NO_BASIS
from .ranks import RankOverflow
from .roles import BENIGN, INHERITED, OK, ROLES, Origin
from .spread import Followers
from .texts import TEXTS
from .trace import growth_ratio
from .upstream import upstream_lines

_COUNTS = ("nan", "inf", "saturated", "near_limit", "subnormal")


def origin_at(found: Overflow, place: int, call: int) -> Origin | None:
    """The origin that a call is; None where it is none."""
    return found.looked_through[place].roles.origin_of(call)


def row_detail(found: Overflow, followers: Followers, place: int, row: int, lang: Lang) -> Detail:
    """All that is known of one tensor, in the order in which it helps. Opens no file."""
    rank = found.looked_through[place]
    call = int(rank.dump.leaves.call[row])
    origin = origin_at(found, place, call)
    name = rank.dump.leaf_name(row)
    frame = user_frame(frames_of(rank.stacks, rank.name(call)))
    source = None if frame is None else (frame.file, frame.line, frame.source)
    if origin is not None:
        this = explained(found, place, origin, followers)
        facts = tuple(_facts(found, rank, place, row, call))
        return Detail(name, message_of(found, this, lang), facts, next_step(this, lang), source)
    return Detail(
        name, headline(found, place, row, lang), tuple(_facts(found, rank, place, row, call)), "", source
    )


def headline(found: Overflow, place: int, row: int, lang: Lang) -> str:
    """Why a row is what it is, in a sentence."""
    rank = found.looked_through[place]
    call = int(rank.dump.leaves.call[row])
    role = int(rank.roles.row[row])
    if role == INHERITED:
        return _inherited(found, place, call, lang)
    if role == BENIGN:
        why = rank.roles.legal.get(call, "mask")
        return say(TEXTS, f"row-legal-{why}", lang)
    if not rank.health.is_known[row]:
        return say(TEXTS, "row-unknown", lang)
    share = rank.health.headroom(row)
    if role == OK and share is not None and share >= found.settings.criteria.near_ratio:
        dtype = row_figures(rank, row)["dtype"]
        return say(TEXTS, "row-near", lang, share=percent(share), dtype=dtype)
    return say(TEXTS, "row-ok", lang)


def _inherited(found: Overflow, place: int, call: int, lang: Lang) -> str:
    rank = found.looked_through[place]
    source = source_of(found, place, call)
    if source is None:
        return ""
    other = found.looked_through[source[0]]
    where = ""
    if source[0] != place:
        where = say(TEXTS, "inherited-place", lang, rank=other.rank, step=other.step)
    text = say(TEXTS, "inherited-from", lang, name=other.name(source[1]), place=where)
    return text + (say(TEXTS, "inherited-gap", lang) if call in rank.roles.through_gap else "")


def _facts(found: Overflow, rank: RankOverflow, place: int, row: int, call: int) -> list[tuple[str, str]]:
    """Names of figures are the contract's in every language: they are what a filter takes."""
    health = rank.health
    figures = row_figures(rank, row, found.places.get((place, row)))
    shape = figures["shape"]
    facts = [("dtype", f"{figures['dtype']} {'' if shape is None else shape}")]
    if health.is_known[row]:
        facts.append(("absmax", amount(float(health.absmax[row]))))
        facts.append(("max, min", f"{amount(float(health.high[row]))}, {amount(float(health.low[row]))}"))
    share = health.headroom(row)
    if share is not None:
        facts.append(("headroom_ratio", f"{percent(share)} of {amount(float(health.largest[row]))}"))
    facts += [(name, text) for name in _COUNTS if (text := shown_count(rank, row, name)) != "0"]
    grown = growth_ratio(rank, call, row)
    if grown is not None:
        facts.append(("growth_ratio", f"x{number(grown)}" if np.isfinite(grown) else "inf"))
    for name in ("first_index", *AXES.values(), "masked_rows"):
        if name in figures:
            facts.append((name, str(figures[name]).replace(" ", "")))
    module = module_of(rank, call)
    if module:
        facts.append(("module", module))
    if int(health.basis[row]) != NO_BASIS:
        facts.append(("basis", BASES[int(health.basis[row])]))
    return facts


def row_finding(found: Overflow, followers: Followers, place: int, row: int, lang: Lang) -> Finding:
    """Any row as a finding (to copy, to mark): the origin's own where its call is one."""
    rank = found.looked_through[place]
    call = int(rank.dump.leaves.call[row])
    origin = origin_at(found, place, call)
    if origin is not None:
        this = explained(found, place, origin, followers)
        return origin_finding(found, this, next_step(this, lang), lang)
    role = ROLES[int(rank.roles.row[row])]
    return Finding(
        AREA,
        "note",
        "overflow.legal" if role == "benign" else "",
        role,  # type: ignore[arg-type]
        rank.dump.leaf_name(row),
        headline(found, place, row, lang),
        figures=row_figures(rank, row, found.places.get((place, row))),
        location=location_of(rank, call, row),
    )


def where_lines(found: Overflow, followers: Followers, place: int, row: int, lang: Lang) -> list[str]:
    """Where the figures of a row come from, and the upstream table where its call is an origin."""
    rank = found.looked_through[place]
    call = int(rank.dump.leaves.call[row])
    at: Location = location_of(rank, call, row)
    byte = "" if at.byte is None else " " + say(TEXTS, "at-byte", lang, n=at.byte)
    lines = [f"{say(TEXTS, 'label-artifact', lang)}: {at.artifact}{byte}"]
    record = rank.dump.leaf(row)
    if record.data_name:
        tensor = found.relative(rank.dump.tensor_dir / record.data_name)
        lines.append(f"{say(TEXTS, 'label-tensor', lang)}: {tensor}")
    frame = user_frame(frames_of(rank.stacks, rank.name(call)))
    if frame is not None:
        lines.append(f"{say(TEXTS, 'label-source', lang)}: {frame.file}:{frame.line} in {frame.function}")
    basis = BASES[int(rank.health.basis[row])]
    lines.append(f"{say(TEXTS, 'label-basis', lang)}: {say(TEXTS, f'basis-{basis}', lang)}")
    numbers = (("rank", rank.rank), ("step", rank.step))
    told = [f"{say(TEXTS, f'label-{name}', lang)} {value}" for name, value in numbers if value is not None]
    lines += ["   ".join(told)] if told else []
    places = found.places.get((place, row))
    if places is not None and places.first:
        shown = ", ".join(f"{list(one.index)} {one.kind}".replace(", ", ",") for one in places.first[:8])
        lines.append(f"{say(TEXTS, 'label-places', lang)}: {shown}{' ...' if places.n_bad > 8 else ''}")
    origin = origin_at(found, place, call)
    if origin is not None:
        lines += ["", *upstream_lines(explained(found, place, origin, followers), lang)]
    return lines

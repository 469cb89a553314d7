"""A site as a finding: what happened, how often, where, what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npulse.core.findings import Finding, Location, Related, Severity
from npulse.core.formats.error_codes import pick
from npulse.core.text import Lang, safe_text, say

from .advice import gap_text, next_step, why
from .analyse import Memory
from .drawing import draw, has_picture
from .excerpts import code_lines
from .faults import LogTrust
from .figures import (
    AREA,
    cores_text,
    hexadecimal,
    place_text,
    role_of,
    rule_id,
    shown_name,
    site_figures,
    subject_of,
)
from .incidents import REASONS, Incident, doubt_text, missing_text, reliability_of, root_name
from .joins import Joined
from .leaks import repeat_of
from .missing_places import missing_excerpt_text, no_line_text, source_of
from .phrases import raised, sentences
from .places import Missing, can_have_place
from .pool_advice import pool_next, pool_text, with_pool_figures
from .sites import Site
from .texts import TEXTS

_SEVERITIES: dict[str, Severity] = {"error": "error", "warning": "warning", "info": "note"}
_SHOWN_SIZES = 4
_SHOWN_IDS = 8
_SHOWN_NOTICES = 5
_NOTICE_WORDS = {
    "records-dropped": ("records undetected", "discarded"),
    "cache-exhausted": ("exceed the max record buffer", "records undetected"),
    "address-changed": ("has been changed by the user program",),
    "sync-records-dropped": ("__syncthreads",),
    "heap-range": ("heap is not in malloc range",),
    "tool-not-supported": ("temporarily ignored", "not supported"),
    "no-active-tool": ("No active sanitizer tool",),
    "signal": ("exited by signal",),
    "abnormal-exit": ("exited abnormally",),
    "runtime-refused": ("does not come first",),
}
"""By gap what the tool's own line about it holds."""
DRAWN_CELLS = 60
_ENDS = (".", "。", "!", "?", ":", "：")


def site_finding(found: Memory, place: int, lang: Lang) -> Finding:
    """The finding of one site; place: its index in `found.sites`."""
    site = found.sites[place]
    role = role_of(site)
    severity = _SEVERITIES[site.first.severity]
    if role == "inherited":
        severity = "note"
    figures = with_pool_figures(site_figures(site), site)
    if found.cleanup is not None:
        figures["state"] = found.cleanup.states[place]
    if site.key in found.operands:
        figures["operands"] = [shown_name(text, 400) for text in found.operands[site.key]]
    if site.first.kind == "python error":
        is_reliable = reliability_of(site.first, found.is_blocking)
        figures |= {"python_line_is_reliable": is_reliable} if is_reliable is not None else {}
    joined = found.joined.get(site.key)
    if joined is not None and joined.operator:
        figures |= {"operator": joined.operator, "is_likely": joined.is_likely}
    return Finding(
        area=AREA,
        severity=severity,
        rule=f"{AREA}.{rule_id(site, found.settings.criteria.repeated_leaks)}",
        role=role,  # type: ignore[arg-type]
        subject=subject_of(site),
        message=message_of(found, place, lang),
        next_step=next_of(found, place, lang),
        source=source_of(found, site),
        figures=figures,
        related=tuple(_related(found, site)),
        location=location_of(site),
        told=tuple(_told(found, site, lang)),
        code=next(filter(None, map(code_lines, found.excerpts.get(site.key, ()))), ()),
    )


def _told(found: Memory, site: Site, lang: Lang) -> Iterator[str]:
    """The picture of the buffer, and the instruction, for people."""
    if has_picture(site.first):
        yield from draw(site.first.block, site.first.access, DRAWN_CELLS, is_ascii=True)
    for text in found.operands.get(site.key, ())[:2]:
        yield f"{say(TEXTS, 'label-instruction', lang)}: {shown_name(text, 300)}"


def location_of(site: Site) -> Location:
    return Location(site.first.artifact, line=site.first.line, byte=site.first.byte)


def message_of(found: Memory, place: int, lang: Lang) -> str:
    """All that matters, in sentences: what, where, how often, since when."""
    site = found.sites[place]
    pool = pool_text(site, lang)
    if pool:
        return _sentences([pool, *_tail(found, place, lang)], lang)
    if site.first.is_leak:
        return _sentences([_leak(found, site, lang), *_tail(found, place, lang)], lang)
    what = why(site.earliest, lang)
    return _sentences(
        [
            what,
            say(TEXTS, "comma", lang).join(part for part in _often(site, lang) if part),
            _who(site, what, lang),
            _order_of(found, site, lang),
            *_tail(found, place, lang),
        ],
        lang,
    )


def _order_of(found: Memory, site: Site, lang: Lang) -> str:
    """What an event follows from, or what is missing to tell."""
    if site.key in found.secondary_of:
        one, incident = found.secondary_of[site.key]
        delay = ""
        if one.delay_s is not None:
            delay = say(TEXTS, "follows-delay", lang, delay=duration_text(one.delay_s, lang))
        reason = pick(REASONS[one.reason], lang)
        told = say(TEXTS, "follows", lang, root=_name_of(incident), delay=delay, reason=reason)
        doubt = doubt_text(one, lang)
        return told + (say(TEXTS, "semicolon", lang) + doubt if doubt else "")
    root = found.incident_of.get(site.key)
    return "" if root is None else missing_text(root, lang)


def duration_text(seconds: float, lang: Lang) -> str:
    """A time as people say it: 30.2 s, 30 min, 2.5 h."""
    for unit, in_seconds, until in (
        ("seconds", 1, 120),
        ("minutes", 60, 7200),
        ("hours", 3600, float("inf")),
    ):
        if seconds < until:
            return say(TEXTS, unit, lang, n=f"{seconds / in_seconds:.3g}")
    return ""


def _who(site: Site, said: str, lang: Lang) -> str:
    """Kernel, cores, devices and processes, as far as they are known and not said yet."""
    kernel, cores = site.first.access.kernel, cores_text(site)
    told_id = site.first.figures.get("device_id")
    devices = site.devices or ((told_id,) if isinstance(told_id, int) else ())
    parts = []
    if kernel and shown_name(kernel) not in said:
        parts.append(say(TEXTS, "kernel", lang, name=shown_name(kernel)))
    if cores and cores not in said:
        parts.append(cores)
    ids = ", ".join(map(str, devices[:_SHOWN_IDS]))
    if devices and f"device {ids}" not in said:
        parts.append(say(TEXTS, "device", lang, ids=ids + (" ..." if len(devices) > _SHOWN_IDS else "")))
    if len(site.pids) > 1:
        parts.append(say(TEXTS, "process", lang, ids=", ".join(map(str, site.pids[:_SHOWN_IDS]))))
    is_place_alone = not (kernel or cores)
    key = "on" if is_place_alone else "by"
    return say(TEXTS, key, lang, who=say(TEXTS, "comma", lang).join(parts)) if parts else ""


def _name_of(incident: Incident) -> str:
    """How the root of an incident is called."""
    return shown_name(root_name(incident.root))


def _sentences(parts: list[str], lang: Lang) -> str:
    """One behind the other, each with a capital in front and a mark at its end."""
    stop = "。" if lang == "zh" else "."
    told = [raised(part, lang) for part in parts if part]
    return sentences([part if part.endswith(_ENDS) else part + stop for part in told], lang)


def counted(lang: Lang, key: str, n: int) -> str:
    """A number with its noun."""
    return say(TEXTS, f"{key}-one", lang) if n == 1 else say(TEXTS, key, lang, n=f"{n:,}")


def _leak(found: Memory, site: Site, lang: Lang) -> str:
    where = place_text(site.place)
    values = {
        "blocks": counted(lang, "n-blocks", site.n_objects or site.n),
        "size": f"{site.total_bytes:,}",
        "place": shown_name(where) if where else say(TEXTS, "unknown-place", lang),
    }
    text = say(TEXTS, "leak-site" if site.first.kind == "leak" else "unused-site", lang, **values)
    repeat = repeat_of(site, found.settings.criteria.repeated_leaks)
    if repeat is not None and site.first.kind == "leak":
        text += say(TEXTS, "leak-repeat", lang, n=f"{repeat.n:,}", size=f"{repeat.size_bytes:,}")
    return text


def _often(site: Site, lang: Lang) -> Iterator[str]:
    """How often, over which addresses, sizes, cores and serial numbers."""
    if site.n > 1:
        yield counted(lang, "times", site.n)
        if site.address is not None and site.address.first != site.address.last:
            first, last = hexadecimal(site.address.first), hexadecimal(site.address.last)
            yield say(TEXTS, "addresses", lang, first=first, last=last)
        if site.n_sizes > 1:
            shown = ", ".join(f"{size:,}" for size, _ in site.sizes[:_SHOWN_SIZES])
            yield say(TEXTS, "sizes", lang, sizes=shown + (" ..." if site.n_sizes > _SHOWN_SIZES else ""))
    known = [text for text in (place_text(one) for one in site.places) if text]
    if len(known) >= 2 and site.first.hazard:
        yield say(TEXTS, "both-places", lang, first=shown_name(known[0]), second=shown_name(known[1]))
    yield _earliest(site, lang)


def _earliest(site: Site, lang: Lang) -> str:
    if site.serial is None or site.serial.first == site.serial.last or site.first.hazard:
        return ""
    if site.n == 1 and len(site.first.accesses) < 2:
        return ""
    for access, place in zip(site.earliest.accesses, site.places, strict=False):
        if access.serial_number == site.serial.first:
            where = place_text(place)
            if where and len(site.first.accesses) > 1:
                return say(TEXTS, "earliest-at", lang, serial=site.serial.first, place=shown_name(where))
    return say(TEXTS, "earliest", lang, serial=site.serial.first)


def _tail(found: Memory, place: int, lang: Lang) -> Iterator[str]:
    """What a place lacks, what it is joined to, what follows from it, what is doubtful about it."""
    site = found.sites[place]
    reason = why_no_place(site)
    if reason is not None:
        text = say(TEXTS, "place-unknown", lang, reason=no_line_text(site.first, reason, lang))
        if site.n > 1 and not site.pcs:
            text += say(TEXTS, "semicolon", lang) + say(TEXTS, "several-places", lang)
        yield text
    yield missing_excerpt_text(found, site, lang)
    yield _joined(found, site, lang)
    incident = found.incident_of.get(site.key)
    if incident is not None and incident.n_consequences:
        yield counted(lang, "consequences", incident.n_consequences)
    if site.resolved_by:
        yield say(TEXTS, "resolved", lang, name=shown_name(site.resolved_by))
    if site.n_cut:
        yield say(TEXTS, "is-cut", lang)
    if site.n_partial:
        yield counted(lang, "is-partial", site.n_partial)
    if site.n_mixed:
        yield say(TEXTS, "is-mixed", lang)
    if found.cleanup is not None:
        yield say(TEXTS, f"state-{found.cleanup.states[place]}", lang)


def why_no_place(site: Site) -> Missing | None:
    """Why no line is known, as far as the log itself decides it; None where there is one or none belongs."""
    if site.is_place_known or site.group or not can_have_place(site.first):
        return None
    place = site.place
    if place is not None and place.has_file:
        return Missing("line-zero")
    return Missing("unknown-file")


def _joined(found: Memory, site: Site, lang: Lang) -> str:
    joined = found.joined.get(site.key)
    if joined is None:
        return ""
    against = ""
    if joined.contradicts:
        other = joined.contradicts[0]
        against = say(TEXTS, "joined-contradicts", lang, other=shown_name(other.name or other.op_type))
    if not joined.sources:
        return against
    return say(TEXTS, "comma", lang).join(filter(None, (_operator_text(joined, lang), against)))


def _operator_text(joined: Joined, lang: Lang) -> str:
    source = joined.sources[0]
    if not joined.operator:
        names = [safe_text(name, 80) for name in joined.names[:4]]
        if names:
            return say(TEXTS, "joined-several", lang, names=say(TEXTS, "comma", lang).join(names))
        files = say(TEXTS, "comma", lang).join(shown_name(one.name, 80) for one in joined.sources[:4])
        return say(TEXTS, "joined-files", lang, kind=source.kind, names=files)
    values = {
        "name": shown_name(joined.operator),
        "kind": source.kind,
        "artifact": shown_name(source.artifact),
    }
    return say(TEXTS, "joined-likely" if joined.is_likely else "joined", lang, **values)


def next_of(found: Memory, place: int, lang: Lang) -> str:
    """What to do about a site."""
    site = found.sites[place]
    if site.key in found.secondary_of:
        return say(TEXTS, "follows-next", lang, root=_name_of(found.secondary_of[site.key][1]))
    return pool_next(site, lang) or next_step(site.earliest, lang)


def _related(found: Memory, site: Site) -> Iterator[Related]:
    incident = found.incident_of.get(site.key)
    for one in incident.secondary if incident is not None else ():
        fault = one.fault
        figures: dict[str, Any] = {"kind": fault.kind, "reason": one.reason, "line": fault.line}
        if one.delay_us is not None:
            figures["delay_us"] = one.delay_us
        pid = fault.access.pid or fault.figures.get("pid")
        subject = str(fault.figures.get("code") or fault.access.kernel or fault.kind)
        yield Related("inherited", subject, figures | ({"pid": pid} if pid is not None else {}))
    joined = found.joined.get(site.key)
    for source in joined.sources if joined is not None else ():
        yield Related(
            "unknown" if joined is not None and joined.is_likely else "ok",
            source.name,
            {"kind": source.kind, "artifact": source.artifact, "line": source.line, "how": source.how},
        )


def gap_findings(trust: LogTrust, lang: Lang) -> Iterator[Finding]:
    """What one log lacks: said above what it says."""
    for word in trust.gaps:
        text = say(TEXTS, "gap", lang, artifact=shown_name(trust.artifact), text=gap_text(word, lang))
        yield Finding(
            AREA,
            "warning",
            f"{AREA}.incomplete",
            "unknown",
            trust.artifact,
            text,
            figures={"gap": word, "n_clean_ends": trust.n_clean_ends},
            location=Location(trust.artifact),
            told=tuple(_gap_lines(trust, word, lang)),
        )


def _gap_lines(trust: LogTrust, word: str, lang: Lang) -> Iterator[str]:
    """The tool's own lines about it, which have the block and the advised size; kernels that did not end."""
    if word == "unfinished-kernel" and trust.unfinished:
        names = ", ".join(shown_name(name, 60) for name in trust.unfinished[:_SHOWN_IDS])
        yield say(TEXTS, "unfinished", lang, names=names)
    needles = _NOTICE_WORDS.get(word, ())
    lines = [(line, text) for line, text in trust.notices if any(needle in text for needle in needles)]
    for line, text in lines[:_SHOWN_NOTICES]:
        yield f"{line}: {shown_name(text, 300)}"
    if len(lines) > _SHOWN_NOTICES:
        yield say(TEXTS, "more-lines", lang, n=len(lines) - _SHOWN_NOTICES)

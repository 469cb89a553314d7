"""What stands beside the table for one site: why, figures, source text, a drawing of the memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from npulse.core.text import Lang, say
from npulse.core.views import Detail, Source

from .analyse import Memory
from .drawing import draw, has_picture
from .excerpts import Excerpt, code_lines
from .explain import message_of, next_of
from .faults import Access, Fault, Frame
from .figures import hexadecimal, place_text, shown_name, site_figures, subject_of
from .missing_places import missing_words
from .pool_advice import with_pool_figures
from .sites import Site
from .texts import TEXTS

SHOWN_MEMBERS = 40
SHOWN_FRAMES = 30
_FACTS = (
    "kind", "space", "access", "size_bytes", "sizes_bytes", "leaked_bytes", "held_bytes", "n_allocations",
    "growth_bytes_per_step", "pool", "owner", "step", "steps", "kernel", "cores", "devices", "threads",
    "pids", "address_first", "address_last", "pcs", "serial_first", "serial_last", "block_bytes", "side",
    "distance_bytes", "variable", "allocated_at", "freed_at", "stream_id", "task_id", "flip", "ret_code",
    "error_code", "error_bits", "operator", "count", "tool",
)  # fmt: skip
_CODES = frozenset(("ret_code", "error_code"))
_IDS = frozenset(
    (
        *("devices", "pids", "stream_id", "task_id", "device_id", "flip", "serial_first", "serial_last"),
        *("line", "step", "steps"),
    )
)


def site_detail(found: Memory, place: int, lang: Lang) -> Detail:
    """All that is known of one site, in the order in which it helps. Opens no file."""
    site = found.sites[place]
    excerpts = found.excerpts.get(site.key, ())
    excerpt = next((one for one in excerpts if one.lines), excerpts[0] if excerpts else None)
    return Detail(
        name=shown_name(subject_of(site)),
        headline=message_of(found, place, lang),
        facts=(*facts_of(site), *(("instruction", text) for text in found.operands.get(site.key, ())[:2])),
        next_step=next_of(found, place, lang),
        source=_source(site, excerpt, lang) if excerpt is not None else None,
        code=code_lines(excerpt) if excerpt is not None else (),
        draw=partial(_drawn, site.first) if has_picture(site.first) else None,
    )


def _source(site: Site, excerpt: Excerpt, lang: Lang) -> Source | None:
    """The place as the log has it, and why its text is not at hand; of no place the headline says why."""
    if not excerpt.frame.has_line:
        return None
    return shown_name(place_text(excerpt.frame)), None, missing_words(site, excerpt, lang)


def _drawn(fault: Fault, width: int, is_ascii: bool) -> tuple[str, ...]:
    return draw(fault.block, fault.access, width, is_ascii=is_ascii)


def facts_of(site: Site) -> Iterator[tuple[str, str]]:
    """Names of figures are the contract's in every language: they are what a filter takes."""
    figures = with_pool_figures(site_figures(site), site)
    for name in _FACTS:
        value = figures.get(name)
        if value is not None:
            yield name, shown_value(value, name)


def shown_value(value: object, name: str = "") -> str:
    """A figure for people: counts with commas, ids as they are, codes in base 16 as the logs write them."""
    if isinstance(value, list | tuple):
        return ", ".join(shown_value(one, name) for one in value[:8]) + (" ..." if len(value) > 8 else "")
    if isinstance(value, int) and not isinstance(value, bool):
        if name in _CODES:
            return f"{value:#x}"
        return str(value) if name in _IDS else f"{value:,}"
    return shown_name(str(value))


def where_lines(found: Memory, place: int, lang: Lang) -> list[str]:
    """Where the figures come from: log and line, stacks, what allocated and freed, the first reports."""
    site = found.sites[place]
    first = site.first
    lines = [f"{say(TEXTS, 'label-artifact', lang)}: {shown_name(first.artifact)}:{first.line}"]
    lines[0] += f"   {say(TEXTS, 'label-byte', lang)} {first.byte:,}"
    lines.append(f"{say(TEXTS, 'label-written', lang)}: {shown_name(first.message, 400)}")
    lines += _source_lines(found, site, lang)
    lines += [
        f"{say(TEXTS, 'label-instruction', lang)}: {shown_name(text, 400)}"
        for text in found.operands.get(site.key, ())
    ]
    for number, access in enumerate(first.accesses, 1):
        if access.frames:
            title = say(TEXTS, "label-access", lang, n=number) if len(first.accesses) > 1 else ""
            lines += ["", f"{title} {say(TEXTS, 'label-stack', lang)}:".strip(), *_stack(access.frames)]
    if first.block is not None:
        for label, frames, thread in (
            ("label-allocated", first.block.allocated, first.block.allocating_thread),
            ("label-freed", first.block.freed, first.block.freeing_thread),
        ):
            if frames:
                lines += ["", f"{say(TEXTS, label, lang)} {shown_name(thread)}:", *_stack(frames)]
    if site.n > 1:
        shown = min(site.n, len(site.members), SHOWN_MEMBERS)
        lines += ["", say(TEXTS, "label-members", lang, n=shown, all=f"{site.n:,}") + ":"]
        lines += [_member(fault) for fault in site.members[:shown]]
    return lines


def _source_lines(found: Memory, site: Site, lang: Lang) -> Iterator[str]:
    for excerpt in found.excerpts.get(site.key, ()):
        if excerpt.hit is None:
            continue
        text = f"{say(TEXTS, 'label-source', lang)}: {shown_name(str(excerpt.hit.path))}:{excerpt.hit.line}"
        if excerpt.hit.how != "exact":
            text += f"   ({say(TEXTS, 'label-moved', lang, n=excerpt.hit.n_tail_parts)})"
        yield text


def _stack(frames: tuple[Frame, ...]) -> list[str]:
    lines = []
    for index, frame in enumerate(frames[:SHOWN_FRAMES]):
        place = place_text(frame) or frame.file or "?"
        function = f"{frame.function}  " if frame.function else ""
        lines.append(f"  #{index} {shown_name(function)}{shown_name(place)}")
    if len(frames) > SHOWN_FRAMES:
        lines.append(f"  ... {len(frames) - SHOWN_FRAMES}")
    return lines


def _member(fault: Fault) -> str:
    """One report in one line."""
    parts = [f"  {fault.artifact}:{fault.line}"]
    for access in fault.accesses[:2]:
        parts.append(_access_text(access))
    if fault.size_bytes is not None:
        parts.append(f"{fault.size_bytes:,} B")
    return shown_name("  ".join(filter(None, parts)))


def _access_text(access: Access) -> str:
    shown = [
        hexadecimal(access.address),
        f"{access.size_bytes} B" if access.size_bytes is not None else None,
        ",".join(map(str, access.cores)) or None,
        f"serialNo {access.serial_number}" if access.serial_number is not None else None,
    ]
    return " ".join(filter(None, shown))

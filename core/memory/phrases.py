"""Parts of sentences: an access, who made it, the block beside it, sizes.

What a fault does not tell is left out. Texts that come from a log are made safe to show and bounded here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from npulse.core.text import Lang, safe_text, say

from .faults import Access, Block, Fault, Frame
from .hints import Reach, function_of, lifetime, reach
from .kind_texts import TEXTS
from .places import user_frame

MAX_NAME = 100
MAX_MESSAGE = 240
_SPACES = {"heap": "space-heap", "stack": "space-stack", "global": "space-global", "host": "space-host"}
_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def quoted(text: str, limit: int = MAX_NAME) -> str:
    """Text of a log on one line: no controls, at most `limit` characters."""
    return safe_text(" ".join(text[: limit * 4].split()), limit)


def int_of(fault: Fault, name: str) -> int | None:
    """A figure that is a whole number; None if it is missing or something else."""
    value = fault.figures.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def text_of(fault: Fault, name: str, limit: int = MAX_NAME) -> str:
    """A figure that is a text, safe to show; "" if it is missing or something else."""
    value = fault.figures.get(name)
    return quoted(value, limit) if isinstance(value, str) else ""


def texts_of(fault: Fault, name: str, most: int = 8) -> tuple[str, ...]:
    """A figure that is a list of texts, the first ones, as they are."""
    value = fault.figures.get(name)
    if not isinstance(value, (tuple, list)):
        return ()
    return tuple(each[:MAX_NAME] for each in value[:most] if isinstance(each, str))


def bytes_text(n: int, lang: Lang) -> str:
    """ "4 bytes", "4 字节"."""
    return say(TEXTS, "byte" if abs(n) == 1 else "bytes", lang, n=f"{n:,}")


def amount_text(n: int) -> str:
    """60.96 GiB: as messages about memory have it, two digits behind the point."""
    for unit, word in _UNITS:
        if n >= unit:
            return f"{n / unit:.2f} {word}"
    return f"{n} B"


def kib_text(n: int) -> str:
    """192 KiB, 29.5 KiB: no digits that say nothing."""
    return f"{n / 1024:.1f}".removesuffix(".0") + " KiB"


def kib_texts(*sizes: int) -> tuple[str, ...]:
    """Sizes beside each other, with as many digits as it takes that unequal ones differ."""
    for digits in (1, 2, 3, 4):
        texts = [f"{n / 1024:.{digits}f}".rstrip("0").rstrip(".") + " KiB" for n in sizes]
        if len(set(texts)) == len(set(sizes)):
            break
    return tuple(texts)


def joined(texts: Sequence[str], lang: Lang) -> str:
    """Words in a row: "a, b, c", "a、b、c"."""
    return ("\N{IDEOGRAPHIC COMMA}" if lang == "zh" else ", ").join(texts)


def sentences(texts: Sequence[str], lang: Lang) -> str:
    """Sentences behind each other; empty ones are left out. In Chinese without blanks that parts of them,
    put together, leave between two Chinese characters."""
    if lang == "zh":
        return "".join(_without_strays(text.strip()) for text in texts)
    return " ".join(text.strip() for text in texts if text.strip())


_WIDE = "\u3001\u3002\u4e00-\u9fff\uff08\uff09\uff0c\uff1a\uff1b"
_MARKS = "\u3001\u3002\uff08\uff09\uff0c\uff1a\uff1b"
_STRAY = re.compile(rf"(?<=[{_WIDE}]) +(?=[{_WIDE}])|(?<=[{_MARKS}]) +|(?<=\S) +(?=[{_MARKS}])")
_QUOTED = re.compile("(\u201c.*\u201d)", re.DOTALL)


def _without_strays(text: str) -> str:
    """Chinese text without blanks between wide characters; what is quoted from a log stays as it is."""
    parts = _QUOTED.split(text, maxsplit=1)
    return "".join(part if i % 2 else _STRAY.sub("", part) for i, part in enumerate(parts))


_LOWER_NAMES = frozenset(("mssanitizer", "npu-smi", "nvidia-smi", "plog"))
_OF_NAMES = re.compile(r".[a-z]*[A-Z_/=\d]|.*\.\w")


def raised(text: str, lang: Lang) -> str:
    """The first letter as a capital, in languages that have some. Names - of tools, functions, files - stay
    as they are."""
    if lang == "zh":
        return text
    word = text[:MAX_NAME].partition(" ")[0].rstrip(".,:;")
    if word in _LOWER_NAMES or _OF_NAMES.match(word):
        return text
    return text[:1].upper() + text[1:]


# ---- the access ----


def space_text(space: str, lang: Lang) -> str:
    """ "UB", "the heap"; "" if not told."""
    key = _SPACES.get(space)
    return say(TEXTS, key, lang) if key else quoted(space, 20)


def access_text(access: Access, lang: Lang) -> str:
    """ "a write of 4 bytes at 0x404 on UB", with what is told of it."""
    word = say(TEXTS, f"access-{access.word}" if access.word in ("read", "write") else "access", lang)
    has_size = access.size_bytes is not None and access.size_bytes > 0
    text = say(
        TEXTS,
        "access-whole",
        lang,
        word=word,
        size=say(TEXTS, "access-size", lang, size=bytes_text(access.size_bytes or 0, lang))
        if has_size
        else "",
        at="" if access.address is None else say(TEXTS, "access-at", lang, address=f"{access.address:#x}"),
        on=_on_text(access, lang),
    )
    return text.strip().replace("  ", " ")


def _on_text(access: Access, lang: Lang) -> str:
    space = space_text(access.space, lang)
    if not space:
        return ""
    told = say(TEXTS, "access-in" if access.space == "global" else "access-on", lang, space=space)
    return f"{told} " if lang == "zh" and told.isascii() else told


def by_text(access: Access, lang: Lang, *, is_host: bool = False) -> str:
    """ " by kernel add_custom", " by the host for device 1", "" if it is not told."""
    if access.kernel:
        return say(TEXTS, "by-kernel", lang, kernel=short_function(access.kernel))
    if is_host:
        key = "by-host" if access.device is None else "by-host-device"
        return say(TEXTS, key, lang, n=access.device)
    return say(TEXTS, "by-thread", lang, thread=quoted(access.thread, 40)) if access.thread else ""


def inside_text(access: Access, lang: Lang) -> str:
    """ " in kernel add_custom", "" if it is not told."""
    return say(TEXTS, "in-kernel", lang, kernel=short_function(access.kernel)) if access.kernel else ""


def cores_text(access: Access, lang: Lang) -> str:
    """ "aiv(0,2-4)", "" if not told."""
    shown = []
    for cores in access.cores[:4]:
        part = type(cores)(quoted(cores.core_type, 12), cores.ranges[:8])
        shown.append(f"{part},..." if len(cores.ranges) > 8 else str(part))
    return joined(shown, lang)


# ---- the block beside it ----


def block_noun(block: Block, lang: Lang) -> str:
    """ "a block of 40 bytes", "variable x of 40 bytes"."""
    size = None if block.size_bytes is None else bytes_text(block.size_bytes, lang)
    name = quoted(block.name, 60)
    if name:
        key = "block-name" if size is None else "block-name-size"
        return say(TEXTS, key, lang, name=name, size=size)
    return say(TEXTS, "block", lang) if size is None else say(TEXTS, "block-size", lang, size=size)


def block_text(fault: Fault, lang: Lang) -> str:
    """Where the access lies against the block beside it, as a sentence; "" if that is not told."""
    block, access = fault.block, fault.access
    if block is None:
        return ""
    noun, found = block_noun(block, lang), reach(block, access)
    if found is None:
        if block.distance_bytes is None or block.side is None:
            return ""
        distance = bytes_text(abs(block.distance_bytes), lang)
        return say(TEXTS, f"lies-{block.side}", lang, distance=distance, block=noun)
    if found.is_straddling:
        inside, before, past = found.inside_bytes or 0, found.before_bytes or 0, found.past_bytes or 0
        told = say(
            TEXTS,
            "lies-over-both" if before and past else "lies-over-start" if before else "lies-over-end",
            lang,
            inside=bytes_text(inside, lang),
            before=bytes_text(before, lang),
            past=bytes_text(past, lang),
            block=noun,
        )
        return sentences([told, _element_text(found, access, lang)], lang)
    from_side = found.offset_bytes - ((block.size_bytes or 0) if found.side == "after" else 0)
    distance = bytes_text(abs(from_side), lang)
    is_at_start = found.side == "inside" and not from_side
    told = say(
        TEXTS, "lies-start" if is_at_start else f"lies-{found.side}", lang, distance=distance, block=noun
    )
    if found.side == "after" and found.end_bytes:
        reaching = bytes_text(found.end_bytes, lang)
        key = "lies-after-reach" if from_side else "lies-after-touch"
        told = say(TEXTS, key, lang, distance=distance, block=noun, reach=reaching)
    return sentences([told, _element_text(found, access, lang)], lang)


def _element_text(found: Reach, access: Access, lang: Lang) -> str:
    if found.element is None or not found.n_elements or found.side == "inside":
        return ""
    size = bytes_text(access.size_bytes or 0, lang)
    last = f"{found.n_elements - 1:,}"
    return say(TEXTS, "lies-element", lang, size=size, element=f"{found.element:,}", last=last)


def lifetime_text(fault: Fault, lang: Lang) -> str:
    """Who allocated and who freed the block, as a sentence; "" if that is not told."""
    found = lifetime(fault.block)
    if found is None:
        return ""
    made, freed = short_function(found.allocated_in), short_function(found.freed_in)
    if found.is_same_function:
        told = say(TEXTS, "life-same", lang, function=freed)
    elif made and freed:
        told = say(TEXTS, "life-both", lang, made=made, freed=freed)
    else:
        told = say(TEXTS, "life-freed" if freed else "life-made", lang, function=freed or made)
    return sentences([told, say(TEXTS, "life-thread", lang) if found.is_other_thread else ""], lang)


def block_places_text(block: Block | None, lang: Lang) -> str:
    """Where the user's code allocated and freed the block, as a sentence; "" if neither line is told."""
    if block is None:
        return ""
    made, freed = line_of(block.allocated), line_of(block.freed)
    if not (made or freed):
        return ""
    key = "life-at-both" if made and freed else "life-at-made" if made else "life-at-freed"
    return say(TEXTS, key, lang, made=made, freed=freed)


def line_of(frames: Sequence[Frame]) -> str:
    """ "file:line" of the innermost frame of the user's own code, safe to show; "" if that has no line."""
    at = user_frame(frames)
    if at is None or not frames[at].has_line:
        return ""
    return f"{quoted(frames[at].file)}:{frames[at].line}"


def short_function(name: str) -> str:
    """A function without its parameters, at most 60 characters."""
    return quoted(re.sub(r"\(.*", "", name[:400], flags=re.DOTALL) or name, 60)


def function_text(frames: Sequence[Frame]) -> str:
    """The innermost function that is not the allocator's, "" if none is told."""
    name = function_of(frames)
    return short_function(name) if name else ""

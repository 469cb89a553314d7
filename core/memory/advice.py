"""What happened, and what to do about it: every kind of fault in words, with the figures that it has.

Nothing is told that the fault does not say: without a size no size, without an address none. A kind that is
not known gets a sentence that is true of any.
"""

from __future__ import annotations

from collections.abc import Callable

from npulse.core.text import Lang, say

from .faults import Access, Fault, Frame
from .hints import CAPACITIES, MOVE_BYTES, alignment, on_chip
from .kind_texts import GAP_UNKNOWN, GAPS, KINDS, TEXTS
from .phrases import (
    MAX_MESSAGE,
    access_text,
    block_places_text,
    block_text,
    by_text,
    bytes_text,
    cores_text,
    function_text,
    inside_text,
    int_of,
    joined,
    kib_text,
    lifetime_text,
    line_of,
    quoted,
    raised,
    sentences,
    space_text,
    text_of,
)
from .places import can_have_place, is_host_call, user_frame
from .pool_advice import MORE as POOL_MORE
from .pool_advice import NEXT as POOL_NEXT
from .pool_advice import TOOL as POOL_TOOL
from .runtime_advice import MORE as RUNTIME_MORE
from .runtime_advice import NEXT as RUNTIME_NEXT

_More = Callable[[Fault, Lang], list[str]]

_NULL_PAGE = 4096
"""Addresses up to here are those of a null pointer and a member's offset."""
_FREED = frozenset(
    ("why-freed", "why-double-free", "why-tag-cause", "why-stack-gone", "why-mismatch", "why-size-mismatch")
)
_SHOWN_PIPES = 4
_OVERLAP = "-param-overlap"  # of memcpy, strcpy and their kin


def why(fault: Fault, lang: Lang) -> str:
    """What happened, in one to some sentences, with the figures of this fault; safe to show."""
    more = (POOL_MORE if fault.tool == POOL_TOOL else RUNTIME_MORE).get(fault.kind)
    if more is not None:
        return sentences(more(fault, lang), lang)
    key, _ = _keys(fault)
    access = fault.access
    if key == "why-illegal" and access.space in CAPACITIES:
        key = "why-illegal-in-chip" if _is_inside_every_chip(access) else "why-illegal-chip"
    return sentences(
        [say(TEXTS, key, lang, **_values(key, fault, lang)), *_MORE.get(key, _more_of_any)(fault, lang)], lang
    )


def _is_inside_every_chip(access: Access) -> bool:
    """Whether the whole access lies inside its on-chip buffer on every known chip; False if not told."""
    found = on_chip(access)
    return bool(found) and all(each.past_bytes == 0 for each in found)


def next_step(fault: Fault, lang: Lang) -> str:
    """What to do next: one step that fits the kind and its figures; safe to show."""
    more = (POOL_NEXT if fault.tool == POOL_TOOL else RUNTIME_NEXT).get(fault.kind)
    if more is not None:
        return sentences(more(fault, lang), lang)
    return say(TEXTS, _next_key(fault), lang, **_devices_of(fault))


def _next_key(fault: Fault) -> str:
    """The step of its kind, or one that its figures single out."""
    _, key = _keys(fault)
    if key == "next-gm":
        if fault.access.space in CAPACITIES:
            return "next-chip"
        if is_host_call(fault):
            return "next-host"
        return key if can_have_place(fault) else "next-gm-no-frame"
    if key == "next-race-pipes" and _is_between_devices(fault):
        return "next-race-devices"
    if key == "next-race-pipes" and _is_between_cores(fault):
        return "next-race-cores"
    if key == "next-race-pipes" and _is_between_threads(fault):
        return "next-race-threads"
    if key == "next-leak" and fault.figures.get("reach") == "indirect":
        return "next-leak-indirect"
    if key == "next-msan" and _origin_of(fault):
        return "next-msan-origin"
    return key


def gap_text(word: str, lang: Lang) -> str:
    """Why a log is not complete and what to run, for a word of `LogTrust.gaps`."""
    text = GAPS.get(word)
    if text is not None:
        return text[1 if lang == "zh" else 0]
    return GAP_UNKNOWN[1 if lang == "zh" else 0].format(word=quoted(word, 60))


def _keys(fault: Fault) -> tuple[str, str]:
    cause = fault.figures.get("cause")
    if isinstance(cause, str) and cause and "tag-mismatch" in fault.kind:
        return "why-tag-cause", _step_of_cause(cause, fault)
    if fault.kind in KINDS:
        return KINDS[fault.kind]
    if fault.kind.endswith(_OVERLAP):
        return "why-overlap", "next-copy"
    if fault.tool == "UndefinedBehaviorSanitizer":
        return KINDS["undefined-behavior"]
    return "why-general", "next-read"


def _step_of_cause(cause: str, fault: Fault) -> str:
    """What to do about a mismatch of tags whose real kind the tool names, as it does for that kind."""
    if cause == "use-after-free":
        return "next-freed"
    known = KINDS.get(cause) or KINDS.get(fault.kind)
    if cause in ("global-overflow", "global-underflow", "heap-buffer-underflow"):
        known = KINDS["global-buffer-overflow" if cause.startswith("global") else "heap-buffer-overflow"]
    return known[1] if known is not None else "next-read"


def _values(key: str, fault: Fault, lang: Lang) -> dict[str, str]:
    access = fault.access
    first, second = text_of(fault, "from_pipe", 20), text_of(fault, "to_pipe", 20)
    space = space_text(access.space, lang)
    instruction, register = quoted(access.instruction, 40), text_of(fault, "register", 40)
    told = access_text(access, lang)
    return {
        "access": raised(told, lang) if TEXTS[key][0].startswith("{access}") else told,
        "by": by_text(access, lang, is_host=is_host_call(fault)),
        "inside": inside_text(access, lang),
        "space": quoted(access.space, 20),
        "capacity": kib_text(CAPACITIES[access.space][0][0]) if access.space in CAPACITIES else "",
        "on": say(TEXTS, "race-on", lang, space=space) if space else "",
        "pipes": say(TEXTS, "flag-pipes", lang, first=first, second=second) if first and second else "",
        "instruction": say(TEXTS, "named" if instruction else "flag", lang, name=instruction),
        "register": say(TEXTS, "named" if register else "register", lang, name=register).lstrip(),
        "tool": quoted(fault.tool, 40),
        "kind": quoted(fault.kind),
        "cause": text_of(fault, "cause"),
    }


# ---- what each kind says beyond its first sentence ----


def _more_of_any(fault: Fault, lang: Lang) -> list[str]:
    """Of a bad access: the block beside it, and who made and freed that."""
    key, _ = _keys(fault)
    told = [block_text(fault, lang)]
    if key in _FREED:
        told.append(lifetime_text(fault, lang))
    told.append(block_places_text(fault.block, lang))
    if fault.access.address is not None and key in ("why-free", "why-double-free", "why-bad-free"):
        told.insert(0, say(TEXTS, "free-at", lang, address=f"{fault.access.address:#x}"))
    return told


def _more_illegal(fault: Fault, lang: Lang) -> list[str]:
    """Beyond the buffer of which chips, by how much."""
    told = []
    for each in on_chip(fault.access):
        if not each.is_beyond:
            continue
        is_whole = each.gap_bytes is not None
        amount = each.gap_bytes if is_whole else each.past_bytes
        told.append(
            say(
                TEXTS,
                "why-behind" if is_whole else "why-beyond",
                lang,
                gap=bytes_text(amount or 0, lang),
                past=bytes_text(amount or 0, lang),
                space=each.space,
                capacity=kib_text(each.capacity_bytes),
                chips=joined(each.chips, lang),
            )
        )
    return [*told, *_more_of_any(fault, lang)]


def _more_misaligned(fault: Fault, lang: Lang) -> list[str]:
    access, boundary = fault.access, bytes_text(MOVE_BYTES, lang)
    if access.address is None:
        return []
    found = alignment(access)
    if found is None:
        return [say(TEXTS, "align-fine", lang, boundary=boundary)]
    told = []
    if not found.is_aligned:
        told.append(
            say(
                TEXTS,
                "align-behind",
                lang,
                address=f"{found.address:#x}",
                behind=bytes_text(found.behind_bytes, lang),
                ahead=bytes_text(found.ahead_bytes, lang),
                boundary=boundary,
            )
        )
    if found.size_over_bytes:
        size = bytes_text(access.size_bytes or 0, lang)
        told.append(say(TEXTS, "align-size", lang, size=size, boundary=boundary))
    return told


def _more_kept(fault: Fault, lang: Lang) -> list[str]:
    """Of leaks and of unused memory: how much, whether something points to it, who allocated it."""
    told = []
    size = fault.size_bytes
    if size is not None:
        amount = bytes_text(size, lang)
        n = fault.n_objects
        if n is not None and n > 1:
            told.append(say(TEXTS, "kept-objects", lang, size=amount, n=f"{n:,}"))
        else:
            told.append(say(TEXTS, "kept-size", lang, size=amount))
    reached = text_of(fault, "reach", 20)
    if f"leak-{reached}" in TEXTS:
        told.append(say(TEXTS, f"leak-{reached}", lang))
    frames = fault.block.allocated if fault.block and fault.block.allocated else fault.access.frames
    function = function_text(frames)
    if function:
        told.append(say(TEXTS, "leak-function", lang, function=function))
    return told


def _is_between_devices(fault: Fault) -> bool:
    return len(set(_devices_of(fault).values())) == 2


def _devices_of(fault: Fault) -> dict[str, int]:
    """The devices of both sides of a race, where both are told."""
    devices = [side.device for side in fault.accesses[:2]]
    told = [device for device in devices if device is not None]
    return {"first": told[0], "second": told[1]} if len(told) == 2 else {}


def _is_between_cores(fault: Fault) -> bool:
    sides = fault.accesses[:2]
    if len(sides) < 2:
        return False
    cores = [(side.device, side.cores) for side in sides]
    return all(side.cores for side in sides) and cores[0] != cores[1]


def _is_between_threads(fault: Fault) -> bool:
    """Whether both sides are threads of a SIMT kernel: no pipe of the core makes them wait for each other."""
    sides = fault.accesses[:2]
    return len(sides) == 2 and all(side.thread for side in sides) and sides[0].thread != sides[1].thread


def _side(access: Access, lang: Lang, *, with_device: bool) -> str:
    word = say(TEXTS, f"access-{access.word}" if access.word in ("read", "write") else "access", lang)
    pipe, cores = quoted(access.pipe, 20), cores_text(access, lang)
    return say(
        TEXTS,
        "race-side",
        lang,
        word=word,
        pipe=say(TEXTS, "race-pipe", lang, pipe=pipe) if pipe else "",
        thread=say(TEXTS, "race-thread", lang, thread=quoted(access.thread, 40)) if access.thread else "",
        cores=say(TEXTS, "race-cores", lang, cores=cores) if cores else "",
        device=say(TEXTS, "race-device", lang, n=access.device) if with_device else "",
    )


def _more_race(fault: Fault, lang: Lang) -> list[str]:
    told = []
    if f"race-{fault.hazard}" in TEXTS:
        told.append(say(TEXTS, f"race-{fault.hazard}", lang))
    sides = fault.accesses[:2]
    if len(sides) == 2 and any(side.pipe or side.cores or side.thread for side in sides):
        with_device = _is_between_devices(fault)
        first, second = (_side(side, lang, with_device=with_device) for side in sides)
        told.append(say(TEXTS, "race-sides", lang, first=first, second=second))
    return told


def _more_threads(fault: Fault, lang: Lang) -> list[str]:
    """Of a data race: both threads with their lines, where they were created, the block."""
    told = []
    sides = fault.accesses[:2]
    if len(sides) == 2:
        first, second = (_thread_side(side, lang) for side in sides)
        told.append(say(TEXTS, "threads-sides", lang, first=first, second=second))
    for thread, frames in _created(fault):
        place = line_of(frames)
        if place:
            name = raised(_thread_name(thread, lang), lang)
            told.append(say(TEXTS, "threads-created", lang, thread=name, place=place))
    return [*told, *_more_of_any(fault, lang)]


def _created(fault: Fault) -> list[tuple[str, tuple[Frame, ...]]]:
    """The first threads whose creation the report tells, each with the stack that created it."""
    told = fault.figures.get("created_by")
    return [(one[0], one[2]) for one in told[:2]] if isinstance(told, tuple) else []


def _thread_side(access: Access, lang: Lang) -> str:
    word = say(TEXTS, f"access-{access.word}" if access.word in ("read", "write") else "access", lang)
    thread, place = _thread_name(access.thread, lang), line_of(access.frames)
    return say(
        TEXTS,
        "threads-side",
        lang,
        word=word,
        thread=say(TEXTS, "threads-by", lang, thread=thread) if thread else "",
        place=say(TEXTS, "threads-at", lang, place=place) if place else "",
    )


def _thread_name(thread: str, lang: Lang) -> str:
    if thread in ("main thread", "the main thread"):
        return say(TEXTS, "threads-main", lang)
    return say(TEXTS, "threads-named", lang, thread=quoted(thread, 40)) if thread else ""


def _more_lock_up(fault: Fault, lang: Lang) -> list[str]:
    told = []
    n = int_of(fault, "n_pipes")
    if n is None:
        n = len(fault.accesses) or None
    if n is not None:
        told.append(say(TEXTS, "lock-pipe" if n == 1 else "lock-pipes", lang, n=f"{n:,}"))
    n_listed = len(fault.accesses)
    if n is not None and n_listed and n > n_listed:
        told.append(say(TEXTS, "lock-fewer", lang, n=f"{n_listed:,}"))
    # who waits first is where it began: the others wait for it, or for those behind it
    known = sorted(fault.accesses, key=_by_serial)
    shown = [text for text in (_waiting(access, lang) for access in known[:_SHOWN_PIPES]) if text]
    if not shown:
        return told
    has_order = all(access.serial_number is not None for access in known) and n_listed > 1
    key = "lock-listed-order" if has_order else "lock-listed"
    n_more = n_listed - len(shown)
    more = say(TEXTS, "lock-more", lang, n=f"{n_more:,}") if n_more else ""
    return [*told, say(TEXTS, key, lang, pipes=joined(shown, lang), more=more)]


def _by_serial(access: Access) -> tuple[bool, int]:
    """Serial numbers in ascending order, accesses without one behind them as they come."""
    return access.serial_number is None, access.serial_number or 0


def _waiting(access: Access, lang: Lang) -> str:
    """One pipe: "PIPE_V WAIT_FLAG aiv(0) serialNo 29", with what is told of it."""
    serial = "" if access.serial_number is None else f"serialNo {access.serial_number}"
    parts = (quoted(access.pipe, 20), quoted(access.instruction, 40), cores_text(access, lang))
    told = " ".join(part for part in parts if part)
    return f"{told} {serial}".strip() if told else ""


def _origin_of(fault: Fault) -> tuple[Frame, ...]:
    """The stack that created an uninitialised value: the last of `origins`; () if it is not told."""
    origins = fault.figures.get("origins")
    if not isinstance(origins, tuple) or not origins or not isinstance(origins[-1], tuple):
        return ()
    return tuple(frame for frame in origins[-1] if isinstance(frame, Frame))


def _more_msan(fault: Fault, lang: Lang) -> list[str]:
    """Where the value was created, if the report has it."""
    frames = _origin_of(fault)
    at = user_frame(frames)
    if at is None:
        return []
    frame = frames[at]
    place = f"{quoted(frame.file)}:{frame.line}" if frame.has_line else function_text(frames)
    return [say(TEXTS, "msan-origin", lang, place=place)] if place else []


def _more_register(fault: Fault, lang: Lang) -> list[str]:
    expected, current = text_of(fault, "expected", 40), text_of(fault, "current", 40)
    if not expected or not current:
        return []
    return [say(TEXTS, "register-values", lang, expected=expected, current=current)]


def _more_mask(fault: Fault, lang: Lang) -> list[str]:
    mode = text_of(fault, "mask_mode", 20)
    return [say(TEXTS, "mask-mode", lang, mode=mode)] if mode else []


def _more_segv(fault: Fault, lang: Lang) -> list[str]:
    address = fault.access.address
    return [say(TEXTS, "segv-zero", lang)] if address is not None and 0 <= address < _NULL_PAGE else []


def _more_size(fault: Fault, lang: Lang) -> list[str]:
    """Of a size that was asked for, where the report has it."""
    size = fault.size_bytes if fault.size_bytes is not None else fault.access.size_bytes
    if size is None:
        return []
    if size < 0:
        return [say(TEXTS, "negative-size", lang, n=f"{size:,}")]
    return [say(TEXTS, "asked-size", lang, size=bytes_text(size, lang))]


def _more_message(fault: Fault, lang: Lang) -> list[str]:
    """The log's own words: of undefined behaviour they have the values, of unknown kinds all there is."""
    message = quoted(fault.message, MAX_MESSAGE)
    return [say(TEXTS, "says", lang, message=message)] if message else []


_TELLS_MESSAGE = (
    *("why-undefined", "why-int-overflow", "why-div-zero", "why-shift", "why-index", "why-ub-align"),
    *("why-null", "why-object-size", "why-pointer", "why-bad-value", "why-cast", "why-flow", "why-vla"),
    *("why-function-type", "why-overlap", "why-product", "why-bad-alignment", "why-abrt"),
    *("why-other", "why-general"),
)

_MORE: dict[str, _More] = {
    **dict.fromkeys(_TELLS_MESSAGE, _more_message),
    "why-illegal": _more_illegal,
    "why-illegal-chip": _more_illegal,
    "why-illegal-in-chip": _more_of_any,
    "why-misaligned": _more_misaligned,
    "why-leak": _more_kept,
    "why-unused": _more_kept,
    "why-race": _more_race,
    "why-dcci": _more_race,
    "why-data-race": _more_threads,
    "why-lock-up": _more_lock_up,
    "why-register": _more_register,
    "why-mask": _more_mask,
    "why-segv": _more_segv,
    "why-msan": _more_msan,
    "why-negative": _more_size,
    "why-too-big": _more_size,
    "why-host-memory": _more_size,
}

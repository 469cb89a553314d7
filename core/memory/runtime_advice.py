"""What runtime, framework, compiler and debugger tell, in words: exceptions, codes, lack of memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from npulse.core.formats.error_codes import ERROR_BITS, ErrorBit, ErrorCode, family_of, look_up, pick
from npulse.core.text import Lang, say

from .faults import Fault
from .hints import buffer_need
from .kind_texts import TEXTS
from .phrases import (
    MAX_MESSAGE,
    amount_text,
    bytes_text,
    int_of,
    joined,
    kib_texts,
    quoted,
    raised,
    text_of,
    texts_of,
)
from .shortage import Shortage, shortage

_BITS: Mapping[str, ErrorBit] = {bit.name: bit for bit in ERROR_BITS}
_SHOWN_BITS = 3
_SHOWN_CODES = 6
_MUCH = 10  # from a tenth of the unused memory on, what a stream awaits is told
_LATE_RETURNS = (0x25, 0x27, 0x30, 0x32)  # time-outs and traps of both sorts of cores


def _said(key: str, lang: Lang, **values: Any) -> str:
    return say(TEXTS, key, lang, **values)


# ---- AI Core exceptions and other failed tasks ----


def _return_text(fault: Fault, lang: Lang) -> str:
    text, code = text_of(fault, "ret_text", 60), int_of(fault, "ret_code")
    known = look_up(f"{code:#x}") if code is not None else None
    if not text and known is not None:
        text = known.name
    parts = [text, f"{code:#x}" if code is not None else ""]
    shown = joined([part for part in parts if part], lang)
    return _said("ret", lang, text=shown) if shown else ""


def _task_text(fault: Fault, lang: Lang) -> str:
    task = fault.task
    if task is None:
        return ""
    pairs = (("device", task.device), ("stream", task.stream), ("task", task.task), ("flip", task.flip))
    ids = [_said(f"id-{name}", lang, n=n) for name, n in pairs if n is not None]
    return _said("task-ids", lang, ids=joined(ids, lang)) if ids else ""


def _kernel_text(fault: Fault, lang: Lang, key: str = "kernel-unknown") -> str:
    named = text_of(fault, "op_type") or text_of(fault, "kernel_name")  # the first has no hash
    kernel = named or quoted(fault.access.kernel)
    node = text_of(fault, "node_name")
    if not kernel:
        return _said(key, lang)
    return _said("kernel-node" if node else "kernel", lang, kernel=kernel, node=node)


def _bits_of(fault: Fault) -> list[ErrorBit]:
    return [_BITS[name] for name in texts_of(fault, "error_bits", len(ERROR_BITS)) if name in _BITS]


def _is_late(fault: Fault) -> bool:
    """A time-out or a trap: by its return code, or by error words that have no bit set."""
    return not _bits_of(fault) and (_is_zero(fault) or int_of(fault, "ret_code") in _LATE_RETURNS)


def _is_zero(fault: Fault) -> bool:
    """The error words are there, and no bit of them is set."""
    words = fault.figures.get("error_words")
    return isinstance(words, (tuple, list)) and bool(words) and not any(words)


def _bits_text(fault: Fault, lang: Lang) -> str:
    """The first bits by name, with what they mean where that is known."""
    bits = _bits_of(fault)
    if not bits:
        return ""
    first = sorted(bits, key=lambda bit: not pick(bit.meaning, lang))[:_SHOWN_BITS]  # those with a meaning
    shown = []
    for bit in first:
        meaning = pick(bit.meaning, lang)
        shown.append(f"{bit.name} ({meaning})" if meaning else bit.name)
    n_more = len(bits) - len(first)
    return _said("error-bits-more" if n_more else "error-bits", lang, bits=joined(shown, lang), n=n_more)


def _why_aicore(fault: Fault, lang: Lang) -> list[str]:
    is_late = _is_late(fault) and not _has_error(fault)
    key = "why-aicore-time" if is_late else "why-aicore"
    told = [_said(key, lang, kernel=_kernel_text(fault, lang), ret=_return_text(fault, lang)).lstrip()]
    told.append(_said("no-error-bit", lang) if is_late and _is_zero(fault) else _bits_text(fault, lang))
    code = int_of(fault, "error_code")
    if not told[-1] and code:
        told.append(_said("error-code-told", lang, code=f"{code:#x}"))
    text = text_of(fault, "error_text", MAX_MESSAGE)
    if text:
        told.append(_said("says", lang, message=text))
    fixed, offset = int_of(fault, "fixed_pc_offset"), int_of(fault, "pc_offset")
    if fixed is not None:
        told.append(_said("pc-fixed", lang, offset=f"{fixed:#x}"))
    elif offset is not None:
        key = "pc-before" if offset < 0 else "pc-offset"
        told.append(_said(key, lang, offset=f"{abs(offset):#x}"))
    return [*told, _task_text(fault, lang)]


def _has_error(fault: Fault) -> bool:
    """A code that is not 0 says more than words of zeros."""
    return bool(int_of(fault, "error_code")) or bool(int_of(fault, "error_number"))


def _next_aicore(fault: Fault, lang: Lang) -> list[str]:
    bits = _bits_of(fault)
    if bits and all(bit.is_hardware for bit in bits):
        told = [_said("next-hardware", lang)]
    elif _is_late(fault) and not _has_error(fault):
        told = [_said("next-aicore-time", lang)]
    else:
        told = [_said("next-aicore", lang)]
        if any(bit.is_hardware for bit in bits):
            told.append(_said("next-hardware", lang))
    files = fault.figures.get("files")
    n = len(files) if isinstance(files, (tuple, list)) else 0
    if n:
        told.append(_said("next-file" if n == 1 else "next-files", lang, n=n))
    return told


def _why_task(fault: Fault, lang: Lang) -> list[str]:
    is_late = fault.figures.get("is_timeout") is True or "timeout" in text_of(fault, "ret_text")
    told = _said(
        "why-task-time" if is_late else "why-task",
        lang,
        task=_kernel_text(fault, lang, "task-unknown"),
        ret=_return_text(fault, lang),
    )
    return [told, _task_text(fault, lang)]


def _next_task(fault: Fault, lang: Lang) -> list[str]:
    code = int_of(fault, "ret_code")
    known = look_up(f"{code:#x}") if code is not None else None
    step = pick(known.next_step, lang) if known is not None else ""
    told = [_said("next-code", lang, step=raised(step, lang))] if step else []
    return [*told, _said("next-task", lang)]


# ---- collectives, codes, Python ----


def _why_collective(fault: Fault, lang: Lang) -> list[str]:
    seconds, rank = int_of(fault, "timeout_s"), text_of(fault, "remote_rank", 40)
    told = [
        _said(
            "why-collective",
            lang,
            seconds=_said("collective-seconds", lang, n=f"{seconds:,}") if seconds is not None else "",
        )
    ]
    if rank and rank != "unknown":
        told.append(_said("collective-rank", lang, rank=rank))
    elif rank:
        told.append(_said("collective-nobody", lang))
    return [*told, _said("collective-follows", lang), _task_text(fault, lang)]


def _known_code(fault: Fault) -> ErrorCode | None:
    return look_up(text_of(fault, "code", 20))


def _why_code(fault: Fault, lang: Lang) -> list[str]:
    code, known = text_of(fault, "code", 20), _known_code(fault)
    told = []
    if not code:
        told.append(_said("why-code-none", lang))
    elif known is None:
        family = family_of(code)
        told.append(
            _said("why-code-unknown", lang, code=code)
            if family is None
            else _said("why-code-family", lang, code=code, family=pick(family, lang))
        )
    elif not known.is_real:
        told.append(_said("why-code-false", lang, code=code))
    else:
        told.append(_said("why-code", lang, code=code, meaning=pick(known.meaning, lang)))
        cause = pick(known.cause, lang)
        told.append(_said("code-cause", lang, cause=cause) if cause else "")
    title, api = text_of(fault, "title", 80), text_of(fault, "api", 80)
    if title and known is None:
        told.append(_said("code-title", lang, title=title))
    if api:
        told.append(_said("code-api", lang, api=api))
    if known is None or not known.is_real:
        message = quoted(fault.message, MAX_MESSAGE)
        told.append(_said("says", lang, message=message) if message else "")
    return told


def _next_code(fault: Fault, lang: Lang) -> list[str]:
    known = _known_code(fault)
    step = pick(known.next_step, lang) if known is not None else ""
    told = [_said("next-code", lang, step=raised(step, lang)) if step else _said("next-code-unknown", lang)]
    if known is not None and known.see:
        told.append(_said("next-code-see", lang, see=joined(known.see[:_SHOWN_CODES], lang)))
    return told


def _why_python(fault: Fault, lang: Lang) -> list[str]:
    is_late = fault.figures.get("is_asynchronous") is True
    told = [_said("why-python-late" if is_late else "why-python", lang)]
    error, operator = text_of(fault, "error", MAX_MESSAGE), text_of(fault, "operator_name")
    if error:
        told.append(_said("python-error", lang, error=error))
    if is_late and operator:
        told.append(_said("python-operator", lang, operator=operator))
    return told


def _next_python(fault: Fault, lang: Lang) -> list[str]:
    is_late = fault.figures.get("is_asynchronous") is True
    return [_said("next-python-late" if is_late else "next-python", lang)]


# ---- memory that ran out ----


def _why_shortage(fault: Fault, lang: Lang) -> list[str]:
    found = shortage(fault.figures)
    tried = found.tried_bytes
    told = [
        _said("why-oom-tried", lang, tried=amount_text(tried))
        if tried is not None
        else _said("why-oom", lang)
    ]
    kernel = text_of(fault, "kernel_name")
    if kernel:
        told.append(_said("oom-kernel", lang, kernel=kernel))
    causes = _causes(found, lang)
    if not causes:
        answers = (found.is_too_large, found.is_fragmented, found.is_held_by_others)
        causes = [_said("oom-unknown" if None in answers else "oom-none", lang)]
    return [*told, *causes]


def _causes(found: Shortage, lang: Lang) -> list[str]:
    """Each cause that the figures bear out, with the bytes that speak for it."""

    def size(n: int | None) -> str:
        return amount_text(n or 0)

    told = []
    if found.is_too_large:
        if found.needed_bytes is None:
            told.append(_said("oom-too-large-alone", lang, limit=size(found.limit_bytes)))
        else:
            told.append(
                _said(
                    "oom-too-large",
                    lang,
                    allocated=size(found.allocated_bytes),
                    tried=size(found.tried_bytes),
                    needed=size(found.needed_bytes),
                    limit=size(found.limit_bytes),
                )
            )
    elif found.is_too_large_beside:
        share = (found.allocated_bytes or 0) / (found.total_bytes or 1)
        told.append(
            _said(
                "oom-too-large-beside",
                lang,
                allocated=size(found.allocated_bytes),
                share=f"{share:.0%}",
                total=size(found.total_bytes),
                tried=size(found.tried_bytes),
                needed=size(found.needed_bytes),
                most=size(found.reachable_bytes),
                kept=size(found.others_bytes),
            )
        )
    unused, available = size(found.unused_bytes), size(found.available_bytes)
    if found.is_awaited:
        awaited, idle = size(found.awaited_bytes), size(found.idle_bytes)
        told.append(_said("oom-awaited", lang, unused=unused, awaited=awaited, idle=idle))
    elif found.is_fragmented or found.would_fit_joined:
        key = "oom-pieces" if found.is_fragmented else "oom-joined"
        told.append(_said(key, lang, unused=unused, available=available))
        if _MUCH * (found.awaited_bytes or 0) >= (found.unused_bytes or 0):
            told.append(_said("oom-awaited-part", lang, awaited=size(found.awaited_bytes)))
    if found.is_held_by_others:
        key = "oom-others" if found.in_use_bytes is not None else "oom-others-reserved"
        told.append(_said(key, lang, others=size(found.others_bytes), total=size(found.total_bytes)))
    if found.is_enough_free and not found.is_too_large:
        told.append(_said("oom-enough", lang, available=available))
    return told


def _next_shortage(fault: Fault, lang: Lang) -> list[str]:
    found = shortage(fault.figures)
    is_cuda = "CUDA" in (text_of(fault, "device"), *fault.message[:200].replace(":", " ").split())
    told = []
    if found.is_too_large or found.is_too_large_beside:
        told.append(_said("next-oom-large", lang))
    if found.is_awaited:
        told.append(_said("next-oom-awaited", lang))
    if found.is_fragmented or found.would_fit_joined:
        is_torch = text_of(fault, "allocator") in ("", "caching", "workspace") and fault.tool == "torch_npu"
        key = (
            "next-oom-pieces-cuda" if is_cuda else "next-oom-pieces" if is_torch else "next-oom-pieces-other"
        )
        told.append(_said(key, lang))
    if found.is_held_by_others:
        told.append(_said("next-oom-others-cuda" if is_cuda else "next-oom-others", lang))
    look = "next-oom-enough" if found.is_enough_free and not is_cuda else "next-oom-look"
    return told or [_said(look, lang)]


# ---- compilers, pools, debuggers ----


def _why_compile(fault: Fault, lang: Lang) -> list[str]:
    buffer = text_of(fault, "buffer", 40)
    told = [_said("why-compile", lang, buffer=_said("compile-buffer", lang, buffer=buffer) if buffer else "")]
    need = buffer_need(int_of(fault, "required_bits"), int_of(fault, "available_bits"))
    if need is None:
        return told
    required, available = need.required_bytes, need.available_bytes
    needed_kib, *available_kib = kib_texts(required, *(() if available is None else (available,)))
    told.append(
        _said(
            "compile-needs",
            lang,
            bits=f"{need.required_bits:,}",
            bytes=bytes_text(required, lang),
            kib=needed_kib,
        )
    )
    if available is not None:
        bits = f"{need.available_bits or 0:,}"
        told.append(
            _said("compile-has", lang, bits=bits, bytes=bytes_text(available, lang), kib=available_kib[0])
        )
    if need.excess_bytes is not None and need.ratio is not None:
        excess = bytes_text(need.excess_bytes, lang)
        ratio = f"{need.ratio:.5g}"
        if ratio == "1":  # too little above it to be told as a factor
            told.append(_said("compile-excess", lang, excess=excess))
        else:
            told.append(_said("compile-ratio", lang, ratio=ratio, excess=excess))
    return told


def _next_compile(fault: Fault, lang: Lang) -> list[str]:
    need = buffer_need(
        int_of(fault, "required_bits"), int_of(fault, "available_bits"), int_of(fault, "block_size")
    )
    if need is None or need.fitting is None:
        return [_said("next-compile", lang)]
    told = [_said("next-compile-fit", lang, fitting=f"{need.fitting:,}", used=f"{need.block_size:,}")]
    multiple, power = need.fitting_multiple, need.fitting_power
    if multiple is not None:
        told.append(_said("next-compile-even", lang, multiple=f"{multiple:,}", power=f"{power:,}"))
    else:
        told.append(_said("next-compile-power", lang, power=f"{power:,}"))
    return told


def _why_stop(fault: Fault, lang: Lang) -> list[str]:
    reason = text_of(fault, "reason", 60) or quoted(fault.message, 60)
    is_error = reason.endswith("_ERROR")
    told = [_said("why-stop-late" if is_error else "why-stop", lang)]
    if reason:
        told.append(_said("stop-reason", lang, reason=reason))
    others = [quoted(text) for text in texts_of(fault, "other_stops")]
    return [*told, _said("stop-others", lang, cores=joined(others, lang))] if others else told


MORE: Mapping[str, Callable[[Fault, Lang], list[str]]] = {
    "aicore exception": _why_aicore,
    "task failure": _why_task,
    "collective time-out": _why_collective,
    "error code": _why_code,
    "python error": _why_python,
    "out of memory": _why_shortage,
    "buffer overflow at compile time": _why_compile,
    "debugger stop": _why_stop,
}
"""Kind -> what happened, as sentences."""

NEXT: Mapping[str, Callable[[Fault, Lang], list[str]]] = {
    "aicore exception": _next_aicore,
    "task failure": _next_task,
    "collective time-out": lambda _, lang: [_said("next-ranks", lang)],
    "error code": _next_code,
    "python error": _next_python,
    "out of memory": _next_shortage,
    "buffer overflow at compile time": _next_compile,
    "debugger stop": lambda _, lang: [_said("next-stop", lang)],
}
"""Kind -> what to do, as sentences."""

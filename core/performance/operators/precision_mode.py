"""Whether fp32 matmuls and convolutions compute as HF32, and what else is said of the precision mode.

A table that does not record it is "unknown", never "high precision".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npulse.core.figures import time_text
from npulse.core.findings import Related
from npulse.core.text import columns_of, safe_text

from ..advice import Advice, words
from ..criteria import Criteria
from .calls import CUBE, MIX_CUBE, Calls, Flags, percent, shown_percent, sums_of, us
from .tensors import dtypes_of
from .texts_patterns import TEXTS

_MATRIX = ("matmul", "gemm", "conv2d", "conv3d", "convolution", "linear", "deconv", "depthwise")
_SETTINGS = ("precision", "hf32", "fp32", "impl_mode", "deterministic")
"""Words in the name of an environment variable that speak of it."""
_MODES = ("high_precision", "high_performance")
_MAX_TOLD = 6


def precision_advice(calls: Calls, criteria: Criteria) -> Iterator[Advice]:
    """One note: the mode as recorded, or that it is unknown and how to record it."""
    if not calls.is_kernel.any():
        return
    settings = {
        safe_text(name, 60): safe_text(value, 60)
        for name, value in calls.profile.settings.env.items()
        if value and any(word in name.lower() for word in _SETTINGS)
    }
    modes = {mode: int(_named(calls, mode).sum()) for mode in _MODES}
    if not calls.has("hf32"):
        yield Advice(
            rule="performance.precision-mode",
            severity="note",
            subject="HF32 Eligible",
            message=words(TEXTS, "precision-unknown", seen=_seen(modes, settings)),
            next_step=words(TEXTS, "precision-unknown-next"),
            figures={**_mode_figures(modes), "settings": settings},
            role="unknown",
            profile=calls.profile.name,
        )
        return
    yield _recorded(calls, modes, settings)


def _recorded(calls: Calls, modes: dict[str, int], settings: dict[str, str]) -> Advice:
    texts = [text.strip().upper() for text in calls.table.texts("hf32")]
    yes = calls.marked("hf32", [text in ("YES", "TRUE") for text in texts]) & calls.is_kernel
    no = calls.marked("hf32", [text in ("NO", "FALSE") for text in texts]) & calls.is_kernel
    fp32 = _fp32_matrix(calls)
    high, fast = fp32 & no, fp32 & yes
    n_unknown = int((fp32 & ~yes & ~no).sum())
    high_ns, fast_ns = calls.ns_of(high), calls.ns_of(fast)
    share = percent(high_ns, calls.kernel_ns)
    if high.any():
        key = "precision-mixed" if fast.any() else "precision-high"
    elif n_unknown:
        key = "precision-na"
    else:
        key = "precision-hf32" if fast.any() else "precision-none"
    at = np.flatnonzero(high if high.any() else fast)
    subject = "HF32 Eligible"
    location = calls.location(0)
    if len(at):
        longest = int(at[np.argmax(calls.duration_ns[at])])
        subject, location = calls.name(longest), calls.location(longest)
    kinds = _by_kind(calls, high)
    next_step = ("", "")
    if high.any():
        next_step = words(TEXTS, "precision-high-next")
    elif n_unknown:
        next_step = words(TEXTS, "precision-unknown-next")
    return Advice(
        rule="performance.precision-mode",
        severity="note",
        subject=subject,
        message=words(
            TEXTS,
            key,
            n_high=int(high.sum()),
            high=time_text(high_ns),
            share=shown_percent(share),
            n_fast=int(fast.sum()),
            fast=time_text(fast_ns),
            n_unknown=n_unknown,
            seen=_seen(modes, settings),
        ),
        next_step=next_step,
        figures={
            "n_hf32_yes_calls": int(yes.sum()),
            "n_hf32_no_calls": int(no.sum()),
            "n_fp32_matrix_calls": int(fp32.sum()),
            "n_fp32_matrix_without_hf32": int(high.sum()),
            "fp32_matrix_without_hf32_us": us(high_ns),
            "fp32_matrix_with_hf32_us": us(fast_ns),
            "n_fp32_matrix_unknown": n_unknown,
            "share_percent": share,
            **_mode_figures(modes),
            "settings": settings,
        },
        role="suspect" if high.any() else "unknown" if n_unknown else "ok",
        profile=calls.profile.name,
        related=tuple(Related("suspect", kind, {"n_calls": n, "total_us": us(ns)}) for kind, n, ns in kinds),
        location=location,
        told=tuple(columns_of([(kind, f"{n:,}", time_text(ns)) for kind, n, ns in kinds])) if kinds else (),
    )


def _fp32_matrix(calls: Calls) -> Flags:
    """Matmuls and convolutions on the cube cores of which every float input is fp32."""
    is_matrix = calls.marked("kind", [any(word in kind.lower() for word in _MATRIX) for kind in calls.kinds])
    is_fp32 = calls.marked("input_dtypes", [_is_fp32(text) for text in calls.table.texts("input_dtypes")])
    return is_matrix & is_fp32 & np.isin(calls.core, (CUBE, MIX_CUBE))


def _is_fp32(text: str) -> bool:
    floats = [dtype for dtype in dtypes_of(text) if "FLOAT" in dtype or dtype in ("BF16", "DOUBLE")]
    return bool(floats) and all(dtype == "FLOAT" for dtype in floats)


def _named(calls: Calls, mode: str) -> Flags:
    """Calls whose name says the implementation mode that the kernel was built for."""
    return calls.is_kernel & calls.marked(
        "name", [mode in name.lower() for name in calls.table.texts("name")]
    )


def _by_kind(calls: Calls, mask: Flags) -> list[tuple[str, int, int]]:
    """(type, calls, ns) of some calls, the most expensive first."""
    kinds = calls.kind[mask]
    n = np.bincount(kinds[kinds >= 0], minlength=len(calls.kinds))
    totals = sums_of(kinds, calls.duration_ns[mask], len(calls.kinds))
    order = [i for i in np.argsort(-totals, kind="stable").tolist() if n[i]]
    return [(calls.kind_name(i), int(n[i]), int(totals[i])) for i in order[:_MAX_TOLD]]


def _mode_figures(modes: dict[str, int]) -> dict[str, int]:
    return {f"n_named_{mode}": n for mode, n in modes.items()}


def _seen(modes: dict[str, int], settings: dict[str, str]) -> str:
    """What names and settings say, as ' (high_performance: 12; ALLOW_HF32=1)'; "" if nothing."""
    said = [f"{mode}: {n:,}" for mode, n in modes.items() if n]
    said += [f"{name}={value}" for name, value in list(settings.items())[:4]]
    return f" ({'; '.join(said)})" if said else ""

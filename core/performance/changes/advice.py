"""What is said of two rounds side by side."""

from __future__ import annotations

from collections.abc import Iterator

from npulse.core.figures import time_text
from npulse.core.text import safe_text

from ..advice import Advice, Words, words
from .align import Replacement
from .compare import LEAST_SHARE, Changes, TypeChange
from .noise import Difference
from .texts import TEXTS

LEAST_LOSS = 0.2
"""Of a gain: what the neighbours must lose before it is said."""
MAX_TOLD = 20
_MAX_NAMES = 6


def advice_of_changes(changes: Changes) -> Iterator[Advice]:
    """The whole step first, then what became slower, what a gain cost next door, what was replaced."""
    total = changes.totals.get("step") or changes.totals["kernels"]
    yield _total(changes, "step" if "step" in changes.totals else "kernels", total)
    least = LEAST_SHARE * max(total.before_ns, total.after_ns)
    told = [one for one in changes.types if one.n_before and one.n_after]
    told = [one for one in told if abs(one.time.delta_ns) >= least]
    for one in [one for one in told if one.time.verdict == "worse"][:MAX_TOLD]:
        yield _type(one, is_slower=True)
    for one in [one for one in told if one.time.verdict == "better"][:MAX_TOLD]:
        if one.side_ns > LEAST_LOSS * -one.time.delta_ns:
            yield _cost(one)
        else:
            yield _type(one, is_slower=False)
    for found in [one for one in changes.replacements if abs(one.delta_ns) >= least][:MAX_TOLD]:
        yield _replacement(found)


def _total(changes: Changes, name: str, total: Difference) -> Advice:
    filled = [
        TEXTS["total"][place].format(
            before=safe_text(changes.before, 80),
            after=safe_text(changes.after, 80),
            old=time_text(total.before_ns),
            new=time_text(total.after_ns),
            percent=_percent(total),
            verdict=_verdict(total)[place],
            parts="; ".join(_parts(changes, name, place)),
        )
        for place in (0, 1)
    ]
    is_worse = total.verdict == "worse"
    next_key = {"worse": "next-total-worse", "unknown": "next-total-unknown"}.get(total.verdict)
    figures: dict[str, object] = {"verdict": total.verdict, "noise_basis": total.basis}
    for key, part in changes.totals.items():
        figures[f"{key}_before_us"] = part.before_ns / 1000
        figures[f"{key}_after_us"] = part.after_ns / 1000
    if total.noise_ns is not None:
        figures["noise_us"] = total.noise_ns / 1000
    if total.percent is not None:
        figures["change_percent"] = total.percent
    return Advice(
        rule="performance.round-total",
        severity="warning" if is_worse else "note",
        role="origin" if is_worse else "ok" if total.verdict != "unknown" else "unknown",
        subject=changes.after,
        message=(filled[0], filled[1]),
        next_step=words(TEXTS, next_key) if next_key else ("", ""),
        figures=figures,
        cost_ns=max(0, total.delta_ns),
    )


def _parts(changes: Changes, but: str, place: int) -> Iterator[str]:
    for key, part in changes.totals.items():
        if key != but:
            name, old, new = TEXTS[f"name-{key}"][place], part.before_ns, part.after_ns
            yield TEXTS["part"][place].format(name=name, old=time_text(old), new=time_text(new))


def _type(one: TypeChange, *, is_slower: bool) -> Advice:
    verdict = _verdict(one.time)
    beside = _beside(one)
    message = tuple(
        TEXTS["slower"][place].format(
            name=safe_text(one.name, 80),
            old=time_text(one.time.before_ns),
            new=time_text(one.time.after_ns),
            percent=_percent(one.time),
            n_old=one.n_before,
            n_new=one.n_after,
            verdict=verdict[place],
        )
        + (TEXTS["beside"][place].format(list=beside[place]) if beside[place] else "")
        for place in (0, 1)
    )
    return Advice(
        rule="performance.operator-slower" if is_slower else "performance.operator-faster",
        severity="warning" if is_slower else "note",
        role="suspect" if is_slower else "ok",
        subject=one.name,
        message=(message[0], message[1]),
        next_step=words(TEXTS, "next-slower" if is_slower else "next-faster"),
        figures=_figures(one),
        cost_ns=abs(one.time.delta_ns),
    )


def _cost(one: TypeChange) -> Advice:
    beside = _beside(one)
    message = tuple(
        TEXTS["cost"][place].format(
            name=safe_text(one.name, 80),
            gain=time_text(-one.time.delta_ns),
            loss=time_text(one.side_ns),
            list=beside[place],
            net=_signed(one.net_ns),
        )
        for place in (0, 1)
    )
    return Advice(
        rule="performance.cost-next-door",
        severity="warning",
        subject=one.name,
        message=(message[0], message[1]),
        next_step=words(TEXTS, "next-cost", name=safe_text(one.name, 80)),
        figures=_figures(one),
        cost_ns=one.side_ns,
    )


def _replacement(one: Replacement) -> Advice:
    is_worse = one.delta_ns > 0
    subject = " + ".join(one.after or one.before)
    old, new = time_text(one.before_ns), time_text(one.after_ns)
    return Advice(
        rule="performance.operator-replaced",
        severity="warning" if is_worse else "note",
        role="suspect" if is_worse else "ok",
        subject=subject[:200],
        message=words(
            TEXTS,
            one.kind,
            before=_list(one.before),
            after=_list(one.after),
            n_before=len(one.before),
            n_after=len(one.after),
            n=one.n,
            old=old,
            new=new,
        ),
        next_step=words(TEXTS, "next-replaced-worse") if is_worse else ("", ""),
        figures={
            "kind": one.kind,
            "before": list(one.before[:_MAX_NAMES]),
            "after": list(one.after[:_MAX_NAMES]),
            "n_times": one.n,
            "before_us": one.before_ns / 1000,
            "after_us": one.after_ns / 1000,
            "change_us": one.delta_ns / 1000,
            "neighbours_change_us": one.around_ns / 1000,
        },
        cost_ns=abs(one.delta_ns),
    )


def _figures(one: TypeChange) -> dict[str, object]:
    figures: dict[str, object] = {
        "before_us": one.time.before_ns / 1000,
        "after_us": one.time.after_ns / 1000,
        "change_us": one.time.delta_ns / 1000,
        "n_calls_before": float(one.n_before),
        "n_calls_after": float(one.n_after),
        "neighbours_change_us": one.side_ns / 1000,
        "net_change_us": one.net_ns / 1000,
        "noise_basis": one.time.basis,
    }
    if one.time.percent is not None:
        figures["change_percent"] = one.time.percent
    if one.time.noise_ns is not None:
        figures["noise_us"] = one.time.noise_ns / 1000
    return figures


def _verdict(time: Difference) -> Words:
    if time.noise_ns is None:
        return words(TEXTS, "unknown")
    basis = TEXTS[f"basis-{time.basis}"]
    filled = [
        TEXTS[time.verdict][place].format(noise=time_text(time.noise_ns), basis=basis[place])
        for place in (0, 1)
    ]
    return filled[0], filled[1]


def _beside(one: TypeChange) -> Words:
    found = [
        words(TEXTS, "one-beside", name=safe_text(name, 60), delta=_signed(delta), n=n)
        for name, delta, n in one.beside[:3]
    ]
    return ", ".join(w[0] for w in found), "，".join(w[1] for w in found)


def _list(names: tuple[str, ...]) -> str:
    shown = " + ".join(safe_text(name, 60) for name in names[:_MAX_NAMES])
    return shown + (" + ..." if len(names) > _MAX_NAMES else "")


def _signed(ns: int) -> str:
    return f"{'+' if ns > 0 else '-' if ns < 0 else ''}{time_text(abs(ns))}"


def _percent(time: Difference) -> str:
    return "-" if time.percent is None else f"{time.percent:+.2f} %"

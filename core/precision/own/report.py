"""What the checks without a golden side saw, as findings and lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from npulse.core.figures import number
from npulse.core.findings import Finding, Location, Related
from npulse.core.text import Lang, safe_text, say

from ..mixed.judge_by import Judged
from .model import OwnChecks, Seen
from .texts import OWN_TEXTS


def own_findings(seen: Iterable[Seen], lang: Lang) -> list[Finding]:
    """A finding for each, in the order in which they were seen."""
    return [_finding(one, lang) for one in seen]


def own_lines(checks: OwnChecks, lang: Lang) -> tuple[str, ...]:
    """What was looked at and the hash of the input."""
    counts = {
        "collectives": checks.n_collectives,
        "parameters": checks.n_parameters,
        "inputs": checks.n_inputs,
        "repeated": checks.n_repeated,
        "casts": checks.n_casts,
    }
    parts = [say(OWN_TEXTS, f"told-{name}", lang, n=f"{n:,}") for name, n in counts.items() if n]
    lines: list[str] = []
    if parts:
        lines.append(say(OWN_TEXTS, "told-checks", lang, parts=("，" if lang == "zh" else ", ").join(parts)))
    if checks.inputs is not None:
        lines.append(say(OWN_TEXTS, "told-hash", lang, hash=checks.inputs.text))
    return (*lines, *beside_lines(checks, lang))


def beside_lines(checks: OwnChecks, lang: Lang) -> tuple[str, ...]:
    """A line for what is no finding, and one where something was not looked at."""
    lines = [finding.message for finding in own_findings(checks.harmless, lang)]
    return (*lines, *(() if checks.is_complete else (say(OWN_TEXTS, "unfinished", lang),)))


def map_lines(judged: Sequence[Judged], lang: Lang) -> tuple[str, ...]:
    """How many rows a precision map judged; names in it that fitted no call of any rank-step."""
    if not judged:
        return ()
    lines = [say(OWN_TEXTS, "map-told", lang, n=sum(one.n_rows for one in judged))]
    unused = [glob for glob in judged[0].unused if all(glob in one.unused for one in judged)]
    if unused:
        lines.append(say(OWN_TEXTS, "map-unused", lang, globs=safe_text(", ".join(unused), 200)))
    return tuple(lines)


def own_summary(checks: OwnChecks) -> dict[str, object]:
    """The hash of the input as programs read it: a hash for each rank-step, "step0/rank1" to its digits."""
    found = checks.inputs
    if found is None:
        return {}
    each = {f"step{step}/rank{rank}": digits for (step, rank), digits in found.of.items()}
    return {"input_hash": found.text, "input_hash_basis": found.basis, "input_hashes": each}


def _finding(seen: Seen, lang: Lang) -> Finding:
    figures = dict(seen.figures)
    values = {
        **seen.values,
        **{k: number(v) if isinstance(v, float) else v for k, v in figures.items() if k not in seen.values},
        "where": _where(figures, lang),
    }
    dump = seen.where.dump
    return Finding(
        area="precision",
        severity=seen.severity,
        rule=f"precision.{seen.rule}",
        role=seen.role,
        subject=seen.subject,
        message=say(OWN_TEXTS, seen.text, lang, **values),
        next_step=say(OWN_TEXTS, seen.next_step, lang),
        figures=figures,
        related=tuple(Related(role, name) for role, name in seen.related),
        location=Location(
            artifact=seen.where.artifact,
            rank=seen.where.rank,
            step=seen.where.step,
            byte=byte if seen.call >= 0 and (byte := int(dump.calls.byte[seen.call])) >= 0 else None,
        ),
    )


def _where(figures: dict[str, Any], lang: Lang) -> str:
    """Which elements differ, as far as it is known."""
    if "first" not in figures:
        return say(OWN_TEXTS, "where-record", lang, basis=figures.get("basis", ""))
    key = "where-block" if figures["contiguous"] else "where-elements"
    return say(
        OWN_TEXTS,
        key,
        lang,
        first=figures["first"],
        last=figures["last"],
        n=figures["different_elements"],
        of=figures["n_elements"],
        n_bytes=figures["n_bytes"],
    )

"""The answer of `npulse doctor`: what goes together, what is missing, what can be captured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from npulse.core.errors import NpulseError
from npulse.core.findings import Finding, Report, Verdict, verdict_from
from npulse.core.plugins import registry
from npulse.core.table import Table, text_column
from npulse.core.text import Lang, columns_of, safe_text

from .alignment import Pairing, pairings
from .captures import Capture, can_capture, captures
from .facts import Component, Environment, Package
from .findings import all_findings
from .telling import Teller
from .versions import PACKAGES, versions_of

WIDTH = 80
_ROW_NAMES = {"cann": "toolkit", "mindstudio_probe": "mindstudio-probe"}
_COMPONENTS = ("driver", "firmware", "toolkit", "ops", "nnal")
_PLAIN = ("python", "arch", "os", "glibc", "gcc")
_EXPECTED = ("driver", "toolkit", "nnal", "python", "torch", "torch_npu")


def report(environment: Environment, lang: Lang = "en", *, tables: bool = False) -> Report:
    """The report of an environment; `tables`: what is installed and what can be captured, row by row.

    Its verdict: fail where something conflicts, unknown where two that are both there could not be judged or
    nothing was told at all, incomplete where something could not be read.
    """
    teller = Teller(lang)
    pairs = pairings(environment, teller)
    findings = all_findings(environment, lang)
    chosen = captures(environment)
    return Report(
        command="doctor",
        run=environment.subject or teller.text("this-machine"),
        verdict=_verdict(environment, pairs, findings),
        beneath=_verdict(environment, pairs, [one for one in findings if one.role == "unknown"]),
        findings=findings,
        counts=_counts(pairs, findings, chosen),
        summary=_summary(environment, pairs, chosen),
        problems=environment.problems,
        tables=_tables(environment, pairs, chosen, lang) if tables else {},
        told=tuple(_told(environment, pairs, findings, chosen, teller)),
    )


def exit_code(found: Report, environment: Environment, *, strict: bool = False) -> int:
    """That of the report; 3 where there is no conflict and not one capture is possible on this machine."""
    code = found.exit_code(strict=strict)
    return 3 if code != 1 and environment.is_live and not can_capture(environment) else code


def is_empty(environment: Environment) -> bool:
    """Whether nothing of Ascend's software is told: no component, no package of interest, no error."""
    named = ("torch", "torch_npu", "mindspore", "vllm_ascend")
    components = (
        environment.toolkit,
        environment.driver,
        environment.firmware,
        environment.nnal,
        environment.ops,
    )
    return (
        not any(components)
        and not any(name in environment.packages for name in named)
        and not environment.errors
        and not environment.requirements
        and not environment.sourced
        and not any(name.startswith(("ASCEND", "ATB")) for name in environment.variables)
    )


def _verdict(environment: Environment, pairs: Sequence[Pairing], findings: Sequence[Finding]) -> Verdict:
    has_unknown = any(finding.role == "unknown" for finding in findings)
    is_nothing = not environment.is_live and is_empty(environment)
    return verdict_from(findings, environment.problems, has_unknown=has_unknown or is_nothing)


def _counts(
    pairs: Sequence[Pairing], findings: Sequence[Finding], chosen: Sequence[Capture]
) -> dict[str, int]:
    states = Counter(pair.state for pair in pairs)
    severities = Counter(finding.severity for finding in findings)
    return {
        "pairs": len(pairs),
        **{f"pairs_{state}": states[state] for state in ("ok", "conflict", "doubtful", "unknown")},
        "errors": severities["error"],
        "warnings": severities["warning"],
        "notes": severities["note"],
        "captures": sum(one.is_possible is True for one in chosen),
    }


def _summary(environment: Environment, pairs: Sequence[Pairing], chosen: Sequence[Capture]) -> dict[str, Any]:
    possible = {True: "yes", False: "no", None: "unknown"}
    return {
        "is_live": environment.is_live,
        "versions": versions_of(environment),
        "pairs": [f"{pair.left}, {pair.right}: {pair.state}" for pair in pairs],
        "captures": [f"{one.kind}, {one.tool}: {possible[one.is_possible]}" for one in chosen],
        "devices": list(environment.devices) if environment.devices is not None else None,
        **({"plugins": [one.name for one in _plugins()]} if environment.is_live and _plugins() else {}),
    }


# ---- for people ----


def _told(
    environment: Environment,
    pairs: Sequence[Pairing],
    findings: Sequence[Finding],
    chosen: Sequence[Capture],
    teller: Teller,
) -> Iterator[str]:
    yield _answer(environment, pairs, findings, teller)
    rows = _rows(environment, pairs, teller)
    if rows:
        yield teller.text("head-installed")
        yield from (f"  {line}" for line in columns_of([row[:3] for row in rows], left=(0, 1, 2)))
    names = [name for name in _EXPECTED if name not in {row[0] for row in rows}]
    if names and not is_empty(environment):
        key = "head-not-found" if environment.is_live else "head-not-told"
        yield teller.text(key, names=", ".join(names))
    if environment.is_live:
        yield teller.text("head-captures")
        yield from _capture_lines(chosen, teller)
        yield from _plugin_lines(teller)


def _plugins() -> tuple[registry.Plugin, ...]:
    try:
        return registry.plugins()
    except NpulseError:
        return ()  # the list is broken: every run says so


def _plugin_lines(teller: Teller) -> Iterator[str]:
    """The plug-ins that every run uses here; nothing where there are none."""
    if _plugins():
        yield teller.text("head-plugins")
    for one in _plugins():
        kinds = ", ".join(one.kinds) or "?"
        state = "" if one.state == "ok" else f"  {one.state}: {teller.text('plugin-unused')}"
        yield safe_text(f"  {one.name}  {kinds}  {one.source} {one.version}".rstrip() + state)


def _answer(
    environment: Environment, pairs: Sequence[Pairing], findings: Sequence[Finding], teller: Teller
) -> str:
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        more = f" (+{len(errors) - 1})" if len(errors) > 1 else ""
        return safe_text(teller.text("answer-conflict", what="") + errors[0].message + more)
    if not environment.is_live and is_empty(environment):
        return teller.text("answer-nothing")
    warnings = [finding for finding in findings if finding.severity == "warning"]
    missing = [finding for finding in warnings if finding.rule == "env.missing"]
    doubtful = [finding for finding in warnings if finding not in missing]
    if doubtful:
        return teller.text("answer-doubtful", what=_subjects(doubtful))
    if missing:
        return teller.text("answer-missing", what=_subjects(missing))
    unknown = [finding for finding in findings if finding.role == "unknown"]
    if unknown:
        return teller.text("answer-unknown", what=_subjects(unknown))
    n_ok = sum(pair.state == "ok" for pair in pairs)
    return teller.text("answer-ok", n=n_ok) if n_ok else teller.text("answer-ok-plain")


def _subjects(findings: Sequence[Finding]) -> str:
    names = list(dict.fromkeys(finding.subject for finding in findings))
    return "; ".join(names[:4]) + (f" (+{len(names) - 4})" if len(names) > 4 else "")


Row = tuple[str, str, str, str]
"""Name, version, what it goes with, where that is told."""


def _rows(environment: Environment, pairs: Sequence[Pairing], teller: Teller) -> list[Row]:
    rows: list[Row] = []
    components: dict[str, Component | None] = {
        **{"driver": environment.driver, "firmware": environment.firmware, "toolkit": environment.toolkit},
        **{"ops": environment.ops, "nnal": environment.nnal},
    }
    for name in _COMPONENTS:
        component = components[name]
        if component is not None:
            release = component.release or "?"
            rows.append((name, release, _state_text(name, pairs, teller), str(component.place)))
    for other in environment.toolkits[1:]:
        rows.append(("toolkit", other.release, other.home, str(other.place)))
    for name in _PLAIN:
        fact = environment.facts.get(name)
        if fact is not None:
            rows.append((name, safe_text(fact.value, 34), _state_text(name, pairs, teller), str(fact.place)))
    for name in PACKAGES:
        package: Package | None = environment.packages.get(name)
        if package is not None:
            shown = _ROW_NAMES.get(name, name)
            rows.append((shown, package.version, _state_text(name, pairs, teller), str(package.place)))
    return rows


def _state_text(name: str, pairs: Sequence[Pairing], teller: Teller) -> str:
    """How it stands to others; the worst comes first, and a pair is told at both of its ends."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        if name in (pair.left, pair.right):
            found.setdefault(pair.state, []).append(pair.right if pair.left == name else pair.left)
    worst = next((state for state in ("conflict", "doubtful", "unknown", "ok") if state in found), None)
    if worst is None:
        return ""
    return teller.text(f"state-{worst}", names=", ".join(dict.fromkeys(found[worst])))


def _capture_lines(chosen: Sequence[Capture], teller: Teller) -> Iterator[str]:
    at = 1 if teller.lang == "zh" else 0
    words = {True: "yes", False: "no", None: "unknown"}
    rows = [(one.kind, one.tool, teller.text(words[one.is_possible]), one.why[at]) for one in chosen]
    for one, line in zip(chosen, columns_of(rows, left=(0, 1, 2, 3)), strict=True):
        yield f"  {line}"
        if one.is_possible is False:
            yield f"      -> {one.repair[at]}"


# ---- tables ----


def _tables(
    environment: Environment, pairs: Sequence[Pairing], chosen: Sequence[Capture], lang: Lang
) -> dict[str, Table]:
    at = 1 if lang == "zh" else 0
    rows = _rows(environment, pairs, Teller(lang))
    names = ("name", "version", "goes_with", "place")
    installed = Table(
        "installed",
        tuple(text_column(name, [row[i] or None for row in rows]) for i, name in enumerate(names)),
    )
    possible = {True: "yes", False: "no", None: "unknown"}
    cells = [(one.kind, one.tool, possible[one.is_possible], one.why[at], one.repair[at]) for one in chosen]
    columns = ("kind", "tool", "is_possible", "why", "repair")
    table = Table(
        "captures",
        tuple(text_column(name, [row[i] or None for row in cells]) for i, name in enumerate(columns)),
    )
    return {"installed": installed, "captures": table}

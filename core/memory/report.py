"""The headless twin of the memory pane: a `Memory` as findings, counts and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from npulse.core.findings import Finding, Location, Report, Verdict, verdict_from
from npulse.core.formats.environment import SEED_WORDS_OF
from npulse.core.text import Lang, say

from .analyse import Memory
from .explain import counted as with_noun
from .explain import gap_findings, site_finding
from .figures import AREA, role_of, shown_name, subject_of
from .leaks import LeakCheck
from .real_options import CHECKS, real_option
from .table import memory_table
from .texts import TEXTS

SHOWN_SITES = 200
"""Sites that are explained one by one; of more the rest is counted."""
NOTHING_RAN = frozenset(("no-markers",))
"""Gaps that say only that nobody can tell whether a check ran to its end."""


def report(found: Memory, *, lang: Lang = "en", tables: bool = False) -> Report:
    """Findings in the order in which they should be looked at; what lowers trust stands behind errors."""
    counted = counts(found)
    shown = [site_finding(found, place, lang) for place in range(min(len(found.sites), SHOWN_SITES))]
    totals = list(mismatches(found, lang))
    findings = [
        *(finding for finding in (*shown, *totals) if finding.severity == "error"),
        *(finding for trust in found.trusts for finding in gap_findings(trust, lang)),
        *(finding for finding in totals if finding.severity != "error"),
        *(finding for finding in shown if finding.severity != "error"),
        *_more(found, lang),
        *seeds(found, lang),
        *clean_up_notes(found, lang),
    ]
    return Report(
        command=AREA,
        run=str(found.root),
        verdict=verdict_of(found, findings, counted),
        beneath=verdict_of(found, [], counted),
        artifacts=found.artifacts,
        findings=tuple(findings),
        counts=dict(counted),
        summary=summary(found, counted),
        told=tuple(told(found, counted, lang)),
        problems=found.problems,
        tables={AREA: memory_table(found)} if tables else {},
    )


def verdict_of(found: Memory, findings: list[Finding], counted: Counter[str]) -> Verdict:
    """A log that shows less than there was is no pass; one in which no check ended is unknown."""
    verdict = verdict_from(findings, found.problems)
    if verdict == "fail":
        return verdict
    gaps = {word for trust in found.trusts for word in trust.gaps}
    # a total of which records are missing shows that there were more faults than are told
    is_short = any(check.matches is False for check in found.checks)
    if verdict == "incomplete" or is_short or gaps - NOTHING_RAN:
        return "incomplete"
    if gaps or not has_run(found) or (found.cleanup is not None and not found.cleanup.is_told):
        return "unknown"
    only_trust = all(finding.rule == f"{AREA}.incomplete" for finding in findings)
    return "pass" if only_trust and not counted["sites"] else verdict


def has_run(found: Memory) -> bool:
    """Whether some log says that a check ran to its end."""
    if any(trust.n_clean_ends or trust.summaries for trust in found.trusts):
        return True
    # a stop in a debugger or a block that is still held says nothing of an end
    return any(site.first.severity != "info" for site in found.sites)


def counts(found: Memory) -> Counter[str]:
    counted: Counter[str] = Counter(
        dict.fromkeys(("reports", "sites", "errors", "warnings", "origin", "inherited", "unknown", "logs"), 0)
    )
    counted["reports"] = found.n_faults
    counted["sites"] = len(found.sites)
    counted["logs"] = len(found.trusts)
    counted["incomplete_logs"] = sum(not trust.is_complete for trust in found.trusts)
    for site in found.sites:
        role = role_of(site)
        counted[role] += 1
        if role != "inherited":
            counted["errors"] += site.first.severity == "error"
            counted["warnings"] += site.first.severity == "warning"
    for check in found.checks:
        name = "leaks" if check.kind == "leak" else "unused"
        counted[name] += check.found.n
        counted[f"{'leaked' if name == 'leaks' else 'unused'}_bytes"] += check.found.size_bytes
    return counted


def summary(found: Memory, counted: Counter[str]) -> dict[str, Any]:
    """What holds for the whole round."""
    facts: dict[str, Any] = {
        "is_complete": found.is_complete,
        "checks": sorted({word for trust in found.trusts for word in trust.checks}),
        "tools": sorted({word for trust in found.trusts for word in trust.tools}),
    }
    matches = [check.matches for check in found.checks if check.matches is not None]
    if matches:
        facts["leaks_match_the_total"] = all(matches)
    if found.context:
        facts["settings"] = [setting.text for setting in found.context]
    if found.cleanup is not None:
        cleanup = found.cleanup
        facts["clean_up"] = {
            "since": cleanup.since,
            "fixed": sum(gone.is_fixed for gone in cleanup.gone),
            "not_told": sum(not gone.is_fixed for gone in cleanup.gone),
            "new": cleanup.count("new"),
            "back": cleanup.count("back"),
            "was_hidden": cleanup.count("was hidden"),
            "still_there": cleanup.count("same", "moved"),
            "is_done": cleanup.is_done,
        }
    return facts


def told(found: Memory, counted: Counter[str], lang: Lang) -> Iterator[str]:
    """Counts and what holds for all logs, as lines for people."""
    if found.sites:
        yield say(
            TEXTS,
            "told-counts",
            lang,
            sites=with_noun(lang, "n-sites", counted["sites"]),
            faults=with_noun(lang, "times", counted["reports"]),
            errors=f"{counted['errors']:,}",
            logs=counted["logs"],
        )
    for check in found.checks:
        key = "told-leaks" if check.kind == "leak" else "told-unused"
        blocks, size = with_noun(lang, "n-blocks", check.found.n), f"{check.found.size_bytes:,}"
        yield say(TEXTS, key, lang, blocks=blocks, size=size, check=_check_words(check, lang))
    if found.problems and not counted["incomplete_logs"]:
        yield say(TEXTS, "told-problems", lang, n=len(found.problems))
    elif counted["incomplete_logs"]:
        yield say(TEXTS, "told-incomplete", lang, n=counted["incomplete_logs"], logs=counted["logs"])
    elif found.sites:
        yield say(TEXTS, "told-complete", lang)
    elif has_run(found):
        checks = {word for trust in found.trusts for word in trust.checks}
        tools = {tool for trust in found.trusts if trust.n_clean_ends for tool in trust.tools}
        yield say(TEXTS, "told-clean", lang, checks=", ".join(sorted(checks or tools)) or "msSanitizer")
    else:
        yield say(TEXTS, "told-nothing-ran", lang)
    yield from _cleanup_told(found, lang)
    if found.context:
        shown = "; ".join(shown_name(setting.text) for setting in found.context)
        yield say(TEXTS, "told-settings", lang, settings=shown)
    if found.object_hint:
        yield say(TEXTS, "told-object", lang, hint=found.object_hint)
    if found.sites:
        roots = ", ".join(map(str, found.settings.source_roots))
        key = "told-roots" if roots else "told-no-roots"
        yield say(TEXTS, key, lang, **({"roots": shown_name(roots)} if roots else {}))


def _check_words(check: LeakCheck, lang: Lang) -> str:
    if check.matches is None:
        return say(TEXTS, "check-none", lang)
    if check.matches:
        return say(TEXTS, "check-same", lang)
    return say(TEXTS, "check-other", lang, told=_told_text(check.n_told, check.told_bytes, lang))


def _cleanup_told(found: Memory, lang: Lang) -> Iterator[str]:
    cleanup = found.cleanup
    if cleanup is None:
        return
    if cleanup.is_done:
        yield say(TEXTS, "done", lang)
    unclear = sum(not gone.is_fixed for gone in cleanup.gone)
    back = cleanup.count("back")
    yield say(
        TEXTS,
        "told-cleanup",
        lang,
        since=shown_name(cleanup.since),
        fixed=len(cleanup.gone) - unclear,
        new=cleanup.count("new"),
        back=say(TEXTS, "told-cleanup-back", lang, n=back) if back else "",
        hidden=cleanup.count("was hidden"),
        same=cleanup.count("same", "moved"),
        unclear=say(TEXTS, "told-cleanup-unclear", lang, n=unclear) if unclear else "",
    )
    if not cleanup.is_done:
        yield say(TEXTS, "again", lang)


# ---- findings beside sites ----


def mismatches(found: Memory, lang: Lang) -> Iterator[Finding]:
    """Logs whose leak records are not what their SUMMARY says; a total without records tells of leaks too."""
    for check in found.checks:
        part = check.wrong
        if part is None:
            continue
        is_total_alone = not check.found.n and bool(part.n_told or part.told_bytes)
        rule = check.kind.split(" ")[0] if is_total_alone else "summary-mismatch"
        is_error = is_total_alone and check.kind == "leak"
        values = {
            "artifact": shown_name(check.artifact),
            "what": say(TEXTS, f"what-{check.kind}", lang),
            "blocks": with_noun(lang, "n-blocks", part.found.n),
            "size": f"{part.found.size_bytes:,}",
            "told": _told_text(part.n_told, part.told_bytes, lang),
        }
        figures = {
            "kind": check.kind,
            "n_allocations": part.found.n,
            "leaked_bytes": part.found.size_bytes,
            "told_allocations": part.n_told,
            "told_bytes": part.told_bytes,
        }
        yield Finding(
            AREA,
            "error" if is_error else "warning",
            f"{AREA}.{rule}",
            "origin" if is_error else "unknown",
            check.artifact,
            say(TEXTS, "total-alone" if is_total_alone else "mismatch", lang, **values),
            say(TEXTS, "mismatch-next", lang),
            figures={name: value for name, value in figures.items() if value is not None},
            location=Location(check.artifact, line=part.line),
        )


def _told_text(n: int | None, size: int | None, lang: Lang) -> str:
    """What a total says, as far as it says it."""
    parts = [] if n is None else [with_noun(lang, "n-blocks", n)]
    if size is not None:
        parts.append(say(TEXTS, "n-bytes", lang, n=f"{size:,}"))
    return say(TEXTS, "comma", lang).join(parts)


def _more(found: Memory, lang: Lang) -> Iterator[Finding]:
    n = len(found.sites) - SHOWN_SITES
    if n > 0:
        site = found.sites[SHOWN_SITES]
        severity = "error" if site.first.severity == "error" else "warning"
        text = say(TEXTS, "more", lang, n=f"{n:,}")
        yield Finding(AREA, severity, f"{AREA}.more", "unknown", subject_of(site), text, figures={"n": n})  # type: ignore[arg-type]
    if found.n_left_out:
        text = say(TEXTS, "left-out", lang, n=f"{found.n_left_out:,}")
        yield Finding(AREA, "warning", f"{AREA}.more", "unknown", AREA, text, figures={"n": found.n_left_out})


def seeds(found: Memory, lang: Lang) -> Iterator[Finding]:
    """Settings that guides name and no tool reads, with the real ones and their values."""
    ran = {word for trust in found.trusts for word in trust.checks}
    for setting in found.context:
        real = SEED_WORDS_OF["sanitizer"].get(setting.name)
        if real is None:
            continue
        where = setting.artifact + ("" if setting.line is None else f":{setting.line}")
        option = real_option(setting.value, real)
        text = say(TEXTS, "seed", lang, name=shown_name(setting.text), where=shown_name(where))
        if option.unknown:
            words = ", ".join(shown_name(word) for word in option.unknown)
            text += " " + say(TEXTS, "seed-no-check", lang, words=words, checks=", ".join(CHECKS))
        wanted = [word for word in option.checks if word not in ran]
        if wanted and ran:
            text += " " + say(TEXTS, "seed-not-run", lang, checks=", ".join(wanted))
        yield Finding(
            AREA,
            "note",
            f"{AREA}.setting",
            "benign",
            setting.name,
            text,
            say(TEXTS, "seed-next", lang, real=shown_name(option.use)),
            figures={"value": setting.value, "real": list(real), "use": option.use},
            location=Location(setting.artifact, line=setting.line),
        )


def clean_up_notes(found: Memory, lang: Lang) -> Iterator[Finding]:
    """What the round before had and this one does not show."""
    for gone in found.cleanup.gone if found.cleanup is not None else ():
        subject = subject_of(gone.site)
        values = {
            "since": shown_name(gone.round),
            "subject": shown_name(subject),
            "kind": gone.site.first.kind,
        }
        if gone.is_fixed:
            text = say(TEXTS, "gone-fixed", lang, **values)
        else:
            is_incomplete = gone.why_not == "incomplete"
            key = "why-incomplete" if is_incomplete else "why-check"
            reason = say(TEXTS, key, lang, **({} if is_incomplete else {"check": gone.why_not}))
            text = say(TEXTS, "gone-unclear", lang, why=reason, **values)
        figures = {"kind": gone.site.first.kind, "is_fixed": gone.is_fixed, "round": gone.round}
        role = "ok" if gone.is_fixed else "unknown"
        yield Finding(AREA, "note", f"{AREA}.clean-up", role, subject, text, figures=figures)  # type: ignore[arg-type]

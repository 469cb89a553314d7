"""The gate as one: silences and baseline over each report, and what is said of them afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from npulse.core.findings import Finding, Report
from npulse.core.text import Lang, say

from .baseline import Baseline
from .silences import Silence, silenced
from .texts import TEXTS

SHOWN = 20


@dataclass(frozen=True, slots=True)
class Gate:
    """today: the day on which silences are judged; the caller's, so that a result can be made again."""

    today: date
    silences: tuple[Silence, ...] = ()
    baseline: Baseline | None = None
    lang: Lang = "en"

    def __bool__(self) -> bool:
        return bool(self.silences) or self.baseline is not None

    def prepare(self, report: Report) -> Report:
        """The report with silenced and known findings as notes; for every report before it is judged."""
        told = silenced(report, self.silences, self.today, lang=self.lang)
        return told if self.baseline is None else self.baseline.applied(told, lang=self.lang)

    def notes(self, findings: Iterable[Finding]) -> tuple[str, ...]:
        """What to say of all findings after `prepare`: set aside, known, new; silences without use."""
        found = list(findings)
        quiet = [one for one in found if "silenced" in one.figures]
        lines = [self._silenced(one) for one in quiet[:SHOWN]]
        if len(quiet) > SHOWN:
            lines.append(f"... {len(quiet) - SHOWN:,}")
        if self.baseline is not None:
            n_known = sum("known" in one.figures for one in found)
            n_new = sum(one.severity != "note" and one.role != "unknown" for one in found)
            lines.append(say(TEXTS, "note-known", self.lang, n=n_known, name=self.baseline.name))
            lines.append(say(TEXTS, "note-new", self.lang, n=n_new, name=self.baseline.name))
            loud = {one.area for one in found if one.severity != "note"}
            for area, verdict in self.baseline.doubtful.items():
                if area not in loud:
                    continue
                text = say(TEXTS, "note-doubtful", self.lang, verdict=verdict.upper())
                lines.append(f"{area}: {text}")
        for silence in self.silences:
            if silence.is_expired(self.today):
                lines.append(self._about(silence, "note-expired"))
            elif not any(silence.matches(one) for one in quiet):
                lines.append(self._about(silence, "note-unused"))
        return tuple(lines)

    def _silenced(self, finding: Finding) -> str:
        return say(
            TEXTS,
            "note-silenced",
            self.lang,
            until=finding.figures["silenced_until"],
            rule=finding.rule,
            subject=finding.subject,
            reason=finding.figures["silenced"],
        )

    def _about(self, silence: Silence, key: str) -> str:
        where = f"{silence.where}: " if silence.where else ""
        until = silence.until.isoformat()
        return say(
            TEXTS,
            key,
            self.lang,
            where=where,
            rule=silence.rule,
            subject=silence.subject,
            until=until,
            reason=silence.reason,
        )

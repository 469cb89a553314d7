"""The check-up as a pane shows it; see `AreaView`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from npulse.core.areas import area_title, rule_by_id
from npulse.core.criteria import AreaState, CheckUp
from npulse.core.errors import UsageError
from npulse.core.findings import Finding, Report
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text, say
from npulse.core.views import Detail, Strip, first_figures

from .commands import RunFacts
from .criteria_file import CriteriaFile
from .judge import Prepare, as_it_is, judged
from .own import AREA, own_findings
from .report import report, state_word
from .table import SUBJECT, areas_table
from .texts import TEXTS
from .words import origin_text

__all__ = ["SUBJECT", "CheckUpView", "check_up_view"]

LONG = 400
_AREA_OF = {"env": "environment"}
"""Areas of findings that are called otherwise here."""


@dataclass(frozen=True, slots=True)
class CheckUpView:
    """A check-up at one moment. Row numbers are places in `found.areas`.

    asking: the area that is looked at at the moment, "" once all are. facts, criteria, prepare: what it was
    judged with, to say it again in another language.
    """

    found: CheckUp
    report: Report
    table: Table
    lang: Lang
    facts: RunFacts
    criteria: CriteriaFile
    prepare: Prepare = as_it_is
    asking: str = ""

    @property
    def is_complete(self) -> bool:
        return not self.asking

    def is_pending(self, row: int) -> bool:
        """Whether an area was not asked yet."""
        names = [area.area for area in self.found.areas]
        return bool(self.asking) and row >= names.index(self.asking)

    def detail(self, row: int, lang: Lang) -> Detail:
        area = self.found.areas[row]
        return Detail(
            name=area_title(area.area, lang),
            headline=self.headline(row, lang),
            facts=tuple(self._facts(area, lang)),
            next_step=area.next_step,
        )

    def headline(self, row: int, lang: Lang) -> str:
        """State and headline of an area; that it comes where it was not asked yet."""
        area = self.found.areas[row]
        if self.is_pending(row):
            return say(TEXTS, "asking", lang)
        return f"{state_word(area, lang)}: {safe_text(area.headline, LONG)}"

    def _facts(self, area: AreaState, lang: Lang) -> Iterator[tuple[str, str]]:
        """Each criterion, the first finding, trust, what is missing, the round, the criteria in force."""
        if area.origin is not None:
            yield say(TEXTS, "fact-origin", lang), origin_text(area.origin, lang)
            yield say(TEXTS, "fact-what", lang), safe_text(area.origin.message, LONG)
        for one in area.criteria:
            text = say(TEXTS, "fact-criterion", lang, shown=one.shown, needs=one.needs)
            why = f" {safe_text(one.why, LONG)}" if one.why else ""
            yield one.title[lang == "zh"], f"{say(TEXTS, one.state, lang)}: {text}{why}"
        if area.distrusted_by:
            yield say(TEXTS, "fact-trust", lang), say(TEXTS, f"distrust-{area.distrusted_by}", lang)
        if area.missing:
            yield say(TEXTS, "fact-missing", lang), safe_text(area.missing, LONG)
        for told in area.reports:
            where = ", ".join(filter(None, (told.round, told.name)))
            name = say(TEXTS, "fact-verdict", lang)
            yield name, f"{say(TEXTS, told.report.verdict, lang)}  {safe_text(where, LONG)}".rstrip()
        yield say(TEXTS, "fact-criteria", lang), self.criteria_text(lang)

    def criteria_text(self, lang: Lang) -> str:
        """Which criteria are in force."""
        return safe_text(self.found.criteria_file, LONG) or say(TEXTS, "bundled", lang)

    def finding(self, row: int, lang: Lang) -> Finding:
        """The area's first finding, else what the check-up says of it, else its state as a note."""
        area = self.found.areas[row]
        own = next(own_findings(area, lang), None)
        told = area.origin or own
        if told is not None:
            return told
        return Finding(
            area=AREA,
            severity="note",
            rule=f"{AREA}.not-judged",
            role="ok" if area.state == "pass" else "unknown",
            subject=area.area,
            message=self.headline(row, lang),
            next_step=area.next_step,
            figures={one.id: one.value for one in area.criteria},
        )

    def main_figures(self, finding: Finding) -> Sequence[tuple[str, str]]:
        return first_figures(finding.figures)

    def where(self, row: int, lang: Lang) -> list[str]:
        """The criteria in force; of each criterion what it asks for; the rule of the first finding."""
        area = self.found.areas[row]
        lines = [say(TEXTS, "told-criteria", lang, file=self.criteria_text(lang))]
        for one in area.criteria:
            subject = f"  {safe_text(one.subject, LONG)}" if one.subject else ""
            lines.append(
                f"{one.id}: {one.shown} ({say(TEXTS, 'told-needs', lang, needs=one.needs)}){subject}"
            )
        if area.origin is not None:
            at = area.origin.location
            place = safe_text(at.artifact or "-", LONG)
            lines.append(f"{area.origin.rule}: {place}" + (f":{at.line}" if at.line is not None else ""))
            try:
                lines.append(rule_by_id(area.origin.rule).threshold[lang == "zh"])
            except UsageError:
                pass  # of a plug-in
        return lines

    def meaning(self, column: str, lang: Lang) -> str:
        key = f"col-{column}"
        return say(TEXTS, key, lang) if key in TEXTS else ""

    def place(self, row: int) -> tuple[Path, int | None] | None:
        """The criteria file in force; None for the bundled one."""
        return (Path(self.found.criteria_file), None) if self.found.criteria_file else None

    def row_of(self, finding: Finding) -> int | None:
        area = _AREA_OF.get(finding.area, finding.area)
        if area == AREA:
            area = finding.subject.partition(".")[0]
        names = [one.area for one in self.found.areas]
        return names.index(area) if area in names else None

    def strip(self, row: int) -> tuple[Strip, int] | None:
        return None

    def translated(self, lang: Lang) -> CheckUpView:
        """Judged again; what the areas themselves wrote stays as it is until they are asked again."""
        reports = {area.area: area.reports for area in self.found.areas}
        found = judged(
            self.facts,
            reports,
            self.criteria,
            lang=lang,
            round_name=self.found.round or None,
            prepare=self.prepare,
        )
        return replace(self, found=found, report=report(found, lang), table=areas_table(found), lang=lang)


def check_up_view(
    found: CheckUp,
    lang: Lang,
    *,
    facts: RunFacts,
    criteria: CriteriaFile,
    prepare: Prepare = as_it_is,
    asking: str = "",
) -> CheckUpView:
    """All that a pane shows of a check-up."""
    told = report(found, lang)
    return CheckUpView(found, told, areas_table(found), lang, facts, criteria, prepare, asking)

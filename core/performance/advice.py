"""What an analysis says: a finding in both languages, with the time that is at stake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from npulse.core.dataclass import dataclass
from npulse.core.findings import Figures, Finding, Location, Related, Role, Severity
from npulse.core.text import Lang

AREA = "performance"
Words = tuple[str, str]
"""A text in English and in Chinese."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to attack, or to know. Analyses make it, `report` puts it in order.

    rule: id of a rule of this area. subject: name as the tool wrote it. cost_ns: device or wall time that is
    at stake, 0 where nobody can tell: the order of what is equally severe. profile: name of the `Profile`, ""
    where it is of several. told: evidence as aligned lines. bottleneck: which of the three answers it belongs
    to, "" for none.
    """

    rule: str
    severity: Severity
    subject: str
    message: Words
    next_step: Words = ("", "")
    figures: Figures = field(default_factory=dict)
    role: Role = "suspect"
    cost_ns: int = 0
    profile: str = ""
    related: tuple[Related, ...] = ()
    location: Location = Location()
    told: tuple[str, ...] = ()
    bottleneck: str = ""

    def finding(self, lang: Lang) -> Finding:
        """The same as a finding in one language."""
        place = 1 if lang == "zh" else 0
        return Finding(
            area=AREA,
            severity=self.severity,
            rule=self.rule,
            role=self.role,
            subject=self.subject,
            message=self.message[place],
            next_step=self.next_step[place],
            figures=self.figures,
            related=self.related,
            location=self.location,
            told=self.told,
        )


def words(texts: Mapping[str, Words], key: str, **values: object) -> Words:
    """A text of both languages with its values filled in."""
    en, zh = texts[key]
    return en.format(**values), zh.format(**values)

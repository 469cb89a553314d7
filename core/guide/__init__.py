"""Which tool a symptom calls for, with this run's facts filled in; codes and pitfalls to search."""

from __future__ import annotations

from .entries import Entry, all_entries, search
from .facts import NOTHING_KNOWN, Facts, facts_of_run
from .fill import Advice, advice_of
from .records import Step, Symptom
from .symptoms import FIRST, SYMPTOMS, symptom_of

__all__ = [
    "FIRST",
    "NOTHING_KNOWN",
    "SYMPTOMS",
    "Advice",
    "Entry",
    "Facts",
    "Step",
    "Symptom",
    "advice_of",
    "all_entries",
    "facts_of_run",
    "search",
    "symptom_of",
]

"""What is said of a round, its changes and its figures in few words: for report, detail and pane alike."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence

from npulse.core.areas import area_of, rule_by_id
from npulse.core.criteria import CriterionResult
from npulse.core.errors import UsageError
from npulse.core.text import Lang, safe_text, say

from .figures import BY_ID, Cell
from .rows import AreaSaid, StoryRow
from .settings import Change
from .story import Story
from .texts import TEXTS
from .verdicts import Milestone, by_round, figure_of

MAX_VALUE = 40
_WORTH: tuple[str, ...] = (
    "config",
    "command",
    "request",
    "environment",
    "",
    "input",
    "inputs",
    "git",
    "versions",
)
"""Groups of settings in the order in which a change of them is told; "" stands for files."""


def outcome_text(row: StoryRow, lang: Lang) -> str:
    """What came of it in one or two words."""
    facts = row.facts
    is_unread = bool(facts.manifest) and not facts.is_read
    if is_unread:
        return say(TEXTS, "outcome-unread", lang)
    if facts.is_running:
        return say(TEXTS, "outcome-running", lang)
    if not facts.outcome and (ending := ending_text(row, lang)):
        return ending
    return say(TEXTS, f"outcome-{facts.outcome}", lang)


def outcome_and_ending(row: StoryRow, lang: Lang) -> str:
    """Both, each once."""
    parts = dict.fromkeys((outcome_text(row, lang), ending_text(row, lang)))
    return ", ".join(part for part in parts if part)


def ending_text(row: StoryRow, lang: Lang) -> str:
    """Exit status or signal, and what stopped it; "" where nothing tells."""
    facts, parts = row.facts, []
    if facts.signal:
        parts.append(say(TEXTS, "signal", lang, signal=safe_text(facts.signal, 30)))
    elif facts.exit_status is not None:
        parts.append(say(TEXTS, "exit", lang, n=facts.exit_status))
    if facts.stopped_by:
        parts.append(say(TEXTS, "stopped", lang, by=safe_text(facts.stopped_by, 30)))
    return ", ".join(parts)


def started_text(row: StoryRow) -> str:
    """When it began, as the clock on the wall showed it; "" where nothing tells."""
    return moment_text(row.facts.started_ns)


def moment_text(at_ns: int | None) -> str:
    if at_ns is None:
        return ""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_ns / 1e9))
    except (OverflowError, ValueError, OSError):
        return ""


def value_text(value: str | None, limit: int = MAX_VALUE) -> str:
    """A value of a setting, short and safe; an empty one is seen as one."""
    if value is None:
        return "-"
    return safe_text(value, limit) if value else "''"


def change_name(change: Change, lang: Lang) -> str:
    """What a key is called where people read it."""
    word = change.key.removeprefix("word ")
    if change.group == "command" and word != change.key:
        return say(TEXTS, "word", lang, n=word)
    if change.group == "command" and change.key == "command":
        return say(TEXTS, "fact-command", lang)
    return safe_text(change.name, 60)


def change_text(change: Change, lang: Lang, arrow: str = "->", limit: int = MAX_VALUE) -> str:
    """A change in few words: KEY 0 -> 1, +KEY 1, -KEY 0; of long lists what came and went."""
    name = change_name(change, lang)
    gap = " " if name.startswith("-") else ""  # "--c" is another flag than "-c" that is gone
    if change.kind == "added":
        return f"+{gap}{name} {value_text(change.after, limit)}".rstrip()
    if change.kind == "removed":
        return f"-{gap}{name} {value_text(change.before, limit)}".rstrip()
    if pieces := pieces_text(change, lang, limit):
        return f"{name} {pieces}"
    before, after = _apart(change.before or "", change.after or "", limit)
    return f"{name} {value_text(before, limit)} {arrow} {value_text(after, limit)}"


def pieces_text(change: Change, lang: Lang, limit: int = MAX_VALUE) -> str:
    """What came into a list that is long, and what went: -/old/lib +/new/lib; "" for other values."""
    before, after = change.before or "", change.after or ""
    if max(len(before), len(after)) <= limit:
        return ""
    old, new = _pieces(before), _pieces(after)
    if min(len(old), len(new)) < 1 or len(old) + len(new) < 3:
        return ""
    gone, come = ([one for one in dict.fromkeys(a) if one not in set(b)] for a, b in ((old, new), (new, old)))
    if len(gone) == len(old):
        return ""  # nothing is left of it: both values say more
    told = [*(f"-{value_text(one, limit)}" for one in gone), *(f"+{value_text(one, limit)}" for one in come)]
    return " ".join(told) or say(TEXTS, "order", lang)


def _pieces(value: str) -> list[str]:
    """The entries of a list in JSON, of paths with colons, of options with colons, commas or blanks."""
    if value.startswith("["):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list):
            return [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in found]
    for mark in (":", ";", ",", " "):
        if mark in value:
            return [one for one in value.split(mark) if one]
    return [value]


def _apart(before: str, after: str, limit: int) -> tuple[str, str]:
    """Two long values from where they differ: a path is the same for most of it."""
    if len(before) <= limit and len(after) <= limit:
        return before, after
    same = next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    start = max(0, min(same, len(before), len(after)) - 8)
    return (f"..{before[start:]}", f"..{after[start:]}") if start else (before, after)


def ordered(changes: Iterable[Change]) -> list[Change]:
    """What a user sets by hand first, what changes with a machine last."""

    def worth(change: Change) -> int:
        return _WORTH.index(change.group) if change.group in _WORTH else _WORTH.index("")

    return sorted(changes, key=worth)


def changes_text(row: StoryRow, lang: Lang, arrow: str = "->", n_most: int = 3, limit: int = 24) -> str:
    """The first changes of a round; that there is none, or that nothing is known of it."""
    if not row.has_settings:
        return say(TEXTS, "no-settings", lang)
    if not row.changes:
        return say(TEXTS, "first-settings" if row.is_first_recorded else "no-changes", lang)
    told = [change_text(change, lang, arrow, limit) for change in ordered(row.changes)[:n_most]]
    if len(row.changes) > n_most:
        told.append(say(TEXTS, "more-changes", lang, n=len(row.changes) - n_most))
    return "; ".join(told)


def figure_text(row: StoryRow, name: str, lang: Lang) -> str:
    """A figure with its word: 0.9998 better; "?" behind what cannot be compared; "" where there is none."""
    cell, state = row.cells.get(name), row.states.get(name, "")
    if cell is None:
        return ""
    text = BY_ID[name].text(cell)
    if state == "unknown" and cell.value is not None:
        return f"{text} ?"
    is_told = state in ("better", "worse", "same")
    return f"{text} {say(TEXTS, f'state-{state}', lang)}" if is_told else text


def against_text(story: Story, row: StoryRow, lang: Lang) -> str:
    """How a round stands against the baseline, worse first; "" where there is none."""
    if not story.baseline or not row.is_complete:
        return ""
    if row.name == story.baseline:
        return say(TEXTS, "is-baseline", lang)
    if not row.against:
        return say(TEXTS, "against-nothing", lang)
    parts = []
    for state in ("worse", "better", "unknown"):
        names = ", ".join(heading_of(name, lang) for name, told in row.against.items() if told == state)
        if names:
            word = say(TEXTS, f"state-{state}", lang)
            parts.append(say(TEXTS, "against", lang, state=word, names=names))
    return "; ".join(parts) or say(TEXTS, "against-same", lang)


def criterion_name(story: Story, result: CriterionResult, lang: Lang) -> str:
    """What a criterion is called: as the figure that tells the same, else by its title."""
    figure = figure_of(story.rows, result.id)
    return heading_of(figure, lang) if figure else result.title[lang == "zh"]


def story_parts(story: Story, lang: Lang, *, is_brief: bool = False) -> list[str]:
    """Which round met which criterion first and what it cost; what is missed again; what never was met.

    is_brief: names alone, without their figures.
    """
    found = story.milestones
    if not found:
        return []
    parts = []
    for name, met in by_round(found).items():
        names = ", ".join(
            criterion_name(story, one.last, lang) if is_brief else _met(story, one, lang) for one in met
        )
        row = next(row for row in story.rows if row.name == name)
        changes = listed_changes(changes_since(story, row, met[0].since), lang)
        told = say(TEXTS, "met-in", lang, names=names, round=safe_text(name, 48))
        told += "" if is_brief else say(TEXTS, "met-after", lang, changes=changes)
        cost = ", ".join(_cost(story, where, figure, lang, is_brief) for where, figure in met[0].cost)
        parts.append(told + (say(TEXTS, "met-cost", lang, figures=cost) if cost else ""))
    for one in found:
        if one.lost_in and not one.is_met:
            name = criterion_name(story, one.last, lang)
            parts.append(say(TEXTS, "lost-in", lang, name=name, round=safe_text(one.lost_in, 48)))
    never = [
        criterion_name(story, one.last, lang) if is_brief else _missed(story, one.last, lang)
        for one in found
        if one.is_never_met
    ]
    if never:
        parts.append(say(TEXTS, "never-met", lang, names=", ".join(never)))
    missed = {one.last.id.partition(".")[0] for one in found if not one.is_met}
    fails = [area_of(said.area).title[lang == "zh"] for *_, said in failing(story) if said.area not in missed]
    if fails:
        parts.append(say(TEXTS, "fails-now", lang, names=", ".join(fails)))
    unknown = [criterion_name(story, one.last, lang) for one in found if one.is_open]
    if unknown:
        parts.append(say(TEXTS, "unknown-now", lang, names=", ".join(unknown)))
    elif all(one.is_met for one in found) and not fails:
        key = "all-met" if any(one.met_in for one in found) else "all-met-start"
        parts.append(say(TEXTS, key, lang, n=len(found)))
    return parts


def failing(story: Story) -> list[tuple[int, StoryRow, AreaSaid]]:
    """The areas whose newest word is a failure, with the round that they say it of and its place."""
    newest = {said.area: (place, row, said) for place, row in enumerate(story.rows) for said in row.said}
    return [one for one in newest.values() if one[2].verdict == "fail"]


def _met(story: Story, one: Milestone, lang: Lang) -> str:
    name = criterion_name(story, one.last, lang)
    needs = one.last.needs
    return say(TEXTS, "met-figure", lang, name=name, before=one.before, after=one.after, needs=needs)


def _missed(story: Story, one: CriterionResult, lang: Lang) -> str:
    return say(
        TEXTS, "missed-figure", lang, name=criterion_name(story, one, lang), shown=one.shown, needs=one.needs
    )


def _cost(story: Story, where: str, figure: str, lang: Lang, is_brief: bool) -> str:
    row = next(row for row in story.rows if row.name == where)
    return heading_of(figure, lang) if is_brief else from_to(story, row, figure, lang)


def criterion_text(one: CriterionResult, lang: Lang, *, is_alone: bool = False) -> str:
    """How a criterion stands, beside its figure: needs >= 0.99: FAIL. A yes or no says only how it stands.

    is_alone: no figure stands beside it, so that its own is told.
    """
    if one.limit is None:
        return one.state.upper()
    needs = f"{say(TEXTS, 'chart-needs', lang, needs=one.needs)}: {one.state.upper()}"
    return f"{one.shown}, {needs}" if is_alone else needs


def missed_text(story: Story, results: Iterable[CriterionResult], lang: Lang) -> str:
    """The criteria that fail, with their figures; "" where none does."""
    return ", ".join(_missed(story, one, lang) for one in results if one.state == "fail")


def heading_of(name: str, lang: Lang) -> str:
    return BY_ID[name].heading[1 if lang == "zh" else 0]


def from_to(story: Story, row: StoryRow, name: str, lang: Lang, arrow: str = "->") -> str:
    """A figure of a round against the one before: last cosine 0.9958 -> 0.9998."""
    before = before_of(story, row, name)
    values = {
        "before": BY_ID[name].text(before) if before else "?",
        "after": BY_ID[name].text(row.cells[name]),
    }
    text = say(TEXTS, "from-to", lang, name=heading_of(name, lang), **values)
    return text.replace("->", arrow)


def before_of(story: Story, row: StoryRow, name: str) -> Cell | None:
    """The figure as the round had it that this one is compared with."""
    since = row.since.get(name)
    return next((one.cells.get(name) for one in story.rows if one.name == since), None)


def changes_since(story: Story, row: StoryRow, since: str) -> list[Change]:
    """What was set otherwise in the rounds behind `since`, up to this one."""
    names = [one.name for one in story.rows]
    start, end = names.index(since) + 1 if since in names else 0, names.index(row.name) + 1
    return ordered(change for one in story.rows[start:end] for change in one.changes)


def listed_changes(changes: Sequence[Change], lang: Lang, arrow: str = "->", n_most: int = 4) -> str:
    told = [change_text(change, lang, arrow) for change in changes[:n_most]]
    if len(changes) > n_most:
        told.append(say(TEXTS, "more-changes", lang, n=len(changes) - n_most))
    return "; ".join(told) or say(TEXTS, "unchanged-here", lang)


def title_of(rule_id: str, lang: Lang) -> str:
    """What a rule is about, in words; its id where there is none of that id."""
    try:
        return rule_by_id(rule_id).title[lang == "zh"]
    except UsageError:
        return rule_id

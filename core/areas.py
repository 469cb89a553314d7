"""The areas of the product, in the order of their panes: the one list to extend when an area is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.dataclass import dataclass

from .errors import UsageError
from .progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from .rules import Rule

if TYPE_CHECKING:
    from .analysis import AnalysisOptions, AreaReport, Newest
    from .run.model import Run
    from .text import Lang


@dataclass(frozen=True, slots=True)
class Area:
    """One question that the product answers, with a pane and a command of its own.

    id: also the pane's. command: the word on the command line. title, question: (en, zh). rules: module that
    holds the area's RULES, reports: the one with its reports_of and report_of (core/analysis.py), criteria:
    the one with its Criteria; "" while the area is not built. Modules are named, not imported: `--help` needs
    none of them.
    """

    id: str
    command: str
    title: tuple[str, str]
    question: tuple[str, str]
    rules: str = ""
    reports: str = ""
    criteria: str = ""

    @property
    def is_built(self) -> bool:
        return bool(self.rules)

    def check_criteria(self, text: str) -> None:
        """UsageError where one of these criteria is not the area's, or no number."""
        import_module(self.criteria, __package__).Criteria.parse(text)

    def criteria_names(self) -> tuple[str, ...]:
        """The names of the area's thresholds, as `--criteria` takes them."""
        kind = import_module(self.criteria, __package__).Criteria
        names: Callable[[], tuple[str, ...]] | None = getattr(kind, "names", None)
        return names() if names is not None else tuple(f.name for f in fields(kind))

    def reports_of(
        self,
        run: Run,
        options: AnalysisOptions,
        *,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> tuple[AreaReport, ...]:
        """All that the area can say of a run, round by round; () where it finds nothing of its own.

        Of an opened pack that holds less than the area needs: what it said of the whole run, as recorded.
        """
        recorded = self._recorded(run, options)
        if recorded is not None:
            return recorded
        from .kept.keeper import keeper_of, kept_or_made, settings_of, settings_of_run

        def made() -> tuple[AreaReport, ...]:
            module = import_module(self.reports, __package__)
            found: tuple[AreaReport, ...] = module.reports_of(
                run, options, progress=progress, is_cancelled=is_cancelled
            )
            return found

        asked = settings_of(options)
        settings = asked and (self.id, settings_of_run(run), asked)
        return kept_or_made(keeper_of(run, options.cache), settings, tuple, made)

    def report_of(
        self,
        paths: Sequence[Path],
        options: AnalysisOptions,
        *,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> AreaReport:
        """The one report that the paths and options of a command mean. InputError, UsageError.

        Of an opened pack that holds less than the area needs: the newest round's first one as recorded; where
        the options choose something, it is made of what is there and is incomplete.
        """
        from .packs.recorded import is_short, newest_recorded, with_gap

        if len(paths) == 1 and is_short(paths[0], self.id):
            recorded = newest_recorded(paths[0], self.id, options)
            if recorded is not None:
                return recorded
        from .analysis import AreaReport
        from .kept.keeper import keeper_of_paths, kept_or_made, settings_of

        def made() -> AreaReport:
            module = import_module(self.reports, __package__)
            told: AreaReport = module.report_of(paths, options, progress=progress, is_cancelled=is_cancelled)
            return told

        asked = settings_of(options) if self.id != "checkup" else None  # it asks the areas, and reads a file
        keeper = keeper_of_paths(paths, options.cache) if asked else None
        found = kept_or_made(keeper, asked and (self.id, asked), AreaReport, made)
        gaps = [path for path in paths if is_short(path, self.id)]
        return with_gap(found, gaps) if gaps else found

    def newest_of(
        self,
        run: Run,
        options: AnalysisOptions,
        *,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> Newest | None:
        """The newest round that the area can read, looked at alone; None where it finds nothing."""
        recorded = self._recorded(run, options)
        if recorded is not None:
            from .analysis import Newest

            return Newest(recorded[-1]) if recorded else None
        module = import_module(self.reports, __package__)
        found: Newest | None = module.newest_of(run, options, progress=progress, is_cancelled=is_cancelled)
        return found

    def changes_of(
        self, before: Newest, after: Newest, options: AnalysisOptions, names: tuple[str, str]
    ) -> AreaReport | None:
        """What more the area says of two rounds; None where that is nothing. names: of their runs."""
        if before.analysis is None or after.analysis is None:  # as recorded in a pack
            return None
        changes_of = getattr(import_module(self.reports, __package__), "changes_of", None)
        found: AreaReport | None = changes_of and changes_of(before, after, options, names)
        return found

    def _recorded(self, run: Run, options: AnalysisOptions) -> tuple[AreaReport, ...] | None:
        from .packs.recorded import recorded_reports

        return recorded_reports(run.path, self.id, options.round_name, options.lang)


AREAS: tuple[Area, ...] = (
    Area(
        "checkup",
        "check",
        ("Check-up", "体检"),
        ("which question to ask first", "先看哪个问题"),
        rules=".checkup.rules",
        reports=".checkup.run_report",
        criteria=".checkup.criteria",
    ),
    Area(
        "precision",
        "precision",
        ("Precision", "精度"),
        ("computed wrong", "算错了"),
        rules=".precision.rules",
        reports=".precision.run_report",
        criteria=".precision.verdict",
    ),
    Area(
        "overflow",
        "overflow",
        ("Overflow", "溢出"),
        ("blew up (NaN, Inf)", "数值爆炸（NaN、Inf）"),
        rules=".overflow.rules",
        reports=".overflow.run_report",
        criteria=".overflow.criteria",
    ),
    Area(
        "memory",
        "memory",
        ("Memory", "内存"),
        ("broke memory", "内存出错"),
        rules=".memory.rules",
        reports=".memory.run_report",
        criteria=".memory.criteria",
    ),
    Area(
        "performance",
        "performance",
        ("Performance", "性能"),
        ("ran slow", "跑得慢"),
        rules=".performance.rules",
        reports=".performance.run_report",
        criteria=".performance.criteria",
    ),
    Area(
        "device",
        "device",
        ("Device", "设备"),
        ("the device's health", "设备健康"),
        rules=".device.rules",
        reports=".device.run_report",
        criteria=".device.criteria",
    ),
    Area(
        "rounds",
        "rounds",
        ("Rounds", "轮次"),
        ("what changed between attempts", "各轮之间的变化"),
        rules=".rounds.rules",
        reports=".rounds.run_report",
        criteria=".rounds.criteria",
    ),
)


RULES_BESIDE: Mapping[str, str] = {
    "capture": ".capture.rules",
    "config": ".config.rules",
    "env": ".doctor.rules",
    "recheck": ".recheck.rules",
}
"""Rules of rooms that are no area and have no pane: the first part of their ids -> the module."""


def area_of(area_id: str) -> Area:
    """The area of that id; KeyError where there is none."""
    return {area.id: area for area in AREAS}[area_id]


BESIDE: Mapping[str, tuple[str, str]] = {
    "environment": ("Environment", "环境"),
    "plugin": ("Plug-ins", "插件"),
    "recheck": ("Recheck", "复算"),
}
"""What a check-up or a report tells beside the areas: titles, (en, zh)."""


def area_title(area_id: str, lang: Lang) -> str:
    """What people call an area, or what stands beside them in a check-up; the id where it has no title."""
    titles = {**{area.id: area.title for area in AREAS}, **BESIDE}
    return titles[area_id][lang == "zh"] if area_id in titles else area_id


def first_area(run: Run) -> str:
    """The area that a run was captured for, to show first: precision where captures can be compared, overflow
    for a dump that has no other one beside it, else the first one whose tools wrote something here."""
    from .run.kinds import KINDS
    from .run.sides import capture_pairs

    if capture_pairs(run):
        return "precision"
    kinds = [KINDS[artifact.kind] for artifact in run.artifacts if KINDS[artifact.kind].is_read]
    found = {
        "overflow" if kind.area == "precision" and "overflow" in kind.areas else kind.area for kind in kinds
    }
    return next((area.id for area in AREAS if area.is_built and area.id in found), "precision")


def all_rules() -> tuple[Rule, ...]:
    """Every rule of every area that is built, and of the rooms beside them, sorted by id."""
    found: list[Rule] = []
    for module in (*(area.rules for area in AREAS if area.is_built), *RULES_BESIDE.values()):
        found += import_module(module, __package__).RULES
    return tuple(sorted(found, key=lambda rule: rule.id))


def rule_by_id(rule_id: str) -> Rule:
    """One rule; UsageError that names near ids for an unknown one."""
    import difflib

    from .plugins.rules import rule_of_plugin

    rules = {rule.id: rule for rule in all_rules()}
    told = rule_of_plugin(rule_id)
    if told is not None:
        return told
    if rule_id not in rules:
        near = difflib.get_close_matches(rule_id, rules, n=3, cutoff=0.3)
        raise UsageError(f"no rule '{rule_id}'", hint="did you mean: " + ", ".join(near or rules))
    return rules[rule_id]

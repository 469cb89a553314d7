"""What an area looks at in a run, round by round, and the functions by which it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Literal

from npulse.core.dataclass import dataclass

from ..analysis import AnalysisOptions, AreaReport, Newest, SelectionT, reports_of_each
from ..errors import InputError, UsageError
from ..progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..text import say
from .model import Artifact, Run

SHOWN = 16
TEXTS: Mapping[str, tuple[str, str]] = {
    "round-without": (
        "round {round} is newer but holds nothing that can be read for this; this is {chosen}",
        "轮次 {round} 更新但没有可供此项读取的内容；此处为 {chosen}",
    ),
    "meant-nothing": ("{words} chooses nothing here", "{words} 在此不起作用"),
    "beside-rounds": (
        "no round holds anything that can be read for this; this is what lies beside the rounds",
        "各轮次均没有可供此项读取的内容；此处为轮次之外的内容",
    ),
}


@dataclass(frozen=True, slots=True)
class Selection:
    """What is looked at: a round, its artifacts, and the rounds before it, oldest first."""

    round: str
    artifacts: tuple[Artifact, ...]
    earlier: tuple[tuple[str, tuple[Artifact, ...]], ...]


def check_round(run: Run, options: AnalysisOptions) -> None:
    """InputError where the round that is asked for is not there."""
    names = [round_.name for round_ in run.rounds]
    if options.round_name is not None and options.round_name not in names:
        known = f"rounds: {', '.join(names[:8])}" if any(names) else "it has one round without a name"
        raise InputError(f"no round '{options.round_name}'", path=run.path, hint=known)


def selections_of(
    run: Run,
    options: AnalysisOptions,
    is_something: Callable[[Sequence[Artifact]], bool],
    *,
    is_own: Callable[[Artifact], bool],
) -> list[Selection]:
    """The rounds that hold something; what lies beside the rounds where none of them does.

    is_own: whether an artifact of a round is of the rank that is asked for.
    """
    check_round(run, options)
    found: list[Selection] = []
    earlier: list[tuple[str, tuple[Artifact, ...]]] = []
    for round_ in run.rounds:
        if not options.earlier and options.round_name not in (None, round_.name):
            continue  # whether it holds something may cost a file, and nobody asks
        own = tuple(filter(is_own, round_.artifacts))
        if is_something(own):
            before = tuple(earlier) if options.earlier else ()
            found.append(Selection(round_.name, (*run.shared, *own), before))
            earlier.append((round_.name, own))
    if not found and is_something(run.shared):
        found.append(Selection("", run.shared, ()))
    return [one for one in found if options.round_name in (None, one.round)]


def ranks_hint(ranks: Iterable[int | None]) -> str:
    """Which ranks there are, for somebody who asked for another one."""
    known = sorted({rank for rank in ranks if rank is not None})
    return "ranks: " + ", ".join(map(str, known[:SHOWN])) if known else "no folder here names a rank"


def _with_note(run: Run, told: AreaReport, options: AnalysisOptions) -> AreaReport:
    """With a word on the round that was taken, where it is not the newest one of the run."""
    last = run.rounds[-1].name if run.rounds else ""
    if options.round_name is not None or told.round == last:
        return told
    note = say(
        TEXTS, "round-without" if told.round else "beside-rounds", options.lang, round=last, chosen=told.round
    )
    return replace(told, notes=(*told.notes, note))


@dataclass(frozen=True, slots=True)
class Reports(Generic[SelectionT]):
    """What differs between areas, and what they are asked with it. usage: hint for more paths than one.

    selections: what there is to look at, by round. nothing_here: what is said where that is nothing.
    look: the analysis of a selection; InputError where nothing of it can be read. tell: its report.
    without: what this area has none of, so that nobody can choose by it.
    """

    usage: str
    selections: Callable[[Run, AnalysisOptions], list[SelectionT]]
    nothing_here: Callable[[Run, AnalysisOptions], InputError]
    look: Callable[..., Any]
    tell: Callable[[Run, SelectionT, Any, AnalysisOptions], AreaReport]
    without: tuple[Literal["pair", "step"], ...] = ()

    def _meant_nothing(self, options: AnalysisOptions) -> list[str]:
        asked = {"pair": options.pair_name, "step": options.step}
        return [word for word in self.without if asked[word] is not None]

    def newest(self, run: Run, options: AnalysisOptions) -> SelectionT:
        """The newest round that has something to look at, or the one that is named; else InputError."""
        chosen = self.selections(run, options)
        if not chosen:
            error = self.nothing_here(run, options)
            damaged = next((one for one in run.problems if one.kind == "unreadable"), None)
            if damaged is not None and options.rank is None:
                error = InputError(
                    error.message, path=error.path, hint=f"{damaged.artifact}: {damaged.message}"
                )
            raise error
        return chosen[-1]

    def reports_of(
        self,
        run: Run,
        options: AnalysisOptions,
        *,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> tuple[AreaReport, ...]:
        """A report for each round that has something to look at; () where none has. A round that cannot be
        read is left out where another one can."""

        def one(chosen: SelectionT) -> AreaReport:
            found = self.look(run, chosen, options, progress=progress, is_cancelled=is_cancelled)
            return self.tell(run, chosen, found, options)

        return reports_of_each(self.selections(run, options), one)

    def report_of(
        self,
        paths: Sequence[Path],
        options: AnalysisOptions,
        *,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> AreaReport:
        """The report of the newest round that has something to look at, or of the round that is named.

        InputError where there is nothing; UsageError for more than one path.
        """
        if len(paths) != 1:
            raise UsageError("give one run", hint=self.usage)
        for word in self._meant_nothing(options):
            hint = f"leave --{word} out"
            raise UsageError(f"--{word} chooses nothing here: there is no {word}", hint=hint, path=paths[0])
        from .discover import discover  # slow to load, and not needed where a run is open

        run = discover(paths[0], progress=progress, is_cancelled=is_cancelled)
        chosen = self.newest(run, options)
        found = self.look(run, chosen, options, progress=progress, is_cancelled=is_cancelled)
        return _with_note(run, self.tell(run, chosen, found, options), options)

    def newest_of(
        self,
        run: Run,
        options: AnalysisOptions,
        *,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> Newest | None:
        """The newest round that can be read, without those before it; None where there is nothing.

        Raises InputError, that of the newest, where none can be read.
        """
        alone = replace(options, earlier=False)
        refused: list[InputError] = []
        for chosen in reversed(self.selections(run, alone)):
            try:
                found = self.look(run, chosen, alone, progress=progress, is_cancelled=is_cancelled)
            except InputError as error:
                refused.append(error)
                continue
            told = _with_note(run, self.tell(run, chosen, found, alone), alone)
            words = ", ".join(f"--{word}" for word in self._meant_nothing(options))
            if words:
                note = say(TEXTS, "meant-nothing", options.lang, words=words)
                told = replace(told, notes=(*told.notes, note))
            return Newest(told, found, tuple(refused))
        if refused:
            raise refused[0]
        return None

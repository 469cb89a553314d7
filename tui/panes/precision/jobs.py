"""What the precision pane does in its worker: plain functions, no widget in sight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npulse.core.findings import Report
from npulse.core.text import Lang

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npulse.core.precision.by_hand import HandPair
    from npulse.core.precision.comparison import Settings
    from npulse.core.precision.theirs.view import TheirsView
    from npulse.core.run.model import Artifact, Run
    from npulse.core.run.sides import CapturePair
    from npulse.core.tails import Tails

    from ..job_pane import JobTools


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user said should be compared: one of the round's pairs, or two captures, or one alone.

    golden None with a target: that capture alone. is_theirs: what other tools computed.
    """

    pair_index: int = 0
    target: Path | None = None
    golden: Path | None = None
    is_theirs: bool = False


@dataclass(frozen=True, slots=True)
class Alone:
    """No pair: the report of one capture alone (None: no capture at all), and the captures of the run.

    has_artifacts: whether anything at all was recognised in the run.
    """

    report: Report | None
    captures: tuple[str, ...]
    lang: Lang
    has_artifacts: bool = True


@dataclass(frozen=True, slots=True)
class Kept:
    """What a pane keeps from one comparison to the next. pairs: said by hand of two captures, by their name;
    measured: figures of tensors, so that other pairs cost no second reading."""

    pairs: Callable[[str], Any] = lambda captures: None
    measured: dict[Any, Any] = field(default_factory=dict)

    def by_hand(self, pair: CapturePair, run: Path) -> tuple[HandPair, ...]:
        """What the user said of the calls of two captures; of none yet, what was said last in this run."""
        from npulse.core.precision.by_hand import capture_key, pairs_from_json, run_key

        found = self.pairs(capture_key(pair))
        return pairs_from_json(self.pairs(run_key(run)) if found is None else found)


def settings_of(settings: Settings, by_hand: tuple[HandPair, ...]) -> Settings:
    """The settings with what was paired by hand in force."""
    from npulse.core.precision.by_hand import PairedByHand

    if not by_hand:
        return settings
    return replace(settings, pair_calls=PairedByHand(settings.pair_calls, by_hand))


def compare_round(
    run: Run,
    round_name: str,
    tools: JobTools,
    *,
    settings: Settings | None,
    choice: Choice,
    tails: Tails | None = None,
    kept: Kept | None = None,
) -> None:
    """Compare the pair that is chosen; shown after the first read and when it is complete."""
    from npulse.core.precision.compare import Comparison, Settings, compare_captures
    from npulse.core.precision.view import precision_view
    from npulse.core.run.sides import pair_of

    options = {"progress": tools.progress, "is_cancelled": tools.is_cancelled}
    pairs = pairs_of(run, round_name)
    if choice.target is not None and choice.golden is not None:
        pairs = [pair_of(choice.target, choice.golden, **options)]  # type: ignore[arg-type]
    if not pairs or choice.is_theirs or (choice.target is not None and choice.golden is None):
        theirs = _theirs(run, round_name, tools) if choice.target is None else None
        tools.show(theirs or _alone(run, round_name, tools, choice.target, tails))
        return
    index = min(choice.pair_index, len(pairs) - 1)
    kept = kept or Kept()
    by_hand = kept.by_hand(pairs[index], run.path)
    asked = settings_of(settings or Settings(), by_hand)
    asked = replace(asked, tails=tails, metrics=True, measured=kept.measured)

    def show(comparison: Comparison) -> None:
        options = {"root": run.path, "pair_index": index, "n_pairs": len(pairs), "by_hand": by_hand}
        tools.show(precision_view(comparison, tools.lang, **options))  # type: ignore[arg-type]

    show(
        compare_captures(
            pairs[index],
            asked,
            progress=tools.progress,
            is_cancelled=tools.is_cancelled,
            on_update=show,
        )
    )


def pairs_of(run: Run, round_name: str) -> list[CapturePair]:
    """The pairs of a round that folder names make certain."""
    from npulse.core.run.sides import capture_pairs

    return [pair for pair in capture_pairs(run) if pair.round == round_name]


def rounds_with_pairs(run: Run) -> list[str]:
    """The rounds that can be compared with each other, in order."""
    from npulse.core.run.sides import capture_pairs

    return list(dict.fromkeys(pair.round for pair in capture_pairs(run)))


def capture_choices(run: Run) -> list[tuple[str, Path]]:
    """All captures of a run by name, for the user to say which is target and which is golden."""
    from npulse.core.run.sides import comparable_captures

    return [(f"{c.round}: {c.name}" if c.round else c.name, c.path) for c in comparable_captures(run)]


def results_of(run: Run, round_name: str) -> str:
    """The results of other tools that lie in a round, by name; "" for none."""
    from npulse.core.precision.theirs.run import names_of, results_by_round

    return names_of(results_by_round(run, round_name).get(round_name, []))


def _theirs(run: Run, round_name: str, tools: JobTools) -> TheirsView | None:
    """What other tools computed in a round where nothing else can be compared; None where they did not."""
    from npulse.core.analysis import AnalysisOptions
    from npulse.core.precision.theirs.run import ADVICE, open_results, results_by_round
    from npulse.core.precision.theirs.view import theirs_view
    from npulse.core.run.sides import captures_of

    found = results_by_round(run)
    artifacts = found.get(round_name) or found.get("") or []
    if not artifacts or (captures_of(run) and all(one.kind in ADVICE for one in artifacts)):
        return None
    opened = open_results(
        run, artifacts, AnalysisOptions(), progress=tools.progress, is_cancelled=tools.is_cancelled
    )
    return theirs_view(opened, tools.lang)


def _alone(run: Run, round_name: str, tools: JobTools, capture: Path | None, tails: Tails | None) -> Alone:
    from npulse.core.precision.alone import check_alone
    from npulse.core.run.sides import captures_alone, comparable_captures

    captures = captures_alone(run)
    dumps: Sequence[Artifact] = ()
    for found in (*captures, *comparable_captures(run)):
        if found.path == capture:
            dumps = found.artifacts
    if capture is None:
        dumps = [a for one in captures if one.round == round_name for a in one.artifacts]
    names = tuple(found.name for found in captures)
    has_artifacts = any(round_.artifacts for round_ in run.rounds) or bool(run.shared)
    if not dumps:
        return Alone(None, names, tools.lang, has_artifacts)
    if capture is not None:
        names = tuple(found.name for found in captures if found.path == capture)
    report = check_alone(
        run, dumps, lang=tools.lang, tails=tails, progress=tools.progress, is_cancelled=tools.is_cancelled
    )
    return Alone(report, names, tools.lang)

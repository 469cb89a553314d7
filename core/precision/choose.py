"""What of a run is compared: which pair is meant, which captures stand alone, and what was not looked at."""

from __future__ import annotations

from collections.abc import Sequence

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import InputError
from npulse.core.run.model import Run
from npulse.core.run.sides import (
    Capture,
    CapturePair,
    capture_pairs,
    captures_alone,
    captures_of,
    comparable_captures,
    unpaired_captures,
)
from npulse.core.text import Lang, say

from .texts import TEXTS

SHOWN_NAMES = 8
OVERFLOW_FOLDER = "overflow"
"""What lies below it was captured for the overflow area: that it is in no pair is no news."""


def choose_pair(run: Run, round_name: str | None = None, pair: str | None = None) -> CapturePair:
    """The pair of a run that is meant: by round and name, else the first of the newest round that has one.

    InputError with what was found instead.
    """
    pairs = matching(run, capture_pairs(run), round_name, pair)
    if pairs:
        return newest(pairs)
    only_capture(run, round_name)
    raise InputError("there is one capture alone here", path=run.path, hint=TWO_SIDES)


def newest(pairs: Sequence[CapturePair]) -> CapturePair:
    """The first pair of the newest round among pairs in the order of the rounds."""
    return next(pair for pair in pairs if pair.round == pairs[-1].round)


def pair_name(pair: CapturePair) -> str:
    """What `--pair` takes: the target's name; both names are shown with it."""
    return f"{pair.target_name} against {pair.golden_name}"


TWO_SIDES = (
    "give the golden capture as second argument, or open a folder that holds both "
    "(named npu/gpu/cpu/golden/bench/target ...)"
)


def matching(
    run: Run, pairs: Sequence[CapturePair], round_name: str | None, name: str | None
) -> list[CapturePair]:
    rounds = [round_.name for round_ in run.rounds]
    if round_name is not None and round_name not in rounds:
        known = f"rounds: {listed(rounds)}" if any(rounds) else "it has one round without a name"
        raise InputError(f"no round '{round_name}'", path=run.path, hint=known)
    found = [pair for pair in pairs if round_name in (None, pair.round)]
    if name is None:
        return found
    named = [pair for pair in found if name in (pair.target_name, pair_name(pair))]
    if not named:
        folder = name.rstrip("/") + "/"
        named = [pair for pair in found if pair.target_name.startswith(folder)]
    if not named:
        known = f"pairs: {listed([pair_name(p) for p in found])}" if found else "there is no pair here"
        raise InputError(f"no pair '{name}'", path=run.path, hint=known)
    return named


def notes_of_choice(
    run: Run, pair: CapturePair, pairs: Sequence[CapturePair], options: AnalysisOptions
) -> tuple[str, ...]:
    """What was chosen out of several, and what was not looked at."""
    notes: list[str] = []
    beside = [p for p in pairs if p.round == pair.round]
    if len(beside) > 1:
        others = listed([p.target_name for p in beside if p is not pair])
        values = {"n": len(beside), "name": pair_name(pair), "others": others}
        notes.append(say(TEXTS, "pair-chosen", options.lang, **values))
    last = run.rounds[-1].name if run.rounds else ""
    if options.round_name is None and options.pair_name is None and last != pair.round:
        notes.append(say(TEXTS, "round-without-pair", options.lang, round=last, chosen=pair.round))
    return (*notes, *left_out(run, pair.round, options.lang))


def left_out(run: Run, round_name: str, lang: Lang) -> tuple[str, ...]:
    alone = [
        capture.name
        for capture in unpaired_captures(run)
        if capture.round == round_name and OVERFLOW_FOLDER not in capture.name.split("/")
    ]
    return (say(TEXTS, "left-out", lang, names=listed(alone)),) if alone else ()


def captures_without_pair(run: Run, options: AnalysisOptions) -> dict[str, list[Capture]]:
    """The captures of rounds that hold no pair. Of captures beside the rounds a pair may exist in a round, as
    of a round that is the golden one of others."""
    pairs = capture_pairs(run)
    paired = {pair.round for pair in pairs} | ({""} if pairs else set())
    golden = {artifact.path for pair in pairs for artifact in pair.golden}
    found: dict[str, list[Capture]] = {}
    for capture in captures_alone(run):
        if golden.intersection(artifact.path for artifact in capture.artifacts):
            continue
        if capture.round not in paired and options.round_name in (None, capture.round):
            found.setdefault(capture.round, []).append(capture)
    return found


def only_capture(run: Run, round_name: str | None) -> list[Capture]:
    captures = [c for c in captures_of(run) if round_name in (None, c.round)]
    captures = captures or [c for c in comparable_captures(run) if round_name in (None, c.round)]
    if len(captures) == 1:
        return captures
    where = f" in round '{round_name}'" if round_name else ""
    if not captures:
        raise InputError(f"no capture pair here{where}", path=run.path, hint=TWO_SIDES)
    raise InputError(
        f"{len(captures)} captures{where}, and their names do not say which is target and which is golden",
        path=run.path,
        hint="name the two as TARGET and GOLDEN: " + listed([c.name for c in captures]),
    )


def place_of_round(run: Run, round_name: str) -> int:
    """The place of a round; what lies beside the rounds is before all."""
    return next((place for place, one in enumerate(run.rounds) if one.name == round_name), -1)


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN_NAMES]) + (", ..." if len(names) > SHOWN_NAMES else "")

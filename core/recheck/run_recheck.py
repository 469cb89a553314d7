"""Calls of a run computed again: which captures, ranks and steps, which calls, both sides."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import numpy.typing as npt

from npulse.core.analysis import AnalysisOptions
from npulse.core.calls.apis import plain_api
from npulse.core.calls.captures import read_capture
from npulse.core.calls.rank import stacks_of
from npulse.core.errors import InputError, UsageError
from npulse.core.files import shown_path
from npulse.core.findings import Problem, Report
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import Dump
from npulse.core.precision.by_hand.mapping import way_to_pair
from npulse.core.precision.captured import paired
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    check,
    ignore_progress,
    never_cancelled,
)
from npulse.core.run.captures import CHECKPOINT, COMPARABLE, FILES, captures_among
from npulse.core.run.discover import discover
from npulse.core.run.model import Artifact, Run
from npulse.core.run.selection import check_round
from npulse.core.run.sides import CapturePair, Declared, capture_pairs
from npulse.core.text import Lang

from .foreign import References
from .of_tools import words_of
from .one_call import Asking, OneCall, computed
from .report import Rechecked, report_of

MAX_CALLS = 200
SIDES = ("target", "golden")
KINDS = frozenset(COMPARABLE) - {CHECKPOINT, FILES, "cann.golden"}
"""Captures that say what each call runs."""


@dataclass(frozen=True, slots=True)
class RecheckReport:
    """A report, and what it is made of."""

    report: Report
    calls: tuple[Rechecked, ...]

    def lines(self, lang: Lang = "en") -> tuple[str, ...]:
        """All that is said of every call, for people."""
        return tuple(line for one in self.calls for line in one.lines(lang))


@dataclass(frozen=True, slots=True)
class Place:
    """A rank and step of the side that is asked for, and its counterpart of the golden side.

    pair: the pair that both belong to, None without a counterpart.
    """

    artifact: Artifact
    side: str
    root: Path
    golden: Artifact | None = None
    golden_root: Path = Path()
    declared: Declared = Declared()
    pair: CapturePair | None = None


def recheck(
    run: Run | str | os.PathLike[str],
    operator: str,
    *,
    options: AnalysisOptions | None = None,
    side: str | None = None,
    activation: str | None = None,
    scale: str | None = None,
    reference: str | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> RecheckReport:
    """Calls of an operator computed again on the CPU from what was dumped.

    operator: a call's full name, a pattern of names (* ? []), an API ("softmax", "NPU.npu_rms_norm") or a
    module class; of the latter two all forward calls. side: "target" or "golden" of a run that holds both
    (default: target, with the golden side's call beside it). activation, scale: a leaf of the call that is
    studied under int8, and the scale (a leaf, or a number); quantising calls have their own. reference:
    FILE.py:FUNCTION, which computes what the operator should, called as it is; it runs in a process of its
    own. options: round, pair, rank, step, language. At most MAX_CALLS calls. Raises InputError for a run
    without dumps, UsageError where no call fits.
    """
    asked = options or AnalysisOptions()
    if side not in (None, *SIDES):
        raise UsageError(f"no side '{side}'", hint="target or golden")
    opened = (
        run if isinstance(run, Run) else discover(Path(run), progress=progress, is_cancelled=is_cancelled)
    )
    places = places_of(opened, asked, side)
    found: list[Rechecked] = []
    problems: list[Problem] = list(opened.problems)
    names: set[str] = set()
    n_fitting = 0
    with References(reference, is_cancelled=is_cancelled) as references:
        asking = Asking(references, activation, scale, is_cancelled)
        for n_done, place in enumerate(places):
            progress(Progress("recheck", n_done, len(places), "ranks"))
            check(is_cancelled)
            dump = _read(place, problems, progress, is_cancelled)
            if dump is None:
                continue
            names.update(dump.calls.names)
            fitting = calls_that_fit(dump, operator)
            n_fitting += len(fitting)
            fitting = fitting[: MAX_CALLS - len(found)]
            if fitting:
                found += _of_place(place, dump, fitting, asking, asked, problems, progress)
        problems += references.problems
    if not found and not problems:
        raise _no_call(opened, operator, sorted(names))
    root = opened.path
    told = report_of(
        os.fspath(root),
        found,
        problems,
        asked.lang,
        artifacts=[place.artifact for place in places],
        tables=asked.tables,
        n_fitting=n_fitting,
    )
    return RecheckReport(told, tuple(found))


def _of_place(
    place: Place,
    dump: Dump,
    calls: Sequence[int],
    asking: Asking,
    options: AnalysisOptions,
    problems: list[Problem],
    progress: ProgressCallback,
) -> Iterator[Rechecked]:
    golden_dump = None
    if place.golden is not None:
        golden = replace(place, artifact=place.golden, root=place.golden_root)
        golden_dump = _read(golden, problems, progress, asking.is_cancelled)
    counterparts = _counterparts(place, dump, golden_dump, options)
    names = [dump.calls.names[call] for call in calls]
    stacks = stacks_of(dump, place.root, [], lambda path: shown_path(path, place.root), only=names)
    rank, step = place.artifact.rank, place.artifact.step
    for n_done, (call, name) in enumerate(zip(calls, names, strict=True)):
        check(asking.is_cancelled)
        progress(Progress("recheck", n_done, len(calls), "calls"))
        one = OneCall(dump, call, place.root, rank, step, place.side, place.artifact.relative)
        other = None
        if golden_dump is not None and place.golden is not None and counterparts[call] >= 0:
            where, at = place.golden.relative, int(counterparts[call])
            other = OneCall(golden_dump, at, place.golden_root, rank, step, "golden", where)
        frames = () if stacks is None else stacks.frames(name)
        told, unread = computed(one, other, asking, frames, has_golden=place.golden is not None)
        problems += [problem for problem in unread if problem not in problems]
        yield told


def _counterparts(
    place: Place, dump: Dump, golden: Dump | None, options: AnalysisOptions
) -> npt.NDArray[np.int64]:
    """For each call the golden one that stands against it in a comparison (of a group its last), else -1."""
    n = len(dump.calls.names)
    if golden is None or place.pair is None:
        return np.full(n, -1, np.int64)
    pairing = paired(place.pair, dump, golden, way_to_pair(options.pairing, options.mappings)[0])
    steps = pairing.steps_of(n, is_target=True)
    return np.where(steps >= 0, pairing.golden_call[steps], -1)


def _read(
    place: Place, problems: list[Problem], progress: ProgressCallback, is_cancelled: IsCancelled
) -> Dump | None:
    try:
        dump = read_capture(place.artifact, place.root, place.declared, progress, is_cancelled)
    except InputError as error:
        problems.append(Problem.from_error(error, place.artifact.relative))
        return None
    problems += [problem for problem in dump.problems if problem not in problems]
    return dump


def places_of(run: Run, options: AnalysisOptions, side: str | None) -> list[Place]:
    """The rank-steps to look at: of the newest round that holds dumps (or the one that is named) its
    captures, golden ones only where they are asked for. InputError where there is none."""
    check_round(run, options)
    captures = [c for c in captures_among(run, KINDS) if options.round_name in (None, c.round)]
    pairs = [p for p in capture_pairs(run) if options.round_name in (None, p.round) and _says_calls(p, side)]
    if options.pair_name is not None:
        pairs = [p for p in pairs if p.target_name == options.pair_name]
        captures = [c for c in captures if c.name == options.pair_name]
    if not captures and not pairs:
        hint = "capture tensors (msprobe task tensor, ATB, CANN), or name the folder that holds the dump"
        raise InputError("holds no dump whose calls could be computed again", path=run.path, hint=hint)
    newest = _newest_round(run, captures, pairs)
    pairs = [p for p in pairs if p.round == newest]
    golden = {
        a.path for pair in pairs for a in (*pair.golden, *(u for u in pair.unmatched if u.side == "golden"))
    }
    root = run.path if run.path.is_dir() else run.path.parent
    places = [place for pair in pairs for place in _of_pair(pair, side)]
    known = {place.artifact.path for place in places} | {a.path for p in pairs for a in p.target}
    if side != "golden":
        own = [a for c in captures if c.round == newest for a in c.artifacts]
        places += [Place(a, "", root) for a in own if a.path not in known | golden]
    kept = [
        place
        for place in places
        if options.rank in (None, place.artifact.rank) and options.step in (None, place.artifact.step)
    ]
    if not kept:
        known_places = sorted({f"step {p.artifact.step} rank {p.artifact.rank}" for p in places})
        asked = [f"{n} {v}" for n, v in (("rank", options.rank), ("step", options.step)) if v is not None]
        what = f"no {' of '.join(asked)} here" if asked else "holds no golden side"
        raise InputError(what, path=run.path, hint=", ".join(known_places[:8]) or None)
    return kept


def _newest_round(run: Run, captures: Sequence[object], pairs: Sequence[CapturePair]) -> str:
    held = {getattr(one, "round", "") for one in (*captures, *pairs)}
    return next((r.name for r in reversed(run.rounds) if r.name in held), "")


def _says_calls(pair: CapturePair, side: str | None) -> bool:
    """Whether the side that is asked for says what its calls run."""
    asked = pair.golden if side == "golden" else pair.target
    return all(artifact.kind in KINDS for artifact in asked)


def _of_pair(pair: CapturePair, side: str | None) -> Iterator[Place]:
    if side == "golden":
        yield from (Place(a, "golden", pair.golden_root) for a in pair.golden)
        return
    for target, golden in zip(pair.target, pair.golden, strict=True):
        if side == "target":
            yield Place(target, "target", pair.target_root)
        else:
            other = golden if golden.kind in KINDS else None
            yield Place(target, "target", pair.target_root, other, pair.golden_root, pair.declared, pair)


def calls_that_fit(dump: Dump, operator: str) -> list[int]:
    """The calls that a user's word means: one by its full name, several by pattern, API or class."""
    names = dump.calls.names
    exact = [i for i, name in enumerate(names) if name == operator]
    if exact:
        return exact
    if any(c in operator for c in "*?["):
        return [i for i, name in enumerate(names) if fnmatchcase(name, operator)]
    return [i for i, name in enumerate(names) if operator in words_of(dump, i) or _is_of_type(name, operator)]


def _is_of_type(full: str, operator: str) -> bool:
    name = parse_name(full)
    if name.direction != "forward":
        return full.startswith(operator + ".") and name.kind == "api" and "backward" in operator
    if name.kind == "module":
        return operator in (name.cls, name.path) or full.startswith(operator + ".")
    api = name.api.rpartition(".")[2]
    return (
        operator in (name.api, api, plain_api(api), f"{name.prefix}.{name.api}")
        or full == f"{operator}.forward"
    )


def _no_call(run: Run, operator: str, names: Sequence[str]) -> UsageError:
    import difflib

    word = operator.lower()
    near = [name for name in names if word in name.lower()][:4] if word else []
    near = near or difflib.get_close_matches(operator, names, n=4, cutoff=0.5)
    hint = f"calls here: {', '.join(near or names[:4])}" if names else "the dump names no call"
    return UsageError(f"no call fits '{operator}'", hint=hint, path=run.path)

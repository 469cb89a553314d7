"""Which captures of a run are target and golden, and which ranks and steps of the two belong together.

A *capture* is a dump root: all rank and step folders below one folder. Words in folder names say the side:
`golden`, `bench`, `ref`, `baseline` ... are golden; `target`, `npu`, `ascend` ... are target; of the devices
`cpu` is golden to `gpu`, and both are golden to `npu`. A word of a role beats a device: `npu_golden` is
golden, `target_cpu` target. Where one of two captures is named so, the other one is its counterpart.
Nothing else is guessed: two captures without such words, or three in one place, are left to the user.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import InputError
from ..findings import Problem
from ..progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from .captures import CHECKPOINT, COMPARABLE, FILES, captures_among, grouped
from .captures import DUMP as DUMP
from .captures import Capture as Capture
from .captures import captures_alone as captures_alone
from .captures import captures_of as captures_of
from .captures import comparable_captures as comparable_captures
from .model import Artifact, Run
from .paths import is_process, is_rank_folder, shown
from .side_words import DEVICE_SCORES, GOLDEN_ROUND, GOLDEN_SCORE, GOLDEN_WORDS, TARGET_WORDS, words_of
from .side_words import side_score as side_score
from .tensor_names import holds_tensor_files, is_checkpoint_name, is_tensor_file


@dataclass(frozen=True, slots=True)
class Declared:
    """What the user says of files that do not say it themselves.

    dtype, shape: of raw elements (.bin). fusion_rule: the file that names the original operators of compiled
    ones (atc --mode=1).
    """

    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    fusion_rule: Path | None = None


@dataclass(frozen=True, slots=True)
class CapturePair:
    """Two captures, aligned: `golden[i]` is the counterpart of `target[i]` (same rank and step).

    unmatched: rank-steps of either side without counterpart (`side` says which). The roots bound what links
    may lead to. problems: what discovery could not look at, where `pair_of` looked.
    """

    round: str
    target: tuple[Artifact, ...]
    golden: tuple[Artifact, ...]
    unmatched: tuple[Artifact, ...] = ()
    target_name: str = ""
    golden_name: str = ""
    target_root: Path = Path()
    golden_root: Path = Path()
    problems: tuple[Problem, ...] = ()
    declared: Declared = Declared()

    def root_of(self, side: str) -> Path:
        """The folder that a side's files must lie in."""
        return self.golden_root if side == "golden" else self.target_root

    def relative(self, path: Path) -> str:
        """A file of either side as text: relative to the root that holds it."""
        for root in (self.target_root, self.golden_root):
            if path.is_relative_to(root):
                return shown(path.relative_to(root).parts)
        return shown((os.fspath(path),))


def capture_pairs(run: Run, kind: str | None = None) -> tuple[CapturePair, ...]:
    """The pairs that folder names make certain, in the order of the rounds; empty where there are none.

    A round without a golden capture of its own uses the one beside the rounds: a nameless capture beside its
    target is another part of the model, no reference. Where there is none it uses the newest round that is
    called golden (npulse capture --name golden). One folder may hold several
    pairs (fp16/npu, fp16/cpu, bf16/npu, ...). Captures that are in no pair: `unpaired_captures`.
    kind: of this kind alone; None: of all kinds. Dumps of msprobe are paired first, then what is left of
    them with captures of other tools; checkpoints with checkpoints alone.
    """
    if kind is not None:
        return _pairs_among(run, frozenset((kind,)), frozenset())
    pairs = _pairs_among(run, frozenset((DUMP,)), frozenset())
    if not any(artifact.kind in COMPARABLE[1:] for artifact in run.artifacts):
        return pairs
    rounds = frozenset(pair.round for pair in pairs)
    pairs += _pairs_among(run, frozenset(COMPARABLE) - {CHECKPOINT, FILES}, rounds)
    pairs += _pairs_among(run, frozenset((CHECKPOINT,)), frozenset())
    places = {round_.name: place for place, round_ in enumerate(run.rounds)}
    return tuple(sorted(pairs, key=lambda pair: places.get(pair.round, -1)))


def _pairs_among(run: Run, kinds: frozenset[str], without: frozenset[str]) -> tuple[CapturePair, ...]:
    """The pairs of captures of these kinds; none in the rounds of `without`."""
    shared = grouped(run, "", run.shared, kinds)
    pairs = [] if "" in without else [_aligned(run, target, golden) for target, golden in _couples(shared)]
    common = _common_golden(shared) or _golden_round(run, kinds)
    for round_ in run.rounds:
        captures = grouped(run, round_.name, round_.artifacts, kinds)
        if round_.name in without or len(captures) == 1 and words_of(round_.name) & GOLDEN_ROUND:
            continue
        target = _only_target(captures) if common is not None else None
        couples = [(target, common)] if target is not None and common is not None else _couples(captures)
        pairs += [_aligned(run, target, golden) for target, golden in couples]
    is_msprobe = kinds == frozenset((DUMP,))
    return tuple(pair for pair in pairs if pair.target and (is_msprobe or _are_apart(pair)))


def _are_apart(pair: CapturePair) -> bool:
    """Whether no folder of a side lies in one of the other side: what lies around is no counterpart."""
    sides = [artifact.path for artifact in (*pair.target, *pair.golden)]
    return not any(one in other.parents for one in sides for other in sides)


def golden_round(run: Run, kind: str = DUMP) -> Capture | None:
    """The newest round that is called golden, where no capture beside the rounds serves all of them."""
    return _golden_round(run, frozenset((kind,)))


def _golden_round(run: Run, kinds: frozenset[str]) -> Capture | None:
    if _common_golden(grouped(run, "", run.shared, kinds)) is not None:
        return None
    for round_ in reversed(run.rounds):
        if words_of(round_.name) & GOLDEN_ROUND:
            captures = grouped(run, round_.name, round_.artifacts, kinds)
            if len(captures) == 1:
                return captures[0]
    return None


def unpaired_captures(run: Run, kind: str = DUMP) -> tuple[Capture, ...]:
    """Captures in no pair: a single one has no golden; of several the user has to say which is which."""
    used = {artifact.path for pair in capture_pairs(run) for artifact in (*pair.target, *pair.golden)}
    return tuple(c for c in captures_of(run, kind) if not used.intersection(a.path for a in c.artifacts))


def pair_of(
    target: str | os.PathLike[str],
    golden: str | os.PathLike[str],
    *,
    declared: Declared = Declared(),
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> CapturePair:
    """The pair of two paths that the user named: dump roots, step or rank folders, or files.

    What no tool's capture is found in is taken as a folder of tensor files, or as one tensor file. Where each
    side holds one step (or one rank-step) it is paired whatever its number: the user chose it.
    Raises InputError where a side holds no capture or several, or where nothing belongs together.
    """
    from .discover import discover  # slow to load, and not needed for a pair that is known

    runs = [discover(path, progress=progress, is_cancelled=is_cancelled) for path in (target, golden)]
    sides = [_only_capture(run) for run in runs]
    if {side.artifacts[0].kind == CHECKPOINT for side in sides} == {True, False}:
        sides = [_as_checkpoint(side) for side in sides]
    roots = [run.path if run.path.is_dir() else run.path.parent for run in runs]
    matched, unmatched = _align(sides[0].artifacts, sides[1].artifacts, is_chosen=True)
    if not matched:
        hint = f"target has {_numbers(sides[0].artifacts)}; golden has {_numbers(sides[1].artifacts)}"
        raise InputError("no rank and step is in both captures", path=runs[0].path, hint=hint)
    return CapturePair(
        round="",
        target=tuple(t for t, _ in matched),
        golden=tuple(g for _, g in matched),
        unmatched=unmatched,
        target_name=runs[0].path.name,
        golden_name=runs[1].path.name,
        target_root=roots[0],
        golden_root=roots[1],
        problems=(*runs[0].problems, *runs[1].problems),
        declared=_with_rule(declared, *(artifact for run in runs for artifact in run.artifacts)),
    )


def _with_rule(declared: Declared, *artifacts: Artifact) -> Declared:
    """With the fusion rule that lies among these, where the user named none and there is one."""
    rules = [artifact.path for artifact in artifacts if artifact.kind == "cann.fusion_rule"]
    if declared.fusion_rule is not None or len(rules) != 1:
        return declared
    return replace(declared, fusion_rule=rules[0])


def _as_checkpoint(side: Capture) -> Capture:
    """Plain tensor files named against a checkpoint: parameters too, of one file or of a folder."""
    if side.artifacts[0].kind not in (CHECKPOINT, FILES):
        raise InputError(
            "a checkpoint holds parameters, a dump what operators made of them",
            path=side.path,
            hint="compare a checkpoint with a checkpoint, a dump with a dump",
        )
    return replace(side, artifacts=tuple(replace(a, kind=CHECKPOINT) for a in side.artifacts))


def _couples(captures: Sequence[Capture]) -> list[tuple[Capture, Capture]]:
    """(target, golden) of the captures whose names make it certain.

    First those whose paths differ by the word of the side alone, then two that lie side by side; two that
    are all there are may lie anywhere.
    """
    if len(captures) == 2:
        couple = _judge(captures)
        return [couple] if couple is not None else []
    couples: list[tuple[Capture, Capture]] = []
    left = list(captures)
    for key_of in (_path_without_side, _parent):
        places: dict[str, list[Capture]] = {}
        for capture in left:
            places.setdefault(key_of(capture), []).append(capture)
        for members in places.values():
            couple = _judge(members)
            if couple is not None:
                couples.append(couple)
                left = [capture for capture in left if capture not in couple]
    return sorted(couples, key=lambda couple: captures.index(couple[0]))


def _judge(captures: Sequence[Capture]) -> tuple[Capture, Capture] | None:
    if len(captures) != 2:
        return None
    first, second = captures
    scores = [_score(capture, captures) for capture in captures]
    if scores[0] == scores[1]:
        return None
    return (first, second) if scores[0] < scores[1] else (second, first)


def _score(capture: Capture, among: Sequence[Capture]) -> int:
    """The score of the innermost folder name that says a side, of those that not all captures share."""
    shared = os.path.commonpath([os.path.join("/", c.name) for c in among])
    own = os.path.relpath(os.path.join("/", capture.name), shared)
    said = next((score for name in reversed(own.split("/")) if (score := side_score(name))), 0)
    return said or _kind_score(capture)


def _path_without_side(capture: Capture) -> str:
    """The capture's path without the words that say a side: equal for dump_npu_fp16 and dump_gpu_fp16."""
    parts = capture.name.split("/")
    for i in range(len(parts) - 1, -1, -1):
        if side_score(parts[i]):
            said = GOLDEN_WORDS | TARGET_WORDS | set(DEVICE_SCORES)
            pieces = [piece for piece in re.split(r"[\W_]+", parts[i]) if not words_of(piece) & said]
            parts[i] = "*" + "_".join(pieces)
            return "/".join(parts)
    return "/".join(parts)


def _parent(capture: Capture) -> str:
    return capture.name.rpartition("/")[0]


def _common_golden(shared: Sequence[Capture]) -> Capture | None:
    """The capture beside the rounds that serves all of them: the only one that is named as golden."""
    golden = [capture for capture in shared if _name_score(capture) > 0]
    return golden[0] if len(golden) == 1 else None


def _only_target(captures: Sequence[Capture]) -> Capture | None:
    """The capture of a round without a golden one: the only one, or the only one named as target."""
    if any(_name_score(capture) > 0 for capture in captures):
        return None
    if len(captures) == 1:
        return captures[0]
    targets = [capture for capture in captures if _name_score(capture) < 0]
    return targets[0] if len(targets) == 1 else None


def _name_score(capture: Capture) -> int:
    said = next((s for name in reversed(capture.name.split("/")) if (s := side_score(name))), 0)
    return said or _kind_score(capture)


def _kind_score(capture: Capture) -> int:
    """Some kinds are made as golden ones."""
    return GOLDEN_SCORE if capture.artifacts[0].kind == "cann.golden" else 0


def _aligned(run: Run, target: Capture, golden: Capture) -> CapturePair:
    matched, unmatched = _align(target.artifacts, golden.artifacts, is_chosen=False)
    root = run.path if run.path.is_dir() else run.path.parent
    return CapturePair(
        round=target.round,
        target=tuple(t for t, _ in matched),
        golden=tuple(g for _, g in matched),
        unmatched=unmatched,
        target_name=target.name,
        golden_name=golden.name,
        target_root=root,
        golden_root=root,
        declared=_with_rule(Declared(), *_around(run, target.round)),
    )


def _around(run: Run, round_name: str) -> tuple[Artifact, ...]:
    """The artifacts of a round and what lies beside the rounds."""
    own = next((round_.artifacts for round_ in run.rounds if round_.name == round_name), ())
    return (*run.shared, *own)


def _only_capture(run: Run) -> Capture:
    """The capture of a path that was named: dumps of msprobe before all others, then plain tensor files."""
    captures = captures_of(run) or captures_among(run, frozenset(COMPARABLE))
    if not captures:
        found = _plain_files(run)
        if found is not None:
            return found
        hint = "name a dump root, a step or rank folder, a dump.json, or a file or folder of tensors"
        raise InputError("holds no dump or other capture that can be compared", path=run.path, hint=hint)
    if len(captures) == 1:
        return captures[0]
    names = ", ".join(capture.name for capture in captures[:8]) + (", ..." if len(captures) > 8 else "")
    raise InputError(f"holds {len(captures)} captures", path=run.path, hint=f"name one of: {names}")


def _plain_files(run: Run) -> Capture | None:
    """A file of tensors, or a folder with such files in it or below; None where there are none."""
    status = os.stat(run.path)
    if run.path.is_dir() and not holds_tensor_files(run.path):
        return None
    if not run.path.is_dir() and not is_tensor_file(run.path.name):
        return None
    kind = CHECKPOINT if is_checkpoint_name(run.path.name) else FILES
    artifact = Artifact(kind, run.path, run.path.name, status.st_size, status.st_mtime_ns)
    return Capture("", run.path.name, run.path, (artifact,))


Matched = list[tuple[Artifact, Artifact]]


def _align(
    target: Sequence[Artifact], golden: Sequence[Artifact], *, is_chosen: bool
) -> tuple[Matched, tuple[Artifact, ...]]:
    """Counterparts by step and rank. Helper processes beside ranks are left out, they are no ranks."""
    sides = [_with_side(target, "target"), _with_side(golden, "golden")]
    steps = [{a.step for a in side} for side in sides]
    one_step = len(steps[0]) == 1 and len(steps[1]) == 1 and (is_chosen or None in steps[0] | steps[1])
    matched: Matched = []
    for step in sorted(steps[0], key=lambda s: -1 if s is None else s):
        here = [[a for a in side if one_step or a.step == step] for side in sides]
        matched += _align_ranks(here[0], here[1], is_chosen=is_chosen)
    used = {artifact.path for couple in matched for artifact in couple}
    return matched, tuple(a for side in sides for a in side if a.path not in used)


def _align_ranks(target: Sequence[Artifact], golden: Sequence[Artifact], *, is_chosen: bool) -> Matched:
    """Equal ranks; the only process of each side if at least one of the two has no rank number."""
    if len(target) == 1 and len(golden) == 1:
        ranks = {_rank(target[0]), _rank(golden[0])}
        return [(target[0], golden[0])] if is_chosen or len(ranks) == 1 or None in ranks else []
    for lone, others in ((target, golden), (golden, target)):
        # a job of one process against one of several: which of them hold parts is for their shapes to say
        if len(lone) == 1 and _rank(lone[0]) is None and len(others) > 1:
            first = min(others, key=lambda artifact: -1 if artifact.rank is None else artifact.rank)
            return [(lone[0], first) if lone is target else (first, lone[0])]
    by_rank: list[dict[int | None, list[Artifact]]] = [{}, {}]
    for ranks_of, side in zip(by_rank, (target, golden), strict=True):
        for artifact in side:
            ranks_of.setdefault(_rank(artifact), []).append(artifact)
    return [
        (members[0], by_rank[1][rank][0])
        for rank, members in by_rank[0].items()
        if rank is not None and len(members) == 1 and len(by_rank[1].get(rank, ())) == 1
    ]


def _with_side(artifacts: Sequence[Artifact], side: str) -> list[Artifact]:
    """The artifacts with their side; without the proc folders that lie beside rank folders of one step."""
    names = [_folder_name(artifact) for artifact in artifacts]
    steps_with_ranks = {
        a.step
        for a, name in zip(artifacts, names, strict=True)
        if is_rank_folder(name) and not is_process(name)
    }
    kept = [
        a
        for a, name in zip(artifacts, names, strict=True)
        if not (is_process(name) and a.step in steps_with_ranks)
    ]
    return [replace(artifact, side=side) for artifact in kept]


def _folder_name(artifact: Artifact) -> str:
    folder = artifact.path if artifact.path.suffix != ".json" else artifact.path.parent
    return folder.name


def _rank(artifact: Artifact) -> int | None:
    """The rank number; None for a process folder and for `rank`, the only process of a job without ranks."""
    name = _folder_name(artifact)
    return None if name == "rank" or is_process(name) else artifact.rank


def _numbers(artifacts: Sequence[Artifact]) -> str:
    found = sorted({f"step {a.step} rank {a.rank}" for a in artifacts})
    return ", ".join(found[:6]) + (", ..." if len(found) > 6 else "")

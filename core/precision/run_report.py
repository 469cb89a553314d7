"""What the precision area says of a run: a report for each pair of captures, and for each capture alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from npulse.core.analysis import AnalysisOptions, AreaReport, Newest
from npulse.core.errors import InputError, UsageError
from npulse.core.findings import Problem, Report, with_problems
from npulse.core.formats.tensors import dtype_of
from npulse.core.formats.tensors.raw import parse_shape
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.discover import discover
from npulse.core.run.model import Artifact, Run
from npulse.core.run.sides import (
    Capture,
    CapturePair,
    Declared,
    capture_pairs,
    captures_of,
    pair_of,
)
from npulse.core.text import say

from .alone import check_alone
from .by_hand.mapping import way_to_pair
from .choose import (
    TWO_SIDES,
    captures_without_pair,
    left_out,
    listed,
    matching,
    newest,
    notes_of_choice,
    only_capture,
    pair_name,
    place_of_round,
)
from .compare import Comparison, Settings, compare_captures
from .mixed.dtype_map import read_precision_map
from .reading.needed import TENSORS, WHERE_NEEDED
from .report import AREA, report
from .shown.answer import answered, check_question, criteria_asked
from .shown.names import measures
from .texts import TEXTS
from .theirs.beside import with_results
from .theirs.run import ADVICE, names_of, report_of_results, results_by_round
from .verdict import Criteria


def reports_of(
    run: Run,
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[AreaReport, ...]:
    """Every pair of the run compared, every round without a pair checked for what needs none; () if no dumps.
    Results that other tools computed are told as theirs where no pair stands beside them.

    `round_name`, `pair_name`, `rank` and `step` narrow it; InputError or UsageError where nothing is left.
    A pair or capture that cannot be read is an incomplete report: the others are looked at all the same.
    """
    found: list[AreaReport] = []
    refused: list[InputError] = []
    pairs = matching(run, capture_pairs(run), options.round_name, options.pair_name)
    last_of = {pair.round: pair for pair in pairs}
    for pair in pairs:
        one = _of_pair(run, pair, options, refused, progress, is_cancelled)
        notes = left_out(run, pair.round, options.lang) if pair is last_of[pair.round] else ()
        found.append(replace(one, notes=notes))
    for round_name, captures in ({} if options.pair_name else captures_without_pair(run, options)).items():
        found.append(_of_captures(run, round_name, captures, options, refused, progress, is_cancelled))
    for round_name, results in ({} if options.pair_name else _results(run, options, pairs)).items():
        found.append(_of_results(run, round_name, results, options, refused, progress, is_cancelled))
    is_narrowed = options.rank is not None or options.step is not None
    if refused and len(refused) == len(found) and is_narrowed:
        raise refused[0]  # what was asked for is in none of them
    return tuple(sorted(found, key=lambda one: place_of_round(run, one.round)))


def newest_of(
    run: Run,
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Newest | None:
    """The first pair of the newest round that has one, else the newest captures; None if no dumps.

    What cannot be read is an incomplete report; InputError where the rank or step is not there.
    """
    refused: list[InputError] = []
    pairs = matching(run, capture_pairs(run), options.round_name, options.pair_name)
    if pairs:
        found = _of_pair(run, newest(pairs), options, refused, progress, is_cancelled)
    else:
        alone, results = captures_without_pair(run, options), _results(run, options)
        if not (alone or results):
            return None
        name = max((*alone, *results), key=lambda one: place_of_round(run, one))
        if name in results:
            found = _of_results(run, name, results[name], options, refused, progress, is_cancelled)
        else:
            found = _of_captures(run, name, alone[name], options, refused, progress, is_cancelled)
    if refused and (options.rank is not None or options.step is not None):
        raise refused[0]
    return Newest(found)


def _of_pair(
    run: Run,
    pair: CapturePair,
    options: AnalysisOptions,
    refused: list[InputError],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> AreaReport:
    try:
        told = _told_of_pair(run, pair, options, progress, is_cancelled)
    except InputError as error:
        refused.append(error)
        told = _unreadable(run, pair, error)
    return AreaReport(pair.round, pair_name(pair), with_problems(told, run.problems))


def _told_of_pair(
    run: Run,
    pair: CapturePair,
    options: AnalysisOptions,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> Report:
    """A pair compared, and what other tools computed of the same round beside it."""
    if options.inputs:
        return report_of_pair(pair, options, progress=progress, is_cancelled=is_cancelled)
    beside = results_by_round(run, pair.round).get(pair.round, [])
    comparison, told = _compared(pair, options, progress, is_cancelled)
    return with_results(told, comparison, run, beside, options) if beside else told


def _results(
    run: Run, options: AnalysisOptions, pairs: Sequence[CapturePair] = ()
) -> dict[str, list[Artifact]]:
    """Results of other tools in rounds where no pair stands beside them."""
    paired = {pair.round for pair in pairs}
    found = results_by_round(run, options.round_name)
    is_all = not captures_of(run)  # an advisor's text beside a capture says less than the capture
    return {
        name: results
        for name, results in found.items()
        if name not in paired and (is_all or any(one.kind not in ADVICE for one in results))
    }


def _of_results(
    run: Run,
    round_name: str,
    results: list[Artifact],
    options: AnalysisOptions,
    refused: list[InputError],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> AreaReport:
    try:
        told = report_of_results(run, results, options, progress=progress, is_cancelled=is_cancelled)
    except InputError as error:
        refused.append(error)
        told = _unreadable(run, None, error)
    return AreaReport(round_name, names_of(results), with_problems(told, run.problems))


def _of_captures(
    run: Run,
    round_name: str,
    captures: list[Capture],
    options: AnalysisOptions,
    refused: list[InputError],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> AreaReport:
    notes: tuple[str, ...] = ()
    try:
        told, notes = _report_alone(run, captures, options, progress, is_cancelled)
    except InputError as error:
        refused.append(error)
        told = _unreadable(run, None, error)
    names = ", ".join(capture.name for capture in captures)
    return AreaReport(round_name, names, with_problems(told, run.problems), notes)


def report_of(
    paths: Sequence[Path],
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> AreaReport:
    """The report of (target, golden), or of (run,): the pair that the options name, else the first of the
    newest round; of the only capture where there is no pair.

    InputError with what was found instead; UsageError for options that cannot be meant.
    """
    if len(paths) > 1:
        _refuse_choice_within_a_run(options)
        pair = pair_of(paths[0], paths[1], progress=progress, is_cancelled=is_cancelled)
        told = report_of_pair(pair, options, progress=progress, is_cancelled=is_cancelled)
        return AreaReport("", pair_name(pair), told)
    run = discover(paths[0], progress=progress, is_cancelled=is_cancelled)
    pairs = matching(run, capture_pairs(run), options.round_name, options.pair_name)
    results = {} if pairs or options.pair_name else _results(run, options)
    if results:
        name = max(results, key=lambda one: place_of_round(run, one))
        told = report_of_results(run, results[name], options, progress=progress, is_cancelled=is_cancelled)
        notes = left_out(run, name, options.lang)
        return AreaReport(name, names_of(results[name]), with_problems(told, run.problems), notes)
    if not pairs:
        captures = only_capture(run, options.round_name)
        told, notes = _report_alone(run, captures, options, progress, is_cancelled)
        return AreaReport(captures[0].round, captures[0].name, with_problems(told, run.problems), notes)
    pair = newest(pairs)
    told = _told_of_pair(run, pair, options, progress, is_cancelled)
    notes = notes_of_choice(run, pair, pairs, options)
    return AreaReport(pair.round, pair_name(pair), with_problems(told, run.problems), notes)


def report_of_pair(
    pair: CapturePair,
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Report:
    """A pair compared. InputError where nothing of it can be used, or it lacks the rank and step."""
    pair = _as_declared(pair, options)
    if options.inputs:
        from .own.inputs import inputs_report

        return inputs_report(
            pair,
            Settings(
                rank=options.rank,
                step=options.step,
                steps=options.steps,
                jobs=options.jobs,
                cluster=options.cluster,
            ),
            lang=options.lang,
            progress=progress,
            is_cancelled=is_cancelled,
        )
    return _compared(pair, options, progress, is_cancelled)[1]


def _as_declared(pair: CapturePair, options: AnalysisOptions) -> CapturePair:
    """The pair with what the user says of files that do not say it themselves. UsageError."""
    dtype, shape = options.dtype, options.shape
    if dtype is not None and dtype_of(dtype) is None:
        raise UsageError(f"--dtype {dtype[:40]}: no such type", hint="float16, bfloat16, float32, int64 ...")
    lengths = None if shape is None else parse_shape(shape)
    if shape is not None and lengths is None:
        raise UsageError(f"--shape {shape[:40]}: no shape", hint="lengths with commas: --shape 16,10240")
    rule = options.fusion_rule or pair.declared.fusion_rule
    return replace(pair, declared=Declared(dtype, lengths, rule))


def _compared(
    pair: CapturePair,
    options: AnalysisOptions,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[Comparison, Report]:
    check_question(options)
    if options.tensors not in TENSORS:
        raise UsageError(f"--tensors {options.tensors[:40]}: no such choice", hint=" or ".join(TENSORS))
    pair = _as_declared(pair, options)
    settings = settings_of(options)

    def tell(so_far: Comparison) -> None:
        if options.on_report is not None and so_far.n_awaited:
            options.on_report(report(so_far, lang=options.lang))

    comparison = compare_captures(
        pair,
        settings,
        progress=progress,
        is_cancelled=is_cancelled,
        on_update=None if options.on_report is None else tell,
    )
    if options.write_mapping is not None:
        from .by_hand.mapping_write import write_mapping

        paired = [(rank.rows.pairing, rank.target, rank.golden) for rank in comparison.ranks]
        write_mapping(options.write_mapping, paired, (pair.target_root, pair.golden_root))
    told = report(comparison, lang=options.lang, tables=options.tables)
    return comparison, answered(comparison, told, options)


def settings_of(options: AnalysisOptions) -> Settings:
    """How to compare what the options of a command ask for. UsageError for criteria that cannot be meant."""
    criteria = Criteria.parse(options.criteria) if options.criteria else Criteria()
    criteria = criteria_asked(criteria, options)
    pair_calls, mappings = way_to_pair(options.pairing, options.mappings)
    return Settings(
        criteria=criteria,
        pair_calls=pair_calls,
        mappings=mappings,
        metrics=options.tables or bool(criteria.plugged),
        jobs=options.jobs,
        cluster=options.cluster,
        rank=options.rank,
        step=options.step,
        steps=options.steps,
        cache=options.cache,
        tails=options.tails,
        precision_map=read_precision_map(options.precision_map) if options.precision_map else None,
        ranks=options.ranks,
        sample=measures(options.metrics).is_sampled,
        where_needed=options.tensors == WHERE_NEEDED,
    )


def _report_alone(
    run: Run,
    captures: Sequence[Capture],
    options: AnalysisOptions,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[Report, tuple[str, ...]]:
    """NaN and Inf of captures without a counterpart, and which of the options could not be used there."""
    if options.inputs:
        raise UsageError("--inputs compares two captures, and there is one", hint=TWO_SIDES, path=run.path)
    if options.pair_name is not None:
        raise UsageError("there is no pair here", hint="leave --pair out", path=run.path)
    dumps = [a for capture in captures for a in capture.artifacts if _is_asked_for(a, options)]
    if not dumps:
        raise _not_there(run, captures, options)
    unused = [
        word
        for word, value in (
            ("--tables", options.tables),
            ("--criteria", options.criteria),
            ("--cluster", options.cluster),
            ("--precision-map", options.precision_map),
            ("--tensors", options.tensors == WHERE_NEEDED),
        )
        if value
    ]
    notes = (say(TEXTS, "unused-alone", options.lang, words=", ".join(unused)),) if unused else ()
    names = [capture.name for capture in captures]
    told = check_alone(
        run,
        dumps,
        lang=options.lang,
        names=names,
        tails=options.tails,
        progress=progress,
        is_cancelled=is_cancelled,
    )
    return told, notes


def _is_asked_for(artifact: Artifact, options: AnalysisOptions) -> bool:
    asked_rank, asked_step = options.rank in (None, artifact.rank), options.step in (None, artifact.step)
    return asked_rank and asked_step


def _not_there(run: Run, captures: Sequence[Capture], options: AnalysisOptions) -> InputError:
    asked = [f"{name} {n}" for name, n in (("rank", options.rank), ("step", options.step)) if n is not None]
    known = [f"step {a.step} rank {a.rank}" for capture in captures for a in capture.artifacts]
    return InputError(f"no {' of '.join(asked)}", path=run.path, hint=f"there is {listed(known)}")


def _refuse_choice_within_a_run(options: AnalysisOptions) -> None:
    for word, value in (("--round", options.round_name), ("--pair", options.pair_name)):
        if value is not None:
            raise UsageError(
                f"{word} chooses within one run, but target and golden are both named",
                hint=f"leave {word} out, or name the run alone",
            )


def _unreadable(run: Run, pair: CapturePair | None, error: InputError) -> Report:
    """A report that says of a pair or capture that it could not be read."""
    where = str(error.path or run.path)
    if error.path and pair is not None:
        where = pair.relative(Path(error.path))
    told = Report(AREA, str(run.path), "incomplete", problems=(Problem.from_error(error, where),))
    return told if pair is None else replace(told, target=pair.target_name, golden=pair.golden_name)

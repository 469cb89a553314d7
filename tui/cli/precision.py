"""`npulse precision`: which captures are meant, by paths, options or a configuration, and what is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npulse.core.errors import UsageError

from .analyse import run_analysis
from .options import AnalyseOptions, chosen_lang, talk


@dataclass(frozen=True, slots=True)
class PrecisionOptions:
    """The command's own options, as the command line names them."""

    reference: Path | None = None
    target: Path | None = None
    config: Path | None = None
    metrics: tuple[str, ...] = ()
    error_threshold: float | None = None
    compare_mode: str | None = None
    operator: str | None = None
    by_rank: bool = False
    ranks: str | None = None
    layers: tuple[str, ...] = ()
    inputs: bool = False
    precision_map: str | None = None
    dtype: str | None = None
    shape: str | None = None
    fusion_rule: Path | None = None
    pairing: str = "auto"
    mappings: tuple[Path, ...] = ()
    write_mapping: Path | None = None
    tensors: str = "all"
    baseline: str | None = None
    verbosity: int = 2


def run_precision(options: AnalyseOptions, paths: Sequence[Path], own: PrecisionOptions) -> int:
    """The report of the captures that are meant; returns the exit code."""
    asked: dict[str, Any] = {
        "metrics": own.metrics,
        "error_threshold": own.error_threshold,
        "compare_mode": own.compare_mode,
        "operator": own.operator,
        "by_rank": own.by_rank,
        "ranks": own.ranks,
        "layers": own.layers,
        "inputs": own.inputs,
        "precision_map": own.precision_map,
        "dtype": own.dtype,
        "shape": own.shape,
        "fusion_rule": own.fusion_rule,
        "pairing": own.pairing,
        "mappings": own.mappings,
        "write_mapping": own.write_mapping,
        "tensors": own.tensors,
    }
    paths, document = _without_config(paths, own)
    target, golden = _sides(paths, own)
    if document is not None:
        found, target, golden = _from_config(document, target, golden, options, own)
        asked |= found
    if own.baseline is not None:
        golden = _with_baseline(own.baseline, target, golden, options)
        if target is None:
            return 0
    if target is None:
        hint = "npulse precision TARGET GOLDEN; npulse precision --help"
        raise UsageError("Missing argument 'TARGET': the capture to judge", hint=hint)
    if golden is None and own.baseline is None:
        from ..state import StateStore
        from .golden import golden_for

        golden = golden_for(target, StateStore(), chosen_lang(options.lang))
    named = [path for path in (target, golden) if path is not None]
    if own.write_mapping is not None:
        from npulse.core.files import refuse_inside

        refuse_inside(own.write_mapping, named)
    return run_analysis(options, "precision", named, verbosity=own.verbosity, **asked)


def _with_baseline(
    baseline: str, target: Path | None, golden: Path | None, options: AnalyseOptions
) -> Path | None:
    """Keep the capture as the golden one, or forget it; the golden capture of this call."""
    from ..state import StateStore
    from .golden import NONE, forget_golden, keep_golden

    lang = chosen_lang(options.lang)
    if baseline == NONE:
        forget_golden(target, StateStore(), lang)
        return golden
    if golden is not None:
        raise UsageError("--baseline and a golden capture name two", hint="leave one of them out")
    return keep_golden(Path(baseline), StateStore(), lang)


def _without_config(paths: Sequence[Path], own: PrecisionOptions) -> tuple[Sequence[Path], Path | None]:
    """The paths, and the configuration where one is named: by its option, or as the first path."""
    if own.config is not None:
        return paths, own.config
    from npulse.core.config.compare_form import is_compare_form

    if paths and is_compare_form(paths[0]):
        return paths[1:], paths[0]
    return paths, None


def _sides(paths: Sequence[Path], own: PrecisionOptions) -> tuple[Path | None, Path | None]:
    """Target and golden capture by paths and options; UsageError where one is named twice."""
    left = list(paths)
    target = own.target
    if target is None and left:
        target = left.pop(0)
    golden = own.reference
    if golden is None and left:
        golden = left.pop(0)
    if left:
        raise UsageError(f"one path too many: {left[0]}", hint="a side is named by a path or by its option")
    return target, golden


def _from_config(
    path: Path, target: Path | None, golden: Path | None, options: AnalyseOptions, own: PrecisionOptions
) -> tuple[dict[str, Any], Path | None, Path | None]:
    """What a configuration says, where the command line does not; each thing that was taken is told."""
    from npulse.core.config.compare_form import read_compare_form

    form = read_compare_form(path, chosen_lang(options.lang))
    for note in form.notes:
        talk(f"npulse: {path.name}: {note}")
    asked: dict[str, Any] = {
        "metrics": own.metrics or form.metrics,
        "layers": own.layers or form.layers,
        "steps": () if options.step is not None else form.steps,
    }
    return asked, target or form.target, golden or form.golden

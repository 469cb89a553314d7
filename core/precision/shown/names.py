"""Names of figures as documents and tools write them, and what a limit of the error means for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from npulse.core.errors import UsageError

from ..rows import FIGURES
from ..verdict import LIMITED, Criteria

VERL = ("cosine", "rel_l1", "rel_l2", "max_rel_error")
"""The vector of the documents' `veRL` and `fastRL`: no tool has metrics of these names."""

DEFAULT_ERROR_THRESHOLD = 1e-5
"""What the documents hold a layer's relative error (`rel_l2`) to where they give no number."""

_ALIASES = {
    "cosine_similarity": "cosine",
    "cosinesimilarity": "cosine",  # msaccucmp
    "max_absolute_error": "max_abs_error",  # msit
    "maxabsoluteerror": "max_abs_error",
    "max_abs_err": "max_abs_error",
    "relative_error": "rel_l2",
    "relativeeuclideandistance": "rel_l2",
    "relative_euclidean_distance": "rel_l2",
    "max_relative_error": "max_rel_error",
    "maxrelativeerror": "max_rel_error",
    "mean_relative_error": "mean_rel_error",
    "meanrelativeerror": "mean_rel_error",
    "euclidean_distance": "euclidean",
    "l2": "euclidean",
    "max_ulp": "ulp_max",
}
"""Other names, in lower case; the documents' `relative_error` is the error's norm over the golden norm."""

LEADING = ("cosine", "norm_ratio", *LIMITED, "ulp_max")
"""Figures that can be asked for."""


@dataclass(frozen=True, slots=True)
class Measures:
    """figures: which lead, in the order in which they were named. is_by_layer: veRL or fastRL. is_sampled:
    fastRL, the same of a part of the elements. renamed: (as written, our figure) where they are not the same.
    """

    figures: tuple[str, ...]
    is_by_layer: bool = False
    is_sampled: bool = False
    renamed: tuple[tuple[str, str], ...] = ()


def measures(names: Sequence[str]) -> Measures:
    """The figures that names stand for. UsageError for one that stands for none."""
    found: dict[str, None] = {}
    renamed: list[tuple[str, str]] = []
    words = [word.strip() for name in names for word in name.split(",") if word.strip()]
    for word in words:
        plain = word.lower()
        if plain in ("verl", "fastrl"):
            found.update(dict.fromkeys(VERL))
            renamed.append((word, ", ".join(VERL)))
            continue
        figure = _ALIASES.get(plain, plain)
        if figure not in LEADING:
            known = ", ".join(LEADING)
            is_ours = f"{figure} is a column of --tables; " if figure in FIGURES else ""
            raise UsageError(f"unknown metric '{word[:60]}'", hint=f"{is_ours}known: {known}, veRL, fastRL")
        found[figure] = None
        if figure != word:
            renamed.append((word, figure))
    lower = {word.lower() for word in words}
    return Measures(tuple(found), bool(lower & {"verl", "fastrl"}), "fastrl" in lower, tuple(renamed))


def with_limit(criteria: Criteria, figures: Sequence[str], limit: float) -> Criteria:
    """The criteria with a limit of the error: on each figure that was named, else on rel_l2.

    A cosine may miss 1, a norm ratio may be off 1, by that much; they never become looser. UsageError for a
    limit that is no number from 0 on.
    """
    if not (math.isfinite(limit) and limit >= 0):
        raise UsageError(f"--error-threshold {limit} would judge nothing", hint="a number from 0 on")
    named = figures if any(f in (*LIMITED, "cosine", "norm_ratio") for f in figures) else ("rel_l2",)
    limits = dict(criteria.limits) | {figure: limit for figure in named if figure in LIMITED}
    found = replace(criteria, limits=tuple(limits.items()))
    if "cosine" in named:
        found = replace(found, cosine=max(found.cosine, 1 - limit))
    if "norm_ratio" in named:
        low, high = max(found.norm_ratio_low, 1 - limit), min(found.norm_ratio_high, 1 + limit)
        found = replace(found, norm_ratio_low=low, norm_ratio_high=high)
    return found

"""From figures to a verdict per row: pass, warning, error or unknown, each with one reason.

Every threshold is a field of `Criteria`; every reason has a rule or a text. A verdict never rests on a
figure that was not computed: absent is unknown, and unknown is not a pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, make_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.analysis import criteria_from
from npulse.core.dataclass import dataclass
from npulse.core.plugins.metrics import metrics

PASS, WARNING, ERROR, UNKNOWN = range(4)
VERDICTS = ("pass", "warning", "error", "unknown")

REASONS = (
    "equal",  # bitwise equal values
    "rounding",  # differs, within the rounding level of the coarser declared dtype
    "above-rounding",  # differs by more than rounding, within the criteria
    "cosine",
    "norm-ratio",
    "shape",
    "nonfinite",  # NaN or Inf at different positions
    "not-equal",  # integers or bools
    "checksum",  # bits differ, nothing else recorded
    "content",  # bits differ although the four statistics agree: another order, or rounding
    "scalar",
    "scalar-alone",  # scalar differs, the output does not
    "empty",
    "statistics-agree",
    "statistics-bound",  # statistics alone prove that the cosine is below the criterion
    "positions-unknown",  # both sides hold NaN or Inf, positions not recorded
    "content-unknown",  # Max and Min agree, Mean and Norm not recorded
    "not-recorded",
    "unreadable",
    "one-side",  # the leaf exists on one side only
    "call-one-side",  # the whole call exists on one side only
    "uninitialised",
    "no-golden",
    "pending",
    "norm-unknown",  # Max or Min is beyond the criterion; Norm, which would tell, was not recorded
    "error-threshold",  # an error figure is beyond a limit that the user gave
    "within-criteria",  # no error; the figures do not tell whether it is rounding
    "split",  # a size that is the part of one rank
    "partial-sum",  # ranks add up to it, which statistics do not tell
    "sampled",  # the elements that were read agree; there are more
    "padding",  # this rank's part is padding alone: the golden side has nothing there
    "other-split",  # the two sides are split over their ranks in ways that cannot be put together
    "absent",  # the file that should hold it is missing or cannot be read
    "changed",  # a file was written to or replaced while it was read
)
REASON = {name: code for code, name in enumerate(REASONS)}

Codes = npt.NDArray[np.int8]

LIMITED = ("rel_l2", "rel_l1", "max_abs_error", "max_rel_error", "mean_rel_error", "euclidean")
"""Error figures that have no threshold unless the user gives one: 0 is agreement, more is worse."""
_LISTS = ("plugged", "limits")


@dataclass(frozen=True, slots=True)
class Criteria:
    """Thresholds of an error. The warning level is the unit roundoff of the coarser dtype: not a setting.

    plugged: limits of metric plug-ins, (name, limit) each. limits: the same of our own error figures
    (`LIMITED`), beside the thresholds: a row beyond one of them is an error too.
    """

    cosine: float = 0.99
    norm_ratio_low: float = 0.99
    norm_ratio_high: float = 1.01
    plugged: tuple[tuple[str, float], ...] = ()
    limits: tuple[tuple[str, float], ...] = ()

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """What may be limited: our own figures, and the metrics of plug-ins."""
        return (*(f.name for f in fields(cls) if f.name not in _LISTS), *(one.name for one in metrics()[0]))

    @classmethod
    def parse(cls, text: str) -> Criteria:
        """Read 'cosine=0.999,norm_ratio_low=0.98'. UsageError names the word that is not known.

        Plug-ins are looked for where a word is not one of ours.
        """
        own = {f.name for f in fields(cls) if f.name not in _LISTS}
        parts = [part.strip() for part in text.split(",") if part.strip()]
        others = [part for part in parts if part.partition("=")[0].strip() not in own]
        names = tuple(metric.name for metric in metrics()[0]) if others else ()
        known: type[Any] = make_dataclass("Known", [(name, float, 0.0) for name in (*own, *names)])
        limits: Any = criteria_from(known, text)
        given = [part.partition("=")[0].strip() for part in parts]
        plugged = tuple((name, getattr(limits, name)) for name in given if name in names)
        return cls(**{name: getattr(limits, name) for name in given if name in own}, plugged=plugged)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Verdict and reason codes, one a row."""

    verdict: Codes
    reason: Codes


def judge_tensors(
    *,
    criteria: Criteria,
    is_exact: npt.NDArray[np.bool_],
    unit_roundoff: npt.NDArray[np.float64],
    smallest: npt.NDArray[np.float64],
    cosine: npt.NDArray[np.float64],
    norm_ratio: npt.NDArray[np.float64],
    rel_l2: npt.NDArray[np.float64],
    max_abs_error: npt.NDArray[np.float64],
    n_different: npt.NDArray[np.float64],
    nonfinite_differing: npt.NDArray[np.float64],
    limited: Mapping[str, npt.NDArray[np.float64]] | None = None,
) -> Judgement:
    """Judge rows whose elements were compared. All arrays have one entry a row.

    is_exact: both dtypes are integer or bool. smallest: smallest subnormal of the coarser dtype; a target
    that strays from an all-zero golden tensor by no more than four of these is rounding, not an error.
    limited: the figures that `criteria.limits` names.
    """
    verdict = np.full(len(cosine), PASS, np.int8)
    reason = np.full(len(cosine), REASON["equal"], np.int8)
    differs = n_different > 0
    tiny = max_abs_error <= 4 * smallest

    def put(mask: npt.NDArray[np.bool_], code: int, why: str) -> None:
        verdict[mask] = code
        reason[mask] = REASON[why]

    put(differs, PASS, "rounding")
    put(differs & (rel_l2 > unit_roundoff) & ~tiny, WARNING, "above-rounding")
    for name, limit in criteria.limits:
        put(differs & ~((limited or {})[name] <= limit) & ~tiny, ERROR, "error-threshold")
    outside = ~((norm_ratio >= criteria.norm_ratio_low) & (norm_ratio <= criteria.norm_ratio_high))
    put(differs & outside & ~tiny, ERROR, "norm-ratio")
    put(differs & ~(cosine >= criteria.cosine) & ~tiny, ERROR, "cosine")
    put(differs & is_exact, ERROR, "not-equal")
    put(nonfinite_differing > 0, ERROR, "nonfinite")
    return Judgement(verdict, reason)

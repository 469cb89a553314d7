"""Verdicts of measured tensors, row by row worked out by hand; criteria as a user writes them."""

from __future__ import annotations

import numpy as np
import pytest

from npulse.core.errors import UsageError
from npulse.core.formats.tensors.dtypes import DTYPES
from npulse.core.precision.texts import TEXTS
from npulse.core.precision.verdict import REASONS, VERDICTS, Criteria, judge_tensors

NAN, INF = float("nan"), float("inf")

ROWS = [
    # cosine, norm ratio, rel_l2, max abs error, differing, nonfinite differing, dtype -> verdict, reason
    (1.0, 1.0, 0.0, 0.0, 0, 0, "float32", "pass", "equal"),
    (1.0, 1.0, 6e-8, 1e-7, 5, 0, "float32", "warning", "above-rounding"),
    (1.0, 1.0, 5.9e-8, 1e-7, 5, 0, "float32", "pass", "rounding"),
    (1.0, 1.0, 4.8e-4, 1e-3, 5, 0, "float16", "pass", "rounding"),
    (1.0, 1.0, 4.9e-4, 1e-3, 5, 0, "float16", "warning", "above-rounding"),
    (1.0, 1.0, 3.9e-3, 1e-2, 5, 0, "bfloat16", "pass", "rounding"),
    (1.0, 1.0, 4.0e-3, 1e-2, 5, 0, "bfloat16", "warning", "above-rounding"),
    (0.99, 1.0, 0.14, 1.0, 5, 0, "float32", "warning", "above-rounding"),
    (0.98999, 1.0, 0.14, 1.0, 5, 0, "float32", "error", "cosine"),
    # the cosine is blind to a factor
    (1.0, 1.2, 0.2, 1.0, 5, 0, "float32", "error", "norm-ratio"),
    (1.0, 1.01, 0.01, 1.0, 5, 0, "float32", "warning", "above-rounding"),
    (1.0, 0.9899, 0.01, 1.0, 5, 0, "float32", "error", "norm-ratio"),
    # both: the direction is what is named
    (0.5, 2.0, 1.7, 1.0, 5, 0, "float32", "error", "cosine"),
    # a golden tensor of zeros
    (0.0, INF, INF, 1.0, 5, 0, "float32", "error", "cosine"),
    (0.0, INF, INF, 4 * 2.0**-24, 5, 0, "float16", "pass", "rounding"),
    (0.0, INF, INF, 5 * 2.0**-24, 5, 0, "float16", "error", "cosine"),
    # figures that could not be computed are no pass where elements differ
    (NAN, NAN, NAN, 1.0, 5, 0, "float32", "error", "cosine"),
    (NAN, NAN, NAN, 0.0, 0, 0, "float32", "pass", "equal"),
    # NaN or Inf at other positions, whatever the rest says
    (1.0, 1.0, 0.0, 0.0, 1, 1, "float32", "error", "nonfinite"),
    (0.1, 3.0, 1.0, 1.0, 9, 2, "float32", "error", "nonfinite"),
    # integers: no difference is small
    (1.0, 1.0, 1e-9, 1.0, 1, 0, "int64", "error", "not-equal"),
    (1.0, 1.0, 0.0, 0.0, 0, 0, "int64", "pass", "equal"),
    (0.0, 0.0, 1.0, 1.0, 1, 0, "bool", "error", "not-equal"),
]


@pytest.mark.parametrize("row", ROWS)
def test_one_row(row: tuple[float, float, float, float, int, int, str, str, str]) -> None:
    assert judged([row]) == [row[-2:]]


def test_rows_do_not_touch_each_other() -> None:
    assert judged(ROWS) == [row[-2:] for row in ROWS]


def judged(table: list[tuple[float, float, float, float, int, int, str, str, str]]) -> list[tuple[str, str]]:
    columns = [np.array(c, float) for c in zip(*(row[:6] for row in table), strict=True)]
    kinds = [DTYPES[row[6]] for row in table]
    exact = np.array([kind.kind in ("int", "bool") for kind in kinds])
    result = judge_tensors(
        criteria=Criteria(),
        is_exact=exact,
        unit_roundoff=np.array([kind.unit_roundoff for kind in kinds]),
        smallest=np.where(exact, 0, [kind.smallest_subnormal for kind in kinds]),
        cosine=columns[0],
        norm_ratio=columns[1],
        rel_l2=columns[2],
        max_abs_error=columns[3],
        n_different=columns[4],
        nonfinite_differing=columns[5],
    )
    return [(VERDICTS[v], REASONS[r]) for v, r in zip(result.verdict, result.reason, strict=True)]


def test_every_reason_has_a_text_in_both_languages() -> None:
    for reason in REASONS:
        assert all(TEXTS[f"reason-{reason}"])


# ---- criteria --------------------------------------------------------------------------------------------


def test_criteria_of_the_contract() -> None:
    assert Criteria() == Criteria(cosine=0.99, norm_ratio_low=0.99, norm_ratio_high=1.01)
    assert Criteria.parse("") == Criteria()


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("cosine=0.999", Criteria(cosine=0.999)),
        (" cosine = 0.9 , norm_ratio_low=0.5,", Criteria(cosine=0.9, norm_ratio_low=0.5)),
        ("norm_ratio_high=1e1", Criteria(norm_ratio_high=10.0)),
    ],
)
def test_criteria_read(text: str, want: Criteria) -> None:
    assert Criteria.parse(text) == want


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("cosinus=0.9", "cosinus"),
        ("cosine", "cosine"),
        ("cosine=", "cosine="),
        ("cosine=high", "cosine=high"),
        ("0.99", "0.99"),
        ("cosine=nan", "cosine=nan"),
        ("norm_ratio_high=inf", "norm_ratio_high=inf"),
        ("cosine=0.9;norm_ratio_low=1", "0.9;norm"),
    ],
)
def test_criteria_that_are_none(text: str, word: str) -> None:
    with pytest.raises(UsageError) as caught:
        Criteria.parse(text)
    assert word in caught.value.message

"""Which tensors have to be read where the statistics of all come first: those of calls that they point to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..links import link
from ..rows import Rows, TensorRows, statistics_rows
from ..statistics import judge_statistics
from ..verdict import ERROR, PASS, REASON, WARNING, Criteria
from .jobs import Jobs

TENSORS = ("all", "where-needed")
WHERE_NEEDED = TENSORS[1]
"""What `--tensors` may say."""

Calls = npt.NDArray[np.int64]


def where_needed(rows: Rows, tensors: TensorRows, jobs: Jobs, criteria: Criteria) -> Jobs:
    """The jobs of calls in which recorded statistics differ or cannot tell, and of those that made what such
    calls were given. Nothing is written into `rows`: what is not read is judged by its statistics later."""
    if not len(jobs):
        return jobs
    pointed = _pointed_to(rows, tensors, criteria)
    if not len(pointed):
        return jobs.picked(np.zeros(0, np.int64))
    wanted = np.union1d(pointed, _makers(rows, pointed))
    return jobs.picked(np.flatnonzero(np.isin(rows.pairing.row_call[jobs.rows], wanted)))


def _pointed_to(rows: Rows, tensors: TensorRows, criteria: Criteria) -> Calls:
    """Calls with a row that does not agree as far as the records tell."""
    open_rows = rows.reason[tensors.index] == REASON["pending"]
    is_empty = tensors.n_elements == 0
    told = open_rows & tensors.shape_equal & tensors.shape_known & ~is_empty
    judged = judge_statistics(statistics_rows(rows, tensors, told), criteria).judgement
    differing = [
        tensors.index[told][judged.verdict != PASS],
        tensors.index[open_rows & ~told & ~(is_empty & tensors.shape_equal)],
        np.flatnonzero(np.isin(rows.verdict, (WARNING, ERROR))),  # values, which are judged already
    ]
    found: Calls = np.unique(rows.pairing.row_call[np.concatenate(differing)]).astype(np.int64)
    return found


def _makers(rows: Rows, calls: Calls) -> Calls:
    """The calls whose output these were given, in either dump."""
    links, pairing = link(rows), rows.pairing
    here = np.isin(pairing.row_call, calls)
    found = []
    for leaf, producer, row_of in (
        (pairing.target_leaf, links.target, links.row_of_target),
        (pairing.golden_leaf, links.golden, links.row_of_golden),
    ):
        made_by = producer[leaf[here & (leaf >= 0)]]
        row = row_of[made_by[made_by >= 0]]
        found.append(pairing.row_call[row[row >= 0]])
    makers: Calls = np.unique(np.concatenate(found)).astype(np.int64)
    return makers

"""All checks of one capture that need no golden side, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, Progress, ProgressCallback, ignore_progress, never_cancelled

from .casts import check_casts
from .collectives import check_collectives
from .data import input_hash
from .handover import check_handover
from .model import Captured, OwnChecks
from .peers import check_peers
from .repeats import check_repeats
from .replicas import check_replicas


def check_own(
    captured: Sequence[Captured],
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> OwnChecks:
    """Look through the rank-steps of one capture. Cost: O(bytes that ranks exchange) and a few reads a call.

    A tensor that cannot be read is a problem and the rest is looked at. Cancelled.
    """
    problems: list[Problem] = []
    replicas, n_parameters = check_replicas(captured, problems, is_cancelled)
    collectives, n_collectives = check_collectives(captured, problems, is_cancelled)
    seen = [*replicas, *check_peers(captured, problems, is_cancelled), *collectives]
    is_complete = True
    counts = dict.fromkeys(("inputs", "repeated", "casts"), 0)
    for done, one in enumerate(captured):
        progress(Progress("check", done, len(captured), "ranks"))
        for name, look in (("inputs", check_handover), ("repeated", check_repeats), ("casts", check_casts)):
            found, n, is_whole = look(one, problems, is_cancelled)
            seen += found
            counts[name] += n
            is_complete &= is_whole
    inputs = input_hash(captured, problems, is_cancelled)
    return OwnChecks(
        tuple(seen),
        (),
        inputs,
        n_collectives,
        n_parameters,
        counts["inputs"],
        counts["repeated"],
        counts["casts"],
        is_complete,
        tuple(dict.fromkeys(problems)),
    )

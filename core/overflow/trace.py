"""Upstream from an origin: which calls fed it, how close to the limit they came, which one is to blame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from npulse.core.calls.apis import CARRIERS, COMMUNICATION, WEIGHT_KEYWORDS, WEIGHT_POSITIONS, plain_api
from npulse.core.calls.content import find_producer
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, TENSOR

from .ranks import RankOverflow
from .roles import Origin

DEPTH = 12
"""Calls that are followed upstream; fewer where nothing leads on."""

N_SUSPECTS = 5
SUDDEN_GROWTH = 100.0
SUDDEN_HEADROOM = 0.01
_CARRIED_RATIO = 1.0 + 2.0**-8  # a handed on value may be rounded once


@dataclass(frozen=True, slots=True)
class Step:
    """One call upstream.

    row: its output leaf that goes on (the bad leaf for the origin itself). distance: calls from the origin.
    link: "content" where equal content tells it, "order" where only the order of the calls does, "forward"
    for the forward call of a backward one, "origin". growth_ratio: absmax of the output over that of the
    largest input; None where either is unknown. is_pass_through: it hands on what it was given. is_side:
    beside the main chain, an input of the origin itself.
    """

    row: int
    call: int
    distance: int
    link: str
    growth_ratio: float | None
    is_pass_through: bool
    is_side: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """steps: farthest first, the origin last. suspects: the calls to look at, the likeliest first."""

    steps: tuple[Step, ...]
    suspects: tuple[Step, ...]


def trace(rank: RankOverflow, origin: Origin, *, depth: int = DEPTH, near_ratio: float = 0.5) -> Trace:
    """Producers of an origin's inputs, along the one that is closest to the limit of its dtype."""
    steps = [_origin_step(rank, origin)]
    seen = {origin.call}
    sides: list[Step] = []
    call = origin.call
    for distance in range(1, depth + 1):
        fed = [step for step in _producers(rank, call, distance) if step.call not in seen]
        if distance == 1 and not fed:
            fed = [step for step in _forward_of(rank, call) if step.call not in seen]
        if not fed:
            break
        best = max(fed, key=lambda step: (_share(rank, step.row), step.call))
        if distance == 1:
            sides = [_aside(step) for step in fed if step.call != best.call]
            sides += [_aside(step) for step in _forward_of(rank, call) if step.call != best.call]
        steps.append(best)
        seen.add(best.call)
        call = best.call
    guessed = [
        step for step in steps if step.link == "order"
    ]  # counts less than what stands beside the origin
    unique = {step.call: step for step in (*guessed, *sides, *(s for s in steps if s not in guessed))}
    ordered = sorted(unique.values(), key=lambda step: step.call)
    ordered = [step for step in ordered if step.distance] + [steps[0]]
    return Trace(tuple(ordered), tuple(_suspects(rank, ordered, near_ratio)))


def growth_ratio(rank: RankOverflow, call: int, row: int) -> float | None:
    """How much larger the largest element of an output is than that of the call's largest data input."""
    health = rank.health
    inputs = [float(health.absmax[r]) for r in data_inputs(rank, call) if health.is_known[r]]
    if not inputs or not health.is_known[row]:
        return None
    largest = max(inputs)
    ratio = float(health.absmax[row]) / largest if largest else float("nan")
    return ratio if not np.isnan(ratio) else None


def data_inputs(rank: RankOverflow, call: int) -> list[int]:
    """Rows of the floating-point tensors that a call was given, without its parameters."""
    leaves, name = rank.dump.leaves, parse_name(rank.name(call))
    weights = WEIGHT_POSITIONS.get(name.api, ()) if name.direction == "forward" else ()
    found = []
    for row in rank.dump.leaf_range(call):
        if leaves.kind[row] != TENSOR or leaves.side[row] not in (INPUT, KWARGS):
            continue
        side, _, place = leaves.io_names[int(leaves.io[row])].partition(" ")
        is_weight = place in WEIGHT_KEYWORDS if side == "kwargs" else place in {str(w) for w in weights}
        if not is_weight and rank.health.is_float[row]:
            found.append(row)
    return found


def output_rows(rank: RankOverflow, call: int) -> list[int]:
    leaves = rank.dump.leaves
    return [r for r in rank.dump.leaf_range(call) if leaves.kind[r] == TENSOR and leaves.side[r] == OUTPUT]


def _origin_step(rank: RankOverflow, origin: Origin) -> Step:
    row = origin.rows[0]
    growth = growth_ratio(rank, origin.call, row) if rank.dump.leaves.side[row] == OUTPUT else None
    return Step(row, origin.call, 0, "origin", growth, False)


def _producers(rank: RankOverflow, call: int, distance: int) -> Iterator[Step]:
    """One step for each data input whose producer can be told."""
    is_module = parse_name(rank.name(call)).kind == "module"
    for row in data_inputs(rank, call):
        found = find_producer(rank.dump, row)
        if found < 0 or is_module:
            found = max(found, find_producer(rank.dump, row, with_modules=True))
        link = "content"
        if found < 0:
            found, link = _in_front(rank, call, row), "order"
        if found >= 0:
            yield _step(rank, found, distance, link)


def _in_front(rank: RankOverflow, call: int, row: int) -> int:
    """By order: the last call in front, in the same module if there is one, that made as many elements."""
    if parse_name(rank.name(call)).prefix in COMMUNICATION:
        return -1
    leaves, health = rank.dump.leaves, rank.health
    first = int(rank.dump.calls.first_leaf[call])
    made = (leaves.side[:first] == OUTPUT) & (leaves.kind[:first] == TENSOR)
    alike = np.flatnonzero(made & (health.n_elements[:first] == health.n_elements[row]))[::-1][:64].tolist()
    direction = parse_name(rank.name(call)).direction
    found = [r for r in alike if _is_api(rank, r) and _direction(rank, r) == direction]
    if rank.construct is not None:
        parent = rank.construct.parents.get(rank.name(call))
        inside = [r for r in found if rank.construct.parents.get(rank.name(int(leaves.call[r]))) == parent]
        found = inside or found
    return int(found[0]) if found else -1


def _is_api(rank: RankOverflow, row: int) -> bool:
    return parse_name(rank.name(int(rank.dump.leaves.call[row]))).kind == "api"


def _direction(rank: RankOverflow, row: int) -> str:
    return parse_name(rank.name(int(rank.dump.leaves.call[row]))).direction


def _forward_of(rank: RankOverflow, call: int) -> Iterator[Step]:
    """A backward call reads what its forward call was given and made."""
    name = parse_name(rank.name(call))
    if name.direction != "backward":
        return
    forward = "forward".join(name.full.rsplit("backward", 1))
    names = rank.dump.calls.names
    for other in range(call - 1, -1, -1):
        if names[other] == forward:
            rows = output_rows(rank, other)
            if rows:
                yield _step(rank, max(rows, key=lambda r: _share(rank, r)), 1, "forward")
            return


def _step(rank: RankOverflow, row: int, distance: int, link: str) -> Step:
    call = int(rank.dump.leaves.call[row])
    growth = growth_ratio(rank, call, row)
    return Step(row, call, distance, link, growth, _hands_on(rank, call, row, growth))


def _hands_on(rank: RankOverflow, call: int, row: int, growth: float | None) -> bool:
    values = rank.dump.leaves.statistics
    same = any(
        values[r].tobytes() == values[row].tobytes() and rank.dump.leaves.present[r]
        for r in data_inputs(rank, call)
    )
    is_carrier = plain_api(parse_name(rank.name(call)).api) in CARRIERS
    return same or (is_carrier and growth is not None and growth <= _CARRIED_RATIO)


def _aside(step: Step) -> Step:
    return Step(step.row, step.call, step.distance, step.link, step.growth_ratio, step.is_pass_through, True)


def _share(rank: RankOverflow, row: int) -> float:
    """Headroom to rank by; what is not known counts least, what is infinite most."""
    share = rank.health.headroom(row)
    if share is not None:
        return share
    return float("inf") if rank.health.is_known[row] and np.isinf(rank.health.absmax[row]) else -1.0


def _suspects(rank: RankOverflow, steps: list[Step], near_ratio: float) -> Iterator[Step]:
    """Calls close to the limit, or that suddenly grew: by headroom, then by growth; no pass-through."""

    def is_suspect(step: Step) -> bool:
        share = rank.health.headroom(step.row)
        if not step.distance or step.is_pass_through or share is None:
            return False
        grown = step.growth_ratio or 0.0
        return share >= near_ratio or (grown >= SUDDEN_GROWTH and share >= SUDDEN_HEADROOM)

    def rank_by(step: Step) -> tuple[float, float]:
        return -(rank.health.headroom(step.row) or 0.0), -(step.growth_ratio or 0.0)

    found = sorted((step for step in steps if is_suspect(step)), key=rank_by)
    yield from found[:N_SUSPECTS]

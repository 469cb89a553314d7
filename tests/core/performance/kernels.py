"""Kernels as records, for tests of what is said of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from npulse.core.formats.opprof.cells import name_and_unit
from npulse.core.formats.opprof.records import BlockTable, KernelProfile, Metric, RooflinePoint
from npulse.core.performance.advice import Advice
from npulse.core.performance.chips import Chip
from npulse.core.performance.criteria import Criteria
from npulse.core.performance.kernel.advice import advice_of_kernel

NA = math.nan
CHIP = Chip("test", "A2", 20, 40, 1000, 4000)


def table(name: str, cores: Sequence[str], columns: Mapping[str, Sequence[float]]) -> BlockTable:
    """cores: "0 cube0". columns: header -> a number a core."""
    metrics = {}
    for header, values in columns.items():
        key, unit, is_estimate = name_and_unit(header)
        metrics[key] = Metric(key, header, unit, np.array(values, np.float64), is_estimate)
    blocks = [int(core.split()[0]) for core in cores]
    names = tuple(core.partition(" ")[2] for core in cores)
    n = len(cores)
    return BlockTable(name, np.array(blocks, np.int64), names, metrics, np.arange(2, n + 2))


def kernel(
    cores: Sequence[str], tables: Mapping[str, Mapping[str, Sequence[float]]], **told: Any
) -> KernelProfile:
    """A kernel of 100 us on a card, but for what is told."""
    made = {name: table(name, cores, columns) for name, columns in tables.items()}
    values: dict[str, Any] = {"name": "k", "folder": "OPPROF", "layout": "board", "duration_us": 100.0} | told
    return KernelProfile(tables=made, **values)


def vectors(n: int) -> list[str]:
    return [f"{block} vector0" for block in range(n)]


def point(x: float, y: float, bandwidth: float = 1.0, peak: float = 100.0) -> RooflinePoint:
    return RooflinePoint("GM/L2", "GM", "Cube", x, y, bandwidth, peak)


def said(profile: KernelProfile, chip: Chip | None = None, **criteria: float) -> dict[str, list[Advice]]:
    """Rule without its area -> what it says."""
    found: dict[str, list[Advice]] = {}
    for advice in advice_of_kernel(profile, Criteria(**criteria), chip):
        found.setdefault(advice.rule.removeprefix("performance.kernel-"), []).append(advice)
    return found


def one(profile: KernelProfile, rule: str, chip: Chip | None = None, **criteria: float) -> Advice | None:
    """What one rule says, None where it is silent; it may not say two things."""
    found = said(profile, chip, **criteria).get(rule, [])
    assert len(found) < 2
    return found[0] if found else None

"""Thresholds of the performance area and what else a caller may set."""

from __future__ import annotations

from dataclasses import field

from npulse.core.analysis import criteria_from
from npulse.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Criteria:
    """Where an analysis begins to speak. Each rule names its own (`npulse rules ID`).

    0 where a user's own criterion (first_token_ms, tokens_per_s, step_ms) or a fact of the chip
    (bandwidth_gb_per_s) is not set.
    """

    # wall
    free_percent: float = 10
    free_high_percent: float = 20
    exposed_communication_percent: float = 10
    serial_tail_percent: float = 5
    step_jitter_percent: float = 5
    kernel_jitter_percent: float = 20
    frequency_drop_percent: float = 5
    # operators
    aicpu_us: float = 20
    bound_ratio: float = 0.8
    unbound_us: float = 20
    core_utilization_percent: float = 50
    conversion_percent: float = 5
    tiny_us: float = 10
    tiny_percent: float = 20
    concentrated_percent: float = 80
    scattered_percent: float = 50
    bandwidth_gb_per_s: float = 0
    # kernel
    kernel_use_percent: float = 20
    kernel_outside_percent: float = 20
    kernel_active_ratio: float = 0.8
    kernel_spread_percent: float = 10
    kernel_scalar_percent: float = 50
    kernel_conflict_percent: float = 5
    kernel_icache_percent: float = 5
    kernel_l2_hit_percent: float = 60
    kernel_bandwidth_percent: float = 80
    kernel_line_percent: float = 30
    kernel_wait_percent: float = 20
    # ranks
    slow_rank_percent: float = 5
    slow_link_percent: float = 80
    # rounds
    noise_sigmas: float = 3
    # the user's own
    first_token_ms: float = 0
    tokens_per_s: float = 0
    step_ms: float = 0

    @classmethod
    def parse(cls, text: str) -> Criteria:
        """Read 'free_percent=15,step_ms=120'. UsageError names the word that is not known."""
        return criteria_from(cls, text)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to look. rank: only that one. top: rows of a list of operators, 0 for all. by: how they are grouped
    ("type", "call", "count" or "average")."""

    criteria: Criteria = field(default_factory=Criteria)
    rank: int | None = None
    step: int | None = None
    top: int = 0
    by: str = "type"

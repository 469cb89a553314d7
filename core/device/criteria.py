"""Thresholds of the device area and what else a caller may set."""

from __future__ import annotations

from dataclasses import field

from npulse.core.analysis import criteria_from
from npulse.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Criteria:
    """Where a rule begins to speak. Each rule names its own (`npulse rules ID`).

    temperature_c, hbm_temperature_c: above these. frequency_percent: of the rated frequency, below it under
    load. load_percent: from this share of the AI cores on a chip is under load. held_mb: memory that nothing
    explains. memory_percent: of the rated size, below it. isolated_pages: from this count on (64: replace).
    link_retries: of PCIe. leak_mb, leak_minutes, leak_samples: how much, how long and how often memory has to
    grow to be a leak.
    """

    temperature_c: float = 85
    hbm_temperature_c: float = 95
    frequency_percent: float = 95
    load_percent: float = 10
    held_mb: float = 1024
    memory_percent: float = 95
    isolated_pages: float = 48
    link_retries: float = 100
    leak_mb: float = 64
    leak_minutes: float = 5
    leak_samples: float = 8

    @classmethod
    def parse(cls, text: str) -> Criteria:
        """Read 'temperature_c=80'. UsageError names the word that is not known."""
        return criteria_from(cls, text)

    def is_loaded(self, ai_core_percent: float | None, npu_percent: float | None) -> bool:
        """Whether a chip is at work; False where nobody told."""
        share = ai_core_percent if ai_core_percent is not None else npu_percent
        return share is not None and share >= self.load_percent

    def is_slow(self, frequency_mhz: float | None, rated_mhz: float | None) -> bool:
        """Whether AI cores are slower than rated; to be asked under load alone: 800 MHz at idle is normal."""
        if frequency_mhz is None or not rated_mhz or frequency_mhz <= 0:
            return False
        return frequency_mhz < rated_mhz * self.frequency_percent / 100


@dataclass(frozen=True, slots=True)
class Settings:
    """How to look. devices: ids of the devices that a job uses; None where no job is known."""

    criteria: Criteria = field(default_factory=Criteria)
    devices: tuple[int, ...] | None = None

"""Every criterion that a file can set: its key, what it asks for, what it may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Sense = Literal["at least", "at most", "yes", "choice"]
"""yes: a fact that has to hold where it is set to true. choice: no criterion by itself, says what counts."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One key of a criteria file. unit: as in names of figures, "" for counts and ratios. most: the largest
    value that makes sense, None for no limit. is_count: whole numbers alone."""

    area: str
    key: str
    title: tuple[str, str]
    sense: Sense
    unit: str = ""
    is_count: bool = False
    most: float | None = None

    @property
    def id(self) -> str:
        return f"{self.area}.{self.key}"

    @property
    def is_flag(self) -> bool:
        return self.sense in ("yes", "choice")


CRITERIA: tuple[Criterion, ...] = (
    Criterion("precision", "cosine", ("cosine of the last output", "末输出余弦"), "at least", most=1.0),
    Criterion("overflow", "origins", ("overflow origins", "溢出源头"), "at most", is_count=True),
    Criterion("overflow", "min_steps", ("steps looked at", "已查看的步数"), "at least", is_count=True),
    Criterion("overflow", "all_rounds", ("all rounds count", "计入所有轮次"), "choice"),
    Criterion("memory", "faults", ("sites with memory errors", "内存错误位置"), "at most", is_count=True),
    Criterion("memory", "leaked_bytes", ("leaked bytes", "泄漏字节"), "at most", "bytes", is_count=True),
    Criterion("memory", "complete", ("complete logs", "日志完整"), "yes"),
    Criterion("performance", "first_token_ms", ("time to the first token", "首 token 时间"), "at most", "ms"),
    Criterion("performance", "tokens_per_s", ("tokens a second", "每秒 token 数"), "at least", "1/s"),
    Criterion("performance", "step_ms", ("time of a step", "单步时间"), "at most", "ms"),
    Criterion("device", "faults", ("errors of cards", "设备错误"), "at most", is_count=True),
    Criterion("environment", "conflicts", ("conflicts", "冲突"), "at most", is_count=True),
)
BY_ID: Mapping[str, Criterion] = {one.id: one for one in CRITERIA}
ORDER: tuple[str, ...] = ("environment", "device", "precision", "overflow", "memory", "performance")
"""In which order areas are asked: figures of a wrong machine or run mean nothing, so time comes last."""


def keys_of(area: str) -> tuple[str, ...]:
    """The keys of one section, in the order of the table."""
    return tuple(one.key for one in CRITERIA if one.area == area)

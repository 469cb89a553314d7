"""Steps and ranks: the grammars of acl ("0|5-10") and msprobe ([0, "5-10"]) read, compared and written.

Both mean the same: inclusive ranges of numbers from 0. () is every step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Steps = tuple[tuple[int, int], ...]
"""Inclusive ranges as they were written; () means all."""

MAX_ACL_PARTS = 100
MAX_ACL_STEP = 2**32 - 1
"""GE reads 32-bit numbers; acl itself names no bound, and no program runs that long."""
MAX_MSPROBE = 1_000_000
"""STEP_RANK_MAXIMUM_VALUE in msprobe/core/common/const.py: the largest step and rank, and how many."""

_PART = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_SIGNED_PART = re.compile(r"\s*\+?([0-9]+)\s*(?:-\s*\+?([0-9]+)\s*)?")  # what int() takes of "3" and "3-5"


@dataclass(frozen=True, slots=True)
class StepFault:
    """Why steps cannot be read. key: of the texts (config.step.*); part: as written, at: its column in the
    text from 1 (acl), or the index of the list item (msprobe)."""

    key: str
    part: str
    at: int


def parse_acl(text: str) -> Steps | StepFault:
    """`dump_step` of acl.json and GE: parts joined by '|', each a number or a range; "" is every step."""
    if not text:
        return ()
    found = []
    at = 1
    parts = text.split("|", MAX_ACL_PARTS + 1)
    for number, part in enumerate(parts):
        if number == MAX_ACL_PARTS:
            return StepFault("step-parts", str(text.count("|") + 1), at)
        match = _PART.fullmatch(part)
        if match is None:
            return StepFault("step-empty" if not part else "step-part", part, at)
        bounds = _bounds(match, MAX_ACL_STEP)
        if isinstance(bounds, str):
            return StepFault(bounds, part, at)
        found.append(bounds)
        at += len(part) + 1
    return tuple(found)


def parse_msprobe(items: Sequence[Any]) -> Steps | StepFault:
    """`step` and `rank` of config.json: numbers, "3" and "3-5" in a list; [] is all."""
    if len(items) > MAX_MSPROBE:
        return StepFault("step-parts", str(len(items)), 0)
    found = []
    for index, item in enumerate(items):
        if isinstance(item, bool) or not isinstance(item, (int, str)):
            return StepFault("step-item", shown_item(item), index)
        match = _SIGNED_PART.fullmatch(item) if isinstance(item, str) else _PART.fullmatch(str(item))
        if match is None:
            return StepFault("step-part", shown_item(item), index)
        bounds = _bounds(match, MAX_MSPROBE)
        if isinstance(bounds, str):
            return StepFault(bounds, shown_item(item), index)
        found.append(bounds)
    return tuple(found)


def parse_any(written: str | int | Iterable[Any]) -> Steps | StepFault:
    """Steps in either grammar, as a person types them: "0|5-10", "0,5-10", [0, "5-10"], 3."""
    if isinstance(written, bool):
        return StepFault("step-item", shown_item(written), 1)
    if isinstance(written, int):
        return parse_acl(str(written))
    if not isinstance(written, str):
        return parse_msprobe([*written])
    text = written.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    parts = [part.strip().strip("\"'").strip() for part in re.split(r"[|,]", text)]
    return parse_acl("|".join(parts))


def as_acl(steps: Steps) -> str:
    """The text of acl's grammar."""
    return "|".join(_range_text(first, last) for first, last in steps)


def as_msprobe(steps: Steps) -> list[int | str]:
    """The list of msprobe's grammar."""
    return [first if first == last else f"{first}-{last}" for first, last in steps]


def n_steps(steps: Steps) -> int | None:
    """How many different numbers these are; None for all."""
    if not steps:
        return None
    return sum(last - first + 1 for first, last in union(steps))


def union(steps: Steps) -> Steps:
    """The same numbers as few ranges in order."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(steps):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def turned(part: str) -> str:
    """A range the other way round."""
    first, _, last = part.partition("-")
    return f"{last}-{first}"


def shown_item(item: Any) -> str:
    """A value in few characters."""
    return (item if isinstance(item, str) else repr(item))[:40]


def _bounds(match: re.Match[str], largest: int) -> tuple[int, int] | str:
    """The two ends of a part, or the key of what is wrong with it."""
    texts = (match[1], match[2] or match[1])
    if any(len(text.lstrip("0")) > len(str(largest)) for text in texts):  # int() refuses thousands of digits
        return "step-large"
    first, last = map(int, texts)
    if max(first, last) > largest:
        return "step-large"
    return "step-reversed" if first > last else (first, last)


def _range_text(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"

"""Which side a folder's name says that it is: words for golden, target, and the devices they run on."""

from __future__ import annotations

import re

GOLDEN_WORDS = frozenset(
    "golden gold bench benchmark ref reference standard std baseline base expected expect truth".split()
)
GOLDEN_ROUND = frozenset(("golden", "gold"))
"""Words of a round that was recorded as the reference of the others. "baseline" and the like are none: so
people call the round that they started from, right or wrong."""
TARGET_WORDS = frozenset("target actual".split())
DEVICE_SCORES = {"cpu": 2, "gpu": 1, "cuda": 1, "npu": -1, "ascend": -1, "davinci": -1}
GOLDEN_SCORE, TARGET_SCORE = 3, -2
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def side_score(name: str) -> int:
    """How golden a folder's name is: above 0 golden, below 0 target, 0 says nothing or both."""
    words = words_of(name)
    golden, target = bool(words & GOLDEN_WORDS), bool(words & TARGET_WORDS)
    if golden or target:
        return 0 if golden and target else GOLDEN_SCORE if golden else TARGET_SCORE
    scores = {DEVICE_SCORES[word] for word in words if word in DEVICE_SCORES}
    return scores.pop() if len(scores) == 1 else 0


def words_of(name: str) -> set[str]:
    """The words of a name in small letters: dumpNpu_fp16 has dump, npu and fp."""
    return {word.lower() for word in _WORD.findall(name)}

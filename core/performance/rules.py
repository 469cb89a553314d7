"""The rules of the performance area: those of its parts, and of profiles that nobody exported."""

from __future__ import annotations

from npulse.core.rules import Rule

from .changes.rules import RULES as _CHANGES
from .kernel.rules import RULES as _KERNEL
from .operators.rules_patterns import RULES as _PATTERNS
from .operators.rules_top import RULES as _TOP
from .ranks.rules import RULES as _RANKS
from .rule import OWN
from .rules_cards import RULE as _CARDS
from .wall.rules import RULES as _WALL

RULES: tuple[Rule, ...] = (
    Rule(
        "performance.not-exported",
        "warning",
        ("only raw data: nobody exported the profile", "只有原始数据：未解析导出"),
        (
            "A session of msprof, or a folder of the PyTorch or MindSpore profiler, without its exported tables. What it holds and the command that exports it are told; nothing is started.",
            "msprof 会话或 PyTorch、MindSpore Profiler 目录缺少导出结果。给出其内容与导出命令，不会自动执行。",
        ),
        (
            "no exported table, trace or database beside the raw data",
            "原始数据旁没有导出的表、时间线或数据库",
        ),
        OWN,
        ("export it", "导出即可"),
    ),
    _CARDS,
    *_WALL,
    *_TOP,
    *_PATTERNS,
    *_RANKS,
    *_KERNEL,
    *_CHANGES,
)

"""The rule of cards that were not well while they were measured."""

from __future__ import annotations

from npulse.core.rules import Rule

from .rule import NEVER, OWN

RULE = Rule(
    "performance.device",
    "warning",
    ("measured on a card that is not well", "在异常的卡上测得"),
    (
        "npu-smi's output or the snapshots in the same round show that a card was hot, slow under load, capped, or not OK. Times that were measured on it are not those of the program. Cards are matched by the device ids of the profiles; where a profile has none, all cards count.",
        "同一轮次中的 npu-smi 输出或快照显示某卡过热、负载下降频、功率受限或健康异常。在其上测得的时间不代表程序本身。按 profile 的 device id 匹配；没有 device id 时计入所有卡。",
    ),
    ("what the rules of the device area call not well", "设备项规则判定为异常"),
    OWN,
    NEVER,
)

"""Words of incidents: why an event is secondary, what is needed to know an origin, how sure a link is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from .event_order import RELIABLE_SWITCH

Reason = Literal[
    "told-again",
    "later-failure",
    "model-stream",
    "collective-time-out",
    "waits-in-turn",
    "waits-too",
    "other-process",
    "passes-on",
    "asynchronous-python",
    "launching-python",
    "waiting-python",
    "later-python",
    "compiling-python",
]
Missing = Literal["", "other-rank-log", "device-log", "rest-of-logs"]

REASONS: Mapping[Reason, tuple[str, str]] = {
    "told-again": ("the same failure, told once more", "同一故障的重复记录"),
    "later-failure": (
        "the process had failed before; what it reports later follows from that",
        "该进程此前已出错，之后的报错由此引起",
    ),
    "model-stream": ("the model failed because a task in it did", "模型中的任务失败，导致整个模型失败"),
    "collective-time-out": (
        "it waited in a collective for a rank that had failed",
        "在集合通信中等待已出错的 rank，因而超时",
    ),
    "waits-in-turn": (
        "the rank that it waited for was itself waiting for another one",
        "它所等待的 rank 自己也在等待其他 rank",
    ),
    "waits-too": (
        "another rank that waited in vain at that time",
        "同一时段内另一个等待超时的 rank",
    ),
    "other-process": (
        "another process had failed before; what runs together stops with it",
        "此前另一进程已出错，与之协同运行的进程会随之停下",
    ),
    "passes-on": ("a code that only passes the failure on", "该错误码只是转报上述故障"),
    "asynchronous-python": (
        "launches are asynchronous: this line is where the failure surfaced; set "
        f"{RELIABLE_SWITCH} to get the line that launched it",
        f"算子异步下发：该行只是错误暴露处；设置 {RELIABLE_SWITCH} 可得到真正下发该算子的代码行",
    ),
    "launching-python": (
        f"every launch was waited for ({RELIABLE_SWITCH}), so this line is reliable: it launched what failed",
        f"已设置 {RELIABLE_SWITCH}，每次下发都等待完成，因此该行可靠：出错的算子由它下发",
    ),
    "waiting-python": (
        "this line only waits for what was launched before; the line that launched it is another one",
        "该行只是等待先前下发的任务；真正下发的是另一行",
    ),
    "later-python": ("a Python error after the failure", "故障发生之后的 Python 报错"),
    "compiling-python": (
        "Python raises what the compiler says; this line had the kernel compiled",
        "Python 转报编译器的报错；该行触发了此 kernel 的编译",
    ),
}
"""Why an event is secondary, (en, zh)."""

MISSING: Mapping[Missing, tuple[str, str]] = {
    "": ("", ""),
    "other-rank-log": (
        "unknown: a rank waited in vain, and none of these logs says why; "
        "the logs of the other ranks are needed",
        "未知：某个 rank 等待超时，现有日志未说明原因；需要其他 rank 的日志",
    ),
    "device-log": (
        "unknown: this only passes a failure on; the plog of this process is needed",
        "未知：这里只是转报故障；需要该进程的 plog",
    ),
    "rest-of-logs": (
        "unknown: this only passes a failure on, and this log of CANN does not tell which; "
        "the other plogs of this process, its device logs and the logs of the other ranks are needed",
        "未知：这里只是转报故障，而这份 CANN 日志未说明是哪个故障；"
        "需要该进程的其余 plog、device 日志以及其他 rank 的日志",
    ),
}
"""What is needed to know the origin, (en, zh)."""

TEXTS: Mapping[str, tuple[str, str]] = {
    "silent-rank": (
        "unknown: rank {ranks} was waited for in vain and no event of it is known; "
        "the log of rank {ranks} is needed",
        "未知：等待 rank {ranks} 超时，而现有日志中没有该 rank 的事件；需要 rank {ranks} 的日志",
    ),
    "silent-ranks": (
        "unknown: ranks {ranks} were waited for in vain and no event of them is known; "
        "the logs of ranks {ranks} are needed",
        "未知：等待 rank {ranks} 超时，而现有日志中没有这些 rank 的事件；需要 rank {ranks} 的日志",
    ),
    "doubt-several": (
        "it may follow from any of {n} failures, and nothing tells which; the first of them is named here",
        "可能由 {n} 个故障中的任一个引起，日志未说明是哪一个；此处列出最早的一个",
    ),
    "doubt-likely": (
        "this is likely only: the logs do not prove the link",
        "仅为推测：日志不能证明二者的关联",
    ),
}

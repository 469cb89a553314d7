"""What msMemScope tells of blocks of memory pools, in words: kept, growing, allocated or released twice.

A table holds events, not warnings, so none is told of it; lines of its log are the tool's own words.
"""
# ruff: noqa: E501 - a sentence stands on one line in each language

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from npulse.core.text import Lang, safe_text, say

from .faults import Fault
from .figures import place_text, shown_name
from .phrases import block_text, bytes_text, int_of, joined, sentences, text_of
from .sites import Site

TOOL = "msMemScope"
MAX_STEPS = 64

TEXTS: dict[str, tuple[str, str]] = {
    "held-table": (
        "A block{size} was still held where the table ends; no row tells that its process had ended, so it need not be a leak.",
        "表格结束时一块{size}内存仍被持有；表中没有其进程结束的记录，因此不一定是泄漏。",
    ),
    "held-growing": (
        "A block{size} was still held where the table ends.",
        "表格结束时一块{size}内存仍被持有。",
    ),
    "held-steps": (
        "The tool warns: a block has been held for {n} steps.",
        "工具告警：一个内存块已被持有 {n} 个 step。",
    ),
    "held-log": ("The tool warns: a block is still held.", "工具告警：一个内存块仍被持有。"),
    "twice-table": (
        "A block was allocated at an address where another one was still in use.",
        "在仍被占用的地址上再次分配了内存块。",
    ),
    "twice-log": (
        "The tool warns: a block was allocated twice without being released in between.",
        "工具告警：一个内存块被重复分配，中间没有释放。",
    ),
    "vain-log": (
        "The tool warns: a block was released although it was not allocated.",
        "工具告警：一个未分配的内存块被释放。",
    ),
    "not-released-log": ("The tool warns: a block was not released.", "工具告警：一个内存块没有被释放。"),
    "released-twice": (
        "A block of a memory pool was released for the second time.",
        "内存池中的同一内存块被释放两次。",
    ),
    "next-released-twice": (
        "Look which of the two releases is one too many: both call stacks stand with it where the table has them.",
        "检查两次释放中哪一次多余：表中有调用栈时，两处调用栈都会列出。",
    ),
    "other": ("Something is wrong with a block of a memory pool.", "内存池中的某个内存块有异常。"),
    "leak": ("A block{size} was never released.", "一块{size}内存从未释放。"),
    "size": (" of {n}", " {n}的"),
    # all blocks of a place
    "site-held": (
        "{blocks}, {size}, still held where the table ends{where}; no row tells that the process had ended, so they need not be a leak.",
        "表格结束时仍持有 {blocks}，共 {size}{where}；表中没有进程结束的记录，因此不一定是泄漏。",
    ),
    "site-growing": (
        "{blocks}, {size}, still held where the table ends{where}.",
        "表格结束时仍持有 {blocks}，共 {size}{where}。",
    ),
    "site-leak": ("Never released: {blocks}, {size}{where}.", "{blocks}从未释放，共 {size}{where}。"),
    "blocks": ("{n} blocks", "{n} 块内存"),
    "block": ("1 block", "1 块内存"),
    "sum": ("{n} in all", "{n}"),
    "at-place": (", allocated at {place}", "，分配于 {place}"),
    "in-kernel": (", allocated in {kernel}", "，分配于 {kernel}"),
    "growth": (
        "It grows by {n} a step, the same in each of {steps} steps.",
        "每个 step 增长 {n}，连续 {steps} 个 step 相同。",
    ),
    "growth-mean": (
        "It grows by {n} a step, as the mean of {steps} steps.",
        "每个 step 平均增长 {n}（{steps} 个 step 的均值）。",
    ),
    "pool": ("Its pool: {pool}.", "内存池：{pool}。"),
    "owner": ("Its owner: {owner}.", "所有者：{owner}。"),
    "step": ("Allocated in step {steps}.", "在 step {steps} 中分配。"),
    "steps": ("Allocated in steps {steps}.", "在 step {steps} 中分配。"),
    # what to do
    "next-growing": (
        "Look for what keeps a tensor from one step to the next there: a list that grows, a loss or an output that is kept with its graph (keep .item() or .detach()), a cache without a bound.",
        "检查该处是什么让张量跨 step 存活：不断增长的列表、连同计算图一起保留的 loss 或输出（改存 .item() 或 .detach()）、没有上限的缓存。",
    ),
    "next-held": (
        'Mark the steps (mstx mark "step start", or msmemscope.step()) and record three or more, up to the end of the program: only what grows from step to step is a leak.',
        '标出 step（mstx 打点 "step start" 或 msmemscope.step()），采集 3 个以上 step 直到程序结束：只有逐 step 增长的才是泄漏。',
    ),
    "next-look": (
        "Look at its place: release it, or keep it on purpose.",
        "查看其分配位置：释放它，或确认是有意保留。",
    ),
    "next-twice": (
        "Look which release of the first block is missing, or whether another thread wrote its rows later.",
        "查找第一个内存块缺失的释放，或确认是否有其他线程稍后才写入。",
    ),
    "next-vain": (
        "Look for a second release of the same block, or one that began before the recording.",
        "检查同一内存块是否被重复释放，或其分配早于采集开始。",
    ),
    "take-stacks": (
        "Record again with --call-stack=python,c: the table then names the line that allocates.",
        "请加 --call-stack=python,c 重新采集，表中会给出分配的代码行。",
    ),
    "no-stack-table": (
        "the table has no call stack for it; record again with --call-stack=python,c",
        "表中没有它的调用栈；请加 --call-stack=python,c 重新采集",
    ),
    "no-stack-log": (
        "lines of the tool's log have no call stack; with --call-stack=python,c its table (memscope_dump_*.csv) has it",
        "工具日志行不含调用栈；加 --call-stack=python,c 后其表格（memscope_dump_*.csv）中有调用栈",
    ),
}


def _said(key: str, lang: Lang, **values: Any) -> str:
    return say(TEXTS, key, lang, **values)


# ---- what a fault is ----


def is_of_table(fault: Fault) -> bool:
    """Whether an event of a table shows it; else a line of the tool's log says it."""
    return "allocation_id" in fault.figures


def is_kept(fault: Fault) -> bool:
    """Whether it is a block that nobody released, whose bytes can be added up."""
    return fault.tool == TOOL and fault.n_objects is not None


def _is_growing(fault: Fault) -> bool:
    return int_of(fault, "growth_bytes_per_step") is not None


# ---- one fault ----


def _why_warning(fault: Fault, lang: Lang) -> list[str]:
    word, n_steps = text_of(fault, "warning", 40), int_of(fault, "n_steps")
    if word == "held" and is_of_table(fault):
        key = "held-growing" if _is_growing(fault) else "held-table"
        told = [_said(key, lang, size=_size(fault, lang))]
    elif word == "held" and n_steps is not None:
        told = [_said("held-steps", lang, n=f"{n_steps:,}")]
    else:
        log = {"held": "held-log", "released in vain": "vain-log", "not released": "not-released-log"}
        twice = "twice-table" if is_of_table(fault) else "twice-log"
        told = [_said(twice if word == "allocated twice" else log.get(word, "other"), lang)]
    return [*told, *_more(fault, lang), block_text(fault, lang)]


def _why_leak(fault: Fault, lang: Lang) -> list[str]:
    return [_said("leak", lang, size=_size(fault, lang)), *_more(fault, lang)]


def _size(fault: Fault, lang: Lang) -> str:
    return "" if fault.size_bytes is None else _said("size", lang, n=bytes_text(fault.size_bytes, lang))


def _more(fault: Fault, lang: Lang) -> Iterator[str]:
    yield _growth_text(growth_of_fault(fault), lang)
    step = int_of(fault, "step")
    if step is not None and "n_steps" not in fault.figures:
        yield _said("step", lang, steps=f"{step:,}")
    yield from _whose(fault, lang)


def _whose(fault: Fault, lang: Lang, owners: Collection[str] | None = None) -> Iterator[str]:
    """Pool and owner; the owner only if it says more, and if it is that of all blocks."""
    pool, owner = text_of(fault, "pool", 80), text_of(fault, "owner", 80)
    if pool:
        yield _said("pool", lang, pool=pool)
    if owner and owner != pool and (owners is None or set(owners) == {owner}):
        yield _said("owner", lang, owner=owner)


def _next_warning(fault: Fault, lang: Lang) -> list[str]:
    word = text_of(fault, "warning", 40)
    if word == "allocated twice":
        return [_said("next-twice", lang)]
    if word == "released in vain":
        return [_said("next-vain", lang)]
    return _next_kept(fault, _is_growing(fault), lang)


def _next_leak(fault: Fault, lang: Lang) -> list[str]:
    return _next_kept(fault, _is_growing(fault), lang)


def _next_kept(fault: Fault, is_growing: bool, lang: Lang) -> list[str]:
    """Of a block that stays: where to look, what to record where that is not known."""
    has_stack = bool(fault.access.frames)
    told = []
    if is_growing:
        told.append(_said("next-growing", lang))
    elif text_of(fault, "warning", 40) == "held" and is_of_table(fault):
        told.append(_said("next-held", lang))
    elif has_stack:
        told.append(_said("next-look", lang))
    return told if has_stack else [*told, _said("take-stacks", lang)]


def _why_twice(fault: Fault, lang: Lang) -> list[str]:
    return [_said("released-twice", lang), *_whose(fault, lang)]


def _next_twice(fault: Fault, lang: Lang) -> list[str]:
    told = [_said("next-released-twice", lang)]
    return told if fault.access.frames else [*told, _said("take-stacks", lang)]


MORE: Mapping[str, Callable[[Fault, Lang], list[str]]] = {
    "pool warning": _why_warning,
    "leak": _why_leak,
    "double-free": _why_twice,
}
"""Kind of msMemScope -> what happened, as sentences."""

NEXT: Mapping[str, Callable[[Fault, Lang], list[str]]] = {
    "pool warning": _next_warning,
    "leak": _next_leak,
    "double-free": _next_twice,
}
"""Kind of msMemScope -> what to do, as sentences."""


# ---- all faults of a place ----


Growth = tuple[int, int, bool]
"""(bytes a step, steps that show it, whether each of them shows the same)"""


def growth_of_fault(fault: Fault) -> Growth | None:
    """What the group of a block keeps more every step, as its table shows it."""
    n, steps = int_of(fault, "growth_bytes_per_step"), int_of(fault, "growth_steps")
    if n is None or steps is None:
        return None
    return n, steps, fault.figures.get("is_growth_even") is True


def growth_of_site(site: Site) -> Growth | None:
    """What a place keeps more every step: of a table its groups together (stacks that lead to the place), of
    a log's lines what they add up to by step. None unless three steps show it.
    """
    groups: dict[tuple[object, ...], Growth] = {}
    for fault in site.members:
        growth = growth_of_fault(fault)
        if growth is not None:
            access = fault.access
            owner = fault.figures.get("owner")
            groups.setdefault((access.pid, access.device, owner, access.frames), growth)
    if groups:
        steps = {n for _, n, _ in groups.values()}
        is_even = len(steps) == 1 and all(even for *_, even in groups.values())
        return sum(n for n, *_ in groups.values()), max(steps), is_even
    if is_of_table(site.first) or not site.first.is_leak or site.n > len(site.members):
        return None
    return _growth_of_lines(site)


def _growth_of_lines(site: Site) -> Growth | None:
    by_step: dict[int, int] = {}
    for fault in site.members:
        step = int_of(fault, "step")
        if step is None:
            return None
        by_step[step] = by_step.get(step, 0) + (fault.size_bytes or 0)
    n = len(by_step)
    if n < 3 or max(by_step) - min(by_step) != n - 1:  # not one step behind the other
        return None
    return sum(by_step.values()) // n, n, len(set(by_step.values())) == 1


def steps_of(site: Site) -> tuple[int, ...]:
    """The steps in which the blocks of a place were allocated, ascending, as far as they were kept one by
    one; () where none is told."""
    return tuple(sorted({step for one in site.members if (step := int_of(one, "step")) is not None}))[
        :MAX_STEPS
    ]


def with_pool_figures(figures: Mapping[str, Any], site: Site) -> dict[str, Any]:
    """The figures of a site with sums, steps and growth of the blocks that it keeps: n_allocations,
    held_bytes (of leaks leaked_bytes is there already), steps, growth_bytes_per_step, growth_steps,
    is_growth_even. Those of other sites as they are. What is of one block alone (its step) is left out of
    the figures of several.
    """
    found = dict(figures)
    if not is_kept(site.first):
        return found
    found["n_allocations"] = site.n_objects
    if not site.first.is_leak:
        found["held_bytes"] = site.total_bytes
    steps = steps_of(site)
    if len(steps) > 1:
        found.pop("step", None)
        found["steps"] = list(steps)
    growth = growth_of_site(site)
    if growth is not None:
        names = ("growth_bytes_per_step", "growth_steps", "is_growth_even")
        found |= dict(zip(names, growth, strict=True))
    return found


def pool_text(site: Site, lang: Lang) -> str:
    """All blocks that a place keeps, with sums, place, pool, owner, steps and growth; "" of all else."""
    if not is_kept(site.first):
        return ""
    growth = growth_of_site(site)
    if site.first.is_leak:
        key = "site-leak"
    else:
        key = "site-held" if growth is None else "site-growing"
    n, size = site.n_objects, bytes_text(site.total_bytes, lang)
    head = _said(
        key,
        lang,
        blocks=_said("block", lang) if n == 1 else _said("blocks", lang, n=f"{n:,}"),
        size=size if n == 1 else _said("sum", lang, n=size),
        where=_where(site, lang),
    )
    told = [
        head,
        _growth_text(growth, lang),
        _steps_text(site, lang),
        *_whose(site.first, lang, _owners(site)),
    ]
    return sentences(told, lang)


def pool_next(site: Site, lang: Lang) -> str:
    """What to do about the blocks that a place keeps; "" of all else."""
    if not is_kept(site.first):
        return ""
    return sentences(_next_kept(site.first, growth_of_site(site) is not None, lang), lang)


def _owners(site: Site) -> set[str]:
    return {text_of(one, "owner", 80) for one in site.members}


def _where(site: Site, lang: Lang) -> str:
    place = place_text(site.place)
    if place:
        return _said("at-place", lang, place=shown_name(place))
    kernel = site.first.access.kernel
    return _said("in-kernel", lang, kernel=shown_name(kernel)) if kernel else ""


def _growth_text(growth: Growth | None, lang: Lang) -> str:
    if growth is None:
        return ""
    n, steps, is_even = growth
    return _said("growth" if is_even else "growth-mean", lang, n=bytes_text(n, lang), steps=f"{steps:,}")


def _steps_text(site: Site, lang: Lang) -> str:
    """Step 3; steps 3 to 5; steps 1, 4, 9. "" where not all blocks are known one by one."""
    steps = steps_of(site)
    if not steps or site.n > len(site.members):
        return ""
    if len(steps) > 2 and steps[-1] - steps[0] == len(steps) - 1:
        text = f"{steps[0]:,}-{steps[-1]:,}"
    else:
        text = joined([f"{step:,}" for step in steps[:8]], lang) + (" ..." if len(steps) > 8 else "")
    return _said("step" if len(steps) == 1 else "steps", lang, steps=text)


def no_place_text(fault: Fault, lang: Lang) -> str:
    """Why msMemScope names no line for a block, and what would give it."""
    return safe_text(_said("no-stack-table" if is_of_table(fault) else "no-stack-log", lang))

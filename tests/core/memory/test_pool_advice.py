"""Words for blocks of memory pools: sums, growth, whose they are, what to do."""

from __future__ import annotations

from typing import Any

import pytest

from npulse.core.memory.advice import next_step, why
from npulse.core.memory.faults import Access, Fault, Frame
from npulse.core.memory.figures import site_figures
from npulse.core.memory.pool_advice import (
    MORE,
    NEXT,
    TEXTS,
    is_kept,
    no_place_text,
    pool_next,
    pool_text,
    with_pool_figures,
)
from npulse.core.memory.sites import Site, Sites

STEP = (Frame("train.py", 33, function="step"),)
LOAD = (Frame("train.py", 5, function="load"),)


def held(
    number: int,
    size: int = 2048,
    *,
    frames: tuple[Frame, ...] = STEP,
    kind: str = "pool warning",
    owner: str = "PTA@ops",
    growth: tuple[int, int, bool] | None = None,
    **figures: Any,
) -> Fault:
    """A block of a table that was not released."""
    told = {"pool": "PTA", "owner": owner, "allocation_id": number, **figures}
    if kind == "pool warning":
        told["warning"] = "held"
    if growth is not None:
        told |= dict(zip(("growth_bytes_per_step", "growth_steps", "is_growth_even"), growth, strict=True))
    access = Access(space="GM", address=0x1000 * number, device=0, pid=7, frames=frames)
    return Fault(
        *("msMemScope", kind, "info", "", "d.csv", number + 1, number),  # type: ignore[arg-type]
        accesses=(access,),
        size_bytes=size,
        n_objects=1,
        figures=told,
    )


def line(step: int, size: int = 1 << 20, kernel: int = 7) -> Fault:
    """A leak that a line of the tool's log tells."""
    access = Access(space="GM", address=0x1000 * step, device=0, kernel=f"kernel_{kernel}")
    figures = {"pool": "HAL", "step": step, "kernel_index": kernel, "device_id": 0}
    return Fault(
        *("msMemScope", "leak", "error", "", "a.log", step + 1, step),
        accesses=(access,),
        size_bytes=size,
        n_objects=1,
        figures=figures,
    )


def site_of(*faults: Fault) -> Site:
    sites = Sites(lambda frames: frames[0] if frames else None)
    for fault in faults:
        sites.add(fault)
    (site,) = sites.snapshot()
    return site


def test_held_blocks_are_summed_and_placed() -> None:
    site = site_of(*(held(n) for n in range(1, 6)))
    text = pool_text(site, "en")
    assert text.startswith("5 blocks, 10,240 bytes in all, still held")
    assert "train.py:33" in text and "PTA" in text and "need not be a leak" in text and "warns" not in text
    zh = pool_text(site, "zh")
    assert "5 块" in zh and "10,240 字节" in zh and "不一定是泄漏" in zh and "train.py:33" in zh
    figures = with_pool_figures(site_figures(site), site)
    assert (figures["held_bytes"], figures["n_allocations"], figures["pool"]) == (10_240, 5, "PTA")
    assert "step start" in pool_next(site, "en") and "call-stack" not in pool_next(site, "en")
    one = pool_text(site_of(held(1)), "en")
    assert one.startswith("1 block, 2,048 bytes, still held")


def test_an_owner_is_named_where_it_is_that_of_all() -> None:
    assert "Its owner: PTA@ops." in pool_text(site_of(held(1), held(2)), "en")
    assert "owner" not in pool_text(site_of(held(1), held(2, owner="PTA@model")), "en")
    assert "owner" not in pool_text(site_of(held(1, owner="PTA")), "en"), "the pool says it"


def test_growth_is_told_a_step() -> None:
    site = site_of(*(held(n, 4096, growth=(4096, 4, True), step=n) for n in range(1, 5)))
    text = pool_text(site, "en")
    assert "16,384 bytes in all" in text and "grows by 4,096 bytes a step" in text and "steps 1-4" in text
    assert "need not be a leak" not in text, "growth is what tells a leak"
    assert "每个 step 增长 4,096 字节" in pool_text(site, "zh")
    figures = with_pool_figures(site_figures(site), site)
    assert (figures["growth_bytes_per_step"], figures["growth_steps"]) == (4096, 4)
    assert figures["steps"] == [1, 2, 3, 4] and "step" not in figures
    assert ".detach()" in pool_next(site, "en")
    mean = pool_text(site_of(held(1, growth=(7, 3, False))), "en")
    assert "mean" in mean and "the same" not in mean


def test_stacks_that_lead_to_one_place_grow_together() -> None:
    other = (STEP[0], Frame("train.py", 90, function="main"))
    faults = [held(n, 100, growth=(100, 3, True)) for n in (1, 2, 3)]
    faults += [held(n, 8, frames=other, growth=(8, 3, True)) for n in (4, 5, 6)]
    figures = with_pool_figures({}, site_of(*faults))
    assert figures["growth_bytes_per_step"] == 108 and figures["held_bytes"] == 324


def test_lines_of_a_log_grow_where_step_follows_step() -> None:
    site = site_of(*(line(step) for step in (3, 4, 5)))
    text = pool_text(site, "en")
    assert text.startswith("Never released: 3 blocks, 3,145,728 bytes in all, allocated in kernel_7.")
    assert "grows by 1,048,576 bytes a step" in text and "steps 3-5" in text and "HAL" in text
    assert "kernel_7" in pool_text(site, "zh")
    figures = with_pool_figures(site_figures(site), site)
    assert figures["growth_bytes_per_step"] == 1 << 20 and figures["leaked_bytes"] == 3 << 20
    assert "held_bytes" not in figures
    for steps in ((3, 4), (3, 4, 6)):
        assert "grows" not in pool_text(site_of(*map(line, steps)), "en")


def test_a_leak_of_a_table_is_told_as_one() -> None:
    site = site_of(held(1, kind="leak"), held(2, kind="leak"))
    assert pool_text(site, "en").startswith("Never released: 2 blocks, 4,096 bytes in all, allocated at")
    assert NEXT["leak"](site.first, "en") == [TEXTS["next-look"][0]]


def test_without_a_stack_the_switch_that_gives_one_is_named() -> None:
    bare = held(1, frames=())
    assert "--call-stack=python,c" in " ".join(NEXT["pool warning"](bare, "en"))
    assert "--call-stack=python,c" in " ".join(NEXT["leak"](line(1), "zh"))
    assert "the table" in no_place_text(bare, "en") and "memscope_dump" in no_place_text(line(1), "en")
    for lang in ("en", "zh"):
        for fault in (bare, line(1)):
            text = no_place_text(fault, lang)  # type: ignore[arg-type]
            assert "symbolizer" not in text and "-fno-omit" not in text


@pytest.mark.parametrize(
    ("figures", "en"),
    [
        ({"warning": "held", "n_steps": 4}, "The tool warns: a block has been held for 4 steps."),
        ({"warning": "not released"}, "The tool warns: a block was not released."),
        ({"warning": "released in vain"}, "The tool warns: a block was released although"),
        ({"warning": "allocated twice"}, "The tool warns: a block was allocated twice"),
        ({"warning": "allocated twice", "allocation_id": 3}, "A block was allocated at an address"),
        ({"warning": "new word"}, "Something is wrong with a block of a memory pool."),
    ],
)
def test_only_lines_of_a_log_are_warnings_of_the_tool(figures: dict[str, Any], en: str) -> None:
    fault = Fault("msMemScope", "pool warning", "warning", "", "a.log", 1, 0, figures=figures)
    assert MORE["pool warning"](fault, "en")[0].startswith(en)
    assert all(part == "" or not part.isascii() for part in MORE["pool warning"](fault, "zh"))
    assert not is_kept(fault) and with_pool_figures({"a": 1}, site_of(fault)) == {"a": 1}
    assert pool_text(site_of(fault), "en") == "" and pool_next(site_of(fault), "en") == ""
    assert any(NEXT["pool warning"](fault, "en"))


def test_the_words_are_those_that_every_report_uses() -> None:
    fault = held(1)
    assert why(fault, "en").startswith("A block of 2,048 bytes was still held where the table ends;")
    assert "llvm" not in next_step(line(1), "en") and "--call-stack" in next_step(line(1), "en")
    twice = Fault("msMemScope", "double-free", "error", "", "d.csv", 3, 9, figures={"pool": "PTA"})
    assert why(twice, "en") == "A block of a memory pool was released for the second time. Its pool: PTA."
    assert "heap" not in why(twice, "en") and "两次" in next_step(twice, "zh")


def test_names_of_a_log_do_nothing_to_a_terminal() -> None:
    evil = "\x1b]0;x\x07"
    site = site_of(held(1, frames=(Frame(f"{evil}.py", 3),), owner=evil))
    for text in (pool_text(site, "en"), *MORE["pool warning"](site.first, "zh")):
        assert "\x1b" not in text and "\x07" not in text

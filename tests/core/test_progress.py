"""Progress as text, and no more of it than a terminal should be sent."""

from __future__ import annotations

import pytest

from npulse.core.progress import Progress, paced, progress_text


@pytest.mark.parametrize(
    ("progress", "elapsed_s", "en", "zh"),
    [
        (
            Progress("compare", 1200, 3000, "tensors"),
            3.0,
            "comparing: 1,200 of 3,000 tensors (400/s, 4 s left)",
            "比较：1,200 / 3,000 个张量 (400/s, 剩余 4 秒)",
        ),
        (
            Progress("discover", 5000, None, "entries"),
            2.0,
            "looking through the folder: 5,000 entries (2,500/s)",
            "查看目录：5,000 个条目 (2,500/s)",
        ),
        (
            Progress("read", 30_000_000, 90_000_000, "bytes"),
            2.0,
            "reading: 30.0 MB of 90.0 MB (15.0 MB/s, 4 s left)",
            "读取：30.0 MB / 90.0 MB (15.0 MB/s, 剩余 4 秒)",
        ),
        (Progress("read", 0, 4, "ranks"), 0.0, "reading: 0 of 4 ranks", "读取：0 / 4 个 rank"),
        (Progress("polish", 7, 6, "lamps"), 7.0, "polish: 7 of 6 lamps (1/s, 0 s left)", None),
    ],
)
def test_text(progress: Progress, elapsed_s: float, en: str, zh: str | None) -> None:
    assert progress_text(progress, elapsed_s) == en
    if zh is not None:
        assert progress_text(progress, elapsed_s, "zh") == zh


def test_paced_drops_what_comes_too_soon() -> None:
    now_s = 100.0
    seen: list[int] = []
    callback = paced(lambda progress: seen.append(progress.done), 0.25, clock=lambda: now_s)
    for done in range(40):
        callback(Progress("read", done, None, "files"))
        now_s += 0.1
    assert seen == [0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39]


@pytest.mark.parametrize(
    ("sizes", "elapsed_s", "en", "zh"),
    [
        (
            (3_100_000_000, 12_400_000_000),
            2.2,
            "comparing: 3.1 of 12.4 GB, 1.4 GB/s, 0:07 left",
            "比较：3.1 / 12.4 GB，1.4 GB/s，剩余 0:07",
        ),
        ((0, 12_400_000_000), 5.0, "comparing: 0.0 of 12.4 GB", "比较：0.0 / 12.4 GB"),
        ((400_000, 2_000_000), 0.9, "comparing: 0.4 of 2.0 MB", "比较：0.4 / 2.0 MB"),
        (
            (1_000_000, 40_000_000_000),
            1.0,
            "comparing: 0.0 of 40.0 GB, 1.0 MB/s, 11:06:39 left",
            "比较：0.0 / 40.0 GB，1.0 MB/s，剩余 11:06:39",
        ),
        (
            (500, 500),
            2.0,
            "comparing: 0.5 of 0.5 kB, 0.2 kB/s, 0:00 left",
            "比较：0.5 / 0.5 kB，0.2 kB/s，剩余 0:00",
        ),
    ],
)
def test_bytes_with_the_time_left(sizes: tuple[int, int], elapsed_s: float, en: str, zh: str) -> None:
    progress = Progress("compare", 1, 4, "tensors", *sizes)
    assert progress_text(progress, elapsed_s) == en
    assert progress_text(progress, elapsed_s, "zh") == zh


def test_nobody_says_how_long_it_takes_after_less_than_a_second() -> None:
    assert "left" not in progress_text(Progress("compare", 90, 100, "tensors"), 0.99)
    assert "1 s left" not in progress_text(Progress("read", 90, 100, "bytes"), 0.5)
    assert "left" in progress_text(Progress("compare", 90, 100, "tensors"), 1.0)

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

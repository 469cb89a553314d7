"""What the first line says of a run that is followed, and what is sent beside the screen."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from npulse.core.run.model import Artifact
from npulse.core.text import clock_text, since_text
from npulse.core.watch.events import LiveState
from npulse.core.watch.recorded import recorded_by_rank
from npulse.tui.clipboard import passed_through
from npulse.tui.live import live_fact, ranks_fact, rate_text, recorded_lines, why_polling
from npulse.tui.messages import tr
from npulse.tui.terminal import terminal_from

AT_NS = 1_700_000_000_000_000_000


def say_en(text_id: str, **values: object) -> str:
    return tr(text_id, "en", **values)


def state(
    *, reachable: bool = True, writer: bool | None = True, quiet: int | None = None, last: int | None = AT_NS
) -> LiveState:
    return LiveState("inotify", "", reachable, 2_500_000.0, None, last, writer, quiet)


@pytest.mark.parametrize(
    ("bytes_per_s", "text"),
    [(0, "0 B/s"), (999, "999 B/s"), (1000, "1.0 kB/s"), (1_250_000, "1.2 MB/s"), (3e9, "3.0 GB/s")],
)
def test_rates_are_short(bytes_per_s: float, text: str) -> None:
    assert rate_text(bytes_per_s) == text


def test_the_worst_is_said_first() -> None:
    clock = since_text(AT_NS, time.time_ns())
    assert clock == time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(AT_NS // 10**9))
    assert since_text(AT_NS, AT_NS + 1) == clock_text(AT_NS) == clock[-8:]
    gone = state(reachable=False, writer=False, quiet=AT_NS)
    assert live_fact(gone, AT_NS + 10**9, "*", say_en) == f"folder gone since {clock_text(AT_NS + 10**9)}"
    assert live_fact(state(writer=False, quiet=AT_NS), 0, "*", say_en) == f"writer gone since {clock}"
    assert live_fact(state(writer=None, quiet=AT_NS), 0, "*", say_en) == f"LIVE * quiet since {clock}"
    assert live_fact(state(), 0, "*", say_en) == "LIVE * 2.5 MB/s"
    assert live_fact(state(writer=False, last=None), 0, "*", say_en) == "LIVE * 2.5 MB/s"


def test_why_it_looks_at_intervals_is_said_in_words_and_made_safe() -> None:
    assert why_polling("network nfs4", say_en) == "nfs4 is a network file system"
    assert "8192" in why_polling("watch-limit 8192", say_en)
    assert why_polling("something new", say_en) == why_polling("unsupported x", say_en)
    assert "\x1b" not in why_polling("network \x1b[2J", say_en)


def test_what_was_recorded_is_one_aligned_line_a_rank() -> None:
    def artifact(rank: int | None, size: int, kind: str) -> Artifact:
        return Artifact(kind, Path("/r"), "r", size, AT_NS, rank=rank)

    found = recorded_by_rank(
        [
            artifact(0, 2_000_000, "msprobe.dump"),
            artifact(10, 500_000, "msprobe.dump"),
            artifact(None, 1, "x"),
        ]
    )
    lines = recorded_lines(found, {0: 1234}, say_en)
    assert [line.split("  ")[0] for line in lines] == ["rank 0", "rank 10", "no rank"]
    assert "2.0 MB" in lines[0] and "1,234 rows shown" in lines[0] and "rows" not in lines[1]
    assert len({line.index("last write") for line in lines}) == 1
    assert recorded_lines((), {}, say_en) == []


@pytest.mark.parametrize(
    ("environ", "wrapped"),
    [
        ({"TERM": "xterm"}, "\x1b]9;x\x07"),
        ({"TERM": "tmux-256color", "TMUX": "/s,1,0"}, "\x1bPtmux;\x1b\x1b]9;x\x07\x1b\\"),
        ({"TERM": "screen", "STY": "1.pts"}, "\x1bP\x1b]9;x\x07\x1b\\"),
    ],
)
def test_a_sequence_for_the_terminal_passes_a_multiplexer(environ: dict[str, str], wrapped: str) -> None:
    terminal = terminal_from(environ, is_tty=True, encoding="utf-8")
    assert passed_through("\x1b]9;x\x07", terminal) == wrapped


def test_what_was_recorded_of_ranks_in_few_words() -> None:
    assert ranks_fact([], say_en) == []
    assert ranks_fact([(0, 1_250_000), (3, 0)], say_en) == ["rank 0: 1.2 MB", "rank 3: 0.0 MB"]
    assert ranks_fact([(rank, (rank + 1) * 10**6) for rank in range(8)], say_en) == ["8 ranks: 1.0-8.0 MB"]

"""What a round says of itself, from manifests that are whole, old, odd or hostile."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.manifest import record_of
from npulse.core.rounds.facts import facts_of
from npulse.core.run.model import Artifact, Round


def round_of(name: str = "a_20260301-101500", folder: str = "sanitizer") -> Round:
    artifact = Artifact("npulse.round", Path("/x/round.toml"), f"{folder}/{name}/round.toml", 10, 1)
    return Round(name, (artifact,))


def test_a_manifest_as_captures_write_it() -> None:
    record = {
        "state": "closed",
        "kind": "memory",
        "tool": "asan",
        "command": ["python", "x.py"],
        "start": "2026-03-01T10:15:00.500Z",
        "end": "2026-03-01T10:15:02Z",
        "duration_s": 1.5,
        "signal": 15,
        "stopped_by": "user",
        "warnings": ["card 3: 88 C"],
        "recorded": {
            "outcome": "nothing",
            "why": "no log",
            "why_zh": "没有日志",
            "ranks": [0, 1],
            "kinds": {},
        },
    }
    facts = facts_of(round_of(), record_of(record), "m")
    start = datetime.datetime(2026, 3, 1, 10, 15, 0, 500_000, datetime.timezone.utc)
    assert facts.started_ns == int(start.timestamp() * 1e9) and facts.duration_s == 1.5
    assert (facts.kind, facts.tool, facts.outcome, facts.signal) == ("memory", "asan", "nothing", "SIGTERM")
    assert facts.exit_status is None and facts.stopped_by == "user" and facts.why == ("no log", "没有日志")
    assert facts.recorded == {"ranks": "0, 1"} and facts.warnings == ("card 3: 88 C",)


@pytest.mark.parametrize(
    ("record", "outcome"),
    [
        ({"state": "running"}, "open"),
        ({"state": "closed"}, ""),
        ({"state": "running", "recorded": {"outcome": "recorded"}}, "recorded"),
        ({"recorded": {"outcome": "perfect"}}, ""),
        ({}, ""),
    ],
)
def test_a_round_that_was_never_closed_is_told(record: dict[str, Any], outcome: str) -> None:
    assert facts_of(round_of(), record_of(record)).outcome == outcome


def test_without_a_manifest_name_and_folder_tell() -> None:
    facts = facts_of(round_of(folder="prof"), None)
    at = datetime.datetime(2026, 3, 1, 10, 15)
    assert facts.kind == "performance" and facts.started_ns == int(at.timestamp() * 1e9)
    assert not facts.is_read and facts_of(round_of("round1", "x"), None).started_ns is None


values: st.SearchStrategy[Any] = st.recursive(
    st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=20)
    | st.datetimes()
    | st.times(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    [
        "kind",
        "tool",
        "command",
        "start",
        "end",
        "duration_s",
        "exit_status",
        "signal",
        "recorded",
        "state",
        "why",
    ]
)


@given(st.dictionaries(names, values, max_size=11))
def test_no_manifest_is_too_odd(record: dict[str, Any]) -> None:
    facts = facts_of(round_of(), record_of(record))
    assert isinstance(facts.kind, str) and all(isinstance(word, str) for word in facts.command)
    assert facts.duration_s is None or facts.duration_s >= 0

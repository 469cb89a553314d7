"""round.toml: read whole or refused, and what of it is told, whatever stands there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.manifest import MAX_BYTES, RoundRecord, read_record, record_of

WHOLE = """\
state = "closed"
kind = "overflow"
command = ["python", "t.py"]
start = "2026-03-01T10:15:00.500Z"
end = 2026-03-01T10:15:02+00:00
signal = 9
tokens_per_s = 25
[serving]
tokens_per_s = 30
first_token_ms = "120"
[process]
boot_id = "b"
npulse_pid = 7
[recorded]
outcome = "incomplete"
size_bytes = 12
[device.before]
state = "ok"
[device]
after = 3
[environment]
A = "1"
B = 2
"""


def test_each_fact_stands_in_one_record(tmp_path: Path) -> None:
    path = tmp_path / "round.toml"
    path.write_text(WHOLE)
    record = read_record(path)
    assert record.started_ns == 1772360100_500000000 and record.ended_ns == 1772360102_000000000
    assert record.duration_s == 1.5 and record.signal == "SIGKILL" and record.exit_status is None
    assert (record.kind, record.state, record.outcome) == ("overflow", "closed", "incomplete")
    assert record.serving == {"tokens_per_s": 25.0} and record.unusable == ("serving.first_token_ms",)
    assert (record.process.boot_id, record.process.npulse_pid, record.process.tool_pid) == ("b", 7, 0)
    assert record.size_bytes == 12 and record.recorded == {"size_bytes": "12"}
    assert record.device_before == {"state": "ok"} and record.device_after is None
    assert record.environment == {"A": "1"} and record.settings["environment"] == {"A": "1", "B": 2}
    assert record_of({}) == RoundRecord()


@pytest.mark.parametrize(
    "raw",
    [b"a = [", b"\xff", b"a = " + b"[" * 5000, b"x" * (MAX_BYTES + 1), b"a = 1e", b"a = " + b"9" * 5000],
)
def test_what_is_no_manifest_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "round.toml"
    path.write_bytes(raw)
    with pytest.raises(InputError):
        read_record(path)


def test_a_number_of_no_end_is_no_crash(tmp_path: Path) -> None:
    """Base 16 has no limit of digits, its text in base 10 has."""
    path = tmp_path / "round.toml"
    path.write_text(f"exit_status = 0x{'f' * 9000}\n[recorded]\nn_files = 0x{'f' * 9000}\n")
    record = read_record(path)
    assert record.exit_status is None and record.recorded == {"n_files": "?"}


@given(st.integers(0, len(WHOLE)), st.binary(max_size=3))
def test_a_damaged_manifest_is_read_or_refused(tmp_path_factory: Any, at: int, put: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.toml"
    path.write_bytes(WHOLE.encode()[:at] + put + WHOLE.encode()[at + len(put) :])
    try:
        record = read_record(path)
    except InputError:
        return
    assert all(value > 0 for value in record.serving.values())
    assert all(isinstance(word, str) for word in record.command)

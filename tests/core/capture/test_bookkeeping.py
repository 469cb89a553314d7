"""An npulse that was killed leaves a round that says so, and that can be closed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.capture.bookkeeping import resume
from npulse.core.capture.manifest import Manifest, request_of, request_table
from npulse.core.capture.request import CaptureRequest
from npulse.core.capture.stop import StopRequests
from npulse.core.errors import InputError

from .doubles import (
    WRITES,
    is_read_only,
    living_of,
    manifest_of,
    nothing_else_written,
    python,
    register,
    rounds_of,
    until,
)

REPO = Path(__file__).resolve().parents[3]

CAPTURES = """
import sys
sys.path.insert(0, {source!r})
sys.path.insert(0, {here!r})
import doubles
from pathlib import Path
from npulse.core.capture.session import capture
doubles.register(lambda table, name, value: table.__setitem__(name, value))
capture(doubles.request_for(Path({archive!r}), tuple({command!r})), doubles.PlainDriver())
"""
SLEEPS = WRITES + "import time; time.sleep(600)"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    register(monkeypatch.setitem)
    (tmp_path / "work").mkdir()
    folder = tmp_path / "work" / "diag"
    with nothing_else_written(tmp_path, folder):
        yield folder
    for made in rounds_of(folder):
        assert living_of(manifest_of(made)["id"]) == []


def start(archive: Path, code: str) -> tuple[subprocess.Popen[bytes], Path]:
    """An npulse in a process of its own, once its tool has written; and its round."""
    text = CAPTURES.format(
        source=str(REPO / "src"),
        here=str(Path(__file__).parent),
        archive=str(archive),
        command=python(code),
    )
    process = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until(lambda: any(archive.glob("dump/*/raw/data.bin")))
    (folder,) = rounds_of(archive)
    until(lambda: "tool_pid" in manifest_of(folder)["process"])
    return process, folder


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def whole(folder: Path) -> dict[str, Any]:
    return {str(path): (path.stat().st_mode, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def test_a_round_of_a_killed_npulse_is_closed_with_the_truth(archive: Path) -> None:
    process, folder = start(archive, SLEEPS)
    assert [one.what for one in resume(archive)] == ["captured"], "it is being captured"
    kill(process)
    table = manifest_of(folder)
    assert table["state"] == "running"
    (alive,) = resume(archive)
    assert alive.what == "alive" and [one.pid for one in alive.processes] == [table["process"]["tool_pid"]]
    assert manifest_of(folder) == table and living_of(table["id"]), "refused: nothing was changed or ended"

    (closed,) = resume(folder, is_stopping=True)
    assert closed.what == "closed" and closed.recorded is not None
    table = manifest_of(folder)
    assert table["state"] == "killed" and table["stopped_by"] == "user"
    assert "exit_status" not in table and table["recorded"]["size_bytes"] == 100
    assert any("npulse was killed" in line for line in table["warnings"])
    assert is_read_only(folder / "raw") and living_of(table["id"]) == []
    assert not (folder / ".reserve").exists()

    before = whole(folder)
    assert resume(archive) == () and whole(folder) == before, "once is enough"


def test_a_tool_that_has_ended_meanwhile(archive: Path) -> None:
    process, folder = start(archive, SLEEPS)
    kill(process)
    tool = manifest_of(folder)["process"]["tool_pid"]
    os.kill(tool, signal.SIGKILL)
    until(lambda: living_of(manifest_of(folder)["id"]) == [])
    (closed,) = resume(archive / "dump")
    assert closed.what == "closed" and manifest_of(folder)["state"] == "killed"
    assert manifest_of(folder)["stopped_by"] == ""


def test_a_deaf_tool_is_killed_by_stop(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from npulse.core.capture import bookkeeping

    ladder = tuple((number, 0.2) for number, _ in bookkeeping.LADDER[:2]) + bookkeeping.LADDER[2:]
    monkeypatch.setattr(bookkeeping, "LADDER", ladder)
    deaf = "import signal; [signal.signal(n, signal.SIG_IGN) for n in (2, 15)]\n" + SLEEPS
    process, folder = start(archive, deaf)
    kill(process)
    (closed,) = resume(archive, is_stopping=True, stop=StopRequests())
    assert closed.what == "closed" and manifest_of(folder)["state"] == "killed"


def test_a_pid_that_came_again_is_nobody_of_ours(archive: Path) -> None:
    """The number of the tool belongs to another process by now: neither alive nor ended."""
    process, folder = start(archive, SLEEPS)
    kill(process)
    table = manifest_of(folder)
    os.kill(table["process"]["tool_pid"], signal.SIGKILL)
    until(lambda: living_of(table["id"]) == [])
    text = (folder / "round.toml").read_text()
    mine = text.replace(f"tool_pid = {table['process']['tool_pid']}", f"tool_pid = {os.getpid()}")
    (folder / "round.toml").write_text(mine)
    (closed,) = resume(archive, is_stopping=True)
    assert closed.what == "closed"


def test_what_is_no_round_and_what_is_broken(archive: Path) -> None:
    with pytest.raises(InputError):
        resume(archive)
    folder = archive / "dump" / "x_20260101-000000"
    folder.mkdir(parents=True)
    (folder / "round.toml").write_text("state = [[[")
    assert [one.what for one in resume(archive)] == ["refused"]
    (folder / "round.toml").write_text('schema = 1\nstate = "running"\n')
    assert [one.what for one in resume(archive)] == ["refused"]
    (folder / "round.toml").write_text('schema = 1\nname = "made by hand"\n')
    assert resume(archive) == ()
    (folder / "round.toml").write_text('id = "0"\nstate = "closed"\n')


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 1 << 40) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
_KEYS = (
    *("id", "kind", "tool", "name", "command", "cwd", "request", "process", "environment", "warnings"),
    *("exit_status", "signal", "stopped_by", "is_killed", "recorded", "schema"),
)
_REQUEST = st.dictionaries(st.sampled_from(("rank", "names", "pid", "settings", "retro", "x")), _VALUES)


@given(st.dictionaries(st.sampled_from(_KEYS), _VALUES), _REQUEST)
def test_no_manifest_breaks_the_bookkeeping(
    tmp_path_factory: pytest.TempPathFactory, damage: dict[str, Any], asked: dict[str, Any]
) -> None:
    """Whatever a manifest says, each round is closed or refused, and another one beside it is closed."""
    archive = tmp_path_factory.mktemp("diag")
    base = {"state": "running", "kind": "precision", "tool": "gone", "name": "x", "command": [], "cwd": "/"}
    for name, table in (("a", {**base, "request": asked, **damage}), ("b", base)):
        folder = archive / "dump" / f"{name}_20260101-000000"
        (folder / "raw").mkdir(parents=True)
        Manifest(folder, table).write()
    whats = [one.what for one in resume(archive)]
    assert len(whats) == 2 and whats[0] in ("closed", "refused") and whats[1] == "closed"
    assert [one.what for one in resume(archive)] == [what for what in whats if what == "refused"]


def test_what_was_asked_for_is_read_as_it_was_written(tmp_path: Path) -> None:
    asked = CaptureRequest(
        "overflow",
        ("python", "t.py"),
        tmp_path,
        tmp_path,
        "name",
        "plain",
        rank="0,2",
        step="0|5-10",
        names=("a", "b*"),
        level="L1",
        timeout_s=2.5,
        repeat=3,
        keep_last=True,
        stop_at_first=True,
        keep_fp32=("x",),
        settings={"a-b": "c"},
        extra=("--y",),
        pid=7,
        model="m",
        environment={"ASCEND_WORK_PATH": "/a"},
    )
    folder = tmp_path / "overflow" / "x_20260101-000000"
    folder.mkdir(parents=True)
    top = {"kind": "overflow", "tool": "plain", "name": "name", "command": ["python", "t.py"]}
    table = {**top, "cwd": str(tmp_path), "request": request_table(asked), "environment": asked.environment}
    Manifest(folder, table).write()
    assert request_of(Manifest.read(folder).record, folder) == asked


def test_a_driver_that_is_not_known_any_more(archive: Path) -> None:
    folder = archive / "dump" / "x_20260101-000000"
    (folder / "raw").mkdir(parents=True)
    (folder / "raw" / "a").write_bytes(b"xyz")
    (folder / "round.toml").write_text(
        'schema = 1\nid = "none"\nstate = "running"\nkind = "precision"\ntool = "gone"\nname = "x"\n'
        'command = ["a"]\ncwd = "/"\n'
    )
    (closed,) = resume(folder)
    table = manifest_of(folder)
    assert closed.what == "closed" and table["recorded"]["outcome"] == "unknown"
    assert table["recorded"]["size_bytes"] == 3 and table["state"] == "killed"

"""Signals reach the very process that is meant, or nobody."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from npulse.core.capture import processes as module
from npulse.core.capture.processes import Family, Process, adopting, process_of, send


@pytest.fixture
def sleeper() -> Iterator[Process]:
    with subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"]) as child:
        found = process_of(child.pid)
        assert found is not None
        yield found
        child.kill()


@pytest.mark.parametrize("has_handles", [True, False])
def test_a_signal_reaches_it_once(
    sleeper: Process, monkeypatch: pytest.MonkeyPatch, has_handles: bool
) -> None:
    if not has_handles:

        def refuse(pid: int) -> int:
            raise OSError(module.errno.ENOSYS, "of an old kernel")

        monkeypatch.setattr(module.os, "pidfd_open", refuse)
    assert send(sleeper, signal.SIGKILL)
    assert module.os.waitid(module.os.P_PID, sleeper.pid, module.os.WEXITED | module.os.WNOWAIT)
    assert not send(sleeper, signal.SIGKILL), "it has ended"


def test_another_process_of_its_number_is_not_hit(sleeper: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(module.signal, "pidfd_send_signal", lambda *words: sent.append(words))
    assert not send(replace(sleeper, start_ticks=sleeper.start_ticks - 1), signal.SIGKILL)
    assert sent == []
    assert send(sleeper, signal.SIGKILL) and len(sent) == 1


def test_no_handle_is_left_open(sleeper: Process) -> None:
    before = module.os.listdir("/proc/self/fd")
    for _ in range(5):
        send(sleeper, signal.SIGCONT)
        send(replace(sleeper, start_ticks=1), signal.SIGKILL)
        send(replace(sleeper, pid=2**22 + 1), signal.SIGKILL)
    assert module.os.listdir("/proc/self/fd") == before


def test_the_end_of_another_child_that_has_a_member_s_number_is_left_to_its_starter() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "raise SystemExit(7)"]) as child:
        assert module.os.waitid(module.os.P_PID, child.pid, module.os.WEXITED | module.os.WNOWAIT)
        ended = process_of(child.pid)
        assert ended is not None and ended.is_ended
        family = Family(leader=1, round_id="x")
        family._members[child.pid, ended.start_ticks - 1] = ended  # one of its number was a member before
        family.reap()
        assert child.wait() == 7
    with subprocess.Popen([sys.executable, "-S", "-c", "raise SystemExit(7)"]) as child:
        assert module.os.waitid(module.os.P_PID, child.pid, module.os.WEXITED | module.os.WNOWAIT)
        ended = process_of(child.pid)
        assert ended is not None
        family._members[ended.key] = ended
        family.reap()
        assert process_of(child.pid) is None, "a member is taken away"


def test_orphans_come_here_only_while_a_tool_runs() -> None:
    """The workbench lives on behind a capture, and others may run beside it."""
    assert not module._subreaper()
    leave, inside = threading.Event(), threading.Event()

    def other() -> None:
        with adopting():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    with adopting():
        thread.start()
        assert inside.wait(30) and module._subreaper()
        assert subprocess.run(["sh", "-c", "exit 3"]).returncode == 3
    assert module._subreaper(), "the other one still runs"
    leave.set()
    thread.join()
    assert not module._subreaper()
    with pytest.raises(ZeroDivisionError), adopting():
        raise ZeroDivisionError
    assert not module._subreaper()

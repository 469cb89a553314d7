"""The command that is told of findings: what it gets, in which order, and that it can hold nothing up."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from npulse.core.errors import UsageError
from npulse.core.findings import Finding, Location
from npulse.core.report.as_json import finding_dict
from npulse.core.watch import hook as hook_module
from npulse.core.watch.hook import Hook, command_words

WAIT_S = 30.0


def found(subject: str) -> dict[str, Any]:
    finding = Finding("overflow", "error", "overflow.nan", "origin", subject, "t", location=Location(rank=3))
    return finding_dict(finding)


def python(tmp_path: Path, source: str) -> tuple[str, ...]:
    script = tmp_path / "command.py"
    script.write_text(source)
    return sys.executable, str(script), str(tmp_path)


def test_every_finding_is_told_once_in_order_one_at_a_time(tmp_path: Path) -> None:
    source = """
import os, sys
out = sys.argv[1]
os.close(os.open(out + "/running", os.O_CREAT | os.O_EXCL))
with open(out + "/told", "ab") as file:
    file.write(sys.stdin.buffer.read())
os.unlink(out + "/running")
"""
    hook = Hook(python(tmp_path, source))
    findings = [found(f"a; $(touch x) {n}") for n in range(5)]
    for finding in findings:
        hook.tell(finding)
    hook.close(WAIT_S)
    assert (hook.n_told, hook.n_failed, hook.n_dropped) == (5, 0, 0)
    told = [json.loads(line) for line in (tmp_path / "told").read_text().splitlines()]
    assert told == findings


def test_a_command_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    source = """
import subprocess, sys, time
held = open(sys.argv[1] + "/held", "w")
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=held)
print("started", file=held, flush=True)
time.sleep(600)
"""
    os.mkfifo(tmp_path / "held")
    hook = Hook(python(tmp_path, source), timeout_s=4.0)
    hook.tell(found("a"))
    with open(tmp_path / "held") as held:
        assert held.read() == "started\n", "ends when nobody holds it any more, the child neither"
    hook.close(WAIT_S)
    assert hook.n_failed == 1 and hook.n_told == 0


def test_a_command_that_runs_when_the_wait_is_over_is_ended_and_none_is_begun(tmp_path: Path) -> None:
    source = """
import os, sys, time
with open(sys.argv[1] + "/begun", "a") as file:
    file.write(f"{os.getpid()}\\n")
time.sleep(600)
"""
    hook, begun = Hook(python(tmp_path, source)), tmp_path / "begun"
    for subject in "ab":
        hook.tell(found(subject))
    ends_s = time.monotonic() + WAIT_S
    while not (begun.exists() and begun.read_text().endswith("\n")):
        assert time.monotonic() < ends_s
        time.sleep(0.02)
    hook.close(0.1)
    (number,) = begun.read_text().split()
    with pytest.raises(ProcessLookupError):
        os.kill(int(number), 0)
    assert (hook.n_told, hook.n_failed) == (0, 1)


def test_failures_are_counted_and_the_next_one_is_told_all_the_same(tmp_path: Path) -> None:
    hook = Hook(python(tmp_path, "import sys; sys.exit(json.loads('1'))"))
    hook.tell(found("a"))
    hook.tell(found("b"))
    hook.close(WAIT_S)
    assert hook.n_failed == 2
    gone = Hook((str(tmp_path / "no-such-program"),))
    gone.tell(found("a"))
    gone.close(WAIT_S)
    assert gone.n_failed == 1


def test_too_many_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_module, "MAX_WAITING", 2)
    fifo = tmp_path / "gate"
    os.mkfifo(fifo)
    gate = os.open(fifo, os.O_RDWR)
    hook = Hook(python(tmp_path, "import os, sys; os.read(os.open(sys.argv[1] + '/gate', os.O_RDONLY), 1)"))
    for n in range(6):
        hook.tell(found(str(n)))
    assert hook.n_dropped >= 3, "one runs at most, two wait"
    os.write(gate, b"x" * 6)
    hook.close(WAIT_S)
    os.close(gate)
    assert hook.n_failed == 0 and hook.n_told + hook.n_dropped == 6


def test_words_are_split_as_in_a_shell_and_never_given_to_one() -> None:
    assert command_words("env 'a b' \"$HOME\"") == ("env", "a b", "$HOME")
    for bad in ("", "  ", "'open", "no-such-program-of-npulse x"):
        with pytest.raises(UsageError):
            command_words(bad)

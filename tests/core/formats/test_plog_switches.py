"""The setting that makes Python lines reliable, where a log shows the command that set it."""

from __future__ import annotations

import pytest

from npulse.core.formats.plog.reader import PlogReader
from npulse.core.formats.plog.records import PythonError
from npulse.core.formats.plog.switches import switch_told

SET = "ASCEND_LAUNCH_BLOCKING=1"


@pytest.mark.parametrize(
    "line",
    [
        SET,
        f"export {SET}",
        f"+ export {SET}",
        f"++ {SET}",
        f"$ export {SET}",
        f"# export {SET}",
        f"[root@host app]# export {SET} && ls",
        f"(venv) user@host:~/app$ {SET} python train.py",
        f"declare -x {SET.replace('1', chr(34) + '1' + chr(34))}",
        f"env {SET} ./run.sh",
        f"{SET} python train.py",
        f"{SET} python3.10 -m train",
        f"A=b {SET} C='d e' torchrun --nproc 8 train.py",
        f"{SET}; python train.py",
        f"{SET}  # to see where",
    ],
)
def test_commands_and_settings_are_seen(line: str) -> None:
    assert switch_told(line) == "1"
    assert switch_told(line.replace("BLOCKING=1", "BLOCKING=0").replace('"1"', '"0"')) == "0"


@pytest.mark.parametrize(
    "line",
    [
        f"{SET}.",
        f"{SET} makes every launch wait",
        f"please set {SET}",
        f"please run export {SET}",
        f"RuntimeError: The Inner error is reported as above. {SET}",
        f"echo {SET}",
        f"$ echo export {SET}",
        f"  {SET}",
        "ASCEND_LAUNCH_BLOCKING=10",
        f"MY_{SET}",
        f"- {SET}: wait",
        f"{SET}, python train.py",
        f"{SET}" + " a=b" * 1000,
    ],
)
def test_other_texts_are_not(line: str) -> None:
    assert switch_told(line) is None


TRACEBACK = (
    'Traceback (most recent call last):\n  File "/app/a.py", line 3, in f\n    g(x)\nRuntimeError: x\n'
)


def errors_of(text: str) -> list[bool]:
    reader = PlogReader()
    records = [*reader.feed(text.encode()), *reader.finish()]
    return [record.is_blocking for record in records if isinstance(record, PythonError)]


def test_errors_behind_it_have_it() -> None:
    assert errors_of(f"{TRACEBACK}+ export {SET}\n{TRACEBACK}{SET.replace('=1', '=0')}\n{TRACEBACK}") == [
        *(False, True, False)
    ]
    assert errors_of(TRACEBACK.replace("x\n", f"x {SET}\n")) == [False]
    assert errors_of(
        f"[ERROR] RUNTIME(7,python3):2026-03-01-02:28:06.512.090 [a.cc:1]7 f:{SET}\n{TRACEBACK}"
    ) == [False]


def test_what_is_pending_has_it() -> None:
    reader = PlogReader()
    reader.feed(f"{SET} python a.py\n{TRACEBACK}".encode()[: -len("RuntimeError: x\n")])
    assert [record.is_blocking for record in reader.pending() if isinstance(record, PythonError)] == [True]

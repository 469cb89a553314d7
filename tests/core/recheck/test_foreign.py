"""References of others: a function of the user's file, a plug-in; what they do wrong is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.errors import InputError, UsageError
from npulse.core.plugins import registry
from npulse.core.plugins.check import check_plugin
from npulse.core.plugins.wire import emptied, filled
from npulse.core.recheck import foreign
from npulse.core.recheck.run_recheck import recheck
from npulse.core.recheck.with_torch import TorchReference

from .dumps import Of, rounded, write

NAME = "NPU.npu_acme_gate.0.forward"
X = rounded(np.random.default_rng(2).normal(size=(6, 8)), "float16")
RIGHT = rounded(X * np.tanh(X) + 0.5, "float16")
CODE = """
import numpy as np

def gate(x, shift=0.0, **rest):
    return x * np.tanh(x) + shift

def breaks(x, **rest):
    raise ValueError("not for me")

def hangs_up(x, **rest):
    import os
    os._exit(3)

def in_words(x, **rest):
    return "words"

class Gate:
    name = "acme"
    operators = ["npu_acme_*", "AcmeGate"]

    def compute(self, operator, inputs, keywords):
        return [gate(*inputs, **keywords)]
"""


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("NPULSE_CONFIG_DIR", str(tmp_path / "config"))
    registry.use()
    yield
    registry.use()


def run_of(folder: Path, made: Any, name: str = NAME) -> Path:
    call = {"args": [Of(X, "float16")], "kwargs": {"shift": 0.5}, "out": [Of(made, "float16")]}
    return write(folder / "run", {name: call})


def code(folder: Path) -> Path:
    path = folder / "acme.py"
    path.write_text(CODE)
    return path


def test_a_function_of_the_users_file_computes_the_call(tmp_path: Path) -> None:
    wrong = RIGHT.copy()
    wrong[1, 2] += 0.25
    for made, outcome in ((RIGHT, "within"), (wrong, "implementation")):
        found = recheck(run_of(tmp_path, made), NAME, reference=f"{code(tmp_path)}:gate")
        (one,) = found.calls
        assert (one.check.outcome, one.check.operator) == (outcome, "acme.py:gate")
        assert one.check.is_estimated and "not proven" in "\n".join(found.lines("en"))
    assert one.check.outputs[0].index == (1, 2)


def test_an_implementation_that_rounds_inside_is_within_the_measured_bound(tmp_path: Path) -> None:
    inside = rounded(rounded(X * rounded(np.tanh(X), "float16"), "float16") + 0.5, "float16")
    assert (inside != RIGHT).any()
    (one,) = recheck(run_of(tmp_path, inside), NAME, reference=f"{code(tmp_path)}:gate").calls
    assert one.check.outcome == "within"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("breaks", "raised ValueError: not for me"),
        ("hangs_up", "exit status 3"),
        ("in_words", "could not convert"),
        ("nosuch", "nosuch"),
    ],
)
def test_what_a_function_does_wrong_is_told(function: str, said: str, tmp_path: Path) -> None:
    found = recheck(run_of(tmp_path, RIGHT), NAME, reference=f"{code(tmp_path)}:{function}")
    (one,) = found.calls
    assert (one.check.outcome, one.check.why) == ("unknown", "failed")
    assert said in one.check.detail and found.report.exit_code() == 4


def test_what_names_no_function(tmp_path: Path) -> None:
    run = run_of(tmp_path, RIGHT)
    for text in ("acme.py", "acme.py:", ":gate", "acme.py:not a name"):
        with pytest.raises(UsageError, match="names no function"):
            recheck(run, NAME, reference=text)
    with pytest.raises(InputError):
        recheck(run, NAME, reference=f"{tmp_path}/nosuch.py:gate")
    registry.use(off=True)
    with pytest.raises(UsageError, match="switched off"):
        recheck(run, NAME, reference=f"{code(tmp_path)}:gate")


def test_a_plug_in_brings_references(tmp_path: Path) -> None:
    run, path = run_of(tmp_path, RIGHT), code(tmp_path)
    (without,) = recheck(run, NAME).calls
    assert without.check.why == "no-reference"
    registry.use([path])
    (one,) = recheck(run, NAME).calls
    assert (one.check.outcome, one.check.operator) == ("within", "acme.acme")
    checked = check_plugin(registry.file_plugin(path))
    assert checked.faults == () and checked.tried == (
        ("reference", "acme", "1 output of two arrays of 6 elements"),
    )


def test_what_a_reference_has_to_declare(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("class Bad:\n    name = 'X y'\n    operators = []\n    def compute(self, one): pass\n")
    told = " ".join(fault.message for fault in check_plugin(registry.file_plugin(path)).faults)
    assert "name has to be" in told and "operators has to be" in told and "compute(operator" in told


def test_a_file_that_a_run_holds_is_never_looked_for(tmp_path: Path) -> None:
    run = run_of(tmp_path, RIGHT)
    (run / "npu_acme_gate.py").write_text("raise SystemExit('run')")
    assert recheck(run, NAME).calls[0].check.why == "no-reference"


def test_arguments_go_over_the_wire_and_come_back() -> None:
    given = [
        np.ones(2),
        [1, slice(None, 3, None), None],
        {"a": float("inf"), "b": "text", "c": np.zeros(1)},
        object(),
    ]
    arrays: list[Any] = []
    back = filled(emptied(given, arrays), arrays)
    assert len(arrays) == 2 and back[0] is given[0]
    assert back[1] == given[1] and back[2]["a"] == float("inf") and back[2]["c"] is given[2]["c"]
    assert back[3] is None


@pytest.mark.parametrize("name", ["from_file", "Load", "__class__", "rand_like", "dropout", "a b"])
def test_torch_is_asked_for_no_name_that_is_no_arithmetic(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises((ValueError, ImportError)):
        TorchReference().compute(name, [np.ones(2)], {})


def test_without_torch_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "find_spec", lambda name: None)
    (one,) = recheck(run_of(tmp_path, RIGHT), NAME).calls
    assert (one.check.outcome, one.check.why) == ("unknown", "no-reference")

"""Plays torch: modules that call their forward, gradients that are on or off."""

import contextlib
import os

__version__ = "2.0.0+double"

_state = {"grad": True, "graph": -1}


def is_grad_enabled():
    return _state["grad"]


@contextlib.contextmanager
def no_grad():
    before, _state["grad"] = _state["grad"], False
    try:
        yield
    finally:
        _state["grad"] = before


@contextlib.contextmanager
def backward_pass():
    """What runs inside is computed again by a backward pass."""
    before, _state["graph"] = _state["graph"], 7
    try:
        yield
    finally:
        _state["graph"] = before


class _C:
    @staticmethod
    def _current_graph_task_id():
        return _state["graph"]


from . import amp, nn, optim, utils  # noqa: E402, F401

if os.environ.get("DOUBLE_TORCH_BROKEN"):
    raise RuntimeError("this torch cannot be loaded")

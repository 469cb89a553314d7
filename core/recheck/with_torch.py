"""Torch's own operators as references, in float64: a plug-in of npulse's own, run apart as all plug-ins are.

Names come out of a dump that nobody vouches for: only operators of `torch.ops.aten` are called, which take
and return tensors, and only where a tensor is among the arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

_NAME = re.compile(r"[a-z][a-z0-9_]{0,80}")
_REFUSED = ("from_file", "save", "load", "random", "dropout", "bernoulli", "multinomial", "rand", "normal")


class TorchReference:
    """Any aten operator by its plain name."""

    name = "torch"
    operators = ("*",)

    def compute(self, operator: str, inputs: list[Any], keywords: Mapping[str, Any]) -> list[Any]:
        """Outputs of the operator as arrays; ValueError where it is none of aten's."""
        torch: Any = import_module("torch")
        if not _NAME.fullmatch(operator) or any(word in operator for word in _REFUSED):
            raise ValueError(f"no operator of aten: {operator}")
        found = getattr(torch.ops.aten, operator, None)
        if found is None:
            raise ValueError(f"no operator of aten: {operator}")
        arguments = [_tensors(value, torch) for value in inputs]
        named = {key: _tensors(value, torch) for key, value in keywords.items()}
        if not any(
            isinstance(value, torch.Tensor) for value in (*_flat(arguments), *_flat(list(named.values())))
        ):
            raise ValueError("no tensor among the arguments")
        with torch.no_grad():
            made = found(*arguments, **named)
        listed = made if isinstance(made, (tuple, list)) else [made]
        return [one.to(torch.float64).numpy() if isinstance(one, torch.Tensor) else None for one in listed]


def _tensors(value: Any, torch: Any) -> Any:
    if isinstance(value, list):
        return [_tensors(item, torch) for item in value]
    return torch.from_numpy(value.copy()) if hasattr(value, "__array__") else value


def _flat(values: list[Any]) -> list[Any]:
    found = []
    for value in values:
        found += _flat(value) if isinstance(value, list) else [value]
    return found

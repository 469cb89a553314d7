"""Modules with the two global hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_before: dict[int, Callable[..., Any]] = {}
_after: dict[int, Callable[..., Any]] = {}


class Handle:
    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self._hooks = hooks
        hooks[id(self)] = hook

    def remove(self) -> None:
        self._hooks.pop(id(self), None)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> Handle:
    return Handle(_before, hook)


def register_module_forward_hook(hook: Callable[..., Any]) -> Handle:
    return Handle(_after, hook)


class Module:
    def __call__(self, *args: Any) -> Any:
        for hook in list(_before.values()):
            hook(self, args)
        output = self.forward(*args)
        for hook in list(_after.values()):
            hook(self, args, output)
        return output

    def forward(self, *args: Any) -> Any:
        raise NotImplementedError

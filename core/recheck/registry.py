"""References by operator name: what an operator computes, written over `Number`, and what it may have been
called with instead.

A reference is a function with the operator's own parameters, in its own order and with its own names; tensors
arrive as `Number`, all else as it was dumped. It returns a `Number`, or a tuple with one for each output
tensor (None where it does not know that one). To add one, write it into a module of `references/` (a new
module also into `MODULES`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

MODULES = (
    *("linear", "elementwise", "norms", "activations", "reductions", "shapes", "lookup"),
    *("attention", "attention_infer", "rotary", "quantised"),
)
"""The modules of `references/`."""
GRADIENTS = ("linear", "elementwise", "norms", "activations", "lookup")
"""The modules of `gradients/`, which says how they are written."""

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
Arguments = Mapping[str, Any]
"""A reference's parameters and what the call gave for them."""
Words = tuple[str, str]
"""(en, zh)."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Another way in which the operator may have been called or computed, to be tried where its output is
    wrong.

    words: what would be true, as "dim=0" or "the weight was transposed". changes: parameters with other
    values. function: computes instead of the reference, None for itself. is_call: the caller's doing, not the
    implementation's. is_free: the dump does not record this, so that it is no fault where it fits.
    """

    words: Words
    changes: Arguments
    function: Callable[..., Any] | None = None
    is_call: bool = True
    is_free: bool = False


Variants = Callable[[dict[str, Any]], Iterator[Variant]]


@dataclass(frozen=True, slots=True)
class Reference:
    """function: see the module. accumulates: long sums, in which a coarser dtype inside is a fault of its
    own.

    module: made for a module's forward: parameters are keywords, what its constructor was given is not
    recorded.
    """

    name: str
    function: Callable[..., Any]
    variants: Variants | None = None
    accumulates: bool = False
    module: bool = False

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.function).parameters)

    def required(self, positional: tuple[Any, ...], parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Of a module's reference the parameters that it cannot do without and that were not dumped."""
        left = list(inspect.signature(self.function).parameters.values())[max(len(positional), 1) :]
        return tuple(p.name for p in left if p.default is p.empty and p.name not in parameters)

    def bind(self, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters with what was given for them; TypeError where the call does not fit."""
        signature = inspect.signature(self.function)
        kept = {k: v for k, v in keywords.items() if k not in IGNORED or k in signature.parameters}
        return dict(signature.bind(*positional, **kept).arguments)


IGNORED = frozenset(
    (
        "out",
        "inplace",
        "memory_format",
        "non_blocking",
        "copy",
        "requires_grad",
        "device",
        "layout",
        "generator",
    )
)
"""Keywords that change no value."""

_by_api: dict[str, Reference] = {}
_by_class: dict[str, Reference] = {}
_gradients: dict[str, Reference] = {}


def reference(
    *names: str,
    classes: tuple[str, ...] = (),
    variants: Variants | None = None,
    accumulates: bool = False,
) -> Callable[[FunctionT], FunctionT]:
    """Registers a function for API names (as `plain_api` has them) and for ends of module class names."""

    def register(function: FunctionT) -> FunctionT:
        made = Reference((*names, *classes)[0], function, variants, accumulates, bool(classes))
        for table, keys in ((_by_api, names), (_by_class, classes)):
            for key in keys:
                assert key not in table, f"two references for {key}"
                table[key] = made
        return function

    return register


def gradient(*names: str, accumulates: bool = False) -> Callable[[FunctionT], FunctionT]:
    """Registers a function for the backward calls of API names (as `plain_api` has them)."""

    def register(function: FunctionT) -> FunctionT:
        made = Reference(names[0], function, accumulates=accumulates)
        for key in names:
            assert key not in _gradients, f"two gradients for {key}"
            _gradients[key] = made
        return function

    return register


@cache
def _load() -> None:
    for folder, modules in (("references", MODULES), ("gradients", GRADIENTS)):
        for module in modules:
            import_module(f".{folder}.{module}", __package__)


def reference_of_api(api: str) -> Reference | None:
    """By the plain name of an API ("add", "npu_rms_norm")."""
    _load()
    return _by_api.get(api)


def gradient_of_api(api: str) -> Reference | None:
    """The reference of an API's backward calls, by its plain name."""
    _load()
    return _gradients.get(api)


def known_gradients() -> tuple[str, ...]:
    """All API names whose backward calls there is a reference for, sorted."""
    _load()
    return tuple(sorted(_gradients))


def reference_of_class(name: str) -> Reference | None:
    """By the class of a module: the longest known name that it ends with (LlamaRMSNorm is an RMSNorm)."""
    _load()
    fits = [key for key in _by_class if name.endswith(key)]
    return _by_class[max(fits, key=len)] if fits else None


def known_names() -> tuple[str, ...]:
    """All API names and module classes that there is a reference for, sorted."""
    _load()
    return tuple(sorted((*_by_api, *_by_class)))

"""`dataclass` as the standard library has it, at a quarter of what a class costs when its module is loaded.

The library writes and compiles up to six functions for each class. Here those that compare, hash and show are
closures over the names of the fields, and `__init__` is compiled when the first object is made: a command
loads some hundreds of classes and makes objects of few. Fields, `replace`, `asdict`, matching, copies and
pickles are the library's. What is asked for besides `frozen`, `slots` and `eq` goes to the library, and so do
classes that inherit from others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, **others):
        """See `dataclasses.dataclass`."""

        def made(cls: type) -> type:
            if others or any(hasattr(base, "__dataclass_fields__") for base in cls.__mro__[1:]):
                return dataclasses.dataclass(frozen=frozen, slots=slots, eq=eq, **others)(cls)
            return _made(cls, frozen, slots, eq)

        return made if cls is None else made(cls)


_MISSING = dataclasses.MISSING


class _Factory:
    """Stands for a default that is made anew for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _made(cls: type, is_frozen: bool, has_slots: bool, has_eq: bool) -> type:
    own = set(vars(cls))
    has_hash = "__hash__" in own and not (vars(cls)["__hash__"] is None and "__eq__" in own)
    if not cls.__doc__:
        cls.__doc__ = cls.__name__  # else a signature is made for it, which costs most of all
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=has_slots)(cls)
    parameters = cls.__dataclass_params__  # type: ignore[attr-defined]
    parameters.init = parameters.repr = True
    parameters.eq, parameters.frozen = has_eq, is_frozen
    fields = dataclasses.fields(cls)
    made: dict[str, Any] = {"__init__": _init_of(cls, fields, is_frozen), "__repr__": _repr_of(fields)}
    if has_eq:
        made["__eq__"] = _eq_of([field.name for field in fields if field.compare])
    if is_frozen:
        if {"__setattr__", "__delattr__"} & own:
            raise TypeError(f"{cls.__name__}: a frozen class sets no attribute by itself")
        made |= _frozen(cls, frozenset(field.name for field in fields))
        if has_slots:
            made |= {"__getstate__": _getstate, "__setstate__": _setstate}
    for name, function in made.items():
        if name not in own:
            function.__qualname__ = f"{cls.__qualname__}.{name}"
            setattr(cls, name, function)
    if has_eq and not has_hash:
        hashed = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
        cls.__hash__ = _hash_of(hashed) if is_frozen else None  # type: ignore[assignment]
    return cls


def _values_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What takes these attributes of an object, as a tuple."""
    if not names:
        return lambda self: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda self: (get(self),)


def _eq_of(names: list[str]) -> Callable[[Any, Any], Any]:
    values = _values_of(names)

    def __eq__(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return __eq__


def _hash_of(names: list[str]) -> Callable[[Any], int]:
    values = _values_of(names)

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _repr_of(fields: tuple[dataclasses.Field[Any], ...]) -> Callable[[Any], str]:
    names = [field.name for field in fields if field.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    return __repr__


def _frozen(cls: type[Any], names: frozenset[str]) -> dict[str, Callable[..., None]]:
    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


def _init_of(cls: type, fields: tuple[dataclasses.Field[Any], ...], is_frozen: bool) -> Callable[..., None]:
    """`__init__`, which compiles the true one when it is called for the first time, and gives way to it."""

    def __init__(self: Any, *args: Any, **named: Any) -> None:
        made = _compiled_init(cls, fields, is_frozen)
        if vars(cls)["__init__"] is __init__:
            cls.__init__ = made  # type: ignore[misc]
        made(self, *args, **named)

    return __init__


def _compiled_init(
    cls: type, fields: tuple[dataclasses.Field[Any], ...], is_frozen: bool
) -> Callable[..., None]:
    known: dict[str, Any] = {"_set": object.__setattr__, "_FACTORY": _FACTORY}
    parameters: list[str] = []
    keyword_only: list[str] = []
    lines: list[str] = []
    for i, field in enumerate(fields):
        name, value = field.name, field.name
        if field.default_factory is not _MISSING:
            known[f"_make{i}"] = field.default_factory
            value = f"_make{i}() if {name} is _FACTORY else {name}" if field.init else f"_make{i}()"
        elif field.default is not _MISSING:
            known[f"_default{i}"] = field.default
            value = name if field.init else f"_default{i}"
        elif not field.init:
            continue
        has_default = field.default is not _MISSING or field.default_factory is not _MISSING
        default = "_FACTORY" if field.default_factory is not _MISSING else f"_default{i}"
        if field.init:
            into = keyword_only if field.kw_only else parameters
            into.append(f"{name}={default}" if has_default else name)
        lines.append(f" _set(self, {name!r}, {value})" if is_frozen else f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    taken = ", ".join(["self", *parameters, *(["*", *keyword_only] if keyword_only else [])])
    exec(f"def __init__({taken}):\n" + "\n".join(lines or [" pass"]), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {field.name: field.type for field in fields if field.init} | {"return": None}
    return made

"""The project's dataclass does what the library's does."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from npulse.core.dataclass import dataclass

Decorator = Callable[..., Any]


def classes(of: Decorator) -> dict[str, type[Any]]:
    """The same classes, made by one or the other."""

    @of(frozen=True, slots=True)
    class Plain:
        """Told."""

        name: str
        size: int = 3
        parts: list[int] = field(default_factory=list)
        hidden: int = field(default=0, repr=False, compare=False)
        late: int = field(default=7, init=False)
        only: str = field(default="x", kw_only=True, hash=False)

    @of(frozen=True, slots=True)
    class Nothing:
        pass

    @of(frozen=True)
    class Loose:
        value: float = 1.5

    @of(slots=True)
    class Open:
        value: Any
        total: int = field(init=False)

        def __post_init__(self) -> None:
            self.total = len(str(self.value))

    @of(slots=True, eq=False)
    class Same:
        value: int

    @of(frozen=True, slots=True)
    class Own:
        value: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __hash__(self) -> int:
            return 5

    @of(slots=True)
    class OwnEqual:
        value: int

        def __eq__(self, other: object) -> bool:
            return True

    @of(frozen=True, slots=True)
    class Child(Plain):
        more: int = 0

    @of
    class Bare:
        value: int = 2

    made = (Plain, Nothing, Loose, Open, Same, Own, OwnEqual, Child, Bare)
    return {one.__name__: one for one in made}


OURS, THEIRS = classes(dataclass), classes(dataclasses.dataclass)
CALLS: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("Plain", ("a",), {}),
    ("Plain", ("a", 4, [1]), {"only": "y", "hidden": 9}),
    ("Plain", (), {}),
    ("Plain", ("a", 1, [], 2, 3), {}),
    ("Plain", ("a",), {"unknown": 1}),
    ("Nothing", (), {}),
    ("Loose", (), {}),
    ("Open", ("abc",), {}),
    ("Same", (1,), {}),
    ("Own", (1,), {}),
    ("OwnEqual", (1,), {}),
    ("Child", ("a",), {"more": 5}),
    ("Bare", (), {}),
)


def outcome(work: Callable[[], Any]) -> Any:
    """What comes of it: a value, or which error and its message."""
    try:
        return work()
    except Exception as error:
        return type(error), str(error)


def is_refused(work: Callable[[], Any]) -> bool:
    """Whether an attribute cannot be changed; the library's error of a class with slots speaks of `super`."""
    return isinstance(outcome(work), tuple)


def told(cls: type[Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """All that can be seen of an object."""

    def make() -> Any:
        return cls(*arguments, **named)

    made = outcome(make)
    if isinstance(made, tuple):
        return [made]
    return [
        repr(made),
        dataclasses.asdict(made),
        repr(dataclasses.replace(made)),
        outcome(lambda: hash(made) == hash(make())),
        outcome(lambda: {made: 1}[make()]) if cls.__hash__ is not object.__hash__ else None,
        made == make(),
        made == object(),
        made != make(),
        is_refused(lambda: setattr(made, "value", 1)),
        is_refused(lambda: setattr(made, "name", 1)),
        is_refused(lambda: setattr(made, "strange", 1)),
        is_refused(lambda: delattr(made, "name")),
        repr(copy.copy(made)),
        repr(copy.deepcopy(made)),
        getattr(cls, "__match_args__", None),
        getattr(cls, "__slots__", None),
        [(one.name, one.init, one.repr, one.type) for one in dataclasses.fields(cls)],
        {name: getattr(cls.__dataclass_params__, name) for name in ("init", "repr", "eq", "frozen", "order")},
        str(inspect.signature(cls)),
        cls.__init__.__qualname__,
        cls.__hash__ is None,
    ]


@pytest.mark.parametrize(("name", "arguments", "named"), CALLS)
def test_the_same_as_the_library(name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    assert told(OURS[name], arguments, named) == told(THEIRS[name], arguments, named)


@dataclass(frozen=True, slots=True)
class Kept:
    name: str
    inner: Any = None


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol: int) -> None:
    made = Kept("a", Kept("b"))
    again = pickle.loads(pickle.dumps(made, protocol))
    assert again == made and again.inner.name == "b" and hash(again) == hash(made)


def test_an_object_that_holds_itself_is_shown() -> None:
    @dataclass(slots=True)
    class Holder:
        inner: Any = None

    holder = Holder()
    holder.inner = holder
    assert repr(holder) == "test_an_object_that_holds_itself_is_shown.<locals>.Holder(inner=...)"


def test_a_frozen_class_sets_no_attribute_by_itself() -> None:
    with pytest.raises(TypeError, match="frozen"):

        @dataclass(frozen=True)
        class Wrong:
            def __setattr__(self, name: str, value: Any) -> None: ...


def test_a_default_that_changes_is_refused() -> None:
    with pytest.raises(ValueError, match="mutable default"):

        @dataclass(frozen=True, slots=True)
        class Wrong:
            parts: list[int] = []  # noqa: RUF008

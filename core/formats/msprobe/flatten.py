"""One entry's JSON body taken apart into leaves: which side, which path, which record.

A record is an object with a `type` text; P2POp records have `class_type` instead and carry a tensor inside.
Every other object or list is a container. Records of all versions (1.0 to 26.x) have these forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from .records import DEBUG, GRAD, INPUT, KWARGS, OUTPUT, PARAMETERS, SIDES

MAX_DEPTH = 400
MAX_PATH_CHARS = 2048

Body = Literal["sides", "grad", "debug"]
Piece = tuple[int, str, Any]
"""Side code, io ("input 0.1", "parameters.weight", "debug"), and the leaf's JSON value."""

_SIDE_KEYS = {
    "input_args": INPUT,
    "input_kwargs": KWARGS,
    "input": INPUT,
    "parameters": PARAMETERS,
    "output": OUTPUT,
}
_NUMBERED = {side: tuple(f"{SIDES[side]} {i}" for i in range(64)) for side in (INPUT, OUTPUT)}


class TooDeepError(Exception):
    """A body is nested deeper than MAX_DEPTH, or a path in it is longer than MAX_PATH_CHARS."""


def body_of(name: str, entry: Any) -> Body:
    """How the body of an entry is laid out: told by its name, by its keys where the name is unknown."""
    head, _, last = name.rpartition(".")
    if last == "debug":
        return "debug"
    if last == "parameters_grad" or head.endswith(".parameters_grad"):
        return "grad"
    if last in ("forward", "backward") or head.endswith((".forward", ".backward")):
        return "sides"
    return "sides" if isinstance(entry, dict) and not _SIDE_KEYS.keys().isdisjoint(entry) else "debug"


def leaves(body: Body, entry: Any) -> Iterator[Piece]:
    """The leaves of one entry: inputs, keywords, parameters, outputs, as the tool orders its rows.

    Sides that are null or absent have none.

    Raises TooDeepError behind the leaves that lie in front of the place.
    """
    if body == "debug":
        yield from _walk(DEBUG, "debug", "debug ", entry)
    elif not isinstance(entry, dict):
        return
    elif body == "grad":
        for name, records in entry.items():
            yield from _grad(name, records)
    else:
        for key, side_code in _SIDE_KEYS.items():
            side = entry.get(key)
            if not side:
                continue
            ios = _NUMBERED.get(side_code, ())
            if type(side) is not list or len(side) > len(ios):
                name = SIDES[side_code]
                yield from _walk(side_code, name, name + ("." if side_code == PARAMETERS else " "), side)
                continue
            for io, item in zip(ios, side, strict=False):
                # nearly all leaves of a dump pass here
                if item is None or (type(item) is dict and type(item.get("type")) is str):
                    yield side_code, io, item
                else:
                    yield from _walk(side_code, io, io + ".", item)


def unread_sides(body: Body, entry: Any) -> list[str]:
    """Keys of an entry that hold records but are no side that this reader knows."""
    if body != "sides" or not isinstance(entry, dict):
        return []
    return [key for key, value in entry.items() if key not in _SIDE_KEYS and isinstance(value, (dict, list))]


def is_record(value: dict[str, Any]) -> bool:
    return isinstance(value.get("type"), str) or isinstance(value.get("class_type"), str)


def _grad(name: str, records: Any) -> Iterator[Piece]:
    """A parameter's gradient stands alone in a list; the list leaves no trace in the name."""
    io = _extended("grad ", name)
    if not isinstance(records, list):
        yield from _walk(GRAD, io, io + ".", records)
        return
    for i, record in enumerate(records):
        place = io if i == 0 else f"{io}.{i}"
        yield from _walk(GRAD, place, place + ".", record)


def _walk(side: int, io: str, prefix: str, value: Any) -> Iterator[Piece]:
    """Leaves at and below one place, depth first, no recursion. `prefix`: what paths below begin with."""
    open_lists: list[tuple[str, Iterator[tuple[Any, Any]]]] = [("", iter(((io, value),)))]
    while open_lists:
        before, items = open_lists[-1]
        for key, item in items:
            path = _extended(before, key) if before else io
            if isinstance(item, dict) and item:
                if is_record(item):
                    yield side, path, item
                    if "class_type" not in item or not isinstance(item.get("tensor"), dict):
                        continue
                    inside: Iterable[tuple[Any, Any]] = (("tensor", item["tensor"]),)
                else:
                    inside = item.items()
            elif isinstance(item, list) and item:
                inside = enumerate(item)
            else:
                yield side, path, item
                continue
            if len(open_lists) > MAX_DEPTH:
                raise TooDeepError
            open_lists.append((path + "." if before else prefix, iter(inside)))
            break
        else:
            open_lists.pop()


def _extended(before: str, key: Any) -> str:
    path = f"{before}{key}"
    if len(path) > MAX_PATH_CHARS:
        raise TooDeepError
    return path

"""Entry names of msprobe, taken apart from the right; layer numbers and module paths out of them.

Model paths contain digits, dots, class names and the word "forward", so nothing may be split from the left.
No function here raises: a name that fits no rule is kind "other".
"""

from __future__ import annotations

import re

from .records import CallName, Direction

_DIRECTIONS: dict[str, Direction] = {"forward": "forward", "backward": "backward", "parameters_grad": "grad"}
_LAYER_LIST = re.compile(r"(?:\w*_)?(?:layers?|blocks?|h|stages?|resblocks)", re.IGNORECASE)


def parse_name(full: str) -> CallName:
    """What an entry name says: kind, direction, prefix, api or module path and class, call number.

    A model index that the tool puts behind "Module." cannot be told from a submodule called "0"; it stays
    the first part of `path`.
    """
    before, middle, last = ("", "", *full.rsplit(".", 2))[-3:]
    if middle in _DIRECTIONS and _is_number(last):
        return _module(full, before, _DIRECTIONS[middle], int(last))
    if last == "parameters_grad":
        return _module(full, full.rpartition(".")[0], "grad", None)
    number = _number(middle)
    if number is not None and before:
        if last == "debug":
            return CallName(full, "debug", "debug", "", before, number)
        if last in ("forward", "backward"):
            prefix, dot, api = before.partition(".")
            return CallName(full, "api", _DIRECTIONS[last], prefix if dot else "", api or prefix, number)
    return _other(full)


def without_number(full: str) -> tuple[str, str]:
    """What all calls of one entry share: two names that are alike in it differ in nothing but their numbers.

    Much cheaper than `parse_name`, so that what follows from a name is worked out once an entry.
    """
    head, _, last = full.rpartition(".")
    if _is_number(last):
        return head, ""
    if last in ("forward", "backward"):
        before, _, middle = head.rpartition(".")
        if before and _is_number(middle):
            return before, last
    return full, "."


def layer_of(name: CallName | str) -> int | None:
    """Number of the layer that a module (or parameters_grad) entry lies in; None for APIs and other paths.

    The outermost list counts: layers.5.mlp.experts.3 is layer 5. Known list names: layers, layer, h, blocks,
    block, stages, resblocks, also with a word before them (encoder_layers).
    """
    parts = (parse_name(name) if isinstance(name, str) else name).path.split(".")
    for list_name, index in zip(parts, parts[1:], strict=False):
        number = _number(index)
        if number is not None and _LAYER_LIST.fullmatch(list_name):
            return number
    return None


def module_chain(name: CallName | str) -> tuple[str, ...]:
    """Paths of the modules around a module entry, outermost first, its own last.

    "Module.layers.1.fc1.Linear.forward.0" -> ("layers", "layers.1", "layers.1.fc1"); () for APIs.
    """
    path = (parse_name(name) if isinstance(name, str) else name).path
    ends = [match.start() for match in re.finditer(r"\.", path)]
    return tuple(path[:end] for end in (*ends, len(path))) if path else ()


def _module(full: str, before: str, direction: Direction, number: int | None) -> CallName:
    head, _, cls = before.rpartition(".")
    prefix, _, path = head.partition(".")
    if not prefix:
        return _other(full)
    return CallName(
        full, "grad" if direction == "grad" else "module", direction, prefix, "", number, path, cls
    )


def _other(full: str) -> CallName:
    return CallName(full, "other", "other", "", full, None)


def _number(text: str) -> int | None:
    return int(text) if _is_number(text) else None


def _is_number(text: str) -> bool:
    # length-limited: int() refuses thousands of digits, and isdigit() alone accepts other scripts' digits
    return text.isdigit() and text.isascii() and len(text) <= 18


_WRAPPERS = ("module.", "model.", "_orig_mod.", "base_model.")


def short_name(full: str) -> str:
    """An entry name as a narrow screen shows it: the module path, or the API and its number.

    "Module.module.layers.1.fc1.Linear.forward.0" -> "layers.1.fc1"; "Functional.linear.3.backward" ->
    "Functional.linear.3 backward". Wrapper modules in front and a call number of 0 are left out. Only for
    the eye: two calls can share a short name, so nothing is looked up by it.
    """
    name = parse_name(full)
    if name.kind not in ("module", "grad"):
        return full.removesuffix(".forward") if name.direction != "backward" else _backward(full)
    path = name.path or name.cls
    while path.startswith(_WRAPPERS):
        path = path.partition(".")[2]
    number = f" #{name.number}" if name.number else ""
    direction = {"forward": "", "backward": " backward", "grad": " grad"}.get(name.direction, "")
    return f"{path}{direction}{number}"


def _backward(full: str) -> str:
    return full.removesuffix(".backward") + " backward"

"""Which operators and modules compute in which number format, as a user says it: `--precision-map`.

Inline ("softmax=fp32,layers.*.attn=bf16") or a file: JSON or TOML with one table, or lines of "name: dtype"
or "name = dtype" with # for remarks. Names are globs; the last that fits a call counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from npulse.core.calls.apis import plain_api
from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError, UsageError
from npulse.core.files import read_input
from npulse.core.formats.config_json import read_config_json
from npulse.core.formats.msprobe.records import CallName
from npulse.core.formats.tensors import dtype_of
from npulse.core.text import safe_text
from npulse.core.toml_text import line_of, read_toml

MAX_BYTES = 1 << 20
MAX_ENTRIES = 10_000
WHAT = "a precision map"
HINT = 'for example "softmax" = "fp32" (fp64, fp32, tf32, hf32, fp16, bf16, fp8_e4m3, fp8_e5m2)'


@dataclass(frozen=True, slots=True)
class Format:
    """A number format to compute in. unit_roundoff: largest relative error of rounding to nearest; smallest:
    the smallest subnormal."""

    name: str
    unit_roundoff: float
    smallest: float


_SHORT = {"fp64": "float64", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2", "fp8": "float8_e4m3fn"}
_TEN_BITS = {
    # 10 stored bits of mantissa and the exponents of float32
    "tf32": Format("tf32", 2.0**-11, 2.0**-149),
    "hf32": Format("hf32", 2.0**-11, 2.0**-149),
}


def format_of(text: str) -> Format | None:
    """The number format that a word names; None for integers and for what is none."""
    word = text.strip().lower()
    if word in _TEN_BITS:
        return _TEN_BITS[word]
    dtype = dtype_of(_SHORT.get(word, word))
    if dtype is None or dtype.kind != "float" or dtype.mantissa_bits == 0:
        return None
    return Format(dtype.name, dtype.unit_roundoff, dtype.smallest_subnormal)


@dataclass(frozen=True, slots=True)
class PrecisionMap:
    """Globs with their formats, in the order in which they were written."""

    entries: tuple[tuple[str, Format], ...]

    def find(self, name: CallName, around: Iterable[CallName] = ()) -> int:
        """The last entry that fits a call or a module around it, -1 for none.

        A glob is held against full name, API ("softmax", "Functional.softmax"; "add" is `__add__` and `add_`
        too), class and path of modules.
        """
        words = set(_words(name))
        for module in around:
            words.update(_words(module))
        for place in range(len(self.entries) - 1, -1, -1):
            glob = self.entries[place][0]
            if any(fnmatchcase(word, glob) for word in words):
                return place
        return -1


def _words(name: CallName) -> Iterator[str]:
    yield name.full
    if name.kind == "api":
        yield name.api
        yield f"{name.prefix}.{name.api}"
        yield from (plain_api(part) for part in name.api.split("."))  # __add__, add_ and add.Tensor are add
    if name.cls:
        yield name.cls
    path = name.path
    while path:  # a glob for a module is one for all in it
        yield path
        path = path.rpartition(".")[0]


def read_precision_map(text: str) -> PrecisionMap:
    """The map that an option means: a file of that name, else entries. UsageError, InputError with line."""
    path = Path(text)
    if "=" in text and not os.path.isfile(text):  # a long list is no name that a file can have
        return _from_text(text)
    if path.suffix == ".json":
        return _from_json(path)
    if path.suffix == ".toml":
        return _from_toml(path)
    return _from_lines(path)


def _from_text(text: str) -> PrecisionMap:
    entries: list[tuple[str, Format]] = []
    for part in (part.strip() for part in text.split(",")):
        if not part:
            continue
        glob, equals, word = (piece.strip() for piece in part.partition("="))
        found = format_of(word)
        if not glob or not equals or found is None:
            raise UsageError(f"--precision-map: '{safe_text(part, 80)}' names no dtype", hint=HINT)
        entries.append((glob, found))
    if not entries:
        raise UsageError("--precision-map: nothing is in it", hint=HINT)
    return PrecisionMap(tuple(entries))


def _from_json(path: Path) -> PrecisionMap:
    told = read_config_json(path)
    if not isinstance(told.value, dict):
        raise InputError(f"{WHAT} is an object of names and dtypes", path=path, line=1, hint=HINT)
    if told.repeated:
        where, place = told.repeated[0]
        raise InputError(f"'{safe_text(str(where[-1]), 80)}' stands twice", path=path, line=place.line)
    lines = {key: told.places[key,].line if (key,) in told.places else None for key in told.value}
    return _checked(path, [(lines[key], key, value) for key, value in told.value.items()])


def _from_toml(path: Path) -> PrecisionMap:
    table, text = read_toml(path, MAX_BYTES, WHAT, hint=HINT)
    return _checked(path, [(line_of(text, (key,)), key, value) for key, value in table.items()])


def _from_lines(path: Path) -> PrecisionMap:
    raw = read_input(path, MAX_BYTES, WHAT, hint=HINT)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{WHAT} is UTF-8", path=path, line=line, hint=HINT) from error
    found: list[tuple[int | None, str, object]] = []
    seen: set[str] = set()
    for number, written in enumerate(text.splitlines(), 1):
        told = written.partition("#")[0].strip()
        if not told:
            continue
        mark = "=" if "=" in told else ":"
        key, has_mark, value = told.partition(mark)
        key, value = key.strip().strip("\"'"), value.strip().strip("\"',")
        if not has_mark or not key:
            message = f"'{safe_text(told, 80)}' is no 'name: dtype'"
            raise InputError(message, path=path, line=number, hint=HINT)
        if key in seen:
            raise InputError(f"'{safe_text(key, 80)}' stands twice", path=path, line=number)
        seen.add(key)
        found.append((number, key, value))
    return _checked(path, found)


def _checked(path: Path, told: list[tuple[int | None, str, object]]) -> PrecisionMap:
    if not told:
        raise InputError(f"{WHAT} with nothing in it", path=path, hint=HINT)
    if len(told) > MAX_ENTRIES:
        raise InputError(f"{WHAT} of more than {MAX_ENTRIES:,} entries", path=path, hint=HINT)
    entries = []
    for line, key, value in told:
        found = format_of(value) if isinstance(value, str) else None
        if found is None:
            message = f"'{safe_text(key, 80)}': '{safe_text(str(value), 80)}' is no floating dtype"
            raise InputError(message, path=path, line=line, hint=HINT)
        entries.append((key, found))
    return PrecisionMap(tuple(entries))

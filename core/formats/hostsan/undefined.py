"""The lines of UndefinedBehaviorSanitizer: where, what, and a word for it.

/src/tiling.cpp:15:70: runtime error: signed integer overflow: 65536 * 65536 cannot be represented in ...
<unknown>: runtime error: ...                              without a place
(/src/tiling+0x1234): runtime error: ...                   without debug information, or with the bare pc
"""

from __future__ import annotations

import re

from npulse.core.dataclass import dataclass

from .frames import numbers_of
from .prefixes import launcher_length
from .records import bounded

MARK = "runtime error: "
UNKNOWN_KIND = "undefined-behavior"

KINDS: tuple[tuple[str, str], ...] = (
    (r"signed integer overflow: ", "signed-integer-overflow"),
    (r"unsigned integer overflow: ", "unsigned-integer-overflow"),
    (r"negation of .*; cast to an unsigned type", "signed-integer-overflow"),
    (r"negation of -", "signed-integer-overflow"),
    (r"negation of ", "unsigned-integer-overflow"),
    (r"division of .* by -1 cannot be represented", "signed-integer-overflow"),
    (r"division by zero", "divide-by-zero"),
    (r"shift exponent ", "invalid-shift-exponent"),
    (r"left shift of ", "invalid-shift-base"),
    (r"index .* out of bounds for type ", "out-of-bounds-index"),
    (r"[\w ]+ misaligned address 0x", "misaligned-pointer-use"),
    (r"assumption of .* byte alignment", "alignment-assumption"),
    (r"[\w ]+ null pointer of type ", "null-pointer-use"),
    (r"[\w ]+ address 0x\w+ with insufficient space for an object of type ", "insufficient-object-size"),
    (r"[\w ]+ address 0x\w+ which does not point to an object of type ", "dynamic-type-mismatch"),
    (r"applying zero offset to null pointer", "nullptr-with-offset"),
    (r"applying non-zero offset .* produced null pointer", "nullptr-after-nonzero-offset"),
    (r"applying non-zero offset .* to null pointer", "nullptr-with-nonzero-offset"),
    (r"pointer index expression with base ", "pointer-overflow"),
    (r"addition of unsigned offset to ", "pointer-overflow"),
    (r"subtraction of unsigned offset from ", "pointer-overflow"),
    (r"load of value .*, which is not a valid value for type '(?:bool|_Bool|BOOL)\b", "invalid-bool-load"),
    (r"load of value .*, which is not a valid value for type ", "invalid-enum-load"),
    (r".+ is outside the range of representable values of type ", "float-cast-overflow"),
    (r"implicit conversion from type ", "implicit-conversion"),
    (r"execution reached the end of a value-returning function", "missing-return"),
    (r"execution reached (?:an unreachable program point|a __builtin_unreachable)", "unreachable-call"),
    (r"variable length array bound evaluates to non-positive value ", "non-positive-vla-index"),
    (r"null pointer passed as argument ", "invalid-null-argument"),
    (r"null pointer returned from function declared to never return null", "invalid-null-return"),
    (r"call to function .* through pointer to incorrect function type ", "function-type-mismatch"),
    (r"passing zero to .*, which is not a valid argument", "invalid-builtin-use"),
    (r"assumption is violated during execution", "invalid-builtin-use"),
    (r"invalid ObjC cast", "invalid-objc-cast"),
    (r"control flow integrity check for type ", "cfi-bad-type"),
)
"""How a message begins, and its kind: the first that fits counts.

The kinds are those that the tool itself prints in its SUMMARY when asked to (report_error_type=1), except for
"divide-by-zero" (of integers or of floats: the message does not tell) and "implicit-conversion" (four kinds
that differ in the signs of the types). A message that is not listed is "undefined-behavior", as in a SUMMARY.
"""

_PATTERNS = tuple((re.compile(start, re.DOTALL), kind) for start, kind in KINDS)
_MODULE = re.compile(r"\((.+)\+(0x[0-9a-fA-F]{1,16})\)$")
_PC = re.compile(r"0x[0-9a-fA-F]{1,16}$")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The parts of one "runtime error:" line. prefix: what a launcher wrote before it."""

    kind: str
    message: str
    prefix: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    module: str | None = None
    module_offset: int | None = None
    pc: int | None = None


def kind_of(message: str) -> str:
    """The kind of a message, after the table `KINDS`."""
    message = message[:1024]
    return next((kind for pattern, kind in _PATTERNS if pattern.match(message)), UNKNOWN_KIND)


def diagnosis_of(text: str, prefix: str = "") -> Diagnosis | None:
    """The diagnosis in a line; None if there is none: other languages write "runtime error: ", too.

    prefix: what was taken off the line before. What looks like a launcher's tag is taken off here.
    """
    where, mark, message = text.partition(MARK)
    where = where.rstrip()
    if not mark or not where.endswith(":"):
        return None
    where = where[:-1]
    if not prefix:
        length = launcher_length(where)
        prefix, where = where[:length], where[length:]
    message = bounded(message.rstrip())
    kind = kind_of(message)
    if where == "<unknown>":
        return Diagnosis(kind, message, prefix, file=where)
    if _PC.match(where):
        return Diagnosis(kind, message, prefix, pc=int(where, 16))
    found = _MODULE.match(where)
    if found:
        module, offset = bounded(found.group(1)), int(found.group(2), 16)
        return Diagnosis(kind, message, prefix, module=module, module_offset=offset)
    file, line, column = numbers_of(where)
    if not file or (kind == UNKNOWN_KIND and column is None):
        return None
    return Diagnosis(kind, message, prefix, bounded(file), line, column)

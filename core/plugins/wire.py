"""How npulse and the process of a plug-in talk: messages of JSON with arrays behind, never pickle.

A message is 8 bytes (length of its JSON, little endian), the JSON, then the bytes of its arrays one after the
other. `arrays` in the JSON lists [dtype, shape] of each. Only npulse sends arrays; what a plug-in answers is
JSON alone, and never longer than MAX_ANSWER_BYTES.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

HEAD_BYTES = 8
MAX_ANSWER_BYTES = 64 << 20
DTYPES = frozenset({"<f8", "<i8", "<i4", "|b1"})


class WireError(Exception):
    """A message that is not one."""


def packed(message: Mapping[str, Any], arrays: Sequence[Any] = ()) -> list[bytes | memoryview]:
    """The pieces of a message in the order in which they are sent. Arrays are contiguous, of DTYPES."""
    listed = [[array.dtype.str, list(array.shape)] for array in arrays]
    body = json.dumps({**message, "arrays": listed}).encode("ascii")
    views = [memoryview(array.reshape(-1)).cast("B") for array in arrays if array.size]
    return [len(body).to_bytes(HEAD_BYTES, "little"), body, *views]


PLACE = "array"


def emptied(value: Any, arrays: list[Any]) -> Any:
    """A value with its arrays taken out, to `arrays`; what JSON cannot hold is None. Slices are kept."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        arrays.append(value)
        return {PLACE: len(arrays) - 1}
    if isinstance(value, (list, tuple)):
        return [emptied(item, arrays) for item in value]
    if isinstance(value, Mapping):
        return {"map": {str(key): emptied(item, arrays) for key, item in value.items()}}
    if isinstance(value, slice):
        return {"slice": [emptied(part, arrays) for part in (value.start, value.stop, value.step)]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    return value if isinstance(value, (bool, int, float, str)) else None


def filled(value: Any, arrays: Sequence[Any]) -> Any:
    """`emptied` undone."""
    if isinstance(value, list):
        return [filled(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if PLACE in value:
        return arrays[value[PLACE]]
    if "slice" in value:
        return slice(*value["slice"])
    if "number" in value:
        return float(value["number"])
    return {key: filled(item, arrays) for key, item in value["map"].items()}


def length_of(head: bytes) -> int:
    """How long the JSON of a message is."""
    return int.from_bytes(head, "little")


def opened(body: bytes) -> dict[str, Any]:
    """The JSON of an answer. WireError where it is none, or no object."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise WireError(f"its answer is no JSON: {error}") from None
    if not isinstance(message, dict):
        raise WireError("its answer is no object")
    return message


def receive(file: BinaryIO) -> tuple[dict[str, Any], list[Any]] | None:
    """The next message and its arrays, in the process of a plug-in; None where npulse went away."""
    head = file.read(HEAD_BYTES)
    if len(head) < HEAD_BYTES:
        return None
    message = json.loads(file.read(length_of(head)))
    arrays = []
    for dtype, shape in message.get("arrays", ()):
        import numpy as np

        if dtype not in DTYPES:
            raise WireError(f"no array of {dtype}")
        raw = bytearray(math.prod(shape) * np.dtype(dtype).itemsize)
        file.readinto(raw)  # type: ignore[attr-defined]
        arrays.append(np.frombuffer(raw, dtype).reshape(shape))
    return message, arrays

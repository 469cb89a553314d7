"""Outputs that polygraphy saved as JSON (RunResults): tensors of several runners, as .npy in base64.

Only plain arrays are taken, never a pickle: a header says dtype and shape, and the bytes behind it must be
as many.
"""

from __future__ import annotations

import base64
import binascii
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ...files import shown_path
from ...findings import Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..json_stream import json_members

MAX_BYTES = 512 << 20
MAX_OUTPUTS = 100_000
_MAX_HEADER_BYTES = 4096
_KINDS = frozenset("fiub")


@dataclass(frozen=True, slots=True)
class Output:
    """One output of one iteration of a runner. array: None where it could not be read; `problems` say why."""

    runner: str
    iteration: int
    name: str
    array: npt.NDArray[Any] | None


@dataclass(frozen=True, slots=True)
class RunResults:
    """The outputs of a file in its order."""

    artifact: str
    outputs: tuple[Output, ...]
    problems: tuple[Problem, ...]

    @property
    def runners(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(output.runner for output in self.outputs))


def read_run_results(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> RunResults:
    """All outputs of a file. Raises InputError (no such file, over 512 MB, no RunResults) and Cancelled."""
    problems: list[Problem] = []
    artifact = shown_path(path, root)
    members = json_members(
        path,
        problems,
        root=root,
        max_bytes=MAX_BYTES,
        max_value_chars=MAX_BYTES,
        progress=progress,
        is_cancelled=is_cancelled,
    )
    results = next((value for _, _, key, value in members if key == "lst" and isinstance(value, list)), None)
    if results is None:
        raise InputError(
            "this is no RunResults of polygraphy", path=path, hint="polygraphy run --save-outputs"
        )
    found: list[Output] = []
    for output in _outputs(results, artifact, problems):
        if len(found) == MAX_OUTPUTS:
            problems.append(Problem(artifact, "limit", f"only the first {MAX_OUTPUTS:,} outputs were read"))
            break
        found.append(output)
    return RunResults(artifact, tuple(found), tuple(problems))


def _outputs(results: list[Any], artifact: str, problems: list[Problem]) -> Iterator[Output]:
    for entry in results:
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], list)):
            problems.append(Problem(artifact, "bad-record", "an entry is no runner with its iterations"))
            continue
        runner = str(entry[0])
        for iteration, result in enumerate(entry[1]):
            outputs = result.get("outputs") if isinstance(result, dict) else None
            for name, value in outputs.items() if isinstance(outputs, dict) else ():
                try:
                    array: npt.NDArray[Any] | None = _array(value)
                except ValueError as error:
                    message = f"{runner}, iteration {iteration}, {name}: {error}"
                    problems.append(Problem(artifact, "bad-tensor", message))
                    array = None
                yield Output(runner, iteration, str(name), array)


def _array(value: Any) -> npt.NDArray[Any]:
    """The array of an encoded value, in any generation's wrapping. Raises ValueError."""
    for _ in range(3):
        if isinstance(value, dict) and "array" in value:
            break
        value = value.get("values") if isinstance(value, dict) else None
    text = value.get("array") if isinstance(value, dict) else None
    if not isinstance(text, str):
        raise ValueError("no array is there")
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the array is not in base64") from None
    return _npy(raw)


def _npy(raw: bytes) -> npt.NDArray[Any]:
    file = io.BytesIO(raw)
    try:
        version = np.lib.format.read_magic(file)
        read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}[version[0]]
        shape, is_fortran, dtype = read(file, max_header_size=_MAX_HEADER_BYTES)
    except Exception as error:  # the header is evaluated as a literal: many kinds of error come of it
        raise ValueError(f"no .npy: {type(error).__name__}") from None
    if dtype.kind not in _KINDS or dtype.hasobject:
        raise ValueError(f"dtype {str(dtype)[:40]} is not compared")
    if any(type(length) is not int or not 0 <= length < 1 << 62 for length in shape):
        raise ValueError("a length of its shape is no count")
    n = math.prod(shape)
    if n * dtype.itemsize != len(raw) - file.tell():
        raise ValueError("the bytes are not as many as dtype and shape say")
    flat = np.frombuffer(raw, dtype, n, file.tell())
    return flat.reshape(shape, order="F" if is_fortran else "C")

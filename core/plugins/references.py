"""Reference plug-ins asked what an operator computes; their arrays come back as files of a folder of ours."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..findings import Problem
from ..progress import IsCancelled, never_cancelled
from .accept import Item
from .loaded import items
from .process import PluginFault, PluginProcess
from .registry import Plugin
from .wire import emptied

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_OUTPUT_BYTES = 2 << 30


def reference_for(
    names: Sequence[str], is_cancelled: IsCancelled = never_cancelled
) -> tuple[tuple[Plugin, Item] | None, list[Problem]]:
    """The first reference plug-in that knows one of an operator's names, and what could not be loaded."""
    found, problems = items("reference", is_cancelled)
    for plugin, item in found:
        if any(fnmatchcase(name, pattern) for name in names for pattern in item.patterns):
            return (plugin, item), problems
    return None, problems


class Computing:
    """One reference, asked for outputs, as long as the `with` block lasts. The process is the caller's."""

    def __init__(self, process: PluginProcess, item: Item) -> None:
        self._process, self._item = process, item
        self._folder = tempfile.TemporaryDirectory(prefix="npulse-reference-")

    def __enter__(self) -> Computing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def compute(
        self, operator: str, inputs: Sequence[Any], keywords: Mapping[str, Any]
    ) -> list[npt.NDArray[np.float64] | None]:
        """The outputs of a call, as float64. Arrays are contiguous, of `wire.DTYPES`. PluginFault,
        Cancelled."""
        arrays: list[Any] = []
        message = {
            "do": "compute",
            "item": self._item.index,
            "operator": operator,
            "inputs": emptied(list(inputs), arrays),
            "keywords": emptied(dict(keywords), arrays),
            "folder": self._folder.name,
        }
        names = self._process.ask(message, arrays).get("outputs")
        if not isinstance(names, list) or len(names) > 64:
            raise PluginFault("answer", "does not say what its outputs are")
        return [None if name is None else self._output(name) for name in names]

    def _output(self, name: Any) -> npt.NDArray[np.float64]:
        import numpy as np

        if not isinstance(name, str) or not name.removesuffix(".npy").isdigit():
            raise PluginFault("answer", "names an output that is none")
        path = Path(self._folder.name, name)
        try:
            if path.is_symlink() or path.stat().st_size > MAX_OUTPUT_BYTES:
                raise PluginFault("answer", "made an output that is too large to take")
            found = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise PluginFault("answer", f"wrote an output that cannot be read: {error}"[:300]) from None
        if not isinstance(found, np.ndarray) or found.dtype != np.float64:
            raise PluginFault("answer", "wrote an output that is no array of numbers")
        return found

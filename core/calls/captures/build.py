"""What every reader of a capture builds: calls with their tensors, each with the place of its bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from npulse.core.files import shown_path
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.columns import ColumnBuilder, LimitError
from npulse.core.formats.msprobe.records import Dump, DumpHeader
from npulse.core.formats.tensors import TensorFile
from npulse.core.formats.tensors.located import Located

Statistics = dict[str, float | None]
"""Max, Min, Mean, Norm as far as they were recorded."""

LOSSES = frozenset(
    (
        "unreadable",
        "cut-off",
        "too-large",
        "limit",
        "bad-record",
        "missing",
        "outside-run",
        "shape",
        "refused",
    )
)


class CaptureBuilder:
    """Takes calls and the leaves of the last one, in the order that the capture tells.

    folder: what the names of files are relative to. root: links out of it are not followed.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder, self.root = folder, root
        self.problems: list[Problem] = []
        self._columns, self._located = ColumnBuilder(), Located()
        self._operators: list[str] = []
        self._n_leaves = self.n_calls = 0
        self._is_full = False

    def call(self, name: str, operator: str = "") -> None:
        """The next operator call. operator: what it runs, as its tool says; "module PATH" of a module."""
        self._operators.append(operator)
        self._columns.add_call(name, -1, -1)
        self.n_calls += 1

    def tensor(
        self,
        side: int,
        io: str,
        file: TensorFile | None,
        *,
        name: str = "",
        dtype: str | None = None,
        shape: tuple[int, ...] | None = None,
        statistics: Statistics | None = None,
        md5: str = "",
    ) -> None:
        """A tensor of the last call: where its elements lie, what was recorded of it, or both.

        name: of its file below `folder`; dtype, shape: where there is no file.
        """
        if file is not None:
            dtype, shape = file.declared.name, file.shape
        record: dict[str, Any] = {"type": "", "dtype": dtype, **(statistics or {})}
        record["shape"] = None if shape is None else list(shape)
        if file is not None:
            record["data_name"] = name
        if md5:
            record["md5"] = md5
        if self._add(side, io, record) and file is not None:
            self._located.add(self._n_leaves - 1, file)

    def value(self, side: int, io: str, value: Any) -> None:
        """A number, a word or a list of them that the last call was given."""
        self._add(side, io, {"type": type(value).__name__, "value": value})

    def _add(self, side: int, io: str, record: dict[str, Any]) -> bool:
        if self._is_full:
            return False
        try:
            self._columns.add_leaf(side, io, record)
        except LimitError as limit:
            self._is_full = True
            self.note("limit", str(limit), self.folder)
            return False
        self._n_leaves += 1
        return True

    def note(self, kind: str, message: str, path: Path, hint: str | None = None) -> None:
        """Something that could not be read."""
        self.problems.append(Problem(shown_path(path, self.root), kind, message, hint=hint))

    def dump(
        self, path: Path, *, framework: str, level: str = "", task: str = "tensor", is_ordered: bool = True
    ) -> Dump:
        """What was taken, as one rank-step. path: what stands for it in messages."""
        calls, leaves = self._columns.finish()
        is_whole = not any(problem.kind in LOSSES for problem in self.problems)
        return Dump(
            path=path,
            header=DumpHeader(task, level, framework, None),
            calls=calls,
            leaves=leaves,
            completeness="complete" if is_whole else "unknown",
            problems=tuple(self.problems),
            tensor_folder=self.folder,
            located=self._located,
            is_ordered=is_ordered,
            operators=tuple(self._operators) if any(self._operators) else None,
        )

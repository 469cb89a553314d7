"""What a plug-in has to be: the four protocols, and what an analysis is given.

A plug-in is a class without arguments for its constructor. Its module is imported, and its methods are
called, in a process of its own: nothing that it does can take npulse along or change anything of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

PluginKind = Literal["reader", "metric", "analysis", "reference"]
GROUPS: Mapping[str, PluginKind] = {
    "npulse.readers": "reader",
    "npulse.metrics": "metric",
    "npulse.analyses": "analysis",
    "npulse.references": "reference",
}
"""Entry point groups and what stands in each."""
AREAS = ("precision", "overflow", "memory", "performance", "device", "rounds")
OWN_AREA = "plugin"
"""The area of what belongs to none of npulse's."""

Row = Mapping[str, Any]
"""Column name to text, number, yes or no, None, or a list of them."""


class ReaderPlugin(Protocol):
    """A format that npulse does not know.

    kind: its id, with a dot in it ("acme.trace"), none of npulse's own. title: in English, or (English,
    Chinese). area: whose question its files answer. patterns: names of its files ("*.acme"; * ? [] alone).
    magic: the bytes that they begin with, b"" for any (at most 64 are compared).
    """

    kind: str
    title: str | tuple[str, str]
    area: str
    patterns: Sequence[str]
    magic: bytes

    def read(self, path: Path) -> Iterable[Row] | tuple[Iterable[Row], Iterable[str | Row]]:
        """The file as rows, or rows and problems: a text each, or {"message", "line", "byte"}.

        What it raises is told as a problem of the file.
        """
        ...


class MetricPlugin(Protocol):
    """A figure of two tensors, shown as a column of the precision table.

    name: of column and criterion, lower case letters, digits and `_`. unit: "" for none. better: which way
    is better, "higher" or "lower".
    """

    name: str
    unit: str
    better: Literal["higher", "lower"]

    def measure(self, target: npt.NDArray[np.float64], golden: npt.NDArray[np.float64]) -> float:
        """The figure of a pair of one shape; NaN and Inf stand in both as they were dumped."""
        ...


class AnalysisPlugin(Protocol):
    """An analysis of a whole run. It may have an `area`: the command and the area in which its findings stand
    ("plugin" without one)."""

    name: str

    def analyze(self, data: AnalysisData) -> Sequence[Row]:
        """Findings, the one to look at first in front.

        Each is a dict (or an object with these attributes): `message`, and as far as there is something to
        say `severity` (error, warning, note; default warning), `rule` (a word; default "finding"), `role`,
        `subject`, `next` (what to do), `figures` (name with its unit to number or text), `location`
        (`artifact`, `rank`, `step`, `row`, `line`, `byte`), `related` (each `role`, `subject`, `figures`).
        """
        ...


class ReferencePlugin(Protocol):
    """What operators compute that npulse has no reference for (`npulse recheck`).

    name: lower case letters, digits and `_`. operators: patterns of API names ("NPU.npu_acme", "acme_*") or
    of module classes ("AcmeLinear"); * ? [] alone.
    """

    name: str
    operators: Sequence[str]

    def compute(self, operator: str, inputs: list[Any], keywords: Mapping[str, Any]) -> Any:
        """The output tensor of a call, or a list of them (None for one that is not known).

        operator: as in `operators`. inputs, keywords: tensors as arrays (float64, int64, bool), plain values,
        lists, None for what was not dumped; of a module its parameters are among the keywords. The dtype of
        the answer does not matter: npulse rounds it to that of the output.
        """
        ...


class AnalysisData(Protocol):
    """What `analyze` is given; `data["run"]` is `data.run`."""

    run: Mapping[str, Any]
    """`path`, `rounds` (names, the newest last)."""
    artifacts: Sequence[Mapping[str, Any]]
    """Each: `kind`, `path` (in the run), `rank`, `step`, `side`, `round`, `completeness`, `size_bytes`."""
    reports: Mapping[str, Sequence[Mapping[str, Any]]]
    """Area to its reports, the newest round last: keys as in `--format json`, with `round` and `name`."""

    def table(self, name: str) -> pd.DataFrame:
        """A table of the newest report that has one of that name ("precision", "kernels" ...), at most
        200,000 rows; `frame.attrs["n_rows"]` says how many there are. KeyError for none."""
        ...

    def rows(self, path: str) -> list[dict[str, Any]]:
        """An artifact of a reader plug-in, read. KeyError where `path` is none; ValueError with the first
        problem where it could not be read."""
        ...

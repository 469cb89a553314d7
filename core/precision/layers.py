"""A comparison seen by layer and by module: the strip under the table, and the module tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from npulse.core.calls.layers import layers_of_calls
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import CallName
from npulse.core.table import Column, Table, text_column

from .comparison import Comparison, RankComparison
from .role_records import ORIGIN, ROLES
from .rows import Rows
from .table import table_row
from .verdict import ERROR, REASON, UNKNOWN, VERDICTS

_SEVERITY = np.array([0, 2, 3, 1])  # of verdict codes pass, warning, error, unknown
_MAX_DEPTH = 64
Layers = tuple[npt.NDArray[np.int64], list[str]]
"""The layer of each call, and the labels of the layers."""


@dataclass(frozen=True, slots=True)
class LayerStrip:
    """One entry a layer (or a call, where no layers can be told), in execution order.

    errors: relative L2 error of the worst row in it, 0 to 1. rows: that row in the precision table.
    known: False where nothing in the layer could be compared. layer_of_row: entry of each row of the rank.
    """

    labels: tuple[str, ...]
    errors: npt.NDArray[np.float64]
    rows: npt.NDArray[np.int64]
    known: npt.NDArray[np.bool_]
    layer_of_row: npt.NDArray[np.int64]


def layer_strip(comparison: Comparison, rank: RankComparison, layers: Layers | None = None) -> LayerStrip:
    """The strip of one rank and step. layers: of its calls, where they are known (`LayersOfRanks`).

    Cost: O(calls + rows).
    """
    layer_of_call, labels = layers_of_rank(rank) if layers is None else layers
    rows = rank.rows
    layer = layer_of_call[rows.pairing.row_call] if labels else np.zeros(0, np.int64)
    error = row_errors(rows)
    known = np.zeros(len(labels), np.bool_)
    known[layer[rows.verdict != UNKNOWN]] = True
    errors = np.zeros(len(labels))
    np.maximum.at(errors, layer, error)
    worst = np.maximum(worst_rows(rows, layer, error, len(labels)), 0)
    return LayerStrip(tuple(labels), errors, worst + table_row(comparison, rank, 0), known, layer)


def worst_rows(
    rows: Rows, layer: npt.NDArray[np.int64], error: npt.NDArray[np.float64], n_layers: int
) -> npt.NDArray[np.int64]:
    """Of each layer its worst row, by verdict, then by error, the first one of equals; -1 where it has none.

    layer, error: of each row. Cost: O(rows).
    """
    score = _SEVERITY[rows.verdict] * 2.0 + error
    top = np.full(n_layers, -np.inf)
    np.maximum.at(top, layer, score)
    found = np.full(n_layers, -1, np.int64)
    hits = np.flatnonzero(score == top[layer])[::-1]
    found[layer[hits]] = hits  # the last write wins: the first row
    return found


def row_errors(rows: Rows) -> npt.NDArray[np.float64]:
    """How wrong each row is, 0 to 1: its relative L2 error; 1 where it is wrong without a figure."""
    error = np.fmax(rows.figures["rel_l2"], rows.figures["rel_l2_at_least"])
    error = np.where(np.isnan(error), np.where(rows.verdict == ERROR, 1.0, 0.0), np.minimum(error, 1.0))
    found: npt.NDArray[np.float64] = np.where(rows.reason == REASON["nonfinite"], 1.0, error)
    return found  # where values are not finite the figure leaves them out


def layers_of_rank(rank: RankComparison) -> Layers:
    """The layer of each call of the pairing, and the labels of the layers."""
    return layers_of_calls(rank.rows.pairing.names(rank.target, rank.golden), rank.construct)


class LayersOfRanks:
    """`layers_of_rank` of one rank after another: ranks mostly make the same calls, which are named once."""

    def __init__(self) -> None:
        self._names: Sequence[str] = ()
        self._parents: Mapping[str, str | None] | None = None
        self._found: Layers | None = None

    def of(self, rank: RankComparison) -> Layers:
        """As `layers_of_rank`; the same object as for the rank before where both make the same calls."""
        names = rank.rows.pairing.names(rank.target, rank.golden)
        parents = rank.construct.parents if rank.construct is not None else None
        if self._found is None or names != self._names or parents != self._parents:
            self._names, self._parents = names, parents
            self._found = layers_of_calls(names, rank.construct)
        return self._found


@dataclass(slots=True)
class _Node:
    """A node while the tree is built. row: its worst row in the table, -1 where it has none."""

    name: str
    label: str
    depth: int = 0
    verdict: int = 0
    role: int = 0
    row: int = -1
    n_calls: int = 0
    children: list[str] = field(default_factory=list)


def module_tree(comparison: Comparison, rank: RankComparison) -> Table:
    """The hierarchy as rows in pre-order: module, calls, verdict, role, row of the precision table, name.

    Verdict and role of a module are the worst of all that lies in it. Calls without a recorded parent
    stand at the top.
    """
    nodes, roots = _nodes(comparison, rank)
    ordered: list[_Node] = []
    stack = list(reversed(roots))
    seen: set[str] = set()
    while stack:
        node = nodes[stack.pop()]
        if node.name in seen:  # a cycle in a broken construct.json
            continue
        seen.add(node.name)
        ordered.append(node)
        for child in node.children:
            nodes[child].depth = node.depth + 1
        stack += reversed(node.children)
    for node in reversed(ordered):
        for child in node.children:
            _take_worst(node, nodes[child])
    return Table(
        "modules",
        (
            text_column("module", ["  " * min(n.depth, 20) + n.label for n in ordered]),
            Column("calls", "int", np.array([n.n_calls for n in ordered], np.int64)),
            text_column("verdict", [VERDICTS[n.verdict] for n in ordered]),
            text_column("role", [ROLES[n.role] for n in ordered]),
            Column("row", "int", np.array([n.row for n in ordered], np.int64)),
            text_column("name", [n.name for n in ordered]),
        ),
    )


def _nodes(comparison: Comparison, rank: RankComparison) -> tuple[dict[str, _Node], list[str]]:
    pairing = rank.rows.pairing
    parents = rank.construct.parents if rank.construct else {}
    nodes: dict[str, _Node] = {}
    names = pairing.names(rank.target, rank.golden)
    for name in (*parents, *(p for p in parents.values() if p is not None), *names):
        if name not in nodes:
            nodes[name] = _Node(name, _label(parse_name(name)))
    roots: list[str] = []
    for name in nodes:
        parent = parents.get(name)
        if parent is None or parent == name or parent not in nodes:
            roots.append(name)
        else:
            nodes[parent].children.append(name)
    first = np.searchsorted(pairing.row_call, np.arange(pairing.n_calls + 1))
    start = table_row(comparison, rank, 0)
    for call, name in enumerate(names):
        node = nodes[name]
        node.n_calls += 1
        node.role = int(rank.roles.call[call])
        span = slice(int(first[call]), int(first[call + 1]))
        if span.stop > span.start:
            worst = int(np.argmax(_SEVERITY[rank.rows.verdict[span]]))
            node.verdict = int(rank.rows.verdict[span.start + worst])
            node.row = start + span.start + worst
    return nodes, roots


def _take_worst(node: _Node, child: _Node) -> None:
    node.n_calls += child.n_calls
    if child.role == ORIGIN:
        node.role = ORIGIN
    if _SEVERITY[child.verdict] > _SEVERITY[node.verdict] or node.row < 0:
        node.verdict, node.row = child.verdict, child.row


def _label(name: CallName) -> str:
    if name.path:
        return f"{name.path} ({name.cls}) {name.direction}"
    return name.full

"""The fusion rule of a compiled model: which original operators each compiled one was made of.

Written by `atc --mode=1 --om=MODEL.om --json=RULE.json`: a list of graphs, each with its operators in order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files import read_input
from ...findings import Problem

MAX_BYTES = 128 << 20
MAX_OPS = 1_000_000


@dataclass(frozen=True, slots=True)
class CompiledOp:
    """One operator of the compiled graph.

    original: names of the operators that it was made of; () where it was put in by the compiler. inputs:
    (operator, output) that each input is. outputs: for each output the original operator and its output
    that it is, ("", 0) where it is none.
    """

    name: str
    type: str
    original: tuple[str, ...]
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]


def read_fusion_rule(
    path: Path, problems: list[Problem], *, root: Path | None = None
) -> tuple[CompiledOp, ...]:
    """The operators of all graphs, in the order of their ids; records that are none are told in `problems`.

    Raises InputError where the file is no fusion rule, or larger than 128 MB.
    """
    raw = read_input(path, MAX_BYTES, "a fusion rule", root=root)
    try:
        value = json.loads(raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise InputError("is no JSON that can be read", path=path, hint=_HINT) from error
    graphs = value.get("graph") if isinstance(value, dict) else None
    if not isinstance(graphs, list):
        raise InputError("is no fusion rule: it has no list of graphs", path=path, hint=_HINT)
    found: list[tuple[int, CompiledOp]] = []
    n_bad = 0
    for record in _records(graphs):
        op = _op(record)
        if op is None:
            n_bad += 1
        elif len(found) < MAX_OPS:
            number = record.get("id")
            found.append((number if type(number) is int else len(found), op))
    if n_bad:
        message = f"{n_bad:,} records are no operators and were left out"
        problems.append(Problem(path.name, "bad-record", message))
    found.sort(key=lambda item: item[0])
    return tuple(op for _, op in found)


_HINT = "write it with: atc --mode=1 --om=MODEL.om --json=RULE.json"


def _records(graphs: list[Any]) -> Iterator[Any]:
    for graph in graphs:
        ops = graph.get("op") if isinstance(graph, dict) else None
        if isinstance(ops, list):
            yield from ops
        else:
            yield None


def _op(record: Any) -> CompiledOp | None:
    if not isinstance(record, dict) or not isinstance(record.get("name"), str):
        return None
    attributes = _attributes(record.get("attr"))
    names = attributes.get("_datadump_original_op_names")
    listed = names.get("list") if isinstance(names, dict) else None
    texts = listed.get("s") if isinstance(listed, dict) else None
    original = tuple(n for n in texts if isinstance(n, str) and n) if isinstance(texts, list) else ()
    kind = record.get("type")
    descriptions = record.get("output_desc")
    return CompiledOp(
        name=record["name"],
        type=kind if isinstance(kind, str) else "",
        original=original,
        inputs=tuple(_inputs(record.get("input"))),
        outputs=tuple(_origin(one) for one in descriptions) if isinstance(descriptions, list) else (),
    )


def _inputs(value: Any) -> Iterator[tuple[str, int]]:
    for text in value if isinstance(value, list) else ():
        name, _, output = text.rpartition(":") if isinstance(text, str) else ("", "", "")
        if output == "-1":  # an edge of control, which carries no tensor
            continue
        yield (name, int(output)) if output.isascii() and output.isdigit() and len(output) < 10 else ("", 0)


def _origin(description: Any) -> tuple[str, int]:
    attributes = _attributes(description.get("attr")) if isinstance(description, dict) else {}
    name, index = attributes.get("_datadump_origin_name"), attributes.get("_datadump_origin_output_index")
    text = name.get("s") if isinstance(name, dict) else None
    number = index.get("i") if isinstance(index, dict) else None
    return (text, number if type(number) is int and number >= 0 else 0) if isinstance(text, str) else ("", 0)


def _attributes(value: Any) -> dict[str, Any]:
    return {
        item["key"]: item.get("value")
        for item in (value if isinstance(value, list) else ())
        if isinstance(item, dict) and isinstance(item.get("key"), str)
    }

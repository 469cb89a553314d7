"""JSON for programs: the contract's keys, strict JSON, every digit, one object or one object a line."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.report import render
from npulse.core.report.as_json import plain, to_dict
from npulse.core.table import Column, Table

from .samples import HOSTILE, report, table


def no_constant(word: str) -> Any:
    raise AssertionError(f"{word} is no JSON")


def strict(text: str) -> Any:
    return json.loads(text, parse_constant=no_constant)


def rendered(**options: Any) -> str:
    return "".join(render(report(**options), "json", version="1.2"))


def test_keys_are_the_contracts() -> None:
    body = strict(rendered())
    assert {
        "schema",
        "npulse",
        "command",
        "run",
        "verdict",
        "artifacts",
        "findings",
        "counts",
        "problems",
    } <= set(body)
    assert (body["schema"], body["npulse"], body["command"], body["verdict"]) == (
        1,
        "1.2",
        "precision",
        "fail",
    )
    assert body["artifacts"] == [
        {
            "kind": "msprobe.dump",
            "path": "plain",
            "rank": 3,
            "step": 0,
            "side": None,
            "completeness": "complete",
            "size_bytes": 81234,
        }
    ]
    first = body["findings"][0]
    assert {
        "area",
        "severity",
        "rule",
        "role",
        "subject",
        "figures",
        "related",
        "location",
        "message",
        "next",
    } <= set(first)
    assert first["location"] == {
        "artifact": "plain",
        "rank": 0,
        "step": 1,
        "row": 2,
        "line": None,
        "byte": 40211,
    }
    assert first["related"] == [{"role": "inherited", "subject": "plain", "figures": {"norm_ratio": "-inf"}}]
    assert first["figures"] == {
        "cosine": "nan",
        "n_different": 3,
        "shape": [2, 3],
        "text": "plain",
        "none": None,
    }
    assert first["next"] == "next of plain"
    problem = body["problems"][0]
    assert {k: problem[k] for k in ("artifact", "line", "byte", "kind", "message")} == {
        "artifact": "plain", "line": 3, "byte": 65536, "kind": "cut-off", "message": "cut in plain",
    }  # fmt: skip
    assert body["counts"] == {"rows": 3, "origin": 1}


def test_tables_only_where_they_were_asked_for() -> None:
    assert "tables" not in strict(rendered())
    rows = strict(rendered(tables=True, n_rows=5))["tables"]["precision"]
    assert [row["cosine"] for row in rows] == [0.1, "nan", "inf", "-inf", None]
    assert [row["n_rows"] for row in rows] == [0, 1, None, 3, 4]
    assert [row["flag"] for row in rows] == [True, False, True, False, True]
    assert rows[2]["target"] is None


def test_the_pieces_are_the_object() -> None:
    wanted = report(HOSTILE, tables=True, n_rows=9000)
    assert strict("".join(render(wanted, "json", version="0"))) == strict(
        json.dumps(to_dict(wanted, "0"), allow_nan=False)
    )


@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_hostile_names_come_back_and_send_nothing_to_a_terminal(name: str) -> None:
    text = "".join(render(report(HOSTILE, tables=True), name, version="0"))
    assert not [
        c for c in text if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2028")
    ]
    text.encode("utf-8")
    found = [strict(line) for line in text.splitlines()] if name == "jsonl" else strict(text)["findings"]
    assert found[0]["subject"] == HOSTILE


def test_lines_hold_one_object_each_and_a_summary_last() -> None:
    lines = [
        strict(line) for line in "".join(render(report(tables=True), "jsonl", version="1.2")).splitlines()
    ]
    assert [line["kind"] for line in lines] == [
        "finding",
        "finding",
        "problem",
        "row",
        "row",
        "row",
        "summary",
    ]
    assert lines[2]["problem"] == "cut-off"
    assert lines[3]["table"] == "precision"
    last = lines[-1]
    assert (last["schema"], last["npulse"], last["verdict"], last["counts"]) == (
        1,
        "1.2",
        "fail",
        {"rows": 3, "origin": 1},
    )


@given(st.floats(width=64), st.floats(width=64))
def test_floats_come_back_as_they_were(one: float, other: float) -> None:
    values = Table("t", (Column("x", "float", np.array([one, other])),))
    from dataclasses import replace

    body = strict("".join(render(replace(report(), tables={"t": values}), "json", version="0")))
    for row, want in zip(body["tables"]["t"], (one, other), strict=True):
        got = float(row["x"])
        assert math.isnan(got) if math.isnan(want) else got == want


def test_plain_knows_numpy_and_nothing_else_escapes() -> None:
    assert plain(np.float32(0.5)) == 0.5
    assert plain(np.array([1.0, np.nan])) == [1.0, "nan"]
    assert plain({1: (np.int64(2), {3})}) == {"1": [2, "{3}"]}
    assert plain(np.bool_(True)) is True
    assert plain(float("-inf")) == "-inf"


def test_an_empty_table_and_no_findings() -> None:
    from dataclasses import replace

    bare = replace(report(), findings=(), problems=(), tables={"t": Table("t", ()), "precision": table(0)})
    assert strict("".join(render(bare, "json", version="0")))["tables"] == {"t": [], "precision": []}

"""Reports with names that a file could hold if somebody meant harm."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npulse.core.analysis import AreaReport
from npulse.core.criteria import AreaState, CheckUp, CriterionResult
from npulse.core.findings import Finding, Location, Problem, Related, Report, Verdict
from npulse.core.report import Dossier
from npulse.core.run.model import Artifact
from npulse.core.table import Column, Table, text_column

HOSTILE = "a|b`c``d\n# e\r\x1b]0;x\x07\x9b31m[f](g)<h>*_~\u202ei\u2028\ud800"
FORMULAS = ("=1+1", "+1", "-1", "@x", "\t=1+1", " =1", "\r=1")


def table(n_rows: int = 3) -> Table:
    """Text with formulas and hostile names, floats of every kind, absent cells of all kinds."""
    texts = [HOSTILE, "=cmd()", None, "plain", "-x"]
    floats = np.array([0.1, np.nan, np.inf, -np.inf, 1e-300])
    return Table(
        "precision",
        (
            text_column("target", [texts[i % 5] for i in range(n_rows)]),
            Column("cosine", "float", np.resize(floats, n_rows), absent=np.arange(n_rows) % 5 == 4),
            Column("n_rows", "int", np.arange(n_rows), absent=np.arange(n_rows) % 3 == 2),
            Column("flag", "bool", np.arange(n_rows) % 2 == 0),
        ),
    )


def report(name: str = "plain", *, tables: bool = False, n_rows: int = 3) -> Report:
    finding = Finding(
        "precision",
        "error",
        "precision.operator",
        "origin",
        name,
        f"message of {name}",
        f"next of {name}",
        figures={
            "cosine": float("nan"),
            "n_different": np.int64(3),
            "shape": (2, 3),
            "text": name,
            "none": None,
        },
        related=(Related("inherited", name, {"norm_ratio": float("-inf")}),),
        location=Location(name, 0, 1, 2, None, 40211),
    )
    return Report(
        "precision",
        name,
        "fail",
        (Artifact("msprobe.dump", Path("/run/a"), name, 81234, 5, 3, 0, "complete"),),
        (finding, Finding("precision", "note", "precision.unknown", "unknown", name, "nothing more")),
        {"rows": 3, "origin": 1},
        {"last_output": name, "last_output_cosine": 0.1 + 0.2},
        (Problem(name, "cut-off", f"cut in {name}", 3, 65536, f"hint {name}"),),
        {"precision": table(n_rows)} if tables else {},
    )


STATES: tuple[Verdict, ...] = ("pass", "warn", "fail", "unknown", "incomplete")


def check_up(name: str = "plain") -> CheckUp:
    """Criteria of every state in three areas: one has its own findings alone, one is not to be trusted."""
    criteria = tuple(
        CriterionResult(
            f"precision.{state}",
            (f"title of {state}", f"{state}的标题"),
            state,
            ">= 0.99",
            0.5 if state == "fail" else None,
            "0.5" if state == "fail" else "?",
            "us",
            name,
            f"why {name}",
            f"npulse precision {name}",
        )
        for state in STATES
    )
    passed = CriterionResult(
        "performance.step_ms", ("step time", "步时间"), "pass", "<= 20", 10.0, "10", "ms"
    )
    told = AreaReport("round1", name, report(name))
    return CheckUp(
        name,
        "fail",
        (
            AreaState(
                "memory", "unknown", f"nothing of {name}", missing="no log", next_step="npulse capture"
            ),
            AreaState("precision", "fail", f"bad {name}", criteria, (told,), told.report.findings[0]),
            AreaState("performance", "pass", "quick", (passed,), distrusted_by="precision"),
        ),
        "",
        "precision",
        f"why {name}",
    )


def dossier(name: str = "plain", *, tables: bool = True, n_rows: int = 3) -> Dossier:
    """Two rounds of one area, the story of both, and a check-up."""
    told = tuple(
        AreaReport(f"round{i} {name}", name, report(name, tables=tables, n_rows=n_rows), (f"note {name}",))
        for i in (1, 2)
    )
    worse = Finding("rounds", "warning", "rounds.worse", "suspect", name, f"worse {name}", f"next {name}")
    story = Report("rounds", name, "warn", findings=(worse,), told=(f"told {name}",))
    return Dossier(check_up(name), told, story, f"title {name}", "2026-01-01 12:00")


def with_charts(name: str = "plain") -> Dossier:
    """A dossier whose tables have what the charts take, the name in each of them."""

    def floats(word: str, *values: float) -> Column:
        return Column(word, "float", np.array(values))

    def ints(word: str, *values: int) -> Column:
        return Column(word, "int", np.array(values))

    def texts(word: str, *values: str) -> Column:
        return text_column(word, values)

    place = (ints("rank", 0, 1), ints("step", 0, 0), texts("operator", name, f"{name}2"))
    precision = (
        *place,
        *(texts("io", "output 0", "output 0"), texts("target", name, name)),
        *(floats("rel_l2", 0.3, 0.001), floats("rel_l2_at_least", 0.3, 0.001), floats("cosine", 0.9, 0.99)),
        texts("verdict", "error", "pass"),
    )
    overflow = (
        *place,
        *(texts("tensor", name, name), texts("dtype", name, name)),
        *(floats("absmax", np.inf, 3.0), floats("headroom_ratio", 1.0, 0.3), ints("upstream", 0, 1)),
        *(ints(word, 1, 0) for word in ("nan", "plus_inf", "minus_inf", "saturated", "near_limit")),
    )
    operators = (
        *(texts("subject", name, f"{name}2"), floats("total_us", 30.0, 10.0), texts("class", name, name)),
        *(floats("share_percent", 75.0, 25.0), floats("cumulative_percent", 75.0, 100.0)),
    )
    cards = (texts("subject", name, name), texts("health", name, "OK"), floats("power_w", 1.0, 2.0))
    tables = {"precision": precision, "overflow": overflow, "performance": operators, "device": cards}
    told = tuple(
        AreaReport(
            f"{round_}{name}",
            name,
            Report(
                area, name, "fail", summary={"last_output_cosine": value}, tables={area: Table(area, columns)}
            ),
        )
        for area, columns in tables.items()
        for round_, value in (("a", 0.9), ("b", 0.99))
    )
    rounds = [
        {
            "round": name,
            "figures": {name: {"value": value}},
            "criteria": {
                name: {"state": "fail" if value < 0.6 else "pass", "value": value, "needs": ">= 0.6"},
                f"{name}.whole": {"state": "pass", "value": 1.0, "needs": "yes"},
            },
        }
        for value in (0.5, 0.7)
    ]
    summary = {"rounds": rounds, "headings": {name: f"figure {name}"}}
    story = Report("rounds", name, "pass", summary=summary, told=(f"told {name}",))
    return Dossier(check_up(name), told, story, f"title {name}")

"""The report of a comparison: verdict, exit code, order and merging of findings, both languages."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.api import PrecisionReport, compare
from npulse.core.areas import all_rules
from npulse.core.precision.alone import check_alone
from npulse.core.precision.compare import Settings, compare_captures
from npulse.core.precision.report import report as render
from npulse.core.precision.rules import RULES
from npulse.core.precision.texts import TEXTS
from npulse.core.precision.theirs.rules import RULES as THEIRS
from npulse.core.report.as_json import to_dict
from npulse.core.run.discover import discover
from npulse.core.run.sides import pair_of
from npulse.core.tails import Tails

from . import faulty_net as fn
from .faulty_net import Fault, api, number, tensor, write_dump
from .own.dumps import write
from .test_parameters import write as write_parameters

X, Y, Z = (np.random.default_rng(i).standard_normal(64) for i in (1, 2, 3))
ADD, MUL, LINEAR = "Torch.add.0.forward", "Torch.mul.0.forward", "Functional.linear.0.forward"


def two(
    folder: Path, target: dict[str, Any], golden: dict[str, Any], ranks: tuple[int, ...] = (0,)
) -> PrecisionReport:
    for side, data in (("target", target), ("golden", golden)):
        for rank in ranks:
            write_dump(folder / side / "step0" / f"rank{rank}", data)
    return compare(folder / "target", folder / "golden", tables=True)


def one_call(made: Any, given: Any = X, **kwargs: Any) -> dict[str, Any]:
    return {ADD: api([tensor(given)], [tensor(made)], **kwargs)}


# ---- verdict and exit code -------------------------------------------------------------------------------


def test_pass(tmp_path: Path) -> None:
    found = two(tmp_path, one_call(Y), one_call(Y))
    assert (found.verdict, found.findings, found.problems) == ("pass", (), ())
    assert (found.report.exit_code(), found.report.exit_code(strict=True)) == (0, 0)
    assert found.max_error == 0


def test_warn(tmp_path: Path) -> None:
    found = two(tmp_path, one_call(Y * 1.005), one_call(Y))
    assert found.verdict == "warn"
    assert [(f.rule, f.severity, f.subject) for f in found.findings] == [
        ("precision.above-rounding", "warning", f"{ADD}.output.0")
    ]
    assert (found.report.exit_code(), found.report.exit_code(strict=True)) == (0, 1)
    assert 0.004 < found.max_error <= 0.005


def test_an_error_that_has_no_size_holds_no_limit(tmp_path: Path) -> None:
    """`assert run.max_error < 0.02` may not pass on NaN, on another shape, or where nothing was measured."""
    broken = np.where(np.arange(64) == 3, np.nan, Y)
    assert two(tmp_path / "a", one_call(broken), one_call(Y)).max_error == math.inf
    assert two(tmp_path / "b", one_call(Y[:32]), one_call(Y)).max_error == math.inf
    nothing = two(tmp_path / "c", {ADD: api([tensor(X)], [tensor(Y)])}, {MUL: api([tensor(X)], [tensor(Y)])})
    assert math.isnan(nothing.max_error)


def test_fail(tmp_path: Path) -> None:
    found = two(tmp_path, one_call(Y * 2), one_call(Y))
    assert found.verdict == "fail"
    assert (found.report.exit_code(), found.report.exit_code(strict=True)) == (1, 1)


def test_unknown_is_no_pass(tmp_path: Path) -> None:
    ids = tensor(np.arange(9), "int64")
    found = two(tmp_path, {ADD: api([ids], [tensor(Y)])}, {ADD: api([ids], [tensor(Y)])})
    assert found.verdict == "unknown"
    assert (found.report.exit_code(), found.report.exit_code(strict=True)) == (4, 4)
    assert [f.rule for f in found.findings] == ["precision.unknown"]
    assert found.findings[0].figures == {"content_unknown": 1}


def test_incomplete_names_what_was_cut(tmp_path: Path) -> None:
    two(tmp_path, one_call(Y), one_call(Y))
    dump = tmp_path / "target" / "step0" / "rank0" / "dump.json"
    dump.write_bytes(dump.read_bytes()[:-9])
    found = compare(tmp_path / "target", tmp_path / "golden")
    assert (found.verdict, found.report.exit_code()) == ("incomplete", 4)
    assert found.problems[0].kind == "cut-off"
    assert found.problems[0].byte is not None


def test_an_error_beside_problems_is_a_failure(tmp_path: Path) -> None:
    two(tmp_path, one_call(Y * 2), one_call(Y))
    dump = tmp_path / "target" / "step0" / "rank0" / "dump.json"
    dump.write_bytes(dump.read_bytes()[:-2])
    found = compare(tmp_path / "target", tmp_path / "golden")
    assert (found.verdict, found.report.exit_code()) == ("fail", 1)
    assert found.problems


def test_calls_of_one_side_alone_are_a_note_and_unknown(tmp_path: Path) -> None:
    extra = {**one_call(Y), MUL: api([tensor(Y)], [tensor(Z)])}
    found = two(tmp_path, extra, one_call(Y))
    assert [(f.rule, f.severity, f.subject) for f in found.findings] == [("precision.unmatched", "note", MUL)]
    assert found.findings[0].figures == {"n_target_only": 1, "n_golden_only": 0}
    assert found.verdict == "unknown"


# ---- findings --------------------------------------------------------------------------------------------


def test_ranks_and_steps_of_one_origin_are_one_finding(tmp_path: Path) -> None:
    for side, made in (("target", Y * 2), ("golden", Y)):
        for step in (0, 3):
            for rank in (0, 1, 7):
                write_dump(tmp_path / side / f"step{step}" / f"rank{rank}", one_call(made))
    found = compare(tmp_path / "target", tmp_path / "golden")
    assert [f.subject for f in found.findings if f.role == "origin"] == [ADD]
    first = found.findings[0]
    assert (first.figures["ranks"], first.figures["steps"]) == ([0, 1, 7], [0, 3])
    assert (first.location.rank, first.location.step) == (0, 0)
    assert found.report.counts["origin"] == 6


def test_counts_add_up(tmp_path: Path) -> None:
    net = [
        fn.run_alone(Fault("output", "Functional.relu.0.forward"), golden=g, ulp_noise=True)
        for g in (False, True)
    ]
    for side, one in zip(("target", "golden"), net, strict=True):
        one.write(tmp_path / side / "step0" / "rank0", "mix", "tensor")
    found = compare(tmp_path / "target", tmp_path / "golden", tables=True)
    counts, table = found.report.counts, found.report.tables["precision"]
    assert counts["rows"] == table.n_rows == sum(counts[v] for v in ("pass", "warning", "error", "unknown"))
    assert counts["compared"] == counts["rows"] - counts["unknown"]
    assert (counts["calls"], counts["origin"]) == (len(net[0].order), 1)
    verdicts = [table.column("verdict").value(i) for i in range(table.n_rows)]
    assert all(verdicts.count(v) == counts[v] for v in ("pass", "warning", "error", "unknown"))


def test_the_end_result_is_the_last_forward_output(tmp_path: Path) -> None:
    net = [fn.run_alone(Fault("output", "Functional.relu.1.forward"), golden=g) for g in (False, True)]
    for side, one in zip(("target", "golden"), net, strict=True):
        one.write(tmp_path / side / "step0" / "rank0", "mix", "tensor")
    summary = compare(tmp_path / "target", tmp_path / "golden").report.summary
    assert summary["last_output"] == "Module.head.Linear.forward.0.output.0"
    t, g = (one.files["Functional.linear.12.forward.output.0"].astype(float) for one in net)
    assert summary["last_output_rel_l2"] == pytest.approx(np.linalg.norm(t - g) / np.linalg.norm(g), rel=1e-6)
    assert summary["last_output_norm_ratio"] == pytest.approx(np.linalg.norm(t) / np.linalg.norm(g), rel=1e-6)


def test_a_later_output_that_is_wrong_is_the_last_one(tmp_path: Path) -> None:
    """An earlier output that was compared by its elements and agrees says nothing of what comes behind it."""
    for side, factor in (("target", 2), ("golden", 1)):
        made = Y * factor
        folder = write(tmp_path / side / "step0" / "rank0", {MUL: ([X], [Z]), ADD: ([Z], [made])})
        dump = json.loads((folder / "dump.json").read_text())
        del dump["data"][ADD]["output"][0]["data_name"]
        (folder / "dump.json").write_text(json.dumps(dump))
    summary = compare(tmp_path / "target", tmp_path / "golden").report.summary
    assert summary["last_output"] == f"{ADD}.output.0"
    assert summary["last_output_norm_ratio"] == pytest.approx(2)


def test_a_finding_says_where_it_stands(tmp_path: Path) -> None:
    found = two(
        tmp_path,
        {MUL: api([tensor(X)], [tensor(Z)]), **one_call(Y * 2)},
        {MUL: api([tensor(X)], [tensor(Z)]), **one_call(Y)},
    )
    at = found.findings[0].location
    assert (at.artifact, at.rank, at.step, at.row) == ("step0/rank0/dump.json", 0, 0, 3)
    assert at.byte is not None
    text = (tmp_path / "target" / "step0" / "rank0" / "dump.json").read_bytes()
    assert text[at.byte :].startswith(f'"{ADD}"'.encode())


def test_an_unknown_beginning_before_an_origin_comes_first(tmp_path: Path) -> None:
    ids = tensor(np.arange(9), "int64")

    def side(a: Any, b: Any) -> dict[str, Any]:
        return {
            "Torch.gather.0.forward": api([ids], [tensor(a)]),
            ADD: api([tensor(X)], [tensor(b)]),
        }

    found = two(tmp_path, side(Y * 2, Z * 2), side(Y, Z))
    assert [(f.rule, f.subject) for f in found.findings if f.severity == "error"] == [
        ("precision.first-difference", "Torch.gather.0.forward"),
        ("precision.operator", ADD),
    ]


# ---- rules -----------------------------------------------------------------------------------------------


def by_rule(folder: Path) -> dict[str, PrecisionReport]:
    """For every rule a capture pair that breaks it."""
    weight, ids = tensor(Z), tensor([1, 2, 3], "int64")
    cases: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "operator": (one_call(Y * 2), one_call(Y)),
        "scalar": (one_call(Y * 2, alpha=number(2)), one_call(Y, alpha=number(1))),
        "unmatched": (
            {
                ADD: api([], [tensor(X)]),
                MUL: api([tensor(X)], [tensor(X * 2)]),
                LINEAR: api([tensor(X * 2)], []),
            },
            {ADD: api([], [tensor(X)]), LINEAR: api([tensor(X)], [])},
        ),
        "input-data": (one_call(Y * 2, X * 2), one_call(Y, X)),
        "parameter": (
            {LINEAR: api([tensor(X), tensor(Z * 2)], [tensor(Y * 2)])},
            {LINEAR: api([tensor(X), weight], [tensor(Y)])},
        ),
        "overwritten": (
            {ADD: api([], [tensor(X)]), MUL: api([tensor(Z * 3)], [tensor(Z)])},
            {ADD: api([], [tensor(X)]), MUL: api([tensor(X)], [tensor(Y)])},
        ),
        "drift": (one_call(Y * 1.0109, X * 1.009), one_call(Y, X)),
        "first-difference": (
            {ADD: api([ids], [tensor(Y * 2)])},
            {ADD: api([ids], [tensor(Y)])},
        ),
        "above-rounding": (one_call(Y * 1.001), one_call(Y)),
        "pairing": (
            {ADD.replace(".0.", ".1."): api([tensor(X)], [tensor(Y)])},
            {ADD: api([tensor(X)], [tensor(Y)])},
        ),
        "unknown": ({ADD: api([ids], [])}, {ADD: api([ids], [])}),
    }
    return {name: two(folder / name, *sides) for name, sides in cases.items()}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PrecisionReport]:
    return by_rule(tmp_path_factory.mktemp("rules"))


def rules_without_golden(folder: Path) -> set[str]:
    """What a capture of three ranks breaks of itself."""
    large = np.full(64, 1e6, np.float32)
    for rank in range(3):
        weights = {f"Module.{i}.fc.Linear.forward.0".replace(".", "__"): {"weight": X} for i in range(3)}
        calls: dict[str, Any] = {f"Module.{i}.fc.Linear.forward.0": ([Y], [Z]) for i in range(3)}
        calls["Torch.matmul.0.forward"] = calls["Torch.matmul.1.forward"] = ([X, Y], [Z])
        calls["Tensor.to.0.forward"] = ([large], [np.full(64, np.inf, np.float16)])
        calls["Distributed.all_reduce.0.forward"] = ([X], [X * 3])
        if rank == 2:
            weights["Module__1__fc__Linear__forward__0"] = {"weight": X + 1}
            calls["Torch.matmul.1.forward"] = ([X, Y], [Z + 1])
            calls["Distributed.all_reduce.0.forward"] = ([X], [X * 2])
        write(folder / "step0" / f"rank{rank}", calls, "statistics", **weights)
    run = discover(folder)
    return {f.rule for f in check_alone(run, run.artifacts).findings}


def test_every_rule_can_be_broken_and_no_other_is_named(
    broken: dict[str, PrecisionReport], tmp_path: Path
) -> None:
    for name, found in broken.items():
        assert found.findings[0].rule == f"precision.{name}"
    named = {f.rule for found in broken.values() for f in found.findings}
    nan = tensor([np.nan, 1.0])
    write_dump(tmp_path / "rank0", {ADD: api([tensor(X)], [nan])})
    run = discover(tmp_path)
    named |= {f.rule for f in check_alone(run, run.artifacts).findings}
    two(tmp_path / "live", one_call(Y), one_call(Y))
    live = pair_of(tmp_path / "live" / "target", tmp_path / "live" / "golden")
    named |= {f.rule for f in render(compare_captures(live, Settings(tails=Tails()))).findings}
    named |= rules_without_golden(tmp_path / "own")
    sides = [
        write_parameters(tmp_path / f"{d[1:]}.safetensors", {"w": np.arange(4, dtype=d)})
        for d in ("<f2", "<f4")
    ]
    named |= {f.rule for f in render(compare_captures(pair_of(*sides))).findings}
    # those have tests of their own: theirs/test_theirs_report.py, shown/test_shown.py, test_splits.py
    of_others = {rule.id for rule in THEIRS} | {"precision.asked", "precision.split", "precision.heads"}
    assert named == {rule.id for rule in RULES} - of_others


def test_rules_are_told_in_both_languages_and_listed_once() -> None:
    ids = [rule.id for rule in RULES]
    assert len(ids) == len(set(ids))
    assert set(ids) <= {rule.id for rule in all_rules()}
    for rule in RULES:
        for texts in (rule.title, rule.meaning, rule.threshold, rule.source, rule.silence):
            assert len(texts) == 2 and all(texts)


@pytest.mark.parametrize("key", sorted(TEXTS))
def test_texts_hold_the_same_fields_in_both_languages(key: str) -> None:
    en, zh = TEXTS[key]
    assert en.strip() and zh.strip()
    assert sorted(re.findall(r"\{(\w+)\}", en)) == sorted(re.findall(r"\{(\w+)\}", zh))


def test_findings_speak_chinese_and_say_the_same(broken: dict[str, PrecisionReport]) -> None:
    for found in broken.values():
        chinese = render(found.comparison, lang="zh")
        assert [(f.rule, f.subject, f.severity) for f in chinese.findings] == [
            (f.rule, f.subject, f.severity) for f in found.findings
        ]
        for one, other in zip(chinese.findings, found.findings, strict=True):
            assert re.search("[\u4e00-\u9fff]", one.message), one.message
            assert re.search("[\u4e00-\u9fff]", one.next_step), one.next_step
            assert not re.search("[\u4e00-\u9fff]", other.message + other.next_step)
            assert one.figures == other.figures or "nan" in str(one.figures)


def test_figures_can_be_written_as_json(broken: dict[str, PrecisionReport]) -> None:
    import json

    for found in broken.values():
        json.dumps(to_dict(found.report, "0"), allow_nan=False)

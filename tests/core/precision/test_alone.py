"""One capture without a golden one: NaN and Inf are seen where they begin, and nothing is called clean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.core.calls.captures.test_other_tools import atb_file, put
from tests.core.formats.cann_files import Tensor, container

from npulse.core.analysis import AnalysisOptions
from npulse.core.findings import Report
from npulse.core.precision.alone import check_alone
from npulse.core.precision.run_report import report_of, reports_of
from npulse.core.run.discover import discover

from .faulty_net import api, tensor, write_dump

X = np.random.default_rng(1).standard_normal(8)
NAN, PLUS, MINUS = (np.where(np.arange(8) == 3, bad, X) for bad in (np.nan, np.inf, -np.inf))
LOG, ADD, REDUCE = "Torch.log.0.forward", "Torch.add.0.forward", "Distributed.all_reduce.0.forward"


def checked(folder: Path, *ranks: dict[str, Any], **options: Any) -> Report:
    for rank, data in enumerate(ranks):
        write_dump(folder / "step0" / f"rank{rank}", data)
    run = discover(folder)
    return check_alone(run, [a for a in run.artifacts if a.kind == "msprobe.dump"], **options)


def origins(report: Report) -> list[tuple[str, int | None]]:
    return [(f.subject, f.location.rank) for f in report.findings if f.role == "origin"]


def test_without_a_golden_side_nothing_is_clean(tmp_path: Path) -> None:
    report = checked(tmp_path, {ADD: api([tensor(X)], [tensor(X)])})
    assert (report.verdict, report.exit_code()) == ("unknown", 4)
    assert [f.rule for f in report.findings] == ["precision.unknown"]


@pytest.mark.parametrize("bad", [NAN, PLUS])
def test_the_call_that_made_it_and_none_behind(tmp_path: Path, bad: Any) -> None:
    data = {
        ADD: api([tensor(X)], [tensor(X)]),
        LOG: api([tensor(X)], [tensor(bad)]),
        "Torch.mul.0.forward": api([tensor(bad), tensor(X)], [tensor(bad)]),
    }
    report = checked(tmp_path, data)
    assert origins(report) == [(LOG, 0)]
    assert (report.verdict, report.exit_code()) == ("fail", 1)
    assert report.findings[0].figures["shape"] == [8]


def test_minus_infinity_alone_may_be_a_mask(tmp_path: Path) -> None:
    data = {"Tensor.masked_fill.0.forward": api([tensor(X)], [tensor(MINUS)])}
    report = checked(tmp_path, data)
    assert (origins(report), report.verdict) == ([], "unknown")
    assert [f.role for f in report.findings] == ["benign", "unknown"]
    assert report.counts["legal_inf"] == 1


def test_an_infinite_norm_of_healthy_halves_is_nothing(tmp_path: Path) -> None:
    large = tensor(np.full(99, 6e4) - np.arange(99), "float16")
    assert large["Norm"] == np.inf
    assert origins(checked(tmp_path, {ADD: api([large], [large])})) == []


def test_uninitialised_buffers_say_nothing(tmp_path: Path) -> None:
    data = {
        "Torch.empty.0.forward": api([], [tensor(NAN)]),
        "Tensor.new_empty.0.forward": api([], [tensor(NAN)]),
    }
    assert origins(checked(tmp_path, data)) == []


def test_a_collective_carries_what_a_peer_began(tmp_path: Path) -> None:
    healthy = {REDUCE: api([tensor(X)], [tensor(NAN)])}
    broken = {LOG: api([tensor(X)], [tensor(NAN)]), REDUCE: api([tensor(NAN)], [tensor(NAN)])}
    assert origins(checked(tmp_path / "a", healthy, broken)) == [(LOG, 1)]
    received = {"Distributed.recv.0.forward": api([None], [tensor(NAN)])}
    assert origins(checked(tmp_path / "b", received, broken)) == [(LOG, 1)]
    # nobody else began anything, and the other rank did not take part as far as it was recorded
    report = checked(tmp_path / "c", healthy, {ADD: api([tensor(X)], [tensor(X)])})
    assert (origins(report), report.verdict) == ([], "fail")
    assert [(f.role, f.subject) for f in report.findings[:1]] == [("unknown", REDUCE)]


def test_a_broken_rank_leaves_the_others(tmp_path: Path) -> None:
    write_dump(tmp_path / "step0" / "rank1", {})
    (tmp_path / "step0" / "rank1" / "dump.json").write_text("{ nothing")
    report = checked(tmp_path, {LOG: api([tensor(X)], [tensor(NAN)])})
    assert origins(report) == [(LOG, 0)]
    assert report.problems


def test_in_chinese(tmp_path: Path) -> None:
    report = checked(tmp_path, {LOG: api([tensor(X)], [tensor(NAN)])}, lang="zh")
    assert all(any("\u4e00" <= c <= "\u9fff" for c in f.message) for f in report.findings)


# ---- captures of other tools ----


def _atb(folder: Path, made: Any) -> Path:
    """An operation of ATB that made something of finite inputs, and one that was given it."""
    return put(
        folder,
        {
            "0_7/0/0_Norm/before/intensor0.bin": atb_file(X.astype("<f4")),
            "0_7/0/0_Norm/after/outtensor0.bin": atb_file(made),
            "0_7/0/1_Linear/before/intensor0.bin": atb_file(made),
            "0_7/0/1_Linear/after/outtensor0.bin": atb_file(made),
        },
    )


def _cann(folder: Path, made: Any) -> Path:
    """The same of a compiled graph, as the device writes it."""
    given = X.astype("<f4")
    for n, (name, before) in enumerate((("Norm", given), ("Linear", made))):
        tensors = [[Tensor(a.tobytes(), shape=a.shape)] for a in (before, made)]
        file = f"20260101/0/g/1/0/{name}.{name.lower()}.1.1.{1749633330001000 + n}"
        put(folder, {file: container(*tensors)})
    return folder


@pytest.mark.parametrize("write", [_atb, _cann])
def test_the_elements_of_another_tool_are_looked_through(write: Any, tmp_path: Path) -> None:
    """Nothing is recorded of these tensors: where NaN begins is seen in what they hold."""
    made = NAN.astype("<f4")
    run = discover(write(tmp_path, made))
    (told,) = reports_of(run, AnalysisOptions())
    origin = next(f for f in told.report.findings if f.role == "origin")
    assert origin.subject.lower().endswith("norm")
    assert origin.figures["nan_count"] == np.isnan(made).sum()
    assert (told.report.verdict, told.report.counts["origin"]) == ("fail", 1)
    named = report_of((run.path,), AnalysisOptions()).report
    assert [f.message for f in named.findings] == [f.message for f in told.report.findings]


@pytest.mark.parametrize("write", [_atb, _cann])
def test_a_sound_capture_of_another_tool_is_unknown(write: Any, tmp_path: Path) -> None:
    report = report_of((write(tmp_path, X.astype("<f4")),), AnalysisOptions()).report
    assert (report.verdict, report.exit_code()) == ("unknown", 4)
    assert report.counts["calls"] == 2
    kind = "atb.dump" if write is _atb else "cann.dump"
    assert any(kind in f.message for f in report.findings)


def test_a_checkpoint_is_looked_through_where_it_is_named(tmp_path: Path) -> None:
    header = {"w": {"dtype": "F32", "shape": [8], "data_offsets": [0, 32]}}
    text = json.dumps(header).encode()
    put(tmp_path, {"model.safetensors": len(text).to_bytes(8, "little") + text + NAN.astype("<f4").tobytes()})
    assert reports_of(discover(tmp_path), AnalysisOptions()) == ()
    report = report_of((tmp_path,), AnalysisOptions()).report
    assert (report.verdict, origins(report)) == ("fail", [("w", None)])

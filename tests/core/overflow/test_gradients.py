"""Gradients as the training monitor recorded them, in both versions of its files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from npulse.core.overflow.analyse import Overflow
from npulse.core.overflow.gradients import BadGradient, Gradients

from .small_dumps import OPTIONS, analysed, reported

Row = tuple[int, str, str, float, int]
"""Step, kind, name, norm (Max and Min follow from it), NaN count (-1: nothing is recorded)."""

UN, RED = "grad_unreduced", "grad_reduced"
NAN, INF = float("nan"), float("inf")
SCOPES = {UN: "unreduced", RED: "reduced"}


def cells(norm: float, nans: int) -> str:
    if nans < 0:
        return "nan,nan,nan,nan,nan"
    high = norm if norm in (INF, NAN) or norm != norm else norm / 2
    return f"{-high},{high},{norm / 10},{norm},{nans}"


def write_v1(folder: Path, rank: int, rows: Iterable[Row]) -> None:
    place = folder / f"Dec03_21-34-40-rank{rank}-ab12"
    place.mkdir(parents=True, exist_ok=True)
    for kind in {row[1] for row in rows}:
        lines = ["vpp_stage,name,step,min,max,mean,norm,nans"]
        lines += [f"0,{name},{step},{cells(norm, n)}" for step, k, name, norm, n in rows if k == kind]
        (place / f"{kind}_0-9.csv").write_text("\n".join(lines) + "\n")


def write_v2(folder: Path, rank: int, rows: Iterable[Row]) -> None:
    place = folder / f"rank_{rank}"
    place.mkdir(parents=True, exist_ok=True)
    lines = ["vpp_stage,step,module_name,scope,min,max,mean,norm,nans"]
    lines += [f"-1,{step},{name},{SCOPES[kind]},{cells(norm, n)}" for step, kind, name, norm, n in rows]
    (place / "weight_grad_step0-9.csv").write_text("\n".join(lines) + "\n")


WRITERS = {"v1": write_v1, "v2": write_v2}


@pytest.fixture(params=WRITERS)
def version(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


def looked(folder: Path, version: str, *ranks: list[Row]) -> Overflow:
    for rank, rows in enumerate(ranks):
        WRITERS[version](folder, rank, rows)
    return analysed(folder)


def gradients(found: Overflow) -> Gradients:
    assert found.gradients is not None
    assert found.problems == ()
    return found.gradients


def facts(one: BadGradient) -> tuple[object, ...]:
    return one.cause, one.kind, one.name, one.step, one.ranks, one.finite_ranks, one.is_nan


NAMES = ("layers.0.w", "layers.1.w", "layers.2.w")


def healthy(step: int, *kinds: str) -> list[Row]:
    return [(step, kind, name, 2.0, 0) for kind in kinds for name in NAMES]


def bad(
    step: int, kind: str, names: Iterable[str] = ("layers.1.w",), norm: float = NAN, n: int = 7
) -> list[Row]:
    return [(step, kind, name, norm if name in names else 2.0, n if name in names else 0) for name in NAMES]


def test_unreduced_gradients_of_one_rank(version: str, tmp_path: Path) -> None:
    """The reduction hands it to all ranks; it began where it was bad before."""
    found = gradients(
        looked(
            tmp_path,
            version,
            [*healthy(0, UN, RED), *healthy(1, UN), *bad(1, RED)],
            [*healthy(0, UN, RED), *bad(1, UN), *bad(1, RED)],
        )
    )
    assert [facts(one) for one in found.bad] == [("rank", UN, "layers.1.w", 1, (1,), (0,), True)]


def test_the_reduction_itself(version: str, tmp_path: Path) -> None:
    ranks = [[*healthy(0, UN, RED), *healthy(1, UN), *bad(1, RED, norm=INF, n=0)] for _ in range(2)]
    found = gradients(looked(tmp_path, version, *ranks))
    assert [facts(one) for one in found.bad] == [("reduced", RED, "layers.1.w", 1, (0, 1), (0, 1), False)]


def test_a_reduction_beside_what_a_rank_brought(version: str, tmp_path: Path) -> None:
    rows = [*bad(1, UN, NAMES[:1]), *bad(1, RED, NAMES[:2])]
    found = gradients(looked(tmp_path, version, rows, [*healthy(1, UN), *bad(1, RED, NAMES[:2])]))
    assert [(one.cause, one.name, one.n_names) for one in found.bad] == [
        ("rank", "layers.0.w", 1),
        ("reduced", "layers.1.w", 1),
    ]


def test_reduced_alone(version: str, tmp_path: Path) -> None:
    found = gradients(looked(tmp_path, version, [*healthy(0, RED), *bad(1, RED)]))
    assert [facts(one) for one in found.bad] == [("only", RED, "layers.1.w", 1, (0,), (), True)]


def test_the_first_step_counts(version: str, tmp_path: Path) -> None:
    rows = [*healthy(0, UN), *bad(3, UN, NAMES), *bad(2, UN, NAMES[:1])]
    found = gradients(looked(tmp_path, version, rows))
    assert [(one.step, one.name, one.n_names) for one in found.bad] == [(2, "layers.0.w", 1)]


def test_the_name_that_the_backward_reached_first(version: str, tmp_path: Path) -> None:
    """Gradients go from the last layer to the first: the last bad one is the earliest."""
    found = gradients(looked(tmp_path, version, [*healthy(0, UN), *bad(1, UN, NAMES[:2])]))
    assert [(one.name, one.n_names) for one in found.bad] == [("layers.1.w", 2)]


def test_the_finding(version: str, tmp_path: Path) -> None:
    found = looked(tmp_path, version, [*healthy(0, UN), *bad(1, UN)], healthy(0, UN) + healthy(1, UN))
    told = reported(found)
    (finding,) = [f for f in told.findings if f.severity == "error"]
    assert (finding.rule, told.exit_code()) == ("overflow.monitor", 1)
    assert finding.location.line == {"v1": 6, "v2": 6}[version]
    assert "layers.1.w" in finding.subject + finding.message


# ---- what is no trouble ----


def test_rows_without_a_tensor(version: str, tmp_path: Path) -> None:
    """All is NaN, the count too: there was no tensor, which is not a NaN in one."""
    found = gradients(looked(tmp_path, version, [*healthy(0, UN), *bad(1, UN, n=-1)]))
    assert found.bad == ()


def test_a_nan_without_a_count_is_one_where_no_row_has_a_count(version: str, tmp_path: Path) -> None:
    looked_at = looked(tmp_path, version, bad(1, UN, n=-1))
    for path in tmp_path.rglob("*.csv"):
        lines = path.read_text().splitlines()
        path.write_text("".join(line.rpartition(",")[0] + "\n" for line in lines))
    assert looked_at.gradients is not None
    assert [one.name for one in gradients(analysed(tmp_path)).bad] == ["layers.1.w"]


@pytest.mark.parametrize(("norm", "n", "is_bad"), [(3.0, 1, True), (INF, 0, True), (3.0, 0, False)])
def test_what_is_bad(norm: float, n: int, is_bad: bool, version: str, tmp_path: Path) -> None:
    found = gradients(looked(tmp_path, version, [*healthy(0, UN), *bad(1, UN, norm=norm, n=n)]))
    assert bool(found.bad) == is_bad


def test_an_infinite_norm_alone_is_no_infinity(version: str, tmp_path: Path) -> None:
    """Norms of half types overflow by themselves."""
    looked(tmp_path, version, [*healthy(0, UN), *healthy(1, UN)])
    for path in tmp_path.rglob("*.csv"):
        path.write_text(path.read_text().replace(",2.0,0", ",inf,0"))
    assert gradients(analysed(tmp_path)).bad == ()


def test_healthy_files_are_clean(version: str, tmp_path: Path) -> None:
    found = looked(tmp_path, version, healthy(0, UN, RED) + healthy(1, UN, RED))
    told = reported(found)
    assert (told.verdict, told.findings, told.counts["monitor_rows"]) == ("pass", (), 12)


# ---- growth ----


def series(name: str, norms: Iterable[float], kind: str = UN) -> list[Row]:
    return [(step, kind, name, norm, 0) for step, norm in enumerate(norms)]


def test_the_largest_jump_between_two_steps(version: str, tmp_path: Path) -> None:
    rows = [*series("a", [1, 2, 50, 60]), *series("b", [1, 1, 100, 100]), *series("c", [1, 1, 1, 9])]
    (one,) = gradients(looked(tmp_path, version, rows)).growth
    assert (one.name, one.before, one.step, one.was, one.now, one.n_names) == ("b", 1, 2, 1.0, 100.0, 2)
    assert one.ratio == 100.0


@pytest.mark.parametrize(
    "norms", [[1, 9.9, 90], [0, 100], [100, 1, 9], [1, 1, 1], [1, INF], [1, NAN, NAN], [1]]
)
def test_no_jump(norms: list[float], version: str, tmp_path: Path) -> None:
    assert gradients(looked(tmp_path, version, series("a", norms))).growth == ()


def test_a_step_that_was_not_recorded_is_passed_over(version: str, tmp_path: Path) -> None:
    rows: list[Row] = [(0, UN, "a", 1.0, 0), (1, UN, "a", NAN, 4), (5, UN, "a", 30.0, 0)]
    (one,) = gradients(looked(tmp_path, version, rows)).growth
    assert (one.before, one.step, one.ratio) == (0, 5, 30.0)


def test_ranks_and_kinds_are_series_of_their_own(version: str, tmp_path: Path) -> None:
    ranks = [series("a", [1, 1]), series("a", [100, 100]), series("a", [1000, 1000], RED)]
    assert gradients(looked(tmp_path, version, *ranks)).growth == ()


@pytest.mark.parametrize(("ratio", "is_told"), [(2.0, True), (0.5, True), (1.1, False)])
def test_norms_that_grow_from_layer_to_layer(
    ratio: float, is_told: bool, version: str, tmp_path: Path
) -> None:
    rows: list[Row] = [(0, UN, f"layers.{i}.w", 3.0 * ratio**i, 0) for i in range(6)]
    slopes = gradients(looked(tmp_path, version, rows)).slopes
    assert [(s.first, s.last, round(s.ratio, 6)) for s in slopes] == ([(0, 5, ratio)] if is_told else [])


@pytest.mark.parametrize("norm", [1e308, 1e-308, 0.0])
def test_norms_at_the_ends_of_what_a_number_can_be(norm: float, version: str, tmp_path: Path) -> None:
    rows: list[Row] = [(step, UN, f"layers.{i}.w", norm, 0) for i in range(6) for step in (0, 1)]
    rows += [(2, UN, f"layers.{i}.w", 1.0, 0) for i in range(6)]
    found = gradients(looked(tmp_path, version, rows))
    assert found.slopes == () and len(found.growth) == (norm == 1e-308)


# ---- broken files ----


@pytest.mark.parametrize("cut", [60, 66, 80, 100])
def test_cut_files(cut: int, version: str, tmp_path: Path) -> None:
    looked(tmp_path, version, [*healthy(0, UN), *bad(1, UN)], healthy(0, UN))
    path = next(path for path in sorted(tmp_path.rglob("*.csv")))
    path.write_bytes(path.read_bytes()[:cut])
    found = analysed(tmp_path)
    assert found.problems and reported(found).exit_code() == 4


def test_one_rank_only(version: str, tmp_path: Path) -> None:
    looked(tmp_path, version, healthy(0, UN), bad(0, UN))
    assert analysed(tmp_path, replace(OPTIONS, rank=0)).gradients is not None
    assert gradients(analysed(tmp_path, replace(OPTIONS, rank=0))).bad == ()
    assert [one.ranks for one in gradients(analysed(tmp_path, replace(OPTIONS, rank=1))).bad] == [(1,)]

"""One fault planted anywhere in a random job of four ranks: the analysis names it, for five hundred seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.api import OverflowReport, first_overflow
from npulse.core.findings import Finding

from .random_job import Job, make_job

SEEDS_A_TEST = 25
N_SEEDS = 500


def look(job: Job, folder: Path) -> OverflowReport:
    return first_overflow(job.write(folder), options=AnalysisOptions())


def errors(report: OverflowReport) -> list[Finding]:
    return [finding for finding in report.findings if finding.severity == "error"]


def wrong(job: Job, report: OverflowReport) -> str:
    """What the report says that is not so; "" where it names the fault, its rank and where it went."""
    truth, found = job.truth, errors(report)
    assert truth is not None
    if not found:
        return f"nothing found of {truth}"
    first = found[0]
    subjects = {truth.operator, *truth.operators.values(), truth.culprit}
    ranks = {truth.rank} if isinstance(truth.rank, int) else set(truth.rank)
    if first.subject not in subjects or first.location.rank not in ranks or first.role != "origin":
        return f"{first.rule} {first.subject} on rank {first.location.rank} instead of {truth}"
    if len(found) > 1:
        return f"{found[1].rule} {found[1].subject} is no origin of its own: {truth}"
    affected = first.figures.get("affected_ranks") or sorted(ranks)
    if tuple(affected) != truth.affected_ranks:
        return f"ranks {affected} instead of {truth.affected_ranks}"
    if truth.spread_by is None and first.figures.get("spread_by"):
        return f"spread by {first.figures['spread_by']}, which nobody else got"
    return ""


@pytest.mark.parametrize("start", range(0, N_SEEDS, SEEDS_A_TEST))
def test_the_fault_is_named(tmp_path: Path, start: int) -> None:
    told = []
    for seed in range(start, start + SEEDS_A_TEST):
        job = make_job(seed, fault="any", level="L1" if seed % 2 else "mix")
        said = wrong(job, look(job, tmp_path / str(seed)))
        told += [f"seed {seed}: {said}"] if said else []
    assert told == []


def test_by_checksums_and_by_elements(tmp_path: Path) -> None:
    told = []
    for seed in range(12):
        summary = "md5" if seed % 3 else "tensor"
        job = make_job(seed, n_operators=60, fault="any", level="L1", summary=summary)
        said = wrong(job, look(job, tmp_path / str(seed)))
        told += [f"seed {seed} ({summary}): {said}"] if said else []
    assert told == []


def test_without_a_fault_nothing_is_named(tmp_path: Path) -> None:
    """Masks of -Inf and of the smallest number, and buffers full of garbage, are in all of them."""
    legal = 0
    for seed in range(30):
        report = look(make_job(seed, level="mix" if seed % 2 else "L1"), tmp_path / str(seed))
        assert errors(report) == []
        legal += report.report.counts["benign"]
    assert legal > 30


def test_a_rank_that_was_not_captured_is_missed(tmp_path: Path) -> None:
    """Without the rank of origin nobody else is blamed: it is said to have come from a peer."""
    seen = 0
    for seed in range(40):
        job = make_job(seed, n_operators=80, fault="nan", level="L1")
        truth = job.truth
        assert truth is not None and isinstance(truth.rank, int)
        folder = job.write(tmp_path / str(seed))
        for file in (folder / "step0" / f"rank{truth.rank}").iterdir():
            file.unlink()
        (folder / "step0" / f"rank{truth.rank}").rmdir()
        if len(truth.affected_ranks) < 2:
            continue
        found = errors(first_overflow(folder))
        seen += 1
        assert found and found[0].role == "unknown" and found[0].rule == "overflow.peer", (seed, found)
    assert seen > 5

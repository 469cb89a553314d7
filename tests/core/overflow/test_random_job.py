"""The generator keeps its word: clean without a fault; a fault shows at the named call and not before."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import random_job as rj
from .random_job import Job, Truth, make_job

SEEDS = range(40)
API = re.compile(r"[A-Z]\w*\.\w+\.\d+\.(forward|backward)")
MODULE = re.compile(r"Module(\.\w+)+\.[A-Z]\w*\.(forward|backward|parameters_grad)\.\d+")
HALF_MAX = 65504.0
Entries = dict[str, dict[str, Any]]


def read(folder: Path, rank: int) -> Entries:
    text = (folder / "step0" / f"rank{rank}" / "dump.json").read_text()
    entries: Entries = json.loads(text)["data"]
    return entries


def dumps(job: Job, folder: Path) -> dict[int, Entries]:
    job.write(folder)
    return {rank: read(folder, rank) for rank in range(job.n_ranks)}


def records(side: Any) -> Iterator[dict[str, Any]]:
    """The tensor records of a side, however deep."""
    if isinstance(side, list):
        for item in side:
            yield from records(item)
    elif isinstance(side, dict) and side.get("type") == "torch.Tensor":
        yield side
    elif isinstance(side, dict) and "type" not in side:
        yield from records(list(side.values()))


def is_bad(record: dict[str, Any], saturates: bool = False) -> bool:
    high, low = record["Max"], record["Min"]
    if not (math.isfinite(high) and math.isfinite(low)):
        return True
    return saturates and record["dtype"] == "torch.float16" and max(abs(high), abs(low)) == HALF_MAX


def given(entry: dict[str, Any]) -> list[Any]:
    return [entry[side] for side in ("input_args", "input_kwargs", "input", "parameters") if side in entry]


def has_bad_output(entry: dict[str, Any], saturates: bool = False) -> bool:
    return any(is_bad(r, saturates) for r in records(entry.get("output")))


def leaf(entry: dict[str, Any], path: str) -> dict[str, Any]:
    value: Any = entry["input_args"]
    for part in path.split("."):
        value = value[int(part)]
    assert isinstance(value, dict)
    return value


def origins(truth: Truth) -> tuple[int, ...]:
    return truth.rank if isinstance(truth.rank, tuple) else (truth.rank,)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_a_fault_only_masks_and_fresh_buffers_hold_what_is_not_finite(
    seed: int, tmp_path: Path
) -> None:
    job = make_job(seed, level=rj.LEVELS[seed % 2])
    assert job.truth is None
    for rank, entries in dumps(job, tmp_path).items():
        bad = {name for name, entry in entries.items() if has_bad_output(entry)}
        assert bad <= job.legal[rank]
        assert {name.split(".")[1] for name in job.legal[rank]} <= {
            *("empty_like", "masked_fill", "masked_fill_", "__add__"),
        }
        readers = {n.split(".")[1] for n, e in entries.items() if any(map(is_bad, records(given(e))))}
        assert readers <= {"softmax", "copy_", "zero_", "__add__"}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_fault_shows_at_the_named_call_and_not_before(seed: int, tmp_path: Path) -> None:
    job = make_job(seed, fault="any", level=rj.LEVELS[seed % 2])
    check_truth(job, dumps(job, tmp_path))


@pytest.mark.nightly  # of the generator alone: what it makes changes with random_job.py only
@pytest.mark.parametrize("kind", rj.KINDS)
def test_each_variant_of_each_kind_is_planted(kind: str, tmp_path: Path) -> None:
    seen = set()
    for seed in range(60):
        job = make_job(seed, fault=kind, n_operators=80, level=rj.LEVELS[seed % 2])
        assert job.truth is not None and job.truth.kind == kind
        if job.truth.variant not in seen:
            check_truth(job, dumps(job, tmp_path / str(seed)))
        seen.add(job.truth.variant)
    assert seen == set(rj.VARIANTS[kind])


def check_truth(job: Job, found: dict[int, Entries]) -> None:
    truth = job.truth
    assert truth is not None
    saturates = truth.kind == "saturated"
    first_bad = {}
    for rank, entries in found.items():
        apis = [n for n in entries if API.fullmatch(n) and n not in job.legal[rank]]
        bad = [n for n in apis if has_bad_output(entries[n], saturates)]
        if bad:
            first_bad[rank] = bad[0]
    assert {r: n for r, n in truth.first_bad.items() if n not in job.legal[r]}.items() <= first_bad.items()
    assert set(first_bad) <= set(truth.affected_ranks) == set(truth.first_bad)
    assert truth.operators[origins(truth)[0]] == truth.operator
    for rank in origins(truth):
        check_origin(truth, found[rank][truth.operators[rank]], saturates, found, rank)
    check_spread(truth, found)


def check_origin(
    truth: Truth, entry: dict[str, Any], saturates: bool, found: dict[int, Entries], rank: int
) -> None:
    assert has_bad_output(entry, saturates)
    inputs = list(records(given(entry)))
    if truth.culprit is not None:
        assert truth.kind in ("weight", "input")
        prefix = f"{truth.operator}.input."
        assert truth.culprit.startswith(prefix)
        assert is_bad(leaf(entry, truth.culprit.removeprefix(prefix)))
        assert sum(is_bad(r) for r in inputs) == 1
    elif truth.kind == "masked_row":
        assert truth.operator.startswith("Functional.softmax.")
        assert inputs[0]["Min"] == -math.inf and math.isfinite(inputs[0]["Max"])
    else:
        assert not any(is_bad(r, saturates) for r in inputs)
    if saturates:
        assert all(map(math.isfinite, (r[k] for r in records(entry["output"]) for k in ("Max", "Min"))))
    if truth.kind == "backward":
        assert truth.operator.endswith(".backward")
        names = list(found[rank])
        forward = [n for n in names[: names.index(truth.operator)] if n.endswith(".forward")]
        assert truth.operator.replace(".backward", ".forward") in forward
    else:
        assert truth.operator.endswith(".forward")
    if truth.kind == "reduce":
        assert all(name.startswith("Distributed.all_reduce.") for name in truth.operators.values())
    if truth.module is not None:
        assert MODULE.fullmatch(truth.module)


def check_spread(truth: Truth, found: dict[int, Entries]) -> None:
    others = [r for r in truth.affected_ranks if r not in origins(truth)]
    assert bool(others) == (truth.spread_by is not None) == bool(truth.spread_names)
    for rank in others:
        assert truth.first_bad[rank].startswith("Distributed.")
    if truth.spread_by is not None:
        assert truth.spread_by in truth.spread_names.values()
        assert any(truth.first_bad.get(r) == truth.spread_names.get(r) for r in others)
        assert all(name in found[rank] for rank, name in truth.spread_names.items())


@pytest.mark.parametrize("level", rj.LEVELS)
@pytest.mark.parametrize("fault", [None, "overflow", "backward"])
def test_the_same_seed_makes_the_same_bytes(fault: str | None, level: str, tmp_path: Path) -> None:
    for name in "ab":
        make_job(5, fault=fault, level=level, summary="md5").write(tmp_path / name)
    for rank in range(4):
        for file in ("dump.json", "construct.json", "stack.json"):
            a, b = (tmp_path / name / "step0" / f"rank{rank}" / file for name in "ab")
            assert a.read_bytes() == b.read_bytes()
    assert make_job(5, fault=fault, level=level).truth == make_job(5, fault=fault, level=level).truth


@pytest.mark.parametrize("seed", SEEDS)
def test_names_obey_the_grammar_and_count_from_zero(seed: int, tmp_path: Path) -> None:
    level = rj.LEVELS[seed % 2]
    job = make_job(seed, level=level)
    for rank, entries in dumps(job, tmp_path).items():
        assert list(entries) == job.names(rank) and len(set(entries)) == len(entries)
        numbers = defaultdict(list)
        for name in entries:
            is_api = API.fullmatch(name) is not None
            assert is_api or (level == "mix" and MODULE.fullmatch(name))
            if is_api and name.endswith(".forward"):
                api, number, _ = name.rsplit(".", 2)
                numbers[api].append(int(number))
            if is_api and name.endswith(".backward"):
                assert name.replace(".backward", ".forward") in entries
        assert all(found == list(range(len(found))) for found in numbers.values())
        parents = json.loads((tmp_path / "step0" / f"rank{rank}" / "construct.json").read_text())
        if level == "L1":
            assert parents == {}
        else:
            assert set(parents) == {n for n in entries if ".parameters_grad." not in n}
            assert {p for p in parents.values() if p is not None} <= set(parents)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_communication_has_its_counterparts(seed: int, tmp_path: Path) -> None:
    found = dumps(make_job(seed), tmp_path)
    sent, received = defaultdict(list), defaultdict(list)
    joined: dict[tuple[str, tuple[int, ...]], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for rank, entries in found.items():
        for name, entry in entries.items():
            api = name.split(".")[1]
            if not name.startswith("Distributed."):
                continue
            flat = [*entry["input_args"], *entry["input_kwargs"].values()]
            if api in ("send", "recv"):
                peer = next(x["value"] for x in flat if x is not None and x["type"] == "int")
                pair, side = ((rank, peer), sent) if api == "send" else ((peer, rank), received)
                output = entry["output"][0]
                side[pair].append([output[k] for k in ("dtype", "shape", "Max", "Min", "Mean", "Norm")])
                assert entry["input_args"][0] is None or api == "send"
                continue
            groups = [x for x in flat if isinstance(x, dict) and x["type"] == "torch.ProcessGroup"]
            group = tuple(groups[0]["group_ranks"]) if groups else tuple(found)
            assert rank in group
            joined[api, group][rank] += 1
    assert sent == received
    for (_, group), counts in joined.items():
        assert set(counts) == set(group) and len(set(counts.values())) == 1


@pytest.mark.nightly
def test_the_jobs_are_of_the_size_asked_for_and_ranks_differ() -> None:
    differ, with_backward, apis, groups = 0, 0, set(), set()
    for seed in SEEDS:
        job = make_job(seed)
        counts = [sum(n.endswith(".forward") for n in job.names(r)) for r in range(4)]
        assert 200 <= min(counts) and max(counts) < 320
        differ += len(set(counts)) > 1
        with_backward += any(n.endswith(".backward") for n in job.names(0))
        apis |= {n.rsplit(".", 2)[0] for n in job.names(0)}
        for entry in job.entries[0]:
            groups |= {str(v) for v in entry.sides.get("input_kwargs", {}).values() if "ProcessGroup" in v}
    assert differ > 30 and 20 < with_backward < 40
    assert len(groups) == 2  # rank 0's, of both ways to divide four ranks
    assert {f"Distributed.{n}" for n in ("all_reduce", "all_gather", "reduce_scatter", "broadcast")} < apis
    assert {f"Distributed.{n}" for n in ("all_to_all_single", "all_gather_into_tensor", "send")} < apis
    assert {"Functional.linear", "Torch.bmm", "Torch.chunk", "Tensor.add_", "Torch.empty_like"} < apis


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 8])
def test_other_numbers_of_ranks(n_ranks: int, tmp_path: Path) -> None:
    for seed in range(3):
        job = make_job(seed, n_ranks=n_ranks, n_operators=60, fault="any")
        check_truth(job, dumps(job, tmp_path / str(seed)))


def test_records_say_what_the_tensors_hold(tmp_path: Path) -> None:
    job = make_job(3, n_operators=30, n_ranks=2, summary="tensor", fault="overflow", level="mix")
    checked = 0
    for rank, entries in dumps(job, tmp_path).items():
        files = tmp_path / "step0" / f"rank{rank}" / "dump_tensor_data"
        for name, entry in entries.items():
            for record in records(list(entry.values())):
                assert record["data_name"].startswith(name)
                x = np.load(files / record["data_name"])
                kind = "float32" if record["dtype"] == "torch.bfloat16" else record["dtype"][6:]
                assert (x.dtype.name, list(x.shape)) == (kind, record["shape"])
                assert np.array_equal([x.max(), x.min()], [record["Max"], record["Min"]], equal_nan=True)
                checked += 1
        assert len(list(files.iterdir())) == sum(
            1 for e in entries.values() for _ in records(list(e.values()))
        )
    assert checked > 300


def test_md5_is_the_crc_of_the_elements() -> None:
    job = make_job(3, n_operators=30, n_ranks=2, summary="md5")
    rj._describe(job.tensors, "md5")
    for tensor in job.tensors:
        assert f'"md5": "{zlib.crc32(rj.stored(tensor).tobytes()):08x}"' in tensor.text


@pytest.mark.parametrize("wrong", [{"level": "L0"}, {"summary": "xor"}, {"fault": "none"}])
def test_what_it_does_not_know_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        make_job(0, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        make_job(0, n_ranks=1, fault="reduce")

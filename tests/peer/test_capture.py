"""The real msprobe, started by our driver in programs that know nothing of it, and read by our readers."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.capture.drivers.programs import Program

import npulse
from npulse.core.formats.msprobe.dump import read_dump
from npulse.core.run.discover import discover

from .conftest import PROGRAMS, Trained, peer_program


def entries(ran: Program, step: int) -> list[str]:
    (path,) = ran.raw.glob(f"step{step}/*/dump.json")
    dump = read_dump(path)
    assert dump.completeness == "complete" and not dump.problems
    return list(dump.calls.names)


def test_training_and_the_question_behind_it(trained: Trained) -> None:
    ran = trained("plain")
    assert "asked 50" in ran.console and ran.ended.exit_status == 0
    recorded = ran.recorded
    # the evaluation behind the training is of the trained model, without gradients: no step
    assert (recorded.outcome, recorded.steps, recorded.why) == ("recorded", (0, 1, 2), ("", ""))
    names = entries(ran, 1)
    assert recorded.n_operators == sum(len(entries(ran, step)) for step in recorded.steps)
    assert "Functional.cross_entropy.0.forward" in names, "the loss behind the model"
    assert "Functional.gelu.1.forward" in names, "taken out of torch by name"
    assert "Module.blocks.1.fc2.Linear.forward.0" in names and "Functional.linear.0.backward" in names
    assert any(name.startswith("Tensor.add_") for name in names), "the optimizer's own work"
    assert {artifact.kind for artifact in discover(ran.raw).artifacts} == {"msprobe.dump"}


@pytest.mark.nightly
def test_inference_counts_calls_and_md5_is_a_checksum_of_the_bytes(peer: str, tmp_path: Path) -> None:
    ran = peer_program(tmp_path, peer, "infer.py", step="1-2", settings={"summary_mode": "md5"}).run()
    assert ran.recorded.steps == (1, 2)
    assert entries(ran, 1) == ["Functional.linear.0.forward", "Functional.relu.0.forward"]
    (path,) = ran.raw.glob("step1/*/dump.json")
    ones = struct.pack("<16f", *[1.0] * 16)
    assert read_dump(path).leaf(0).checksum == f"{zlib.crc32(ones):08x}"


@pytest.mark.nightly
def test_two_ranks_of_torchrun(peer: str, tmp_path: Path) -> None:
    torchrun = str(Path(peer).with_name("torchrun"))
    asked = peer_program(tmp_path, peer, "ranks.py", level="mix")
    command = (torchrun, "--standalone", "--nproc_per_node=2", str(PROGRAMS / "ranks.py"))
    asked.request = replace(asked.request, command=command)
    recorded = asked.run().recorded
    assert (recorded.outcome, recorded.ranks, recorded.steps) == ("recorded", (0, 1), (0, 1)), asked.console
    dump = read_dump(asked.raw / "step0" / "rank1" / "dump.json")
    # bears the names that the model has without DistributedDataParallel around it
    assert "Module.0.Linear.forward.0" in dump.calls.names


def test_a_killed_tensor_dump_is_incomplete_and_still_read(peer: str, tmp_path: Path) -> None:
    ran = peer_program(tmp_path, peer, "long_step.py", "100", settings={"task": "tensor"}).run()
    recorded = ran.recorded
    assert ran.ended.signal == 9 and recorded.is_failure
    assert (recorded.outcome, recorded.n_operators, recorded.steps) == ("incomplete", 0, (0,))
    assert "without an index" in recorded.why[0]
    report = npulse.first_overflow(ran.raw)
    assert report.verdict != "pass"


@pytest.mark.nightly
def test_a_killed_statistics_dump_says_that_operators_are_lost(peer: str, tmp_path: Path) -> None:
    ran = peer_program(tmp_path, peer, "long_step.py", "1200").run()
    recorded = ran.recorded
    # written at every 1,000 entries: what came behind them is gone, and the file looks whole
    assert (recorded.outcome, recorded.n_operators) == ("incomplete", 2000)
    assert "did not come to their end" in recorded.why[0]


@pytest.mark.nightly
def test_asynchronous_dump_at_level_mix(peer: str, tmp_path: Path) -> None:
    ran = peer_program(tmp_path, peer, "infer.py", level="mix", settings={"async_dump": "true"}).run()
    recorded = ran.recorded
    assert (recorded.outcome, recorded.steps, recorded.n_operators) == ("recorded", (0, 1, 2), 12)


@pytest.mark.nightly
def test_nothing_recorded_has_its_cause(peer: str, tmp_path: Path) -> None:
    recorded = peer_program(tmp_path, peer, "infer.py", rank="3").run().recorded
    assert recorded.outcome == "nothing" and "No process was rank 3" in recorded.why[0]
    assert recorded.next_step[0] and recorded.next_step[1]


@pytest.mark.nightly
def test_retro_keeps_the_tensors_before_the_first_anomaly_and_the_origin_is_still_named(
    peer: str, tmp_path: Path
) -> None:
    asked = peer_program(
        tmp_path,
        peer,
        "overflow.py",
        kind="overflow",
        settings={"task": "tensor"},
        retro=3,
        stop_at_first=True,
    )
    ran = asked.run()
    assert ran.driver.wants_stop(ran.request, ran.raw) == "first-anomaly"
    assert ran.driver.finish(ran.request, ran.round, ran.ended) is None
    kept = sorted(path.name.partition(".forward")[0] for path in ran.raw.glob("step*/*/dump_tensor_data/*"))
    wanted = ["Tensor.__add__.8", "Tensor.__mul__.0", "Torch.exp.0", "Torch.relu.8"]
    assert sorted(set(kept)) == wanted
    figures = ran.driver.figures(ran.raw)
    assert figures["n_removed_tensors"] > 1000 and figures["removed_bytes"] > 1_000_000
    report = npulse.first_overflow(ran.raw)
    assert report.origin is not None and report.origin.subject == "Torch.exp.0.forward"
    assert report.problems == () and report.verdict == "fail"
    recorded = ran.recorded
    assert recorded.outcome == "recorded" and recorded.is_failure

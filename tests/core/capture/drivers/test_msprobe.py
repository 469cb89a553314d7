"""The msprobe driver: what it plans, what it refuses, what it says was recorded."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.core.capture.drivers.programs import PACKAGES, Program, program

from npulse.core.capture.driver import Ended
from npulse.core.capture.drivers import driver_of, tools_of
from npulse.core.capture.drivers.dump_preflight import dump_preflight
from npulse.core.capture.manifest import Manifest
from npulse.core.capture.programs import python_of
from npulse.core.errors import UsageError

EMPTY = "pass\n"


def dumped(
    ran: Program, step: int = 0, rank: str = "rank0", names: tuple[str, ...] = ("Torch.abs.0.forward",)
) -> Path:
    """A rank-step as msprobe leaves it, each entry with one tensor."""
    folder = ran.raw / f"step{step}" / rank
    tensors = folder / "dump_tensor_data"
    tensors.mkdir(parents=True)
    data: dict[str, Any] = {}
    for name in names:
        leaf = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [1], "Max": 1.0, "Min": 1.0}
        file = f"{name}.output.0.pt"
        data[name] = {"input_args": [], "input_kwargs": {}, "output": [{**leaf, "data_name": file}]}
        (tensors / file).write_bytes(b"x" * 100)
    index = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": "x", "data": data}
    (folder / "dump.json").write_text(json.dumps(index, indent=1))
    return folder


def noted(ran: Program, *events: dict[str, Any]) -> None:
    """The notes of a launcher in process 7."""
    folder = ran.round / "launcher"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "seen").write_text("3.11 /usr/bin/python3\n")
    lines = [json.dumps({"pid": 7, **event}) for event in events]
    (folder / "7.log").write_text("\n".join(lines) + "\n")


STARTED = ({"event": "armed"}, {"event": "started", "model": "Net"})
ENDED = {"event": "ended", "n_calls": 3, "n_evaluations": 0, "n_steps": 3}


@pytest.fixture
def ran(tmp_path: Path) -> Program:
    made = program(tmp_path, EMPTY)
    made.raw.mkdir(parents=True)
    made.ended = Ended(0, None, "", False, made.round / "console.log")
    return made


# ---- the plan ----


def test_the_usual_tool_of_precision_is_msprobe() -> None:
    assert tools_of("precision")[0] == "msprobe"
    with pytest.raises(UsageError, match="no tool 'gdb'"):
        driver_of("precision", "gdb")


def test_the_plan_starts_the_command_as_it_is_and_writes_into_the_round_alone(tmp_path: Path) -> None:
    asked = program(tmp_path, EMPTY, rank="0,2-3", step="1|4-6", level="mix", names=("conv",))
    plan = asked.driver.plan(asked.request, asked.round)
    assert plan.argv == asked.request.command
    assert plan.environment == {"PYTHONPATH": f"{asked.round}/launcher{os.pathsep}{PACKAGES}"}
    files = {file.name: file.text for file in plan.files}
    config = json.loads(files["config.json"])
    assert config["dump_path"] == str(asked.raw)
    assert (config["task"], config["level"]) == ("statistics", "mix")
    assert config["statistics"]["list"] == ["conv"]
    told = json.loads(files["launcher/launch.json"])
    assert told == {
        "tool": "msprobe",
        "config": str(asked.round / "config.json"),
        "step_on": "auto",
        "last_step": 6,
    }
    assert not asked.round.exists(), "a plan touches nothing"


def test_all_texts_of_a_plan_are_in_both_languages(tmp_path: Path) -> None:
    asked = program(tmp_path, EMPTY, names=("conv*",), settings={"dump_enable": "false"})
    notes = asked.driver.plan(asked.request, asked.round).notes
    assert len(notes) >= 4 and all(en and zh and en != zh and "{" not in en + zh for en, zh in notes)


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ({"settings": {"taks": "tensor"}}, "no setting 'taks'"),
        ({"settings": {"step-on": "epoch"}}, "step-on is one of"),
        ({"settings": {"async_dump": "maybe"}}, "true or false"),
        ({"settings": {"task": "nonsense"}}, "nonsense"),
        ({"settings": {"task": "tensor", "async_dump": "true"}}, "async_dump"),
        ({"level": "L7"}, "L7"),
        ({"step": "6-4"}, "6-4"),
    ],
)
def test_what_msprobe_does_not_take_is_refused_before_the_start(
    tmp_path: Path, asked: dict[str, Any], word: str
) -> None:
    with pytest.raises(UsageError) as refused:
        program(tmp_path, EMPTY, **asked)
    assert word in f"{refused.value} {refused.value.hint}"


def test_a_path_that_msprobe_refuses_is_refused_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="letters, digits"):
        program(tmp_path / "two words", EMPTY)


def test_without_a_command_there_is_nothing_to_record(tmp_path: Path) -> None:
    asked = program(tmp_path, EMPTY)
    with pytest.raises(UsageError):
        asked.driver.check(replace(asked.request, command=()))


def test_layers_kept_in_float32_are_files_of_the_round_and_a_note(tmp_path: Path) -> None:
    asked = program(tmp_path, EMPTY)
    request = replace(asked.request, keep_fp32=("layers.3.mlp",))
    plan = asked.driver.plan(request, asked.round)
    added = {file.name for file in plan.files} - {
        file.name for file in asked.driver.plan(asked.request, asked.round).files
    }
    assert added
    assert added == {"keep_dtype.cfg"}
    assert next(file.text for file in plan.files if file.name == "keep_dtype.cfg") == "layers.3.mlp\n"
    assert any(f"--keep_dtype={asked.round}/keep_dtype.cfg" in en for en, _ in plan.notes)


# ---- the switch ----


def test_the_switch_turns_dump_enable_and_leaves_the_rest(tmp_path: Path) -> None:
    asked = program(tmp_path, EMPTY, settings={"dump_enable": "false"})
    (config,) = [f for f in asked.driver.plan(asked.request, asked.round).files if f.name == "config.json"]
    asked.round.mkdir(parents=True)
    (asked.round / "config.json").write_text(config.text)
    (switched,) = asked.driver.switch(asked.round, True)
    assert not isinstance(switched, str) and switched.name == "config.json"
    assert json.loads(switched.text) == {**json.loads(config.text), "dump_enable": True}


def test_there_is_no_switch_where_none_was_configured_at_the_start(ran: Program) -> None:
    (ran.round / "config.json").write_text('{"task": "statistics"}')
    with pytest.raises(UsageError, match="only where it was there"):
        ran.driver.switch(ran.round, True)


# ---- what was recorded ----


def test_ranks_steps_operators_and_bytes_are_counted(ran: Program) -> None:
    noted(ran, *STARTED, ENDED)
    for step, rank in ((0, "rank0"), (0, "rank1"), (2, "rank1")):
        dumped(ran, step, rank, ("Torch.abs.0.forward", "Torch.abs.1.forward"))
    found = ran.recorded
    assert (found.outcome, found.ranks, found.steps, found.n_operators) == ("recorded", (0, 1), (0, 2), 6)
    assert found.found == {"msprobe.dump": 3} and found.n_files == 9
    assert found.size_bytes == sum(p.stat().st_size for p in ran.raw.rglob("*") if p.is_file())
    assert not found.is_failure and found.why == ("", "") and found.warnings == ()


def test_tensors_without_an_index_are_incomplete(ran: Program) -> None:
    noted(ran, *STARTED)
    folder = dumped(ran)
    (folder / "dump.json").unlink()
    found = ran.recorded
    assert found.outcome == "incomplete" and "without an index" in found.why[0]
    assert "1 processes" in found.why[0], "and the process never came to its end"


def test_an_index_that_is_cut_is_incomplete_however_young_it_is(ran: Program) -> None:
    noted(ran, *STARTED, ENDED)
    path = dumped(ran, names=("Torch.abs.0.forward", "Torch.abs.1.forward")) / "dump.json"
    path.write_text(path.read_text()[:-80])
    found = ran.recorded
    assert found.outcome == "incomplete" and "cut off" in found.why[0]
    assert found.n_operators == 1


def test_tensors_behind_the_last_write_of_the_index_are_incomplete(ran: Program) -> None:
    noted(ran, *STARTED, ENDED)
    folder = dumped(ran)
    (folder / "dump_tensor_data" / "Torch.abs.9.forward.output.0.pt").write_bytes(b"x")
    found = ran.recorded
    assert found.outcome == "incomplete" and "1 tensor files" in found.why[0]


def test_a_process_that_never_ended_makes_a_whole_looking_dump_incomplete(ran: Program) -> None:
    noted(ran, *STARTED)
    dumped(ran)
    assert ran.recorded.outcome == "incomplete"


def test_a_debugger_of_the_scripts_own_that_was_killed_is_incomplete_too(ran: Program) -> None:
    noted(ran, {"event": "armed"}, {"event": "own-debugger", "error": ""})
    dumped(ran)
    assert ran.recorded.outcome == "incomplete"


CAUSES: list[tuple[dict[str, Any], tuple[dict[str, Any], ...], str]] = [
    (
        {},
        ({"event": "armed"}, {"event": "failed", "where": "start", "error": "OSError: libhccl.so"}),
        "libhccl.so",
    ),
    (
        {},
        ({"event": "armed"}, {"event": "failed", "error": "ModuleNotFoundError: No module named 'msprobe'"}),
        "not installed in the Python that the command runs (3.11 /usr/bin/python3)",
    ),
    ({}, ({"event": "armed"}, {"event": "own-debugger", "error": "too late"}), "its own config.json counts"),
    ({}, ({"event": "armed"}, {**ENDED, "n_calls": 0, "n_steps": 0}), "No module with parameters"),
    (
        {},
        ({"event": "armed"}, {**ENDED, "n_evaluations": 3, "n_steps": 0}),
        "called 3 times without gradients",
    ),
    ({"step": "7"}, (*STARTED, ENDED), "The program made 3 steps (0 to 2), and step 7"),
    ({"rank": "4"}, (STARTED[0], {**STARTED[1], "rank": 1}, ENDED), "No process was rank 4; there were 1"),
    ({"rank": "4"}, (*STARTED, ENDED), "torch.distributed was not initialised"),
    ({}, STARTED, "did not come to their end"),
    ({}, (*STARTED, ENDED), "nothing says why"),
]


@pytest.mark.parametrize(("asked", "events", "cause"), CAUSES)
def test_nothing_recorded_has_a_cause_and_a_next_step(
    tmp_path: Path, asked: dict[str, Any], events: tuple[dict[str, Any], ...], cause: str
) -> None:
    made = program(tmp_path, EMPTY, **asked)
    made.raw.mkdir(parents=True)
    noted(made, *events)
    found = made.recorded
    assert found.outcome == "nothing" and cause in found.why[0]
    assert all((*found.why, *found.next_step))


@pytest.mark.parametrize(
    ("ended", "how"),
    [((1, None, ""), "(exit status 1)"), ((None, signal.SIGINT, "user"), "(signal 2, stopped by: user)")],
)
def test_a_program_that_ended_before_its_first_forward_pass(
    ran: Program, ended: tuple[int | None, int | None, str], how: str
) -> None:
    noted(ran, {"event": "armed"}, {**ENDED, "n_calls": 0, "n_steps": 0})
    ran.ended = Ended(*ended, False, ran.round / "console.log")
    assert f"ended {how} before its first forward pass" in ran.recorded.why[0]


def test_a_list_that_matches_nothing_is_told_by_empty_indexes(tmp_path: Path) -> None:
    made = program(tmp_path, EMPTY, names=("conv9",))
    noted(made, *STARTED, ENDED)
    dumped(made, names=())
    assert "no operator in them matches conv9" in made.recorded.why[0]


def test_a_switch_that_stayed_off_is_told(tmp_path: Path) -> None:
    made = program(tmp_path, EMPTY, settings={"dump_enable": "false"})
    noted(made, *STARTED, ENDED)
    made.raw.mkdir(parents=True)
    (made.round / "config.json").write_text('{"dump_enable": false}')
    assert "dump_enable was false" in made.recorded.why[0]


def test_a_structure_without_operators_is_all_that_it_should_hold(ran: Program) -> None:
    noted(ran, *STARTED, ENDED)
    folder = dumped(ran, names=())
    shutil.rmtree(folder / "dump_tensor_data")
    (folder / "dump.json").write_text('{\n "task": "structure",\n "level": "mix",\n "data": {}\n}')
    (ran.round / "config.json").write_text('{"task": "structure"}')
    assert ran.recorded.outcome == "recorded"


def test_errors_of_msprobe_itself_and_of_single_processes_are_warnings(ran: Program) -> None:
    noted(
        ran,
        *STARTED,
        {"event": "failed", "where": "end of a step", "error": "OSError: disk \x1b[31mfull"},
        ENDED,
    )
    folder = dumped(ran)
    (folder / "dump_error_info.log").write_text("[2026-01-01 00:00:00 +0800] cannot save\n")
    told = " ".join(en for en, _ in ran.recorded.warnings)
    assert "cannot save" in told and "end of a step" in told
    assert "\x1b" not in told


def test_more_than_one_model_is_a_warning_where_modules_are_recorded(tmp_path: Path) -> None:
    for level, n in (("mix", 1), ("L1", 0)):
        made = program(tmp_path / level, EMPTY, level=level)
        noted(made, *STARTED, {"event": "another-model", "model": "Discriminator"}, ENDED)
        dumped(made)
        (made.round / "config.json").write_text(json.dumps({"level": level}))
        assert len(made.recorded.warnings) == n


@pytest.mark.parametrize(
    ("ended", "is_failure"),
    [
        ((0, None, ""), False),
        ((1, None, ""), True),
        ((None, signal.SIGSEGV, ""), True),
        ((None, signal.SIGINT, "user"), False),
        ((1, None, "timeout"), False),
    ],
)
def test_a_program_that_fails_of_its_own_is_the_fault_that_repeat_waits_for(
    ran: Program, ended: tuple[int | None, int | None, str], is_failure: bool
) -> None:
    ran.ended = Ended(*ended, False, ran.round / "console.log")
    assert ran.recorded.is_failure is is_failure


def test_notes_that_are_cut_or_foreign_are_left_out(ran: Program) -> None:
    folder = ran.round / "launcher"
    folder.mkdir()
    (folder / "1.log").write_bytes(
        b'{"event": "armed", "pid": 1}\n[1]\n{"event": "st\n\xff\n{"event": "x"}\n'
    )
    assert [one["event"] for one in ran.log.events] == ["armed"]


# ---- preflight ----


def test_the_python_of_a_command_is_found_in_scripts_too(tmp_path: Path) -> None:
    script = tmp_path / "torchrun"
    script.write_text(f"#!{sys.executable}\n")
    script.chmod(0o755)
    shell = tmp_path / "run.sh"
    shell.write_text("#!/bin/sh\n")
    shell.chmod(0o755)
    request = program(tmp_path / "program", EMPTY).request
    assert python_of(request) == sys.executable
    assert python_of(replace(request, command=(str(script), "x.py"))) == sys.executable
    assert python_of(replace(request, command=(str(shell),))) is None
    assert python_of(replace(request, command=("nowhere-to-be-found",))) is None


def test_torch_without_msprobe_holds_the_start_back(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    shutil.copytree(PACKAGES / "torch", packages / "torch")
    (found,) = dump_preflight(program(tmp_path / "program", EMPTY, packages=packages).request)
    assert (found.severity, found.rule) == ("error", "capture.msprobe-missing")
    assert "pip install mindstudio-probe" in found.next_step
    assert dump_preflight(program(tmp_path / "both", EMPTY).request) == ()


def test_every_rule_that_preflight_names_is_documented(tmp_path: Path) -> None:
    from npulse.core.capture.rules_dump import DUMP_RULES

    packages = tmp_path / "packages"
    shutil.copytree(PACKAGES / "torch", packages / "torch")
    request = program(tmp_path / "program", EMPTY, packages=packages).request
    found = dump_preflight(request, needs_npu=True)
    assert {one.rule for one in found} == {rule.id for rule in DUMP_RULES}


def test_an_estimate_rests_on_the_newest_round_of_the_archive(tmp_path: Path) -> None:
    asked = program(tmp_path, EMPTY, step="0", settings={"task": "tensor"})
    assert asked.driver.estimate_bytes(asked.request) is None, "nobody knows the model"
    before = replace_round(asked, tmp_path / "diag" / "dump" / "first_20260101_000000")
    dumped(before, names=tuple(f"Torch.abs.{n}.forward" for n in range(50)))
    table = {"schema": 1, "kind": "precision", "tool": "msprobe", "command": list(asked.request.command)}
    recorded = {"outcome": "recorded", "size_bytes": 1}
    Manifest(before.round, {**table, "recorded": recorded}).write()
    estimate = asked.driver.estimate_bytes(asked.request)
    size = sum(path.stat().st_size for path in before.raw.rglob("*") if path.is_file())
    assert estimate is not None and estimate[0] <= estimate[1] and estimate[1] > size / 10


def replace_round(made: Program, folder: Path) -> Program:
    return Program(made.folder, made.request, made.driver, folder)


def test_tensors_that_the_index_names_and_nobody_finds_are_dropped(ran: Program) -> None:
    noted(ran, *STARTED, ENDED)
    names = tuple(f"Torch.abs.{n}.forward" for n in range(5))
    tensors = dumped(ran, names=names) / "dump_tensor_data"
    with zipfile.ZipFile(tensors / f"{names[3]}.output.0.pt", "w") as whole:
        whole.writestr("data", b"x" * 3000)
    assert (ran.recorded.outcome, ran.recorded.n_dropped) == ("recorded", 0)
    (tensors / f"{names[0]}.output.0.pt").unlink()
    (tensors / f"{names[1]}.output.0.pt").write_bytes(b"")
    cut = (tensors / f"{names[3]}.output.0.pt").read_bytes()[:-100]
    (tensors / f"{names[2]}.output.0.pt").write_bytes(cut)
    found = ran.recorded
    assert (found.outcome, found.n_dropped) == ("incomplete", 3)
    assert "3 tensors" in found.why[0] and "3 个张量" in found.why[1]
    (tensors.parent / "removed_tensors.txt").write_text(f"100\t{names[0]}.output.0.pt\n")
    assert ran.recorded.n_dropped == 2, "what npulse took away is not missing"

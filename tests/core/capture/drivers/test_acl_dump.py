"""CANN's dump through acl.json: what is planned for which program, and what lies there afterwards."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.core.capture.drivers.programs import PACKAGES, Program, program

from npulse.core.capture.archive import open_round
from npulse.core.capture.driver import Ended
from npulse.core.capture.drivers import driver_of
from npulse.core.capture.drivers.graph_files import look_at_graph_files
from npulse.core.capture.manifest import Manifest
from npulse.core.errors import UsageError

from .running import ask

SCRIPT = """
    import torch, torch_npu
    model = torch.nn.Linear()
    for _ in range(2):
        model(1)
"""


def acl(folder: Path, script: str = "pass", **asked: Any) -> Program:
    return program(folder, script, tool="acl-dump", **asked)


def config_of(asked: Program) -> dict[str, Any]:
    files = asked.driver.plan(asked.request, asked.round).files
    found: dict[str, Any] = json.loads(next(file.text for file in files if file.name == "acl.json"))
    return found["dump"]


def test_a_python_program_is_given_the_file_by_the_launcher(tmp_path: Path) -> None:
    asked = acl(tmp_path, SCRIPT, step="0|5-10")
    dump = config_of(asked)
    assert (dump["dump_path"], dump["dump_step"]) == (str(asked.raw), "0|5-10")
    assert dump["dump_op_switch"] == "on", "an eager program runs single operators"
    calls = tmp_path / "calls"
    ran = asked.run(DOUBLE_NPU_CALLS=str(calls))
    assert ran.ended.exit_status == 0, ran.console
    wanted = ["init_dump", f"set_dump {ran.round}/acl.json", "finalize_dump"]
    assert calls.read_text().splitlines() == wanted


def test_a_program_of_machine_code_is_told_where_the_file_lies(tmp_path: Path) -> None:
    binary = tmp_path / "infer"
    binary.write_bytes(b"\x7fELF" + bytes(100))
    asked = acl(tmp_path, command=(str(binary), "--batch", "1"), settings={"dump_mode": "all"})
    asked = replace(asked, request=replace(asked.request, model="resnet.om"))
    plan = asked.driver.plan(asked.request, asked.round)
    assert [file.name for file in plan.files] == ["acl.json"], "there is no Python to be told"
    assert plan.environment == {"MS_ACL_DUMP_CFG_PATH": f"{asked.round}/acl.json"}
    assert f'aclInit("{asked.round}/acl.json")' in plan.notes[0][0]
    dump = config_of(asked)
    assert dump["dump_list"] == [{"model_name": "resnet"}] and "dump_op_switch" not in dump


def test_a_model_without_a_program_is_run_by_msprobe(tmp_path: Path) -> None:
    asked = acl(tmp_path, settings={"input_data": "a.bin"})
    request = replace(asked.request, command=(), model="/models/m.om")
    asked.driver.check(request)
    plan = asked.driver.plan(request, asked.round)
    wanted = ("msprobe", "offline_dump", "--model_path", "/models/m.om", "--input_data", "a.bin")
    assert plan.argv == (*wanted, "-o", str(asked.raw)) and plan.files == ()


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ({"rank": "1"}, "knows no ranks"),
        ({"settings": {"dump_steps": "1"}}, "no setting"),
        ({"names": ("conv*",)}, "no globs"),
        ({"settings": {"dump_mode": "both"}}, "both"),
        ({"step": "5-1"}, "5-1"),
    ],
)
def test_what_cann_does_not_take_is_refused(tmp_path: Path, asked: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError) as refused:
        acl(tmp_path, **asked)
    assert word in f"{refused.value} {refused.value.hint}"


# ---- what lies there ----


@pytest.fixture
def sample(shared: Path) -> Path:
    return shared / "samples" / "cann" / "dump_path"


def ended(ran: Program, code: int | None = 0, text: str = "") -> None:
    ran.raw.mkdir(parents=True, exist_ok=True)
    console = ran.round / "console.log"
    console.write_text(text)
    ran.ended = Ended(code, None if code is not None else 9, "", code is None, console)


def test_real_files_are_counted_by_kind(tmp_path: Path, sample: Path) -> None:
    ran = acl(tmp_path)
    ended(ran)
    shutil.copytree(sample, ran.raw, dirs_exist_ok=True)
    found = ran.recorded
    looked = look_at_graph_files(ran.raw)
    assert looked.times == ("20250611171530", "20250611171600") and looked.cut == ()
    assert found.outcome == "recorded" and found.ranks == (0,) and found.steps == (0,)
    n_records = sum(path.name.startswith("Opdebug.") for path in ran.raw.rglob("*"))
    assert found.found["cann.opdebug"] == n_records == 2
    assert found.found["cann.dump"] == found.n_operators == 8


def test_a_file_with_less_than_its_header_says_makes_the_round_incomplete(
    tmp_path: Path, sample: Path
) -> None:
    ran = acl(tmp_path)
    ended(ran, None)
    shutil.copytree(sample, ran.raw, dirs_exist_ok=True)
    files = [p for p in ran.raw.rglob("*") if p.is_file() and not p.name.startswith("Opdebug")]
    victim = max((p for p in files if "." in p.name), key=lambda path: path.stat().st_size)
    content = victim.read_bytes()
    victim.chmod(0o644)
    victim.write_bytes(content[:-40])
    found = ran.recorded
    assert (found.outcome, found.n_dropped) == ("incomplete", 1)
    assert victim.name in found.why[0]


NOTHING: list[tuple[dict[str, Any], str, str]] = [
    ({}, "", "No Python of the command"),
    ({}, "[ERROR] EP0003: dump_path does not exist\n", "EP0003: dump_path does not exist"),
]


@pytest.mark.parametrize(("asked", "console", "cause"), NOTHING)
def test_nothing_has_a_cause(tmp_path: Path, asked: dict[str, Any], console: str, cause: str) -> None:
    ran = acl(tmp_path, **asked)
    ended(ran, text=console)
    found = ran.recorded
    assert found.outcome == "nothing" and cause in found.why[0] and all(found.next_step)


def test_a_program_without_torch_npu_ran_on_no_npu(tmp_path: Path) -> None:
    ran = acl(tmp_path, "import torch; torch.nn.Linear()(1)").run()
    assert "never imported torch_npu" in ran.recorded.why[0]


def test_a_dump_that_was_on_and_matched_nothing(tmp_path: Path) -> None:
    for name, asked, word in (("step", {"step": "7"}, "step 7"), ("all", {}, "no operator ran")):
        ran = acl(tmp_path / name, SCRIPT, **asked).run(DOUBLE_NPU_CALLS=str(tmp_path / "calls"))
        assert word in ran.recorded.why[0]


def test_a_compiled_program_may_not_have_taken_the_file(tmp_path: Path) -> None:
    ran = acl(tmp_path, command=(shutil.which("true") or "/bin/true",))
    ended(ran)
    assert "nothing but the program itself" in ran.recorded.why[0]
    assert sys.executable not in ran.recorded.why[0]


def test_a_python_without_torch_npu_holds_the_start_back(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    shutil.copytree(PACKAGES / "torch", packages / "torch")
    asked = acl(tmp_path / "program", packages=packages)
    assert [one.rule for one in asked.driver.preflight(asked.request)] == ["capture.torch-npu-missing"]
    whole = acl(tmp_path / "whole")
    assert whole.driver.preflight(whole.request) == ()


def test_globs_are_looked_up_in_the_names_that_are_known(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "names.txt").write_text("conv1/x\nconv2/x\nrelu\n")
    driver = driver_of("precision", "acl-dump")
    request = ask("precision", tmp_path, ("./app",), tool="acl-dump", names=("conv*",), model="m")
    with pytest.raises(UsageError) as caught:
        driver.check(request)
    assert "--set name_list=" in str(caught.value.hint) and "--name-list" not in str(caught.value.hint)
    known = replace(request, settings={"name_list": "names.txt"})
    driver.check(known)
    file = driver.plan(known, tmp_path / "round").files[0]
    (one,) = json.loads(file.text)["dump"]["dump_list"]
    assert one["layer"] == ["conv1/x", "conv2/x"]


def test_globs_are_looked_up_in_an_earlier_round_of_the_program(tmp_path: Path) -> None:
    driver = driver_of("precision", "acl-dump")
    request = ask("precision", tmp_path, ("./app",), tool="acl-dump", names=("Mat*",), model="m")
    folder = open_round(request.archive, "precision", "app", 1e9)
    step = folder / "raw" / "20260101000000" / "0" / "m" / "1" / "0"
    step.mkdir(parents=True)
    for name in ("MatMul.MatMul_1.3.7.1700000000000001", "Add.Add_2.4.7.1700000000000002"):
        (step / name).write_bytes(b"")
    recorded = {"outcome": "recorded", "size_bytes": 1}
    table = {"schema": 1, "kind": "precision", "tool": "acl-dump", "command": ["./app"], "recorded": recorded}
    Manifest(folder, table).write()
    file = driver.plan(request, tmp_path / "round").files[0]
    (one,) = json.loads(file.text)["dump"]["dump_list"]
    assert one["layer"] == ["MatMul_1"]

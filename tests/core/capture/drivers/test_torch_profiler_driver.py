"""torch_npu.profiler within an unchanged script: the launcher is real, torch_npu and PyTorch are played."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.capture.driver import RAW, PlannedFile
from npulse.core.capture.drivers.torch_profiler import DYNAMIC, Schedule, TorchProfiler, schedule_of
from npulse.core.capture.request import CaptureRequest
from npulse.core.errors import UsageError

from .running import DOUBLES, ask, finish, program, run

NPU = str(DOUBLES / "with_torch_npu")
PACKAGES = f"{DOUBLES / 'with_torch'}{os.pathsep}{NPU}"
TRAIN = """
import torch, torch_npu
class Inner(torch.nn.Module):
    def forward(self, x):
        return x + 1
class Net(torch.nn.Module):
    def __init__(self):
        self.inner = Inner()
    def forward(self, x):
        return self.inner(self.inner(x))
net, optimizer, other = Net(), torch.optim.SGD(), torch.optim.SGD()
for step in range(12):
    net(step)
    optimizer.step()
    other.step()
print("the script ended")
"""
INFER = TRAIN.replace("    optimizer.step()\n    other.step()\n", "")


def train(tmp_path: Path, text: str = TRAIN, **more: Any) -> CaptureRequest:
    environment = {"PYTHONPATH": PACKAGES, **more.pop("environment", {})}
    request = ask("performance", tmp_path, environment=environment, **more)
    (request.cwd / "train.py").write_text(text)
    return ask("performance", tmp_path, (sys.executable, "train.py"), environment=environment, **more)


def steps_written(folder: Path) -> list[list[int]]:
    found = [sorted(map(int, path.read_text().split())) for path in sorted((folder / RAW).rglob("steps.txt"))]
    return sorted(found)


def test_the_plan(tmp_path: Path) -> None:
    folder = tmp_path / "round"
    request = train(tmp_path, step="5-10", rank="0,2-3", settings={"with-stack": "yes"})
    plan = TorchProfiler().plan(request, folder)
    assert plan.argv == (sys.executable, "train.py"), "the script is started as it is"
    assert plan.environment == {
        "PYTHONPATH": f"{folder}/launcher:{PACKAGES}",
    }
    names = [file.name for file in plan.files]
    assert names == ["launcher/sitecustomize.py", "launcher/npulse_launcher.py", "launcher/launch.json"]
    assert json.loads(plan.files[2].text) == {
        "output": f"{folder}/raw",
        "schedule": {"wait": 0, "warmup": 1, "active": 6, "repeat": 1, "skip_first": 4},
        "step_on": "optimizer",
        "ranks": [0, 2, 3],
        "analyse": True,
        "with_stack": True,
        "record_shapes": False,
        "profile_memory": False,
        "with_modules": False,
        "with_flops": False,
        "l2_cache": False,
        "level": "Level1",
        "aic_metrics": "PipeUtilization",
        "data_simplification": True,
        "export_type": "text",
    }


@pytest.mark.parametrize(
    ("level", "mapped", "metrics"),
    [
        (None, "Level1", "PipeUtilization"),
        ("0", "Level0", "AiCoreNone"),
        ("1", "Level0", "AiCoreNone"),
        ("2", "Level1", "PipeUtilization"),
        ("Level2", "Level2", "PipeUtilization"),
    ],
)
def test_levels_of_the_documents(tmp_path: Path, level: str | None, mapped: str, metrics: str) -> None:
    plan = TorchProfiler().plan(train(tmp_path, level=level), tmp_path / "round")
    config = json.loads(plan.files[2].text)
    assert (config["level"], config["aic_metrics"]) == (mapped, metrics)


@pytest.mark.parametrize(
    "more",
    [
        {"level": "3"},
        {"level": "l1"},
        {"step": "5-3"},
        {"step": "0|5-10"},
        {"step": "1|4"},
        {"step": "a"},
        {"step": "5|5"},
        {"rank": "x"},
        {"names": ("Add",)},
        {"pid": 9},
        {"settings": {"step-on": "epoch"}},
        {"settings": {"active": "0"}},
        {"extra": ("-x",)},
    ],
)
def test_what_it_does_not_have_is_refused(tmp_path: Path, more: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        TorchProfiler().check(train(tmp_path, **more))


@given(
    first=st.integers(0, 40),
    length=st.integers(1, 5),
    gap=st.integers(0, 6),
    turns=st.integers(1, 5),
)
def test_a_schedule_records_the_steps_that_were_asked_for(
    first: int, length: int, gap: int, turns: int
) -> None:
    """Against the documents' own words: skip_first, then wait, warmup, active in turn."""
    from npulse.core.capture.request import CaptureRequest as Request

    begins = [first + turn * (length + gap) for turn in range(turns)]
    wanted = [step for begin in begins for step in range(begin, begin + length)]
    text = "|".join(f"{begin}-{begin + length - 1}" if length > 1 else str(begin) for begin in begins)
    request = Request("performance", ("python3",), Path("/"), Path("/"), step=text)
    if turns > 1 and first < gap:
        with pytest.raises(UsageError):
            schedule_of(request)
        return
    schedule = schedule_of(request)
    cycle = ["wait"] * schedule.wait + ["warmup"] * schedule.warmup + ["active"] * schedule.active
    actions = ["skip"] * schedule.skip_first + cycle * schedule.repeat
    assert [step for step, action in enumerate(actions) if action == "active"] == wanted
    assert list(schedule.steps) == wanted


def test_without_steps_the_third_is_recorded() -> None:
    request = CaptureRequest("performance", ("python3",), Path("/"), Path("/"))
    assert schedule_of(request) == Schedule(wait=0, warmup=1, active=1, repeat=1, skip_first=1)
    assert schedule_of(request).steps == (2,)


def test_steps_of_an_unchanged_script(tmp_path: Path) -> None:
    driver, folder = TorchProfiler(), tmp_path / "round"
    request = train(tmp_path, step="5-7")
    ended = run(driver, request, folder)
    assert "the script ended" in ended.console.read_text()
    recorded = driver.recorded(request, folder, ended)
    assert (ended.exit_status, recorded.outcome, recorded.n_operators) == (0, "recorded", 3)
    assert steps_written(folder) == [[5, 6, 7]] and recorded.steps == (5, 6, 7)
    assert driver.finish(request, folder, ended) is None


def test_steps_that_repeat_are_profiles_of_their_own(tmp_path: Path) -> None:
    driver, folder = TorchProfiler(), tmp_path / "round"
    request = train(tmp_path, step="3|6|9")
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert steps_written(folder) == [[3], [6], [9]]
    assert recorded.outcome == "recorded" and recorded.found["prof.framework"] == 3


def test_the_first_step_can_be_had(tmp_path: Path) -> None:
    driver, folder = TorchProfiler(), tmp_path / "round"
    run(driver, train(tmp_path, step="0"), folder)
    assert steps_written(folder) == [[0]]


def test_steps_of_real_modules_and_optimizers(tmp_path: Path) -> None:
    """The same with PyTorch itself, where it is installed."""
    if find_spec("torch") is None:
        pytest.skip("torch not found")
    text = """
import torch, torch_npu
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(8):
    optimizer.zero_grad()
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
"""
    driver = TorchProfiler()
    for marks in ("optimizer", "forward"):
        folder = tmp_path / marks
        request = train(
            tmp_path, text, step="3-4", settings={"step-on": marks}, environment={"PYTHONPATH": NPU}
        )
        run(driver, request, folder)
        assert steps_written(folder) == [[3, 4]]


def test_inference_has_no_optimizer(tmp_path: Path) -> None:
    driver = TorchProfiler()
    blind = train(tmp_path, INFER, step="5-7")
    recorded = driver.recorded(blind, tmp_path / "a", run(driver, blind, tmp_path / "a"))
    assert recorded.outcome == "nothing" and "step-on=forward" in recorded.next_step[0]
    request = train(tmp_path, INFER, step="5-7", settings={"step-on": "forward"})
    recorded = driver.recorded(request, tmp_path / "b", run(driver, request, tmp_path / "b"))
    assert recorded.outcome == "recorded" and steps_written(tmp_path / "b") == [[5, 6, 7]]


def test_other_ranks_are_left_alone(tmp_path: Path) -> None:
    driver = TorchProfiler()
    for rank, written in (("1", []), ("2", [[5]])):
        folder = tmp_path / rank
        run(driver, train(tmp_path, step="5", rank="0,2-3", environment={"RANK": rank}), folder)
        assert steps_written(folder) == written


def test_a_script_that_ends_early_leaves_what_there_was(tmp_path: Path) -> None:
    driver, folder = TorchProfiler(), tmp_path / "round"
    request = train(tmp_path, TRAIN.replace("range(12)", "range(7)"), step="5-10")
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert steps_written(folder) == [[5, 6, 7]]
    assert (recorded.outcome, recorded.steps) == ("incomplete", (5, 6, 7)), (
        "what is there, not what was asked"
    )
    assert "3 of 6 steps were recorded, the last is step 7" in recorded.why[0]


def test_a_profiler_that_fails_ends_no_program(tmp_path: Path) -> None:
    driver, folder = TorchProfiler(), tmp_path / "round"
    request = train(tmp_path, scenario="refuses")
    ended = run(driver, request, folder)
    assert ended.exit_status == 0 and "the script ended" in ended.console.read_text()
    recorded = driver.recorded(request, folder, ended)
    assert recorded.outcome == "nothing" and "the device is not available" in recorded.why[0]


def test_a_program_without_torch_goes_on(tmp_path: Path) -> None:
    driver, folder = TorchProfiler(), tmp_path / "round"
    request = ask("performance", tmp_path, program("print('nothing of torch')"))
    ended = run(driver, request, folder)
    assert ended.console.read_text() == "nothing of torch\n"
    assert driver.recorded(request, folder, ended).outcome == "nothing"


def test_the_users_own_sitecustomize_is_run(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("print('mine')\n")
    driver, folder = TorchProfiler(), tmp_path / "round"
    environment = {"PYTHONPATH": f"{own}{os.pathsep}{PACKAGES}"}
    request = train(tmp_path, step="5", environment=environment)
    ended = run(driver, request, folder)
    assert ended.console.read_text().startswith("mine\n") and steps_written(folder) == [[5]]


def test_a_python_that_reads_no_launcher(tmp_path: Path) -> None:
    driver, folder = TorchProfiler(), tmp_path / "round"
    request = ask("performance", tmp_path, (sys.executable, "-I", "-c", "pass"))
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert recorded.outcome == "nothing" and "no Python started that reads the launcher" in recorded.why[0]


def test_what_was_not_analysed_is_analysed_afterwards(tmp_path: Path) -> None:
    driver, folder = TorchProfiler(), tmp_path / "round"
    late = train(tmp_path, step="5", settings={"analyse": "no"})
    ended = run(driver, late, folder)
    recorded = driver.recorded(late, folder, ended)
    assert recorded.outcome == "incomplete" and "ASCEND_PROFILER_OUTPUT is missing" in recorded.why[0]
    assert driver.finish(late, folder, ended) is None, "it was not asked for"
    request = train(tmp_path, step="5")
    plan = driver.finish(request, folder, ended)
    assert plan is not None and plan.argv[:2] == (sys.executable, "-c")
    assert finish(driver, request, folder, ended) is not None
    assert driver.recorded(request, folder, ended).outcome == "recorded"


# ---- torch_npu's own dynamic_profile ----


def test_dynamic_profile(tmp_path: Path) -> None:
    driver, folder = TorchProfiler(), tmp_path / "round"
    request = train(tmp_path, settings={"way": "config", "active": "2"}, rank="0")
    plan = driver.plan(request, folder)
    assert plan.environment == {"PROF_CONFIG_PATH": f"{folder}/dynamic_profile"}
    (file,) = plan.files
    config = json.loads(file.text)
    assert config == {
        "activities": ["CPU", "NPU"],
        "prof_dir": f"{folder}/raw",
        "analyse": True,
        "with_stack": False,
        "record_shapes": False,
        "profile_memory": False,
        "with_modules": False,
        "with_flops": False,
        "active": 2,
        "warmup": 0,
        "start_step": 0,
        "is_rank": True,
        "rank_list": [0],
        "experimental_config": {
            "profiler_level": "Level1",
            "aic_metrics": "PipeUtilization",
            "l2_cache": False,
            "data_simplification": True,
            "export_type": ["text"],
        },
    }
    # another npulse switches it on, knowing the round alone
    (folder / DYNAMIC).parent.mkdir(parents=True)
    (folder / DYNAMIC).write_text(file.text)
    (changed,) = TorchProfiler().switch(folder, True)
    assert isinstance(changed, PlannedFile) and changed.name == DYNAMIC
    assert json.loads(changed.text) == {**config, "start_step": -1}


def test_dynamic_profile_takes_plain_paths_alone(tmp_path: Path) -> None:
    request = train(tmp_path, settings={"way": "config"})
    with pytest.raises(UsageError):
        TorchProfiler().plan(request, tmp_path / "轮")


def test_a_schedule_has_no_switch(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="schedule"):
        TorchProfiler().switch(tmp_path, True)


def test_no_python(tmp_path: Path) -> None:
    (found,) = TorchProfiler().preflight(ask("performance", tmp_path, ["/bin/true"]))
    assert (found.rule, found.severity) == ("capture.not-python", "error")
    assert TorchProfiler().preflight(ask("performance", tmp_path, ["python3", "train.py"])) == ()

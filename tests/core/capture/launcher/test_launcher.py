"""The launcher in programs that know nothing of it: when recording starts and stops, what never breaks."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.core.capture.drivers.programs import PACKAGES, program

from npulse.core.capture import launcher

SOURCES = [Path(launcher.__file__).parent / name for name in ("entry.py", "inside.py")]
CHECKOUT = Path(__file__).resolve().parents[4]
STEP = ["start Linear", "stop", "step"]

TRAINING = """
    import torch
    model = torch.nn.Linear()
    optimizer = torch.optim.SGD(model.parameters())
    for _ in range(3):
        torch.nn.MSELoss()(model(torch.nn.Transform()(1)))
        optimizer.step()
    print("done")
"""


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_source_is_one_that_python_38_can_run(source: Path) -> None:
    tree = ast.parse(source.read_text(encoding="utf-8"), feature_version=(3, 8))
    imported = {
        alias.name.partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names
    }
    imported |= {
        n.module.partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module
    }
    assert imported <= set(sys.stdlib_module_names), "npulse and its libraries are not there"


def test_training_is_recorded_from_the_first_call_to_the_end_of_each_optimizer_step(tmp_path: Path) -> None:
    ran = program(tmp_path, TRAINING).run()
    assert ran.calls() == [["made", *STEP, *STEP, *STEP]]
    assert "done" in ran.console and ran.ended.exit_status == 0


def test_steps_behind_the_last_one_that_is_wanted_are_not_begun(tmp_path: Path) -> None:
    assert program(tmp_path, TRAINING, step="0-1").run().calls() == [["made", *STEP, *STEP]]


def test_transforms_losses_and_calls_inside_of_calls_begin_no_step(tmp_path: Path) -> None:
    script = """
        import torch
        class Outer(torch.nn.Linear):
            def __init__(self):
                super().__init__()
                self.inner = torch.nn.Linear()
            def forward(self, x):
                return self.inner(self.inner(x))
        with torch.no_grad():
            torch.nn.Transform()(1); torch.nn.MSELoss()(1); Outer()(1)
    """
    assert program(tmp_path, script).run().calls() == [["made", "start Outer", "stop", "step"]]


def test_a_call_without_gradients_is_a_step_that_ends_with_it(tmp_path: Path) -> None:
    script = """
        import glob, torch
        model = torch.nn.Linear()
        with torch.no_grad():
            for _ in range(2):
                model(1)
                print("after:", open(glob.glob("diag/round/raw/calls.*")[0]).read().split())
    """
    ran = program(tmp_path, script).run()
    assert ran.calls() == [["made", *STEP, *STEP]]
    assert ran.console.splitlines()[0].endswith("'stop', 'step']")


def test_a_call_with_gradients_lasts_until_the_next_one_so_that_its_backward_belongs_to_it(
    tmp_path: Path,
) -> None:
    script = """
        import glob, torch
        model = torch.nn.Linear()
        for _ in range(2):
            model(1)
            print("after:", open(glob.glob("diag/round/raw/calls.*")[0]).read().split())
    """
    ran = program(tmp_path, script).run()
    assert ran.calls() == [["made", *STEP, *STEP]]
    assert ran.console.splitlines()[0].endswith("'start', 'Linear']")


def test_what_a_backward_pass_computes_again_begins_no_step(tmp_path: Path) -> None:
    script = """
        import torch
        model = torch.nn.Linear()
        model(1)
        with torch.backward_pass():
            model(1)
    """
    assert program(tmp_path, script).run().calls() == [["made", *STEP]]


def test_an_evaluation_of_the_trained_model_begins_no_step(tmp_path: Path) -> None:
    script = """
        import torch
        model = torch.nn.Linear()
        torch.optim.SGD(model.parameters())
        with torch.no_grad():
            model(1)
    """
    ran = program(tmp_path, script).run()
    assert ran.calls() == [["made"]]
    assert ran.recorded.outcome == "nothing" and "without gradients" in ran.recorded.why[0]


def test_a_frozen_model_called_without_gradients_belongs_to_the_training_step(tmp_path: Path) -> None:
    script = """
        import torch
        frozen, model = torch.nn.Linear(), torch.nn.Linear()
        frozen.weight.requires_grad = False
        optimizer = torch.optim.SGD(model.parameters())
        with torch.no_grad():
            x = frozen(1)
        model(x)
        optimizer.step()
    """
    ran = program(tmp_path, script).run()
    assert ran.calls() == [["made", *STEP]]
    assert [one["model"] for one in ran.log.of("another-model")] == ["Linear"]


def test_step_on_forward_counts_calls_and_not_optimizer_steps(tmp_path: Path) -> None:
    script = """
        import torch
        model = torch.nn.Linear()
        optimizer = torch.optim.SGD(model.parameters())
        model(1); model(1)
        optimizer.step()
    """
    ran = program(tmp_path, script, settings={"step-on": "forward"}).run()
    assert ran.calls() == [["made", *STEP, *STEP]]
    assert program(tmp_path / "auto", script).run().calls() == [["made", *STEP]]


def test_a_step_that_a_gradient_scaler_leaves_out_ends_all_the_same(tmp_path: Path) -> None:
    script = """
        import torch
        model, scaler = torch.nn.Linear(), torch.amp.GradScaler()
        optimizer = torch.optim.SGD(model.parameters())
        for scaler.found_inf in (True, False):
            model(1)
            scaler.step(optimizer)
    """
    assert program(tmp_path, script).run().calls() == [["made", *STEP, *STEP]]


def test_a_program_that_raises_leaves_its_step_stopped_and_its_own_error(tmp_path: Path) -> None:
    script = """
        import torch
        model = torch.nn.Linear()
        torch.optim.SGD(model.parameters())
        model(1)
        raise ValueError("of the program")
    """
    ran = program(tmp_path, script).run()
    assert ran.calls() == [["made", *STEP]]
    assert ran.ended.exit_status == 1 and "ValueError: of the program" in ran.console


def test_torch_imported_late_and_inside_of_a_function(tmp_path: Path) -> None:
    script = """
        def main():
            import torch.nn
            torch.nn.Linear()(1)
        main()
    """
    assert program(tmp_path, script).run().calls() == [["made", *STEP]]


def test_version_whose_start_takes_no_model_gets_it_when_it_is_made(tmp_path: Path) -> None:
    ran = program(tmp_path, TRAINING, step="0").run(DOUBLE_MSPROBE_OLD="1")
    assert ran.calls() == [["made", "model Linear", "start", "stop", "step"]]


@pytest.mark.parametrize(("version", "is_early"), [("26.2.0", True), ("8.3.3", True), ("1.2.2", False)])
def test_versions_that_may_be_made_early_are_and_others_at_the_first_call(
    tmp_path: Path, version: str, is_early: bool
) -> None:
    packages = tmp_path / "packages"
    shutil.copytree(PACKAGES, packages)
    (about,) = packages.glob("mindstudio_probe*")
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mindstudio-probe\nVersion: {version}\n")
    script = """
        import glob, torch
        print("early" if glob.glob("diag/round/raw/calls.*") else "not yet")
        torch.nn.Linear()(1)
    """
    ran = program(tmp_path / "program", script, packages=packages).run()
    assert ran.console == ("early\n" if is_early else "not yet\n")
    assert ran.calls() == [["made", *STEP]]


# ---- other processes ----


def test_children_that_load_data_record_nothing(tmp_path: Path) -> None:
    script = """
        import multiprocessing, torch, torch.utils.data
        model = torch.nn.Linear()
        def load():
            torch.utils.data.worker = object()
            model(1)
        if __name__ == "__main__":
            for way in ("fork", "spawn"):
                child = multiprocessing.get_context(way).Process(target=load)
                child.start(); child.join()
                print(way, child.exitcode)
    """
    ran = program(tmp_path, script).run()
    assert "fork 0" in ran.console and "spawn 0" in ran.console
    assert ran.calls() == [["made"]]


def test_a_child_forked_while_its_parent_records_leaves_the_recording_to_it(tmp_path: Path) -> None:
    script = """
        import os, torch
        from msprobe.pytorch import PrecisionDebugger
        model = torch.nn.Linear()
        model(1)
        if os.fork() == 0:
            service = PrecisionDebugger._instance.service
            model(1)
            print("child", service.primitive_switch, service.current_pid == os.getpid(), flush=True)
            os._exit(0)
        os.wait()
    """
    ran = program(tmp_path, script).run()
    assert ran.calls() == [["made", *STEP]]
    assert "child False True" in ran.console


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_a_child_that_trains_is_recorded_as_itself(tmp_path: Path, way: str) -> None:
    script = f"""
        import multiprocessing, torch
        def train():
            torch.nn.Linear()(1)
            from npulse_launcher import _recorder
            _recorder[0].at_exit()  # multiprocessing leaves with os._exit
        if __name__ == "__main__":
            child = multiprocessing.get_context("{way}").Process(target=train)
            child.start(); child.join()
    """
    ran = program(tmp_path, script).run()
    assert [calls for calls in ran.calls() if len(calls) > 1] in ([["made", *STEP]], [STEP])


def test_processes_of_a_shell_script_are_each_recorded(tmp_path: Path) -> None:
    command = ("sh", "-c", f"{sys.executable} script.py; {sys.executable} script.py")
    ran = program(tmp_path, TRAINING, command=command, step="0").run()
    assert ran.calls() == [["made", *STEP]] * 2


# ---- what never breaks the program ----


@pytest.mark.parametrize(
    ("variable", "word"),
    [("DOUBLE_MSPROBE_BROKEN", "libhccl.so"), ("DOUBLE_MSPROBE_FAILS", "start failed")],
)
def test_a_failure_of_msprobe_is_told_and_does_not_reach_the_program(
    tmp_path: Path, variable: str, word: str
) -> None:
    ran = program(tmp_path, TRAINING).run(**{variable: "1"})
    assert ran.ended.exit_status == 0 and ran.console == "done\n"
    assert word in ran.recorded.why[0]


def test_msprobe_that_is_not_installed_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    shutil.copytree(PACKAGES / "torch", packages / "torch")
    ran = program(tmp_path / "program", TRAINING, packages=packages).run()
    assert ran.ended.exit_status == 0 and ran.console == "done\n"
    recorded = ran.recorded
    assert recorded.outcome == "nothing" and "msprobe is not installed" in recorded.why[0]
    assert "pip install mindstudio-probe" in recorded.next_step[0]


def test_a_launcher_folder_that_cannot_be_written_costs_the_log_alone(tmp_path: Path) -> None:
    planned = program(tmp_path, TRAINING)
    ran = planned.run(HOME="/nonexistent")
    shutil.rmtree(ran.round / "launcher")
    (ran.round / "launcher").write_text("a file where the folder was")
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={**ran.request.environment, "PYTHONPATH": f"{ran.round / 'launcher'}:{PACKAGES}"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "done\n")


def test_the_sitecustomize_behind_it_is_executed_as_ever(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    shutil.copytree(PACKAGES, packages)
    (packages / "sitecustomize.py").write_text("import sys; sys.own_site = __file__\n")
    script = "import sys, sitecustomize; print(sys.own_site, sitecustomize.__file__)"
    ran = program(tmp_path / "program", script, packages=packages).run()
    assert ran.console.split() == [str(packages / "sitecustomize.py")] * 2


def test_an_error_in_the_sitecustomize_behind_it_is_shown_as_ever(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    shutil.copytree(PACKAGES, packages)
    (packages / "sitecustomize.py").write_text("raise RuntimeError('of the site')\n")
    ran = program(tmp_path / "program", TRAINING, packages=packages, step="0").run()
    assert "RuntimeError: of the site" in ran.console and "done" in ran.console
    assert ran.calls() == [["made", *STEP]]


def test_a_torch_that_cannot_be_loaded_fails_as_it_would_alone(tmp_path: Path) -> None:
    ran = program(tmp_path, TRAINING).run(DOUBLE_TORCH_BROKEN="1")
    assert ran.ended.exit_status == 1 and "this torch cannot be loaded" in ran.console
    assert "npulse" not in ran.console.replace(str(tmp_path), "").replace(str(CHECKOUT), "")


def test_a_program_without_torch_loads_nothing_of_it(tmp_path: Path) -> None:
    script = """
        import sys
        print([name for name in sys.modules if "npulse" in name], "json" in sys.modules)
    """
    ran = program(tmp_path, script).run()
    assert ran.console == "[] False\n"
    assert sorted(path.name for path in (ran.round / "launcher").glob("*.log")) == []
    assert "no process imported torch" in ran.recorded.why[0]


def test_the_program_finds_its_own_modules_and_arguments_unchanged(tmp_path: Path) -> None:
    script = """
        import sys, torch
        print(sys.argv, torch.nn.Module.__call__.__name__, torch.optim.SGD.step.__name__)
        print(torch.nn.Module.__subclasses__()[0].__mro__[-2].__name__)
    """
    ran = program(tmp_path, script).run()
    assert ran.console.splitlines() == ["['script.py'] _call_impl step", "Module"]


# ---- a debugger of the program's own ----


def test_a_debugger_of_the_program_gets_the_configuration_and_keeps_its_steps(tmp_path: Path) -> None:
    script = """
        import torch
        from msprobe.pytorch import PrecisionDebugger
        debugger = PrecisionDebugger(config_path="nowhere.json")
        debugger.start(); torch.nn.Linear()(1); debugger.stop(); debugger.step()
    """
    ran = program(tmp_path, script).run()
    assert ran.ended.exit_status == 0, ran.console
    assert ran.calls() == [["made", "start NoneType", "stop", "step"]]
    assert [one["error"] for one in ran.log.of("own-debugger")] == [""]


def test_a_python_that_reads_no_environment_is_told(tmp_path: Path) -> None:
    ran = program(tmp_path, "print(1)", command=(sys.executable, "-I", "script.py")).run()
    assert ran.recorded.outcome == "nothing"
    assert "PYTHONPATH" in ran.recorded.why[0]
    assert str(ran.round / "config.json") in ran.recorded.next_step[0]


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.12", "3.13"])
def test_it_runs_on_the_pythons_that_are_here(tmp_path: Path, version: str) -> None:
    python = next(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"), None) or shutil.which(
        f"python{version}"
    )
    if (
        python is None
        or subprocess.run([python, "-c", ""], capture_output=True, env=dict(os.environ)).returncode
    ):
        pytest.skip(f"no Python {version} here")
    ran = program(tmp_path, TRAINING, python=str(python), step="0").run()
    assert ran.calls() == [["made", *STEP]], ran.console

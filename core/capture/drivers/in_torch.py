"""Runs within the user's program, whatever its Python and PyTorch: copied into a round, not imported here.

Until torch_npu is imported only the standard library is needed. Whatever goes wrong is one line on standard
error: the program itself goes on as if nobody had asked.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from importlib import import_module
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))


def on_import(name: str, module: Any) -> None:
    """A watched module was loaded: with torch_npu the wait for the first call begins, if this rank is meant.

    May raise: the launcher notes it.
    """
    if name != "torch_npu":
        return
    with open(os.path.join(HERE, "launch.json"), encoding="utf-8") as file:
        config = json.load(file)
    rank = int(os.environ.get("RANK") or os.environ.get("LOCAL_RANK") or 0)
    if not config["ranks"] or rank in config["ranks"]:
        Capture(config).wait_for_work()


def tell(what: str, error: Exception) -> None:
    print(f"npulse: {what}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)


class Capture:
    """Starts with the first module that is called: only then the program has chosen its device."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._profiler: Any = None
        self._has_begun = False
        self._waiting: Any = None
        self._stepping: int | None = None
        self._outermost: int | None = None

    def wait_for_work(self) -> None:
        modules = import_module("torch.nn.modules.module")
        self._waiting = modules.register_module_forward_pre_hook(self._before_forward)
        if self._config["step_on"] == "forward":
            modules.register_module_forward_hook(self._after_forward)
        else:
            import_module("torch.optim.optimizer").register_optimizer_step_post_hook(self._after_optimizer)
        atexit.register(self._stop)

    def _before_forward(self, module: Any, args: Any) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._guarded("the profiler cannot be started", self._start)
            if self._config["step_on"] != "forward":
                self._waiting.remove()
        if self._outermost is None:
            self._outermost = id(module)

    def _after_forward(self, module: Any, args: Any, output: Any) -> None:
        if self._outermost == id(module):
            self._outermost = None
            self._step()

    def _after_optimizer(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._stepping is None:
            self._stepping = id(optimizer)
        if self._stepping == id(optimizer):  # of several optimizers the first one ends the steps
            self._step()

    def _start(self) -> None:
        config = self._config
        kit = import_module("torch_npu.profiler")
        extra = kit._ExperimentalConfig(
            profiler_level=getattr(kit.ProfilerLevel, config["level"]),
            aic_metrics=getattr(kit.AiCMetrics, config["aic_metrics"]),
            l2_cache=config["l2_cache"],
            data_simplification=config["data_simplification"],
            export_type=[getattr(kit.ExportType, config["export_type"].capitalize())],
        )
        profiler = kit.profile(
            activities=[kit.ProfilerActivity.CPU, kit.ProfilerActivity.NPU],
            schedule=kit.schedule(**config["schedule"]),
            on_trace_ready=kit.tensorboard_trace_handler(config["output"], analyse_flag=config["analyse"]),
            record_shapes=config["record_shapes"],
            profile_memory=config["profile_memory"],
            with_stack=config["with_stack"],
            with_modules=config["with_modules"],
            with_flops=config["with_flops"],
            experimental_config=extra,
        )
        profiler.start()
        self._profiler = profiler

    def _step(self) -> None:
        if self._profiler is not None:
            self._guarded("the profiler failed at a step", self._profiler.step)

    def _stop(self) -> None:
        if self._profiler is not None:
            self._guarded("the profiler failed at its end", self._profiler.stop)

    def _guarded(self, what: str, act: Any) -> None:
        try:
            act()
        except Exception as error:
            self._profiler = None
            tell(what, error)

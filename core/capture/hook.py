"""For scripts that mark their steps themselves: msprobe's PrecisionDebugger by a configuration, in two lines.

    import npulse.hook

    hook = npulse.hook.register_dump_hook("config.json")
    for batch in loader:
        with hook(model):  # or hook.start(model) ... hook.stop(); hook.step()
            loss = model(batch).sum()
            loss.backward()
            optimizer.step()

Call it as early as can be: functions that were taken out of torch by name before are not recorded.
`npulse config new --tool msprobe` makes the configuration. Under `npulse capture` the round's own one takes
its place, and the steps stay those of the script.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import TracebackType
from typing import Any, Literal

from npulse.core.errors import EnvironmentLacks, InputError

from .launcher.inside import takes

Framework = Literal["pytorch", "mindspore"]


class DumpHook:
    """Recording on and off. As a context manager one step: started on entry, stopped and counted at the end,
    also of a step that raises."""

    def __init__(self, debugger: Any, model: Any = None) -> None:
        self.debugger = debugger
        self.model = model

    def __call__(self, model: Any) -> DumpHook:
        """The same hook with the model whose modules are recorded (levels L0 and mix)."""
        self.model = model
        return self

    def start(self, model: Any = None) -> None:
        """Record from here on. model: as in `__call__`; the one that was given last where it is None."""
        self.model = self.model if model is None else model
        if self.model is not None and takes(self.debugger.start, "model"):
            self.debugger.start(model=self.model)
        else:
            self.debugger.start()

    def stop(self) -> None:
        """Record no more, and write what was recorded."""
        self.debugger.stop()

    def step(self) -> None:
        """The step is over: what comes belongs to the next one."""
        self.debugger.step()

    def __enter__(self) -> DumpHook:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.step()


def register_dump_hook(
    config_path: str | os.PathLike[str], model: Any = None, *, framework: Framework | None = None
) -> DumpHook:
    """The hook for a config.json of msprobe. framework: MindSpore where that alone is loaded, else PyTorch.

    model: the torch.nn.Module (or list of them) whose modules levels L0 and mix record. There is one debugger
    in a process: a second call gets the first one's. Raises InputError (no such file) and EnvironmentLacks
    (msprobe is not installed here).
    """
    path = os.fspath(config_path)
    if not os.path.isfile(path):
        raise InputError("there is no such configuration", path=path, hint="npulse config new --tool msprobe")
    chosen = framework or _loaded_framework()
    try:
        kind = import_module(f"msprobe.{chosen}").PrecisionDebugger
    except ImportError as error:
        hint = f"{sys.executable} -m pip install mindstudio-probe"
        raise EnvironmentLacks(f"msprobe for {chosen} cannot be imported: {error}", hint=hint) from error
    named: dict[str, Any] = {"config_path": path}
    if model is not None and takes(kind.__init__, "model"):
        named["model"] = model
    return DumpHook(kind(**named), model)


def _loaded_framework() -> Framework:
    return "mindspore" if "mindspore" in sys.modules and "torch" not in sys.modules else "pytorch"

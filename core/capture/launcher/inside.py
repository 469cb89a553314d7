"""What records inside a captured program: written into the round as npulse_launcher.py.

`sitecustomize.py` beside it loads it when torch has been imported. It starts and stops msprobe's
PrecisionDebugger (or CANN's dump) around the steps of a program that knows nothing of it:

- Training: from the first call of a module to the end of the optimizer's step. A trained module that is
  called without gradients is an evaluation and begins no step.
- Otherwise each call of an outermost module is a step; with gradients on it lasts until the next one begins,
  so that a backward pass belongs to it.

Modules without parameters and buffers (transforms) and losses are no models. Nothing that fails in here
reaches the program: it is written into `<pid>.log` beside this file. Standard library only, Python 3.8 and
newer.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import json
import os
import sys
import threading
import time
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_TEXT = 500


class Log:
    """One file a process, one JSON object a line."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def write(self, event: str, **values: Any) -> None:
        values.update(event=event, pid=os.getpid(), time=round(time.time(), 3))
        for name in ("RANK", "LOCAL_RANK"):
            if os.environ.get(name, "").isdigit():
                values.setdefault(name.lower(), int(os.environ[name]))
        try:
            line = json.dumps(values, default=str)
            with open(os.path.join(self.folder, f"{os.getpid()}.log"), "a", encoding="utf-8") as file:
                file.write(line + "\n")
        except (OSError, ValueError, TypeError):
            return

    def failed(self, where: str, error: BaseException) -> None:
        self.write("failed", where=where, error=f"{type(error).__name__}: {error}"[:MAX_TEXT])


class Tool:
    """What records: msprobe or CANN's dump. Methods may raise; the recorder keeps that from the program."""

    def __init__(self, settings: Dict[str, Any], log: Log) -> None:
        self.settings, self.log = settings, log

    def prepare(self) -> None:
        """Early, before the program has taken functions out of torch by name."""

    def start(self, model: Any) -> None:
        raise NotImplementedError

    def finish_step(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        """At the end of the program."""

    def leave_child(self, is_recording: bool) -> None:
        """In a process that was forked off this one."""


class Msprobe(Tool):
    """PrecisionDebugger of any version; what its functions take is asked of themselves."""

    debugger: Any = None

    def prepare(self) -> None:
        if self.debugger is None and self.is_early_safe() and not self.wants_model_first():
            self.make(None)

    def is_early_safe(self) -> bool:
        """From 8.x on. 1.x replaces functions that parts of torch need which are imported later."""
        major = version_of("mindstudio-probe").partition(".")[0]
        return major.isdecimal() and int(major) >= 8

    def wants_model_first(self) -> bool:
        """Of versions whose `start` takes no model."""
        return not takes(self.debugger_class().start, "model")

    def debugger_class(self) -> Any:
        from importlib import import_module

        return import_module("msprobe.pytorch").PrecisionDebugger

    def make(self, model: Any) -> None:
        kind = self.debugger_class()
        if self.debugger is not None:  # made while its own package was being imported
            return
        if getattr(kind, "_instance", None) is not None:
            raise OwnDebugger("it was made before the launcher could: its own config.json counts")
        named = {"config_path": self.settings["config"]}
        if model is not None and takes(kind.__init__, "model"):
            named["model"] = model
        self.debugger = kind(**named)
        self.log.write("made", msprobe=version_of("mindstudio-probe"))
        watch_for_own(kind, self.log)

    def start(self, model: Any) -> None:
        if self.debugger is None:
            self.make(model)
        if takes(self.debugger.start, "model"):
            self.debugger.start(model=model)
        else:
            self.debugger.start()

    def finish_step(self) -> None:
        self.debugger.stop()
        self.debugger.step()

    def leave_child(self, is_recording: bool) -> None:
        """What the parent records is not for its children to write; a folder bears its own process's id."""
        service = getattr(self.debugger, "service", None)
        if service is None:
            return
        if hasattr(service, "current_pid"):
            service.current_pid = os.getpid()
        if is_recording:
            for name in ("primitive_switch", "switch", "inner_switch"):
                if isinstance(getattr(service, name, None), bool):
                    setattr(service, name, False)
            runtime = sys.modules.get("msprobe.core.common.runtime")
            if runtime is not None:
                runtime.Runtime.is_running = False


class AclDump(Tool):
    """CANN's own dump of what runs on the device, switched on where the device is already chosen."""

    is_on = False

    def start(self, model: Any) -> None:
        if self.is_on:
            return
        npu = sys.modules["torch_npu"].npu
        npu.init_dump()
        npu.set_dump(self.settings["config"])
        self.is_on = True

    def finish_step(self) -> None:
        """Steps are counted by CANN."""

    def end(self) -> None:
        if self.is_on:
            sys.modules["torch_npu"].npu.finalize_dump()


class OwnDebugger(Exception):
    """The program has a PrecisionDebugger of its own."""


class Recorder:
    """When the tool records: between `begins` and `ends` of calls, at optimizer steps, at the end."""

    def __init__(self, settings: Dict[str, Any], log: Log) -> None:
        self.log = log
        self.step_on: str = settings.get("step_on", "auto")
        self.last_step: Optional[int] = settings.get("last_step")
        self.tool: Tool = AclDump(settings, log) if settings["tool"] == "acl-dump" else Msprobe(settings, log)
        self.lock = threading.RLock()
        self.torch: Any = None
        self.is_off = False
        self.is_recording = False
        self.is_until_next = False  # whether the step lasts until the next call begins
        self.has_started = False
        self.n_inside = 0  # calls of outermost modules that have not returned, of all threads
        self.models: List[Any] = []
        self.n_optimizers = self.n_calls = self.n_evaluations = self.n_optimizer_steps = self.n_steps = 0

    # ---- what the program does ----

    def begins(self, model: Any) -> None:
        """An outermost module is called."""
        with self.lock:
            self.n_inside += 1
            if self.is_off or self.is_helper() or self.n_inside > 1 or is_in_backward(self.torch):
                return
            self.n_calls += 1
            has_gradients = bool(self.torch.is_grad_enabled())
            if self.trains():
                if self.is_recording:
                    self.see(model)
                elif has_gradients or not is_trained(model):
                    self.start(model)
                else:
                    self.n_evaluations += 1
                return
            if self.is_recording:
                self.finish()
            self.is_until_next = has_gradients
            self.start(model)

    def ends(self) -> None:
        """The outermost module returned, or raised."""
        with self.lock:
            self.n_inside -= 1
            is_over = self.n_inside == 0 and not self.is_until_next
            if self.is_recording and is_over and not self.trains():
                self.finish()

    def optimizer_stepped(self) -> None:
        with self.lock:
            self.n_optimizer_steps += 1
            if self.is_recording and self.step_on != "forward":
                self.finish()

    def at_exit(self) -> None:
        with self.lock:
            if self.is_recording:
                self.finish()
            self.guarded("end of the program", self.tool.end)
            self.is_off = True
            names = ("n_calls", "n_evaluations", "n_optimizers", "n_optimizer_steps", "n_steps")
            self.log.write("ended", **{name: getattr(self, name) for name in names})

    def in_child(self) -> None:
        """After a fork: helpers of a process that records do not."""
        self.lock = threading.RLock()
        self.n_inside = 0
        was_recording, self.is_recording = self.is_recording, False
        try:
            self.tool.leave_child(was_recording)
        except Exception as error:
            self.log.failed("fork", error)
        self.is_off = self.is_off or self.has_started

    # ---- the tool ----

    def trains(self) -> bool:
        return self.step_on == "optimizer" or (self.step_on == "auto" and self.n_optimizers > 0)

    def see(self, model: Any) -> None:
        """Of several models in a step the tool was given the first one alone."""
        if not any(model is known for known in self.models):
            self.models.append(model)
            if len(self.models) > 1:
                self.log.write("another-model", model=type(model).__name__)

    def is_helper(self) -> bool:
        """Whether this process only loads data."""
        data = sys.modules.get("torch.utils.data")
        worker = getattr(data, "get_worker_info", None)
        if worker is not None and worker() is not None:
            self.is_off = True
        return self.is_off

    def start(self, model: Any) -> None:
        was_first, self.has_started = not self.has_started, True
        self.see(model)
        self.is_recording = self.guarded("start", lambda: self.tool.start(plain_model(model)))
        if self.is_recording and was_first:
            self.log.write("started", model=type(model).__name__)

    def finish(self) -> None:
        self.is_recording = False
        if self.guarded("end of a step", self.tool.finish_step):
            if self.last_step is not None and self.n_steps >= self.last_step:
                self.is_off = True
        self.n_steps += 1

    def prepare(self) -> None:
        """What can be done before the first call. A failure is tried again then."""
        try:
            self.tool.prepare()
        except OwnDebugger as error:
            self.is_off = True
            self.log.write("own-debugger", error=str(error))
        except Exception as error:
            self.log.failed("start of msprobe", error)

    def guarded(self, where: str, action: Callable[[], None]) -> bool:
        """Whether the tool did it. One failure is the end of the recording, never of the program."""
        if self.is_off:
            return False
        try:
            action()
        except OwnDebugger as error:
            self.is_off = True
            self.log.write("own-debugger", error=str(error))
            return False
        except Exception as error:
            self.is_off = True
            self.log.failed(where, error)
            return False
        return True


# ---- where the recorder listens ----


def listen(torch: Any, recorder: Recorder) -> None:
    """Hear of module calls and optimizer steps from now on."""
    recorder.torch = torch
    hear_calls(torch, recorder)
    hear_steps(torch.optim.Optimizer, recorder, is_optimizer=True)
    for name in ("torch.amp.grad_scaler", "torch.cuda.amp.grad_scaler"):
        scaler = getattr(sys.modules.get(name), "GradScaler", None)
        if scaler is not None:  # it leaves out the optimizer's step where a gradient overflowed
            hear_steps(scaler, recorder, is_optimizer=False)
    atexit.register(recorder.at_exit)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=recorder.in_child)


def hear_calls(torch: Any, recorder: Recorder) -> None:
    module_class = torch.nn.Module
    call = module_class.__call__
    is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    losses = getattr(sys.modules.get("torch.nn.modules.loss"), "_Loss", ())
    inside = threading.local()

    def is_model(module: Any) -> bool:
        if isinstance(module, losses):
            return False
        for content in (module.parameters, module.buffers):
            for _ in content():
                return True
        return False

    @functools.wraps(call)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(inside, "call", False) or recorder.is_off or (is_compiling is not None and is_compiling()):
            return call(self, *args, **kwargs)
        inside.call = True
        try:
            if not asked(is_model, self):
                inside.call = False
                return call(self, *args, **kwargs)
            recorder.begins(self)
            try:
                return call(self, *args, **kwargs)
            finally:
                recorder.ends()
        finally:
            inside.call = False

    module_class.__call__ = __call__


def hear_steps(kind: Any, recorder: Recorder, is_optimizer: bool) -> None:
    """Wrap the `step` of each class of which an object is made."""
    make = kind.__init__

    def hear(cls: Any) -> None:
        step = cls.step
        if getattr(step, "_npulse", False):
            return

        @functools.wraps(step)
        def heard(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return step(self, *args, **kwargs)
            finally:
                recorder.optimizer_stepped()

        heard._npulse = True  # type: ignore[attr-defined]
        cls.step = heard

    @functools.wraps(make)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        recorder.n_optimizers += int(is_optimizer)
        try:
            hear(type(self))
        except Exception as error:
            recorder.log.failed("optimizer", error)

    kind.__init__ = __init__


def watch_for_own(kind: Any, log: Log) -> None:
    """Step back where the program makes a PrecisionDebugger itself: it gets ours, and says when."""
    make = kind.__init__

    @functools.wraps(make)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if not recorder.is_off:
            recorder.is_off = True
            log.write("own-debugger", error="")
        make(self, *args, **kwargs)

    recorder = _recorder[0]
    kind.__init__ = __init__


# ---- small questions ----


def takes(function: Any, name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def asked(question: Callable[[Any], bool], module: Any) -> bool:
    try:
        return question(module)
    except Exception:  # a module that is only half made
        return False


def is_trained(model: Any) -> bool:
    return any(parameter.requires_grad for parameter in model.parameters())


def is_in_backward(torch: Any) -> bool:
    """Whether this is a part of a forward pass that a backward pass computes again."""
    ask = getattr(getattr(torch, "_C", None), "_current_graph_task_id", None)
    return ask is not None and ask() != -1


def plain_model(model: Any) -> Any:
    """The model inside DistributedDataParallel, so that its modules bear the names that they have alone."""
    inner = getattr(model, "module", None)
    return inner if type(model).__name__ in ("DistributedDataParallel", "DataParallel") and inner else model


def version_of(distribution: str) -> str:
    try:
        from importlib.metadata import version

        return version(distribution)
    except Exception:
        return ""


def is_script() -> bool:
    """Whether this process runs a script of its own: no launcher of processes, no child of another Python."""
    from multiprocessing import current_process, parent_process

    # a spawned child loads the script before it knows its parent
    is_child = parent_process() is not None or getattr(current_process(), "_inheriting", False)
    return not is_child and bool(sys.argv) and sys.argv[0].endswith(".py")


# ---- the door that sitecustomize.py knows ----

_recorder: List[Recorder] = []


def on_import(name: str, module: ModuleType) -> None:
    """A watched module has just been loaded. May raise: the caller notes it."""
    with open(os.path.join(HERE, "launch.json"), encoding="utf-8") as file:
        settings = json.load(file)
    if name == "torch" and not _recorder:
        recorder = Recorder(settings, Log(HERE))
        _recorder.append(recorder)
        recorder.log.write(
            "armed",
            python=sys.version.split()[0],
            torch=str(getattr(module, "__version__", "")),
            argv=sys.argv[:1],  # what follows may hold a secret
        )
        listen(module, recorder)
        if settings["tool"] == "msprobe" and is_script():
            recorder.prepare()
    elif name == "msprobe.pytorch" and _recorder and not _recorder[0].is_off:
        _recorder[0].prepare()

"""Settings that spoil a capture: chatty logs, other tools, asynchronous launches, fusion, many ranks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.findings import Finding

from .processes import all_processes, process_of
from .request import CaptureRequest
from .rules import MANY_RANKS

if TYPE_CHECKING:
    from .preflight import Look

_LOGS_ON = (
    "ASCEND_GLOBAL_EVENT_ENABLE",
    "ASCEND_SLOG_PRINT_TO_STDOUT",
    "ASCEND_LOG_PRINT_TO_STDOUT",
)
_CHATTY_MODULE = re.compile(r"\b\w+=[01]\b")
_PRELOADED = re.compile(r"(?:mssanitizer|sanitizer|asan|msprof|profapi|mspti|msopprof|memscope|leaks)", re.I)
_TOOLS = ("msprof", "msopprof", "mssanitizer", "msmonitor", "dyno")
"""Names of processes (the first 15 bytes, as the system keeps them)."""
_SOCKET = re.compile(r"dynamic_profiling_socket_(\d{1,9})")

_OF_TOOLS = (
    *("ASCEND_WORK_PATH", "ASCEND_PROCESS_LOG_PATH", "ASCEND_DUMP_PATH", "NPU_COLLECT_PATH"),
    *("DUMP_GRAPH_PATH", "MS_DIAGNOSTIC_DATA_PATH", "MINDSPORE_DUMP_CONFIG", "ASCEND_CACHE_PATH"),
)

_FUSES = re.compile(r"(?:^|[-_])(?:graph|fus(?:e|ed|ion)|compile|jit|inductor|torchair)(?:$|[-_])", re.I)
_OFF = re.compile(r"(?:^|[-_])(?:no|disable|without)[-_]", re.I)
_OFF_VALUES = ("0", "false", "off", "no", "none", "disable", "disabled")
_RANK_WORDS = ("--nproc_per_node", "--nproc-per-node", "-np", "-n", "--worker_num", "--world-size")
_LAUNCHERS = ("torchrun", "msrun", "mpirun", "mpiexec", "horovodrun", "torch.distributed.run", "launch")


def settings_findings(
    request: CaptureRequest, environment: Mapping[str, str], look: Look
) -> Iterator[Finding]:
    """All checks of this module, each with its line."""
    yield from _logs(environment, look)
    yield from _others(request, environment, look)
    yield from _paths(request.environment, look)
    yield from _ranks(request, environment, look)
    if request.kind == "memory":
        yield from _launches(request, environment, look)


def _logs(environment: Mapping[str, str], look: Look) -> Iterator[Finding]:
    chatty = [f"{name}=1" for name in _LOGS_ON if environment.get(name, "").strip() == "1"]
    level = environment.get("ASCEND_GLOBAL_LOG_LEVEL", "").strip()
    if level in ("0", "1"):
        chatty.insert(0, f"ASCEND_GLOBAL_LOG_LEVEL={level}")
    modules = environment.get("ASCEND_MODULE_LOG_LEVEL", "")
    if _CHATTY_MODULE.search(modules):
        chatty.append(f"ASCEND_MODULE_LOG_LEVEL={modules}")
    if chatty:
        yield look.bad("warning", "log-level", "log-chatty", "log-next", words=", ".join(chatty))
    else:
        yield look.ok("log-level", "log-ok")


def _others(request: CaptureRequest, environment: Mapping[str, str], look: Look) -> Iterator[Finding]:
    """What the user's own shell attaches, and what runs; not what this capture's plan sets."""
    own = request.environment
    seen = []
    if own.get("PROFILING_MODE", "").strip().lower() == "true":
        seen.append(f"PROFILING_MODE={own['PROFILING_MODE']}")
    if own.get("PROFILING_OPTIONS", "").strip():
        seen.append("PROFILING_OPTIONS")
    for word in own.get("LD_PRELOAD", "").replace(":", " ").split():
        if _PRELOADED.search(os.path.basename(word)):
            seen.append(f"LD_PRELOAD {os.path.basename(word)}")
    seen += [f"{name} -> process {pid}" for name, pid in _sockets(environment)]
    seen += [f"process {p.pid} {p.name}" for p in all_processes() if not p.is_ended and p.name in _TOOLS][:20]
    if seen:
        words = "; ".join(seen)
        yield look.bad("warning", "other-profiler", "profiler-seen", "profiler-next", words=words)
    else:
        yield look.ok("other-profiler", "profiler-none")


def _sockets(environment: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Sockets of dynamic profiling whose process lives."""
    home = environment.get("HOME", "")
    try:
        names = os.listdir(home) if home else []
    except OSError:
        return
    for name in sorted(names):
        found = _SOCKET.fullmatch(name)
        process = process_of(int(found[1])) if found else None
        if process is not None and not process.is_ended:
            yield name, process.pid


def _paths(environment: Mapping[str, str], look: Look) -> Iterator[Finding]:
    relative = [
        f"{name}={environment[name]}"
        for name in _OF_TOOLS
        if environment.get(name) and not Path(environment[name]).is_absolute()
    ]
    if relative:
        words = ", ".join(relative)
        yield look.bad("warning", "relative-path", "paths-relative", "paths-next", words=words)
    else:
        yield look.ok("relative-path", "paths-ok")


def _ranks(request: CaptureRequest, environment: Mapping[str, str], look: Look) -> Iterator[Finding]:
    n_ranks, word = ranks_told(request.command, environment)
    if n_ranks is None:
        yield look.ok("ranks", "ranks-one")
        return
    figures, values = {"n_ranks": n_ranks}, {"n": str(n_ranks), "word": word}
    if n_ranks > MANY_RANKS and not request.rank:
        yield look.bad("warning", "ranks", "ranks-many", "ranks-next", figures, **values)
    else:
        yield look.ok("ranks", "ranks-ok", figures, **values)


def ranks_told(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int | None, str]:
    """(ranks, what says so): by a launcher's words, else WORLD_SIZE; None where neither tells."""
    is_launched = any(os.path.basename(word) in _LAUNCHERS for word in command[:4])
    nodes = 1
    found: tuple[int, str] | None = None
    for at, word in enumerate(command) if is_launched else ():
        name, sign, value = word.partition("=")
        value = value if sign else command[at + 1] if at + 1 < len(command) else ""
        if not value.isascii() or not value.isdecimal() or len(value) > 6:
            continue
        if name in _RANK_WORDS and found is None:
            found = int(value), f"{name} {value}"
        elif name == "--nnodes":
            nodes = max(1, int(value))
    if found is not None:
        is_each_node = "nproc" in found[1]
        return (found[0] * nodes if is_each_node else found[0]), found[1]
    size = environment.get("WORLD_SIZE", "").strip()
    if size.isascii() and size.isdecimal() and len(size) <= 6:
        return int(size), f"WORLD_SIZE={size}"
    return None, ""


def _launches(request: CaptureRequest, environment: Mapping[str, str], look: Look) -> Iterator[Finding]:
    words = [word for at, word in enumerate(request.command) if _asks_for_fusion(request.command, at)]
    if words:
        yield look.bad("warning", "fusion", "fusion-seen", "fusion-next", words=" ".join(words))
    else:
        yield look.ok("fusion", "fusion-unseen")
    queue = environment.get("TASK_QUEUE_ENABLE", "").strip()
    if environment.get("ASCEND_LAUNCH_BLOCKING", "").strip() == "1":
        yield look.ok("asynchronous", "asynchronous-off")
    else:
        told = "ASCEND_LAUNCH_BLOCKING" + (f", TASK_QUEUE_ENABLE={queue}" if queue else "")
        yield look.bad("note", "asynchronous", "asynchronous-on", "asynchronous-next", words=told)


def _asks_for_fusion(command: Sequence[str], at: int) -> bool:
    """Whether a flag names fusion or a graph and does not switch it off."""
    name, sign, value = command[at].partition("=")
    if not name.startswith("--") or not _FUSES.search(name.strip("-")) or _OFF.search(name.strip("-")):
        return False
    if not sign and at + 1 < len(command):
        value = command[at + 1]
    return value.strip().lower() not in _OFF_VALUES

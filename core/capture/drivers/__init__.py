"""One small class a tool; `DRIVERS` is the list of them, the usual one of a kind first.

Modules are named, not imported: `--help` needs none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from npulse.core.errors import UsageError

from ..driver import Driver
from ..request import Kind

DRIVERS: Mapping[Kind, Mapping[str, str]] = {
    "precision": {"msprobe": "msprobe:Msprobe", "acl-dump": "acl_dump:AclDump"},
    "overflow": {
        "statistics": "overflow_statistics:OverflowStatistics",
        "nan-check": "overflow_nan_check:NanCheck",
        "acl-overflow": "overflow_acl:AclOverflow",
    },
    "memory": {
        "mssanitizer": "mssanitizer:MsSanitizer",
        "asan": "asan:AddressSanitizer",
        "msmemscope": "msmemscope:MsMemScope",
    },
    "performance": {
        "msprof": "msprof:MsProf",
        "msprof-dynamic": "msprof_dynamic:MsProfDynamic",
        "torch-profiler": "torch_profiler:TorchProfiler",
        "msopprof": "msopprof:MsOpProf",
    },
}
"""Kind -> id of a driver -> "module:Class" in this folder."""


def tools_of(kind: Kind) -> tuple[str, ...]:
    """Ids of the drivers of a kind, the usual one first."""
    return tuple(DRIVERS[kind])


def driver_of(kind: Kind, tool: str | None) -> Driver:
    """The driver of that id, the usual one for None. UsageError names the ids that there are."""
    known = DRIVERS[kind]
    chosen = tool or next(iter(known), "")
    if chosen not in known:
        raise UsageError(f"no tool '{chosen}' for a capture of {kind}", hint="known: " + ", ".join(known))
    module, _, name = known[chosen].partition(":")
    driver: Driver = getattr(import_module(f".{module}", __package__), name)()
    return driver

"""What sort of fault each kind is: its rule, and how near to the cause it stands."""

from __future__ import annotations

from collections.abc import Mapping

from .faults import Fault

LOGS = frozenset(
    ("sanitizer.mssanitizer", "sanitizer.host", "runtime.plog", "runtime.console", "compiler.log")
) | {"memscope.dump", "memscope.leaks", "msdebug.transcript"}
"""Kinds of artifact in which faults are told."""

_RULES: Mapping[str, str] = {
    "illegal read": "access",
    "illegal write": "access",
    "out of bounds": "overlap",
    "misaligned access": "misaligned",
    "uninitialized read": "uninitialized",
    "use-of-uninitialized-value": "uninitialized",
    "illegal free": "free",
    "double-free": "free",
    "use after free": "access",
    "bad-free": "free",
    "alloc-dealloc-mismatch": "free",
    "new-delete-type-mismatch": "free",
    "unused memory": "unused",
    "leak": "leak",
    "race": "race",
    "data race": "race",
    "data race on vptr": "race",
    "missing dcci": "race",
    "unpaired flag": "sync",
    "redundant flag": "sync",
    "lock-up": "lock-up",
    "divergent threads": "sync",
    "register not reset": "register",
    "non-default mask": "mask",
    "internal error": "internal",
    "other": "other",
    "aicore exception": "exception",
    "task failure": "exception",
    "collective time-out": "time-out",
    "error code": "error-code",
    "python error": "python",
    "out of memory": "out-of-memory",
    "buffer overflow at compile time": "compile-buffer",
    "pool warning": "pool",
    "debugger stop": "debugger",
}
_BY_TOOL: Mapping[str, str] = {
    "UndefinedBehaviorSanitizer": "undefined",
    "ThreadSanitizer": "race",
    "MemorySanitizer": "uninitialized",
    "LeakSanitizer": "leak",
}

_NEARNESS: tuple[str, ...] = (
    *("access", "free", "compile-buffer", "uninitialized", "misaligned", "lock-up", "race", "overlap"),
    *("undefined", "sync", "exception", "out-of-memory", "debugger", "other", "internal", "leak", "pool"),
    *("time-out", "error-code", "python", "unused", "register", "mask"),
)
"""Rules in the order in which they are looked at among faults of the same severity: a bad access explains an
exception, a leak explains neither."""


def rule_of(fault: Fault) -> str:
    """The id of the rule without the area."""
    rule = _RULES.get(fault.kind) or _BY_TOOL.get(fault.tool)
    if rule is None:
        rule = "access" if fault.tool in ("AddressSanitizer", "HWAddressSanitizer") else "other"
    return rule


def nearness(rule: str) -> int:
    """0 for what stands nearest to a cause."""
    return _NEARNESS.index(rule) if rule in _NEARNESS else len(_NEARNESS)

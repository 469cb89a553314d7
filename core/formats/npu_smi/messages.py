"""What npu-smi (or the shell) prints instead of data, by its text: exit codes do not tell these apart."""

from __future__ import annotations

import re
from typing import Literal

from .records import SmiMessage

MessageKind = Literal[
    "driver",  # the driver cannot be reached from here
    "occupied",  # another container or vNPU user holds the devices
    "no-card",
    "denied",  # not permitted
    "timeout",
    "not-in-container",
    "missing",  # npu-smi itself is not there
    "library",  # a library of the driver is not there
    "not-supported",
    "failed-query",
    "wrong-call",
    "incomplete-driver",
    "other",
]

CODES: dict[int, MessageKind] = {
    **{-8005: "driver", -8020: "occupied", -8002: "denied", -8006: "timeout", -8013: "not-in-container"},
    **{-8255: "not-supported", -9255: "not-supported", -8007: "no-card", -8008: "no-card"},
    **{-8001: "wrong-call", -9001: "wrong-call", -8009: "driver", -8012: "driver", -8017: "occupied"},
}
"""Codes of npu-smi and of the library behind it (dcmi) -> what they say."""
_RET = re.compile(r"(?:\b(?:ret(?:urn)?|code|fail\w*)|错误码|返回值)(?: ?(?:is|=|:|：))? ?(-[89]\d{3})\b")
_CALL = r"(?:\S{0,200}/)?npu-smi(?: info)?"
_QUOTE = r"['\"‘’“”`]?"
_PATTERNS: tuple[tuple[str, MessageKind], ...] = (
    (r"There is no NPU card on this server", "no-card"),
    (rf"npu-smi{_QUOTE} ?[:：]? ?(?:command )?(?:not found|未找到|找不到)", "missing"),
    (r"(?:command not found|未找到命令|找不到命令)[:：] ?npu-smi\b", "missing"),
    (rf"npu-smi{_QUOTE}[:：] ?(?:No such file|没有那个文件|cannot execute|无法执行)", "missing"),
    (rf"No such file or directory: {_QUOTE}{_CALL}{_QUOTE}(?:\W|$)", "missing"),
    # of a container's runtime: exec: "npu-smi": executable file not found in $PATH, stat ...: no such file
    (
        rf"\bexec: {_QUOTE}{_CALL}{_QUOTE}: .{{0,200}}(?i:executable file not found|no such file)",
        "missing",
    ),
    (rf"\bexec: {_QUOTE}{_CALL}{_QUOTE}: .{{0,200}}(?i:permission denied)", "denied"),
    (r"npu-smi:? .{0,80}error while loading shared libraries", "library"),
    (r"lib(?:dcmi|drvdsmi_host|ascend_hal|c_sec|mmpa)\S{0,40}: cannot open shared object", "library"),
    (r"npu-smi:? .{0,80}symbol lookup error", "library"),
    (rf"npu-smi(?: info)?{_QUOTE}[:：] ?(?i:Permission denied|权限不够)", "denied"),
    (rf"{_QUOTE}npu-smi[^:]{{0,80}}{_QUOTE} timed out after ", "timeout"),
    (r"This device does not support querying [\w-]+", "not-supported"),
    (r"Failed to query \"[\w-]+\" info", "failed-query"),
    (r"Error parameter of -\w", "wrong-call"),
    (r"Must input parameter of", "wrong-call"),
    (r"^\[WARNING\] ?The driver package may not be completely installed", "incomplete-driver"),
)
_TEXTS = tuple((re.compile(pattern), kind) for pattern, kind in _PATTERNS)
_STARTED = re.compile(r"\bdcmi[ _](?:mod(?:ule|el) ?)?init(?:iali[sz]\w*)? ?(?:is )?fail", re.IGNORECASE)
MAX_CHARS = 400
_WHOLE = frozenset(("missing", "library", "no-card"))


def is_of_call(message: SmiMessage) -> bool:
    """Whether it stands in place of all that npu-smi shows, not of one value."""
    return message.kind in _WHOLE or _STARTED.search(message.text) is not None


def message_of(text: str, line: int) -> SmiMessage | None:
    """The message that a line is; None for any other line."""
    if len(text) > 4096:
        return None
    if _STARTED.search(text) is not None:
        found = _RET.search(text)
        code = int(found[1]) if found is not None else None
        return SmiMessage(CODES.get(code or 0, "driver"), text[:MAX_CHARS], line, code)
    for pattern, kind in _TEXTS:
        if pattern.search(text) is not None:
            found = _RET.search(text)
            return SmiMessage(kind, text[:MAX_CHARS], line, int(found[1]) if found is not None else None)
    found = _RET.search(text)
    if found is not None and ("dcmi" in text or "npu" in text.lower()):
        code = int(found[1])
        return SmiMessage(CODES.get(code, "other"), text[:MAX_CHARS], line, code)
    return None

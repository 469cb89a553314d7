"""Everything that the quick tables hold, as entries of one kind, and the search over them.

Nothing is told twice: codes come from the readers' table, fault codes from the device area, rules from their
areas; only pitfalls and exit statuses are the guide's own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from npulse.core.areas import all_rules
from npulse.core.device.faults import FAULTS
from npulse.core.device.reading import STATE_OF_MESSAGE
from npulse.core.device.texts import TEXTS as DEVICE_TEXTS
from npulse.core.formats.error_codes import ERROR_BITS, ERROR_CODES, family_of
from npulse.core.formats.npu_smi.messages import CODES as SMI_CODES
from npulse.core.rules import Rule

from .pitfalls import PITFALLS, STATUSES
from .records import Words

EntryKind = Literal["code", "bit", "health", "exit", "pitfall", "rule"]

KINDS: dict[EntryKind, Words] = {
    "code": ("error code", "错误码"),
    "bit": ("AI Core error bit", "AI Core 错误位"),
    "health": ("health code of a card", "卡健康故障码"),
    "exit": ("exit status", "退出码"),
    "pitfall": ("pitfall", "常见陷阱"),
    "rule": ("rule of npulse", "npulse 规则"),
}

SOURCES: dict[str, Words] = {
    "codes": (
        "code tables of CANN, its runtime, HCCL and torch_npu",
        "CANN、runtime、HCCL 与 torch_npu 的错误码表",
    ),
    "health": ("fault codes of the driver", "驱动故障码表"),
    "npu-smi": ("npu-smi and the library behind it (dcmi)", "npu-smi 及其底层库 dcmi"),
    "seen": ("seen with the real tool", "在真实工具上见到"),
    "source": ("read in the tool's own source", "取自工具源码"),
    "documents": ("the vendor's documents", "厂商文档"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to look up. Texts are (en, zh).

    code: what is searched for first: a code, a tool's name with its exit status, a rule's id; of a pitfall
    the tool. meaning, next_step may be ("", ""). source: where we know it from.
    """

    kind: EntryKind
    code: str
    title: Words
    meaning: Words
    next_step: Words
    source: Words
    more: str = ""
    """Further words by which it is found."""

    @property
    def searched(self) -> str:
        """All its words, folded."""
        parts = (self.code, self.more, *self.title, *self.meaning, *self.next_step, *KINDS[self.kind])
        return " ".join(parts).casefold()


@cache
def all_entries() -> tuple[Entry, ...]:
    """Every entry: codes, pitfalls, exit statuses, health codes, error bits, rules."""
    return (
        *_codes(),
        *_smi_codes(),
        *_pitfalls(),
        *_statuses(),
        *_health(),
        *_bits(),
        *map(_rule, all_rules()),
    )


def search(query: str, most: int | None = None) -> tuple[Entry, ...]:
    """The entries that hold every word of the query, best first; all of them for an empty one.

    A code that is in no table but has the form of one is told by its module. Upper and lower case are alike.
    """
    words = query[:MAX_QUERY].casefold().split()
    found = [entry for entry in all_entries() if all(word in _searched(entry) for word in words)]
    found.sort(key=lambda entry: _distance(entry, words))
    unknown = [] if found else [entry for word in words[:8] if (entry := _of_family(word.upper()))]
    return tuple((found or unknown)[:most])


MAX_QUERY = 400
_searched = cache(lambda entry: entry.searched)


def _distance(entry: Entry, words: list[str]) -> tuple[int, int]:
    """Smaller is better: the code itself, the words in a row, the code's beginning, words of the title,
    anywhere; then the order."""
    code, title = entry.code.casefold(), " ".join((*entry.title, entry.more)).casefold()
    if not words:
        return (0, 0)
    if code == " ".join(words) or any(word in code.split() for word in words):
        return (0, len(words))
    if len(words) > 1 and " ".join(words) in f"{code} {title}".replace("-", " "):
        return (1, 0)
    if any(code.startswith(word) for word in words):
        return (1, len(code))
    return (2, 0) if all(word in title for word in words) else (3, 0)


def _codes() -> list[Entry]:
    found = []
    for one in ERROR_CODES.values():
        title = (
            (f"{one.name}: {one.meaning[0]}", f"{one.name}：{one.meaning[1]}") if one.name else one.meaning
        )
        cause = (f"likely: {one.cause[0]}", f"可能原因：{one.cause[1]}") if one.cause[0] else ("", "")
        see = f" ({', '.join(one.see)})" if one.see else ""
        step = (one.next_step[0] + see, one.next_step[1] + see)
        found.append(
            Entry("code", one.code, title, cause, step, SOURCES["codes"], " ".join((one.name, *one.see)))
        )
    return found


def _smi_codes() -> list[Entry]:
    """Codes after which nothing is known of the devices."""
    found = []
    for code, kind in sorted(SMI_CODES.items(), reverse=True):
        if state := STATE_OF_MESSAGE.get(kind):
            en, zh = (text.replace("{code}", "") for text in DEVICE_TEXTS[f"state-{state}"])
            step = DEVICE_TEXTS[f"next-{state}"]
            found.append(
                Entry("code", str(code), (en, zh), ("", ""), step, SOURCES["npu-smi"], "npu-smi dcmi ret")
            )
    return found


def _bits() -> list[Entry]:
    """Those that are told more of than their name."""
    return [
        Entry(
            "bit",
            f"bit {one.number}",
            (f"{one.name}: {one.meaning[0]}", f"{one.name}：{one.meaning[1]}"),
            ("of errcode in a log, counted from 0 at its lowest bit", "日志 errcode 的位，自最低位从 0 数起"),
            ERROR_CODES["507015"].next_step if not one.is_hardware else ERROR_CODES["507053"].next_step,
            SOURCES["codes"],
            one.name,
        )
        for one in ERROR_BITS
        if one.meaning[0]
    ]


def _health() -> list[Entry]:
    return [
        Entry(
            "health",
            code,
            fault.meaning,
            ("results on this card may be wrong", "该卡上的结果可能有误") if fault.is_fatal else ("", ""),
            DEVICE_TEXTS[f"step-{fault.step}"],
            SOURCES["health"],
            "npu-smi health",
        )
        for code, fault in FAULTS.items()
    ]


def _pitfalls() -> list[Entry]:
    return [Entry("pitfall", one.tool, one.title, one.what, one.do, SOURCES[one.source]) for one in PITFALLS]


def _statuses() -> list[Entry]:
    return [
        Entry(
            "exit",
            f"{one.tool} {one.status}",
            (
                f"{one.tool} ends with {one.status}: {one.meaning[0]}",
                f"{one.tool} 退出码 {one.status}：{one.meaning[1]}",
            ),
            ("", ""),
            one.do,
            SOURCES[one.source],
            "exit status code 退出码",
        )
        for one in STATUSES
    ]


def _rule(rule: Rule) -> Entry:
    step = f"npulse rules {rule.id}"
    return Entry("rule", rule.id, rule.title, rule.meaning, (step, step), rule.source)


def _of_family(code: str) -> Entry | None:
    """A code of CANN's form that is in no table, by the module that prints it."""
    module = family_of(code) if re.fullmatch(r"[A-Z0-9]{6}", code) else None
    if module is None:
        return None
    title = (
        f"not in the table; codes of this kind are printed by {module[0]}",
        f"表中没有；此类错误码由{module[1]}输出",
    )
    return Entry("code", code, title, ("", ""), ERROR_CODES["E19999"].next_step, SOURCES["codes"])

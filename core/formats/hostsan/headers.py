"""The first line of a report, and what the runtimes say of themselves.

==4711==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x504038 at pc 0x55d0 bp 0x7ffe sp 0x7ffd
==4711==ERROR: AddressSanitizer: attempting double-free on 0x621100 in thread T0:
==4711==ERROR: AddressSanitizer: SEGV on unknown address 0x000004 (pc 0x55af bp 0x7ffd sp 0x7ffc T0)
==4711==WARNING: MemorySanitizer: use-of-uninitialized-value
WARNING: ThreadSanitizer: data race (pid=4711)
==4711== ERROR: AddressSanitizer: ...                                       the oldest runtimes
"""

from __future__ import annotations

import re
from typing import Literal

from npulse.core.dataclass import dataclass

from .records import bounded

HEAD = re.compile(
    r"(?:==(?P<pid>\d{1,10})==\s?)?(?P<severity>ERROR|WARNING): (?P<tool>\w{1,60}Sanitizer): (?P<rest>.*)",
    re.DOTALL,
)

KINDS: tuple[tuple[str, str], ...] = (
    ("attempting double-free", "double-free"),
    ("attempting free on address which was not malloc()-ed", "bad-free"),
    ("attempting to call malloc_usable_size()", "bad-malloc_usable_size"),
    ("attempting to call __sanitizer_get_allocated_size()", "bad-__sanitizer_get_allocated_size"),
    ("requested allocation size", "allocation-size-too-big"),
    ("calloc parameters overflow", "calloc-overflow"),
    ("reallocarray parameters overflow", "reallocarray-overflow"),
    ("pvalloc parameters overflow", "pvalloc-overflow"),
    ("invalid allocation alignment", "invalid-allocation-alignment"),
    ("invalid alignment requested in aligned_alloc", "invalid-aligned-alloc-alignment"),
    ("invalid alignment requested in posix_memalign", "invalid-posix-memalign-alignment"),
    ("specified RSS limit exceeded", "rss-limit-exceeded"),
    ("allocator is out of memory", "out-of-memory"),
    (
        "bad parameters to __sanitizer_annotate_contiguous_container",
        "bad-__sanitizer_annotate_contiguous_container",
    ),
    (
        "bad parameters to __sanitizer_annotate_double_ended_contiguous_container",
        "bad-__sanitizer_annotate_double_ended_contiguous_container",
    ),
    ("writable-executable page usage", "w-and-x-usage"),
    ("detected memory leaks", "detected memory leaks"),
)
"""How a header begins that does not begin with its kind, and the word that SUMMARY has for it."""

EXIT_STATS = "exit-stats"
"""A process came to its end with AddressSanitizer in it: its statistics, with ASAN_OPTIONS=atexit=1."""

TROUBLE: tuple[tuple[str, str], ...] = (
    ("runtime does not come first in initial library list", "runtime-refused"),
    ("linked against incompatible ASan runtimes", "runtime-refused"),
    ("Shadow memory range interleaves with an existing memory mapping", "runtime-refused"),
    ("ReserveShadowMemoryRange failed", "runtime-refused"),
    ("CHECK failed:", "check-failed"),
    ("nested bug in the same thread", "nested-bug"),
    ("while reporting a bug found another one", "nested-bug"),
    ("has encountered a fatal error", "leak-check-failed"),
    ("does not work under ptrace", "leak-check-failed"),
    ("ERROR: AddressSanitizer failed to allocate", "out-of-memory"),
    ("ERROR: LeakSanitizer failed to allocate", "out-of-memory"),
    ("ERROR: MemorySanitizer failed to allocate", "out-of-memory"),
    ("failed to allocate 0x", "allocation-failed"),
    ("gave up on indirect leaks suppression", "leaks-uncertain"),
    ("was not suspended. False leaks are possible", "leaks-uncertain"),
    ("is ignoring requested __asan_handle_no_return", "no-return-ignored"),
    ("external symbolizer", "symbolizer-failed"),
    ("AddressSanitizer exit stats:", EXIT_STATS),
)
"""What the runtimes say of themselves, and a word for it; the first text that fits counts."""

LEAKS_OMITTED = re.compile(r"Omitting \d{1,20} more leak\(s\)|Too many leaks! Only the first \d{1,20} leaks")
INCOMPLETE = frozenset(
    ("runtime-refused", "check-failed", "nested-bug", "leak-check-failed", "leaks-omitted", "out-of-memory")
)
"""Words of notes after which the log does not show all there was."""

_TROUBLE_LINE = re.compile(
    r"(?:==(?P<pid>\d{1,10})==\s?)?(?:ASan |Your application |Shadow memory |ReserveShadow|HINT: Leak"
    r"|Running thread |WARNING: |ERROR: \w{1,60}Sanitizer |\w{1,60}Sanitizer:? )"
)
_HEX = r"0x[0-9a-fA-F]{1,16}"
_ADDRESS = re.compile(rf"(?:\bon (?:unknown )?(?:address )?|: |^odr-violation \()({_HEX})\b")
_REGISTERS = re.compile(rf"\b(pc|bp|sp) ({_HEX})\b")
_THREAD = re.compile(r"\bthread (T-?\d{1,10})(?: \((.{1,80}?)\))?[:)]?\s*$")
_SIGNAL_THREAD = re.compile(r" (T-?\d{1,10})\)\s*$")
_RANGE = re.compile(rf"\[({_HEX}), ?({_HEX})\)")
_SIZE = re.compile(
    rf"\(size=(-?\d{{1,20}})\)|(?:allocation size|trying to allocate) ({_HEX})\b|of size (\d{{1,20}})\b"
)
_TSAN_PID = re.compile(r"(.*) \(pid=(\d{1,10})\)\s*$", re.DOTALL)
_WORD = re.compile(r"[A-Za-z][\w+-]*")


@dataclass(frozen=True, slots=True)
class Head:
    """The parts of a header. start: where it begins in its line. is_access: an access line belongs to it."""

    start: int
    tool: str
    severity: Literal["error", "warning"]
    kind: str
    is_known_kind: bool
    message: str
    pid: int | None
    address: int | None = None
    pc: int | None = None
    bp: int | None = None
    sp: int | None = None
    thread: str | None = None
    thread_name: str | None = None
    size_bytes: int | None = None
    ranges: tuple[tuple[int, int], ...] = ()
    is_access: bool = False


def head_of(text: str) -> Head | None:
    """The header in a line, wherever it begins; None if there is none.

    One without "==<pid>==" counts only if it names its process in another way: "(pid=4711)".
    """
    found = HEAD.search(text)
    if found is None:
        return None
    pid = None if found["pid"] is None else int(found["pid"])
    tool, rest = found["tool"], found["rest"][:4096].rstrip()
    severity: Literal["error", "warning"] = "error" if found["severity"] == "ERROR" else "warning"
    if pid is None:
        named = _TSAN_PID.match(rest)
        if named is None:
            return None
        kind = bounded(named.group(1))
        return Head(found.start(), tool, severity, kind, True, bounded(rest), int(named.group(2)))
    if any(text in rest for text, word in TROUBLE if word in ("check-failed", "nested-bug")):
        return None
    kind, is_known = _kind_of(rest)
    thread = _THREAD.search(rest, max(len(rest) - 160, 0))
    signal = None if thread else _SIGNAL_THREAD.search(rest, max(len(rest) - 32, 0))
    registers = {name: int(number, 16) for name, number in _REGISTERS.findall(rest)}
    address = _ADDRESS.search(rest)
    ranges = tuple((int(first, 16), int(end, 16)) for first, end in _RANGE.findall(rest)[:4])
    return Head(
        start=found.start(),
        tool=tool,
        severity=severity,
        kind=kind,
        is_known_kind=is_known,
        message=bounded(rest),
        pid=pid,
        address=int(address.group(1), 16) if address else None,
        pc=registers.get("pc"),
        bp=registers.get("bp"),
        sp=registers.get("sp"),
        thread=thread.group(1) if thread else signal.group(1) if signal else None,
        thread_name=thread.group(2) if thread else None,
        size_bytes=_size_of(rest),
        ranges=ranges,
        is_access=" at pc " in rest,
    )


def _kind_of(rest: str) -> tuple[str, bool]:
    """The kind, and whether it is certain: else the SUMMARY knows better."""
    for start, word in KINDS:
        if rest.startswith(start):
            return word, True
    found = _WORD.match(rest)
    if found is None:
        return bounded(rest.partition(" on ")[0])[:80], False
    word = found.group()
    return word[:80], "-" in word or word.isupper()


def _size_of(rest: str) -> int | None:
    found = _SIZE.search(rest)
    if found is None:
        return None
    decimal, hexadecimal, size = found.groups()
    return int(decimal or size) if decimal or size else int(hexadecimal, 16)


def trouble_of(text: str) -> tuple[str, int | None] | None:
    """(word, pid) of a line in which a runtime speaks of itself; None if the line is none."""
    found = _TROUBLE_LINE.match(text)
    if found is None:
        return None
    word = next((word for needle, word in TROUBLE if needle in text), None)
    if word is None or (found["pid"] is None and word == "symbolizer-failed"):
        return None
    return word, None if found["pid"] is None else int(found["pid"])

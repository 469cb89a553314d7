"""What launchers and log collectors write before every line: rank tags, host names, timestamps.

    [default3]:==4344==ERROR: ...          torchrun           3: ==4344==ERROR: ...       srun --label
    [1,3]<stderr>:==4344==ERROR: ...       mpirun             worker-1  | ==4344==...     compose
    2026-01-20T02:27:59.1Z stderr F ==...  container logs     (Worker pid=9) ==4344==...  ray

Lines of different ranks lie between each other, so the prefix tells which report a line belongs to. Times in
it differ from line to line and are no part of the key.
"""

from __future__ import annotations

import re

MAX_PREFIX_CHARS = 160
MAX_PREFIXES = 256

_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_STAMP_TEXT = rf"(?:\d{{4}}[-/]\d\d[-/]\d\d[T _]|[A-Z][a-z]{{2}} [ \d]\d |\d\d-\d\d )?{_CLOCK}"
_STAMP = re.compile(_STAMP_TEXT)
_TAGS = (
    rf"\[?{_STAMP_TEXT}\]?",
    r"\[[\w,.:<>/= -]{1,80}\](?:<std(?:err|out)>)?:?",
    r"\([A-Za-z][\w.]{0,40}(?: [\w=., :-]{1,80})?\)",
    r"\d{1,6}:",
    r"[\w.-]{1,80} {0,20}\|",
    r"(?:stdout|stderr) [FP]",
    r"(?:rank|worker|node) ?[\w-]{1,20}:",
    r"(?:[\w.-]{1,80} )?[\w.-]{1,80}\[\d{1,10}\]:",
)
_LAUNCHER = re.compile(rf"(?:(?:{'|'.join(_TAGS)})[ \t]{{0,4}}){{1,5}}")


def is_launcher(prefix: str) -> bool:
    """True if the text is made of nothing but known tags and times."""
    return len(prefix) <= MAX_PREFIX_CHARS and _LAUNCHER.fullmatch(prefix) is not None


def launcher_length(text: str) -> int:
    """How many characters of a line are known tags and times."""
    found = _LAUNCHER.match(text, 0, MAX_PREFIX_CHARS)
    return found.end() if found else 0


class Prefixes:
    """The prefixes that were seen before a report. key: the prefix without its times."""

    def __init__(self) -> None:
        self.is_known = False  # is there any?
        self._keys: dict[str, str] = {}
        self._lengths: tuple[int, ...] = ()
        self._stripped: dict[str, str] = {}  # as it stands before an empty line
        self._times: dict[re.Pattern[str], str] = {}  # of prefixes that hold times

    def __len__(self) -> int:
        return len(self._keys) + len(self._times)

    def learn(self, prefix: str) -> str:
        """The key of a prefix; from now on lines that begin with it are told by `split`."""
        parts = _STAMP.split(prefix)
        key = "".join(parts)
        self.is_known = True
        if len(self) < MAX_PREFIXES:
            if len(parts) > 1:
                end = parts[-1].rstrip()  # blanks at its end are missing before an empty line
                pattern = _STAMP_TEXT.join(map(re.escape, (*parts[:-1], end)))
                if end != parts[-1]:
                    pattern += f"(?:{re.escape(parts[-1][len(end) :])}|$)"
                self._times.setdefault(re.compile(pattern), key)
            elif prefix not in self._keys:
                self._keys[prefix] = key
                self._stripped[prefix.rstrip()] = key
                self._lengths = tuple(sorted({*self._lengths, len(prefix)}, reverse=True))
        return key

    def split(self, text: str) -> tuple[str, str]:
        """(key, the line behind the prefix); ("", the line) where no known prefix is before it."""
        for length in self._lengths:
            key = self._keys.get(text[:length])
            if key is not None:
                return key, text[length:]
        key = self._stripped.get(text)
        if key is not None:
            return key, ""
        for pattern, key in self._times.items():
            found = pattern.match(text)
            if found is not None:
                return key, text[found.end() :]
        return "", text

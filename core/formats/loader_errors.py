"""What the dynamic loader and Python's import say when an environment does not fit together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from .itanium import demangle, name_of, namespace_of
from .npu_smi.messages import is_of_call, message_of

MAX_ERRORS = 2_000

ErrorKind = Literal[
    "no-library",
    "no-symbol",
    "no-version",
    "static-tls",
    "wrong-arch",
    "torch-needed",
    "numpy-abi",
    "no-attribute",
    "no-torch-op",
    "no-module",
    "backend",
    "no-operator",
    "driver-old",
    "driver-unreachable",
    "driver-incomplete",
    "no-set-env",
    "version-mismatch",
    "unsupported-soc",
    "code",
]


@dataclass(frozen=True, slots=True)
class LoaderError:
    """One complaint. line: from 1. What a kind does not have is "".

    library: what could not be loaded or what complains (a path where told); needed_by: who asked for it.
    symbol: as it was printed; demangled: readable, or ""; name: without types ("atb::CreateOperation<int>");
    namespace: its outermost one ("atb").
    wanted: the missing version ("GLIBCXX_3.4.29"), module, attribute or operator, the code, what is required;
    found: what is there instead.
    """

    kind: ErrorKind
    line: int
    text: str
    library: str = ""
    symbol: str = ""
    demangled: str = ""
    name: str = ""
    namespace: str = ""
    wanted: str = ""
    needed_by: str = ""
    found: str = ""

    @property
    def abi(self) -> str:
        """Which ABI of std::string the missing symbol is of: "cxx11", "old", or "" where it holds none."""
        if "__cxx11" in self.symbol or "B5cxx11" in self.symbol:
            return "cxx11"
        if self.demangled:
            return "old" if "std::string" in self.demangled else ""
        return "old" if self.symbol.startswith("_Z") and _OLD_STRING.search(self.symbol) else ""


_OLD_STRING = re.compile(r"[EKR]Ss(?![a-z])")  # as a type, behind a name or a mark; of symbols that are cut

_WINDOW = 600
_PATH = r"(?<![\w./+-])[^\s'\"()<>,;:]{0,300}"
_SO = r"(?<![\w./+-])(?:[^\s'\"()<>,;:]{0,300}/)?[\w.+-]{1,120}\.so(?:\.[\w.]{1,40})?"


def _made(kind: ErrorKind, **names: str) -> Callable[[re.Match[str], int, str], LoaderError]:
    def make(found: re.Match[str], number: int, text: str) -> LoaderError:
        has = found.groupdict()
        values = {field: (has.get(group) or "").strip() for field, group in names.items()}
        symbol = values.get("symbol", "")
        if symbol:
            values["demangled"] = demangle(symbol) or ""
            values["name"] = name_of(symbol) or symbol
            values["namespace"] = namespace_of(symbol) if symbol.startswith("_Z") else ""
        return LoaderError(kind, number, _excerpt(found, text), **values)

    return make


def _excerpt(found: re.Match[str], text: str) -> str:
    """The line, or of a long one what stands around the words."""
    if len(text) <= 400:
        return text.strip()
    return text[max(0, found.start() - 100) : found.end() + 200].strip()


_FORMS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str], int, str], LoaderError]], ...] = (
    (
        "cannot open shared object",
        re.compile(
            rf"(?:(?P<by>{_PATH}): error while loading shared libraries: )?(?P<lib>{_SO}):\s*cannot open "
            r"shared object\s*file"
        ),
        _made("no-library", library="lib", needed_by="by"),
    ),
    (
        "undefined symbol",
        re.compile(
            rf"(?:(?P<lib>{_PATH}):\s*)?undefined symbol:\s*(?P<symbol>[\w.$@]+)"
            r"(?:,\s*version\s+(?P<version>[\w.]+))?"
        ),
        _made("no-symbol", library="lib", symbol="symbol", wanted="version"),
    ),
    (
        "undefined reference to",
        re.compile(r"(?:(?P<lib>[^\s:]+):.{0,80})?undefined reference to [`'\"](?P<symbol>_Z[\w.$@]+)"),
        _made("no-symbol", library="lib", symbol="symbol"),
    ),
    (
        "not found (required by",
        re.compile(
            rf"(?P<lib>{_SO}|{_PATH}):\s*version\s*[`'‘\"]?(?P<version>[A-Z]+_[\w.]+)['’`\"]?\s*not found\s*"
            rf"\(required by\s*(?P<by>[^)]+)\)"
        ),
        _made("no-version", library="lib", wanted="version", needed_by="by"),
    ),
    (
        "not found",
        re.compile(
            rf"(?:(?P<lib>{_SO}):\s*)?version\s*[`'‘\"]?(?P<version>(?:GLIBC|GLIBCXX|CXXABI|GCC)_[\w.]+)['’`\"]?\s*not"
            r"\s*found"
        ),
        _made("no-version", library="lib", wanted="version"),
    ),
    (
        "static TLS",
        re.compile(rf"(?P<lib>{_SO}):\s*cannot allocate memory in static TLS"),
        _made("static-tls", library="lib"),
    ),
    (
        "wrong ELF class",
        re.compile(rf"(?P<lib>{_SO}):\s*wrong ELF class"),
        _made("wrong-arch", library="lib"),
    ),
    (
        "cannot execute binary file",
        re.compile(rf"(?P<lib>{_PATH}):\s*cannot execute binary file"),
        _made("wrong-arch", library="lib"),
    ),
    (
        "Exec format error",
        re.compile(
            rf"(?:(?P<lib>{_PATH}):\s*)?(?:\[Errno 8\]\s*)?Exec format error(?::\s*'(?P<other>[^']+)')?"
        ),
        _made("wrong-arch", library="lib", wanted="other"),
    ),
    (
        "_ARRAY_API not found",
        re.compile(r"_ARRAY_API not found"),
        _made("numpy-abi"),
    ),
    (
        "NumPy",
        re.compile(r"compiled using NumPy (?P<old>1\.x) cannot be run in\s*(?:NumPy (?P<new>[\d.]+\w*))?"),
        _made("numpy-abi", wanted="old", found="new"),
    ),
    (
        "numpy",
        re.compile(r"numpy\.(?:dtype|ufunc) size changed, may indicate binary incompatibility"),
        _made("numpy-abi"),
    ),
    (
        "torch",
        re.compile(
            r"(?P<by>torch[_-]npu\s*[\d.\w+]*)[^=\n]{0,80}?"
            r"(?:requires?|depends on|needs?|only supports?|expects?)"
            r"\s+(?:pytorch|torch)\s*(?:version)?\s*(?:==|=|:)?\s*(?P<needed>\d+\.\d+[\w.+*]*)",
            re.IGNORECASE,
        ),
        _made("torch-needed", needed_by="by", wanted="needed"),
    ),
    (
        "has no attribute",
        re.compile(r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'"),
        _made("no-attribute", library="module", wanted="name"),
    ),
    (
        "_OpNamespace",
        re.compile(r"'_OpNamespace' '(?P<module>\w{1,60})' object has no attribute '(?P<name>\w{1,120})'"),
        _made("no-torch-op", library="module", wanted="name"),
    ),
    (
        "No module named",
        re.compile(r"No module named '?(?P<name>[\w.]+)'?"),
        _made("no-module", wanted="name"),
    ),
    (
        "cannot import name",
        re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'"),
        _made("no-attribute", library="module", wanted="name"),
    ),
    (
        "backend extension",
        re.compile(r"Failed to load the backend extension:?\s*(?P<name>\w+)"),
        _made("backend", wanted="name"),
    ),
    (
        "libopapi",
        re.compile(r"(?P<name>acl\w+)(?: or \w+)? not in (?P<lib>lib\w+\.so)"),
        _made("no-operator", wanted="name", library="lib"),
    ),
    (
        "nsupported soc version",
        re.compile(r"[Uu]nsupported soc version:?\s*(?P<name>[\w ]{1,40})"),
        _made("unsupported-soc", wanted="name"),
    ),
    (
        "upgrade",
        re.compile(
            r"[Pp]lease (?:upgrade|update)[^.\n]{0,80}?\b[Dd]river"
            r"|[Dd]river[^.\n]{0,80}?[Pp]lease (?:upgrade|update)"
        ),
        _made("driver-old"),
    ),
    (
        "river version",
        re.compile(
            r"\b(?:HDK|[Dd]river) version[^.\n]{0,60}?"
            r"(?:too (?:low|old)|not match|mismatch|does not support|lower than)"
        ),
        _made("driver-old"),
    ),
    (
        "may not be completely installed",
        re.compile(r"driver package may not be completely installed"),
        _made("driver-incomplete"),
    ),
    (
        "dcmi m",
        re.compile(r"dcmi mod(?:ule|el) initializ\w+ failed.{0,60}?ret is (?P<code>-?\d+)"),
        _made("driver-unreachable", wanted="code"),
    ),
    (
        "DrvMngGetConsoleLogLevel",
        re.compile(r"DrvMngGetConsoleLogLevel failed\.?\s*\((?P<code>ret=-?\d+)\)"),
        _made("driver-unreachable", wanted="code"),
    ),
    (
        "/dev/davinci",
        re.compile(
            r"(?:cannot access|无法访问) ?['\"‘]?(?P<code>/dev/davinci[*\w]{0,20})['\"’]?[:：] ?"
            r"(?:No such file|没有那个文件|Permission denied|权限不够)"
        ),
        _made("driver-unreachable", wanted="code"),
    ),
    (
        "ersion mismatch",
        re.compile(
            r"CANN version mismatch\. The build version is (?P<built>[\w.]+),? but the current "
            r"environment version is (?P<found>\w[\w.]*\w)"
        ),
        _made("version-mismatch", wanted="built", found="found"),
    ),
    (
        "set_env",
        re.compile(
            r"(?:[Pp]lease|[Mm]ake sure|[Ee]nsure|forget|need to)[^\n]{0,100}?"
            r"(?P<path>(?:/[\w./-]*|\b)set_env(?:_vars)?\.sh|setenv\.bash)"
        ),
        _made("no-set-env", wanted="path"),
    ),
)

_CODE = re.compile(r"\b(?P<code>ERR\d{5}|E[A-Z]\d{4}|E[1-9]\d{4})\b(?=[:\s])")
_TIME = re.compile(r"\AE\d{4} \d\d:\d\d")  # the head of a line of glog


def loader_errors_in(lines: Iterable[tuple[int, str]]) -> Iterator[LoaderError]:
    """All complaints of a text, in its order; lines: (number, text), numbers from 1. At most 2,000.

    Each line gives the first form it has. kind "code": an error code of CANN or torch_npu.
    """
    n_found = 0
    for number, text in lines:
        told = _first(number, text[:20_000])
        if told is not None:
            yield told
            n_found += 1
            if n_found >= MAX_ERRORS:
                return


def _first(number: int, text: str) -> LoaderError | None:
    for word, form, make in _FORMS:
        at = text.find(word)
        if at >= 0:
            found = form.search(text, max(0, at - _WINDOW), at + _WINDOW)
            if found is not None:
                return make(found, number, text)
    said = message_of(text, number) if "npu-smi" in text or "dcmi" in text.lower() else None
    if said is not None and is_of_call(said) and said.kind not in ("library", "no-card"):
        wanted = "" if said.kind == "missing" else str(said.code or "dcmi")
        return LoaderError("driver-unreachable", number, said.text, wanted=wanted)
    code = _CODE.search(text) if "E" in text else None
    if code is not None and not _TIME.match(text):
        return LoaderError("code", number, _excerpt(code, text), wanted=code["code"])
    return None

"""Lists of Python packages as pip and conda print them, whole or in parts, and what pip says of conflicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_PACKAGES = 20_000

KNOWN = frozenset(
    (
        *("torch", "torch_npu", "torchvision", "torchaudio", "torchair", "numpy", "vllm", "vllm_ascend"),
        *("mindspore", "mindstudio_probe", "msprobe", "transformers", "deepspeed", "mindspeed", "apex"),
        *("mindspeed_llm", "megatron_core", "triton", "triton_ascend", "accelerate", "peft", "trl", "verl"),
        *(
            "ms_swift",
            "llamafactory",
            "mindie",
            "mindie_llm",
            "mindiesd",
            "mindietorch",
            "atb_llm",
            "protobuf",
        ),
        *("sglang", "sgl_kernel_npu", "lmdeploy", "dlinfer_ascend", "ray", "scipy", "decorator", "attrs"),
    )
)
"""Names that are taken for packages without a list around them."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One package of a list. name: in lower case, "_" for "-" and "."; line: from 1."""

    name: str
    version: str
    line: int


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel's file name. python_tag: "cp310"; platform_tag: "manylinux2014_aarch64"."""

    name: str
    version: str
    python_tag: str
    platform_tag: str
    line: int
    is_refused: bool = False

    @property
    def arch(self) -> str:
        """aarch64 or x86_64; "" for wheels of any."""
        return next((arch for arch in ("aarch64", "x86_64") if arch in self.platform_tag), "")


@dataclass(frozen=True, slots=True)
class Requirement:
    """What pip says that a package needs: `package` `version` needs `needs` `spec`; found: what is there."""

    package: str
    version: str
    needs: str
    spec: str
    found: str
    line: int


def normal_name(name: str) -> str:
    """A package's name in the form of this module."""
    return re.sub(r"[-_.]+", "_", name).lower()


_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,80}[A-Za-z0-9])?"
_VERSION = r"\d[A-Za-z0-9]{0,40}(?:[._+-][A-Za-z0-9]{1,40}){0,12}"
_BEFORE = r"\s*(?:[-*•]\s+)?(?:\[(?:pip3?|conda)\]\s+)?"
_PINNED = re.compile(rf"{_BEFORE}(?P<name>{_NAME})\s*==\s*(?P<version>{_VERSION})\s*(?:[;#].*)?\Z")
_TAGGED = re.compile(rf"\s*\[(?:pip3?|conda)\]\s+(?P<name>{_NAME})\s+(?P<version>{_VERSION})(?:\s|\Z)")
_ROW = re.compile(rf"\s*(?P<name>{_NAME})\s+(?P<version>{_VERSION})(?:\s+\S.*)?\Z")
_BARE = re.compile(
    rf"{_BEFORE}[`*|\s]*(?P<name>{_NAME})[`*]*(?:\s+[Vv]ersion)?\s*[:=|\s]\s*[`*vV]*(?P<version>{_VERSION})[`*|\s]*"
    r"(?:\([^()]{0,60}\)\s*|pypi_0\s+pypi\s*)?[,;]?\Z"
)
_DESCRIBED = re.compile(rf"(?P<name>{_NAME})\s+(?:\(!\)\s+)?(?P<version>{_VERSION})\s{{2,}}[A-Z\"].*\Z")
"""A row of `poetry show`: no header stands above it."""
_BRANCH = re.compile(
    rf"[\s│├└─|`+-]*(?P<name>{_NAME})(?:\[[^\]]{{0,80}}\])? v(?P<version>{_VERSION})(?: \(\*\))?\s*\Z"
)
"""A line of `uv tree`."""
_FILE = re.compile(rf"\s*(?P<name>{_NAME})\s*@\s*\S")
_HEAD = re.compile(r"\s*(?:#\s*)?(?:Package\s+Version|Name\s+Version\s+Build)\b")
_RULER = re.compile(r"\s*-{3,}[\s-]*\Z")
_SHOWN_NAME = re.compile(rf"\s*(?:Name:|name =)\s*\"?(?P<name>{_NAME})\"?\s*\Z")
"""Of `pip show` and of a lock file."""
_SHOWN_VERSION = re.compile(rf"\s*(?:Version:|version =)\s*\"?(?P<version>{_VERSION})\"?\s*\Z")
_WHEEL = re.compile(
    rf"(?P<name>[A-Za-z0-9][\w.]{{0,80}})-(?P<version>{_VERSION.replace('+-]', '+]')})-(?:\d\w{{0,20}}-)?"
    r"(?P<python>(?:cp|py)\d\w{0,20}(?:\.\w+){0,3})-(?P<abi>\w{1,20})-(?P<platform>[\w.]{1,120})\.whl"
)
_CHANGED = re.compile(r"\s*Successfully installed\s+(?P<list>\S.*)\Z")
_CHANGED_ONE = re.compile(rf"(?P<name>{_NAME})-(?P<version>\d[\w.+!]*)\Z")


def packages_in(lines: Iterable[tuple[int, str]]) -> Iterator[Listed]:
    """The packages that a text lists, in its order; lines: (number, text).

    Any name in a list with a header, in "name==version" and behind [pip3] or [conda]; names of KNOWN alone in
    lines that hold nothing but a name and a version.
    """
    in_table = False
    shown = ""
    for n_found, listed in enumerate(_each(lines, in_table, shown)):
        if n_found >= MAX_PACKAGES:
            return
        yield listed


def _each(lines: Iterable[tuple[int, str]], in_table: bool, shown: str) -> Iterator[Listed]:
    for number, text in lines:
        if len(text) > 1000 and "Successfully installed" not in text:
            in_table = False
            continue
        if _HEAD.match(text):
            in_table = True
            continue
        if _RULER.match(text):
            continue
        strong = _PINNED.match(text) or _TAGGED.match(text)
        if strong is None and in_table:
            strong = _ROW.match(text)
            in_table = strong is not None or text.lstrip().startswith(("#", "_"))
        if strong is not None:
            yield Listed(normal_name(strong["name"]), strong["version"], number)
            continue
        name, version = _SHOWN_NAME.match(text), _SHOWN_VERSION.match(text)
        if version is not None and shown:
            yield Listed(shown, version["version"], number)
        shown = normal_name(name["name"]) if name is not None else ""
        yield from _weak(number, text)


def _weak(number: int, text: str) -> Iterator[Listed]:
    bare = _BARE.match(text) or _DESCRIBED.match(text) or _BRANCH.match(text)
    if bare is not None and normal_name(bare["name"]) in KNOWN:
        yield Listed(normal_name(bare["name"]), bare["version"], number)
        return
    wheel = _WHEEL.search(text) if "@" in text else None
    if wheel is not None and _FILE.match(text):
        yield Listed(normal_name(wheel["name"]), wheel["version"], number)
    changed = _CHANGED.match(text)
    for word in changed["list"].split() if changed else ():
        one = _CHANGED_ONE.match(word)
        if one is not None:
            yield Listed(normal_name(one["name"]), one["version"], number)


def wheels_in(lines: Iterable[tuple[int, str]]) -> Iterator[Wheel]:
    """The wheels that a text names. is_refused: pip says that this platform does not support it."""
    for number, text in lines:
        if ".whl" not in text:
            continue
        for found in _WHEEL.finditer(text[:4000]):
            is_refused = "not a supported wheel" in text
            name = normal_name(found["name"])
            yield Wheel(name, found["version"], found["python"], found["platform"], number, is_refused)


_ONE_SPEC = r"[<>=!~]{1,3}\s{0,3}[\w.+*]{1,60}"
_SPEC = rf"(?P<needs>{_NAME})\s{{0,3}}(?P<spec>{_ONE_SPEC}(?:\s{{0,3}},\s{{0,3}}{_ONE_SPEC}){{0,6}})"
_BUT = re.compile(
    rf"(?P<package>{_NAME})\s+(?P<version>{_VERSION})\s+(?:requires|has requirement)\s+{_SPEC},?\s*but you"
    rf"(?: have|'ll have)\s+(?P<other>{_NAME})\s+(?P<found>{_VERSION})"
)
_DEPENDS = re.compile(rf"(?P<package>{_NAME})(?:==|\s+)(?P<version>{_VERSION})\s+depends on\s+{_SPEC}")
_ASKED = re.compile(rf"user requested\s+{_SPEC}")


def requirements_in(lines: Iterable[tuple[int, str]]) -> Iterator[Requirement]:
    """What pip says of packages that do not go together. "The user requested ..." has no package ("")."""
    for number, text in lines:
        text = text[:1000]
        if "require" not in text and "depends on" not in text and "user requested" not in text:
            continue
        found = _BUT.search(text) or _DEPENDS.search(text) or _ASKED.search(text)
        if found is not None:
            has = found.groupdict()
            yield Requirement(
                normal_name(has.get("package") or ""),
                has.get("version") or "",
                normal_name(has["needs"]),
                "".join(has["spec"].split()).rstrip(","),
                has.get("found") or "",
                number,
            )

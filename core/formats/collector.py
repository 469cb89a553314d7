"""Facts in texts of environment collectors (torch, vLLM, LLaMA-Factory, transformers) and of shell commands.

Lines stand in any order among others. A fact that is told more than once is given each time, in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Told:
    """One fact: its name, its value as written, its line (from 1)."""

    name: str
    value: str
    line: int


_KEY = re.compile(
    r"[\s\-*•|`]*(?P<key>[A-Za-z`][\w .`()/+-]{1,50}?)`?\s*(?::|=|：|\|)\s*(?P<value>\S.*?)\s*\|?\s*\Z"
)

_KEYS: dict[str, str] = {
    **{"pytorch version": "torch", "torch version": "torch", "pytorch": "torch"},
    **{"torch_npu version": "torch_npu", "torch-npu version": "torch_npu", "torch npu version": "torch_npu"},
    **{"vllm version": "vllm", "vllm ascend version": "vllm_ascend", "vllm_ascend version": "vllm_ascend"},
    **{"numpy version": "numpy", "transformers version": "transformers", "mindspore version": "mindspore"},
    **{"llamafactory version": "llamafactory", "mindspeed version": "mindspeed", "mindie version": "mindie"},
    **{"os": "os", "pretty_name": "os", "operating system": "os"},
    **{"libc version": "glibc", "glibc version": "glibc", "gcc version": "gcc", "clang version": "clang"},
    **{"python version": "python", "python": "python", "python platform": "platform", "platform": "platform"},
    **{"architecture": "arch", "arch": "arch", "kernel version": "kernel"},
    **{"cann version": "cann", "cann": "cann", "cann toolkit": "cann", "cann toolkit version": "cann"},
    **{"ascend cann version": "cann", "cann 版本": "cann", "ascend-cann-toolkit": "cann"},
    **{"driver version": "driver", "npu driver version": "driver", "ascend driver version": "driver"},
    **{"ascend driver": "driver", "npu driver": "driver", "hdk version": "driver", "ascend hdk": "driver"},
    **{"ascend hdk version": "driver", "software version": "driver", "firmware version": "firmware"},
    **{"nnal version": "nnal", "nnal": "nnal", "atb version": "nnal", "compatibility": "board-compatibility"},
    **{"npu type": "npu", "npu name": "npu", "chip name": "npu", "product name": "product"},
    **{
        "_glibcxx_use_cxx11_abi": "cxx11-abi",
        "torch cxx11 abi": "cxx11-abi",
        "glibcxx_use_cxx11_abi": "cxx11-abi",
    },
}
"""Keys in lower case, and the fact that they tell."""

_ABSENT = re.compile(
    r"(?i)(?:could not collect|n/?a|none|null|unknown|not found|not support(?:ed)?|-+|no|yes)\.?\Z"
)
_NUMBER = re.compile(r"\d+\.\d+")
_VERSIONS = frozenset(
    ("torch", "torch_npu", "vllm", "vllm_ascend", "numpy", "transformers", "mindspore", "llamafactory")
) | frozenset(("mindspeed", "mindie", "glibc", "python", "cann", "driver", "firmware", "nnal"))

_HEAD = re.compile(r"\|\s*npu-smi\s+(?P<tool>\S+)\s+Version:\s*(?P<driver>[^\s|]+)")
_SMI = re.compile(r"\s*npu-smi version:\s*(?P<tool>\S+)")
_PYTHON = re.compile(r"\s*(?:[$#]\s*)?Python (?P<version>3\.\d+\.\d+\w*)\s*(?:\(|\Z)")
_UNAME = re.compile(r"\bLinux\s+(?P<host>\S+)\s+(?P<kernel>\d+\.\d+\S*)\s.*?\b(?P<arch>aarch64|x86_64)\b")
_MACHINE = re.compile(r"\s*(?:\S{0,80}[$#]\s*uname -m\s+)?(?P<arch>aarch64|x86_64)\s*\Z")
"""What `uname -m` prints, on a line of its own."""
_GCC = re.compile(r"\s*(?:gcc|g\+\+)(?:-\d+)? \([^()]*\)\s+(?P<version>\d+\.\d+[\w.]*)")
_LDD = re.compile(r"\s*ldd \([^()]*\)\s+(?P<version>\d+\.\d+)")
_SOURCED = re.compile(
    r"(?:\bsource|(?:\A|[\s;&])\.)\s+[\"']?(?P<path>(?:[~$/]|\$\{)[\w./${}~-]*set_?env(?:_vars)?\.(?:sh|bash))"
)
_LINK = re.compile(r"(?:\A|\s)(?P<name>latest|cann)/?\s*->\s*(?P<to>[\w./-]+)")
_PART = re.compile(
    r"(?:\A|\s)(?:acllib|compiler|runtime|toolkit|opp|hccl|fwkacllib|opp_kernel)/?\s*->\s*"
    r"\.\./(?P<release>\d+\.\d+[\w.]*)/"
)
_ABI_VALUE = re.compile(r"_GLIBCXX_USE_CXX11_ABI\b\W{0,4}(?P<value>True|False|TRUE|FALSE|0|1)\b")
_NPU_NAME = re.compile(
    r"\|\s*\d+\s+(?P<name>(?:Ascend\s?)?(?:910\w*|310\w*|950\w*)(?:-\d)?)\s*\|\s*(?:OK|Warning|Alarm|Critical|UNKNOWN)\b"
)
_ASKED = re.compile(r"\b(?P<name>torch|torch_npu|numpy|mindspore|vllm)\.__version__\)?[\s;\"']*\Z")
_ANSWER = re.compile(r"\s*['\"]?(?P<version>\d+\.\d+[\w.+]*)['\"]?\s*\Z")
_DEVICES = re.compile(r"/dev/(?P<name>davinci\d+)\b")

_LOOSE_CANN = re.compile(
    r"(?i)(?:\bcann(?:[-_ ]?(?:toolkit|community|version|版本|ver))*|】)[】\s:=：/_-]{0,4}v?"
    r"(?P<release>[5-9]\.\d+\.(?:rc|t|alpha|beta)?\d+(?:\.(?:rc|alpha|beta)?\d+)?)"
)
_LOOSE_DRIVER = re.compile(
    r"(?i)(?:\b(?:hdk|driver)|驱动)(?:[-_ ]?(?:version|版本))?\**[\s:=：为是]{1,4}v?"
    r"(?P<release>2[1-9]\.\d+\.(?:rc)?\d+(?:\.\d+)*)"
)


def facts_in(lines: Iterable[tuple[int, str]]) -> Iterator[Told]:
    """Facts of a text: versions ("torch", "python", "cann", "driver" ...), "arch", "os", "npu-smi" ...

    "part": the release that a part of the toolkit links to.

    lines: (number, text), numbers from 1. Values that say that nothing is known are left out. "cann?" and
    "driver?": releases in a sentence or in the name of an image, good only where nothing else tells.
    """
    asked = ""
    for number, text in lines:
        if len(text) > 20_000:
            continue
        answer = _ANSWER.match(text) if asked else None
        if answer is not None:
            yield Told(asked, answer["version"], number)
        yield from _of_line(number, text)
        question = _ASKED.search(text) if "__version__" in text else None
        asked = question["name"] if question is not None else ""


def _of_line(number: int, text: str) -> Iterator[Told]:
    key = _KEY.match(text) if len(text) < 600 else None
    name = _KEYS.get(" ".join(key["key"].replace("`", "").lower().split())) if key else None
    if key is not None and name is not None:
        value = key["value"].strip("`*'\" ")
        if not _ABSENT.match(value) and (name not in _VERSIONS or _NUMBER.search(value[:60])):
            yield Told(name, _version(name, value), number)
    else:
        yield from _loose(number, text)
    yield from _of_commands(number, text)


def _loose(number: int, text: str) -> Iterator[Told]:
    for name, form in (("cann?", _LOOSE_CANN), ("driver?", _LOOSE_DRIVER)):
        for found in form.finditer(text[:4000]):
            yield Told(name, found["release"], number)


def _of_commands(number: int, text: str) -> Iterator[Told]:
    head = _HEAD.search(text)
    if head is not None:
        yield Told("npu-smi", head["tool"], number)
        yield Told("driver", head["driver"], number)
        return
    for form, group, name in (
        (_SMI, "tool", "npu-smi"),
        (_PYTHON, "version", "python"),
        (_UNAME, "arch", "arch"),
        (_UNAME, "kernel", "kernel"),
        (_MACHINE, "arch", "arch"),
        (_GCC, "version", "gcc"),
        (_LDD, "version", "glibc"),
        (_NPU_NAME, "name", "npu"),
        (_DEVICES, "name", "device"),
        (_ABI_VALUE, "value", "cxx11-abi"),
    ):
        found = form.search(text) if form in (_UNAME, _NPU_NAME, _DEVICES, _ABI_VALUE) else form.match(text)
        if found is not None:
            yield Told(name, found[group], number)
    for found in _SOURCED.finditer(text[:4000]):
        yield Told("sourced", found["path"], number)
    link = _LINK.search(text) if "->" in text else None
    if link is not None:
        yield Told(f"link {link['name']}", link["to"], number)
    part = _PART.search(text) if "->" in text else None
    if part is not None:
        yield Told("part", part["release"], number)


_RELEASE = re.compile(r"\d+(?:\.\w+)*(?:[.+-]\w+)*")


def _version(name: str, value: str) -> str:
    """The version at the front of a value ("3.11.7 (main, ...)", "glibc-2.28"); other values as they are."""
    if name not in _VERSIONS:
        return value
    if name == "glibc":
        value = value.removeprefix("glibc-").removeprefix("glibc ").removeprefix("GLIBC ")
    found = _RELEASE.search(value)
    return found[0] if found else value

"""What can be captured on this machine: each kind with each of its tools, and what repairs what is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .facts import Environment
from .paths import toolkit_script

Kind = Literal["precision", "overflow", "memory", "performance"]
Text = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Capture:
    """Whether a tool can capture a kind here. why, repair: (en, zh); repair is ("", "") where it can.

    is_possible: None where nobody can tell (of a text: what is on PATH was not told).
    """

    kind: Kind
    tool: str
    is_possible: bool | None
    why: Text
    repair: Text = ("", "")


@dataclass(frozen=True, slots=True)
class _Need:
    """One thing that a tool needs. lacks: what it is called where it is not there; pip: its name for pip."""

    is_met: Callable[[Environment], bool]
    lacks: Text
    repair: Callable[[Environment], Text]
    pip: str = ""


def _same(text: str) -> Text:
    return text, text


def _tool(name: str) -> _Need:
    return _Need(
        lambda environment: bool(environment.tools.get(name)),
        _same(name),
        lambda environment: (
            _same(f"source {toolkit_script(environment)}") if environment.toolkit is not None else _INSTALL
        ),
    )


def _package(name: str, pip: str) -> _Need:
    return _Need(
        lambda environment: name in environment.packages,
        _same(pip),
        lambda environment: _same(f"pip install {pip}"),
        pip,
    )


_INSTALL: Text = (
    "install the CANN toolkit, source its set_env.sh",
    "安装 CANN toolkit 并 source 其 set_env.sh",
)
_TOOLKIT = _Need(
    lambda environment: environment.toolkit is not None,
    _same("CANN toolkit"),
    lambda environment: _INSTALL,
)
_SOURCED = _Need(
    lambda environment: (
        environment.toolkit is None  # told as such
        or any(name in environment.variables for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"))
    ),
    _same("set_env.sh"),
    lambda environment: _same(f"source {toolkit_script(environment)}"),
)
_DEVICE = _Need(
    lambda environment: bool(environment.devices) and environment.driver is not None,
    _same("NPU"),
    lambda environment: (
        ("start the container with --device=/dev/davinci0 ...", "启动容器时加 --device=/dev/davinci0 ...")
        if environment.is_container
        else ("run it on a machine with an NPU and its driver", "在装有 NPU 及驱动的机器上运行")
    ),
)
_TORCH = _package("torch", "torch")
_TORCH_NPU = _package("torch_npu", "torch_npu")
_MSPROBE = _package("mindstudio_probe", "mindstudio-probe")
_MINDSPORE = _package("mindspore", "mindspore")
_COMPILER = _Need(
    lambda environment: any(environment.tools.get(name) for name in ("gcc", "g++", "clang")),
    ("gcc or clang", "gcc 或 clang"),
    lambda environment: _same("apt-get install gcc g++"),
)

_TABLE: tuple[tuple[Kind, str, tuple[_Need, ...]], ...] = (
    ("precision", "msprobe", (_TORCH, _MSPROBE)),
    ("precision", "msprobe (MindSpore)", (_MINDSPORE, _MSPROBE)),
    ("precision", "acl-dump", (_TOOLKIT, _SOURCED, _DEVICE)),
    ("overflow", "statistics", (_TORCH, _MSPROBE)),
    ("overflow", "nan-check", (_TORCH, _TORCH_NPU, _MSPROBE, _TOOLKIT, _SOURCED, _DEVICE)),
    ("overflow", "acl-overflow", (_TOOLKIT, _SOURCED, _DEVICE)),
    ("memory", "mssanitizer", (_tool("mssanitizer"), _DEVICE)),
    ("memory", "msmemscope", (_tool("msmemscope"), _DEVICE)),
    ("memory", "asan", (_COMPILER,)),
    ("performance", "msprof", (_tool("msprof"), _DEVICE)),
    ("performance", "msprof-dynamic", (_tool("msprof"), _DEVICE)),
    ("performance", "torch-profiler", (_TORCH, _TORCH_NPU, _TOOLKIT, _SOURCED, _DEVICE)),
    ("performance", "msopprof", (_tool("msopprof"), _DEVICE)),
    ("performance", "msopprof (simulator)", (_tool("msopprof"),)),
)
"""Every tool of `npulse capture`, by what its --tool takes; in brackets the same for something else."""

TOOLS = (
    *("npu-smi", "msprof", "msopprof", "mssanitizer", "msmemscope", "msdebug", "msprobe"),
    *("gcc", "g++", "clang", "c++filt"),
)
"""Programs that the inventory looks for on PATH."""


def captures(environment: Environment) -> tuple[Capture, ...]:
    """The whole table. Of a text: None wherever something is needed that texts do not tell."""
    return tuple(_capture(environment, kind, tool, needs) for kind, tool, needs in _TABLE)


def _capture(environment: Environment, kind: Kind, tool: str, needs: tuple[_Need, ...]) -> Capture:
    lacking = [need for need in needs if not need.is_met(environment)]
    if not environment.is_live:
        return Capture(kind, tool, None, ("not told by this text", "文本未说明"))
    if not lacking:
        return Capture(kind, tool, True, _how(environment, tool))
    why = (
        "lacks " + ", ".join(need.lacks[0] for need in lacking),
        "缺少 " + "、".join(need.lacks[1] for need in lacking),
    )
    return Capture(kind, tool, False, why, _repaired(lacking, environment))


def _repaired(lacking: list[_Need], environment: Environment) -> Text:
    """The first command, for all packages at once; others follow once that is done."""
    packages = [need.pip for need in lacking if need.pip]
    if lacking[0].pip:
        return _same("pip install " + " ".join(packages))
    return lacking[0].repair(environment)


def _how(environment: Environment, tool: str) -> Text:
    """What a capture that is possible runs on."""
    if tool in ("msprobe", "msprobe (MindSpore)", "statistics"):
        if not environment.devices:
            return "on the CPU", "在 CPU 上"
        return "", ""
    if tool == "asan":
        return "host code: -fsanitize=address", "主机代码：-fsanitize=address"
    return "", ""


def can_capture(environment: Environment) -> bool:
    """Whether at least one capture is possible here; of a text True, since nobody can tell."""
    return any(one.is_possible is not False for one in captures(environment))

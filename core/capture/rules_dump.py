"""Rules that are looked at before a capture of dumps."""

from __future__ import annotations

from npulse.core.rules import Rule

DUMP_RULES: tuple[Rule, ...] = (
    Rule(
        id="capture.msprobe-missing",
        severity="error",
        title=("msprobe is not installed where the program runs", "程序所用的 Python 中未安装 msprobe"),
        meaning=(
            "The Python that the command starts has no package msprobe, so nothing would be recorded.",
            "命令启动的 Python 中没有 msprobe 包，将不会记录任何内容。",
        ),
        threshold=("no package msprobe found by that Python", "该 Python 找不到 msprobe 包"),
        source=("mindstudio-probe, installation", "mindstudio-probe 安装说明"),
        silence=(
            "pip install mindstudio-probe in that Python",
            "在该 Python 中 pip install mindstudio-probe",
        ),
    ),
    Rule(
        id="capture.torch-npu-missing",
        severity="error",
        title=("torch_npu is not installed where the program runs", "程序所用的 Python 中未安装 torch_npu"),
        meaning=(
            "The task nan_check and a dump through acl.json ask the NPU itself; without torch_npu there is none to ask.",
            "nan_check 任务和 acl.json dump 由 NPU 自身完成；没有 torch_npu 就没有可用的 NPU。",
        ),
        threshold=("no package torch_npu found by that Python", "该 Python 找不到 torch_npu 包"),
        source=("msprobe, pytorch/dump/debugger/debugger_config", "msprobe debugger_config"),
        silence=("install torch_npu, or take a tool of msprobe", "安装 torch_npu，或使用 msprobe 的工具"),
    ),
)

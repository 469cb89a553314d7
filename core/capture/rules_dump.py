"""Rules that are looked at before a capture with msprobe."""

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
        id="capture.nan-check-npu",
        severity="error",
        title=("nan_check needs torch_npu", "nan_check 需要 torch_npu"),
        meaning=(
            "The task nan_check asks the NPU itself; where torch_npu cannot be imported msprobe refuses it.",
            "nan_check 任务由 NPU 自身检查；无法导入 torch_npu 时 msprobe 会拒绝。",
        ),
        threshold=("no package torch_npu found by that Python", "该 Python 找不到 torch_npu 包"),
        source=("msprobe, pytorch/dump/debugger/debugger_config", "msprobe debugger_config"),
        silence=("--tool statistics", "--tool statistics"),
    ),
)

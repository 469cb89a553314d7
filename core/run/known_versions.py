"""Which versions of each tool the readers were made for: the one table that docs/formats.md takes them from.

By the first part of a kind's id, in English alone: names and numbers. "written by" means that files of these
versions are read by the tests; the rest says what else the reader was made after.
"""
# ruff: noqa: E501 - a tool a line

from __future__ import annotations

from collections.abc import Mapping

KNOWN_VERSIONS: Mapping[str, str] = {
    "msprobe": "written by 26.2.0, 8.3.3 and 1.2.2 (PyTorch on CPU); 1.0 to 26.2 and MindSpore after its source",
    "cann": "dumps and overflow records of devices; containers, names and configurations after the open source of 2026",
    "polygraphy": "RunResults of 0.30 to 0.49 after its source",
    "sanitizer": "msSanitizer 26.0.0 after its own printing code of August 2026, styles of 2023 to 2025 after manuals; written by GCC 12.2 and clang 14, 16, 19, 22",
    "runtime": "logs of 2020 to 2025; the runtime's open source of August 2026",
    "compiler": "messages as they are printed by the operator compilers",
    "memscope": "after manuals and source text of msMemScope and msLeaks",
    "msdebug": "after manuals and source text",
    "prof": "exports of before and since CANN 8, torch_npu and MindSpore profilers, msprof-analyze 26.2.0; msprof after its source of July 2026",
    "opprof": "results of before and since 2025; msOpProf after its source of August 2026",
    "msmonitor": "after its source of 2026",
    "atb": "dumps of the ATB probe of msprobe and of msit, after their sources; compare workbooks of msprobe 26",
    "msit": "dumps of torch modules and compare reports, after manuals and source text",
    "torchair": "dumps of traced graphs, after the sources of 2025",
    "mindspore": "tables of 2.x, after its documentation",
    "tensor": "torch.save of both forms (PyTorch 2.x on CPU), safetensors and numpy after their formats",
    "device": "npu-smi: every layout that its source draws; environment texts and scripts of any version",
    "npulse": "round.toml with schema = 1",
}


def versions_of(kind: str) -> str:
    """What is known of a kind's tool, by the kind's id; "" for tools whose files are only recognised."""
    return KNOWN_VERSIONS.get(kind.split(".", 1)[0], "")

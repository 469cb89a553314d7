"""Reports of mssanitizer, as its --log-file holds them."""

# ruff: noqa: E501 - lines as the tools write them
from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from .randomness import CHUNK, stream

KERNELS = [
    "add_custom_kernel",
    "matmul_leakyrelu_custom",
    "flash_attention_score_bf16",
    "rms_norm_grad_fp32",
    "triton_add",
    "te_layernorm_9f3c1",
    "moe_gating_top_k_softmax",
    "vec_add",
]
API_FRAMES = [
    "/usr/local/Ascend/cann/compiler/tikcpp/tikcfw/impl/dav_c220/kernel_operator_data_copy_impl.h:58:9",
    "/usr/local/Ascend/cann/compiler/tikcpp/tikcfw/inner_interface/inner_kernel_operator_data_copy_intf.cppm:155:9",
    "/usr/local/Ascend/cann/compiler/tikcpp/tikcfw/inner_interface/inner_kernel_operator_data_copy_intf.cppm:461:5",
]
REGISTER = (
    "[mssanitizer] Warning:Register CTRL was not reset to default in block aiv({k}) on kernel vec_add. "
    "Expected default value is (0x8), but current value is (0x108)"
)
NOISE = ["[INFO] step {k}: loss 2.3{k}", "W1129 12:00:00.000 run.py:{k}] retrying allocation", REGISTER]


def _record(rng: np.random.Generator, serial: int) -> str:
    """One report as the tool prints it, in one of its forms."""
    kernel = KERNELS[int(rng.integers(len(KERNELS)) ** 1.5) % len(KERNELS)]
    line = int(rng.integers(10, 400) // 10 * 10 + 5)
    block, size, pc = int(rng.integers(48)), int(rng.integers(1, 64)) * 4, int(rng.integers(0x100, 0x4000))
    addr = 0x12C0C0000000 + int(rng.integers(1 << 20)) * 16
    space = ("GM", "GM", "GM", "UB", "L1", "L0A", "L0C")[int(rng.integers(7))]
    source = f"/workspace/user/ops/{kernel}/op_kernel/{kernel}.cpp:{line}:5"
    stack = "".join(f"======    #{i} {f}\n" for i, f in enumerate([*API_FRAMES, source]))
    where = f"======    in block aiv({block}) on device 0\n"
    at = f"======    code in pc current 0x{pc:x} (serialNo:{serial})\n"
    kind = int(rng.integers(100))
    if kind < 35:
        return f"====== ERROR: illegal read of size {size}\n======    at 0x{addr:x} on {space} in {kernel}\n{where}{at}{stack}\n"
    if kind < 55:
        return f"====== ERROR: illegal write of size {size}\n======    at 0x{addr:x} on {space} in {kernel}\n{where}{at}{stack}\n"
    if kind < 65:
        return f"====== WARNING: out of bounds of size {size}\n======    at 0x{addr:x} on GM when writing data in {kernel}\n{where}{at}{stack}\n"
    if kind < 72:
        return f"====== ERROR: misaligned access of size {size | 1}\n======    at 0x{addr & 0xFFFF:x} on UB in {kernel}\n{where}{at}{stack}\n"
    if kind < 80:
        return f"====== ERROR: uninitialized read of size {size}\n======    at 0x{addr:x} on {space} in {kernel}\n{where}{at}{stack}\n"
    if kind < 92:
        first, second, haz = (
            ("PIPE_MTE2 Write", "PIPE_MTE3 Read", "RAW"),
            ("PIPE_V Read", "PIPE_MTE2 Write", "WAR"),
            ("PIPE_MTE2 Write", "PIPE_V Write", "WAW"),
        )[int(rng.integers(3))]
        place = f"at {haz}()+0x{addr & 0xFFF:x} in block {block} (aiv) on device 0 at pc current 0x"
        return (
            f"====== ERROR: Potential {haz} hazard detected at {'UB' if kind < 88 else 'GM'} in {kernel}:\n"
            f"======    {first} {place}{pc:x} (serialNo:{serial})\n{stack}"
            f"======    {second} {place}{pc + 60:x} (serialNo:{serial + 3})\n{stack}\n"
        )
    if kind < 96:
        return (
            f"====== WARNING: Unpaired set_flag instructions detected\n======    from PIPE_MTE3 to PIPE_MTE2 in {kernel}\n"
            f"{where}{at}{stack}\n"
        )
    if kind < 98:
        return f"====== ERROR: illegal free() \n======    at 0x{addr:x} on GM\n======    code in main.cpp:{line} (serialNo:{serial})\n\n"
    return (
        f"====== ERROR: LeakCheck: detected memory leaks\n\n======    Direct leak of {size} byte(s)\n"
        f"======      at 0x{addr:x} on GM\n======      allocated in main.cpp:{line} (serialNo:{serial})\n\n"
        f"====== SUMMARY: {size} byte(s) leaked in 1 allocation(s)\n\n"
    )


def write_report(folder: Path, n_records: int) -> int:
    """So many records of eight kernels; before every fiftieth a line of another program. Bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mssanitizer_report.log"
    with path.open("w") as file:
        for chunk in range(math.ceil(n_records / CHUNK)):
            rng = stream(6, chunk)
            for k in range(chunk * CHUNK, min(n_records, (chunk + 1) * CHUNK)):
                text = _record(rng, k * 7 % 100000)
                file.write(NOISE[k % 3].format(k=k % 97) + "\n" + text if rng.random() < 0.02 else text)
    return path.stat().st_size

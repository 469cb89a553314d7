"""op_summary and kernel_details tables of any size, 46 and 47 columns, some 350 bytes a row."""

# ruff: noqa: E501 - lines as the tools write them
from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .randomness import CHUNK, stream

PMU = (
    "aicore_time(us),aic_total_cycles,aic_mac_time(us),aic_mac_ratio,aic_scalar_time(us),aic_scalar_ratio,"
    "aic_mte1_time(us),aic_mte1_ratio,aic_mte2_time(us),aic_mte2_ratio,aic_fixpipe_time(us),aic_fixpipe_ratio,"
    "aic_icache_miss_rate,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,aiv_scalar_time(us),"
    "aiv_scalar_ratio,aiv_mte2_time(us),aiv_mte2_ratio,aiv_mte3_time(us),aiv_mte3_ratio,aiv_icache_miss_rate,"
    "cube_utilization(%)"
)
IO = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID"
HEADERS = {
    "op_summary": "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),"
    f"Task Duration(us),Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,{IO},{PMU}\n",
    "kernel_details": "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,"
    f"Start Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,{IO},{PMU}\n",
}
# (name, type, core, input shapes, type, format, output shapes, mean us, times per layer)
OPS = [
    (
        "aclnnMatmul_MatMulV3Common_MatMulV3",
        "MatMulV3",
        "AI_CORE",
        "4096,1024;4096,1024",
        "DT_BF16",
        "ND",
        "4096,4096",
        171.4,
        10,
    ),
    (
        "aclnnMatmul_MatMulCommon_MatMulV2",
        "MatMulV2",
        "AI_CORE",
        "4096,4096;4096,1024",
        "DT_BF16",
        "ND",
        "4096,1024",
        179.0,
        2,
    ),
    (
        "aclnnFlashAttentionScore_FlashAttentionScore_FlashAttentionScore",
        "FlashAttentionScore",
        "MIX_AIC",
        "4096,1,2048;4096,1,1024;4096,1,1024;;;;2048,2048;;;;",
        "DT_BF16",
        "NCL",
        "1,16,4096,8;1,16,4096,8;;4096,1,2048",
        882.8,
        1,
    ),
    (
        "aclnnFlashAttentionScoreGrad_FlashAttentionScoreGrad_FlashAttentionScoreGrad",
        "FlashAttentionScoreGrad",
        "MIX_AIC",
        "4096,1,2048;4096,1,1024;4096,1,1024;4096,1,2048;2048,2048;1,16,4096,8;1,16,4096,8;;4096,1,2048;;;;;;",
        "DT_BF16",
        "NCL",
        "4096,1,2048;4096,1,1024;4096,1,1024;;;",
        2254.6,
        1,
    ),
    (
        "aclnnAdd_AddAiCore_Add",
        "Add",
        "AI_VECTOR_CORE",
        "4096,1,1024;4096,1,1024",
        "DT_BF16",
        "NCL",
        "4096,1,1024",
        32.0,
        16,
    ),
    (
        "aclnnCast_CastAiCore_Cast",
        "Cast",
        "AI_VECTOR_CORE",
        "4096,1,1024",
        "FLOAT",
        "NCL",
        "4096,1,1024",
        20.9,
        10,
    ),
    (
        "aclnnMul_MulAiCore_Mul",
        "Mul",
        "AI_VECTOR_CORE",
        "4096,1,3072;4096,1,3072",
        "DT_BF16",
        "NCL",
        "4096,1,3072",
        45.8,
        6,
    ),
    (
        "aclnnRmsNorm_RmsNorm_RmsNorm",
        "RmsNorm",
        "AI_VECTOR_CORE",
        "4096,1,1024;1024",
        "DT_BF16",
        "NCL",
        "4096,1,1024;4096,1,1",
        32.4,
        4,
    ),
    (
        "aclnnRmsNormGrad_RmsNormGrad_RmsNormGrad",
        "RmsNormGrad",
        "MIX_AIV",
        "4096,1,1024;4096,1,1024;4096,1,1;1024",
        "DT_BF16",
        "NCL",
        "4096,1,1024;1024",
        114.4,
        4,
    ),
    (
        "aclnnSlice_Slice_Slice",
        "Slice",
        "AI_VECTOR_CORE",
        "4096,1,4096;3;3",
        "DT_BF16",
        "NCL",
        "4096,1,1024",
        26.9,
        5,
    ),
    (
        "aclnnSwiGlu_SwiGlu_SwiGlu",
        "SwiGlu",
        "AI_VECTOR_CORE",
        "4096,1,6144",
        "DT_BF16",
        "NCL",
        "4096,1,3072",
        95.1,
        1,
    ),
    (
        "aclnnSwiGluGrad_SwiGluGrad_SwiGluGrad",
        "SwiGluGrad",
        "AI_VECTOR_CORE",
        "4096,1,3072;4096,1,6144",
        "DT_BF16",
        "NCL",
        "4096,1,6144",
        224.9,
        1,
    ),
    (
        "aclnnRotaryPositionEmbedding_RotaryPositionEmbedding_RotaryPositionEmbedding",
        "RotaryPositionEmbedding",
        "AI_VECTOR_CORE",
        "4096,1,16,128;4096,1,1,128;4096,1,1,128",
        "DT_BF16",
        "NCHW",
        "4096,1,16,128",
        43.0,
        2,
    ),
    (
        "aclnnInplaceCopy_TensorMove_TensorMove",
        "TensorMove",
        "AI_VECTOR_CORE",
        "4096,1,1024",
        "DT_BF16",
        "NCL",
        "4096,1,1024",
        26.2,
        3,
    ),
    (
        "trans_TransData_0",
        "TransData",
        "AI_VECTOR_CORE",
        "32,3,224,224",
        "FLOAT",
        "NCHW",
        "32,1,224,224,8",
        24.4,
        2,
    ),
    ("aclnnTopk_TopKV2_TopKV2", "TopKV2", "AI_CPU", "4096,64;1", "FLOAT", "ND", "4096,8;4096,8", 412.0, 1),
    (
        "aclnnApplyAdamWV2_ApplyAdamWV2_ApplyAdamWV2",
        "ApplyAdamWV2",
        "AI_VECTOR_CORE",
        "4194304;4194304;4194304;4194304;1",
        "FLOAT",
        "ND",
        "4194304;4194304;4194304",
        158.7,
        2,
    ),
    ("hcom_allReduce__097_7_1", "hcom_allReduce_", "COMMUNICATION", "", "", "", "", 5763.2, 1),
]
FIRST_US = 1764246877073569.640
CUBE_TEXT = ",".join(["%(t1).3f,%(c1)d", *(f"%(t{i}).3f,%(r{i - 1}).3f" for i in range(2, 7)), "%(r6).3f"])
VECTOR_TEXT = ",".join(["%(t1).3f,%(c2)d", *(f"%(t{i}).3f,%(r{i - 1}).3f" for i in (6, 5, 4, 3)), "%(r6).3f"])


def _templates(flavor: str) -> list[tuple[str, float]]:
    """The rows of a layer as %-templates with their mean durations in us."""
    made = []
    for name, kind, core, ins, dtype, form, outs, mean_us, times in OPS:
        head = "%(step)d,0" if flavor == "kernel_details" else "0"
        if core == "COMMUNICATION":
            no_values = ",".join(["N/A"] * 34)
            row = f"{head},4294967295,N/A,N/A,{name},{kind},N/A,{core},%(start).3f\t,%(dur).3f,%(wait)f,0,{no_values}\n"
        else:
            parts = []
            for shapes in (ins, outs):
                n = shapes.count(";") + 1
                parts.append(f'"""{shapes}""",{";".join([dtype] * n)},{";".join([form] * n)}')
            is_cube, is_vector = core in ("AI_CORE", "MIX_AIC"), core != "AI_CORE" and core != "AI_CPU"
            cube = CUBE_TEXT if is_cube else "0.0,0" + ",0.0" * 11
            vector = VECTOR_TEXT if is_vector else "0.0,0" + ",0.0" * 9
            row = (
                f"{head},4294967295,%(task)d,2,{name},{kind},dynamic,{core},%(start).3f\t,%(dur).3f,%(wait)f,"
                f"{20 if is_cube else 40},{40 if core == 'MIX_AIC' else 0},NO,{','.join(parts)},N/A,"
                f"{cube},{vector},{'%(cu).3f' if is_cube else '0.000'}\n"
            )
        made += [(row, mean_us)] * times
    return [made[i] for i in stream(7).permutation(len(made)).tolist()]


def _rows(flavor: str, n_rows: int) -> Iterator[str]:
    templates = _templates(flavor)
    pitch_us = float(np.mean([mean_us for _, mean_us in templates]) * 1.35)
    for chunk in range(math.ceil(n_rows / CHUNK)):
        rng = stream(4, chunk)
        factors = np.exp(rng.standard_normal(CHUNK) * 0.08)
        factors[rng.random(CHUNK) < 0.0005] *= 12  # stragglers
        for i, r in enumerate(rng.random((min(CHUNK, n_rows - chunk * CHUNK), 6)).tolist()):
            k = chunk * CHUNK + i
            text, mean_us = templates[k % len(templates)]
            dur = mean_us * float(factors[i])
            words = {f"t{n + 2}": dur * 0.96 * r[n] for n in range(5)} | {f"r{n + 1}": r[n] for n in range(5)}
            yield text % {
                **words, "step": k // 12000, "task": k & 0xFFFF, "start": FIRST_US + k * pitch_us, "dur": dur,
                "wait": r[0] * 3, "t1": dur * 0.96, "c1": dur * 31680, "c2": dur * 63360, "r6": r[5] * 0.05,
                "cu": 40 + 58 * r[5],
            }  # fmt: skip


def write_table(path: Path, flavor: str, n_rows: int) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        file.write(HEADERS[flavor])
        file.writelines(_rows(flavor, n_rows))
    return path.stat().st_size


def write_op_summary(folder: Path, n_rows: int) -> int:
    return write_table(folder / "op_summary_20261129120000.csv", "op_summary", n_rows)

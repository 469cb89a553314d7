"""The performance and device parts of the sample run: three steps of two layers, and the card they ran on.

The layers have the sizes of Llama-70B, on one card that decodes for BATCH sequences. Each operator takes as
long as its bytes need at the memory's rate or its products at the cube's, whichever is longer, and what it
costs to start; the paged cache is read by GatherV2, at a third of that rate. From round 2 on each linear
layer's input is quantised by an operator of its own. In round 3 the cache is int8: GatherV2 moves half the
bytes.

In round 1 the card's air flow is blocked. A small thermal model says how hot it gets and at which frequency
it settles; what it costs to start an operator grows with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .dump_writer import write

SEED = 2
LAYERS = (24, 25)
N_LAYERS = 32
N_STEPS = 3
BATCH = 8
HIDDEN, N_HEADS, N_KV_HEADS, HEAD_WIDTH, FFN = 8192, 64, 8, 128, 28672

BLOCK_TOKENS, N_BLOCKS = 128, 256
"""Tokens in a block of the paged cache, and how many blocks there are."""
BLOCKS_EACH = 5
"""Blocks that a sequence holds: 640 tokens. Chosen so that the gathers take 13 % of the time in round 1."""

MEMORY_GB_PER_S = 1600.0
"""Of a 910B3, as far as large operators reach it."""
GATHER_GB_PER_S = 510.0
"""What GatherV2 reaches: it reads and writes every byte again, block by block."""
CUBE_TOPS = {"INT8": 550.0, "DT_BF16": 280.0}
START_US = 2.5
"""What an operator takes at least, at the rated frequency."""
GAP_US, STEP_GAP_US = 1.2, 60.0
"""Between operators, and between steps (sampling, the host's turn)."""
JITTER = 0.01
FIRST_NS = 1_764_246_877_000_000_000
"""When the first step of round 1 began, since 1970; each later round an hour after the one before."""

RATED_MHZ, AMBIENT_C = 1800, 26.0
IDLE_W, LOAD_W = 92.0, 214.0
"""Power of the card: idle, and what full load adds at the rated frequency."""
KELVIN_PER_W = {"round1": 0.232, "round2": 0.095, "round3": 0.095}
"""From the chip to the air. In round 1 the air flow is blocked."""
SLOWS_FROM_C, MHZ_PER_KELVIN = 84.0, 40.0
"""Above this the card lowers its frequency, by so much for each degree."""
SETTLE_S, WARM_UP_S = 600, 45.0

ITEM_BYTES = {"INT8": 1, "DT_BF16": 2, "INT32": 4, "FLOAT": 4}


@dataclass(frozen=True, slots=True)
class Card:
    """Where the thermal model settles."""

    temperature_c: float
    frequency_mhz: float
    power_w: float


def settled(kelvin_per_w: float, load: float = 1.0) -> Card:
    """The card after ten minutes at this load, one second at a time."""
    temperature, frequency, power = AMBIENT_C, float(RATED_MHZ), IDLE_W
    for _ in range(SETTLE_S):
        power = IDLE_W + load * LOAD_W * (frequency / RATED_MHZ) * (frequency / RATED_MHZ)
        temperature += (AMBIENT_C + power * kelvin_per_w - temperature) / WARM_UP_S
        frequency = RATED_MHZ - MHZ_PER_KELVIN * max(0.0, temperature - SLOWS_FROM_C)
    return Card(temperature, frequency, power)


Tensor = tuple[str, tuple[int, ...]]
"""Data type and shape."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One call. flops: of the cube, 0 for others. rate: what its bytes move at."""

    name: str
    type: str
    core: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    moved_bytes: float
    flops: float = 0.0
    rate_gb_per_s: float = MEMORY_GB_PER_S

    def duration_us(self, card: Card) -> float:
        start = START_US * RATED_MHZ / card.frequency_mhz
        at_cube = self.flops / (CUBE_TOPS[self.inputs[0][0]] * 1e6) if self.flops else 0.0
        return start + max(self.moved_bytes / (self.rate_gb_per_s * 1e3), at_cube)


def size(tensor: Tensor) -> int:
    """Bytes of a tensor."""
    return int(np.prod(tensor[1], dtype=np.int64)) * ITEM_BYTES[tensor[0]]


def vector(name: str, type_: str, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Operator:
    """An operator of the vector cores: each tensor is read or written once."""
    moved = float(sum(map(size, (*inputs, *outputs))))
    return Operator(name, type_, "AI_VECTOR_CORE", inputs, outputs, moved)


def linear(name: str, rows: int, n_in: int, n_out: int) -> Operator:
    """int8 activation by int8 weight."""
    inputs: tuple[Tensor, ...] = (("INT8", (rows, n_in)), ("INT8", (n_in, n_out)), ("FLOAT", (n_out,)))
    outputs: tuple[Tensor, ...] = (("DT_BF16", (rows, n_out)),)
    moved = float(sum(map(size, (*inputs, *outputs))))
    kernel = f"aclnnQuantMatmulV4_{name}_QuantBatchMatmulV3"
    return Operator(
        kernel, "QuantBatchMatmulV3", "AI_CORE", inputs, outputs, moved, 2.0 * rows * n_in * n_out
    )


def gather(name: str, cache_dtype: str) -> Operator:
    """The blocks of all sequences, copied out of the paged cache."""
    block = (BLOCK_TOKENS, N_KV_HEADS, HEAD_WIDTH)
    cache, index = (cache_dtype, (N_BLOCKS, *block)), ("INT32", (BATCH * BLOCKS_EACH,))
    out = (cache_dtype, (BATCH * BLOCKS_EACH, *block))
    kernel = f"aclnnIndexSelect_{name}_GatherV2"
    moved = 2.0 * size(out)
    return Operator(
        kernel, "GatherV2", "AI_VECTOR_CORE", (cache, index), (out,), moved, rate_gb_per_s=GATHER_GB_PER_S
    )


def attention(layer: int, rows: int, cache_dtype: str) -> Operator:
    cached = (cache_dtype, (BATCH * BLOCKS_EACH, BLOCK_TOKENS, N_KV_HEADS, HEAD_WIDTH))
    query = ("DT_BF16", (rows, N_HEADS, HEAD_WIDTH))
    moved = float(2 * size(query) + 2 * size(cached))
    flops = 4.0 * rows * BLOCKS_EACH * BLOCK_TOKENS * N_HEADS * HEAD_WIDTH
    kernel = f"aclnnFusedInferAttentionScore_l{layer}_FusedInferAttentionScore"
    inputs = (query, cached, cached)
    return Operator(kernel, "FusedInferAttentionScore", "MIX_AIC", inputs, (query,), moved, flops)


def layer_operators(layer: int, name: str, rows: int) -> Iterator[Operator]:
    """What one layer runs in a round, for `rows` tokens."""
    is_dynamic, cache_dtype = name != "round1", "INT8" if name == "round3" else "DT_BF16"
    n_qkv = (N_HEADS + 2 * N_KV_HEADS) * HEAD_WIDTH
    made = "DT_BF16" if is_dynamic else "INT8"

    def given(what: str, type_: str, n_in: int, width: int) -> Iterator[Operator]:
        """What hands its output to a linear layer; from round 2 on an operator of its own quantises it."""
        quantises = "" if is_dynamic else "Quant"
        kernel = f"aclnn{type_}{quantises}_{what}_{type_}{quantises}"
        x: Tensor = ("DT_BF16", (rows, n_in))
        yield vector(kernel, f"{type_}{quantises}", (x,), ((made, (rows, width)),))
        if is_dynamic:
            yield quantise(what, width)

    def quantise(what: str, width: int) -> Operator:
        scale: Tensor = ("FLOAT", (rows,))
        pair: tuple[Tensor, ...] = (("INT8", (rows, width)), scale)
        return vector(
            f"aclnnDynamicQuant_{what}_DynamicQuant", "DynamicQuant", (("DT_BF16", (rows, width)),), pair
        )

    yield from given(f"l{layer}_input", "AddRmsNorm", HIDDEN, HIDDEN)
    yield linear(f"l{layer}_qkv", rows, HIDDEN, n_qkv)
    qkv: Tensor = ("DT_BF16", (rows, n_qkv))
    yield vector(f"aclnnRotaryMul_l{layer}_RotaryMul", "RotaryMul", (qkv,), (qkv,))
    yield gather(f"l{layer}_key", cache_dtype)
    yield gather(f"l{layer}_value", cache_dtype)
    yield attention(layer, rows, cache_dtype)
    mixed = N_HEADS * HEAD_WIDTH
    if is_dynamic:
        yield quantise(f"l{layer}_mixed", mixed)
    else:
        x: tuple[Tensor, ...] = (("DT_BF16", (rows, mixed)),)
        yield vector(
            f"aclnnAscendQuant_l{layer}_AscendQuantV2", "AscendQuantV2", x, (("INT8", (rows, mixed)),)
        )
    yield linear(f"l{layer}_o", rows, mixed, HIDDEN)
    yield from given(f"l{layer}_post", "AddRmsNorm", HIDDEN, HIDDEN)
    yield linear(f"l{layer}_gate_up", rows, HIDDEN, 2 * FFN)
    yield from given(f"l{layer}_act", "SwiGlu", 2 * FFN, FFN)
    yield linear(f"l{layer}_down", rows, FFN, HIDDEN)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One row of the profile. Times in ns; wait_ns: since the end of the one before."""

    step: int
    operator: Operator
    start_ns: int
    duration_ns: int
    wait_ns: int


def kernels_of(name: str, card: Card) -> list[Kernel]:
    """The steps of a round, operator by operator."""
    random = np.random.RandomState(SEED + 3000 + int(name[-1]))
    found: list[Kernel] = []
    now_ns = FIRST_NS + (int(name[-1]) - 1) * 3600 * 10**9
    end_ns = now_ns
    for step in range(N_STEPS):
        for layer in LAYERS:
            for operator in layer_operators(layer, name, BATCH):
                stretch = 1.0 + JITTER * random.uniform(-1.0, 1.0)
                duration_ns = int(round(1e3 * operator.duration_us(card) * stretch))
                found.append(Kernel(step, operator, now_ns, duration_ns, now_ns - end_ns))
                end_ns = now_ns + duration_ns
                now_ns = end_ns + int(round(1e3 * GAP_US * random.uniform(0.5, 1.5)))
        now_ns += int(round(1e3 * STEP_GAP_US * random.uniform(0.9, 1.1)))
    return found


def us(ns: int) -> str:
    """Microseconds as the profiler writes them."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def shapes(tensors: tuple[Tensor, ...]) -> str:
    text = ";".join(",".join(map(str, shape)) for _, shape in tensors)
    return f'"""{text}"""'


COLUMNS = (
    "Step Id,Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num,"
    "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats"
)
BLOCKS = {"AI_CORE": 20, "AI_VECTOR_CORE": 40, "MIX_AIC": 20}
"""Cores of a 910B3 that an operator of each kind is split over."""


def kernel_details(kernels: list[Kernel]) -> str:
    """kernel_details.csv of level 0, with shapes."""
    lines = [COLUMNS]
    for one in kernels:
        call = one.operator
        cells = [str(one.step), "0", call.name, call.type, call.core, us(one.start_ns) + "\t"]
        cells += [us(one.duration_ns), us(one.wait_ns), str(BLOCKS[call.core])]
        for tensors in (call.inputs, call.outputs):
            dtypes = ";".join(dtype for dtype, _ in tensors)
            cells += [shapes(tensors), dtypes, ";".join("ND" for _ in tensors)]
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def serving_table(name: str, kernels: list[Kernel], card: Card) -> str:
    """What one sequence sees of the whole model: each token, and a prompt at once, passes all layers."""
    ends = [max(k.start_ns + k.duration_ns for k in kernels if k.step == step) for step in range(N_STEPS)]
    token_ns = (ends[-1] - ends[0]) / (N_STEPS - 1) * N_LAYERS / len(LAYERS)
    rows = BATCH * BLOCKS_EACH * BLOCK_TOKENS
    prompt_us = N_LAYERS * sum(one.duration_us(card) for one in layer_operators(0, name, rows))
    return (
        f"\n[serving]\nfirst_token_ms = {prompt_us / 1e3:.1f}\ntokens_per_s = {1e9 / token_ns:.2f}\n"
        f"sequences = {BATCH}\n"
    )


RULE = "+" + "-" * 27 + "+" + "-" * 15 + "+" + "-" * 52 + "+"
CLOSING = RULE.replace("-", "=")


def npu_smi_info(card: Card) -> str:
    """`npu-smi info` of a server with one card, as 25.2.0 prints it."""
    power, celsius, head = f"{card.power_w:.1f}", round(card.temperature_c), "+" + "-" * 96 + "+"
    lines = [
        head,
        f"| {'npu-smi 25.2.0':<32} {'Version: 25.2.0':<62}|",
        RULE,
        "| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|",
        "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |",
        CLOSING,
        f"| {0:<5d} {'910B3':<20s}| {'OK':<13s} | {power:<11s} {celsius:<17d} {0:<5d}/ {0:<14d}|",
        f"| {0:<26d}| {'0000:C1:00.0':<13s} | {97:<11d} {0:<5d}/ {0:<10d} {57784:<5d}/ {65536:<14d}|",
        CLOSING,
        "+---------------------------+---------------+----------------------------------------------------+",
        "| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |",
        CLOSING,
        f"| {0:<7d} {0:<18d}| {104217:<13d} | {'python3.11':<24s} | {54366:<23d} |",
        CLOSING,
    ]
    return "\n".join(lines) + "\n"


def npu_smi_common(card: Card) -> str:
    """`npu-smi info -t common -i 0` of the same card."""
    values = {
        "Memory Usage Rate(%)": 0,
        "HBM Usage Rate(%)": 88,
        "Aicore Usage Rate(%)": 97,
        "Aicore Freq(MHZ)": RATED_MHZ,
        "Aicore curFreq(MHZ)": round(card.frequency_mhz),
        "Aicore Count": BLOCKS["AI_CORE"],
        "Temperature(C)": round(card.temperature_c),
        "NPU Real-time Power(W)": f"{card.power_w:.1f}",
    }
    lines = [f"\t{'NPU ID':<30} : 0", f"\t{'Chip Count':<30} : 1", "", f"\t{'Chip ID':<30} : 0"]
    lines += [f"\t{key:<30} : {value}" for key, value in values.items()]
    lines += ["", f"\t{'Chip Name':<30} : mcu", f"\t{'Temperature(C)':<30} : {round(AMBIENT_C + 14)}"]
    return "\n".join(lines) + "\n"


def make_round(folder: Path, name: str) -> str:
    """Write the profile and the card's state of one round; returns what its manifest says of serving."""
    card = settled(KELVIN_PER_W[name])
    kernels = kernels_of(name, card)
    output = folder / name / "prof" / "decoder_20251127_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    write(output / "kernel_details.csv", kernel_details(kernels).encode())
    write(folder / name / "device" / "npu_smi_info.txt", npu_smi_info(card).encode())
    write(folder / name / "device" / "npu_smi_common.txt", npu_smi_common(card).encode())
    return serving_table(name, kernels, card)

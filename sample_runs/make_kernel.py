"""The memory part of the sample run: a custom attention kernel under msSanitizer, in three rounds.

Each head is one block; it writes the largest score of every row into a buffer that all blocks share,
[head][row]. In round 1 the offset of a head is `head * SEQ + head`: every head begins one element further
behind its place than the one before, and the last one writes past the end of the buffer. The kernel's source
is written beside the log, and what the log says is the outcome of the kernel's index arithmetic, walked
through below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .dump_writer import write

KERNEL = "flash_attn_custom"
N_HEADS, SEQ, TILE, HEAD_DIM = 8, 64, 16, 128
FLOAT_BYTES, HALF_BYTES = 4, 2

FIRST_ADDRESS = 0x12C0C0013000
"""Where a device's allocations begin, as in logs of real runs."""
ALIGNMENT_BYTES, PADDING_BYTES = 512, 32
"""Of an allocation; msSanitizer keeps `--padding` bytes behind each of them."""

OFFSETS = {"round1": "head * SEQ + head", "round2": "head * SEQ", "round3": "head * SEQ"}
"""Where a head's rows begin in the score buffer, as it stands in the kernel of each round."""

BUILD_FOLDER = "/workspace/w8a8"
"""Where the kernel was compiled: the log's frames name its source there."""

SOURCE = """\
/*
 * One attention head a block: s = q * k, row maximum, softmax, o = p * v.
 * The row maxima of all heads are kept in `scores` [head][row], for the second pass.
 */
#include "kernel_operator.h"

constexpr uint32_t HEADS = {heads};
constexpr uint32_t SEQ = {seq};
constexpr uint32_t TILE = {tile};
constexpr uint32_t HEAD_DIM = {head_dim};

class FlashAttn {{
public:
    __aicore__ inline void Init(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR o, GM_ADDR scores)
    {{
        const uint32_t head = AscendC::GetBlockIdx();
        qGm_.SetGlobalBuffer((__gm__ half *)q + head * SEQ * HEAD_DIM, SEQ * HEAD_DIM);
        kGm_.SetGlobalBuffer((__gm__ half *)k + head * SEQ * HEAD_DIM, SEQ * HEAD_DIM);
        vGm_.SetGlobalBuffer((__gm__ half *)v + head * SEQ * HEAD_DIM, SEQ * HEAD_DIM);
        oGm_.SetGlobalBuffer((__gm__ half *)o + head * SEQ * HEAD_DIM, SEQ * HEAD_DIM);
        scoresGm_.SetGlobalBuffer((__gm__ float *)scores + {offset}, SEQ);
        pipe_.InitBuffer(in_, 2, TILE * HEAD_DIM * sizeof(half));
        pipe_.InitBuffer(max_, 2, TILE * sizeof(float));
    }}

    __aicore__ inline void Process()
    {{
        for (uint32_t row = 0; row < SEQ; row += TILE) {{
            LoadTile(row);
            RowMax();
            StoreMax(row);
        }}
    }}

private:
    __aicore__ inline void LoadTile(uint32_t row)
    {{
        AscendC::LocalTensor<half> tile = in_.AllocTensor<half>();
        AscendC::DataCopy(tile, qGm_[row * HEAD_DIM], TILE * HEAD_DIM);
        in_.EnQue(tile);
    }}

    __aicore__ inline void RowMax()
    {{
        AscendC::LocalTensor<half> tile = in_.DeQue<half>();
        AscendC::LocalTensor<float> rowMax = max_.AllocTensor<float>();
        ScoresOf(rowMax, tile);
        max_.EnQue(rowMax);
        in_.FreeTensor(tile);
    }}

    __aicore__ inline void StoreMax(uint32_t row)
    {{
        AscendC::LocalTensor<float> rowMax = max_.DeQue<float>();
        AscendC::DataCopyExtParams bytes{{1, TILE * sizeof(float), 0, 0, 0}};
        AscendC::DataCopyPad(scoresGm_[row], rowMax, bytes);
        max_.FreeTensor(rowMax);
    }}

    __aicore__ inline void ScoresOf(AscendC::LocalTensor<float> &rowMax, AscendC::LocalTensor<half> &tile);

    AscendC::TPipe pipe_;
    AscendC::TQue<AscendC::QuePosition::VECIN, 2> in_;
    AscendC::TQue<AscendC::QuePosition::VECOUT, 2> max_;
    AscendC::GlobalTensor<half> qGm_, kGm_, vGm_, oGm_;
    AscendC::GlobalTensor<float> scoresGm_;
}};

extern "C" __global__ __aicore__ void flash_attn_custom(
    GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR o, GM_ADDR scores)
{{
    FlashAttn op;
    op.Init(q, k, v, o, scores);
    op.Process();
}}
"""

STACK = ("AscendC::DataCopyPad(scoresGm_[row]", "StoreMax(row);", "op.Process();")
"""The statements on the way to a write of the score buffer, innermost first."""

INSTRUCTIONS_A_TILE = ("load", "scores", "store")
"""What a block issues for each tile, in this order: they are numbered through all blocks, block by block."""


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes that one block writes into global memory. serial: the number of the instruction."""

    block: int
    serial: int
    address: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Buffer:
    address: int
    size_bytes: int

    @property
    def end(self) -> int:
        return self.address + self.size_bytes


def buffers() -> dict[str, Buffer]:
    """The kernel's arguments, allocated one behind the other."""
    heads_bytes = N_HEADS * SEQ * HEAD_DIM * HALF_BYTES
    sizes = {"q": heads_bytes, "k": heads_bytes, "v": heads_bytes, "o": heads_bytes}
    sizes["scores"] = N_HEADS * SEQ * FLOAT_BYTES
    found, address = {}, FIRST_ADDRESS
    for name, size_bytes in sizes.items():
        found[name] = Buffer(address, size_bytes)
        behind = address + size_bytes + PADDING_BYTES
        address = -(-behind // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    return found


def first_element(name: str, head: int) -> int:
    """The offset of a head's rows in a round's kernel, by the terms of its expression."""
    values = {"head": head, "SEQ": SEQ}
    total = 0
    for term in OFFSETS[name].split(" + "):
        product = 1
        for factor in term.split(" * "):
            product *= values[factor]
        total += product
    return total


def writes(name: str) -> Iterator[Write]:
    """What the kernel of a round writes into the score buffer, in the order of its instructions."""
    scores, serial = buffers()["scores"], 0
    for head in range(N_HEADS):
        for row in range(0, SEQ, TILE):
            for instruction in INSTRUCTIONS_A_TILE:
                serial += 1
                if instruction == "store":
                    element = first_element(name, head) + row
                    yield Write(head, serial, scores.address + element * FLOAT_BYTES, TILE * FLOAT_BYTES)


def source_of(name: str) -> str:
    """The kernel's source in a round."""
    return SOURCE.format(heads=N_HEADS, seq=SEQ, tile=TILE, head_dim=HEAD_DIM, offset=OFFSETS[name])


def place(source: str, statement: str) -> tuple[int, int]:
    """Line and column, from 1, of a statement that stands in the source once."""
    at = source.index(statement)
    if source.find(statement, at + 1) >= 0:
        raise ValueError(f"{statement!r} stands in the source twice")
    return source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at)


def frames(name: str, source: str) -> list[str]:
    """The call stack of a write as msSanitizer prints it."""
    file = f"{BUILD_FOLDER}/{name}/op_kernel/{KERNEL}.cpp"
    places = [place(source, statement) for statement in STACK]
    return [f"======    #{i} {file}:{line}:{column}" for i, (line, column) in enumerate(places)]


def log_of(name: str) -> str:
    """What `mssanitizer -t memcheck` prints for a round, in the form of 26.0.0.

    A write past the end is told by its first byte that no allocation holds, and how many there are.
    """
    source, scores = source_of(name), buffers()["scores"]
    lines = [f"[mssanitizer] Start memcheck sanitizer on kernel {KERNEL}"]
    n_errors = 0
    for one in writes(name):
        outside = one.address + one.size_bytes - scores.end
        if outside <= 0:
            continue
        n_errors += 1
        counter = 4 * len(
            source[: source.index(STACK[0])].split()
        )  # nothing was compiled: four bytes a word of source
        lines += [
            f"====== ERROR: illegal write of size {outside}",
            f"======    at {one.address + one.size_bytes - outside:#x} on GM in {KERNEL}",
            f"======    in block aiv({one.block}) on device 0",
            f"======    code in pc current {counter:#x} (serialNo:{one.serial})",
            *frames(name, source),
            "",
        ]
    end = "See all detected errors above." if n_errors else "No error detected."
    lines.append(f"[mssanitizer] Sanitizer finished on kernel {KERNEL}. {end}")
    return "\n".join(lines) + "\n"


def make_round(folder: Path, name: str) -> None:
    """Write the kernel's source and the sanitizer's log of one round below its folder."""
    write(folder / name / "op_kernel" / f"{KERNEL}.cpp", source_of(name).encode())
    write(folder / name / "sanitizer" / "mssanitizer.log", log_of(name).encode())

"""Long logs of msSanitizer: 1 KB a record, few places, a single other one now and then."""

from __future__ import annotations

from pathlib import Path

N_PLACES = 400
RARE_EVERY = 1000
KERNEL = "flash_attention_score_bf16"

_FOLDER = "/workspace/user/very/long/path/of/a/build/host/ops/flash_attention_score_bf16/op_kernel"
_FILES = (
    *("flash_attention_score_bf16.cpp", "flash_attention_score_s1_bn2gs1.h", "kernel_operator_tiling.h"),
    *("flash_attention_score_entry_regbase.h", "flash_attention_var_len_score.h", "main_entry.cpp"),
)


def record(n: int) -> str:
    """One illegal access at one of 400 places; the last of every 1,000 has a place of its own."""
    line = 10_000 + n if n % RARE_EVERY == RARE_EVERY - 1 else n % N_PLACES + 1
    frames = "".join(
        f"======    #{i} {_FOLDER}/{name}:{line + 40 * i}:{9 + i}\n" for i, name in enumerate(_FILES)
    )
    return (
        f"====== ERROR: illegal {'write' if n % 3 else 'read'} of size {32 * (n % 7 + 1)}\n"
        f"======    at {0x12C0C0000000 + 512 * n:#x} on GM in {KERNEL}\n"
        f"======    in block aiv({n % 48}) on device {n % 8}\n"
        f"======    code in pc current {0x600 + 4 * line:#x} (serialNo:{n + 1})\n{frames}\n"
    )


def write_log(path: Path, n_records: int) -> None:
    """A complete log of so many records; it has 2 x 400 sites and one for every 1,000 records."""
    with path.open("w", encoding="utf-8") as file:
        file.write(f"[mssanitizer] Start memcheck sanitizer on kernel {KERNEL}\n")
        for n in range(n_records):
            file.write(record(n))
        end = "See all detected errors above."
        file.write(f"[mssanitizer] Sanitizer finished on kernel {KERNEL}. {end}\n")

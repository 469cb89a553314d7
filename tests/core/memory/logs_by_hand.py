"""Small logs in the layout of msSanitizer 26.0, made by the tests."""

from __future__ import annotations

START = "[mssanitizer] Start memcheck sanitizer on kernel add_custom\n"
SEEN = "[mssanitizer] Sanitizer finished on kernel add_custom. See all detected errors above.\n"
CLEAN = "[mssanitizer] Sanitizer finished on kernel add_custom. No error detected.\n"
DROPPED = (
    "[mssanitizer] [warning] 120 records undetected in block 0, please use --cache-size=200 to run the "
    "operator again.\n"
)


def illegal(
    line: int,
    *,
    word: str = "read",
    block: str = "aiv(0)",
    address: int = 0x12C0C0014E00,
    size: int = 224,
    space: str = "GM",
    file: str = "/build/op/op_kernel/add_custom.cpp",
    serial: int = 65,
    pc: int = 0x668,
    kernel: str = "add_custom",
) -> str:
    """One record of an illegal access."""
    return (
        f"====== ERROR: illegal {word} of size {size}\n"
        f"======    at {address:#x} on {space} in {kernel}\n"
        f"======    in block {block} on device 0\n"
        f"======    code in pc current {pc:#x} (serialNo:{serial})\n"
        f"======    #0 {file}:{line}:9\n\n"
    )


def leaks(*blocks: tuple[int, str], total: tuple[int, int] | None = None) -> str:
    """A list of leaks: (bytes, place); total: what the SUMMARY says where it is not their sum."""
    size, n = total if total is not None else (sum(size for size, _ in blocks), len(blocks))
    records = "".join(
        f"======    Direct leak of {size} byte(s)\n"
        f"======      at {0x12C0C0013000 + 0x1000 * i:#x} on GM\n"
        f"======      allocated in {place} (serialNo:{i + 1})\n\n"
        for i, (size, place) in enumerate(blocks)
    )
    return (
        f"====== ERROR: LeakCheck: detected memory leaks\n\n{records}"
        f"====== SUMMARY: {size} byte(s) leaked in {n} allocation(s)\n"
    )

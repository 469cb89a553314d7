"""Small logs in msSanitizer's layout and the sources they speak of, made up so that all is known of them."""

from __future__ import annotations

from pathlib import Path

WRITE_LINE, RACE_LINE, LEAK_LINE = 38, 57, 14
FILE = "/build/host7/ops/op_kernel/vec_add.cpp"
"""The source as a build host named it: no such file is here."""
WRITE, LEAK = f"{FILE}:{WRITE_LINE}", f"runner.cpp:{LEAK_LINE}"
WRITE_CODE, RACE_CODE = "score[h * stride + h] = value;", "Add(sum, sum, score, length);"
N_WRITES, LEAKED_BYTES = 3, 320
SITES = (
    ("illegal write", f"vec_add.cpp:{WRITE_LINE}"),
    ("RAW race", f"vec_add.cpp:{WRITE_LINE}"),
    ("leak", LEAK),
)
"""What the table says of each site, in its order."""


def illegal_write(core: int, line: int = WRITE_LINE, file: str = FILE, kernel: str = "vec_add") -> str:
    """512 bytes that begin 2,560 bytes behind the end of the 196,608 bytes of UB."""
    return f"""\
====== ERROR: illegal write of size 512
======    at 0x30a00 on UB in {kernel}
======    in block aiv({core}) on device 0
======    code in pc current 0x694 (serialNo:{10 + core})
======    #0 {file}:{line}:9
======    #1 {file}:70:13

"""


def race(first: int = WRITE_LINE, second: int = RACE_LINE) -> str:
    return f"""\
====== ERROR: Potential RAW hazard detected at UB in vec_add on device 0:
======    PIPE_MTE2 Write at RAW()+0x0 in block 0 (aiv) on device 0 at pc current 0xa98 (serialNo:24)
======    #0 {FILE}:{first}:9
======    PIPE_V Read at RAW()+0x0 in block 0 (aiv) on device 0 at pc current 0xb10 (serialNo:25)
======    #0 {FILE}:{second}:13

"""


def checked(records: str, kernel: str = "vec_add") -> str:
    """Between the lines that say that a check began and ended."""
    end = "See all detected errors above." if records else "No error detected."
    return (
        f"[mssanitizer] Start memcheck sanitizer on kernel {kernel}\n{records}"
        f"[mssanitizer] Sanitizer finished on kernel {kernel}. {end}\n"
    )


LEAKS = f"""\
====== ERROR: LeakCheck: detected memory leaks

======    Direct leak of {LEAKED_BYTES} byte(s)
======      at 0x124080042000 on GM allocated in {LEAK} (serialNo:37)

====== SUMMARY: {LEAKED_BYTES} byte(s) leaked in 1 allocation(s)
"""


def write_faults(run: Path) -> Path:
    """Three writes at one line, a race of that line with another one, a leak; the log is complete."""
    records = "".join(illegal_write(core) for core in range(N_WRITES)) + race()
    return write_log(run, checked(records) + LEAKS)


def write_clean(run: Path) -> Path:
    return write_log(run, checked(""))


def write_log(run: Path, text: str, name: str = "check.log") -> Path:
    run.mkdir(parents=True, exist_ok=True)
    (run / name).write_bytes(text.encode())
    return run


def write_sources(root: Path, code: str = WRITE_CODE) -> Path:
    """The sources in another tree than that of the build host; the answer is the folder to name."""
    lines = [f"    // line {number} of the kernel" for number in range(1, 401)]
    lines[WRITE_LINE - 1] = f"        {code}"
    lines[RACE_LINE - 1] = f"        {RACE_CODE}"
    folder = root / "op_kernel"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vec_add.cpp").write_bytes("\n".join(lines).encode())
    return root

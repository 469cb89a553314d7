"""The workbench under size, in a terminal of its own: what a key costs where a table has millions of rows.

    python tests/bench/tui_under_size.py [--rows 5000000] [--calls 1000000] [--ranks 64] [--size 120x40]

An operator table (types, then single calls) from a file; a comparison made of columns: its table of one
rank, and the matrix of all ranks with every call a cell. CPU seconds are of the program alone; bytes of the
first frame that a key brings, and of what follows behind a pause. Wall time is of the first frame.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO), str(REPO / "src")]

from operator_tables import write_table  # noqa: E402
from tests.terminal.pty_screen import FRAME_START, PtyProgram, plain_environ  # noqa: E402

DOWN, PAGE_DOWN, END, HOME, RIGHT = b"\x1b[B", b"\x1b[6~", b"\x1b[F", b"\x1b[H", b"\x1b[C"
MOVES = (("down", DOWN), ("page down", PAGE_DOWN), ("page down", PAGE_DOWN), ("end", END), ("home", HOME))
ORDERS = (("sort", b"s"), ("column", RIGHT), ("column", RIGHT), ("sort", b"s"), ("filter line", b"/"))
LIMIT_S = 900.0
QUIET_S, IDLE_S = 0.6, 0.05
MAX_WAIT_S = 10.0  # a key that changes nothing brings no frame


def cost(program: PtyProgram, name: str, key: bytes, quiet_s: float = QUIET_S) -> None:
    """Press a key and print what it cost until nothing more came for a while."""
    start, cpu_before, began_s = len(program.output), program.cpu_s(), time.monotonic()
    program.send(key)
    while FRAME_START not in program.output[start:] and time.monotonic() - began_s < MAX_WAIT_S:
        program.read_for(0.01)
    first_ms = (time.monotonic() - began_s) * 1000
    program.read_quiet(quiet_s)
    frames = [len(frame) for frame in program.output[start:].split(FRAME_START)[1:]]
    first, rest = (frames[0], sum(frames[1:])) if frames else (0, 0)
    cpu_s = program.cpu_s() - cpu_before
    print(f"  {name:22}{first_ms:8,.0f} ms{cpu_s:8.2f} cpu-s{first:8,} B{rest:8,} B behind it", flush=True)


def stand(program: PtyProgram, name: str) -> None:
    peak_mb = program.peak_bytes() / 1e6
    print(
        f"  {name:22}{program.cpu_s():16.2f} cpu-s, {len(program.output):,} B so far, peak {peak_mb:,.0f} MB",
        flush=True,
    )


def until_settled(program: PtyProgram, pattern: bytes) -> None:
    """Until something stands there and the program has nothing left to do; some stages are silent."""
    program.read_until(pattern, LIMIT_S)
    before_s = -1.0
    while program.cpu_s() - before_s > IDLE_S:
        before_s = program.cpu_s()
        program.read_for(3.0)


def made_old(folder: Path) -> None:
    """Results of files that changed moments ago are not kept."""
    for path in (*folder.iterdir(), folder):
        os.utime(path, (time.time() - 3600,) * 2)
    time.sleep(3)


def operators(rows: int, columns: int, lines: int) -> None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as state:
        path = Path(folder) / "op_summary_20260801120500.csv"
        write_table(path, rows)
        print(f"operator table, {rows:,} rows, {path.stat().st_size / 1e6:,.0f} MB")
        made_old(Path(folder))
        own = {f"NPULSE_{name}_DIR": f"{state}/{name}" for name in ("STATE", "CACHE")}
        environ = plain_environ(LANG="C.UTF-8", COLORTERM="truecolor", **own)
        argv = (sys.executable, "-m", "npulse", "open", str(path), "--pane", "performance")
        with PtyProgram(argv, environ, columns=columns, rows=lines) as program:
            program.read_until(rb"7 Rounds")
            stand(program, "first screen")
            program.read_until(rb"so far", LIMIT_S)
            stand(program, "first rows")
            until_settled(program, rb"cum %[^\n]*bound")
            stand(program, "all read")
            for name, key in MOVES[:2]:
                cost(program, name, key)
            cost(program, "to single calls", b"t", 6.0)
            for name, key in (*MOVES, *ORDERS):
                cost(program, name, key, 3.0 if name == "sort" else QUIET_S)
            cost(program, "filter by a word", b"MatMul\r", 3.0)
            stand(program, "in the end")
        with PtyProgram(argv, environ, columns=columns, rows=lines) as program:
            program.read_until(rb"7 Rounds")
            stand(program, "opened again")
            until_settled(program, rb"cum %[^\n]*bound")
            is_kept = b"files unchanged" in program.output
            stand(program, "all of it, kept" if is_kept else "all read, not kept")


def comparison(mode: str, ranks: int, calls: int, columns: int, lines: int) -> None:
    print(f"{mode} of {ranks} ranks by {calls:,} calls, each a layer of its own")
    sets = ("2",) if ranks > 2 else ()
    with tempfile.TemporaryDirectory() as folder:
        words = {"LANG": "C.UTF-8", "COLORTERM": "truecolor", "NPULSE_STATE_DIR": folder}
        arguments = (mode, str(ranks), str(calls), "0", *sets)
        with PtyProgram.app("large_app.py", *arguments, columns=columns, rows=lines, **words) as program:
            shown = rb"ranks by" if mode == "matrix" else rb"\d-[0-9,]+ of "
            until_settled(program, shown)
            stand(program, "shown")
            for name, key in MOVES:
                cost(program, name, key)
            cost(program, "next origin", b"n")
            if mode == "matrix":
                cost(program, "a layer on", b"l")
            else:
                for name, key in ORDERS:
                    cost(program, name, key, 3.0 if name == "sort" else QUIET_S)
                cost(program, "filter by a word", b"linear.77\r", 8.0)
            stand(program, "in the end")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--size", default="120x40")
    options = parser.parse_args()
    columns, lines = map(int, options.size.split("x"))
    operators(options.rows, columns, lines)
    comparison("table", 1, options.calls, columns, lines)
    comparison("matrix", options.ranks, options.calls, columns, lines)


if __name__ == "__main__":
    main()

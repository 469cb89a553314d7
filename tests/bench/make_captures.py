"""Capture pairs for the benchmarks, made from a seed: a folder `target` and a folder `golden` each.

python tests/bench/make_captures.py tensors FOLDER --size 1GB
python tests/bench/make_captures.py small FOLDER --count 9200
python tests/bench/make_captures.py statistics FOLDER --count 10000
python tests/bench/make_captures.py linked FOLDER --size 100GB
python tests/bench/make_captures.py split FOLDER --size 1GB
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]
SIDES = ("target", "golden")
COLUMNS = 1024
ELEMENT_BYTES = {"Float32": 4, "Float16": 2, "BFloat16": 2}
CALLS_A_LAYER = (
    "attention.query.Dense",
    "attention.out.Dense",
    "mlp.up.Dense",
    "mlp.down.Dense",
    "norm.RMSNorm",
)
STACK = (
    "File /train/model/block.py, line {}, in construct, \n x = x + self.mlp(self.norm(x))",
    "File /train/pretrain.py, line 60, in <module>, \n main()",
)


def bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """float32 rounded to nearest even as bfloat16, two raw bytes each: how numpy keeps it in a file."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16).view("V2")


STORE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Float32": lambda x: x,
    "Float16": lambda x: x.astype(np.float16),
    "BFloat16": bfloat16_bits,
}


def write_tensors(
    folder: Path,
    size_bytes: int,
    *,
    n_tensors: int = 96,
    share_differing: float = 1.0,
    columns: int = COLUMNS,
) -> int:
    """A tensor pair of about `size_bytes` a side, float32, float16 and bfloat16 in turn; returns its bytes.

    The first `share_differing` of the tensors differ by 1e-3 in each element, the others are equal.
    """
    writers = {side: _Writer(folder / side, "tensor") for side in SIDES}
    written = 0
    for number in range(n_tensors):
        dtype = tuple(STORE)[number % 3]
        rows = max(1, size_bytes // n_tensors // ELEMENT_BYTES[dtype] // columns)
        rng = np.random.default_rng([7, number])
        values = {"golden": rng.standard_normal((rows, columns), np.float32)}
        noise = np.float32(1e-3 if number < share_differing * n_tensors else 0)
        values["target"] = values["golden"] * (1 + noise * rng.standard_normal((rows, columns), np.float32))
        name = _call_name(number)
        for side, writer in writers.items():
            file = f"{name}.output.0.npy"
            path = writer.tensors / file
            np.save(path, STORE[dtype](values[side]))
            written += path.stat().st_size
            writer.add(
                name, {"output": [{**_record((rows, columns), dtype, values[side]), "data_name": file}]}
            )
    for writer in writers.values():
        writer.close()
    return written


def write_small_tensors(folder: Path, n_tensors: int) -> int:
    """A tensor pair of many small tensors, 36 x 64 each."""
    return write_tensors(folder, 36 * 64 * 3 * n_tensors, n_tensors=n_tensors, columns=64)


def write_linked(folder: Path, size_bytes: int, *, tensor_bytes: int = 16 << 20) -> int:
    """A tensor pair of `size_bytes` a side whose files are links to one of `tensor_bytes`; bytes compared.

    Both sides hold the same, float32: as large as one likes, on a disk that has room for one tensor.
    """
    rows = tensor_bytes // 4 // COLUMNS
    values = np.random.default_rng(5).standard_normal((rows, COLUMNS), np.float32)
    n_tensors = max(1, size_bytes // values.nbytes)
    folder.mkdir(parents=True, exist_ok=True)
    one = folder / "one.npy"
    np.save(one, values)
    record = _record((rows, COLUMNS), "Float32", values)
    for side in SIDES:
        writer = _Writer(folder / side, "tensor")
        for number in range(n_tensors):
            name = _call_name(number)
            os.link(one, writer.tensors / f"{name}.output.0.npy")
            writer.add(name, {"output": [{**record, "data_name": f"{name}.output.0.npy"}]})
        writer.close()
    return 2 * n_tensors * values.nbytes


def write_split(folder: Path, size_bytes: int, *, n_ranks: int = 2, n_tensors: int = 4) -> int:
    """A target of `n_ranks` ranks that hold the columns of what the golden side has whole; bytes compared."""
    rows = max(1, size_bytes // n_tensors // 4 // COLUMNS)
    rng = np.random.default_rng(6)
    golden = _Writer(folder / "golden", "tensor")
    targets = [_Writer(folder / "target", "tensor", rank) for rank in range(n_ranks)]
    for number in range(n_tensors):
        name, whole = _call_name(number), rng.standard_normal((rows, COLUMNS), np.float32)
        parts = np.split(whole, n_ranks, axis=1)
        for writer, values in zip((golden, *targets), (whole, *parts), strict=True):
            file = f"{name}.output.0.npy"
            np.save(writer.tensors / file, np.ascontiguousarray(values))
            shape = (rows, values.shape[1])
            writer.add(name, {"output": [{**_record(shape, "Float32", values), "data_name": file}]})
    for writer in (golden, *targets):
        writer.close()
    return 2 * n_tensors * rows * COLUMNS * 4


def write_statistics(folder: Path, n_calls: int) -> int:
    """A statistics pair of `n_calls` calls, three tensors and a scalar each; its bytes.

    The sides differ by a rounding in each output, and from a third of the calls on by 3 %.
    """
    for side in SIDES:
        writer = _Writer(folder / side, "statistics")
        for number, (name, body) in enumerate(_statistics(side, n_calls // 3)):
            if number == n_calls:
                break
            writer.add(name, body)
        writer.close()
    return sum(path.stat().st_size for path in folder.rglob("*.json"))


def _statistics(side: str, wrong_from: int) -> Iterator[tuple[str, Record]]:
    # both sides draw the same numbers; the target goes off by a little more at each call
    rng = np.random.default_rng(11)
    noise = np.random.default_rng(13)
    number, output = 0, [4.0, -4.0, 0.001, 900.0]
    while True:
        block = rng.standard_normal((1000, 2, 4))
        drift = 1 + 2e-6 * noise.standard_normal((1000, 4)) * (side == "target")
        for own, off in zip(block, drift, strict=True):
            if number >= wrong_from and side == "target":
                off = off * 1.03
            taken, output = output, [round(v, 9) for v in (own[0] * (4, 4, 0.01, 900) * off).tolist()]
            weight = _given((COLUMNS, COLUMNS), "BFloat16", own[1].tolist())
            yield (
                _call_name(number),
                {
                    "input_args": [_given((2048, COLUMNS), "BFloat16", taken)],
                    "input_kwargs": {"eps": {"type": "float", "value": 1e-05}},
                    "parameters": {"weight": weight},
                    "output": [_given((2048, COLUMNS), "BFloat16", output)],
                },
            )
            number += 1


def _call_name(number: int) -> str:
    layer, place = divmod(number, len(CALLS_A_LAYER))
    return f"Cell.network.layers.{layer}.{CALLS_A_LAYER[place]}.forward.0"


def _record(shape: tuple[int, int], dtype: str, values: np.ndarray) -> Record:
    numbers = [values.max(), values.min(), values.mean(), np.sqrt(np.dot(values.ravel(), values.ravel()))]
    return _given(shape, dtype, [float(x) for x in numbers])


def _given(shape: tuple[int, int], dtype: str, numbers: list[float]) -> Record:
    statistics = dict(zip(("Max", "Min", "Mean", "Norm"), numbers, strict=True))
    return {"type": "mindspore.Tensor", "dtype": dtype, "shape": list(shape), **statistics}


class _Writer:
    """One side, in the layout and with the three files of the real tool."""

    def __init__(self, folder: Path, task: str, number: int = 0) -> None:
        rank = folder / "step0" / f"rank{number}"
        self.tensors = rank / "dump_tensor_data"
        (self.tensors if task == "tensor" else rank).mkdir(parents=True, exist_ok=True)
        self.files = [(rank / f"{name}.json").open("w") for name in ("dump", "stack", "construct")]
        head = {"task": task, "level": "L0", "framework": "mindspore", "dump_data_dir": None}
        for file, text in zip(self.files, (json.dumps(head)[:-1] + ', "data": {', "{", "{"), strict=True):
            file.write(text)
        self.n_calls = 0

    def add(self, name: str, body: Record) -> None:
        comma = "," if self.n_calls else ""
        frames = [STACK[0].format(100 + self.n_calls % 400), STACK[1]]
        texts = (
            f'"{name}": {json.dumps(body)}',
            f'"{self.n_calls}": {json.dumps([[name], frames])}',
            f'"{name}": null',
        )
        for file, text in zip(self.files, texts, strict=True):
            file.write(f"{comma}\n {text}")
        self.n_calls += 1

    def close(self) -> None:
        for file, text in zip(self.files, ("\n }\n}", "\n}", "\n}"), strict=True):
            file.write(text)
            file.close()


def bytes_of(text: str) -> int:
    """'150MB', '1.5GB', '4096' as bytes (decimal units)."""
    number = text.strip().upper().removesuffix("B")
    factor = {"K": 10**3, "M": 10**6, "G": 10**9}.get(number[-1:], 1)
    return int(float(number.rstrip("KMG")) * factor)


def main() -> None:
    parser = argparse.ArgumentParser(description="capture pairs for the benchmarks")
    parser.add_argument("what", choices=("tensors", "small", "statistics", "linked", "split"))
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--size", type=bytes_of, default=bytes_of("1GB"), help="bytes a side (but small, statistics)"
    )
    parser.add_argument("--differing", type=float, default=1.0, help="share of tensors that differ (tensors)")
    parser.add_argument("--count", type=int, default=96, help="tensors of a side, or calls (statistics)")
    options = parser.parse_args()
    if options.what == "tensors":
        written = write_tensors(
            options.folder, options.size, n_tensors=options.count, share_differing=options.differing
        )
    elif options.what == "small":
        written = write_small_tensors(options.folder, options.count)
    elif options.what == "linked":
        written = write_linked(options.folder, options.size)
    elif options.what == "split":
        written = write_split(options.folder, options.size)
    else:
        written = write_statistics(options.folder, options.count)
    print(f"{written:,} bytes in {options.folder}")


if __name__ == "__main__":
    main()

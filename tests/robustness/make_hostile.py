"""A small sound capture pair, and the ways in which a capture can be broken or turned against its reader.

`CASES` maps a name to a `Case`: a function that spoils a sound pair, the exit codes that are right for it,
and whether the undamaged rank must still be judged. Everything is made by code; no file is copied.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import pickle
import re
import shutil
import signal
import struct
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from npulse.sample_runs.torch_writer import torch_file

SRC = Path(__file__).resolve().parents[2] / "src"
SHAPE = (4, 6)
CALLS = ("Torch.embed.0.forward", "Functional.linear.0.forward", "Torch.softmax.0.forward")
EVIL_TEXTS = (
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b[2J\x1b[1;1H",
    "\x9b31m",
    "\x90q\x9c",
    "a\u202eb\u2066c\u061c",
    "x\u200by\u2060z\ufeff",
    "[red]boo[/red]",
    "[/]",
    "[link=file:///etc/passwd]x[/link]",
    "[@click=app.quit]x[/]",
    "{0.__class__} %s %(x)s $HOME",
    "line\nbreak\r\ttab\x0b\x0c\x00\x7f",
    "=cmd|' /C calc'!A0",
    "`|`*_<b>",
    "\u4e2d\u6587\U0001f600" * 3,
    "lone \ud800 surrogate",
)

Spoil = Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """spoil gets the folder of the pair (npu and cpu below it). codes: right exit codes of a comparison.

    rank1_judged: rank 1 is sound and must still be compared. is_slow: megabytes; not for every format.
    """

    spoil: Spoil
    codes: frozenset[int]
    rank1_judged: bool = True
    is_slow: bool = False


CASES: dict[str, Case] = {}


def case(
    name: str, *codes: int, rank1_judged: bool = True, is_slow: bool = False
) -> Callable[[Spoil], Spoil]:
    def add(spoil: Spoil) -> Spoil:
        assert name not in CASES
        CASES[name] = Case(spoil, frozenset(codes), rank1_judged, is_slow)
        return spoil

    return add


# ---- a sound pair ----------------------------------------------------------------------------------------


def sound_pair(root: Path, *, ranks: tuple[int, ...] = (0, 1)) -> Path:
    """npu and cpu with equal tensors on every rank: compared as it is, it passes."""
    for side in ("npu", "cpu"):
        for rank in ranks:
            write_rank(root / side / "step0" / f"rank{rank}", rank)
    return root


def write_rank(folder: Path, seed: int, *, scale: float = 1.0) -> None:
    """One rank-step of task tensor: dump.json, stack.json, construct.json and the tensor files."""
    entries: dict[str, Any] = {}
    values = np.random.default_rng(seed).standard_normal((len(CALLS) + 1, *SHAPE))
    for number, name in enumerate(CALLS):
        made = values[number + 1] * (scale if number == len(CALLS) - 1 else 1.0)
        entries[name] = {
            "input_args": [leaf(folder, f"{name}.input.0", values[number]), {"type": "int", "value": number}],
            "input_kwargs": {"eps": {"type": "float", "value": 1e-5}},
            "output": [leaf(folder, f"{name}.output.0", made)],
        }
    write_json(folder / "dump.json", {
        "task": "tensor", "level": "L1", "framework": "pytorch",
        "dump_data_dir": str(folder / "dump_tensor_data"), "data": entries,
    })  # fmt: skip
    frames = [f"File /home/user/model.py, line {n}, in forward, \n y = f(x)" for n in (3, 9)]
    write_json(folder / "stack.json", {"0": [list(CALLS), frames]})
    write_json(folder / "construct.json", {name: "Module.net.Net.forward.0" for name in CALLS})


def leaf(folder: Path, name: str, values: np.ndarray[Any, Any]) -> dict[str, Any]:
    """A float32 tensor's record; its file is written as float32 .npy or as bfloat16 .pt by turns."""
    path = folder / "dump_tensor_data"
    path.mkdir(parents=True, exist_ok=True)
    if "linear" in name:
        bits = (np.ascontiguousarray(values, "<f4").view("<u4") >> 16).astype("<u2")
        (path / f"{name}.pt").write_bytes(torch_file(bits.tobytes(), "torch.bfloat16", values.shape))
        dtype, file = "torch.bfloat16", f"{name}.pt"
        values = (bits.astype("<u4") << 16).view("<f4").astype(np.float64)
    else:
        np.save(path / f"{name}.npy", values.astype(np.float32))
        dtype, file = "torch.float32", f"{name}.npy"
    return {
        "type": "torch.Tensor", "dtype": dtype, "shape": list(values.shape),
        "Max": float(values.max()), "Min": float(values.min()), "Mean": float(values.mean()),
        "Norm": float(np.sqrt((values**2).sum())), "requires_grad": False, "data_name": file,
    }  # fmt: skip


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1))


def rank0(root: Path, side: str = "npu") -> Path:
    return root / side / "step0" / "rank0"


def dump_of(root: Path, side: str = "npu") -> Path:
    return rank0(root, side) / "dump.json"


def edit(path: Path, change: Callable[[Any], Any]) -> None:
    """Parse, change in place (or replace by what `change` returns), write back."""
    content = json.loads(path.read_text())
    result = change(content)
    path.write_text(json.dumps(content if result is None else result, indent=1))


def tensors(content: Any) -> Iterator[dict[str, Any]]:
    """All tensor records below a JSON value."""
    if isinstance(content, dict):
        if "data_name" in content or "shape" in content:
            yield content
        for value in content.values():
            yield from tensors(value)
    elif isinstance(content, list):
        for value in content:
            yield from tensors(value)


def first_tensor(root: Path, side: str = "npu") -> Path:
    return rank0(root, side) / "dump_tensor_data" / f"{CALLS[0]}.input.0.npy"


def first_pt(root: Path, side: str = "npu") -> Path:
    return rank0(root, side) / "dump_tensor_data" / f"{CALLS[1]}.input.0.pt"


# ---- dump.json that is no sound JSON ---------------------------------------------------------------------


def _raw(name: str, *codes: int, is_slow: bool = False) -> Callable[[Callable[[bytes], bytes]], None]:
    """A case that rewrites the bytes of one rank's dump.json."""

    def add(change: Callable[[bytes], bytes]) -> None:
        def spoil(root: Path) -> None:
            path = dump_of(root)
            path.write_bytes(change(path.read_bytes()))

        CASES[name] = Case(spoil, frozenset(codes), is_slow=is_slow)

    return add


_raw("dump is empty", 1, 4)(lambda raw: b"")
_raw("dump is blank", 1, 4)(lambda raw: b" \n\t ")
_raw("dump is cut early", 1, 4)(lambda raw: raw[:40])
_raw("dump is cut in the middle", 1, 4)(lambda raw: raw[: len(raw) // 2])
_raw("dump has lost its end", 1, 4)(lambda raw: raw[:-1])
_raw("dump is UTF-16", 4)(lambda raw: raw.decode().encode("utf-16"))
_raw("dump is UTF-32", 4)(lambda raw: raw.decode().encode("utf-32"))
_raw("dump is UTF-16 without mark", 4)(lambda raw: raw.decode().encode("utf-16-le"))
_raw("dump begins with a mark", 0)(lambda raw: b"\xef\xbb\xbf" + raw)
_raw("dump is GBK", 4)(lambda raw: raw.replace(b"Torch.embed", "Torch.嵌入".encode("gbk")))
_raw("dump holds NUL bytes", 1, 4)(lambda raw: raw.replace(b"{", b"{\0", 5))
_raw("dump is all NUL", 4)(lambda raw: bytes(5000))
_raw("dump is binary", 4)(lambda raw: bytes(range(256)) * 20)
_raw("dump is an array", 4)(lambda raw: b"[1, 2, 3]")
_raw("dump is a number", 4)(lambda raw: b"17")
_raw("dump is another object", 4)(lambda raw: b'{"a": 1}')
_raw("dump has no data", 4)(lambda raw: b'{"task": "tensor", "level": "L1"}')
_raw("data is a list", 4)(lambda raw: b'{"task": "tensor", "level": "L1", "data": [1, 2]}')
_raw("data is null", 4)(lambda raw: b'{"task": "tensor", "level": "L1", "data": null}')
_raw("data twice", 0, 1, 4)(lambda raw: raw.rstrip()[:-1] + b', "data": {}}')
_raw("duplicate entries", 1, 4)(
    lambda raw: raw.replace(CALLS[1].encode() + b'":', CALLS[0].encode() + b'":', 1)
)
_raw("text behind the end", 4)(lambda raw: raw + b"\n{}")
_raw("raw line breaks in a name", 1, 4)(lambda raw: raw.replace(b"Torch.embed.0", b"Torch.em\nb\x1b[2Jed.0"))
_raw("ten megabytes in a line", 0, is_slow=True)(
    lambda raw: raw.replace(b'"input_args"', b'"x": "' + b"y" * 10_000_000 + b'", "input_args"', 1)
)
_raw("a million brackets", 4, is_slow=True)(
    lambda raw: raw.replace(b'"input_kwargs": {', b'"input_kwargs": {"k": ' + b"[" * 1_000_000 + b"], ", 1)
)
_raw("a million closed brackets", 4, is_slow=True)(
    lambda raw: raw.replace(
        b'"input_kwargs": {', b'"input_kwargs": {"k": ' + b"[" * 500_000 + b"]" * 500_000 + b", ", 1
    )
)
_raw("nested a thousand deep", 4)(
    lambda raw: raw.replace(
        b'"input_kwargs": {', b'"input_kwargs": {"k": ' + b"[" * 900 + b"]" * 900 + b", ", 1
    )
)
_raw("huge integers", 0)(lambda raw: raw.replace(b'"Max": ', b'"Max": 9' + b"9" * 5000, 3))
_raw("numbers beyond float", 0, 1, 4)(lambda raw: raw.replace(b'"value": 0', b'"value": 1e999'))
_raw("statistics as text", 0, 1, 4)(lambda raw: raw.replace(b'"Max": ', b'"Max": "NaN", "Was": '))


# ---- records that are no sound records -------------------------------------------------------------------


def _records(name: str, *codes: int, **values: Any) -> None:
    """A case that changes fields of all tensor records of one rank."""

    def spoil(root: Path) -> None:
        edit(dump_of(root), lambda content: [record.update(values) for record in tensors(content)] and None)

    CASES[name] = Case(spoil, frozenset(codes))


def _both_records(name: str, *codes: int, **values: Any) -> None:
    """The same on both sides, without tensor files: two equal lies must not become a pass."""

    def spoil(root: Path) -> None:
        for side in ("npu", "cpu"):
            edit(dump_of(root, side), lambda content: [r.update(values) for r in tensors(content)] and None)

    CASES[name] = Case(spoil, frozenset(codes))


_records("shape of 10**12", 1, 4, shape=[10**12])
_records("shape beyond int64", 4, shape=[2**63])
_records("shape is negative", 4, shape=[-1, 6])
_records("shape of a hundred thousand axes", 4, shape=[1] * 100_000)
_records("shape of booleans", 1, 4, shape=[True, False])
_records("shape of texts", 4, shape=["4", "6"])
_records("shape is a text", 4, shape="4x6")
_records("shape is a number", 4, shape=24)
_records("shape holds lists", 4, shape=[[4], [6]])
_records("shape holds fractions", 4, shape=[4.5, 6])
_records("dtype is unknown", 0, 1, 4, dtype="torch.float3")
_records("dtype is a list", 0, 1, 4, dtype=[1, 2])
_records("dtype is long", 0, 1, 4, dtype="f" * 100_000)
_records("dtype is hostile", 0, 1, 4, dtype="\x1b[31m[red]")
_records("type is hostile", 0, 1, 4, type="\x1b]0;x\x07Tensor")
_records("statistics are lists", 0, 1, 4, Max=[1], Min={}, Mean=True, Norm="x")
_records("statistics are infinite", 0, 1, 4, Max=float("inf"), Min=float("-inf"), Mean=float("nan"))
_records("checksum is a list", 0, 1, 4, md5=[1])
_records("checksum is huge", 0, 1, 4, md5="a" * 100_000)
_records("checksum is a number", 0, 1, 4, md5=10**400)
_both_records("huge shapes on both sides", 4, shape=[2**62] * 64, data_name=None)
_both_records("huge sizes on both sides", 0, shape=[10**12], data_name=None)

BAD_FILE_NAMES = {
    "climbs out": "../../../../../../../../etc/passwd",
    "is absolute": "/etc/passwd",
    "holds NUL": "a\0b.pt",
    "holds a line break": "a\nb\x1b[2J.pt",
    "is long": "n" * 5000 + ".pt",
    "is a folder": ".",
    "is its own folder": "../dump_tensor_data",
    "is dump.json": "../dump.json",
    "is a device": "/dev/zero",
    "is a terminal": "/dev/tty",
    "is the memory": "/proc/self/mem",
    "is a surrogate": "\ud800.pt",
    "is a drive": "C:\\x.pt",
    "is a number": 17,
    "is missing": "nowhere.pt",
}
for _name, _value in BAD_FILE_NAMES.items():
    _records(f"file name {_name}", *((0, 4) if _value == 17 else (4,)), data_name=_value)


@case("tensor file is a pipe", 4)
def _pipe(root: Path) -> None:
    first_tensor(root).unlink()
    os.mkfifo(first_tensor(root))


@case("tensor file is a folder", 4)
def _folder(root: Path) -> None:
    first_tensor(root).unlink()
    first_tensor(root).mkdir()


@case("tensor file links out of the run", 4)
def _link_out(root: Path) -> None:
    outside = root.parent / f"{root.name}-outside.npy"
    shutil.copy(first_tensor(root), outside)
    first_tensor(root).unlink()
    first_tensor(root).symlink_to(outside)


@case("tensor folder links out of the run", 4)
def _folder_link_out(root: Path) -> None:
    outside = root.parent / f"{root.name}-outside"
    shutil.move(first_tensor(root).parent, outside)
    first_tensor(root).parent.symlink_to(outside)


@case("tensor file links to itself", 4)
def _link_loop(root: Path) -> None:
    first_tensor(root).unlink()
    first_tensor(root).symlink_to(first_tensor(root))


@case("all tensor files are empty", 4)
def _empty_files(root: Path) -> None:
    for path in first_tensor(root).parent.iterdir():
        path.write_bytes(b"")


@case("all tensor files are cut", 4)
def _cut_files(root: Path) -> None:
    for path in first_tensor(root).parent.iterdir():
        path.write_bytes(path.read_bytes()[:-40])


@case("tensor files are garbage", 4)
def _garbage_files(root: Path) -> None:
    for path in first_tensor(root).parent.iterdir():
        path.write_bytes(b"\x1b[2J" * 100)


@case("npy claims 2**40 elements", 4)
def _npy_claims(root: Path) -> None:
    raw = first_tensor(root).read_bytes().replace(b"(4, 6), }", b"(1099511627776,), }")
    first_tensor(root).write_bytes(raw)


@case("npy is Fortran ordered", 1)
def _npy_fortran(root: Path) -> None:
    np.save(first_tensor(root), np.asfortranarray(np.ones(SHAPE, np.float32)))


@case("npy holds pickled objects", 4)
def _npy_objects(root: Path) -> None:
    np.save(first_tensor(root), np.array([_Bomb(root.parent / "pwned")], object), allow_pickle=True)


class _Bomb:
    """Runs a command where somebody unpickles it."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch '{self.trace}'",)


def torch_zip(pickled: bytes, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("archive/data.pkl", pickled)
        for name, content in members.items():
            archive.writestr(f"archive/{name}", content)
    return out.getvalue()


@case("pt runs a command", 4)
def _pt_bomb(root: Path) -> None:
    bomb = pickle.dumps(_Bomb(root.parent / "pwned"), protocol=2)
    for path in first_pt(root).parent.glob("*.pt"):
        path.write_bytes(torch_zip(bomb, {"data/0": bytes(48)}))


@case("legacy pt runs a command", 4)
def _legacy_bomb(root: Path) -> None:
    first_pt(root).write_bytes(pickle.dumps(_Bomb(root.parent / "pwned"), protocol=2))


@case("pt is a zip bomb", 4)
def _zip_bomb(root: Path) -> None:
    with zipfile.ZipFile(first_pt(root)) as archive:
        pickled = archive.read("archive/data.pkl")
    first_pt(root).write_bytes(torch_zip(pickled, {"data/0": bytes(50_000_000)}, zipfile.ZIP_DEFLATED))


@case("pt claims 2**40 elements", 4)
def _pt_claims(root: Path) -> None:
    raw = first_pt(root).read_bytes()
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        pickled = archive.read("archive/data.pkl")
    sizes, huge = b"(K\x04K\x06t", b"(\x8a\x06" + (1 << 40).to_bytes(6, "little") + b"K\x01t"
    strides, none = b"(K\x06K\x01t", b"(K\x00K\x00t"
    assert sizes in pickled and strides in pickled
    pickled = pickled.replace(sizes, huge).replace(strides, none)
    first_pt(root).write_bytes(torch_zip(pickled, {"data/0": bytes(48)}))


@case("pt is many brackets of pickle", 4)
def _pt_deep(root: Path) -> None:
    first_pt(root).write_bytes(torch_zip(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".", {}))


@case("pt directory lies", 4)
def _pt_directory(root: Path) -> None:
    raw = bytearray(first_pt(root).read_bytes())
    at = raw.rfind(b"PK\x05\x06")
    raw[at + 12 : at + 20] = struct.pack("<II", 0xFFFFFFF0, 0xFFFFFFF0)
    first_pt(root).write_bytes(bytes(raw))


# ---- stack.json and construct.json -----------------------------------------------------------------------


def _beside(
    name: str, file: str, content: Any, *codes: int, is_slow: bool = False, differ: bool = True
) -> None:
    """A case with another stack.json or construct.json, and a wrong result, so that both are read."""

    def spoil(root: Path) -> None:
        if differ:
            write_rank(rank0(root), 0, scale=2.0)
        made = content() if callable(content) else content
        (rank0(root) / file).write_bytes(made if isinstance(made, bytes) else json.dumps(made).encode())

    CASES[name] = Case(spoil, frozenset(codes or (1,)), is_slow=is_slow)


for _file in ("stack.json", "construct.json"):
    for _name, _content in {
        "is empty": b"",
        "is cut": b'{"0": [["Torch.softmax.0.forward"',
        "is UTF-16": '{"a": null}'.encode("utf-16"),
        "is binary": bytes(range(256)),
        "is an array": b"[]",
        "is a text": b'"x"',
        "holds numbers": {"a": 1, "b": [1, 2], "c": {"d": 2}},
        "is deep": b'{"a": ' + b"[" * 100_000,
        "holds NUL": b'{"\0": "\0"}',
    }.items():
        _beside(f"{_file} {_name}", _file, _content)
        if _name in ("is empty", "is binary", "is an array"):
            _code = 0 if _file == "stack.json" else 4  # stacks are read where something differs
            _beside(f"{_file} {_name}, nothing differs", _file, _content, _code, differ=False)

_beside("parents in a circle", "construct.json", {CALLS[0]: CALLS[1], CALLS[1]: CALLS[2], CALLS[2]: CALLS[0]})
_beside("own parent", "construct.json", {name: name for name in CALLS})
_beside(
    "a chain of 100,000 parents", "construct.json",
    lambda: {**dict.fromkeys(CALLS, "p0"), **{f"p{n}": f"p{n + 1}" for n in range(100_000)}}, is_slow=True,
)  # fmt: skip
_beside("hostile parents", "construct.json", lambda: {name: EVIL_TEXTS[0] * 20 for name in CALLS})
_beside(
    "a frame of blanks", "stack.json",
    lambda: {"0": [list(CALLS), ["File a.py, line 3, in f" + " " * 1_000_000 + "x"]]}, is_slow=True,
)  # fmt: skip
_beside(
    "a frame of commas", "stack.json",
    lambda: {"0": [list(CALLS), [", line 3, in " * 100_000 + "x"]]}, is_slow=True,
)  # fmt: skip
_beside(
    "hostile frames", "stack.json",
    lambda: {"0": [list(CALLS), [f"File {t}.py, line 3, in {t}, \n {t}" for t in EVIL_TEXTS]]},
)  # fmt: skip
_beside(
    "a giant frame", "stack.json",
    lambda: {"0": [list(CALLS), ["File " + "f" * 3_000_000 + ", line 3, in g"]]}, is_slow=True,
)  # fmt: skip
_beside("a line number of many digits", "stack.json",
        {"0": [list(CALLS), ["File m.py, line " + "9" * 6000 + ", in f, \n y"]]})  # fmt: skip


@case("stack.json and construct.json are folders", 1)
def _beside_folders(root: Path) -> None:
    write_rank(rank0(root), 0, scale=2.0)
    for name in ("stack.json", "construct.json"):
        (rank0(root) / name).unlink()
        (rank0(root) / name).mkdir()


@case("stack.json and construct.json are pipes", 1)
def _beside_pipes(root: Path) -> None:
    write_rank(rank0(root), 0, scale=2.0)
    for name in ("stack.json", "construct.json"):
        (rank0(root) / name).unlink()
        os.mkfifo(rank0(root) / name)


@case("stack.json and construct.json link out", 1)
def _beside_links(root: Path) -> None:
    write_rank(rank0(root), 0, scale=2.0)
    for name in ("stack.json", "construct.json"):
        outside = root.parent / f"{root.name}-{name}"
        shutil.move(rank0(root) / name, outside)
        (rank0(root) / name).symlink_to(outside)


# ---- names -----------------------------------------------------------------------------------------------


@case("hostile texts everywhere", 1, 4)
def _hostile_texts(root: Path) -> None:
    for side in ("npu", "cpu"):
        write_rank(rank0(root, side), 0, scale=2.0 if side == "npu" else 1.0)

        def change(content: Any, side: str = side) -> None:
            data = content["data"]
            for n, text in enumerate(EVIL_TEXTS):
                entry = json.loads(json.dumps(data[CALLS[2]]))
                entry["input_kwargs"] = {
                    text: {"type": "str", "value": text + side},
                    f"b{text}": {"type": text, "value": [1, 2]},
                    f"c{text}": {"type": text, "shape": [4, 6], "dtype": text, "md5": text + side},
                }
                entry[text] = {"type": text}
                data[f"Torch.{text}.{n}.forward"] = entry
                data[f"Module.{text}.{text}.forward.{n}"] = entry
                data[text] = {text: [text, 1.5, None, {text: text}]}
            content.update(task=EVIL_TEXTS[0], level=EVIL_TEXTS[1], framework=EVIL_TEXTS[2])

        edit(dump_of(root, side), change)


@case("hostile folder names", 2, rank1_judged=False)
def _hostile_folders(root: Path) -> None:
    for n, text in enumerate(EVIL_TEXTS):
        name = text.replace("/", "_").replace("\0", "").encode("utf-8", "replace")
        write_rank(root / "npu" / os.fsdecode(name) / "rank3", n)
    write_rank(root / "npu" / os.fsdecode(b"bad\xff\xfe\x1b[2J") / "rank0", 5)


@case("entry names of a megabyte", 1, 4, is_slow=True)
def _long_names(root: Path) -> None:
    def change(content: Any) -> None:
        long = "x" * 1_000_000
        content["data"] = {f"{key}{long}.0.forward": value for key, value in content["data"].items()}

    edit(dump_of(root), change)


@case("ten thousand calls of one side", 1, 4, is_slow=True)
def _many_unmatched(root: Path) -> None:
    write_rank(rank0(root), 0, scale=2.0)

    def change(content: Any) -> None:
        entry = {"input_args": [], "input_kwargs": {}, "output": [{"type": "int", "value": 1}]}
        alone = {f"Torch.alone.{n}.forward": entry for n in range(10_000)}
        content["data"] = {**alone, **content["data"]}

    edit(dump_of(root), change)


# ---- layouts ---------------------------------------------------------------------------------------------


@case("target lacks rank 0", 4)
def _target_lacks(root: Path) -> None:
    shutil.rmtree(rank0(root))


@case("golden lacks rank 0", 4)
def _golden_lacks(root: Path) -> None:
    shutil.rmtree(rank0(root, "cpu"))


@case("dump.json is gone", 4)
def _index_gone(root: Path) -> None:
    dump_of(root).unlink()


@case("dump.json is gone on both sides", 4)
def _both_gone(root: Path) -> None:
    for side in ("npu", "cpu"):
        dump_of(root, side).unlink()


@case("dump.json is no dump on both sides", 4)
def _both_binary(root: Path) -> None:
    for side in ("npu", "cpu"):
        dump_of(root, side).write_bytes(b"\x00\x01garbage")
        shutil.rmtree(rank0(root, side) / "dump_tensor_data")


@case("dump.json is a folder", 4)
def _index_folder(root: Path) -> None:
    dump_of(root).unlink()
    dump_of(root).mkdir()


@case("dump.json is a pipe", 4)
def _index_pipe(root: Path) -> None:
    dump_of(root).unlink()
    os.mkfifo(dump_of(root))


@case("dump.json links out of the run", 4)
def _index_link(root: Path) -> None:
    outside = root.parent / f"{root.name}-dump.json"
    shutil.move(dump_of(root), outside)
    dump_of(root).symlink_to(outside)


@case("folders link in circles", 0, 4)
def _circles(root: Path) -> None:
    (root / "npu" / "loop").symlink_to(root / "npu")
    (rank0(root) / "up").symlink_to("..")
    (root / "npu" / "self").symlink_to("self")


@case("folders seven hundred deep", 0, 4)
def _deep_folders(root: Path) -> None:
    here = os.open(root / "npu", os.O_RDONLY)
    for _ in range(700):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)


@case("a step number of many digits", 0, rank1_judged=False)
def _long_step(root: Path) -> None:
    for side in ("npu", "cpu"):
        (root / side / "step0").rename(root / side / "step99999999999999999")


@case("a rank number of many digits", 0, 4)
def _long_rank(root: Path) -> None:
    for side in ("npu", "cpu"):
        rank0(root, side).rename(root / side / "step0" / "rank999999999")


@case("nothing is left", 2, rank1_judged=False)
def _nothing(root: Path) -> None:
    shutil.rmtree(root / "npu")
    (root / "npu").mkdir()


@case("both ranks are broken", 2, rank1_judged=False)
def _all_broken(root: Path) -> None:
    for rank in (0, 1):
        path = root / "npu" / "step0" / f"rank{rank}" / "dump.json"
        path.write_bytes(b'{"task": "tensor", "level": "L1"}')
        shutil.rmtree(path.parent / "dump_tensor_data")


def spoiled(name: str, folder: Path) -> Path:
    """A pair spoiled in the named way."""
    root = sound_pair(folder)
    CASES[name].spoil(root)
    return root


def snapshot(root: Path) -> dict[str, tuple[int, int, int, int]]:
    """Mode, size, time of change and inode of everything below a folder, links not followed."""
    found: dict[str, tuple[int, int, int, int]] = {}
    todo = [os.fspath(root)]
    while todo and len(found) < 5000:
        here = todo.pop()
        status = os.lstat(here)
        found[here] = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino)
        if os.path.isdir(here) and not os.path.islink(here) and len(here) < 3000:
            todo += [os.path.join(here, name) for name in os.listdir(here)]
    return found


# ---- the command line ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """What one command line gave: exit code, bytes of stdout, text of stderr, seconds."""

    code: int
    out: bytes
    err: str
    seconds: float


class TooSlowError(BaseException):
    """Not an Exception: nothing in the product may catch it."""


def run_cli(*argv: object, limit_s: int = 10, encoding: str = "utf-8") -> Result:
    """Run the command line in this process. An unexpected error is raised, not reported as a crash."""

    def crashed(error: BaseException, *rest: Any, **more: Any) -> list[str]:
        raise AssertionError(f"crash: {error!r}") from error

    def too_slow(*_: object) -> None:
        raise TooSlowError(f"{argv} took more than {limit_s} s")

    # the package holds a function of the module's name
    module = importlib.import_module("npulse.tui.cli.main")
    crash = importlib.import_module("npulse.tui.crash")
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=e, newline="") for e in (encoding, "utf-8"))
    before = signal.signal(signal.SIGALRM, too_slow)
    signal.alarm(limit_s)
    started = time.monotonic()
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(crash, "report_crash", crashed),
        ):
            code = module.run([str(a) for a in argv])
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    out.flush()
    err.flush()
    seconds = time.monotonic() - started
    return Result(code, out.buffer.getvalue(), err.buffer.getvalue().decode("utf-8"), seconds)  # type: ignore[attr-defined]


_UNWANTED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)


def unwanted(raw: bytes) -> set[str]:
    """Characters that a terminal obeys or that hide; everything must be sound UTF-8."""
    return set(_UNWANTED.findall(raw.decode("utf-8")))


def strict_json(text: str | bytes) -> Any:
    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)

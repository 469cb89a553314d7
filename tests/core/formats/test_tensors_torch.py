"""torch.save files of both forms, written here without torch: read right, and never run."""

from __future__ import annotations

import builtins
import io
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import time
import tracemalloc
import types
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.tensors import DTYPES, TensorError, TensorReader, open_tensor

# ---- a torch that can only be pickled ---------------------------------------------------------------

STORAGE_CLASSES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}
UNTYPED = [name for name in DTYPES if name not in STORAGE_CLASSES]  # torch saves these as typeless bytes


class Name:
    """Stands for a function, class or dtype of a module; pickles as that name and nothing else."""

    def __init__(self, module: str, name: str) -> None:
        self.__module__, self.__qualname__ = module, name
        self.__name__ = name

    def __reduce__(self) -> str:
        return self.__name__

    def __call__(self, *args: Any) -> None:
        raise AssertionError("only named, never called")


REBUILDS = [
    *(f"torch._utils._rebuild_{what}" for what in ("tensor", "tensor_v2", "tensor_v3", "sparse_tensor")),
    *(f"torch._utils._rebuild_{what}" for what in ("parameter", "parameter_with_state")),
    *("torch_npu.utils.storage._rebuild_npu_tensor", "torch_npu.npu._format.Format"),
    *("torch._tensor._rebuild_from_type_v2", "torch.nn.parameter.Parameter", "torch.Tensor", "torch.Size"),
]
NAMES = {
    full: Name(*full.rsplit(".", 1))
    for full in [
        *REBUILDS,
        *(f"torch.{name}" for name in (*DTYPES, *STORAGE_CLASSES.values())),
        *(
            "torch.storage.UntypedStorage",
            "torch.UntypedStorage",
            "torch.QInt8Storage",
            "torch.nn.modules.linear.Linear",
        ),
    ]
}


@contextmanager
def stub_modules() -> Iterator[None]:
    """The names above are importable, as the pickler wants to see before it writes them."""
    made: dict[str, types.ModuleType] = {}
    for full, name in NAMES.items():
        module, attribute = full.rsplit(".", 1)
        parts = module.split(".")
        for n in range(1, len(parts) + 1):
            made.setdefault(".".join(parts[:n]), types.ModuleType(".".join(parts[:n])))
        setattr(made[module], attribute, name)
    with pytest.MonkeyPatch.context() as patch:
        for module, content in made.items():
            patch.setitem(sys.modules, module, content)
        yield


@dataclass
class Storage:
    cls: str
    n_elements: int
    content: bytes
    key: str = "0"
    view: tuple[str, int, int] | None = None


class Call:
    """Pickles as a call: function(*args), then a state."""

    def __init__(self, function: Any, *args: Any, state: Any = None) -> None:
        self.reduced = (function, args) if state is None else (function, args, state)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.reduced


def pickled(value: Any, protocol: int = 2, *, legacy: bool = False) -> bytes:
    class Pickler(pickle.Pickler):
        def persistent_id(self, item: Any) -> Any:
            if not isinstance(item, Storage):
                return None
            found = ("storage", NAMES[item.cls], item.key, "npu:0", item.n_elements)
            return (*found, item.view) if legacy else found

    out = io.BytesIO()
    with stub_modules():
        Pickler(out, protocol).dump(value)
    return out.getvalue()


def storage_of(array: np.ndarray, name: str, key: str = "0") -> Storage:
    content = array.tobytes(order="A")
    if name in UNTYPED:
        return Storage("torch.storage.UntypedStorage", len(content), content, key)
    return Storage(f"torch.{STORAGE_CLASSES[name]}", array.size, content, key)


def tensor(
    storage: Storage, name: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *more: Any
) -> Call:
    """What `tensor.__reduce_ex__` gives."""
    arguments = (storage, offset, shape, strides, False, OrderedDict())
    if name in UNTYPED:
        return Call(NAMES["torch._utils._rebuild_tensor_v3"], *arguments, NAMES[f"torch.{name}"], *more)
    return Call(NAMES["torch._utils._rebuild_tensor_v2"], *arguments, *more)


def plain(array: np.ndarray, name: str) -> tuple[Call, list[Storage]]:
    storage = storage_of(array, name)
    strides = tuple(s // array.itemsize for s in np.ascontiguousarray(array).reshape(array.shape).strides)
    return tensor(storage, name, 0, array.shape, strides), [storage]


def zipped(data_pkl: bytes, storages: list[Storage], *, root: str = "t/", **members: bytes) -> bytes:
    """The archive; members are stored and 64-byte aligned, as torch does."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        names = {"data.pkl": data_pkl, "byteorder": b"little"}
        names |= {f"data/{s.key}": s.content for s in storages} | {"version": b"3\n"} | members
        for name, content in names.items():
            info = zipfile.ZipInfo(root + name)
            header_end = out.tell() + 30 + len(info.filename.encode()) + 4
            info.extra = struct.pack("<HH", 0x4246, -header_end % 64) + b"Z" * (-header_end % 64)
            archive.writestr(info, content)
    return out.getvalue()


def legacy(value: Any, storages: list[Storage], protocol: int = 2, **changes: Any) -> bytes:
    """The stream of five pickles and the storages."""
    system = {
        "protocol_version": 1001,
        "little_endian": True,
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    head = [0x1950A86A20F9469CFC6C, changes.get("version", 1001), system | changes.get("system", {})]
    out = b"".join(pickle.dumps(part, protocol) for part in head)
    out += pickled(value, protocol, legacy=True)
    out += pickle.dumps(changes.get("keys", sorted(s.key for s in storages)), protocol)
    for storage in sorted(storages, key=lambda s: s.key):
        out += struct.pack("<q", storage.n_elements) + storage.content
    return out


WRITERS: dict[str, Callable[[Any, list[Storage]], bytes]] = {
    "zip": lambda value, storages: zipped(pickled(value), storages),
    "zip, protocol 4": lambda value, storages: zipped(pickled(value, 4), storages),
    "legacy": legacy,
    "legacy, protocol 5": lambda value, storages: legacy(value, storages, 5),
}
every_form = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


# ---- tools of the tests -----------------------------------------------------------------------------


@contextmanager
def file_of(content: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.pt"
        path.write_bytes(content)
        yield path


def array_of(content: bytes, **record: Any) -> np.ndarray:
    """The elements, by mapping and (where that is allowed) by reading; both must agree."""
    with file_of(content) as path:
        file = open_tensor(path, root=path.parent, **record)
        mapped = file.array().copy()
        if file.is_contiguous:
            with TensorReader(file) as reader:
                read = reader.read_into(bytearray(file.size_bytes), 0, file.n_elements)
                assert read.tobytes() == mapped.tobytes()
        return mapped


def error_of(content: bytes) -> TensorError:
    with file_of(content) as path, pytest.raises(TensorError) as caught:
        open_tensor(path, root=path.parent)
    assert caught.value.path == str(path)
    assert caught.value.byte is None or 0 <= caught.value.byte <= len(content)
    return caught.value


def assert_opens_or_fails_well(path: Path) -> None:
    try:
        file = open_tensor(path, root=path.parent)
        assert file.array().shape == file.shape
    except TensorError as error:
        assert error.message and error.path == str(path)


def example(name: str) -> np.ndarray:
    dtype = np.dtype(getattr(ml_dtypes, name) if DTYPES[name].is_raw else name)
    return np.arange(1, 13).astype(np.float32).astype(dtype).reshape(3, 4)


SMALL, SMALL_STORAGES = plain(np.arange(6, dtype="<f4").reshape(2, 3), "float32")
SMALL_FILES = {"zip": zipped(pickled(SMALL), SMALL_STORAGES), "legacy": legacy(SMALL, SMALL_STORAGES)}
small_files = pytest.mark.parametrize("content", SMALL_FILES.values(), ids=SMALL_FILES)


# ---- what torch writes ------------------------------------------------------------------------------


@every_form
@pytest.mark.parametrize("name", DTYPES)
def test_every_format(name: str, write: Callable[..., bytes]):
    array = example(name)
    with file_of(write(*plain(array, name))) as path:
        file = open_tensor(path, root=path.parent, declared=f"torch.{name}", shape=(3, 4))
        assert file.dtype is file.declared is DTYPES[name]
        assert (file.shape, file.strides, file.is_contiguous) == ((3, 4), (4, 1), True)
    back = array_of(write(*plain(array, name)))
    assert back.dtype == DTYPES[name].carrier
    assert back.tobytes() == array.tobytes()


@every_form
@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (2, 0, 4), (1, 5, 1), (2, 3, 2, 2)])
def test_every_shape(shape: tuple[int, ...], write: Callable[..., bytes]):
    array = np.arange(int(np.prod(shape)), dtype="<i8").reshape(shape)
    np.testing.assert_array_equal(array_of(write(*plain(array, "int64"))), array)


@given(st.data())
def test_views_of_a_storage(data: st.DataObject):
    base = np.arange(60, dtype="<i4")
    shape = tuple(data.draw(st.lists(st.integers(1, 4), max_size=3)))
    strides = tuple(data.draw(st.integers(0, 6)) for _ in shape)
    span = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    offset = data.draw(st.integers(0, 60 - span))
    storage = storage_of(base, "int32")
    write = data.draw(st.sampled_from(list(WRITERS.values())))
    expected = np.lib.stride_tricks.as_strided(base[offset:], shape, [4 * s for s in strides])
    content = write(tensor(storage, "int32", offset, shape, strides), [storage])
    np.testing.assert_array_equal(array_of(content), expected)
    with file_of(content) as path:
        assert open_tensor(path, root=path.parent).is_contiguous == expected.flags.c_contiguous


def test_a_view_with_one_element_too_many():
    storage = storage_of(np.zeros(10, "<f4"), "float32")
    assert array_of(zipped(pickled(tensor(storage, "float32", 4, (2, 3), (3, 1))), [storage])).shape == (2, 3)
    for offset, shape, strides in [(5, (2, 3), (3, 1)), (0, (11,), (1,)), (9, (2,), (1,)), (10, (), ())]:
        error = error_of(zipped(pickled(tensor(storage, "float32", offset, shape, strides)), [storage]))
        assert error.kind == "unreadable" and "storage" in error.message


def test_an_expanded_tensor_is_fine_until_it_is_a_bomb():
    storage = storage_of(np.array([7.0], "<f4"), "float32")
    small = zipped(pickled(tensor(storage, "float32", 0, (1000, 1000), (0, 0))), [storage])
    assert np.unique(array_of(small)).tolist() == [7.0]
    bomb = zipped(pickled(tensor(storage, "float32", 0, (1 << 20, 1 << 20), (0, 0))), [storage])
    assert error_of(bomb).kind == "too-large"
    windows = storage_of(np.zeros(4096, "<f4"), "float32")
    sliding = tensor(windows, "float32", 0, (1024, 1024, 1024, 1024), (1, 1, 1, 1))
    assert error_of(zipped(pickled(sliding), [windows])).kind == "too-large"


@pytest.mark.parametrize(
    "wrap",
    [
        lambda t, s: Call(NAMES["torch._utils._rebuild_parameter"], t, True, OrderedDict()),
        lambda t, s: Call(
            NAMES["torch._utils._rebuild_parameter_with_state"], t, True, OrderedDict(), {"a": 1}
        ),
        lambda t, s: Call(NAMES["torch._utils._rebuild_tensor"], s, 0, (2, 3), (3, 1)),
        lambda t, s: Call(
            NAMES["torch_npu.utils.storage._rebuild_npu_tensor"],
            *(s, 0, (2, 3), (3, 1), False, OrderedDict(), Call(NAMES["torch_npu.npu._format.Format"], 29)),
        ),
        lambda t, s: Call(
            NAMES["torch._tensor._rebuild_from_type_v2"],
            *(NAMES["torch._utils._rebuild_tensor_v2"], NAMES["torch.Tensor"]),
            *((s, 0, Call(NAMES["torch.Size"], (2, 3)), (3, 1), False, OrderedDict()), {"tag": [1.5, None]}),
        ),
        lambda t, s: tensor(s, "float32", 0, (2, 3), (3, 1), {"npu_format": True}),
        lambda t, s: Call(t.reduced[0], *t.reduced[1], state={"attribute": (1, 2)}),
    ],
)
@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_every_way_to_rebuild(wrap: Callable[..., Call], form: str):
    array = np.arange(6, dtype="<f4").reshape(2, 3)
    storage = storage_of(array, "float32")
    value = wrap(tensor(storage, "float32", 0, (2, 3), (3, 1)), storage)
    np.testing.assert_array_equal(array_of(WRITERS[form](value, [storage])), array)


def test_conjugated_views_are_not_read_as_if_they_were_not():
    storage = storage_of(np.zeros(2, "<c8"), "complex64")
    for bit in ("conj", "neg"):
        value = tensor(storage, "complex64", 0, (2,), (1,), {bit: True})
        assert "conj" in error_of(zipped(pickled(value), [storage])).message


def test_legacy_views_and_shared_storages():
    base = np.arange(10, dtype="<f8")
    storage = storage_of(base, "float64", key="94")
    storage.view = ("95", 2, 5)
    other = storage_of(np.zeros(3, "<i2"), "int16", key="11")
    value = tensor(storage, "float64", 1, (3,), (1,))
    carried = Call(NAMES["torch._utils._rebuild_parameter_with_state"], value, False, OrderedDict(), [other])
    assert array_of(legacy(carried, [storage, other])).tolist() == [3.0, 4.0, 5.0]


LONG = np.arange(2000, dtype="<f4")
END_ALL_FULL = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 2**32 - 1, 2**32 - 1, 0)


@pytest.fixture
def archive_64(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """An archive of one tensor of 2,000 elements whose every size stands in a 64-bit record."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 500)
    value, storages = plain(LONG, "float32")
    return zipped(pickled(value), storages)[:-22] + END_ALL_FULL


def test_a_64_bit_archive(archive_64: bytes):
    assert b"PK\x06\x06" in archive_64
    np.testing.assert_array_equal(array_of(archive_64), LONG)


def test_a_64_bit_archive_that_is_broken(archive_64: bytes):
    record, locator = archive_64.index(b"PK\x06\x06"), archive_64.index(b"PK\x06\x07")

    def changed(at: int, new: bytes) -> TensorError:
        return error_of(archive_64[:at] + new + archive_64[at + len(new) :])

    assert changed(record, b"XX").kind == "unreadable"
    assert changed(locator, b"XX").kind == "too-large"  # then the full figures are the figures
    assert changed(locator + 8, b"\xff" * 8).kind == "cut-off"
    assert changed(record + 32, struct.pack("<Q", 1 << 40)).kind == "too-large"
    assert changed(record + 40, struct.pack("<Q", 1 << 20)).kind == "unreadable"
    assert changed(record + 48, b"\xff" * 8).kind == "unreadable"
    extra = archive_64.rindex(struct.pack("<HH", 1, 16))
    assert changed(extra, b"\x02").kind == "unreadable"
    assert changed(extra + 4, b"\xff" * 8).kind == "unreadable"
    assert error_of(b"PK\x03\x04" + END_ALL_FULL).kind == "too-large"


def test_an_archive_with_a_comment_and_many_members():
    out = io.BytesIO(zipped(pickled(SMALL), SMALL_STORAGES))
    with zipfile.ZipFile(out, "a") as archive:
        for n in range(200):
            archive.writestr(f"t/.data/{n}", b"x")
        archive.comment = b"c" * 60_000
    assert array_of(out.getvalue()).shape == (2, 3)


def test_an_archive_without_a_folder():
    assert array_of(zipped(pickled(SMALL), SMALL_STORAGES, root="")).shape == (2, 3)


# ---- what is no tensor ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ({"weight": SMALL, "bias": SMALL}, "dict of 2"),
        ([SMALL, SMALL, SMALL], "list of 3"),
        ((SMALL,), "tuple of 1"),
        (OrderedDict(), "dict of 0"),
        (None, "None"),
        (5, "one int"),
        ("text", "one str"),
        (SMALL_STORAGES[0], "one Storage"),
    ],
)
@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_other_content_is_named(value: Any, word: str, form: str):
    used = SMALL_STORAGES if isinstance(value, (dict, list, tuple, Storage)) and value else []
    error = error_of(WRITERS[form](value, used))
    assert error.kind == "unreadable" and word in error.message
    assert error.hint


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Call(NAMES["torch._utils._rebuild_sparse_tensor"], 1), "torch._utils._rebuild_sparse_tensor"),
        (Call(NAMES["torch.nn.modules.linear.Linear"]), "torch.nn.modules.linear.Linear"),
        (NAMES["torch.QInt8Storage"], "torch.QInt8Storage"),
        (types.SimpleNamespace(a=1), "types.SimpleNamespace"),
        (np.float32(1), "numpy"),
    ],
)
@every_form
def test_unknown_names_are_refused_by_name(value: Any, name: str, write: Callable[..., bytes]):
    error = error_of(write(value, []))
    assert error.kind == "refused" and name in error.message


def test_archives_that_are_no_tensors():
    def archive(**members: bytes) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as file:
            for name, content in members.items():
                file.writestr(name.replace("__", "/"), content)
        return out.getvalue()

    assert "data.pkl" in error_of(archive(t__other=b"x")).message
    assert error_of(archive()).kind == "unreadable"  # an empty archive begins with its end record
    assert (
        "TorchScript" in error_of(zipped(pickled(SMALL), SMALL_STORAGES, **{"constants.pkl": b"x"})).message
    )
    assert "big-endian" in error_of(zipped(pickled(SMALL), SMALL_STORAGES, byteorder=b"big")).message
    assert "storage" in error_of(zipped(pickled(SMALL), [])).message
    two = zipped(pickled(SMALL), SMALL_STORAGES, **{"more/data.pkl": pickled(SMALL)})
    assert error_of(two).kind == "unreadable"
    assert error_of(zipped(bytes(2 << 20), [])).kind == "too-large"
    with pytest.warns(UserWarning, match="Duplicate"):
        out = io.BytesIO(zipped(pickled(SMALL), SMALL_STORAGES))
        with zipfile.ZipFile(out, "a") as file:
            file.writestr("t/data/0", bytes(24))
    assert "two members" in error_of(out.getvalue()).message


def test_members_compressed_in_another_way_are_refused():
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as file:
            file.writestr("t/data.pkl", pickled(SMALL))
            file.writestr("t/data/0", SMALL_STORAGES[0].content)
        assert "compressed in another way" in error_of(out.getvalue()).message


def test_legacy_streams_that_contradict_themselves():
    assert error_of(pickle.dumps(1, 2)).kind == "refused"
    assert error_of(legacy(SMALL, SMALL_STORAGES, version=1002)).kind == "unreadable"
    assert "big-endian" in error_of(legacy(SMALL, SMALL_STORAGES, system={"little_endian": False})).message
    for keys in ([], ["1"], ["0", "0"], [5], "0", {"0": "0"}, [["0"]]):
        assert "storages" in error_of(legacy(SMALL, SMALL_STORAGES, keys=keys)).message
    other = storage_of(np.zeros(3, "<i2"), "int16", key="1")
    two = Call(NAMES["torch._utils._rebuild_parameter_with_state"], SMALL, False, OrderedDict(), [other])
    again = legacy(two, [other], keys=["1", "1"])
    again += struct.pack("<q", 3) + other.content
    assert "not in the file" in error_of(again).message
    short = legacy(SMALL, SMALL_STORAGES)[: -8 - 24] + struct.pack("<q", 5) + bytes(24)
    assert "length" in error_of(short).message
    negative = legacy(SMALL, SMALL_STORAGES)[: -8 - 24] + struct.pack("<q", -6) + bytes(24)
    assert "length" in error_of(negative).message


def test_a_legacy_pickle_without_end():
    magic, _, _ = legacy(None, []).partition(b"\x80\x02M")
    error = error_of(magic + b"\x80\x02" + b"N0" * (1 << 20))
    assert error.kind == "refused"  # 0 drops a value, which torch never does
    error = error_of(magic + b"\x80\x02" + b"N" * (2 << 20))
    assert error.kind == "too-large"


@pytest.mark.parametrize(
    "storage",
    [
        Storage("torch.FloatStorage", -1, b""),
        Storage("torch.FloatStorage", 1.5, b""),
        Storage("torch.FloatStorage", 6, b"", key=0),
        Storage("torch.Size", 6, b""),
        Storage("torch.FloatStorage", 6, b"", view=("1", 4, 3)),
        Storage("torch.FloatStorage", 6, b"", view=("1", -1, 3)),
        Storage("torch.FloatStorage", 6, b"", view=("1", 0)),
        Storage("torch.UntypedStorage", 24, b""),
    ],
)
def test_impossible_storages(storage: Storage):
    value = tensor(storage, "float32", 0, (2, 3), (3, 1))
    assert error_of(legacy(value, [])).kind == "unreadable"


def test_one_storage_of_two_types():
    other = Storage("torch.IntStorage", 6, bytes(24))
    two = Call(NAMES["torch._utils._rebuild_parameter_with_state"], SMALL, False, OrderedDict(), [other])
    assert "two types" in error_of(zipped(pickled(two), SMALL_STORAGES)).message


# ---- what would do harm -----------------------------------------------------------------------------


def payloads(marker: Path) -> dict[str, Any]:
    touch = f"open({str(marker)!r}, 'w').close()"
    return {
        "os.system": Call(os.system, f"touch {marker}"),
        "builtins.eval": Call(builtins.eval, touch),
        "builtins.exec": Call(builtins.exec, touch),
        "builtins.open": Call(builtins.open, str(marker), "w"),
        "builtins.getattr": Call(builtins.getattr, os, "system"),
        "subprocess.Popen": Call(subprocess.Popen, ["touch", str(marker)]),
        "inside": {"weight": Call(os.system, f"touch {marker}")},
        "as state": Call(
            NAMES["torch._utils._rebuild_parameter"], 1, state=Call(os.system, f"touch {marker}")
        ),
    }


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("which", payloads(Path("x")))
def test_no_pickle_runs(which: str, protocol: int, tmp_path: Path):
    marker = tmp_path / "marker"
    value = payloads(marker)[which]
    if which == "builtins.getattr":
        value = Call(builtins.getattr, "x", "upper")
    bad = pickled(value, protocol)
    head = legacy(None, [])
    head = head[: -len(pickle.dumps([], 2)) - len(pickled(None, legacy=True))]
    for content in (zipped(bad, []), head + bad, bad):
        error = error_of(content)
        assert error.kind in ("refused", "unreadable")
        assert error.kind == "refused" or content is bad
    assert not marker.exists()
    named = error_of(zipped(bad, []))
    if which.startswith(("os", "builtins", "subprocess")):
        assert which.rpartition(".")[2] in named.message
    # the payload is a live one: the standard unpickler does what ours refuses
    if which == "os.system":
        pickle.loads(bad)
        assert marker.exists()


@pytest.mark.parametrize(
    "stream",
    [
        b"(ios\nsystem\n.",  # INST
        b"(cos\nsystem\nX\x01\x00\x00\x00xo.",  # OBJ
        b"\x82\x01.",  # EXT1
        b"P1\n.",  # PERSID
        b"\x97.",  # NEXT_BUFFER
        b"I1\n.",  # INT
        b"\x8b\xff\xff\xff\x7f.",  # LONG4
        b"B\xff\xff\xff\x7f.",  # BINBYTES
        b"\x8d" + b"\xff" * 8 + b".",  # BINUNICODE8
        b"ctorch\nFloatStorage\n)R.",  # a call of what is no function
        b"ctorch\nfloat32\n)R.",
        b"ctorch._utils\n_rebuild_tensor_v2\n)R.",  # a call without arguments
        b"ctorch._utils\n_rebuild_tensor_v2\nK\x01R.",
        b"ccollections\nOrderedDict\n)\x81.",  # NEWOBJ
        b"ctorch\nFloatStorage.__init__\n.",
        b"ccollections\nOrderedDict\n(K\x01tR.",
        b"c\n\n.",
        b"K\x01K\x02\x93.",  # STACK_GLOBAL of numbers
        b"K\x01Q.",  # a storage that is a number
        b"(K\x01K\x02tQ.",
        b"R.",
        b".",
        b"t.",
        b"h\x05.",
        b"]K\x01K\x02s.",  # an item into a list
        b"}(K\x01u.",  # an odd number of items
        b"}(K\x01]K\x02]su.",
        b"\x87.",
        b"X\xff\xff\xff\xffabc.",
        b"X\x02\x00\x00\x00\xff\xfe.",
        b"\x80",
        b"c" + b"a" * 1000,
        b"\x00" * 1000,
        b"",
    ],
)
def test_broken_programs(stream: bytes):
    assert error_of(zipped(b"\x80\x02" + stream, [])).kind in ("refused", "unreadable")


def test_programs_made_to_last_or_to_grow():
    n = 100_000
    doubled = b")" + b"".join(b"q\x00h\x00\x86" for _ in range(n // 8))  # 2^n leaves, if anybody counted
    rebuild = b"ctorch._tensor\n_rebuild_from_type_v2\n"
    streams = {
        "deep tuples": b")" + b"\x85" * n + b".",
        "deep lists": b"]" * n + b"a" * (n - 1) + b".",
        "open marks": b"(" * n + b"t" * n + b".",
        "open dicts": b"}" * n + b".",
        "doubled tuples": doubled + b".",
        "doubled tuples as a key": b"}" + doubled + b"K\x01s.",
        "far memo slots": b"N"
        + b"".join(b"r" + struct.pack("<I", 2**32 - 1 - k) for k in range(n // 5))
        + b".",
        "long text": b"X\xff\xff\xff\xff" + b"x" * n,
        "a list in itself": b"]q\x00h\x00a.",
        "nested rebuilds": rebuild * 10_000 + b"(" + b")" * 9_000 + b"tR.",
        "named without end": (b"ctorch\nfloat32\n0" * (n // 20)) + b".",
    }
    tracemalloc.start()
    started = time.process_time()
    try:
        for name, stream in streams.items():
            error = error_of(zipped(b"\x80\x02" + stream, []))
            assert error.kind in ("refused", "unreadable") and len(error.message) < 300, name
        assert tracemalloc.get_traced_memory()[1] < 100 * (1 << 20)
    finally:
        tracemalloc.stop()
    assert time.process_time() - started < 60


def test_rebuild_from_type_does_not_nest():
    name = NAMES["torch._tensor._rebuild_from_type_v2"]
    inner: tuple[Any, ...] = (1, 2, 3)
    for _ in range(300):
        inner = (name, NAMES["torch.Tensor"], inner)
    assert error_of(zipped(pickled(Call(name, *inner, None)), [])).kind == "unreadable"


@pytest.mark.parametrize(
    "geometry",
    [
        (-1, (2, 3), (3, 1)),
        (0, (-2, 3), (3, 1)),
        (0, (2, 3), (-3, 1)),
        (0, (2, 3), (3,)),
        (0, [2, 3], [3, 1]),
        (0, (True, 3), (3, 1)),
        (0, (2.0, 3), (3, 1)),
        (0, (2**70,), (1,)),
        (0, (1,) * 40, (1,) * 40),
        (0, (2**61, 0), (0, 1)),
        (2**61, (2, 3), (3, 1)),
        (0, (2, 3), (2**61, 2**61)),
        (None, None, None),
    ],
)
@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_impossible_geometry(geometry: tuple[Any, ...], form: str):
    storage = storage_of(np.zeros(6, "<f4"), "float32")
    value = tensor(storage, "float32", *geometry)
    assert error_of(WRITERS[form](value, [storage])).kind in ("unreadable", "too-large")


@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_a_storage_that_claims_more_than_the_file(form: str):
    storage = Storage("torch.FloatStorage", 10**12, bytes(24))
    error = error_of(WRITERS[form](tensor(storage, "float32", 0, (10**12,), (1,)), [storage]))
    assert error.kind == ("unreadable" if form == "zip" else "cut-off")


# ---- damaged files ----------------------------------------------------------------------------------


@small_files
def test_cut_at_every_byte(content: bytes, tmp_path: Path):
    path = tmp_path / "t.pt"
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(TensorError) as caught:
            open_tensor(path, root=tmp_path)
        assert caught.value.kind == "cut-off", length
        assert caught.value.byte == length


@small_files
def test_every_byte_changed(content: bytes, tmp_path: Path):
    path = tmp_path / "t.pt"
    for at in range(len(content)):
        for value in (0, 0xFF, content[at] ^ 1, content[at] ^ 0x80):
            path.write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
            assert_opens_or_fails_well(path)


@small_files
@given(data=st.data())
def test_many_bytes_changed(content: bytes, data: st.DataObject):
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 12))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(damaged)))
        damaged[at:at] = data.draw(st.binary(max_size=40))
    with file_of(bytes(damaged)) as path:
        assert_opens_or_fails_well(path)


_PIECES = [
    *(bytes([opcode]) for opcode in b"NK()tat]}esuqhRQb.c0" + bytes(range(0x80, 0x98))),
    *(b"ctorch\nFloatStorage\n", b"ctorch._utils\n_rebuild_tensor_v2\n", b"X\x07\x00\x00\x00storage"),
    *(b"X\x01\x00\x00\x000", b"K\x02", b"\x8a\x01\x05", b"q\x00", b"h\x00", b"K\x00K\x06\x85K\x01\x85"),
    *(b"ccollections\nOrderedDict\n)R", b"ctorch\nSize\n", b"cos\nsystem\n"),
]


@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.binary(max_size=3)), max_size=40))
def test_random_programs(pieces: list[bytes]):
    with file_of(zipped(b"\x80\x02" + b"".join(pieces) + b".", SMALL_STORAGES)) as path:
        assert_opens_or_fails_well(path)


@given(st.binary(max_size=300), st.sampled_from([b"", b"\x80\x02", b"PK\x03\x04", b"PK\x05\x06"]))
def test_any_bytes(tail: bytes, head: bytes):
    with file_of(head + tail) as path:
        assert_opens_or_fails_well(path)

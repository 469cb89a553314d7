"""Where the one tensor of a `torch.save` file lies: the zip form and the older pickle stream.

No code of the file is run (torchpickle.py) and no element is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from .dtypes import Dtype
from .inflate import inflated
from .layout import Extent, Layout, check_extent, check_shape
from .source import Source
from .torchpickle import PickleProblem, Storage, StoredTensor, Unpickled, unpickle
from .zipdir import MAGIC, Directory, locate, read_directory

MAX_PICKLE_BYTES = 1 << 20
"""The pickle of one tensor has about 200 bytes; more than this is a model, not a tensor."""

# Tensors of one type and shape have the same pickle, byte for byte: a dump of thousands has a few dozen.
_MAX_CACHED_BYTES = 1024
_unpickle_cached = lru_cache(maxsize=1024)(unpickle)

_AT_START = Extent(0, 0)
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001
_HINT_ONE_TENSOR = "save each tensor to a file of its own: torch.save(tensor.detach().cpu(), path)"
_HINT_NOT_TORCH = "a .pt file of torch.save is expected"
_HINT_BIG_ENDIAN = "save the tensor on a little-endian host"


def is_torch_zip(source: Source) -> bool:
    """Whether the file is a zip archive; else it may be the older stream."""
    return source.size >= len(MAGIC) and source.read(0, len(MAGIC), "the file") == MAGIC


def read_torch_zip(source: Source) -> Layout:
    """Layout of the tensor in a zip written by torch 1.6 and later."""
    directory, root, buffer, extent = zip_pickle(source, MAX_PICKLE_BYTES)
    tensor = _one_tensor(source, _unpickle(source, buffer, 0, extent).value)
    return layout_of(source, tensor, zip_storage(source, directory, root, tensor.storage.key))


def zip_pickle(source: Source, most_bytes: int) -> tuple[Directory, str, bytes, Extent]:
    """The archive's directory, the folder in it, data.pkl, and where that lies."""
    directory = read_directory(source)
    pickles = [name for name in directory.members if name.endswith("/data.pkl") or name == "data.pkl"]
    if len(pickles) != 1:
        raise source.error("unreadable", "an archive without data.pkl: not a tensor", hint=_HINT_NOT_TORCH)
    root = pickles[0].removesuffix("data.pkl")
    if root + "constants.pkl" in directory.members:
        raise source.error("refused", "a TorchScript program, not a tensor")
    byte_order = directory.members.get(root + "byteorder")
    if byte_order is not None and byte_order.size == 3:  # "big"; else "little" or nothing
        raise source.error("unreadable", "the elements are big-endian", hint=_HINT_BIG_ENDIAN)

    member = directory.members[pickles[0]]
    if member.size > most_bytes:
        raise source.error("too-large", f"a pickle of {member.size:,} bytes", hint=_HINT_ONE_TENSOR)
    extent = locate(source, directory, member)
    if extent.deflated is not None:
        return directory, root, bytes(inflated(source, extent.deflated, 0, member.size)), extent
    return directory, root, source.read(extent.first, member.size, "data.pkl"), extent


def zip_storage(source: Source, directory: Directory, root: str, key: str) -> Extent:
    """Where a storage lies in the archive."""
    data = directory.members.get(f"{root}data/{key}")
    if data is None:
        raise source.error("unreadable", "the archive lacks the tensor's storage", byte=directory.offset)
    return locate(source, directory, data)


def read_torch_legacy(source: Source) -> Layout:
    """Layout of the tensor in the stream that torch wrote before 1.6, and on request after.

    Five pickles (magic, protocol, system, the tensor, storage keys), then each storage: length and bytes.
    """
    buffer = source.read(0, min(source.size, MAX_PICKLE_BYTES), "the pickles")
    content, keys = legacy_pickles(source, buffer, partial(_unpickle, source))
    tensor = _one_tensor(source, content.value)
    found = legacy_storages(source, keys, content.storages).get(tensor.storage.key)
    if found is None:
        raise source.error("unreadable", "the tensor's storage is not in the file", byte=keys.end)
    return layout_of(source, tensor, found)


def legacy_pickles(
    source: Source, buffer: bytes, unpickle_at: Callable[[bytes, int], Unpickled]
) -> tuple[Unpickled, Unpickled]:
    """The pickle of the content and that of the storage keys, by an interpreter of the caller's choice."""
    magic = unpickle_at(buffer, 0)
    if type(magic.value) is not int or magic.value != _LEGACY_MAGIC:
        raise source.error("refused", "a pickle that torch.save did not write", byte=0)
    protocol = unpickle_at(buffer, magic.end)
    system = unpickle_at(buffer, protocol.end)
    known = type(protocol.value) is int and protocol.value == _LEGACY_PROTOCOL
    if not known or type(system.value) is not dict:
        raise source.error(
            "unreadable", "an unknown form of torch file", byte=magic.end, hint=_HINT_NOT_TORCH
        )
    if system.value.get("little_endian") is not True:
        raise source.error("unreadable", "the elements are big-endian", hint=_HINT_BIG_ENDIAN)
    content = unpickle_at(buffer, system.end)
    return content, unpickle_at(buffer, content.end)


def legacy_storages(source: Source, keys: Unpickled, storages: Mapping[str, Storage]) -> dict[str, Extent]:
    """Where each storage lies. All are checked to be there."""
    found: dict[str, Extent] = {}
    at = keys.end
    listed = keys.value if type(keys.value) is list else []
    if len(listed) != len(storages):
        raise source.error("unreadable", "the list of storages does not fit the tensor", byte=at)
    for key in listed:
        storage = storages.get(key) if type(key) is str else None
        if storage is None:
            raise source.error("unreadable", "the list of storages does not fit the tensor", byte=at)
        n_elements = int.from_bytes(source.read(at, 8, "the length of a storage"), "little", signed=True)
        if n_elements != storage.n_elements:
            raise source.error("unreadable", "a storage has not the length that the tensor says", byte=at)
        start = at + 8
        at = start + n_elements * storage.itemsize
        source.need(start, at - start, "the tensor's storage")
        found[key] = Extent(start, at)
    return found


def _unpickle(source: Source, buffer: bytes, start: int, extent: Extent = _AT_START) -> Unpickled:
    """The pickle at `start` of a buffer that lies in the file at `extent`."""
    try:
        return (_unpickle_cached if len(buffer) <= _MAX_CACHED_BYTES else unpickle)(buffer, start)
    except PickleProblem as problem:
        packed = extent.deflated  # no byte of the file is that of a step in a compressed pickle
        byte = extent.first + problem.position if packed is None else packed.first
        if problem.ended and packed is None and byte >= source.size:
            message = f"the file ends after {source.size:,} bytes, inside the pickle"
            raise source.error("cut-off", message, byte=byte) from problem
        if problem.ended and len(buffer) >= MAX_PICKLE_BYTES:
            raise source.error("too-large", "a pickle too large for one tensor", byte=byte) from problem
        raise source.error(problem.kind, problem.message, byte=byte) from problem


def _one_tensor(source: Source, value: Any) -> StoredTensor:
    if isinstance(value, StoredTensor):
        return value
    if isinstance(value, (dict, list, tuple)):
        what = f"a {type(value).__name__} of {len(value):,} entries"
    else:
        what = "None" if value is None else f"one {type(value).__name__}"
    raise source.error("unreadable", f"the file holds {what}, not one tensor", hint=_HINT_ONE_TENSOR)


def layout_of(source: Source, tensor: StoredTensor, storage: Extent) -> Layout:
    """The tensor's place in its storage."""
    dtype: Dtype = tensor.dtype
    check_shape(source, tensor.shape, dtype.itemsize)
    _check_inflated(source, tensor, storage)
    offset = (
        storage.first
        + tensor.storage.first_element * tensor.storage.itemsize
        + tensor.offset * dtype.itemsize
    )
    layout = Layout(offset, dtype, dtype.itemsize, tensor.shape, tensor.strides, storage.deflated)
    check_extent(source, layout, storage.end)
    return layout


def _check_inflated(source: Source, tensor: StoredTensor, storage: Extent) -> None:
    """A compressed storage is as long as the pickle says; a longer one can be a bomb."""
    n_bytes = tensor.storage.n_elements * tensor.storage.itemsize
    if storage.deflated is not None and storage.deflated.size_bytes != n_bytes:
        raise source.error(
            "unreadable",
            f"its compressed storage inflates to {storage.deflated.size_bytes:,} bytes, "
            f"the tensor says {n_bytes:,}",
            byte=storage.deflated.first,
        )

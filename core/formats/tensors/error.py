"""Why a tensor file cannot be used, in one of eight words that a caller can act on."""

from __future__ import annotations

from os import PathLike
from typing import Literal

from ...errors import InputError

TensorErrorKind = Literal[
    "missing", "cut-off", "unreadable", "shape", "refused", "outside-run", "too-large", "changed"
]


class TensorError(InputError):
    """A tensor file cannot be used. `kind` is the word for a `Problem`; byte is where it was noticed."""

    def __init__(
        self,
        kind: TensorErrorKind,
        message: str,
        *,
        path: str | PathLike[str],
        byte: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint or _HINTS.get(kind), path=path, byte=byte)
        self.kind: TensorErrorKind = kind

    def __reduce__(self) -> tuple[object, ...]:
        # a worker process hands its errors back pickled; the default would lose the keywords
        return _rebuild, (self.kind, self.message, self.path, self.byte, self.hint)


def _rebuild(
    kind: TensorErrorKind, message: str, path: str, byte: int | None, hint: str | None
) -> TensorError:
    return TensorError(kind, message, path=path, byte=byte, hint=hint)


_HINTS: dict[str, str] = {
    "missing": "copy the whole dump folder again, or dump this operator once more",
    "cut-off": "the copy or the dump was interrupted: copy the file again, or dump this operator once more",
    "changed": "something still writes into the dump, or copies it: compare again when it has ended",
    "refused": "only plain tensors are read, no code from a file is ever run; save the tensor alone: "
    "torch.save(tensor.detach().cpu(), path)",
    "outside-run": "only files below the opened folder are read; open the folder that holds the file",
}

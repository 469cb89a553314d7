"""Writes a capture once more, call by call, as the tool does while a program runs: tensors at once, dump.json
now and then, as a whole and in place."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

OLD_NS = 10**18
INDEXES = ("dump.json", "stack.json", "construct.json")


class Replay:
    """One rank-step of a finished capture, written to another folder. at: calls whose tensors lie there;
    flushed: calls that the last whole dump.json named."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.folder = folder
        self._source = source
        self._texts: dict[str, Any] = {
            name: json.loads((source / name).read_text()) for name in INDEXES if (source / name).exists()
        }
        data = self._texts["dump.json"]["data"]
        self.names = list(data)
        self._files = [sorted(_files_in(entry)) for entry in data.values()]
        self.at = self.flushed = self._n_aged = 0
        (folder / "dump_tensor_data").mkdir(parents=True)
        self.flush()

    @property
    def n_unnamed(self) -> int:
        """Tensor files that the last whole dump.json does not name."""
        written = {name for files in self._files[: self.at] for name in files}
        return len(written - {name for files in self._files[: self.flushed] for name in files})

    def run(self, n_calls: int) -> None:
        """The next calls run: their tensors are there."""
        for files in self._files[self.at : self.at + n_calls]:
            for name in files:
                path = self.folder / "dump_tensor_data" / name
                shutil.copyfile(self._source / "dump_tensor_data" / name, path)
        self.at = min(self.at + n_calls, len(self.names))

    def flush(self, share: float = 1.0) -> None:
        """dump.json is written anew; share: so much of it is there when somebody looks."""
        names = self.names[: self.at]
        for index, whole in self._texts.items():
            if index == "dump.json":
                text = json.dumps({**whole, "data": {name: whole["data"][name] for name in names}}, indent=1)
            elif index == "construct.json":
                text = json.dumps({name: whole[name] for name in names if name in whole}, indent=1)
            else:
                text = json.dumps(whole, indent=1)
            (self.folder / index).write_text(text[: int(len(text) * share)])
        if share == 1.0:
            self.flushed = self.at

    def age(self) -> None:
        """As if nobody had written for long."""
        self._n_aged += 1
        self._set_times(OLD_NS + self._n_aged)

    def touch(self) -> None:
        """As if it had just been written to."""
        self._set_times(time.time_ns())

    def _set_times(self, modified_ns: int) -> None:
        for name in (".", "dump_tensor_data", *self._texts):
            os.utime(self.folder / name, ns=(modified_ns, modified_ns))


def age(folder: Path, modified_ns: int = OLD_NS) -> None:
    """Set the time of everything in a folder."""
    for path in (folder, *folder.rglob("*")):
        os.utime(path, ns=(modified_ns, modified_ns))


def _files_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        found = {name for item in value.values() for name in _files_in(item)}
        return found | ({value["data_name"]} if isinstance(value.get("data_name"), str) else set())
    return {name for item in value for name in _files_in(item)} if isinstance(value, list) else set()

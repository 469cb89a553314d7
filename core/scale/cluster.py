"""Which cluster is meant: its address, and how its workers name the folders that this host names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from npulse.core.dataclass import dataclass
from npulse.core.errors import UsageError

MOST_LOCAL_WORKERS = 64

_SCHEDULER = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+(%[\w.-]+)?\]|[\w.-]+):(\d{1,5})")
_LOCAL = re.compile(r"local:(\d{1,4})")


@dataclass(frozen=True, slots=True)
class Cluster:
    """address: "tcp://host:port", "tls://host:port", or "local:N" for a scheduler with N workers of its own.

    path_maps: (folder on this host, the same folder as the workers see it); the longest one that fits counts.
    """

    address: str
    path_maps: tuple[tuple[Path, Path], ...] = ()

    @staticmethod
    def parse(address: str, path_maps: Iterable[str] = ()) -> Cluster:
        """What `--cluster` and `--path-map LOCAL=REMOTE` say. UsageError for what cannot be meant."""
        found = _SCHEDULER.fullmatch(address)
        local = _LOCAL.fullmatch(address)
        if local is not None:
            if not 1 <= int(local[1]) <= MOST_LOCAL_WORKERS:
                raise UsageError(f"--cluster {address}: from 1 to {MOST_LOCAL_WORKERS} workers")
        elif found is None or not 1 <= int(found[4]) <= 65535:
            raise UsageError(
                f"--cluster {address[:80]}: no address of a scheduler",
                hint="tcp://HOST:PORT, tls://HOST:PORT, or local:N for N workers on this host",
            )
        return Cluster(address, tuple(_path_map(text) for text in path_maps))

    @property
    def n_local(self) -> int | None:
        """How many workers are to be started; None for a scheduler that is there."""
        found = _LOCAL.fullmatch(self.address)
        return None if found is None else int(found[1])

    def there(self, path: Path) -> Path:
        """A path of this host as the workers name it."""
        return _moved(path, self.path_maps)

    def here(self, path: Path) -> Path:
        """A path of the workers as this host names it."""
        return _moved(path, [(remote, local) for local, remote in self.path_maps])


def _path_map(text: str) -> tuple[Path, Path]:
    local, _, remote = text.partition("=")
    if not local or not remote or not PurePosixPath(remote).is_absolute():
        raise UsageError(
            f"--path-map {text[:120]}: not LOCAL=REMOTE",
            hint="a folder here and its absolute path on the workers: --path-map /mnt/dumps=/data/dumps",
        )
    return Path(local).absolute(), Path(remote)


def _moved(path: Path, maps: Iterable[tuple[Path, Path]]) -> Path:
    for source, to in sorted(maps, key=lambda one: -len(one[0].parts)):
        if path.is_relative_to(source):
            return to / path.relative_to(source)
    return path


def moved(value: Any, cluster: Cluster, *, is_back: bool = False) -> Any:
    """A job as the workers are to get it, or their result as this host names its files.

    Records that hold paths have a method `moved(move)` that gives them with other ones; tuples and lists are
    gone through, anything else has none.
    """
    move = cluster.here if is_back else cluster.there
    if isinstance(value, Path):
        return move(value)
    if hasattr(value, "moved"):
        return value.moved(move)
    if type(value) in (tuple, list):
        return type(value)(moved(one, cluster, is_back=is_back) for one in value)
    return value

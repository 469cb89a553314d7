"""npulse beside the tools that people use today, on the same data in the same call.

    python tests/bench/against_peers.py [--scales 1,10,40] [--only NAME,...] [--pairs 5]
                                        [--folder DIR] [--keep docs/benchmarks.md]

Makes the environments of the peers below --folder once (that needs a package index; a peer that cannot be
installed is named as missing), makes the data of each work, runs npulse and the peers in turn, and prints
a table
with times, memory and how they grow, and a verdict on each target. Results are kept below --folder after each
work; --keep writes the page of all that are kept there. Without --folder all of it goes to a temporary
folder, and
the largest amount of data is 10x: that is what a nightly job has time for. All of it takes some 20 minutes
with
two processors, and 12 GB of disk.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.peers.environments import Missing, environments_of  # noqa: E402
from tests.bench.peers.page import page  # noqa: E402
from tests.bench.peers.results import keep, kept  # noqa: E402
from tests.bench.peers.turns import Bounds, measure  # noqa: E402
from tests.bench.peers.works import WORKS  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scales", help="amounts of data, as multiples of the smallest")
    parser.add_argument("--only", help=f"works, with commas: {', '.join(work.name for work in WORKS)}")
    parser.add_argument("--pairs", type=int, default=5, help="turns at most; fewer where they take long")
    parser.add_argument("--folder", type=Path, help="for environments, data, results")
    parser.add_argument("--keep", type=Path, metavar="PAGE", help="write the page of all that was measured")
    options = parser.parse_args()
    only = options.only.split(",") if options.only else [work.name for work in WORKS]
    if unknown := set(only) - {work.name for work in WORKS}:
        parser.error(f"no such work: {', '.join(sorted(unknown))}")
    scales = {int(scale) for scale in options.scales.split(",")} if options.scales else None
    if scales is None and options.folder is None:
        scales = {1, 10}
    with _folder(options.folder) as folder:
        text = against_peers(folder, only, scales, options.pairs)
    print(text)
    if options.keep:
        options.keep.write_text(text, encoding="utf-8")


def against_peers(folder: Path, only: list[str], scales: set[int] | None, n_pairs: int) -> str:
    """Measure some works; returns the page of them and of those that were measured in this folder before."""
    chosen = [work for work in WORKS if work.name in only]
    results = folder / "results.json"
    works = kept(results)
    used = {way.peer for work in WORKS if work.name in (*only, *works) for way in work.ways if way.peer}
    made = environments_of(used, folder / "peers")
    for name, found in made.items():
        print(
            f"{name}: {f'missing: {found.why}' if isinstance(found, Missing) else found.version}", flush=True
        )
    for work in chosen:
        asked = [scale for scale in work.scales if scales is None or scale in scales or work.scales == (1,)]
        print(f"\n{work.title}", flush=True)
        bounds = Bounds.here(n_pairs)
        works[work.name] = measure(work, made, asked, bounds, folder, lambda line: print(line, flush=True))
        keep(results, works)
    return page(
        works, {name: found if isinstance(found, Missing) else found.version for name, found in made.items()}
    )


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is None:
        with tempfile.TemporaryDirectory(prefix="npulse-peers-") as folder:
            yield Path(folder)
        return
    given.mkdir(parents=True, exist_ok=True)
    yield given.resolve()


if __name__ == "__main__":
    main()

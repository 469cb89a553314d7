"""What the peers are asked to do; run by the Python of a peer's environment: python theirs.py WHAT PATH."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

LINE = re.compile(
    r"======\s+(?:(ERROR|WARNING): (.*)|at (0x[0-9a-f]+) on (\S+)|#(\d+) (.*):(\d+):(\d+)"
    r"|in block (\S+) on device (\d+)|code in (.*)|(.*))"
)
TYPE, DURATION = "OP Type", "Task Duration(us)"


def pandas_all(path: Path) -> None:
    import pandas

    frame = pandas.read_csv(path)
    print(len(frame.groupby(TYPE)[DURATION].sum().nlargest(20)))


def pandas_two(path: Path) -> None:
    import pandas

    frame = pandas.read_csv(path, usecols=[TYPE, DURATION])
    print(len(frame.groupby(TYPE)[DURATION].sum().nlargest(20)))


def polars_scan(path: Path) -> None:
    import polars

    frame = polars.scan_csv(path, infer_schema_length=10000, null_values=["N/A"])
    sums = frame.group_by(TYPE).agg(polars.col(DURATION).sum())
    print(len(sums.sort(DURATION, descending=True).head(20).collect()))


def polars_all(path: Path) -> None:
    import polars

    frame = polars.read_csv(path, infer_schema_length=10000, null_values=["N/A"])
    print(len(frame.group_by(TYPE).agg(polars.col(DURATION).sum()).top_k(20, by=DURATION)))


def duckdb_file(path: Path) -> None:
    import duckdb

    query = f'select "{TYPE}", sum("{DURATION}") from read_csv(?) group by 1 order by 2 desc limit 20'
    print(len(duckdb.execute(query, [str(path)]).fetchall()))


def visidata_load(path: Path) -> None:
    from visidata import vd

    sheet = vd.openSource(str(path))
    sheet.reload()
    vd.sync()
    print(len(sheet.rows))


def count_lines(path: Path) -> None:
    n = 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(1 << 20):
            n += block.count(b"\n")
    print(n)


def json_load(path: Path) -> None:
    with path.open("rb") as file:
        print(len(json.load(file)))


def lines_by_pattern(path: Path) -> None:
    """Each line against one pattern of all that a record may say; faults counted by kind and place."""
    groups: dict[tuple[str, str], int] = {}
    head = place = ""
    with path.open(encoding="utf-8") as file:
        for text in file:
            found = LINE.match(text)
            if found is None:
                continue
            if found[1]:
                if head:
                    groups[head, place] = groups.get((head, place), 0) + 1
                head, place = found[2], ""
            elif found[6]:
                place = f"{found[6]}:{found[7]}"
    print(len(groups))


def np_sum(folder: Path) -> None:
    """The sum of the bytes of every tensor file: the least that anyone does who looks at all of them."""
    import numpy

    total = 0
    for path in sorted(folder.rglob("*.pt")):
        total += int(
            numpy.sum(
                numpy.fromfile(path, numpy.uint8)[: -(path.stat().st_size % 8) or None].view(numpy.uint64)
            )
        )
    print(total)


WHAT = {
    work.__name__: work
    for work in (
        pandas_all, pandas_two, polars_scan, polars_all, duckdb_file, visidata_load, count_lines, json_load,
        lines_by_pattern, np_sum,
    )
}  # fmt: skip

if __name__ == "__main__":
    path = Path(sys.argv[2])
    WHAT[sys.argv[1]](path)

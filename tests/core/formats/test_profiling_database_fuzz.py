"""Broken databases: every reader ends with records and problems, or with an InputError."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.profiling.database.cluster import read_cluster_database
from npulse.core.formats.profiling.database.communication import (
    read_database_communication,
    read_database_links,
)
from npulse.core.formats.profiling.database.host import read_database_apis
from npulse.core.formats.profiling.database.memory import read_database_memory
from npulse.core.formats.profiling.database.operators import read_database_operators
from npulse.core.formats.profiling.database.parts import parts_of
from npulse.core.formats.profiling.database.settings import read_database_settings
from npulse.core.formats.profiling.database.steps import read_database_steps
from npulse.core.formats.profiling.database.timeline import read_database_timelines

from .database_files import Content, make_database, profile
from .test_profiling_database_records import LINK_COLUMNS, STEP_COLUMNS, TIME_COLUMNS, USE_COLUMNS

READERS: tuple[Callable[[Path], Any], ...] = (
    read_database_operators,
    read_database_timelines,
    read_database_apis,
    read_database_steps,
    read_database_communication,
    read_database_links,
    read_database_settings,
    read_cluster_database,
    lambda path: read_database_memory(path, "OP_MEMORY"),
    parts_of,
)
MAX_PEAK = 40 << 20


def whole() -> Content:
    """Every table that some reader knows, small."""
    return {
        **profile(),
        "StepTraceTime": (STEP_COLUMNS, [("5", *range(9))]),
        "CommAnalyzerTime": (TIME_COLUMNS, [("op", "g", 1, 2, 3, 4, 5, 6, "step5", "p2p")]),
        "CommAnalyzerBandwidth": (USE_COLUMNS, [("op", "g", "HCCS", 1, 2, 3, 4, 5, 6, 7, "step5", "p2p")]),
        "CommAnalyzerMatrix": (LINK_COLUMNS, [("op", "g", "0", "1", "HCCS", 1, 2, 3, "5", "p2p", "op")]),
        "ClusterStepTraceTime": (f"{STEP_COLUMNS}, type TEXT", [("5", *range(9), "rank")]),
        "CommunicationGroupMapping": ("type TEXT, rank_set TEXT", [("p2p", "(0,1)")]),
        "OP_MEMORY": ("name INTEGER, size INTEGER, allocationTime INTEGER", [(1, 2, 3)]),
    }


def read_all(path: Path, readers: Sequence[Callable[[Path], Any]] = READERS) -> int:
    """How many readers gave something; any other exception than InputError ends the test."""
    n = 0
    for read in readers:
        try:
            read(path)
            n += 1
        except InputError as error:
            assert error.message
    return n


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = make_database(tmp_path_factory.mktemp("whole") / "a.db", whole(), page_size=512)
    assert read_all(path) == len(READERS)
    return path.read_bytes()


@pytest.fixture
def bounded() -> Iterator[None]:
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MAX_PEAK


def test_cut_anywhere(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.db"
    step = len(content) // 90 | 1
    sizes = [*range(0, 200, 25), *range(200, len(content), step)]
    found = []
    for size in sizes:
        path.write_bytes(content[:size])
        found.append(read_all(path))
    assert found[0] == 0
    assert found[-1] > 6  # most of it is there


@pytest.mark.usefixtures("bounded")
def test_bytes_that_changed_cost_no_memory(tmp_path: Path, content: bytes) -> None:
    change_bytes(tmp_path / "a.db", content, 10, random.Random(4))


def test_bytes_that_changed(tmp_path: Path, content: bytes) -> None:
    change_bytes(tmp_path / "a.db", content, 100, random.Random(5))


def change_bytes(path: Path, content: bytes, n: int, chance: random.Random) -> None:
    for _ in range(n):
        raw = bytearray(content)
        for _ in range(chance.choice((1, 3, 30))):
            at = chance.randrange(len(raw)) if chance.random() < 0.7 else chance.randrange(1024)
            raw[at] = chance.choice((0, 255, 0x7F, chance.randrange(256)))
        path.write_bytes(raw)
        read_all(path)


def test_pages_in_the_wrong_place(tmp_path: Path, content: bytes) -> None:
    """Trees that contain themselves, or pages of other tables."""
    path = tmp_path / "a.db"
    chance = random.Random(6)
    pages = [content[at : at + 512] for at in range(0, len(content), 512)]
    for _ in range(60):
        mixed = [pages[0], *(chance.choice(pages) if chance.random() < 0.3 else page for page in pages[1:])]
        path.write_bytes(b"".join(mixed))
        read_all(path)


def test_a_table_less(tmp_path: Path) -> None:
    tables = whole()
    for i, name in enumerate(tables):
        rest = {other: tables[other] for other in tables if other != name}
        assert read_all(make_database(tmp_path / f"{i}.db", rest)) >= len(READERS) - 2


def test_a_column_less(tmp_path: Path) -> None:
    """Each column of each table in turn: what is there is read."""
    tables = whole()
    n = 0
    for name, (columns, rows) in tables.items():
        listed = columns.split(",")
        for i in range(len(listed)) if len(listed) > 1 else ():
            less = [tuple(cell for j, cell in enumerate(row) if j != i) for row in rows]
            changed = {**tables, name: (",".join(listed[:i] + listed[i + 1 :]), less)}
            n += 1
            readers = READERS[:3] if name in profile() else READERS[3:]
            assert read_all(make_database(tmp_path / f"{n}.db", changed), readers) >= len(readers) - 3
    assert n > 100


CELLS = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0, 1, 2, 2**63 - 1, -(2**63), 4294967295, 1736414119518476000]),
    st.floats(allow_nan=False),
    st.sampled_from(["", "N/A", "12", "1e400", "9" * 40, "-0", " 7 ", "1_0", "\u0663", "\ud7ff", "x" * 5000]),
    st.binary(max_size=9),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_cells_of_any_type(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """No column keeps its promise."""
    tables = {}
    for name, (columns, _) in whole().items():
        plain = ",".join(column.split()[0] for column in columns.split(","))  # no type, no key
        width = plain.count(",") + 1
        rows = data.draw(st.lists(st.tuples(*[CELLS] * width), max_size=3))
        tables[name] = (plain, rows)
    path = make_database(tmp_path_factory.mktemp("cells") / "a.db", tables)
    assert read_all(path) == len(READERS)

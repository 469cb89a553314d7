"""Databases are opened without trust and without a trace: hostile schemas, writers beside us, links."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.profiling.database import database as reading_module
from npulse.core.formats.profiling.database import open as opening
from npulse.core.formats.profiling.database.database import MAX_VALUE_BYTES, Database
from npulse.core.formats.profiling.database.open import open_database
from npulse.core.formats.profiling.database.operators import read_database_operators
from npulse.core.formats.profiling.database.timeline import read_database_timelines
from npulse.core.progress import Progress

from .database_files import ID, TASK, Content, make_database, profile, strings, task

MANY = 40_000


def tasks_only(n: int) -> Content:
    return {"TASK": (TASK, [task(0, 1, i) for i in range(n)]), "STRING_IDS": strings()}


def number_of_tasks(path: Path) -> int:
    return sum(len(timeline.tasks) for timeline in read_database_timelines(path))


def state_of(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        path.name: (path.stat().st_mtime_ns, path.stat().st_size, path.read_bytes())
        for path in folder.iterdir()
        if path.is_file()
    }


def values_in(path: Path, table: str = "TASK", column: str = "startNs") -> list[Any]:
    with open_database(path) as database:
        return [row[1] for row in database.rows(table, (column,))]


def test_nothing_is_written(tmp_path: Path) -> None:
    path = make_database(tmp_path / "ascend_pytorch_profiler_0.db", profile())
    before = state_of(tmp_path)
    read_database_operators(path)
    read_database_timelines(path)
    assert state_of(tmp_path) == before


@pytest.mark.parametrize(
    "content", [b"", b"SQLite", b"SQLite format 3\0", b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 4080]
)
def test_what_is_no_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "msprof.db"
    path.write_bytes(content)
    with pytest.raises(InputError):
        open_database(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        open_database(tmp_path / "none.db")
    with pytest.raises(InputError, match="regular"):
        open_database(tmp_path)
    os.mkfifo(tmp_path / "pipe.db")
    with pytest.raises(InputError, match="regular"):
        open_database(tmp_path / "pipe.db")


def test_link_out_of_the_run(tmp_path: Path) -> None:
    outside = make_database(tmp_path / "outside.db", profile())
    run = tmp_path / "run"
    run.mkdir()
    (run / "a.db").symlink_to(outside)
    with pytest.raises(InputError, match="outside"):
        open_database(run / "a.db", root=run)
    shutil.copy(outside, run / "b.db")
    with open_database(run / "b.db", root=run) as database:
        assert database.artifact == "b.db"


def test_odd_file_names(tmp_path: Path) -> None:
    for name in ("a?mode=rwc.db", "b#c%41.db", "d e\u4e2d.db", os.fsdecode(b"f\xff.db")):
        path = make_database(tmp_path / "plain.db", tasks_only(1)).rename(tmp_path / name)
        assert number_of_tasks(path) == 1


# ---- hostile schemas ----


def hostile(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def test_views_are_not_asked(tmp_path: Path) -> None:
    path = hostile(
        tmp_path / "a.db",
        "CREATE TABLE inner (startNs, endNs)",
        "INSERT INTO inner VALUES (1, 2)",
        "CREATE VIEW TASK AS SELECT startNs, endNs FROM inner",
        "CREATE VIEW META_DATA AS WITH RECURSIVE n(x) AS (SELECT 1 UNION SELECT x+1 FROM n) SELECT x FROM n",
    )
    with open_database(path) as database:
        assert set(database.tables) == {"inner"}
        with pytest.raises(sqlite3.DatabaseError, match="prohibited"):
            database._connection.execute("SELECT startNs FROM TASK")
    with pytest.raises(InputError, match="no tasks"):
        read_database_timelines(path)


def test_virtual_tables_are_not_asked(tmp_path: Path) -> None:
    try:
        path = hostile(tmp_path / "a.db", "CREATE VIRTUAL TABLE TASK USING fts5(startNs, endNs)")
    except sqlite3.OperationalError:
        pytest.skip("SQLite without fts5")
    with open_database(path) as database:
        assert not database.has("TASK")


def test_generated_columns_and_triggers(tmp_path: Path) -> None:
    path = hostile(
        tmp_path / "a.db",
        "CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId AS (7))",
        "INSERT INTO TASK (startNs, endNs) VALUES (5, 9)",
        "CREATE TRIGGER t AFTER INSERT ON TASK BEGIN DELETE FROM TASK; END",
    )
    (timeline,) = read_database_timelines(path)
    assert timeline.tasks.start_ns.tolist() == [5]
    assert timeline.device is None


def test_statements_may_only_read(tmp_path: Path) -> None:
    path = make_database(tmp_path / "a.db", profile())
    with open_database(path) as database:
        for statement in (
            f"ATTACH '{tmp_path / 'new.db'}' AS x",
            "CREATE TABLE x (a)",
            "DELETE FROM TASK",
            "SELECT load_extension('x')",
            "SELECT randomblob(10)",
            "PRAGMA journal_mode=WAL",
            "PRAGMA writable_schema=1",
        ):
            with pytest.raises(sqlite3.DatabaseError):
                database._connection.execute(statement)
    assert not (tmp_path / "new.db").exists()


def test_names_with_quotes(tmp_path: Path) -> None:
    path = hostile(
        tmp_path / "a.db",
        'CREATE TABLE "x"";DROP TABLE TASK;--" ("a"" b" INTEGER)',
        'INSERT INTO "x"";DROP TABLE TASK;--" VALUES (4)',
    )
    assert values_in(path, 'x";drop table task;--', 'a" b') == [4]


def test_tables_without_row_numbers(tmp_path: Path) -> None:
    path = hostile(
        tmp_path / "a.db",
        f"CREATE TABLE TASK ({TASK}, PRIMARY KEY (globalTaskId)) WITHOUT ROWID",
        "INSERT INTO TASK (startNs, endNs, globalTaskId) VALUES (5, 9, 1)",
        "CREATE TABLE COMPUTE_TASK_INFO (globalTaskId INTEGER PRIMARY KEY, blockDim)",
        "INSERT INTO COMPUTE_TASK_INFO VALUES (1, 8)",
    )
    table = read_database_operators(path)
    assert (table.line.tolist(), table.values("start_ns").tolist()) == ([-1], [5])


def test_case_of_names_does_not_matter(tmp_path: Path) -> None:
    path = hostile(tmp_path / "a.db", "CREATE TABLE task (STARTNS, endns)", "INSERT INTO task VALUES (5, 9)")
    assert number_of_tasks(path) == 1


def test_damaged_schema(tmp_path: Path) -> None:
    path = make_database(tmp_path / "a.db", tasks_only(1))
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema=1")
    connection.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE TASK (\x1b[31m'")
    connection.commit()
    connection.close()
    with pytest.raises(InputError, match="malformed database schema$"):
        open_database(path)


def test_long_values_do_not_stop_the_others(tmp_path: Path) -> None:
    words, rows = strings()
    rows = [*rows[:-1], (ID["mark"], "x" * 200_000)]
    content = {**profile(), "STRING_IDS": (words, rows)}
    path = make_database(tmp_path / "a.db", content)
    (timeline,) = read_database_timelines(path)
    assert [span.name for span in timeline.ranges] == ["", ""]
    assert any(problem.kind == "too-large" for problem in timeline.problems)
    assert "mm" in timeline.tasks.names


@pytest.mark.skipif(not hasattr(sqlite3.Connection, "setlimit"), reason="Python 3.11")
def test_a_huge_value_ends_its_table(tmp_path: Path) -> None:
    path = hostile(
        tmp_path / "a.db",
        "CREATE TABLE TASK (startNs, endNs)",
        "INSERT INTO TASK VALUES (1, 2)",
        f"INSERT INTO TASK VALUES (hex(zeroblob({MAX_VALUE_BYTES // 2 + 1})), 2)",
    )
    (timeline,) = read_database_timelines(path)
    assert "too big" in timeline.problems[0].message
    assert timeline.tasks.start_ns.tolist() == [1]


def test_a_copy_that_ends_too_soon(tmp_path: Path) -> None:
    """What is there is read; that something is missing is told."""
    path = tmp_path / "a.db"
    words, rows = strings()
    long_words = [*rows, *((100 + i, "x" * 900) for i in range(200))]
    make_database(
        path, {"TASK": (TASK, [task(0, 1, i) for i in range(500)]), "STRING_IDS": (words, long_words)}
    )
    whole_bytes = path.stat().st_size
    os.truncate(path, whole_bytes - 5000)
    (timeline,) = read_database_timelines(path)
    assert len(timeline.tasks) == 500
    assert [problem.kind for problem in timeline.problems] == ["cut-off"]
    assert f"{whole_bytes - 5000:,} of {whole_bytes:,} bytes" in timeline.problems[0].message
    os.truncate(path, 6 * 4096)
    (timeline,) = read_database_timelines(path)
    assert 0 < len(timeline.tasks) < 500
    assert "TASK: reading stopped" in " ".join(problem.message for problem in timeline.problems)


# ---- writers ----


def wal_writer(path: Path) -> sqlite3.Connection:
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("PRAGMA wal_autocheckpoint=0")
    writer.execute("CREATE TABLE TASK (startNs INTEGER, endNs INTEGER)")
    writer.execute("INSERT INTO TASK VALUES (1, 2)")
    writer.commit()
    return writer


def test_log_of_a_living_writer_is_read(tmp_path: Path) -> None:
    path = tmp_path / "msmonitor_1_2_0.db"
    writer = wal_writer(path)
    names = sorted(os.listdir(tmp_path))
    assert number_of_tasks(path) == 1
    writer.execute("INSERT INTO TASK VALUES (3, 4)")
    writer.commit()
    assert number_of_tasks(path) == 2
    writer.executemany("INSERT INTO TASK VALUES (?, 9)", [(i,) for i in range(20_000)])
    writer.commit()  # much more than there is in the database itself
    assert number_of_tasks(path) == 20_002
    assert sorted(os.listdir(tmp_path)) == names
    writer.close()


def test_log_that_cannot_be_read_without_writing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    writer = wal_writer(tmp_path / "a.db")
    writer.execute("PRAGMA wal_checkpoint")
    writer.execute("INSERT INTO TASK VALUES (3, 4)")
    writer.commit()
    for end in ("", "-wal"):
        shutil.copy(tmp_path / f"a.db{end}", run / f"a.db{end}")
    writer.close()
    before = state_of(run)
    (timeline,) = read_database_timelines(run / "a.db")
    assert len(timeline.tasks) == 1
    assert [problem.kind for problem in timeline.problems] == ["cut-off"]
    assert state_of(run) == before


def test_journal_of_a_dead_writer(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    code = f"""
import os, sqlite3
writer = sqlite3.connect({str(path)!r})
writer.execute("CREATE TABLE TASK (startNs INTEGER, endNs INTEGER)")
writer.executemany("INSERT INTO TASK VALUES (?, 9)", [(i,) for i in range(1000)])
writer.commit()
writer.execute("PRAGMA cache_size=1")
writer.execute("UPDATE TASK SET endNs = 10")
writer.executemany("INSERT INTO TASK VALUES (?, 9)", [(i,) for i in range(50000)])
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "a.db-journal").stat().st_size > 0
    before = state_of(tmp_path)
    (timeline,) = read_database_timelines(path)
    assert "cut-off" in {problem.kind for problem in timeline.problems}
    assert state_of(tmp_path) == before


def test_writer_that_holds_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "BUSY_SECONDS", 0.05)
    path = make_database(tmp_path / "a.db", tasks_only(2000))
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    writer.execute("DELETE FROM TASK")
    assert (tmp_path / "a.db-journal").exists()
    with pytest.raises(InputError, match="writing") as told:
        open_database(path)
    assert told.value.hint is not None
    writer.execute("ROLLBACK")
    writer.close()
    assert number_of_tasks(path) == 2000


def test_writer_in_the_middle_of_a_change_is_no_hindrance(tmp_path: Path) -> None:
    path = make_database(tmp_path / "a.db", tasks_only(2000))
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM TASK")
    (timeline,) = read_database_timelines(path)
    assert (len(timeline.tasks), timeline.problems) == (2000, ())
    writer.execute("ROLLBACK")
    writer.close()


@pytest.mark.parametrize("end", ["journal", "wal", "shm"])
def test_what_lies_beside_is_not_trusted(tmp_path: Path, end: str) -> None:
    path = make_database(tmp_path / "a.db", tasks_only(1))
    os.mkfifo(tmp_path / f"a.db-{end}")  # opening it would wait for ever
    (timeline,) = read_database_timelines(path)
    assert len(timeline.tasks) == 1
    assert [problem.kind for problem in timeline.problems] == ["outside-run"]


def test_change_while_it_is_read(tmp_path: Path) -> None:
    path = make_database(tmp_path / "a.db", tasks_only(10))

    def grow(progress: Progress) -> None:
        with path.open("ab") as file:
            file.write(b"\0" * 4096)

    (timeline,) = read_database_timelines(path, progress=grow)
    assert [problem.kind for problem in timeline.problems] == ["cut-off"]


# ---- bounds ----


def test_values_that_fill_the_memory(tmp_path: Path) -> None:
    """Long texts and blobs where numbers are expected: 64 MB in the file, a fraction of it in memory."""
    path = hostile(
        tmp_path / "a.db",
        "CREATE TABLE TASK (startNs, endNs)",
        "WITH n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 64)"
        " INSERT INTO TASK SELECT zeroblob(500000), hex(zeroblob(250000)) FROM n",
    )
    assert path.stat().st_size > 60 << 20
    tracemalloc.start()
    (timeline,) = read_database_timelines(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 20
    assert len(timeline.tasks) == 0
    assert timeline.problems[0].message.startswith("TASK.startNs: 64 cells were not read")


def many(path: Path) -> Path:
    return make_database(
        path, {"TASK": ("startNs INTEGER, endNs INTEGER", [(i, i + 1) for i in range(MANY)])}
    )


@pytest.mark.parametrize("n_calls", [0, 1, 3])
def test_cancelled(tmp_path: Path, n_calls: int) -> None:
    path = many(tmp_path / "a.db")
    asked: list[None] = []

    def is_cancelled() -> bool:
        asked.append(None)
        return len(asked) > n_calls

    with pytest.raises(Cancelled):
        read_database_timelines(path, is_cancelled=is_cancelled)


def test_cancelled_within_a_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_module, "_STEPS_BETWEEN_LOOKS", 100)
    path = many(tmp_path / "a.db")
    answers: list[bool] = []
    with open_database(path, is_cancelled=lambda: answers.pop(0) if answers else False) as database:
        answers[:] = [False, True]  # asked between blocks, asked by SQLite at work
        with pytest.raises(Cancelled):
            list(database.blocks("TASK", ("startNs",)))
        assert answers == []


def test_error_of_the_caller_comes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_module, "_STEPS_BETWEEN_LOOKS", 100)
    path = many(tmp_path / "a.db")
    calls: list[None] = []

    def is_cancelled() -> bool:
        calls.append(None)
        if len(calls) > 3:
            raise KeyError("mine")
        return False

    with pytest.raises(KeyError, match="mine"):
        read_database_timelines(path, is_cancelled=is_cancelled)


def reading(path: Path, work: Callable[[Database], None]) -> list[str]:
    with open_database(path) as database:
        work(database)
        return [f"{problem.kind}: {problem.message}" for problem in database.problems()]


def test_time_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = many(tmp_path / "a.db")
    monkeypatch.setattr(reading_module, "_STEPS_BETWEEN_LOOKS", 1000)

    def late(database: Database) -> None:
        database._ends_s = time.monotonic() - 1
        assert list(database.blocks("TASK", ("startNs",))) == []

    assert reading(path, late) == ["limit: TASK: reading stopped after 0 rows: more than 900 s"]


def test_rows_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_module, "MAX_ROWS", 1000)
    path = many(tmp_path / "a.db")
    (timeline,) = read_database_timelines(path)
    assert len(timeline.tasks) == 1000
    assert [problem.kind for problem in timeline.problems] == ["limit"]

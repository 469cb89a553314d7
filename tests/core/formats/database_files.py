"""Small databases as the profilers write them, made in a test."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

T0 = 1_736_414_119_518_476_000
NO = 4_294_967_295

Content = Mapping[str, tuple[str, Sequence[Sequence[Any]]]]
"""Table -> (its columns as SQL, rows)."""

TASK = (
    "startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,"
    " globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER,"
    " modelId INTEGER"
)
OLD_INFO = (
    "name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER, mixBlockDim INTEGER, taskType INTEGER,"
    " opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER,"
    " outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER"
)
NEW_INFO = (
    "name INTEGER, globalTaskId INTEGER, blockNum INTEGER, mixBlockNum INTEGER, taskType INTEGER,"
    " opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER,"
    " outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER,"
    " opState INTEGER, hf32Eligible INTEGER, gridDim INTEGER, blockDim INTEGER"
)
OLD_OPERATION = (
    "opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER,"
    " opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER,"
    " count NUMERIC, opType INTEGER"
)
CANN_API = (
    "startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER PRIMARY KEY,"
    " name INTEGER"
)
PMU = "globalTaskId INTEGER, name INTEGER, value NUMERIC"
STRINGS = "id INTEGER PRIMARY KEY, value TEXT"

WORDS = (
    *(
        "KERNEL_AICORE",
        "KERNEL_AIVEC",
        "EVENT_WAIT",
        "AI_CORE",
        "AI_VECTOR_CORE",
        "mm",
        "MatMul",
        "add",
        "Add",
    ),
    *(
        "ND",
        "FLOAT",
        '"2,3;3,4"',
        '""',
        "N/A",
        "hcom_allReduce__1_0_1",
        "hcom_allReduce_",
        "group_a",
        "launch",
    ),
    *(
        "dynamic",
        "YES",
        "aic_mac_time",
        "aiv_ub_read_bw",
        "aic_total_cycles",
        "aic_total_time",
        "0x49",
        "mark",
    ),
)
ID = {word: i for i, word in enumerate(WORDS)}


def make_database(path: Path, content: Content, *, page_size: int = 4096) -> Path:
    """A database with these tables."""
    connection = sqlite3.connect(path)
    for pragma in (f"page_size={page_size}", "synchronous=OFF", "journal_mode=OFF"):
        connection.execute(f"PRAGMA {pragma}")
    for table, (columns, rows) in content.items():
        connection.execute(f'CREATE TABLE "{table}" ({columns})')
        if rows:
            marks = ",".join("?" * len(rows[0]))
            connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', rows)
    connection.commit()
    connection.close()
    return path


def strings() -> tuple[str, list[tuple[int, str]]]:
    """STRING_IDS with every word."""
    return STRINGS, [(i, word) for word, i in ID.items()]


def task(start: int, end: int, number: int, kind: str = "KERNEL_AICORE", **others: int) -> tuple[int, ...]:
    """A row of TASK; times from T0."""
    named = {"device": 0, "connection": NO, "context": NO, "stream": 2, "task": number, "model": NO, **others}
    return (
        *(T0 + start, T0 + end, named["device"], named["connection"], number, 77, ID[kind]),
        *(named["context"], named["stream"], named["task"], named["model"]),
    )


def old_info(number: int, name: str = "mm", core: str = "AI_CORE", cores: int = 20) -> tuple[int, ...]:
    """A row of COMPUTE_TASK_INFO of an old release."""
    return (
        *(ID[name], number, cores, 0, ID[core], ID["MatMul"], ID["ND"], ID["FLOAT"], ID['"2,3;3,4"']),
        *(ID["ND"], ID["FLOAT"], ID['""'], ID["N/A"]),
    )


def new_info(number: int, name: str = "mm", core: str = "AI_CORE", cores: int = 20) -> tuple[int, ...]:
    """The same of a new one, where blockDim is threads."""
    return (
        *(ID[name], number, cores, 2 * cores, ID[core], ID["MatMul"], ID["ND"], ID["FLOAT"], ID['"2,3;3,4"']),
        *(ID["ND"], ID["FLOAT"], ID['""'], ID["N/A"], ID["dynamic"], ID["YES"], 1, 1024),
    )


def operation(start: int, end: int, connection: int, number: int) -> tuple[int, ...]:
    """A row of COMMUNICATION_OP of an old release."""
    return (
        *(ID["hcom_allReduce__1_0_1"], T0 + start, T0 + end, connection, ID["group_a"], number, 0, 0, 4),
        *(ID["N/A"], 1000, ID["hcom_allReduce_"]),
    )


def profile() -> dict[str, tuple[str, Sequence[Sequence[Any]]]]:
    """A small profile: two kernels, a parent without information, an event, a collective, host calls."""
    return {
        "STRING_IDS": strings(),
        "TASK": (
            TASK,
            [
                task(500, 900, 2, "KERNEL_AIVEC", connection=12, context=0),
                task(100, 400, 1, connection=11, model=3),
                task(450, 950, 3, connection=12),
                task(50, 60, 4, "EVENT_WAIT", stream=5),
            ],
        ),
        "COMPUTE_TASK_INFO": (OLD_INFO, [old_info(1), old_info(2, "add", "AI_VECTOR_CORE", 40)]),
        "COMMUNICATION_OP": (OLD_OPERATION, [operation(950, 1500, 13, 1)]),
        "CANN_API": (
            CANN_API,
            [
                (T0 + 10, T0 + 30, 10000, 77 << 32 | 5, 11, ID["launch"]),
                (T0 + 200, T0 + 260, 10000, 77 << 32 | 5, 12, ID["launch"]),
                (T0 + 300, T0 + 310, 5500, 77 << 32 | 6, 13, ID["hcom_allReduce_"]),
                (T0 + 400, T0 + 405, 10000, 77 << 32 | 5, 99, ID["launch"]),
            ],
        ),
        "STEP_TIME": (
            "id INTEGER, startNs INTEGER, endNs INTEGER",
            [(7, T0, T0 + 100), (8, T0 + 100, T0 + 305)],
        ),
        "TASK_PMU_INFO": (
            PMU,
            [
                *((1, ID["aic_mac_time"], 1500), (1, ID["aic_total_time"], 2500.5), (1, ID["0x49"], 7)),
                *((2, ID["aiv_ub_read_bw"], 3 * 2**30), (1, ID["aic_total_cycles"], 99), (9, ID["0x49"], 1)),
            ],
        ),
        "AICORE_FREQ": (
            "deviceId INTEGER, timestampNs NUMERIC, freq INTEGER",
            [(0, T0 + 5, 800), (0, T0, 1800), (1, T0, 900)],
        ),
        "MSTX_EVENTS": (
            "startNs INTEGER, endNs INTEGER, eventType INTEGER, message INTEGER",
            [(T0 + 3, T0 + 3, 0, ID["mark"]), (T0 + 1, T0 + 9, 2, ID["mark"])],
        ),
        "GC_RECORD": ("startNs INTEGER, endNs INTEGER, globalTid INTEGER", [(T0 + 6, T0 + 8, 1)]),
        "OVERLAP_ANALYSIS": (
            "id INTEGER, deviceId INTEGER, startNs INTEGER, endNs INTEGER, type INTEGER",
            [(0, 0, T0 + 500, T0 + 900, 0), (1, 0, T0 + 100, T0 + 400, 0), (2, 0, T0 + 950, T0 + 1500, 2)],
        ),
        "PYTORCH_API": (
            "startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, type INTEGER",
            [
                (str(T0 + 4), str(T0 + 9), 77 << 32 | 9, 1, ID["add"], 50001),
                (str(T0 + 2), str(T0 + 3), 77 << 32 | 9, 2, ID["mm"], 50002),
            ],
        ),
        "CONNECTION_IDS": ("id INTEGER, connectionId INTEGER", [(1, 11), (1, 12), (2, 11), (1, 1234)]),
        "SESSION_TIME_INFO": ("startTimeNs INTEGER, endTimeNs INTEGER", [(T0, T0 + 10_000)]),
        "NPU_INFO": ("id INTEGER, name TEXT", [(0, "Ascend910B")]),
        "RANK_DEVICE_MAP": ("rankId INTEGER, deviceId INTEGER", [(3, 0)]),
        "META_DATA": (
            "name TEXT, value TEXT",
            [
                ("SCHEMA_VERSION", "1.2.0"),
                ("ENV_VARIABLES", '{"HCCL_RDMA_TC": "132"}'),
                ("parallel_group_info", '{"g1": {"group_name": "tp", "global_ranks": [0, 1]}}'),
                ("distributed_args", '{"tensor_model_parallel_size": 2, "world_size": 4, "rank": 3}'),
            ],
        ),
    }

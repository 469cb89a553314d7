"""Whatever a dump holds, the checks of one capture end, and find nothing where nothing can be known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.errors import InputError

from .dumps import checked

NUMBERS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=3),
)
RECORDS = st.one_of(
    st.none(),
    st.builds(
        lambda dtype, shape, four, more: {
            "type": "torch.Tensor",
            "dtype": dtype,
            "shape": shape,
            **dict(zip(("Max", "Min", "Mean", "Norm"), four, strict=True)),
            **more,
        },
        st.sampled_from(("torch.float16", "torch.float32", "torch.int64", "torch.bool", "nothing")),
        st.lists(st.integers(-1, 2**40), max_size=3),
        st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS),
        st.sampled_from(
            ({}, {"md5": "0a"}, {"md5": "0b"}, {"data_name": "../x.pt"}, {"data_name": "gone.npy"})
        ),
    ),
    st.just({"type": "torch.ProcessGroup", "group_ranks": [0, 1, "x"], "group_id": "1"}),
    st.just({"type": "torch.distributed.ReduceOp", "value": "<RedOpType.PRODUCT: 3>"}),
    st.builds(lambda value: {"type": "int", "value": value}, NUMBERS),
)
NAMES = st.sampled_from(
    (
        "Distributed.all_reduce.0.forward", "Distributed.broadcast.0.forward",
        "Distributed.all_gather.0.forward",
        "Tensor.to.0.forward", "Tensor.half.1.forward", "Torch.matmul.0.forward", "Torch.matmul.1.forward",
        "Tensor.add_.0.forward", "Functional.linear.0.forward", "Module.a.Linear.forward.0",
        "Module.a.Linear.forward.1", "forward", "Torch..forward", "a.b.c.d.backward",
    )
)  # fmt: skip
ENTRIES = st.dictionaries(
    NAMES,
    st.fixed_dictionaries(
        {
            "input_args": st.lists(RECORDS, max_size=3),
            "input_kwargs": st.just({}),
            "output": st.lists(st.one_of(RECORDS, st.lists(RECORDS, max_size=2)), max_size=2),
            "parameters": st.dictionaries(st.just("weight"), RECORDS, max_size=1),
        }
    ),
    max_size=8,
)


@settings(max_examples=30)
@given(st.lists(ENTRIES, min_size=1, max_size=3))
def test_no_dump_stops_them(tmp_path_factory: pytest.TempPathFactory, ranks: list[dict[str, Any]]) -> None:
    folder: Path = tmp_path_factory.mktemp("d")
    for rank, data in enumerate(ranks):
        place = folder / "step0" / f"rank{rank}"
        place.mkdir(parents=True)
        header = {"task": "tensor", "level": "mix", "framework": "pytorch", "dump_data_dir": None}
        (place / "dump.json").write_text(json.dumps(header | {"data": data}))
    try:
        report = checked(folder)
    except InputError:
        return
    assert report.verdict in ("fail", "incomplete", "unknown")

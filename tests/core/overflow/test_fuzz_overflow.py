"""Whatever lies in the folder: an answer or an error of ours, and never a pass over something bad."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import InputError, NpulseError
from npulse.core.formats.msprobe.records import DEBUG, GRAD, OUTPUT
from npulse.core.overflow.analyse import source_of
from npulse.core.overflow.roles import OK
from npulse.core.overflow.run_report import look, reports_of, selections
from npulse.core.report.as_json import render_json
from npulse.core.run.discover import discover

from ..formats.cann_files import Tensor, container, legacy_payload, magic_payload, opdebug
from .random_job import make_job
from .small_dumps import INF, NAN, fwd, rec, write

FUZZ = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))

EXTREMES = st.sampled_from(
    [
        NAN,
        INF,
        -INF,
        65504.0,
        -65504.0,
        3.4028234663852886e38,
        0.0,
        -0.0,
        1.0,
        2.5,
        -3.0,
        4e4,
        None,
        "nan",
        True,
        10**400,
    ]
)
DTYPES = st.sampled_from(
    [
        "torch.float16",
        "torch.bfloat16",
        "torch.float32",
        "torch.int8",
        "torch.float8_e4m3fn",
        "torch.bool",
        "torch.complex64",
        "BFloat16",
        "",
        "?",
        None,
    ]
)
SHAPES = st.sampled_from([[4], [2, 2], [], [0], [1], [2, 8], [10**18, 10**18], [-1], "4", None, [None]])
WORDS = (
    "add mul add_ __rmul__ linear matmul softmax masked_fill log full empty empty_like copy_ cat chunk "
    "where to npu_rms_norm embedding pow sum exp div npu_quantize addmm conv2d einsum "
    "all_reduce send recv broadcast all_gather reduce batch_isend_irecv reduce_scatter"
).split()
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def names(draw: st.DrawFn) -> str:
    number = draw(st.integers(0, 2))
    direction = draw(st.sampled_from(["forward", "backward", "forward", "parameters_grad"]))
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.text(max_size=12))
    if kind <= 2:
        path = draw(st.sampled_from(["fc", "layers.0", "layers.0.fc", "layers.1", "a.forward.b", ""]))
        return f"Module.{path}.Block.{direction}.{number}"
    if kind == 3:
        return f"x.{number}.debug"
    word = draw(st.sampled_from(WORDS))
    prefix = (
        "Distributed"
        if word in WORDS[-8:]
        else draw(st.sampled_from(["Torch", "Tensor", "Functional", "NPU"]))
    )
    return f"{prefix}.{word}.{number}.{direction}"


TENSORS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["torch.Tensor", "mindspore.Tensor"]),
        "dtype": DTYPES,
        "shape": SHAPES,
        "Max": EXTREMES,
        "Min": EXTREMES,
    },
    optional={
        "Mean": EXTREMES,
        "Norm": EXTREMES,
        "md5": st.sampled_from(["0a", "0b", 7, None]),
        "data_name": st.sampled_from(["a.npy", "../b.npy", 3]),
    },
)
NUMBERS = st.sampled_from([-INF, INF, NAN, -65504, 65504.0, -1e9, 0, 1, 3, True, 10**400, "x", None, [1]])
SCALARS = st.builds(lambda value: {"type": type(value).__name__, "value": value}, NUMBERS)
GROUPS = st.sampled_from(
    [
        {"type": "torch.ProcessGroup", "group_ranks": [0, 1]},
        {"type": "torch.ProcessGroup", "group_ranks": "all"},
        {"type": "torch.ProcessGroup", "group_ranks": [0, 10**30]},
        {"class_type": "torch.distributed.P2POp", "op": "isend", "peer": 1, "tensor": rec(INF)},
        {"class_type": "torch.distributed.P2POp", "op": ["irecv"], "peer": None, "tensor": None},
    ]
)
LEAVES = st.one_of(TENSORS, TENSORS, TENSORS, SCALARS, GROUPS, st.none(), JUNK)
SIDES = st.one_of(st.lists(LEAVES, max_size=3), st.lists(st.lists(LEAVES, max_size=2), max_size=2), JUNK)
KEYWORDS = st.dictionaries(
    st.sampled_from(["input", "out", "weight", "src", "dst", "group", "value", "input_scale"]),
    LEAVES,
    max_size=2,
)
ENTRIES = st.one_of(
    st.fixed_dictionaries(
        {"output": SIDES},
        optional={
            **{"input_args": SIDES, "input": SIDES, "input_kwargs": KEYWORDS, "parameters": KEYWORDS},
            **{"is_nan": st.sampled_from([0, 1, None, "x"]), "is_recompute": st.booleans()},
        },
    ),
    st.dictionaries(st.sampled_from(["weight", "bias"]), st.lists(LEAVES, max_size=2), max_size=2),
    JUNK,
)
DUMPS = st.lists(st.tuples(names(), ENTRIES), max_size=8).map(dict)


@st.composite
def hierarchies(draw: st.DrawFn, dump: dict[str, Any]) -> Any:
    """Parents among the dump's own names, in circles or not, and names that the dump lacks."""
    known = [*dump, "Module.net.Net.forward.0", "Tensor.view.0.forward"]
    parent = st.one_of(
        st.sampled_from(known), st.none(), st.tuples(st.sampled_from(known), st.integers()), JUNK
    )
    return draw(st.dictionaries(st.sampled_from(known), parent, max_size=10))


@contextmanager
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


def judged(place: Path) -> None:
    """Looks at a run as the command does: all that is bad is legal or leads to an origin, which fails it."""
    options = AnalysisOptions(jobs=1, tables=True)
    try:
        run = discover(place)
        reports = reports_of(run, options)
        reports_of(run, AnalysisOptions(jobs=1, lang="zh"))
    except NpulseError as error:
        assert isinstance(error, InputError)
        return
    for chosen, told in zip(selections(run, options), reports, strict=False):
        "".join(render_json(told.report, "0"))
        found = look(run, chosen, options)
        ranks = found.looked_through
        exceptions = {
            (len(found.ranks) + n, call) for n, part in enumerate(found.graph) for call in part.exceptions
        }
        begun = {(at, origin.call) for at, origin in found.origins()}
        for at, rank in enumerate(ranks):
            sources = {source_of(found, at, call) for call in rank.roles.cause_of}
            assert sources <= begun | exceptions
            made = np.isin(rank.dump.leaves.side, (OUTPUT, GRAD, DEBUG)) & (rank.health.flags != 0)
            assert not (rank.roles.row[made] == OK).any()
        assert not begun or told.report.exit_code() == 1


@FUZZ
@given(st.data())
def test_any_dump(data: st.DataObject) -> None:
    with folder() as place:
        for rank in range(data.draw(st.integers(1, 3))):
            for step in range(data.draw(st.integers(1, 2))):
                dump = data.draw(DUMPS)
                parents = data.draw(st.none() | hierarchies(dump))
                write(place, dump, rank=rank, step=step, parents=parents)
        judged(place)


@FUZZ
@given(st.integers(0, 4000), st.integers(0, 60), st.binary(max_size=6))
def test_a_dump_cut_and_broken_anywhere(cut: int, at: int, junk: bytes) -> None:
    data = {f"Torch.mul.{i}.forward": fwd([rec(3.0)], [rec(INF if i == 2 else 4.0)]) for i in range(8)}
    with folder() as place:
        path = write(place, data, parents={name: None for name in data}) / "dump.json"
        text = path.read_bytes()
        path.write_bytes(text[: min(cut, len(text)) - at] + junk + text[min(cut, len(text)) :])
        judged(place)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("level", ["L1", "mix"])
def test_a_job_whose_files_are_cut(seed: int, level: str, tmp_path: Path) -> None:
    make_job(seed, n_operators=40, n_ranks=3, fault="any", level=level).write(tmp_path)
    rng = np.random.default_rng(seed)
    for path in sorted(tmp_path.rglob("*.json")):
        if rng.random() < 0.5:
            text = path.read_bytes()
            path.write_bytes(text[: int(rng.integers(0, len(text) + 1))])
    judged(tmp_path)


def changed(value: Any, rng: random.Random, share: float) -> Any:
    """The same with some statistics, numbers, names and lists replaced or left out."""
    if isinstance(value, dict):
        kept = {k: changed(v, rng, share) for k, v in value.items() if rng.random() > share / 8}
        if "Max" in kept and rng.random() < share:
            kept |= {
                k: rng.choice(STATISTICS) for k in rng.sample(["Max", "Min", "shape", "dtype", "md5"], 2)
            }
        return kept
    if isinstance(value, list):
        return [changed(v, rng, share) for v in value if rng.random() > share / 8]
    return rng.choice(STATISTICS) if rng.random() < share / 8 else value


STATISTICS = (NAN, INF, -INF, 65504.0, -65504.0, 0.0, 3.0, None, "nan", [4], [0], "torch.float16", 10**400)


@pytest.mark.parametrize("seed", range(12))
def test_a_job_in_which_much_is_wrong(seed: int, tmp_path: Path) -> None:
    """Records, calls and hierarchies that contradict each other, on all ranks, in an order that cannot be."""
    level, rng = ("L1", "mix")[seed % 2], random.Random(seed)
    make_job(seed, n_operators=40, n_ranks=3, fault="any", level=level).write(tmp_path)
    for path in sorted(tmp_path.rglob("dump.json")):
        dump = json.loads(path.read_text())
        entries = list(changed(dump["data"], rng, rng.choice([0.01, 0.1, 0.5])).items())
        if rng.random() < 0.5:
            rng.shuffle(entries)
        path.write_text(json.dumps({**dump, "data": dict(entries)}))
        names = [name for name, _ in entries] or [""]
        circles = {name: rng.choice([*names[:9], None]) for name in names if rng.random() < 0.5}
        path.with_name("construct.json").write_text(json.dumps(circles))
    judged(tmp_path)


PAYLOADS = st.one_of(
    st.builds(
        legacy_payload,
        st.tuples(*[st.integers(0, 70)] * 6),
        kernel_block_status=st.tuples(*[st.integers(0, 2)] * 3),
    ),
    st.builds(
        magic_payload,
        st.lists(st.integers(0, 70), max_size=14),
        version=st.integers(0, 3),
        acc_type=st.integers(0, 6),
    ),
    st.binary(max_size=2100),
)
CONTENTS = st.one_of(
    PAYLOADS.map(opdebug),
    st.builds(
        lambda a, b, kind: container(
            [Tensor(a, kind, shape=(len(a) // 2,))], [Tensor(b, kind, shape=(len(b) // 2,))]
        ),
        *(st.binary(max_size=24), st.binary(max_size=24), st.integers(0, 40)),
    ),
    st.binary(max_size=60),
    st.sampled_from(
        [b"{}", b'{"AI Core": {"task_id": 1, "status": [1, "x"]}}', b'{"magic": 1, "acc_list": {"data": {}}}']
    ),
)
FILE_NAMES = st.one_of(
    st.builds(
        lambda kind, task, when, tail: f"{kind}.{task}.3.{1749633420000000 + when}{tail}",
        st.sampled_from(["Exp.op1", "Mul.op2", "Opdebug.Node_OpDebug", "Opdebug.Node_OpDebug.7"]),
        *(st.integers(0, 70), st.integers(0, 9)),
        st.sampled_from(["", "", ".output.0.npy", ".input.0.npy", ".output.0.json", ".csv", ".4.2.1"]),
    ),
    st.sampled_from(["mapping.csv", "123456", "exception_info.1.2.20250611"]),
)


@FUZZ
@given(st.lists(st.tuples(FILE_NAMES, CONTENTS), min_size=1, max_size=6))
def test_any_folder_of_graph_mode(files: list[tuple[str, bytes]]) -> None:
    with folder() as place:
        for name, content in files:
            (place / name).write_bytes(content)
        judged(place)


HEADS = ["vpp_stage,name,step,min,max,mean,norm,nans", "vpp_stage,step,module_name,scope,min,max,norm,nans"]
CELLS = st.sampled_from(
    ["0", "1", "-1", "nan", "inf", "1e308", "", "x", "layers.3.w", "unreduced", '"', "9" * 400]
)


@FUZZ
@given(
    st.sampled_from(HEADS), st.lists(st.lists(CELLS, min_size=6, max_size=9), max_size=12), st.integers(0, 3)
)
def test_any_table_of_the_monitor(head: str, rows: list[list[str]], rank: int) -> None:
    with folder() as place:
        path = place / f"rank_{rank}" / "grad_unreduced_0-9.csv"
        path.parent.mkdir()
        path.write_text("\n".join([head, *(",".join(row) for row in rows)]) + "\n")
        judged(place)


@FUZZ
@given(st.text(alphabet="export INF_NAN_MODE_ENABLE=01'\"\n$ -x MSDEBUG_OVERFLOW_MODE", max_size=200), JUNK)
def test_any_setting(text: str, config: Any) -> None:
    with folder() as place:
        write(place, {"Torch.mul.0.forward": fwd([rec(3.0)], [rec(65504.0)])})
        (place / "train.sh").write_text("export ASCEND_HOME=/x\n" + text)
        (place / "acl.json").write_text(json.dumps({"dump": {"dump_path": "/d", "dump_debug": config}}))
        judged(place)

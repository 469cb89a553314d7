"""Captures with random damage: only the outcomes of the contract, and the sound rank stays judged."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import npulse
from npulse.core.errors import InputError
from npulse.core.precision.compare import Settings
from npulse.core.report import FORMATS, render

from . import make_hostile as hostile
from .make_hostile import dump_of, rank0, strict_json

pytestmark = pytest.mark.filterwarnings("error")

FUZZ = settings(
    max_examples=int(os.environ.get("NPULSE_EXAMPLES", "30")),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile.sound_pair(tmp_path_factory.mktemp("sound") / "run")


@pytest.fixture
def copy(sound: Path) -> Iterator[Path]:
    """A folder whose rank 0 each example fills anew."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(shutil.copytree(sound, Path(folder) / "run"))


def renew(sound: Path, copy: Path) -> Path:
    for side in ("npu", "cpu"):
        shutil.rmtree(rank0(copy, side))
        shutil.copytree(rank0(sound, side), rank0(copy, side))
    return copy


def judged(root: Path, n_rank1_rows: int = 12) -> npulse.PrecisionReport | None:
    """Compare, and check all that must hold whatever the damage to rank 0 is; None for exit code 2."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = npulse.compare(root / "npu", root / "cpu", settings=Settings(jobs=1), tables=True)
        except InputError as error:
            assert error.path and error.message
            return None
        report = result.report
        for name in FORMATS:
            text = "".join(render(report, name, version="0"))
            assert hostile.unwanted(text.encode("utf-8")) == set()
        found = strict_json("".join(render(report, "json", version="0")))
    code = report.exit_code()
    assert code == {"pass": 0, "warn": 0, "fail": 1, "unknown": 4, "incomplete": 4}[report.verdict]
    assert not (code == 0 and (report.problems or report.counts["unknown"])), "unknown is never a pass"
    sound_rows = [row for row in found["tables"]["precision"] if row["rank"] == 1]
    assert len(sound_rows) == n_rank1_rows and {row["verdict"] for row in sound_rows} == {"pass"}
    return result


# ---- bytes -----------------------------------------------------------------------------------------------


def test_dump_cut_at_every_97th_byte(sound: Path, copy: Path) -> None:
    root = renew(sound, copy)
    whole = dump_of(root).read_bytes()
    for end in range(0, len(whole) - 1, 97):
        dump_of(root).write_bytes(whole[:end])
        result = judged(root)
        assert result is not None and result.verdict == "incomplete"
        cut = [p for p in result.problems if p.kind == "cut-off"]
        assert cut and cut[0].byte == end and cut[0].artifact == "step0/rank0/dump.json"


FILES = ("dump.json", "stack.json", "construct.json", "tensor")


def _victim(root: Path, name: str, side: str) -> Path:
    if name == "tensor":
        folder = rank0(root, side) / "dump_tensor_data"
        return sorted(folder.iterdir())[2 if side == "npu" else 0]
    return rank0(root, side) / name


@FUZZ
@given(
    name=st.sampled_from(FILES),
    side=st.sampled_from(("npu", "cpu")),
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(("flip", "cut", "insert", "repeat", "zero")),
    n=st.integers(1, 12),
)
def test_damaged_bytes(sound: Path, copy: Path, name: str, side: str, seed: int, kind: str, n: int) -> None:
    root = renew(sound, copy)
    victim = _victim(root, name, side)
    before = victim.read_bytes()
    victim.write_bytes(_damaged(before, random.Random(seed), kind, n))
    result = judged(root)
    assert result is not None, "rank 1 can always be compared"


def _damaged(raw: bytes, dice: random.Random, kind: str, n: int) -> bytes:
    body = bytearray(raw)
    for _ in range(n):
        at = dice.randrange(len(body)) if body else 0
        if kind == "flip" and body:
            body[at] ^= 1 << dice.randrange(8)
        elif kind == "cut":
            del body[at:]
        elif kind == "insert":
            body[at:at] = bytes(
                dice.choice(b'{}[]",:\\\x00\x1b\x9b\xff0-.eN') for _ in range(dice.randrange(9))
            )
        elif kind == "repeat":
            body[at:at] = body[at : at + dice.randrange(60)]
        elif kind == "zero":
            body[at : at + 16] = bytes(16)
    return bytes(body)


# ---- values ----------------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0, 1, -1, 2**31, 2**63, 10**400, 1e308]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.sampled_from(hostile.EVIL_TEXTS), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = (
    "type",
    "dtype",
    "shape",
    "Max",
    "Min",
    "Mean",
    "Norm",
    "md5",
    "requires_grad",
    "data_name",
    "value",
)


@FUZZ
@given(
    changes=st.lists(
        st.tuples(
            st.sampled_from(FIELDS), VALUES, st.integers(0, 40), st.sampled_from(("npu", "cpu", "both"))
        ),
        min_size=1,
        max_size=4,
    ),
    keep_files=st.booleans(),
)
@example(changes=[("shape", [0], n, "both") for n in range(4)], keep_files=False)
@example(changes=[("Max", float("nan"), n, "both") for n in range(4)], keep_files=False)
@example(changes=[("md5", "same", n, "both") for n in range(4)], keep_files=False)
@example(changes=[("value", 10**5000, 1, "npu")], keep_files=False)
def test_damaged_records(
    sound: Path, copy: Path, changes: list[tuple[str, Any, int, str]], keep_files: bool
) -> None:
    root = renew(sound, copy)
    for side in ("npu", "cpu"):
        content = json.loads(dump_of(root, side).read_text())
        records = list(_records(content["data"]))
        for field, value, n, where in changes:
            if where in (side, "both"):
                records[n % len(records)][field] = value
        if not keep_files:
            for record in records:
                record.pop("data_name", None)
        dump_of(root, side).write_text(_json(content))
    assert judged(root) is not None


def _records(content: Any) -> Iterator[dict[str, Any]]:
    """Records, tensors and scalars alike."""
    if isinstance(content, dict):
        if "type" in content:
            yield content
        for value in content.values():
            yield from _records(value)
    elif isinstance(content, list):
        for value in content:
            yield from _records(value)


def _json(content: Any) -> str:
    """JSON with integers of any length, as other writers have them."""
    huge: list[str] = []

    def marked(value: Any) -> Any:
        if type(value) is int and abs(value) > 10**4000:
            huge.append("9" * 5000)
            return f"@huge{len(huge) - 1}@"
        if isinstance(value, dict):
            return {key: marked(item) for key, item in value.items()}
        return [marked(item) for item in value] if isinstance(value, list) else value

    text = json.dumps(marked(content), indent=1)
    for n, digits in enumerate(huge):
        text = text.replace(f'"@huge{n}@"', digits)
    return text


@FUZZ
@given(
    entry=VALUES,
    name=st.one_of(st.sampled_from(hostile.EVIL_TEXTS), st.text(max_size=30)),
    tail=st.sampled_from(
        ("", ".forward", ".0.forward", ".forward.0", ".backward", ".parameters_grad", ".0.debug")
    ),
)
def test_any_entry(sound: Path, copy: Path, entry: Any, name: str, tail: str) -> None:
    root = renew(sound, copy)
    for side, shown in (("npu", entry), ("cpu", {"output": [entry, entry]})):
        content = json.loads(dump_of(root, side).read_text())
        content["data"] = {name + tail: shown, **content["data"], f"{name}.1{tail}": {"input_args": shown}}
        dump_of(root, side).write_text(_json(content))
    assert judged(root) is not None


@FUZZ
@given(stack=VALUES, parents=VALUES, whole=st.booleans())
def test_any_stack_and_hierarchy(sound: Path, copy: Path, stack: Any, parents: Any, whole: bool) -> None:
    root = renew(sound, copy)
    shutil.rmtree(rank0(root) / "dump_tensor_data")
    hostile.write_rank(rank0(root), 0, scale=2.0)
    calls = list(hostile.CALLS)
    contents = (
        ("stack.json", stack if whole else {"0": [calls, stack], "1": stack}),
        ("construct.json", parents if whole else {name: parents for name in calls}),
    )
    for file, content in contents:
        (rank0(root) / file).write_text(_json(content))
    result = judged(root)
    assert result is not None and result.verdict == "fail" and result.findings[0].subject == calls[2]

"""`--inputs`: what two captures were given, and the hash of it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import UsageError
from npulse.core.findings import Report
from npulse.core.precision.run_report import report_of

from .dumps import Calls, checked, random, write

IDS, TABLE, W = np.arange(12).reshape(3, 4) * 7, random(1, 90, 16), random(2, 16, 16)
EMBED, LINEAR, LOSS = (
    "Functional.embedding.0.forward",
    "Functional.linear.0.forward",
    "Torch.nll_loss.0.forward",
)
INNER, OUTER = "Module.model.fc.Linear.forward.0", "Module.model.Net.forward.0"


def capture(
    folder: Path, mode: str, *, ids: Any = IDS, weight: Any = W, made: Any = None, labels: Any = IDS
) -> Path:
    x = TABLE[:3]
    y = x @ weight if made is None else made
    calls: Calls = {
        EMBED: ([ids, TABLE], [x]),
        LINEAR: ([x, weight], [y]),
        LOSS: ([y, labels], [np.float32(y.mean()).reshape(1)]),
        INNER: ([x], [y]),
    }
    write(folder / "step0" / "rank0", calls, mode, **{INNER.replace(".", "__"): {"weight": weight}})
    return folder


def inputs(folder: Path, mode: str, **target: Any) -> Report:
    sides = [capture(folder / "a", mode, **target), capture(folder / "b", mode)]
    return report_of(sides, AnalysisOptions(inputs=True)).report


@pytest.mark.parametrize("mode", ["tensor", "md5"])
def test_equal_inputs_pass_whatever_was_made_of_them(tmp_path: Path, mode: str) -> None:
    found = inputs(tmp_path, mode, made=random(5, 3, 16))
    assert (found.verdict, found.exit_code(), found.findings) == ("pass", 0, ())
    # ids; the table, the weight of the call and of the module; labels are behind what differs
    assert (found.counts["inputs"], found.counts["parameters"], found.counts["equal"]) == (1, 3, 4)
    assert found.summary["input_hash_target"] == found.summary["input_hash_golden"]


@pytest.mark.parametrize("mode", ["tensor", "md5"])
def test_other_data_is_named_by_its_elements(tmp_path: Path, mode: str) -> None:
    ids = IDS.copy()
    ids[1, 2:] = 88
    found = inputs(tmp_path, mode, ids=ids)
    (one,) = found.findings
    assert (found.exit_code(), one.rule, one.subject) == (1, "precision.input-data", f"{EMBED}.input.0")
    if mode == "tensor":
        assert (one.figures["n_different"], one.figures["first_index"], one.figures["last_index"]) == (
            2,
            [1, 2],
            [1, 3],
        )
    assert found.summary["input_hash_target"] != found.summary["input_hash_golden"]


def test_other_labels_are_data_while_all_before_agrees(tmp_path: Path) -> None:
    (one,) = inputs(tmp_path, "tensor", labels=IDS + 1).findings
    assert (one.rule, one.subject) == ("precision.input-data", f"{LOSS}.input.1")


@pytest.mark.parametrize("parent", [None, "Module.model.Net.forward.0"])
def test_modules_captured_one_by_one_have_data_in_the_first(tmp_path: Path, parent: str | None) -> None:
    """Each stands alone; only where an outer module is known there is a net, whatever ran before it."""
    x, made = TABLE[:3], random(7, 3, 16)
    first, second = INNER, "Module.model.act.GELU.forward.0"
    for side, z in (("a", made), ("b", made * 2)):
        calls: Calls = {first: ([x], [x @ W]), second: ([z], [random(8, 3, 16)])}
        if parent is not None:
            calls = {"Torch.zeros_like.0.forward": ([x], [x * 0]), "Torch.exp.0.forward": ([x], [x + 1])}
            calls[parent] = ([z], [x @ W])
        folder = write(tmp_path / side / "step0" / "rank0", calls)
        (folder / "construct.json").write_text(json.dumps(dict.fromkeys(calls)))
    found = report_of([tmp_path / "a", tmp_path / "b"], AnalysisOptions(inputs=True)).report
    assert [f.subject for f in found.findings] == ([] if parent is None else [f"{parent}.input.0"])


def test_a_weight_that_was_rounded_is_a_warning_and_another_one_an_error(tmp_path: Path) -> None:
    rounded = inputs(tmp_path / "r", "tensor", weight=np.nextafter(W, np.float32(9)))
    assert {f.rule for f in rounded.findings} == {"precision.parameter"}
    assert {f.severity for f in rounded.findings} == {"warning"} and rounded.exit_code() == 0
    other = inputs(tmp_path / "o", "tensor", weight=W * 2)
    assert [f.subject for f in other.findings] == [f"{LINEAR}.input.1", f"{INNER}.parameters.weight"]
    assert other.exit_code() == 1


def test_integers_of_a_statistics_capture_are_unknown_and_no_pass(tmp_path: Path) -> None:
    found = inputs(tmp_path, "statistics")
    assert (found.verdict, found.exit_code()) == ("unknown", 4)
    assert found.findings[0].rule == "precision.unknown" and found.findings[0].subject == f"{EMBED}.input.0"


def test_a_capture_without_anything_to_compare_is_no_pass(tmp_path: Path) -> None:
    for side in ("a", "b"):
        write(tmp_path / side / "step0" / "rank0", {"Torch.add.3.backward": ([random(1)], [random(2)])})
    found = report_of([tmp_path / "a", tmp_path / "b"], AnalysisOptions(inputs=True)).report
    assert (found.verdict, found.exit_code()) == ("unknown", 4)


def test_one_capture_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--inputs"):
        report_of([capture(tmp_path, "tensor")], AnalysisOptions(inputs=True))


# ---- the hash ----------------------------------------------------------------------------------------------


def shown_hash(folder: Path, x: Any, mode: str = "tensor") -> str:
    write(folder / "step0" / "rank0", {LINEAR: ([x, W], [random(3)])}, mode)
    return str(checked(folder).summary["input_hash"])


def test_the_hash_is_that_of_the_values(tmp_path: Path) -> None:
    """Written down here once more: kind and shape, then the elements as float64."""
    x = random(4, 3, 16)
    tensor = hashlib.sha256(b"('float', (3, 16))" + x.astype("<f8").tobytes()).digest()
    want = hashlib.sha256(tensor).hexdigest()[:12]
    assert shown_hash(tmp_path, x) == f"{want} (elements)"


def test_the_hash_does_not_depend_on_how_it_is_stored(tmp_path: Path) -> None:
    x = random(4, 3, 16, dtype="float16").astype(np.float32)
    as_half = tmp_path / "half"
    assert shown_hash(tmp_path / "f", x) == shown_hash(as_half, x.astype(np.float16))
    fortran = tmp_path / "fortran"
    shown_hash(fortran, x)
    (file,) = fortran.rglob(f"{LINEAR}.input.0.npy")
    np.save(file, np.asfortranarray(x))
    assert checked(fortran).summary["input_hash"] == shown_hash(tmp_path / "g", x)
    assert shown_hash(tmp_path / "h", x + 1) != shown_hash(tmp_path / "i", x)


@pytest.mark.parametrize(("mode", "basis"), [("md5", "checksum"), ("statistics", "statistics")])
def test_without_elements_it_says_what_it_is_made_of(tmp_path: Path, mode: str, basis: str) -> None:
    x = random(4, 3, 16)
    one, same, other = (
        shown_hash(tmp_path / name, y, mode) for name, y in (("a", x), ("b", x), ("c", x * 2))
    )
    assert one == same != other and one.endswith(f"({basis})")

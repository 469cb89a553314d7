"""Settings that decide what one sees: saturation or Inf, names that no tool reads, the loss scale."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from npulse.core.overflow.context import Context

from .small_dumps import INF, OPTIONS, analysed, bwd, fwd, mod, nan, rec, reported, write

X = rec(3.0, -2.5)
FINE = {"Torch.add.0.forward": fwd([X], [X])}
SCRIPT, LISTING = "train.sh", "env.txt"


def context(folder: Path, files: dict[str, str], data: dict[str, Any] = FINE, **options: Any) -> Context:
    write(folder, data)
    for name, text in files.items():
        (folder / name).write_text(text)
    return analysed(folder, replace(OPTIONS, **options)).context


@pytest.mark.parametrize(
    ("name", "text", "saturation", "told_by"),
    [
        (SCRIPT, "export INF_NAN_MODE_ENABLE=0\npython train.py\n", True, "INF_NAN_MODE_ENABLE"),
        (SCRIPT, "export INF_NAN_MODE_ENABLE=1\npython train.py\n", False, "INF_NAN_MODE_ENABLE"),
        (SCRIPT, 'export INF_NAN_MODE_ENABLE="0"\npython train.py\n', True, "INF_NAN_MODE_ENABLE"),
        (LISTING, "PATH=/bin\nASCEND_HOME=/usr\nINF_NAN_MODE_ENABLE=0\n", True, "INF_NAN_MODE_ENABLE"),
        (
            SCRIPT,
            "export ASCEND_HOME=/x\nexport MS_ASCEND_CHECK_OVERFLOW_MODE=SATURATION_MODE\n",
            True,
            "MS_ASCEND_CHECK_OVERFLOW_MODE",
        ),
        (
            SCRIPT,
            "export ASCEND_HOME=/x\nexport MS_ASCEND_CHECK_OVERFLOW_MODE=INFNAN_MODE\n",
            False,
            "MS_ASCEND_CHECK_OVERFLOW_MODE",
        ),
        (SCRIPT, "export INF_NAN_MODE_ENABLE=maybe\npython train.py\n", None, None),
        (SCRIPT, "export ASCEND_HOME=/x\npython train.py --fp16\n", None, None),
    ],
)
def test_whether_the_device_saturates(
    name: str, text: str, saturation: bool | None, told_by: str | None, tmp_path: Path
) -> None:
    found = context(tmp_path, {name: text})
    assert found.saturation is saturation
    if told_by is None:
        assert found.told_by is None
    else:
        assert found.told_by is not None
        assert (found.told_by.name, found.told_by.artifact) == (told_by, name)
        assert found.told_by.line == 1 + text[: text.index(told_by)].count("\n")


@pytest.mark.parametrize("said", [True, False])
def test_what_the_user_says_counts_more(said: bool, tmp_path: Path) -> None:
    text = f"export INF_NAN_MODE_ENABLE={int(said)}\npython train.py\n"
    found = context(tmp_path, {SCRIPT: text}, saturation=said)
    assert (found.saturation, found.told_by) == (said, None)


def test_without_files_nothing_is_known(tmp_path: Path) -> None:
    found = context(tmp_path, {})
    assert (found.saturation, found.told_by, found.settings, found.seeds) == (None, None, (), ())


def test_flags_and_the_loss_scale_of_the_command(tmp_path: Path) -> None:
    text = (
        "export INF_NAN_MODE_ENABLE=1\npython train.py --fp16 --initial-loss-scale 65536 --loss-scale=128\n"
    )
    found = context(tmp_path, {SCRIPT: text})
    assert [one.text for one in found.settings] == [
        "INF_NAN_MODE_ENABLE=1",
        "--loss-scale=128",
        "--initial-loss-scale=65536",
        "--fp16",
    ]


def test_names_that_no_tool_reads_are_told_with_the_real_ones(tmp_path: Path) -> None:
    names = "export ASCEND_HOME=/x\nexport MSDEBUG_OVERFLOW_MODE=saturation\nexport MSDEBUG_DUMP_PATH=/d\n"
    found = context(tmp_path, {SCRIPT: names})
    assert found.saturation is None
    seeds = {one.name: (one.line, real) for one, real in found.seeds}
    assert seeds.keys() == {"MSDEBUG_OVERFLOW_MODE", "MSDEBUG_DUMP_PATH"}
    assert seeds["MSDEBUG_OVERFLOW_MODE"][0] == 2
    assert "INF_NAN_MODE_ENABLE" in seeds["MSDEBUG_OVERFLOW_MODE"][1]
    assert "dump_path" in seeds["MSDEBUG_DUMP_PATH"][1]
    notes = [f for f in reported(analysed(tmp_path)).findings if f.rule == "overflow.settings"]
    assert {f.subject for f in notes} == seeds.keys()
    assert all(f.severity == "note" and f.figures["real_names"] for f in notes)


def test_an_alias_does_not_overrule_the_real_name(tmp_path: Path) -> None:
    """No tool reads the alias: where the variable that counts says something else, that holds."""
    text = "export INF_NAN_MODE_ENABLE=1\nexport MSDEBUG_OVERFLOW_MODE=saturation\npython t.py\n"
    found = context(tmp_path, {SCRIPT: text})
    assert found.saturation is False
    assert found.told_by is not None and found.told_by.name == "INF_NAN_MODE_ENABLE"


def test_the_dump_configuration_of_the_device(tmp_path: Path) -> None:
    config = {"dump": {"dump_debug": "on", "dump_path": "/d"}}
    found = context(tmp_path, {"acl.json": json.dumps(config, indent=1)})
    assert [(one.text, one.artifact) for one in found.settings] == [("dump_debug=on", "acl.json")]


@pytest.mark.parametrize("text", ["export INF_NAN_MODE_ENABLE='0\n", "INF_NAN_MODE_ENABLE=\n", '{"dump": [}'])
def test_broken_files_are_no_end(text: str, tmp_path: Path) -> None:
    found = context(tmp_path, {SCRIPT: text, "acl.json": text})
    assert found.loss_scales == ()


def test_saturated_values_without_any_setting_ask_for_one(tmp_path: Path) -> None:
    write(tmp_path, {"Torch.mul.0.forward": fwd([X], [rec(65504.0, 1.0)])})
    told = reported(analysed(tmp_path))
    assert [f.rule for f in told.findings] == [
        "overflow.saturated",
        "overflow.saturation-mode",
        "overflow.settings",
    ]
    assert told.summary["saturation_mode"] == "unknown"


# ---- the loss scale ----


def scale(value: float, **fields: Any) -> dict[str, Any]:
    one = rec(value, value, "float32", [], **fields)
    return {
        "Torch.mean.0.forward": fwd([X], [rec(0.5, 0.5, "float32", [])]),
        "Torch.mean.0.backward": bwd([one], [X]),
        "Torch.sum.0.backward": bwd([rec(7.0, 7.0, "float32", [])], [X]),
    }


def test_the_first_gradient_of_each_step_is_the_loss_scale(tmp_path: Path) -> None:
    for step, value in enumerate([65536.0, 32768.0, 16384.0]):
        for rank in (0, 1):
            write(tmp_path, scale(value), rank=rank, step=step)
    found = analysed(tmp_path)
    scales = [(one.step, one.rank, one.value) for one in found.context.loss_scales]
    assert scales == [(s, r, v) for s, v in enumerate([65536.0, 32768.0, 16384.0]) for r in (0, 1)]
    assert reported(found).summary["loss_scale"] == [v for _, _, v in scales]


def test_a_loss_that_is_not_scaled_is_not_told(tmp_path: Path) -> None:
    write(tmp_path, scale(1.0))
    found = analysed(tmp_path)
    assert [one.value for one in found.context.loss_scales] == [1.0]
    assert "loss_scale" not in reported(found).summary


@pytest.mark.parametrize(
    "entry",
    [
        {"Torch.mean.0.backward": bwd([X], [X])},
        {"Torch.mean.0.backward": bwd([None], [X])},
        {"Torch.mean.0.backward": bwd([rec(None, None, shape=[])], [X])},
        {"Module.a.backward.Linear.forward.0": mod([rec(5.0, 5.0, shape=[])], [X])},
    ],
)
def test_what_is_no_loss_scale(entry: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, entry)
    assert analysed(tmp_path).context.loss_scales == ()


@pytest.mark.parametrize("value", [rec(INF, INF, shape=[]), nan(shape=[])])
def test_a_scale_that_is_not_finite_is_kept_as_it_is(value: Any, tmp_path: Path) -> None:
    write(tmp_path, {"Torch.mean.0.backward": bwd([value], [X])})
    (one,) = analysed(tmp_path).context.loss_scales
    assert not one.value < INF

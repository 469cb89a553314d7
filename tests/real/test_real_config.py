"""Configurations of the real tools: each bad one has its fault and nothing else, each good one none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from npulse.core.config.check import check_config
from npulse.core.config.estimate import estimate_bytes
from npulse.core.config.explain import explain_config
from npulse.core.config.globs import names_in, resolve
from npulse.core.config.make import msprobe_config
from npulse.core.formats.config_json import read_config_json
from npulse.core.formats.msprobe.config import read_msprobe_config

FAULTS = {
    "bad_debug_and_op_switch": ("config.exclusive", "dump.dump_debug", 4),
    "bad_mode": ("config.value", "dump.dump_mode", 7),
    "bad_no_path": ("config.no-path", "dump", 2),
    "bad_nothing_selected": ("config.nothing-selected", "dump", 2),
    "bad_scene_and_debug": ("config.exclusive", "dump.dump_scene", 4),
    "bad_stats_without_data_stats": ("config.stats", "dump.dump_stats", 7),
    "bad_step_reversed": ("config.step", "dump.dump_step", 7),
}


@pytest.fixture
def started_in(tmp_path: Path) -> Path:
    """A working directory that has the folders which these files name."""
    for name in ("dump_path", "stats_path"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_acl_json(shared: Path, started_in: Path) -> None:
    paths = sorted((shared / "samples" / "cann" / "acl_json").glob("*.json"))
    assert len(paths) == 15
    for path in paths:
        found = check_config(path, cwd=started_in)
        told = [(f.rule, f.subject, f.location.line) for f in found.findings]
        assert told == ([FAULTS[path.stem]] if path.stem in FAULTS else []), path.name
        assert found.exit_code() == (1 if path.stem.startswith("bad_") else 0)
        assert path.stem.startswith("bad_") == (path.stem in FAULTS)
        assert found.summary["form"] == "acl"
        for lang in ("en", "zh"):
            assert len(explain_config(path, lang=lang)) > 3


def test_a_folder_that_is_missing_is_told(shared: Path, tmp_path: Path) -> None:
    for path in (shared / "samples" / "cann" / "acl_json").glob("ok_*.json"):
        rules = [f.rule for f in check_config(path, cwd=tmp_path).findings]
        assert rules == ([] if path.stem == "ok_lite_exception" else ["config.path"]), path.name


def test_msprobe_config(shared: Path, tmp_path: Path) -> None:
    paths = sorted((shared / "samples" / "msprobe").glob("*/npu_config.json"))
    assert len(paths) == 3
    for path in paths:
        found = check_config(path, cwd=tmp_path, msprobe_version="26.2.0")
        assert ([f.rule for f in found.findings], found.summary["form"]) == ([], "msprobe")
        config = read_msprobe_config(path)
        assert config.problems == () and config.section == config.task
        assert config.dump_path in "\n".join(explain_config(path))


@pytest.mark.parametrize("sample", ["edge_tensor", "statistics_mix", "edge_md5"])
def test_what_was_written_lies_within_the_estimate(shared: Path, sample: str) -> None:
    folder = shared / "samples" / "msprobe" / sample
    config = read_config_json(folder / "npu_config.json").value
    written = sum(path.stat().st_size for path in (folder / "npu").rglob("*") if path.is_file())
    found = estimate_bytes(config, like=folder / "npu", n_steps=1)
    assert found.bytes_at_least is not None and found.bytes_at_most is not None
    assert found.bytes_at_least <= written <= found.bytes_at_most


def test_globs_by_an_earlier_dump(shared: Path) -> None:
    names = names_in(shared / "samples" / "msprobe" / "statistics_mix" / "npu")
    found = resolve("msprobe", ["*linear*"], names)
    assert found.items == ("linear",) and not found.selects_more
    assert msprobe_config(dump_path="/d", list=found.items)["statistics"]["list"] == ["linear"]
    operators = names_in(shared / "samples" / "cann" / "dump_path")
    assert "conv1/Conv2D" in operators  # the file's name has '_' for '/', the file itself tells the name
    assert resolve("acl", ["conv*"], operators).items == ("conv1/Conv2D",)


def test_nothing_is_written_beside_the_samples(shared: Path, tmp_path: Path) -> None:
    copy = tmp_path / "acl_json"
    shutil.copytree(shared / "samples" / "cann" / "acl_json", copy)
    before = sorted(copy.iterdir())
    for path in before:
        check_config(path, cwd=tmp_path)
    assert sorted(copy.iterdir()) == before

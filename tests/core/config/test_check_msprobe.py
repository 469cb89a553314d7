"""Every rule of msprobe's config.json: what breaks it gives that finding alone, what keeps it gives none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.config.check import check_config, findings_of
from npulse.core.config.rules import RULES
from npulse.core.config.vocabulary import SECTION_KEYS, TASKS, TOP_KEYS, family_of
from npulse.core.findings import Finding

API, MODULE = "Functional.linear.0.forward", "Module.fc1.Linear.forward.0"


def check(version: str | None = None, /, **config: Any) -> tuple[Finding, ...]:
    return findings_of(config, msprobe_version=version)


def told(findings: tuple[Finding, ...]) -> list[tuple[str, str, str]]:
    return [(f.rule.removeprefix("config."), f.severity, f.subject) for f in findings]


S = {"task": "statistics", "dump_path": "/d"}
T = {"task": "tensor", "dump_path": "/d"}
GOOD: list[tuple[str | None, dict[str, Any]]] = [
    (None, S),
    (None, S | {"rank": [], "step": [0, "5-7"], "level": "mix", "async_dump": False}),
    (None, S | {"statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}),
    (None, S | {"statistics": {"list": None, "scope": None, "summary_mode": None}, "rank": None}),
    (None, S | {"statistics": {"scope": [API, API]}}),
    (None, S | {"level": "L0", "statistics": {"scope": [MODULE, MODULE]}}),
    (None, S | {"level": "mix", "statistics": {"scope": [MODULE, API]}}),
    (None, S | {"statistics": {"summary_mode": ["max", "l2norm", "nan count"]}}),
    (None, S | {"statistics": {"data_mode": ["forward", "input"], "tensor_list": ["relu"]}}),
    ("26.2.0", S | {"step": ["3"], "rank": ["0"]}),
    ("26.2.0", S | {"statistics": {"summary_mode": "xor"}, "extra_info": False, "risk_level": "ALL"}),
    ("26.2.0", {"task": "nan_check", "dump_path": "/d", "nan_check": {"data_mode": ["output"]}}),
    ("8.3.3", {"task": "overflow_check", "dump_path": "/d", "overflow_check": {"overflow_nums": -1}}),
    ("1.2.2", {"task": "grad_probe", "dump_path": "/d", "grad_probe": {"grad_level": "L1"}}),
    (None, T | {"tensor": {"list": ["relu"]}, "async_dump": True}),
    (None, T | {"level": "L2", "tensor": {"list": [API]}}),
    (None, T | {"tensor": {"list": ["name-regex(.*conv[0-9])"]}}),
    (None, {"task": "structure", "dump_path": "/d", "level": "mix"}),
    (
        "26.2.0",
        {"task": "statistics", "load": {"path": "/in", "modules": [MODULE], "step": ["1-2"]}},
    ),
]


@pytest.mark.parametrize(("version", "config"), GOOD)
def test_what_keeps_the_rules_gives_nothing(version: str | None, config: dict[str, Any]) -> None:
    assert told(check(version, **config)) == []


BAD: list[tuple[str | None, dict[str, Any], tuple[str, str, str]]] = [
    (None, {"dump_path": "/d", "level": "L1"}, ("task", "warning", ".")),
    (None, S | {"task": "statistic"}, ("task", "error", "task")),
    (None, S | {"task": "dump"}, ("task", "error", "task")),
    (None, S | {"task": 3}, ("type", "error", "task")),
    (None, S | {"task": "overflow_check"}, ("task", "warning", "task")),
    ("26.2.0", S | {"task": "overflow_check"}, ("task", "error", "task")),
    ("26", S | {"task": "run_ut"}, ("task", "error", "task")),
    ("8.3.3", S | {"task": "nan_check"}, ("task", "error", "task")),
    (None, S | {"task": "nan_check"}, ("task", "warning", "task")),
    (None, {"task": "statistics"}, ("no-path", "error", ".")),
    (None, S | {"dump_path": ""}, ("no-path", "error", "dump_path")),
    (None, S | {"dump_path": 3}, ("type", "error", "dump_path")),
    (None, S | {"dump_path": "/data/my dump"}, ("path", "error", "dump_path")),
    (None, S | {"dump_path": "/" + "d" * 256}, ("path", "error", "dump_path")),
    (None, S | {"level": "l1"}, ("value", "error", "level")),
    (None, S | {"level": "L2"}, ("level", "error", "level")),
    (None, T | {"level": "L2", "tensor": {"list": []}}, ("level", "error", "tensor.list")),
    (None, T | {"level": "L2", "tensor": {"list": ["a", "b"]}}, ("level", "error", "tensor.list")),
    (
        None,
        T | {"level": "L2", "tensor": {"list": [API], "scope": [API, API]}},
        ("exclusive", "error", "tensor.scope"),
    ),
    ("26.2.0", S | {"task": "nan_check", "level": "mix"}, ("level", "error", "level")),
    (None, S | {"task": "structure", "level": "L1"}, ("level", "warning", "level")),
    (None, S | {"rank": "0"}, ("type", "error", "rank")),
    (None, S | {"step": [0, "7-5"]}, ("step", "error", "step[1]")),
    (None, S | {"step": ["0|5-10"]}, ("step", "error", "step[0]")),
    (None, S | {"step": [0, "3"]}, ("step", "warning", "step[1]")),
    ("8.3.3", S | {"step": ["3"]}, ("step", "error", "step[0]")),
    (None, S | {"rank": [-1]}, ("step", "error", "rank[0]")),
    (None, S | {"async_dump": "true"}, ("type", "error", "async_dump")),
    (None, S | {"extra_info": None}, ("type", "error", "extra_info")),
    (None, S | {"precision": "high"}, ("precision", "warning", "precision")),
    (None, S | {"precision": "medium"}, ("value", "error", "precision")),
    (None, S | {"risk_level": "LOW"}, ("value", "error", "risk_level")),
    ("8.3.3", S | {"risk_level": "ALL"}, ("version", "warning", "risk_level")),
    ("26.2.0", S | {"seed": 1}, ("version", "warning", "seed")),
    (None, S | {"tsak": "x"}, ("unknown-key", "error", "tsak")),
    (None, S | {"_comment": "x"}, ("unknown-key", "warning", "_comment")),
    (None, S | {"scope": [API, API]}, ("misplaced-key", "error", "scope")),
    (None, S | {"statistics": {"level": "L1"}}, ("misplaced-key", "error", "statistics.level")),
    (None, S | {"statistics": {"lst": ["a"]}}, ("unknown-key", "error", "statistics.lst")),
    (None, S | {"statistics": {"overflow_nums": 1}}, ("no-effect", "warning", "statistics.overflow_nums")),
    (None, S | {"statistics": []}, ("type", "error", "statistics")),
    (None, S | {"tensor": {"list": ["a"]}}, ("section", "warning", "tensor")),
    (None, S | {"statistics": {"list": "relu"}}, ("type", "error", "statistics.list")),
    (None, S | {"statistics": {"list": ["conv*"]}}, ("glob", "error", "statistics.list[0]")),
    (None, S | {"statistics": {"list": ["relu", ""]}}, ("list", "warning", "statistics.list[1]")),
    (None, S | {"statistics": {"scope": [API]}}, ("scope", "error", "statistics.scope")),
    (None, S | {"statistics": {"scope": [API, "relu"]}}, ("scope", "error", "statistics.scope[1]")),
    (None, S | {"statistics": {"scope": [MODULE, API]}}, ("scope", "error", "statistics.scope[0]")),
    (
        None,
        S | {"level": "L0", "statistics": {"scope": [MODULE, API]}},
        ("scope", "error", "statistics.scope[1]"),
    ),
    (None, S | {"statistics": {"scope": [API, API], "list": ["r"]}}, ("list", "note", "statistics.list")),
    (
        "8.3.3",
        S | {"task": "free_benchmark", "free_benchmark": {"scope": ["a"], "list": ["r"]}},
        ("list", "error", "free_benchmark.list"),
    ),
    (
        None,
        S | {"level": "debug", "statistics": {"scope": [MODULE, API]}},
        ("scope", "error", "statistics.scope"),
    ),
    (
        None,
        S | {"level": "debug", "statistics": {"tensor_list": ["r"]}},
        ("no-effect", "warning", "statistics.tensor_list"),
    ),
    (None, S | {"statistics": {"data_mode": "all"}}, ("type", "error", "statistics.data_mode")),
    (None, S | {"statistics": {"data_mode": ["in"]}}, ("data-mode", "error", "statistics.data_mode[0]")),
    (
        None,
        S | {"statistics": {"data_mode": ["all", "input"]}},
        ("data-mode", "error", "statistics.data_mode"),
    ),
    (None, S | {"statistics": {"data_mode": ["input"] * 5}}, ("data-mode", "error", "statistics.data_mode")),
    (
        "26.2.0",
        S | {"task": "nan_check", "nan_check": {"data_mode": ["input"]}},
        ("data-mode", "error", "nan_check.data_mode"),
    ),
    (
        None,
        S | {"statistics": {"summary_mode": "MD5"}},
        ("summary-mode", "error", "statistics.summary_mode"),
    ),
    (
        None,
        S | {"statistics": {"summary_mode": ["max", "mode"]}},
        ("summary-mode", "error", "statistics.summary_mode[1]"),
    ),
    (
        "8.3.3",
        S | {"statistics": {"summary_mode": "xor"}},
        ("summary-mode", "error", "statistics.summary_mode"),
    ),
    (
        None,
        S | {"async_dump": True, "statistics": {"summary_mode": "md5"}},
        ("exclusive", "error", "statistics.summary_mode"),
    ),
    (None, T, ("size", "warning", "task")),
    (None, T | {"step": [0], "rank": [0]}, ("size", "note", "task")),
    (None, S | {"load": {"path": "/in"}}, ("load", "error", "load")),
    (None, S | {"load": {"modules": [MODULE]}}, ("load", "error", "load")),
    (None, S | {"load": {"path": "/in", "modules": [API]}}, ("load", "error", "load.modules[0]")),
    (
        None,
        S | {"load": {"path": "/in", "modules": [MODULE, MODULE]}},
        ("load", "error", "load.modules[1]"),
    ),
    (
        "8.3.3",
        S | {"task": "overflow_check", "overflow_check": {"overflow_nums": 0}},
        ("value", "error", "overflow_check.overflow_nums"),
    ),
    (
        "8.3.3",
        S | {"task": "free_benchmark", "free_benchmark": {"pert_mode": "noise"}},
        ("value", "error", "free_benchmark.pert_mode"),
    ),
    (
        None,
        S | {"statistics": {"slice": [{"dim": -1, "size": 2, "begin": -1, "end": 0}]}},
        ("value", "error", "statistics.slice[0].dim"),
    ),
]


@pytest.mark.parametrize(("version", "config", "wanted"), BAD)
def test_what_breaks_one_rule_gives_that_finding_alone(
    version: str | None, config: dict[str, Any], wanted: tuple[str, str, str]
) -> None:
    assert told(check(version, **config)) == [wanted]


def test_tensors_without_a_list_and_asynchronous() -> None:
    found = told(check(**T, async_dump=True))
    assert found == [("list", "error", "async_dump"), ("size", "warning", "task")]


def test_the_tests_cover_every_rule_of_msprobe() -> None:
    of_acl = {"step-ge", "nothing-selected", "watcher", "blacklist", "empty-target", "stats", "nesting"}
    elsewhere = {"documents-form", "relative-path", "repeated-key"}
    rules = {rule.id.removeprefix("config.") for rule in RULES}
    assert rules - of_acl - elsewhere == {wanted[0] for _, _, wanted in BAD}


def test_what_to_write_instead() -> None:
    def next_of(version: str | None = None, /, **config: Any) -> str:
        (finding,) = check(version, **config)
        return finding.next_step

    assert next_of("26.2.0", **S | {"task": "overflow_check"}) == "write nan_check"
    assert next_of("26.2.0", **S | {"task": "run_ut"}) == "write acc_check"
    assert next_of("8.1.0", **S | {"task": "acc_check"}) == "write run_ut"
    assert next_of(**S, step=["9-7"]) == 'write "7-9"'
    assert next_of(**S, tensor={"list": ["a"]}) == 'rename "tensor" to "statistics", or change the task'
    assert next_of(**S, tensor_list=["a"]) == 'put it into the object "statistics"'
    assert next_of(**S | {"statistics": {"list": "relu"}}) == '"list": ["relu"]'
    assert next_of(**S | {"statistics": {"summary_mode": "MD5"}}).startswith("'md5'")


@pytest.mark.parametrize(
    ("version", "family"),
    [
        ("26.2.0", "26"),
        ("27", "26"),
        ("8.3.3", "8"),
        ("1.0.4", "8"),
        ("v8.1", "8"),
        (None, None),
        ("x", None),
    ],
)
def test_families_of_versions(version: str | None, family: str | None) -> None:
    assert family_of(version) == family


def test_the_folder_above_has_to_be_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.json"
    monkeypatch.chdir(tmp_path)

    def rules(dump_path: str) -> list[str]:
        path.write_text(json.dumps(S | {"dump_path": dump_path}))
        return [finding.rule for finding in check_config(path).findings]

    assert rules(str(tmp_path / "new" / "deep")) == rules("new") == []
    assert rules(str(path / "new")) == ["config.path"]
    assert rules("config.json/new") == ["config.relative-path"]


def test_remarks(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(S | {"dump_path": str(tmp_path), "level": "mix"}))
    found = check_config(path)
    assert (found.verdict, found.exit_code()) == ("pass", 0)
    assert any("start(model=model)" in line for line in found.told)
    assert any("没有 'statistics' 对象" in line for line in check_config(path, lang="zh").told)


_TASKS = sorted({task for tasks in TASKS.values() for task in tasks})
_OPTIONS = sorted({key for keys in SECTION_KEYS.values() for key in keys})
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=4)
    | st.sampled_from(["L2", "all", "md5", API]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_OPTIONS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(
    task=st.sampled_from(_TASKS) | _JSON,
    config=st.dictionaries(st.sampled_from([*TOP_KEYS, *_TASKS]) | st.text(max_size=3), _JSON, max_size=6),
    version=st.sampled_from([None, "8.3.3", "26.2.0"]),
)
def test_anything_can_be_checked(task: Any, config: dict[str, Any], version: str | None) -> None:
    for finding in findings_of(
        config | {"task": task}, tool="msprobe", msprobe_version=version, is_here=True
    ):
        assert finding.message.encode() and finding.subject

"""Every rule of acl.json: what breaks it gives that finding alone, what keeps it gives none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.config.check import check_config, findings_of
from npulse.core.config.rules import RULES
from npulse.core.findings import Finding
from npulse.core.formats.acl_config import _KEYS, _KEYS_OF_A_TARGET


def check(**dump: Any) -> tuple[Finding, ...]:
    return findings_of({"dump": dump})


def told(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(finding.rule.removeprefix("config."), finding.subject) for finding in findings]


ALL = {"dump_path": "/d", "dump_list": [{}]}
GOOD = [
    ALL,
    {"dump_path": "/d", "dump_op_switch": "on"},
    {"dump_path": "/d", "dump_op_switch": "on", "dump_list": [], "dump_step": "0|5-10"},
    {"dump_path": "/d", "dump_debug": "on"},
    {"dump_scene": "lite_exception"},
    {"dump_scene": "aic_err_norm_dump", "dump_path": "/d"},
    ALL | {"dump_data": "stats", "dump_stats": ["Max", "Negative Inf", "L2norm"], "dump_mode": "input"},
    ALL | {"dump_data": "stats"},
    ALL | {"dump_kernel_data": "printf,tensor"},
    {
        "dump_path": "/d",
        "dump_scene": "watcher",
        "dump_list": [{"layer": ["a"], "watcher_nodes": ["b"]}],
    },
    {
        "dump_path": "192.168.1.1:/remote/dir",
        "dump_level": "op",
        "dump_list": [
            {
                "model_name": "m",
                "opname_range": [{"begin": "a", "end": "b"}],
                "optype_blacklist": [{"name": "Cast", "pos": ["input0", "output11"]}],
                "opname_blacklist": [{"name": "x"}] * 100,
            }
        ],
    },
]


@pytest.mark.parametrize("dump", GOOD)
def test_what_keeps_the_rules_gives_nothing(dump: dict[str, Any]) -> None:
    assert told(check(**dump)) == []


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"dump_path": "/d"}, "nothing-selected", "dump"),
    ({"dump_path": "/d", "dump_list": []}, "nothing-selected", "dump"),
    ({"dump_path": "/d", "dump_debug": "off", "dump_op_switch": "off"}, "nothing-selected", "dump"),
    ({"dump_list": [{}]}, "no-path", "dump"),
    ({"dump_debug": "on"}, "no-path", "dump"),
    (
        {"dump_scene": "watcher", "dump_list": [{"layer": ["a"], "watcher_nodes": ["b"]}]},
        "no-path",
        "dump",
    ),
    (ALL | {"dump_path": ""}, "no-path", "dump.dump_path"),
    (ALL | {"dump_path": "/" + "d" * 512}, "path", "dump.dump_path"),
    (ALL | {"dump_path": "/a\0b"}, "path", "dump.dump_path"),
    (ALL | {"dump_path": ["/d"]}, "type", "dump.dump_path"),
    (ALL | {"dump_mode": "both"}, "value", "dump.dump_mode"),
    (ALL | {"dump_level": "OP"}, "value", "dump.dump_level"),
    (ALL | {"dump_data": 3}, "type", "dump.dump_data"),
    (ALL | {"dump_debug": True}, "type", "dump.dump_debug"),
    ({"dump_path": "/d", "dump_scene": "lite"}, "value", "dump.dump_scene"),
    (ALL | {"dump_kernel_data": "printf,all2"}, "value", "dump.dump_kernel_data"),
    (ALL | {"dump_step": "5-3"}, "step", "dump.dump_step"),
    (ALL | {"dump_step": [0, 1]}, "type", "dump.dump_step"),
    (ALL | {"dump_step": 3}, "type", "dump.dump_step"),
    (ALL | {"dump_step": "5-5"}, "step-ge", "dump.dump_step"),
    ({"dump_path": "/d", "dump_debug": "on", "dump_op_switch": "on"}, "exclusive", "dump.dump_debug"),
    ({"dump_path": "/d", "dump_debug": "on", "dump_scene": "lite_exception"}, "exclusive", "dump.dump_scene"),
    ({"dump_op_switch": "on", "dump_scene": "lite_exception"}, "exclusive", "dump.dump_scene"),
    ({"dump_path": "/d", "dump_debug": "on", "dump_list": [{}]}, "no-effect", "dump.dump_list"),
    (
        {"dump_path": "/d", "dump_scene": "watcher", "dump_list": [{"layer": ["a"]}]},
        "watcher",
        "dump.dump_list[0]",
    ),
    (
        {
            "dump_path": "/d",
            "dump_scene": "watcher",
            "dump_list": [{"model_name": "m", "watcher_nodes": ["b"]}],
        },
        "watcher",
        "dump.dump_list[0].model_name",
    ),
    (
        {
            "dump_path": "/d",
            "dump_scene": "watcher",
            "dump_mode": "all",
            "dump_list": [{"watcher_nodes": ["b"]}],
        },
        "watcher",
        "dump.dump_mode",
    ),
    ({"dump_path": "/d", "dump_scene": "watcher"}, "watcher", "dump"),
    (ALL | {"dump_list": [{"watcher_nodes": ["b"]}]}, "no-effect", "dump.dump_list[0].watcher_nodes"),
    (
        ALL | {"dump_list": [{"opname_blacklist": [{"name": "x"}]}]},
        "blacklist",
        "dump.dump_list[0].opname_blacklist",
    ),
    (
        ALL | {"dump_level": "op", "dump_list": [{"opname_blacklist": [{"name": "x"}] * 101}]},
        "blacklist",
        "dump.dump_list[0].opname_blacklist",
    ),
    (
        ALL | {"dump_level": "op", "dump_list": [{"opname_range": [{"begin": "a", "end": "b"}]}]},
        "blacklist",
        "dump.dump_list[0].opname_range",
    ),
    (
        ALL | {"dump_level": "op", "dump_list": [{"model_name": "m", "opname_range": [{"begin": "a"}]}]},
        "blacklist",
        "dump.dump_list[0].opname_range[0]",
    ),
    (
        ALL | {"dump_level": "op", "dump_list": [{"optype_blacklist": [{"name": "a", "pos": ["in0"]}]}]},
        "blacklist",
        "dump.dump_list[0].optype_blacklist[0].pos[0]",
    ),
    (
        ALL | {"dump_level": "op", "dump_list": [{"optype_blacklist": [{"pos": ["input0"]}]}]},
        "blacklist",
        "dump.dump_list[0].optype_blacklist[0]",
    ),
    (ALL | {"dump_list": [{"model_name": ""}]}, "empty-target", "dump.dump_list[0].model_name"),
    (ALL | {"dump_list": [{"layer": []}]}, "empty-target", "dump.dump_list[0].layer"),
    (ALL | {"dump_list": [{"layer": "conv1"}]}, "type", "dump.dump_list[0].layer"),
    (ALL | {"dump_list": [{"layer": ["a", 3]}]}, "type", "dump.dump_list[0].layer[1]"),
    (ALL | {"dump_list": ["conv1"]}, "type", "dump.dump_list[0]"),
    (ALL | {"dump_list": {}}, "type", "dump.dump_list"),
    (ALL | {"dump_list": [{"layer": ["conv*"]}]}, "glob", "dump.dump_list[0].layer[0]"),
    (ALL | {"dump_list": [{"model_name": "a/m.om"}]}, "value", "dump.dump_list[0].model_name"),
    (ALL | {"dump_stats": ["Max"]}, "stats", "dump.dump_stats"),
    (ALL | {"dump_data": "stats", "dump_stats": []}, "stats", "dump.dump_stats"),
    (ALL | {"dump_data": "stats", "dump_stats": ["max"]}, "stats", "dump.dump_stats[0]"),
    (ALL | {"dump_data": "stats", "dump_stats": "Max"}, "type", "dump.dump_stats"),
    (ALL | {"dump_stpe": "1"}, "unknown-key", "dump.dump_stpe"),
    (ALL | {"layer": ["a"]}, "misplaced-key", "dump.layer"),
    (ALL | {"dump_list": [{"layer_name": "conv1"}]}, "unknown-key", "dump.dump_list[0].layer_name"),
    (ALL | {"dump_list": [{"dump_step": "0"}]}, "misplaced-key", "dump.dump_list[0].dump_step"),
    (
        ALL | {"dump_list": [{"layer": ["a"], "dump_mode": "all"}]},
        "misplaced-key",
        "dump.dump_list[0].dump_mode",
    ),
]


@pytest.mark.parametrize(("dump", "rule", "subject"), BAD)
def test_what_breaks_one_rule_gives_that_finding_alone(dump: dict[str, Any], rule: str, subject: str) -> None:
    assert told(check(**dump)) == [(rule, subject)]


def test_the_tests_cover_every_rule_of_acl() -> None:
    of_msprobe = {
        "task",
        "section",
        "level",
        "scope",
        "list",
        "summary-mode",
        "data-mode",
        "precision",
    }
    elsewhere = {"size", "version", "load", "documents-form", "relative-path", "repeated-key"}
    rules = {rule.id.removeprefix("config.") for rule in RULES}
    assert rules - of_msprobe - elsewhere - {"nesting"} == {rule for _, rule, _ in BAD}


def test_what_to_write_instead() -> None:
    def next_of(**dump: Any) -> str:
        (finding,) = check(**dump)
        return finding.next_step

    assert next_of(**ALL, dump_step="0|10-5") == "write 5-10"
    assert next_of(**ALL | {"dump_list": [{"layer_name": "conv1"}]}) == "write 'layer'"
    assert next_of(**ALL | {"dump_list": [{"layer": "conv1"}]}) == '"layer": ["conv1"]'
    assert next_of(**ALL, dump_mod="all") == "write 'dump_mode'"
    assert next_of(**ALL | {"dump_list": [{"model_name": "a/m.om"}]}) == "write m"
    assert next_of(**ALL, dump_data="stats", dump_stats=["L2Norm"]) == "write L2norm"
    assert "beside dump_list" in next_of(**ALL | {"dump_list": [{"dump_step": "0"}]})


def test_nesting() -> None:
    def nested(n: int) -> dict[str, Any]:
        value: Any = []
        for _ in range(n - 1):
            value = [value]
        return {"dump": ALL, "x": value}

    assert told(findings_of(nested(10))) == []
    assert told(findings_of(nested(11))) == [("nesting", ".")]


def test_keys_without_the_object_around_them() -> None:
    assert told(findings_of({"dump_path": "/d", "dump_mode": "all", "dump_op_switch": "on"})) == [
        ("misplaced-key", ".")
    ]


def test_lines_columns_and_repeated_keys(tmp_path: Path) -> None:
    path = tmp_path / "acl.json"
    path.write_text(
        '{"dump": {\n "dump_path": "' + str(tmp_path) + '",\n  "dump_mode": "all", "dump_mode": "both",\n'
        ' "dump_list": [{"layer": ["a",\n   7]}]}}'
    )
    found = check_config(path)
    assert [(f.rule, f.figures["line"], f.figures["column"]) for f in found.findings] == [
        ("config.value", 3, 23),
        ("config.type", 5, 4),
        ("config.repeated-key", 3, 23),
    ]
    assert [f.location.line for f in found.findings] == [3, 5, 3]
    assert (found.verdict, found.exit_code()) == ("fail", 1)
    assert found.counts == {"errors": 2, "warnings": 1, "notes": 0}


def write(folder: Path, **dump: Any) -> Path:
    path = folder / "acl.json"
    path.write_text(json.dumps({"dump": {"dump_list": [{}], **dump}}))
    return path


def test_folders(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    for path in (str(there), "10.0.0.1:/nowhere"):
        assert check_config(write(tmp_path, dump_path=path)).findings == ()
    assert check_config(write(tmp_path, dump_path="there"), cwd=tmp_path).findings == ()
    (missing,) = check_config(write(tmp_path, dump_path=str(tmp_path / "missing"))).findings
    assert (missing.rule, missing.severity) == ("config.path", "error")
    assert missing.next_step == f"mkdir -p {tmp_path / 'missing'}"
    (in_the_way,) = check_config(write(tmp_path, dump_path="acl.json"), cwd=tmp_path).findings
    assert "no folder" in in_the_way.message
    assert check_config(write(tmp_path, dump_path="/nowhere"), is_here=False).findings == ()


def test_a_relative_path_counts_from_where_the_program_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, dump_path="./missing")
    (found,) = check_config(path).findings
    assert (found.rule, found.severity) == ("config.relative-path", "note")
    assert str(tmp_path / "missing") in found.message and "--cwd" in found.next_step
    (found,) = check_config(path, cwd=tmp_path).findings
    assert (found.rule, found.severity) == ("config.path", "error")
    (tmp_path / "missing").mkdir()
    assert check_config(path).findings == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_closed(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    (found,) = check_config(write(tmp_path, dump_path=str(closed))).findings
    assert found.rule == "config.path" and "writable" in found.message


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["on", "all", "stats"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(sorted(_KEYS_OF_A_TARGET)) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(dump=st.dictionaries(st.sampled_from(sorted(_KEYS)) | st.text(max_size=3), _JSON, max_size=6))
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_anything_can_be_checked(lang: Any, dump: dict[str, Any]) -> None:
    for finding in findings_of({"dump": dump}, lang=lang, is_here=True):
        assert finding.message.encode() and finding.subject.startswith((".", "dump"))


def test_very_many_findings_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, dump_path=str(tmp_path), dump_list=[{"layer": [f"l{i}*" for i in range(1000)]}])
    found = check_config(path)
    assert (len(found.findings), found.counts["errors"]) == (200, 1000)
    assert "800 more findings are only counted." in found.told

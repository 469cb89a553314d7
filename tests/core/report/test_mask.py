"""A masked report shows no name of the user's in any format, and the same hash for the same name."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from npulse.core.findings import Finding, Location, Problem, Related, Report
from npulse.core.report import FORMATS, masked, render
from npulse.core.report.mask import hide_path, hide_word
from npulse.core.run.model import Artifact
from npulse.core.table import Column, Table, text_column

SECRET = ("acme", "falcon", "router gate", "SecretAttention", "secret_loss", "owner", "nested")
NAME = "Module.acme.layers.12.falcon.SecretAttention.forward.0"
ODD = "Module.acme.router gate.SecretAttention.backward.3"
API = "Functional.softmax.4.forward"
PATH = "/home/owner/acme/npu"
LINE = "acme/falcon.py:81 y = secret_loss(x / 2, 'a b')"


def report() -> Report:
    finding = Finding(
        "precision",
        "error",
        "precision.operator",
        "origin",
        NAME,
        f"{NAME}.output.0 differs (cosine 0.95) from {ODD} in {PATH}/step0/x.npy. Source: {LINE}",
        "see falcon.json",
        LINE,
        {"cosine": 0.95, "producer": NAME, "callers": [ODD, NAME], "dtype_target": "torch.float16"},
        (Related("inherited", ODD), Related("ok", API)),
        Location("nested/npu/step0/rank3/dump.json", 3, 0, 7, None, 5),
    )
    names = text_column("target", [f"{NAME}.input.0", ODD, API])
    return Report(
        "precision",
        PATH,
        "fail",
        (Artifact("msprobe.dump", Path(PATH), "nested/npu/step0/rank3", 1, 1, 3, 0, "complete"),),
        (finding,),
        {"compared": 3},
        {"last_output": NAME},
        (Problem("nested/falcon.npy", "cut-off", f"{PATH}/falcon.npy ends early", hint="copy nested/x"),),
        {"precision": Table("precision", (names, Column("n", "int", np.arange(3))))},
        "npu",
        "/home/owner/acme/cpu",
        (f"last output {NAME}: cosine 0.95",),
    )


@pytest.mark.parametrize("format_name", FORMATS)
def test_no_name_is_left_and_all_else_is(format_name: str) -> None:
    plain = "".join(render(report(), format_name, version="0"))
    text = "".join(render(masked(report()), format_name, version="0"))
    assert any(word in plain for word in SECRET) and not [word for word in SECRET if word in text]
    assert API in text
    assert text.count("\n") == plain.count("\n")


def test_figures_numbers_and_the_tools_own_names_stay() -> None:
    body = json.loads("".join(render(masked(report()), "json", version="0")))
    (finding,) = body["findings"]
    assert finding["figures"]["cosine"] == 0.95 and finding["figures"]["dtype_target"] == "torch.float16"
    assert re.fullmatch(r"Module\.x\w{8}\.x\w{8}\.12\.x\w{8}\.x\w{8}\.forward\.0", finding["subject"])
    assert re.fullmatch(r"x\w{8}/npu/step0/rank3/dump\.json", finding["location"]["artifact"])
    assert re.fullmatch(r"x\w{8}/x\w{8}\.py:81", finding["source"])
    assert (finding["rule"], finding["role"], finding["location"]["rank"]) == (
        "precision.operator",
        "origin",
        3,
    )
    assert body["target"] == "npu" and body["golden"].endswith("/cpu")
    row = body["tables"]["precision"][0]
    assert row == {"target": f"{finding['subject']}.input.0", "n": 0}, "one name, one hash, everywhere"
    assert body["summary"]["last_output"] == finding["subject"] == finding["figures"]["producer"]


def test_a_masked_report_masked_again_is_the_same() -> None:
    once = masked(report())
    assert render_all(masked(once)) == render_all(once)


def render_all(of: Report) -> list[str]:
    return ["".join(render(of, name, version="0")) for name in FORMATS]


def test_hashes_are_stable_and_tell_words_apart() -> None:
    import hashlib

    assert hide_word("attn") == "x" + hashlib.sha256(b"attn").hexdigest()[:8]
    assert len({hide_word(w) for w in ("attn", "attn2", "Attn")}) == 3
    assert hide_path("a/b/a") == f"{hide_word('a')}/{hide_word('b')}/{hide_word('a')}"
    assert hide_word("12") == "12" and hide_word("\ud800").startswith("x")


def test_a_report_without_names_is_as_it_was() -> None:
    bare = replace(
        report(), run=".", golden=None, findings=(), artifacts=(), problems=(), tables={}, summary={}
    )
    bare = replace(bare, told=("3 tensors compared",))
    assert masked(bare) == bare


def test_what_plugins_say_is_masked_but_for_their_own_name() -> None:
    told = replace(
        report(),
        command="plugin",
        findings=(
            Finding(
                "plugin",
                "error",
                "plugin.acme.slow",
                "unknown",
                "secret/model.py",
                "secret/model.py and Module.secret.0.forward are slow",
                next_step="look at /home/secret/run.log",
                figures={"place": "secret/model.py:3", "total_us": 1.5},
            ),
        ),
        problems=(
            Problem("plug-in acme", "plugin", "raised OSError: /home/secret/x", 3),
            Problem("secret.acme", "plugin", "plug-in acme raised ValueError: no"),
        ),
    )
    for text in render_all(masked(told)):
        assert "secret" not in text
    hidden = masked(told)
    assert [problem.artifact for problem in hidden.problems] == ["plug-in acme", hide_path("secret.acme")]
    assert hidden.findings[0].rule == "plugin.acme.slow" and hidden.findings[0].figures["total_us"] == 1.5

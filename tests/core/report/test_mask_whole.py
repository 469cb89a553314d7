"""A masked dossier shows no name of the user's in any format, wherever it stands."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.analysis import AreaReport
from npulse.core.criteria import AreaState, CheckUp, CriterionResult
from npulse.core.findings import CodeLine, Finding, Location, Problem, Related, Report
from npulse.core.report import Dossier, masked, masked_dossier, render, render_whole, write_whole_report
from npulse.core.run.model import Artifact
from npulse.core.table import Column, Table, text_column

TEXT_FORMATS = ("html", "md", "json", "junit", "csv")


def planted(user: str, folder: str, module: str, file: str) -> Dossier:
    """All four names in every kind of text that a report has."""
    home, name = f"/home/{user}/{folder}", f"Module.net.layers.3.{module}.Linear.forward.0"
    words = f"{name} of {home}/{file}.npy by {user} in {folder}; {module} and {file} differ"
    finding = Finding(
        "precision",
        "error",
        "precision.operator",
        "origin",
        name,
        words,
        f"npulse precision {home} {file}",
        f"{home}/{file}.py:3 y = {module}(x)",
        {"producer": name, "note": words, "cosine": 0.5},
        (Related("inherited", name, {"why": words}),),
        Location(f"{folder}/{file}.json", 0, 0),
        (words,),
        (CodeLine(3, f"y = {module}(x)", True),),
    )
    table = Table(
        "precision",
        (
            Column("rank", "int", np.zeros(1, np.int64)),
            Column("step", "int", np.zeros(1, np.int64)),
            text_column("operator", [name]),
            text_column("io", ["output 0"]),
            text_column("target", [f"{name}.output.0"]),
            text_column("reason", [words]),
            Column("rel_l2", "float", np.array([0.5])),
            Column("rel_l2_at_least", "float", np.array([0.5])),
            Column("cosine", "float", np.array([0.5])),
            text_column("verdict", ["error"]),
        ),
    )
    report = Report(
        "precision",
        home,
        "fail",
        (Artifact("msprobe.dump", Path(home), f"{folder}/{file}", 1, 1, 0, 0, "complete"),),
        (finding,),
        {"rows": 1},
        {"last_output": name, "said": words},
        (Problem(f"{folder}/{file}.npy", "cut-off", words, hint=words),),
        {"precision": table},
        f"{folder}/npu",
        home,
        (words,),
    )
    told = AreaReport(folder, f"{folder}/npu", report, (words,))
    command = ["python", "-m", f"{module}.{file}", folder]
    rounds = [{"round": folder, "said": words, "command": command}]
    story = Report("rounds", home, "pass", summary={"rounds": rounds}, told=(words,))
    step = f"npulse capture memory --archive {home} -- python -m {module}.{file} {folder}"
    result = CriterionResult(
        "precision.cosine",
        ("t", "t"),
        "fail",
        ">= 0.9",
        0.5,
        "0.5",
        "",
        name,
        words,
        step,
    )
    area = AreaState("precision", "fail", words, (result,), (told,), finding, words, f"npulse x {home}")
    return Dossier(CheckUp(home, "fail", (area,), folder, "precision", words), (told,), story, words, "now")


NAMES = st.from_regex(r"[a-z]{2}q[a-z0-9_]{4,10}z", fullmatch=True)
"""Long and odd enough to be no word of any text of ours, and no part of a hash."""


def shown(dossier: Dossier, folder: Path | None = None) -> dict[str, str]:
    made = {name: "".join(render_whole(dossier, name, version="0")) for name in TEXT_FORMATS}
    if folder is not None:
        write_whole_report(dossier, folder / "a.xlsx", version="0")
        with zipfile.ZipFile(folder / "a.xlsx") as archive:
            made["xlsx"] = "".join(archive.read(name).decode() for name in archive.namelist())
    return made


@given(NAMES, NAMES, NAMES, NAMES)
@settings(max_examples=12)
def test_no_planted_name_is_left(user: str, folder: str, module: str, file: str) -> None:
    for name, text in shown(masked_dossier(planted(user, folder, module, file))).items():
        for word in (user, folder, module, file):
            assert word not in text, (name, word)


def test_in_a_workbook_neither_and_without_a_mask_all_are_there(tmp_path: Path) -> None:
    secret = ("ownerq", "falconq", "gateq", "lossq")
    plain = planted(*secret)
    for name, text in shown(plain, tmp_path).items():
        assert any(word in text for word in secret), name
    for name, text in shown(masked_dossier(plain), tmp_path).items():
        assert not [word for word in secret if word in text], name


def test_figures_rules_and_the_products_words_stay() -> None:
    text = shown(masked_dossier(planted("max", "dump", "norm", "layer")))["md"]
    assert "precision.operator" in text and "0.5" in text and "verdict" in text
    assert "/max/" not in text and " max " not in text, "a user's name is one, whatever word it is"
    assert "differ" in text


def test_chinese_text_around_a_name_does_not_keep_it() -> None:
    one = planted("ownerq", "falconq", "gateq", "lossq")
    area = replace(one.check_up.areas[0], headline="轮次falconq失败：gateq与lossq由ownerq运行")
    text = shown(masked_dossier(replace(one, check_up=replace(one.check_up, areas=(area,)))))["md"]
    assert not [word for word in ("ownerq", "falconq", "gateq", "lossq") if word in text] and "失败" in text


def test_reasons_baselines_and_settings_of_rounds_are_hidden() -> None:
    """Words that others typed: who silenced what and why, branches, inputs, values of a configuration."""
    one = planted("ownerq", "falconq", "gateq", "lossq")
    reason = "until Grace has mended the scale"
    figures = {"silenced": reason, "silenced_until": "2099-01-01", "known": "graceq/last night.json"}
    area = one.check_up.areas[0]
    finding = replace(area.criteria[0], why=f"silenced ({reason})")
    quiet = replace(one.reports[0].report.findings[0], message=f"silenced ({reason}): x", figures=figures)
    area = replace(area, criteria=(replace(finding, set_aside=quiet),), origin=quiet)
    changes = [
        {"group": "git", "key": "branch", "before": "graceq/scale", "after": "main", "since": "aliceq"},
        {"group": "config", "key": "cache_dtype", "before": "int8", "after": "bfloat16", "since": "aliceq"},
        {
            "group": "config",
            "key": "data",
            "before": "graceq set, bobq set",
            "after": None,
            "since": "aliceq",
        },
        {"group": "inputs", "key": "bobq.size_bytes", "before": "3", "after": "4", "since": "aliceq"},
        {"group": "versions", "key": "torch", "before": "2.1.0", "after": "2.5.1", "since": "aliceq"},
    ]
    rounds = [{"round": "aliceq", "command": ["a", "--cfg=carolq"]}, {"round": "x", "changes": changes}]
    told = ("since aliceq: data -bobq set; graceq/scale; --cfg carolq",)
    story = Report("rounds", "/r", "pass", summary={"rounds": rounds}, told=told)
    secret = ("Grace", "mended", "graceq", "bobq", "aliceq", "carolq", "last night")
    whole = replace(one, check_up=replace(one.check_up, areas=(area,)), story=story)
    for name, text in shown(masked_dossier(whole)).items():
        assert not [word for word in secret if word in text], name
    text = "".join(render(masked(story), "json", version="0"))
    assert not [word for word in secret if word in text]
    for word in ("cache_dtype", "int8", "bfloat16", "2.5.1", "git"):
        assert word in text, "what is no name stays"


def test_rounds_that_an_area_speaks_of_are_hidden() -> None:
    report = Report(
        "memory", "/r/x", "pass", summary={"clean_up": {"since": "aliceq"}}, told=("since aliceq",)
    )
    text = "".join(render(masked(report, rounds=["aliceq", "round1", "2"]), "json", version="0"))
    assert "aliceq" not in text and '"since": "x' in text

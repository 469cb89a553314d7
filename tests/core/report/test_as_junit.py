"""JUnit XML: legal whatever names hold, one case a criterion, never better than the check-up."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.criteria import AreaState, CheckUp, CriterionResult
from npulse.core.findings import Verdict
from npulse.core.report import Dossier, render_whole

from .samples import HOSTILE, STATES, dossier

TAGS = {"fail": "failure", "incomplete": "error", "unknown": "skipped"}
ALLOWED = {
    "testsuites": {"name", "tests", "failures", "errors"},
    "testsuite": {"name", "id", "tests", "failures", "errors", "skipped"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"classname", "name"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
}
"""Elements and attributes that the schemas of Jenkins, GitLab and the Ant task have in common."""


def parsed(one: Dossier, *, strict: bool = False, lang: str = "en") -> ET.Element:
    text = "".join(render_whole(one, "junit", version="0", lang=lang, strict=strict))  # type: ignore[arg-type]
    root = ET.fromstring(text.encode("utf-8"))
    check(root)
    return root


def check(root: ET.Element) -> None:
    """What the common schemas ask for: known names, order within a suite, counts that agree."""
    for element in root.iter():
        assert set(element.attrib) <= ALLOWED[element.tag]
    total = {"tests": 0, "failures": 0, "errors": 0}
    for suite in root:
        kinds = [child.tag for child in suite]
        assert kinds == sorted(kinds, key=["properties", "testcase", "system-out"].index)
        cases = suite.findall("testcase")
        for word, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[word]) == len([c for c in cases if c.find(tag) is not None])
        assert int(suite.attrib["tests"]) == len(cases)
        for word in total:
            total[word] += int(suite.attrib[word])
        names = [(case.attrib["classname"], case.attrib["name"]) for case in cases]
        assert len(set(names)) == len(names) and all(map(all, names))
    assert total == {word: int(root.attrib[word]) for word in total}


def tag_of(case: ET.Element) -> str:
    return next((child.tag for child in case if child.tag != "system-out"), "")


def test_a_case_a_criterion_with_its_state() -> None:
    root = parsed(dossier())
    cases = {case.attrib["name"]: case for case in root.iter("testcase")}
    assert [suite.attrib["name"] for suite in root] == ["memory", "precision", "performance"]
    assert {name: tag_of(case) for name, case in cases.items()} == {
        "memory.findings": "skipped",
        "precision.pass": "",
        "precision.warn": "",
        "precision.fail": "failure",
        "precision.unknown": "skipped",
        "precision.incomplete": "error",
        "performance.step_ms": "skipped",  # it passed, but what it rests on failed
    }
    failure = cases["precision.fail"].find("failure")
    assert failure is not None and failure.text is not None
    assert failure.attrib == {"message": "title of fail: why plain", "type": "fail"}
    assert ">= 0.99" in failure.text and "npulse precision plain" in failure.text
    warned = cases["precision.warn"].find("system-out")
    assert warned is not None and warned.text is not None and "why plain" in warned.text
    not_trusted = cases["performance.step_ms"].find("skipped")
    assert not_trusted is not None and "Precision" in not_trusted.attrib["message"]


def test_strict_makes_a_warning_fail() -> None:
    cases = {c.attrib["name"]: tag_of(c) for c in parsed(dossier(), strict=True).iter("testcase")}
    assert cases["precision.warn"] == "failure" and cases["precision.pass"] == ""


@pytest.mark.parametrize(
    "name", [HOSTILE, "]]></failure><x/>", "\x00\x0b\ufffe\uffff\ud800\udfff", "\"'&<>\n\t"]
)
def test_hostile_names_are_text(name: str) -> None:
    assert len(list(parsed(dossier(name)).iter("testcase"))) == 7


@given(st.text(st.characters(min_codepoint=0), max_size=60))
def test_any_name_is_legal(name: str) -> None:
    parsed(dossier(name))


def test_chinese() -> None:
    failure = next(parsed(dossier(), lang="zh").iter("failure"))
    assert failure.attrib["message"].startswith("fail的标题")


RANK = {"": 0, "skipped": 1, "error": 2, "failure": 3}


@given(st.lists(st.sampled_from(STATES), max_size=4), st.sampled_from(STATES), st.booleans())
def test_the_file_never_says_better_than_the_area(
    criteria: list[Verdict], state: Verdict, is_trusted: bool
) -> None:
    results = tuple(CriterionResult(f"memory.{i}", ("t", "t"), one, "x") for i, one in enumerate(criteria))
    area = AreaState("memory", state, "", results, distrusted_by="" if is_trusted else "device")
    root = parsed(replace(dossier(), check_up=CheckUp("run", state, (area,))))
    tags = [tag_of(case) for case in root.iter("testcase")]
    assert tags, "an area without a case would not be seen at all"
    worst = max(RANK[tag] for tag in tags)
    assert worst >= RANK[TAGS.get(state, "")]
    if not is_trusted:
        assert "" not in tags

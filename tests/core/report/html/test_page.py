"""The page: one file that asks for nothing, well formed, and no name in it is more than a text."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.findings import CodeLine
from npulse.core.report import Dossier, render_whole
from npulse.core.report.html import parts
from npulse.core.report.html.nodes import Html, tag, text
from npulse.core.report.html.texts import TEXTS
from npulse.core.table import Table, text_column

from ..samples import HOSTILE, dossier, with_charts

VOID = ("meta", "input", "br")
ATTACKS = (
    HOSTILE,
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style></script></title><!--",
    "]]>&#x3c;script&#x3e;&lt;",
    "\x00\u202e\u2066\ud800\x1b[2J",
    "javascript:alert(1)",
)


class Read(HTMLParser):
    """Elements in order; fails where they are not closed as they were opened."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((name, dict(attributes)))

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, words: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(words)


def page(one: Dossier, lang: str = "en") -> str:
    return "".join(render_whole(one, "html", version="9.9", lang=lang))  # type: ignore[arg-type]


def test_it_asks_for_nothing() -> None:
    made = page(with_charts("plain"))
    read = Read(made)
    for name, attributes in read.tags:
        assert name not in ("link", "img", "iframe", "object", "base", "form", "audio", "video", "use")
        assert "src" not in attributes and "style" not in attributes
        assert not [key for key in attributes if key.startswith("on")]
        assert str(attributes.get("href", "#")).startswith("#")
    assert "@import" not in made and "url(" not in made and "http://" not in made and "https://" not in made


def test_the_policy_allows_its_own_style_and_script_alone() -> None:
    made = page(dossier())
    (policy,) = [a["content"] for n, a in Read(made).tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None and policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for name in ("style", "script"):
        (content,) = re.findall(rf"<{name}>(.*?)</{name}>", made, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("name", ATTACKS)
def test_hostile_names_add_no_element(name: str) -> None:
    plain, hostile = (Read(page(with_charts(one))) for one in ("plain", name))
    assert [one for one, _ in hostile.tags] == [one for one, _ in plain.tags]
    assert [sorted(a) for _, a in hostile.tags] == [sorted(a) for _, a in plain.tags]
    assert not {"\x00", "\u202e", "\u2066", "\x1b"} & set("".join(hostile.words))


@given(st.text(st.characters(min_codepoint=0), max_size=40))
def test_any_text_is_only_a_text(words: str) -> None:
    read = Read(tag("p", words, title=words))
    assert [name for name, _ in read.tags] == ["p"]
    assert isinstance(tag("p", text(words)), Html) and "<" not in text(words) and '"' not in text(words)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_all_is_there(lang: str) -> None:
    read = Read(page(dossier(), lang))
    words = "".join(read.words)
    for part in (
        "title plain",
        "message of plain",
        "next of plain",
        "why plain",
        "precision.operator",
        "9.9",
    ):
        assert part in words
    ids = [a["id"] for _, a in read.tags if a.get("id")]
    assert len(set(ids)) == len(ids)
    assert {"checkup", "precision", "rounds", "problems", "looked-at", "filter", "keys"} <= set(ids)
    links = {str(a["href"])[1:] for _, a in read.tags if a.get("href")}
    assert links <= set(ids)
    assert len([a for _, a in read.tags if a.get("class") == "finding"]) == 5
    (root,) = [a for name, a in read.tags if name == "html"]
    assert root["lang"] == ("zh-CN" if lang == "zh" else "en")
    assert (TEXTS["look-first"][lang == "zh"] in words) and (TEXTS["looked-at"][lang == "zh"] in words)


def test_source_lines_are_shown_with_a_mark() -> None:
    one = dossier()
    told = one.reports[0]
    code = (CodeLine(9, "<b>before</b>"), CodeLine(10, "here = 1", True))
    finding = replace(told.report.findings[0], code=code)
    made = page(replace(one, reports=(replace(told, report=replace(told.report, findings=(finding,))),)))
    assert "> 10  here = 1" in "".join(Read(made).words) and "&lt;b&gt;before" in made


def test_the_story_has_each_criterion_round_by_round() -> None:
    made = page(with_charts("cosine"))
    story = made[made.index('<section id="rounds"') :]
    (row,) = re.findall(r"<tr><td><code>cosine</code></td>(.*?)</tr>", story)
    assert re.sub(r"<.*?>", " ", row).split() == ["FAIL", "0.5", "PASS", "0.7"]
    (row,) = re.findall(r"<tr><td><code>cosine.whole</code></td>(.*?)</tr>", story)
    assert re.sub(r"<.*?>", " ", row).split() == ["PASS", "PASS"]
    assert "figure cosine over the rounds" in story


def test_what_does_not_fit_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MAX_FINDINGS", 1)
    read = Read(page(dossier()))
    assert len([a for _, a in read.tags if a.get("class") == "finding"]) == 3
    assert "".join(read.words).count("1 more are left out here") == 2


@settings(max_examples=25)
@given(st.lists(st.floats() | st.none(), min_size=4, max_size=4), st.sampled_from(["pass", "error", "odd"]))
def test_odd_figures_have_a_place_on_the_page(values: list[float | None], word: str) -> None:
    """Coordinates are numbers whatever figures are: not a number, endless, absent, negative, huge."""
    plain = with_charts()
    told = []
    for one in plain.reports:
        tables = {}
        for name, table in one.report.tables.items():
            columns = []
            for column in table.columns:
                if column.kind == "float":
                    absent = np.array([value is None for value in values[: table.n_rows]])
                    filled = np.array([value or 0.0 for value in values[: table.n_rows]])
                    column = replace(column, values=filled, absent=absent)
                elif column.name == "verdict":
                    column = text_column("verdict", [word] * table.n_rows)
                columns.append(column)
            tables[name] = Table(name, tuple(columns))
        told.append(replace(one, report=replace(one.report, tables=tables)))
    figures = [{"round": "r", "figures": {"f": {"value": value}}} for value in values]
    story = replace(plain.story, summary={"rounds": figures}) if plain.story else None
    read = Read(page(replace(plain, reports=tuple(told), story=story)))
    places = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "viewbox", "points")
    for name, attributes in read.tags:
        for key in places:
            if name != "meta" and attributes.get(key):
                for number in re.split(r"[ ,]", str(attributes[key])):
                    assert math.isfinite(float(number))
                    assert key not in ("width", "height") or float(number) >= 0

"""The page as a whole. It loads nothing: a policy in its head forbids all but its own style and script, which
it names by their hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib.resources import files
from itertools import count

from npulse.core.areas import area_title
from npulse.core.report.dossier import Dossier, area_of_report
from npulse.core.text import Lang, say

from . import parts
from .nodes import Child, Html, tag, text
from .pictures import area_pictures, story_criteria, story_pictures
from .texts import TEXTS

_KEYS = (
    ("j k", "key-move"),
    ("Enter", "key-open"),
    ("o", "key-all"),
    ("/", "key-filter"),
    ("Esc", "key-leave"),
    ("t", "key-theme"),
    ("?", "key-help"),
)


def render_html(dossier: Dossier, *, version: str, lang: Lang = "en") -> Iterator[str]:
    """The page in pieces, a section each."""
    style, script = (
        files(__package__).joinpath(name).read_text("utf-8") for name in ("style.css", "script.js")
    )
    check_up = dossier.check_up
    areas = _areas(dossier)
    yield "<!DOCTYPE html>\n"
    yield f'<html lang="{"zh-CN" if lang == "zh" else "en"}">\n<head>\n'
    yield tag("meta", charset="utf-8") + "\n"
    yield tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)) + "\n"
    yield tag("meta", name="viewport", content="width=device-width, initial-scale=1") + "\n"
    yield tag("meta", name="referrer", content="no-referrer") + "\n"
    yield tag("title", f"{say(TEXTS, 'page', lang)}: {dossier.name}") + "\n"
    yield f"<style>{style}</style>\n</head>\n<body>\n"
    yield tag("header", tag("h1", dossier.name), parts.verdict(check_up.state, lang)) + "\n"
    yield _made(dossier, version, lang) + "\n"
    if check_up.first:
        first = area_title(check_up.first, lang)
        link: Child = tag("a", first, href=f"#{check_up.first}") if check_up.first in areas else first
        yield tag(
            "div", tag("b", say(TEXTS, "look-first", lang)), link, ". ", check_up.why_first, class_="first"
        )
    yield _tools(dossier, lang) + "\n"
    yield parts.check_up_part(check_up, areas, lang) + "\n"
    numbers = count(1)
    for area in areas:
        yield _area(dossier, area, numbers, lang) + "\n"
    if dossier.story is not None:
        yield _story(dossier, numbers, lang) + "\n"
    yield (parts.problems_part(dossier.problems(), lang) or Html()) + "\n"
    yield parts.looked_at_part(dossier.all_reports, lang) + "\n"
    yield f"<script>{script}</script>\n</body>\n</html>\n"


def _policy(style: str, script: str) -> str:
    def source(content: str) -> str:
        digest = hashlib.sha256(content.encode("utf-8")).digest()
        return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"

    return (
        f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _areas(dossier: Dossier) -> tuple[str, ...]:
    """Areas that have reports, in the order of the check-up, then any other."""
    found = dict.fromkeys(area_of_report(one.report) for one in dossier.reports)
    order = [area.area for area in dossier.check_up.areas if area.area in found]
    return tuple(dict.fromkeys((*order, *found)))


def _made(dossier: Dossier, version: str, lang: Lang) -> Html:
    words = []
    if dossier.title:
        words.append(dossier.check_up.run)
    if dossier.check_up.round:
        words.append(say(TEXTS, "round-of", lang, round=dossier.check_up.round))
    key = "made" if dossier.made else "made-by"
    words.append(say(TEXTS, key, lang, version=version, when=dossier.made))
    return tag("p", " \N{MIDDLE DOT} ".join(words), class_="made")


def _tools(dossier: Dossier, lang: Lang) -> Html:
    """Links to the sections, and what the script serves: filter, theme, keys."""
    links = [("checkup", say(TEXTS, "checkup", lang))]
    links += [(area, area_title(area, lang)) for area in _areas(dossier)]
    if dossier.story is not None:
        links.append(("rounds", say(TEXTS, "rounds", lang)))
    if dossier.problems():
        links.append(("problems", say(TEXTS, "problems", lang)))
    links.append(("looked-at", say(TEXTS, "looked-at", lang)))
    items = (tag("li", tag("a", words, href=f"#{name}")) for name, words in links)
    words = say(TEXTS, "shown", lang)
    rows = [
        node
        for keys, key in _KEYS
        for node in (
            tag("dt", *(tag("kbd", one) for one in keys.split())),
            tag("dd", say(TEXTS, key, lang)),
        )
    ]
    return tag(
        "div",
        tag("nav", tag("ul", *items), aria_label=say(TEXTS, "contents", lang)),
        tag(
            "div",
            tag(
                "input",
                id="filter",
                type="search",
                placeholder=f"/  {say(TEXTS, 'filter', lang)}",
                aria_label=say(TEXTS, "filter", lang),
            ),
            tag("span", id="count", class_="quiet", data_words=words, aria_live="polite"),
            tag("button", f"t  {say(TEXTS, 'theme', lang)}", id="theme", type="button"),
            tag("button", f"?  {say(TEXTS, 'keys', lang)}", id="help", type="button"),
            class_="bar-of-tools",
        ),
        tag("div", tag("dl", *rows), id="keys", hidden=True),
    )


def _area(dossier: Dossier, area: str, numbers: Iterator[int], lang: Lang) -> Html:
    """Charts over all rounds, then the rounds' reports, the newest first."""
    told = [one for one in dossier.reports if area_of_report(one.report) == area]
    body: list[Child] = [tag("h2", area_title(area, lang)), *area_pictures(area, told, lang)]
    for place, one in enumerate(reversed(told)):
        heading = " \N{MIDDLE DOT} ".join(filter(None, (one.round, one.name)))
        body.append(tag("h3", parts.verdict(one.report.verdict, lang), text(" "), heading))
        body += [tag("p", note, class_="note") for note in one.notes]
        body.append(parts.told_part(one.report.told))
        body.append(parts.findings_part(one.report, numbers, lang, is_first_open=place == 0))
    return tag("section", *body, id=area)


def _story(dossier: Dossier, numbers: Iterator[int], lang: Lang) -> Html:
    story = dossier.story
    assert story is not None
    return tag(
        "section",
        tag("h2", say(TEXTS, "rounds", lang), text(" "), parts.verdict(story.verdict, lang)),
        parts.told_part(story.told),
        story_criteria(story, lang),
        tag("div", *story_pictures(story, lang), class_="small"),
        parts.findings_part(story, numbers, lang, is_first_open=False),
        id="rounds",
    )

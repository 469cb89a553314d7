"""The texts: both languages complete, every id used, every used id there; and hygiene of the sources."""

from __future__ import annotations

import ast
import re
import string
from pathlib import Path

import pytest

import npulse.tui
from npulse.tui.messages import choose_language, tr
from npulse.tui.messages.texts import TEXTS

TUI = Path(npulse.tui.__file__).parent
SOURCES = sorted(TUI.rglob("*.py"))
TEXT_IDS_BUILT_AT_RUN_TIME = re.compile(
    r"checkup\.n-(fail|warn|unknown|incomplete)"
    r"|precision\.(n-(compared|origin|inherited|unmatched|unknown|warning)|origin|error|warning|note|by-(theirs|ours))"
    r"|overflow\.(n-(origin|inherited|benign|unknown|calls|monitor)(-one)?|mode-(on|off)"
    r"|saturation-(on|off|unknown)|ranks-(origin|inherited)"
    r"|few-(log-negative|root-negative|arc-outside|operator|gap|gradient|legal-inf))"
    r"|performance\.(first-(idle|communication|compute|unknown)|host-(yes|no|unknown)"
    r"|table-(type|call|count|average|kernels|ranks|changes)"
    r"|word-(move|communication|unknown|none|latency|better|worse|noise))"
    r"|capture\.(phase-(starting|running|stopping|finishing|ended)"
    r"|(command|kind|tool|rank|step|list|level|name|archive|timeout|repeat|stop-at-first|retro|keep-input"
    r"|settings|pid|force|model|keep-fp32|keep-last|small)(-hint)?"
    r"|check-(disk-space|archive|inodes|work-tree|command|tool|input|pid|fusion|asynchronous|log-level"
    r"|other-profiler|device|versions|ranks|relative-path|small))"
    r"|device\.state-(ok|npu-smi missing|driver not reachable|occupied|no card|not permitted|timeout|unknown)"
    r"|timeline\.lane-(compute|communication|copy)"
    r"|role\.(ok|origin|inherited|unmatched|unknown|suspect|benign)"
)


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def literals(path: Path) -> set[str]:
    """Every string constant of a source file."""
    tree = ast.parse(path.read_text("utf-8"))
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_both_languages_are_there_with_the_same_fields() -> None:
    for text_id, (en, zh) in TEXTS.items():
        assert en.strip() and zh.strip(), text_id
        assert fields(en) == fields(zh), text_id
        assert en.isascii(), text_id
        words = "".join(fixed for fixed, _, _, _ in string.Formatter().parse(zh))
        assert not zh.isascii() or not re.search("[A-Za-z]", words), text_id


def test_every_text_is_used() -> None:
    used = set().union(*(literals(path) for path in SOURCES if path.name != "texts.py"))
    unused = [i for i in TEXTS if i not in used and not TEXT_IDS_BUILT_AT_RUN_TIME.fullmatch(i)]
    assert unused == []


def test_every_used_text_exists() -> None:
    asked = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0]
            if name in ("tr", "notice") and isinstance(first, ast.Constant):
                asked.add(first.value)
    assert len(asked) > 30
    assert asked - set(TEXTS) == set()


def test_tr_fills_fields_and_picks_the_language() -> None:
    assert tr("theme.now", "en", name="dark") == "Theme: dark"
    assert tr("theme.now", "zh", name="dark") == "主题：dark"
    with pytest.raises(KeyError):
        tr("no.such-text", "en")


@pytest.mark.parametrize(
    ("flag", "environ", "remembered", "ascii_only", "expected"),
    [
        (None, {}, None, False, "en"),
        ("zh", {"NPULSE_LANG": "en", "LANG": "en_US.UTF-8"}, "en", False, "zh"),
        (None, {"NPULSE_LANG": "zh", "LANG": "en_US.UTF-8"}, "en", False, "zh"),
        (None, {"LANG": "en_US.UTF-8"}, "zh", False, "zh"),
        (None, {"LANG": "zh_CN.UTF-8"}, None, False, "zh"),
        (None, {"LANG": "en_US.UTF-8", "LC_ALL": "zh_CN.UTF-8"}, None, False, "zh"),
        ("zh", {"LANG": "zh_CN.UTF-8"}, "zh", True, "en"),
        (None, {"LANG": "C"}, None, False, "en"),
    ],
)
def test_language_is_chosen_by_flag_environment_memory_locale(
    flag: str | None, environ: dict[str, str], remembered: str | None, ascii_only: bool, expected: str
) -> None:
    assert choose_language(flag, environ, remembered=remembered, ascii_only=ascii_only) == expected


def test_no_hex_colours_in_python_or_style_sheets() -> None:
    colour = re.compile(r"#[0-9a-fA-F]{3,8}\b")
    for path in (*SOURCES, *TUI.rglob("*.tcss")):
        text = path.read_text("utf-8")
        strings = (
            " ".join(literals(path)) if path.suffix == ".py" else re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        )
        assert not colour.findall(strings), path


def test_no_data_inside_markup() -> None:
    tag = re.compile(r"\[/?(b|i|u|bold|dim|red|green|yellow|reverse|\$[a-z-]+|@click)\b")
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                fixed = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
                assert not tag.search(fixed), (path, node.lineno)
            if isinstance(node, ast.Attribute):
                assert node.attr != "from_markup", (path, node.lineno)


def test_statics_and_notices_never_parse_markup() -> None:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = (
                getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
            )
            if name in ("Static", "Label", "notify"):
                keywords = {k.arg: k.value for k in node.keywords}
                markup = keywords.get("markup")
                assert isinstance(markup, ast.Constant) and markup.value is False, (path, node.lineno)

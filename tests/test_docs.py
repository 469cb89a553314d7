"""The documentation is what the code tells: pages made from it are fresh, names and links in others hold."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from npulse.core.run.kinds import KINDS
from npulse.core.run.known_versions import versions_of

REPO = Path(__file__).resolve().parents[1]
DOCS = REPO / "docs"


@cache
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_docs", DOCS / "make_docs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_pages_made_from_the_code_are_fresh() -> None:
    assert maker().stale() == [], "run: python docs/make_docs.py   and commit what it wrote"


def test_a_stale_page_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in maker().pages().items():
        (tmp_path / name).write_text(text + ("x" if name == "keys.md" else ""), encoding="utf-8")
    monkeypatch.setattr(maker(), "DOCS", tmp_path)
    assert maker().stale() == ["keys.md"]


def test_every_kind_that_is_read_tells_of_which_versions() -> None:
    assert [kind.id for kind in KINDS.values() if kind.is_read and not versions_of(kind.id)] == []


@pytest.mark.parametrize(
    "page", [REPO / "README.md", REPO / "README.zh.md", *sorted(DOCS.glob("*.md"))], ids=str
)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text_of(page))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_index_names_every_page() -> None:
    index = text_of(DOCS / "README.md")
    pages = {path.name for path in DOCS.glob("*.md")} - {"README.md"}
    assert {name for name in pages if f"({name})" not in index} == set()


def test_the_walk_through_a_new_format_names_what_is_there() -> None:
    """Each file exists, and each name stands in the file that the same sentence names before it."""
    page = text_of(DOCS / "adding-a-format.md")
    words = re.findall(r"`([^`]+)`", page)
    files = {word for word in words if re.fullmatch(r"(core|tests)/[\w/]+(\.py)?/?", word)}
    assert len(files) >= 8 and [name for name in sorted(files) if not (REPO / name).exists()] == []
    names = {
        "core/run/kinds.py": ("_ROWS", "_READ", "_ALSO"),
        "core/run/known_versions.py": ("KNOWN_VERSIONS",),
        "core/run/signatures.py": ("CSV_COLUMNS", "JSON_KEYS", "SQLITE_TABLES", "TEXT_LINES"),
        "core/files.py": ("open_input",),
        "core/rules.py": ("Rule",),
        "core/findings.py": ("Problem",),
        "core/text.py": ("safe_text",),
        "core/errors.py": ("InputError",),
    }
    for file, told in names.items():
        for name in told:
            assert name in words, name
            assert re.search(rf"^(?:def |class )?{name}\b", text_of(REPO / file), re.MULTILINE), (file, name)
    readers = ("log_lines.py", "line_tables.py", "json_stream.py")
    assert [
        name for name in readers if name not in words or not (REPO / "core/formats" / name).exists()
    ] == []


def blocks(page: Path) -> list[str]:
    """The marked blocks of commands."""
    return re.findall(r"^<!-- \w+ -->\n```sh\n.*?^```", text_of(page), re.MULTILINE | re.DOTALL)


def commands_of(page: Path) -> list[list[str]]:
    """What stands in code in the first cell of each row of the table of commands."""
    rows = [line for line in text_of(page).splitlines() if line.startswith("| `npulse ")]
    return [re.findall(r"`[^`]*`", re.split(r"(?<!\\) \| ", row)[0]) for row in rows]


def test_both_readmes_give_the_same_commands() -> None:
    english, chinese = REPO / "README.md", REPO / "README.zh.md"
    assert blocks(english) == blocks(chinese) and len(blocks(english)) == 2
    assert commands_of(chinese) == commands_of(english), "a command's row stands in README.zh.md too"
    assert len(commands_of(english)) > 15


def test_the_picture_is_the_workbench_and_needs_nothing_from_elsewhere() -> None:
    """That it is the one of today is held by the snapshot that it is made from, and by its being fresh."""
    picture = text_of(DOCS / "screenshot.svg")
    assert picture.startswith("<svg") and "Fira Code" in picture
    assert not re.search(r"<script|<image|href=|url\(\W*http|@font-face", picture)
    shown = re.sub(r"<[^>]*>", "", picture).replace("&#160;", " ")
    assert "origin" in shown and "Precision" in shown

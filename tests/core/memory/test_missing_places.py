"""What is told of a site's source: the file that was found, and why another one was not shown."""

from __future__ import annotations

from pathlib import Path

from npulse.core.analysis import AnalysisOptions
from npulse.core.memory.analyse import Memory
from npulse.core.memory.excerpts import excerpt_of
from npulse.core.memory.faults import Access, Fault, Frame
from npulse.core.memory.missing_places import missing_excerpt_text, missing_words, no_line_text, source_of
from npulse.core.memory.places import Missing, SourceRoots
from npulse.core.memory.run_report import look, selections
from npulse.core.memory.sites import Site
from npulse.core.run.discover import discover
from npulse.core.text import Lang

from .logs_by_hand import SEEN, START, illegal

BUILD = "/build/xyz/proj"


def looked(tmp_path: Path, file: str, line: int, *, with_roots: bool = True) -> tuple[Memory, Site]:
    """The one site of a log, with the source tree below: `tile.cpp` of 4 lines, `util.h` in two folders."""
    src, run = tmp_path / "src", tmp_path / "run"
    for name, text in (
        ("op_kernel/tile.cpp", "// one\nvoid f() {\n  DataCopy(dst, src, 64);\n}\n"),
        ("a/util.h", "// a\n"),
        ("b/util.h", "// b\n"),
    ):
        (src / name).parent.mkdir(parents=True, exist_ok=True)
        (src / name).write_text(text)
    run.mkdir(exist_ok=True)
    (run / "check.log").write_text(START + illegal(line, file=file) + SEEN)
    opened = discover(run)
    options = AnalysisOptions(source_roots=(src,) if with_roots else ())
    found = look(opened, selections(opened, options)[-1], options)
    (site,) = found.sites
    return found, site


def test_the_file_of_a_moved_tree_is_the_one_that_was_found(tmp_path: Path) -> None:
    found, site = looked(tmp_path, f"{BUILD}/op_kernel/tile.cpp", 3)
    assert source_of(found, site) == f"{tmp_path / 'src/op_kernel/tile.cpp'}:3 DataCopy(dst, src, 64);"
    assert missing_excerpt_text(found, site, "en") == ""
    at_home = str(tmp_path / "src/op_kernel/tile.cpp")
    found, site = looked(tmp_path, at_home, 3)
    assert source_of(found, site) == f"{at_home}:3 DataCopy(dst, src, 64);"


def test_files_that_fit_equally_well_are_named(tmp_path: Path) -> None:
    found, site = looked(tmp_path, f"{BUILD}/util.h", 1)
    assert source_of(found, site) == ""
    for lang, words in (("en", "2 files"), ("zh", "2 个文件")):
        text = missing_excerpt_text(found, site, lang)  # type: ignore[arg-type]
        assert words in text and f"{BUILD}/util.h:1" in text
        assert str(tmp_path / "src/a/util.h") in text and str(tmp_path / "src/b/util.h") in text


def test_a_line_behind_the_end_of_the_file_is_told(tmp_path: Path) -> None:
    found, site = looked(tmp_path, f"{BUILD}/op_kernel/tile.cpp", 300)
    assert source_of(found, site) == ""
    assert "the file ends before this line" in missing_excerpt_text(found, site, "en")
    assert "行数不足" in missing_excerpt_text(found, site, "zh")
    (excerpt,) = found.excerpts[site.key]
    assert excerpt.missing is not None and excerpt.missing.reason == "line-past-end"
    assert missing_words(site, excerpt, "en").startswith("the file ends before this line")


def test_the_last_lines_stay_where_they_are_near(tmp_path: Path) -> None:
    (tmp_path / "tile.cpp").write_text("one\ntwo\nthree\n")
    roots = SourceRoots([tmp_path])
    near = excerpt_of(Frame("/w/tile.cpp", 5), roots)
    assert [number for number, _ in near.lines] == [1, 2, 3]
    assert near.missing is not None and near.missing.reason == "line-past-end"
    last = excerpt_of(Frame("/w/tile.cpp", 3), roots)
    assert last.missing is None and last.marked == 3


def test_without_source_folders_nothing_is_said_of_each_site(tmp_path: Path) -> None:
    found, site = looked(tmp_path, f"{BUILD}/util.h", 1, with_roots=False)
    assert missing_excerpt_text(found, site, "en") == "" and source_of(found, site) == ""


def test_a_file_that_no_folder_holds_is_told(tmp_path: Path) -> None:
    found, site = looked(tmp_path, f"{BUILD}/\x1b[2Jother.cpp", 4)
    text = missing_excerpt_text(found, site, "en")
    assert "in none of the source folders" in text and "\x1b" not in text


def test_line_0_does_not_hide_the_file_and_who_called_it() -> None:
    zero, caller = Frame("/b/op_kernel/k.cpp", 0, 0), Frame("/b/op_kernel/k.cpp", 32, 13)
    toolkit = Frame("/usr/local/Ascend/cann/aarch64-linux/tikcpp/tikcfw/impl/dma.h", 0, 0)

    def said(*frames: Frame, lang: Lang = "en") -> str:
        access = Access("write", 64, "GM", 0x10, kernel="kk", frames=frames)
        fault = Fault("msSanitizer", "illegal write", "error", "", "a.log", 1, 0, (access,))
        return no_line_text(fault, Missing("line-zero"), lang)

    assert said(zero, caller).startswith(
        "in /b/op_kernel/k.cpp (line unknown), called from /b/op_kernel/k.cpp:32; the log says line 0"
    )
    assert "called" not in said(toolkit, zero) and "k.cpp (line unknown); the log" in said(toolkit, zero)
    assert "k.cpp:32" in said(zero, caller, lang="zh")
    assert said().startswith("the log says line 0")

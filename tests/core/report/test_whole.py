"""A dossier as Markdown, JSON, CSV and xlsx: everything is in it, nothing of a name is obeyed."""

from __future__ import annotations

import contextlib
import csv
import gc
import io
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from npulse.core.errors import EnvironmentLacks, InputError, UsageError
from npulse.core.findings import Verdict
from npulse.core.report import (
    WHOLE_FORMATS,
    Dossier,
    as_xlsx,
    dossier_of,
    render_whole,
    whole_format_of,
    write_whole_report,
)

from .samples import FORMULAS, HOSTILE, check_up, dossier

SUFFIXES = {"html": ".html", "md": ".md", "json": ".json", "junit": ".xml", "csv": ".csv", "xlsx": ".xlsx"}


def text(one: Dossier, format_name: str, lang: str = "en") -> str:
    return "".join(render_whole(one, format_name, version="0", lang=lang))  # type: ignore[arg-type]


def test_the_suffix_decides() -> None:
    assert {name: whole_format_of(f"a.b{suffix.upper()}") for name, suffix in SUFFIXES.items()} == {
        name: name for name in WHOLE_FORMATS
    }
    for path in ("a", "a.pdf", "xml"):
        with pytest.raises(UsageError, match="no report format"):
            whole_format_of(path)
    with pytest.raises(UsageError):
        render_whole(dossier(), "xlsx", version="0")


def test_json_is_one_object_of_the_contracts_shape() -> None:
    body = json.loads(text(dossier(HOSTILE), "json"))
    assert (body["schema"], body["command"], body["verdict"], body["exit_code"]) == (1, "report", "fail", 1)
    assert [one["round"][:6] for one in body["reports"]] == ["round1", "round2"]
    assert all(one["command"] == "precision" and "tables" not in one for one in body["reports"])
    assert body["story"]["findings"][0]["rule"] == "rounds.worse"
    areas = {area["area"]: area for area in body["checkup"]["areas"]}
    assert list(areas) == ["memory", "precision", "performance"]
    assert areas["precision"]["origin"]["rule"] == "precision.operator"
    assert areas["performance"]["is_trusted"] is False
    (failed,) = [one for one in areas["precision"]["criteria"] if one["verdict"] == "fail"]
    assert (failed["value"], failed["needs"], failed["unit"]) == (0.5, ">= 0.99", "us")
    assert "\x1b" not in text(dossier(HOSTILE), "json")


def test_a_check_up_alone_has_the_reports_it_was_made_of() -> None:
    one = dossier_of(check_up())
    assert [told.round for told in one.reports] == ["round1"] and one.story is None
    assert json.loads(text(one, "json"))["story"] is None


@pytest.mark.parametrize(
    ("state", "code", "strict"),
    [("pass", 0, 0), ("warn", 0, 1), ("fail", 1, 1), ("unknown", 4, 4), ("incomplete", 4, 4)],
)
def test_the_exit_code_is_the_check_ups(state: Verdict, code: int, strict: int) -> None:
    from dataclasses import replace

    one = dossier_of(replace(check_up(), state=state))
    assert (one.exit_code(), one.exit_code(strict=True)) == (code, strict)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_markdown_says_where_to_look_first(lang: str) -> None:
    made = text(dossier(), "md", lang)
    assert made.startswith("# npulse: FAIL")
    assert ("Look first: Precision" in made) == (lang == "en") and ("先看：精度" in made) == (lang == "zh")
    assert made.count("\n## npulse precision: FAIL") == 2 and "\n## npulse rounds: WARN" in made
    assert made.count("`precision.fail`") == 1
    newest, before = (made.index(f" \N{MIDDLE DOT} `round{n}") for n in (2, 1))
    assert newest < before, "the newest round is read first"


@pytest.mark.parametrize("format_name", ["md", "html"])
def test_figures_that_mean_nothing_say_whose_trouble_they_are(format_name: str) -> None:
    told = "".join(render_whole(dossier(), format_name, version="1"))
    (row,) = [line for line in re.split("\n|</tr>", told) if "quick" in line and "mean nothing" in line]
    assert "before Precision is repaired" in row and told.count("mean nothing before") == 1


def test_markdown_obeys_no_name() -> None:
    """A name adds no line, no column and no heading."""
    plain, hostile = (text(dossier(name), "md") for name in ("plain", HOSTILE))
    assert hostile.count("\n") == plain.count("\n")
    bars = [[line.replace("\\|", "").count("|") for line in made.split("\n")] for made in (plain, hostile)]
    assert bars[0] == bars[1]
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2028"} & set(hostile)


def test_csv_holds_every_finding_of_every_round() -> None:
    rows = list(csv.reader(io.StringIO(text(dossier("=cmd()"), "csv"))))
    assert rows[0][:4] == ["area", "round", "severity", "role"]
    assert [row[0] for row in rows[1:]] == ["precision"] * 4 + ["rounds"]
    assert [row[1][:6] for row in rows[1:]] == ["round2", "round2", "round1", "round1", "'=cmd("]
    assert all(row[rows[0].index("subject")] == "'=cmd()" for row in rows[1:])


def sheets(path: Path) -> dict[str, list[list[Any]]]:
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_path(str(path))
    return {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}


@pytest.mark.parametrize("name", [*FORMULAS, HOSTILE, "http://example.org", "0012", "{=1}", "x" * 40_000])
def test_xlsx_keeps_names_as_text(tmp_path: Path, name: str) -> None:
    import zipfile

    path = tmp_path / "a.xlsx"
    write_whole_report(dossier(name, n_rows=6), path, version="1.2")
    found = sheets(path)
    assert list(found)[:3] == ["npulse", "criteria", "findings"]
    heads, *rows = found["findings"]
    shown = [row[heads.index("subject")] for row in rows]
    assert len(shown) == 5 and all(isinstance(one, str) for one in shown)
    with zipfile.ZipFile(path) as archive:
        parts = [n for n in archive.namelist() if n.startswith("xl/worksheets/")]
        raw = b"".join(map(archive.read, parts))
        links = [
            n for n in archive.namelist() if n.endswith(".rels") and b"http://example" in archive.read(n)
        ]
    assert b"<f>" not in raw and b"<f " not in raw and b"<hyperlink" not in raw and not links


def test_xlsx_holds_the_compare_table(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_whole_report(dossier(n_rows=6), path, version="1.2")
    found = sheets(path)
    (one, two) = [name for name in found if name.startswith("precision round")]
    assert found[one] == found[two]
    heads, *rows = found[one]
    assert heads == ["target", "cosine", "n_rows", "flag"]
    assert [row[1] for row in rows] == [0.1, "nan", "inf", "-inf", "", 0.1]  # absent is empty, never 0
    assert [row[2] for row in rows] == [0, 1, "", 3, 4, ""]
    assert rows[0][3] is True and rows[1][3] is False
    assert ["verdict", "fail"] in found["npulse"]


def test_xlsx_says_what_a_sheet_cannot_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(as_xlsx, "MAX_ROWS", 20)
    write_whole_report(dossier(n_rows=30), tmp_path / "a.xlsx", version="1")
    found = sheets(tmp_path / "a.xlsx")
    name = next(name for name in found if name.startswith("precision round"))
    assert len(found[name]) == 20
    assert [row[1] for row in found["npulse"] if row[0] == f"sheet {name}"] == [
        "the first 19 of 30 rows: a sheet holds no more"
    ]


def test_without_the_library_xlsx_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter.workbook", None)
    with pytest.raises(EnvironmentLacks) as caught:
        write_whole_report(dossier(), tmp_path / "a.xlsx", version="1")
    assert "npulse[xlsx]" in str(caught.value.hint)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format_name", WHOLE_FORMATS)
def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_name: str
) -> None:
    import errno
    import os

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / f"a{SUFFIXES[format_name]}"
    path.write_text("before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write_whole_report(dossier(), path, version="1")
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


def test_a_disk_that_is_full_in_the_middle_of_a_workbook_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library closes its archive once more when it is cleared away: that would be a trace on stderr. It
    leaves files of its own as well."""

    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            if self.tell() > 2_000:
                raise OSError(28, "No space left on device")
            return super().write(data)

    later: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", later.append)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    file = Full()
    with contextlib.suppress(OSError):
        as_xlsx.write_xlsx(dossier(), file, version="1")
        raise AssertionError("it fits")
    file.close()
    gc.collect()
    assert later == [] and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format_name", WHOLE_FORMATS)
def test_never_into_the_run(tmp_path: Path, format_name: str) -> None:
    with pytest.raises(InputError, match="not written into the run"):
        write_whole_report(dossier(), tmp_path / f"a{SUFFIXES[format_name]}", version="1", runs=[tmp_path])
    assert list(tmp_path.iterdir()) == []

"""`npulse precision`: sides by options, a configuration, what is asked, and the file whose suffix decides."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from npulse.tui.cli.main import run

from ..panes.captures import ORIGIN, write_pair

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def sides(tmp_path: Path) -> tuple[str, str]:
    root = write_pair(tmp_path / "run")
    target, golden = sorted(path for path in root.iterdir() if path.is_dir())[::-1]
    if not (golden / "step0").exists():
        raise AssertionError(f"{golden} is no capture")
    return str(target), str(golden)


def told(capsys: Capture, *words: str) -> tuple[int, str, str]:
    code = run(["precision", *words, "--no-cache"])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_sides_by_their_options(sides: tuple[str, str], tmp_path: Path, capsys: Capture) -> None:
    target, golden = sides
    code, by_path, _ = told(capsys, target, golden)
    assert code == 1 and ORIGIN in by_path
    assert told(capsys, "-r", golden, "-t", target) == (1, by_path, "")
    assert told(capsys, "--reference", golden, target)[1] == by_path
    code, _, err = told(capsys, "-r", golden, "-t", target, target)
    assert code == 2 and "one path too many" in err
    assert told(capsys)[0] == 2


@pytest.mark.parametrize("suffix", ["html", "xml", "xlsx", "md", "json", "csv", "txt"])
def test_the_suffix_decides(sides: tuple[str, str], suffix: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / f"report.{suffix}"
    assert told(capsys, "-r", sides[1], "-t", sides[0], "-o", str(path))[0] == 1
    data = path.read_bytes()
    if suffix == "xlsx":
        with zipfile.ZipFile(path) as book:
            data = b"".join(book.read(name) for name in book.namelist())
    assert ORIGIN.encode() in data
    if suffix == "xml":
        suite = ElementTree.fromstring(data)
        assert suite.attrib["failures"] == "1"
    if suffix == "json":
        assert json.loads(data)["findings"][0]["subject"] == ORIGIN


def test_a_page_is_not_written_into_what_was_compared(sides: tuple[str, str], capsys: Capture) -> None:
    code, _, err = told(capsys, *sides, "-o", f"{sides[1]}/report.html")
    assert code == 2 and "not written into the run" in err
    assert not Path(sides[1], "report.html").exists()


@pytest.mark.parametrize("is_option", [True, False])
def test_a_configuration(sides: tuple[str, str], is_option: bool, tmp_path: Path, capsys: Capture) -> None:
    document = {
        "output_dir": sides[0],
        "compare": {"enable": True, "golden_path": sides[1], "metrics": ["cosine_similarity"]},
    }
    path = tmp_path / "compare.json"
    path.write_text(json.dumps(document))
    code, out, err = told(capsys, *(["--config"] if is_option else []), str(path))
    assert code == 1 and ORIGIN in out and "cosine: worst" in out
    assert f"compare.json: golden_path: {sides[1]}" in err
    assert told(capsys, str(path), "--metric", "norm_ratio")[1].count("norm_ratio: worst") == 1


def test_how_much_is_told(sides: tuple[str, str], capsys: Capture) -> None:
    lengths = [len(told(capsys, *sides, "-v", str(level))[1]) for level in range(4)]
    assert lengths[0] <= lengths[1] <= lengths[2] < lengths[3]
    for level in ("0", "3"):
        assert ORIGIN in told(capsys, *sides, "-v", level)[1]
    assert told(capsys, *sides, "-v", "4")[0] == 2


def test_raw_elements_are_compared_as_the_options_say(tmp_path: Path, capsys: Capture) -> None:
    values = np.arange(8, dtype="<f2")
    for name, array in (("a.bin", values), ("b.bin", values * 2)):
        (tmp_path / name).write_bytes(array.tobytes())
    paths = (str(tmp_path / "a.bin"), str(tmp_path / "b.bin"))
    code, out, _ = told(capsys, *paths, "--dtype", "float16", "--shape", "2,4", "--format", "json")
    assert (code, json.loads(out)["findings"][0]["figures"]["rel_l2"]) == (1, 0.5)
    for word, value in (("--dtype", "float17"), ("--shape", "2;4")):
        code, _, err = told(capsys, *paths, word, value)
        assert code == 2 and value in err


def test_inputs_alone(sides: tuple[str, str], capsys: Capture) -> None:
    code, out, _ = told(capsys, "--inputs", *sides)
    assert code in (0, 4) and "before any operator" in out and ORIGIN not in out
    code, _, err = told(capsys, "--inputs", sides[0])
    assert code == 2 and "--inputs compares two captures" in err


def test_a_precision_map(sides: tuple[str, str], tmp_path: Path, capsys: Capture) -> None:
    assert "Precision map: no call fits nothing" in told(capsys, *sides, "--precision-map", "nothing=bf16")[1]
    wrong = tmp_path / "map.toml"
    wrong.write_text('a = "bf16"\nb = "int8"\n')
    code, _, err = told(capsys, *sides, "--precision-map", str(wrong))
    assert code == 2 and "map.toml" in err and "2" in err


# ---- a verified capture kept as the golden one ----


def test_a_kept_capture_is_the_golden_one(sides: tuple[str, str], capsys: Capture) -> None:
    target, golden = sides
    code, _, err = told(capsys, "--baseline", golden)
    assert code == 0 and f"{golden} is the golden capture" in err and "all bytes hashed" in err
    code, out, err = told(capsys, target)
    assert code == 1 and ORIGIN in out and f"golden: {golden}" in err
    assert told(capsys, golden)[0] == 4  # itself: no comparison
    assert ORIGIN in told(capsys, str(Path(target).parent))[1]  # a run that holds both needs none
    dump = next(Path(golden).rglob("dump.json"))
    dump.write_text(dump.read_text() + " ")
    code, _, err = told(capsys, target)
    assert code == 2 and "has changed since it was kept" in err
    assert told(capsys, target, "--baseline", "none")[0] == 4
    code, _, err = told(capsys, target)
    assert code == 4 and "golden:" not in err


def test_a_kept_capture_is_forgotten_by_the_folder_that_was_told(
    sides: tuple[str, str], capsys: Capture
) -> None:
    place = str(Path(sides[1]).parent)
    assert f"below {place} from now on" in told(capsys, "--baseline", sides[1])[2]
    assert f"{sides[1]} is no golden capture any more" in told(capsys, place, "--baseline", "none")[2]
    assert f"no baseline is kept for {place}" in told(capsys, place, "--baseline", "none")[2]


def test_what_cannot_be_a_golden_capture(sides: tuple[str, str], tmp_path: Path, capsys: Capture) -> None:
    assert "holds both sides" in told(capsys, "--baseline", str(Path(sides[0]).parent))[2]
    (tmp_path / "empty").mkdir()
    assert "no capture" in told(capsys, "--baseline", str(tmp_path / "empty"))[2]
    assert told(capsys, *sides, "--baseline", sides[1])[0] == 2

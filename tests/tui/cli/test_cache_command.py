from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from npulse.core.cache import Cache
from npulse.tui.cli.main import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setenv("NPULSE_CACHE_DIR", str(tmp_path / "kept"))
    return Cache(tmp_path / "kept")


def test_what_is_kept_is_told_by_kind(cache: Cache, capsys: Capture) -> None:
    assert run(["cache", "--lang", "en"]) == 0
    assert "nothing is kept" in capsys.readouterr().out
    for kind in ("view", "report", "report"):
        cache.put(kind + str(len(list(cache.folder.glob("*")))), {"a": np.ones(9)}, kind=kind, run="r")
    (cache.folder / "npulse-anything").write_bytes(b"x" * 7)
    assert run(["cache", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    files = [path.stat().st_size for path in cache.folder.iterdir()]
    assert (told["entries"], told["size_bytes"]) == (len(files), sum(files))
    assert {one["kind"]: one["entries"] for one in told["kinds"]} == {"view": 1, "report": 2, "other": 1}
    assert run(["cache", "--lang", "zh"]) == 0
    assert "各方面的报告" in capsys.readouterr().out
    assert run(["cache", "path"]) == 0
    assert capsys.readouterr().out == f"{cache.folder}\n"


def test_clearing_takes_what_is_old(cache: Cache, capsys: Capture) -> None:
    cache.put("old", facts=1, kind="run", run="r")
    (old,) = cache.folder.iterdir()
    os.utime(old, (1e9, 1e9))
    cache.put("new", facts=1)
    (cache.folder / "mine.txt").write_text("x")
    assert run(["cache", "clear", "--older-than", "7d", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed_entries": 1, "removed_packs": 0}
    assert cache.get("new") is not None and not old.exists()
    assert run(["cache", "--lang", "en"]) == 0
    assert "size    <0.1 MB" in capsys.readouterr().out, "some bytes are not none"
    assert run(["cache", "clear", "--lang", "en"]) == 0
    assert capsys.readouterr().out == "removed: 1 entry, 0 packs\n"
    assert run(["cache", "--json", "clear"]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed_entries": 0, "removed_packs": 0}
    assert [path.name for path in cache.folder.iterdir()] == ["mine.txt"]


def test_the_bound_is_the_users(cache: Cache, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPULSE_CACHE_MAX", "2 GB")
    assert run(["cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["max_bytes"] == 2 * 10**9
    monkeypatch.setenv("NPULSE_CACHE_MAX", "much")
    assert run(["cache"]) == 2
    assert "much" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["", "7", "d", "-1d", "1e9d", "7 days"])
def test_a_length_of_time_that_is_none(cache: Cache, word: str, capsys: Capture) -> None:
    assert run(["cache", "clear", f"--older-than={word}"]) == 2
    assert "length of time" in capsys.readouterr().err

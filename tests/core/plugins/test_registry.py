"""Which plug-ins there are: packages by metadata alone, added files by their hash, never the current one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError, UsageError
from npulse.core.plugins import added, registry
from npulse.core.plugins.loaded import items

from .code import READER


def package(folder: Path, name: str = "acme", version: str = "1.2", points: str = "") -> Path:
    """A package as pip leaves it, without any code that could be imported."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(points)
    return folder


def test_entry_points_are_listed_by_metadata_without_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = "[npulse.metrics]\ngap = acme_none_such:Gap\n[npulse.readers]\ntrace = acme_none_such:Trace\n"
    site = package(tmp_path / "site", points=points + "[console_scripts]\nacme = acme:main\n")
    monkeypatch.syspath_prepend(str(site))
    found = {p.name: p for p in registry.plugins()}
    assert found["gap"].kinds == ("metric",) and found["trace"].kinds == ("reader",)
    assert found["gap"].origin == "package" and found["gap"].source == "acme"
    assert found["gap"].version == "1.2" and found["gap"].value == "acme_none_such:Gap"
    assert "acme" not in found and "acme_none_such" not in sys.modules


def test_the_current_folder_holds_no_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = package(tmp_path / "run", points="[npulse.analyses]\nevil = evil:Evil\n")
    monkeypatch.syspath_prepend(str(site))
    assert [p.name for p in registry.plugins()] == ["evil"]  # it is one where the folder is not the current
    monkeypatch.chdir(site)
    for entry in ("", ".", str(site)):
        monkeypatch.setattr(sys, "path", [entry, *sys.path[1:]])
        registry.use()
        assert registry.plugins() == ()


def test_off_is_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "acme.py"
    file.write_text(READER)
    registry.use([file])
    assert [p.name for p in registry.plugins()] == ["acme"]
    registry.use([file], off=True)
    assert registry.plugins() == ()
    registry.use([file])
    monkeypatch.setenv("NPULSE_NO_PLUGINS", "1")
    assert registry.plugins() == ()


def test_a_name_belongs_to_the_first_and_a_bad_one_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = "[npulse.metrics]\nacme = a:B\nBad/Name = a:C\n"
    monkeypatch.syspath_prepend(str(package(tmp_path / "site", points=points)))
    file = tmp_path / "acme.py"
    file.write_text(READER)
    registry.use([file])
    assert [(p.name, p.origin, p.state) for p in registry.plugins()] == [
        ("acme", "file", "ok"),
        ("Bad/Name", "package", "bad-name"),
        ("acme", "package", "same-name"),
    ]
    assert [(plugin.origin, item.kind) for plugin, item in items("reader")[0]] == [("file", "reader")]


def test_an_added_file_is_run_until_it_changes(tmp_path: Path) -> None:
    copy = added.add("acme", READER.encode(), "/somewhere/acme.py", ("reader",))
    found = registry.added_plugins()
    assert [(p.name, p.state, p.kinds, p.source) for p in found] == [
        ("acme", "ok", ("reader",), "/somewhere/acme.py")
    ]
    assert found[0].code == READER.encode()
    copy.write_text(READER + "# x")
    (changed,) = registry.added_plugins()
    assert changed.state == "changed" and changed.code == b""
    added.add("acme", copy.read_bytes(), str(copy), ("reader",))
    assert registry.added_plugins()[0].state == "ok"
    copy.unlink()
    assert registry.added_plugins()[0].state == "missing"
    added.remove("acme")
    assert registry.added_plugins() == ()
    with pytest.raises(UsageError, match="no plug-in 'acme' was added"):
        added.remove("acme")


def test_an_added_file_that_became_a_link_or_pipe_is_not_run(tmp_path: Path) -> None:
    import os

    copy = added.add("acme", READER.encode(), "acme.py", ("reader",))
    copy.unlink()
    os.mkfifo(copy)
    assert registry.added_plugins()[0].state == "missing"


@pytest.mark.parametrize("name", ["", "A", "a b", "../x", "a" * 41, "-a", "a.b", "ä"])
def test_names_that_no_rule_could_carry_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is no name for a plug-in"):
        registry.check_name(name)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        '{"schema": 2, "plugins": {}}',
        '{"schema": 1, "plugins": []}',
        '{"schema": 1, "plugins": {"../x": {"sha256": ""}}}',
        '{"schema": 1, "plugins": {"x": {"sha256": 3}}}',
        "[" * 100_000,
    ],
)
def test_a_broken_list_is_told_not_taken_for_an_empty_one(body: str) -> None:
    place = added.folder() / "plugins.json"
    place.parent.mkdir(parents=True)
    place.write_text(body)
    with pytest.raises(InputError) as caught:
        registry.plugins()
    assert str(place) in str(caught.value)


@given(st.binary(max_size=300))
def test_no_list_makes_anything_but_an_input_error(raw: bytes) -> None:
    place = added.folder() / "plugins.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(raw)
    try:
        assert added.entries() == () or json.loads(raw)
    except InputError:
        pass


def test_a_configuration_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file in its place")
    with pytest.raises(InputError, match="cannot be written"):
        added.add("acme", READER.encode(), "acme.py", ("reader",))

"""Settings files as keys and values: what is nested, what is refused, what damage does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.settings_json import MAX_BYTES, flattened, read_settings_json

CONFIG = {
    "task": "statistics",
    "rank": [],
    "step": ["0", "5-10"],
    "statistics": {"scope": [], "list": ["conv*"], "data_mode": ["all"]},
    "dump": {"dump_list": [{"layer": ["a", "b"]}, {"model_name": "m"}]},
    "enable": True,
    "ratio": 0.5,
}


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "config.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_keys_are_paths_and_plain_lists_are_one_value(tmp_path: Path) -> None:
    found = read_settings_json(written(tmp_path, json.dumps(CONFIG)))
    assert found["task"] == "statistics" and found["rank"] == "[]" and found["step"] == '["0", "5-10"]'
    assert found["statistics.list"] == '["conv*"]'
    assert found["dump.dump_list[0].layer"] == '["a", "b"]' and found["dump.dump_list[1].model_name"] == "m"
    assert (found["enable"], found["ratio"]) == ("true", "0.5") and len(found) == 10


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "{", '{"a": 1', b"\xff\xfe{\x00}\x00", "[" * 100_000, '{"a":' * 100_000]
)
def test_what_is_no_object_is_refused(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(InputError) as caught:
        read_settings_json(written(tmp_path, text))
    assert "config.json" in str(caught.value)


def test_too_large_too_many_and_links_out_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not read"):
        read_settings_json(written(tmp_path, '{"a": "' + "x" * MAX_BYTES + '"}'))
    many = json.dumps({str(n): n for n in range(6_000)})
    with pytest.raises(InputError, match="5,000 keys"):
        read_settings_json(written(tmp_path, many))
    run = tmp_path / "run"
    run.mkdir()
    (run / "link.json").symlink_to(tmp_path / "config.json")
    with pytest.raises(InputError, match="outside"):
        read_settings_json(run / "link.json", root=run)


@given(st.binary(max_size=300), st.integers(0, 200))
@settings(max_examples=150, deadline=None)
def test_damaged_files_are_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, at: int
) -> None:
    raw = json.dumps(CONFIG).encode()
    path = written(tmp_path_factory.mktemp("damaged"), raw[:at] + junk + raw[at + len(junk) :])
    try:
        found = read_settings_json(path)
    except InputError:
        return
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in found.items())


def test_deep_tables_end_in_one_text() -> None:
    value: object = 1
    for _ in range(60):
        value = {"k": value}
    found = dict(flattened(value))
    assert len(found) == 1 and next(iter(found)).count("k") == 32

"""The sample run w8a8: its bytes are what the script makes, and its figures tell the promised story."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from npulse.core.errors import UsageError
from npulse.core.formats.tensors.open import open_tensor
from npulse.sample_runs import SAMPLES, sample_path
from npulse.sample_runs.make_w8a8 import RARE_POSITION, RARE_TOKEN, make, make_prompts

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

W8A8 = sample_path("w8a8")
SIDES = {"golden": "golden", "round1": "round1/target", "round2": "round2/target"}
CACHED = {**SIDES, "round3": "round3/target"}
ORIGIN = "Module.model.layers.25.self_attn.qkv_proj.Linear.forward.0"
RARE_TOKEN_ROW = 11

Values = npt.NDArray[np.float64]


def rank_folder(side: str) -> Path:
    return W8A8 / CACHED[side] / "step0" / "rank0"


def read_json(side: str, file: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((rank_folder(side) / f"{file}.json").read_text())
    return content


def leaves(side: str) -> dict[str, dict[str, Any]]:
    """Leaf name -> record, in the order of the dump."""
    found = {}
    for entry, body in read_json(side, "dump")["data"].items():
        for name, key in (("input", "input_args"), ("output", "output")):
            for index, record in enumerate(body[key]):
                found[f"{entry}.{name}.{index}"] = record
    return found


def tensor(side: str, record: dict[str, Any]) -> Values:
    with zipfile.ZipFile(rank_folder(side) / "dump_tensor_data" / record["data_name"]) as archive:
        raw = archive.read("archive/data/0")
    if record["dtype"] == "torch.int64":
        return np.frombuffer(raw, "<i8").reshape(record["shape"]).astype(np.float64)
    assert record["dtype"] == "torch.bfloat16"
    bits = np.frombuffer(raw, "<u2").astype("<u4") << 16
    return bits.view("<f4").reshape(record["shape"]).astype(np.float64)


def compare(side: str) -> dict[str, tuple[float, float]]:
    """Leaf name -> (cosine, norm ratio) of all kept tensors, target against golden."""
    target, rows = leaves(side), {}
    for name, record in leaves("golden").items():
        if "data_name" in record and "data_name" in target.get(name, ()):
            g, t = tensor("golden", record).ravel(), tensor(side, target[name]).ravel()
            norms = np.sqrt((g * g).sum()), np.sqrt((t * t).sum())
            rows[name] = (float((g * t).sum() / (norms[0] * norms[1])), float(norms[1] / norms[0]))
    return rows


def is_error(row: tuple[float, float]) -> bool:
    cosine, norm_ratio = row
    return cosine < 0.99 or not 0.99 <= norm_ratio <= 1.01


def manifest(name: str) -> dict[str, Any]:
    return tomllib.loads((W8A8 / name / "round.toml").read_text())


def files_below(folder: Path) -> dict[str, bytes]:
    paths = (p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths}


def test_running_the_script_again_gives_the_same_bytes(tmp_path: Path) -> None:
    make(tmp_path / "again")
    made, committed = files_below(tmp_path / "again"), files_below(W8A8)
    assert sorted(made) == sorted(committed)
    assert [name for name in made if made[name] != committed[name]] == []


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        make(tmp_path)
    assert files_below(tmp_path) == {"golden/mine.txt": b"mine"}


def test_it_is_small() -> None:
    files = files_below(W8A8.parent)
    assert sum(map(len, files.values())) < 3_000_000
    assert len(files) < 1200


def test_round_1_agrees_until_layer_25_clips_the_rare_token() -> None:
    rows = compare("round1")
    first_error = next(name for name, row in rows.items() if is_error(row))
    assert first_error == f"{ORIGIN}.output.0"
    assert rows[f"{ORIGIN}.input.0"][0] > 0.999
    assert 0.94 < rows[f"{ORIGIN}.output.0"][0] < 0.97
    for name, (cosine, _) in rows.items():
        if re.search(r"\.layers\.([0-9]|1[0-9]|2[0-4])\.", name):
            assert cosine > 0.995, name


def test_round_1_passes_its_errors_on() -> None:
    rows = compare("round1")
    assert 0.955 < rows["Module.lm_head.Linear.forward.0.output.0"][0] < 0.965
    assert 0.955 < rows["Module.model.norm.RMSNorm.forward.0.output.0"][0] < 0.965
    for layer in range(26, 32):
        name = f"Module.model.layers.{layer}.self_attn.qkv_proj.Linear.forward.0.input.0"
        assert rows[name][0] < 0.99, name


def test_one_token_carries_the_error_and_lies_outside_the_calibrated_range() -> None:
    name = f"{ORIGIN}.output.0"
    golden, target = leaves("golden"), leaves("round1")
    squared = (tensor("golden", golden[name]) - tensor("round1", target[name])) ** 2
    by_token = squared.sum(axis=1) / squared.sum()
    assert by_token.argmax() == RARE_TOKEN_ROW and by_token.max() > 0.9
    given = np.abs(tensor("golden", golden[f"{ORIGIN}.input.0"]))
    calibrated = manifest("round1")["calibration"]["input_absmax"]["model.layers.25.self_attn.qkv_proj"]
    assert given.max(axis=1).argmax() == RARE_TOKEN_ROW
    assert 6.0 < given.max() / calibrated < 7.0
    assert np.delete(given, RARE_TOKEN_ROW, axis=0).max() <= calibrated


def test_only_one_linear_layer_gets_more_than_its_calibrated_range_by_far() -> None:
    golden = leaves("golden")
    ranges = manifest("round1")["calibration"]["input_absmax"]
    assert len(ranges) == 32 * 4
    beyond = {}
    for path, calibrated in ranges.items():
        given = np.abs(tensor("golden", golden[f"Module.{path}.Linear.forward.0.input.0"])).max()
        beyond[path] = given / calibrated
    worst = max(beyond, key=lambda path: beyond[path])
    assert worst == "model.layers.25.self_attn.qkv_proj"
    before = [ratio for path, ratio in beyond.items() if int(path.split(".")[2]) < 25]
    assert len(before) == 25 * 4 and max(before) < 1.3


def test_round_2_has_no_error_row() -> None:
    rows = compare("round2")
    assert [name for name, row in rows.items() if is_error(row)] == []
    assert rows["Module.lm_head.Linear.forward.0.output.0"][0] > 0.99


def test_round_3_pays_for_its_cache_in_attention_alone() -> None:
    rows = compare("round3")
    assert 0.9925 < rows["Module.lm_head.Linear.forward.0.output.0"][0] < 0.994
    origin = "Module.model.layers.25.self_attn"
    assert rows[f"{origin}.qkv_proj.Linear.forward.0.input.0"][0] > 0.99
    for number in range(3):
        assert rows[f"{origin}.attn.Attention.forward.0.input.{number}"][0] > 0.99
    assert rows[f"{origin}.attn.Attention.forward.0.output.0"][0] < 0.98


def test_the_cache_of_round_3_holds_the_int8_steps_that_the_manifest_says() -> None:
    """Attention of layer 25 again, from the tensors: once as golden has it, once with int8 keys, values."""
    prefix, records = "Module.model.layers.25.self_attn.attn.Attention.forward.0", leaves("round3")
    query, key, value = (tensor("round3", records[f"{prefix}.input.{i}"]) for i in range(3))
    recorded = tensor("round3", records[f"{prefix}.output.0"])

    def attention(key: Values, value: Values) -> Values:
        heads = []
        for own in np.split(query, 5, axis=1):
            scores = np.where(np.tri(16) > 0, own @ key.T / np.sqrt(8), -np.inf)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            heads.append(weights / weights.sum(axis=1, keepdims=True) @ value)
        return np.concatenate(heads, axis=1)

    facts = manifest("round3")["cache"]["absmax"]["model.layers.25.self_attn.attn"]
    stored = []
    for values, absmax in ((key, facts["key"]), (value, facts["value"])):
        scale = np.array(absmax) / 127
        stored.append(np.clip(np.rint(values / scale), -128, 127) * scale)
    assert np.abs(attention(*stored) - recorded).max() < 0.01 * np.abs(recorded).max()
    assert np.abs(attention(key, value) - recorded).max() > 0.1 * np.abs(recorded).max()
    assert np.abs(value).max() > 1.5 * max(facts["value"]), "the rare token's value is clipped"


@pytest.mark.parametrize(("side", "last_layer"), [("round1", 24), ("round2", 31)])
def test_recorded_norms_of_sound_layers_agree_within_one_percent(side: str, last_layer: int) -> None:
    target, n_checked = leaves(side), 0
    for name, record in leaves("golden").items():
        layer = re.search(r"\.layers\.(\d+)\.", name)
        if layer and int(layer[1]) <= last_layer:
            assert 0.99 < target[name]["Norm"] / record["Norm"] < 1.01, name
            n_checked += 1
    assert n_checked == (last_layer + 1) * 28


@pytest.mark.parametrize("side", SIDES)
def test_statistics_are_those_of_the_tensors(side: str) -> None:
    n_tensors = 0
    for name, record in leaves(side).items():
        if record["dtype"] == "torch.bfloat16" and "data_name" in record:
            values, n_tensors = tensor(side, record), n_tensors + 1
            assert (record["Max"], record["Min"]) == (values.max(), values.min()), name
            assert record["Norm"] == pytest.approx(np.linalg.norm(values), rel=2**-8), name
            assert record["Mean"] == pytest.approx(values.mean(), rel=2**-8, abs=1e-12), name
    assert n_tensors > 250


@pytest.mark.parametrize("side", CACHED)
def test_the_products_own_reader_opens_every_tensor(side: str) -> None:
    for record in leaves(side).values():
        if "data_name" in record:
            path = rank_folder(side) / "dump_tensor_data" / record["data_name"]
            file = open_tensor(path, root=W8A8, declared=record["dtype"], shape=tuple(record["shape"]))
            stored = np.asarray(file.array())
            if record["dtype"] == "torch.bfloat16":
                stored = (stored.astype("<u4") << 16).view("<f4")
            assert stored.tolist() == tensor(side, record).tolist()


@pytest.mark.parametrize("side", CACHED)
def test_every_tensor_file_is_named_by_one_record(side: str) -> None:
    named = [record["data_name"] for record in leaves(side).values() if "data_name" in record]
    present = [path.name for path in (rank_folder(side) / "dump_tensor_data").iterdir()]
    assert sorted(named) == sorted(present)


@pytest.mark.parametrize("side", SIDES)
def test_entries_stand_in_completion_order_under_their_parents(side: str) -> None:
    entries, parents = list(read_json(side, "dump")["data"]), read_json(side, "construct")
    assert sorted(entries) == sorted(parents)
    place = {name: number for number, name in enumerate(entries)}
    for name, parent in parents.items():
        assert parent is None or place[name] < place[parent], name
    assert parents[ORIGIN] == "Module.model.layers.25.self_attn.SelfAttention.forward.0"
    assert [name for name in entries if parents[name] is None] == [
        "Module.model.Decoder.forward.0",
        "Module.lm_head.Linear.forward.0",
    ]


@pytest.mark.parametrize("side", CACHED)
def test_stack_frames_show_lines_that_exist(side: str) -> None:
    source = (W8A8 / "model" / "model.py").read_text().splitlines()
    stacked = []
    for names, frames in read_json(side, "stack").values():
        stacked += names
        for frame in frames:
            match = re.fullmatch(r"File model/model\.py, line (\d+), in forward, \n (.+)", frame)
            assert match and source[int(match[1]) - 1].strip() == match[2]
    assert sorted(stacked) == sorted(read_json(side, "dump")["data"])


@pytest.mark.parametrize("name", ["round1", "round2", "round3"])
def test_the_manifest_says_what_was_run_and_recorded(name: str) -> None:
    facts, records = manifest(name), leaves(name)
    prompt = np.array(facts["input"]["token_ids"], "<i8")
    assert facts["simulated"] is True
    assert facts["input"]["sha256"] == hashlib.sha256(prompt.tobytes()).hexdigest()
    given = tensor(name, records["Module.model.embed_tokens.Embedding.forward.0.input.0"])
    assert given.tolist() == prompt.tolist() and prompt[RARE_TOKEN_ROW] == facts["input"]["rare_token"]
    assert facts["recorded"]["entries"] == len(read_json(name, "dump")["data"])
    assert facts["recorded"]["tensor_files"] == sum("data_name" in record for record in records.values())
    model = hashlib.sha256((W8A8 / "model" / "model.py").read_bytes()).hexdigest()
    assert facts["versions"]["model"].endswith(model)


def test_the_rounds_differ_in_one_setting_an_area() -> None:
    one, two, three = (manifest(name)["config"] for name in ("round1", "round2", "round3"))
    assert {key for key in one if one[key] != two[key]} == {
        *("activation_scale", "attention_scale", "score_offset"),
    }
    assert {key for key in two if two[key] != three[key]} == {"cache_dtype"}
    assert (one["activation_scale"], two["activation_scale"]) == ("static per-tensor", "dynamic per-token")


def test_calibration_never_saw_the_rare_token() -> None:
    prompt, calibration = make_prompts()
    assert all(RARE_TOKEN not in tokens for tokens in calibration)
    assert np.flatnonzero(prompt == RARE_TOKEN).tolist() == [RARE_POSITION]


def test_samples_have_titles_and_folders() -> None:
    for name, (english, chinese) in SAMPLES.items():
        assert sample_path(name).is_dir()
        assert english.isascii() and not chinese.isascii()


def test_an_unknown_sample_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="nothing") as caught:
        sample_path("nothing")
    assert "w8a8" in (caught.value.hint or "")


def test_nothing_strays_into_the_sample_runs() -> None:
    """An editor's swap file beside model.py would ship with the product."""
    folder = sample_path("w8a8").parent
    files = [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    strays = [
        p
        for p in files
        if p.suffix not in (".py", ".md", ".json", ".toml", ".pt", ".typed", ".log", ".cpp", ".csv", ".txt")
    ]
    assert strays == [] and not [p for p in files if p.name.startswith(".")]

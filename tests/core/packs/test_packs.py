"""Packs: the same findings where nothing was left out, as recorded where something was; hostile files."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.areas import area_of
from npulse.core.cache import Cache
from npulse.core.checkup.check import check_up
from npulse.core.checkup.criteria_file import default_criteria
from npulse.core.checkup.report import lines_of
from npulse.core.diff import diff
from npulse.core.errors import InputError, NpulseError
from npulse.core.findings import Report
from npulse.core.packing import make_pack
from npulse.core.packing.select import OTHER, TENSOR, TEXT, RunFile, files_of, select
from npulse.core.packs import opening, tar
from npulse.core.packs.manifest import (
    NAME,
    PackedFile,
    PackManifest,
    manifest_text,
    read_pack_manifest,
    unfit,
)
from npulse.core.packs.notes import Notes, read_notes
from npulse.core.packs.opening import OpenedPack, clear, open_pack, pack_of
from npulse.core.packs.recorded import read_recorded
from npulse.core.report import dossier_of, render_whole
from npulse.core.run.discover import discover
from npulse.core.text import safe_text

HEAD = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Input Shapes\n"
MADE = "2026-01-02T03:04:05Z"
LOG = (
    "====== ERROR: illegal write of size 4\n======    at 0x30a00 on GM in add_custom\n"
    "======    in block aiv(0) on device 0\n======    code in pc current 0x694 (serialNo:10)\n"
    "======    #0 /build/add.cpp:38:9\n\n"
)


def run_in(folder: Path) -> Path:
    """A round with a sanitizer's log, which is small, and a profile, which is not."""
    folder.mkdir(parents=True)
    (folder / "mssanitizer.log").write_text(LOG)
    rows = (
        f"0,MatMulV2,MatMulV2,AI_CORE,{1_700_000_000_000_000 + 200 * i}.000\t,100,0,\n" for i in range(200)
    )
    (folder / "kernel_details.csv").write_text(HEAD + "".join(rows))
    (folder / "id_rsa").write_text("not for others")
    for path in folder.iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return folder


def packed(run: Path, to: Path, **more: Any) -> PackManifest:
    options = AnalysisOptions(jobs=1, cache=Cache(to.parent / "cache"))
    return make_pack(run, to, options, version="1.2", made=MADE, **more)


def told(area: str, run: Path, **more: Any) -> Report:
    return area_of(area).report_of([run], AnalysisOptions(jobs=1, **more)).report


def essence(report: Report) -> list[Any]:
    return [(f.rule, f.severity, f.role, f.subject, f.figures, f.location) for f in report.findings]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return run_in(tmp_path / "job")


def test_an_opened_pack_says_the_same(run: Path, tmp_path: Path) -> None:
    manifest = packed(run, tmp_path / "x.tar.gz", notes=Notes({"add": "look"}, {"first": ("pane.mark",)}))
    assert manifest.same == ("memory", "performance") and manifest.recorded == () and not manifest.n_left_out
    before = {area: essence(told(area, run)) for area in manifest.same}
    shutil.move(run, tmp_path / "gone")
    pack = open_pack(tmp_path / "x.tar.gz", tmp_path / "cache")
    assert pack.run.name == "job" and pack.manifest == manifest
    assert {area: essence(told(area, pack.run)) for area in manifest.same} == before
    assert sorted(path.name for path in pack.run.iterdir()) == ["kernel_details.csv", "mssanitizer.log"]
    assert read_notes(pack) == Notes({"add": "look"}, {"first": ("pane.mark",)})
    assert pack_of(pack.run) is not None and pack_of(tmp_path) is None


def test_what_was_left_out_is_shown_as_recorded_and_never_judged_from_less(run: Path, tmp_path: Path) -> None:
    before = told("performance", run)
    manifest = packed(run, tmp_path / "x.tar.gz", max_bytes=2_000)
    assert (manifest.same, manifest.recorded) == (("memory",), ("performance",))
    assert [one.path for one in manifest.left_out] == ["kernel_details.csv"]
    pack = open_pack(tmp_path / "x.tar.gz", tmp_path / "cache")
    report = told("performance", pack.run)
    assert report.verdict == before.verdict and essence(report) == essence(before)
    assert report.summary["recorded"]["made"] == MADE and MADE in report.told[0]
    assert [one.told for one in report.findings] == [one.told for one in before.findings]
    with pytest.raises(InputError):
        told("performance", pack.run, rank=0)  # nothing of it is there


def test_a_check_up_says_which_areas_were_not_judged_anew(run: Path, tmp_path: Path) -> None:
    packed(run, tmp_path / "x.tar.gz", max_bytes=2_000)
    pack = open_pack(tmp_path / "x.tar.gz", tmp_path / "cache")
    found = check_up(discover(pack.run), AnalysisOptions(jobs=1), default_criteria())
    recorded = {area.area: area.recorded for area in found.areas}
    assert recorded["performance"] == MADE and recorded["memory"] == ""
    line = next(line for line in lines_of(found, "en") if "Performance" in line and "!" in line)
    assert f"as recorded on {MADE}, not judged anew" in line
    assert "记录于 " + MADE in "".join(
        one.headline
        for one in check_up(discover(pack.run), AnalysisOptions(jobs=1, lang="zh"), default_criteria()).areas
    )
    for format_name in ("junit", "html", "md", "json"):
        text = "".join(render_whole(dossier_of(found), format_name, version="1"))
        assert f"as recorded on {MADE}, not judged anew" in text.replace("\\", ""), format_name


def test_an_area_asked_otherwise_is_incomplete(run: Path, tmp_path: Path) -> None:
    """Only part of what the area needs is there: with options it is asked anew and can be no pass."""
    (run / "second").mkdir()
    (run / "second" / "mssanitizer.log").write_text(LOG.replace("write", "read") + "#" * 3_000)
    packed(run, tmp_path / "x.tar.gz", max_bytes=2_000)
    pack = open_pack(tmp_path / "x.tar.gz", tmp_path / "cache")
    assert "memory" in pack.manifest.recorded
    report = told("memory", pack.run, tables=True)
    assert [problem.kind for problem in report.problems] == ["missing"] and report.exit_code() != 0
    assert area_of("memory").newest_of(discover(pack.run), AnalysisOptions()) is not None
    changes = diff(run, pack.run, AnalysisOptions(jobs=1))
    assert changes.counts["new"] == changes.counts["gone"] == 0


def test_the_source_that_a_finding_shows_is_in_it_and_no_other(run: Path, tmp_path: Path) -> None:
    project = run / "op_kernel"
    project.mkdir()
    for name in ("add.cpp", "secret.cpp"):
        (project / name).write_text("".join(f"line {n};\n" for n in range(1, 61)))
    manifest = packed(run, tmp_path / "x.tar.gz")
    names = [one.path for one in manifest.files if one.path.endswith(".cpp")]
    assert names == [f"run/{run.name}/op_kernel/add.cpp"]
    pack = open_pack(tmp_path / "x.tar.gz", tmp_path / "cache")
    (finding,) = (one for one in told("memory", pack.run).findings if one.severity == "error")
    assert [line.text for line in finding.code if line.is_marked] == ["line 38;"]


def test_part_of_the_tensors_is_as_recorded(sample: Path, tmp_path: Path) -> None:
    texts = sum(one.size_bytes for one in files_of(discover(sample)) if one.order == TEXT)
    manifest = packed(sample, tmp_path / "x.tar.gz", max_bytes=texts + 100_000)
    assert "precision" in manifest.recorded and manifest.n_left_out > 100
    assert sum(one.path.endswith(".pt") for one in manifest.files) > 10
    pack = open_pack(tmp_path / "x.tar.gz", tmp_path / "cache")
    assert essence(told("precision", pack.run)) == essence(told("precision", sample))


def test_texts_go_first_then_the_worst_tensors() -> None:
    tensors = [
        f"dump_tensor_data/{name}.output.0.pt" for name in ("Add.1.forward", "Mul.1.forward", "Mul.2.forward")
    ]
    files = [RunFile(name, 100, TENSOR) for name in tensors]
    files += [RunFile("big.csv", 150, TEXT), RunFile("dump.json", 50, TEXT), RunFile("trace.json", 1, OTHER)]
    gains = {"Mul.1.forward": 1e9, "Mul.2.forward.output.0": 0.5}
    for room, taken in (
        (60, ["dump.json", "trace.json"]),
        (300, ["big.csv", "dump.json", tensors[1]]),
        (400, ["big.csv", "dump.json", tensors[1], tensors[2]]),
        (501, ["big.csv", "dump.json", *tensors, "trace.json"]),
    ):
        chosen = select(files, gains, "job", room, 100)
        assert [one.path for one in chosen.files] == sorted(taken), room
        assert {one.path for one in chosen.left_out} == {one.path for one in files} - set(taken)


@pytest.fixture
def sample() -> Path:
    from npulse.sample_runs import sample_path

    return sample_path("w8a8")


def test_the_same_run_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    for name in ("a.tar.gz", "b.tar.gz"):
        packed(run, tmp_path / name)
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tar.gz", "b.tar.gz", "job"]


def test_any_tar_lists_it(run: Path, tmp_path: Path) -> None:
    long = run / ("d" * 120) / ("e" * 120)
    long.mkdir(parents=True)
    shutil.copy(run / "mssanitizer.log", long / "mssanitizer.log")
    manifest = packed(run, tmp_path / "x.tar.gz")
    with tarfile.open(tmp_path / "x.tar.gz") as archive:
        names = archive.getnames()
    assert names[0] == NAME and "run/job/mssanitizer.log" in names
    assert any(one.path.startswith("run/job/ddd") for one in manifest.files)
    pack = open_pack(tmp_path / "x.tar.gz", tmp_path / "cache")
    assert (pack.run / long.relative_to(run) / "mssanitizer.log").read_text() == LOG


def test_nothing_is_written_into_the_run_or_half(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(os.listdir(run))
    with pytest.raises(InputError, match="not written into the run"):
        packed(run, run / "x.tar.gz")
    (tmp_path / "x.tar.gz").write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tar.Packing, "add", full)
    with pytest.raises(InputError, match="No space left"):
        packed(run, tmp_path / "x.tar.gz")
    assert (tmp_path / "x.tar.gz").read_text() == "old" and sorted(os.listdir(run)) == before
    assert sorted(os.listdir(tmp_path)) == ["job", "x.tar.gz"]


def test_a_folder_without_artifacts_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="nothing that can be packed"):
        packed(tmp_path / "empty", tmp_path / "x.tar.gz")


# ---- packs from others ----


def made(
    content_of: dict[str, bytes],
    change: Callable[[list[tarfile.TarInfo]], None] = lambda infos: None,
    entries: tuple[PackedFile, ...] | None = None,
) -> bytes:
    """A pack with these files; `change` is made to what stands in the tar's headers."""
    files = tuple(PackedFile(n, len(c), hashlib.sha256(c).hexdigest()) for n, c in content_of.items())
    text = manifest_text(PackManifest("job", "/x", MADE, "1", files=entries or files))
    infos = []
    contents = {NAME: text.encode(), **content_of}
    for name, content in contents.items():
        info = tarfile.TarInfo(name)
        info.size = len(content)
        infos.append(info)
    change(infos)
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb") as file:
        for info, content in zip(infos, contents.values(), strict=False):
            file.write(info.tobuf(tarfile.PAX_FORMAT))
            file.write(content + b"\0" * (-len(content) % 512))
        file.write(b"\0" * 1024)
    return out.getvalue()


def opened(raw: bytes, folder: Path) -> OpenedPack:
    path = folder / "x.tar.gz"
    path.write_bytes(raw)
    return open_pack(path, folder / "cache")


def refused(raw: bytes, folder: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        opened(raw, folder)
    left = list((folder / "cache" / "packs").iterdir()) if (folder / "cache" / "packs").exists() else []
    assert left == [], "something was left behind"
    return caught.value


GOOD = {"run/job/a.log": b"one", "notes.json": b"{}"}


def test_what_is_made_by_hand_opens(tmp_path: Path) -> None:
    assert (opened(made(GOOD), tmp_path).run / "a.log").read_bytes() == b"one"


@pytest.mark.parametrize(
    "name",
    [
        *("/etc/x", "../x", "run/../x", "run/job/../../x", "run//x", "run/job/", "", "run/other/x", "x"),
        *("run/job/a\x1b[2J", "run/job/a\nb", "run/job/\u202egol", "run/job/a\\b", "run/job/ a", "run/job/."),
        *("notes.json/x", "reports", "run/job/" + "x" * 300, "run/job/" + "y/" * 600),
        *("run/job/A.log", "run/job/a.log/b", "run/job/\uff41.log", "npulse-pack.toml"),
    ],
)
def test_names_that_lead_elsewhere_or_are_another_in_disguise(tmp_path: Path, name: str) -> None:
    assert "not made by npulse" in refused(made({**GOOD, name: b"bad"}), tmp_path).message
    assert not (tmp_path.parent / "x").exists()


@given(st.text(max_size=40), st.sampled_from(["", "run/job/", "run/", "reports/"]))
def test_a_fit_name_stays_below_its_folder(name: str, start: str) -> None:
    whole = start + name
    if unfit(whole):
        return
    joined = os.path.normpath(os.path.join("/pack", *whole.split("/")))
    assert joined == f"/pack/{whole}" and "\\" not in whole and safe_text(whole) == whole


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.DIRTYPE,
        tarfile.FIFOTYPE,
        tarfile.CHRTYPE,
        tarfile.XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_SPARSE,
    ],
)
def test_only_plain_files_are_unpacked(tmp_path: Path, kind: bytes) -> None:
    def change(infos: list[tarfile.TarInfo]) -> None:
        infos[1].type = kind
        infos[1].linkname = "/etc/passwd"

    refused(made(GOOD, change), tmp_path)


def swapped(infos: list[tarfile.TarInfo]) -> None:
    infos[1].name = "run/job/b.log"


def resized(infos: list[tarfile.TarInfo]) -> None:
    infos[1].size = 2


def shorter(infos: list[tarfile.TarInfo]) -> None:
    infos.pop()


def huge(infos: list[tarfile.TarInfo]) -> None:
    infos[0].size = 1 << 33


@pytest.mark.parametrize("change", [swapped, resized, shorter, huge])
def test_headers_that_say_something_else(
    tmp_path: Path, change: Callable[[list[tarfile.TarInfo]], None]
) -> None:
    refused(made(GOOD, change), tmp_path)


def test_another_content_is_told(tmp_path: Path) -> None:
    entry = PackedFile("run/job/a.log", 3, hashlib.sha256(b"two").hexdigest())
    error = refused(made({"run/job/a.log": b"one"}, entries=(entry,)), tmp_path)
    assert "not what was packed" in error.message


def test_a_pack_that_is_cut_off(run: Path, tmp_path: Path) -> None:
    packed(run, tmp_path / "x.tar.gz")
    raw = (tmp_path / "x.tar.gz").read_bytes()
    for end in (len(raw) // 2, len(raw) - 9, 40):
        assert "cut off" in refused(raw[:end], tmp_path).message


def test_other_archives_say_how_to_open_them(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("dump.json"), io.BytesIO())
    for raw in (out.getvalue(), gzip.compress(b"a log, " * 2_000)):
        error = refused(raw, tmp_path)
        assert "no pack that npulse made" in error.message and "tar xf" in str(error.hint)


def test_a_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar, "FREE_BYTES", 1 << 20)
    zeros = b"\0" * (4 << 20)
    error = refused(made({"run/job/a.log": zeros}), tmp_path)
    assert "would unpack to more" in error.message
    wide = {f"run/job/{i}.log": b"\0" * (200 << 10) for i in range(10)}
    assert "unpacks to more" in refused(made(wide), tmp_path).message


@given(st.binary(max_size=200), st.integers(0, 400), st.booleans())
def test_any_damage_is_told(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, at: int, is_inside: bool
) -> None:
    folder = tmp_path_factory.mktemp("any")
    good = made(GOOD)
    if is_inside:
        plain = gzip.decompress(good)
        damaged = gzip.compress(plain[:at] + raw + plain[at + len(raw) :])
    else:
        damaged = good[: at % len(good)] + raw + good[at % len(good) + len(raw) :]
    try:
        pack = opened(damaged, folder)
    except NpulseError:
        return
    assert (pack.run / "a.log").read_bytes() == b"one"


@given(
    st.recursive(
        st.none() | st.text(max_size=5) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["findings", "problems", "verdict", "told"]), inner)
        ),
    )
)
def test_any_recorded_report_is_read_or_told(tmp_path_factory: pytest.TempPathFactory, body: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "report.json"
    path.write_text(json.dumps(body))
    with pytest.raises(InputError):
        read_recorded(path)


@pytest.mark.parametrize("where", ["figures", "counts", "artifacts"])
@pytest.mark.parametrize("number", ["1" + "0" * 400, "1e999"])
def test_numbers_that_no_report_has_are_told(run: Path, tmp_path: Path, where: str, number: str) -> None:
    packed(run, tmp_path / "x.tar.gz", max_bytes=2_000)
    pack = open_pack(tmp_path / "x.tar.gz", tmp_path / "cache")
    path = pack.folder / "reports/performance-0000.json"
    body = json.loads(path.read_text())
    read_recorded(path)
    place = {
        "figures": body["findings"][0]["figures"],
        "counts": body["counts"],
        "artifacts": body["artifacts"][0],
    }[where]
    place["size_bytes"] = "HERE"
    if (where, number) == ("figures", "1e999"):
        return  # what is infinite is a figure
    path.write_text(json.dumps(body).replace('"HERE"', number))
    with pytest.raises(InputError):
        read_recorded(path)


def test_a_pack_of_which_somebody_cleared_a_part_is_unpacked_again(tmp_path: Path) -> None:
    """Caches are cleared by others: what is missing there was not left out by the pack."""
    pack = opened(made(GOOD), tmp_path)
    (pack.run / "a.log").unlink()
    assert (opened(made(GOOD), tmp_path).run / "a.log").read_bytes() == b"one"
    (pack.folder / NAME).unlink()  # a removal that was killed
    again = opened(made(GOOD), tmp_path)
    assert (again.run / "a.log").read_bytes() == b"one" and not list(again.folder.parent.glob(".part-*"))


def test_a_cache_that_is_read_only_serves_what_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    before = opened(made(GOOD), tmp_path)
    monkeypatch.setattr(os, "utime", refuse)
    assert opened(made(GOOD), tmp_path).folder == before.folder


def test_folders_that_vanish_while_old_ones_are_cleared_are_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another npulse unpacks beside: its folder is there when names are listed, and has another one later."""
    part = tmp_path / "packs" / ".part-other"
    part.mkdir(parents=True)
    usual = Path.is_dir

    def vanishing(path: Path) -> bool:
        found = usual(path)
        if path == part and found:
            path.rmdir()
        return found

    monkeypatch.setattr(Path, "is_dir", vanishing)
    clear(tmp_path / "packs", 0.0)
    assert not part.exists()


def test_a_run_with_a_name_of_several_parts_is_refused(tmp_path: Path) -> None:
    """Nobody would know it again as the run of a pack: what was left out would count as not recorded."""
    content = b"x"
    listed = (PackedFile("run/a/job/a.log", 1, hashlib.sha256(content).hexdigest()),)
    manifest = PackManifest("a/job", "/a/job", MADE, "1", files=listed)
    with pytest.raises(InputError, match="several parts"):
        read_pack_manifest(manifest_text(manifest).encode(), "x")


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(opening.os, "utime", full)
    assert "No space left" in refused(made(GOOD), tmp_path).message


def test_old_packs_are_cleared_away_and_nothing_else(tmp_path: Path) -> None:
    pack = opened(made(GOOD), tmp_path)
    room = pack.folder.parent
    (room / "mine").mkdir()
    (room / ("a" * 32)).symlink_to(tmp_path)
    used_s = pack.folder.stat().st_mtime
    clear(room, used_s + opening.MAX_AGE_S - 1)
    assert pack.folder.exists()
    clear(room, used_s + opening.MAX_AGE_S + 1)
    assert sorted(p.name for p in room.iterdir()) == ["a" * 32, "mine"] and tmp_path.exists()


def test_a_pack_is_unpacked_once(tmp_path: Path) -> None:
    first = opened(made(GOOD), tmp_path)
    (first.run / "a.log").write_bytes(b"kept")
    assert (opened(made(GOOD), tmp_path).run / "a.log").read_bytes() == b"kept"

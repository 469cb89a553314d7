"""Exports of copies, by a program of the test that is called msprof: what it gets, what is left."""

from __future__ import annotations

import os
import shutil
import stat
import time
from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.cache import Cache
from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.profiling.session_copy import copy_files, files_to_copy, n_closed_slices
from npulse.core.performance import export_copy as module
from npulse.core.performance.export_copy import CopyExports, export_copy, remove_copy
from npulse.core.performance.following import kept_in
from npulse.core.performance.found import Performance
from npulse.core.performance.report import report
from npulse.core.performance.run_report import look, selections
from npulse.core.run.discover import discover
from npulse.core.tails import Tails

NAME = "PROF_000002_20260801121500456_00012346HGFEDCBA"
HEADER = "Device_id,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)"
EXPORT = f"""#!/bin/sh
echo "$@" >> "{{said}}"
out="${{{{2#--output=}}}}"
mkdir -p "$out/mindstudio_profiler_output"
n=$(ls "$out"/device_0/data/stars*.done | wc -l)
printf '%s\\n' "{HEADER}" > "$out/mindstudio_profiler_output/op_summary_20260801121700.csv"
for i in $(seq $n); do
  echo "0,2,aclnnAdd_$i,Add,AI_CORE,175600123400000$i.000,$i.5" \\
    >> "$out/mindstudio_profiler_output/op_summary_20260801121700.csv"
done
touch "$out/mindstudio_profiler_output/README.txt"
echo done
"""


def program(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An msprof on PATH; returns where it writes its arguments."""
    tools, said = folder / "tools", folder / "said.txt"
    tools.mkdir()
    (tools / "msprof").write_text(text.format(said=said))
    (tools / "msprof").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    return said


def session(run: Path, n_closed: int = 2) -> Path:
    """A session that collects: closed slices, one that is open, a dictionary, signs of a parse."""
    folder = run / NAME
    data = folder / "device_0" / "data"
    data.mkdir(parents=True)
    (folder / "host" / "data").mkdir(parents=True)
    for part in ("host", "device_0"):
        (folder / part / "info.json").write_text("{}")
        (folder / part / "start_info").write_text("{}")
    for n in range(n_closed + 1):
        (data / f"stars_soc.data.0.slice_{n}").write_bytes(b"x" * (100 + n))
        if n < n_closed:
            (data / f"stars_soc.data.0.slice_{n}.done").write_text("filesize:1\n")
    (folder / "host" / "data" / "unaging.additional.hash_dic.slice_0").write_bytes(b"1:Add\n")
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_what_is_copied_is_what_is_closed(tmp_path: Path) -> None:
    folder = session(tmp_path / "run")
    (folder / "device_0" / "data" / "all_file.complete").write_text("")
    (folder / "device_0" / "sqlite").mkdir()
    (folder / "device_0" / "sqlite" / "a.db").write_text("x")
    (folder / "device_0" / "outside.json").symlink_to("/etc/hostname")
    before, files = tree(folder), files_to_copy(folder)
    with (folder / "device_0" / "data" / "stars_soc.data.0.slice_1").open("ab") as file:
        file.write(b"later")  # what comes after the listing is of the next copy
    copy_files(folder, files, tmp_path / "copy")
    assert n_closed_slices(files) == 2
    left = {
        "device_0/data/stars_soc.data.0.slice_2",
        "device_0/data/all_file.complete",
        "device_0/sqlite/a.db",
        "device_0/outside.json",
    }
    done = "host/data/unaging.additional.hash_dic.slice_0.done"
    want = {name: raw for name, raw in before.items() if name not in left}
    assert tree(tmp_path / "copy") == {**want, done: b"filesize:6\n"}
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "copy").rglob("*.json")}
    assert modes == {0o600}


def test_the_copy_is_exported_and_the_session_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = program(tmp_path, EXPORT, monkeypatch)
    folder, room = session(tmp_path / "run"), tmp_path / "room"
    before = tree(folder)
    copy = export_copy(folder, room)
    assert tree(folder) == before
    assert copy.name == NAME and room in copy.parents
    assert said.read_text().split() == ["--export=on", f"--output={copy}"]
    assert (copy / "mindstudio_profiler_output" / "README.txt").exists()
    remove_copy(copy)
    assert list(room.iterdir()) == []


def test_what_fails_is_said_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, room = session(tmp_path / "run"), tmp_path / "room"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="not on PATH"):
        export_copy(folder, room)
    monkeypatch.undo()
    program(tmp_path, "#!/bin/sh\necho first\necho no license here\nexit 3\n", monkeypatch)
    with pytest.raises(InputError, match=r"exit code 3\): no license here"):
        export_copy(folder, room)
    monkeypatch.setattr(module, "MAX_COPY_BYTES", 10)
    with pytest.raises(InputError, match="at most 10 are copied"):
        export_copy(folder, room)
    monkeypatch.setattr(module, "MAX_COPY_BYTES", 1 << 30)
    monkeypatch.setattr(module, "ROOM_FACTOR", 1 << 60)
    with pytest.raises(InputError, match="no room"):
        export_copy(folder, room)
    with pytest.raises(InputError, match="no slice is closed"):
        export_copy(session(tmp_path / "young", 0), room)
    assert list(room.iterdir()) == []


def test_a_child_that_takes_too_long_or_is_cancelled_ends_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = program(tmp_path, '#!/bin/sh\necho $$ > "{said}"\nsleep 600 &\nwait\n', monkeypatch)
    folder, room = session(tmp_path / "run"), tmp_path / "room"
    began_s = time.monotonic()
    with pytest.raises(InputError, match="took more than 0 s"):
        export_copy(folder, room, timeout_s=0.3)
    asked = 0

    def is_cancelled() -> bool:
        nonlocal asked
        asked += said.exists()
        return asked > 30

    said.unlink()
    with pytest.raises(Cancelled):
        export_copy(folder, room, is_cancelled=is_cancelled)
    assert time.monotonic() - began_s < 60 and list(room.iterdir()) == []
    group = int(said.read_text())
    with pytest.raises(ProcessLookupError):
        os.killpg(os.getpgid(group), 0)


def test_exports_come_now_and_then_and_only_for_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = program(tmp_path, EXPORT, monkeypatch)
    folder, room, now = session(tmp_path / "run"), tmp_path / "room", [0.0]
    exports = CopyExports(room, every_s=100, clock=lambda: now[0])

    def step(n_closed: int, at_s: float) -> str:
        now[0] = at_s
        exports.step(folder, n_closed, folder)
        exports.wait(60)
        one = exports.of[folder]
        if one.copy is not None:
            exports.was_read(folder)
        return f"{one.state} {len(said.read_text().splitlines()) if said.exists() else 0}"

    assert step(0, 0) == "waiting 0"
    assert step(2, 1) == "exported 1"
    assert step(3, 50) == "exported 1"  # too early
    assert step(2, 200) == "exported 1"  # nothing new
    assert step(3, 201) == "exported 2"
    assert list(room.iterdir()) == []


def test_copies_go_with_who_made_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, EXPORT, monkeypatch)
    folder, room = session(tmp_path / "run"), tmp_path / "room"
    exports = CopyExports(room)
    exports.step(folder, 2, folder)
    exports.wait(60)
    assert exports.of[folder].copy is not None and list(room.iterdir())
    exports.close()
    assert list(room.iterdir()) == []


def test_what_a_killed_program_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, EXPORT, monkeypatch)
    room = tmp_path / "room"
    for name, age_s in (("npulse-export-old", 9 * module.TIMEOUT_S), ("npulse-export-new", 0)):
        (room / name).mkdir(parents=True)
        os.utime(room / name, (time.time() - age_s,) * 2)
    (room / "results.npz").write_text("of the cache")
    remove_copy(export_copy(session(tmp_path / "run"), room))
    assert sorted(path.name for path in room.iterdir()) == ["npulse-export-new", "results.npz"]


def test_the_area_reads_the_export_as_the_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = program(tmp_path, EXPORT, monkeypatch)
    folder, tails = session(tmp_path / "run"), Tails()
    options = AnalysisOptions(tails=tails, cache=Cache(tmp_path / "room"))
    before = tree(folder)

    def once() -> Performance:
        run = discover(tmp_path / "run")
        return look(run, selections(run, options)[-1], options)

    first = once()
    assert first.profiles == () and "msprof exports a copy of the 2 closed slices" in told(first)
    exports = kept_in(tails).exports
    assert exports is not None
    exports.wait(60)
    for _ in range(2):  # the figures stay once the copy is gone
        found = once()
        assert found.shown is not None and found.shown.operators is not None
        top = found.shown.operators.types.top
        assert (top.label(0), int(top.calls[0]), int(top.total_ns[0])) == ("Add", 2, 1500 + 2500)
        assert found.shown.profile.name == NAME and found.raw[0].n_closed == 2
        assert "figures are of a copy of 2 closed slices" in told(found)
        assert list((tmp_path / "room").iterdir()) == []
    other = tmp_path / "run" / NAME.replace("000002", "000003")
    shutil.move(folder, other)  # another session: nothing is known of it
    assert once().profiles == ()
    exports.wait(60)
    shutil.move(other, folder)
    figures = next(one.figures for one in report(found).findings if one.rule.endswith("not-exported"))
    assert figures["is_copy_exported"] is True
    assert len(said.read_text().splitlines()) == 2 and tree(folder) == before


def told(found: Performance) -> str:
    return "\n".join(report(found).told)


def test_nothing_is_started_for_a_run_that_is_only_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = program(tmp_path, EXPORT, monkeypatch)
    session(tmp_path / "run")
    run = discover(tmp_path / "run")
    for options in (AnalysisOptions(cache=Cache(tmp_path / "room")), AnalysisOptions(tails=Tails())):
        look(run, selections(run, options)[-1], options)
    assert not said.exists() and not (tmp_path / "room").exists()

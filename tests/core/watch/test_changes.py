from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from npulse.core.run.discover import discover
from npulse.core.run.model import Artifact, Round, Run
from npulse.core.watch.changes import FileState, Places, diff, with_artifacts

from ..run.test_discover import make_dump
from .doubles import FAULT

STATES = st.builds(FileState, st.just(1), st.integers(1, 6), st.integers(0, 3), st.integers(0, 2), st.just(0))
LISTINGS = st.dictionaries(st.sampled_from("abcdef"), STATES)


@given(before=LISTINGS, after=LISTINGS)
def test_changes_lead_from_one_listing_to_the_other(
    before: dict[str, FileState], after: dict[str, FileState]
) -> None:
    changes = diff(before, after)
    assert [change.path for change in changes] == sorted({change.path for change in changes})
    found = dict(before)
    for change in changes:
        if change.kind != "renamed":
            assert change.before == before.get(change.path)
        if change.after is None:
            del found[change.path]
        else:
            assert found.get(change.path) != change.after
            found[change.path] = change.after
    assert found == after


def test_a_rewritten_file_is_told_from_a_touched_one() -> None:
    was = FileState(1, 2, 10, 100, 100)
    for now, kind in (
        (was._replace(changed_ns=200), "touched"),
        (was._replace(modified_ns=200, changed_ns=200), "rewritten"),
        (was._replace(size_bytes=11, modified_ns=200), "grown"),
        (was._replace(size_bytes=9, modified_ns=200), "truncated"),
        (was._replace(inode=3), "replaced"),
        (was._replace(device=2), "replaced"),
    ):
        (change,) = diff({"x": was}, {"x": now})
        assert (change.kind, change.before, change.after) == (kind, was, now)


def place(root: Path, path: str) -> str | None:
    places = Places(discover(root).artifacts)
    key = places.key_of(str(root / path))
    return key and f"{key[0]} {key[1].relative_to(root)}"


def test_a_file_belongs_to_the_nearest_artifact(tmp_path: Path) -> None:
    rank = make_dump(tmp_path / "rank0", task="tensor", tensors=1)
    (rank / "stack.json").write_text("{}")
    (rank / "run.log").write_text(FAULT)
    session = tmp_path / "PROF_000001_20260101000000000_ABCDEF"
    (session / "host" / "data").mkdir(parents=True)
    (session / "host" / "data" / "x.slice_0").write_bytes(b"1")
    output = session / "mindstudio_profiler_output"
    output.mkdir()
    (output / "op_summary_20260101000000.csv").write_text("Op Name,Task Duration(us)\na,1\n")
    expected = {
        "rank0/dump.json": "msprobe.dump rank0/dump.json",
        "rank0/stack.json": "msprobe.dump rank0/dump.json",
        "rank0/dump_tensor_data/new.pt": "msprobe.dump rank0/dump.json",
        "rank0/run.log": "sanitizer.host rank0/run.log",
        "rank0/notes.md": None,
        "notes.md": None,
        f"{session.name}/host/data/x.slice_1": f"prof.session {session.name}",
        f"{session.name}/mindstudio_profiler_output/op_summary_20260101000000.csv": (
            f"prof.op_summary {session.name}/mindstudio_profiler_output/op_summary_20260101000000.csv"
        ),
    }
    assert {path: place(tmp_path, path) for path in expected} == expected


def test_a_dump_without_index_and_one_that_was_opened_alone(tmp_path: Path) -> None:
    rank = make_dump(tmp_path / "rank0", task="tensor", tensors=1)
    alone = Places(discover(rank / "dump.json").artifacts)
    assert alone.key_of(str(rank / "dump.json")) == ("msprobe.dump", rank / "dump.json")
    assert alone.key_of(str(rank / "dump_tensor_data" / "x.pt")) is None
    (rank / "dump.json").unlink()
    assert place(tmp_path, "rank0/dump_tensor_data/x.pt") == "msprobe.dump rank0"


def test_of_two_dumps_in_one_folder_a_file_belongs_to_the_one_of_its_kind() -> None:
    root = Path("/run")
    places = Places(Artifact(kind, root, ".", 1, 1) for kind in ("cann.stats", "cann.dump"))
    name = "Add.Add_1.1.2.1700000000000000"
    assert places.key_of(f"/run/{name}") == ("cann.dump", root)
    assert places.key_of(f"/run/{name}.csv") == ("cann.stats", root)


def test_only_what_changed_is_replaced_in_a_run() -> None:
    one, two, three = (Artifact("runtime.plog", Path(f"/{n}"), str(n), 1, 1) for n in range(3))
    run = Run(Path("/"), (Round("a", (one,)), Round("b", (two,))), shared=(three,))
    bigger = Artifact("runtime.plog", Path("/1"), "1", 9, 9)
    changed = with_artifacts(run, {("runtime.plog", Path("/1")): bigger})
    assert changed.artifacts == (three, one, bigger)
    assert changed.rounds[0] is run.rounds[0]
    assert with_artifacts(run, {}) is run

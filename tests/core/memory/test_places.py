from __future__ import annotations

import os
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.memory import place_texts, source_index
from npulse.core.memory.faults import Access, Block, Cores, Fault, Frame
from npulse.core.memory.places import (
    CUT_AT,
    Missing,
    SourceHit,
    SourceRoots,
    built_of,
    can_have_place,
    is_cut,
    parts_of,
    short_paths,
    user_frame,
    words_of,
)


def tree(root: Path, *files: str) -> Path:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("int a;\n")
    return root


@pytest.fixture
def op(tmp_path: Path) -> Path:
    """A project, with copies of its sources as builds make them."""
    return tree(
        tmp_path / "op",
        *("op_kernel/add.cpp", "build/binary/src/add.cpp", "host/run.cpp", "host/tiling.h"),
        *("op_kernel/tiling.h", "README.md", "data/add.bin"),
    )


def look(
    roots: SourceRoots, file: str, line: int | None = 3, column: int | None = None
) -> tuple[str, str, int] | Missing:
    """(path below the first root, how, number of parts)."""
    found = roots.find(Frame(file, line, column))
    if isinstance(found, Missing):
        return found
    assert found.line == line and found.path.is_file() and found.path.is_relative_to(roots.root_of(found))
    return os.path.relpath(found.path, roots.roots[0]), found.how, found.n_tail_parts


def reason_of(found: object) -> str:
    assert isinstance(found, Missing), found
    return found.reason


# ---- finding files ----


def test_the_longest_common_tail_decides(op: Path) -> None:
    roots = SourceRoots([op])
    assert look(roots, "/workspace/op/op_kernel/add.cpp") == ("op_kernel/add.cpp", "tail", 3)
    assert look(roots, "/build/1234/op_kernel/add.cpp") == ("op_kernel/add.cpp", "tail", 2)
    assert look(roots, "/x/src/add.cpp") == ("build/binary/src/add.cpp", "tail", 2)
    assert look(roots, "op_kernel/tiling.h") == ("op_kernel/tiling.h", "tail", 2)


def test_parts_of_the_root_itself_count(op: Path) -> None:
    """A root inside the project: only the folder's own name tells both files apart."""
    roots = SourceRoots([tree(op / "op_kernel", "old/add.cpp")])
    assert look(roots, "/workspace/op/op_kernel/add.cpp") == ("add.cpp", "tail", 3)


def test_a_base_name_alone_must_be_unique(op: Path) -> None:
    roots = SourceRoots([op])
    assert look(roots, "run.cpp") == ("host/run.cpp", "name", 1)
    assert look(roots, "/elsewhere/run.cpp") == ("host/run.cpp", "name", 1)
    found = roots.find(Frame("tiling.h", 3))
    assert found == Missing("ambiguous", (op / "host/tiling.h", op / "op_kernel/tiling.h"), 2)
    assert reason_of(look(roots, "/elsewhere/add.cpp")) == "ambiguous"


def test_the_path_as_logged_comes_first(op: Path) -> None:
    exact = op / "build/binary/src/add.cpp"
    n_parts = len(exact.parts) - 1
    roots = SourceRoots([op])
    assert look(roots, str(exact)) == ("build/binary/src/add.cpp", "exact", n_parts)
    assert look(roots, str(op / "host/../op_kernel/add.cpp"))[:2] == ("op_kernel/add.cpp", "exact")  # type: ignore[index]


def test_several_roots_and_one_inside_another(op: Path, tmp_path: Path) -> None:
    other = tree(tmp_path / "lib", "common/pool.h")
    roots = SourceRoots([op, op / "host", other])
    assert look(roots, "/w/host/run.cpp") == ("host/run.cpp", "tail", 2)
    found = roots.find(Frame("/w/common/pool.h", 7, 9))
    assert found == SourceHit(other / "common/pool.h", 7, 9, "tail", 2, other)
    assert roots.index.n_files == 6


@pytest.mark.parametrize(
    "file", ["C:\\w\\op_kernel\\add.cpp", "op_kernel\\add.cpp", "D:/w/op_kernel/add.cpp"]
)
def test_names_of_another_system(op: Path, file: str) -> None:
    assert look(SourceRoots([op]), file) == ("op_kernel/add.cpp", "tail", 2)


def test_names_that_were_shortened_at_the_front(op: Path) -> None:
    roots = SourceRoots([op])
    assert look(roots, ".../op_kernel/add.cpp") == ("op_kernel/add.cpp", "tail", 2)
    assert look(roots, "/w/.../run.cpp") == ("host/run.cpp", "name", 1)
    assert look(roots, "../../op/host/../op_kernel/add.cpp") == ("op_kernel/add.cpp", "tail", 3)


def cut(tail: str) -> str:
    """A path of 63 bytes that ends in `tail`."""
    return "/" + "w" * (CUT_AT - len(tail.encode()) - 2) + "/" + tail


def test_names_that_were_cut_at_the_end(op: Path) -> None:
    roots = SourceRoots([tree(op, "tests/run_all.cpp", "host/deep/only.cpp")])
    assert look(roots, cut("op/host/ru")) == ("host/run.cpp", "tail", 3)
    assert look(roots, cut("host/run.c")) == ("host/run.cpp", "tail", 2)
    assert look(roots, cut("op/host/de")) == (
        "host/deep/only.cpp",
        "tail",
        3,
    )  # cut inside of a folder's name
    assert look(roots, cut("host/run.cpp")) == ("host/run.cpp", "tail", 2)  # not cut, by chance as long
    assert reason_of(look(roots, cut("op/ho"))) == "ambiguous"  # three files below that folder
    assert reason_of(look(roots, cut("other/ru"))) == "not-found"
    assert reason_of(look(roots, cut("host/ru")[1:])) == "not-found"  # shorter, so not cut
    assert reason_of(look(roots, cut("host/"))) == "not-found"  # nothing of the name is left


def test_a_cut_inside_of_a_character(tmp_path: Path) -> None:
    roots = SourceRoots([tree(tmp_path / "r", "host/越界.cpp")])
    whole = "/" + "w" * 51 + "/host/越界.cpp"
    file = whole.encode()[:CUT_AT].decode(errors="replace")
    assert file.endswith("\N{REPLACEMENT CHARACTER}") and is_cut(file)
    assert look(roots, file) == ("host/越界.cpp", "tail", 2)


# ---- why there is none ----


def test_reasons(op: Path) -> None:
    roots = SourceRoots([op])
    assert reason_of(roots.find(None)) == "no-frame"
    for file in ("", "<unknown>", "<null>"):
        assert reason_of(look(roots, file)) == "unknown-file"
    assert roots.find(Frame("/w/op_kernel/add.cpp", 0)) == Missing(
        "line-zero", (op / "op_kernel/add.cpp",), 1
    )
    assert roots.find(Frame("/w/op_kernel/add.cpp")) == Missing("no-line", (op / "op_kernel/add.cpp",), 1)
    assert roots.find(Frame("/w/none.cpp", 0)) == Missing("line-zero")
    for file in ("/w/none.cpp", "/", "..", "data/add.bin", "README.md", "a\nb.cpp", "x\0.cpp", "\udcff.cpp"):
        assert reason_of(look(roots, file)) == "not-found", file
    assert reason_of(SourceRoots([]).find(Frame("/w/a.cpp", 1))) == "no-roots"


def test_what_leads_out_of_the_roots(op: Path, tmp_path: Path) -> None:
    outside = tree(tmp_path / "outside", "secret.cpp", "sub/hidden.cpp")
    (op / "link.cpp").symlink_to(outside / "secret.cpp")
    (op / "folder").symlink_to(outside / "sub")
    (op / "inner.cpp").symlink_to(op / "host/run.cpp")
    roots = SourceRoots([op])
    assert reason_of(look(roots, str(op / "link.cpp"))) == "outside-roots"
    assert reason_of(look(roots, str(op / "folder/hidden.cpp"))) == "outside-roots"
    assert reason_of(look(roots, f"{op}/../outside/secret.cpp")) == "outside-roots"
    assert reason_of(look(roots, str(outside / "secret.cpp"))) == "not-found"
    assert reason_of(look(roots, "../outside/secret.cpp")) == "not-found"
    for name in ("link.cpp", "secret.cpp", "hidden.cpp", "folder/hidden.cpp"):
        assert reason_of(look(roots, name)) == "not-found"
    assert look(roots, str(op / "inner.cpp"))[0] == "host/run.cpp"  # type: ignore[index]


def test_a_root_behind_a_link_is_a_root(op: Path, tmp_path: Path) -> None:
    (tmp_path / "now").symlink_to(op)
    roots = SourceRoots([tmp_path / "now"])
    found = roots.find(Frame(str(tmp_path / "now/host/run.cpp"), 2))
    assert isinstance(found, SourceHit) and (found.path, found.how) == (op / "host/run.cpp", "exact")


def test_a_root_that_is_no_folder(op: Path) -> None:
    for path in (op / "none", op / "README.md"):
        with pytest.raises(InputError, match="not a folder"):
            SourceRoots([path])


def test_a_path_outside_is_not_even_looked_at(op: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = SourceRoots([op])
    assert roots.index.n_files == 5
    asked: list[str] = []
    monkeypatch.setattr(os.path, "realpath", lambda path: asked.append(path) or str(path))
    assert reason_of(look(roots, "/net/host/that/hangs.cpp")) == "not-found"
    assert asked == []


# ---- bounds ----


def test_more_files_than_are_looked_through(op: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_index.SourceIndex.__init__, "__defaults__", (2,))
    roots = SourceRoots([op])
    assert (roots.index.n_files, roots.index.is_cut) == (2, True)
    assert look(roots, "/w/src/add.cpp") == ("build/binary/src/add.cpp", "tail", 2)
    assert reason_of(look(roots, "run.cpp")) == "too-large"  # unique as far as was looked
    assert reason_of(look(roots, "other.cpp")) == "too-large"


@pytest.mark.parametrize(("n_less", "is_cut"), [(10, True), (1, True), (0, False)])
def test_more_entries_than_are_looked_at(
    op: Path, monkeypatch: pytest.MonkeyPatch, n_less: int, is_cut: bool
) -> None:
    """Folders and files of other kinds count as well."""
    monkeypatch.setattr(source_index, "MAX_ENTRIES", len(list(op.rglob("*"))) - n_less)
    assert SourceRoots([op]).index.is_cut == is_cut


def test_depth_links_and_folders_of_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_index, "MAX_DEPTH", 3)
    root = tree(tmp_path / "r", "a/b/c/in.cpp", "a/b/c/d/too_deep.cpp", ".git/x.cpp", "node_modules/y.cpp")
    (root / "loop").symlink_to(root)
    roots = SourceRoots([root])
    assert look(roots, "c/in.cpp") == ("a/b/c/in.cpp", "tail", 2)
    assert roots.index.is_cut and roots.index.n_files == 1
    monkeypatch.setattr(source_index, "MAX_DEPTH", 4)
    assert SourceRoots([root]).index.n_files == 2 and not SourceRoots([root]).index.is_cut


def test_the_roots_are_walked_once_and_only_when_asked(op: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n_walks = 0
    scandir = os.scandir

    def counting(path: str) -> object:
        nonlocal n_walks
        n_walks += path == os.fspath(op)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counting)
    roots = SourceRoots([op])
    assert reason_of(roots.find(None)) == "no-frame" and n_walks == 0
    for name in ("run.cpp", "add.cpp", "none.cpp", cut("host/r")):
        roots.find(Frame(name, 1))
    assert n_walks == 1


# ---- user's frame ----

TOOLKIT = Frame("/usr/local/Ascend/cann-8.5.0/aarch64-linux/asc/impl/basic_api/copy_impl.h", 52, 9)
MINE = Frame("/workspace/op/op_kernel/add.cpp", 43, 9)
LIBRARY = Frame("/workspace/catlass/include/tile_copy.hpp", 10)
MALLOC = Frame("../../../../src/libsanitizer/asan/asan_malloc_linux.cpp", 69, function="__interceptor_malloc")
START = Frame("../csu/libc-start.c", 360, function="__libc_start_main_impl")


@pytest.mark.parametrize(
    ("frames", "without_roots", "with_roots"),
    [
        ((TOOLKIT, TOOLKIT, MINE), 2, 2),
        ((MALLOC, MINE, START), 1, 1),
        ((LIBRARY, MINE), 0, 1),
        ((TOOLKIT, LIBRARY), 1, 1),
        ((TOOLKIT,), None, None),
        ((START, MALLOC), None, None),
        (
            (
                Frame("<unknown>"),
                Frame(function="malloc", module="attn"),
                Frame(function="main", module="attn"),
            ),
            2,
            2,
        ),
        ((Frame(function="Load", module="a"), MINE), 1, 1),
        ((), None, None),
    ],
)
def test_the_users_frame(
    op: Path, frames: Sequence[Frame], without_roots: int | None, with_roots: int | None
) -> None:
    assert user_frame(frames) == without_roots
    assert user_frame(frames, SourceRoots([op])) == with_roots


def test_what_the_roots_hold_of_a_toolkit(tmp_path: Path) -> None:
    home = tmp_path / "Ascend/ascend-toolkit/8.0"
    tree(home, "impl/copy_impl.h", "samples/op/mine.cpp")
    tree(tmp_path / "work", "copy_impl.h", "mine2.cpp")
    header, sample = Frame(str(home / "impl/copy_impl.h"), 1), Frame(str(home / "samples/op/mine.cpp"), 2)
    frames = (header, sample)
    assert user_frame(frames) is None
    assert user_frame(frames, SourceRoots([tmp_path])) is None, "a root above the toolkit makes it nobody's"
    assert user_frame(frames, SourceRoots([home / "samples"])) == 1
    assert user_frame(frames, SourceRoots([tmp_path / "work"])) is None, "by the base name alone"
    plain = tree(tmp_path / "plain/tools", "impl/x.h", "u.cpp")
    frames = (Frame(str(plain / "impl/x.h"), 1),)
    assert user_frame(frames, SourceRoots([tmp_path / "plain"])) == 0
    assert user_frame(frames, SourceRoots([tmp_path / "plain"]), [str(plain)]) is None
    assert user_frame(frames, SourceRoots([plain]), [str(plain)]) == 0


@pytest.mark.budget
def test_100_000_records_take_less_than_a_second(op: Path) -> None:
    roots = SourceRoots([op])
    stacks = [(TOOLKIT, TOOLKIT, Frame(f"/w{i % 300}/op_kernel/add.cpp", i), START) for i in range(100_000)]
    began = time.process_time()
    places = [user_frame(stack, roots) for stack in stacks]
    took = time.process_time() - began
    assert set(places) == {2}
    assert took < 0.8


# ---- words ----


def test_every_reason_has_words_in_both_languages() -> None:
    from typing import get_args

    from npulse.core.memory.places import Built, Reason

    for reason in get_args(Reason):
        for built in get_args(Built):
            en, zh = (words_of(Missing(reason, (), 3), lang, built) for lang in ("en", "zh"))
            assert en.isascii() and "{" not in en and "; " in en
            assert not zh.isascii() and "{" not in zh
    assert all(len(pair) == 2 and all(pair) for pair in place_texts.TEXTS.values())


def test_words_name_the_flags_that_give_a_position() -> None:
    assert "-g --cce-enable-sanitizer" in words_of(Missing("unknown-file"), "en")
    assert "-g -fno-omit-frame-pointer" in words_of(Missing("unknown-file"), "zh", "host")
    assert "-O0" in words_of(Missing("line-zero"), "en") and "-O2" in words_of(Missing("line-zero"), "zh")
    assert "--source-root" in words_of(Missing("not-found"), "en")
    assert "1,234" in words_of(Missing("ambiguous", (), 1234), "en")


def fault(kind: str, tool: str = "msSanitizer", **fields: object) -> Fault:
    return Fault(tool, kind, "error", "", "a.log", 1, 0, **fields)  # type: ignore[arg-type]


CORE = (Cores("aiv", ((0, 0),)),)
KERNEL = Access("write", 8, "GM", 1, kernel="k", device=0, cores=CORE, pc=4, serial_number=7)
GUARD = Access("write", 8, "GM", 1, kernel="k", device=2)
LIBRARY = "ScatterNdUpdate_" + "0a" * 16


def test_what_can_have_a_place_at_all() -> None:
    near = Block(1024, 0, "after", 8)
    assert can_have_place(fault("illegal write", accesses=(KERNEL,)))
    assert can_have_place(fault("illegal write", accesses=(KERNEL,), block=near))
    assert can_have_place(fault("illegal write", accesses=(GUARD,)))  # no guard record: a line may be missing
    assert can_have_place(fault("aicore exception", "CANN", accesses=(Access(kernel=LIBRARY),)))
    assert can_have_place(fault("SEGV", "AddressSanitizer", accesses=(Access(),)))
    assert not can_have_place(fault("illegal write", accesses=(GUARD,), block=near))
    assert not can_have_place(fault("register not reset", accesses=(KERNEL,)))
    assert not can_have_place(fault("error code", "CANN", accesses=(Access(pid=3),)))
    assert not can_have_place(fault("out of memory", "torch_npu", accesses=(Access(device=3),)))
    compiler = ("buffer overflow at compile time", "compiler")
    assert not can_have_place(fault(*compiler, accesses=(Access(space="UB"),)))
    assert can_have_place(fault(*compiler, accesses=(Access(frames=(Frame("a.py", 0),)),)))


def test_what_a_place_is_in() -> None:
    assert built_of(fault("illegal write", accesses=(KERNEL,))) == "kernel"
    assert built_of(fault("illegal free", accesses=(Access(serial_number=3),))) == "runtime-call"
    assert built_of(fault("illegal read", accesses=(Access(device=1),))) == "runtime-call"
    assert built_of(fault("illegal read", accesses=(Access("read", 4, "GM", 1),))) == "kernel"  # oldest style
    damaged = {"accesses": (Access(device=1),), "is_partial": True}
    assert built_of(fault("illegal read", **damaged)) == "kernel"  # the line that is missing may name it
    assert built_of(fault("illegal free", **damaged)) == "runtime-call"  # kernels free nothing
    assert built_of(fault("SEGV", "AddressSanitizer", accesses=(Access(device=1),))) == "host"
    for name in (LIBRARY, f"{LIBRARY}_0", f"{LIBRARY}_10001_mix_aic"):
        one = fault("aicore exception", "CANN", accesses=(Access(kernel=name),))
        assert built_of(one) == "library-kernel"
        assert built_of(fault("aicore exception", "CANN", figures={"kernel_name": name})) == "library-kernel"
    for name in ("add_custom", "add_" + "0a" * 15, LIBRARY + "f", ""):
        assert built_of(fault("aicore exception", "CANN", accesses=(Access(kernel=name),))) == "kernel"


def test_nobody_is_told_to_build_a_kernel_that_is_not_theirs() -> None:
    for reason in ("unknown-file", "line-zero"):
        for lang in ("en", "zh"):
            said = words_of(Missing(reason), lang, "library-kernel")  # type: ignore[arg-type]
            assert "mssanitizer" in said and "--cce-enable-sanitizer" not in said


# ---- short names ----


def test_short_paths() -> None:
    files = ["/w/op/op_kernel/add.cpp", "/w/op/host/add.cpp", "/w/op/host/run.cpp", "add.cpp", "<unknown>"]
    assert short_paths(files) == {
        "/w/op/op_kernel/add.cpp": "op_kernel/add.cpp",
        "/w/op/host/add.cpp": "host/add.cpp",
        "/w/op/host/run.cpp": "run.cpp",
        "add.cpp": "add.cpp",
        "<unknown>": "<unknown>",
    }
    assert short_paths([]) == {}
    assert short_paths(["/a/x.c", "//a/x.c", ""]) == {"/a/x.c": "/a/x.c", "//a/x.c": "//a/x.c", "": ""}


NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)


@given(st.sets(NAMES, max_size=12))
def test_short_paths_are_tails_and_all_different(files: set[str]) -> None:
    short = short_paths(files)
    assert set(short) == files and len(set(short.values())) == len(files)
    for file, tail in short.items():
        assert f"/{file}".endswith(f"/{tail}")
        if "/" in tail:
            shorter = tail.split("/", 1)[1]
            others = files - {file}
            assert any(f"/{other}".endswith(f"/{shorter}") for other in others), "it could be shorter"


@given(st.text(alphabet="ab./\\:\0\n…C", max_size=80))
def test_any_name_gets_an_answer(tmp_path_factory: pytest.TempPathFactory, file: str) -> None:
    root = tmp_path_factory.getbasetemp() / "any"
    if not root.exists():
        tree(root, "a/b.c", "b/a.c")
    found = SourceRoots([root]).find(Frame(file, 1))
    assert isinstance(found, Missing) or found.path.is_relative_to(root)
    assert all(part not in ("", ".", "..") for part in islice(parts_of(file), 100))

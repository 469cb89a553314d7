# ruff: noqa: E501 - lines as loaders print them
"""Complaints of loaders and imports, and facts of collectors: each form, places, hostile lines."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.collector import facts_in
from npulse.core.formats.environment import variables_in
from npulse.core.formats.loader_errors import LoaderError, loader_errors_in
from npulse.core.formats.pasted import cleaned, read_pasted


def errors(text: str) -> list[LoaderError]:
    return list(loader_errors_in(enumerate(text.splitlines(), 1)))


def test_a_missing_library_and_who_asked() -> None:
    text = "/opt/llama-box: error while loading shared libraries: libascend_dump.so: cannot open shared object file: No such file or directory"
    (one,) = errors(text)
    assert (one.kind, one.library, one.needed_by) == ("no-library", "libascend_dump.so", "/opt/llama-box")


def test_a_missing_symbol() -> None:
    (one,) = errors("OSError: /x/libop.so: undefined symbol: _ZN3atb9OperationE, version X_1")
    assert (one.kind, one.library, one.demangled, one.namespace) == (
        "no-symbol",
        "/x/libop.so",
        "atb::Operation",
        "atb",
    )
    (one,) = errors("python: symbol lookup error: /x/libop.so: undefined symbol: aclrtIpcMemSetAttr")
    assert (one.symbol, one.demangled, one.namespace, one.abi) == ("aclrtIpcMemSetAttr", "", "", "")


@pytest.mark.parametrize(
    ("symbol", "abi"),
    [
        ("_ZN3Mki2DlC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEb", "cxx11"),
        ("_ZN5torch3jit17parseSchemaOrNameERKSsb", "old"),
        ("_ZN3c1013MessageLoggerC1EPKcii", ""),
        ("_ZN3at4MSsE3addEv", ""),
        ("aclSs", ""),
    ],
)
def test_the_abi_of_a_symbol(symbol: str, abi: str) -> None:
    assert errors(f"/a.so: undefined symbol: {symbol}")[0].abi == abi


def test_missing_versions() -> None:
    (one,) = errors(
        "ImportError: /lib64/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by /x/libtorch_npu.so)"
    )
    assert (one.library, one.wanted, one.needed_by) == (
        "/lib64/libstdc++.so.6",
        "GLIBCXX_3.4.29",
        "/x/libtorch_npu.so",
    )


def test_codes_but_not_the_heads_of_log_lines() -> None:
    assert [
        one.wanted
        for one in errors("EE1001: The argument is invalid\nERR99999 UNKNOWN application exception\n")
    ] == [
        *("EE1001", "ERR99999"),
    ]
    assert errors("E0616 02:47:10.123 x.cc:1] failed\nE20: x") == []


@pytest.mark.parametrize(
    "text",
    ["all is well", "Version: 1.0 found", "import torch_npu", "torch_npu needs care", "see set_env.sh"],
)
def test_what_is_no_error(text: str) -> None:
    assert errors(text) == []


@given(st.lists(st.text(max_size=150), max_size=20))
def test_any_text(lines: list[str]) -> None:
    numbered = list(enumerate(lines, 1))
    for one in (*loader_errors_in(numbered), *facts_in(numbered), *variables_in(numbered)):
        assert 1 <= one.line <= len(lines)


WORDS = (
    *(
        "cannot open shared object",
        "undefined symbol",
        "not found (required by",
        "static TLS",
        "wrong ELF class",
    ),
    *(
        "torch",
        "torch_npu requires",
        "upgrade driver",
        "river version",
        "set_env please",
        "dcmi m",
        "CANN",
        "driver:",
    ),
)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    "filler",
    ["a" * 3000, "/a" * 1500, "a.so:" * 600, ".so" * 1000, " " * 3000, "torch_npu " * 300, "版本" * 1000],
)
def test_hostile_lines_take_no_time(word: str, filler: str) -> None:
    numbered = [(1, filler + word + filler), (2, word + ": " + filler), (3, filler + ": " + word)]
    begin = time.process_time()
    list(loader_errors_in(numbered)), list(facts_in(numbered)), list(variables_in(numbered))
    assert time.process_time() - begin < 1


# ---- facts ----


def facts(text: str) -> list[tuple[str, str, int]]:
    return [(one.name, one.value, one.line) for one in facts_in(enumerate(text.splitlines(), 1))]


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("PyTorch version: 2.5.1", "torch", "2.5.1"),
        ("PyTorch version              : 2.6.0+cpu", "torch", "2.6.0+cpu"),
        ("- PyTorch version: 2.4.0 (NPU)", "torch", "2.4.0"),
        (
            "Python version: 3.10.17 (main, Apr 30 2025, 16:00:31) [GCC 11.4.0] (64-bit runtime)",
            "python",
            "3.10.17",
        ),
        ("Python 3.9.2", "python", "3.9.2"),
        ("Libc version: glibc-2.28", "glibc", "2.28"),
        ("| npu-smi 24.1.rc3                 Version: 24.1.rc3             |", "driver", "24.1.rc3"),
        (
            "Linux node 4.19.90-2107.aarch64 #1 SMP Tue Dec 7 19:50:34 CST 2021 aarch64 GNU/Linux",
            "arch",
            "aarch64",
        ),
        ("Architecture:                    aarch64", "arch", "aarch64"),
        ("CANN version: 8.0.RC3", "cann", "8.0.RC3"),
        ("CANN：8.0.0", "cann", "8.0.0"),
        (
            'PRETTY_NAME="Kylin Linux Advanced Server V10 (Sword)"',
            "os",
            "Kylin Linux Advanced Server V10 (Sword)",
        ),
        ("\tCompatibility                  : OK", "board-compatibility", "OK"),
        ("\tSoftware Version               : 25.2.0", "driver", "25.2.0"),
        (
            "source /usr/local/Ascend/ascend-toolkit/set_env.sh",
            "sourced",
            "/usr/local/Ascend/ascend-toolkit/set_env.sh",
        ),
        ("Image: quay.io/ascend/cann:8.1.rc1-910b-ubuntu22.04-py3.10", "cann?", "8.1.rc1"),
        ("bash Ascend-cann-toolkit_8.0.RC3_linux-aarch64.run", "cann?", "8.0.RC3"),
        ("latest -> ./8.0.RC2", "link latest", "./8.0.RC2"),
    ],
)
def test_facts(line: str, name: str, value: str) -> None:
    assert (name, value, 1) in facts(line)


@pytest.mark.parametrize(
    "line",
    ["Clang version: Could not collect", "PyTorch version: N/A", "CANN: see below", "Python version: yes"],
)
def test_what_is_not_known_is_no_fact(line: str) -> None:
    assert facts(line) == []


def test_what_python_answers() -> None:
    text = ">>> torch.__version__\n'2.1.0'\n>>> print(torch_npu.__version__)\n2.1.0.rc1\n3.5\n"
    assert facts(text) == [("torch", "2.1.0", 2), ("torch_npu", "2.1.0.rc1", 4)]


def test_variables_among_other_lines() -> None:
    text = 'export A1=/x\n  "ASCEND_HOME_PATH": "/y",\nLD_LIBRARY_PATH: /z:/w\n$ echo $PYTHONPATH\n/p/q\nloss=3\nA1==2\n- B_2=c\n'
    found = [(one.name, one.value, one.line) for one in variables_in(enumerate(text.splitlines(), 1))]
    assert found == [
        *(("A1", "/x", 1), ("ASCEND_HOME_PATH", "/y", 2), ("LD_LIBRARY_PATH", "/z:/w", 3)),
        *(("PYTHONPATH", "/p/q", 5), ("B_2", "c", 8)),
    ]


# ---- pasting ----


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("> torch==2.5.1", "torch==2.5.1"),
        (">> > a", "a"),
        ("```text", ""),
        ("~~~", ""),
        ("\x1b[31mred\x1b[0m", "red"),
        ("`code`", "code"),
        ("'torch==2.5.1'", "torch==2.5.1"),
        ("[rank0]: x", "x"),
        ("`a` and `b`", "`a` and `b`"),
    ],
)
def test_what_pasting_adds_goes(text: str, plain: str) -> None:
    assert cleaned(text) == plain


def test_numbers_of_lines_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("```\n\n> a\nb\rc\n")
    assert read_pasted(path).lines == ((3, "a"), (4, "b"), (4, "c"))


def test_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b"\x7fELF\0\0")
    with pytest.raises(InputError, match="no text"):
        read_pasted(path)

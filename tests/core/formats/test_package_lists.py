# ruff: noqa: E501 - lines as tools print them
"""Lists of packages in every form in which people paste them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.package_lists import KNOWN, normal_name, packages_in, requirements_in, wheels_in


def listed(text: str) -> list[tuple[str, str, int]]:
    return [(one.name, one.version, one.line) for one in packages_in(enumerate(text.splitlines(), 1))]


@pytest.mark.parametrize(
    ("line", "name", "version"),
    [
        ("torch==2.5.1+cpu", "torch", "2.5.1+cpu"),
        ("torch-npu==2.5.1.post1.dev20250619", "torch_npu", "2.5.1.post1.dev20250619"),
        ("[pip3] torch-npu==2.5.1", "torch_npu", "2.5.1"),
        ("[conda] torch                     2.5.1                    pypi_0    pypi", "torch", "2.5.1"),
        ("- torch==2.1.0  # pinned", "torch", "2.1.0"),
        ("torch                             2.7.1", "torch", "2.7.1"),
        ("torch_npu 2.7.1rc1", "torch_npu", "2.7.1rc1"),
        ("torch: 2.1.0", "torch", "2.1.0"),
        ("- `torch` version: 2.4.0 (NPU)", "torch", "2.4.0"),
        ("| torch | 2.5.1 |", "torch", "2.5.1"),
        ("vllm_ascend 0.1.dev70+g839dac8", "vllm_ascend", "0.1.dev70+g839dac8"),
        (
            "torch_npu @ file:///w/torch_npu-2.1.0.post3-cp39-cp39-linux_aarch64.whl#sha256=00",
            "torch_npu",
            "2.1.0.post3",
        ),
    ],
)
def test_one_line(line: str, name: str, version: str) -> None:
    assert listed(f"before it\n{line}") == [(name, version, 2)]


@pytest.mark.parametrize(
    "line",
    [
        "pip install torch==2.5.1",
        "torch 2.5.1 does not work",
        "we use torch",
        "transformers are great 3",
        "numpy",
        "  File torch/utils.py, line 17",
        "accuracy 0.93",
        "ERROR: torch-npu 2.5.1 requires torch==2.5.1, but you have torch 2.6.0 which is incompatible.",
        "import torch  # 2.1",
    ],
)
def test_what_is_no_list(line: str) -> None:
    assert listed(line) == []


def test_a_table_has_any_names() -> None:
    text = "Package    Version  Editable project location\n---------- -------- -----\nabsl-py    2.1.0\nmindspeed  0.8.0    /home/x\n\nfoo 1.0\nbar 2.0"
    assert listed(text) == [("absl_py", "2.1.0", 3), ("mindspeed", "0.8.0", 4)]


def test_a_list_of_conda() -> None:
    text = "# packages in environment at /opt/c:\n#\n# Name                    Version                   Build  Channel\n_libgcc_mutex   0.1   main\nopenssl   3.0.15   h5eee18b_0\n"
    assert listed(text) == [("openssl", "3.0.15", 5)]


def test_what_was_just_installed_and_what_is_shown() -> None:
    assert listed("Successfully installed torch-2.5.1 torch-npu-2.5.1.post1 x") == [
        *(("torch", "2.5.1", 1), ("torch_npu", "2.5.1.post1", 1)),
    ]
    assert listed("Name: torch\nVersion: 2.5.1+gita8d6afb\nSummary: x") == [("torch", "2.5.1+gita8d6afb", 2)]


def test_wheels() -> None:
    text = "ERROR: torch_npu-2.5.1.post1-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl is not a supported wheel on this platform.\nDownloading numpy-1.26.4-cp311-cp311-manylinux2014_aarch64.whl (1 MB)\nx-1.0-py3-none-any.whl"
    found = [
        (one.name, one.version, one.python_tag, one.arch, one.is_refused, one.line)
        for one in wheels_in(enumerate(text.splitlines(), 1))
    ]
    assert found == [
        ("torch_npu", "2.5.1.post1", "cp310", "x86_64", True, 1),
        ("numpy", "1.26.4", "cp311", "aarch64", False, 2),
        ("x", "1.0", "py3", "", False, 3),
    ]


def test_what_pip_requires() -> None:
    text = (
        "torch-npu 2.5.1 requires torch==2.5.1, but you have torch 2.6.0+cpu which is incompatible.\n"
        "    The user requested torch==2.9.0\n    torch-npu 2.9.0 depends on torch==2.9.0+cpu\n"
        "vllm-ascend 0.8.5rc1 depends on torch>=2.5.1\nthis requires patience"
    )
    found = [
        (one.package, one.version, one.needs, one.spec, one.found, one.line)
        for one in requirements_in(enumerate(text.splitlines(), 1))
    ]
    assert found == [
        ("torch_npu", "2.5.1", "torch", "==2.5.1", "2.6.0+cpu", 1),
        ("", "", "torch", "==2.9.0", "", 2),
        ("torch_npu", "2.9.0", "torch", "==2.9.0+cpu", "", 3),
        ("vllm_ascend", "0.8.5rc1", "torch", ">=2.5.1", "", 4),
    ]


def test_names_are_one_in_every_spelling() -> None:
    assert normal_name("Torch-NPU") == normal_name("torch.npu") == normal_name("torch__npu") == "torch_npu"


@given(st.lists(st.text(max_size=120), max_size=30))
def test_any_text(lines: list[str]) -> None:
    numbered = list(enumerate(lines, 1))
    for one in (*packages_in(numbered), *wheels_in(numbered), *requirements_in(numbered)):
        assert 1 <= one.line <= len(lines)


@pytest.mark.parametrize(
    "line",
    [
        "a" * 900,
        "a-" * 450,
        "1." * 450,
        "torch==" + "1." * 440 + "x y",
        "torch requires " + "a=" * 900,
        "-".join(["a"] * 300) + ".whl",
        "torch " * 150,
    ],
)
def test_hostile_lines_take_no_time(line: str) -> None:
    begin = time.process_time()
    numbered = [(number, line) for number in range(20)]
    list(packages_in(numbered)), list(wheels_in(numbered)), list(requirements_in(numbered))
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(
    "text",
    [
        "numpy      1.26.4     Fundamental package for array computing\n"
        "torch      2.6.0      Tensors and dynamic neural networks\n"
        "torch-npu  (!) 2.6.0  Bridge between PyTorch and NPU\n",
        '[[package]]\nname = "numpy"\nversion = "1.26.4"\ndescription = ""\n\n'
        '[[package]]\nname = "torch"\nversion = "2.6.0"\n\n[[package]]\nname = "torch-npu"\nversion = "2.6.0"\n',
        "job v0.1.0\n├── numpy v1.26.4\n├── torch v2.6.0\n│   ├── filelock v3.13\n└── torch-npu v2.6.0 (*)\n",
        "job v0.1.0\n|-- numpy v1.26.4\n|-- torch[opt] v2.6.0\n`-- torch-npu v2.6.0\n",
    ],
    ids=["poetry show", "lock file", "uv tree", "uv tree in ASCII"],
)
def test_lists_of_poetry_and_uv(text: str) -> None:
    lines = list(enumerate(text.splitlines(), 1))
    found = {one.name: one.version for one in packages_in(lines) if one.name in KNOWN}
    assert found == {"numpy": "1.26.4", "torch": "2.6.0", "torch_npu": "2.6.0"}


@pytest.mark.parametrize("text", ["torch 2.6.0 is what I have", "torch 2.1.0 and torch_npu 2.1.0"])
def test_a_sentence_is_no_list(text: str) -> None:
    assert list(packages_in([(1, text)])) == []

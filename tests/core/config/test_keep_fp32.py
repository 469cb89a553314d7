from __future__ import annotations

import json

import pytest

from npulse.core.config.keep_fp32 import keep_fp32
from npulse.core.errors import UsageError


def test_layers_stand_one_a_line() -> None:
    found = keep_fp32(["fp32_vars/Relu", "conv1", "conv1"])
    assert (found.keep_dtype, found.modify_mixlist) == ("fp32_vars/Relu\nconv1\n", None)
    told = "\n".join(found.told("keep.cfg"))
    assert "--keep_dtype=keep.cfg" in told and "--modify_mixlist" not in told and "autocast" in told


def test_types_go_into_both_lists() -> None:
    found = keep_fp32(["conv1"], ["MatMul"])
    assert found.keep_dtype == "conv1\nOpType::MatMul\n"
    assert found.modify_mixlist is not None
    assert json.loads(found.modify_mixlist) == {"black-list": {"to-add": ["MatMul"]}}
    assert "--modify_mixlist=mix.json" in "\n".join(found.told("k", "mix.json", "zh"))


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x1b[2J", "x" * 2000])
def test_names_that_are_no_line(name: str) -> None:
    with pytest.raises(UsageError):
        keep_fp32([name])


def test_nothing_is_named() -> None:
    with pytest.raises(UsageError):
        keep_fp32()

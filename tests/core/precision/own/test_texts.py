"""Texts of the checks without a golden side."""

from __future__ import annotations

import re

import pytest

from npulse.core.formats.msprobe.names import parse_name
from npulse.core.precision.own.switches import switch_for
from npulse.core.precision.own.texts import OWN_TEXTS


@pytest.mark.parametrize("key", sorted(OWN_TEXTS))
def test_texts_hold_the_same_fields_in_both_languages(key: str) -> None:
    en, zh = OWN_TEXTS[key]
    assert en.strip() and zh.strip()
    assert sorted(re.findall(r"\{(\w+)\}", en)) == sorted(re.findall(r"\{(\w+)\}", zh))


@pytest.mark.parametrize(
    ("name", "switch"),
    [
        ("Distributed.all_reduce.0.forward", "switch-collective"),
        ("Functional.dropout.1.forward", "switch-random"),
        ("Functional.linear.1.backward", "switch-matmul"),
        ("Module.layers.0.fc1.Linear.forward.0", "switch-matmul"),
        ("NPU.npu_fusion_attention.0.forward", "switch-attention"),
        ("Tensor.index_put_.0.forward", "switch-atomic"),
        ("Functional.gelu.0.forward", "switch-operator"),
    ],
)
def test_every_operator_has_a_switch(name: str, switch: str) -> None:
    assert switch_for(parse_name(name)) == switch and switch in OWN_TEXTS

"""Module entries: the call inside is named, never what stands around it; modules alone name the innermost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.overflow.analyse import source_of

from .small_dumps import INF, bwd, causes, fwd, looked, mod, nan, rec

X, Y, Z, G = rec(3.0, -2.5), rec(200.0, -1.5), rec(7.25, -7.5), rec(0.125, -0.25)
PLUS = rec(INF, -2.0)
FC = "Module.fc.Linear.forward.0"
BLOCK = "Module.net.0.Block.forward.0"
INNER = {"Functional.linear.0.forward": FC, FC: BLOCK, BLOCK: None}
B_FC, B_BLOCK, B_LINEAR = (
    "Module.fc.Linear.backward.0",
    "Module.net.0.Block.backward.0",
    "Functional.linear.0.backward",
)
B_INNER = {B_LINEAR: B_FC, B_FC: B_BLOCK, B_BLOCK: None}

MODULES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, list[tuple[str, str]]]] = {
    "mix": (
        {"Functional.linear.0.forward": fwd([X], [PLUS]), FC: mod([X], [PLUS]), BLOCK: mod([X], [PLUS])},
        INNER,
        [("Functional.linear.0.forward", "operator")],
    ),
    "mix-other-output": (
        {
            "Functional.linear.0.forward": fwd([X], [PLUS]),
            FC: mod([X], [nan()]),
            BLOCK: mod([X], [nan(shape=[2])]),
        },
        INNER,
        [("Functional.linear.0.forward", "operator")],
    ),
    "mix-without-construct": (
        {"Functional.linear.0.forward": fwd([X], [PLUS]), FC: mod([X], [nan()])},
        None,
        [("Functional.linear.0.forward", "operator")],
    ),
    "module-first": (
        {FC: mod([X], [PLUS]), "Functional.linear.0.forward": fwd([X], [PLUS])},
        INNER,
        [("Functional.linear.0.forward", "operator")],
    ),
    "inputs-only-before-its-children": (
        {FC: mod([X], []), "Functional.linear.0.forward": fwd([X], [PLUS])},
        INNER,
        [("Functional.linear.0.forward", "operator")],
    ),
    "modules-alone": (
        {FC: mod([X], [PLUS]), BLOCK: mod([X], [nan(shape=[2])])},
        {FC: BLOCK, BLOCK: None},
        [(FC, "operator")],
    ),
    "modules-alone-by-their-paths": (
        {
            "Module.net.0.fc.Linear.forward.0": mod([X], [PLUS]),
            "Module.net.0.Block.forward.0": mod([X], [nan(shape=[2])]),
        },
        None,
        [("Module.net.0.fc.Linear.forward.0", "operator")],
    ),
    "healthy-inside": (
        {"Functional.linear.0.forward": fwd([X], [Y]), FC: mod([X], [PLUS])},
        INNER,
        [(FC, "operator")],
    ),
    "backward-module-first": (
        {B_FC: bwd([G], [PLUS]), B_LINEAR: bwd([G], [PLUS])},
        B_INNER,
        [(B_LINEAR, "operator")],
    ),
    "backward-modules-first": (
        {B_BLOCK: bwd([G], [nan()]), B_FC: bwd([G], [PLUS]), B_LINEAR: bwd([G], [PLUS])},
        B_INNER,
        [(B_LINEAR, "operator")],
    ),
    "backward-module-first-without-construct": (
        {B_FC: bwd([G], [PLUS]), B_LINEAR: bwd([G], [PLUS])},
        None,
        [(B_LINEAR, "operator")],
    ),
    "backward-module-last": (
        {B_LINEAR: bwd([G], [PLUS]), B_FC: bwd([G], [nan(shape=[2])])},
        B_INNER,
        [(B_LINEAR, "operator")],
    ),
    "backward-of-a-module-whose-forward-is-bad": (
        {"Functional.linear.0.forward": fwd([X], [PLUS]), FC: mod([X], [Y]), B_FC: bwd([G], [nan()])},
        {**INNER, **B_INNER},
        [("Functional.linear.0.forward", "operator")],
    ),
    "a-weight-beside-what-begins-inside": (
        {"Torch.log.0.forward": fwd([X], [PLUS]), FC: mod([X], [nan()], weight=nan(shape=[16]))},
        {"Torch.log.0.forward": FC, FC: None},
        [("Torch.log.0.forward", "operator"), (FC, "parameter")],
    ),
    "modules-alone-of-their-own": (
        {FC: mod([X], [PLUS]), "Module.fc2.Linear.forward.0": mod([Z], [PLUS])},
        None,
        [(FC, "operator"), ("Module.fc2.Linear.forward.0", "operator")],
    ),
    "pseudo-parents": (
        {"Torch.mul.0.forward": fwd([X], [PLUS]), "Torch.add.0.forward": fwd([X, Z], [PLUS])},
        {"Torch.mul.0.forward": "optimizer", "Torch.add.0.forward": "optimizer"},
        [("Torch.mul.0.forward", "operator"), ("Torch.add.0.forward", "operator")],
    ),
}


@pytest.mark.parametrize("case", MODULES)
def test_modules(case: str, tmp_path: Path) -> None:
    data, parents, expected = MODULES[case]
    found = looked(tmp_path, data, parents=parents)
    assert causes(found) == expected
    sources = {source_of(found, 0, call) for call in found.ranks[0].roles.cause_of}
    assert sources == {(0, origin.call) for _, origin in found.origins()}


@pytest.mark.parametrize("parents", [{FC: BLOCK, BLOCK: FC}, {FC: FC}, {BLOCK: FC, FC: B_FC, B_FC: BLOCK}])
def test_a_hierarchy_in_circles(parents: Any, tmp_path: Path) -> None:
    data = {FC: mod([X], [PLUS]), BLOCK: mod([PLUS], [nan()]), B_FC: bwd([G], [nan(shape=[2])])}
    assert causes(looked(tmp_path, data, parents=parents)) == [(FC, "operator")]

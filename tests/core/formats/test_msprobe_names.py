"""Entry names taken apart; expected parts written down by hand from the format's grammar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.msprobe.names import layer_of, module_chain, parse_name
from npulse.core.formats.msprobe.records import CallName


@pytest.mark.parametrize(
    ("full", "kind", "direction", "prefix", "api", "number", "path", "cls"),
    [
        ("Functional.linear.3.forward", "api", "forward", "Functional", "linear", 3, "", ""),
        ("Tensor.__add__.12.backward", "api", "backward", "Tensor", "__add__", 12, "", ""),
        ("Aten._foo.default.0.forward", "api", "forward", "Aten", "_foo.default", 0, "", ""),
        ("my_op.0.forward", "api", "forward", "", "my_op", 0, "", ""),
        ("Distributed.all_reduce.1.forward", "api", "forward", "Distributed", "all_reduce", 1, "", ""),
        ("Module.fc1.Linear.forward.0", "module", "forward", "Module", "", 0, "fc1", "Linear"),
        (
            "Module.0.layers.1.fc1.Linear.backward.7",
            "module",
            "backward",
            "Module",
            "",
            7,
            "0.layers.1.fc1",
            "Linear",
        ),
        (
            "Module.forward.2.forward.X.forward.4",
            "module",
            "forward",
            "Module",
            "",
            4,
            "forward.2.forward",
            "X",
        ),
        ("Module.Linear.Linear.forward.0", "module", "forward", "Module", "", 0, "Linear", "Linear"),
        ("Cell.net.0.Dense.forward.0", "module", "forward", "Cell", "", 0, "net.0", "Dense"),
        ("Module.fc1.Linear.parameters_grad.2", "grad", "grad", "Module", "", 2, "fc1", "Linear"),
        ("Module.fc1.Linear.parameters_grad", "grad", "grad", "Module", "", None, "fc1", "Linear"),
        ("x.0.debug", "debug", "debug", "", "x", 0, "", ""),
        ("loss.v1_grad.12.debug", "debug", "debug", "", "loss.v1_grad", 12, "", ""),
    ],
)
def test_known_names(
    full: str, kind: str, direction: str, prefix: str, api: str, number: int | None, path: str, cls: str
) -> None:
    assert parse_name(full) == CallName(full, kind, direction, prefix, api, number, path, cls)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "full",
    [
        "",
        ".",
        "optimizer",
        "forward",
        "forward.0",
        "0.forward",
        "Module.forward",
        "a.b.c",
        "a.x.forward",
        "Torch.abs.²3.forward",
        "Torch.abs." + "9" * 5000 + ".forward",
        "parameters_grad",
        "debug",
        ".0.debug",
    ],
)
def test_other_names_are_kept_whole(full: str) -> None:
    assert parse_name(full) == CallName(full, "other", "other", "", full, None)


words = st.sampled_from(
    ["forward", "backward", "debug", "parameters_grad", "0", "17", "Module", "x", "", "层"]
)


@given(st.lists(words, max_size=8).map(".".join) | st.text())
def test_no_name_raises(full: str) -> None:
    name = parse_name(full)
    assert name.full == full
    assert layer_of(name) == layer_of(full)
    assert module_chain(name)[-1:] == ((name.path,) if name.path else ())


@pytest.mark.parametrize(
    ("full", "layer"),
    [
        ("Module.layers.25.mlp.Linear.forward.0", 25),
        ("Module.0.decoder.layers.3.Block.backward.1", 3),
        ("Module.transformer.h.11.GPT2Block.forward.0", 11),
        ("Module.blocks.2.ffn.up.Linear.forward.0", 2),
        ("Module.encoder.layer.3.BertLayer.forward.0", 3),
        ("Module.vision.encoder_layers.4.Layer.forward.0", 4),
        ("Module.layers.5.mlp.experts.7.Expert.forward.0", 5),
        ("Module.layers.1.fc1.Linear.parameters_grad.9", 1),
        ("Module.0.Linear.forward.8", None),
        ("Module.fc.3.Linear.forward.0", None),
        ("Functional.linear.3.forward", None),
        ("layers.3.debug", None),
    ],
)
def test_layer_of(full: str, layer: int | None) -> None:
    assert layer_of(full) == layer


def test_module_chain() -> None:
    assert module_chain("Module.layers.1.fc1.Linear.forward.0") == ("layers", "layers.1", "layers.1.fc1")
    assert module_chain("Functional.linear.3.forward") == ()

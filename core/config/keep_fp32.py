"""Lists with which a compiler keeps single layers in float32, to compare a run with one layer exact.

Sources (public documentation of ATC, CANN 8.0 to 9.1): `--keep_dtype` (hiascend.com, atlasatcparam_16_0074)
takes a text file with one operator name of the original model a line, or OpType::TYPE; such operators keep
the precision of the original graph. `--modify_mixlist` (atlasatcparam_16_0071) takes JSON in which
"black-list" "to-add" names operator *types* that mixed precision must not reduce. Neither names modules of
PyTorch: in eager mode there is no such list, a module keeps float32 inside of autocast(enabled=False).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from npulse.core.errors import UsageError
from npulse.core.text import Lang, say

from .texts_keep_fp32 import TEXTS

_MAX_NAME = 1024


@dataclass(frozen=True, slots=True)
class KeepFp32:
    """keep_dtype: text of the file for --keep_dtype. modify_mixlist: JSON text for --modify_mixlist, None
    without operator types."""

    keep_dtype: str
    modify_mixlist: str | None

    def told(self, keep_dtype_file: str, mixlist_file: str = "", lang: Lang = "en") -> tuple[str, ...]:
        """How the files are used."""
        lines = [say(TEXTS, "atc", lang, file=keep_dtype_file)]
        if self.modify_mixlist is not None:
            lines.append(say(TEXTS, "mixlist", lang, file=mixlist_file))
        return (*lines, say(TEXTS, "torch", lang))


def keep_fp32(layers: Sequence[str] = (), op_types: Sequence[str] = (), *, lang: Lang = "en") -> KeepFp32:
    """The lists for layers (operator names of the original model) and for operator types ("MatMul").

    UsageError: nothing is named, or a name cannot stand in a line.
    """
    if not layers and not op_types:
        raise UsageError(say(TEXTS, "empty", lang))
    for name in (*layers, *op_types):
        if not name.strip() or len(name) > _MAX_NAME or not name.isprintable():
            raise UsageError(say(TEXTS, "name", lang, name=name[:60]))
    lines = [*dict.fromkeys((*layers, *(f"OpType::{op_type}" for op_type in op_types)))]
    mixlist = None
    if op_types:
        mixlist = json.dumps({"black-list": {"to-add": [*dict.fromkeys(op_types)]}}, indent=2) + "\n"
    return KeepFp32("".join(f"{line}\n" for line in lines), mixlist)

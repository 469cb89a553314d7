"""What a configuration asks for, defaults filled in: the one reading that explaining and estimating share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npulse.core.formats.acl_config import DumpTarget, acl_config_in
from npulse.core.formats.config_json import ConfigJson, parse_config_json
from npulse.core.formats.msprobe.config import msprobe_config_in

from .steps import StepFault, Steps, parse_acl, parse_msprobe
from .vocabulary import EXCEPTION_SCENES


@dataclass(frozen=True, slots=True)
class AclParts:
    """acl.json. steps: () is every step. bad_steps: the part that cannot be read. targets: of dump_list.

    ranges: begin and end of every opname_range; left_out: what blacklists name.
    """

    path: str | None
    mode: str
    level: str
    data: str
    stats: tuple[str, ...]
    steps: Steps
    scene: str | None
    is_overflow: bool
    is_op_switch: bool
    targets: tuple[DumpTarget, ...]
    bad_steps: str | None = None
    ranges: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def is_exception(self) -> bool:
        return self.scene in EXCEPTION_SCENES

    @property
    def is_nothing(self) -> bool:
        """Nothing is selected: CANN dumps nothing."""
        return not (self.targets or self.is_op_switch or self.is_overflow or self.scene)


@dataclass(frozen=True, slots=True)
class MsprobeParts:
    """config.json of msprobe. steps, ranks: () is all. bad_steps: as in AclParts. modes: data_mode.

    is_switched: dump_enable is there, recording begins and ends by editing the file.
    """

    task: str
    level: str
    path: str | None
    steps: Steps
    ranks: Steps
    list: tuple[str, ...]
    scope: tuple[str, ...]
    tensor_list: tuple[str, ...]
    modes: tuple[str, ...]
    summary: str
    is_async: bool
    is_switched: bool
    bad_steps: str | None = None


def acl_parts(config: Mapping[str, Any] | ConfigJson) -> AclParts:
    """InputError where it is no acl.json."""
    text = _text(config)
    found = acl_config_in(text)
    ranges, left_out = _listed(text.value["dump"].get("dump_list"))
    steps = parse_acl(found.dump_step or "")
    return AclParts(
        path=found.dump_path,
        mode=found.dump_mode or "output",
        level=found.dump_level or "all",
        data=found.dump_data or "tensor",
        stats=found.dump_stats or (),
        steps=() if isinstance(steps, StepFault) else steps,
        scene=found.dump_scene,
        is_overflow=bool(found.dump_debug),
        is_op_switch=bool(found.dump_op_switch),
        targets=found.targets or (),
        bad_steps=steps.part if isinstance(steps, StepFault) else None,
        ranges=ranges,
        left_out=left_out,
    )


def msprobe_parts(config: Mapping[str, Any] | ConfigJson) -> MsprobeParts:
    """InputError where it is no config.json of msprobe."""
    found = msprobe_config_in(_text(config))
    steps, ranks = (parse_msprobe(numbers or ()) for numbers in (found.step, found.rank))
    summary = found.summary_mode or "statistics"
    task = found.task or "statistics"
    level = found.level or "L1"
    return MsprobeParts(
        task=task,
        level="mix" if task == "structure" and level not in ("L0", "mix") else level,
        path=found.dump_path,
        steps=() if isinstance(steps, StepFault) else steps,
        ranks=() if isinstance(ranks, StepFault) else ranks,
        list=found.list or (),
        scope=found.scope or (),
        tensor_list=found.tensor_list or (),
        modes=found.data_mode or ("all",),
        summary=summary if isinstance(summary, str) else ", ".join(summary),
        is_async=bool(found.async_dump),
        is_switched=found.dump_enable is not None,
        bad_steps=steps.part if isinstance(steps, StepFault) else None,
    )


def _listed(targets: Any) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Ranges and blacklisted names of dump_list, as far as they are texts."""
    items = [item for item in targets if isinstance(item, dict)] if isinstance(targets, list) else []

    def entries(key: str) -> list[dict[str, Any]]:
        lists = [item.get(key) for item in items]
        return [e for entries in lists if isinstance(entries, list) for e in entries if isinstance(e, dict)]

    ranges = tuple((str(e.get("begin"))[:200], str(e.get("end"))[:200]) for e in entries("opname_range"))
    names = []
    for entry in (*entries("optype_blacklist"), *entries("opname_blacklist")):
        places = entry.get("pos")
        pos = " ".join(map(str, places))[:200] if isinstance(places, list) else ""
        names.append(f"{str(entry.get('name'))[:200]} {pos}".strip())
    return ranges, tuple(names)


def _text(config: Mapping[str, Any] | ConfigJson) -> ConfigJson:
    if isinstance(config, ConfigJson):
        return config
    return parse_config_json(json.dumps(config, ensure_ascii=False), Path("config"))

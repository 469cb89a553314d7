"""Settings that decide what one sees: whether the device writes Inf or saturates, the loss scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.acl_config import read_acl_config
from npulse.core.formats.environment import SEED_WORDS_OF
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import INPUT, TENSOR
from npulse.core.run.model import Artifact
from npulse.core.run.settings import Setting, settings_of

from .criteria import Settings
from .ranks import RankOverflow

SEED_WORDS = SEED_WORDS_OF["overflow"]
VARIABLES = (
    "INF_NAN_MODE_ENABLE",
    "INF_NAN_MODE_FORCE_DISABLE",
    "MS_ASCEND_CHECK_OVERFLOW_MODE",
    "ASCEND_DUMP_SCENE",
    "ASCEND_DUMP_PATH",
    *SEED_WORDS,
)
FLAGS = ("loss-scale", "initial-loss-scale", "fp16", "bf16")


@dataclass(frozen=True, slots=True)
class LossScale:
    """What the backward pass of one rank and step starts with: the gradient of the loss."""

    step: int | None
    rank: int | None
    value: float


@dataclass(frozen=True, slots=True)
class Context:
    """saturation: True where the device saturates instead of writing Inf, None where nothing tells.

    told_by: the setting that tells it; None where the user did. settings: all of interest. seeds: settings
    under names that no tool reads, with the real ones. loss_scales: in the order of the steps.
    """

    saturation: bool | None = None
    told_by: Setting | None = None
    settings: tuple[Setting, ...] = ()
    seeds: tuple[tuple[Setting, tuple[str, ...]], ...] = ()
    loss_scales: tuple[LossScale, ...] = ()


def read_context(
    root: Path,
    others: Sequence[Artifact],
    ranks: Sequence[RankOverflow],
    settings: Settings,
    problems: list[Problem],
) -> Context:
    """What environment texts, scripts, manifest and acl.json of a round say, and the dumps themselves."""
    found: list[Setting] = []
    for artifact in others:
        try:
            if artifact.kind == "cann.acl_config":
                found += _of_acl(artifact, root, problems)
            else:
                told = settings_of(artifact, root, VARIABLES, problems, FLAGS)
                found += [_bare(one) for one in told]
        except InputError as error:
            problems.append(Problem.from_error(error, artifact.relative))
    saturation, told_by = _saturation(found)
    if settings.saturation is not None:
        saturation, told_by = settings.saturation, None
    seeds = tuple((one, SEED_WORDS[one.name]) for one in found if one.name in SEED_WORDS)
    return Context(saturation, told_by, tuple(found), seeds, tuple(_loss_scales(ranks)))


def _bare(setting: Setting) -> Setting:
    """A switch whose value, where one is written behind it, is not its own."""
    return replace(setting, value="") if setting.name in ("--fp16", "--bf16") else setting


def _of_acl(artifact: Artifact, root: Path, problems: list[Problem]) -> list[Setting]:
    config = read_acl_config(artifact.path, root=root)
    problems += config.problems
    values = {"dump_debug": config.dump_debug, "dump_scene": config.dump_scene}
    texts = {name: ("on" if v is True else "off" if v is False else v) for name, v in values.items()}
    return [
        Setting(name, text, artifact.relative, config.line_of.get(name))
        for name, text in texts.items()
        if text is not None
    ]


def _saturation(settings: Sequence[Setting]) -> tuple[bool | None, Setting | None]:
    """The last setting that says it; names that no tool reads say nothing."""
    for setting in reversed(settings):
        value = setting.value.strip().strip("'\"").lower()
        if setting.name == "INF_NAN_MODE_ENABLE" and value in ("0", "1"):
            return value == "0", setting
        if setting.name == "MS_ASCEND_CHECK_OVERFLOW_MODE":
            if value in ("infnan_mode", "saturation_mode"):
                return value == "saturation_mode", setting
    return None, None


def _loss_scales(ranks: Sequence[RankOverflow]) -> list[LossScale]:
    """The one-element gradient that each backward pass starts with; 1 where the loss is not scaled."""
    found = []
    for rank in ranks:
        for call, full in enumerate(rank.dump.calls.names):
            if not full.endswith(".backward") and ".backward." not in full:
                continue
            if parse_name(full).direction != "backward":
                continue
            value = _only_element(rank, call)
            if value is not None:
                found.append(LossScale(rank.step, rank.rank, value))
            break
    return sorted(found, key=lambda one: (one.step or 0, one.rank or 0))


def _only_element(rank: RankOverflow, call: int) -> float | None:
    leaves, health = rank.dump.leaves, rank.health
    for row in rank.dump.leaf_range(call):
        if leaves.side[row] == INPUT and leaves.kind[row] == TENSOR and health.n_elements[row] == 1:
            return float(health.high[row]) if health.is_known[row] else None
    return None

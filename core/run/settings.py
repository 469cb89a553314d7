"""Settings that a round's environment texts, scripts and manifest hold, and where each stands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.formats.environment import read_environment

from ..findings import Problem
from .model import Artifact

ENVIRONMENTS = frozenset(("device.environment", "device.script", "npulse.round"))
"""Kinds of artifact that hold settings of a program."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting and where it stands: file relative to the run, line."""

    name: str
    value: str
    artifact: str
    line: int | None

    @property
    def text(self) -> str:
        return f"{self.name}={self.value}" if self.value else self.name


def settings_of(
    artifact: Artifact,
    root: Path,
    names: Sequence[str],
    problems: list[Problem],
    flags: Sequence[str] = (),
    *,
    each: Collection[str] = (),
) -> tuple[Setting, ...]:
    """The variables of these names in one artifact, then the command line flags ("loss-scale"), as set.

    The last setting of a name; of those in `each`, all values that it is set to.

    InputError where it cannot be read; () for artifacts that hold no settings.
    """
    if artifact.kind not in ENVIRONMENTS:
        return ()
    environment = read_environment(artifact.path, root=root)
    problems += environment.problems
    found = []
    for name in names:
        set_to = {v.value: v for v in environment.variables if v.name == name}
        last = environment.get(name)
        for variable in set_to.values() if name in each else filter(None, (last,)):
            found.append(Setting(name, variable.value, artifact.relative, variable.line))
    for word in flags:
        flag = environment.flag(word)
        if flag is not None:
            found.append(Setting(f"--{flag.name}", flag.value or "", artifact.relative, flag.line))
    return tuple(found)


def settings_in(
    artifacts: Iterable[Artifact],
    root: Path,
    names: Sequence[str],
    problems: list[Problem],
    *,
    each: Collection[str] = (),
) -> tuple[Setting, ...]:
    """The settings of these names, artifact by artifact; what cannot be read becomes a Problem."""
    found: list[Setting] = []
    for artifact in artifacts:
        try:
            found += settings_of(artifact, root, names, problems, each=each)
        except InputError as error:
            problems.append(Problem.from_error(error, artifact.relative))
    return tuple(found)

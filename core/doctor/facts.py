"""What is known of an environment, each fact with where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npulse.core.findings import Location, Problem
from npulse.core.formats.loader_errors import LoaderError
from npulse.core.formats.package_lists import Requirement, Wheel


@dataclass(frozen=True, slots=True)
class Place:
    """A file and a line of it (from 1); artifact "": the environment of this process."""

    artifact: str = ""
    line: int | None = None

    def __str__(self) -> str:
        return self.artifact if self.line is None else f"{self.artifact}:{self.line}"

    @property
    def location(self) -> Location:
        """The same, as findings have it."""
        return Location(artifact=self.artifact or None, line=self.line)


@dataclass(frozen=True, slots=True)
class Fact:
    """One value as it is written, and where."""

    value: str
    place: Place


@dataclass(frozen=True, slots=True)
class Component:
    """Something of the vendor's with a version file: toolkit, ops, driver, firmware, NNAL.

    release: "8.2.RC1", "25.2.0"; "" where only that it is there is known. inner: "V100R001C22SPC001B231".
    compatible, compatible_firmware, compatible_drivers: the lists of the version file as they are written, ""
    where there is none. home: its folder. is_told: by its own version file, not by another text.
    """

    release: str
    place: Place
    home: str = ""
    inner: str = ""
    arch: str = ""
    compatible: str = ""
    compatible_firmware: str = ""
    compatible_drivers: str = ""
    is_told: bool = True


@dataclass(frozen=True, slots=True)
class Package:
    """A Python package. name: in lower case with "_" for "-" and "."; version as it is written."""

    name: str
    version: str
    place: Place


@dataclass(frozen=True, slots=True)
class Error:
    """An error of the loader or of an import, and where it was printed."""

    told: LoaderError
    place: Place


@dataclass(frozen=True, slots=True)
class Environment:
    """All that is known. What was not told is absent, None or ""; see core/doctor/__init__.py.

    subject: what was looked at, for people. toolkits: the one that is used first, where that is known.
    links: "latest" or a toolkit's whole path, and the folder or release behind it.
    sourced: set_env.sh scripts that a text shows. existing: of the folders that variables name, those that
    are there (of this machine alone). unsure: components that texts tell of in different versions.
    """

    subject: str
    is_live: bool = False
    toolkits: tuple[Component, ...] = ()
    driver: Component | None = None
    firmware: Component | None = None
    nnal: Component | None = None
    ops: Component | None = None
    packages: Mapping[str, Package] = field(default_factory=dict)
    other_packages: tuple[Package, ...] = ()
    requirements: tuple[tuple[Requirement, Place], ...] = ()
    wheels: tuple[tuple[Wheel, Place], ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    is_container: bool | None = None
    facts: Mapping[str, Fact] = field(default_factory=dict)
    variables: Mapping[str, Fact] = field(default_factory=dict)
    sourced: tuple[Fact, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    existing: frozenset[str] | None = None
    errors: tuple[Error, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def toolkit(self) -> Component | None:
        """The toolkit that is used, as far as that is known."""
        return self.toolkits[0] if self.toolkits else None

    def version(self, package: str) -> str:
        """The version of a Python package; "" where it is not told."""
        found = self.packages.get(package)
        return found.version if found else ""

    def value(self, fact: str) -> str:
        """A fact's value; "" where it is not told."""
        found = self.facts.get(fact)
        return found.value if found else ""

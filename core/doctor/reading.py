"""An environment from texts: what collectors print, lists of packages, version files, loader errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.files import shown_path
from npulse.core.findings import Problem
from npulse.core.formats.collector import Told, facts_in
from npulse.core.formats.environment import Variable, variables_in
from npulse.core.formats.loader_errors import loader_errors_in
from npulse.core.formats.package_lists import Requirement, Wheel, packages_in, requirements_in, wheels_in
from npulse.core.formats.pasted import Numbered, read_pasted
from npulse.core.formats.version_files import VersionBlock, read_version_file, releases_of, version_blocks

from .facts import Component, Environment, Error, Fact, Package, Place
from .releases import cann_of, is_same_cann
from .versions import FACTS, PACKAGES

MAX_FILES = 200
_VERSIONED = frozenset(("cann", "driver", "firmware", "nnal", "ops", "npu_smi", *FACTS))
KINDS = ("device.version", "device.environment", "device.npu_smi")
"""What is read of a folder."""


def read_environments(paths: Sequence[Path], *, root: Path | None = None) -> Environment:
    """What some texts tell together; of a folder its version files and environment texts.

    Where texts tell a thing twice, the first one holds; a version file holds before any other text. root:
    places are told relative to it. Raises InputError: no such file, no text, a folder without any.
    """
    gathered = Gathered()
    for path in _files(paths):
        _read(path, gathered, root)
    subject = ", ".join(str(path) for path in paths[:3]) + (" ..." if len(paths) > 3 else "")
    return gathered.environment(subject)


def read_recorded(
    paths: Sequence[Path],
    versions: Mapping[str, Mapping[str, str]],
    *,
    root: Path | None = None,
) -> Environment:
    """What a round recorded of its environment: its texts, and versions in the flat form of `versions_of` by
    the file that holds them. Texts hold before versions; a text that cannot be read is a problem.
    """
    gathered = Gathered()
    for path in paths[:MAX_FILES]:
        try:
            _read(path, gathered, root)
        except InputError as error:
            gathered.problems += (Problem.from_error(error, shown_path(path, root)),)
    for artifact, flat in versions.items():
        place = Place(artifact)
        for name, value in flat.items():
            if name in PACKAGES:
                gathered.add_package(name, value, place)
            elif name in _VERSIONED:
                gathered.add_fact(name.replace("npu_smi", "npu-smi"), value, place)
    return gathered.environment(", ".join(versions))


def _files(paths: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        from npulse.core.run.discover import discover

        inside = [one.path for one in discover(path).artifacts if one.kind in KINDS]
        if not inside:
            hint = "name a text: the output of a collector, pip list, a version file, an error"
            raise InputError("holds no version file and no environment text", path=path, hint=hint)
        found += inside
    return found[:MAX_FILES]


def _read(path: Path, gathered: Gathered, root: Path | None) -> None:
    artifact = shown_path(path, root)
    if path.suffix.lower() in (".info", ".cfg"):
        block = read_version_file(path, root=root)
        if block.kind != "unknown":
            gathered.add_block(block, artifact)
            gathered.problems += block.problems
            return
    pasted = read_pasted(path, root=root)
    gathered.problems += pasted.problems
    gathered.add_lines(pasted.lines, artifact)


_CANN_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_RELEASE_IN_PATH = re.compile(
    r"/(?:(?:ascend-toolkit|nnae|nnrt)/|cann-|cann/|CANN-?)(?P<release>\d+\.\d+\.[\w.]+)"
)
_NNAL_IN_PATH = re.compile(r"/nnal/atb/(?P<release>\d+\.\d+\.[\w.]+)")
_NNAL_PACKAGE = re.compile(r"Ascend-cann-nnal[_-](?P<release>\d+\.\d+\.[\w.]*\d)")
_ARCH = re.compile(r"\b(aarch64|arm64|x86_64|amd64)\b")
_GLIBC = re.compile(r"glibc(\d+\.\d+)")
_ARCH_NAMES = {"arm64": "aarch64", "amd64": "x86_64"}
_PACKAGE_FACTS = frozenset(
    ("torch", "torch_npu", "vllm", "vllm_ascend", "numpy", "transformers", "mindspore", "mindspeed", "mindie")
) | {"llamafactory"}


@dataclass(slots=True)
class Gathered:
    """What was found so far, in its order; also filled by the inventory of this machine."""

    blocks: list[tuple[VersionBlock, str]] = field(default_factory=list)
    told: dict[str, list[Fact]] = field(default_factory=dict)
    packages: dict[str, list[Package]] = field(default_factory=dict)
    variables: dict[str, Fact] = field(default_factory=dict)
    sourced: list[Fact] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    _errors: list[Error] = field(default_factory=list)
    _requirements: list[tuple[Requirement, Place]] = field(default_factory=list)
    _wheels: list[tuple[Wheel, Place]] = field(default_factory=list)

    # ---- adding ----

    def add_block(self, block: VersionBlock, artifact: str) -> None:
        """One version file."""
        self.blocks.append((block, artifact))

    def add_fact(self, name: str, value: str, place: Place) -> None:
        """One fact, behind those of its name that are there."""
        self.told.setdefault(name, []).append(Fact(value, place))

    def add_package(self, name: str, version: str, place: Place) -> None:
        """One package."""
        self.packages.setdefault(name, []).append(Package(name, version, place))

    def add_variable(self, variable: Variable, artifact: str) -> None:
        """A variable; "$NAME" of itself in its value is what it was before."""
        value, name = variable.value, variable.name
        before = self.variables[name].value if name in self.variables else ""
        for reference in (f"${{{name}}}", f"${name}"):
            value = value.replace(reference, before, 1)
        self.variables[name] = Fact(value[:100_000], Place(artifact, variable.line))

    def add_lines(self, lines: Sequence[Numbered], artifact: str) -> None:
        """All that the readers of single lines find in a text."""
        for block in version_blocks(lines):
            self.add_block(block, artifact)
        for told in facts_in(lines):
            self._add_told(told, Place(artifact, told.line))
        for listed in packages_in(lines):
            self.add_package(listed.name, listed.version, Place(artifact, listed.line))
        for variable in variables_in(lines):
            self.add_variable(variable, artifact)
        self._errors += (Error(told, Place(artifact, told.line)) for told in loader_errors_in(lines))
        self._requirements += ((one, Place(artifact, one.line)) for one in requirements_in(lines))
        self._wheels += ((one, Place(artifact, one.line)) for one in wheels_in(lines))
        for number, text in lines:
            found = _NNAL_PACKAGE.search(text) if "nnal" in text else None
            if found is not None:
                self.add_fact("nnal?", found["release"], Place(artifact, number))

    def _add_told(self, told: Told, place: Place) -> None:
        if told.name == "sourced":
            self.sourced.append(Fact(told.value, place))
        elif told.name.startswith("link "):
            self.links.setdefault(told.name.removeprefix("link "), told.value)
        elif told.name in _PACKAGE_FACTS:
            # a collector says what Python imported, which holds before what pip lists
            self.packages.setdefault(told.name, []).insert(0, Package(told.name, told.value, place))
        else:
            self.add_fact(told.name, told.value, place)

    # ---- the record ----

    def environment(self, subject: str) -> Environment:
        """The record of all that was added."""
        firsts = {name: packages[0] for name, packages in self.packages.items()}
        others = tuple(
            package
            for name, packages in self.packages.items()
            for package in packages[1:]
            if package.version.split("+")[0] != firsts[name].version.split("+")[0]
        )
        return Environment(
            subject,
            toolkits=self._toolkits(),
            driver=self._component("driver", "driver", ("driver",), "driver?"),
            firmware=self._component("firmware", "firmware", ("firmware",), ""),
            nnal=self._nnal(),
            ops=self._component("ops", "ops", ("version",), ""),
            packages=firsts,
            other_packages=others,
            requirements=tuple(self._requirements),
            wheels=tuple(self._wheels),
            facts=self._facts(),
            variables=dict(self.variables),
            sourced=tuple(self.sourced),
            links=dict(self.links),
            errors=tuple(self._errors),
            problems=self.problems,
        )

    def _of_kind(self, *kinds: str) -> Iterable[tuple[VersionBlock, str]]:
        return (pair for pair in self.blocks if pair[0].kind in kinds)

    def _toolkits(self) -> tuple[Component, ...]:
        found: list[Component] = []
        for block, artifact in self._of_kind("toolkit"):
            _add_new(found, _component(block, artifact, ("version",)))
        for block, artifact in self._of_kind("config"):
            parts = releases_of(block)
            entry = parts.get("toolkit") or parts.get("runtime") or next(iter(parts.values()), None)
            if entry is not None:
                place = Place(artifact, entry.line)
                home = block.source.removesuffix("/version.cfg")
                _add_new(found, Component(entry.value, place, home=home))
        for fact in self.told.get("cann", ()):
            if not any(is_same_cann(fact.value, one.release) for one in found):
                _add_new(found, Component(fact.value, fact.place, is_told=False))
        found = self._used_first(found)
        named = self._named_by_home()
        if found and named is not None and not any(is_same_cann(one.release, named.release) for one in found):
            found.insert(0, named)  # what a collector read need not be what the job uses
        return tuple(found) or tuple(self._guessed_toolkit())

    def _used_first(self, found: list[Component]) -> list[Component]:
        """The toolkit that the variables name stands in front."""
        home = next((self.variables[name].value for name in _CANN_VARIABLES if name in self.variables), "")
        told = _RELEASE_IN_PATH.search(home + "/")
        release = told["release"] if told else ""

        def is_used(one: Component) -> bool:
            by_home = bool(home) and bool(one.home) and one.home.rstrip("/").startswith(home.rstrip("/"))
            return by_home or (bool(release) and is_same_cann(one.release, release))

        return sorted(found, key=lambda one: not is_used(one))

    def _named_by_home(self) -> Component | None:
        fact = next((self.variables[name] for name in _CANN_VARIABLES if name in self.variables), None)
        told = _RELEASE_IN_PATH.search(fact.value + "/") if fact else None
        return Component(told["release"], fact.place, is_told=False) if fact and told else None

    def _guessed_toolkit(self) -> Iterable[Component]:
        """What a folder's name or a sentence tells, where nothing better does."""
        for name in (*_CANN_VARIABLES, "ASCEND_OPP_PATH", "LD_LIBRARY_PATH"):
            fact = self.variables.get(name)
            releases = (
                {found["release"] for found in _RELEASE_IN_PATH.finditer(fact.value)} if fact else set()
            )
            if fact is not None and len(releases) == 1:
                yield Component(releases.pop(), fact.place, is_told=False)
                return
        link = next((to for to in self.links.values() if cann_of(to.rsplit("/", 1)[-1])[0]), "")
        if link:
            yield Component(link.rsplit("/", 1)[-1].removeprefix("cann-"), Place(), is_told=False)
            return
        loose = self.told.get("cann?", [])
        if loose and len({cann_of(fact.value)[1] for fact in loose}) == 1:
            yield Component(loose[0].value, loose[0].place, is_told=False)

    def _component(self, kind: str, told: str, keys: tuple[str, ...], loose: str) -> Component | None:
        for block, artifact in self._of_kind(kind):
            return _component(block, artifact, keys)
        for fact in self.told.get(told, ()):
            return Component(fact.value, fact.place, is_told=False)
        guesses = self.told.get(loose, []) if loose else []
        if guesses and len({fact.value.lower() for fact in guesses}) == 1:
            return Component(guesses[0].value, guesses[0].place, is_told=False)
        return None

    def _nnal(self) -> Component | None:
        found = self._component("nnal", "nnal", ("version",), "nnal?")
        if found is not None:
            return found
        for name in ("ATB_HOME_PATH", "LD_LIBRARY_PATH"):
            fact = self.variables.get(name)
            told = _NNAL_IN_PATH.search(fact.value) if fact else None
            if fact is not None and told is not None:
                return Component(told["release"], fact.place, is_told=False)
        home = self.variables.get("ATB_HOME_PATH")
        return Component("", home.place, home=home.value, is_told=False) if home else None

    def _facts(self) -> dict[str, Fact]:
        facts = {name: values[0] for name, values in self.told.items() if not name.endswith("?")}
        if "arch" in facts:
            name = _ARCH.search(facts["arch"].value.lower())
            if name is None:
                del facts["arch"]
            else:
                facts["arch"] = Fact(_ARCH_NAMES.get(name[1], name[1]), facts["arch"].place)
        for source in ("platform", "os"):
            fact = facts.get(source)
            arch = _ARCH.search(fact.value.lower()) if fact else None
            if fact is not None and arch is not None:
                facts.setdefault("arch", Fact(_ARCH_NAMES.get(arch[1], arch[1]), fact.place))
            glibc = _GLIBC.search(fact.value) if fact else None
            if fact is not None and glibc is not None:
                facts.setdefault("glibc", Fact(glibc[1], fact.place))
        for block, artifact in self._of_kind("install"):
            entry = block.entry("Driver_Install_Status")
            if entry is not None:
                facts["driver-status"] = Fact(entry.value, Place(artifact, entry.line))
        return facts


def _add_new(found: list[Component], one: Component) -> None:
    """A toolkit that is not there yet: the same release in the same folder is one."""
    for other in found:
        if is_same_cann(other.release, one.release) and (
            not one.home or not other.home or one.home == other.home
        ):
            return
    found.append(one)


def _component(block: VersionBlock, artifact: str, keys: tuple[str, ...]) -> Component:
    entry = next(
        (found for key in (*keys, "version", "package_version") if (found := block.entry(key))), None
    )
    if block.kind == "nnal":
        entry = next((one for one in block.entries if re.search(r"\d+\.\d+", one.value)), entry)
    release = entry.value if entry else ""
    home = re.sub(r"/(?:aarch64|x86_64)-linux/?\Z", "", block.get("path")) or _home_of(block.source)
    return Component(
        release.removeprefix("MindIE ").strip(),
        Place(artifact, entry.line if entry else block.line),
        home=home,
        inner=block.get("innerversion"),
        arch=block.get("arch"),
        compatible=block.get("compatible_version"),
        compatible_firmware=block.get("compatible_version_fw"),
        compatible_drivers=block.get("compatible_version_drv"),
    )


def _home_of(source: str) -> str:
    """The folder of a version file, the toolkit's own where it lies in a part of it."""
    folder = source.rsplit("/", 1)[0] if "/" in source else ""
    return re.sub(r"/(?:aarch64|x86_64)-linux/?\Z", "", folder)

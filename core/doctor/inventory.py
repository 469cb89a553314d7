"""This machine: toolkits, driver, firmware, NNAL, packages of the job's Python, tools, devices, groups."""

from __future__ import annotations

import glob
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from npulse.core.device.surroundings import is_container
from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.environment import Variable
from npulse.core.formats.version_files import VersionBlock, read_version_file

from .asking import ask_python
from .captures import TOOLS
from .facts import Component, Environment, Place
from .paths import HOMES, LISTS
from .reading import Gathered

VARIABLES = (
    *LISTS,
    *HOMES,
    *("ATB_HOME_PATH", "CONDA_PREFIX", "VIRTUAL_ENV", "LD_PRELOAD", "ASCEND_RT_VISIBLE_DEVICES"),
    *(
        "ASCEND_VISIBLE_DEVICES",
        "ASCEND_GLOBAL_LOG_LEVEL",
        "ASCEND_SLOG_PRINT_TO_STDOUT",
        "ASCEND_LAUNCH_BLOCKING",
    ),
)
"""Variables of the job that are looked at."""
MAX_TOOLKITS = 32


@dataclass(frozen=True, slots=True)
class Machine:
    """What is looked at. root: the file system's. variables: the job's environment, None for this process's.

    python: the job's interpreter, None for the one on PATH. timeout_s: for that interpreter's answer.
    """

    root: Path = Path("/")
    variables: Mapping[str, str] | None = None
    python: str | None = None
    timeout_s: float = 15.0

    @property
    def environment(self) -> Mapping[str, str]:
        """The job's variables."""
        return os.environ if self.variables is None else self.variables

    def at(self, path: str) -> Path:
        """Where an absolute path of the machine lies."""
        return self.root / path.lstrip("/")

    def told(self, path: Path) -> str:
        """A path as the machine itself calls it."""
        try:
            return "/" + str(path.relative_to(self.root))
        except ValueError:
            return str(path)

    @property
    def home(self) -> str:
        """The home folder of the user."""
        return self.environment.get("HOME", "")

    def program(self, name: str) -> str:
        """Where a program lies on the job's PATH, as the machine calls it; "" where there is none."""
        entries = self.environment.get("PATH", os.defpath).split(os.pathsep)
        inside = os.pathsep.join(str(self.at(entry)) for entry in entries if entry.startswith("/"))
        found = shutil.which(name, path=inside)
        return self.told(Path(found)) if found else ""


def inventory(machine: Machine | None = None, *, told: Mapping[str, str] | None = None) -> Environment:
    """What is on this machine. Never raises for what is missing or cannot be read; no tool is started.

    told: what npu-smi says, where somebody asked it: "driver", "firmware", "npu-smi" (its own version),
    "board-compatibility"; it stands behind version files, which containers often lack.
    """
    machine = machine or Machine()
    gathered = Gathered()
    problems: list[Problem] = []
    for name in VARIABLES:
        value = machine.environment.get(name)
        if value:
            gathered.add_variable(Variable(name, value, 0), "")
    gathered.variables = {
        name: replace(fact, place=Place(f"${name}")) for name, fact in gathered.variables.items()
    }
    by_folder = _toolkits(machine, problems)
    toolkits = list(by_folder.values())
    for fact, value in (told or {}).items():
        gathered.add_fact(fact, value, Place("npu-smi info"))
    for path in _version_files(machine):
        block = _read(path, machine, problems)
        if block is not None:
            gathered.add_block(block, machine.told(path))
    _add_system(machine, gathered)
    asked = ask_python(machine)
    for fact, value in asked.facts.items():
        gathered.add_fact(fact, value, Place(asked.python))
    for package, (version, folder) in asked.packages.items():
        gathered.add_package(package, version, Place(folder))
    problems += asked.problems
    found = gathered.environment("")
    found = replace(found, links=_links(machine, found, by_folder))
    return replace(
        found,
        is_live=True,
        toolkits=tuple(toolkits),
        ops=_beside(found.ops, machine, toolkits, problems),
        tools={name: machine.program(name) for name in TOOLS},
        devices=_devices(machine),
        groups=_groups(),
        is_container=is_container(machine.root),
        existing=_existing(machine, found),
        problems=(*found.problems, *problems),
    )


# ---- version files ----


def _toolkit_folders(machine: Machine) -> Iterator[Path]:
    """Folders that may hold a toolkit: those that the variables name first."""
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        value = machine.environment.get(name, "")
        if value.startswith("/"):
            yield machine.at(value)
    for base in dict.fromkeys(("/usr/local/Ascend", f"{machine.home}/Ascend")):
        folder = machine.at(base)
        yield folder / "cann"
        yield folder / "ascend-toolkit" / "latest"
        for pattern in ("cann-*", "ascend-toolkit/[0-9]*", "latest", "CANN-*"):
            yield from map(Path, sorted(glob.glob(f"{glob.escape(str(folder))}/{pattern}")))


def _toolkits(machine: Machine, problems: list[Problem]) -> dict[str, Component]:
    """Real folder to toolkit: each once, however many names lead to it, that of the variables first."""
    found: dict[str, Component] = {}
    for folder in _toolkit_folders(machine):
        real = os.path.realpath(folder)
        if real in found or len(found) >= MAX_TOOLKITS or not os.path.isdir(real):
            continue
        component = _toolkit(Path(real), machine, problems)
        if component is not None:
            found[real] = replace(component, home=machine.told(folder))
    return found


def _toolkit(folder: Path, machine: Machine, problems: list[Problem]) -> Component | None:
    candidates = [
        *sorted(folder.glob("*-linux/ascend_toolkit_install.info")),
        *(folder / name for name in ("ascend_toolkit_install.info", "version.cfg")),
        *(folder / part / "version.info" for part in ("toolkit", "compiler", "runtime")),
        *sorted(folder.glob("share/info/*/version.info"))[:3],
    ]
    gathered = Gathered()
    for path in candidates:
        block = _read(path, machine, problems) if path.is_file() else None
        if block is None:
            continue
        gathered.add_block(block, machine.told(path))
        if block.kind in ("toolkit", "config"):
            break
        release = block.entry("version_dir") or block.entry("version")
        if block.kind == "component" and release is not None:
            return Component(release.value, Place(machine.told(path), release.line), is_told=False)
    return next(iter(gathered.environment("").toolkits), None)


def _version_files(machine: Machine) -> list[Path]:
    base = "/usr/local/Ascend"
    install = machine.at("/etc/ascend_install.info")
    fixed = [machine.at(f"{base}/{part}/version.info") for part in ("driver", "firmware")]
    nnal = [
        machine.at(f"{root}/nnal/atb/latest/version.info")
        for root in dict.fromkeys((base, f"{machine.home}/Ascend"))
    ]
    home = machine.environment.get("ATB_HOME_PATH", "")
    if "/nnal/atb/" in home:
        root, _, rest = home.partition("/nnal/atb/")
        nnal.insert(0, machine.at(f"{root}/nnal/atb/{rest.split('/')[0]}/version.info"))
    return [path for path in (*fixed, install, *nnal) if path.is_file()]


def _beside(
    found: Component | None, machine: Machine, toolkits: list[Component], problems: list[Problem]
) -> Component | None:
    """The operator package that lies in the toolkit that is used."""
    for toolkit in toolkits[:1]:
        for path in sorted(machine.at(toolkit.home).glob("*-linux/ascend_ops_install.info")):
            block = _read(path, machine, problems)
            if block is not None:
                gathered = Gathered()
                gathered.add_block(block, machine.told(path))
                return gathered.environment("").ops
    return found


def _read(path: Path, machine: Machine, problems: list[Problem]) -> VersionBlock | None:
    try:
        block = read_version_file(path)
    except InputError as error:
        problems.append(Problem.from_error(error, machine.told(path)))
        return None
    return replace(block, source=machine.told(path)) if block.kind != "unknown" else None


# ---- the system ----


def _add_system(machine: Machine, gathered: Gathered) -> None:
    here = Place()
    gathered.add_fact("arch", platform.machine(), here)
    gathered.add_fact("kernel", platform.release(), here)
    libc, version = platform.libc_ver()
    if libc == "glibc" and version:
        gathered.add_fact("glibc", version, here)
    try:
        text = machine.at("/etc/os-release").read_text(encoding="utf-8", errors="replace")[:10_000]
    except OSError:
        text = ""
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            gathered.add_fact("os", value.strip().strip('"'), Place("/etc/os-release"))
    for pair in gathered.blocks:
        user_group = pair[0].get("UserGroup") if pair[0].kind == "install" else ""
        if user_group:
            gathered.add_fact("device-group", user_group, Place(pair[1]))


def _devices(machine: Machine) -> tuple[str, ...]:
    names = glob.glob(f"{glob.escape(str(machine.at('/dev')))}/davinci[0-9]*")
    return tuple(sorted((machine.told(Path(name)) for name in names), key=lambda name: (len(name), name)))


def _groups() -> tuple[str, ...]:
    import grp

    found = []
    for number in {*os.getgroups(), os.getegid()}:
        try:
            found.append(grp.getgrgid(number).gr_name)
        except KeyError:
            found.append(str(number))
    return tuple(sorted(found))


def _links(machine: Machine, environment: Environment, by_folder: Mapping[str, Component]) -> dict[str, str]:
    """What toolkit stands behind each name that variables and tools use ("/usr/.../latest" -> "8.2.RC1")."""
    from .paths import root_of

    found: dict[str, str] = {}
    named = [fact.value for name in (*LISTS, *HOMES) if (fact := environment.variables.get(name))]
    named += [path for name in TOOLS if (path := machine.program(name))]
    for entry in ":".join(named).split(":"):
        root = root_of(entry, environment) if entry.startswith("/") else None
        toolkit = by_folder.get(os.path.realpath(machine.at(root.path))) if root else None
        if root is not None and toolkit is not None:
            found[root.path] = toolkit.release
    return found


def _existing(machine: Machine, environment: Environment) -> frozenset[str]:
    """Of the folders that the variables name, and of the toolkits above them, those that are there."""
    from .paths import root_of

    named: set[str] = set()
    for name in (*LISTS, *HOMES):
        fact = environment.variables.get(name)
        for entry in fact.value.split(":") if fact else ():
            if entry.startswith("/"):
                named.add(entry)
                root = root_of(entry, environment)
                named.update((root.path,) if root else ())
    return frozenset(entry for entry in named if machine.at(entry).exists())

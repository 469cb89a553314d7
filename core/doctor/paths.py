"""Which toolkit the variables mean: two of them in one environment, none of them, folders that are gone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from npulse.core.findings import Finding

from .facts import Component, Environment, Place
from .releases import cann_of, is_same_cann
from .telling import Teller

LISTS = ("LD_LIBRARY_PATH", "PYTHONPATH", "PATH")
HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH", "ASCEND_AICPU_PATH", "TOOLCHAIN_HOME")
SOURCED = "set_env.sh"

_ROOT = re.compile(
    r"(?P<root>.*?/(?:(?:ascend-toolkit|nnae|nnrt)/(?P<a>[^/:]+)|cann-(?P<b>\d[^/:]*)|CANN-?(?P<d>\d[^/:]*)(?:/ascend-toolkit/[^/:]+)?"
    r"|cann/(?P<e>\d+\.\d[^/:]*)|cann(?P<c>)))(?:/.*)?\Z"
)
_OWN_FILES = frozenset(("set_env.sh", "setenv.bash", "set_env_vars.sh"))


@dataclass(frozen=True, slots=True)
class Root:
    """A toolkit that an entry of a variable names. release: by its folder or link, "" where unknown."""

    path: str
    release: str


def root_of(entry: str, environment: Environment) -> Root | None:
    """The toolkit that holds a folder; None for folders of something else (driver, NNAL, MindIE, ...)."""
    entry = re.sub(r"/+", "/", entry.strip().strip("'\""))
    found = _ROOT.match(entry)
    if found is None or any(part in entry for part in ("/nnal/", "/driver/", "/envs/", "/site-packages/")):
        return None
    name = found["a"] or found["b"] or found["d"] or found["e"] or ""
    root = found["root"]
    if name in _OWN_FILES:
        name, root = "", root.removesuffix("/" + name)
    if name and cann_of(name)[0] and name[0].isdigit():
        return Root(root, name)
    return Root(root, _release_behind(root, name or root.rsplit("/", 1)[-1], environment))


def _release_behind(root: str, name: str, environment: Environment) -> str:
    """What a folder without a release in its name holds, by its version file or a link that is shown."""
    for toolkit in environment.toolkits:
        if toolkit.home and toolkit.is_told and toolkit.home.rstrip("/") == root:
            return toolkit.release
    if root in environment.links:
        return environment.links[root]
    linked = environment.links.get(name, "").rstrip("/").rsplit("/", 1)[-1].removeprefix("cann-")
    if cann_of(linked)[0]:
        return linked
    told = [toolkit for toolkit in environment.toolkits if toolkit.is_told]
    # a collector reads the version file of the toolkit that these variables name
    if not environment.is_live and len(told) == 1 and name in ("latest", "cann", "ascend-toolkit"):
        base = _base_of(root)
        return told[0].release if base in ("", _base_of(told[0].home) or base) else ""
    return ""


def _base_of(root: str) -> str:
    """Where toolkits lie side by side: "/usr/local/Ascend"."""
    found = re.match(r"(?P<base>.*?)/(?:ascend-toolkit|cann)(?:[-/]|\Z)", root)
    return found["base"] if found else ""


def path_findings(environment: Environment, teller: Teller) -> Iterator[Finding]:
    """All that is wrong with the variables."""
    yield from _mixed(environment, teller)
    yield from _another_file(environment, teller)
    yield from _another_part(environment, teller)
    yield from _two_abis(environment, teller)
    yield from _not_sourced(environment, teller)
    yield from _gone(environment, teller)


# ---- two toolkits ----


def roots_by_variable(environment: Environment) -> dict[str, list[Root]]:
    """Of each variable the toolkits that it names, in its order, each once; of the scripts of a text too."""
    found: dict[str, list[Root]] = {}
    for name in (*LISTS, *HOMES):
        fact = environment.variables.get(name)
        if fact is not None:
            roots = [root_of(entry, environment) for entry in fact.value.split(":") if entry]
            found[name] = list(dict.fromkeys(root for root in roots if root is not None))
    scripts = [root_of(fact.value, environment) for fact in environment.sourced]
    found[SOURCED] = list(dict.fromkeys(root for root in scripts if root is not None))
    return {name: roots for name, roots in found.items() if roots}


def _mixed(environment: Environment, teller: Teller) -> Iterator[Finding]:
    by_variable = roots_by_variable(environment)
    roots = list(dict.fromkeys(root for found in by_variable.values() for root in found))
    known = _known_releases(roots)
    # a script without a release in its path chooses the toolkit that its variables then name
    unknown = [
        root
        for name, found in by_variable.items()
        for root in found
        if not root.release and (name != SOURCED or not known)
    ]
    if len(known) < 2 and not (unknown and len({root.path for root in roots}) > 1):
        return
    wins = _winner(by_variable)
    others = [name for name in (*known, *(root.path for root in unknown)) if name != wins]
    place = _place(environment, by_variable, wins)
    told = tuple(
        f"{name:<19} {' > '.join(root.release or root.path for root in found)}"
        for name, found in by_variable.items()
    )
    yield teller.finding(
        "mixed",
        " + ".join([wins, *others][:4]),
        "mixed" if len(known) > 1 else "mixed-unknown",
        place,
        severity=None if len(known) > 1 else "warning",
        next_step=_source_one(environment, roots, teller),
        told=told,
        figures={"releases": known, "roots": [root.path for root in roots], "first": wins},
        releases=", ".join([wins, *others][:4]),
        wins=wins,
    )


def _another_file(environment: Environment, teller: Teller) -> Iterator[Finding]:
    """A text shows the version file of one toolkit, and variables that name only another one."""
    if environment.is_live:
        return
    by_variable = roots_by_variable(environment)
    known = _known_releases([root for found in by_variable.values() for root in found])
    told = [one for one in environment.toolkits if one.is_told and one.release]
    if len(known) == 1 and told and not any(is_same_cann(one.release, known[0]) for one in told):
        yield teller.finding(
            "mixed",
            f"{known[0]} + {told[0].release}",
            "mixed-file",
            told[0].place,
            severity="warning",
            next_step=teller.text("next-which-toolkit"),
            figures={"releases": [known[0], told[0].release], "first": known[0]},
            used=known[0],
            shown=told[0].release,
        )


def _another_part(environment: Environment, teller: Teller) -> Iterator[Finding]:
    """A listing in which parts of a toolkit link into the folder of another release."""
    part, toolkit = environment.facts.get("part"), environment.toolkit
    if part is None or toolkit is None or not toolkit.is_told or is_same_cann(part.value, toolkit.release):
        return
    if cann_of(part.value)[0] != cann_of(toolkit.release)[0]:
        yield teller.finding(
            "mixed",
            f"{toolkit.release} + {part.value}",
            "mixed-part",
            part.place,
            severity="warning",
            next_step=teller.text("next-cann", cann=part.value),
            figures={"releases": [toolkit.release, part.value]},
            part=part.value,
            shown=toolkit.release,
        )


def _known_releases(roots: Sequence[Root]) -> list[str]:
    found: list[str] = []
    for root in roots:
        if root.release and not any(is_same_cann(root.release, other) for other in found):
            found.append(root.release)
    return found


def _winner(by_variable: Mapping[str, Sequence[Root]]) -> str:
    """Whose libraries are loaded: the first of LD_LIBRARY_PATH, else of the first variable that names one."""
    order = ("LD_LIBRARY_PATH", *by_variable)
    first = next(by_variable[name][0] for name in order if name in by_variable)
    return first.release or first.path


def _place(environment: Environment, by_variable: Mapping[str, Sequence[Root]], wins: str) -> Place:
    """The first variable that names another toolkit than the one that wins."""
    for name, roots in by_variable.items():
        if any((root.release or root.path) != wins for root in roots):
            if name == SOURCED:
                return environment.sourced[-1].place
            return environment.variables[name].place
    return Place()


def _source_one(environment: Environment, roots: Sequence[Root], teller: Teller) -> str:
    """A clean shell, and the script of one toolkit: the one that the job's own variables mean."""
    home = next((environment.variables[name] for name in HOMES[:2] if name in environment.variables), None)
    meant = root_of(home.value, environment) if home else None
    release = environment.toolkit.release if environment.toolkit else ""
    of_toolkit = (root for root in roots if root.release and is_same_cann(root.release, release))
    chosen = meant or next(of_toolkit, roots[0])
    return teller.text("next-one-toolkit", script=_script_of(chosen.path))


def _script_of(root: str) -> str:
    """Up to 8.3 it stands beside the releases, and means the one that `latest` links to."""
    found = re.match(r"(?P<folder>.*/ascend-toolkit)/(?P<name>[^/]+)\Z", root)
    if found is None:
        return f"{root}/set_env.sh"
    is_release = found["name"][0].isdigit()
    return f"{found['folder']}/set_env.sh" + (f"  # latest -> {found['name']}" if is_release else "")


# ---- two ABIs of NNAL ----

_ABI = re.compile(r"cxx_abi_(?P<abi>[01])")


def _two_abis(environment: Environment, teller: Teller) -> Iterator[Finding]:
    fact = environment.variables.get("LD_LIBRARY_PATH")
    found = list(dict.fromkeys(_ABI.findall(fact.value))) if fact else []
    if fact is not None and len(found) > 1:
        yield teller.finding(
            "abi",
            "cxx_abi_0 + cxx_abi_1",
            "two-abis",
            fact.place,
            severity="warning",
            next_step=teller.text("next-nnal-clean", script=nnal_script(environment)),
            first=f"cxx_abi_{found[0]}",
        )
    torch_abi = {"true": "1", "1": "1", "false": "0", "0": "0"}.get(
        environment.value("cxx11-abi").lower(), ""
    )
    home = environment.variables.get("ATB_HOME_PATH") or fact
    of_nnal = _ABI.search(home.value) if home else None
    if torch_abi and home is not None and of_nnal is not None and of_nnal["abi"] != torch_abi:
        yield teller.finding(
            "abi",
            f"cxx_abi_{of_nnal['abi']}",
            "abi-of-torch",
            home.place,
            next_step=teller.text("next-nnal-abi", script=nnal_script(environment), abi=torch_abi),
            figures={"torch_cxx11_abi": int(torch_abi), "nnal_cxx11_abi": int(of_nnal["abi"])},
            nnal=of_nnal["abi"],
            torch=torch_abi,
        )


# ---- not sourced, gone ----


def nnal_script(environment: Environment) -> str:
    """The set_env.sh of NNAL: beside what is known of it, else where it is installed by default."""
    home = environment.nnal.home if environment.nnal else ""
    found = re.match(r"(?P<root>.*/nnal/atb)(?:/|\Z)", home)
    return f"{found['root']}/set_env.sh" if found else "/usr/local/Ascend/nnal/atb/set_env.sh"


def toolkit_script(environment: Environment) -> str:
    """The set_env.sh of the toolkit that is there, else where it is by default."""
    toolkit = environment.toolkit
    home = toolkit.home if toolkit else ""
    if not home:
        fact = next(
            (environment.variables[name] for name in HOMES[:2] if name in environment.variables), None
        )
        home = fact.value if fact else ""
    if not home:
        return default_script(toolkit)
    root = root_of(home, environment)
    path = root.path if root else home.rstrip("/")
    if re.search(r"/ascend-toolkit/(?:latest|\d[^/]*)\Z", path):
        return f"{path.rsplit('/', 1)[0]}/set_env.sh"
    return f"{path}/set_env.sh"


def default_script(toolkit: Component | None) -> str:
    """Where installers put it: from 8.5 on under cann, before under ascend-toolkit."""
    line = cann_of(toolkit.release)[0] if toolkit else ""
    is_new = line.startswith(("9", "1")) or line == "8.5"
    return f"/usr/local/Ascend/{'cann' if is_new else 'ascend-toolkit'}/set_env.sh"


def _not_sourced(environment: Environment, teller: Teller) -> Iterator[Finding]:
    if not environment.is_live:
        return
    variables = environment.variables
    toolkit = environment.toolkit
    if toolkit is not None and not any(name in variables for name in HOMES[:2]):
        yield teller.finding(
            "set-env",
            f"CANN {toolkit.release}".strip(),
            "not-sourced",
            toolkit.place,
            next_step=f"source {toolkit_script(environment)}",
            home=toolkit.home,
        )
    if (
        environment.nnal is not None
        and "ATB_HOME_PATH" not in variables
        and "torch_npu" in environment.packages
    ):
        yield teller.finding(
            "set-env",
            f"NNAL {environment.nnal.release}".strip(),
            "nnal-not-sourced",
            environment.nnal.place,
            next_step=f"source {nnal_script(environment)}",
        )


_VENDOR = re.compile(r"/(?:Ascend|ascend-toolkit|cann(?:-[\d.]+\w*)?|nnal|CANN[\w.-]*)(?:/|\Z)")


def _gone(environment: Environment, teller: Teller) -> Iterator[Finding]:
    """One finding a variable; folders that the toolkit's own script names without making them are usual."""
    if environment.existing is None:
        return
    for name in (*LISTS, *HOMES):
        fact = environment.variables.get(name)
        entries = [entry for entry in fact.value.split(":") if _VENDOR.search(entry)] if fact else []
        gone = [entry for entry in entries if entry not in environment.existing]
        roots = _gone_roots(gone, environment)
        if fact is not None and roots:
            yield teller.finding(
                "path",
                f"{name}: {roots[0]}",
                "path-gone",
                fact.place,
                next_step=f"source {toolkit_script(environment)}",
                told=tuple(roots[:6]),
                name=name,
                n=len(roots),
            )


def _gone_roots(gone: Sequence[str], environment: Environment) -> list[str]:
    """Folders whose toolkit is not there itself."""
    found: list[str] = []
    for entry in gone:
        root = root_of(entry, environment)
        path = root.path if root else entry
        if environment.existing is not None and path not in environment.existing and path not in found:
            found.append(path)
    return found

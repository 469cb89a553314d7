"""All that is to be said of an environment, the finding to look at first in front."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from npulse.core.findings import Finding
from npulse.core.formats.package_lists import Requirement
from npulse.core.text import Lang

from .alignment import pairings
from .errors import error_findings
from .facts import Environment, Package, Place
from .paths import default_script, path_findings, root_of, toolkit_script
from .releases import base_version, release_key
from .telling import Teller, as_inherited

_ORDER = (
    *(
        "env.driver",
        "env.firmware",
        "env.board",
        "env.mixed",
        "env.torch",
        "env.arch",
        "env.abi",
        "env.library",
    ),
    *(
        "env.symbol",
        "env.glibc",
        "env.numpy",
        "env.triton",
        "env.driver-state",
        "env.operator",
        "env.set-env",
        "env.requirement",
    ),
)
"""Of two findings of one severity the one that comes first: causes before what they cause."""

_SEVERITIES = ("error", "warning", "note")
_FOLLOWS: dict[str, tuple[str, ...]] = {
    "torch": ("env.torch", "env.requirement"),
    "torch_npu": ("env.torch",),
    "nnal": ("env.mixed", "env.nnal"),
    "toolkit": ("env.mixed",),
    "driver": ("env.driver",),
}
"""By whose symbol is missing: the findings that explain it."""


def alignment(environment: Environment, lang: Lang = "en") -> tuple[Finding, ...]:
    """What versions and variables tell: for a preflight. "error": a conflict, "warning": a likely one,
    "note" with the role unknown: both are there and could not be judged. () is a pass of all that is told."""
    return _ordered(_aligned(environment, Teller(lang)))


def all_findings(environment: Environment, lang: Lang = "en") -> tuple[Finding, ...]:
    """The same with errors of the loader and, of this machine, what is missing."""
    teller = Teller(lang)
    aligned = list(_aligned(environment, teller))
    errors = [_explained(finding, aligned) for finding in error_findings(environment, teller)]
    missing = list(_missing(environment, teller)) if environment.is_live else []
    return _ordered([*aligned, *errors, *missing])


def _aligned(environment: Environment, teller: Teller) -> Iterator[Finding]:
    for pairing in pairings(environment, teller):
        if pairing.finding is not None:
            yield pairing.finding
    yield from path_findings(environment, teller)
    yield from _required(environment, teller)
    yield from _twice(environment, teller)
    yield from _driver_status(environment, teller)
    yield from _msprobe(environment, teller)
    yield from _tools(environment, teller)


def _ordered(findings: Iterator[Finding] | list[Finding]) -> tuple[Finding, ...]:
    def key(finding: Finding) -> tuple[int, bool, int]:
        rank = _ORDER.index(finding.rule) if finding.rule in _ORDER else len(_ORDER)
        is_late = finding.role == "inherited"
        return _SEVERITIES.index(finding.severity), is_late, rank

    ordered = sorted(findings, key=key)
    if ordered and ordered[0].role == "inherited":
        ordered[0] = replace(
            ordered[0], role="origin"
        )  # the cause is only doubtful: the error is what is sure
    return tuple(ordered)


def _explained(finding: Finding, causes: list[Finding]) -> Finding:
    """An error that follows from a conflict of versions is told as what it is."""
    rules = {cause.rule for cause in causes if cause.severity != "note"}
    package = str(finding.figures.get("package", ""))
    is_symbol = finding.rule in ("env.symbol", "env.operator") and rules & set(_FOLLOWS.get(package, ()))
    is_backend = finding.rule == "env.import" and "env.torch" in rules
    is_driver = finding.rule == "env.driver-state" and "env.driver" in rules
    return as_inherited(finding) if is_symbol or is_backend or is_driver else finding


# ---- packages ----

_OF_INTEREST = frozenset(
    (
        "torch",
        "torch_npu",
        "torchvision",
        "torchaudio",
        "vllm",
        "vllm_ascend",
        "mindspore",
        "numpy",
        "triton_ascend",
    )
)


def _required(environment: Environment, teller: Teller) -> Iterator[Finding]:
    asked = {one.needs: one for one, _ in environment.requirements if not one.package}
    is_told = _is_torch_told(environment)
    for one, place in environment.requirements:
        if not one.package or one.package not in _OF_INTEREST and one.needs not in ("torch", "torch_npu"):
            continue
        other = asked.get(one.needs)
        found = one.found or (other.spec.lstrip("=") if other is not None else "")
        if not found:
            continue
        wanted = one.spec.lstrip("=~<>!")
        is_same_base = one.spec.startswith("==") and base_version(wanted) == base_version(found)
        is_torch = one.package == "torch_npu" and one.needs == "torch" and one.spec.startswith("==")
        if is_torch and not is_same_base and is_told:
            continue  # told by the versions themselves
        if one.package == "vllm" and one.needs == "torch" and _is_by_torch_npu(environment, found):
            yield _asked_in_vain(environment, teller, one, place, found)
            continue
        is_cpu = is_same_base and wanted.endswith("+cpu")
        step = teller.text("next-pip-cpu" if is_cpu else "next-pip", what=f"'{one.needs}{one.spec}'")
        yield teller.finding(
            "torch" if is_torch and not is_same_base else "requirement",
            f"{one.package} {one.version}",
            "requirement-cpu" if is_cpu else "requirement",
            place,
            next_step=step,
            figures={"needs": f"{one.needs}{one.spec}", "found": found},
            package=one.package,
            version=one.version,
            needs=one.needs,
            spec=one.spec,
            found=found,
        )


def _is_by_torch_npu(environment: Environment, torch: str) -> bool:
    """Whether this torch is the one that torch_npu needs: no other package can ask for another one."""
    torch_npu = environment.version("torch_npu")
    return bool(torch_npu) and base_version(torch_npu) == base_version(torch)


def _asked_in_vain(
    environment: Environment, teller: Teller, one: Requirement, place: Place, found: str
) -> Finding:
    return teller.finding(
        "requirement",
        f"{one.package} {one.version}",
        "requirement-npu",
        place,
        severity="note",
        role="benign",
        figures={"needs": f"{one.needs}{one.spec}", "found": found},
        package=one.package,
        version=one.version,
        needs=one.needs,
        spec=one.spec,
        found=found,
        torch_npu=environment.version("torch_npu"),
    )


def _is_torch_told(environment: Environment) -> bool:
    torch, torch_npu = environment.version("torch"), environment.version("torch_npu")
    return bool(torch and torch_npu) and base_version(torch) != base_version(torch_npu)


def _twice(environment: Environment, teller: Teller) -> Iterator[Finding]:
    """torch or torch_npu in two versions: what Python imports is not what pip lists."""
    told: dict[str, Package] = {}
    for package in environment.other_packages:
        if package.name in ("torch", "torch_npu") and package.name not in told:
            told[package.name] = package
            yield teller.finding(
                "requirement",
                f"{package.name} {package.version}",
                "two-installs",
                package.place,
                next_step=teller.text("next-versions-of", name="torch"),
                name=package.name,
                version=environment.version(package.name),
                other=package.version,
            )


def _msprobe(environment: Environment, teller: Teller) -> Iterator[Finding]:
    package, toolkit = environment.packages.get("mindstudio_probe"), environment.toolkit
    key = release_key(package.version) if package else ()
    cann = release_key(toolkit.release) if toolkit else ()
    if package is None or toolkit is None or not key or not cann:
        return
    if (key >= release_key("26.0")) != (cann >= release_key("9.0")):
        yield teller.finding(
            "msprobe",
            f"mindstudio-probe {package.version}",
            "msprobe-other-time",
            package.place,
            next_step="npulse config check config.json",
            msprobe=package.version,
            cann=toolkit.release,
        )


# ---- driver, tools, what is missing ----


def _driver_status(environment: Environment, teller: Teller) -> Iterator[Finding]:
    fact = environment.facts.get("driver-status")
    if fact is not None and fact.value.lower() != "complete":
        yield teller.finding(
            "driver-state",
            f"Driver_Install_Status={fact.value}",
            "driver-status",
            fact.place,
            next_step=teller.text("next-driver-again"),
            value=fact.value,
        )


def _tools(environment: Environment, teller: Teller) -> Iterator[Finding]:
    """Tools of a toolkit on PATH that are not of the one that is used."""
    toolkit = environment.toolkit
    if not environment.is_live or toolkit is None or not toolkit.home:
        return
    for tool, path in environment.tools.items():
        root = root_of(path, environment) if path else None
        if root is None or not root.release or root.release == toolkit.release:
            continue
        yield teller.finding(
            "tool",
            tool,
            "other-tool",
            next_step=f"source {toolkit_script(environment)}",
            tool=tool,
            path=path,
            home=toolkit.home,
        )


def _missing(environment: Environment, teller: Teller) -> Iterator[Finding]:
    if environment.toolkit is None:
        step = teller.text("next-install-toolkit", arch=environment.value("arch") or "$(uname -m)")
        where = "ASCEND_HOME_PATH, " + default_script(None).rsplit("/", 2)[0]
        yield teller.finding("missing", "CANN toolkit", "no-toolkit", next_step=step, where=where)
    if environment.driver is None:
        where = "/usr/local/Ascend/driver, /etc/ascend_install.info"
        step = teller.text("next-container" if environment.is_container else "next-driver-newer")
        yield teller.finding("missing", "driver", "no-driver", next_step=step, where=where)
    elif not environment.devices and environment.devices is not None:
        key = "no-devices-container" if environment.is_container else "no-devices"
        yield teller.finding(
            "missing", "/dev/davinci*", key, environment.driver.place, next_step=teller.text("next-container")
        )
    group = environment.value("device-group")
    if environment.devices and group and environment.groups is not None and group not in environment.groups:
        if "root" not in environment.groups:
            step = teller.text("next-group", group=group)
            yield teller.finding("missing", group, "not-in-group", next_step=step, group=group)

"""Complaints of imports, processors and the driver as findings: what each means, and what repairs it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from npulse.core.findings import Finding
from npulse.core.formats.error_codes import ERROR_CODES, pick

from .facts import Environment, Error
from .libraries import Owner
from .paths import nnal_script, toolkit_script
from .releases import base_version, paired_driver, release_key
from .telling import Teller


@dataclass(frozen=True, slots=True)
class Case:
    """One complaint, with all lines that make it."""

    environment: Environment
    teller: Teller
    errors: Sequence[Error]

    @property
    def first(self) -> Error:
        """Where it comes first."""
        return self.errors[0]

    def owner_text(self, owner: Owner) -> str:
        """Whose it is, in words."""
        return self.teller.text(f"owner-{owner or 'unknown'}")

    def repair(self, owner: Owner) -> str:
        """The command that brings the libraries of an owner."""
        teller, environment = self.teller, self.environment
        release = environment.toolkit.release if environment.toolkit else ""
        if owner == "nnal":
            return teller.text("repair-nnal", script=nnal_script(environment))
        if owner == "toolkit":
            return teller.text("repair-toolkit", script=toolkit_script(environment))
        if owner == "driver":
            return teller.text("repair-driver")
        if owner == "torch":
            wanted = base_version(environment.version("torch_npu"))
            return teller.text("next-torch", torch=wanted) if wanted else teller.text("repair-torch")
        if owner == "torch_npu":
            return teller.text("repair-torch-npu", cann=release or "?")
        if not owner:
            return teller.text("repair-unknown", library=self.first.told.library.rsplit("/", 1)[-1])
        return teller.text(f"repair-{owner}")


def static_tls(case: Case) -> Finding | None:
    """A library that was loaded too late."""
    library = case.first.told.library
    return case.teller.finding(
        "static-tls",
        library.rsplit("/", 1)[-1],
        "static-tls",
        case.first.place,
        next_step=f"export LD_PRELOAD={library}",
        figures={"library": library},
        library=library.rsplit("/", 1)[-1],
    )


def wrong_arch(case: Case) -> Finding | None:
    """Software of another processor."""
    told = case.first.told
    name = told.library or told.wanted or "?"
    arch = case.environment.value("arch")
    return case.teller.finding(
        "arch",
        name.rsplit("/", 1)[-1],
        "arch-library",
        case.first.place,
        next_step=case.teller.text("next-arch", arch=arch or "uname -m"),
        library=name,
        arch=arch or "?",
    )


def torch_needed(case: Case) -> Finding | None:
    """A package that asks for another torch; None where pip or a guide says it."""
    told = case.first.told
    wanted = base_version(told.wanted)
    of_pip = {place for _, place in case.environment.requirements}
    if case.first.place in of_pip or base_version(case.environment.version("torch")) == wanted:
        return None  # a sentence of a guide, or of pip, which is told as such
    return case.teller.finding(
        "torch",
        told.needed_by,
        "torch-needed",
        case.first.place,
        next_step=case.teller.text("next-torch", torch=wanted),
        told=(told.text[:200],),
        figures={"wanted_torch": wanted},
        by=told.needed_by,
        wanted=told.wanted,
    )


def numpy_abi(case: Case) -> Finding | None:
    """Modules of NumPy 1 in NumPy 2."""
    found = next((error.told.found for error in case.errors if error.told.found), "")
    version = found.rstrip(".") or case.environment.version("numpy")
    return case.teller.finding(
        "numpy",
        f"numpy {version}".strip(),
        "numpy-abi",
        case.first.place,
        next_step=case.teller.text("next-pip", what='"numpy<2"'),
        numpy=f" {version}" if version else " 2",
    )


_NUMPY_GONE = frozenset(
    ("bool", "int", "float", "object", "complex", "str", "long", "unicode", "float_", "NaN", "Inf", "product")
)


def no_attribute(case: Case) -> Finding | None:
    """An attribute that is not there; None for modules that are not of interest."""
    told, teller = case.first.told, case.teller
    module = told.library.split(".", 1)[0]
    subject = f"{told.library}.{told.wanted}"
    if module == "torch" and told.wanted in ("npu", "_npu") or told.library == "torch.npu":
        return teller.finding(
            "import", subject, "torch-without-npu", case.first.place, next_step=teller.text("next-import")
        )
    if module == "numpy" and told.wanted in _NUMPY_GONE:
        return teller.finding(
            "numpy",
            subject,
            "numpy-gone",
            case.first.place,
            next_step=teller.text("next-pip", what='"numpy<1.24"' if told.wanted.islower() else '"numpy<2"'),
            name=told.wanted,
        )
    if module in ("torch", "torch_npu", "torchvision", "torchair"):
        return teller.finding(
            "import",
            subject,
            "no-attribute",
            case.first.place,
            severity="warning",
            next_step=teller.text("next-versions-of", name=module),
            what=subject,
            module=module,
        )
    return None


_OPERATORS: dict[str, str] = {
    **{"npu": "torch_npu", "_C_ascend": "vllm-ascend", "vllm": "vllm-ascend", "atb": "torch_npu"},
}
"""Whose operators are in a namespace of torch.ops."""


def no_torch_op(case: Case) -> Finding | None:
    """An operator that a compiled extension should have registered; None for those that are not known."""
    told, teller = case.first.told, case.teller
    package = _OPERATORS.get(told.library)
    if package is None:
        return None
    is_own = package == "vllm-ascend"
    return teller.finding(
        "operator",
        f"torch.ops.{told.library}.{told.wanted}",
        "no-torch-op",
        case.first.place,
        next_step=teller.text("next-rebuild") if is_own else teller.text("next-versions-of", name="torch"),
        figures={"operator": told.wanted, "package": package},
        operator=told.wanted,
        package=package,
    )


_MODULES: dict[str, Owner] = {
    **{"tbe": "toolkit", "te": "toolkit", "acl": "toolkit", "hccl": "toolkit", "opc_tool": "toolkit"},
    **{"auto_tune": "toolkit", "schedule_search": "toolkit", "impl": "toolkit", "aoe": "toolkit"},
    **{"torch_npu": "torch_npu", "torch": "torch", "mindspore": "mindspore"},
}
_NEEDED = frozenset(
    (
        "decorator",
        "attr",
        "attrs",
        "sympy",
        "cffi",
        "yaml",
        "psutil",
        "scipy",
        "cloudpickle",
        "tornado",
        "ml_dtypes",
    )
) | frozenset(("google", "absl", "pathlib2", "synr", "jinja2"))


def no_module(case: Case) -> Finding | None:
    """A module that is not there; None for those that a healthy environment may lack."""
    told, teller = case.first.told, case.teller
    module = told.wanted.split(".", 1)[0]
    if re.search(r"(?i)\b(?:INFO|WARNING|warn)\b", told.text):
        return None
    if told.wanted.startswith(("torch_npu.", "torch.")):
        # its own parts are missing: the folder of its sources stands in front
        step = teller.text("next-other-folder", name=module)
    elif module == "msprobe":
        step = teller.text("next-pip", what="mindstudio-probe")
    elif module in _MODULES:
        step = case.repair(_MODULES[module])
    elif module in _NEEDED:
        package = {"attr": "attrs", "yaml": "pyyaml", "google": "protobuf", "absl": "absl-py"}.get(
            module, module
        )
        step = teller.text("next-pip", what=package)
    else:
        return None
    key = "no-module-cann" if module in _NEEDED else "no-module"
    return teller.finding("import", told.wanted, key, case.first.place, next_step=step, name=told.wanted)


def backend(case: Case) -> Finding | None:
    """torch's backend did not load."""
    return case.teller.finding(
        "import",
        case.first.told.wanted,
        "backend",
        case.first.place,
        next_step=case.teller.text("next-backend"),
        name=case.first.told.wanted,
    )


def no_operator(case: Case) -> Finding | None:
    """An operator that CANN does not have."""
    told = case.first.told
    return case.teller.finding(
        "operator",
        told.wanted,
        "no-operator",
        case.first.place,
        next_step=case.teller.text("next-cann-older"),
        figures={"operator": told.wanted, "library": told.library},
        operator=told.wanted,
        library=told.library,
    )


def unsupported_soc(case: Case) -> Finding | None:
    """A chip that the software does not know."""
    soc = case.first.told.wanted.strip()
    return case.teller.finding(
        "operator",
        soc,
        "unsupported-soc",
        case.first.place,
        next_step=case.teller.text("next-cann-older"),
        soc=soc,
    )


def driver_old(case: Case) -> Finding | None:
    """A tool that asks for a newer driver."""
    toolkit = case.environment.toolkit
    paired = paired_driver(toolkit.release) if toolkit else ""
    step = (
        case.teller.text("next-driver", driver=paired, cann=toolkit.release if toolkit else "")
        if paired
        else case.teller.text("next-driver-newer")
    )
    told = (case.first.told.text[:200],)
    return case.teller.finding(
        "driver-state", "driver", "driver-old", case.first.place, next_step=step, told=told
    )


def driver_unreachable(case: Case) -> Finding | None:
    """A driver that cannot be reached, or npu-smi that is not there."""
    told = case.first.told
    is_sure = told.wanted.startswith("-")
    return case.teller.finding(
        "driver-state",
        told.wanted or "npu-smi",
        "driver-unreachable" if told.wanted else "no-npu-smi",
        case.first.place,
        severity=None if is_sure else "warning",
        next_step=case.teller.text("next-container"),
        figures={"code": told.wanted} if told.wanted else {},
        code=told.wanted,
    )


def driver_incomplete(case: Case) -> Finding | None:
    """A driver that is not completely installed."""
    return case.teller.finding(
        "driver-state",
        "driver",
        "driver-incomplete",
        case.first.place,
        severity="warning",
        next_step=case.teller.text("next-driver-again"),
    )


def no_set_env(case: Case) -> Finding | None:
    """A text that asks for set_env.sh; None where it was sourced."""
    if any(name.startswith("ASCEND_") for name in case.environment.variables):
        return None  # it was sourced; the sentence is advice for others
    return case.teller.finding(
        "set-env",
        case.first.told.wanted,
        "asked-to-source",
        case.first.place,
        next_step=f"source {toolkit_script(case.environment)}",
        told=(case.first.told.text[:200],),
    )


def version_mismatch(case: Case) -> Finding | None:
    """Built for one CANN, run with another one."""
    told = case.first.told
    if release_key(told.wanted) == release_key(told.found) or told.wanted.startswith("0."):
        return None
    return case.teller.finding(
        "mixed",
        f"{told.wanted} + {told.found}",
        "built-for",
        case.first.place,
        severity="warning",
        next_step=case.teller.text("next-rebuild"),
        wanted=told.wanted,
        found=told.found,
    )


def code(case: Case) -> Finding | None:
    """An error code of the runtime, as a note; None for one that is not known."""
    code = case.first.told.wanted
    known = ERROR_CODES.get(code)
    if known is None:
        return None
    return case.teller.finding(
        "code",
        code,
        "code",
        case.first.place,
        next_step=case.teller.text("next-memory", file=case.first.place.artifact),
        code=code,
        meaning=pick(known.meaning, case.teller.lang),
    )

"""Errors of the loader and of imports as findings: what each means here, and the command that repairs it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from npulse.core.findings import Finding
from npulse.core.formats.error_codes import ERROR_CODES, pick

from .facts import Environment, Error
from .libraries import Owner, owner_of_library, owner_of_symbol
from .paths import nnal_script, toolkit_script
from .releases import base_version, paired_driver, release_key
from .telling import Teller


def error_findings(environment: Environment, teller: Teller) -> Iterator[Finding]:
    """The errors of a text, each kind of complaint about one thing once, at the line where it comes first."""
    grouped: dict[tuple[str, ...], list[Error]] = {}
    for error in environment.errors:
        told = error.told
        key: tuple[str, ...] = (told.kind, told.library.rsplit("/", 1)[-1], told.symbol or told.wanted)
        if told.kind == "numpy-abi":
            key = (told.kind,)  # one complaint in several sentences
        grouped.setdefault(key, []).append(error)
    for errors in grouped.values():
        made = _MAKERS[errors[0].told.kind](Case(environment, teller, errors))
        if made is not None:
            yield replace(made, figures={**made.figures, "n_times": len(errors)}) if len(errors) > 1 else made


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
        return teller.text(f"repair-{owner or 'unknown'}")


def _no_library(case: Case) -> Finding | None:
    told = case.first.told
    owner = owner_of_library(told.library)
    name = told.library.rsplit("/", 1)[-1]
    figures = {"library": told.library, "package": owner}
    if owner == "cuda":
        is_fatal = not re.search(r"WARN|Failed to import from|INFO|Warning", told.text)
        return case.teller.finding(
            "library",
            name,
            "library-cuda",
            case.first.place,
            severity="warning" if is_fatal else "note",
            next_step=case.teller.text("repair-cuda") if is_fatal else "",
            figures=figures,
            library=name,
        )
    return case.teller.finding(
        "library",
        name,
        "library-missing" if owner else "library-missing-unknown",
        case.first.place,
        next_step=case.repair(owner),
        told=(told.text[:200],),
        figures=figures,
        library=name,
        owner=case.owner_text(owner),
    )


_STRING = "basic_string<char, std::char_traits<char>, std::allocator<char> >"
_ABI_FOLDER = re.compile(r"cxx_abi_[01]")


def _no_symbol(case: Case) -> Finding | None:
    told, teller = case.first.told, case.teller
    environment = case.environment
    owner = owner_of_symbol(told.symbol, told.namespace)
    library = told.library.rsplit("/", 1)[-1] or "?"
    lines = [told.demangled.replace(_STRING, "string")] if told.demangled else []
    lines.append(f"{told.library}: {told.symbol}"[:300])
    rule, key = "symbol", "symbol-of" if owner else "symbol-of-unknown"
    is_mixed_nnal = owner == "nnal" and "/nnal/" in told.library
    if owner == "torch" and _is_torch_aligned(environment) and told.abi:
        rule, key = "abi", "symbol-abi"
    elif is_mixed_nnal:
        rule, key = (
            ("abi", "symbol-nnal-abi")
            if _ABI_FOLDER.search(told.library) and told.abi
            else (rule, "symbol-nnal-mixed")
        )
    if told.abi:
        lines.append(teller.text(f"abi-{told.abi}"))
    return teller.finding(
        rule,
        f"{library}: {told.name}"[:200],
        key,
        case.first.place,
        next_step=_symbol_repair(case, owner, is_mixed_nnal),
        told=tuple(lines),
        figures={
            **{"library": told.library, "symbol": told.symbol, "demangled": told.demangled, "package": owner},
            **({"abi": told.abi} if told.abi else {}),
        },
        library=library,
        symbol=told.name,
        owner=case.owner_text(owner),
        asks=case.owner_text(_asker(told.library)),
    )


def _asker(library: str) -> Owner:
    """Whose library asks: by its folder, else by its name."""
    for part, owner in (
        ("/nnal/", "nnal"),
        ("/torch_npu/", "torch_npu"),
        ("/torch/", "torch"),
        ("/mindie/", "mindie"),
    ):
        if part in library:
            return owner  # type: ignore[return-value]
    return owner_of_library(library)


def _is_torch_aligned(environment: Environment) -> bool:
    torch, torch_npu = environment.version("torch"), environment.version("torch_npu")
    return bool(torch and torch_npu) and base_version(torch) == base_version(torch_npu)


def _symbol_repair(case: Case, owner: Owner, is_mixed_nnal: bool) -> str:
    teller, environment = case.teller, case.environment
    release = environment.toolkit.release if environment.toolkit else ""
    if owner == "nnal":
        if is_mixed_nnal:
            return teller.text("next-nnal-clean", script=nnal_script(environment))
        return teller.text("next-nnal", cann=release) if release else teller.text("next-nnal-any")
    if owner == "torch":
        asker = _asker(case.first.told.library)
        if (
            asker in ("torch_npu", "")
            and not _is_torch_aligned(environment)
            and environment.version("torch_npu")
        ):
            return case.repair("torch")
        return teller.text("next-torch-any") if asker == "torch_npu" else teller.text("next-rebuild")
    if owner == "torch_npu":
        return teller.text("next-rebuild")
    if owner == "toolkit":
        return teller.text("next-cann-older")
    if owner == "driver":
        paired = paired_driver(release)
        return (
            teller.text("next-driver", driver=paired, cann=release)
            if paired
            else teller.text("next-driver-newer")
        )
    return case.repair(owner)


def _no_version(case: Case) -> Finding | None:
    told, teller = case.first.told, case.teller
    family = told.wanted.split("_", 1)[0]
    is_libc = family == "GLIBC"
    in_conda = bool(re.search(r"conda|/envs?/|venv", told.library))
    if is_libc:
        step = teller.text("next-glibc")
    elif in_conda:
        step = teller.text("next-libstdcxx-conda")
    else:
        step = teller.text("next-libstdcxx-system")
    has = case.environment.value("glibc")
    return teller.finding(
        "glibc",
        told.wanted,
        "glibc" if is_libc else "libstdcxx",
        case.first.place,
        next_step=step,
        told=(told.text[:200],),
        figures={"wanted": told.wanted, "library": told.library, "needed_by": told.needed_by},
        wanted=told.wanted,
        library=told.library or "libc",
        by=told.needed_by.rsplit("/", 1)[-1] or "?",
        has=f" ({has})" if has else "",
    )


def _static_tls(case: Case) -> Finding | None:
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


def _wrong_arch(case: Case) -> Finding | None:
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


def _torch_needed(case: Case) -> Finding | None:
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


def _numpy_abi(case: Case) -> Finding | None:
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


def _no_attribute(case: Case) -> Finding | None:
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


def _no_module(case: Case) -> Finding | None:
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


def _backend(case: Case) -> Finding | None:
    return case.teller.finding(
        "import",
        case.first.told.wanted,
        "backend",
        case.first.place,
        next_step=case.teller.text("next-backend"),
        name=case.first.told.wanted,
    )


def _no_operator(case: Case) -> Finding | None:
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


def _unsupported_soc(case: Case) -> Finding | None:
    soc = case.first.told.wanted.strip()
    return case.teller.finding(
        "operator",
        soc,
        "unsupported-soc",
        case.first.place,
        next_step=case.teller.text("next-cann-older"),
        soc=soc,
    )


def _driver_old(case: Case) -> Finding | None:
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


def _driver_unreachable(case: Case) -> Finding | None:
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


def _driver_incomplete(case: Case) -> Finding | None:
    return case.teller.finding(
        "driver-state",
        "driver",
        "driver-incomplete",
        case.first.place,
        severity="warning",
        next_step=case.teller.text("next-driver-again"),
    )


def _no_set_env(case: Case) -> Finding | None:
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


def _version_mismatch(case: Case) -> Finding | None:
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


def _code(case: Case) -> Finding | None:
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


_MAKERS: dict[str, Callable[[Case], Finding | None]] = {
    "no-library": _no_library,
    "no-symbol": _no_symbol,
    "no-version": _no_version,
    "static-tls": _static_tls,
    "wrong-arch": _wrong_arch,
    "torch-needed": _torch_needed,
    "numpy-abi": _numpy_abi,
    "no-attribute": _no_attribute,
    "no-module": _no_module,
    "backend": _backend,
    "no-operator": _no_operator,
    "unsupported-soc": _unsupported_soc,
    "driver-old": _driver_old,
    "driver-unreachable": _driver_unreachable,
    "driver-incomplete": _driver_incomplete,
    "no-set-env": _no_set_env,
    "version-mismatch": _version_mismatch,
    "code": _code,
}

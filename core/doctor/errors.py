"""Errors of the loader and of imports as findings, each at the line where it comes first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from npulse.core.findings import Finding

from . import complaints
from .complaints import Case
from .facts import Environment, Error
from .libraries import Owner, owner_of_library, owner_of_symbol
from .paths import nnal_script, toolkit_script
from .releases import base_version, paired_driver
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
    library = told.library.rsplit("/", 1)[-1]
    lines = [told.demangled.replace(_STRING, "string")] if told.demangled else []
    lines.append(f"{told.library}: {told.symbol}"[:300] if library else told.symbol[:300])
    rule, key = "symbol", "symbol-of" if owner else "symbol-of-unknown"
    is_mixed_nnal = owner == "nnal" and "/nnal/" in told.library
    if owner == "torch" and _is_torch_aligned(environment) and told.abi:
        rule, key = "abi", "symbol-abi"
    elif owner == "torch" and told.abi and not _are_versions_told(environment):
        key = "symbol-abi-or-version"
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
        (f"{library}: {told.name}" if library else told.name)[:200],
        key,
        case.first.place,
        next_step=_symbol_repair(case, owner, is_mixed_nnal),
        told=tuple(lines),
        figures={
            **{"library": told.library, "symbol": told.symbol, "demangled": told.demangled, "package": owner},
            **({"abi": told.abi} if told.abi else {}),
        },
        library=library or "?",
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
        ("/ascend-toolkit/", "toolkit"),
        ("/cann/", "toolkit"),
    ):
        if part in library:
            return owner  # type: ignore[return-value]
    return owner_of_library(library)


def _are_versions_told(environment: Environment) -> bool:
    return bool(environment.version("torch") and environment.version("torch_npu"))


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
    if not owner and _asker(case.first.told.library) == "toolkit":
        # one of its libraries with one of another toolkit
        return teller.text("next-one-toolkit", script=toolkit_script(environment))
    if not owner:
        return teller.text("next-rebuild")
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


_MAKERS: dict[str, Callable[[Case], Finding | None]] = {
    "no-library": _no_library,
    "no-symbol": _no_symbol,
    "no-version": _no_version,
    "static-tls": complaints.static_tls,
    "wrong-arch": complaints.wrong_arch,
    "torch-needed": complaints.torch_needed,
    "numpy-abi": complaints.numpy_abi,
    "no-attribute": complaints.no_attribute,
    "no-torch-op": complaints.no_torch_op,
    "no-module": complaints.no_module,
    "backend": complaints.backend,
    "no-operator": complaints.no_operator,
    "unsupported-soc": complaints.unsupported_soc,
    "driver-old": complaints.driver_old,
    "driver-unreachable": complaints.driver_unreachable,
    "driver-incomplete": complaints.driver_incomplete,
    "no-set-env": complaints.no_set_env,
    "version-mismatch": complaints.version_mismatch,
    "code": complaints.code,
}

"""Which versions go together: toolkit, driver, firmware, NNAL, operators, torch, torch_npu, Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from npulse.core.findings import Finding
from npulse.core.text import columns_of

from .facts import Component, Environment, Place
from .releases import (
    base_version,
    cann_for,
    cann_of,
    in_ranges,
    inner_by_release,
    inner_of,
    is_older,
    is_same_cann,
    lists_inner,
    oldest_driver,
    packages_for,
    paired_driver,
    release_key,
    torch_npu_for,
)
from .telling import Teller

State = Literal["ok", "conflict", "doubtful", "unknown"]


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two that are both there, whether they go together, and what is found where they do not."""

    left: str
    right: str
    state: State
    finding: Finding | None = None


def pairings(environment: Environment, teller: Teller) -> tuple[Pairing, ...]:
    """Every pair of which both are told; what is absent makes none."""
    return tuple(
        pairing
        for check in (
            _driver,
            _firmware,
            _board,
            _torch,
            _torch_npu,
            _nnal,
            _ops,
            _vllm,
            _numpy,
            _triton,
            _python,
            _arch,
            _refused_wheels,
        )
        for pairing in check(environment, teller)
    )


def _unknown(teller: Teller, left: str, right: str, key: str, place: Place, **values: Any) -> Pairing:
    finding = teller.finding(
        "not-judged",
        f"{left}, {right}",
        key,
        place,
        role="unknown",
        next_step=teller.text("next-version-files"),
        **values,
    )
    return Pairing(left, right, "unknown", finding)


# ---- driver and firmware ----


def _driver(environment: Environment, teller: Teller) -> Iterator[Pairing]:
    toolkit, driver = environment.toolkit, environment.driver
    if toolkit is None or driver is None or not toolkit.release or not driver.release:
        return
    listed = lists_inner(driver.compatible, toolkit.inner)
    if listed is None and driver.inner and not driver.compatible:
        listed = lists_inner(toolkit.compatible, driver.inner)
    if listed:
        yield Pairing("driver", "toolkit", "ok")
    elif listed is False:
        yield Pairing("driver", "toolkit", "conflict", _not_listed(toolkit, driver, teller))
    else:
        yield _driver_by_release(toolkit, driver, teller)


def _not_listed(toolkit: Component, driver: Component, teller: Teller, derived: str = "") -> Finding:
    """derived: the toolkit's inner version, where its release alone tells it: then nothing is certain."""
    by_toolkit = lists_inner(toolkit.compatible, driver.inner)
    told = [f"toolkit  {toolkit.release}  innerversion={toolkit.inner or derived + '?'}"]
    told.append(f"driver   {driver.release}  compatible_version={driver.compatible or '-'}")
    if by_toolkit:
        told.append(teller.text("toolkit-lists-driver", inner=inner_of(driver.inner)))
    return teller.finding(
        "driver",
        f"driver {driver.release}",
        "driver-not-listed",
        driver.place,
        severity="warning" if derived else None,
        next_step=_new_driver(toolkit, teller),
        told=tuple(told),
        figures={
            "driver": driver.release,
            "cann": toolkit.release,
            "inner": derived or inner_of(toolkit.inner),
        },
        driver=driver.release,
        cann=toolkit.release,
        inner=derived or inner_of(toolkit.inner),
    )


def _new_driver(toolkit: Component, teller: Teller) -> str:
    paired = paired_driver(toolkit.release)
    if paired:
        return teller.text("next-driver", driver=paired, cann=toolkit.release)
    return teller.text("next-driver-any", cann=toolkit.release)


def _driver_by_release(toolkit: Component, driver: Component, teller: Teller) -> Pairing:
    """By the vendor's lists of releases, where no version file tells it."""
    derived = inner_by_release(toolkit.release)
    if lists_inner(driver.compatible, derived) is False:
        return Pairing("driver", "toolkit", "doubtful", _not_listed(toolkit, driver, teller, derived))
    oldest, paired = oldest_driver(toolkit.release), paired_driver(toolkit.release)
    is_too_old = is_older(driver.release, oldest) if oldest else None
    if is_too_old:
        finding = teller.finding(
            "driver",
            f"driver {driver.release}",
            "driver-too-old",
            driver.place,
            next_step=_new_driver(toolkit, teller),
            figures={"driver": driver.release, "cann": toolkit.release, "oldest_driver": oldest},
            driver=driver.release,
            cann=toolkit.release,
            oldest=oldest,
        )
        return Pairing("driver", "toolkit", "conflict", finding)
    if is_too_old is False:
        return Pairing("driver", "toolkit", "ok")
    if paired and release_key(paired)[:2] == release_key(driver.release)[:2]:
        return Pairing("driver", "toolkit", "ok")
    values = {"driver": driver.release, "cann": toolkit.release}
    if paired and is_older(driver.release, paired):
        return _unknown(
            teller, "driver", "toolkit", "driver-older-unknown", driver.place, paired=paired, **values
        )
    return _unknown(teller, "driver", "toolkit", "driver-unknown", driver.place, **values)


def _firmware(environment: Environment, teller: Teller) -> Iterator[Pairing]:
    driver, firmware = environment.driver, environment.firmware
    if driver is None or firmware is None or not firmware.release:
        return
    fits = in_ranges(driver.compatible_firmware, firmware.release)
    ranges = driver.compatible_firmware
    if fits is None:
        fits = in_ranges(firmware.compatible_drivers, driver.release)
        ranges = firmware.compatible_drivers
    if fits is None:
        return  # releases alone say nothing of firmware, and npu-smi shows the release without asking
    if fits:
        yield Pairing("firmware", "driver", "ok")
        return
    finding = teller.finding(
        "firmware",
        f"firmware {firmware.release}",
        "firmware-outside",
        firmware.place,
        next_step=teller.text("next-firmware", driver=driver.release),
        figures={"firmware": firmware.release, "driver": driver.release, "range": ranges},
        firmware=firmware.release,
        driver=driver.release,
        ranges=ranges,
    )
    yield Pairing("firmware", "driver", "conflict", finding)


def _board(environment: Environment, teller: Teller) -> Iterator[Pairing]:
    fact = environment.facts.get("board-compatibility")
    if fact is None:
        return
    value = fact.value.upper()
    if value == "OK":
        yield Pairing("board", "driver", "ok")
    elif "SUPPORT" not in value and value not in ("NA", "-"):
        finding = teller.finding(
            "board",
            f"Compatibility {fact.value}",
            "board",
            fact.place,
            next_step=teller.text("next-board"),
            value=fact.value,
        )
        yield Pairing("board", "driver", "conflict", finding)


# ---- torch ----


def _torch(environment: Environment, teller: Teller) -> Iterator[Pairing]:
    torch, torch_npu = environment.packages.get("torch"), environment.packages.get("torch_npu")
    if torch is None or torch_npu is None:
        return
    base, wanted = base_version(torch.version), base_version(torch_npu.version)
    if not base or not wanted:
        yield _unknown(teller, "torch", "torch_npu", "torch-unknown", torch.place)
        return
    if base == wanted:
        yield Pairing("torch", "torch_npu", "ok")
        return
    release = environment.toolkit.release if environment.toolkit else ""
    other = torch_npu_for(release, base) if release else ""
    is_npu_right = torch_npu.version.split("+")[0] in packages_for(release) if release else True
    if other and not is_npu_right:
        step = teller.text("next-torch-npu", torch_npu=other, cann=release)
    else:
        step = teller.text("next-torch", torch=wanted)
    finding = teller.finding(
        "torch",
        f"torch {torch.version}",
        "torch-differs",
        torch.place,
        next_step=step,
        told=tuple(
            columns_of(
                [(one.name, one.version, str(one.place)) for one in (torch, torch_npu)], left=(0, 1, 2)
            )
        ),
        figures={"torch": torch.version, "torch_npu": torch_npu.version, "wanted_torch": wanted},
        torch=torch.version,
        torch_npu=torch_npu.version,
        wanted=wanted,
    )
    yield Pairing("torch", "torch_npu", "conflict", finding)


def _torch_npu(environment: Environment, teller: Teller) -> Iterator[Pairing]:
    package, toolkit = environment.packages.get("torch_npu"), environment.toolkit
    if package is None or toolkit is None or not toolkit.release:
        return
    bare = package.version.split("+")[0]
    of_toolkit, made_for = packages_for(toolkit.release), cann_for(package.version)
    if bare in of_toolkit:
        yield Pairing("torch_npu", "toolkit", "ok")
    elif not made_for or not of_toolkit:
        # packages of a development line, and releases younger than the table
        yield Pairing("torch_npu", "toolkit", "unknown")
    else:
        right = torch_npu_for(toolkit.release, base_version(bare))
        if right:
            step = teller.text("next-torch-npu", torch_npu=right, cann=toolkit.release)
        else:
            step = teller.text("next-cann", cann=made_for)
        finding = teller.finding(
            "torch-npu",
            f"torch_npu {package.version}",
            "torch-npu-other-cann",
            package.place,
            next_step=step,
            figures={"torch_npu": package.version, "cann": toolkit.release, "made_for_cann": made_for},
            torch_npu=package.version,
            cann=toolkit.release,
            made_for=made_for,
        )
        yield Pairing("torch_npu", "toolkit", "doubtful", finding)


def _vllm(environment: Environment, teller: Teller) -> Iterator[Pairing]:
    vllm, plugin = environment.packages.get("vllm"), environment.packages.get("vllm_ascend")
    if vllm is None or plugin is None:
        return
    if any(".dev" in one.version or one.version.startswith("0.1.") for one in (vllm, plugin)):
        return  # of a source tree: its number is not that of a release
    base, wanted = base_version(vllm.version), base_version(plugin.version)
    if not base or base == wanted:
        yield Pairing("vllm", "vllm_ascend", "ok")
        return
    finding = teller.finding(
        "vllm",
        f"vllm {vllm.version}",
        "vllm-differs",
        vllm.place,
        next_step=teller.text("next-pip", what=f"vllm=={wanted}"),
        vllm=vllm.version,
        plugin=plugin.version,
    )
    yield Pairing("vllm", "vllm_ascend", "doubtful", finding)


def _numpy(environment: Environment, teller: Teller) -> Iterator[Pairing]:
    numpy, torch = environment.packages.get("numpy"), environment.packages.get("torch")
    if numpy is None or torch is None:
        return
    if release_key(base_version(numpy.version)) < release_key("2.0") or not is_older(
        base_version(torch.version), "2.3.0"
    ):
        yield Pairing("numpy", "torch", "ok")
        return
    finding = teller.finding(
        "numpy",
        f"numpy {numpy.version}",
        "numpy-two",
        numpy.place,
        severity="warning",
        next_step=teller.text("next-pip", what='"numpy<2"'),
        numpy=numpy.version,
        torch=torch.version,
    )
    yield Pairing("numpy", "torch", "doubtful", finding)


def _triton(environment: Environment, teller: Teller) -> Iterator[Pairing]:
    triton, ascend = environment.packages.get("triton"), environment.packages.get("triton_ascend")
    if triton is None or ascend is None:
        return
    finding = teller.finding(
        "triton",
        f"triton {triton.version}",
        "two-tritons",
        triton.place,
        next_step=teller.text("next-triton", ascend=ascend.version),
        triton=triton.version,
        ascend=ascend.version,
    )
    yield Pairing("triton", "triton_ascend", "doubtful", finding)


# ---- parts of CANN ----


def _nnal(environment: Environment, teller: Teller) -> Iterator[Pairing]:
    toolkit, nnal = environment.toolkit, environment.nnal
    if toolkit is None or nnal is None or not cann_of(nnal.release)[0] or not cann_of(toolkit.release)[0]:
        return
    if cann_of(toolkit.release)[0] == cann_of(nnal.release)[0] and (
        is_same_cann(toolkit.release, nnal.release) or cann_of(toolkit.release)[0] != "8.0"
    ):
        yield Pairing("nnal", "toolkit", "ok")
        return
    yield Pairing("nnal", "toolkit", "doubtful", _other_release("nnal", "NNAL", nnal, toolkit, teller))


def _ops(environment: Environment, teller: Teller) -> Iterator[Pairing]:
    toolkit, ops = environment.toolkit, environment.ops
    if toolkit is None or ops is None or not cann_of(ops.release)[0] or not cann_of(toolkit.release)[0]:
        return
    if is_same_cann(toolkit.release, ops.release):
        yield Pairing("ops", "toolkit", "ok")
        return
    yield Pairing("ops", "toolkit", "doubtful", _other_release("ops", "ops", ops, toolkit, teller))


def _other_release(rule: str, name: str, one: Component, toolkit: Component, teller: Teller) -> Finding:
    return teller.finding(
        rule,
        f"{name} {one.release}",
        f"{rule}-differs",
        one.place,
        next_step=teller.text(f"next-{rule}", cann=toolkit.release),
        figures={rule: one.release, "cann": toolkit.release},
        release=one.release,
        cann=toolkit.release,
    )


# ---- Python and the processor ----


def _python(environment: Environment, teller: Teller) -> Iterator[Pairing]:
    fact = environment.facts.get("python")
    if fact is None:
        return
    minor = ".".join(fact.value.split(".")[:2])
    for wheel, place in environment.wheels:
        wanted = _python_of(wheel.python_tag)
        if wheel.is_refused and wanted and wanted != minor:
            yield Pairing(
                "python",
                wheel.name,
                "conflict",
                teller.finding(
                    "python",
                    f"{wheel.name} {wheel.version}",
                    "python-wheel",
                    place,
                    severity="error",
                    next_step=teller.text("next-python", python=wanted),
                    wanted=wanted,
                    python=fact.value,
                ),
            )
    npu = environment.packages.get("torch_npu") or environment.toolkit
    if npu is None:
        return
    if release_key("3.8") <= release_key(minor) <= release_key("3.13"):
        yield Pairing("python", "torch_npu", "ok")
        return
    finding = teller.finding(
        "python",
        f"python {fact.value}",
        "python-unsupported",
        fact.place,
        next_step=teller.text("next-python", python="3.11"),
        python=fact.value,
    )
    yield Pairing("python", "torch_npu", "doubtful", finding)


def _python_of(tag: str) -> str:
    """ "cp310" -> "3.10"; "" for wheels of any Python 3."""
    digits = tag.split(".")[0].removeprefix("cp")
    return f"{digits[0]}.{digits[1:]}" if tag.startswith("cp3") and len(digits) > 1 else ""


def _arch(environment: Environment, teller: Teller) -> Iterator[Pairing]:
    arch = environment.facts.get("arch")
    if arch is None:
        return
    others: list[tuple[str, str, Place]] = []
    for toolkit in environment.toolkits[:1]:
        if toolkit.arch in ("aarch64", "x86_64"):
            others.append(("toolkit", toolkit.arch, toolkit.place))
    fitting = {wheel.name for wheel, _ in environment.wheels if wheel.arch == arch.value}
    others += [
        (f"{wheel.name} {wheel.version}", wheel.arch, place)
        for wheel, place in environment.wheels
        if wheel.arch and (wheel.is_refused or wheel.name not in fitting)  # a list of downloads names both
    ]
    for name, other, place in others:
        if other == arch.value:
            continue
        finding = teller.finding(
            "arch",
            name,
            "arch-differs",
            place,
            next_step=teller.text("next-arch", arch=arch.value),
            other=other,
            arch=arch.value,
        )
        yield Pairing(name, "arch", "conflict", finding)


def _refused_wheels(environment: Environment, teller: Teller) -> Iterator[Pairing]:
    """Wheels that pip refused where the text does not tell what this machine is, or tells no difference."""
    python = environment.value("python")
    minor, arch = ".".join(python.split(".")[:2]), environment.value("arch")
    for wheel, place in environment.wheels:
        wanted = _python_of(wheel.python_tag)
        is_told = (python and wanted and wanted != minor) or (arch and wheel.arch and wheel.arch != arch)
        if not wheel.is_refused or is_told:
            continue
        finding = teller.finding(
            "python",
            f"{wheel.name} {wheel.version}",
            "wheel-refused",
            place,
            severity="error",
            next_step=teller.text("next-this-python"),
            tag=wheel.python_tag,
            platform=wheel.platform_tag,
        )
        yield Pairing(wheel.name, "pip", "conflict", finding)

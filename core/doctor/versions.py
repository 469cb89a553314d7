"""The versions of an environment in a flat form, for the manifest of a round."""

from __future__ import annotations

from .facts import Environment

PACKAGES = (
    *("torch", "torch_npu", "torchvision", "mindspore", "mindstudio_probe", "numpy", "vllm", "vllm_ascend"),
    *("mindspeed", "deepspeed", "transformers", "triton_ascend"),
)
"""Python packages that are told; names as in core/formats/package_lists.py."""
FACTS = ("python", "arch", "os", "glibc", "gcc", "clang", "kernel", "npu-smi")


def versions_of(environment: Environment) -> dict[str, str]:
    """Name to version or value as it is written; what is not known is left out, never "".

    cann, driver, firmware, nnal, ops; cann_inner, driver_inner (innerversion); cann_home; packages, their
    names with "_"; python, arch, os, glibc, gcc, clang, kernel, npu_smi.
    """
    found: dict[str, str] = {}
    toolkit, driver = environment.toolkit, environment.driver
    components = {
        **{"cann": toolkit, "driver": driver, "firmware": environment.firmware},
        **{"nnal": environment.nnal, "ops": environment.ops},
    }
    found.update({name: one.release for name, one in components.items() if one is not None})
    if toolkit is not None:
        found.update({"cann_inner": toolkit.inner, "cann_home": toolkit.home})
    if driver is not None:
        found["driver_inner"] = driver.inner
    found.update({name: environment.version(name) for name in PACKAGES})
    found.update({name.replace("-", "_"): environment.value(name) for name in FACTS})
    return {name: value for name, value in found.items() if value}

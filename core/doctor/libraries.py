"""Whose a library or a symbol is, by its name or namespace."""

from __future__ import annotations

import re
from typing import Literal

Owner = Literal[
    "nnal", "toolkit", "driver", "torch", "torch_npu", "mindspore", "python", "system", "cuda", "mindie", ""
]

_OWNERS: tuple[tuple[Owner, re.Pattern[str]], ...] = (
    ("mindie", re.compile(r"lib(?:atb_speed|mindie|mie_|llm_manager|boost_\w*mindie)[\w.]*\.so", re.I)),
    (
        "nnal",
        re.compile(r"lib(?:atb|asdops|mki|lcal|lccl|lcoc|atb_train|atb_mixops|tbe_adapter)[\w.]*\.so", re.I),
    ),
    (
        "driver",
        re.compile(
            r"lib(?:ascend_hal|drv\w*|dcmi\w*|devmmap|tsdclient|mmpa_drv|dms\w*|davinci\w*|ascend_kms|hdcdrv)[\w.]*\.so"
        ),
    ),
    (
        "cuda",
        re.compile(
            r"lib(?:cuda|cudart|cublas\w*|cudnn\w*|cufft\w*|curand|cusparse\w*|cusolver\w*|nccl|nv\w+|npp\w+)\b"
        ),
    ),
    ("torch_npu", re.compile(r"lib(?:torch_npu|op_plugin\w*|npu_profiler)[\w.]*\.so")),
    ("torch", re.compile(r"lib(?:torch\w*|c10\w*|shm|caffe2\w*)\.so")),
    ("mindspore", re.compile(r"lib(?:mindspore\w*|mpi_collective|ascend_collective)[\w.]*\.so")),
    ("python", re.compile(r"libpython3[\w.]*\.so")),
    (
        "toolkit",
        re.compile(
            r"lib(?:hccl\w*|hcomm\w*|ascendcl\w*|acl\w*|ascend_\w+|ascendalog|ascendc\w*|ge_\w+|ge|gert|graph\w*|opapi\w*"
            r"|register|rt2_registry|platform|nnopbase|msprof\w*|prof\w+|runtime\w*|tiling\w*|aicpu\w*|error_manager"
            r"|mmpa|exe_graph|exe_meta_device|lowering|fmk_parser|optiling|opmaster\w*|te_fusion|ops_\w+|opp_\w+|cust_\w+|adump\w*"
            r"|alog|slog|unified_dlog|tsch\w*|cce\w*|c_sec|static_mem|model_v2_executor|davinci_executor|hybrid_executor"
            r"|metadef\w*|flow_graph|aoe\w*|parser_common|datatransfer|queue_schedule|toolchain\w*)[\w.]*\.so"
        ),
    ),
    (
        "system",
        re.compile(
            r"lib(?:stdc\+\+|gomp|gcc_s|gfortran|openblas\w*|GL|glib-?[\w.]*|m|c|z|ssl|crypto|numa|ibverbs|rdmacm)[\w.-]*\.so"
        ),
    ),
)

_NAMESPACES: dict[str, Owner] = {
    **{"atb": "nnal", "Mki": "nnal", "AtbOps": "nnal", "AsdOps": "nnal", "Lcal": "nnal"},
    **{"c10": "torch", "at": "torch", "torch": "torch", "caffe2": "torch", "c10d": "torch", "jit": "torch"},
    **{"c10_npu": "torch_npu", "at_npu": "torch_npu", "torch_npu": "torch_npu", "op_plugin": "torch_npu"},
    **{"c10d_npu": "torch_npu", "npu_profiler": "torch_npu", "op_infer": "torch_npu", "op_api": "torch_npu"},
    **{
        "ge": "toolkit",
        "gert": "toolkit",
        "hccl": "toolkit",
        "Hccl": "toolkit",
        "cce": "toolkit",
        "fe": "toolkit",
    },
    **{
        "Analysis": "toolkit",
        "Msprof": "toolkit",
        "Adx": "toolkit",
        "platform_ascendc": "toolkit",
        "optiling": "toolkit",
    },
    **{
        "mindspore": "mindspore",
        "std": "system",
        "mindie": "mindie",
        "mindie_llm": "mindie",
        "atb_speed": "mindie",
    },
    **{"__gnu_cxx": "system", "__cxxabiv1": "system"},
}
_C_NAMES: tuple[tuple[Owner, re.Pattern[str]], ...] = (
    ("driver", re.compile(r"(?:hal|drv|dcmi_|dsmi_)\w+")),
    (
        "toolkit",
        re.compile(
            r"(?:acl|aclnn|aclrt|Hccl|Hcom|rt[A-Z]|ge[A-Z]|GE|Adx|Adump|Msprof|Prof[A-Z]|nnopbase|NnopBase|Rts?)\w*"
        ),
    ),
    ("python", re.compile(r"_?Py[A-Z_]\w+")),
    ("nnal", re.compile(r"(?:Lcal|Atb)\w+")),
)


def owner_of_library(library: str) -> Owner:
    """Whose a library is, by its name; "" for one that is not known."""
    name = library.rsplit("/", 1)[-1]
    return next((owner for owner, form in _OWNERS if form.match(name)), "")


def owner_of_symbol(symbol: str, namespace: str) -> Owner:
    """Whose a symbol is, by its namespace or by how C functions are called."""
    if symbol.startswith("_Z"):
        return _NAMESPACES.get(namespace, "")
    return next((owner for owner, form in _C_NAMES if form.match(symbol)), "")

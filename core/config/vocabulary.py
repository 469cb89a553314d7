"""Keys and values that the tools know: of acl.json as CANN documents them, of config.json as msprobe does
(its sources of 1.2.2, 8.3.3 and 26.2.0)."""

from __future__ import annotations

from collections.abc import Mapping

# ---- acl.json ----

ACL_KEYS = (
    *("dump_path", "dump_mode", "dump_level", "dump_data", "dump_stats", "dump_op_switch", "dump_step"),
    *("dump_debug", "dump_scene", "dump_kernel_data", "dump_list"),
)
ACL_TARGET_KEYS = (
    *("model_name", "layer", "watcher_nodes", "optype_blacklist", "opname_blacklist", "opname_range"),
)
ACL_VALUES: Mapping[str, tuple[str, ...]] = {
    "dump_mode": ("input", "output", "all"),
    "dump_level": ("op", "kernel", "all"),
    "dump_data": ("tensor", "stats"),
    "dump_op_switch": ("on", "off"),
    "dump_debug": ("on", "off"),
    "dump_scene": (
        *("lite_exception", "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump", "watcher"),
    ),
}
EXCEPTION_SCENES = ACL_VALUES["dump_scene"][:4]
DUMP_STATS = ("Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm")
DEFAULT_STATS = DUMP_STATS[:6]
KERNEL_DATA = ("all", "printf", "tensor", "assert", "timestamp")
MAX_LISTED = 100
"""Entries of a blacklist and of opname_range."""
MAX_PATH_CHARS = 512
MAX_ACL_NESTING = 10

SPELT_OTHERWISE: Mapping[str, str] = {
    "layer_name": "layer",
    "layers": "layer",
    "layer_names": "layer",
    "op_name": "layer",
    "model": "model_name",
    "path": "dump_path",
    "mode": "dump_mode",
    "step": "dump_step",
    "steps": "dump_step",
    "debug": "dump_debug",
    "output_dir": "dump_path",
    "summary": "summary_mode",
    "ranks": "rank",
    "blacklist": "opname_blacklist",
}
"""Keys that are met in acl.json and config.json files, and what the tool calls them."""

# ---- msprobe's config.json ----

OLD, NEW = "8", "26"
"""The two families of versions: 1.x to 8.x, and 26.x."""
FAMILIES = (OLD, NEW)

LEVELS = ("L0", "L1", "L2", "mix", "debug")
DATA_MODES = ("all", "forward", "backward", "input", "output")
TASKS: Mapping[str, tuple[str, ...]] = {
    OLD: (
        *("statistics", "tensor", "overflow_check", "free_benchmark", "run_ut", "grad_probe", "structure"),
        "exception_dump",
    ),
    NEW: (*("statistics", "tensor", "structure", "acc_check", "diff_check", "exception_dump", "nan_check"),),
}
MINDSPORE_TASKS = ("exception_dump",)
SUMMARY_MODES: Mapping[str, tuple[str, ...]] = {
    OLD: ("statistics", "md5"),
    NEW: ("statistics", "md5", "xor"),
}
MINDSPORE_STATISTICS = (
    *("max", "min", "mean", "l2norm", "count", "zero count", "positive zero count", "negative zero count"),
    *("nan count", "positive inf count", "negative inf count", "hash", "md5"),
)
RISK_LEVELS = ("ALL", "CORE", "FOCUS")
PRECISIONS = ("high", "low")

TOP_KEYS: Mapping[str, tuple[str, ...]] = {
    "task": FAMILIES,
    "dump_path": FAMILIES,
    "rank": FAMILIES,
    "step": FAMILIES,
    "level": FAMILIES,
    "async_dump": FAMILIES,
    "dump_enable": (NEW,),
    "extra_info": (NEW,),
    "precision": FAMILIES,
    "risk_level": (NEW,),
    "custom_op_namespaces": (NEW,),
    "load": (NEW,),
    "enable_dataloader": (OLD,),
    "seed": (OLD,),
    "is_deterministic": (OLD,),
    "acl_config": (OLD,),
}
"""Key -> families that read it (msprobe/core/common_config.py of each)."""

_COMMON = ("scope", "list", "data_mode", "summary_mode")
SECTION_KEYS: Mapping[str, tuple[str, ...]] = {
    "statistics": (*_COMMON, "tensor_list", "slice", "request_id", "device", "precision", "file_format"),
    "tensor": (
        *(*_COMMON, "bench_path", "diff_nums", "slice", "request_id", "file_format", "backward_input"),
        *("online_run_ut", "nfs_path", "host", "port", "tls_path", "online_run_ut_recompute"),
    ),
    "structure": _COMMON,
    "exception_dump": _COMMON,
    "diff_check": (*_COMMON, "diff_nums", "bench_path", "slice", "request_id"),
    "acc_check": ("white_list", "black_list", "error_data_path"),
    "run_ut": (
        *("white_list", "black_list", "error_data_path", "is_online", "nfs_path", "host", "port"),
        *("rank_list", "tls_path"),
    ),
    "nan_check": ("scope", "list", "tensor_list", "data_mode", "summary_mode", "slice", "request_id"),
    "overflow_check": ("overflow_nums", "check_mode", *_COMMON),
    "free_benchmark": (
        *("scope", "list", "fuzz_device", "pert_mode", "handler_type", "fuzz_level", "fuzz_stage"),
        *("if_preheat", "preheat_step", "max_sample"),
    ),
    "grad_probe": ("grad_level", "param_list", "bounds"),
}
RENAMED_TASKS: Mapping[str, str] = {
    "run_ut": "acc_check",
    "acc_check": "run_ut",
    "overflow_check": "nan_check",
}
"""What another version calls the same; nan_check is the nearest of overflow_check."""


def family_of(version: str | None) -> str | None:
    """The family of a version text ("26.2.0", "8.3.3"); None where none or an unreadable one is given."""
    head = (version or "").strip().lstrip("vV").partition(".")[0]
    if not head.isascii() or not head.isdigit() or len(head) > 4:
        return None
    return NEW if int(head) >= 26 else OLD


# ---- the documents' form ----

DOCUMENT_TARGET_KEYS = ("model_name", "layer_name", "dump_mode", "dump_step")
NO_COUNTERPART = ("model_path", "input_data", "output_dir", "compare")

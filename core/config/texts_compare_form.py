"""What is said of the keys of a configuration of a comparison."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "taken-path": ("{key}: {value}", "{key}：{value}"),
    "taken-metrics": (
        "compare.metrics: {value}; the thresholds are npulse's own",
        "compare.metrics：{value}；阈值为 npulse 自有",
    ),
    "taken-layers": ("dump_list.layer_name: {value}", "dump_list.layer_name：{value}"),
    "taken-steps": ("dump_list.dump_step: {value}", "dump_list.dump_step：{value}"),
    "one-wants-all": (
        "{key}: one item of dump_list names none, so all are shown",
        "{key}：dump_list 中有一项未指定，故全部显示",
    ),
    "not-enabled": (
        "compare.enable is false in the file; it is compared since you asked for it",
        "文件中 compare.enable 为 false；因您要求比对，仍进行比对",
    ),
    "output-first": (
        "{key}: not used, output_dir is named too",
        "{key}：未使用，因为已给出 output_dir",
    ),
    "no-use": (
        "{key}: not used, nothing is run here",
        "{key}：未使用，此处不运行模型",
    ),
    "model": (
        "model_name {value}: not used, captures are compared whatever their model is called",
        "model_name {value}：未使用，比对与模型名称无关",
    ),
    "mode": (
        "dump_mode {value}: says what was to be recorded; what is there is compared",
        "dump_mode {value}：表示应采集的内容；实际采集到的都会比对",
    ),
}

"""Texts of the translation of the documents' form: (en, zh)."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "head": ("translated for {tool}:", "翻译为 {tool} 配置："),
    "none": (
        "no translation: {why}",
        "无法翻译：{why}",
    ),
    "to-msprobe": (
        "globs without names can be written for msprobe only (PyTorch, MindSpore programs). For an .om model acl.json needs "
        "whole names: --name-list DUMP.",
        "没有名称时通配符只能写成 msprobe 配置（PyTorch、MindSpore 程序）。.om 模型的 acl.json 需要完整名称：--name-list DUMP。",
    ),
    "layer_name": ("layer_name becomes {key}, a list.", "layer_name 对应 {key}（列表）。"),
    "modes": (
        "the items ask for {modes}; {tool} has one mode for all of them: {mode}, which records more.",
        "各项要求 {modes}；{tool} 对全部项只有一个模式：{mode}，记录得更多。",
    ),
    "moved": (
        "{key} of an item holds for all items: it stands beside the list.",
        "列表项的 {key} 对所有项生效：放在列表之外。",
    ),
    "steps": (
        "the items ask for different steps; the tool has one set for all of them: {steps}.",
        "各项要求不同的 step；工具对全部项只有一组：{steps}。",
    ),
    "model-msprobe": (
        "model_name {name} has no counterpart: msprobe records the program in which it runs.",
        "model_name {name} 没有对应项：msprobe 记录其所在的程序。",
    ),
    "path-default": (
        "no path is named: {path} is taken.",
        "未指定路径：采用 {path}。",
    ),
    "output_dir": ("output_dir becomes dump_path.", "output_dir 对应 dump_path。"),
    "model_path": (
        "model_path has no counterpart in a dump configuration: msprobe offline_dump --model_path.",
        "model_path 在 dump 配置中没有对应项：msprobe offline_dump --model_path。",
    ),
    "input_data": (
        "input_data has no counterpart in a dump configuration: msprobe offline_dump --input_data.",
        "input_data 在 dump 配置中没有对应项：msprobe offline_dump --input_data。",
    ),
    "compare": (
        "compare has no counterpart in a dump configuration: npulse precision TARGET GOLDEN.",
        "compare 在 dump 配置中没有对应项：npulse precision TARGET GOLDEN。",
    ),
    "dropped": ("{key} has no counterpart and is left out.", "{key} 没有对应项，已省略。"),
    "mode-wrong": (
        "dump_mode '{value}' is none of input, output, all.",
        "dump_mode '{value}' 不是 input、output、all 之一。",
    ),
    "step-wrong": (
        "dump_step '{part}' cannot be read: numbers and ranges like 0|5-10.",
        "dump_step '{part}' 无法解析：应为数字或 0|5-10 这样的区间。",
    ),
    "name-wrong": ("layer_name is no text and no list of texts.", "layer_name 不是字符串或字符串列表。"),
    "item-wrong": ("an item of dump_list is no object.", "dump_list 的一项不是对象。"),
    "list-wrong": ("dump_list is not a list, or empty.", "dump_list 不是列表或为空。"),
}

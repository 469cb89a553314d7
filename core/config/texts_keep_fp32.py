"""Texts of the lists that keep layers in float32: (en, zh)."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "empty": ("no layer is named", "没有指定层"),
    "name": ("'{name}' is no name of a layer", "'{name}' 不是层的名称"),
    "atc": (
        "an .om model: build it again, atc ... --keep_dtype={file} together with the precision mode in use "
        "(no effect with must_keep_origin_dtype or origin); names are those of the original model, not of the fused graph.",
        ".om 模型：重新构建，atc ... --keep_dtype={file}，与当前精度模式一起使用（must_keep_origin_dtype 或 origin 下不生效）；"
        "名称取自原始模型，而非融合后的图。",
    ),
    "mixlist": (
        "by type, all of its operators: atc ... --modify_mixlist={file} with --precision_mode=allow_mix_precision or "
        "--precision_mode_v2=mixed_float16.",
        "按类型（该类型的所有算子）：atc ... --modify_mixlist={file}，配合 --precision_mode=allow_mix_precision 或 "
        "--precision_mode_v2=mixed_float16。",
    ),
    "torch": (
        "a PyTorch program reads no such list: call the layer inside of torch.autocast('npu', enabled=False), "
        "its inputs and weights as float32.",
        "PyTorch 程序不读取此类列表：在 torch.autocast('npu', enabled=False) 中调用该层，输入与权重转为 float32。",
    ),
}

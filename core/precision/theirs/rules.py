"""The rules of results that other tools computed."""

from __future__ import annotations

from npulse.core.rules import Rule

_CRITERIA = (
    "the criteria of this area applied to the figures in the table: cosine, norm ratio (of both Norms, or out of "
    "cosine and relative distance), shape, NaN and Inf by Max and Min, arguments, checksums",
    "将本区的阈值用于表中的指标：余弦、范数比（由两侧 Norm，或由余弦与相对距离求得）、形状、按 Max/Min 判断的 NaN/Inf、标量参数、校验和",
)
_THEIRS = (
    "the tool that wrote the table; what its verdict misses: msprobe's compare of 1.2 to 26.2, run on known faults",
    "生成该表的工具；其结论的盲区：对 msprobe compare 1.2 至 26.2 用已知故障实测",
)
_OWN = ("npulse's own", "npulse 自有规则")
_NONE = ("cannot be silenced: the table says it", "不可关闭：表中如此记录")
_SETTING = (
    "--criteria cosine=...,norm_ratio_low=...,norm_ratio_high=...",
    "--criteria cosine=...,norm_ratio_low=...,norm_ratio_high=...",
)

RULES: tuple[Rule, ...] = (
    Rule(
        "precision.theirs-error",
        "error",
        ("a result table of another tool holds errors", "其他工具的结果表中有 error"),
        (
            "The first row, in the order of the file, that the tool calls an error or that is one by its own figures. "
            "It is named origin only where rows stand in the order of execution and all inputs of the call agree.",
            "按文件顺序，第一个被原工具判为 error 或按其指标应为 error 的行。仅当行按执行顺序排列且该算子所有输入一致时才称为起点。",
        ),
        _CRITERIA,
        _THEIRS,
        _NONE,
    ),
    Rule(
        "precision.theirs-missed",
        "error",
        ("the tool's verdict misses what its figures show", "原工具结论遗漏了其指标显示的问题"),
        (
            "Rows that the tool passes (or only warns of) and that are errors by the figures it computed itself: "
            "scaled tensors (cosine 1.0), NaN at other positions, single elements, integers, shapes with equal "
            "checksums; OverFlow NO of a tensor that holds NaN.",
            "原工具判 pass（或仅 warning），但按其自己计算的指标应为 error 的行：被缩放的张量（余弦 1.0）、NaN 位置不同、单元素、整数、"
            "校验和相同而形状不同；含 NaN 的张量 OverFlow 为 NO。",
        ),
        _CRITERIA,
        _THEIRS,
        _SETTING,
    ),
    Rule(
        "precision.theirs-warning",
        "warning",
        ("rows of a result table with a warning", "结果表中有 warning 的行"),
        (
            "Rows that the tool warns of, or whose figures differ by more than rounding, and that neither calls an "
            "error; of free_benchmark every row: it writes those alone that a small change of the input moved.",
            "原工具给出 warning、或指标超过舍入误差，且双方都未判 error 的行；free_benchmark 的每一行（只写入受微小输入扰动影响的行）。",
        ),
        _CRITERIA,
        _THEIRS,
        ("a warning alone never fails a run unless --strict", "仅有 warning 不会失败，除非使用 --strict"),
    ),
    Rule(
        "precision.theirs-stricter",
        "note",
        ("the tool calls an error what is within our criteria", "原工具判 error 而指标在我们的阈值内"),
        (
            "Rows of another dtype or requires_grad, or of a limit of the tool's own, whose figures agree.",
            "dtype 或 requires_grad 不同、或超过原工具自有阈值，但指标一致的行。",
        ),
        _CRITERIA,
        _THEIRS,
        _NONE,
    ),
    Rule(
        "precision.theirs-unmatched",
        "note",
        ("rows without a counterpart", "没有对应的行"),
        (
            "The tool found nothing on the other side to compare with. Such a row is no pass, whatever stands in its "
            "verdict; calls of the reference alone are in no row at all.",
            "工具在另一侧没有找到可比较的对象。无论其结论是什么都不算通过；仅标杆侧存在的调用不在表中。",
        ),
        ("-", "-"),
        _THEIRS,
        _NONE,
    ),
    Rule(
        "precision.theirs-unjudged",
        "note",
        ("rows that the table does not let us judge", "表中内容不足以判断的行"),
        (
            "N/A, unsupported, NaN on both sides, a cosine without anything that tells the scale: neither passed nor "
            "failed.",
            "N/A、unsupported、两侧均为 NaN、只有余弦而无从得知缩放的行：既不算通过也不算失败。",
        ),
        ("-", "-"),
        _OWN,
        _NONE,
    ),
    Rule(
        "precision.theirs-advice",
        "note",
        ("what the tool's advisor says", "原工具专家建议"),
        (
            "The text of the advisor that lies beside the table, as it is. It goes by the tool's own verdicts.",
            "结果表旁的专家建议原文。它依据原工具自己的结论。",
        ),
        ("-", "-"),
        _THEIRS,
        _NONE,
    ),
    Rule(
        "precision.theirs-beside",
        "note",
        ("another tool's result of the captures compared here", "其他工具对同一采集的结果"),
        (
            "A result table lies beside the captures that were compared: how many of its rows agree with our "
            "comparison, and where it says something else. Our comparison read the captures themselves.",
            "结果表与本次比较的采集在一起：有多少行与我们的比较一致，哪里不同。我们的比较读取了采集本身。",
        ),
        ("-", "-"),
        _OWN,
        _NONE,
    ),
)

"""Rules of the checks that need no golden side, and of mixed precision."""

from __future__ import annotations

from npulse.core.rules import Rule

_OWN = ("npulse's own", "npulse 自有规则")
_SILENCE = ("a silence for the rule or the subject", "对该规则或对象设置静默")

OWN_RULES: tuple[Rule, ...] = (
    Rule(
        "precision.collective",
        "error",
        (
            "a collective's result differs over ranks, or is not what its inputs give",
            "集合通信结果在各 rank 不一致，或与输入不符",
        ),
        (
            "all_reduce, broadcast and all_gather give all ranks the same. Held against each other by elements, checksum "
            "or statistics; the result also against the sum, mean, max or min of the inputs (the one that was recorded). "
            "Differences within rounding are a warning. A group that the capture does not name may lack ranks: its sums "
            "are judged only where another one of it is right.",
            "all_reduce、broadcast、all_gather 应使所有 rank 得到相同结果。按元素、校验和或统计量互相比较；结果还与输入之和/均值/"
            "最大/最小（若已记录则按记录）比较。舍入范围内的差异为 warning。未记录成员的通信组可能缺少 rank：仅当同组另一次求和正确时才判断。",
        ),
        (
            "any difference; a warning within 4 unit roundoffs. Sums: n x unit roundoff x sum of |inputs|",
            "任何差异；4 个单位舍入以内为 warning。求和：n x 单位舍入 x |输入| 之和",
        ),
        _OWN,
        _SILENCE,
    ),
    Rule(
        "precision.replica",
        "error",
        (
            "a parameter differs on ranks that are copies, or data on ranks that work on the same",
            "互为副本的 rank 上参数不同，或处理同一数据的 rank 输入不同",
        ),
        (
            "Ranks of data parallel training hold the same parameters, tensor parallel ones those that are not split. "
            "Ranks count as copies in a kind of parameter (the same name in every layer) where most of them are the same "
            "or within 1 %. Data may differ over ranks, but not over those that add up activations: a warning where a group "
            "that the capture names does so in front of the first backward call.",
            "数据并行的各 rank 参数相同，张量并行的各 rank 未切分参数相同。若某类参数（各层同名）多数相同或相差 1% 以内，则视为副本。"
            "各 rank 的数据可以不同，但累加激活的 rank 必须相同：若采集中写明的通信组在首个反向之前累加激活而数据不同，则为 warning。",
        ),
        (
            "any difference where more than half of the kind is alike; a warning within 4 unit roundoffs",
            "同类参数过半一致时的任何差异；4 个单位舍入以内为 warning",
        ),
        _OWN,
        _SILENCE,
    ),
    Rule(
        "precision.nondeterministic",
        "warning",
        ("the same input gave another output", "相同输入得到不同输出"),
        (
            "Within a capture: a call was given the same tensors and arguments as an earlier one and made something else. "
            "Between two runs: all before is equal and so are its inputs, its output is not. Random operators and "
            "collectives of one capture are left out. A note where it is not known that both ran the same program.",
            "同一采集内：调用的张量与参数与之前某次相同而输出不同。两次运行之间：之前全部相同、其输入也相同，而输出不同。"
            "随机算子与同一采集内的集合通信除外。若不能确定两次运行同一程序，则为 note。",
        ),
        ("any difference, by elements, checksum or statistics", "任何差异，按元素、校验和或统计量"),
        _OWN,
        _SILENCE,
    ),
    Rule(
        "precision.cast",
        "warning",
        (
            "numbers are lost at a cast, or a side computes in another dtype",
            "类型转换丢失数值，或一侧以其他精度计算",
        ),
        (
            "Of one capture: a cast made finite numbers infinite, or at least 1 % of those that are not zero zero. Of two "
            "captures (a note): operators whose dtype is another one on the other side, grouped by the pair of dtypes, "
            "with the share of the squared error that rounding the golden side to the coarser dtype explains.",
            "单份采集：类型转换使有限值变为无穷，或至少 1% 的非零值变为零。两份采集（note）：两侧 dtype 不同的算子，按 dtype 对分组，"
            "并给出把标杆侧舍入到较低精度所能解释的平方误差占比。",
        ),
        (
            "any infinity; 1 % flushed to zero. Unit roundoffs: fp32 6.0e-8, tf32 and hf32 4.9e-4, fp16 4.9e-4, bf16 3.9e-3, "
            "fp8 e4m3 6.2e-2, fp8 e5m2 1.2e-1",
            "任何无穷；1% 归零。单位舍入：fp32 6.0e-8，tf32 与 hf32 4.9e-4，fp16 4.9e-4，bf16 3.9e-3，fp8 e4m3 6.2e-2，fp8 e5m2 1.2e-1",
        ),
        _OWN,
        _SILENCE,
    ),
)

"""Texts of the precision area in English and Chinese: (en, zh). Figures are filled in by name."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    # what an origin is
    "operator": (
        "inputs agree{inputs}, output does not{output}: the difference begins here.",
        "输入一致{inputs}，输出不一致{output}：差异从这里开始。",
    ),
    "again": (
        " Its first forward, {first}, agrees: what was computed again is not the same computation.",
        " 其首次前向 {first} 一致：重计算执行的并非同一计算。",
    ),
    "next-again": (
        "Check what the recomputation changes: the RNG state it restores, autocast, inputs overwritten in place since "
        "the first forward, and code that depends on grad mode.",
        "检查重计算改变了什么：恢复的随机数状态、autocast、首次前向之后被就地改写的输入，以及依赖梯度模式的代码。",
    ),
    "operator-inside": (
        "its inputs agree, but {first} inside it is given what does not{output}: the difference begins in this module, "
        "in code between the captured calls.",
        "其输入一致，但其内部的 {first} 得到的输入不一致{output}：差异从该模块内、已采集调用之间的代码开始。",
    ),
    "scalar": (
        "argument {argument} is {target} on the target side and {golden} on the golden side; the output differs with it.",
        "参数 {argument}：目标侧为 {target}，标杆侧为 {golden}；输出随之不同。",
    ),
    "makes-non-finite": (
        "finite inputs (largest {largest}), {kind} in the output: it begins here; ",
        "输入有限（最大 {largest}），输出含 {kind}：从这里开始；",
    ),
    "given-otherwise": (
        " {module} around it was given another argument: {argument} is {target} on the target side and {golden} on the "
        "golden side.",
        " 其外层 {module} 的参数不同：{argument} 在目标侧为 {target}，标杆侧为 {golden}。",
    ),
    "spread-over": (
        " Other ranks only got it: {hops}.",
        " 其他 rank 只是被传入：{hops}。",
    ),
    "hop": ("{call} from rank {giver} to rank {ranks}", "{call} 由 rank {giver} 传到 rank {ranks}"),
    "hops-more": ("; {n} more", "；另有 {n} 次"),
    "unmatched-target": (
        "only the target side calls it, between values that agree and the first input that does not: {first}{output}.",
        "只有目标侧调用它；之前数值一致，其后第一个不一致的输入是 {first}{output}。",
    ),
    "unmatched-golden": (
        "only the golden side calls it, between values that agree and the first input that does not: {first}{output}.",
        "只有标杆侧调用它；之前数值一致，其后第一个不一致的输入是 {first}{output}。",
    ),
    "input-data": (
        "this input differs and no compared operator produced it: the data differs before any operator ran{output}.",
        "该输入不同，且没有任何已比较的算子产生它：数据在算子运行前已不同{output}。",
    ),
    "parameter": (
        "this parameter differs{output}; the inputs of the call {inputs}.",
        "该参数不同{output}；调用的输入{inputs}。",
    ),
    "inputs-agree": ("agree", "一致"),
    "inputs-not-compared": ("could not all be compared", "未能全部比较"),
    "overwritten": (
        "{producer} wrote what the golden side has, but this call of the same run read something else{output}: "
        "memory was overwritten in between, or an operator that was not captured changed it.",
        "{producer} 的输出与标杆一致，但同一次运行中该调用读到的不同{output}：中间内存被改写，或未采集的算子改变了它。",
    ),
    "drift": (
        "first output over the threshold{output}, but its inputs were already off{inputs}: drift, not one broken operator.",
        "第一个越过阈值的输出{output}，但其输入已有误差{inputs}：误差累积，而非单个算子出错。",
    ),
    "first-difference": (
        "the output differs{output}, but {n} of its inputs could not be compared: it may have begun here or before.",
        "输出不同{output}，但有 {n} 个输入无法比较：差异可能始于此处或更早。",
    ),
    "first-difference-behind": (
        "behind an origin, {n} call(s) (differs|differ){output} whose inputs no captured call made: whether they have a "
        "beginning of their own cannot be told from this capture.",
        "在源头之后，有 {n} 个调用存在差异{output}，其输入并非任何已采集的调用产生：无法判断是否另有起点。",
    ),
    "first-difference-seen": (
        "this differs{output}; what it was made of was not recorded: it may have begun before.",
        "此处不同{output}；其来源未被记录：差异可能始于之前。",
    ),
    "one-tensor": ("the two tensors differ{output}.", "两个张量不同{output}。"),
    "next-one-tensor": (
        "Ask what made it on both sides and of which input; with --tables stands which elements differ most.",
        "确认两侧由何算子、何输入产生；--tables 给出差异最大的元素。",
    ),
    "first-difference-unordered": (
        "this differs{output}; nothing says in which order these tensors were made, so that it is the first one by "
        "name, not by execution.",
        "此处不同{output}；没有信息说明这些张量的产生顺序：它是按名称（而非执行顺序）的第一个。",
    ),
    # next steps
    "next-operator": (
        "Read the operator's source line and kernel parameters (dtype, scale, layout); recompute it on the CPU from its dumped inputs.",
        "查看该算子的源码行与 kernel 参数（dtype、scale、排布）；用转储的输入在 CPU 上重算。",
    ),
    "next-operator-recheck": (
        "Recompute it on the CPU: {command}; read its source line and kernel parameters (dtype, scale).",
        "在 CPU 上重算：{command}；查看源码行与 kernel 参数（dtype、scale）。",
    ),
    "next-operator-statistics": (
        'Capture this operator again with task tensor (list: ["{call}"]) to see which elements differ.',
        '用 task tensor 重新采集该算子（list: ["{call}"]），查看哪些元素不同。',
    ),
    "next-scalar": (
        "Make the argument equal on both sides (model config, framework default) and capture again.",
        "使两侧参数一致（模型配置、框架默认值）后重新采集。",
    ),
    "next-unmatched": (
        "Find why only one side runs it (patch, fused path, parallel config) and whether it belongs there.",
        "查明为何只有一侧执行它（补丁、融合路径、并行配置），以及它是否应在此处。",
    ),
    "next-input-data": (
        "Feed both sides the same batch: fix seeds, sampler and data order; compare the ids first.",
        "两侧使用相同的 batch：固定随机种子、采样器与数据顺序；先比较 token。",
    ),
    "next-parameter": (
        "Compare the checkpoints of both sides (conversion, sharding, order of elements) before looking at any operator.",
        "先比较两侧的权重文件（转换、切分、元素顺序），再看算子。",
    ),
    "next-overwritten": (
        "Run once with ASCEND_LAUNCH_BLOCKING=1; if it vanishes, look for a missing stream synchronisation; run msSanitizer memcheck on the kernels in between.",
        "设置 ASCEND_LAUNCH_BLOCKING=1 运行一次；若消失，检查缺少的流同步；对中间的 kernel 运行 msSanitizer memcheck。",
    ),
    "next-drift": (
        "Look at the call with the steepest growth; raise precision (fp32 accumulation) there, or judge by the end result.",
        "查看增长最快的调用；在该处提高精度（fp32 累加），或以最终结果判断。",
    ),
    "next-unordered": (
        "See all that differ (--tables); to find where it begins compare dumps that keep the order of execution.",
        "查看所有不同项（--tables）；要定位起点，请比较保留执行顺序的 dump。",
    ),
    "next-golden-inputs": (
        "No golden tensor stands for these inputs (weights, another shape on the way): dump them on the golden side too, "
        "or recompute this operator on the CPU.",
        "这些输入没有对应的标杆张量（权重，或途中形状改变）：请在标杆侧也导出它们，或在 CPU 上重算该算子。",
    ),
    "next-golden": (
        "Give the fusion rule of the model (--fusion-rule RULE.json, from atc --mode=1): then the inputs are compared too.",
        "指定模型的融合规则（--fusion-rule RULE.json，由 atc --mode=1 生成）：此时输入也会被比较。",
    ),
    "next-unknown": (
        "Capture the unreadable tensors again (see problems), then compare.",
        "重新采集无法读取的张量（见 problems），再比较。",
    ),
    # patterns
    "pattern-outlier": (
        " Pattern: outlier, not drift: {error_share_ratio} of the squared error sits in {n_bad_elements} of {n_elements} elements.",
        " 模式：离群而非漂移：{error_share_ratio} 的平方误差集中在 {n_elements} 个元素中的 {n_bad_elements} 个。",
    ),
    "pattern-rows": (
        " Pattern: {n_bad_rows} of {n_rows} rows ({bad_rows}) carry {error_share_ratio} of the squared error: outlier, not drift.",
        " 模式：{n_rows} 行中的 {n_bad_rows} 行（{bad_rows}）占平方误差的 {error_share_ratio}：离群，而非漂移。",
    ),
    "pattern-columns": (
        " Pattern: {n_bad_columns} of {n_columns} columns ({bad_columns}) carry {error_share_ratio} of the squared error.",
        " 模式：{n_columns} 列中的 {n_bad_columns} 列（{bad_columns}）占平方误差的 {error_share_ratio}。",
    ),
    "pattern-constant factor": (
        " Pattern: constant factor {factor}: the cosine is blind to it.",
        " 模式：常数倍 {factor}：余弦看不出来。",
    ),
    "pattern-blocks": (
        " Pattern: {n_blocks} contiguous blocks, {n_bad_elements} of {n_elements} elements between {first} and {last} "
        "differ, the rest is bitwise equal.",
        " 模式：连续 {n_blocks} 段，元素 {first} 到 {last} 之间有 {n_bad_elements} 个（共 {n_elements} 个）不同，其余逐位相等。",
    ),
    "pattern-contiguous block": (
        " Pattern: one contiguous block, elements {first} to {last} ({n_bytes} bytes) differ, the rest is bitwise equal.",
        " 模式：连续一段，元素 {first} 到 {last}（{n_bytes} 字节）不同，其余逐位相等。",
    ),
    "pattern-identical rows": (
        " Pattern: all rows of the target are identical.",
        " 模式：目标侧所有行完全相同。",
    ),
    "pattern-rounding": (
        " At the rounding level of {dtype} ({ulp} ulp at most).",
        " 处于 {dtype} 的舍入水平（最大 {ulp} ulp）。",
    ),
    "pattern-drift": (" Pattern: error spread over the whole tensor.", " 模式：误差遍布整个张量。"),
    "pattern-non-finite": (
        " NaN or Inf at other positions: {n_nonfinite_target} on the target side, {n_nonfinite_golden} on the golden side.",
        " NaN/Inf 位置不同：目标侧 {n_nonfinite_target} 个，标杆侧 {n_nonfinite_golden} 个。",
    ),
    "pattern-zero reference": (
        " {zero_reference} elements differ where the reference is zero: relative errors there say nothing.",
        " 有 {zero_reference} 个元素的参考值为零：该处相对误差没有意义。",
    ),
    "pattern-permuted": (" Pattern: the same values in another order.", " 模式：数值相同，顺序不同。"),
    "group-factor": (
        " The factor equals the group size {n}: reduced twice.",
        " 倍数等于通信组大小 {n}：重复归约。",
    ),
    "same-statistics": (
        " Max, Min, Mean and Norm agree, the checksum does not: content or order of the elements differs.",
        " Max、Min、Mean、Norm 一致而校验和不同：内容或顺序不同。",
    ),
    "extremes-agree": (
        " Max and Min agree on both sides: statistics alone cannot see it.",
        " 两侧 Max 和 Min 相等：仅凭统计量看不出来。",
    ),
    "n-different": (
        " {n} of {of} elements differ, first at {first}, last at {last}.",
        " {of} 个元素中有 {n} 个不同，首个 {first}，末个 {last}。",
    ),
    "source-line": (" Source: {line}", " 源码：{line}"),
    "dtype-note": (
        " dtypes: target {target}, golden {golden}; judged at {coarser}.",
        " dtype：目标 {target}，标杆 {golden}；按 {coarser} 判断。",
    ),
    # other findings
    "above-rounding": (
        "{n} tensor(s) (differs|differ) by more than the rounding of their dtype, all within the error criteria; worst by relative L2.",
        "{n} 个张量的差异超过其 dtype 的舍入误差，均未达 error；此处为相对 L2 最大者。",
    ),
    "content-note": (
        "{n} tensor(s) (has|have) another checksum on each side while Max, Min, Mean and Norm agree: rounding or another order of elements.",
        "{n} 个张量两侧校验和不同，而 Max、Min、Mean、Norm 一致：舍入误差或元素顺序不同。",
    ),
    "scalar-alone": (
        "argument {argument} is {target} on the target side and {golden} on the golden side; the output agrees all the same.",
        "参数 {argument}：目标侧为 {target}，标杆侧为 {golden}；输出仍一致。",
    ),
    "unmatched-note": (
        "on one side only: {target} call(s) of the target, {golden} of the golden side; none of them is named as the origin.",
        "仅目标侧存在的调用 {target} 个，仅标杆侧 {golden} 个；均未被认定为源头。",
    ),
    "unknown-note": (
        "{n} row(s) could not be compared: {reasons}.",
        "{n} 行无法比较：{reasons}。",
    ),
    "split-note": (
        "ranks hold parts of what the other side has whole: {groups} ({why}). {n} tensor(s) (was|were) regrouped before "
        "the comparison: {layouts}.",
        "各 rank 持有另一侧完整张量的一部分：{groups}（{why}）。比较前已重组 {n} 个张量：{layouts}。",
    ),
    "heads-note": (
        "{n} tensor(s) (holds|hold) the same content in another order of heads ({orders}), the first is {first}. Compared "
        "in that order.",
        "{n} 个张量内容相同但注意力头的顺序不同（{orders}），首个为 {first}。已按该顺序比较。",
    ),
    "next-heads-note": (
        "Harmless where weights and all that is made of them are in that order (results agree); else look at how the "
        "checkpoint was converted.",
        "若权重及其产生的张量顺序一致（结果一致）则无妨；否则请检查 checkpoint 的转换方式。",
    ),
    "split-by-numbers": ("by their numbers, as the shapes allow", "按编号对应，与形状相符"),
    "split-by-map": ("as --ranks says", "按 --ranks 指定"),
    "split-group": ("target rank {target} = golden rank {golden}", "目标 rank {target} = 标杆 rank {golden}"),
    "next-split-note": (
        "If other ranks belong together, say so: --ranks 'TARGET,TARGET:GOLDEN;...'. How each tensor was put together "
        "stands in the column layout.",
        "若对应关系不同，请用 --ranks 'TARGET,TARGET:GOLDEN;...' 指定。每个张量的重组方式见 layout 列。",
    ),
    "next-above-rounding": (
        "Look here only if the end result is wrong and nothing else explains it.",
        "仅当最终结果错误且无其他解释时再看。",
    ),
    "next-unmatched-note": ("Check that both sides run the same code path.", "确认两侧执行相同的代码路径。"),
    "pending-note": (
        "So far: the capture is still being written. Not compared yet: {n} tensor file(s) of {calls} call(s) that dump.json does not name, or half written; still to come: {to_come} call(s) of the other side.",
        "阶段性结果：采集仍在写入。尚未比较：{n} 个张量文件（涉及 {calls} 个 dump.json 未记录的调用，或写了一半）；另一侧还有 {to_come} 个调用待到来。",
    ),
    "pending-none": (
        "So far: the capture is still being written; still to come: {to_come} call(s) of the other side.",
        "阶段性结果：采集仍在写入；另一侧还有 {to_come} 个调用待到来。",
    ),
    "next-pending-note": (
        "Wait: dump.json is written anew every 1,000 calls and at the end of a step.",
        "请等待：dump.json 每 1000 个调用及每个 step 结束时重写。",
    ),
    "told-ranks-so-far": (
        "so far: {n:,} of {total:,} ranks, the others are still being read",
        "阶段性结果：已比较 {total:,} 个 rank 中的 {n:,} 个，其余仍在读取",
    ),
    "told-so-far": (
        "so far: still being written, {n} tensor file(s) pending, {to_come} call(s) to come",
        "阶段性结果：仍在写入，{n} 个张量文件待定，{to_come} 个调用未到",
    ),
    "next-unknown-note": (
        "Problems name files that could not be read; for integers capture with summary_mode md5 or task tensor.",
        "problems 列出无法读取的文件；整数请用 summary_mode md5 或 task tensor 采集。",
    ),
    # counts, for people
    "told-tensor": ("{n:,} tensor", "{n:,} 个张量"),
    "told-tensors": ("{n:,} tensor(s)", "{n:,} 个张量"),
    "told-value": ("{n:,} value", "{n:,} 个数值"),
    "told-values": ("{n:,} values", "{n:,} 个数值"),
    "told-origin": ("{n:,} origin", "源头 {n:,} 个"),
    "told-origins": ("{n:,} origin(s)", "源头 {n:,} 个"),
    "told-inherited": ("{n:,} call inherited", "继承 {n:,} 次调用"),
    "told-inheriteds": ("{n:,} call(s) inherited", "继承 {n:,} 次调用"),
    "told-unmatched": ("{n:,} call on one side only", "仅一侧存在 {n:,} 次调用"),
    "told-unmatcheds": ("{n:,} call(s) on one side only", "仅一侧存在 {n:,} 次调用"),
    "told-error": ("{n:,} row over a threshold", "超过阈值 {n:,} 行"),
    "told-errors": ("{n:,} row(s) over a threshold", "超过阈值 {n:,} 行"),
    "told-warning": ("{n:,} row above rounding", "超过舍入 {n:,} 行"),
    "told-warnings": ("{n:,} row(s) above rounding", "超过舍入 {n:,} 行"),
    "told-unknown": ("{n:,} row not comparable", "无法比较 {n:,} 行"),
    "told-unknowns": ("{n:,} row(s) not comparable", "无法比较 {n:,} 行"),
    "told-compared": ("{what} compared", "已比较 {what}"),
    "told-by-tensor": ("by all elements", "逐元素"),
    "told-by-linked": ("by equal content", "按相同内容"),
    "told-by-statistics": ("by recorded statistics", "按记录的统计量"),
    "told-on-ranks": (" (on {n:,} ranks)", "（{n:,} 个 rank）"),
    "told-ranks": ("{n:,} ranks in all", "共 {n:,} 个 rank"),
    "told-steps": ("{n:,} steps in all", "共 {n:,} 个 step"),
    "told-of": (" of {dtypes}", "（{dtypes}）"),
    "told-rounding": (
        "{n} tensor(s) (differs|differ) within rounding{of}",
        "{n} 个张量的差异在舍入误差内{of}",
    ),
    "told-ulps": (" ({ulps} ulp at most)", "（最大 {ulps} ulp）"),
    "plugged-higher": (
        "by plug-in {plugin}, higher is better; {n} tensor(s), both sides read once more for it",
        "由插件 {plugin} 给出，越大越好；共 {n} 个张量，两侧均为此再读一遍",
    ),
    "plugged-lower": (
        "by plug-in {plugin}, lower is better; {n} tensor(s), both sides read once more for it",
        "由插件 {plugin} 给出，越小越好；共 {n} 个张量，两侧均为此再读一遍",
    ),
    "told-plugged": (
        "{name} (plug-in): worst {value}, of {n} tensor(s), both sides read once more for it",
        "{name}（插件）：最差 {value}，共 {n} 个张量，两侧均为此再读一遍",
    ),
    "plugged-missed": (
        "{name} is {value} here, {limit} was asked for; {n} tensor(s) (misses|miss) it. The figure is a plug-in's.",
        "此处 {name} 为 {value}，要求 {limit}；共 {n} 个张量未达到。该数值由插件给出。",
    ),
    "next-plugged": (
        "npulse precision --tables has {name} of every tensor.",
        "npulse precision --tables 列出每个张量的 {name}。",
    ),
    "told-zero": (
        "; {n} elements differ where golden is 0: their relative error says nothing",
        "；{n} 个元素在标杆为 0 处不同：其相对误差没有意义",
    ),
    "told-not-read": (
        "{n:,} tensor pair(s) (was|were) not read: their recorded statistics agree, which does not prove that they do",
        "{n:,} 对张量未读取：其记录的统计值一致，但统计值一致不能证明张量一致",
    ),
    "told-stored": (
        "{n} tensor pair(s) (is|are) stored in another dtype than dump.json declares; judged as declared",
        "{n} 对张量文件的 dtype 与 dump.json 声明不同；按声明判断",
    ),
    "told-end": ("last output {name}: {figures}", "最终输出 {name}：{figures}"),
    "told-alone": (
        "{calls:,} call(s) checked for NaN and Inf, {origins:,} made some of finite inputs",
        "已检查 {calls:,} 次调用的 NaN/Inf，其中 {origins:,} 次由有限输入产生",
    ),
    "no-golden": (
        "one capture alone: values cannot be compared without a golden capture, NaN and Inf can be seen.",
        "仅有一份采集：没有标杆无法比较数值，只能看到 NaN 和 Inf。",
    ),
    "foreign-alone": (
        "of {kinds} alone NaN and Inf are looked for; whether calls agree with each other (casts, repeated calls, "
        "collectives, copies) is known of msprobe's dumps alone.",
        "仅凭 {kinds} 只检查 NaN 和 Inf；调用之间是否自洽（类型转换、重复调用、集合通信、副本）只能从 msprobe 的 dump 判断。",
    ),
    "minus-inf": (
        "{n} call(s) (holds|hold) Inf that is legal (masks, fills).",
        "{n} 个调用含合法的 Inf（掩码、填充）。",
    ),
    "next-non-finite": (
        "npulse overflow (pane 3) shows what fed it and what would have held; compare with a golden capture of the same step.",
        "npulse overflow（面板 3）显示其上游及可容纳的 dtype；与同一步的标杆采集比较。",
    ),
    "which": (
        "several captures, and their names do not say which is target and which is golden: {names}. Values were not "
        "compared; NaN and Inf can be seen.",
        "有多份采集，名称看不出哪个是目标、哪个是标杆：{names}。未比较数值，只能看到 NaN 和 Inf。",
    ),
    "next-which": (
        "Name the two: npulse precision TARGET GOLDEN.",
        "指定两者：npulse precision TARGET GOLDEN。",
    ),
    "pair-chosen": (
        "pair 1 of {n}: {name}; others: {others} (--pair NAME)",
        "{n} 对中的第 1 对：{name}；其余：{others}（--pair NAME）",
    ),
    "round-without-pair": (
        "round {round} is newer but holds no pair; this is {chosen}",
        "轮次 {round} 更新但没有成对采集；此处为 {chosen}",
    ),
    "left-out": ("in no pair, not looked at: {names}", "未成对、未查看：{names}"),
    "unused-alone": ("one capture alone: {words} cannot be used", "仅有一份采集：{words} 无法使用"),
    "next-no-golden": (
        "Capture the same steps on GPU or CPU and open the folder that holds both, or give it as second argument.",
        "在 GPU 或 CPU 上采集相同的 step，打开包含两者的目录，或作为第二个参数给出。",
    ),
    "inherited-behind": (
        "behind {name}, which is wrong; no producer of this input was captured:",
        "位于已出错的 {name} 之后；未采集到该输入的产生者：",
    ),
    "inherited-from": ("inherited from {name}:", "继承自 {name}："),
    "only-target": ("only the target side has it.", "仅目标侧存在。"),
    "only-golden": ("only the golden side has it.", "仅标杆侧存在。"),
    # reasons of a row, short
    "reason-equal": ("bitwise equal", "逐位相等"),
    "reason-rounding": ("within rounding", "舍入误差内"),
    "reason-above-rounding": ("above rounding", "超过舍入误差"),
    "reason-cosine": ("cosine below criterion", "余弦低于阈值"),
    "reason-norm-ratio": ("norm ratio outside criterion", "范数比超出范围"),
    "reason-shape": ("shape differs", "形状不同"),
    "reason-sampled": ("a sample agrees, the rest was not read", "抽样一致，其余未读取"),
    "reason-error-threshold": ("beyond the error threshold", "超过误差阈值"),
    "reason-nonfinite": ("NaN/Inf at other positions", "NaN/Inf 位置不同"),
    "reason-not-equal": ("integers not equal", "整数不相等"),
    "reason-checksum": ("checksum differs", "校验和不同"),
    "reason-content": ("content differs, statistics agree", "内容不同，统计量一致"),
    "reason-scalar": ("argument differs", "参数不同"),
    "reason-scalar-alone": ("argument differs, output agrees", "参数不同，输出一致"),
    "reason-empty": ("empty tensor", "空张量"),
    "reason-statistics-agree": ("statistics agree", "统计量一致"),
    "reason-statistics-bound": ("statistics too far apart", "统计量相差过大"),
    "reason-positions-unknown": (
        "NaN/Inf on both sides, positions not recorded",
        "两侧均有 NaN/Inf，位置未记录",
    ),
    "reason-content-unknown": ("Max/Min agree, content not recorded", "Max/Min 一致，内容未记录"),
    "reason-not-recorded": ("statistics not recorded", "未记录统计量"),
    "reason-unreadable": ("tensor file unreadable", "张量文件无法读取"),
    "reason-changed": ("changed while it was read", "读取过程中文件被改动"),
    "reason-absent": ("its file is missing or unreadable", "所在文件缺失或无法读取"),
    "reason-one-side": ("on one side only", "仅一侧存在"),
    "reason-call-one-side": ("call on one side only", "调用仅一侧存在"),
    "reason-uninitialised": ("uninitialised buffer", "未初始化缓冲区"),
    "reason-no-golden": ("no golden capture", "没有标杆"),
    "reason-norm-unknown": ("Max or Min far apart, Norm not recorded", "Max/Min 相差大，Norm 未记录"),
    "reason-within-criteria": ("within the criteria", "在阈值内"),
    "reason-padding": (
        "this rank's part is padding alone: there is nothing to compare it with",
        "本 rank 持有的部分全是填充，没有可比对的内容",
    ),
    "reason-other-split": (
        "the two sides are split differently over their ranks: these parts cannot be compared",
        "两侧在各 rank 上的切分方式不同，这些部分无法比对",
    ),
    "reason-split": ("a size, as large as this rank's part", "尺寸，与本 rank 持有的部分相符"),
    "reason-partial-sum": (
        "the ranks add up to it, which statistics do not tell",
        "各 rank 之和才是完整结果，统计量无法判断",
    ),
    "reason-pending": ("not compared yet", "尚未比较"),
    # labels of places and figures
    "label-target": ("target", "目标"),
    "label-golden": ("golden", "标杆"),
    "label-argument": ("argument", "参数"),
    "label-source": ("source", "源码"),
    "label-basis": ("basis", "依据"),
    "label-row": ("row", "行"),
    "label-rank": ("rank", "rank"),
    "label-step": ("step", "step"),
    "label-cosine": ("cosine", "余弦"),
    "label-norm_ratio": ("norm ratio", "范数比"),
    "label-rel_l2": ("rel.L2", "相对L2"),
    "label-max_abs_error": ("max abs error", "最大绝对误差"),
    "label-rel_l2_at_least": ("rel.L2 >=", "相对L2 >="),
    "at-byte": ("byte {n}", "第 {n} 字节"),
    "basis-tensor": ("all elements of both tensors", "两侧张量的全部元素"),
    "basis-statistics": ("recorded statistics or checksum", "记录的统计量或校验和"),
    "basis-value": ("the value of a scalar", "标量的值"),
    "basis-linked": ("the elements of another tensor with the same content", "内容相同的另一张量的元素"),
    # what failed, in few words
    "failed-integers": ("{n} of {of} integers differ", "{of} 个整数中有 {n} 个不同"),
    "failed-group": ("constant factor {n} = group size: reduced twice", "常数倍 {n} = 通信组大小：重复归约"),
    "failed-factor": ("constant factor {factor}", "常数倍 {factor}"),
    # what a column says, and the threshold where it has one
    "figure-operator": (
        "the call: module, API or kernel, in execution order",
        "调用：模块、API 或 kernel，按执行顺序",
    ),
    "figure-io": ("which input, output, argument or parameter of the call", "调用的哪个输入、输出或参数"),
    "figure-state": ("origin, inherited, or the verdict of the row alone", "源头、继承，或该行自身的结论"),
    "figure-call": ("number of the call in execution order", "调用的执行序号"),
    "figure-target": ("full name on the target side", "目标侧全名"),
    "figure-golden": ("full name on the golden side", "标杆侧全名"),
    "figure-rank": ("rank of the process", "进程的 rank"),
    "figure-step": ("training or decoding step", "训练或解码的 step"),
    "figure-dtype_target": ("declared dtype on the target side", "目标侧声明的 dtype"),
    "figure-dtype_golden": ("declared dtype on the golden side", "标杆侧声明的 dtype"),
    "figure-shape_target": ("declared shape on the target side", "目标侧声明的形状"),
    "figure-shape_golden": ("declared shape on the golden side", "标杆侧声明的形状"),
    "figure-cosine": (
        "same direction: 1; blind to a constant factor; error below {cosine}",
        "方向一致为 1；看不出常数倍；低于 {cosine} 为 error",
    ),
    "figure-max_abs_error": ("largest |target - golden|", "最大 |目标 - 标杆|"),
    "figure-max_rel_error": (
        "largest |target - golden| / |golden|, elements with golden 0 left out",
        "最大 |目标 - 标杆| / |标杆|，标杆为 0 的元素除外",
    ),
    "figure-mean_rel_error": ("mean of |target - golden| / |golden|", "|目标 - 标杆| / |标杆| 的平均值"),
    "figure-rel_l1": (
        "sum of |target - golden| over sum of |golden|",
        "|目标 - 标杆| 之和与 |标杆| 之和的比",
    ),
    "figure-rel_l2": (
        "norm of the difference over norm of golden; warning above the rounding of the coarser dtype",
        "差的范数与标杆范数之比；超过较粗 dtype 的舍入误差为 warning",
    ),
    "figure-rel_l2_at_least": (
        "least relative L2 that the recorded statistics allow",
        "由记录的统计量推出的相对 L2 下限",
    ),
    "figure-euclidean": ("norm of the difference", "差的范数"),
    "figure-ratio_below_1e3": (
        "share of elements with relative error below 0.001",
        "相对误差低于 0.001 的元素占比",
    ),
    "figure-ratio_below_5e3": (
        "share of elements with relative error below 0.005",
        "相对误差低于 0.005 的元素占比",
    ),
    "figure-ratio_below_1e3_nonzero": (
        "the same for 0.001, of elements where golden is not 0",
        "同上（0.001），仅计标杆非 0 的元素",
    ),
    "figure-ratio_below_5e3_nonzero": (
        "the same for 0.005, of elements where golden is not 0",
        "同上（0.005），仅计标杆非 0 的元素",
    ),
    "figure-norm_ratio": (
        "norm of target over norm of golden; error outside {norm_ratio_low} to {norm_ratio_high}",
        "目标范数与标杆范数之比；不在 {norm_ratio_low} 至 {norm_ratio_high} 为 error",
    ),
    "figure-zero_reference": ("elements where golden is 0", "标杆为 0 的元素数"),
    "figure-zero_reference_max_abs": ("largest |target| where golden is 0", "标杆为 0 处最大的 |目标|"),
    "figure-n_elements": ("elements of the tensor", "张量的元素数"),
    "figure-n_compared": ("elements finite on both sides", "两侧均有限的元素数"),
    "figure-n_different": (
        "elements that differ; any is an error in integers and bools",
        "不同的元素数；整数与布尔只要有即为 error",
    ),
    "figure-nan_target": ("NaN on the target side", "目标侧 NaN 个数"),
    "figure-nan_golden": ("NaN on the golden side", "标杆侧 NaN 个数"),
    "figure-inf_target": ("Inf on the target side", "目标侧 Inf 个数"),
    "figure-inf_golden": ("Inf on the golden side", "标杆侧 Inf 个数"),
    "figure-pairing": (
        "how sure the pair of calls is: 1 by name or mapping, 0.8 by type, shape and order, 0.5 doubtful",
        "调用配对的可信度：1 为按名称或映射，0.8 为按类型、形状与顺序，0.5 为存疑",
    ),
    "figure-pairing_why": ("what speaks for the pair of calls", "调用配对的依据"),
    "figure-group": (
        "calls of both sides that are compared as one: a fused operator and its parts",
        "合为一组比较的两侧调用数：融合算子及其对应的多个调用",
    ),
    "figure-nonfinite_agreeing": (
        "NaN or Inf at the same place on both sides",
        "两侧同一位置的 NaN/Inf 个数",
    ),
    "figure-nonfinite_differing": (
        "NaN or Inf on one side only; any is an error",
        "仅一侧为 NaN/Inf 的个数；只要有即为 error",
    ),
    "figure-absmax_target": ("largest magnitude on the target side", "目标侧最大绝对值"),
    "figure-absmax_golden": ("largest magnitude on the golden side", "标杆侧最大绝对值"),
    "figure-ulp_max": (
        "largest difference in steps of the coarser dtype",
        "最大差异，以较粗 dtype 的最小间隔计",
    ),
    "figure-passes_at": (
        "smallest tolerance at which all elements would pass",
        "使全部元素通过的最小容差",
    ),
    "figure-max_abs_error_index": ("place of the largest |target - golden|", "最大 |目标 - 标杆| 的位置"),
    "figure-pattern": ("how the bad elements lie", "异常元素的分布模式"),
    "figure-layout": (
        "how the tensor is split over ranks of which the other side has another number",
        "张量在 rank 间的切分方式（两侧 rank 数不同）",
    ),
    "figure-basis": (
        "what the verdict rests on: elements, statistics, a value",
        "结论的依据：元素、统计量或值",
    ),
    "figure-role": ("origin, inherited, unmatched, unknown, ok", "源头、继承、未配对、未知、正常"),
    "figure-verdict": (
        "pass, warning, error, unknown of the row alone",
        "该行自身的 pass、warning、error、unknown",
    ),
    "figure-reason": ("why the row has its verdict", "该行结论的原因"),
    "role-ok": ("ok", "正常"),
    "role-origin": ("origin", "源头"),
    "role-inherited": ("inherited", "继承"),
    "role-unmatched": ("unmatched", "未配对"),
    "role-unknown": ("unknown", "未知"),
}

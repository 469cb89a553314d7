"""Texts of the precision area in English and Chinese: (en, zh). Figures are filled in by name."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    # what an origin is
    "operator": (
        "inputs agree{inputs}, output does not{output}: the difference begins here.",
        "输入一致{inputs}，输出不一致{output}：差异从这里开始。",
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
    "first-difference-seen": (
        "this differs{output}; what it was made of was not recorded: it may have begun before.",
        "此处不同{output}；其来源未被记录：差异可能始于之前。",
    ),
    # next steps
    "next-operator": (
        "Read the operator's source line and kernel parameters (dtype, scale, layout); recompute it on the CPU from its dumped inputs.",
        "查看该算子的源码行与 kernel 参数（dtype、scale、排布）；用转储的输入在 CPU 上重算。",
    ),
    "next-operator-statistics": (
        "Capture this operator again with task tensor (list: [\"{call}\"]) to see which elements differ.",
        "用 task tensor 重新采集该算子（list: [\"{call}\"]），查看哪些元素不同。",
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
    "next-unknown": (
        "Capture the unreadable tensors again (see problems), then compare.",
        "重新采集无法读取的张量（见 problems），再比较。",
    ),
    # patterns
    "pattern-outlier": (" Pattern: outlier, not drift: {share} of the squared error sits in {n} of {of} elements.", " 模式：离群而非漂移：{share} 的平方误差集中在 {of} 个元素中的 {n} 个。"),
    "pattern-rows": (" Pattern: {n} of {of} rows ({rows}) carry {share} of the squared error: outlier, not drift.", " 模式：{of} 行中的 {n} 行（{rows}）占平方误差的 {share}：离群，而非漂移。"),
    "pattern-columns": (" Pattern: {n} of {of} columns ({columns}) carry {share} of the squared error.", " 模式：{of} 列中的 {n} 列（{columns}）占平方误差的 {share}。"),
    "pattern-constant factor": (" Pattern: constant factor {factor}: the cosine is blind to it.", " 模式：常数倍 {factor}：余弦看不出来。"),
    "pattern-contiguous block": (" Pattern: one contiguous block, elements {first} to {last} ({n_bytes} bytes) differ, the rest is bitwise equal.", " 模式：连续一段，元素 {first} 到 {last}（{n_bytes} 字节）不同，其余逐位相等。"),
    "pattern-identical rows": (" Pattern: all rows of the target are identical.", " 模式：目标侧所有行完全相同。"),
    "pattern-rounding": (" At the rounding level of {dtype} ({ulp} ulp at most).", " 处于 {dtype} 的舍入水平（最大 {ulp} ulp）。"),
    "pattern-drift": (" Pattern: error spread over the whole tensor.", " 模式：误差遍布整个张量。"),
    "pattern-non-finite": (" NaN or Inf at other positions: {target} on the target side, {golden} on the golden side.", " NaN/Inf 位置不同：目标侧 {target} 个，标杆侧 {golden} 个。"),
    "pattern-zero reference": (" {n} elements differ where the reference is zero: relative errors there say nothing.", " 有 {n} 个元素的参考值为零：该处相对误差没有意义。"),
    "pattern-permuted": (" Pattern: the same values in another order.", " 模式：数值相同，顺序不同。"),
    "group-factor": (" The factor equals the group size {n}: reduced twice.", " 倍数等于通信组大小 {n}：重复归约。"),
    "same-statistics": (" Max, Min, Mean and Norm agree, the checksum does not: content or order of the elements differs.", " Max、Min、Mean、Norm 一致而校验和不同：内容或顺序不同。"),
    "extremes-agree": (" Max and Min agree on both sides: statistics alone cannot see it.", " 两侧 Max 和 Min 相等：仅凭统计量看不出来。"),
    "n-different": (" {n} of {of} elements differ, first at {first}, last at {last}.", " {of} 个元素中有 {n} 个不同，首个 {first}，末个 {last}。"),
    "source-line": (" Source: {file}:{line} {source}", " 源码：{file}:{line} {source}"),
    "dtype-note": (" dtypes: target {target}, golden {golden}; judged at {coarser}.", " dtype：目标 {target}，标杆 {golden}；按 {coarser} 判断。"),
    # other findings
    "above-rounding": (
        "{n} tensors differ by more than the rounding of their dtype, all within the error criteria; worst by relative L2.",
        "{n} 个张量的差异超过其 dtype 的舍入误差，均未达 error；此处为相对 L2 最大者。",
    ),
    "content-note": (
        "{n} tensors have another checksum on each side while Max, Min, Mean and Norm agree: rounding or another order of elements.",
        "{n} 个张量两侧校验和不同，而 Max、Min、Mean、Norm 一致：舍入误差或元素顺序不同。",
    ),
    "scalar-alone": (
        "argument {argument} is {target} on the target side and {golden} on the golden side; the output agrees all the same.",
        "参数 {argument}：目标侧为 {target}，标杆侧为 {golden}；输出仍一致。",
    ),
    "unmatched-note": (
        "{target} calls exist on the target side only and {golden} on the golden side only; no difference begins at them.",
        "仅目标侧存在的调用 {target} 个，仅标杆侧 {golden} 个；差异并非由此开始。",
    ),
    "unknown-note": (
        "{n} rows could not be compared: {reasons}.",
        "{n} 行无法比较：{reasons}。",
    ),
    "next-above-rounding": ("Look here only if the end result is wrong and nothing else explains it.", "仅当最终结果错误且无其他解释时再看。"),
    "next-unmatched-note": ("Check that both sides run the same code path.", "确认两侧执行相同的代码路径。"),
    "next-unknown-note": (
        "Problems name files that could not be read; for integers capture with summary_mode md5 or task tensor.",
        "problems 列出无法读取的文件；整数请用 summary_mode md5 或 task tensor 采集。",
    ),
    "no-golden": (
        "one capture alone: values cannot be compared without a golden capture, NaN and Inf can be seen.",
        "仅有一份采集：没有标杆无法比较数值，只能看到 NaN 和 Inf。",
    ),
    "non-finite": (
        "inputs are finite, the output holds NaN or Inf (Max {max}, Min {min}).",
        "输入有限，输出含 NaN 或 Inf（Max {max}，Min {min}）。",
    ),
    "minus-inf": (
        "{n} outputs hold -Inf and nothing else that is not finite: usual for attention masks.",
        "{n} 个输出仅含 -Inf：attention mask 常见。",
    ),
    "next-non-finite": (
        "Walk upstream in the Overflow pane; compare with a golden capture of the same step.",
        "在 Overflow 面板中向上游追踪；与同一步的标杆采集比较。",
    ),
    "next-no-golden": (
        "Capture the same steps on GPU or CPU and open the folder that holds both, or give it as second argument.",
        "在 GPU 或 CPU 上采集相同的 step，打开包含两者的目录，或作为第二个参数给出。",
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
    "reason-nonfinite": ("NaN/Inf at other positions", "NaN/Inf 位置不同"),
    "reason-not-equal": ("integers not equal", "整数不相等"),
    "reason-checksum": ("checksum differs", "校验和不同"),
    "reason-content": ("content differs, statistics agree", "内容不同，统计量一致"),
    "reason-scalar": ("argument differs", "参数不同"),
    "reason-scalar-alone": ("argument differs, output agrees", "参数不同，输出一致"),
    "reason-empty": ("empty tensor", "空张量"),
    "reason-statistics-agree": ("statistics agree", "统计量一致"),
    "reason-statistics-bound": ("statistics too far apart", "统计量相差过大"),
    "reason-positions-unknown": ("NaN/Inf on both sides, positions not recorded", "两侧均有 NaN/Inf，位置未记录"),
    "reason-content-unknown": ("Max/Min agree, content not recorded", "Max/Min 一致，内容未记录"),
    "reason-not-recorded": ("statistics not recorded", "未记录统计量"),
    "reason-unreadable": ("tensor file unreadable", "张量文件无法读取"),
    "reason-one-side": ("on one side only", "仅一侧存在"),
    "reason-call-one-side": ("call on one side only", "调用仅一侧存在"),
    "reason-uninitialised": ("uninitialised buffer", "未初始化缓冲区"),
    "reason-no-golden": ("no golden capture", "没有标杆"),
    "reason-norm-unknown": ("Max or Min far apart, Norm not recorded", "Max/Min 相差大，Norm 未记录"),
    "reason-pending": ("not compared yet", "尚未比较"),
    "role-ok": ("ok", "正常"),
    "role-origin": ("origin", "源头"),
    "role-inherited": ("inherited", "继承"),
    "role-unmatched": ("unmatched", "未匹配"),
    "role-unknown": ("unknown", "未知"),
}

# ruff: noqa: E501 - one text a line
"""What recheck says, English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "within": ("within what {dtype} allows", "在 {dtype} 允许的误差之内"),
    "within-free": (
        "within what {dtype} allows, with {words} (the dump does not record it)",
        "取 {words} 时在 {dtype} 允许的误差之内（dump 未记录该值）",
    ),
    "coarse": (
        "less exact than {inside} inside allows, as exact as {detail} inside is: {beyond}",
        "精度低于以 {inside} 计算所应有，与内部以 {detail} 计算（累加）相符：{beyond}",
    ),
    "implementation": (
        "wrong: {beyond}; none of {tried} other ways to call it fits",
        "错误：{beyond}；已尝试 {tried} 种其他调用方式，均不符",
    ),
    "implementation-untried": ("wrong: {beyond}", "错误：{beyond}"),
    "alike": (
        "both sides are wrong in the same way: the dump may not hold all that this operator was given, or npulse's reference computes something else",
        "两侧以同样方式偏离：dump 可能未包含该算子的全部输入，或参考实现与其不同",
    ),
    "figures-alone": (
        "{output} {dtype} {shape}: largest error {error}, worst {share} of its bound",
        "{output} {dtype} {shape}：最大误差 {error}，最差处达到误差界的 {share} 倍",
    ),
    "implementation-words": (
        "wrong: {beyond}; the output equals the reference with {words}",
        "错误：{beyond}；输出与参考实现一致的条件：{words}",
    ),
    "call": (
        "wrong for this call: {beyond}; the output equals the reference with {words}",
        "与该调用不符：{beyond}；输出与参考实现一致的条件：{words}",
    ),
    "shape": (
        "the output has shape {shape}, the reference makes {truth}",
        "输出形状为 {shape}，参考实现为 {truth}",
    ),
    "beyond": (
        "{n} of {of} elements of {output} are further from the truth than {dtype} allows",
        "{output} 的 {of} 个元素中有 {n} 个偏离真值超过 {dtype} 所允许",
    ),
    "place": (
        "worst at {index}: {made}, truth {truth}, allowed +-{bound} ({ratio} of it)",
        "最差处 {index}：{made}，真值 {truth}，允许 ±{bound}（为其 {ratio}）",
    ),
    "times": ("{n} times", "{n} 倍"),
    "none-allowed": ("nothing may differ", "不允许任何差异"),
    "estimated": (
        "the bound is measured by repeating the reference with inputs that were disturbed, not proven",
        "误差界由扰动输入后重复计算测得，并非推导",
    ),
    "figures": (
        "{output} {dtype} {shape}: largest error {error}, of {dtype} on the CPU {own}, worst {share} of its bound",
        "{output} {dtype} {shape}：最大误差 {error}，CPU 上同 dtype 为 {own}，最差处达到误差界的 {share} 倍",
    ),
    "saturated": (
        "{n} elements stand at {dtype}'s largest value where the truth is beyond it",
        "{n} 个元素为 {dtype} 最大值，其真值超出范围",
    ),
    "sampled": (
        "a sample: {n} of {of} elements were compared, rows spread over the tensor",
        "抽样：比较了 {of} 个元素中的 {n} 个，取自均匀分布的行",
    ),
    "unchecked": ("not compared: {names}", "未比较：{names}"),
    "golden-within": (
        "golden: within what {dtype} allows, from its own inputs",
        "标杆：由其自身输入计算，在 {dtype} 允许的误差之内",
    ),
    "golden-wrong": ("golden: {text}", "标杆：{text}"),
    "golden-unknown": ("golden: cannot be told: {text}", "标杆：无法判断：{text}"),
    "golden-none": ("golden: no call stands against it", "标杆：没有与之对应的调用"),
    "source": ("called at {line}", "调用处 {line}"),
    "no-reference": ("no reference for this operator", "没有该算子的参考实现"),
    "backward": ("no reference for the backward calls of this operator", "没有该算子反向调用的参考实现"),
    "random": ("its output is random: there is nothing to compare it with", "输出是随机的，没有可比较的对象"),
    "missing": ("tensors were not dumped: {names}", "以下张量未采集：{names}"),
    "unreadable": ("tensors cannot be read: {names}", "以下张量无法读取：{names}"),
    "too-large": (
        "its tensors are too large to compute it again ({size} as float64)",
        "张量过大，无法重新计算（按 float64 为 {size}）",
    ),
    "several": ("{n} call(s): {reason}", "{n} 个调用：{reason}"),
    "several-missing": (
        "tensors of inputs, parameters or outputs were not dumped",
        "输入、参数或输出张量未采集",
    ),
    "several-unreadable": ("tensors cannot be read", "张量无法读取"),
    "unsupported": ("the reference does not know this call: {detail}", "参考实现不支持该调用：{detail}"),
    "does-not-fit": ("the reference cannot follow this call: {detail}", "参考实现无法完成该调用：{detail}"),
    "failed": ("the reference failed: {detail}", "参考实现运行失败：{detail}"),
    "next-call": (
        "look at the arguments of this call ({words}) on the side that computed it; the inputs in the dump are what it was given",
        "检查计算该输出一侧的调用参数（{words}）；dump 中的输入即其所得",
    ),
    "next-implementation": (
        "the inputs were right and the arithmetic was not: hand these tensors to whoever maintains the operator, or use another implementation of it",
        "输入正确而运算错误：请将这些张量交给算子维护者，或换用其他实现",
    ),
    "next-coarse": (
        "make the operator accumulate in float32, or use an implementation that does",
        "让该算子以 float32 累加，或换用这样的实现",
    ),
    "next-missing": (
        'capture this call with its tensors: msprobe config.json task tensor, list ["{call}"]; npulse config new makes one',
        '采集该调用的张量：msprobe config.json 设 task 为 tensor、list 为 ["{call}"]；可用 npulse config new 生成',
    ),
    "next-no-reference": (
        "give one: npulse recheck {call} {run} --reference FILE.py:FUNCTION",
        "自行提供：npulse recheck {call} {run} --reference FILE.py:FUNCTION",
    ),
    "next-unsupported": (
        "give a reference of your own with --reference FILE.py:FUNCTION",
        "用 --reference FILE.py:FUNCTION 提供自己的参考实现",
    ),
    "next-too-large": (
        "capture the call with a smaller batch, or on one rank of a split model",
        "减小 batch 再采集，或采集切分后模型的一个 rank",
    ),
    "communicates": (
        "its output is not that of its own inputs alone: a parallel layer exchanges with other ranks inside",
        "输出并非仅由自身输入决定：并行层在内部与其他 rank 通信",
    ),
    "unbounded": (
        "nothing can be told: with these inputs rounding in {detail} may leave any output",
        "无法判断：对这些输入，{detail} 下的舍入可能产生任意输出",
    ),
    "next-unbounded": (
        "look at the inputs: values this large or this close to each other leave nothing of the result",
        "检查输入：数值过大或过于接近，结果已无意义",
    ),
    "unbounded-some": (
        "{n} elements say nothing: rounding inside may take them anywhere",
        "{n} 个元素无法判断：内部舍入可使其为任意值",
    ),
    "next-communicates": (
        "capture at level mix or L1, and compute the product and the collective inside it by themselves",
        "以 level mix 或 L1 采集，分别重新计算其内部的乘法与通信",
    ),
    "attributes": (
        "its output is not that of the plain operator, and the capture does not record the attributes it was given: {beyond}",
        "输出与默认属性的算子不符，而该采集未记录算子属性：{beyond}",
    ),
    "next-attributes": (
        "look its attributes up in the graph (om or pbtxt, op_param.json), and give a reference that has them: --reference FILE.py:FUNCTION",
        "在图（om、pbtxt、op_param.json）中查看其属性，并用 --reference FILE.py:FUNCTION 提供带这些属性的参考实现",
    ),
    "next-alike": (
        "look at what the operator was given that no dump holds (a module's own settings, a global switch), or give a reference with --reference FILE.py:FUNCTION",
        "检查 dump 未包含的输入（模块自身设置、全局开关），或用 --reference FILE.py:FUNCTION 提供参考实现",
    ),
    "next-random": (
        "make it deterministic (evaluation mode, fixed seed) and compare two captures",
        "使其确定（评估模式、固定随机种子），再比较两次采集",
    ),
    "next-unreadable": (
        "capture this call again; the problems below say what is wrong with its files",
        "重新采集该调用；文件问题见下方",
    ),
    "counts": (
        "calls computed again {n}: within {within}, wrong {wrong}, cannot be told {unknown}",
        "重新计算 {n} 个调用：在误差内 {within}，错误 {wrong}，无法判断 {unknown}",
    ),
    "cut": (
        "{n} call(s) (fits|fit); the first {shown} were computed again",
        "共 {n} 个调用符合，只重新计算前 {shown} 个",
    ),
}

"""The rules of the overflow area: what each finding means, its threshold and how to silence it."""

from __future__ import annotations

from npulse.core.findings import Severity
from npulse.core.rules import Rule

_OWN = ("npulse's own; the tool's own verdict is not used", "npulse 自有规则；不采用原工具的结论")
_NONE = ("cannot be silenced", "不可关闭")
_ANY = (
    "any NaN, Inf or saturated element, by Max and Min or by the elements; Norm and Mean never count",
    "任何 NaN、Inf 或饱和元素，按 Max、Min 或元素判断；不看 Norm 和 Mean",
)


def _rule(
    id_: str,
    severity: Severity,
    title: tuple[str, str],
    meaning: tuple[str, str],
    threshold: tuple[str, str] = _ANY,
    silence: tuple[str, str] = _NONE,
) -> Rule:
    return Rule(f"overflow.{id_}", severity, title, meaning, threshold, _OWN, silence)


RULES: tuple[Rule, ...] = (
    _rule(
        "origin",
        "error",
        ("finite inputs, NaN or Inf in the output", "输入有限，输出含 NaN 或 Inf"),
        (
            "All inputs and parameters of the call are finite and its output is not: the trouble begins here. What fed it is in "
            "the upstream table; a suspect there came close to the limit before.",
            "该调用的所有输入和参数都有限而输出不是：问题从这里开始。上游表列出其来源；其中的嫌疑算子此前已接近极限。",
        ),
    ),
    _rule(
        "saturated",
        "error",
        ("values at exactly the dtype's largest one", "数值恰好等于 dtype 最大值"),
        (
            "A device in saturation mode writes the largest finite value where others write Inf. Values that a call was told to "
            "write (finfo.min of masks) do not count, nor int8 and float8, which reach their end by design.",
            "饱和模式的设备用最大有限值代替 Inf。调用被要求写入的值（掩码的 finfo.min）不算，int8 和 float8 按设计会达到量程两端，也不算。",
        ),
    ),
    _rule(
        "parameter",
        "error",
        ("a weight arrives bad", "权重到达时已异常"),
        (
            "A parameter holds NaN or Inf and no captured call made it: the checkpoint, or the update at the end of the step "
            "before. Where that step was captured, its origin is named instead.",
            "参数含 NaN 或 Inf，且没有任何已采集的调用产生它：来自 checkpoint 或上一步末尾的更新。若已采集上一步，则指出其源头。",
        ),
    ),
    _rule(
        "input",
        "error",
        ("an input arrives bad", "输入到达时已异常"),
        (
            "An input holds NaN or Inf that no captured call made, and nothing captured could have handed it on: loader or "
            "preprocessing. Masks (-Inf or finfo.min alone) are legal.",
            "输入含 NaN 或 Inf，没有任何已采集的调用产生或传递它：来自数据加载或预处理。掩码（仅 -Inf 或 finfo.min）合法。",
        ),
    ),
    _rule(
        "gap",
        "error",
        ("it began in code that was not captured", "始于未采集的代码"),
        (
            "A call is given what no captured call made, while an earlier output went into something that was not captured: the "
            "last captured call in front of the gap and, where the hierarchy has them, the calls in it are named.",
            "调用得到的输入不是任何已采集调用产生的，而更早的输出进入了未采集的代码：指出缺口前最后一个已采集的调用，以及层次结构中缺失的调用。",
        ),
    ),
    _rule(
        "uninitialised",
        "error",
        ("memory is read that nobody has written", "读取了未写入的内存"),
        (
            "The output of empty, empty_like or new_empty means nothing until something is written into it. The call that hands "
            "the buffer out is never to blame; the one that reads it unwritten is named.",
            "empty、empty_like、new_empty 的输出在写入之前没有意义。不怪罪分配缓冲区的调用，而是指出读取未写入内容的调用。",
        ),
    ),
    _rule(
        "masked-row",
        "error",
        ("a whole row is masked", "整行被掩码"),
        (
            "-Inf from a mask is legal until it covers a whole row: softmax of such a row is NaN (error). A mask with such rows "
            "whose softmax is not NaN is a warning.",
            "掩码的 -Inf 合法，直到覆盖整行：这样的行 softmax 为 NaN（error）。存在这样的行但 softmax 未出现 NaN 时为警告。",
        ),
    ),
    _rule(
        "legal-inf",
        "error",
        ("a legal Inf is made into NaN or Inf", "合法的 Inf 被算成 NaN 或 Inf"),
        (
            "The call is given an Inf that is legal where it was made (a fill, the logarithm of 0) and makes NaN or Inf of it.",
            "调用得到的 Inf 在产生处是合法的（填充、log 0），但被算成了 NaN 或 Inf。",
        ),
    ),
    _rule(
        "collective",
        "error",
        ("a reduction overflows by itself", "归约本身溢出"),
        (
            "Every rank gives finite values to a collective and what comes back is not finite: the sum over the ranks is too "
            "large for the dtype.",
            "每个 rank 给出的值都有限，集合通信的结果却不是：各 rank 之和超出了 dtype 范围。",
        ),
    ),
    _rule(
        "peer",
        "error",
        ("it came from a rank that was not captured", "来自未采集的 rank"),
        (
            "A communication call gets NaN or Inf although this rank gave finite values, and not all ranks were captured.",
            "本 rank 给出的值有限，但通信调用得到 NaN 或 Inf，且并非所有 rank 都被采集。",
        ),
    ),
    _rule(
        "gradient",
        "error",
        ("a parameter's gradient is bad, nothing before it is", "参数梯度异常，之前均正常"),
        (
            "The gradient of a parameter holds NaN or Inf while all captured backward calls are healthy.",
            "参数梯度含 NaN 或 Inf，而所有已采集的反向调用都正常。",
        ),
    ),
    _rule(
        "inputs-unknown",
        "error",
        ("bad output, inputs not recorded", "输出异常，输入未记录"),
        (
            "The output is bad and of some input neither Max and Min nor elements are known: it may have begun before.",
            "输出异常，而部分输入既无 Max、Min 也无元素记录：可能始于更早处。",
        ),
    ),
    _rule(
        "first-seen",
        "error",
        ("a saved variable is bad", "保存的变量异常"),
        (
            "The first variable saved by the user that holds NaN or Inf; what made it was not captured.",
            "用户保存的变量中第一个含 NaN 或 Inf 的；产生它的调用未被采集。",
        ),
    ),
    _rule(
        "record",
        "error",
        ("the device reported an overflow", "设备上报溢出"),
        (
            "An overflow record of the device (Opdebug), joined to the operator dump by the task and stream inside. The first by "
            "time whose operator has finite inputs is the origin.",
            "设备的溢出记录（Opdebug），按其中的任务和流与算子 dump 对应。按时间第一个输入有限的算子为源头。",
        ),
        ("any status bit that is set", "任何置位的状态位"),
    ),
    _rule(
        "monitor",
        "error",
        ("a recorded gradient went bad", "记录的梯度异常"),
        (
            "A monitor file holds NaN or Inf. Bad before the reduction on some ranks: it began there. Finite before, bad behind: "
            "the reduction, or a rank that was not recorded, brought it in.",
            "监测文件含 NaN 或 Inf。若归约前部分 rank 已异常：始于该 rank。若归约前有限、归约后异常：由归约或未记录的 rank 引入。",
        ),
    ),
    _rule(
        "gradient-growth",
        "warning",
        ("gradient norms jump", "梯度范数骤增"),
        (
            "The norm of a gradient grows by more than the threshold from one recorded step to the next.",
            "梯度范数在相邻记录步之间的增长超过阈值。",
        ),
        ("factor 10", "10 倍"),
        ("--criteria gradient_growth_ratio=...", "--criteria gradient_growth_ratio=..."),
    ),
    _rule(
        "near-limit",
        "warning",
        ("close to the limit", "接近极限"),
        (
            "Nothing overflowed, but outputs reach more than the threshold of the dtype's largest value.",
            "没有溢出，但输出超过了 dtype 最大值的阈值比例。",
        ),
        ("half of the largest value", "最大值的一半"),
        ("--criteria near_ratio=...", "--criteria near_ratio=..."),
    ),
    _rule(
        "clipped",
        "warning",
        ("many values at the end of the quantised range", "大量数值位于量化量程两端"),
        (
            "More than the threshold of the elements of an int8 or float8 tensor sit at the end of its range: its scale is too "
            "small for these inputs.",
            "int8 或 float8 张量中超过阈值比例的元素位于量程两端：scale 对这些输入过小。",
        ),
        ("1 % of the elements", "1 % 的元素"),
        ("--criteria clipped_ratio=...", "--criteria clipped_ratio=..."),
    ),
    _rule(
        "quant-range",
        "warning",
        ("activations beyond the calibrated range", "激活超出校准量程"),
        (
            "The input of a quantised call is larger than 127 times its scale: what lies beyond is cut off.",
            "量化调用的输入大于其 scale 的 127 倍：超出部分被截断。",
        ),
        ("1.05 x the range", "量程的 1.05 倍"),
    ),
    _rule(
        "residual-growth",
        "warning",
        ("the residual stream grows block by block", "残差流逐层增长"),
        (
            "The outputs of at least five consecutive blocks grow by 1.3 x or more each: the stream will reach the limit.",
            "至少连续五个 block 的输出每层增长 1.3 倍以上：数据流最终会达到极限。",
        ),
        ("1.3 x a block over 5 blocks", "连续 5 个 block 每层 1.3 倍"),
    ),
    _rule(
        "legal",
        "note",
        ("legal Inf", "合法的 Inf"),
        (
            "Inf or the dtype's largest value that a call was told to write, a mask that goes through, the logarithm of 0, "
            "memory that is not yet written: no trouble, and said so.",
            "调用被要求写入的 Inf 或 dtype 最大值、传递的掩码、log 0、尚未写入的内存：不是问题，并予以说明。",
        ),
    ),
    _rule(
        "saturation-mode",
        "note",
        ("the device may saturate", "设备可能处于饱和模式"),
        (
            "No Inf and no NaN anywhere, but values at exactly the largest one.",
            "没有任何 Inf 和 NaN，但有数值恰好等于最大值。",
        ),
    ),
    _rule(
        "settings",
        "note",
        ("settings that decide what one sees", "决定所见内容的设置"),
        (
            "INF_NAN_MODE_ENABLE and the like from environment texts, scripts and the round manifest; names that no tool reads "
            "are told with the real ones.",
            "来自环境文本、脚本和轮次清单的 INF_NAN_MODE_ENABLE 等设置；没有工具读取的名字会给出真实名字。",
        ),
    ),
    _rule(
        "exception",
        "note",
        ("exception dump", "异常 dump"),
        (
            "The tensors of an operator that raised an exception, looked through for NaN and Inf.",
            "引发异常的算子的张量，检查其中的 NaN 和 Inf。",
        ),
    ),
    _rule(
        "pending",
        "note",
        ("still being written", "仍在写入"),
        (
            "A dump, a folder of overflow records or a monitor table was written to within the last minute. Tensor files "
            "that no dump.json names yet, or that are half written, are only counted; what is told is so far.",
            "dump、溢出记录文件夹或 monitor 表在最近一分钟内有写入。尚未被 dump.json 记录或写了一半的张量文件只计数；当前结论仅为阶段性结果。",
        ),
    ),
    _rule(
        "unknown",
        "note",
        ("not seen", "未被观测"),
        (
            "Tensors of which neither Max and Min nor elements are known (null statistics, unsupported dtypes, nan_check "
            "without an answer): they are not clean.",
            "既无 Max、Min 也无元素记录的张量（统计量为 null、不支持的 dtype、nan_check 无结果）：不能算正常。",
        ),
    ),
)

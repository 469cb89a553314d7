"""The rules of the precision area: what each finding means, its threshold and how to silence it."""

from __future__ import annotations

from npulse.core.rules import Rule

from .own.rules import OWN_RULES
from .theirs.rules import RULES as THEIRS

_CRITERIA = (
    "error: cosine < 0.99, norm ratio outside 0.99-1.01, another shape, NaN or Inf at other positions, any "
    "difference in integers or bools; by the coarser declared dtype of the two sides",
    "error：余弦 < 0.99，范数比不在 0.99-1.01，形状不同，NaN/Inf 位置不同，整数或布尔值有任何差异；按两侧声明精度较低者判断",
)
_SETTING = (
    "--criteria cosine=...,norm_ratio_low=...,norm_ratio_high=...",
    "--criteria cosine=...,norm_ratio_low=...,norm_ratio_high=...",
)
_OWN = ("npulse's own; the release tool's verdict is not used", "npulse 自有规则；不采用原工具的结论")
_NONE = ("cannot be silenced: without it the comparison says nothing", "不可关闭：关闭后比较没有意义")

RULES: tuple[Rule, ...] = (
    Rule(
        "precision.operator",
        "error",
        ("inputs agree, output does not", "输入一致，输出不一致"),
        (
            "All compared inputs, parameters and arguments of the call agree and its output does not: the "
            "difference begins in this operator call. A module is named where its inputs agree and a call inside "
            "it is given what does not: it began in code between the captured calls.",
            "该算子的所有输入、参数一致而输出不一致：差异从这里开始。若模块输入一致而其内部调用的输入不一致，则指出该模块："
            "差异始于已采集调用之间的代码。",
        ),
        _CRITERIA,
        _OWN,
        _SETTING,
    ),
    Rule(
        "precision.pairing",
        "note",
        ("calls paired by more than their names", "未按名称配对的调用"),
        (
            "The graphs of both sides are not alike: calls stand against each other by operator, shapes, content, "
            "module and order; a fused operator against the calls that do the same; a recomputed forward against the "
            "first one. Columns pairing (0 to 1) and pairing_why say how sure each pair is.",
            "两侧计算图不同：调用按算子、形状、内容、模块与顺序配对；融合算子与等价的多个调用配对；重计算的前向与首次前向配对。"
            "pairing（0 到 1）与 pairing_why 列给出每一对的可信度与依据。",
        ),
        (
            "1: names or a mapping; 0.95: equal inputs; 0.9: the same module; 0.8: type, shapes and order; 0.5: another "
            "call would do as well",
            "1：名称或映射；0.95：输入相同；0.9：同一模块；0.8：类型、形状与顺序；0.5：另有同样合适的调用",
        ),
        _OWN,
        ("--pairing name: by names alone", "--pairing name：仅按名称"),
    ),
    Rule(
        "precision.scalar",
        "error",
        ("a scalar argument differs", "标量参数不同"),
        (
            "The call was given another scalar argument (factor, epsilon, axis, flag) on the target side, or one "
            "that the other side was not given. An error where the output differs too, a warning where it does not.",
            "目标侧调用使用了不同的标量参数（系数、epsilon、轴、开关），或只有一侧给出该参数。输出也不同时为 error，否则为 warning。",
        ),
        ("any difference; device names are left out", "任何差异；设备名除外"),
        _OWN,
        _NONE,
    ),
    Rule(
        "precision.unmatched",
        "error",
        ("an operator call exists on one side only", "算子只在一侧存在"),
        (
            "Values agree before the call and the first operator behind it that both sides have is given other "
            "inputs. An error where the difference begins there; unmatched calls that change nothing are a note.",
            "该调用之前数值一致，其后两侧共有的第一个算子输入不同。差异由此开始时为 error；不改变数值的为 note。",
        ),
        _CRITERIA,
        _OWN,
        _SETTING,
    ),
    Rule(
        "precision.asked",
        "error",
        ("what was asked for is beyond a threshold", "所查询的内容超过阈值"),
        (
            "An output of the net (--compare-mode network) or a row of one operator (--operator) is beyond a threshold. "
            "It need not begin there: without the mode the call in which it begins is named.",
            "网络输出（--compare-mode network）或单个算子（--operator）的某一行超过阈值。差异不一定从这里开始：去掉该模式可定位源头。",
        ),
        _CRITERIA,
        _OWN,
        _SETTING,
    ),
    Rule(
        "precision.input-data",
        "error",
        ("the data differs before any operator ran", "算子运行前数据已不同"),
        (
            "An input differs that no compared operator produced: token ids, masks, a batch, positions. This is a "
            "matter of data loading, sampling or seeds, not of an operator.",
            "输入不同，且没有任何已比较的算子产生它（token、mask、batch、position）。应检查数据加载、采样或随机种子，而不是算子。",
        ),
        _CRITERIA,
        _OWN,
        _SETTING,
    ),
    Rule(
        "precision.parameter",
        "error",
        ("a parameter differs", "参数（权重）不同"),
        (
            "A weight or bias differs between the sides. Checkpoint, conversion, layout (order of elements) or the "
            "previous optimizer step made it so. Equal statistics with another checksum mean: other order or content.",
            "两侧权重不同。原因在检查点、转换、排列顺序或上一次优化器步骤。统计量相同而校验和不同：顺序或内容不同。",
        ),
        _CRITERIA,
        _OWN,
        _SETTING,
    ),
    Rule(
        "precision.parameter-dtype",
        "note",
        ("a parameter is stored in another dtype", "参数以其他 dtype 存储"),
        (
            "Of two checkpoints: the values agree within the rounding of the coarser of both dtypes.",
            "两份检查点的数值在较粗 dtype 的舍入误差内一致。",
        ),
        _CRITERIA,
        _OWN,
        _NONE,
    ),
    Rule(
        "precision.overwritten",
        "error",
        ("memory changed between producer and consumer", "生产者与消费者之间内存被改写"),
        (
            "The producer's output agrees with the golden side; what its consumer read in the same run does not "
            "equal it. Something wrote into the buffer in between (a stray write, a missing stream "
            "synchronisation), or an operator that was not captured changed it.",
            "生产者输出与标杆一致，但同一次运行中消费者读到的不是它。中间有写越界、缺少流同步，或未采集的算子改写了它。",
        ),
        ("producer found by equal content on the golden side", "按标杆侧内容相等找到生产者"),
        _OWN,
        _NONE,
    ),
    Rule(
        "precision.drift",
        "error",
        ("the error was there before and grew over the threshold", "误差逐步累积越过阈值"),
        (
            "The first output over the threshold has inputs that were already off by at least half as much: no "
            "single operator broke, the error built up. The call with the steepest growth stands in related.",
            "第一个越过阈值的输出，其输入误差已达一半以上：没有单个算子出错，而是误差累积。增长最快的调用见 related。",
        ),
        ("output error <= 2 x input error (relative L2)", "输出误差 <= 2 倍输入误差（相对 L2）"),
        _OWN,
        _SETTING,
    ),
    Rule(
        "precision.first-difference",
        "error",
        ("first difference; its beginning cannot be told", "首个差异；起点无法确定"),
        (
            "The output differs, but an input of the call could not be compared (file missing or cut, nothing "
            "recorded), so that it may have begun here or before.",
            "输出不同，但该调用有输入无法比较（文件缺失或截断、未记录），差异可能始于此处或更早。",
        ),
        _CRITERIA,
        _OWN,
        _SETTING,
    ),
    Rule(
        "precision.above-rounding",
        "warning",
        ("differs by more than rounding", "差异超过舍入误差"),
        (
            "Relative L2 error above the unit roundoff of the coarser declared dtype, within the error criteria. "
            "Usual between devices; look here when no error explains a bad result. Also tensors with another checksum "
            "whose statistics agree: rounding, or another order of elements.",
            "相对 L2 误差大于较低声明精度的单位舍入，但未达 error。不同设备间常见；当没有 error 能解释结果时再看这里。统计量一致而校验和不同的张量也归于此：舍入或元素顺序不同。",
        ),
        (
            "rel_l2 > unit roundoff (fp32 6.0e-8, fp16 4.9e-4, bf16 3.9e-3)",
            "rel_l2 > 单位舍入（fp32 6.0e-8，fp16 4.9e-4，bf16 3.9e-3）",
        ),
        _OWN,
        ("a warning alone never fails a run unless --strict", "仅有 warning 不会失败，除非使用 --strict"),
    ),
    Rule(
        "precision.unknown",
        "note",
        ("could not be compared", "无法比较"),
        (
            "Rows whose values could not be read or were not recorded. They count neither as agreeing nor as "
            "differing; statistics of integers, for example, do not show their content.",
            "数值无法读取或未记录的行。既不算一致也不算不一致；例如整数的统计量看不出内容。",
        ),
        ("-", "-"),
        _OWN,
        (
            "capture with task tensor, or summary_mode md5, to get an answer",
            "使用 task tensor 或 summary_mode md5 重新采集",
        ),
    ),
    Rule(
        "precision.heads",
        "warning",
        ("same content, other order of heads", "内容相同，注意力头顺序不同"),
        (
            "A weight or activation agrees once its heads are put into another order (heads permuted, q k v by head, "
            "rotary pairs against halves). Compared in that order; an error again where the order begins in an operator "
            "and changes its consumer's result.",
            "权重或激活在调整注意力头顺序后一致（头重排、q k v 按头交错、rotary 成对与前后半之别），按该顺序比较。"
            "若顺序由某个算子改变并使后续结果不同，则仍为 error。",
        ),
        (
            "norms and extremes within 1 %, cosine >= 0.99 in the other order",
            "范数与极值相差 1% 以内，且按另一顺序余弦 >= 0.99",
        ),
        _OWN,
        ("a warning alone never fails a run unless --strict", "仅有 warning 不会失败，除非使用 --strict"),
    ),
    Rule(
        "precision.split",
        "note",
        ("ranks hold parts of what the other side has whole", "各 rank 只持有另一侧完整张量的一部分"),
        (
            "The two jobs have unlike numbers of ranks, and shapes say that one side holds parts (tensor or sequence "
            "parallel). Parts are put together, or compared with the piece that they should be; sums before an "
            "all_reduce are added up. Which way it was split is told by the elements, else by leaves like it: column "
            "`layout`. Collectives that one side alone needs stand against the tensor that they carry.",
            "两侧 rank 数不同，且形状表明一侧只持有一部分（张量并行或序列并行）。比较前先拼接，或与其对应的片段比较；"
            "all_reduce 之前的部分和先求和。切分方式由元素判断，否则由同类张量判断，见 `layout` 列。仅一侧需要的集合通信与其所承载的张量比较。",
        ),
        (
            "one axis a whole multiple of the other side's (padding of less than 128 entries a rank allowed)",
            "某一维是另一侧的整数倍（每个 rank 允许不足 128 的填充）",
        ),
        _OWN,
        (
            "--ranks '0,1:0;2,3:1' says which ranks belong together",
            "--ranks '0,1:0;2,3:1' 指定哪些 rank 对应",
        ),
    ),
    Rule(
        "precision.pending",
        "note",
        ("the capture is still being written", "采集仍在写入"),
        (
            "Tensor files that no dump.json names yet, files that are half written, and calls of the other side that "
            "this side cannot have reached. Nothing of it is compared under a guessed name; what is told is so far.",
            "尚未被 dump.json 记录的张量文件、写了一半的文件，以及本侧尚未执行到的另一侧调用。不会按猜测的名称比较；当前结论仅为阶段性结果。",
        ),
        ("a side was written to within the last minute", "一侧在最近一分钟内有写入"),
        _OWN,
        ("wait until the capture ends", "等待采集结束"),
    ),
    Rule(
        "precision.non-finite",
        "error",
        ("NaN or Inf out of finite inputs (one capture alone)", "有限输入产生 NaN/Inf（仅一份采集）"),
        (
            "Without a golden capture values cannot be compared; an output with NaN or Inf whose inputs are finite "
            "is reported. -Inf alone may be a mask and is a note.",
            "没有标杆时无法比较数值；输入有限而输出含 NaN/Inf 时报告。仅有 -Inf 可能是 mask，记为 note。",
        ),
        ("Max or Min is NaN or Inf; Norm alone never counts", "Max 或 Min 为 NaN/Inf；仅 Norm 不算"),
        _OWN,
        _NONE,
    ),
    *THEIRS,
    *OWN_RULES,
)

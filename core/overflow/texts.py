"""Texts of the overflow area in English and Chinese: (en, zh). Figures are filled in by name."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    # what an origin is, by cause
    "operator": (
        "finite inputs{inputs}, {what} in the output: it begins here.",
        "输入有限{inputs}，输出含 {what}：从这里开始。",
    ),
    "operator-peer-module": ("finite inputs, {what} in the output.", "输入有限，输出含 {what}。"),
    "saturated": (
        "finite inputs{inputs}, and {n} of the output at exactly +-{largest}, the largest {dtype}: saturated, which is overflow on a device that does not write Inf.",
        "输入有限{inputs}，输出中 {n} 恰好等于 ±{largest}（{dtype} 最大值）：已饱和；在不产生 Inf 的设备上这就是溢出。",
    ),
    "parameter": (
        "this parameter arrives with {what} and no captured call made it: {before}.",
        "该参数到达时已含 {what}，没有任何已采集的调用产生它：{before}。",
    ),
    "parameter-first": (
        "the checkpoint, the initialisation or a conversion of the weights is broken",
        "checkpoint、初始化或权重转换有问题",
    ),
    "parameter-later": (
        "an update between step {before} and step {step} wrote it (gradient, loss scale, optimizer state)",
        "在第 {before} 步与第 {step} 步之间的更新写入（梯度、loss scale、优化器状态）",
    ),
    "parameter-anytime": (
        "the checkpoint, or an update of a step that was not captured, wrote it",
        "由 checkpoint 或未采集步骤的更新写入",
    ),
    "input": (
        "this input arrives with {what} and no captured call made it: the data loader, preprocessing or what ran before the "
        "capture.",
        "该输入到达时已含 {what}，没有任何已采集的调用产生它：来自数据加载、预处理或采集之前的代码。",
    ),
    "gap": (
        "it is given {what} that no captured call made: it began in code between {after} and this call that was not captured"
        "{between}.",
        "它得到的输入含 {what}，没有任何已采集的调用产生它：始于 {after} 与本调用之间未采集的代码{between}。",
    ),
    "gap-between": (" ({names})", "（{names}）"),
    "gap-start": ("the start of the capture", "采集开始处"),
    "uninitialised": (
        "it reads memory that nobody has written ({buffer}): the call that should have filled the buffer did not, or came too "
        "late.",
        "它读取了没有任何调用写入过的内存（{buffer}）：本应填充该缓冲区的调用没有执行或执行太晚。",
    ),
    "masked-row": (
        "a legal -Inf from {legal} covers a whole row{rows}, and the softmax of it is {what}.",
        "来自 {legal} 的合法 -Inf 覆盖了整行{rows}，其 softmax 为 {what}。",
    ),
    "masked-rows-at": (" (row {rows})", "（第 {rows} 行）"),
    "masked-row-suspected": (
        "a legal -Inf from {legal} goes in and {what} comes out: most likely a whole row is masked (statistics cannot tell "
        "which).",
        "来自 {legal} 的合法 -Inf 输入后得到 {what}：很可能有整行被掩码（仅凭统计量无法确定是哪一行）。",
    ),
    "legal-inf": (
        "it is given a legal Inf from {legal} and makes {what} of it (0 * Inf and Inf - Inf are NaN).",
        "它得到来自 {legal} 的合法 Inf 并算出 {what}（0 * Inf、Inf - Inf 都是 NaN）。",
    ),
    "collective": (
        "all ranks give finite values{inputs}, what they get has {what}: the reduction itself overflows.",
        "所有 rank 给出的值都有限{inputs}，得到的结果含 {what}：归约本身溢出。",
    ),
    "collective-odd": (
        "all ranks give finite values{inputs} that fit the dtype together, and {what} comes back: the transfer itself, a call "
        "that was not waited for, or a buffer that was used again too early.",
        "所有 rank 给出的值都有限{inputs}且总和未超出 dtype，返回的却含 {what}：传输本身、未等待的异步调用或过早复用的缓冲区。",
    ),
    "peer": (
        "finite values go in on this rank and {what} comes out, and not every rank that took part was captured{missing}: it "
        "came from a peer.",
        "本 rank 输入有限，输出含 {what}，且并非所有参与的 rank 都被采集{missing}：来自对端。",
    ),
    "peer-missing": (" (missing: rank {ranks})", "（缺少 rank {ranks}）"),
    "gradient": (
        "this gradient has {what}, and no captured backward call does: it began in the backward of {module}, which was not "
        "captured operator by operator.",
        "该梯度含 {what}，而已采集的反向调用均正常：始于 {module} 的反向，其内部算子未被采集。",
    ),
    "inputs-unknown": (
        "{what} in the output, and of {n} of its inputs nothing was recorded: it may have begun here or before.",
        "输出含 {what}，但有 {n} 个输入没有任何记录：可能始于此处或更早。",
    ),
    "first-seen": (
        "the first saved variable that holds {what}; what made it was not captured.",
        "第一个含 {what} 的保存变量；产生它的调用未被采集。",
    ),
    "record": (
        "the device reported an overflow ({unit}, status {status}: {bits}) for task {task} on stream {stream}, which is this "
        "operator{state}.",
        "设备上报溢出（{unit}，状态 {status}：{bits}），任务 {task}、流 {stream} 即该算子{state}。",
    ),
    "record-alone": (
        "the device reported an overflow ({unit}, status {status}: {bits}) for task {task} on stream {stream}; no operator "
        "dump of it lies in that folder.",
        "设备上报溢出（{unit}，状态 {status}：{bits}），任务 {task}、流 {stream}；该目录中没有对应的算子 dump。",
    ),
    "record-began": (": its inputs are finite, its output has {what}", "：输入有限，输出含 {what}"),
    "record-inherited": (": its input already has {what}", "：输入已含 {what}"),
    "record-finite": (": no tensor of it that was dumped has NaN or Inf", "：已 dump 的张量均无 NaN/Inf"),
    # what is known of the inputs
    "inputs": (
        " (largest {largest}{io}, {share} of the largest {dtype})",
        "（最大 {largest}{io}，为 {dtype} 最大值的 {share}）",
    ),
    "inputs-small": (
        " (largest {largest}{io})",
        "（最大 {largest}{io}）",
    ),
    "inputs-sum": (" (sum of the largest {largest} > {limit})", "（最大值之和 {largest} > {limit}）"),
    # why, by kind
    "why-sum": (" The sum of both can reach {at_most}.", " 两者之和可达 {at_most}。"),
    "why-product": (" The product can reach {at_most}.", " 乘积可达 {at_most}。"),
    "why-matmul": (
        " The products of rows and columns can add up to {at_most}.",
        " 行列乘积累加可达 {at_most}。",
    ),
    "why-exp": (" exp of its largest input is {at_most}.", " 最大输入的 exp 为 {at_most}。"),
    "why-power": (" The power can reach {at_most}.", " 幂可达 {at_most}。"),
    "why-total": (" The total can reach {at_most}.", " 总和可达 {at_most}。"),
    "why-divide": (" The quotient can reach {at_most}.", " 商可达 {at_most}。"),
    "why-cast": (" The value to convert is {at_most}.", " 待转换的值为 {at_most}。"),
    "why-collective-sum": (" Over all ranks it can add up to {at_most}.", " 所有 rank 累加可达 {at_most}。"),
    "why-log-negative": (" The logarithm of {value} does not exist.", " {value} 没有对数。"),
    "why-root-negative": (" The root of {value} does not exist.", " {value} 没有实数根。"),
    "why-arc-outside": (" {value} is outside of [-1, 1].", " {value} 超出 [-1, 1]。"),
    "why-zero-division": (" Its divisor reaches 0.", " 除数为 0。"),
    "holds": (" {dtypes} would have held it.", " {dtypes} 可以容纳。"),
    "holds-scale": (
        " So would {dtype} with the inputs divided by {scale:,.0f}.",
        " 将输入除以 {scale:,.0f} 后 {dtype} 也可以。",
    ),
    "late-scale": (
        " {call} scales the result down afterwards: scale the inputs before the product instead.",
        " {call} 在之后才缩小结果：应在乘法之前缩放输入。",
    ),
    "where": (
        " {n} of {of} elements, first at {index}{axes}.",
        " {of} 个元素中有 {n} 个，首个位于 {index}{axes}。",
    ),
    "where-first": (" First at {index}{axes}.", " 首个位于 {index}{axes}。"),
    "where-axis": (", {axis} {indices}", "，{axis} {indices}"),
    "suspect": (
        " Suspect: {name} gives {absmax}, {share} of the largest {dtype}{grown}.",
        " 嫌疑：{name} 输出 {absmax}，为 {dtype} 最大值的 {share}{grown}。",
    ),
    "grown": (" (grown x{ratio})", "（增长 x{ratio}）"),
    "spread": (
        " {call} spread it from rank {origin} to rank {ranks}{clean}.",
        " {call} 将其从 rank {origin} 扩散到 rank {ranks}{clean}。",
    ),
    "spread-clean": (
        ", clean before",
        "，此前正常",
    ),
    "repeats": (
        " {n} later call(s) with the same inputs (does|do) the same.",
        " 之后有 {n} 个输入相同的调用结果相同。",
    ),
    "source-line": (" Source: {line}", " 源码：{line}"),
    "steps-behind": (" It also broke the weights of step {steps}.", " 它还破坏了第 {steps} 步的权重。"),
    "what-nan": ("NaN", "NaN"),
    "what-plus": ("Inf", "Inf"),
    "what-minus": ("-Inf", "-Inf"),
    "what-saturated": ("saturated values", "饱和值"),
    "what-join": (" and ", " 和 "),
    "count-of": ("{n} of {of} elements ({percent:.4g} %)", "{of} 个元素中的 {n} 个（{percent:.4g} %）"),
    "count-some": ("at least one element", "至少一个元素"),
    # an origin in few words
    "few-suspect": (
        "{kind}, fed by {suspect} at {share} of {dtype}",
        "{kind}，上游 {suspect} 已达 {dtype} 的 {share}",
    ),
    "few-parameter": ("{kind} in a weight that arrives", "传入的权重含 {kind}"),
    "few-input": ("{kind} in data that arrives", "传入的数据含 {kind}"),
    "few-masked-row": ("{kind}: a whole row is masked", "{kind}：整行被掩码"),
    "few-collective": ("{kind}: the reduction itself overflows", "{kind}：归约本身溢出"),
    "few-uninitialised": ("{kind}: memory that nobody has written", "{kind}：读取了未写入的内存"),
    # next steps
    "next-suspect": (
        "Look at {suspect} first: lower its scale, keep it in {dtypes}, or scale the loss down; then run again.",
        "先看 {suspect}：降低其缩放，改用 {dtypes}，或减小 loss scale，然后重跑。",
    ),
    "next-operator": (
        "Check what feeds {call}; keep this operator in {dtypes}, or scale its inputs down.",
        "检查 {call} 的输入；将该算子保持在 {dtypes}，或缩小其输入。",
    ),
    "next-domain-alone": (
        "Clamp or correct the argument of this call; what made it was not captured.",
        "截断或修正该调用的参数；产生它的调用未被采集。",
    ),
    "next-domain": (
        "Clamp or correct the argument in front of this call: {feeder}.",
        "在该调用之前截断或修正参数：{feeder}。",
    ),
    "next-parameter": (
        "Check the gradients, the loss scale and the optimizer state of the steps before, and the checkpoint if the run was resumed.",
        "检查之前各步的梯度、loss scale 与优化器状态；若为续训，检查 checkpoint。",
    ),
    "next-input": (
        "Check this batch: print the input before the model, or capture the loader's output.",
        "检查该批数据：在模型之前打印输入，或采集加载器的输出。",
    ),
    "next-gap": (
        "Capture the operators in between too: task statistics, level mix, without a list or scope around them.",
        "把中间的算子也采集下来：task statistics、level mix，不要用 list 或 scope 排除它们。",
    ),
    "next-uninitialised": (
        "Find what should write {buffer} (a copy, a collective, an in-place call) and make it run before.",
        "找到本应写入 {buffer} 的调用（拷贝、集合通信或原地操作），并保证其先执行。",
    ),
    "next-masked-row": (
        "Do not mask whole rows: keep one position open for padded queries, or use the dtype's smallest value instead of -Inf.",
        "不要掩码整行：对填充的 query 至少保留一个位置，或用 dtype 最小值代替 -Inf。",
    ),
    "next-legal-inf": (
        "Replace the Inf of {legal} by a large finite value, or select with where() instead of multiplying.",
        "将 {legal} 的 Inf 换成较大的有限值，或用 where() 选择而不是相乘。",
    ),
    "next-collective": (
        "Reduce in float32, or average before the sum: divide the inputs by {n:,.0f}.",
        "以 float32 归约，或先平均再求和：将输入除以 {n:,.0f}。",
    ),
    "next-peer": (
        "Capture all ranks of this step: npulse needs the rank whose input is bad.",
        "采集该步的所有 rank：需要输入异常的那个 rank。",
    ),
    "next-gradient": (
        "Capture the backward operator by operator: level mix or L1.",
        "按算子采集反向：level mix 或 L1。",
    ),
    "next-unknown": (
        "Capture with task statistics and summary_mode statistics, so that Max and Min of all tensors are there.",
        "用 task statistics、summary_mode statistics 采集，以记录所有张量的 Max 和 Min。",
    ),
    "next-saturated": (
        "Keep this operator in {dtypes} or scale its inputs down; run once with INF_NAN_MODE_ENABLE=1 to see Inf instead of "
        "{largest}.",
        "将该算子保持在 {dtypes} 或缩小其输入；可设 INF_NAN_MODE_ENABLE=1 运行一次，使其显示 Inf 而不是 {largest}。",
    ),
    "next-record": (
        "Dump this operator's inputs (acl.json dump_mode all) and look at the operator that feeds it.",
        "dump 该算子的输入（acl.json dump_mode all），并查看其上游算子。",
    ),
    "wider": ("a wider dtype", "更宽的 dtype"),
    # notes
    "legal-note": (
        "Inf or a largest value that is meant, in {n} call(s): {reasons}. First: {first}.",
        "{n} 个调用中的 Inf 或最大值是有意的：{reasons}。第一个：{first}。",
    ),
    "legal-fill": ("written on purpose ({n})", "有意写入（{n}）"),
    "legal-mask": ("an attention mask goes through ({n})", "注意力掩码传递（{n}）"),
    "legal-arrives": ("a mask that arrives ({n})", "传入的掩码（{n}）"),
    "legal-log-zero": ("log of 0 ({n})", "log 0（{n}）"),
    "legal-unwritten": ("memory not yet written ({n})", "尚未写入的内存（{n}）"),
    "masked-rows-note": (
        "{n} whole rows of this mask are closed{rows}: softmax of such a row is NaN with -Inf, and noise with a finite fill.",
        "该掩码有 {n} 整行被关闭{rows}：用 -Inf 时 softmax 为 NaN，用有限值填充时为无意义的均匀值。",
    ),
    "near-note": (
        "nothing overflowed, but {n} tensor(s) beyond {share} of the largest {dtype}; the closest reaches {absmax} ({own}).",
        "没有溢出，但有 {n} 个张量超过 {dtype} 最大值的 {share}；最接近的达到 {absmax}（{own}）。",
    ),
    "next-near": (
        "One doubling overflows: scale these operators down, or keep them in a dtype of wider range ({dtypes}).",
        "再翻倍即溢出：缩小这些算子的数值，或使用范围更大的 dtype（{dtypes}）。",
    ),
    "clipped-note": (
        "{share} of the elements at the end of the {dtype} range (tensors over {limit}: {n}): the scale is too small.",
        "{share} 的元素位于 {dtype} 量程两端（超过 {limit} 的张量：{n}）：scale 过小。",
    ),
    "next-clipped": (
        "Calibrate again with these inputs, or use a scale per token or per channel.",
        "用这些输入重新校准，或使用 per-token / per-channel scale。",
    ),
    "range-note": (
        "its input reaches {absmax}, {ratio} x the range {range} of its scale {scale}: everything beyond is cut off.",
        "其输入达到 {absmax}，是 scale {scale} 量程 {range} 的 {ratio} 倍：超出部分被截断。",
    ),
    "residual-note": (
        "the stream behind the blocks grows x{ratio} per block from block {first} to {last}, up to {absmax}{left}.",
        "各 block 之后的数据流从 block {first} 到 {last} 每层增长 x{ratio}，达到 {absmax}{left}。",
    ),
    "residual-left": (
        "; at this rate {dtype} ends after {n:.0f} more",
        "；照此再过 {n:.0f} 层将超出 {dtype}",
    ),
    "next-residual": (
        "Check the scale of the residual branches (initialisation, normalisation) from block {first} on.",
        "检查从 block {first} 开始的残差分支缩放（初始化、归一化）。",
    ),
    "unknown-note": (
        "of {n} tensor(s) neither Max and Min nor elements are known: not clean, only not seen.",
        "有 {n} 个张量既无 Max、Min 也无元素记录：不算正常，只是未被观测。",
    ),
    "pending-note": (
        "So far: what is looked at is still being written. Pending: {n} tensor file(s) of {calls} call(s) that dump.json does not name, or half written.",
        "阶段性结果：数据仍在写入。待定：{n} 个张量文件（涉及 {calls} 个 dump.json 未记录的调用，或写了一半）。",
    ),
    "pending-none": ("So far: what is looked at is still being written.", "阶段性结果：数据仍在写入。"),
    "next-pending-note": ("Wait until the capture ends.", "请等待采集结束。"),
    "mode-note": (
        "no Inf and no NaN anywhere, but values at exactly the dtype's largest one: the device may run in saturation mode, in which Inf never appears.",
        "没有任何 Inf 和 NaN，但有数值恰好等于 dtype 最大值：设备可能处于饱和模式，此模式下不会出现 Inf。",
    ),
    "next-mode": (
        "Look for values at the limit, not for Inf; INF_NAN_MODE_ENABLE=1 shows Inf on devices that can.",
        "应查找达到极限的值而不是 Inf；在支持的设备上设 INF_NAN_MODE_ENABLE=1 可显示 Inf。",
    ),
    "settings-note": ("settings that decide what one sees: {settings}.", "决定所见内容的设置：{settings}。"),
    "settings-none": (
        "whether the device writes Inf or saturates is not recorded in this run (no environment text with INF_NAN_MODE_ENABLE).",
        "该目录没有记录设备是写 Inf 还是饱和（没有含 INF_NAN_MODE_ENABLE 的环境文本）。",
    ),
    "next-settings": (
        "Tell it: --saturation or --no-saturation, or keep `env > env.txt` beside the dump.",
        "请指明：--saturation 或 --no-saturation，或在 dump 旁保存 `env > env.txt`。",
    ),
    "seed-note": (
        "{name} is read by no tool; what it means is set by {real}.",
        "没有工具读取 {name}；其含义由 {real} 设置。",
    ),
    "more-origins": (
        "{n} more calls begin something of their own; the table has them all.",
        "另有 {n} 个调用各自产生异常；表中全部列出。",
    ),
    "exception-note": (
        "exception dump of {operator} (task {task}, stream {stream}): {state}.",
        "{operator} 的异常 dump（任务 {task}，流 {stream}）：{state}。",
    ),
    "exception-finite": (
        "all its tensors are finite, so its addresses or its tiling are to blame rather than its values",
        "所有张量均有限，问题更可能在地址或 tiling 而非数值",
    ),
    "exception-bad": ("its tensors hold {what}", "其张量含 {what}"),
    "next-exception": (
        "Look at the Memory pane: a sanitizer run names the faulting access.",
        "查看内存面板：用 sanitizer 运行可定位出错的访问。",
    ),
    # gradients
    "grad-reduced": (
        "the gradient of {name} is finite on rank {ranks} before the reduction and has {what} behind it (step {step}): a rank that was not recorded brought it in, or the sum overflowed.",
        "{name} 的梯度在归约前于 rank {ranks} 上有限，归约后含 {what}（第 {step} 步）：由未记录的 rank 引入，或求和溢出。",
    ),
    "grad-rank": (
        "the gradient of {name} has {what} on rank {ranks} before the reduction (step {step}){finite}: it began there.",
        "{name} 的梯度在归约前于 rank {ranks} 上已含 {what}（第 {step} 步）{finite}：始于此。",
    ),
    "grad-others": (
        ", while it is finite on rank {ranks}",
        "，而 rank {ranks} 上有限",
    ),
    "grad-none": (
        "",
        "",
    ),
    "grad-only": (
        "{kind} of {name} has {what} (rank {ranks}, step {step}).",
        "{name} 的 {kind} 含 {what}（rank {ranks}，第 {step} 步）。",
    ),
    "grad-growth": (
        "the norm of {kind} of {name} grows x{ratio} from step {before} to step {step} ({was} to {now}); {n} parameters grow "
        "that much.",
        "{name} 的 {kind} 范数从第 {before} 步到第 {step} 步增长 x{ratio}（{was} 到 {now}）；共 {n} 个参数如此增长。",
    ),
    "grad-slope": (
        "the norm of {kind} grows x{ratio} from layer to layer, from layer {first} to {last} (step {step}).",
        "{kind} 的范数从第 {first} 层到第 {last} 层逐层增长 x{ratio}（第 {step} 步）。",
    ),
    "grad-anomalies": (
        "the monitor itself reports {n} anomalies; the first: {message}",
        "监测工具自身报告 {n} 个异常；第一个：{message}",
    ),
    "next-grad-reduced": (
        "Record grad_unreduced on every rank (monitor: ur.grad), or dump the backward of all ranks.",
        "在每个 rank 上记录 grad_unreduced（monitor），或 dump 所有 rank 的反向。",
    ),
    "next-grad-rank": (
        "Dump the backward of rank {rank} at step {step} (level mix) to get the operator.",
        "dump rank {rank} 第 {step} 步的反向（level mix）以定位算子。",
    ),
    "next-grad-growth": (
        "Clip the gradient norm, lower the learning rate, or look at the data of step {step}.",
        "裁剪梯度范数、降低学习率，或检查第 {step} 步的数据。",
    ),
    # lines for people
    "told-ranks-so-far": (
        "so far: {n:,} of {total:,} ranks, the others are still being read",
        "阶段性结果：已查看 {total:,} 个 rank 中的 {n:,} 个，其余仍在读取",
    ),
    "told-counts": (
        "{calls:,} calls, {tensors:,} tensors, {ranks:,} rank-steps: origin {origin:,}, inherited {inherited:,}, legal {benign:,}",
        "{ranks:,} 个 rank-step，{calls:,} 个调用，{tensors:,} 个张量：源头 {origin:,}，继承 {inherited:,}，合法 {benign:,}",
    ),
    "told-none": ("no NaN, no Inf and no saturated value", "没有 NaN、Inf，也没有饱和值"),
    "told-saturated": (
        "no NaN and no Inf anywhere; {n:,} calls hold saturated values",
        "没有任何 NaN 和 Inf；{n:,} 个调用含饱和值",
    ),
    "told-kinds": (
        "calls with NaN {nan:,}, Inf {inf:,}, saturated values {saturated:,}",
        "含 NaN 的调用 {nan:,}，Inf {inf:,}，饱和值 {saturated:,}",
    ),
    "told-read": (
        "{read:,} tensors read element by element, {told:,} judged by their statistics",
        "{read:,} 个张量逐元素读取，{told:,} 个按统计量判断",
    ),
    "told-settings": ("settings: {settings}", "设置：{settings}"),
    "told-golden": ("left aside as golden: {names}", "作为标杆未检查：{names}"),
    # the upstream table
    "up-title": ("upstream, nearest last", "上游，最近的在最后"),
    "up-of-max": ("of max", "占最大"),
    "up-grown": ("grown", "增长"),
    "up-seen": ("seen", "判断"),
    "up-suspect": ("suspect", "嫌疑"),
    "up-origin": ("origin", "源头"),
    "up-pass": ("hands on", "传递"),
    "up-side": ("other input", "另一输入"),
    "up-forward": ("forward", "前向"),
    "up-order": ("by order", "按顺序"),
    # detail and where
    "inherited-from": ("inherited: it began in {name}{place}.", "继承：始于 {name}{place}。"),
    "inherited-place": (" (rank {rank}, step {step})", "（rank {rank}，step {step}）"),
    "inherited-gap": (
        " Between its last captured maker and this call something was not captured.",
        " 在最近的已采集产生者与本调用之间有未采集的算子。",
    ),
    "row-ok": ("finite.", "有限。"),
    "row-near": ("finite, {share} of the largest {dtype}.", "有限，为 {dtype} 最大值的 {share}。"),
    "row-unknown": ("neither Max and Min nor elements are known.", "既无 Max、Min 也无元素记录。"),
    "row-legal-fill": ("legal: the call was told to write this value.", "合法：该调用被要求写入此值。"),
    "row-legal-mask": ("legal: a mask goes through this call.", "合法：掩码经过该调用。"),
    "row-legal-arrives": ("legal: a mask that arrives from outside.", "合法：从外部传入的掩码。"),
    "row-legal-log-zero": (
        "legal: the logarithm of 0, which many models want.",
        "合法：0 的对数，许多模型有意如此。",
    ),
    "row-legal-unwritten": (
        "memory that nobody has written yet: its content means nothing.",
        "尚未写入的内存：内容没有意义。",
    ),
    "label-artifact": ("file", "文件"),
    "label-tensor": ("tensor", "张量"),
    "label-source": ("source", "源码"),
    "label-basis": ("basis", "依据"),
    "label-module": ("module", "模块"),
    "label-rank": ("rank", "rank"),
    "label-step": ("step", "step"),
    "label-row": ("row", "行"),
    "label-places": ("places", "位置"),
    "at-byte": ("byte {n}", "字节 {n}"),
    "basis-statistics": (
        "recorded Max and Min; how many and where is not known",
        "记录的 Max 和 Min；数量和位置未知",
    ),
    "basis-tensor": ("all elements", "全部元素"),
    "basis-flag": ("the tool's own NaN check", "工具自带的 NaN 检查"),
    "basis-none": ("nothing was recorded", "没有记录"),
    # axes
    "axis-batch": ("batch", "批"),
    "axis-head": ("head", "头"),
    "axis-row": ("row", "行"),
    "axis-column": ("column", "列"),
    "axis-element": ("element", "元素"),
    # status bits of overflow records
    "bit-int-negate": ("negation of the smallest integer", "对最小整数取负"),
    "bit-int-arithmetic": ("integer arithmetic", "整数运算"),
    "bit-float": ("floating point", "浮点运算"),
    "bit-float-to-unsigned": ("negative float to unsigned", "负浮点转无符号"),
    "bit-to-fp16": ("conversion to float16", "转换为 float16"),
    "bit-cube": ("CUBE accumulation", "CUBE 累加"),
    # what a column says
    "figure-operator": (
        "the call: module, API or kernel, in execution order",
        "调用：模块、API 或 kernel，按执行顺序",
    ),
    "figure-io": ("which input, output or parameter of the call", "调用的哪个输入、输出或参数"),
    "figure-absmax": ("largest magnitude", "最大绝对值"),
    "figure-headroom_ratio": (
        "absmax over the largest value of the dtype; {near_ratio:g} and more is close to the limit",
        "absmax 与 dtype 最大值之比；达到 {near_ratio:g} 即接近极限",
    ),
    "figure-nan": ("NaN elements", "NaN 元素数"),
    "figure-plus_inf": ("+Inf elements", "+Inf 元素数"),
    "figure-minus_inf": ("-Inf elements", "-Inf 元素数"),
    "figure-saturated": ("elements at exactly the dtype's largest value", "恰好等于 dtype 最大值的元素数"),
    "figure-near_limit": (
        "elements beyond {near_ratio:g} of the largest value",
        "超过最大值 {near_ratio:g} 的元素数",
    ),
    "figure-subnormal": ("elements below the smallest normal number", "小于最小正规数的元素数"),
    "figure-growth_ratio": (
        "absmax of the output over that of the largest data input",
        "输出 absmax 与最大数据输入 absmax 之比",
    ),
    "figure-upstream": ("calls from the origin, 0 is the origin itself", "距源头的调用数，0 为源头本身"),
    "figure-role": ("origin, inherited, benign, suspect, unknown, ok", "源头、继承、合法、嫌疑、未知、正常"),
    "figure-basis": ("what it rests on: elements, statistics, a flag", "依据：元素、统计量或标志"),
    "figure-first_index": ("index of the first bad element", "第一个异常元素的下标"),
    "figure-module": ("the module around the call", "调用所在模块"),
    "saturated-off": (
        "finite inputs{inputs}, and {n} of the output at exactly +-{largest}, the largest {dtype}. The device is said to write Inf ({told}), so this is a clamp, a coincidence, or the setting did not reach the device.",
        "输入有限{inputs}，输出中 {n} 恰好等于 ±{largest}（{dtype} 最大值）。已说明设备会写 Inf（{told}），因此这是截断、巧合，或该设置未生效。",
    ),
    "next-saturated-off": (
        "Look for a clamp to the dtype's limits in this call or in front of it; check that INF_NAN_MODE_ENABLE reached the process.",
        "检查该调用或其之前是否截断到 dtype 极限；确认 INF_NAN_MODE_ENABLE 已在进程中生效。",
    ),
    "mode-on-note": (
        "the device saturates ({told}): Inf never appears, values at exactly the dtype's largest one stand for it.",
        "设备处于饱和模式（{told}）：不会出现 Inf，恰好等于 dtype 最大值的数值即代表溢出。",
    ),
    "mode-user": (
        "as was said",
        "用户指明",
    ),
    "next-collective-odd": (
        "Wait for the call before its result is read (handle.wait(), stream synchronisation), and check that no buffer is used again too early.",
        "在读取结果之前等待该调用完成（handle.wait()、流同步），并检查缓冲区是否被过早复用。",
    ),
    "peer-or-sum": (
        "a finite value goes in on this rank{inputs} and {what} comes back, and not every rank that took part was captured{missing}: a peer gave it, or the sum with what the peers gave is too large for the dtype.",
        "本 rank 输入有限{inputs}，返回 {what}，且并非所有参与的 rank 都被采集{missing}：由对端给出，或与对端的值求和后超出 dtype。",
    ),
    "peer-given": (
        "finite values go in on this rank{inputs} and {what} comes back, and of no captured rank it is known that it gave it: a value that was not recorded, or the transfer itself.",
        "本 rank 输入有限{inputs}，返回 {what}，已采集的 rank 中没有一个被确认给出该值：未记录的值，或传输本身。",
    ),
    "next-parameter-first": (
        "Check the weights as they are loaded or initialised: print their extremes before the first step.",
        "检查加载或初始化后的权重：在第一步之前打印其极值。",
    ),
    "told-monitor": (
        "{rows:,} rows of monitor files: {bad:,} with NaN or Inf, {unknown:,} without statistics",
        "监测文件 {rows:,} 行：含 NaN 或 Inf {bad:,} 行，无统计量 {unknown:,} 行",
    ),
    "told-records": (
        "{n:,} overflow records of the device",
        "设备溢出记录 {n:,} 条",
    ),
    "told-nothing": (
        "nothing was recorded in it: no tensor to look at",
        "其中没有记录任何张量，无可检查",
    ),
    "legal-exact": (
        "a value that fits exactly ({n})",
        "恰好可容纳的值（{n}）",
    ),
    "row-legal-exact": (
        "legal: the value was this large before and fits the dtype exactly.",
        "合法：该值原本就这么大，dtype 恰好可以容纳。",
    ),
    "next-near-wide": (
        "One doubling overflows: scale these operators down.",
        "再翻倍即溢出：缩小这些算子的数值。",
    ),
    "inputs-io": (
        " in {io}",
        "，位于 {io}",
    ),
    "next-nan": (
        "Check the arguments of {call} and what feeds it; recompute it on the CPU from its inputs: finite operands of this size need no wider dtype.",
        "检查 {call} 的参数及其输入；用其输入在 CPU 上重算：这种量级的有限操作数无需更宽的 dtype。",
    ),
    "next-elements": (
        ' Capture it with task tensor (list: ["{call}"]) to see which elements.',
        ' 用 task tensor 采集（list: ["{call}"]）查看具体元素。',
    ),
    "next-record-read": (
        "Look at the operator that feeds it, and keep it in a wider dtype or scale its inputs down.",
        "查看其上游算子，将其保持在更宽的 dtype 或缩小其输入。",
    ),
    "bit-undocumented": (
        "{bit}, meaning not documented",
        "{bit}，含义未公开",
    ),
    "record-nothing": (
        ": nothing of it was dumped that could be looked at",
        "：没有可检查的 dump",
    ),
}

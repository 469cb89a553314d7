"""Texts of the checks without a golden side: (en, zh). Figures are filled in by name."""

from __future__ import annotations

OWN_TEXTS: dict[str, tuple[str, str]] = {
    "collective-one": (
        "its result ({output}) is not the same on all {n} ranks: rank {ranks} has another one{where}.",
        "其结果（{output}）在 {n} 个 rank 上不一致：rank {ranks} 不同{where}。",
    ),
    "collective-differs": (
        "its result ({output}) is not the same on the {n} ranks {ranks}{where}; which of them is wrong cannot be told.",
        "其结果（{output}）在 {n} 个 rank（{ranks}）上不一致{where}；无法判断哪一个有误。",
    ),
    "collective-rounding": (
        "its result ({output}) differs by rounding between the {n} ranks, on rank {ranks}{where}: copies of what is "
        "made of it drift apart.",
        "其结果（{output}）在 {n} 个 rank 之间存在舍入差异，rank {ranks}{where}：由它得到的副本会逐渐偏离。",
    ),
    "collective-sum": (
        "its result is not what the inputs of its {n} ranks give ({op}): off by {times_rounding} times what rounding "
        "allows ({basis}).",
        "其结果并非 {n} 个 rank 的输入所应得到的（{op}）：超出舍入允许范围 {times_rounding} 倍（{basis}）。",
    ),
    "collective-handed": (
        "its result ({output}) is not what rank {rank} gave to it{where}.",
        "其结果（{output}）不是 rank {rank} 提供的内容{where}。",
    ),
    "collective-parts": (
        "its results together are not what its {n} ranks gave to it ({basis}).",
        "各 rank 的结果合起来并非 {n} 个 rank 所提供的内容（{basis}）。",
    ),
    "replica-one": (
        "rank {ranks} holds another value than rank {other}{where}, and is a copy of it in most other parameters; "
        "{n} parameter(s) in all.",
        "rank {ranks} 的值与 rank {other} 不同{where}，而其他大多数参数互为副本；共 {n} 个参数。",
    ),
    "replica": (
        "ranks that are copies of each other hold other values: rank {ranks} against rank {other}{where}; {n} "
        "parameter(s) in all.",
        "互为副本的 rank 持有不同的值：rank {ranks} 对比 rank {other}{where}；共 {n} 个参数。",
    ),
    "peers": (
        "ranks {ranks} add up their activations, so they have to be given the same data; this is not what rank {other} "
        "was given{where}.",
        "rank {ranks} 会累加各自的激活，因此输入数据必须相同；此处与 rank {other} 的输入不同{where}。",
    ),
    "handover": (
        "{input} is not what {producer} wrote in the same run: {n} elements differ in one contiguous block, "
        "[{first}, {last}] = {n_bytes} bytes, the other {equal} are bit for bit the same: memory was overwritten "
        "in between, or an operator that was not captured wrote this part.",
        "{input} 与同一次运行中 {producer} 的输出不同：{n} 个元素在一个连续块 [{first}, {last}] = {n_bytes} 字节内不同，"
        "其余 {equal} 个逐位相同：中间内存被改写，或未采集的算子写入了该部分。",
    ),
    "handover-writer": (
        "{input} is not what {producer} wrote in the same run: {n} elements differ in one contiguous block, "
        "[{first}, {last}] = {n_bytes} bytes, the other {equal} are the same. {writer} ran in between and writes "
        "in place to as many elements: it may have been meant.",
        "{input} 与同一次运行中 {producer} 的输出不同：{n} 个元素在一个连续块 [{first}, {last}] = {n_bytes} 字节内不同，"
        "其余 {equal} 个相同。其间运行的 {writer} 原地写入同样多的元素：可能是有意为之。",
    ),
    "repeat-elements": (
        "was given the same as {first}, element by element, and made something else ({n} such call(s)): it is not "
        "deterministic.",
        "与 {first} 的输入逐元素相同，输出却不同（共 {n} 次）：该算子不具确定性。",
    ),
    "repeat-checksum": (
        "was given the same as {first}, by checksum, and made something else ({n} such call(s)): it is not "
        "deterministic.",
        "与 {first} 的输入校验和相同，输出却不同（共 {n} 次）：该算子不具确定性。",
    ),
    "repeat-statistics": (
        "was given inputs with the statistics of {first} and made something else ({n} such call(s)): it is not "
        "deterministic, or the order of the elements is another one.",
        "输入统计量与 {first} 相同，输出却不同（共 {n} 次）：该算子不具确定性，或元素顺序不同。",
    ),
    "rounds-same-program": (
        "inputs equal, output differs between two runs of the same program ({basis}): it is not deterministic. "
        "{n} call(s) in all (is|are) given the same and (makes|make) something else.",
        "同一程序的两次运行中输入相同而输出不同（{basis}）：该算子不具确定性。共有 {n} 个调用输入相同而输出不同。",
    ),
    "rounds": (
        "all before it is equal on both sides ({basis}), as only two runs on one kind of device are; its inputs are "
        "equal and its output differs. If both ran the same program it is not deterministic ({n} such call(s)).",
        "在它之前两侧完全相同（{basis}），只有同类设备上的两次运行才会如此；其输入相同而输出不同。若两次运行同一程序，"
        "则该算子不具确定性（共 {n} 个这样的调用）。",
    ),
    "cast-infinite": (
        "the cast from {before} to {behind} made finite numbers infinite ({n} cast(s) that (loses|lose) numbers).",
        "从 {before} 到 {behind} 的转换使有限值变为无穷（共 {n} 次转换丢失数值）。",
    ),
    "cast-flushed": (
        "the cast from {before} to {behind} made {flushed} of {of} numbers zero and {subnormal} subnormal ({n} "
        "cast(s) that (loses|lose) numbers).",
        "从 {before} 到 {behind} 的转换使 {of} 个数中的 {flushed} 个变为零、{subnormal} 个变为次正规数（共 {n} 次转换丢失数值）。",
    ),
    "other-dtype": (
        "{n} operator(s) (runs|run) in {dtype_target} on the target and in {dtype_golden} on the golden side; {within} of {of} "
        "outputs are within the rounding of {coarse}.",
        "{n} 个算子在目标侧为 {dtype_target}，在标杆侧为 {dtype_golden}；{of} 个输出中 {within} 个在 {coarse} 的舍入范围内。",
    ),
    "other-dtype-read": (
        "{n} operator(s) (runs|run) in {dtype_target} on the target and in {dtype_golden} on the golden side; {within} of {of} "
        "outputs are within the rounding of {coarse}. The cast alone explains {share} % of the squared error of the {n_read} "
        "that differ most (worst: {worst}); {n_equal_after_cast} are equal after it.",
        "{n} 个算子在目标侧为 {dtype_target}，在标杆侧为 {dtype_golden}；{of} 个输出中 {within} 个在 {coarse} 的舍入范围内。"
        "仅类型转换即可解释差异最大的 {n_read} 个输出平方误差的 {share} %（最大：{worst}）；其中 {n_equal_after_cast} 个转换后相等。",
    ),
    "other-dtype-lost": (
        "{n} operator(s) (runs|run) in {dtype_target} on the target and in {dtype_golden} on the golden side, and {coarse} cannot "
        "hold what they make: {n_infinite} numbers become infinite and {n_flushed} zero (worst: {worst}). The cast explains "
        "{share} % of the rest of the squared error.",
        "{n} 个算子在目标侧为 {dtype_target}，在标杆侧为 {dtype_golden}，且 {coarse} 无法表示其结果：{n_infinite} 个数变为无穷、"
        "{n_flushed} 个变为零（最大：{worst}）。类型转换可解释其余平方误差的 {share} %。",
    ),
    "map-told": (
        "Precision map: {n} outputs judged by the dtype of their operator",
        "精度映射：{n} 个输出按其算子的 dtype 判断",
    ),
    "map-unused": (
        "Precision map: no call fits {globs} ('*NAME*' selects by a part of a name)",
        "精度映射：没有调用匹配 {globs}（按名称的一部分选择用 '*NAME*'）",
    ),
    "where-block": (
        " (elements {first} to {last}, {n} of {of} differ, one contiguous block of {n_bytes} bytes)",
        "（元素 {first} 至 {last}，{of} 个中 {n} 个不同，连续块共 {n_bytes} 字节）",
    ),
    "where-elements": (
        " ({n} of {of} elements differ, from {first} to {last})",
        "（{of} 个元素中 {n} 个不同，范围 {first} 至 {last}）",
    ),
    "where-record": (" (by {basis})", "（按 {basis}）"),
    "unfinished": (
        "The checks without a golden side are not complete: there are more calls than they look at.",
        "无标杆检查未全部完成：调用数量超出检查上限。",
    ),
    "inputs-data": (
        "the two captures were given other data here{how}.",
        "两份采集在此处的输入数据不同{how}。",
    ),
    "inputs-parameter": ("this parameter differs{how}.", "该参数不同{how}。"),
    "inputs-unknown": (
        "of {n} input(s) or parameter(s) it cannot be told whether they are equal: their content was not recorded, or "
        "one side lacks them.",
        "有 {n} 个输入或参数无法判断是否相同：未记录其内容，或仅一侧存在。",
    ),
    "inputs-none": (
        "no input and no parameter of both captures was found to compare.",
        "未找到可比较的输入或参数。",
    ),
    "inputs-told": (
        "{data} inputs and {parameters} parameters looked at, before any operator: {equal} equal",
        "已比较算子运行前的 {data} 个输入与 {parameters} 个参数：{equal} 个相同",
    ),
    "inputs-hashes": (
        "Hash of the input: target {target}, golden {golden}",
        "输入哈希：目标 {target}，标杆 {golden}",
    ),
    # next steps
    "next-inputs-data": (
        "Feed both runs the same batch from a file (npulse capture --keep-input), shuffle off, seeds fixed, before "
        "anything else is compared",
        "先让两次运行读取同一文件中的 batch（npulse capture --keep-input）、关闭 shuffle、固定种子，再比较其他内容",
    ),
    "next-inputs-parameter": (
        "Load the same checkpoint on both sides; where it was converted, look at dtype and order of elements",
        "两侧加载同一检查点；若经过转换，检查 dtype 与元素顺序",
    ),
    "next-inputs-unknown": (
        "Capture with task tensor, or summary_mode md5: statistics of integers do not show their content",
        "使用 task tensor 或 summary_mode md5 采集：整数的统计量看不出内容",
    ),
    "next-collective": (
        "Look at the links of that rank (hccn_tool, plog), run again with HCCL_DETERMINISTIC=true, and check that the "
        "buffer is not written to while the collective runs (wait on the work, synchronise streams)",
        "检查该 rank 的链路（hccn_tool、plog），设置 HCCL_DETERMINISTIC=true 重跑，并确认集合通信期间缓冲区未被写入"
        "（等待 work、同步流）",
    ),
    "next-collective-rounding": (
        "HCCL_DETERMINISTIC=true fixes the order in which ranks are added up",
        "HCCL_DETERMINISTIC=true 可固定各 rank 的累加顺序",
    ),
    "next-replica": (
        "Compare the checkpoint and seed of these ranks; a broadcast of the parameters at the start makes them equal; "
        "where they drifted apart, look for the first gradient whose all_reduce differs",
        "比较这些 rank 的检查点与种子；启动时广播参数可使其一致；若逐渐偏离，查找首个 all_reduce 结果不同的梯度",
    ),
    "next-handover": (
        "Run with ASCEND_LAUNCH_BLOCKING=1: if it vanishes a stream is not synchronised; then npulse memory over a "
        "run with mssanitizer to find who writes there",
        "设置 ASCEND_LAUNCH_BLOCKING=1 重跑：若消失则缺少流同步；再用 mssanitizer 采集并执行 npulse memory 找出写入者",
    ),
    "next-cast-infinite": (
        "Scale before the cast, or keep this layer in bfloat16 or float32",
        "转换前先缩放，或将该层保持为 bfloat16 / float32",
    ),
    "next-cast-flushed": (
        "A loss scale lifts small gradients over the smallest number; or keep this layer in bfloat16 or float32",
        "使用 loss scale 抬升小梯度；或将该层保持为 bfloat16 / float32",
    ),
    "next-other-dtype": (
        "Run both sides in one dtype to see what is left, or judge by --precision-map what is meant to differ",
        "两侧使用同一 dtype 查看剩余误差，或用 --precision-map 指定有意不同的算子的判断精度",
    ),
    "switch-collective": (
        "HCCL_DETERMINISTIC=true (order of the reduction over ranks)",
        "HCCL_DETERMINISTIC=true（固定跨 rank 归约顺序）",
    ),
    "switch-random": (
        "Fix the seed (msprobe seed_all, torch.manual_seed, torch_npu.npu.manual_seed_all) or switch dropout off",
        "固定随机种子（msprobe seed_all、torch.manual_seed、torch_npu.npu.manual_seed_all）或关闭 dropout",
    ),
    "switch-matmul": (
        "torch.use_deterministic_algorithms(True); for matmul also CLOSE_MATMUL_K_SHIFT=1",
        "torch.use_deterministic_algorithms(True)；matmul 另设 CLOSE_MATMUL_K_SHIFT=1",
    ),
    "switch-attention": (
        "torch.use_deterministic_algorithms(True); attention with dropout also needs a fixed seed",
        "torch.use_deterministic_algorithms(True)；带 dropout 的 attention 还需固定随机种子",
    ),
    "switch-atomic": (
        "torch.use_deterministic_algorithms(True): it adds up in an order that is not fixed",
        "torch.use_deterministic_algorithms(True)：其累加顺序不固定",
    ),
    "switch-operator": (
        "torch.use_deterministic_algorithms(True), HCCL_DETERMINISTIC=true and a fixed seed (msprobe "
        "seed_all(mode=True) sets all of them); if it stays, look for memory that is read before it is written",
        "torch.use_deterministic_algorithms(True)、HCCL_DETERMINISTIC=true 并固定种子（msprobe seed_all(mode=True) "
        "一次全部设置）；若仍存在，检查是否读取了未写入的内存",
    ),
    # what was looked at
    "told-checks": (
        "Checked without a golden side: {parts}",
        "无标杆检查：{parts}",
    ),
    "told-collectives": ("{n} collective(s) over ranks", "{n} 次跨 rank 集合通信"),
    "told-parameters": ("{n} parameter(s) over ranks", "{n} 个跨 rank 参数"),
    "told-inputs": ("{n} input(s) without a producer", "{n} 个没有生产者的输入"),
    "told-repeated": ("{n} repeated call(s)", "{n} 次重复调用"),
    "told-casts": ("{n} cast(s)", "{n} 次类型转换"),
    "told-hash": ("Hash of the input: {hash}", "输入哈希：{hash}"),
}

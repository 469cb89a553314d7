"""Words about several ranks, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "slow-computing": (
        "{label} holds {others} up: {own} us of computing a step against a {typical_word} of {typical} us ({excess:+.2f} %), {least}. {victims}",
        "{label} 拖慢{others}：每步计算 {own} us，{typical_word} {typical} us（{excess:+.2f} %），{least}。{victims}",
    ),
    "slow-host": (
        "{label} holds {others} up: it computes as much as they do but idles, {own} us of computing and idle a step against a {typical_word} of {typical} us ({excess:+.2f} %), {least}. {victims}",
        "{label} 拖慢{others}：计算量与它们相同但空闲更多，每步计算加空闲 {own} us，{typical_word} {typical} us（{excess:+.2f} %），{least}。{victims}",
    ),
    "others": ("the others", "全组"),
    "others-stage": ("the other ranks of pipeline stage {stage}", "流水线第 {stage} 级的其他卡"),
    "word-median": ("median", "中位数"),
    "word-least": ("least", "最小值"),
    "least-waiting": (
        "and the least communication of all that is not hidden ({exposed} us)",
        "且未被掩盖的通信最少（{exposed} us）",
    ),
    "not-least-waiting": (
        "though not the least communication ({exposed} us): its peers may not wait for it",
        "但未被掩盖的通信并非最少（{exposed} us）：其他卡未必在等它",
    ),
    "no-waiting": ("its communication was not recorded", "未记录其通信耗时"),
    "victims": (
        "Ranks that wait for it: {n}; {most} with the most communication ({most_us} us) is a victim, not the cause.",
        "有 {n} 卡在等它；通信耗时最大的 {most}（{most_us} us）是受害者而非原因。",
    ),
    "victims-none": ("No rank is seen to wait for it.", "未见其他卡在等它。"),
    "next-slow-computing": (
        "On {label} look for what the others do not have: a lower AI core clock or a hot card (npu-smi info -t common -i {rank}), more tokens or longer sequences (data balance, expert load), another process on the card. Compare its top operators with a peer's: npulse performance RUN --rank {rank}.",
        "在 {label} 上查找与其他卡的差异：AI Core 降频或过热（npu-smi info -t common -i {rank}）、数据更多或序列更长（数据均衡、专家负载）、卡上有其他进程。对比其算子耗时：npulse performance RUN --rank {rank}。",
    ),
    "next-slow-host": (
        "The host of {label} is late: bind its process to cores near the card (CPU affinity, NUMA), look at its data loading, garbage collection and other load on that host. npulse performance RUN --rank {rank} shows its idle gaps.",
        "{label} 的主机侧偏慢：将进程绑定到靠近该卡的 CPU 核（绑核、NUMA），检查其数据加载、GC 及该主机的其他负载。npulse performance RUN --rank {rank} 可查看空闲间隙。",
    ),
    "late": (
        "{label} comes last to {n} of {all} collectives in which one stands out: the others wait up to {wait:.3f} ms in {op}.",
        "在 {all} 个能区分先后的集合通信中，{label} 有 {n} 次最后到达：其他卡在 {op} 中最多等待 {wait:.3f} ms。",
    ),
    "next-late": (
        "Look at what {label} does before its collectives: npulse performance RUN --rank {rank}.",
        "查看 {label} 在集合通信之前的工作：npulse performance RUN --rank {rank}。",
    ),
    "spread": (
        "Ranks differ in {part} by {percent:.1f} % of the mean ({basis}), but no single rank is slow by its own work.",
        "各卡的{part}差异达均值的 {percent:.1f} %（{basis}），但按自身工作量看没有单独的慢卡。",
    ),
    "part-computing": ("computing", "计算"),
    "part-exposed": ("communication that is not hidden", "未掩盖通信"),
    "part-free": ("idle time", "空闲时间"),
    "basis-all ranks": ("all ranks; how the job is split was not recorded", "全部卡；未记录并行切分方式"),
    "basis-pipeline stage": ("ranks of pipeline stage {stage}", "流水线第 {stage} 级的各卡"),
    "basis-one pipeline stage": ("all ranks, one pipeline stage", "全部卡，单流水级"),
    "next-spread": (
        "Uneven work: compare batch and sequence lengths of the ranks, and the split of layers over pipeline stages.",
        "负载不均：对比各卡的 batch 与序列长度，以及流水级的层切分。",
    ),
    "not exported": (
        "{label} was never exported: only raw data lies in {name}. It is left out of the comparison of ranks.",
        "{label} 未解析导出：{name} 中只有原始数据。比较各卡时将其排除。",
    ),
    "older-session": (
        "{label} was profiled more than once here: {name} is older and is not compared with the other ranks.",
        "{label} 在此有多次采集：{name} 较旧，不参与各卡比较。",
    ),
    "next-older-session": (
        "Nothing, where the newest session is meant; else move the others out of the folder.",
        "若以最新会话为准则无需处理；否则请将其他会话移出该目录。",
    ),
    "tool-slow-rank": (
        "slow_rank of msprof-analyze counts rank {rank} first: it held up {n} of {all} communications.",
        "msprof-analyze 的 slow_rank 将 rank {rank} 排在首位：{all} 次通信中拖慢 {n} 次。",
    ),
    "tool-bottlenecks": (
        "communication_bottleneck of msprof-analyze lists {n} operations, the longest {op} with {time}; it names rank {rank} slow in {n_rank}, none in {n_none}.",
        "msprof-analyze 的 communication_bottleneck 列出 {n} 个操作，最长为 {op}（{time}）；其中 {n_rank} 个指 rank {rank} 慢，{n_none} 个未指明。",
    ),
    "tool-bottlenecks-nobody": (
        "communication_bottleneck of msprof-analyze lists {n} operations, the longest {op} with {time}; it names no slow rank.",
        "msprof-analyze 的 communication_bottleneck 列出 {n} 个操作，最长为 {op}（{time}）；未指明慢卡。",
    ),
    "tool-free": (
        "free_analysis of msprof-analyze lists {n} gaps, {time} together (its longest, not all); most of it: {reason} ({most}).",
        "msprof-analyze 的 free_analysis 列出 {n} 个间隙，共 {time}（仅最长的若干个）；主要原因：{reason}（{most}）。",
    ),
    "no times": (
        "{label} has no times that can be compared with the others' ({name}); it is left out.",
        "{label} 没有可比较的耗时（{name}）；已排除。",
    ),
    "no computing": (
        "{label} recorded no real work: {own} us of computing a step against a median of {typical} us. It is left out of the comparison of ranks.",
        "{label} 未采集到有效工作：每步计算 {own} us，而中位数为 {typical} us。比较各卡时将其排除。",
    ),
    "fewer steps": (
        "{label} has fewer steps than the others; only common steps are compared.",
        "{label} 的 step 比其他卡少；只比较共同的 step。",
    ),
    "next-not exported": (
        'Export it first: in Python, torch_npu.profiler.profiler.analyse("{name}"); of a msprof session: msprof --export=on --output={name}.',
        '先解析导出：Python 中执行 torch_npu.profiler.profiler.analyse("{name}")；msprof 会话用 msprof --export=on --output={name}。',
    ),
    "next-no work": (
        "Start the profiler on every rank in the same step (schedule with the same wait and warmup), then capture again.",
        "让所有卡在同一 step 开始采集（schedule 的 wait、warmup 一致），然后重新采集。",
    ),
    "slow-link": (
        "From rank {source} to rank {target} over {transport}: {rate:.2f} GB/s, {percent:.0f} % of the {usual:.2f} GB/s of the other links of its kind ({n}); {lost:.2f} ms lost.",
        "rank {source} 到 rank {target}（{transport}）：{rate:.2f} GB/s，仅为同类其他 {n} 条链路 {usual:.2f} GB/s 的 {percent:.0f} %；损失 {lost:.2f} ms。",
    ),
    "next-slow-link": (
        "Check the link itself: hccn_tool -i {source} -link -g and -stat -g for errors; cabling, switch port and PFC for RDMA; then whether another job shares it.",
        "检查链路本身：hccn_tool -i {source} -link -g 与 -stat -g 查看错误计数；RDMA 检查线缆、交换机端口与 PFC；再看是否有其他任务共用。",
    ),
    "small-packets": (
        "{percent:.0f} % of the transfers over {transport} ({n:,}) are smaller than {limit:g} MB: latency sets their time ({time:.2f} ms), not the link.",
        "{transport} 上 {percent:.0f} % 的传输（{n:,} 次）小于 {limit:g} MB：耗时（{time:.2f} ms）由时延而非带宽决定。",
    ),
    "next-small-packets": (
        "Move more at once: larger gradient buckets (bucket_cap_mb), fused all-gather and reduce-scatter, gradient accumulation, a larger micro batch.",
        "每次传更多：增大梯度 bucket（bucket_cap_mb）、合并 all-gather/reduce-scatter、梯度累积、增大 micro batch。",
    ),
    "retransmission": (
        "{op} took at least {least:.0f} ms on every rank, its transfer over RDMA up to {most:.0f} ms: packets were lost and sent again.",
        "{op} 在所有卡上至少耗时 {least:.0f} ms，其 RDMA 传输最长 {most:.0f} ms：发生丢包重传。",
    ),
    "next-retransmission": (
        "Check the RoCE network: PFC and ECN settings, HCCL_RDMA_TC (132) and HCCL_RDMA_SL (4) on every host, error counters of ports.",
        "检查 RoCE 网络：PFC、ECN 配置，各主机的 HCCL_RDMA_TC（132）与 HCCL_RDMA_SL（4），端口错误计数。",
    ),
    "sizes": (
        "In {op} the ranks move different sizes; the first of {n} such collectives.",
        "{op} 中各卡数据量不同；共有 {n} 个这样的集合通信，此为第一个。",
    ),
    "next-sizes": (
        "Compare the shapes of that call on the ranks; uneven expert load and ragged batches are the usual reasons.",
        "对比各卡该次调用的 shape；常见原因是专家负载不均或 batch 不齐。",
    ),
}

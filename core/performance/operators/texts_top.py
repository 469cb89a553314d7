"""Words about what takes the time on the device, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    # what takes the time
    "top": (
        "{n_calls} of {n_types} take {total} of kernel time{wall}: {first}. {reading}",
        "{n_calls}（{n_types}）共耗 kernel 时间 {total}{wall}：{first}。{reading}",
    ),
    "top-wall": (", the wall time is {wall}", "，墙钟时间 {wall}"),
    "top-part": ("{name} {time} ({share:.2f} %)", "{name} {time}（{share:.2f} %）"),
    "n-calls": ("{n:,} calls", "{n:,} 次调用"),
    "n-calls-one": ("1 call", "1 次调用"),
    "n-calls-unknown": ("calls", "调用"),
    "n-types": ("{n:,} types", "{n:,} 种算子类型"),
    "n-types-one": ("1 type", "1 种算子类型"),
    "reading-few": (
        "Only {n_types} in all; 80 % are in {n_most}.",
        "总共只有 {n_types}，80 % 集中在 {n_most}。",
    ),
    "reading-concentrated": (
        "Concentrated: the first 20 types have {types:.1f} %, 80 % are in {n_most}{calls}.",
        "耗时集中：前 20 类占 {types:.1f} %，80 % 集中在 {n_most}{calls}。",
    ),
    "reading-scattered": (
        "Scattered: the first 20 types have only {types:.1f} %, it takes {n_most} to make 80 %{calls}.",
        "耗时分散：前 20 类仅占 {types:.1f} %，需 {n_most}才占 80 %{calls}。",
    ),
    "reading-between": (
        "Neither concentrated nor scattered: the first 20 types have {types:.1f} %{calls}.",
        "既不集中也不分散：前 20 类占 {types:.1f} %{calls}。",
    ),
    "reading-calls": (
        "; the 20 longest single calls have {calls:.1f} %",
        "；单次最长的 20 个调用占 {calls:.1f} %",
    ),
    "next-concentrated": (
        "Tune {name} first: look at its longest call and what bounds it, then profile that kernel alone: msprof op --kernel-name={kernel} --aic-metrics=Default ./app. If the device idles much, its launch gaps come first.",
        "优先优化 {name}：查看其最长的一次调用及瓶颈类型，再单独采集该 kernel：msprof op --kernel-name={kernel} --aic-metrics=Default ./app。若设备空闲很多，应先处理下发间隙。",
    ),
    "next-communication": (
        "The first one is communication ({name}): look at what of it is not hidden behind computing, and at ranks that come late, before its own bandwidth.",
        "首位是通信（{name}）：先看其中未被计算掩盖的部分以及是否有慢卡，再看通信带宽本身。",
    ),
    "next-aicpu": (
        "The first one ran on the AI CPU ({name}): see the finding performance.aicpu, which says what sent it there.",
        "首位算子运行在 AI CPU（{name}）：原因与处理见 performance.aicpu。",
    ),
    "next-aicpu-sums": (
        "The first one ran on the AI CPU ({name}): get it onto the AI cores first (data types, another API).",
        "首位算子运行在 AI CPU（{name}）：先让它改到 AI Core 执行（调整数据类型或更换 API）。",
    ),
    "next-scattered": (
        "No single operator is worth much: use fused operators (fusion passes, torch_npu.npu_* fused APIs), graph mode, and look at how fast the host launches.",
        "单个算子收益有限：使用融合算子（融合规则、torch_npu.npu_* 融合接口）、图模式，并检查主机侧下发速度。",
    ),
    # classes
    "classes": ("Kernel time by class: {parts}.{contradicted}", "kernel 时间构成：{parts}。{contradicted}"),
    "class-part": ("{name} {share:.2f} %", "{name} {share:.2f} %"),
    "contradicted": (
        " Type and pipes do not agree for {share:.2f} % of the kernel time: {names}.",
        "占 kernel 时间 {share:.2f} % 的算子类型与流水占比不一致：{names}。",
    ),
    "contradicted-one": (
        "{name} is {by_type} by type and {by_pipes} by pipes",
        "{name} 按类型为{by_type}而按流水为{by_pipes}",
    ),
    "class-cube": ("cube computing", "矩阵计算"),
    "class-vector": ("vector computing", "向量计算"),
    "class-move": ("moving", "搬运"),
    "class-communication": ("communication", "通信"),
    "class-aicpu": ("AI CPU", "AI CPU"),
    "class-unknown": ("not known", "类别未知"),
    "next-classes-move": (
        "Moving has {share:.1f} %: look for format conversions, transposes and casts that a consistent format and data type would spare, and for copies of what could be a view.",
        "搬运占 {share:.1f} %：检查可通过统一格式与数据类型省去的 TransData、Transpose、Cast，以及可改为视图的拷贝。",
    ),
    "next-classes": (
        "npulse performance RUN --by type shows each type with its class.",
        "npulse performance RUN --by type 可查看每个类型及其类别。",
    ),
    # rows set aside
    "absent": (
        "{rows} of {all:,} without a duration (N/A or empty): {names}. Not in any sum.",
        "{all:,} 行中有 {rows}没有耗时（N/A 或空）：{names}。不计入任何合计。",
    ),
    "impossible": (
        "{rows} of {all:,} with a duration that cannot be: {names}. Not in any sum.",
        "{all:,} 行中有 {rows}的耗时不可能成立：{names}。不计入任何合计。",
    ),
    "repeated": (
        "{rows} of {all:,} repeated from another file: {names}. Counted once.",
        "{all:,} 行中有 {rows}与其他文件中的行重复：{names}。只计一次。",
    ),
    "twice": (
        "{rows} of {all:,} twice in one file (same start, duration, name and task). Counted, as in the tools' own sums.",
        "{all:,} 行中有 {rows}在同一文件中重复（开始时间、耗时、名称、任务号相同）。仍计入合计，与工具自身一致。",
    ),
    "stray": (
        "{rows} of {all:,} with a start at 0 or a day away from all others: {names}. Durations count, these starts do not.",
        "{all:,} 行中有 {rows}的开始时间为 0 或与其他任务相差一天以上：{names}。耗时计入合计，开始时间不参与统计。",
    ),
    "n-rows": ("{n:,} rows", "{n:,} 行"),
    "n-rows-one": ("1 row", "1 行"),
    "place": ("{name} (line {line})", "{name}（第 {line} 行）"),
    "value": ("{name} ({value})", "{name}（{value}）"),
    "place-value": ("{name} (line {line}: {value})", "{name}（第 {line} 行：{value}）"),
    "and-more": ("{names} and {n:,} more", "{names} 等另有 {n:,} 行"),
    "next-absent": (
        "If these operators matter, record again with fewer steps or with a lighter metric set (--aic-metrics, --task-time=l1).",
        "若这些算子重要，请减少采集 step 数或改用更轻的采集项（--aic-metrics、--task-time=l1）重新采集。",
    ),
    "next-impossible": (
        "Export again (msprof --export=on --output=PROF_DIR). If the values stay, records were lost while profiling: record a shorter time.",
        "重新导出（msprof --export=on --output=PROF_DIR）。若数值依旧，说明采集时丢失了记录：请缩短采集时间。",
    ),
    "next-repeated": (
        "Keep one export in the folder, or name the file to look at.",
        "目录中只保留一次导出的文件，或直接指定要查看的文件。",
    ),
    # bound
    "unbound": (
        "{name}: {calls} of {limit:g} us or more with no pipe above {ratio:g} (the busiest, {pipe}, {highest:.2f}), {time} together ({share:.2f} %). If that pipe came to its limit it would be {gain} less.{reach}",
        "{name}：{calls}耗时不小于 {limit:g} us 且各流水占比均不高于 {ratio:g}（最忙的 {pipe} 为 {highest:.2f}），合计 {time}（{share:.2f} %）。若该流水达到阈值可节省 {gain}。{reach}",
    ),
    "reach-reached": (
        " By the advisor's limits for this kind of operator most of it is near its reach ({by}).",
        "按 advisor 对此类算子的专用阈值，大部分已接近可达上限（{by}）。",
    ),
    "reach-space": (
        " By the advisor's limits for this kind of operator there are up to {space:.0f} points of space.",
        "按 advisor 对此类算子的专用阈值，仍有约 {space:.0f} 个百分点的优化空间。",
    ),
    "next-unbound-cube": (
        "Profile it alone (msprof op --kernel-name={kernel} --aic-metrics=Default) and look at tiling, number of cores (block dim) and whether moves overlap with the cube; shapes that fill the tiles (multiples of 256) help.",
        "单独采集（msprof op --kernel-name={kernel} --aic-metrics=Default），检查 tiling、使用核数（block dim）以及搬运与 cube 是否重叠；使用能填满分块的 shape（256 的倍数）。",
    ),
    "next-unbound-vector": (
        "Profile it alone (msprof op --kernel-name={kernel} --aic-metrics=Default) and look at double buffering (MTE2, vector, MTE3 side by side), the size of a tile and the number of cores; many small ones are better fused.",
        "单独采集（msprof op --kernel-name={kernel} --aic-metrics=Default），检查 double buffer（MTE2、vector、MTE3 并行）、分块大小与使用核数；大量小算子应考虑融合。",
    ),
    "bound": (
        "{name} ({share:.2f} % of kernel time) is bound by {bound}: {pipe} is busy {highest:.2f} of the time.",
        "{name}（占 kernel 时间 {share:.2f} %）瓶颈为{bound}：{pipe} 占比 {highest:.2f}。",
    ),
    "bound-memory": (
        "{name} ({share:.2f} % of kernel time) is bound by memory: memory_bound is {value:.2f}, MTE2 is busier than cube and vector.",
        "{name}（占 kernel 时间 {share:.2f} %）访存受限：memory_bound 为 {value:.2f}，MTE2 比 cube 与 vector 更忙。",
    ),
    "bound-cube": ("the cube unit", " cube 计算"),
    "bound-vector": ("the vector unit", " vector 计算"),
    "bound-scalar": ("the scalar unit", "标量计算"),
    "bound-mte1": ("moves from L1 to L0 (MTE1)", " L1→L0 搬运（MTE1）"),
    "bound-mte2": ("moves from memory to the core (MTE2)", "内存→核内搬运（MTE2）"),
    "bound-mte3": ("moves from the core to memory (MTE3)", "核内→内存搬运（MTE3）"),
    "bound-fixpipe": ("moves out of L0C (FixPipe)", " L0C 搬出（FixPipe）"),
    "next-bound-cube": (
        "It computes as fast as the cube can: only less work (a smaller data type, quantisation, no padding) makes it faster.",
        "已接近 cube 算力上限：只有减少计算量（更低精度、量化、减少 padding）才能更快。",
    ),
    "next-bound-vector": (
        "Do less on the vector unit: fuse with neighbours, fewer passes over the data, fp16 or bf16 instead of fp32.",
        "减少 vector 计算量：与前后算子融合、减少遍历次数、用 fp16/bf16 代替 fp32。",
    ),
    "next-bound-scalar": (
        "Scalar work (addresses, loops, tiling data, small pieces) holds the pipes up: larger tiles, fewer and longer instructions, static shapes.",
        "标量计算（地址、循环、tiling 数据、碎片化指令）拖慢流水：增大分块、减少指令条数、使用静态 shape。",
    ),
    "next-bound-mte": (
        "It waits for moves: less traffic (fusion, a smaller data type, a better tiling that reuses what is in L1 and L2), aligned addresses of 512 bytes, formats without conversion.",
        "受搬运限制：减少访存（融合、更小的数据类型、提高 L1/L2 复用的 tiling），地址按 512 字节对齐，避免格式转换。",
    ),
    # utilisation
    "utilization": (
        "{name}: cube utilisation {value:.1f} % (weighted by time), below {limit:g} %, {time} ({share:.2f} %). At {limit:g} % it would take {gain} less.{blocks}",
        "{name}：cube 利用率 {value:.1f} %（按耗时加权），低于 {limit:g} %，耗时 {time}（{share:.2f} %）。若达到 {limit:g} % 可节省 {gain}。{blocks}",
    ),
    "blocks": (" It is split over {blocks} cores of {cores}.", "使用 {blocks} 核，共 {cores} 核。"),
    "blocks-only": (" It is split over {blocks} cores.", "使用 {blocks} 核。"),
    "next-utilization": (
        "Give all cores work: a larger batch or a shape whose tiles are a multiple of the number of cores, split along K where M and N are small, several small multiplications as one (grouped or batched).",
        "让所有核都有任务：增大 batch 或使分块数为核数的整数倍；M、N 较小时沿 K 切分；将多个小矩阵乘合并（GroupedMatmul、BatchMatMul）。",
    ),
    # axes
    "matmul-axis": (
        "{name} {shapes}: inner axis {values} is no multiple of 256; {calls}, {time} ({share:.2f} %).{reach}",
        "{name} {shapes}：内轴 {values} 不是 256 的倍数；{calls}，{time}（{share:.2f} %）。{reach}",
    ),
    "attention-axis": (
        "{name} {shapes}: {what}; {calls}, {time} ({share:.2f} %).{reach}",
        "{name} {shapes}：{what}；{calls}，{time}（{share:.2f} %）。{reach}",
    ),
    "axis-head": ("head dim {value} is no multiple of 128", "head dim {value} 不是 128 的倍数"),
    "axis-sequence": ("sequence {value} is no multiple of 128", "序列长度 {value} 不是 128 的倍数"),
    "next-matmul-axis": (
        "Pad that axis to {padded} (vocabulary, hidden or expert size), or split off the rest; transposing the weight makes another axis the inner one.",
        "将该轴补齐到 {padded}（词表、hidden 或专家维度），或将余数部分拆出；转置权重可使另一轴成为内轴。",
    ),
    "next-attention-axis": (
        "Choose or pad head dim and sequence to multiples of 128 (pack sequences, bucket lengths).",
        "将 head dim 与序列长度取为或补齐到 128 的倍数（序列打包、长度分桶）。",
    ),
    # bandwidth
    "roof": (
        "{name}: {rate:.0f} GB/s effective, {percent:.0f} % of {peak:.0f} GB/s ({source}){cache}, {time} ({share:.2f} %).",
        "{name}：有效带宽 {rate:.0f} GB/s，为 {peak:.0f} GB/s（{source}）的 {percent:.0f} %{cache}，耗时 {time}（{share:.2f} %）。",
    ),
    "roof-cache": (", part of it from the L2 cache", "，部分来自 L2 缓存"),
    "peak-criterion": ("as set", "用户设定"),
    "peak-chip": ("peak of {chip}", "{chip} 峰值"),
    "next-roof": (
        "It is at the roof: tuning the kernel gains little. Fuse it with the operator before or behind it, or move fewer bytes (fp16 or bf16, no intermediate copies).",
        "已达带宽上限：调优 kernel 收益很小。将其与前后算子融合，或减少搬运字节数（fp16/bf16、去掉中间拷贝）。",
    ),
    "throughput": (
        "{name}: {rate:.0f} GB/s effective{peak}, below 575 GB/s at {average} a call; {time} ({share:.2f} %).",
        "{name}：有效带宽 {rate:.0f} GB/s{peak}，低于 575 GB/s，单次平均 {average}；耗时 {time}（{share:.2f} %）。",
    ),
    "throughput-peak": (", {percent:.0f} % of {peak:.0f} GB/s", "，为 {peak:.0f} GB/s 的 {percent:.0f} %"),
    "next-throughput": (
        "Look at its last axis (short or unaligned rows are moved in small pieces), at the number of cores and at double buffering.",
        "检查末轴（过短或未对齐会使搬运变碎）、使用核数与 double buffer。",
    ),
}

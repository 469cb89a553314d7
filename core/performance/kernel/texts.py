"""Texts about single kernels: (en, zh). Figures are filled in by name; names of pipes and cores are the vendor's."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "frequency": (
        "the card ran at {current} MHz and is rated at {rated} MHz ({drop}% lower): all its times are longer by that much",
        "运行频率 {current} MHz，额定 {rated} MHz（低 {drop}%）：该算子各项耗时相应变长",
    ),
    "frequency-next": (
        "Look at power, temperature and other jobs on the card (npu-smi info); measure again with --warm-up=10, so that the clock is up before the kernel is measured.",
        "用 npu-smi info 检查功耗、温度和卡上的其他任务；加 --warm-up=10 预热升频后重新采集。",
    ),
    "use": (
        "{kind} cores: {unit} is busy {mean}% of the time (from {low}% to {high}%; below {limit}% on {n} of {cores} cores)",
        "{kind} 核：{unit} 忙碌时间占 {mean}%（{low}%～{high}%；{cores} 个核中 {n} 个低于 {limit}%）",
    ),
    "use-next": (
        "Computing is not what takes the time: attack what the other findings of this kernel name (moves, scalar, waits) before the computing instructions.",
        "耗时不在计算上：先处理该算子其他发现所指出的搬运、Scalar 或等待问题，再考虑计算指令。",
    ),
    "pipe-slow": (
        "{kind} cores: while {pipe} is busy ({active}% of the time) it moves {ratio}% of what it can ({path}; below {limit}% on {n} of {cores} cores)",
        "{kind} 核：{pipe} 忙碌期间（占 {active}%）带宽仅为峰值的 {ratio}%（{path}；{cores} 个核中 {n} 个低于 {limit}%）",
    ),
    "pipe-slow-next": (
        "Move more at once: one DataCopy of 16 KB or more in place of many small ones, addresses in GM on 512 bytes, contiguous data (no stride), several rows in one call with DataCopyParams (blockCount, blockLen).",
        "增大单次搬运量：用一次 16 KB 以上的 DataCopy 代替多次小搬运，GM 地址 512 字节对齐，数据连续无 stride，用 DataCopyParams（blockCount、blockLen）一次搬多行。",
    ),
    "uneven-cycles": (
        "{n} of {cores} {kind} cores take longer than the others: {worst} {value} cycles, mean {mean} (from {low} to {high}, {spread}% apart)",
        "{cores} 个 {kind} 核中 {n} 个明显更慢：{worst} 为 {value} 个周期，均值 {mean}（{low}～{high}，相差 {spread}%）",
    ),
    "uneven-cycles-next": (
        "Divide the work evenly in the tiling: the same number of tiles for each core, the rest spread one by one over the first cores in place of all of it on the last; rows of unequal length are dealt out by their work, not by their number.",
        "在 tiling 中均分任务：各核 tile 数相同，余数逐个分给前面的核，而不是全部压到最后一个核；长度不等的行按计算量而不是按行数分配。",
    ),
    "uneven-data": (
        "{n} of {cores} {kind} cores read and write more main memory than the others: {worst} {value} KB, mean {mean} KB (from {low} to {high})",
        "{cores} 个 {kind} 核中 {n} 个的 GM 读写量明显更大：{worst} 为 {value} KB，均值 {mean} KB（{low}～{high}）",
    ),
    "uneven-data-next": (
        "Give each core the same amount of data in the tiling, or the longest parts first.",
        "在 tiling 中让各核数据量相等，或先分配较大的部分。",
    ),
    "uneven-hits": (
        "{n} of {cores} {kind} cores hit the L2 cache less than the others: {worst} {value}%, mean {mean}% (from {low}% to {high}%)",
        "{cores} 个 {kind} 核中 {n} 个的 L2 Cache 命中率明显偏低：{worst} 为 {value}%，均值 {mean}%（{low}%～{high}%）",
    ),
    "uneven-hits-next": (
        "Let cores that run at the same time read neighbouring or the same data (order of the tiles, swizzle), so that one brings it into L2 for all.",
        "让同时运行的核读取相邻或相同的数据（调整 tile 顺序、swizzle），一个核搬入 L2 后其他核即可命中。",
    ),
    "bound": (
        "{kind} cores: {pipe} is busy {ratio}% of the time (mean; above {limit}% on {n} of {cores}); {others}",
        "{kind} 核：{pipe} 忙碌时间占 {ratio}%（均值；{cores} 个核中 {n} 个高于 {limit}%）；{others}",
    ),
    "bound-advisor": (
        "{kind} cores: {pipe} leads with {ratio}% of the time, and Vector, MTE2 and MTE3 together fill {sum}%: close to bound by msprof-analyze's limits; {others}",
        "{kind} 核：{pipe} 占 {ratio}% 居首，Vector、MTE2、MTE3 合计 {sum}%：按 msprof-analyze 的门限已接近 bound；{others}",
    ),
    "bound-latency": (
        "{kind} cores: no pipe is busy more than {limit}% of the time, the busiest is {pipe} with {ratio}%: they wait for each other; {others}",
        "{kind} 核：没有流水忙碌超过 {limit}%，最忙的 {pipe} 为 {ratio}%：各流水互相等待；{others}",
    ),
    "bound-cube-next": (
        "The cube unit is well used: only fewer operations, a smaller data type (fp16, int8) or more cores make it faster.",
        "Cube 单元利用充分：只有减少计算量、采用更小的数据类型（fp16、int8）或使用更多核才能更快。",
    ),
    "bound-vector-next": (
        "Use full repeats (mask of 256 bytes, counter mode), fuse element-wise steps (e.g. Axpy, MulAddDst), leave out casts, compute in fp16 where the precision allows it.",
        "用满 repeat（256 字节 mask、counter 模式），融合逐元素步骤（如 Axpy、MulAddDst），去掉多余的 Cast，精度允许时用 fp16 计算。",
    ),
    "bound-scalar-next": (
        "Take scalar work out of the loops: addresses and offsets computed once in the tiling on the host, no GetValue/SetValue on single elements, constants as template arguments (tiling key), loops with fewer and larger steps.",
        "把标量计算移出循环：地址、偏移在 host 侧 tiling 中一次算好，避免逐元素 GetValue/SetValue，常量作模板参数（tiling key），减少循环次数、增大每次处理量。",
    ),
    "bound-mte1-next": (
        "Keep operands in L0A/L0B longer (larger baseK, stepKa/stepKb), so that less is loaded from L1; overlap with the cube unit by double buffers in L0.",
        "让操作数在 L0A/L0B 中停留更久（增大 baseK、stepKa/stepKb），减少 L1→L0 搬运；L0 开双缓冲与 Cube 并行。",
    ),
    "bound-mte2-next": (
        "Read less from GM: reuse tiles in L1/UB, larger base blocks, fused operators in place of intermediate tensors in GM, data that several cores need at the same time (L2 hits); then move larger, aligned blocks.",
        "减少 GM 读取：tile 在 L1/UB 中复用、增大 base 块、融合算子避免中间结果落 GM、让多核同时读相同数据以命中 L2；再增大并对齐搬运块。",
    ),
    "bound-mte3-next": (
        "Write less to GM: results once and whole, no atomic adds for partial sums where a reduction on chip will do, larger aligned blocks (512 bytes) for each DataCopy.",
        "减少 GM 写出：结果一次性整块写出，能在片上归约的部分和不用 atomic add，单次 DataCopy 写大块并 512 字节对齐。",
    ),
    "bound-fixpipe-next": (
        "Take results out of L0C less often: accumulate over K in L0C before they are moved, quantise or convert in FixPipe in place of a second pass, write full rows of the base block.",
        "减少 L0C 搬出次数：K 方向在 L0C 内累加完再搬出，量化和格式转换在 FixPipe 中随路完成，按 base 块整行写出。",
    ),
    "bound-latency-next": (
        "Let moving and computing overlap: two buffers for each queue (BUFFER_NUM 2 in InitBuffer), tiles as large as UB/L1 allow, fewer PipeBarrier and SetFlag/WaitFlag; see where they wait with msopprof simulator --aic-metrics=PipeUtilization,ResourceConflictRatio.",
        "让搬运与计算并行：队列开双缓冲（InitBuffer 的 BUFFER_NUM 为 2），tile 尽量用满 UB/L1，减少 PipeBarrier 和 SetFlag/WaitFlag；用 msopprof simulator --aic-metrics=PipeUtilization,ResourceConflictRatio 查看等待位置。",
    ),
    "roof": (
        "{verdict}: nearest to its roof is {point} with {y} of {roof} TOps/s ({ratio}%) at {x} Ops/Byte (ridge at {ridge}){pipe}",
        "{verdict}：最接近屋顶线的是 {point}，{x} Ops/Byte 处性能 {y} TOps/s，可达 {roof} TOps/s（{ratio}%，拐点 {ridge}）{pipe}",
    ),
    "roof-pipe": ("; busiest pipe {pipe} {ratio}%", "；最忙的流水 {pipe} {ratio}%"),
    "roof-compute-next": (
        "The peak of the unit is nearly reached: fewer operations or a smaller data type.",
        "已接近计算单元峰值：减少计算量或采用更小的数据类型。",
    ),
    "roof-memory-next": (
        "The peak of {point} is nearly reached: move fewer bytes for each operation (reuse on chip, fusion, smaller data type).",
        "{point} 已接近带宽峰值：降低每次运算的搬运量（片上复用、融合、更小的数据类型）。",
    ),
    "roof-pipeline-next": (
        "Neither computing nor memory is at its limit and no pipe is busy: let pipes overlap (double buffers, larger tiles, fewer barriers).",
        "计算和访存都未到上限，也没有繁忙的流水：提高流水并行度（双缓冲、增大 tile、减少同步）。",
    ),
    "roof-latency-memory-next": (
        "{pipe} is busy but moves little: larger and aligned moves, fewer of them.",
        "{pipe} 繁忙但搬运效率低：减少次数，增大并对齐单次搬运。",
    ),
    "roof-latency-compute-next": (
        "{pipe} is busy but does little for it: full repeats and masks, fewer scalar instructions and casts, shapes that fill the unit.",
        "{pipe} 繁忙但有效产出低：用满 repeat 和 mask，减少标量指令和 Cast，使 shape 填满计算单元。",
    ),
    "l2": (
        "{rate}% of the accesses to main memory hit the L2 cache ({hit} of {total})",
        "GM 访问的 L2 Cache 命中率为 {rate}%（{hit}/{total}）",
    ),
    "l2-rate": (
        "{rate}% of the accesses to main memory hit the L2 cache",
        "GM 访问的 L2 Cache 命中率为 {rate}%",
    ),
    "l2-next": (
        "Data read once cannot hit. What is read several times should be read close together in time: order of the tiles over the cores (swizzle), blocks whose working set fits into L2, and DisableL2 (SetL2CacheHint) for data that is only written.",
        "只读一次的数据无法命中。多次读取的数据应在时间上靠近：调整各核 tile 顺序（swizzle）、让工作集放得进 L2，对只写的数据关闭 L2（SetL2CacheHint）。",
    ),
    "conflict": (
        "{kind} cores: Vector loses {ratio}% of the time to conflicts ({parts})",
        "{kind} 核：Vector 因冲突损失 {ratio}% 的时间（{parts}）",
    ),
    "conflict-next": (
        "Let the operands of one instruction lie in different banks of UB: offset buffers by 32 bytes or pad rows, so that reads and the write of one cycle do not meet in one bank (group).",
        "让同一指令的操作数位于 UB 的不同 bank：buffer 错开 32 字节或对行做 padding，避免同一周期的读写落在同一 bank（group）。",
    ),
    "scalar": (
        "{kind} cores: Scalar is busy {ratio}% of the time{parts}",
        "{kind} 核：Scalar 忙碌时间占 {ratio}%{parts}",
    ),
    "scalar-parts": ("; most of it: {parts}", "；其中主要为：{parts}"),
    "tail": (
        "the last {kind} core works {tail} us longer than the median one: {percent}% of the kernel ({worst}: {longest} us, median {median} us)",
        "最慢的 {kind} 核比中位数多 {tail} us，占算子耗时的 {percent}%（{worst} 为 {longest} us，中位数 {median} us）",
    ),
    "tail-next": (
        "The others wait for it: smaller tiles at the end, the rest of the division spread over all cores, serial work at the end (final reduction, write of one core) divided or overlapped.",
        "其余核都在等它：尾块取小、余数分摊到所有核，末尾的串行工作（最终归约、单核写出）拆分或与其他工作重叠。",
    ),
    "icache": (
        "{kind} cores: {rate}% of the instruction fetches miss the cache{wait}",
        "{kind} 核：指令缓存缺失率 {rate}%{wait}",
    ),
    "icache-wait": ("; Scalar waits {time} us for instructions", "；Scalar 等待取指 {time} us"),
    "icache-next": (
        "Make the code of the inner loop smaller: less unrolling and inlining, one instance of a template in place of several in one kernel (tiling key), rarely used branches moved out.",
        "缩小内层循环代码：减少展开和内联，用 tiling key 让一个 kernel 只含一个模板实例，把少用的分支移出。",
    ),
    "gm": (
        "main memory: {rate} GB/s read and written, {percent}% of the {peak} GB/s of {chip}",
        "GM 读写 {rate} GB/s，为 {chip} 峰值 {peak} GB/s 的 {percent}%",
    ),
    "path": (
        "{kind} cores: {path} is used to {percent}% of its bandwidth (mean; cores: {cores})",
        "{kind} 核：{path} 通路带宽利用率 {percent}%（{cores} 个核的均值）",
    ),
    "bandwidth-next": (
        "The bandwidth is used up: only fewer bytes help (reuse on chip, fusion, smaller data type).",
        "带宽已用满：只有减少搬运量才有效（片上复用、融合、更小的数据类型）。",
    ),
    "outside": (
        "{outside} us of {duration} us ({percent}%) pass while no core works: the longest core works {longest} us",
        "{duration} us 中有 {outside} us（{percent}%）没有核在工作：最长的核仅 {longest} us",
    ),
    "outside-next": (
        "That is launching, starting the cores and ending the task: put more work into one launch (fusion, larger batch), leave out workspace and tiling data that the kernel does not need, use no more blocks than the work fills; take mixed kernels apart where one kind of core has nothing to do.",
        "这部分是下发、启核和任务结束的开销：让一次下发做更多工作（融合、增大 batch），去掉不需要的 workspace 和 tiling 数据，核数不超过实际工作量所需；若混合算子中一类核无事可做，拆成单核类型算子。",
    ),
    "few-cores": (
        "{dim} blocks on {cores} {kind} cores of {chip}: {percent}% of the cores' time is used",
        "{chip} 有 {cores} 个 {kind} 核，Block Dim 为 {dim}：核的使用率为 {percent}%",
    ),
    "few-cores-next": (
        "Set the number of blocks in the tiling to the number of cores (GetCoreNumAic/GetCoreNumAiv of PlatformAscendC) or a multiple of it; split a further axis (K, batch) where one axis gives too few blocks.",
        "在 tiling 中把 blockDim 设为核数（PlatformAscendC 的 GetCoreNumAic/GetCoreNumAiv）或其整数倍；单轴块数不足时再切分其他轴（K、batch）。",
    ),
    "hot-line": (
        "{line} takes {percent}% of the cycles of the kernel ({cycles} cycles, {calls} instructions; cores: {cores})",
        "{line} 占算子周期的 {percent}%（{cycles} 个周期，执行 {calls} 次指令，{cores} 个核）",
    ),
    "hot-count": (
        "{line} executes {percent}% of the instructions of the kernel ({calls}; cores: {cores}); cycles are not told",
        "{line} 占算子执行指令数的 {percent}%（{calls} 次，{cores} 个核）；未提供周期数",
    ),
    "hot-line-next": ("Begin with this line.", "从这一行开始优化。"),
    "sync": (
        "{percent}% of the cycles of all pipes are waits for other pipes ({parts})",
        "各流水的周期中有 {percent}% 在等待其他流水（{parts}）",
    ),
    "sync-next": (
        "Look at the flag that is waited for the longest in the simulator's timeline (trace.json, SET_FLAG to WAIT_FLAG): give the pipe that sets it less to do at once or start it earlier (double buffer), and replace PipeBarrier<PIPE_ALL> by the flag of the two pipes that meet.",
        "在仿真时间线（trace.json 的 SET_FLAG 到 WAIT_FLAG）中找等待最久的 flag：让发出它的流水提前开始或减小单次工作量（双缓冲），并用两条流水之间的 flag 代替 PipeBarrier<PIPE_ALL>。",
    ),
    "tool": (
        "msOpProf's own advice: {told}",
        "msOpProf 自己的建议：{told}",
    ),
    "tool-next": (
        "These are the tool's words and thresholds; what npulse computes from the same figures stands beside them.",
        "以上为工具原文及其门限；npulse 由相同数据计算的结论另列。",
    ),
    "collecting": (
        "msOpProf has not made its tables of this kernel yet (raw files of replays: {n}): nothing can be judged",
        "msOpProf 尚未生成该算子的结果表（已有重放原始数据 {n} 个）：无法判断",
    ),
    "collecting-next": (
        "Wait for the program to end (or --kill=on to stop it after --launch-count kernels); if it has ended, read the console of msOpProf for [ERROR] lines.",
        "等待程序结束（或用 --kill=on 在采满 --launch-count 个算子后停止）；若已结束，查看 msOpProf 控制台中的 [ERROR]。",
    ),
    "not-judged": (
        "not judged, since the result has no {missing}",
        "结果中缺少 {missing}，相关项未判断",
    ),
    "not-judged-next": (
        "Collect again with --aic-metrics=Default (all seven tables); add Roofline,Occupancy,Source for roofs, balance of the cores and hot lines (compile with -g).",
        "用 --aic-metrics=Default（全部七张表）重新采集；加 Roofline,Occupancy,Source 可得屋顶线、核间负载和热点代码（编译加 -g）。",
    ),
}

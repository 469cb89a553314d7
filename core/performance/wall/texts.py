"""Words about wall, busy and idle time, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    # which of the three comes first
    "bottleneck unknown": (
        "{name}: no time of the device was recorded, so nobody can say where it goes.",
        "{name}：未记录设备侧时间，无法判断时间花在哪里。",
    ),
    "bottleneck idle": (
        "the device idles {idle} of the wall time; computing takes {compute}, communication that is not hidden {exposed}.",
        "设备空闲占总时长 {idle}；计算占 {compute}，未被掩盖的通信占 {exposed}。",
    ),
    "bottleneck communication": (
        "communication that is not hidden takes {exposed} of the wall time; computing takes {compute}, idle time {idle}.",
        "未被掩盖的通信占总时长 {exposed}；计算占 {compute}，空闲占 {idle}。",
    ),
    "bottleneck compute": (
        "computing takes {compute} of the wall time; idle time ({idle}) and communication that is not hidden ({exposed}) stay behind.",
        "计算占总时长 {compute}；空闲（{idle}）与未被掩盖的通信（{exposed}）都不是首要问题。",
    ),
    # host bound or not
    "host no wall": ("no time of the device was recorded", "未记录设备侧时间"),
    "host little idle": (
        "the device idles {idle} of the wall time, less than {limit:g} %",
        "设备空闲占总时长 {idle}，低于 {limit:g} %",
    ),
    "host late": (
        "the device idles {idle} of the wall time, and in {share} of that the host had not launched the next kernel yet",
        "设备空闲占总时长 {idle}，其中 {share} 的时间里主机尚未下发下一个 kernel",
    ),
    "host in time": (
        "the device idles {idle} of the wall time, but only in {share} of that the host was late: the next kernel had been launched",
        "设备空闲占总时长 {idle}，但其中只有 {share} 是主机下发晚：下一个 kernel 早已下发",
    ),
    "host gaps": (
        "the device idles {idle} of the wall time (gaps between kernels: {n}); host calls are not recorded, so it is not told which call was late",
        "设备空闲占总时长 {idle}，分布在 kernel 之间的 {n} 个间隙；未记录主机调用，无法指出具体是哪个调用晚了",
    ),
    "host not recorded": (
        "the device idles {idle} of the wall time, but no host calls are recorded: a timeline (trace_view.json, the .db) would tell",
        "设备空闲占总时长 {idle}，但未记录主机调用；需要时间线（trace_view.json 或 .db）才能判断",
    ),
    # idle
    "idle": (
        "busy {busy} of {wall}, idle {free}: {reason}.{blocks}{gap}{causes}{top}",
        "总时长 {wall} 中忙 {busy}，空闲 {free}：{reason}。{blocks}{gap}{causes}{top}",
    ),
    "idle blocks": (
        " A sequence (length {n_kernels}) repeats {n} times: {block} a block, {free} of it idle ({share}).",
        "相同的 {n_kernels} 个 kernel 重复 {n} 次：每块 {block}，其中空闲 {free}（{share}）。",
    ),
    "idle gap": (
        " The longest gap is {gap}, between {before} and {after}.",
        "最长的间隙为 {gap}，位于 {before} 与 {after} 之间。",
    ),
    "idle causes": (" Idle time by cause: {causes}.", "空闲时间按原因：{causes}。"),
    "idle top": (
        " {top} has {busy_share} of the busy time but only {wall_share} of the wall time: the gaps come first.",
        "{top} 占忙时间的 {busy_share}，但只占总时长的 {wall_share}：应先消除间隙。",
    ),
    "cause artefact": ("made by graph capture", "图捕获造成的假间隙"),
    "cause device": ("copies or event waits on the device", "设备上的拷贝或事件等待"),
    "cause queued": ("launched but not begun", "已下发未开始"),
    "cause framework": ("the framework gave no work", "框架层未下发"),
    "cause long launch": ("a long launch", "单次下发耗时长"),
    "cause between launches": ("the host came late between launches", "两次下发之间间隔长"),
    "cause unknown": ("launch not recorded", "未记录下发"),
    "next idle host": (
        "Launch faster before tuning any kernel: run the step as a graph (aclgraph / NPUGraph capture, torchair), export TASK_QUEUE_ENABLE=2 and CPU_AFFINITY_CONF=1, take synchronising calls (.item(), .cpu(), print) out of the step, fuse small operators.",
        "先加快下发，再调优 kernel：将整个 step 入图执行（aclgraph / NPUGraph 捕获、torchair），设置 TASK_QUEUE_ENABLE=2 与 CPU_AFFINITY_CONF=1，去掉 step 内的同步调用（.item()、.cpu()、打印），融合小算子。",
    ),
    "next idle launch": (
        "Single launches are long: export ACLNN_CACHE_LIMIT=100000, call torch_npu.npu.set_compile_mode(jit_compile=False), keep shapes fixed, or capture the step as a graph.",
        "单次下发耗时长：设置 ACLNN_CACHE_LIMIT=100000，调用 torch_npu.npu.set_compile_mode(jit_compile=False)，固定 shape，或将 step 入图。",
    ),
    "next idle device": (
        "The host is ahead: look at what the streams wait for in the longest gaps (events between streams, copies to and from the host); use non_blocking copies from pinned memory and fewer stream events.",
        "主机下发并不慢：查看最长间隙中各流在等什么（流间事件、主机与设备间拷贝）；使用锁页内存的 non_blocking 拷贝，减少流间事件。",
    ),
    "next idle unknown": (
        "Record host calls too: profile with activities=[CPU, NPU] and profiler_level=Level1 and keep trace_view.json or the .db, then open the run again.",
        "补充采集主机调用：以 activities=[CPU, NPU]、profiler_level=Level1 采集并保留 trace_view.json 或 .db，然后重新打开。",
    ),
    # host calls
    "blocking": (
        "{n} {api} calls for {launches} launches ({share}): nearly every launch waits for the device.",
        "{launches} 次下发伴随 {n} 次 {api}（{share}）：几乎每次下发都在等待设备。",
    ),
    "blocking env": (
        "ASCEND_LAUNCH_BLOCKING={value} is set: every launch waits until the device is done.",
        "设置了 ASCEND_LAUNCH_BLOCKING={value}：每次下发都等待设备执行完成。",
    ),
    "next blocking": (
        "unset ASCEND_LAUNCH_BLOCKING (it is for debugging), and take synchronising calls out of the step.",
        "unset ASCEND_LAUNCH_BLOCKING（仅用于调试），并去掉 step 内的同步调用。",
    ),
    "compile": (
        "{n} calls of aclopCompileAndExecute{time}: operators are compiled while the step runs.",
        "aclopCompileAndExecute 调用 {n} 次{time}：运行过程中在线编译算子。",
    ),
    "next compile": (
        "torch_npu.npu.set_compile_mode(jit_compile=False) and torch_npu.npu.config.allow_internal_format=False before the model is built; install the operator package (opp kernels) of this chip.",
        "建模前调用 torch_npu.npu.set_compile_mode(jit_compile=False) 并设置 torch_npu.npu.config.allow_internal_format=False；安装该芯片的算子二进制包（opp kernels）。",
    ),
    "repeats": (
        "{name} is called {n} times{time}; aclnn operators called {limit} times or more: {kinds}.",
        "{name} 调用 {n} 次{time}；共有 {kinds} 种 aclnn 算子调用不少于 {limit} 次。",
    ),
    "next repeats": (
        "Join calls of the same operator (foreach, grouped or fused variants), or capture the step as a graph.",
        "合并相同算子的多次调用（foreach、分组或融合算子），或将 step 入图。",
    ),
    "pause": (
        "garbage collections of 1 ms and more take {total}; the longest is {longest}.",
        "不短于 1 ms 的 Python GC 共 {total}，最长 {longest}。",
    ),
    "next pause": (
        "gc.disable() or gc.freeze() after the warm-up, and gc.collect() by hand between steps.",
        "预热后调用 gc.disable() 或 gc.freeze()，在 step 之间手动 gc.collect()。",
    ),
    "silent": (
        "{n} idle times of more than 200 ms in which the host starts next to nothing; the longest is {longest}. A garbage collection may be the reason, none is recorded.",
        "有 {n} 段超过 200 ms 的空闲，其间主机几乎没有下发；最长 {longest}。可能是 Python GC，但未记录。",
    ),
    "next silent": (
        "Profile again with gc_detect_threshold=1 (experimental_config) to see collections; look for checkpoints, validation and data loading there.",
        "设置 experimental_config 的 gc_detect_threshold=1 重新采集以确认 GC；同时检查该处是否在存 checkpoint、做验证或加载数据。",
    ),
    "loading": (
        "data loader calls of 10 ms and more take {total}; the longest is {longest} ({name}).",
        "不短于 10 ms 的 dataloader 调用共 {total}，最长 {longest}（{name}）。",
    ),
    "next loading": (
        "More num_workers, prefetch_factor and pin_memory=True; data on local disks; preprocessing out of the step.",
        "增大 num_workers 与 prefetch_factor，设置 pin_memory=True；数据放本地盘；把预处理移出 step。",
    ),
    "memory calls": (
        "{names} ({n} x), {total}: device memory is taken and given back while the step runs.",
        "{names}：{n} 次共 {total}：运行过程中反复申请和释放设备内存。",
    ),
    "next memory calls": (
        "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True, and take empty_cache() out of the step.",
        "设置 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True，并去掉 step 内的 empty_cache()。",
    ),
    # communication
    "exposed": (
        "communication takes {total}, of which {exposed} are not hidden by computing: {share} of the wall time; {overlap} of it overlaps.{most}",
        "通信共 {total}，其中 {exposed} 未被计算掩盖，占总时长 {share}；掩盖率 {overlap}。{most}",
    ),
    "exposed most": (
        " Most exposed: {name} with {exposed} of its {total}.",
        "未掩盖最多的是 {name}：{total} 中的 {exposed}。",
    ),
    "next exposed": (
        "First see whether a slow rank makes the others wait (compare ranks); then overlap: gradient buckets and overlap_grad_reduce, overlap_param_gather, computing and communication on streams of their own, fused MC2 operators.",
        "先确认是否有慢卡使其他卡等待（多卡对比）；再做掩盖：梯度分桶与 overlap_grad_reduce、overlap_param_gather、计算与通信分流、MC2 融合算子。",
    ),
    "tail": (
        "the last {tail} of a step run in series ({share} of the steps' time), nothing beside them (calls: {n}){names}.{longest}",
        "step 末尾 {tail} 为串行（占 step 时间 {share}）：共 {n} 个调用，无任何并行{names}。{longest}",
    ),
    "tail names": ("; most of it is {name} ({time})", "，主要是 {name}（{time}）"),
    "tail longest": (
        " The longest serial stretch anywhere is {longest} (calls: {n}).",
        "全程最长的串行段为 {longest}，含 {n} 个调用。",
    ),
    "next tail": (
        "Move what does not depend on the last communication beside it (optimizer in buckets, next forward pass), or make the last pieces smaller.",
        "把不依赖最后一次通信的工作与之并行（分桶优化器、下一轮前向），或减小最后几块的粒度。",
    ),
    # steps
    "jitter": (
        "{n} steps of {mean} on average differ by {jitter} (coefficient of variation, over {limit:g} %); the slowest is {step} with {slowest}, the median {median}.{grown}",
        "{n} 个 step 平均 {mean}，变异系数 {jitter}（超过 {limit:g} %）；最慢的是 {step}，{slowest}，中位数 {median}。{grown}",
    ),
    "jitter grown": (" In it {part} grew by {time}.", "其中增长最多的是{part}：{time}。"),
    "part compute": ("computing", "计算"),
    "part communication": ("communication that is not hidden", "未掩盖的通信"),
    "part free": ("idle time", "空闲时间"),
    "part other": ("something not recorded", "未记录的部分"),
    "next jitter compute": (
        "Compare the slow step's operators with a typical one's: other shapes, more tokens, a lower clock.",
        "对比慢 step 与普通 step 的算子：shape 变化、token 变多或降频。",
    ),
    "next jitter communication": (
        "A peer was late or a link slow in that step: compare ranks.",
        "该 step 中有其他卡晚到或链路变慢：做多卡对比。",
    ),
    "next jitter free": (
        "The host was late in that step: data loading, garbage collection, checkpoint or log output.",
        "该 step 主机下发晚：检查数据加载、GC、checkpoint 或日志输出。",
    ),
    "next jitter other": (
        "Record a timeline over several steps to see what differs.",
        "采集多个 step 的时间线以查看差异。",
    ),
    "warm-up": (
        "the first step ({step}) takes {time}, the others {median}: it is left out of the figures of steps.",
        "首个 step（{step}）耗时 {time}，其余 {median}：step 统计不计首个 step。",
    ),
    "next warm-up": (
        "Let the schedule skip it: schedule(wait=1, warmup=1, active=...).",
        "在 schedule 中跳过：schedule(wait=1, warmup=1, active=...)。",
    ),
    "preparing": (
        "{time} of a step pass before its first device task ({share}).",
        "每个 step 开始后 {time} 才有首个设备任务（{share}）。",
    ),
    "next preparing": (
        "Load data beside the step and keep work of the host out of its begin.",
        "让数据加载与 step 并行，避免在 step 开头做主机侧工作。",
    ),
    "input bound": (
        "Data Aug Bound is {share} of the iterations' time: they wait for input.",
        "Data Aug Bound 占迭代时间 {share}：在等待输入数据。",
    ),
    "refresh": (
        "Iteration Refresh is {share} of the iterations' time: reduction of gradients and optimizer behind the backward pass.",
        "Iteration Refresh 占迭代时间 {share}：反向之后的梯度归约与优化器拖尾。",
    ),
    "next refresh": (
        "Overlap the reduction of gradients with the backward pass (buckets) and use a fused optimizer.",
        "将梯度归约与反向重叠（分桶），并使用融合优化器。",
    ),
    # clock
    "frequency": (
        "{n} of {all} kernels ran at a clock {limit:g} % or more below {rated:g} MHz ({source}): {share} of the kernel time, down to {low:.0f} MHz. Most affected: {name} ({time}).",
        "{all} 个 kernel 中有 {n} 个运行时频率比 {rated:g} MHz（{source}）低 {limit:g} % 以上：占 kernel 时间 {share}，最低 {low:.0f} MHz。影响最大的是 {name}（{time}）。",
    ),
    "rated settings": ("the rated clock", "额定频率"),
    "rated highest": ("the highest seen, the rated one is not recorded", "采集到的最高值，额定值未记录"),
    "next frequency": (
        "npu-smi info -t power -i 0 and npu-smi info -t temp -i 0 (with the card's number): power cap or heat.",
        "执行 npu-smi info -t power -i 0 与 npu-smi info -t temp -i 0（改为实际卡号）：检查功耗限制与温度。",
    ),
    # serving
    "serving": ("{figures} ({basis}).", "{figures}（{basis}）。"),
    "first token": ("time to first token {value:.3f} ms", "首 token 时延 {value:.3f} ms"),
    "tokens per s": ("{value:.2f} tokens/s", "{value:.2f} tokens/s"),
    "step": ("step {value:.3f} ms", "step {value:.3f} ms"),
    "basis round": ("as the round's record says", "取自轮次记录"),
    "basis ranges": ("from marked ranges: {names}", "取自标记区间：{names}"),
    "basis steps": (
        "from steps, each taken for one token, and the first one for the prefill where it is longer",
        "取自 step：每个 step 视为一个 token，首个明显更长时视为 prefill",
    ),
    "basis nothing": ("from recorded steps", "取自已记录的 step"),
    "missed first_token_ms": (
        "time to first token is {value:.3f} ms, the criterion {limit:g} ms ({basis}).",
        "首 token 时延 {value:.3f} ms，要求 {limit:g} ms（{basis}）。",
    ),
    "missed tokens_per_s": (
        "{value:.2f} tokens/s, the criterion {limit:g} ({basis}).",
        "{value:.2f} tokens/s，要求 {limit:g}（{basis}）。",
    ),
    "missed step_ms": (
        "a step takes {value:.3f} ms, the criterion {limit:g} ms ({basis}).",
        "单步 {value:.3f} ms，要求 {limit:g} ms（{basis}）。",
    ),
    "next missed": (
        "Attack what comes first: {answer}",
        "先处理首要问题：{answer}",
    ),
    "unknown first_token_ms": (
        "unknown: no time to first token is recorded, so the criterion {limit:g} ms cannot be judged.",
        "未知：未记录首 token 时延，无法判断是否满足 {limit:g} ms。",
    ),
    "unknown tokens_per_s": (
        "unknown: no token rate is recorded, so the criterion {limit:g} tokens/s cannot be judged.",
        "未知：未记录 token 速率，无法判断是否满足 {limit:g} tokens/s。",
    ),
    "unknown step_ms": (
        "unknown: no step is recorded, so the criterion {limit:g} ms cannot be judged.",
        "未知：未记录 step，无法判断是否满足 {limit:g} ms。",
    ),
    "next unknown serving": (
        'Mark both phases in the script, with torch_npu.npu.mstx.range_start("prefill") and "decode" (or torch.profiler.record_function), or write first_token_ms and tokens_per_s into the round\'s round.toml.',
        '在脚本中标记两个阶段：torch_npu.npu.mstx.range_start("prefill") 与 "decode"（或 torch.profiler.record_function），或在该轮的 round.toml 中写入 first_token_ms 与 tokens_per_s。',
    ),
    "next unknown step": (
        "Call prof.step() once a step, or write step_ms into the round's round.toml.",
        "每个 step 调用一次 prof.step()，或在该轮的 round.toml 中写入 step_ms。",
    ),
    # what the figures rest on
    "set aside": (
        "Tasks at impossible times, in no figure: {n}; the first is {name} at {start}.",
        "{n} 个任务的时间不可能，未计入任何统计；第一个是 {name}，时间 {start}。",
    ),
    "next set aside": (
        "An event that never got its time. Profile again if a task that matters is among them.",
        "这类事件没有得到有效时间戳。若其中有重要任务，请重新采集。",
    ),
    "unplaced": (
        "Rows of the table without a start or a duration, in no figure of time: {n}.",
        "表中有 {n} 行没有开始时间或耗时：未计入时间统计。",
    ),
    "assumed": (
        "task types that are not known here count as kernels: {kinds}.",
        "以下任务类型未知，按 kernel 计：{kinds}。",
    ),
    "recorded": (
        "the tool's own sums differ by more than 1 % of the wall time: {differences}.",
        "与工具自身汇总的差异超过总时长的 1 %：{differences}。",
    ),
    "difference": (
        "{lane} {ours} here, {recorded} in {source} ({why})",
        "{lane} 本工具 {ours}，{source} 为 {recorded}（{why}）",
    ),
    "why rounding": ("rounding of times", "时间取整"),
    "why window": (
        "{time} of tasks were set aside or lie outside the steps",
        "有 {time} 的任务被剔除或在 step 之外",
    ),
    "why cut": ("the file is cut off", "文件被截断"),
    "why rows": ("rows without a usable time: {n}", "{n} 行没有可用时间"),
    "why unknown": (
        "the recorded lane has other tasks than the table or timeline",
        "汇总所含任务与表或时间线不一致",
    ),
    "partial": (
        "{artifact} holds only {percent} % of the computing that {source} tells: figures of operators are of that part, wall and idle time are those of {source}.",
        "{artifact} 只含 {source} 所记录计算的 {percent} %：算子数据只针对这一部分，总时长与空闲取自 {source}。",
    ),
    "next partial": (
        "Copy the whole table again, or export again.",
        "重新拷贝完整的表，或重新导出。",
    ),
    "cut": (
        "the source of these figures ({artifact}) has no end: times are those of the part that was read.",
        "数据来源（{artifact}）不完整：时间只反映已读取部分。",
    ),
    "next cut": ("Let the profiler finish, or export again.", "等待采集结束，或重新导出。"),
}

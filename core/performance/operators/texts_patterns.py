# ruff: noqa: E501
"""Texts of patterns in the operator table, in English and Chinese: (en, zh). Figures are filled in by name."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    # AI CPU
    "aicpu": (
        "Calls on the AI CPU: {n:,} ({types}). They take {total} = {share} % of all operator time; longer than {limit:g} us: {n_long:,}; nothing else ran on the device for {exposed} of it.",
        "{n:,} 次算子调用在 AI CPU 上执行（{types}）：共 {total}，占全部算子耗时的 {share} %，其中 {n_long:,} 次超过 {limit:g} us；有 {exposed} 设备上没有其他任务在执行。",
    ),
    "aicpu-next-dtype": (
        "AI cores do not take {dtypes} here: cast to float32, float16, bfloat16 or int32 before the operator (tensor.to(torch.float32); DOUBLE often comes from numpy or Python scalars).",
        "AI Core 实现不支持此处的 {dtypes}：在算子之前转换为 float32、float16、bfloat16 或 int32（tensor.to(torch.float32)；DOUBLE 常来自 numpy 或 Python 标量）。",
    ),
    "aicpu-next-type": (
        "Write {types} in another way: torch.where(condition, a, b) or a multiplication by the mask instead of NonZero and boolean indexing, index_select, scatter or masked_fill_ instead of Index and IndexPut; ArgMin needs CANN 7.0 or later.",
        "改写 {types}：用 torch.where(condition, a, b) 或乘以掩码代替 NonZero 和布尔索引，用 index_select、scatter 或 masked_fill_ 代替 Index、IndexPut；ArgMin 需 CANN 7.0 及以上版本。",
    ),
    "aicpu-next-other": (
        "For the other types the recorded data types are fine: look in the operator list of the installed CANN whether that type has an AI Core implementation for these shapes, and update CANN or move the operator out of the loop.",
        "其余类型所记录的数据类型没有问题：在已安装 CANN 的算子清单中确认该类型在这些 shape 下是否有 AI Core 实现，升级 CANN，或将该算子移出循环。",
    ),
    # dynamic shapes
    "dynamic-all": (
        "All operators with a recorded state run with dynamic shapes, {dynamic:,} x: {total} = {share} % of kernel time; not recorded: {unknown:,}. Block dim is not judged: tiling is chosen at run time.",
        "所有记录了状态的算子均为动态 shape：{dynamic:,} 次调用，共 {total}，占 kernel 耗时的 {share} %；未记录 {unknown:,} 次。tiling 在运行时决定，因此不评估 block dim。",
    ),
    "dynamic-all-next": (
        "Keep single operators from being compiled for each new shape: torch_npu.npu.set_compile_mode(jit_compile=False) and torch_npu.npu.config.allow_internal_format = False; pad or bucket the inputs where a graph mode is to be used.",
        "避免单算子随新 shape 反复编译：设置 torch_npu.npu.set_compile_mode(jit_compile=False) 和 torch_npu.npu.config.allow_internal_format = False；若要使用图模式，对输入做 padding 或分桶。",
    ),
    "dynamic-mixed": (
        "Calls with dynamic shapes: {dynamic:,} ({total} = {share} % of kernel time), with static ones: {static:,}; not recorded: {unknown:,}.",
        "{dynamic:,} 次调用为动态 shape（共 {total}，占 kernel 耗时的 {share} %），{static:,} 次为静态 shape；未记录 {unknown:,} 次。",
    ),
    "dynamic-mixed-next": (
        "If the dynamic part stands between replays of a graph, capture it as well (fixed batch sizes, padded inputs); else nothing is to be done.",
        "若动态部分位于图重放之间，将其一并捕获进图（固定 batch size、对输入做 padding）；否则无需处理。",
    ),
    # block dim
    "cores-told": ("as the profile says", "取自 profiling 数据"),
    "cores-inferred": (
        "inferred from the largest block dim, no file says it",
        "由最大 block dim 推断，文件中没有记录",
    ),
    "block-dim": (
        "Calls that are not split over whole waves of the cores: {n:,} ({total}); the idle cores would be worth at most {stake}. Worst: {type} uses {blocks} blocks on {cores} cores ({basis}), {idle} % of its waves idle.",
        "{n:,} 次调用（共 {total}）的 block dim 不是核数的整数倍；空闲核折算最多 {stake}。最严重的是 {type}：{blocks} 个 block、{cores} 个核（{basis_zh}），各轮中有 {idle} % 空闲。",
    ),
    "block-dim-next": (
        "Choose shapes (batch, padding of the split axis) or a tiling whose block dim is a multiple of the core number; for operators of your own set the block dim in the tiling function (SetBlockDim). Operators that already use the whole memory bandwidth gain less than that.",
        "调整 shape（batch、切分轴 padding）或 tiling，使 block dim 为核数的整数倍；自定义算子在 tiling 函数中用 SetBlockDim 设置。已占满内存带宽的算子收益会低于该值。",
    ),
    # conversions
    "conversion": (
        "Format and type conversions take {total} = {share} % of kernel time (limit {limit:g} %{vector}): {families}. Most of it: {pair}, {pair_n:,} x, {pair_total}; before it {before}, behind it {after}.",
        "格式与类型转换共 {total}，占 kernel 耗时的 {share} %（阈值 {limit:g} %{vector_zh}）：{families}。其中最多的是 {pair}，{pair_n:,} 次，{pair_total}；其前为 {before}，其后为 {after}。",
    ),
    "conversion-vector": ("; {share} % of vector time", "；占 vector 耗时的 {share} %"),
    "conversion-next-transdata": (
        "TransData: set torch_npu.npu.config.allow_internal_format = False so that tensors keep ND/NCHW, or keep the private format through (convert weights once with torch_npu.npu_format_cast, channels_last for convolutions).",
        "TransData：设置 torch_npu.npu.config.allow_internal_format = False 使张量保持 ND/NCHW；或让私有格式贯穿上下游（用 torch_npu.npu_format_cast 一次性转换权重，卷积使用 channels_last）。",
    ),
    "conversion-next-cast": (
        "Cast: keep one data type through the block (autocast regions, weights and constants stored in the compute type), convert indices to int32 once.",
        "Cast：让整个模块保持同一数据类型（检查 autocast 区域，权重和常量按计算类型存储），索引只转换一次为 int32。",
    ),
    "conversion-next-transpose": (
        "Transpose: hand the transposed layout to the consumer (transpose flags of matmul, input_layout of attention) instead of permute().contiguous(); permute+reshape is one operator as torch_npu.npu_confusion_transpose.",
        "Transpose：直接把转置布局交给下游（matmul 的转置参数、attention 的 input_layout），避免 permute().contiguous()；permute+reshape 可用 torch_npu.npu_confusion_transpose 一次完成。",
    ),
    "conversion-back": (
        "Conversions undone by the next one of the same kind, at most {between} operators later: {n:,}. Both together take {total} = {share} % of kernel time. Most of it: {path} ({path_n:,} x). That one feeds the other is concluded from equal shapes, types and formats.",
        "{n:,} 次转换在至多 {between} 个算子之后被同类转换还原：两者共 {total}，占 kernel 耗时的 {share} %。最多的是 {path}（{path_n:,} 次）。数据依赖由 shape、类型和格式相同推断。",
    ),
    "conversion-back-next": (
        "Let the operators between take the first format or type: same dtype for them (no .float() ... .half()), torch_npu.npu.config.allow_internal_format = False, or a fused operator for the pair.",
        "让中间的算子直接使用原格式或类型：统一 dtype（去掉 .float() … .half()），设置 torch_npu.npu.config.allow_internal_format = False，或改用融合算子。",
    ),
    # gather
    "gather": (
        "{type} looks like reads of a KV cache, {n:,} x: {total} = {share} % of kernel time, {mean} a call at {speed} GB/s (below {limit} GB/s). Input {shapes} as {layout}, output {output}, contiguous pieces of {piece}.",
        "{n:,} 次 {type} 疑似读取 KV cache：共 {total}，占 kernel 耗时的 {share} %，单次 {mean}，有效带宽 {speed} GB/s（低于 {limit} GB/s）。输入 {shapes}，按 {layout} 理解；输出 {output}，连续片段 {piece}。",
    ),
    "gather-next-layout": (
        "Try the layout {wanted}, so that the tokens of one head lie side by side and a block is one move; or read it in place: attention with a block table (torch_npu.npu_fused_infer_attention_score with block_table, PagedAttention) on an ND or FRACTAL_NZ cache needs no gather.",
        "尝试布局 {wanted}，使同一 head 的 token 连续、一个 block 一次搬完；或者就地读取：使用带 block table 的 attention（torch_npu.npu_fused_infer_attention_score 的 block_table、PagedAttention），cache 用 ND 或 FRACTAL_NZ，无需 Gather。",
    ),
    "gather-next-paged": (
        "Read the cache in place: attention with a block table (torch_npu.npu_fused_infer_attention_score with block_table, PagedAttention) needs no gather; a FRACTAL_NZ cache or larger blocks make the pieces longer.",
        "就地读取 cache：使用带 block table 的 attention（torch_npu.npu_fused_infer_attention_score 的 block_table、PagedAttention）即可省去 Gather；采用 FRACTAL_NZ 格式的 cache 或增大 block size 可使连续片段更长。",
    ),
    # precision mode
    "precision-unknown": (
        "Whether fp32 matmuls and convolutions compute as HF32 is unknown: no row has a value in HF32 Eligible{seen}.",
        "fp32 的 matmul 与卷积是否以 HF32 计算未知：HF32 Eligible 列没有任何值{seen}。",
    ),
    "precision-unknown-next": (
        "Record it: profiler level Level1 (torch_npu.profiler.ProfilerLevel.Level1, or msprof --task-time=l1), which writes HF32 Eligible with shapes and types.",
        "重新采集：使用 Level1（torch_npu.profiler.ProfilerLevel.Level1 或 msprof --task-time=l1），会写出 HF32 Eligible 以及 shape、类型。",
    ),
    "precision-high": (
        "All fp32 matmuls and convolutions run without HF32 (high precision), {n_high:,} x: {high} = {share} % of kernel time{seen}.",
        "所有 fp32 matmul 与卷积均未启用 HF32（高精度）：{n_high:,} 次，共 {high}，占 kernel 耗时的 {share} %{seen}。",
    ),
    "precision-mixed": (
        "fp32 matmuls and convolutions without HF32, {n_high:,} x: {high} = {share} % of kernel time; with it, {n_fast:,} x: {fast}{seen}.",
        "fp32 matmul 与卷积：{n_high:,} 次未启用 HF32（共 {high}，占 kernel 耗时的 {share} %），{n_fast:,} 次启用 HF32（{fast}）{seen}。",
    ),
    "precision-hf32": (
        "All fp32 matmuls and convolutions may compute as HF32, {n_fast:,} x: {fast}{seen}.",
        "所有 fp32 matmul 与卷积均可用 HF32 计算：{n_fast:,} 次，共 {fast}{seen}。",
    ),
    "precision-na": (
        "HF32 Eligible has no value for fp32 matmuls and convolutions ({n_unknown:,} x): their precision mode is unknown{seen}.",
        "{n_unknown:,} 次 fp32 matmul 与卷积的 HF32 Eligible 没有值：精度模式未知{seen}。",
    ),
    "precision-none": (
        "No fp32 matmul or convolution ran: HF32 plays no part{seen}.",
        "没有 fp32 的 matmul 或卷积：与 HF32 无关{seen}。",
    ),
    "precision-high-next": (
        "Where about 10 bits of mantissa are enough, allow it: torch_npu.npu.matmul.allow_hf32 = True, torch_npu.npu.conv.allow_hf32 = True (graphs: allow_hf32 of GE); or compute in bf16 by autocast. Compare the accuracy before and after.",
        "若约 10 位尾数精度足够，可启用：torch_npu.npu.matmul.allow_hf32 = True、torch_npu.npu.conv.allow_hf32 = True（图模式用 GE 的 allow_hf32）；或用 autocast 以 bf16 计算。请前后对比精度。",
    ),
    # tiny operators
    "tiny": (
        "{n:,} kernels = {share} % are shorter than {limit:g} us and come in runs (number {runs:,}, longest {longest:,}): {total} of work ({time_share} % of kernel time) and {gaps} of idle gaps between them, together {wall} % of the wall time; {gap} a gap{dispatch}.",
        "{n:,} 个 kernel（{share} %）短于 {limit:g} us，且成串出现 {runs:,} 段（最长 {longest:,} 个）：执行 {total}（占 kernel 耗时的 {time_share} %），其间空隙 {gaps}，合计占墙钟时间的 {wall} %；平均每个空隙 {gap}{dispatch_zh}。",
    ),
    "tiny-dispatch": ("; host {name}: {us} us a call", "；host 侧 {name} 平均每次 {us} us"),
    "tiny-next": (
        "Launch fewer: capture the step as a graph (torch.npu.NPUGraph, torchair graph mode), TASK_QUEUE_ENABLE=2 for the host, fused operators, Foreach optimizers, scalars computed on the host.",
        "减少下发次数：将该段捕获为图（torch.npu.NPUGraph、torchair 图模式），host 侧设置 TASK_QUEUE_ENABLE=2，改用融合算子，优化器使用 Foreach 实现，标量运算放到 host 侧。",
    ),
    # fused operators
    "fused": (
        "{name} as single kernels ({kinds}), {n:,} x: {total} = {share} % of kernel time; at most {stake} of it goes with a fused operator.",
        "{name_zh}：{n:,} 次以小算子形式执行（{kinds}），共 {total}，占 kernel 耗时的 {share} %；换成融合算子最多可省 {stake}。",
    ),
    "fused-attention": ("attention", "attention"),
    "fused-attention-next": (
        "Use {api} (training) or torch_npu.npu_fused_infer_attention_score (inference), or torch.nn.functional.scaled_dot_product_attention, which leads there.",
        "改用 {api}（训练）或 torch_npu.npu_fused_infer_attention_score（推理），也可使用会下发到它们的 torch.nn.functional.scaled_dot_product_attention。",
    ),
    "fused-rms-norm": ("RMSNorm", "RMSNorm"),
    "fused-rms-norm-next": ("Use {api}(x, weight, epsilon).", "改用 {api}(x, weight, epsilon)。"),
    "fused-rotary": ("rotary position embedding", "旋转位置编码"),
    "fused-rotary-next": ("Use {api}(x, cos, sin).", "改用 {api}(x, cos, sin)。"),
    "fused-ffn": ("feed-forward block", "FFN"),
    "fused-ffn-next": (
        "Use {api}, or one matmul for gate and up with torch_npu.npu_swiglu behind it.",
        "改用 {api}；或将 gate、up 合成一个 matmul，其后接 torch_npu.npu_swiglu。",
    ),
    "fused-swiglu": ("SwiGLU", "SwiGLU"),
    "fused-swiglu-next": ("Use {api}(x, dim=-1).", "改用 {api}(x, dim=-1)。"),
    "fused-softmax": ("scaled masked softmax", "scaled masked softmax"),
    "fused-softmax-next": ("Use {api}(x, mask, scale).", "改用 {api}(x, mask, scale)。"),
    "fused-layer-norm-cast": ("LayerNorm between two casts", "前后带 Cast 的 LayerNorm"),
    "fused-layer-norm-cast-next": (
        "Run LayerNorm in the type of its input: it takes fp16 and bf16 and computes inside in fp32; take it out of the fp32 list of autocast.",
        "让 LayerNorm 直接使用输入类型：它支持 fp16、bf16，内部以 fp32 计算；将其移出 autocast 的 fp32 名单。",
    ),
    "fused-add-layer-norm": ("Add with LayerNorm", "Add + LayerNorm"),
    "fused-add-layer-norm-next": ("Use {api}.", "改用 {api}。"),
    "fused-add-rms-norm": ("Add with RmsNorm", "Add + RmsNorm"),
    "fused-add-rms-norm-next": (
        "Use {api}(residual, x, weight) where no gradient is needed (inference).",
        "在不需要梯度处（推理）改用 {api}(residual, x, weight)。",
    ),
    "fused-dropout-add": ("bias, dropout and residual add", "bias + dropout + 残差相加"),
    "fused-dropout-add-next": (
        "Use the fused bias-dropout-add of the framework (bias_dropout_fusion of Megatron or MindSpeed).",
        "使用框架的 bias-dropout-add 融合实现（Megatron、MindSpeed 的 bias_dropout_fusion）。",
    ),
    "fused-gelu-add": ("GELU with an add", "GELU + Add"),
    "fused-gelu-add-next": (
        "Use the bias of the matmul or a graph mode that fuses Gelu and Add (torchair); torch_npu.fast_gelu is the fast approximation.",
        "将加法并入 matmul 的 bias，或使用会融合 Gelu 与 Add 的图模式（torchair）；torch_npu.fast_gelu 为快速近似实现。",
    ),
    # repeated sequences
    "fusible-host": (
        "{kinds}: {n:,} times, {wall} = {share} % of the step, and only {part} % of that is work ({busy}): the host launches slower than the device computes{more}.",
        "{kinds}：{n:,} 次，共 {wall}，占 step 的 {share} %，其中仅 {part} % 在执行（{busy}）：host 下发慢于 device 执行{more_zh}。",
    ),
    "fusible-more": ("; more such sequences: {n:,}", "；另有类似序列 {n:,} 个"),
    "fusible-host-next": (
        "See first what keeps the host busy (launch gaps). Then launch less: a graph (torch.npu.NPUGraph, torchair), or one operator of your own (Ascend C, Triton) for the sequence.",
        "先查明 host 侧的耗时原因（下发间隙）；再减少下发：使用图模式（torch.npu.NPUGraph、torchair），或将该序列写成一个自定义算子（Ascend C、Triton）。",
    ),
    "fusible-mte": (
        "{kinds}: {n:,} times, {busy} of work; moving data (mte2 with mte3 or fixpipe) adds up to {mte} of the core time: each result goes to memory and back{more}.",
        "{kinds}：{n:,} 次，执行 {busy}，数据搬运（mte2 与 mte3 或 fixpipe 之和）为核耗时的 {mte} 倍：每个中间结果都写回内存再读出{more_zh}。",
    ),
    "fusible-mte-next": (
        "Fuse them so that intermediate results stay in the unified buffer: a fused operator of torch_npu, graph fusion (torchair, inductor), or one of your own (Ascend C, Triton).",
        "融合该序列，使中间结果留在 UB：使用 torch_npu 融合算子、图融合（torchair、inductor），或自行编写（Ascend C、Triton）。",
    ),
    # jitter
    "jitter": (
        "Kernels that take different times for the same shapes: {n:,}. Worst: {type} {shapes}, {calls:,} calls: p50 {p50}, p99 {p99} (+{percent} %, limit {limit:g} %); above their medians {stake} = {share} % of kernel time.",
        "{n:,} 个 kernel 在 shape 相同的情况下耗时波动。最明显的是 {type} {shapes}，{calls:,} 次：p50 {p50}，p99 {p99}（+{percent} %，阈值 {limit:g} %）；超出中位数的部分共 {stake}，占 kernel 耗时的 {share} %。",
    ),
    "jitter-next": (
        "Look at what runs beside the slow calls (communication or copies on other streams share the memory bandwidth), at the AI core frequency, and whether the inputs were still in L2.",
        "查看慢调用期间并行的任务（其他 stream 上的通信、拷贝会抢占带宽）、AI Core 频率，以及输入是否仍在 L2 中。",
    ),
    "warm-up": (
        "Kernels that are slow in their first call only: {n:,}. Most: {type} {shapes}: first {first}, then p50 {p50} ({calls:,} calls); together {stake} = {share} % of kernel time.",
        "{n:,} 个 kernel 仅首次调用慢。最多的是 {type} {shapes}：首次 {first}，其后 p50 {p50}（{calls:,} 次）；合计 {stake}，占 kernel 耗时的 {share} %。",
    ),
    "warm-up-next": (
        "No jitter: give the profiler warm-up steps (schedule(wait, warmup, active)) and leave the first step out of comparisons.",
        "这不是抖动：采集时设置预热（schedule(wait, warmup, active)），对比时去掉首个 step。",
    ),
    # what could not be judged
    "unknown": (
        "Not judged, since the table does not record it: {what}.",
        "因表中没有记录而未评估：{what_zh}。",
    ),
    "unknown-next": (
        "Record with Level1 (torch_npu.profiler.ProfilerLevel.Level1; msprof --task-time=l1 --ai-core=on) and record_shapes=True.",
        "以 Level1 重新采集（torch_npu.profiler.ProfilerLevel.Level1；msprof --task-time=l1 --ai-core=on），并设置 record_shapes=True。",
    ),
    "what-aicpu": ("AI CPU operators ({columns})", "AI CPU 算子（{columns}）"),
    "what-dynamic": ("dynamic shapes ({columns})", "动态 shape（{columns}）"),
    "what-block-dim": ("block dim ({columns})", "block dim（{columns}）"),
    "what-conversion": ("conversions ({columns})", "格式与类型转换（{columns}）"),
    "what-gather": ("KV cache gathers ({columns})", "KV cache Gather（{columns}）"),
    "what-tiny": ("runs of tiny operators ({columns})", "成串小算子（{columns}）"),
    "what-fusible": ("repeated and fusible sequences ({columns})", "重复与可融合序列（{columns}）"),
    "what-jitter": ("jitter of kernels ({columns})", "kernel 抖动（{columns}）"),
}

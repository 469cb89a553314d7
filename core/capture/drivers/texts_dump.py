"""What the drivers of dumps say, in English and in Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..driver import Words

TEXTS: Mapping[str, Words] = {
    # ---- preflight ----
    "capture.msprobe-missing": (
        "{python} has torch but not msprobe: nothing would be recorded.",
        "{python} 有 torch 但没有 msprobe：将不会记录任何内容。",
    ),
    "capture.msprobe-missing-next": (
        "{python} -m pip install mindstudio-probe",
        "{python} -m pip install mindstudio-probe",
    ),
    "capture.torch-npu-missing": (
        "{python} has torch but not torch_npu: nothing runs on an NPU that could be asked.",
        "{python} 有 torch 但没有 torch_npu：没有可用的 NPU。",
    ),
    "capture.torch-npu-missing-next": (
        "Install the torch_npu that belongs to that torch, or take a tool that needs none: --tool msprobe (precision), statistics (overflow).",
        "安装与该 torch 匹配的 torch_npu，或使用无需它的工具：--tool msprobe（precision）、statistics（overflow）。",
    ),
    # ---- plans ----
    "launcher": (
        "The script stays as it is: its Python loads {folder}/sitecustomize.py through PYTHONPATH, which starts PrecisionDebugger around each step.",
        "脚本无需修改：其 Python 通过 PYTHONPATH 加载 {folder}/sitecustomize.py，在每一步前后启停 PrecisionDebugger。",
    ),
    "steps-are": (
        "A step: from the first call of the model to the end of optimizer.step(); without an optimizer each call of the outermost module. --set step-on=optimizer or forward decides it.",
        "步的含义：从首次调用模型到 optimizer.step() 结束；没有优化器时，每次调用最外层模块为一步。可用 --set step-on=optimizer 或 forward 指定。",
    ),
    "debug-level": (
        "Level debug records what the script itself saves with PrecisionDebugger.save(variable, name), nothing else.",
        "debug 级别只记录脚本自身通过 PrecisionDebugger.save(variable, name) 保存的内容。",
    ),
    "switch-off": (
        "dump_enable is false: nothing is recorded before it is switched on.",
        "dump_enable 为 false：在打开开关之前不会记录任何内容。",
    ),
    # ---- why nothing ----
    "not-started": ("The command could not be started.", "命令未能启动。"),
    "not-started-next": (
        "Read console.log of the round; check the program's name and its path.",
        "查看该轮次的 console.log；检查程序名称及路径。",
    ),
    "no-python": (
        "No Python of the command read the launcher: python -I, -E or -S, a script or container that sets PYTHONPATH anew, or no Python 3.8 or newer.",
        "命令中没有 Python 读取启动器：使用了 python -I、-E 或 -S，脚本或容器重设了 PYTHONPATH，或没有 Python 3.8 及以上版本。",
    ),
    "no-python-next": (
        "Let PYTHONPATH begin with {folder}, or put two lines into the script: import npulse.hook; npulse.hook.register_dump_hook('{config}').",
        "让 PYTHONPATH 以 {folder} 开头，或在脚本中加入两行：import npulse.hook; npulse.hook.register_dump_hook('{config}')。",
    ),
    "no-torch": (
        "Python ({python}) ran, but no process imported torch: the script ended before, or is no PyTorch program.",
        "Python（{python}）已运行，但没有进程导入 torch：脚本提前结束，或并非 PyTorch 程序。",
    ),
    "no-torch-next": (
        "Read console.log of the round for the script's own error. A MindSpore program marks its steps with npulse.hook.",
        "在该轮次的 console.log 中查看脚本自身的错误。MindSpore 程序需用 npulse.hook 标出各步。",
    ),
    "no-msprobe": (
        "msprobe is not installed in the Python that the command runs ({python}).",
        "命令所用的 Python（{python}）中未安装 msprobe。",
    ),
    "no-msprobe-next": (
        "pip install mindstudio-probe in that Python, then capture again.",
        "在该 Python 中执行 pip install mindstudio-probe 后重新采集。",
    ),
    "failed": ("Recording failed at {where}: {error}", "在“{where}”处记录失败：{error}"),
    "failed-next": (
        "npulse config check {config} says what msprobe refuses; each process's log lies in {folder}.",
        "npulse config check {config} 可说明 msprobe 拒绝的内容；各进程的日志位于 {folder}。",
    ),
    "failed-start-next": (
        "Try it in the program's own Python: python -c 'import msprobe.pytorch'; often numpy or torch is too new for that msprobe. npulse config check {config} says what it refuses in the configuration.",
        "在程序自己的 Python 中尝试：python -c 'import msprobe.pytorch'；常见原因是 numpy 或 torch 对该 msprobe 过新。npulse config check {config} 可说明配置中被拒绝的内容。",
    ),
    "own-debugger": (
        "The script made a PrecisionDebugger of its own before: its own config.json counts, and its dump_path got the data.",
        "脚本先行创建了自己的 PrecisionDebugger：以其自身的 config.json 为准，数据写入其 dump_path。",
    ),
    "own-debugger-next": (
        "Open the folder of its dump_path, or take its PrecisionDebugger out of the script.",
        "打开其 dump_path 所在目录，或从脚本中移除 PrecisionDebugger。",
    ),
    "own-calls": (
        "The script has a PrecisionDebugger of its own: it got this round's configuration, and its own start, stop and step were used.",
        "脚本有自己的 PrecisionDebugger：它使用了本轮次的配置，并以其自身的 start、stop、step 为准。",
    ),
    "own-calls-next": (
        "See that the script calls debugger.start() before the forward pass and stop() and step() behind each step.",
        "确认脚本在前向之前调用 debugger.start()，并在每步之后调用 stop() 和 step()。",
    ),
    "ended-before": (
        "The program ended ({how}) before its first forward pass.",
        "程序在首次前向之前结束（{how}）。",
    ),
    "ended-before-next": (
        "Read console.log of the round for its own error, or give it more time.",
        "在该轮次的 console.log 中查看其自身的错误，或给它更多时间。",
    ),
    "exit-status": ("exit status {n}", "退出状态 {n}"),
    "by-signal": ("signal {n}", "信号 {n}"),
    "stopped-by": ("{how}, stopped by: {who}", "{how}，停止原因：{who}"),
    "no-model": (
        "No module with parameters was called, so no step began.",
        "没有调用任何带参数的模块，因此没有开始任何一步。",
    ),
    "no-model-next": (
        "The program ended before its first forward pass, or has no torch.nn.Module: mark its steps with npulse.hook.register_dump_hook('{config}').",
        "程序在首次前向之前结束，或没有 torch.nn.Module：用 npulse.hook.register_dump_hook('{config}') 标出各步。",
    ),
    "only-evaluation": (
        "The model was called {n} times without gradients and the optimizer made no step: evaluations only.",
        "模型在无梯度状态下被调用 {n} 次，优化器未执行任何一步：仅有评估。",
    ),
    "only-evaluation-next": (
        "Capture again with --set step-on=forward.",
        "使用 --set step-on=forward 重新采集。",
    ),
    "step-range": (
        "The program made {n} steps (0 to {last}), and step {step} was asked for.",
        "程序执行了 {n} 步（0 至 {last}），而要求的是 step {step}。",
    ),
    "step-range-next": (
        "Ask for a step that there is, or let the program run longer.",
        "指定存在的步，或让程序运行更久。",
    ),
    "rank-range": (
        "No process was rank {rank}{known}.",
        "没有进程是 rank {rank}{known}。",
    ),
    "rank-known": ("; there were {ranks}", "；现有 {ranks}"),
    "rank-none": (
        "; torch.distributed was not initialised when recording began, so msprobe knew no rank",
        "；开始记录时 torch.distributed 尚未初始化，msprobe 不知道 rank",
    ),
    "rank-range-next": ("Leave --rank out, or name one of these.", "去掉 --rank，或指定其中之一。"),
    "list-nothing": (
        "Steps were recorded, but no operator in them matches {names}.",
        "已记录步，但其中没有算子匹配 {names}。",
    ),
    "list-nothing-next": (
        "Capture once without --list at task statistics and take the names from there.",
        "先不带 --list 以 statistics 任务采集一次，再从中取名称。",
    ),
    "empty": ("Steps began, but not one operator was recorded.", "步已开始，但没有记录任何算子。"),
    "empty-level": (
        "At level {level} only modules below the model are recorded: take level L1 or mix.",
        "{level} 级别只记录模型内的子模块：请使用 L1 或 mix 级别。",
    ),
    "switched-off": (
        "dump_enable was false all the time, so nothing was recorded.",
        "dump_enable 一直为 false，因此没有记录任何内容。",
    ),
    "switched-off-next": (
        "Switch recording on while the program runs, or start with --set dump_enable=true.",
        "在程序运行时打开记录，或以 --set dump_enable=true 启动。",
    ),
    "unknown-nothing": (
        "Nothing was recorded, and nothing says why.",
        "没有记录任何内容，也没有说明原因的信息。",
    ),
    "unknown-nothing-next": (
        "Read console.log of the round and the logs in {folder}.",
        "查看该轮次的 console.log以及 {folder} 中的日志。",
    ),
    # ---- acl.json ----
    "acl-cpp": (
        'The program itself must take {path}: aclInit("{path}"), or aclmdlInitDump and aclmdlSetDump("{path}"). No environment variable does that.',
        '须由程序自身读取 {path}：aclInit("{path}")，或 aclmdlInitDump 与 aclmdlSetDump("{path}")。没有环境变量可以代替。',
    ),
    "acl-python": (
        'Before the first forward pass torch_npu.npu.init_dump() and set_dump("{path}") are called, finalize_dump() at the end; the script stays as it is. MindSpore takes the file through MS_ACL_DUMP_CFG_PATH.',
        '首次前向之前调用 torch_npu.npu.init_dump() 与 set_dump("{path}")，结束时调用 finalize_dump()；脚本无需修改。MindSpore 通过 MS_ACL_DUMP_CFG_PATH 读取该文件。',
    ),
    "acl-offline": (
        "msprobe runs the .om model itself and dumps every operator of it.",
        "由 msprobe 自行运行 .om 模型并 dump 其全部算子。",
    ),
    "acl-cut": (
        "{n} files hold fewer bytes than their header says, first {file}: the program was ended while it wrote.",
        "{n} 个文件的字节数少于其头部所述，首个为 {file}：程序在写入时被终止。",
    ),
    "acl-cut-next": (
        "What lies before them can be read. Capture again with fewer layers or steps and stop with Ctrl-C.",
        "其之前的内容可读。请减少层或步重新采集，并用 Ctrl-C 停止。",
    ),
    "acl-refused": ("CANN refused the dump: {line}", "CANN 拒绝了 dump：{line}"),
    "acl-refused-next": ("npulse config check {config}", "npulse config check {config}"),
    "acl-unused": (
        "Nothing appeared, and nothing but the program itself can hand {path} to CANN.",
        "没有任何输出；只有程序自身能把 {path} 交给 CANN。",
    ),
    "acl-unused-next": (
        'See that the program calls aclInit("{path}") or torch_npu.npu.set_dump("{path}") before the model runs.',
        '确认程序在模型运行之前调用 aclInit("{path}") 或 torch_npu.npu.set_dump("{path}")。',
    ),
    "acl-offline-nothing": ("msprobe offline_dump wrote nothing.", "msprobe offline_dump 没有写出任何内容。"),
    "acl-offline-nothing-next": (
        "Read console.log of the round; a run that went well ends with 'msprobe ends successfully.'",
        "查看该轮次的 console.log；正常结束时最后一行为“msprobe ends successfully.”。",
    ),
    "no-torch-npu": (
        "The program never imported torch_npu, so nothing ran on an NPU.",
        "程序从未导入 torch_npu，因此没有任何内容在 NPU 上运行。",
    ),
    "no-torch-npu-next": (
        "Install the torch_npu that belongs to this torch, or take --tool msprobe, which also records on a CPU.",
        "安装与该 torch 匹配的 torch_npu，或使用 --tool msprobe（在 CPU 上也能记录）。",
    ),
    "acl-no-match": (
        "The dump was on, but nothing that ran matches: {wanted}.",
        "dump 已开启，但运行的内容与此均不匹配：{wanted}。",
    ),
    "acl-no-match-next": (
        "Names are those of compiled (fused) operators, of the JSON that atc --mode=1 prints from the .om; steps count from 0.",
        "名称须为编译（融合）后的算子名，见 atc --mode=1 由 .om 输出的 JSON；步从 0 开始计数。",
    ),
    "acl-nothing": (
        "The dump was on, but no operator ran on a device while it was.",
        "dump 已开启，但其间没有算子在设备上运行。",
    ),
    "acl-nothing-next": (
        "See that the model lies on the NPU (model.npu()), and read the plog for EP00 errors.",
        "确认模型位于 NPU（model.npu()），并在 plog 中查找 EP00 错误。",
    ),
    "acl-killed": (
        "The program was killed; the newest files may lack their end even where their header looks whole.",
        "程序被强制终止；即使头部完整，最新的文件也可能缺少结尾。",
    ),
    "acl-unchecked": (
        "{n} older files were counted and not opened.",
        "{n} 个较早的文件只计数，未打开检查。",
    ),
    # ---- overflow ----
    "retro": (
        "Of the tensors those of the first anomaly and of the {n} operators before it are kept; the others are removed while the program runs. dump.json stays whole.",
        "张量只保留首个异常及其之前 {n} 个算子的内容；其余在程序运行期间删除。dump.json 保持完整。",
    ),
    "acl-overflow": (
        "Only what overflows is written: a folder without files means that nothing did, or that the device writes Inf and NaN instead (A2, A3 and 950 by default): then take --tool statistics.",
        "只写出发生溢出的内容：目录为空表示没有溢出，或设备改写 Inf 和 NaN（A2、A3、950 的默认行为）：此时使用 --tool statistics。",
    ),
    "mode-saturation": (
        "The device saturates: overflow shows as the largest value of the dtype (65504 in float16), NaN as 0.",
        "设备处于饱和模式：溢出显示为 dtype 的最大值（float16 为 65504），NaN 显示为 0。",
    ),
    "mode-may-be-refused": (
        "A2 and A3 refuse INF_NAN_MODE_ENABLE=0 unless INF_NAN_MODE_FORCE_DISABLE=1 is set as well (--set force_disable=1).",
        "A2 和 A3 会拒绝 INF_NAN_MODE_ENABLE=0，除非同时设置 INF_NAN_MODE_FORCE_DISABLE=1（--set force_disable=1）。",
    ),
    "no-overflow": (
        "Overflow detection was on and the device reported nothing.",
        "溢出检测已开启，设备没有报告任何溢出。",
    ),
    "no-overflow-next": (
        "Where Inf or NaN are seen all the same, the device is in INF/NAN mode: take --tool statistics.",
        "如果仍然出现 Inf 或 NaN，则设备处于 INF/NAN 模式：使用 --tool statistics。",
    ),
    # ---- why incomplete ----
    "no-index": (
        "{n} rank-steps hold tensors without an index: dump.json was never written to its end.",
        "{n} 个 rank-step 只有张量而没有索引：dump.json 未能写完。",
    ),
    "cut": ("dump.json is cut off in {n} rank-steps.", "{n} 个 rank-step 的 dump.json 被截断。"),
    "unnamed": (
        "{n} tensor files are in no dump.json: what came after its last write is lost.",
        "{n} 个张量文件不在任何 dump.json 中：最后一次写入之后的条目已丢失。",
    ),
    "lost": (
        "{n} tensors that dump.json names have no file, an empty one or a cut one.",
        "dump.json 列出的 {n} 个张量没有文件，或文件为空、被截断。",
    ),
    "unfinished": (
        "{n} processes that recorded did not come to their end: up to 1,000 operators since the last write of dump.json are lost.",
        "{n} 个正在记录的进程没有正常结束：自 dump.json 最后一次写入以来最多 1,000 个算子已丢失。",
    ),
    "incomplete-next": (
        "npulse precision and npulse overflow read what is there. For the rest capture again with fewer steps, and stop with Ctrl-C so that msprobe can write its index.",
        "npulse precision 和 npulse overflow 可读取现有内容。其余部分请减少步数重新采集，并用 Ctrl-C 停止以便 msprobe 写入索引。",
    ),
    # ---- warnings ----
    "another-model": (
        "More than one model was called in a step ({names}); at level {level} the modules of the first one alone are recorded.",
        "一步中调用了多个模型（{names}）；在 {level} 级别下仅记录第一个模型的模块。",
    ),
    "error-log": (
        "msprobe noted errors of its own in {file}: {line}",
        "msprobe 在 {file} 中记录了自身的错误：{line}",
    ),
    "failed-warning": (
        "Recording ended early in process {pid}, at {where}: {error}",
        "进程 {pid} 的记录在“{where}”处提前结束：{error}",
    ),
    "size-like": ("by the round {name}: {why}", "依据轮次 {name}：{why}"),
    "size-first": (
        "no earlier round of this program is in the archive; by list, scope and level it is {why}",
        "归档中没有该程序以前的轮次；按 list、scope、level 属于 {why}",
    ),
    "size-offline": (
        "every tensor of the model, whose size only a run tells",
        "模型的全部张量，大小只有运行后才知道",
    ),
    "size-overflows": (
        "only operators that overflow are written: as much as overflows",
        "只写出溢出的算子：溢出多少写多少",
    ),
    "not-whole": (
        "{file} could not be read to its end: {reason}",
        "{file} 未能读完：{reason}",
    ),
}


def words(key: str, /, **values: Any) -> Words:
    """The text in both languages, filled in; a value that is a pair has its own words in each."""
    filled = []
    for i, text in enumerate(TEXTS[key]):
        chosen = {name: v[i] if isinstance(v, tuple) and len(v) == 2 else v for name, v in values.items()}
        filled.append(text.format(**chosen))
    return filled[0], filled[1]

"""What error codes of CANN, its runtime, HCCL and torch_npu mean, in our own words; what to do about each.

Facts only, nothing is read and nothing judged. Names are the vendor's own, so that they can be searched for.
"""
# ruff: noqa: E501 - a code stands on one line in both languages

from __future__ import annotations

import re
from collections.abc import Mapping

from npulse.core.dataclass import dataclass
from npulse.core.text import Lang


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One code. Texts are (en, zh); cause and next_step may be ("", "") where nothing general can be said.

    is_real: False for codes that some guides name and no tool prints; `see` has the real ones.
    """

    code: str
    name: str
    meaning: tuple[str, str]
    cause: tuple[str, str]
    next_step: tuple[str, str]
    is_real: bool = True
    see: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ErrorBit:
    """One bit of an AI Core's error code ("errcode:" in a log). meaning: (en, zh), ("", "") for rare ones."""

    number: int
    name: str
    meaning: tuple[str, str]
    is_hardware: bool


def pick(texts: tuple[str, str], lang: Lang) -> str:
    """The text in one language."""
    return texts[1] if lang == "zh" else texts[0]


# ---- texts that several codes share ----

_CAUSES: Mapping[str, tuple[str, str]] = {
    "": ("", ""),
    "kernel": (
        "a kernel used a bad address or a bad parameter, or memory was freed or overwritten under it",
        "kernel 使用了非法地址或非法参数，或其内存已被释放、改写",
    ),
    "endless": (
        "a kernel waits for a flag that nobody sets, loops without end, or has too much to do",
        "kernel 等待无人置位的 flag、死循环，或计算量过大",
    ),
    "overflow": (
        "an offset or a length is too large, often in the last tile",
        "偏移或长度过大，常见于最后一个 tile",
    ),
    "aicpu": (
        "an operator on the AI CPU met bad data, or its library is missing",
        "AI CPU 算子遇到非法数据，或缺少对应库",
    ),
    "aicpu-slow": (
        "preprocessing in front of GetNext takes too long, or an AI CPU operator has too large a shape",
        "GetNext 之前的预处理过慢，或 AI CPU 算子的 shape 过大",
    ),
    "peer": (
        "another rank failed, is late, exited or runs other operators; rarely the link between them",
        "其他 rank 出错、变慢、退出或执行了不同算子；少数情况是链路问题",
    ),
    "memory": (
        "weights, activations, caches and workspaces need more than the device has, or another process holds it",
        "权重、激活、缓存与 workspace 超过设备内存，或被其他进程占用",
    ),
    "hardware": (
        "the memory or the link of the device is faulty",
        "设备内存或链路故障",
    ),
    "argument": (
        "an argument is out of its range, or calls come in the wrong order",
        "参数超出范围，或接口调用顺序不对",
    ),
    "environment": (
        "an environment variable or a configuration file holds a wrong value",
        "环境变量或配置文件取值错误",
    ),
    "version": (
        "driver, firmware, CANN and framework do not fit together",
        "驱动、固件、CANN 与框架版本不匹配",
    ),
    "follow": (
        "an earlier error of another module; this code only passes it on",
        "其他模块先前的错误，本错误码只是转报",
    ),
    "unsupported": (
        "the operator does not exist for this chip, data type or format",
        "该芯片、数据类型或格式下没有此算子",
    ),
    "large": (
        "the shape is too large for the on-chip buffers even with the smallest tile",
        "即使使用最小 tile，shape 仍超出片上缓存",
    ),
    "busy": (
        "another process uses the device, or the last one has not ended yet",
        "设备被其他进程占用，或上一个进程尚未退出",
    ),
}

_NEXT: Mapping[str, tuple[str, str]] = {
    "": ("", ""),
    "plog": (
        "look in the plog of this process for the lines around this time",
        "在该进程的 plog 中查看此时间附近的日志",
    ),
    "kernel": (
        "find the kernel's name, error bits and program counter in the plog, then run it under mssanitizer",
        "在 plog 中找到 kernel 名、错误位与 PC，再用 mssanitizer 运行",
    ),
    "sync": (
        "run it under mssanitizer --tool synccheck; compare its time with the operator time-out",
        "用 mssanitizer --tool synccheck 运行；并与算子超时时间对比",
    ),
    "aicpu": (
        "look at the device log of the AI CPU and at the operator's inputs",
        "查看 AI CPU 的 device 日志与该算子的输入",
    ),
    "ranks": (
        "collect the logs of all ranks: look at the one that reports no time-out, else at the first error by time",
        "收集所有 rank 的日志：先看没有报超时的 rank，否则看时间最早的错误",
    ),
    "memory": (
        "compare tried, free and reserved bytes; make batch or sequence smaller, or stop other processes",
        "对比申请、空闲与预留字节数；减小 batch 或序列长度，或停止其他进程",
    ),
    "hardware": (
        "check npu-smi info -t health and -t ecc of this device; report it if it returns",
        "检查该设备的 npu-smi info -t health 与 -t ecc；若重复出现请报修",
    ),
    "argument": (
        "compare the argument named in the message with the interface's range",
        "将消息中的参数与接口取值范围对比",
    ),
    "environment": (
        "correct the variable or the file that the message names",
        "修正消息中给出的环境变量或文件",
    ),
    "version": (
        "compare the versions of driver, firmware, CANN and framework",
        "核对驱动、固件、CANN 与框架的版本",
    ),
    "first": (
        "read the messages above it, and the first error of the same process in the plog",
        "查看其上方的消息，以及同一进程 plog 中的第一条错误",
    ),
    "operator": (
        "check data type, format and chip; use another operator or a newer operator package",
        "检查数据类型、格式与芯片型号；换用其他算子或更新算子包",
    ),
    "tile": (
        "make the block smaller or split the axis",
        "减小分块，或切分该轴",
    ),
    "wait": (
        "end the other process, wait ten seconds and start again",
        "结束其他进程，等待十秒后重试",
    ),
}

_Row = tuple[str, str, str, str, str, str]  # code, name, meaning en, meaning zh, cause, next step

_RUNTIME: tuple[_Row, ...] = (
    ("100000", "parameter verification failed", "an argument of the call is not allowed", "接口参数校验失败", "argument", "argument"),
    ("107000", "parameter verification failed", "an argument of the call is not allowed", "接口参数校验失败", "argument", "argument"),
    ("107001", "invalid device id", "there is no such device", "设备号无效", "argument", "argument"),
    ("107002", "context is empty", "no device was set in this thread", "当前线程未设置设备（context 为空）", "argument", "argument"),
    ("107003", "stream not in current context", "the stream belongs to another device or thread", "stream 不属于当前 context", "argument", "argument"),
    ("107017", "invalid resource handle", "a stream or event was already destroyed", "资源句柄无效（可能已销毁）", "argument", "argument"),
    ("107019", "task timeout", "a task did not end in time", "任务执行超时", "endless", "plog"),
    ("200000", "memory allocation failed", "memory could not be had", "内存申请失败", "memory", "memory"),
    ("207000", "feature not supported", "this driver or chip cannot do it", "驱动或芯片不支持该特性", "version", "version"),
    ("207001", "memory allocation failed", "device memory could not be had", "设备内存申请失败", "memory", "memory"),
    ("207003", "aicore over flow", "an operator's result is too large for its data type", "算子结果溢出", "", "plog"),
    ("207005", "memory allocation failed", "a resource could not be had", "资源申请失败", "memory", "memory"),
    ("207008", "stream resources insufficient", "too many streams", "stream 资源不足", "busy", "plog"),
    ("207018", "device out of memory", "the memory of the device is used up", "设备内存耗尽", "memory", "memory"),
    ("500002", "GE error", "the graph engine failed", "图引擎（GE）内部错误", "follow", "first"),
    ("500003", "runtime error", "the runtime failed", "runtime 内部错误", "follow", "first"),
    ("507000", "runtime internal error", "the runtime on the host failed", "host 侧 runtime 内部错误", "follow", "first"),
    ("507001", "task scheduler internal error", "the task scheduler on the device failed", "device 侧任务调度器内部错误", "follow", "plog"),
    ("507010", "task scheduler heartbeat lost", "the device does not answer any more", "任务调度器心跳丢失", "hardware", "hardware"),
    ("507011", "model stream failed", "a task inside the model failed", "模型中的某个任务执行失败", "kernel", "first"),
    ("507013", "system DMA error", "a copy by DMA failed", "DMA 拷贝失败", "kernel", "plog"),
    ("507014", "aicore timeout", "a kernel on an AI Core did not end in time", "AI Core 上的 kernel 执行超时", "endless", "sync"),
    ("507015", "aicore exception", "a kernel on an AI Core was stopped by an error", "AI Core 上的 kernel 执行异常", "kernel", "kernel"),
    ("507016", "aicore trap", "a kernel on an AI Core stopped itself, as by a failed assertion", "AI Core 上的 kernel 触发 trap（如断言失败）", "kernel", "kernel"),
    ("507017", "aicpu timeout", "an AI CPU operator did not end in time", "AI CPU 算子执行超时", "aicpu-slow", "aicpu"),
    ("507018", "aicpu exception", "an AI CPU operator failed", "AI CPU 算子执行异常", "aicpu", "aicpu"),
    ("507033", "device setup error", "the device could not be started", "设备启动失败", "busy", "hardware"),
    ("507034", "vector core timeout", "a kernel on a vector core did not end in time", "vector 核 kernel 执行超时", "endless", "sync"),
    ("507035", "vector core exception", "a kernel on a vector core was stopped by an error", "vector 核 kernel 执行异常", "kernel", "kernel"),
    ("507036", "vector core trap", "a kernel on a vector core stopped itself, as by a failed assertion", "vector 核 kernel 触发 trap（如断言失败）", "kernel", "kernel"),
    ("507042", "aicore trap read overflow", "an AI Core read outside its buffers", "AI Core 读越界", "overflow", "kernel"),
    ("507043", "aicore trap write overflow", "an AI Core wrote outside its buffers", "AI Core 写越界", "overflow", "kernel"),
    ("507044", "vector core trap read overflow", "a vector core read outside its buffers", "vector 核读越界", "overflow", "kernel"),
    ("507045", "vector core trap write overflow", "a vector core wrote outside its buffers", "vector 核写越界", "overflow", "kernel"),
    ("507046", "stream sync timeout", "the tasks of a stream did not end within the time that the caller gave", "在指定时间内 stream 上的任务未完成", "endless", "plog"),
    ("507047", "event sync timeout", "an event did not come within the time that the caller gave", "在指定时间内 event 未完成", "endless", "plog"),
    ("507048", "ffts+ timeout", "a fused task, often a collective, did not end in time", "融合任务（常为集合通信）执行超时", "peer", "ranks"),
    ("507049", "ffts+ exception", "a fused task failed", "融合任务执行异常", "kernel", "kernel"),
    ("507050", "ffts+ trap", "a fused task stopped itself", "融合任务触发 trap", "kernel", "kernel"),
    ("507053", "device memory error", "the device reports an error of its memory", "设备内存出错", "hardware", "hardware"),
    ("507054", "HBM multi-bit ECC error", "a bit error in HBM that could not be corrected", "HBM 出现不可纠正的 ECC 错误", "hardware", "hardware"),
    ("507055", "suspect device memory error", "the memory of the device may be faulty", "疑似设备内存故障", "hardware", "hardware"),
    ("507056", "link error", "the link between devices is faulty", "设备间链路故障", "hardware", "hardware"),
    ("507057", "suspect remote error", "the device at the other end may be faulty", "疑似对端设备故障", "peer", "ranks"),
    ("507899", "driver internal error", "the driver failed", "驱动内部错误", "follow", "first"),
    ("507900", "aicpu internal error", "the AI CPU scheduler failed", "AI CPU 调度内部错误", "aicpu", "aicpu"),
    ("507901", "device connection lost", "host and device lost their connection", "host 与 device 的连接断开", "hardware", "hardware"),
)  # fmt: skip

_RETURNS: tuple[_Row, ...] = (
    ("0x25", "aicore timeout", "as 507014", "同 507014", "endless", "sync"),
    ("0x26", "aicore exception", "as 507015", "同 507015", "kernel", "kernel"),
    ("0x27", "aicore trap", "as 507016", "同 507016", "kernel", "kernel"),
    ("0x28", "aicpu timeout", "as 507017", "同 507017", "aicpu-slow", "aicpu"),
    ("0x2a", "aicpu exception", "as 507018", "同 507018", "aicpu", "aicpu"),
    ("0x30", "vector core timeout", "as 507034", "同 507034", "endless", "sync"),
    ("0x31", "vector core exception", "as 507035", "同 507035", "kernel", "kernel"),
    ("0x32", "vector core trap", "as 507036", "同 507036", "kernel", "kernel"),
    ("0x91", "model stream failed", "as 507011", "同 507011", "kernel", "first"),
)  # fmt: skip

_CANN: tuple[_Row, ...] = (
    ("E10001", "Invalid_Argument", "GE: a parameter has a value that is not allowed", "GE：参数取值无效", "argument", "argument"),
    ("E10058", "Invalid_Argument", "GE: a parameter is missing or empty", "GE：参数未配置或为空", "argument", "argument"),
    ("E19999", "Inner_Error", "GE: an error without a code of its own", "GE：未归类的内部错误", "follow", "first"),
    ("E20001", "Compilation_Error", "FE: an operator could not be compiled", "FE：算子编译失败", "unsupported", "operator"),
    ("E20003", "Config_Error", "FE: a configuration file holds a wrong value", "FE：配置文件取值无效", "environment", "environment"),
    ("E29999", "Inner_Error", "FE: an error without a code of its own", "FE：未归类的内部错误", "follow", "first"),
    ("E30003", "Not_Supported_Specification", "AI CPU: too many processes on the device", "AI CPU：设备上进程数超限", "busy", "wait"),
    ("E30005", "Device_Connection_Failure", "AI CPU: the device cannot be reached", "AI CPU：无法连接设备", "hardware", "hardware"),
    ("E30008", "Execution_Error_AICPU_Operator_Timeout", "an AI CPU operator did not end in time", "AI CPU 算子执行超时", "aicpu-slow", "aicpu"),
    ("E39999", "Inner_Error", "AI CPU: an error without a code of its own", "AI CPU：未归类的内部错误", "follow", "first"),
    ("E50055", "Not_Supported_Shape", "the smallest tile may not fit into L1", "最小 tiling 可能超出 L1 缓存", "large", "tile"),
    ("E60026", "Inner_Error_Tiling_Fail", "the smallest tile may not fit into L1", "最小 tiling 可能超出 L1 缓存", "large", "tile"),
    ("E60119", "Not_Supported_Shape", "the smallest tile may not fit into UB", "最小 tiling 可能超出 UB 缓存", "large", "tile"),
    ("EE1001", "Invalid_Argument", "runtime: an argument is not allowed", "runtime：参数无效", "argument", "argument"),
    ("EE1024", "Execution_Error_Stream_Synchronize_Timeout", "an AI CPU operator timed out while the device ran out of memory", "AI CPU 算子超时，且期间设备内存耗尽", "memory", "memory"),
    ("EE2002", "Config_Error_Invalid_Environment_Variable", "runtime: an environment variable has a wrong value", "runtime：环境变量取值无效", "environment", "environment"),
    ("EE4001", "Model_Binding_Errors", "a stream is bound to two models", "stream 被重复绑定到模型", "argument", "argument"),
    ("EE8888", "Inner_Error", "runtime: an error without a code of its own", "runtime：未归类的内部错误", "follow", "first"),
    ("EE9999", "Inner_Error", "runtime: an error without a code of its own", "runtime：未归类的内部错误", "follow", "first"),
    ("EH0001", "Invalid_Argument", "AscendCL: an argument is not allowed", "AscendCL：参数无效", "argument", "argument"),
    ("EH0010", "Resource_Error_Insufficient_Host_Memory", "the host has not enough memory", "host 内存不足", "memory", "memory"),
    ("EH9999", "Inner_Error", "AscendCL: an error without a code of its own", "AscendCL：未归类的内部错误", "follow", "first"),
    ("EI0001", "Config_Error_Invalid_Environment_Variable", "HCCL: an environment variable has a wrong value", "HCCL：环境变量取值无效", "environment", "environment"),
    ("EI0002", "Communication_Error_Timeout", "HCCL: a rank waited for a peer in vain", "HCCL：等待对端 rank 超时", "peer", "ranks"),
    ("EI0003", "Invalid_Argument_Collective_Communication_Operator", "HCCL: an argument of a collective is not allowed", "HCCL：集合通信算子参数无效", "argument", "argument"),
    ("EI0004", "Config_Error_Ranktable_Configuration", "HCCL: the rank table is wrong", "HCCL：ranktable 配置错误", "environment", "environment"),
    ("EI0005", "Inconsistent_Collective_Communication_Arguments_Between_Ranks", "HCCL: ranks call a collective with different arguments", "HCCL：各 rank 的集合通信参数不一致", "peer", "ranks"),
    ("EI0006", "Communication_Error_Get_Socket", "HCCL: no connection between ranks in time", "HCCL：rank 间建链超时", "peer", "ranks"),
    ("EI0007", "Resource_Error", "HCCL: a resource could not be had", "HCCL：资源申请失败", "memory", "memory"),
    ("EI0008", "Package_Error_Incorrect_HCCL_Version", "HCCL: ranks have different versions", "HCCL：各 rank 的 HCCL 版本不一致", "version", "version"),
    ("EI0010", "Communication_Error_P2P", "HCCL: devices cannot reach each other's memory", "HCCL：设备间 P2P 访问失败", "hardware", "hardware"),
    ("EI0011", "Resource_Error_Insufficient_Device_Memory", "HCCL: device memory could not be had", "HCCL：设备内存不足", "memory", "memory"),
    ("EI0012", "Execution_Error_SDMA", "HCCL: a copy between devices failed", "HCCL：SDMA 拷贝任务异常", "peer", "ranks"),
    ("EI0013", "Execution_Error_ROCE_CQE", "HCCL: the network reports a failed transfer", "HCCL：网络传输出现 error CQE", "peer", "ranks"),
    ("EI0014", "Ranktable_Check_Failed", "HCCL: the rank table does not fit the devices", "HCCL：ranktable 与实际设备不符", "environment", "environment"),
    ("EI0015", "Ranktable_Detect_Failed", "HCCL: the ranks could not find each other", "HCCL：集群信息收集失败", "peer", "ranks"),
    ("EI9999", "Inner_Error", "HCCL: an error without a code of its own", "HCCL：未归类的内部错误", "follow", "first"),
    ("EJ0001", "HCCP_Process_Initialization_Failure", "the communication process could not start", "HCCP 进程初始化失败", "busy", "wait"),
    ("EJ0002", "Environment_Error", "a network port of the device is down", "设备网口 down", "hardware", "hardware"),
    ("EJ0003", "Communication_Error_Bind_IP_Port", "a network port is taken", "端口绑定失败", "busy", "wait"),
    ("EL0001", "Device_Absent/Abnormal", "driver: the device is missing or faulty", "驱动：设备不存在或异常", "hardware", "hardware"),
    ("EL0003", "Invalid_Argument", "driver: an argument is not allowed", "驱动：参数无效", "argument", "argument"),
    ("EL0004", "Memory_Allocation_Failure", "driver: memory could not be had", "驱动：内存申请失败", "memory", "memory"),
    ("EL0005", "Resource_Busy", "driver: the device is in use or being reset", "驱动：资源被占用或设备正在复位", "busy", "wait"),
    ("EL0006", "Insufficient_Resources", "driver: a resource is used up", "驱动：资源不足", "busy", "wait"),
    ("EP0001", "Config_Error", "dump: an item of the configuration is wrong", "dump：配置项内容无效", "environment", "environment"),
    ("EP0002", "Config_Error", "dump: a value of the configuration is not one of those allowed", "dump：配置项取值不在允许范围", "environment", "environment"),
    ("EP0003", "Config_Error", "dump: a value of the configuration is wrong", "dump：配置项取值无效", "environment", "environment"),
    ("EP0004", "File_Operation_Error_Parse", "dump: the configuration is no valid file", "dump：配置文件解析失败", "environment", "environment"),
    ("EP0005", "Config_Error", "dump: two items of the configuration exclude each other", "dump：配置项互相冲突", "environment", "environment"),
    ("EP0006", "Invalid_Argument", "dump: an argument is not allowed", "dump：参数无效", "argument", "argument"),
    ("EP0007", "Invalid_Argument_Null_Pointer", "dump: an argument is missing", "dump：参数为空指针", "argument", "argument"),
    ("EP0008", "Invalid_Argument_API_Call_Sequence", "dump: calls come in the wrong order", "dump：接口调用顺序错误", "argument", "argument"),
    ("EZ2001", "Execution_Error", "an AI Core failed while the system reported a fault", "AI Core 出错，且系统同时上报了故障", "hardware", "hardware"),
    ("EZ3002", "Unsupported_Operator", "the operator library does not have this operator", "算子库不支持该算子", "unsupported", "operator"),
    ("EZ3003", "Unsupported_Operator", "no engine can run this operator", "没有引擎支持该算子", "unsupported", "operator"),
    ("EZ9999", "Inner_Error", "an operator failed; with AI Core lines behind it, a kernel's exception", "算子执行出错；若其后有 AI Core 信息，则为 kernel 异常", "kernel", "kernel"),
    ("ERR00006", "PTA memory error", "torch_npu could not get device memory", "torch_npu 申请设备内存失败", "memory", "memory"),
    ("ERR00100", "PTA call acl api failed", "torch_npu passes on an error of AscendCL", "torch_npu 转报 AscendCL 错误", "follow", "first"),
    ("ERR01100", "OPS call acl api failed", "an operator of torch_npu passes on an error of AscendCL", "torch_npu 算子转报 AscendCL 错误", "follow", "first"),
    ("ERR02200", "DIST call hccl api failed", "torch_npu passes on an error of HCCL", "torch_npu 转报 HCCL 错误", "follow", "ranks"),
    ("HCCL 7", "resource unavailable", "HCCL: a device or port is in use", "HCCL：资源不可用", "busy", "wait"),
    ("HCCL 9", "timeout", "HCCL: a rank waited for a peer in vain", "HCCL：等待超时", "peer", "ranks"),
    ("HCCL 21", "error cqe", "HCCL: the network reports a failed transfer", "HCCL：网络传输出现 error CQE", "peer", "ranks"),
    ("HCCL 24", "out of memory", "HCCL: device memory could not be had", "HCCL：设备内存不足", "memory", "memory"),
)  # fmt: skip

_REAL_BESIDE = (*(f"EP000{n}" for n in range(1, 9)), "E10001", "E10058", "E19999", "EE1001")
_SEED = (
    "not found as a code of any tool; codes of CANN have five digits behind the E, or a letter and four",
    "任何工具中都没有这个错误码；CANN 错误码为 E 加五位数字，或 E 加一个字母和四位数字",
)
_SEED_NEXT = (
    "look for one of the real codes in the same log; mssanitizer prints no codes at all",
    "在同一日志中查找真实的错误码；mssanitizer 不输出错误码",
)

ERROR_CODES: Mapping[str, ErrorCode] = {
    **{
        code: ErrorCode(code, name, (en, zh), _CAUSES[cause], _NEXT[step])
        for code, name, en, zh, cause, step in (*_RUNTIME, *_RETURNS, *_CANN)
    },
    **{
        code: ErrorCode(code, "", _SEED, ("", ""), _SEED_NEXT, is_real=False, see=_REAL_BESIDE)
        for code in ("E1001", "E2003", "E3005")
    },
}
"""By code as logs print it; return codes of the runtime as "0x31", results of HCCL as "HCCL 9"."""

FAMILIES: Mapping[str, tuple[str, str]] = {
    "E1": ("GE, the graph engine", "GE 图引擎"),
    "E2": ("FE, the fusion engine", "FE 融合引擎"),
    "E3": ("AI CPU", "AI CPU"),
    "E4": ("compilation of operators (TEFusion)", "算子编译（TEFusion）"),
    "E5": ("compilation of operators", "算子编译"),
    "E6": ("compilation of operators", "算子编译"),
    "E7": ("compilation of operators", "算子编译"),
    "E8": ("compilation of operators", "算子编译"),
    "E9": ("compilation of operators (TBE)", "算子编译（TBE）"),
    "EA": ("compilation of operators (TBE)", "算子编译（TBE）"),
    "EB": ("compilation of operators (TBE)", "算子编译（TBE）"),
    "EE": ("runtime", "runtime"),
    "EH": ("AscendCL", "AscendCL"),
    "EI": ("HCCL, collectives", "HCCL 集合通信"),
    "EJ": ("HCCP, the process behind HCCL", "HCCP（HCCL 的通信进程）"),
    "EK": ("profiling", "profiling"),
    "EL": ("driver", "驱动"),
    "EP": ("dump", "dump"),
    "EZ": ("operators", "算子"),
}
"""The first two characters of a code -> the module that prints it."""

RESULT_WORDS = ("ret", "retCode", "retcode", "errorCode", "aclError")
RETURN_WORDS = ("return", "returned", "returns")
"""What programs write in front of a code of the runtime: 'ret = 507056', 'aclError:507056', 'return 507056'."""

# ---- look-up ----

_IN_TEXT = re.compile(
    r"(?<![A-Za-z0-9])(?P<code>ERR0\d{4}|E[A-Z]\d{4}|E\d{4,5})(?![A-Za-z0-9])"
    r"|(?:[eE]rr(?:or )?[cC]ode|\bresult)(?: is)? ?[=:]? ?(?P<told>[125]0[07]\d{3})(?![\w.]*\d)"
    r"|(?<![\w.])(?P<runtime>507\d{3})(?![\w.]*\d)"
    r"|\bretCode=(?P<returned>0x[0-9a-fA-F]{1,4})\b"
)


def look_up(code: str) -> ErrorCode | None:
    """What is known of one code, written as in `ERROR_CODES`; None of unknown ones."""
    return ERROR_CODES.get(code.strip())


def family_of(code: str) -> tuple[str, str] | None:
    """The module that prints codes of this kind, for codes that are not in the table."""
    return FAMILIES.get(code[:2]) if re.fullmatch(r"E(?:[A-Z]\d{4}|\d{5})", code) else None


def codes_in(text: str) -> tuple[str, ...]:
    """The codes in a text, in its order, each once: those in the table, and any that looks like one of CANN."""
    found: dict[str, None] = {}
    for match in _IN_TEXT.finditer(text):
        code = match["code"] or match["told"] or match["runtime"] or match["returned"].lower()
        if code in ERROR_CODES or (match["code"] and family_of(code) is not None):
            found[code] = None
    return tuple(found)


# ---- error bits of an AI Core ----

_BIT_NAMES = """
BIU_L2_READ_OOB BIU_L2_WRITE_OOB CCU_CALL_DEPTH_OVRFLW CCU_DIV0 CCU_ILLEGAL_INSTR CCU_LOOP_CNT_ERR CCU_LOOP_ERR
CCU_NEG_SQRT CCU_UB_ECC CUBE_INVLD_INPUT CUBE_L0A_ECC CUBE_L0A_RDWR_CFLT CUBE_L0A_WRAP_AROUND CUBE_L0B_ECC
CUBE_L0B_RDWR_CFLT CUBE_L0B_WRAP_AROUND CUBE_L0C_ECC CUBE_L0C_RDWR_CFLT CUBE_L0C_SELF_RDWR_CFLT
CUBE_L0C_WRAP_AROUND IFU_BUS_ERR MTE_AIPP_ILLEGAL_PARAM MTE_BAS_RADDR_OBOUND MTE_BIU_RDWR_RESP MTE_CIDX_OVERFLOW
MTE_DECOMP MTE_F1WPOS_LARGER_FSIZE MTE_FMAP_LESS_KERNEL MTE_FMAPWH_LARGER_L1SIZE MTE_FPOS_LARGER_FSIZE
MTE_GDMA_ILLEGAL_BURST_LEN MTE_GDMA_ILLEGAL_BURST_NUM MTE_GDMA_READ_OVERFLOW MTE_GDMA_WRITE_OVERFLOW MTE_COMP
MTE_ILLEGAL_FM_SIZE MTE_ILLEGAL_L1_3D_SIZE MTE_ILLEGAL_STRIDE MTE_L0A_RDWR_CFLT MTE_L0B_RDWR_CFLT MTE_L1_ECC
MTE_PADDING_CFG MTE_READ_OVERFLOW MTE_ROB_ECC MTE_TLU_ECC MTE_UB_ECC MTE_UNZIP MTE_WRITE_3D_OVERFLOW
MTE_WRITE_OVERFLOW VEC_DATA_EXCP_CCU VEC_DATA_EXCP_MTE VEC_DATA_EXCP_VEC VEC_DIV0 VEC_ILLEGAL_MASK VEC_INF_NAN
VEC_L0C_ECC VEC_L0C_RDWR_CFLT VEC_NEG_LN VEC_NEG_SQRT VEC_SAME_BLK_ADDR VEC_UB_ECC VEC_UB_SELF_RDWR_CFLT
VEC_UB_WRAP_AROUND BIU_DFX_ERR CCU_SBUF_ECC VEC_COL2IMG_RD_FM_ADDR_OVFLOW VEC_COL2IMG_RD_DFM_ADDR_OVFFLOW
VEC_COL2IMG_ILLEGAL_FM_SIZE VEC_COL2IMG_ILLEGAL_STRIDE VEC_COL2IMG_ILLEGAL_1ST_WIN_POS
VEC_COL2IMG_ILLEGAL_FETCH_POS VEC_COL2IMG_ILLEGAL_K_SIZE CCU_INF_NAN MTE_ILLEGAL_SCHN_CFG MTE_ATM_ADDR_MISALG
VEC_INSTR_ADDR_MISALIGN VEC_INSTR_ILLEGAL_CFG VEC_INSTR_UNDEF CCU_ADDR_ERR CCU_BUS_ERR MTE_ERR_ADDR_MISALIGN
MTE_ERR_DW_PAD_CONF_ERR MTE_ERR_DW_FMAP_H_ILLEGAL MTE_ERR_WINO_L0B_WRITE_OVERFLOW MTE_ERR_WINO_L0B_READ_OVERFLOW
MTE_ERR_ILLEGAL_V_COV_PAD_CTL MTE_ERR_ILLEGAL_H_COV_PAD_CTL MTE_ERR_ILLEGAL_W_SIZE MTE_ERR_ILLEGAL_H_SIZE
MTE_ERR_ILLEGAL_CHN_SIZE MTE_ERR_ILLEGAL_K_M_EXT_STEP MTE_ERR_ILLEGAL_K_M_START_POS MTE_ERR_ILLEGAL_SMALLK_CFG
MTE_ERR_READ_3D_OVERFLOW CCU_VECIQ_ECC CCU_DC_DATA_ECC CCU_DC_TAG_ECC CCU_DIV0_FP CCU_NEG_SQRT_FP CNT_SW_BUS_ERR
FIXP_ERR_INSTR_ADDR_MISAL FIXP_ERR_ILLEGAL_CFG FIXP_ERR_READ_L0C_OVFLW FIXP_ERR_READ_L1_OVFLW
FIXP_ERR_READ_UB_OVFLW FIXP_ERR_WRITE_L1_OVFLW FIXP_ERR_WRITE_UB_OVFLW FIXP_ERR_FBUF_WRITE_OVFLW
FIXP_ERR_FBUF_READ_OVFLW SC_REG_PARITY_ERR MTE_ERR_FIFO_PARITY MTE_ERR_WAITSET CCU_ERR_PARITY_ERR
MTE_ERR_CACHE_ECC CUBE_ERR_HSET_CNT_UNF CUBE_ERR_HSET_CNT_OVF MTE_ERR_INSTR_ILLEGAL_CFG MTE_ERR_HEBCD
MTE_ERR_HEBCE MTE_ERR_WAIPP CCU_SEQ_ERR CCU_MPU_ERR CCU_LSU_ERR CCU_PB_ECC_ERR MTE_UB_WR_OVFLW MTE_UB_RD_OVFLW
CUBE_ILLEGAL_INSTR CCU_SAFETY_CRC_ERR MTE_TIMEOUT MTE_UB_RD_CFLT MTE_UB_WR_CFLT MTE_KTABLE_WR_ADDR_OVERFLOW
MTE_KTABLE_RD_ADDR_OVERFLOW CCU_UB_RD_CFLT CCU_UB_WR_CFLT CCU_UB_OVERFLOW_ERR BIU_UNSPLIT_ERR MTE_STB_ECC_ERR
MTE_AIPP_ECC_ERR CCU_LSU_ATOMIC_ERR CCU_CROSS_CORE_SET_OVFL_ERR FIXP_ERR_OUT_WRITE_OVERFLOW
CUBE_ERR_PBUF_WRAP_AROUND FIXP_L0C_ECC MTE_ERR_L0C_RDWR_CFLT VEC_DATA_EXCPT_MTE VEC_DATA_EXCPT_SU
VEC_DATA_EXCPT_VEC VEC_INSTR_TIMEOUT VEC_INSTRS_UNDEF VEC_INSTR_ILL_CFG VEC_INSTR_MISALIGN VEC_INSTR_ILL_MASK
VEC_INSTR_ILL_SQZN VEC_UB_ADDR_WRAP_AROUND VEC_UB_ECC_MBERR VEC_IDATA_INF_NAN VEC_DIV_BY_ZERO VEC_VALU_NEG_LN
VEC_VALU_NEG_SQRT VEC_VCI_IDATA_OUT_RANGE VEC_ILL_VLOOP_OP VEC_ILL_VLOOP_SREG VEC_LD_NUM_MISMATCH
VEC_ST_NUM_MISMATCH VEC_EX_NUM_MISMATCH VEC_LD_NUM_EXCEED_LIMIT VEC_ST_NUM_EXCEED_LIMIT VEC_ILL_INSTR_PADDING
VEC_ILL_VGA_VPD_ORDER VEC_IC_ECC_ERR VEC_BIU_RESP_ERR VEC_PB_ECC_MBERR VEC_PB_READ_NO_RESP VEC_VALU_ILL_ISSUE
VEC_ERR_PARITY_ERR
""".split()

_FIXPIPE = ("fix-pipe address out of range", "FIXPIPE 地址越界")
_DIVISION = ("division by zero in scalar code", "标量除零")
_BIT_MEANINGS: Mapping[int, tuple[str, str]] = {
    0: ("bus error on a read", "总线读错误"),
    1: ("bus error on a write", "总线写错误"),
    3: _DIVISION,
    4: ("illegal instruction: often an unaligned UB address, or overwritten code", "非法指令，常因 UB 地址未对齐或代码被改写"),
    12: ("cube address beyond L0A", "cube 地址超出 L0A"),
    15: ("cube address beyond L0B", "cube 地址超出 L0B"),
    19: ("cube address beyond L0C", "cube 地址超出 L0C"),
    20: ("an instruction was fetched from a bad address: the kernel is gone, or the stack damaged", "取指地址错误：kernel 已卸载或栈被破坏"),
    23: ("a move touched an invalid GM address, or a remote access timed out", "搬运访问了非法 GM 地址，或远端访问超时"),
    32: ("a move reads outside an on-chip buffer", "搬运读片上缓存越界"),
    33: ("a move writes outside an on-chip buffer", "搬运写片上缓存越界"),
    53: ("the vector mask is all zero", "vector mask 全为 0"),
    54: ("inf or nan in vector data", "vector 数据含 inf/nan"),
    62: ("vector address beyond UB", "vector 地址超出 UB"),
    75: ("vector instruction with an unaligned address", "vector 指令地址未对齐"),
    76: ("vector instruction with a bad parameter", "vector 指令参数非法"),
    77: ("unknown vector instruction: wrong or overwritten binary", "未定义的 vector 指令：二进制错误或被改写"),
    78: ("scalar code: GM address over 48 bits", "标量访问 GM 地址超过 48 位"),
    79: ("scalar code: invalid GM address", "标量访问非法 GM 地址"),
    80: ("move with an unaligned address", "搬运地址未对齐"),
    97: _DIVISION,
    100: ("fix-pipe with an unaligned address", "FIXPIPE 地址未对齐"),
    **dict.fromkeys(range(102, 109), _FIXPIPE),
    116: ("move with a bad parameter", "搬运指令参数非法"),
    121: ("scalar access outside the core's buffers, such as a stack overflow", "标量访问越界，如栈溢出"),
    124: ("a move writes outside UB", "搬运写 UB 越界"),
    125: ("a move reads outside UB", "搬运读 UB 越界"),
}  # fmt: skip
_ECC = ("a bit error in memory: look at the device's alarms", "内存位错误：请查看设备告警")


def _bit(number: int, name: str) -> ErrorBit:
    is_hardware = "ECC" in name
    return ErrorBit(number, name, _BIT_MEANINGS.get(number, _ECC if is_hardware else ("", "")), is_hardware)


ERROR_BITS: tuple[ErrorBit, ...] = tuple(_bit(number, name) for number, name in enumerate(_BIT_NAMES))
"""Bit 0 to 175; no bit set at all means a time-out or a trap. Ascend 950 prints other numbers."""

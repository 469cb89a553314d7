# ruff: noqa: E501 - one text a line
"""The rules of the device area: what each finding means, its threshold and how to silence it."""

from __future__ import annotations

from npulse.core.findings import Severity
from npulse.core.rules import Rule

Words = tuple[str, str]
_OWN: Words = ("npulse's own", "npulse 自有规则")
_VENDOR: Words = ("what npu-smi and the driver report", "npu-smi 与驱动的报告")
_NEVER: Words = ("cannot be silenced", "不可关闭")
_ANY: Words = ("every report of that kind", "该类报告每条都算")


def _rule(
    id_: str,
    severity: Severity,
    title: Words,
    meaning: Words,
    threshold: Words = _ANY,
    source: Words = _VENDOR,
    silence: str = "",
) -> Rule:
    option = f"--criteria {silence}=..."
    return Rule(
        f"device.{id_}", severity, title, meaning, threshold, source, (option, option) if silence else _NEVER
    )


RULES: tuple[Rule, ...] = (
    _rule(
        "unreachable",
        "warning",
        ("nothing is known of devices", "设备情况未知"),
        (
            "npu-smi is missing, the driver cannot be reached (-8005: not loaded, no permission, or not mounted into the container), the devices are occupied (-8020), or nobody answered. It says nothing of the devices: it is neither 'no devices' nor 'healthy'.",
            "npu-smi 不存在、驱动不可访问（-8005：未加载、无权限或未挂载到容器）、设备被占用（-8020）或无应答。这不说明设备状态：既不是“没有设备”也不是“健康”。",
        ),
    ),
    _rule(
        "health",
        "error",
        ("the driver says that a chip is not well", "驱动报告芯片不健康"),
        (
            "Alarm and Critical are errors, Warning is a warning. UNKNOWN means that the device is absent, lost or not started: never OK, and the verdict is unknown.",
            "Alarm、Critical 为错误，Warning 为警告。UNKNOWN 表示设备不存在、丢失或未启动：不能视为正常，结论为未知。",
        ),
        ("any state but OK", "OK 以外的任何状态"),
    ),
    _rule(
        "fault",
        "error",
        ("the driver names a fault code", "驱动给出故障码"),
        (
            "What a code of the chip's health means and what to do. Bus access errors (80C98009, 80CB8009) come most often from a kernel with a bad address.",
            "健康故障码的含义与处理办法。总线访问错误（80C98009、80CB8009）多由 kernel 地址错误引起。",
        ),
    ),
    _rule(
        "temperature",
        "warning",
        ("a chip is hot", "芯片过热"),
        (
            "A hot chip lowers its frequency: times that are measured on it are not those of the program.",
            "芯片过热会降频：在其上测得的时间不代表程序本身。",
        ),
        ("above temperature_c (85 C), now or in a poll", "当前或任一次采样超过 temperature_c（85 °C）"),
        _OWN,
        "temperature_c",
    ),
    _rule(
        "hbm-temperature",
        "error",
        ("the memory of a chip is hot", "显存过热"),
        (
            "The driver raises 80E00209 above 95 C and stops the chip when it goes on.",
            "超过 95 °C 时驱动报告 80E00209，持续升高会停用芯片。",
        ),
        ("above hbm_temperature_c (95 C)", "超过 hbm_temperature_c（95 °C）"),
        silence="hbm_temperature_c",
    ),
    _rule(
        "frequency",
        "warning",
        ("AI cores run below their rated frequency", "AI core 频率低于额定值"),
        (
            "Under load alone: 800 MHz at idle is normal on 910B.",
            "只在有负载时判断：910B 空闲时 800 MHz 属正常。",
        ),
        (
            "Aicore curFreq below frequency_percent (95 %) of Aicore Freq, from load_percent (10 %) of AI core usage on",
            "AI core 使用率达到 load_percent（10 %）且 Aicore curFreq 低于 Aicore Freq 的 frequency_percent（95 %）",
        ),
        _OWN,
        "frequency_percent",
    ),
    _rule(
        "power-cap",
        "warning",
        ("a limit of power holds a chip back", "芯片功率受限"),
        (
            "The frequency is low under load although the chip is not hot, or the power is at its rated value.",
            "温度正常但负载下频率偏低，或功率已达额定值。",
        ),
        (
            "low frequency at or below temperature_c, or from 97 % of Rated Power Dissipation on",
            "温度不超过 temperature_c 时频率偏低，或功率达到额定值的 97 %",
        ),
        _OWN,
    ),
    _rule(
        "memory-growth",
        "warning",
        ("memory only grows", "内存只增不减"),
        (
            "Over a window of polls each quarter grew by a tenth of the whole or more, no single step by more than 30 %: a job that loads is left out, the window begins behind it and behind the last time that memory was given back. What was given back twice by half as much is no leak. The slope is the median of all pairs of samples (Theil-Sen).",
            "在采样窗口内每个四分之一的增长都不少于总量的十分之一，且单次增长不超过 30 %：任务加载不计入，窗口从加载之后、最近一次释放之后开始。曾两次释放过一半以上的不算泄漏。斜率为所有采样对斜率的中位数（Theil-Sen）。",
        ),
        (
            "leak_mb (64 MB) or more in leak_minutes (5) or longer, leak_samples (8) or more; without times in the text by samples alone",
            "至少 leak_samples（8）次采样、不少于 leak_minutes（5 分钟）且增长不少于 leak_mb（64 MB）；文本没有时间时只按采样次数",
        ),
        _OWN,
        "leak_mb",
    ),
    _rule(
        "memory-held",
        "warning",
        ("memory is in use that no process explains", "有内存占用但没有对应进程"),
        (
            "Left over from a job that was killed, or of a container that is not seen from here. What an idle chip shows is subtracted: 3,500 MB of 910B and A3, 4,500 MB of 950, 2,000 MB of the 310 family, nothing of 910A (whose 1.5 GB at idle are DDR).",
            "被杀任务的残留，或属于此处看不到的容器。已扣除空闲占用：910B 与 A3 为 3,500 MB，950 为 4,500 MB，310 系列为 2,000 MB，910A 为 0（其空闲占用约 1.5 GB 在 DDR 中）。",
        ),
        ("held_mb (1024 MB) or more", "不少于 held_mb（1024 MB）"),
        _OWN,
        "held_mb",
    ),
    _rule(
        "memory-size",
        "warning",
        ("a chip has less memory than it is made with", "内存容量低于额定值"),
        (
            "Rated: 910A and 910 ProB 32,768 MB, 910B1 to 910B3 and each die of A3 65,536 MB, 910B4 32,768 MB.",
            "额定值：910A 与 910 ProB 32,768 MB，910B1 至 910B3 及 A3 每个 die 65,536 MB，910B4 32,768 MB。",
        ),
        ("less than memory_percent (95 %) of it", "低于额定值的 memory_percent（95 %）"),
        silence="memory_percent",
    ),
    _rule(
        "loaded-idle",
        "note",
        ("a chip is loaded and its AI cores stand still", "已加载但 AI core 空闲"),
        (
            "Processes hold memory and the AI cores are at 0 %. One look cannot tell waiting from hanging, and msprof's AI core metrics make the figure 0 as well.",
            "进程占用内存而 AI core 使用率为 0。单次采样无法区分等待与挂起；msprof 采集 AI core 指标时该值也为 0。",
        ),
        ("a process listed, AI cores at 0 %", "列出了进程且 AI core 使用率为 0"),
        _OWN,
    ),
    _rule(
        "busy",
        "note",
        ("chips are at work", "芯片忙碌"),
        (
            "Times that are measured beside another job are not those of the program alone.",
            "与其他任务同时运行时测得的时间不代表程序本身。",
        ),
        ("from load_percent (10 %) of AI core usage on", "AI core 使用率达到 load_percent（10 %）"),
        _OWN,
        "load_percent",
    ),
    _rule(
        "stray",
        "warning",
        ("a process that should not be on this chip", "不应出现在该芯片上的进程"),
        (
            "Without a name: it ended or is of another container. Or one of the job has a context on a device that the job does not use: it touched the NPU before it set its device.",
            "没有名字：已结束或属于其他容器。或任务的进程在未使用的设备上建立了上下文：在设置设备之前访问了 NPU。",
        ),
        source=_OWN,
    ),
    _rule(
        "ecc",
        "error",
        ("double-bit ECC errors", "双 bit ECC 错误"),
        (
            "Memory that could not be corrected: results since then are doubtful. Aggregate counts survive a restart.",
            "无法纠正的内存错误：此后的结果可疑。累计计数在重启后保留。",
        ),
        ("any count above 0", "任何计数大于 0"),
    ),
    _rule(
        "isolated-pages",
        "warning",
        ("many pages of memory are isolated", "隔离页过多"),
        (
            "The driver isolates bad rows; at 64 it raises 80E18402 and the card has to be replaced.",
            "驱动会隔离坏行；达到 64 时报告 80E18402，必须更换该卡。",
        ),
        (
            "from isolated_pages (48) on a warning, from 64 on an error",
            "达到 isolated_pages（48）为警告，达到 64 为错误",
        ),
        silence="isolated_pages",
    ),
    _rule(
        "counters-moving",
        "warning",
        ("error counters move", "错误计数在增加"),
        (
            "An ECC or PCIe counter is higher at the end of the polls, or after the round, than before: errors come now. Double-bit counters make it an error, retries alone a note.",
            "ECC 或 PCIe 计数在采样结束时（或本轮之后）高于之前：错误正在发生。双 bit 计数为错误，仅重试增加为提示。",
        ),
        ("any increase", "任何增加"),
        _OWN,
    ),
    _rule(
        "link",
        "warning",
        ("errors of a chip's PCIe link", "PCIe 链路错误"),
        (
            "Counts since the machine was started. A network link that is down has a fault code of its own (81078603).",
            "开机以来的计数。网络链路断开另有故障码（81078603）。",
        ),
        (
            "any error count above 0; retries alone from link_retries (100) on",
            "任何错误计数大于 0；仅有重试时达到 link_retries（100）",
        ),
        _OWN,
        "link_retries",
    ),
    _rule(
        "driver",
        "warning",
        ("the driver is not complete or does not fit", "驱动不完整或不匹配"),
        (
            "npu-smi compares the installed packages with /etc/ascend_install.info, and firmware with driver (Compatibility NOK).",
            "npu-smi 将已安装的包与 /etc/ascend_install.info 比较，并检查固件与驱动的匹配（Compatibility NOK）。",
        ),
    ),
    _rule(
        "change",
        "warning",
        ("what a round did to a chip", "本轮前后芯片的变化"),
        (
            "Health that became worse, a chip that is gone (also in the last of many polls), memory and processes that are left are warnings; temperature, frequency under load and processes that ended are notes.",
            "健康变差、消失的芯片（包括多次查询的最后一次）、残留的内存与进程为警告；温度、负载下频率与结束的进程为提示。",
        ),
        (
            "temperature: 10 C; memory: held_mb (1024 MB) that no process explains",
            "温度：10 °C；内存：没有进程可解释的 held_mb（1024 MB）",
        ),
        _OWN,
        "held_mb",
    ),
)

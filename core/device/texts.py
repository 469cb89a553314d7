# ruff: noqa: E501 - one text a line
"""The words of the device area: (en, zh)."""

from __future__ import annotations

Words = tuple[str, str]

TEXTS: dict[str, Words] = {
    # ---- states ----
    "state-npu-smi missing": (
        "npu-smi is not here: nothing is known of devices",
        "找不到 npu-smi：设备情况未知",
    ),
    "state-driver not reachable": (
        "the driver cannot be reached from here{code}: nothing is known of devices",
        "从此处无法访问驱动{code}：设备情况未知",
    ),
    "state-occupied": (
        "the devices are held by another container or vNPU user{code}: nothing is known of them",
        "设备被其他容器或 vNPU 用户占用{code}：设备情况未知",
    ),
    "state-no card": ("npu-smi says that there is no NPU card{code}", "npu-smi 报告本机没有 NPU 卡{code}"),
    "state-not permitted": (
        "npu-smi may not be used by this user{code}: nothing is known of devices",
        "当前用户无权使用 npu-smi{code}：设备情况未知",
    ),
    "state-timeout": (
        "npu-smi did not answer in time: nothing is known of devices",
        "npu-smi 未在时限内应答：设备情况未知",
    ),
    "state-unknown": (
        "this text of npu-smi says nothing of the state of devices",
        "该 npu-smi 文本没有设备状态信息",
    ),
    "state-said": ("npu-smi says{code}: nothing is known of devices", "npu-smi 输出{code}：设备情况未知"),
    "state-since": (
        "asked again: {state}; the figures here are of before",
        "再次查询时：{state}；此处为此前的数据",
    ),
    "gone": (
        "was told of before (health {health}{at}) and is missing in the last poll",
        "此前存在（健康状态 {health}{at}），最后一次查询中缺失",
    ),
    "gone-next": (
        "lspci | grep -i d80; dmesg | tail -50; the card may have dropped off the bus",
        "lspci | grep -i d80; dmesg | tail -50；该卡可能已掉卡",
    ),
    "short-gone": ("gone", "消失"),
    "said": (" '{text}'", "“{text}”"),
    "code": (" (code {code})", "（错误码 {code}）"),
    "next-npu-smi missing": (
        "install the driver, or mount /usr/local/bin/npu-smi and /usr/local/Ascend/driver into the container; a saved output can be opened: npulse device FILE",
        "安装驱动，或将 /usr/local/bin/npu-smi 与 /usr/local/Ascend/driver 挂载到容器；也可打开保存的输出：npulse device FILE",
    ),
    "next-driver not reachable": (
        "on the host: is the driver loaded (lsmod | grep drv), may this user read /dev/davinci*? In a container: mount /dev/davinci*, /dev/davinci_manager and /usr/local/Ascend/driver. Offline files can still be opened: npulse PATH",
        "在主机上：驱动是否已加载（lsmod | grep drv），用户是否有 /dev/davinci* 权限？在容器中：挂载 /dev/davinci*、/dev/davinci_manager 与 /usr/local/Ascend/driver。离线文件仍可打开：npulse PATH",
    ),
    "next-container": (
        "this is a container and {missing} cannot be seen in it: start it with --device=/dev/davinci0 ... --device=/dev/davinci_manager --device=/dev/devmm_svm --device=/dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver. Offline files can still be opened: npulse PATH",
        "当前在容器中，且看不到 {missing}：启动容器时加 --device=/dev/davinci0 ... --device=/dev/davinci_manager --device=/dev/devmm_svm --device=/dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver。离线文件仍可打开：npulse PATH",
    ),
    "next-occupied": (
        "ask on the host which container has the devices; offline files can still be opened: npulse PATH",
        "在主机上查明哪个容器占用了设备；离线文件仍可打开：npulse PATH",
    ),
    "next-no card": (
        "lspci | grep -i 19e5 shows whether the system sees a card; offline files can still be opened: npulse PATH",
        "用 lspci | grep -i 19e5 确认系统是否识别到卡；离线文件仍可打开：npulse PATH",
    ),
    "next-not permitted": (
        "ask as root or as a member of the group HwHiAiUser; offline files can still be opened: npulse PATH",
        "以 root 或 HwHiAiUser 组成员身份执行；离线文件仍可打开：npulse PATH",
    ),
    "next-timeout": (
        "another npu-smi may hang (ps aux | grep npu-smi), or a device is lost (dmesg | tail); offline files can still be opened: npulse PATH",
        "可能有其他 npu-smi 卡住（ps aux | grep npu-smi），或设备丢失（dmesg | tail）；离线文件仍可打开：npulse PATH",
    ),
    "next-unknown": (
        "npu-smi info > FILE; then npulse device FILE",
        "npu-smi info > FILE；然后 npulse device FILE",
    ),
    # ---- health ----
    "health": ("health {health}{codes}", "健康状态 {health}{codes}"),
    "health-codes": (", fault codes {codes}", "，故障码 {codes}"),
    "health-unknown": (
        "health UNKNOWN: the device is absent, lost or not started; nothing that it shows can be trusted",
        "健康状态 UNKNOWN：设备不存在、丢失或未启动；其显示的数值均不可信",
    ),
    "health-was": ("health was {health}{at}, it is {now} now", "健康状态曾为 {health}{at}，现为 {now}"),
    "health-next": (
        "npu-smi info -t health -i {npu} -c {chip} names the fault codes",
        "npu-smi info -t health -i {npu} -c {chip} 给出故障码",
    ),
    "health-unknown-next": (
        "dmesg | grep -i drv; npu-smi info -t health -i {npu} -c {chip}; reset or restart the machine",
        "dmesg | grep -i drv；npu-smi info -t health -i {npu} -c {chip}；复位或重启机器",
    ),
    "short-health": ("health {health}", "健康状态 {health}"),
    "fault": ("fault {code}: {meaning}{text}", "故障 {code}：{meaning}{text}"),
    "fault-unknown": ("a code that is not in the table", "不在已知表中的故障码"),
    "fault-text": (" ({text})", "（{text}）"),
    "short-fault": ("fault {code}", "故障 {code}"),
    "step-replace": (
        "the card has to be replaced: do not compute on it",
        "该卡需要更换：不要再在其上计算",
    ),
    "step-restart": (
        "results since then are doubtful; free the card, reset it (npu-smi set -t reset), and replace it if the code comes again",
        "此后的结果可疑；释放该卡并复位（npu-smi set -t reset），再次出现则更换",
    ),
    "step-software": (
        "most often a kernel used a bad address: npulse memory, msSanitizer; the card may be well",
        "多为 kernel 访问了错误地址：用 npulse memory、msSanitizer 排查；硬件可能正常",
    ),
    "step-cool": (
        "check fans, air flow and dust; let it cool before measuring",
        "检查风扇、风道与灰尘；冷却后再测量",
    ),
    "step-link": (
        "check the optical module and cable of this card: hccn_tool -i {device} -link -g",
        "检查该卡的光模块与线缆：hccn_tool -i {device} -link -g",
    ),
    "step-power": ("check the power supply; replace the card if it comes again", "检查供电；再次出现则更换"),
    "step-report": (
        "look the code up in the vendor's health management list",
        "在厂商健康管理故障表中查询该码",
    ),
    # ---- heat and frequency ----
    "temperature": ("{temp} C, above {limit} C", "{temp} °C，超过 {limit} °C"),
    "temperature-was": (
        "it was {peak} C{at}, above {limit} C in {n} of {all} samples; it is {temp} C now",
        "曾达 {peak} °C{at}，{all} 次采样中有 {n} 次超过 {limit} °C；现为 {temp} °C",
    ),
    "short-temperature": ("{temp} C", "{temp} °C"),
    "hbm-temperature": ("HBM {temp} C, above {limit} C", "HBM {temp} °C，超过 {limit} °C"),
    "short-hbm-temperature": ("HBM {temp} C", "HBM {temp} °C"),
    "frequency": (
        "AI cores run at {freq} of {rated} MHz under load ({load} %)",
        "负载（{load} %）下 AI core 频率为 {freq} MHz，额定 {rated} MHz",
    ),
    "frequency-was": (
        "AI cores ran at {freq} of {rated} MHz under load in {n} of {all} samples",
        "负载下 {all} 次采样中有 {n} 次 AI core 频率低至 {freq} MHz，额定 {rated} MHz",
    ),
    "frequency-next": (
        "every kernel takes longer by that: measure again on a cool card, or compare cycles instead of time",
        "所有 kernel 都会因此变慢：在温度正常的卡上重新测量，或比较周期数而非时间",
    ),
    "short-frequency": ("low frequency", "频率偏低"),
    "power-cap": (
        "AI cores run at {freq} of {rated} MHz under load at only {temp} C: not heat but a limit of power ({power} W)",
        "温度仅 {temp} °C 时负载下 AI core 频率为 {freq} MHz（额定 {rated} MHz）：不是过热而是功率受限（{power} W）",
    ),
    "power-cap-rated": (
        "{power} W of {rated} W rated: the card is at its limit of power",
        "功率 {power} W，额定 {rated} W：已达功率上限",
    ),
    "power-cap-next": (
        "check the power supply and the machine's power policy (BMC); neighbours at full load share the limit",
        "检查供电与整机功率策略（BMC）；相邻满载的卡会共享上限",
    ),
    "short-power-cap": ("power cap", "功率受限"),
    # ---- memory ----
    "memory-growth": (
        "memory only grows: {before} to {after} MB in {window} ({slope})",
        "内存只增不减：{window} 内从 {before} MB 增至 {after} MB（{slope}）",
    ),
    "memory-growth-full": (", full in {hours} h", "，{hours} 小时后占满"),
    "growth-hours": ("{hours} h, {n} samples", "{hours} 小时、{n} 次采样"),
    "growth-samples": ("{n} samples", "{n} 次采样"),
    "slope-hours": ("{slope} MB/h{full}", "{slope} MB/h{full}"),
    "slope-samples": (
        "{slope} MB a sample; the text has no times",
        "每次采样 {slope} MB；文本没有时间",
    ),
    "memory-growth-next": (
        "who holds it: npulse memory on a memscope or snapshot capture of the process{names}; a cache that fills ends by itself",
        "用 npulse memory 分析该进程{names}的 memscope 或快照；缓存填满后会自行停止增长",
    ),
    "memory-held": (
        "{used} MB in use without a process (idle: about {idle} MB): left over, or of another container",
        "没有进程却占用 {used} MB（空闲时约 {idle} MB）：残留，或属于其他容器",
    ),
    "memory-held-busy": (
        "{used} MB in use without a process (idle: about {idle} MB), AI cores at {load} %: somebody computes there whom this system does not see, most likely in another container",
        "没有进程却占用 {used} MB（空闲时约 {idle} MB），AI core 使用率 {load} %：有此处看不到的任务在计算，很可能在其他容器中",
    ),
    "memory-held-more": (
        "{held} MB in use beyond its processes ({processes} MB) and an idle chip's {idle} MB",
        "除进程（{processes} MB）与空闲占用（{idle} MB）之外还占用 {held} MB",
    ),
    "memory-held-next": (
        "npu-smi info -t proc-mem -i {npu}; fuser -v /dev/davinci{device} on the host; end what is left over, then reset the card if it stays",
        "npu-smi info -t proc-mem -i {npu}；在主机上执行 fuser -v /dev/davinci{device}；结束残留进程，仍占用则复位该卡",
    ),
    "short-memory-held": ("{used} MB held without a process", "无进程占用 {used} MB"),
    "memory-size": (
        "{total} MB of memory, {percent} % of the {rated} MB that a {name} has",
        "内存 {total} MB，仅为 {name} 应有 {rated} MB 的 {percent} %",
    ),
    "memory-size-next": (
        "isolated memory or a partition: npu-smi info -t ecc -i {npu}; below {limit} % the card is abnormal",
        "可能有隔离内存或分区：npu-smi info -t ecc -i {npu}；低于 {limit} % 属异常",
    ),
    "loaded-idle": (
        "{memory} MB held by {names}, AI cores at 0 %: loaded but idle",
        "{names} 占用 {memory} MB，AI core 使用率 0 %：已加载但空闲",
    ),
    "loaded-idle-next": (
        "it waits: for a peer, for input, or hangs (a single look cannot tell; msprof's AI core metrics make it read 0 as well)",
        "在等待对端、输入或已挂起（单次采样无法判断；msprof 采集 AI core 指标时也读为 0）",
    ),
    "busy": ("busy: {chips}", "忙碌：{chips}"),
    "busy-next": (
        "another job there changes times that are measured on these cards",
        "这些卡上的其他任务会影响测得的时间",
    ),
    "stray": (
        "{n} without a name ({pids}), {memory} MB: ended, or of another container",
        "{n} 没有名字（{pids}），{memory} MB：已结束，或属于其他容器",
    ),
    "n-process": ("a process", "有 1 个进程"),
    "n-processes": ("{n} processes", "有 {n} 个进程"),
    "stray-devices": (
        "{names} has a context here, {memory} MB, though the job uses devices {devices}",
        "{names} 在此有上下文（{memory} MB），而任务使用的设备为 {devices}",
    ),
    "stray-next": (
        "a process that sets no device opens a context on device 0: set it before the first call (torch.npu.set_device); stray ones: ps -p {pid}",
        "进程未设置设备时会在 device 0 上建立上下文：首次调用前先设置（torch.npu.set_device）；残留进程：ps -p {pid}",
    ),
    # ---- ECC and links ----
    "ecc": ("double-bit ECC errors: {counts}", "双 bit ECC 错误：{counts}"),
    "ecc-next": (
        "results since then are doubtful; free and reset the card, watch the counters: npulse device --now --interval 60",
        "此后的结果可疑；释放并复位该卡，持续观察计数：npulse device --now --interval 60",
    ),
    "short-ecc": ("double-bit ECC errors", "双 bit ECC 错误"),
    "isolated-pages": ("{n} isolated pages of {memory}; 64 are the limit", "{memory} 隔离页 {n}，上限 64"),
    "isolated-pages-next": (
        "plan to replace the card; from 64 on it has to be",
        "计划更换该卡；达到 64 必须更换",
    ),
    "counters-moving": ("error counters moved: {moves}", "错误计数在增加：{moves}"),
    "counters-moving-next": (
        "errors come now, not only once: take the card out of the job and measure again",
        "错误正在发生而非历史记录：将该卡移出任务后重新测量",
    ),
    "short-counters": ("error counters moved", "错误计数增加"),
    "link": ("PCIe link errors: {counts}", "PCIe 链路错误：{counts}"),
    "link-next": (
        "reseat the card, check the slot; watch whether they move: npulse device --now --interval 60",
        "重新插拔并检查插槽；观察计数是否增加：npulse device --now --interval 60",
    ),
    "short-link": ("link errors", "链路错误"),
    # ---- machine ----
    "driver": (
        "npu-smi warns that the driver package may not be completely installed",
        "npu-smi 警告驱动包可能未完整安装",
    ),
    "driver-compatibility": (
        "firmware and driver do not fit: Compatibility {word}",
        "固件与驱动不匹配：Compatibility {word}",
    ),
    "driver-next": (
        "cat /etc/ascend_install.info; install driver, then firmware again: npulse doctor",
        "cat /etc/ascend_install.info；重新安装驱动与固件：npulse doctor",
    ),
    "short-driver": ("driver incomplete", "驱动不完整"),
    # ---- before and after ----
    "change": ("{what}: {before} before, {after} after", "{what}：之前 {before}，之后 {after}"),
    "change-gone": ("was told before, is not there after", "之前有，之后没有"),
    "change-left": (
        "{n} MB more in use after than before, though no process of before or after explains it",
        "之后比之前多占用 {n} MB，且没有进程可以解释",
    ),
    "change-new": (
        "left over after it: {names}",
        "结束后仍在：{names}",
    ),
    "change-lost": ("there before, gone after: {names}", "之前有、之后消失的进程：{names}"),
    "change-counters": ("error counters moved from before to after: {moves}", "前后错误计数增加：{moves}"),
    "change-device-gone": (
        "the device was there before and is not there after",
        "设备之前存在，之后消失",
    ),
    "what-temperature": ("temperature (C)", "温度（°C）"),
    "what-frequency": ("frequency of the AI cores (MHz)", "AI core 频率（MHz）"),
    "what-health": ("health", "健康状态"),
    # ---- report ----
    "told-cards": ("{n} chips{driver}{container}", "{n} 个芯片{driver}{container}"),
    "told-card": ("1 chip{driver}{container}", "1 个芯片{driver}{container}"),
    "told-state": ("{name}: {state}  {said}", "{name}：{state}  {said}"),
    "word-npu-smi missing": ("npu-smi missing", "缺少 npu-smi"),
    "word-driver not reachable": ("driver not reachable", "驱动不可访问"),
    "word-occupied": ("occupied", "被占用"),
    "word-no card": ("no card", "没有卡"),
    "word-not permitted": ("not permitted", "无权限"),
    "word-timeout": ("timeout", "超时"),
    "word-unknown": ("unknown", "未知"),
    "told-driver": (", driver {version}", "，驱动 {version}"),
    "told-container": (", asked in a container", "，在容器中查询"),
    "told-well": ("health OK, nothing over a threshold", "健康状态均为 OK，没有超过阈值的项"),
    "told-not-known": ("not known of all chips: health", "未记录全部芯片的健康状态"),
    "told-history": ("{n} samples of a chip{span}", "每个芯片 {n} 次采样{span}"),
    "told-span": (" in {hours} h", "，时长 {hours} 小时"),
    "told-power": (
        "power '-': reported by the card's first chip",
        "功率 '-'：由同卡的第一个芯片报告",
    ),
    "side-before": ("before", "之前"),
    "side-after": ("after", "之后"),
    "chip": ("card {label}", "卡 {label}"),
    "unwell": ("{chip}: {words}", "{chip}：{words}"),
    "comma": (", ", "，"),
    "semicolon": ("; ", "；"),
    "at": (" at {clock}", "（{clock}）"),
    "not-known": ("not known", "未知"),
    # ---- columns ----
    "figure-power_w": (
        "W of the card; '-' on a card's second chip: reported by the first",
        "整卡功率（W）；同卡第二个芯片显示 '-'，由第一个芯片报告",
    ),
    "figure-health": (
        "as the driver says it: OK, Warning, Alarm, Critical, UNKNOWN",
        "驱动给出：OK、Warning、Alarm、Critical、UNKNOWN",
    ),
    "figure-frequency_mhz": (
        "of the AI cores now; 800 MHz at idle is normal on 910B",
        "AI core 当前频率；910B 空闲时 800 MHz 属正常",
    ),
    "figure-used_mb": (
        "memory in use: HBM where there is some, else DDR",
        "已用内存：有 HBM 则为 HBM，否则为 DDR",
    ),
    "figure-ai_core_percent": (
        "share of time in which the AI cores worked (950: the whole chip)",
        "AI core 工作时间占比（950 为整芯片）",
    ),
    "figure-state": (
        "busy, loaded (processes, AI cores at 0 %), held (memory without a process), idle, or ? where nobody can tell",
        "busy 忙碌、loaded 已加载但空闲、held 无进程占用、idle 空闲；? 表示无法判断",
    ),
    "figure-processes": (
        "processes that npu-smi lists on the chip, 8 at most",
        "npu-smi 列出的进程数，最多 8 个",
    ),
}

"""The rules on environments: what each finding means, its threshold, where that comes from."""

from __future__ import annotations

from npulse.core.findings import Severity
from npulse.core.rules import Rule

_NONE = ("cannot be silenced", "不可关闭")
_VENDOR = ("the vendor's version files and their rules of compatibility", "厂商版本文件及其兼容规则")
_TABLES = ("the vendor's tables of versions that go together", "厂商版本配套表")
_LOADER = ("what the loader or Python printed", "加载器或 Python 的输出")
_TRITON = ("the maintainers of triton-ascend and vLLM Ascend", "triton-ascend 与 vLLM Ascend 的维护者")
_OWN = ("npulse's own", "npulse 自有规则")
_ANY = ("any", "出现即报")


def _rule(
    id_: str,
    severity: Severity,
    title: tuple[str, str],
    meaning: tuple[str, str],
    threshold: tuple[str, str] = _ANY,
    source: tuple[str, str] = _OWN,
) -> Rule:
    return Rule(f"env.{id_}", severity, title, meaning, threshold, source, _NONE)


RULES: tuple[Rule, ...] = (
    _rule(
        "driver",
        "error",
        ("the driver does not go with the toolkit", "驱动与 toolkit 不配套"),
        (
            "The driver's compatible_version does not name the toolkit's version. Where a text tells releases alone, the "
            "vendor's list of drivers is asked; without innerversion (9.x) the answer is never worse than unknown.",
            "驱动的 compatible_version 未列出 toolkit 的版本。只有发布号时查厂商的驱动配套表；没有 innerversion（9.x）时最多报告无法判断。",
        ),
        (
            "V100R001Cnn of the toolkit's innerversion in the driver's compatible_version",
            "toolkit innerversion 的 V100R001Cnn 须在驱动的 compatible_version 中",
        ),
        _VENDOR,
    ),
    _rule(
        "firmware",
        "error",
        ("the firmware does not go with the driver", "固件与驱动不配套"),
        (
            "The firmware lies outside of the range that the driver names.",
            "固件版本不在驱动给出的范围内。",
        ),
        ("firmware Version within compatible_version_fw", "固件 Version 须在 compatible_version_fw 范围内"),
        _VENDOR,
    ),
    _rule(
        "board",
        "error",
        ("npu-smi says that driver and firmware do not go together", "npu-smi 报告驱动与固件不兼容"),
        (
            "npu-smi info -t board shows a Compatibility other than OK.",
            "npu-smi info -t board 的 Compatibility 不是 OK。",
        ),
        ("Compatibility is OK", "Compatibility 为 OK"),
        _VENDOR,
    ),
    _rule(
        "torch",
        "error",
        ("torch and torch_npu are of different versions", "torch 与 torch_npu 版本不一致"),
        (
            "torch_npu is built for exactly one version of torch. With another one its import fails with an undefined "
            "symbol, or it crashes later.",
            "torch_npu 只针对某一个 torch 版本编译；版本不同时导入报 undefined symbol，或在之后崩溃。",
        ),
        ("the same base version (2.5.1.post1 goes with 2.5.1)", "基础版本相同（2.5.1.post1 对应 2.5.1）"),
        _TABLES,
    ),
    _rule(
        "torch-npu",
        "warning",
        ("torch_npu was made for another CANN", "torch_npu 对应另一个 CANN 版本"),
        (
            "By the vendor's table this torch_npu package goes with another CANN release. Many such pairs run; operators "
            "that one side lacks fail at run time. Packages that are not in the table are not judged.",
            "按厂商配套表，该 torch_npu 对应另一个 CANN 版本。许多组合可以运行，但一方缺少的算子会在运行时失败。不在表中的包不做判断。",
        ),
        ("the row of the table", "配套表中的同一行"),
        _TABLES,
    ),
    _rule(
        "requirement",
        "warning",
        ("pip says that packages do not go together", "pip 报告依赖冲突"),
        (
            "A package asks for a version that is not there; an error where torch_npu asks for another torch.",
            "某个包要求的版本未安装；torch_npu 要求其他 torch 版本时为 error。",
        ),
        source=_LOADER,
    ),
    _rule(
        "vllm",
        "warning",
        ("vllm and vllm_ascend are of different versions", "vllm 与 vllm_ascend 版本不一致"),
        (
            "vllm_ascend is a plug-in of one version of vllm.",
            "vllm_ascend 是对应某一 vllm 版本的插件。",
        ),
        ("the same base version", "基础版本相同"),
        _TABLES,
    ),
    _rule(
        "nnal",
        "warning",
        ("NNAL (ATB) is of another release than the toolkit", "NNAL（ATB）与 toolkit 版本不同"),
        (
            "libatb.so of another release lacks symbols that torch_npu or the toolkit expects.",
            "其他版本的 libatb.so 缺少 torch_npu 或 toolkit 需要的符号。",
        ),
        ("the same release", "发布号相同"),
        _TABLES,
    ),
    _rule(
        "ops",
        "warning",
        ("the operator package is of another release than the toolkit", "算子包与 toolkit 版本不同"),
        (
            "Kernels of another release: operators are missing, or refuse to run.",
            "算子二进制来自其他版本：算子缺失或无法运行。",
        ),
        ("the same release", "发布号相同"),
        _VENDOR,
    ),
    _rule(
        "not-judged",
        "note",
        ("whether they go together could not be told", "无法判断是否配套"),
        (
            "Both are there, but what would tell is missing: no innerversion, no list, no row in the table. This is not a pass.",
            "两者都在，但缺少判断依据：没有 innerversion、没有列表、配套表中没有该行。这不等于通过。",
        ),
        source=_TABLES,
    ),
    _rule(
        "mixed",
        "error",
        ("two CANN versions in one environment", "一个环境中混有两个 CANN 版本"),
        (
            "LD_LIBRARY_PATH, PYTHONPATH, PATH or ASCEND_* name folders of different toolkits. The first one of each list "
            "wins, so libraries of one run with operators or Python modules of the other. A warning where their releases "
            "are not known to differ.",
            "LD_LIBRARY_PATH、PYTHONPATH、PATH 或 ASCEND_* 指向不同的 toolkit。每个列表中靠前者生效，于是一个版本的库与另一版本的算子或 "
            "Python 模块混用。不能确定版本不同时为警告。",
        ),
        ("one toolkit in all of them", "全部变量中只有一个 toolkit"),
    ),
    _rule(
        "abi",
        "error",
        ("libraries of two C++ ABIs", "混用两种 C++ ABI"),
        (
            "Libraries built with and without _GLIBCXX_USE_CXX11_ABI do not fit together: every function with a std::string "
            "has another name. NNAL has one folder for each (cxx_abi_0, cxx_abi_1), chosen by its set_env.sh.",
            "_GLIBCXX_USE_CXX11_ABI 不同的库不能混用：带 std::string 的函数符号名不同。NNAL 为两者各有一个目录（cxx_abi_0、cxx_abi_1），"
            "由其 set_env.sh 选择。",
        ),
    ),
    _rule(
        "set-env",
        "warning",
        ("set_env.sh was not sourced", "未 source set_env.sh"),
        (
            "A toolkit (or NNAL) is installed and the variables that its set_env.sh exports are not set.",
            "已安装 toolkit（或 NNAL），但没有其 set_env.sh 导出的变量。",
        ),
        (
            "ASCEND_HOME_PATH or ASCEND_TOOLKIT_HOME; ATB_HOME_PATH",
            "ASCEND_HOME_PATH 或 ASCEND_TOOLKIT_HOME；ATB_HOME_PATH",
        ),
    ),
    _rule(
        "path",
        "warning",
        ("a variable names a folder that is not there", "变量指向不存在的目录"),
        (
            "Usually a toolkit that was removed or moved.",
            "通常是 toolkit 已删除或移动。",
        ),
    ),
    _rule(
        "library",
        "error",
        ("a library was not found", "找不到动态库"),
        (
            "The loader did not find it in LD_LIBRARY_PATH; which package brings it, and which set_env.sh, is named where known. "
            "Libraries of CUDA are not needed on an NPU: a note.",
            "加载器在 LD_LIBRARY_PATH 中找不到该库；已知时指出由哪个包、哪个 set_env.sh 提供。CUDA 的库在 NPU 上不需要：提示。",
        ),
        source=_LOADER,
    ),
    _rule(
        "symbol",
        "error",
        ("a library lacks a symbol that another one needs", "库中缺少另一库需要的符号"),
        (
            "The two were not built for each other: versions differ, or their C++ ABI does. The namespace of the symbol says "
            "whose library is the wrong one.",
            "两者不是一起编译的：版本不同，或 C++ ABI 不同。符号的命名空间说明是谁的库不对。",
        ),
        source=_LOADER,
    ),
    _rule(
        "glibc",
        "error",
        ("libc or libstdc++ is too old", "libc 或 libstdc++ 过旧"),
        (
            "A library was built on a newer system. GLIBCXX and CXXABI are of libstdc++, which conda brings in a newer "
            "version; GLIBC is of the system itself.",
            "该库在更新的系统上编译。GLIBCXX、CXXABI 属于 libstdc++，conda 自带较新版本；GLIBC 属于操作系统本身。",
        ),
        source=_LOADER,
    ),
    _rule(
        "static-tls",
        "error",
        ("no room left for thread-local variables", "静态 TLS 空间不足"),
        (
            "The library has to be loaded before others take the room.",
            "该库必须在其他库占满空间之前加载。",
        ),
        source=_LOADER,
    ),
    _rule(
        "arch",
        "error",
        ("software of another processor", "处理器架构不符"),
        (
            "A wheel, library or toolkit for x86_64 on aarch64, or the other way round.",
            "在 aarch64 上使用 x86_64 的 wheel、库或 toolkit，或相反。",
        ),
    ),
    _rule(
        "python",
        "warning",
        ("this Python is not one that the packages are made for", "Python 版本不受支持"),
        (
            "torch_npu is published for some versions of Python only. An error where pip refused a wheel for it.",
            "torch_npu 只为部分 Python 版本发布。pip 因此拒绝 wheel 时为 error。",
        ),
        ("3.8 to 3.13", "3.8 至 3.13"),
        _TABLES,
    ),
    _rule(
        "numpy",
        "error",
        ("NumPy 2 with modules that were built for NumPy 1", "NumPy 2 与为 NumPy 1 编译的模块混用"),
        (
            "Their binary interfaces differ. A warning where only the versions tell it (torch before 2.3).",
            "二者二进制接口不同。仅由版本推断时（torch 早于 2.3）为警告。",
        ),
        source=_LOADER,
    ),
    _rule(
        "triton",
        "warning",
        ("triton beside triton_ascend", "同时安装 triton 与 triton_ascend"),
        (
            "Both bring the Python package triton; which of them is imported depends on the order in which they were installed.",
            "二者都提供 Python 包 triton；导入哪一个取决于安装顺序。",
        ),
        source=_TRITON,
    ),
    _rule(
        "import",
        "error",
        ("an import fails", "导入失败"),
        (
            "A module, an attribute or torch's backend is not there, in an environment that should have it.",
            "缺少本应存在的模块、属性或 torch 后端。",
        ),
        source=_LOADER,
    ),
    _rule(
        "operator",
        "error",
        ("CANN lacks an operator that torch_npu calls", "CANN 缺少 torch_npu 调用的算子"),
        (
            "The toolkit or its operator package is older than torch_npu, or for another chip.",
            "toolkit 或其算子包比 torch_npu 旧，或用于其他芯片。",
        ),
        source=_LOADER,
    ),
    _rule(
        "driver-state",
        "error",
        ("the driver cannot be used", "驱动不可用"),
        (
            "It is not completely installed, not reachable from here (a container without devices), or a tool asks for a newer one.",
            "驱动未完整安装、从此处无法访问（容器未挂载设备），或工具要求更新的驱动。",
        ),
        source=_LOADER,
    ),
    _rule(
        "missing",
        "warning",
        ("a part of the software is not there", "缺少软件组件"),
        (
            "No toolkit, driver, NPU or tool was found on this machine.",
            "本机未找到 toolkit、驱动、NPU 或工具。",
        ),
    ),
    _rule(
        "tool",
        "warning",
        ("a tool on PATH is of another toolkit", "PATH 中的工具属于另一个 toolkit"),
        (
            "What one release records another one may not be able to export.",
            "一个版本采集的数据，另一个版本可能无法导出。",
        ),
    ),
    _rule(
        "msprobe",
        "note",
        ("msprobe and CANN are of different times", "msprobe 与 CANN 不是同期版本"),
        (
            "Keys of config.json differ between msprobe 1.x and 8.x (CANN 8) and 26.x (CANN 9): npulse config check knows them.",
            "msprobe 1.x、8.x（CANN 8）与 26.x（CANN 9）的 config.json 字段不同：可用 npulse config check 检查。",
        ),
        source=_TABLES,
    ),
    _rule(
        "code",
        "note",
        ("an error of the runtime stands in this text", "文本中有运行时错误码"),
        (
            "Not of the environment by itself; npulse memory FILE explains it.",
            "本身不属于环境问题；用 npulse memory FILE 查看解释。",
        ),
        source=_LOADER,
    ),
)

SEVERITY: dict[str, Severity] = {rule.id: rule.severity for rule in RULES}
"""Each rule's own severity."""

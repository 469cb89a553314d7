"""Texts of this room in English and Chinese: (en, zh). Fields are filled in by name; commands are the same in both."""
# ruff: noqa: E501 - a text stands on one line

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    # ---- versions ----
    "driver-not-listed": (
        "driver {driver} does not list {inner}, which CANN {cann} is: it was released before this toolkit.",
        "驱动 {driver} 的列表中没有 {inner}（即 CANN {cann}）：该驱动早于此 toolkit。",
    ),
    "toolkit-lists-driver": (
        "the toolkit's own list names the driver's {inner}: basic functions may run all the same",
        "toolkit 自己的列表包含驱动的 {inner}：基本功能仍可能可用",
    ),
    "driver-too-old": (
        "driver {driver} is older than any that is listed for CANN {cann} (oldest: {oldest}).",
        "驱动 {driver} 比 CANN {cann} 配套表中最旧的驱动（{oldest}）还旧。",
    ),
    "driver-older-unknown": (
        "driver {driver} is older than {paired}, which was released with CANN {cann}; whether they go together is not told here.",
        "驱动 {driver} 早于随 CANN {cann} 发布的 {paired}；此处没有判断是否兼容的依据。",
    ),
    "driver-unknown": (
        "whether driver {driver} goes with CANN {cann} is not told here: no innerversion and no list.",
        "无法判断驱动 {driver} 与 CANN {cann} 是否配套：没有 innerversion 和兼容列表。",
    ),
    "firmware-outside": (
        "firmware {firmware} lies outside of {ranges}, which driver {driver} takes.",
        "固件 {firmware} 不在驱动 {driver} 接受的范围 {ranges} 内。",
    ),
    "board": (
        "npu-smi says Compatibility {value}: driver and firmware do not go together.",
        "npu-smi 的 Compatibility 为 {value}：驱动与固件不兼容。",
    ),
    "torch-differs": (
        "torch {torch} with torch_npu {torch_npu}, which was built for torch {wanted}.",
        "torch {torch} 与 torch_npu {torch_npu} 不匹配，后者针对 torch {wanted} 编译。",
    ),
    "torch-unknown": (
        "the versions of torch and torch_npu cannot be compared.",
        "无法比较 torch 与 torch_npu 的版本。",
    ),
    "torch-needed": ("{by} needs torch {wanted}.", "{by} 需要 torch {wanted}。"),
    "torch-npu-other-cann": (
        "torch_npu {torch_npu} was made for CANN {made_for}; here is CANN {cann}.",
        "torch_npu {torch_npu} 对应 CANN {made_for}；此处为 CANN {cann}。",
    ),
    "requirement": (
        "{package} {version} needs {needs}{spec}; found: {found}.",
        "{package} {version} 需要 {needs}{spec}；实际为：{found}。",
    ),
    "requirement-cpu": (
        "{package} {version} needs {needs}{spec}, which is not on PyPI: pip takes the build with +cpu for another version.",
        "{package} {version} 需要 {needs}{spec}，PyPI 上没有：pip 把带 +cpu 的构建视为另一个版本。",
    ),
    "requirement-npu": (
        "{package} {version} asks for {needs}{spec}; torch_npu {torch_npu} needs {found}, which is there: pip's warning means nothing here.",
        "{package} {version} 要求 {needs}{spec}；torch_npu {torch_npu} 需要 {found}，已安装：此处可忽略 pip 的警告。",
    ),
    "two-installs": (
        "{name} is there twice: {version} and {other}; which one is imported depends on sys.path.",
        "{name} 出现两个版本：{version} 与 {other}；实际导入哪个取决于 sys.path。",
    ),
    "vllm-differs": (
        "vllm {vllm} with vllm_ascend {plugin}: the plug-in is made for one version of vllm.",
        "vllm {vllm} 与 vllm_ascend {plugin} 不匹配：插件只对应一个 vllm 版本。",
    ),
    "nnal-differs": ("NNAL {release} beside CANN {cann}.", "NNAL {release} 与 CANN {cann} 版本不同。"),
    "ops-differs": (
        "operator package {release} beside CANN {cann}.",
        "算子包 {release} 与 CANN {cann} 版本不同。",
    ),
    "numpy-two": (
        "numpy {numpy} with torch {torch}, which was built for NumPy 1.",
        "numpy {numpy} 与 torch {torch} 不匹配，后者针对 NumPy 1 编译。",
    ),
    "numpy-abi": (
        "a module that was built for NumPy 1 was imported with NumPy{numpy}.",
        "为 NumPy 1 编译的模块在 NumPy{numpy} 下导入。",
    ),
    "numpy-gone": (
        "numpy.{name} is not there any more in this NumPy; a package (often of CANN) still uses it.",
        "该 NumPy 版本已移除 numpy.{name}，但某个包（常为 CANN 自带）仍在使用。",
    ),
    "python-wheel": (
        "this wheel is for Python {wanted}; here is Python {python}.",
        "该 wheel 用于 Python {wanted}；此处为 Python {python}。",
    ),
    "wheel-refused": (
        "pip refused this wheel: it is for {tag} on {platform}.",
        "pip 拒绝了该 wheel：它用于 {platform} 上的 {tag}。",
    ),
    "next-this-python": (
        "python -V; uname -m; ldd --version; take the wheel for these",
        "python -V; uname -m; ldd --version；选择与之相符的 wheel",
    ),
    "python-unsupported": (
        "torch_npu is not published for Python {python}.",
        "torch_npu 没有发布 Python {python} 的版本。",
    ),
    "arch-differs": ("it is for {other}; this machine is {arch}.", "它用于 {other}；本机为 {arch}。"),
    "arch-library": (
        "{library} is for another processor than this one ({arch}).",
        "{library} 用于其他处理器架构（本机 {arch}）。",
    ),
    "msprobe-other-time": (
        "mindstudio-probe {msprobe} beside CANN {cann}: keys of config.json differ between their times.",
        "mindstudio-probe {msprobe} 与 CANN {cann} 非同期：config.json 的字段不同。",
    ),
    # ---- variables ----
    "mixed": (
        "two CANN versions in one environment: {releases}. Libraries of {wins} are loaded first.",
        "一个环境中混有两个 CANN 版本：{releases}。先加载的是 {wins} 的库。",
    ),
    "mixed-unknown": (
        "two toolkits in one environment: {releases}; whether they are one release is not told. {wins} is loaded first.",
        "一个环境中有两个 toolkit：{releases}；无法确定版本是否相同。先加载的是 {wins}。",
    ),
    "mixed-file": (
        "the variables name CANN {used}, the version file that is shown is of CANN {shown}.",
        "变量指向 CANN {used}，而所示版本文件属于 CANN {shown}。",
    ),
    "mixed-part": (
        "parts of the toolkit link to CANN {part}, its version file says {shown}: it was overwritten or half updated.",
        "toolkit 的部分目录链接到 CANN {part}，而版本文件为 {shown}：被覆盖或只升级了一部分。",
    ),
    "built-for": (
        "built for CANN {wanted}, run with CANN {found}.",
        "针对 CANN {wanted} 编译，运行时为 CANN {found}。",
    ),
    "two-abis": (
        "LD_LIBRARY_PATH holds both builds of NNAL; those of {first} are loaded first.",
        "LD_LIBRARY_PATH 同时包含 NNAL 的两种 ABI；先加载 {first}。",
    ),
    "abi-of-torch": (
        "NNAL was sourced for ABI {nnal}, torch is built with _GLIBCXX_USE_CXX11_ABI={torch}.",
        "NNAL 按 ABI {nnal} 加载，而 torch 的 _GLIBCXX_USE_CXX11_ABI={torch}。",
    ),
    "not-sourced": (
        "the toolkit is installed in {home}, but its variables are not set (ASCEND_HOME_PATH, LD_LIBRARY_PATH ...).",
        "toolkit 安装在 {home}，但未设置其变量（ASCEND_HOME_PATH、LD_LIBRARY_PATH 等）。",
    ),
    "nnal-not-sourced": (
        "NNAL is installed, but ATB_HOME_PATH is not set: torch_npu will not find libatb.so.",
        "已安装 NNAL，但未设置 ATB_HOME_PATH：torch_npu 将找不到 libatb.so。",
    ),
    "asked-to-source": ("the text asks for set_env.sh.", "文本提示需要 source set_env.sh。"),
    "path-gone": (
        "{name} names {n} folders of CANN that are not there.",
        "{name} 指向 {n} 个不存在的 CANN 目录。",
    ),
    "other-tool": (
        "{tool} on PATH is {path}, which is not of the toolkit in {home}.",
        "PATH 中的 {tool} 为 {path}，不属于 {home} 的 toolkit。",
    ),
    # ---- libraries ----
    "library-missing": (
        "{library} was not found (part of {owner}).",
        "找不到 {library}（属于 {owner}）。",
    ),
    "library-missing-unknown": (
        "{library} was not found; which package brings it is not known here.",
        "找不到 {library}；不清楚由哪个包提供。",
    ),
    "library-cuda": (
        "{library} is of CUDA, which an NPU does not need: a package was built for NVIDIA GPUs.",
        "{library} 属于 CUDA，NPU 不需要：某个包是为 NVIDIA GPU 编译的。",
    ),
    "symbol-of": (
        "{library} ({asks}) needs {symbol}, which is not in the {owner} that was loaded: not built for each other.",
        "{library}（{asks}）需要 {symbol}，而加载到的 {owner} 没有：两者不是配套编译的。",
    ),
    "symbol-of-unknown": (
        "{library} needs {symbol}, which no loaded library has.",
        "{library} 需要 {symbol}，已加载的库中都没有。",
    ),
    "symbol-abi": (
        "{library} needs {symbol}; versions of torch agree, so its C++ ABI (std::string) is another one.",
        "{library} 需要 {symbol}；torch 版本一致，因此是 C++ ABI（std::string）不同。",
    ),
    "symbol-abi-or-version": (
        "{library} ({asks}) needs {symbol}: the loaded torch is of another version, or built with the other C++ ABI.",
        "{library}（{asks}）需要 {symbol}：加载到的 torch 版本不同，或编译时的 C++ ABI 不同。",
    ),
    "symbol-nnal-abi": (
        "{library} of NNAL needs {symbol}: another NNAL, or its other build (cxx_abi_0, cxx_abi_1), was loaded before it.",
        "NNAL 的 {library} 需要 {symbol}：在它之前加载了另一个 NNAL 或另一种 ABI（cxx_abi_0、cxx_abi_1）。",
    ),
    "symbol-nnal-mixed": (
        "{library} of NNAL needs {symbol}: libraries of another NNAL were loaded before it.",
        "NNAL 的 {library} 需要 {symbol}：在它之前加载了另一个 NNAL 的库。",
    ),
    "abi-cxx11": (
        "the symbol is of the new ABI (std::__cxx11::string)",
        "该符号属于新 ABI（std::__cxx11::string）",
    ),
    "abi-old": (
        "the symbol is of the old ABI (std::string without __cxx11)",
        "该符号属于旧 ABI（不带 __cxx11 的 std::string）",
    ),
    "glibc": (
        "{by} was built for a newer system: {wanted} is not in this one's libc{has}.",
        "{by} 在更新的系统上编译：本系统 libc{has} 没有 {wanted}。",
    ),
    "libstdcxx": (
        "{by} needs {wanted}; the libstdc++ that was loaded ({library}) is older.",
        "{by} 需要 {wanted}；加载到的 libstdc++（{library}）过旧。",
    ),
    "static-tls": (
        "{library} was loaded too late: no room is left for its thread-local variables.",
        "{library} 加载过晚：静态 TLS 空间已用完。",
    ),
    "torch-without-npu": (
        "torch.npu is there only once torch_npu was imported, which did not happen or failed.",
        "只有成功导入 torch_npu 后才有 torch.npu；此处未导入或导入失败。",
    ),
    "no-attribute": (
        "{what} is not there: {module} is of another version than the code expects.",
        "没有 {what}：{module} 的版本与代码要求的不同。",
    ),
    "no-torch-op": (
        "{package} did not register {operator}: it was built for another torch, or is of another version than its caller.",
        "{package} 未注册算子 {operator}：它是为其他 torch 版本编译的，或与调用方版本不一致。",
    ),
    "two-tritons": (
        "triton {triton} and triton_ascend {ascend} are both installed and write the same folder triton.",
        "同时安装了 triton {triton} 和 triton_ascend {ascend}，二者写入同一个 triton 目录。",
    ),
    "next-triton": (
        "pip uninstall -y triton; pip install --force-reinstall --no-deps triton-ascend=={ascend}",
        "pip uninstall -y triton; pip install --force-reinstall --no-deps triton-ascend=={ascend}",
    ),
    "no-module": ("Python does not find {name}.", "Python 找不到 {name}。"),
    "no-module-cann": (
        "{name} is missing, which CANN's Python modules need.",
        "缺少 CANN 的 Python 模块所需的 {name}。",
    ),
    "backend": (
        "torch could not load its backend {name}; the cause stands in the error above it.",
        "torch 无法加载后端 {name}；原因见其上方的错误。",
    ),
    "no-operator": (
        "{operator} is not in {library}: the toolkit is older than torch_npu, or its operator package is missing.",
        "{library} 中没有 {operator}：toolkit 比 torch_npu 旧，或未安装算子包。",
    ),
    "unsupported-soc": (
        "this software does not know the chip {soc}: it is older than the chip.",
        "该软件不认识芯片 {soc}：版本早于该芯片。",
    ),
    # ---- driver ----
    "driver-old": ("a tool asks for a newer driver.", "工具要求更新的驱动。"),
    "driver-unreachable": (
        "the driver cannot be reached from here ({code}): not loaded, no /dev/davinci*, no permission, or a container without them.",
        "从此处无法访问驱动（{code}）：未加载、没有 /dev/davinci*、无权限，或容器未挂载设备。",
    ),
    "no-npu-smi": (
        "npu-smi was not found: no driver, or not mounted into this container.",
        "找不到 npu-smi：未安装驱动，或未挂载到容器。",
    ),
    "driver-incomplete": ("the driver package is not completely installed.", "驱动未完整安装。"),
    "driver-status": (
        "the installation of the driver did not end: status {value}.",
        "驱动安装未完成：状态 {value}。",
    ),
    "code": ("{code}: {meaning}", "{code}：{meaning}"),
    # ---- what is not there ----
    "no-toolkit": (
        "no CANN toolkit was found ({where}).",
        "未找到 CANN toolkit（{where}）。",
    ),
    "no-driver": ("no NPU driver was found ({where}).", "未找到 NPU 驱动（{where}）。"),
    "no-devices": ("the driver is there, but no /dev/davinci*.", "有驱动，但没有 /dev/davinci*。"),
    "no-devices-container": (
        "this container has no /dev/davinci*: it was started without devices.",
        "此容器没有 /dev/davinci*：启动时未挂载设备。",
    ),
    "not-in-group": (
        "this user is not in the group {group}, which may use the devices.",
        "当前用户不在可使用设备的组 {group} 中。",
    ),
    # ---- next ----
    "next-driver": (
        "install driver and firmware {driver} or newer (released with CANN {cann}), then reboot",
        "安装 {driver} 或更新的驱动和固件（随 CANN {cann} 发布），然后重启",
    ),
    "next-driver-any": (
        "install the driver and firmware that the release notes of CANN {cann} name, then reboot",
        "按 CANN {cann} 版本说明安装配套驱动和固件，然后重启",
    ),
    "next-driver-newer": (
        "install a newer driver and firmware, then reboot",
        "安装更新的驱动和固件，然后重启",
    ),
    "next-driver-again": (
        "./Ascend-hdk-*-npu-driver_*.run --full, then reboot; cat /etc/ascend_install.info",
        "./Ascend-hdk-*-npu-driver_*.run --full，然后重启；cat /etc/ascend_install.info",
    ),
    "next-firmware": (
        "./Ascend-hdk-*-npu-firmware_*.run --full, of the release of driver {driver}, then reboot",
        "./Ascend-hdk-*-npu-firmware_*.run --full（与驱动 {driver} 同一发布），然后重启",
    ),
    "next-board": (
        "npu-smi info -t board -i 0 (as root); install driver and firmware of one release",
        "npu-smi info -t board -i 0（root）；安装同一发布的驱动和固件",
    ),
    "next-version-files": (
        "npulse doctor /usr/local/Ascend/driver/version.info ascend_toolkit_install.info",
        "npulse doctor /usr/local/Ascend/driver/version.info ascend_toolkit_install.info",
    ),
    "next-torch": ("pip install torch=={torch}", "pip install torch=={torch}"),
    "next-torch-npu": (
        "pip install torch_npu=={torch_npu}  # for CANN {cann}",
        "pip install torch_npu=={torch_npu}  # 对应 CANN {cann}",
    ),
    "next-torch-any": (
        "pip list | grep torch: torch and torch_npu must be of one version",
        "pip list | grep torch：torch 与 torch_npu 的版本必须一致",
    ),
    "next-cann": (
        "install CANN {cann}, and source its set_env.sh",
        "安装 CANN {cann}，并 source 其 set_env.sh",
    ),
    "next-cann-older": (
        "install the CANN toolkit and operator package that this torch_npu was made for, source its set_env.sh",
        "安装该 torch_npu 对应的 CANN toolkit 和算子包，并 source 其 set_env.sh",
    ),
    "next-pip": ("pip install {what}", "pip install {what}"),
    "next-pip-cpu": (
        "pip install {what} --extra-index-url https://download.pytorch.org/whl/cpu",
        "pip install {what} --extra-index-url https://download.pytorch.org/whl/cpu",
    ),
    "next-nnal": (
        "install Ascend-cann-nnal of CANN {cann}, then source /usr/local/Ascend/nnal/atb/set_env.sh",
        "安装 CANN {cann} 对应的 Ascend-cann-nnal，然后 source /usr/local/Ascend/nnal/atb/set_env.sh",
    ),
    "next-nnal-any": (
        "install Ascend-cann-nnal of the toolkit's release, then source /usr/local/Ascend/nnal/atb/set_env.sh",
        "安装与 toolkit 同版本的 Ascend-cann-nnal，然后 source /usr/local/Ascend/nnal/atb/set_env.sh",
    ),
    "next-nnal-clean": ("in a new shell: source {script}", "在新的 shell 中：source {script}"),
    "next-nnal-abi": (
        "in a new shell: source {script} --cxx_abi={abi}",
        "在新的 shell 中：source {script} --cxx_abi={abi}",
    ),
    "next-ops": (
        "install Ascend-cann-<chip>-ops (or -kernels) of CANN {cann}",
        "安装 CANN {cann} 的 Ascend-cann-<芯片>-ops（或 -kernels）",
    ),
    "next-python": ("conda create -n npu python={python}", "conda create -n npu python={python}"),
    "next-arch": ("uname -m; install the packages for {arch}", "uname -m；安装 {arch} 的软件包"),
    "next-one-toolkit": (
        "in a new shell without the others in .bashrc: source {script}",
        "在新的 shell 中（.bashrc 里去掉其他版本）：source {script}",
    ),
    "next-which-toolkit": (
        "npulse doctor $ASCEND_TOOLKIT_HOME/*/ascend_toolkit_install.info",
        "npulse doctor $ASCEND_TOOLKIT_HOME/*/ascend_toolkit_install.info",
    ),
    "next-rebuild": (
        "install the build for this torch, or build it again: pip install --no-cache-dir --force-reinstall",
        "安装对应当前 torch 的构建，或重新编译：pip install --no-cache-dir --force-reinstall",
    ),
    "next-glibc": (
        "ldd --version; use an image or wheel for this system (manylinux2014), or a newer system",
        "ldd --version；使用适合本系统的镜像或 wheel（manylinux2014），或升级系统",
    ),
    "next-libstdcxx-conda": (
        "conda install -c conda-forge 'libstdcxx-ng>=12'",
        "conda install -c conda-forge 'libstdcxx-ng>=12'",
    ),
    "next-libstdcxx-system": (
        "export LD_LIBRARY_PATH=$CONDA_PREFIX/lib:$LD_LIBRARY_PATH (conda's libstdc++ first), or a newer gcc",
        "export LD_LIBRARY_PATH=$CONDA_PREFIX/lib:$LD_LIBRARY_PATH（优先 conda 的 libstdc++），或升级 gcc",
    ),
    "next-import": ('python -c "import torch, torch_npu"', 'python -c "import torch, torch_npu"'),
    "next-other-folder": (
        'cd / && python -c "import {name}; print({name}.__file__)"  # not in the folder of its sources',
        'cd / && python -c "import {name}; print({name}.__file__)"  # 不要在其源码目录中运行',
    ),
    "next-backend": (
        'TORCH_DEVICE_BACKEND_AUTOLOAD=0 python -c "import torch_npu"',
        'TORCH_DEVICE_BACKEND_AUTOLOAD=0 python -c "import torch_npu"',
    ),
    "next-versions-of": ("pip list | grep {name}", "pip list | grep {name}"),
    "next-container": (
        "ls /dev/davinci*; docker run --device=/dev/davinci0 --device=/dev/davinci_manager --device=/dev/devmm_svm --device=/dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi ...",
        "ls /dev/davinci*; docker run --device=/dev/davinci0 --device=/dev/davinci_manager --device=/dev/devmm_svm --device=/dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi ...",
    ),
    "next-group": (
        "usermod -a -G {group} $USER, then log in again",
        "usermod -a -G {group} $USER，然后重新登录",
    ),
    "next-install-toolkit": (
        "./Ascend-cann-toolkit_<release>_linux-{arch}.run --install; source .../set_env.sh",
        "./Ascend-cann-toolkit_<版本>_linux-{arch}.run --install；source .../set_env.sh",
    ),
    "next-memory": ("npulse memory {file}", "npulse memory {file}"),
    # ---- repairs by owner ----
    "repair-nnal": (
        "source {script}  # not there: install Ascend-cann-nnal of the toolkit's release first",
        "source {script}  # 若不存在：先安装与 toolkit 同版本的 Ascend-cann-nnal",
    ),
    "repair-toolkit": ("source {script}", "source {script}"),
    "repair-driver": (
        "export LD_LIBRARY_PATH=/usr/local/Ascend/driver/lib64:/usr/local/Ascend/driver/lib64/common:/usr/local/Ascend/driver/lib64/driver:$LD_LIBRARY_PATH  # in a container: mount the driver",
        "export LD_LIBRARY_PATH=/usr/local/Ascend/driver/lib64:/usr/local/Ascend/driver/lib64/common:/usr/local/Ascend/driver/lib64/driver:$LD_LIBRARY_PATH  # 容器内：挂载驱动目录",
    ),
    "repair-torch": ("pip list | grep torch; pip install torch", "pip list | grep torch; pip install torch"),
    "repair-torch-npu": (
        "pip install torch_npu  # the package for CANN {cann}",
        "pip install torch_npu  # 选择 CANN {cann} 对应的包",
    ),
    "repair-mindspore": ("pip install mindspore", "pip install mindspore"),
    "repair-python": (
        "export LD_LIBRARY_PATH=$(python -c \"import sysconfig; print(sysconfig.get_config_var('LIBDIR'))\"):$LD_LIBRARY_PATH",
        "export LD_LIBRARY_PATH=$(python -c \"import sysconfig; print(sysconfig.get_config_var('LIBDIR'))\"):$LD_LIBRARY_PATH",
    ),
    "repair-mindie": (
        "source /usr/local/Ascend/mindie/set_env.sh",
        "source /usr/local/Ascend/mindie/set_env.sh",
    ),
    "repair-system": (
        "apt-get install or yum install the package that holds it",
        "apt-get install 或 yum install 安装包含该库的软件包",
    ),
    "repair-cuda": (
        "pip install the package's build for CPU or NPU (torch: --index-url https://download.pytorch.org/whl/cpu)",
        "安装该包的 CPU 或 NPU 构建（torch：--index-url https://download.pytorch.org/whl/cpu）",
    ),
    "repair-unknown": (
        "find / -name '{library}*'; add its folder to LD_LIBRARY_PATH",
        "find / -name '{library}*'；将其目录加入 LD_LIBRARY_PATH",
    ),
    # ---- whose ----
    "owner-nnal": ("NNAL (ATB)", "NNAL（ATB）"),
    "owner-toolkit": ("CANN toolkit", "CANN toolkit"),
    "owner-driver": ("NPU driver", "NPU 驱动"),
    "owner-torch": ("torch", "torch"),
    "owner-torch_npu": ("torch_npu", "torch_npu"),
    "owner-mindspore": ("MindSpore", "MindSpore"),
    "owner-python": ("Python", "Python"),
    "owner-system": ("system libraries", "系统库"),
    "owner-mindie": ("MindIE", "MindIE"),
    "owner-cuda": ("CUDA", "CUDA"),
    "owner-unknown": ("another package", "其他包"),
    # ---- the report ----
    "answer-conflict": ("conflict: {what}", "冲突：{what}"),
    "answer-doubtful": ("no certain conflict; doubtful: {what}", "没有确定的冲突；存疑：{what}"),
    "answer-missing": ("no conflict; not here: {what}", "没有冲突；此处缺少：{what}"),
    "answer-unknown": ("no conflict found; not judged: {what}", "未发现冲突；无法判断：{what}"),
    "answer-nothing": (
        "nothing that could be judged: no versions, variables or errors of Ascend software in it",
        "没有可判断的内容：其中没有昇腾软件的版本、变量或错误",
    ),
    "answer-ok": ("no conflict: {n} pairs of versions go together", "没有冲突：{n} 对版本相互配套"),
    "answer-ok-plain": (
        "no conflict in what is told; no two versions could be compared",
        "所述内容没有冲突；没有可比较的版本",
    ),
    "head-installed": ("installed:", "已安装："),
    "head-not-told": ("not told: {names}", "未提及：{names}"),
    "head-not-found": ("not found: {names}", "未找到：{names}"),
    "head-plugins": ("plug-ins (npulse plugin list):", "插件（npulse plugin list）："),
    "plugin-unused": ("not used", "不使用"),
    "head-captures": ("what can be captured here:", "此处可采集："),
    "state-ok": ("goes with {names}", "与 {names} 配套"),
    "state-conflict": ("CONFLICT with {names}", "与 {names} 冲突"),
    "state-doubtful": ("doubtful with {names}", "与 {names} 存疑"),
    "state-unknown": ("not judged: {names}", "无法判断：{names}"),
    "yes": ("yes", "可以"),
    "no": ("no", "不可"),
    "unknown": ("unknown", "未知"),
    "this-machine": ("this machine", "本机"),
}

# ruff: noqa: E501 - lines as people paste them
"""Environment texts as people paste them, each made of parts that can be changed."""

from __future__ import annotations

HEAD = """### Your current environment

<details>
<summary>The output of `python collect_env.py`</summary>

```text
INFO 04-14 07:25:17 [__init__.py:30] Available plugins for group vllm.platform_plugins:
WARNING 04-14 07:25:18 [_custom_ops.py:21] Failed to import from vllm._C with ImportError('libcudart.so.12: cannot open shared object file: No such file or directory')
Collecting environment information...
"""


def collector(
    *,
    torch: str = "2.5.1",
    torch_npu: str = "2.5.1",
    driver: str = "25.0.rc1.1",
    cann: str = "8.1.RC1",
    inner: str = "V100R001C21SPC001B238",
    compatible: str = "[V100R001C15],[V100R001C18],[V100R001C19],[V100R001C20],[V100R001C21]",
    arch: str = "aarch64",
    home: str = "/usr/local/Ascend/ascend-toolkit/latest",
    libraries: str = "/usr/local/Ascend/ascend-toolkit/latest/lib64",
    vllm: str = "0.8.4",
    after: str = "",
) -> str:
    """A bug report with the output of the collector of vLLM Ascend, and what follows it."""
    inner_line = f"innerversion={inner}\n" if inner else ""
    return f"""{HEAD}PyTorch version: {torch}
Is debug build: False

OS: Ubuntu 22.04.5 LTS ({arch})
GCC version: (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
Clang version: Could not collect
CMake version: version 4.0.0
Libc version: glibc-2.35

Python version: 3.10.17 (main, Apr 30 2025, 16:00:31) [GCC 11.4.0] (64-bit runtime)
Python platform: Linux-5.10.0-60.18.0.50.oe2203.{arch}-{arch}-with-glibc2.35

CPU:
Architecture:                    {arch}
CPU op-mode(s):                  64-bit
Model name:                      Kunpeng-920
NUMA node0 CPU(s):               0-23

Versions of relevant libraries:
[pip3] numpy==1.26.4
[pip3] pyzmq==26.4.0
[pip3] torch=={torch}
[pip3] torch-npu=={torch_npu}
[pip3] torchvision==0.20.1
[conda] Could not collect
vLLM Version: {vllm}
vLLM Ascend Version: 0.8.4rc1

ENV Variables:
ATB_OPSRUNNER_KERNEL_CACHE_TILING_SIZE=10240
ATB_HOME_PATH=/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_0
ASCEND_TOOLKIT_HOME={home}
ASCEND_OPP_PATH={home}/opp
LD_LIBRARY_PATH=/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_0/lib:{libraries}:/usr/local/Ascend/driver/lib64/driver:
ASCEND_HOME_PATH={home}
VLLM_WORKER_MULTIPROC_METHOD=spawn

NPU:
+------------------------------------------------------------------------------------------------+
| npu-smi {driver:<24} Version: {driver:<46}|
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 91.3        42                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3367 / 65536         |
+===========================+===============+====================================================+

CANN:
package_name=Ascend-cann-toolkit
version={cann}
{inner_line}compatible_version={compatible}
arch={arch}
os=linux
path=/usr/local/Ascend/ascend-toolkit/{cann}/{arch}-linux

```

</details>

### Describe the bug

{after}
"""


NEW_LAYOUT = """```
==============================
        System Info
==============================
OS                           : EulerOS 2.0 (SP10) (aarch64)
GCC version                  : (GCC) 7.3.0
Libc version                 : glibc-2.28

==============================
       PyTorch Info
==============================
PyTorch version              : 2.6.0+cpu
CUDA used to build PyTorch   : None

==============================
      Python Environment
==============================
Python version               : 3.10.6 | packaged by conda-forge | (main, Aug 22 2022) [GCC 10.4.0] (64-bit runtime)
Python platform              : Linux-4.19.90-vhulk.aarch64-aarch64-with-glibc2.28

==============================
Versions of relevant libraries
==============================
[pip3] numpy==1.26.4
[pip3] torch==2.6.0+cpu
[pip3] torch-npu==2.5.1.post1
[conda] torch                     2.6.0+cpu                pypi_0    pypi
[conda] torch-npu                 2.5.1.post1              pypi_0    pypi
```
"""

FACTORY = """### System Info

- `llamafactory` version: 0.9.2.dev0
- Platform: Linux-5.10.0-182.0.0.95.oe2203sp3.aarch64-aarch64-with-glibc2.31
- Python version: 3.10.16
- PyTorch version: 2.4.0 (NPU)
- Transformers version: 4.49.0
- NPU type: Ascend910B2
- CANN version: 8.0.0
"""

PIP_LIST = """(train) root@node:~# pip list
Package                   Version     Editable project location
------------------------- ----------- ---------------------------------
absl-py                   2.1.0
mindspeed                 0.8.0       /home/ma/MindSpeed
torch                     2.1.0
torch-npu                 2.1.0.post10
transformers              4.43.2
(train) root@node:~# python -V
Python 3.8.18
(train) root@node:~# uname -a
Linux node 4.19.90-2107.6.0.0192.8.oe1.bclinux.aarch64 #1 SMP Tue Dec 7 19:50:34 CST 2021 aarch64 GNU/Linux
"""

from __future__ import annotations

import pytest

from npulse.core.memory.faults import Frame
from npulse.core.memory.toolkit import (
    is_runtime_file,
    is_runtime_function,
    is_system_module,
    is_toolkit_file,
    is_users,
    may_be_users,
)


@pytest.mark.parametrize(
    "file",
    [
        "/usr/local/Ascend/ascend-toolkit/8.0.RC3/aarch64-linux/tikcpp/tikcfw/impl/dav_c220/copy_impl.h",
        "/usr/local/Ascend/cann-8.5.0/aarch64-linux/asc/impl/basic_api/kernel_operator_data_copy_intf_impl.h",
        "/home/u/Ascend/ascend-toolkit/latest/x86_64-linux/ascendc/include/basic_api/kernel_operator.h",
        "/opt/miniconda/Ascend/cann/asc/include/x.h",
        "/data/tikcpp/tikcfw/interface/kernel_tensor.h",
        "${ASCEND_HOME_PATH}/include/x.h",
        "/usr/local/Ascend/opp/vendors/built-in/op_impl/add.cpp",
    ],
)
def test_files_of_the_toolkit(file: str) -> None:
    assert is_toolkit_file(file) and not is_users(Frame(file, 1))


@pytest.mark.parametrize(
    "file",
    [
        "/workspace/op/op_kernel/add_custom.cpp",
        "/home/ascend/op/add.cpp",
        "/home/u/ascendc/my_op/op_kernel/add.cpp",
        "/home/u/ascend/src/asc.cpp",
        "/usr/local/Ascend/ascend-toolkit/latest/opp/vendors/customize/op_impl/ai_core/tbe/dynamic/add.cpp",
        "run_add.cpp",
        "misc/pool.c",
        "string/split.c",
        "include/c++/mine.h",
        "../src/sanitizer_like/x.cpp",
        "/usr/lib/python3.10/site-packages/my_model/train.py",
        "/home/u/torch/train.py",
        "/home/u/lib/python/train.py",
    ],
)
def test_files_of_users(file: str) -> None:
    assert is_users(Frame(file, 1))


def test_a_home_of_the_toolkit_that_is_named() -> None:
    file = "/data/toolchain/8.5/impl/copy.h"
    assert not is_toolkit_file(file)
    assert is_toolkit_file(file, ("", "/data/toolchain/8.5/"))
    assert not is_toolkit_file("/data/toolchain/8.50/impl/copy.h", ("/data/toolchain/8.5",))
    assert not is_users(Frame(file, 1), ["/data/toolchain/8.5"])


@pytest.mark.parametrize(
    "file",
    [
        "../../../../src/libsanitizer/asan/asan_malloc_linux.cpp",
        "../sysdeps/nptl/libc_start_call_main.h",
        "csu/../sysdeps/nptl/libc_start_call_main.h",
        "csu/../csu/libc-start.c",
        "../csu/libc-start.c",
        "nptl/./nptl/pthread_create.c",
        "nptl/pthread_kill.c",
        "misc/../sysdeps/unix/sysv/linux/x86_64/clone3.S",
        "stdlib/abort.c",
        "asan_interceptors.cpp.o",
        "/usr/include/c++/12/bits/vector.tcc",
        "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/invoke.h",
        "/usr/lib/llvm-19/include/c++/v1/vector",
        "/build/compiler-rt/lib/asan/asan_interceptors.cpp",
        "/usr/local/lib/python3.11/site-packages/torch/nn/modules/linear.py",
        "/home/u/venv/lib64/python3.10/dist-packages/torch_npu/npu/utils.py",
        "/usr/lib/python3.10/threading.py",
        "/opt/conda/lib/python3.9/runpy.py",
    ],
)
def test_files_of_runtimes(file: str) -> None:
    assert is_runtime_file(file) and not is_users(Frame(file, 1))


@pytest.mark.parametrize(
    "function",
    [
        *("__interceptor_malloc", "___interceptor_free", "__asan_memcpy", "__asan::asan_free(void*)"),
        *("operator new[](unsigned long)", "operator delete(void*, unsigned long)", "malloc", "free"),
        *("calloc", "posix_memalign", "memcpy", "strncpy", "wcslen", "_start", "__libc_start_main"),
        *(
            "__libc_start_call_main",
            "start_thread",
            "clone3",
            "pthread_create",
            "abort",
            "asan_thread_start(void*)",
        ),
    ],
)
def test_functions_of_runtimes(function: str) -> None:
    assert is_runtime_function(function)
    assert not may_be_users(Frame(function=function, module="/home/u/attn"))


@pytest.mark.parametrize(
    "function",
    [
        "main",
        "alloc(int)",
        "freeze",
        "mallocate",
        "Pool::operator new(unsigned long)",
        "memory",
        "strategy",
        "SumTile",
    ],
)
def test_functions_of_users(function: str) -> None:
    assert may_be_users(Frame(function=function, module="/home/u/attn"))


def test_modules() -> None:
    for module in (
        "/lib/x86_64-linux-gnu/libc.so.6",
        "libstdc++.so.6",
        "/usr/lib/libasan.so.8",
        "libtsan.so.2",
    ):
        assert is_system_module(module) and not may_be_users(Frame(module=module, offset=1))
    for module in ("/home/u/attn", "libcust_opapi.so", "/opt/libm2.so", ""):
        assert not is_system_module(module)
    assert may_be_users(Frame(module="/home/u/attn", offset=1))
    assert not may_be_users(Frame()) and not may_be_users(Frame("<unknown>"))


def test_a_user_may_have_a_function_named_as_one_of_libc() -> None:
    assert is_users(Frame("/home/u/pool.cpp", 3, function="free"))

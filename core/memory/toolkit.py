"""Frames that are not the user's own: of the toolkit, of sanitizers, of libc, in headers of the C++ library,
of Python and its frameworks.

Told by names alone; nothing is opened. Answers are kept by name, so that a log of 100,000 records with some
hundred different frames costs some hundred decisions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from .faults import Frame

_KEPT = 1 << 14

_INSTALLED = "/usr/local/Ascend/"
_ASCEND = re.compile(
    r"""(?ix)
    (?: ^|/ ) ascend-toolkit /                                # .../Ascend/ascend-toolkit/8.0.RC3/...
    | (?: ^|/ ) (?: aarch64 | x86_64 | arm64 ) -linux / (?: tikcpp | ascendc | asc | include | lib64 ) /
    | (?: ^|/ ) tikcpp /
    | (?: ^|/ ) ascend / (?: [^/]+ / )*? asc /
    | (?: ^|/ ) ascend / (?: latest | cann-[^/]+ | nnae | nnrt | driver | develop | toolkit | opp ) /
    | (?: ^|/ ) ascendc / (?: include | impl | lib ) /
    """
)
# operators that were installed into the toolkit's folder, with their sources, are their author's
_VENDOR = re.compile(r"(?:^|/)opp/vendors/(?!built-in/)[^/]+/")
_HOME_WORD = re.compile(r"\$\{?(?:ASCEND_HOME_PATH|ASCEND_TOOLKIT_HOME)\}?(?:/|$)")

_RUNTIME_FILE = re.compile(
    r"""(?x)
    (?: ^|/ ) libsanitizer /
    | (?: ^|/ ) compiler-rt / lib /
    | (?: ^|/ ) (?: asan | lsan | msan | tsan | ubsan | hwasan | sanitizer ) _ [a-z0-9_]+ \. cpp \. o $
    | (?: ^|/ ) \.\. / (?: sysdeps | csu ) /                  # libc, as it was built
    | ^ (?: csu/libc-start | nptl/pthread_[a-z_]+ | signal/raise | stdlib/(?: abort | exit ) ) \. c $
    | ^ nptl / \. / nptl /
    | (?: ^|/ ) include / c\+\+ / (?: v? \d+ [^/]* / )
    | (?: ^|/ ) libstdc\+\+-v3 / | (?: ^|/ ) libcxx /
    | (?: ^|/ ) (?: site | dist ) -packages /
      (?: torch (?: _npu | vision | audio | air )? | triton (?: _ascend )? | mindspore | numpy ) /
    | (?: ^|/ ) lib (?: 64 )? / python3 (?: \.\d+ )? / (?! (?: site | dist ) -packages / )
    """
)
_RUNTIME_FUNCTION = re.compile(
    r"""(?x)
    _{0,2} interceptor_ | ___interceptor_ | __interceptor_trampoline_
    | __(?: asan | lsan | msan | tsan | ubsan | hwasan | sanitizer | interception ) (?: _ | :: )
    | operator\ (?: new | delete ) \b
    | (?: __libc_start_ [a-z_]+ | _start | start_thread | clone3? ) (?: \b | $ )
    | asan_thread_start \b
    | (?: (?: m | c | re | v | pv ) alloc | reallocarray | c?free ) (?: \( | $ )
    | (?: posix_memalign | aligned_alloc | memalign | malloc_usable_size ) (?: \( | $ )
    | (?: mem | str | wcs ) (?: n? (?: cpy | cmp | len | dup | cat ) | move | set | chr ) (?: \( | $ )
    | pthread_ [a-z_]+ (?: \( | $ ) | (?: __GI_ )? (?: raise | abort ) (?: \( | $ ) | __pthread_kill
    """
)
_SYSTEM_MODULE = re.compile(
    r"(?:^|/)(?:lib(?:asan|lsan|msan|tsan|ubsan|hwasan|stdc\+\+|c\+\+|c|pthread|m|gcc_s|clang_rt[^/]*)"
    r"|ld-linux[^/]*|libc-[\d.]+|libpthread-[\d.]+)\.so(?:[.\d]*)$"
)


@lru_cache(_KEPT)
def is_toolkit_file(file: str, homes: tuple[str, ...] = ()) -> bool:
    """True for a file of the toolkit: by the usual names of its folders, or below one of `homes`.

    Operators of other vendors that are installed into it (opp/vendors/<name>) are their author's code.
    """
    if _VENDOR.search(file):
        return False
    if any(home and (file + "/").startswith(home.rstrip("/") + "/") for home in homes):
        return True
    return file.startswith(_INSTALLED) or bool(_HOME_WORD.match(file)) or bool(_ASCEND.search(file))


@lru_cache(_KEPT)
def is_runtime_file(file: str) -> bool:
    """True for sources of the sanitizers' runtimes, of libc, of the C++ library's headers, of Python itself
    and of the frameworks that call the user's code or are called by it."""
    return bool(_RUNTIME_FILE.search(file))


@lru_cache(_KEPT)
def is_runtime_function(function: str) -> bool:
    """True for interceptors, `operator new` and `delete`, malloc and its family, and what starts a program.

    A plain name such as `free` can be the user's too: ask only of frames without a file.
    """
    return bool(_RUNTIME_FUNCTION.match(function))


@lru_cache(_KEPT)
def is_system_module(module: str) -> bool:
    """True for libc, the C++ library and shared runtimes of sanitizers."""
    return bool(_SYSTEM_MODULE.search(module))


def is_users(frame: Frame, homes: Iterable[str] = ()) -> bool:
    """True for a frame with a file that belongs neither to the toolkit nor to a runtime."""
    if not frame.has_file:
        return False
    return not is_runtime_file(frame.file) and not is_toolkit_file(frame.file, tuple(homes))


def may_be_users(frame: Frame) -> bool:
    """True for a frame without a file that no runtime is known to hold, by its function and module.

    The second choice: without debug data the user's own functions have names and no files.
    """
    if frame.has_file or not (frame.function or frame.module):
        return False
    return not is_system_module(frame.module) and not is_runtime_function(frame.function)

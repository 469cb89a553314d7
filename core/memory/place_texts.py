"""Why a frame leads to no source line, and what would give it, in English and Chinese: (en, zh)."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "no-frame": ("the log has no call stack for it", "日志中没有对应的调用栈"),
    "unknown-file": ("the log does not know the source file", "日志中没有源文件信息"),
    "no-line": ("the log names the file and no line", "日志只给出文件，没有行号"),
    "line-zero": (
        "the log says line 0: the compiler gave this code no line of its own, as it does at -O2 and -O3",
        "日志中行号为 0：编译器没有给这段代码分配行号，常见于 -O2、-O3",
    ),
    "not-found": (
        "the file is in none of the source folders",
        "源码目录中找不到该文件",
    ),
    "ambiguous": (
        "{n} files in the source folders fit this name equally well",
        "源码目录中有 {n} 个文件同样符合该名称",
    ),
    "outside-roots": (
        "the path leads out of the source folders and was not opened",
        "该路径指向源码目录之外，未打开",
    ),
    "no-roots": ("no source folder was given", "没有指定源码目录"),
    "too-large": (
        "the source folders hold more files than are looked through, so another one may fit as well",
        "源码目录中的文件超出检索上限，可能还有其他文件符合",
    ),
    "line-past-end": (
        "the file ends before this line: it is not the version that was built",
        "文件行数不足：它不是编译时的版本",
    ),
    # what would give the position, by what was built
    "flags-kernel": (
        "build the kernel with -g --cce-enable-sanitizer (in CMake: -g -sanitizer)",
        "请用 -g --cce-enable-sanitizer 编译算子（CMake 中为 -g -sanitizer）",
    ),
    "flags-library-kernel": (
        "run it under mssanitizer, or get a build of this operator with debug data",
        "请在 mssanitizer 下运行，或取得该算子带调试信息的版本",
    ),
    "flags-runtime-call": (
        "calls of the host get a place only where its code is built with the acl header of the tool",
        "host 侧调用只有在使用工具自带的 acl 头文件编译后才有位置信息",
    ),
    "flags-host": (
        "build with -g -fno-omit-frame-pointer, and keep llvm-symbolizer on PATH for clang",
        "请用 -g -fno-omit-frame-pointer 编译；clang 还需要 PATH 中有 llvm-symbolizer",
    ),
    "line-zero-kernel": (
        "build it once with -O0 -g --cce-enable-sanitizer --cce-ignore-always-inline=false",
        "请用 -O0 -g --cce-enable-sanitizer --cce-ignore-always-inline=false 编译一次",
    ),
    "line-zero-host": (
        "build it once with -O0 -g -fno-omit-frame-pointer",
        "请用 -O0 -g -fno-omit-frame-pointer 编译一次",
    ),
    "name-root": (
        "name the folder that holds it with --source-root",
        "请用 --source-root 指定它所在的目录",
    ),
    "narrower-root": (
        "name a narrower folder with --source-root",
        "请用 --source-root 指定更小的目录",
    ),
    "same-version": (
        "check out the version that was built, or build and run again",
        "请切换到编译时的版本，或重新编译运行",
    ),
    "join": ("{what}; {hint}", "{what}；{hint}"),
}

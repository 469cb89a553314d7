"""Texts of the drivers for memory in English and Chinese: (en, zh)."""

from __future__ import annotations

from ..driver import Words

SANITIZER: dict[str, Words] = {
    "build": (
        "Kernels are fully checked only where they were built with -g --cce-enable-sanitizer (option -sanitizer of msOpGen projects); others get memcheck of moves to and from GM at best, without a line.",
        "只有以 -g --cce-enable-sanitizer（msOpGen 工程为 -sanitizer 选项）编译的 kernel 才能完整检查；其他 kernel 至多检查与 GM 之间的搬运，且没有代码行。",
    ),
    "log-to-console": (
        "--log-file takes letters, digits and - . / _ only, and the path of this archive has others: the reports go to standard output, which is kept as console.log.",
        "--log-file 只接受字母、数字和 - . / _，而归档路径含有其他字符：报告将写到标准输出，并保存在 console.log 中。",
    ),
    "aclnn": (
        "A program that calls aclnn operators gives exact places only where it passes {path} to aclInit.",
        "调用 aclnn 算子的程序需将 {path} 传给 aclInit，结果才精确。",
    ),
    "debug-log-off": (
        "The tool's debug log is left off. Releases before June 2026 write it all the same, into {folder}: no option moves it, so what is new there is named when the round is closed.",
        "不开启工具的调试日志。2026 年 6 月之前的版本仍会写入 {folder}，没有选项可以改变位置，因此轮次结束时会列出其中的新文件。",
    ),
    "debug-log-on": (
        "The tool writes its debug log into {folder}, outside the archive: no option moves it.",
        "工具会把调试日志写入归档之外的 {folder}，没有选项可以改变位置。",
    ),
    "heap-only": (
        "Watching the device or CANN heap replaces the check of kernels: only leaks and wrong frees are found.",
        "监视 device 或 CANN 堆时不检查 kernel：只能发现泄漏和非法释放。",
    ),
    "tool-said": ("msSanitizer refused: {said}", "msSanitizer 拒绝执行：{said}"),
    "see-help": (
        "correct the option or the chip it names (mssanitizer --help), then capture again",
        "按提示修正选项或芯片（mssanitizer --help），然后重新采集",
    ),
    "no-line": (
        "no line of msSanitizer is in the log or the console ({how}): it checked nothing",
        "日志和控制台中没有 msSanitizer 的任何一行（{how}）：什么都没有检查",
    ),
    "no-kernel": (
        "msSanitizer ran, and no kernel was checked: none was launched, or --kernel-name leaves all out",
        "msSanitizer 已运行，但没有检查任何 kernel：没有 kernel 被下发，或 --kernel-name 把它们全部排除",
    ),
    "no-kernel-step": (
        "look at console.log whether the program reached its kernels; build them with -g --cce-enable-sanitizer; without --list all are checked",
        "在 console.log 中确认程序是否执行到 kernel；用 -g --cce-enable-sanitizer 编译；不带 --list 时检查所有 kernel",
    ),
    "untold": (
        "this release of the tool writes no begin and end of its checks: no finding may mean that none ran",
        "该版本工具不输出检查的开始与结束：没有发现也可能是根本没有检查",
    ),
    "untold-step": (
        "plant a known fault in the kernel and see it found, or use a release of 2026",
        "在 kernel 中植入一个已知错误确认能被发现，或使用 2026 年的版本",
    ),
    "lost": ("the log shows less than there was: {gaps}", "日志内容不完整：{gaps}"),
    "killed": (
        "the tool did not end and was killed: the report may lack its end, leaks are not counted",
        "工具未能结束而被强制终止：报告可能缺少结尾，泄漏未统计",
    ),
    "killed-step": (
        "capture again with a smaller shape, one kernel (--list) or one block (--set block-id=0), or a longer --timeout",
        "用更小的 shape、单个 kernel（--list）或单个 block（--set block-id=0）或更长的 --timeout 重新采集",
    ),
    "left-behind": (
        "the tool left {n} file(s) in {folder}, outside the archive; to keep them with the round: mv {folder} {to}",
        "工具在归档之外的 {folder} 留下 {n} 个文件；若要与轮次一起保存：mv {folder} {to}",
    ),
}

HOST: dict[str, Words] = {
    "options": (
        "ASAN_OPTIONS, LSAN_OPTIONS and UBSAN_OPTIONS: yours are kept, and log_path is set to the round.",
        "ASAN_OPTIONS、LSAN_OPTIONS、UBSAN_OPTIONS：保留已有设置，并将 log_path 指向本轮次。",
    ),
    "preload": (
        "A Python program loads the instrumented library late: start it with LD_PRELOAD set to the compiler's libasan.so (gcc -print-file-name=libasan.so); --set detect-leaks=0 leaves out the leaks of Python itself.",
        "Python 程序较晚才加载带检测的库：请用 LD_PRELOAD 指向编译器的 libasan.so 启动（gcc -print-file-name=libasan.so）；--set detect-leaks=0 可忽略 Python 自身的泄漏。",
    ),
    "recovers": (
        "halt_on_error=0 goes on behind the first error only where the program was built with -fsanitize-recover=address.",
        "只有以 -fsanitize-recover=address 编译的程序，halt_on_error=0 才会在首个错误后继续。",
    ),
    "not-instrumented": (
        "no sanitizer wrote anything, and {program} holds none: it was not built with -fsanitize=address",
        "没有任何 sanitizer 输出，且 {program} 中不含 sanitizer：未以 -fsanitize=address 编译",
    ),
    "build-step": (
        "build and link with -g -fno-omit-frame-pointer -fsanitize=address, then capture again",
        "用 -g -fno-omit-frame-pointer -fsanitize=address 编译并链接，然后重新采集",
    ),
    "no-sign": (
        "no sanitizer wrote anything ({how}): whether one ran is not known",
        "没有任何 sanitizer 输出（{how}）：无法知道是否运行过",
    ),
    "no-sign-step": (
        "look at console.log; build the code that is suspected with -fsanitize=address and name its program",
        "查看 console.log；用 -fsanitize=address 编译可疑代码并指定其程序",
    ),
    "refused": (
        "the sanitizer did not start: {said}",
        "sanitizer 未能启动：{said}",
    ),
    "ended-early": (
        "a sanitizer was there and left no report, but the program ended with {how}: what it would have done is not seen",
        "sanitizer 已加载且无报告，但程序以 {how} 结束：后续行为未被观察",
    ),
    "ended-early-step": (
        "look at console.log why it ended; leaks are counted only where a program ends by itself",
        "在 console.log 中查看结束原因；只有程序自行结束时才统计泄漏",
    ),
    "leaks-uncounted": (
        "the program was ended from outside: leaks were not counted",
        "程序被外部终止：未统计泄漏",
    ),
    "clean-untold": (
        "the program holds a sanitizer, ended by itself and no report was written: these sanitizers leave no other sign of a clean run",
        "程序含 sanitizer，自行结束且没有报告：此类 sanitizer 在无错误时不会留下其他痕迹",
    ),
}

SCOPE: dict[str, Words] = {
    "analysis": (
        "msMemScope follows allocations of pools and devices; leaks are told where the program marks its steps with mstx.",
        "msMemScope 跟踪内存池与 device 的分配；程序用 mstx 标记 step 时才能给出泄漏。",
    ),
    "nothing": (
        "no dump of msMemScope is in the round ({how})",
        "轮次中没有 msMemScope 的落盘文件（{how}）",
    ),
    "nothing-step": (
        "look at console.log; the tool needs a program that allocates on the NPU",
        "查看 console.log；该工具需要在 NPU 上分配内存的程序",
    ),
    "killed": (
        "the tool was killed: events behind the last write are missing",
        "工具被强制终止：最后一次写入之后的事件缺失",
    ),
    "killed-step": ("capture again and let the program end by itself", "重新采集并让程序自行结束"),
}

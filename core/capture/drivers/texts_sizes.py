"""What is said of the size of a memory or performance capture: (en, zh)."""

from __future__ import annotations

from ..driver import Words

TEXTS: dict[str, Words] = {
    "sessions-like": (
        "from a quarter of the raw data of {name} to four times its export, {factor} times the raw bytes as the makers say; another level or time changes it",
        "从 {name} 原始数据的四分之一，到其导出量的四倍（按厂商所说为原始字节的 {factor} 倍）；级别或时长不同会变化",
    ),
    "sessions-limit": (
        "by --storage-limit for {n} process(es); the export needs about {factor} times the raw bytes",
        "按 --storage-limit，{n} 个进程；导出约需原始字节的 {factor} 倍",
    ),
    "sessions-first": (
        "no earlier round of this program is in the archive, and what it launches decides; the export needs about {factor} times the raw bytes: record few steps, 5 minutes at most, or set storage-limit",
        "归档中没有该程序以前的轮次，数据量取决于其下发的任务；导出约需原始字节的 {factor} 倍：只录少量 step、最多 5 分钟，或设置 storage-limit",
    ),
    "like": (
        "from a quarter to four times of {name}",
        "为 {name} 的四分之一到四倍",
    ),
    "kernels-first": (
        "no earlier round of this program is in the archive, and kernels and replays decide: --set launch-count=N bounds them",
        "归档中没有该程序以前的轮次，取决于 kernel 与重放次数：--set launch-count=N 可限制",
    ),
    "events-first": (
        "no earlier round of this program is in the archive, and every event of its memory is written",
        "归档中没有该程序以前的轮次，且每个内存事件都会写出",
    ),
    "reports": (
        "text of about 1 KiB a report; a race on a whole buffer gives thousands, {n} are reckoned with",
        "每条报告约 1 KiB 文本；整块缓冲区上的竞争会有数千条，按 {n} 条计",
    ),
    "reports-debug": (
        "text of about 1 KiB a report, {n} are reckoned with, and a debug log of {logs} times {each} MB",
        "每条报告约 1 KiB 文本，按 {n} 条计，另有调试日志 {logs} × {each} MB",
    ),
    "host": (
        "text: one error ends a process, leaks are told with a stack each; 16 MiB are reckoned with for each of {n} process(es)",
        "文本：一个错误即结束进程，每处泄漏附调用栈；{n} 个进程各按 16 MiB 计",
    ),
    "host-goes-on": (
        "with halt-on-error=0 an error in a loop is told every time it happens",
        "halt-on-error=0 时，循环中的错误每次发生都会报告",
    ),
}

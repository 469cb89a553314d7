"""The rules of the check-up: what it says beside the findings of the areas."""

from __future__ import annotations

from npulse.core.findings import Severity
from npulse.core.rules import Rule

_OWN = ("npulse's own; the figures are those of their areas", "npulse 自有规则；数值取自各面板")
_FILE = (
    "in the criteria file: another limit, or none (npulse check --print-criteria)",
    "在标准文件中修改或去掉限值（npulse check --print-criteria）",
)


def _rule(
    id_: str,
    severity: Severity,
    title: tuple[str, str],
    meaning: tuple[str, str],
    threshold: tuple[str, str] = ("none", "无"),
    silence: tuple[str, str] = _FILE,
) -> Rule:
    return Rule(f"checkup.{id_}", severity, title, meaning, threshold, _OWN, silence)


RULES: tuple[Rule, ...] = (
    _rule(
        "criterion",
        "error",
        ("a criterion is missed", "未达到标准"),
        (
            "A figure of the newest round is beyond what the criteria file asks for. The subject is the criterion as it stands "
            "in the file; what caused it stands in the findings of its area.",
            "最新一轮的数值超出标准文件的要求。主体是文件中的标准名；原因见该面板的各条发现。",
        ),
        (
            "bundled: precision.cosine 0.99 of the last output; 0 overflow origins, memory errors, leaked bytes, errors of cards, "
            "conflicts of the environment; times and rates as the user sets them",
            "内置：末输出 precision.cosine 0.99；溢出源头、内存错误、泄漏字节、设备错误、环境冲突均为 0；时间与速率由用户设定",
        ),
    ),
    _rule(
        "not-judged",
        "warning",
        ("a criterion could not be judged", "标准无法判断"),
        (
            "The user's criteria file asks for something that was not recorded, or of which only a part could be read. It is not "
            "clean. The next step is the command that records it.",
            "用户的标准文件有此要求，但没有记录，或只读到一部分。这不等于正常。下一步是采集它的命令。",
        ),
    ),
    _rule(
        "distrusted",
        "note",
        ("figures that are not to be trusted", "数值不可信"),
        (
            "They were measured while a card was not well, memory was overwritten, or results were wrong: first what caused that, "
            "then measure again.",
            "测量时设备异常、内存被改写或结果有误：先解决其原因，再重新测量。",
        ),
        (
            "a failing device area: all figures; a warning one: times. Memory errors that change values, or a failed kernel: "
            "precision, overflow, times. NaN, Inf or wrong results: times",
            "设备不通过：所有数值；设备有警告：时间。改写数值的内存错误或算子异常：精度、溢出、时间。NaN、Inf 或结果有误：时间",
        ),
        ("cannot be silenced", "不可关闭"),
    ),
)

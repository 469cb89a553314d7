"""The fault codes of a chip's health: what each means, and whether the card or the software is at fault."""

from __future__ import annotations

from typing import Literal

from npulse.core.dataclass import dataclass

Words = tuple[str, str]
Step = Literal["replace", "restart", "software", "cool", "link", "power", "report"]


@dataclass(frozen=True, slots=True)
class Fault:
    """meaning: (en, zh). step: which advice of `texts` goes with it. is_fatal: results may be wrong by it."""

    meaning: Words
    step: Step
    is_fatal: bool = True


FAULTS: dict[str, Fault] = {
    "80E01801": Fault(("HBM multi-bit ECC error", "HBM 多 bit ECC 错误"), "restart"),
    "80E01809": Fault(("multi-bit ECC error found by HBM patrol", "HBM 巡检发现多 bit ECC 错误"), "restart"),
    "80E18402": Fault(("isolated rows of HBM reached 64", "HBM 隔离行达到 64"), "replace"),
    "80E00209": Fault(("HBM over temperature (> 95 C)", "HBM 过温（> 95 °C）"), "cool"),
    "80E0020B": Fault(("HBM over temperature, fatal", "HBM 过温，致命"), "cool"),
    "80C98008": Fault(("AI Core multi-bit ECC error", "AI Core 多 bit ECC 错误"), "restart"),
    "80CB8008": Fault(("vector core multi-bit ECC error", "vector core 多 bit ECC 错误"), "restart"),
    "80C98009": Fault(("AI Core bus access error", "AI Core 总线访问错误"), "software"),
    "80CB8009": Fault(("vector core bus access error", "vector core 总线访问错误"), "software"),
    "80CB8002": Fault(("vector core got an invalid input", "vector core 输入非法"), "software"),
    "80CD8008": Fault(("L2 buffer multi-bit ECC error", "L2 buffer 多 bit ECC 错误"), "restart"),
    "80DE1801": Fault(("DDR multi-bit ECC error", "DDR 多 bit ECC 错误"), "restart"),
    "81078603": Fault(("network link down or changed", "网络链路断开或变化"), "link", False),
    "80E3A201": Fault(("voltage fault", "电压故障"), "power"),
    "80E20207": Fault(("SoC over temperature", "SoC 过温"), "cool", False),
}

"""Keys of `npu-smi info -t TYPE`, by type: where one block ends and the next begins without a blank line.

Keys that stand in no list are kept all the same; they only end no block.
"""

from __future__ import annotations

IDS = frozenset(("NPU ID", "Chip ID", "Chip Count", "Chip Name"))
CARD = frozenset(("Total Count", "Card Count"))
"""How many cards there are: the first line of `-l`."""

_MEMORIES = ("DDR", "HBM")
_USAGES = (
    *("DDR Capacity(MB)", "DDR Usage Rate(%)", "DDR Hugepages Total(page)", "DDR Hugepages Usage Rate(%)"),
    *("HBM Capacity(MB)", "HBM Usage Rate(%)", "Aicore Usage Rate(%)", "Aivector Usage Rate(%)"),
    *("Aicpu Usage Rate(%)", "Ctrlcpu Usage Rate(%)", "Vectorcore Usage Rate(%)", "Memory Capacity(MB)"),
    *("DDR Bandwidth Usage Rate(%)", "HBM Bandwidth Usage Rate(%)", "NPU Utilization(%)"),
    *("Aicube Usage Rate(%)", "Memory Usage Rate(%)", "Hugepages Total(page)", "Hugepages Usage Rate(%)"),
    "Memory Bandwidth Usage Rate(%)",
    *(f"DVPP {part} Usage Rate(%)" for part in ("VDEC", "VPC", "VENC", "JPEGE", "JPEGD")),
)
TYPES: dict[str, frozenset[str]] = {
    "common": frozenset(
        (
            *("Memory Usage Rate(%)", "HBM Usage Rate(%)", "Aicore Usage Rate(%)", "Aicore Freq(MHZ)"),
            *("Aicore curFreq(MHZ)", "Aicore Count", "Temperature(C)", "NPU Real-time Power(W)"),
            *("Power Dissipation(W)", "Rated Power Dissipation(W)"),
        )
    ),
    "usages": frozenset(_USAGES),
    "memory": frozenset(
        (
            *("Total DDR Capacity(MB)", "DDR Capacity(MB)", "DDR Clock Speed(MHz)", "HBM Capacity(MB)"),
            *("HBM Clock Speed(MHz)", "HBM Temperature(C)", "HBM Manufacturer ID", "Capacity(MB)"),
            "Clock Speed(MHz)",
        )
    ),
    "temp": frozenset(("NPU Temperature (C)", "Temperature (C)")),
    "power": frozenset(("NPU Real-time Power(W)", "Power Dissipation(W)")),
    "volt": frozenset(("Voltage(V)",)),
    "sensors": frozenset(
        ("Soc Max Temperature (C)", "SFP Temperature (C)", "NDIE Temperature (C)", "HBM Temperature (C)")
    ),
    "health": frozenset(("Health", "Health Status", "Error Code", "Error Information")),
    "ecc": frozenset(
        (
            *(
                f"{memory} {bits} Bit {what}"
                for memory in _MEMORIES
                for bits in ("Single", "Double")
                for what in (
                    *("Error Count", "Aggregate Total Err Cnt", "Isolated Pages Count"),
                    "Next-Isolated Pages Count",
                )
            ),
            *("Single-bit Error Count", "Double-bit Error Count"),
        )
    ),
    "ecc-enable": frozenset(f"{memory} ECC-Enable Status" for memory in _MEMORIES),
    "pcie-err": frozenset(
        (
            *("TX Error Count", "RX Error Count", "Lcrc Error Count", "Ecrc Error Count", "Retry Count"),
            *("Pcs Rx Error Count", "Phy Lane Error Count", "Dl Lcrc Error Count", "Dl Dcrc Error Count"),
        )
    ),
    "board": frozenset(
        (
            *("Product Name", "Model", "Manufacturer", "Serial Number", "Software Version"),
            *("Firmware Version", "Compatibility", "Board ID", "Main Board ID", "PCB ID", "BOM ID"),
            *("PCIe Bus Info", "Slot ID", "Class ID", "PCI Vendor ID", "PCI Device ID"),
            *("Subsystem Vendor ID", "Subsystem Device ID", "Chip Fault", "NPU Name", "Chip Type"),
            *("Chip Version", "VDie ID", "NDie ID", "Die ID", "Chip Position ID"),
        )
    ),
    "product": frozenset(("Product Type",)),
    "cpu-num-cfg": frozenset(
        ("Current AI CPU number", "Current control CPU number", "Current data CPU number")
    ),
    "sys-time": frozenset(("System Time(local)",)),
    "phyid-remap": frozenset(("Chip Physical ID", "Chip Logic ID")),
    "spod-info": frozenset(("SDID", "Super Pod Size", "Super Pod ID", "Server Index")),
    "current-fault-event": frozenset(("Fault Event Count", "Fault Event Information")),
}
TYPES_OF: dict[str, frozenset[str]] = {
    key: frozenset(name for name, keys in TYPES.items() if key in keys)
    for keys in TYPES.values()
    for key in keys
}
KNOWN = frozenset(TYPES_OF) | IDS | CARD

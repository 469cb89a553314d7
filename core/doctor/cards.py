"""What npu-smi says of driver and firmware, for an inventory: containers often lack the version files."""

from __future__ import annotations

from collections.abc import Mapping

from npulse.core.device.snapshot import Snapshot

TYPES = ("board",)
"""The `-t` types that tell it."""

_KEYS = {"firmware": "Firmware Version", "board-compatibility": "Compatibility"}
_NOT_TOLD = frozenset(("", "NA", "-", "NOT SUPPORT", "UNKNOWN"))
"""What npu-smi shows where it cannot say: Compatibility to others than root."""


def told_by(snapshot: Snapshot) -> Mapping[str, str]:
    """Facts by the names that `inventory` takes. Of several chips the compatibility that is not OK."""
    told = {"driver": snapshot.driver_version, "npu-smi": snapshot.tool_version}
    for fact, key in _KEYS.items():
        values = [value for chip in snapshot.chips if (value := chip.values.get(key) or "") not in _NOT_TOLD]
        told[fact] = next((value for value in values if value != "OK"), values[0] if values else None)
    return {fact: value for fact, value in told.items() if value}

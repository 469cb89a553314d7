"""What the texts of a trace say, by their codes: looked at once each, as they come."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

from .trace_blocks import NO_CODE, Codes, TraceNames
from .trace_lanes import bits_of

_ARROWS = "HostToDevice"
_OPERATOR_ARROWS = "async_npu"
_FREQUENCY = "AI Core Freq"


class LabelBits:
    """Bits of `trace_lanes` for every label. arrows: the code of "HostToDevice". operator_arrows: of
    "async_npu", from the framework to the device. frequency: codes of counters
    of the AI cores' clock."""

    def __init__(self) -> None:
        self.arrows = NO_CODE
        self.operator_arrows = NO_CODE
        self.frequency: list[int] = []
        self._bits = array("H")
        self._all: npt.NDArray[np.uint16] = np.zeros(1, np.uint16)

    def look(self, names: TraceNames) -> None:
        """Labels that are new."""
        n_before = len(self._bits)
        for code in range(n_before, len(names.labels)):
            label = names.labels[code]
            self._bits.append(bits_of(label))
            if label == _ARROWS:
                self.arrows = code
            elif label == _OPERATOR_ARROWS:
                self.operator_arrows = code
            elif label.startswith(_FREQUENCY):
                self.frequency.append(code)
        if len(self._bits) > n_before:
            # one more behind the last, for NO_CODE
            self._all = np.frombuffer(self._bits.tobytes() + b"\0\0", np.uint16)

    def of(self, codes: Codes) -> npt.NDArray[np.uint16]:
        """The bits of labels; 0 for NO_CODE."""
        found: npt.NDArray[np.uint16] = self._all[codes]
        return found

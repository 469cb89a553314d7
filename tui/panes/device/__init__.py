"""The device pane: the cards as npu-smi tells them, of the round or of this machine now."""

from .pane import DevicePane

__all__ = ["DevicePane"]

"""The precision pane: table of rows, detail of the row under the cursor, strip of layers."""

from .pane import PrecisionPane

__all__ = ["PrecisionPane"]

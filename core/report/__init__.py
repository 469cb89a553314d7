"""A `Report` as JSON, text, Markdown or CSV. Nothing is computed here."""

from .mask import masked
from .write import FORMATS, format_of, render, verdict_line, write_report

__all__ = ["FORMATS", "format_of", "masked", "render", "verdict_line", "write_report"]

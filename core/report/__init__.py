"""A `Report` as JSON, text, Markdown or CSV. Nothing is computed here."""

from .write import FORMATS, format_of, render, write_report

__all__ = ["FORMATS", "format_of", "render", "write_report"]

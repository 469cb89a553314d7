"""A dossier as one HTML page that needs nothing else: no network, no server, no framework."""

from .page import render_html

__all__ = ["render_html"]

"""Packs made: which files of a run go along, what every area says of them. `core/packs` opens them."""

from .make import make_pack

__all__ = ["make_pack"]

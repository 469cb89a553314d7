"""The ways to pair, each loaded when it is gone: a comparison that was kept names its way and takes none."""

from __future__ import annotations

from npulse.core.formats.msprobe.records import Dump

from .model import NOTHING_BESIDE, Beside, Pairing


def pair_auto(target: Dump, golden: Dump, beside: Beside = NOTHING_BESIDE) -> Pairing:
    """See `align.pair_auto`."""
    from .align import pair_auto as pair

    return pair(target, golden, beside)


def pair_by_name(target: Dump, golden: Dump, beside: Beside | None = None) -> Pairing:
    """See `by_name.pair_by_name`."""
    from .by_name import pair_by_name as pair

    return pair(target, golden, beside)

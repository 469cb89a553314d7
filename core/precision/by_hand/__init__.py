"""Calls paired, or taken apart, by the user: what was said, and a pairing with it."""

from .apply import PairedByHand as PairedByHand
from .apply import hand_problems as hand_problems
from .apply import with_hand_pairs as with_hand_pairs
from .mapping import PairedByMapping as PairedByMapping
from .mapping import mapping_problems as mapping_problems
from .record import HandPair as HandPair
from .record import capture_key as capture_key
from .record import pairs_from_json as pairs_from_json
from .record import pairs_to_json as pairs_to_json
from .record import run_key as run_key

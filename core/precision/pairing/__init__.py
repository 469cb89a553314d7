"""Calls and leaves of two dumps paired: `model` is what every method returns."""

from .model import CERTAIN as CERTAIN
from .model import DOUBTFUL as DOUBTFUL
from .model import EVIDENCE as EVIDENCE
from .model import LIKELY as LIKELY
from .model import NOTHING_BESIDE as NOTHING_BESIDE
from .model import Beside as Beside
from .model import Group as Group
from .model import Ints as Ints
from .model import Pairing as Pairing
from .ways import pair_auto as pair_auto
from .ways import pair_by_name as pair_by_name

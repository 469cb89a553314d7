"""Calls and leaves of two dumps paired: `model` is what every method returns."""

from .align import pair_auto as pair_auto
from .by_name import pair_by_name as pair_by_name
from .model import CERTAIN as CERTAIN
from .model import DOUBTFUL as DOUBTFUL
from .model import EVIDENCE as EVIDENCE
from .model import LIKELY as LIKELY
from .model import NOTHING_BESIDE as NOTHING_BESIDE
from .model import Beside as Beside
from .model import Group as Group
from .model import Ints as Ints
from .model import Pairing as Pairing

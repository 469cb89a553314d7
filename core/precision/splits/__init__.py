"""A leaf against parts: layouts of unlike numbers of ranks, regrouped before they are compared."""

from .model import Cut as Cut
from .model import Part as Part
from .model import PartsPlace as PartsPlace
from .model import Side as Side
from .model import Split as Split

"""All ranks of a job at once: as a matrix, side by side for one operator, as one table; where it began."""

from .matrix import RankMatrix as RankMatrix
from .matrix import rank_matrix as rank_matrix
from .one_call import RanksOfCall as RanksOfCall
from .one_call import ranks_of_call as ranks_of_call

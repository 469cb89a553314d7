"""One door to parallel work: an executor here or on a cluster, its results in order or as they are known."""

from .cluster import Cluster as Cluster
from .executor import BLAS_THREAD_VARIABLES as BLAS_THREAD_VARIABLES
from .executor import InlineExecutor as InlineExecutor
from .executor import available_processors as available_processors
from .executor import limit_blas_threads as limit_blas_threads
from .executor import n_workers_of as n_workers_of
from .executor import open_executor as open_executor
from .lost import ClusterGone as ClusterGone
from .lost import WorkerDied as WorkerDied
from .results import ordered_results as ordered_results
from .results import results_as_known as results_as_known
from .so_far import SoFar as SoFar

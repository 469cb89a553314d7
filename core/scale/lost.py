"""What can go wrong between processes: a worker that died, a cluster that is gone."""

from __future__ import annotations

from npulse.core.errors import EnvironmentLacks, NpulseError
from npulse.core.findings import CLUSTER_GONE


class WorkerDied(NpulseError):
    """A worker process ended without a result. Work that needs so much can be tried with one job."""

    exit_code = 3
    kind = "worker-died"


class ClusterGone(EnvironmentLacks):
    """The scheduler, or every worker of it, went away while work was out; what had come back holds."""

    kind = CLUSTER_GONE

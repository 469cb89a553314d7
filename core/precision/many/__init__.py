"""Many ranks: read and compared by workers of this host or of a cluster, each a rank at a time."""

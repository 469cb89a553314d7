"""Mixed precision: which operator computes in which dtype, and what another dtype on one side explains."""

"""A run that is still being written: which of its artifacts appeared, grew, ended or went away."""

"""Memory faults of a run: what broke, where in the code, against which memory, and what only follows."""

"""Tables of the profilers: msprof's CSV files."""

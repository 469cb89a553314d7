"""CANN dumps: file names, the binary container, overflow records (Opdebug), statistics of operators."""

"""Two captures compared: pairs, their figures and verdicts, where the trouble begins, what it looks like."""

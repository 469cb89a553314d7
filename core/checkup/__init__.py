"""All areas of a run against the criteria: one verdict, what to open first and why, what is missing."""

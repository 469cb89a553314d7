"""A run that grows, looked at in every area again and again: what is new, what does not hold any more."""

"""Results that another tool computed: shown as theirs, with our reading of their figures beside it."""

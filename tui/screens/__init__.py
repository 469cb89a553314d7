"""Full screens over the panes: help, problems, marks, recent runs, palette, note, question."""

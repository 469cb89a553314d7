"""What the pages of the precision pane show: pure functions over a comparison, no user interface."""

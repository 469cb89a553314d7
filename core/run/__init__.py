"""What is in a folder: artifacts, rounds, runs."""

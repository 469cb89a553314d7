"""Plays msprobe: what is asked of its debugger is written into calls.txt of dump_path, line by line."""

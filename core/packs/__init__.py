"""Packs: what a run's findings need, in one file, opened anywhere. `core/packing` makes them.

npulse-pack.toml         what is in the pack, what was left out and why, which areas stand as recorded
run/NAME/...             files of the run
reports/AREA-NUMBER.json what every area said of the whole run
notes.json               marks, notes, and recordings of commands
"""

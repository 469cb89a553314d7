"""What operators compute, a module a family; see `core/recheck/registry.py` for how to add one."""

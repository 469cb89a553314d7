"""Number formats: one name each, their numpy carrier, largest value, spacing - and how to widen them.

STUB: to be written (see docs/architecture.md, core/formats/tensors).
"""

"""Plays torch_npu: its profiler alone."""

__version__ = "2.6.0"

"""Plays the few parts of PyTorch that a profiler's launcher touches: hooks of modules and of optimizers."""

from . import nn, optim

__version__ = "2.6.0"
__all__ = ["nn", "optim"]

from .optimizer import SGD

__all__ = ["SGD"]

from .modules.module import Module

__all__ = ["Module"]

from .modules import Module
from .modules.loss import MSELoss

__all__ = ["Linear", "Module", "MSELoss", "Transform"]


class Parameter:
    requires_grad = True


class Linear(Module):
    def __init__(self):
        self.weight = Parameter()

    def parameters(self):
        yield self.weight

    def forward(self, x):
        return x + 1


class Transform(Module):
    def forward(self, x):
        return x

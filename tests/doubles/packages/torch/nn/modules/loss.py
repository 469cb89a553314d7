from . import Module


class _Loss(Module):
    pass


class MSELoss(_Loss):
    def buffers(self):
        yield object()

    def forward(self, x):
        return x

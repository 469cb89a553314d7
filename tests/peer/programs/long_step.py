"""One step of many calls; kills itself at the call that it is told, as the out-of-memory killer does."""

import os
import signal
import sys

import torch

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


class Many(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = model

    def forward(self, x):
        for call in range(1500):
            x = torch.tanh(self.inner(x))
            if call == int(sys.argv[1]):
                os.kill(os.getpid(), signal.SIGKILL)
        return x


Many()(torch.ones(1, 8)).sum().backward()
optimizer.step()

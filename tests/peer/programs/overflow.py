"""Twelve layers; in the third step an exp after the ninth leaves float32's range."""

import torch

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(12))
        self.is_bad = False

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            x = torch.relu(layer(x)) + 1
            if self.is_bad and number == 8:
                x = torch.exp(x * 1000)
        return x


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    model.is_bad = step == 2
    model(torch.randn(2, 8)).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()

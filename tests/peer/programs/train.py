"""A small transformer-like model trained for three steps and asked once: plain | scaled | bfloat16."""

import sys

import torch
from torch import nn
from torch.nn.functional import gelu

torch.manual_seed(3)
torch.set_num_threads(1)
WIDTH, WORDS = 16, 50


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.fc1 = nn.Linear(WIDTH, 4 * WIDTH)
        self.fc2 = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.fc2(gelu(self.fc1(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        x = self.embedding(words)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


model = Net()
if sys.argv[1] == "scaled":
    forward = model.blocks[1].fc2.forward
    model.blocks[1].fc2.forward = lambda x: forward(x) * 1.2
if sys.argv[1] == "bfloat16":
    model = model.bfloat16()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    words = torch.randint(0, WORDS, (4, 6))
    logits = model(words).flatten(0, 1).float()
    loss = nn.functional.cross_entropy(logits, words.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, f"{loss.item():.6f}", flush=True)
with torch.no_grad():
    print("asked", model(words).shape[-1])

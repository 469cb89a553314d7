"""Which names tensor files have that belong to no tool's capture: plain arrays, and checkpoints."""

from __future__ import annotations

import os
import re
from pathlib import Path

TENSOR_SUFFIXES = (".npy", ".npz", ".pt", ".pth", ".bin", ".safetensors", ".ckpt")
MAX_ENTRIES = 100_000

_CHECKPOINT = re.compile(
    r"model_optim_rng\.pt|model_rng\.pt|distrib_optim\.pt|pytorch_model(?:-\d+-of-\d+)?\.bin"
    r"|(?:\w+_)?mp_rank_\d+(?:_\w+)?_(?:model|optim)_states\.pt|consolidated\.\d+\.pth"
    r"|[\w.-]+\.safetensors(?:\.index\.json)?",
    re.ASCII,
)


def is_tensor_file(name: str) -> bool:
    """Whether a file that was named can hold tensors, by its suffix."""
    return name.lower().endswith(TENSOR_SUFFIXES)


def is_checkpoint_name(name: str) -> bool:
    """Whether a file has the name that a framework gives to a checkpoint. A dump's tensors never have it."""
    return bool(_CHECKPOINT.fullmatch(name))


def holds_tensor_files(folder: Path) -> bool:
    """Whether a tensor file lies in a folder or below it; the first 100,000 entries are looked at."""
    n = 0
    for _, _, files in os.walk(folder):
        if any(is_tensor_file(name) for name in files):
            return True
        n += len(files) + 1
        if n > MAX_ENTRIES:
            return False
    return False

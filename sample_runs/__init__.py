"""Small runs that ship with the product, each made by a seeded script from real arithmetic."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from npulse.core.errors import UsageError

SAMPLES: dict[str, tuple[str, str]] = {
    "w8a8": (
        "W8A8 decoder in three rounds: cosine 0.96 to 0.993, a NaN, a write out of bounds, slow gathers",
        "W8A8 解码器三轮调试：余弦 0.96 到 0.993、NaN、越界写、低速 Gather",
    ),
}
"""Name of each sample run and its title in English and Chinese."""


def sample_path(name: str = "w8a8") -> Path:
    """Folder of a sample run, in a wheel, an editable install or a checkout alike.

    Raises UsageError for an unknown name.
    """
    if name not in SAMPLES:
        raise UsageError(f"no sample run is named {name!r}", hint=f"there are: {', '.join(SAMPLES)}")
    return Path(str(files(__name__) / name))

"""Small runs that ship with the product, each made by a seeded script from real arithmetic."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from npulse.core.errors import UsageError

SAMPLES: dict[str, tuple[str, str]] = {
    "w8a8": (
        "W8A8 decoder: one rare token clipped by a static activation scale, cosine 0.96",
        "W8A8 解码器：静态激活量化尺度截断了一个罕见 token，余弦相似度 0.96",
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

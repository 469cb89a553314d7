"""The manifest of a round among all that was found of it."""

from __future__ import annotations

from collections.abc import Iterable

from .model import Artifact

MANIFEST = "npulse.round"
"""Its kind."""


def manifest_of(artifacts: Iterable[Artifact]) -> Artifact | None:
    """A round's own manifest: of several the one that lies highest; None where there is none."""
    found = (artifact for artifact in artifacts if artifact.kind == MANIFEST)
    return min(found, key=lambda artifact: artifact.relative.count("/"), default=None)

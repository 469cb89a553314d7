"""Plug-ins of a test are its own: nothing is left of them for the next one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from npulse.core.plugins import registry
from npulse.core.plugins.registry import Plugin

Use = Callable[..., Plugin]


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("NPULSE_CONFIG_DIR", str(tmp_path / "config"))
    registry.use()
    yield
    registry.use()


@pytest.fixture
def use(tmp_path: Path) -> Use:
    """Writes a plug-in and uses it, as --plugin does."""

    def used(code: str, name: str = "acme") -> Plugin:
        file = tmp_path / "plug-ins" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(code, encoding="utf-8")
        registry.use([file])
        return registry.file_plugin(file)

    return used

"""Whatever advice a test of this area makes, its figures are called as the contract says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from npulse.core.performance.advice import Advice

from .figure_names import wrong_in


@pytest.fixture(autouse=True)
def figure_names_keep_the_contract(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    wrong: set[str] = set()
    make = Advice.__init__

    def checked(self: Advice, *args: Any, **values: Any) -> None:
        make(self, *args, **values)
        for figures in (self.figures, *(one.figures for one in self.related)):
            wrong.update(f"{self.rule}: {text}" for text in wrong_in(figures))

    monkeypatch.setattr(Advice, "__init__", checked)
    yield
    assert not wrong

"""What the triage guide is made of: symptoms, and the steps that each calls for. Texts are (en, zh)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npulse.core.capture.request import Kind

Words = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: a capture (`kind` is set), or a command that looks at what is there.

    fields: of the capture, by the names of the capture's options ("tool", "level", "settings"); "yes" is a
    flag. command: of a step that captures nothing. In both {name} stands for one of this run's facts (see
    `fill`), <NAME> for what only the user knows. pane: that shows the answer, "" for none.
    """

    id: str
    title: Words
    why: Words
    needs: Words = ("", "")
    kind: Kind | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    pane: str = ""


@dataclass(frozen=True, slots=True)
class Symptom:
    """What somebody sees, and what to do about it, in this order.

    id: also the word of `npulse guide`. pane: the area that answers. smaller: how to make the case small.
    """

    id: str
    pane: str
    title: Words
    seen: Words
    smaller: Words
    steps: tuple[Step, ...]

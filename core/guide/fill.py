"""A step of the guide with the run's facts in it: the command to type, the fields of the capture dialog."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from .facts import Facts
from .records import Step

FLAGS = frozenset(("small", "stop-at-first", "keep-last", "force"))
"""Fields that are a flag on the command line."""
_FACT = re.compile(r"\{(\w+)\}")
_GOLDEN = "<GOLDEN>"
_ASKED = re.compile(r"<[A-Z-]+>")


@dataclass(frozen=True, slots=True)
class Advice:
    """command: one line for a shell; <NAME> in it is for the user to replace. fields: what the capture dialog
    begins with, without what only the user knows; {} for a step without capture. unknown: the <NAME>s."""

    command: str
    fields: Mapping[str, str]
    unknown: tuple[str, ...] = ()


def advice_of(step: Step, facts: Facts) -> Advice:
    """The step for this run."""
    if step.kind is None:
        line = _filled(step.command, facts)
        if facts.has_pair:  # the run holds its golden capture
            line = line.replace(f" {_GOLDEN}", "")
        return Advice(line, {}, _unknown(line))
    known = {name: _value(value, facts) for name, value in step.fields.items()}
    known = {name: value for name, value in known.items() if value}
    if facts.archive:
        known.setdefault("archive", facts.archive)
    line = " ".join(_capture_words(step.kind, known, facts))
    fields = {name: value for name, value in known.items() if not _ASKED.search(value)}
    fields |= {"kind": step.kind}
    if facts.command and not facts.has_hidden:
        fields["command"] = shlex.join(facts.command)
    return Advice(line, fields, _unknown(line))


def _capture_words(kind: str, fields: Mapping[str, str], facts: Facts) -> list[str]:
    words = ["npulse", "capture", kind]
    for name, value in fields.items():
        if name in FLAGS:
            words += [f"--{name}"] if value == "yes" else []
        elif name in ("settings", "list", "keep-fp32", "keep-input"):
            option = "--set" if name == "settings" else f"--{name}"
            for one in shlex.split(value):
                words += [option, _quoted(one)]
        else:
            words += [f"--{name}", _quoted(value)]
    if "pid" not in fields:
        words += ["--", shlex.join(facts.command) if facts.command else "<PROGRAM>"]
    return words


def _quoted(text: str) -> str:
    return text if _ASKED.search(text) else shlex.quote(text)


def _value(template: str, facts: Facts) -> str:
    """A field's value: of a fact that nobody knows it is empty."""
    return _FACT.sub(lambda match: str(getattr(facts, match[1])), template)


def _filled(template: str, facts: Facts) -> str:
    """A command's line: of a fact that nobody knows its name stands there for the user to replace."""
    return _FACT.sub(
        lambda match: (
            shlex.quote(str(getattr(facts, match[1]) or ""))
            if getattr(facts, match[1])
            else f"<{match[1].upper()}>"
        ),
        template,
    )


def _unknown(line: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_ASKED.findall(line)))

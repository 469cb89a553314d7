"""The fields of a capture as the user types them, and the request that they mean."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from npulse.core.capture.drivers import tools_of
from npulse.core.capture.request import FOLDERS, CaptureRequest, Kind, usual_name
from npulse.core.errors import UsageError
from npulse.core.run.model import Run
from npulse.core.text import Lang

KINDS: tuple[Kind, ...] = get_args(Kind)
YES_NO = ("no", "yes")
MAX_TIMEOUT_S = 30 * 24 * 3600.0
MAX_REPEAT = 10_000
Values = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field. id: also the key under which its value is remembered. usual: what stands there at first.
    choices: what it can be, given all values; () for free text."""

    id: str
    usual: str = ""
    choices: Callable[[Values], Sequence[str]] = lambda values: ()

    @property
    def label_id(self) -> str:
        return f"capture.{self.id}"

    @property
    def hint_id(self) -> str:
        return f"capture.{self.id}-hint"


def _tools(values: Values) -> Sequence[str]:
    kind = values.get("kind", "")
    return tools_of(kind) if kind in KINDS else ()


FIELDS: tuple[FieldSpec, ...] = (
    FieldSpec("command"),
    FieldSpec("kind", "precision", lambda values: KINDS),
    FieldSpec("tool", "", _tools),
    FieldSpec("rank"),
    FieldSpec("step"),
    FieldSpec("list"),
    FieldSpec("level"),
    FieldSpec("model"),
    FieldSpec("keep-fp32"),
    FieldSpec("name"),
    FieldSpec("archive"),
    FieldSpec("timeout"),
    FieldSpec("repeat", "1"),
    FieldSpec("keep-last", "no", lambda values: YES_NO),
    FieldSpec("small", "no", lambda values: YES_NO),
    FieldSpec("stop-at-first", "no", lambda values: YES_NO),
    FieldSpec("retro", "10"),
    FieldSpec("keep-input"),
    FieldSpec("settings"),
    FieldSpec("pid"),
    FieldSpec("force", "no", lambda values: YES_NO),
)
"""In the order in which Tab walks them; the command has a line of its own."""

BY_ID: Mapping[str, FieldSpec] = {one.id: one for one in FIELDS}


def usual_values(kind: str, archive: Path) -> dict[str, str]:
    """What the fields hold where nothing is remembered."""
    values = {one.id: one.usual for one in FIELDS}
    return {**values, "kind": kind if kind in KINDS else "precision", "archive": str(archive)}


def usual_archive(run: Run | None, cwd: Path) -> Path:
    """The opened folder where it is an archive already, else diag/ in the current folder."""
    if run is not None and run.path.is_dir():
        folders = {artifact.relative.split("/")[0] for one in run.rounds for artifact in one.artifacts}
        if any(one.name for one in run.rounds) and folders & set(FOLDERS.values()):
            return run.path
    return cwd / "diag"


def next_choice(spec: FieldSpec, values: Values, step: int) -> str | None:
    """The choice after the one that stands there, or before it; None for free text."""
    choices = list(spec.choices(values))
    if not choices:
        return None
    now = values.get(spec.id, "")
    if now not in choices:
        return choices[0 if step > 0 else -1]
    return choices[(choices.index(now) + step) % len(choices)]


def with_fitting_tool(values: Values) -> dict[str, str]:
    """The values, without a tool that the kind does not have."""
    tool = values.get("tool", "")
    return {**values, "tool": tool if tool in _tools(values) else ""}


# ---- what they mean ----


class FieldError(UsageError):
    """A field does not hold what it can be. field: its id; text_id, values: what to say of it."""

    def __init__(self, field: str, text_id: str, **values: Any) -> None:
        super().__init__(f"{field}: {values}")
        self.field = field
        self.text_id = text_id
        self.values = values


def request_from(values: Values, *, cwd: Path, environment: Mapping[str, str], lang: Lang) -> CaptureRequest:
    """The request that the fields mean. FieldError names the field that cannot be used."""
    kind = values.get("kind", "").strip()
    if kind not in KINDS:
        raise FieldError("kind", "capture.bad-choice", name=kind, known=", ".join(KINDS))
    tool = values.get("tool", "").strip()
    tools = tools_of(kind)
    if tool and tool not in tools:
        raise FieldError("tool", "capture.bad-choice", name=tool, known=", ".join(tools))
    command, pid = _words("command", values), _pid(values.get("pid", "").strip())
    model = values.get("model", "").strip()
    if not command and pid is None and not model.endswith(".om"):  # that is run without a program
        raise FieldError("command", "capture.no-command")
    if command and pid is not None:
        raise FieldError("pid", "capture.command-or-pid")
    archive = values.get("archive", "").strip()
    if not archive:
        raise FieldError("archive", "capture.no-archive")
    return CaptureRequest(
        kind=kind,
        command=command,
        cwd=cwd,
        archive=Path(os.path.abspath(cwd / Path(archive).expanduser())),
        name=values.get("name", "").strip() or usual_name(command, pid, model),
        tool=tool or None,
        rank=values.get("rank", "").strip(),
        step=values.get("step", "").strip(),
        names=tuple(one for word in _words("list", values) for one in word.split(",") if one),
        level=values.get("level", "").strip() or None,
        model=model or None,
        pid=pid,
        keep_inputs=tuple(cwd / Path(word).expanduser() for word in _words("keep-input", values)),
        timeout_s=_timeout(values.get("timeout", "").strip()),
        repeat=_count("repeat", values, 1, MAX_REPEAT),
        keep_last=_yes("keep-last", values),
        is_small=_yes("small", values),
        stop_at_first=_stop_at_first(kind, values),
        retro=_count("retro", values, 0, MAX_REPEAT),
        keep_fp32=_words("keep-fp32", values),
        environment=dict(environment),
        settings=_settings(values),
        lang=lang,
    )


def is_forced(values: Values) -> bool:
    """Whether errors of the preflight shall hold nothing back."""
    return _yes("force", values)


def _words(field: str, values: Values) -> tuple[str, ...]:
    """Words as a shell would split them; nothing is expanded and no shell is started."""
    try:
        return tuple(shlex.split(values.get(field, "")))
    except ValueError as error:
        is_quote = "quotation" in str(error)  # the other thing that it refuses: a backslash at the end
        raise FieldError(field, "capture.open-quote" if is_quote else "capture.open-escape") from None


def _pid(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 9 and int(text) > 1):
        raise FieldError("pid", "capture.bad-number", text=text, low="2", high="99,999,999")
    return int(text)


def _stop_at_first(kind: str, values: Values) -> bool:
    is_wanted = _yes("stop-at-first", values)
    if is_wanted and kind != "overflow":
        raise FieldError("stop-at-first", "capture.overflow-alone")
    return is_wanted


def _settings(values: Values) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in _words("settings", values):
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise FieldError("settings", "capture.bad-setting", word=word)
        found[name.lstrip("-")] = value
    return found


def _timeout(text: str) -> float | None:
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= MAX_TIMEOUT_S:  # also where it is no number
        raise FieldError("timeout", "capture.bad-number", text=text, low="0", high=f"{MAX_TIMEOUT_S:,.0f}")
    return seconds


def _count(field: str, values: Values, low: int, high: int) -> int:
    text = values.get(field, "").strip() or BY_ID[field].usual
    if not (text.isascii() and text.isdecimal() and len(text) < 9 and low <= int(text) <= high):
        raise FieldError(field, "capture.bad-number", text=text, low=str(low), high=f"{high:,}")
    return int(text)


def _yes(field: str, values: Values) -> bool:
    text = values.get(field, "").strip() or "no"
    if text not in YES_NO:
        raise FieldError(field, "capture.bad-choice", name=text, known=", ".join(YES_NO))
    return text == "yes"

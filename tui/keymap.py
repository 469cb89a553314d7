"""Which keys are in force: the registry's defaults, a named map over them, the user's own map over that.

A mistake in a map never stops the app: its line is left out, the default stays, the problem is reported.
The UI framework would ignore unknown ids, unknown key names and clashes in silence; nothing here does.
"""

from __future__ import annotations

import difflib
import os
import re
import string
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npulse.core.dataclass import dataclass

from .actions import ACTIONS, BY_ID, FORBIDDEN_KEYS, SCOPES, scopes_together
from .messages import tr
from .state import read_regular, user_config_file

if TYPE_CHECKING:
    from npulse.core.text import Lang

MAX_KEYMAP_BYTES = 256 * 1024
MAP_NAMES = ("default", "vim", "emacs")
Bindings = Mapping[str, tuple[str, ...]]
"""Action id to its keys; no keys: only the palette reaches it."""

_RENAMED = {  # where the framework's name of a character is not its Unicode name
    "/": "slash", "\\": "backslash", "@": "at", "-": "minus", "+": "plus", "_": "underscore",
}  # fmt: skip
_BY_CHARACTER = {
    c: _RENAMED.get(c) or unicodedata.name(c).lower().replace("-", "_").replace(" ", "_")
    for c in string.punctuation
}
_BY_NAME = {name: character for character, name in _BY_CHARACTER.items()}
_MOVING = ("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete")
_NAMED = (*_MOVING, "escape", "enter", "space", "tab", "backspace", *(f"f{n}" for n in range(1, 25)))
_KNOWN = frozenset(
    (
        *string.ascii_letters,
        *string.digits,
        *_BY_NAME,
        *_NAMED,
        "shift+tab",
        *(f"ctrl+{c}" for c in (*string.ascii_lowercase, *string.digits, *_MOVING)),
        *("ctrl+backslash", "ctrl+right_square_bracket", "ctrl+circumflex_accent", "ctrl+underscore"),
        *(f"shift+{name}" for name in _MOVING),
        *(f"alt+{c}" for c in (*string.ascii_lowercase, *string.digits, *_MOVING)),
        *(f"ctrl+f{n}" for n in range(1, 25)),
        *FORBIDDEN_KEYS,
    )
)
_MEANT = {
    "esc": "escape", "return": "enter", "cr": "enter", "ret": "enter", "del": "delete", "ins": "insert",
    "pgup": "pageup", "pgdn": "pagedown", "pgdown": "pagedown", "page_up": "pageup", "spc": "space",
    "page_down": "pagedown", "bs": "backspace", "backtab": "shift+tab", " ": "space", "\t": "tab",
}  # fmt: skip
_SAME_BYTES = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+h": "backspace"}
_SHOWN = {
    "escape": "Esc", "enter": "Enter", "space": "Space", "tab": "Tab", "shift+tab": "S-Tab", "pageup": "PgUp",
    "pagedown": "PgDn", "backspace": "BkSp", "delete": "Del", "insert": "Ins", "home": "Home", "end": "End",
    "up": "Up", "down": "Down", "left": "Left", "right": "Right",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeymapProblem:
    """One mistake in a key map: where, what, and what was probably meant."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Keymap:
    """The keys in force and what was wrong with the maps they came from."""

    name: str
    keys: Bindings
    problems: tuple[KeymapProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One line of `npulse keys` and of the help screen."""

    scope: str
    id: str
    keys: str
    help: str


def key_name(key: str) -> str | None:
    """The framework's name of a key written as a character or a name; None if there is no such key."""
    name = _BY_CHARACTER.get(key, key)
    return name if name in _KNOWN else None


def show_key(key: str) -> str:
    """A key as people read it: `?`, `Esc`, `ctrl+c`."""
    return _BY_NAME.get(key) or _SHOWN.get(key, key)


def show_keys(keys: tuple[str, ...]) -> str:
    """All keys of an action, `(none)` where it has none."""
    return " ".join(show_key(key) for key in keys) or "(none)"


def default_keys() -> Bindings:
    """The registry's own keys."""
    return {action.id: action.keys for action in ACTIONS}


def user_keymap_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the user's own map is looked for; it need not exist."""
    return user_config_file("keymap.toml", environ)


def load_keymap(path: Path | None = None, lang: Lang = "en") -> Keymap:
    """The keys in force: defaults, the base map the user names, the user's map. Never raises."""
    path = user_keymap_path() if path is None else path
    if not os.path.lexists(path):
        return Keymap("default", default_keys())
    return _read_map(path, lang)


def keymap_in_force(path: Path | None = None, lang: Lang = "en") -> Bindings:
    """Action id to keys, as `load_keymap` finds them."""
    return load_keymap(path, lang).keys


def named_keymap(name: str, lang: Lang = "en") -> Keymap:
    """One of the maps that ship with the product."""
    if name == "default":
        return Keymap(name, default_keys())
    from importlib.resources import as_file, files

    with as_file(files("npulse.keymaps") / f"{name}.toml") as path:
        return _read_map(path, lang)


def check_keymap(path: Path, lang: Lang = "en") -> list[KeymapProblem]:
    """Everything that is wrong with a key map file, in file order; empty if nothing is."""
    return list(_read_map(path, lang).problems)


def describe_keys(lang: Lang, keys: Bindings | None = None) -> list[KeyRow]:
    """The key map as rows: scope heading, action id, keys in force, help."""
    keys = keymap_in_force(lang=lang) if keys is None else keys
    headings = {scope: zh if lang == "zh" else en for scope, en, zh in SCOPES}
    order = list(headings)
    rows = sorted(ACTIONS, key=lambda action: order.index(action.scope))
    return [
        KeyRow(headings[action.scope], action.id, show_keys(keys.get(action.id, ())), action.help(lang))
        for action in rows
    ]


@dataclass(frozen=True, slots=True)
class _Source:
    """The text of one map, for line numbers and messages."""

    file: str
    text: str
    lang: Lang

    def problem(self, text: str, at: str | None = None, /, **values: Any) -> KeymapProblem:
        """A problem with the line that sets `at`."""
        return KeymapProblem(self.file, self.line_of(at), tr(text, self.lang, **values))

    def line_of(self, key: str | None) -> int | None:
        """The line that sets `key`; None if it can't be told (the parser keeps no positions)."""
        if key is None:
            return None
        found = re.search(rf"""(?m)^[ \t]*["']?{re.escape(key)}["']?[ \t]*=""", self.text)
        return self.text.count("\n", 0, found.start()) + 1 if found else None


def _read_map(path: Path, lang: Lang) -> Keymap:
    from npulse.core.toml_text import loads_toml

    source = _Source(str(path), "", lang)
    try:
        raw = read_regular(path, MAX_KEYMAP_BYTES + 1)
        if len(raw) > MAX_KEYMAP_BYTES:
            return _default_with(source.problem("keymap.too-large", limit_bytes=MAX_KEYMAP_BYTES))
        source = _Source(str(path), raw.decode("utf-8").replace("\r\n", "\n"), lang)
    except OSError as error:
        return _default_with(source.problem("keymap.unreadable", reason=error.strerror or str(error)))
    except UnicodeDecodeError as error:
        return _default_with(source.problem("keymap.encoding", byte=error.start))
    try:
        content = loads_toml(source.text)
    except ValueError as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found[1]) if found else None
        return _default_with(
            KeymapProblem(source.file, line, tr("keymap.bad-toml", lang, reason=str(error)[:200]))
        )
    return _apply(source, content)


def _default_with(problem: KeymapProblem) -> Keymap:
    return Keymap("default", default_keys(), (problem,))


def _apply(source: _Source, content: dict[str, Any]) -> Keymap:
    """The base map with the file's valid lines over it."""
    problems = [
        source.problem("keymap.unknown-field", name, name=name)
        for name in content
        if name not in ("name", "base", "bindings")
    ]
    base_name = content.get("base", "default")
    if base_name not in MAP_NAMES:
        names = ", ".join(MAP_NAMES)
        problems.append(source.problem("keymap.unknown-base", "base", name=base_name, names=names))
        base_name = "default"
    base = dict(named_keymap(base_name, source.lang).keys)
    entries = content.get("bindings", {})
    if not isinstance(entries, dict):
        problems.append(source.problem("keymap.bindings-type", "bindings"))
        entries = {}
    chosen: dict[str, tuple[str, ...]] = {}
    for action_id, value in entries.items():
        keys = _valid_keys(source, action_id, value, problems)
        if keys is not None:
            chosen[action_id] = keys
    problems += _drop_clashes(source, base, chosen)
    problems.sort(key=lambda problem: problem.line or 0)
    name = content.get("name", "")
    return Keymap(name if isinstance(name, str) and name else base_name, {**base, **chosen}, tuple(problems))


def _valid_keys(
    source: _Source, action_id: str, value: Any, problems: list[KeymapProblem]
) -> tuple[str, ...] | None:
    """The keys of one line, or None (with a problem) where any part of it is wrong."""
    if action_id not in BY_ID:
        problems.append(_unknown(source, "keymap.unknown-action", action_id, action_id, BY_ID))
        return None
    written = [value] if isinstance(value, str) else value
    if not isinstance(written, list) or not all(isinstance(key, str) for key in written):
        problems.append(source.problem("keymap.wrong-type", action_id, id=action_id))
        return None
    found = [_key_problem(source, action_id, key) for key in written]
    problems += [problem for problem in found if problem is not None]
    if any(found):
        return None
    if not written and action_id == "app.quit":
        problems.append(source.problem("keymap.must-keep", action_id, id=action_id))
        return None
    return tuple(dict.fromkeys(_BY_NAME.get(str(key), str(key)) for key in written))


def _key_problem(source: _Source, action_id: str, key: str) -> KeymapProblem | None:
    name = key_name(key)
    if name is None:
        return _unknown(source, "keymap.unknown-key", action_id, key, sorted(_KNOWN - set(FORBIDDEN_KEYS)))
    if name in FORBIDDEN_KEYS:
        reason = tr(FORBIDDEN_KEYS[name], source.lang)
        return source.problem("keymap.forbidden", action_id, key=key, reason=reason)
    if name in _SAME_BYTES:
        return source.problem("keymap.same-bytes", action_id, key=key, same=_SAME_BYTES[name])
    is_typed = len(name) == 1 or name in _BY_NAME or name == "space"
    if is_typed and BY_ID[action_id].scope in ("entry", "pick"):
        return source.problem("keymap.printable", action_id, key=key)
    return None


def _unknown(source: _Source, text: str, line_key: str, name: str, known: Any) -> KeymapProblem:
    """A problem that names the nearest known word, where one is near."""
    close = difflib.get_close_matches(name[:80].lower(), known, 1, 0.6)
    near = _MEANT.get(name.lower()) or (close[0] if close else "")
    hint = tr("keymap.did-you-mean", source.lang, name=near) if near else ""
    return source.problem(text, line_key, name=name[:80], hint=hint)


def _drop_clashes(source: _Source, base: Bindings, chosen: dict[str, tuple[str, ...]]) -> list[KeymapProblem]:
    """Take lines out of `chosen` until no key means two things; what was taken out, as problems.

    A dropped line brings its base keys back, which may clash with another line: hence the loop. The base
    itself has no clash, so it ends.
    """
    problems: list[KeymapProblem] = []
    while found := clashes({**base, **chosen}):
        key, *pair = found[0]
        mine = [action_id for action_id in chosen if action_id in pair]
        if not mine:  # the base map's own mistake: said, not mended
            mine = pair
        loser = mine[-1]
        other = pair[0] if loser == pair[1] else pair[1]
        problems.append(source.problem("keymap.clash", loser, key=show_key(key), id=loser, other=other))
        if chosen.pop(loser, None) is None:
            break
    return problems


def clashes(keys: Bindings) -> list[tuple[str, str, str]]:
    """(key, action id, action id) for every key that would mean two things at once."""
    users: dict[str, list[str]] = {}
    found = []
    for action in ACTIONS:
        for key in keys.get(action.id, ()):
            for other in users.setdefault(key, []):
                if scopes_together(BY_ID[other].scope, action.scope):
                    found.append((key, other, action.id))
            users[key].append(action.id)
    return found

"""How a round was set up, as groups of keys and values, and what of that is not as it was before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.environment import read_environment
from npulse.core.formats.manifest import RoundRecord
from npulse.core.formats.settings_json import flattened, read_settings_json
from npulse.core.run.model import Artifact, Round, Run
from npulse.core.secret_names import HIDDEN, is_secret

CONFIGS = frozenset(("msprobe.config", "cann.acl_config"))
"""Kinds of artifact whose keys are compared."""
LISTINGS = frozenset(("device.environment",))

MAX_CHANGES = 2_000
_OF_SESSION = re.compile(
    r"_|PWD|OLDPWD|SHLVL|TERM|TERM_\w+|LS_COLORS|LINES|COLUMNS|HIST\w+|SSH_\w+|TMUX\w*|STY|WINDOW|HOSTNAME|"
    r"XDG_\w+|DBUS_\w+|LESS\w*|MAIL|LOGNAME|USER|HOME|PS1|PROMPT_COMMAND|NPULSE_\w+|RANDOM|SECONDS"
)
_NOT_SET = frozenset(("dump_path", "output_path", "dump.dump_path"))
"""Where a capture goes is another place every time: no difference of what was set."""
_OTHERWISE_EACH_TIME = frozenset(("dirty_files", "time", "host", "pid"))

ChangeKind = Literal["added", "removed", "changed"]
Groups = Mapping[str, Mapping[str, str]]
"""Group ("environment", of a manifest; a file's name) to its keys and values, raw texts."""


@dataclass(frozen=True, slots=True)
class Change:
    """One key that is not what it was. before, after: None where it was not set. since: the round that it is
    compared with, the last one before that recorded the group."""

    group: str
    key: str
    before: str | None
    after: str | None
    since: str

    @property
    def kind(self) -> ChangeKind:
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"

    @property
    def name(self) -> str:
        """The key as it is told: the names of variables and flags stand for themselves."""
        is_plain = self.group in ("environment", "command", "request", "config")
        return self.key if is_plain else f"{self.group} {self.key}".rstrip()


def groups_of(run: Run, round_: Round, record: RoundRecord | None, problems: list[Problem]) -> Groups:
    """All groups that a round recorded, its own folder in them as <round>: that is another one every time.

    What cannot be read becomes a Problem, and no group.
    """
    found = _groups(run, round_.artifacts, record, problems)
    name = round_.name.rsplit("/", 1)[-1]
    if not name:
        return found
    own = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    return {
        group: {key: own.sub("<round>", value) if name in value else value for key, value in keys.items()}
        for group, keys in found.items()
    }


def _groups(
    run: Run, artifacts: Iterable[Artifact], record: RoundRecord | None, problems: list[Problem]
) -> Groups:
    root = run.path if run.path.is_dir() else None
    found: dict[str, Mapping[str, str]] = {}
    for group, value in record.settings.items() if record is not None else ():
        told = _table(group, value)
        if told is not None:
            found[group] = told
    for artifact in artifacts:
        try:
            if artifact.kind in CONFIGS:
                name = artifact.relative.rsplit("/", 1)[-1]
                keys = read_settings_json(artifact.path, root=root)
                found.setdefault(name, {key: text for key, text in keys.items() if key not in _NOT_SET})
            elif artifact.kind in LISTINGS and "environment" not in found:
                environment = read_environment(artifact.path, root=root)
                problems += environment.problems
                found["environment"] = _environment({one.name: one.value for one in environment.variables})
        except InputError as error:
            problems.append(Problem.from_error(error, artifact.relative))
    return found


def changes_between(before: Mapping[str, tuple[str, Mapping[str, str]]], after: Groups) -> tuple[Change, ...]:
    """What is set otherwise. before: each group as it was last recorded, with the name of that round.

    A group that was never recorded before, or is not now, tells of no change: unknown is not changed.
    """
    found: list[Change] = []
    for group, keys in after.items():
        if group not in before:
            continue
        since, old = before[group]
        for key in dict.fromkeys((*old, *keys)):
            if old.get(key) != keys.get(key):
                found.append(Change(group, key, old.get(key), keys.get(key), since))
    return tuple(found[:MAX_CHANGES])


def _table(group: str, value: Any) -> Mapping[str, str] | None:
    """A group of a manifest as keys and values; None where it says nothing of it."""
    if group == "command":
        words = value.split() if isinstance(value, str) else value
        if not isinstance(words, list) or not words:
            return None
        return command_keys([word for word in words if isinstance(word, str)])
    if isinstance(value, list):
        value = {_named(one, place): one for place, one in enumerate(value)}
    if not isinstance(value, Mapping):
        return None
    leaves = flattened(value) if value else ()  # an empty table is a leaf without a key
    keys = {key: text for key, text in leaves if key.split(".")[-1] not in _OTHERWISE_EACH_TIME}
    return _environment(keys) if group == "environment" else _settings(keys)


def _named(value: Any, place: int) -> str:
    """What an entry of a list is called: by its own name or path where it has one."""
    if isinstance(value, Mapping):
        for key in ("name", "path"):
            if isinstance(value.get(key), str):
                return str(value[key]).rsplit("/", 1)[-1]
    return str(place + 1)


def command_keys(words: list[str]) -> Mapping[str, str]:
    """A command as keys: flags with what stands behind them, the other words by their place ("word 2").

    A word behind a flag is taken for its value unless it is a flag too: the same for every round.
    """
    found: dict[str, str] = {}
    at = n_plain = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not _is_flag(word):
            n_plain += 1
            found["command" if n_plain == 1 else f"word {n_plain}"] = word
            continue
        name, equals, value = word.partition("=")
        if not equals and at < len(words) and not _is_flag(words[at]):
            value = words[at]
            at += 1
        if is_secret(name):
            value = HIDDEN
        found[name] = f"{found[name]} {value}" if name in found else value
    return found


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not word[1].isdigit() and word[1] != "."


def _environment(variables: Mapping[str, str]) -> Mapping[str, str]:
    """Without what belongs to the session; of secrets no value, so that another one is no change."""
    return {
        name: HIDDEN if is_secret(name) else value
        for name, value in variables.items()
        if not _OF_SESSION.fullmatch(name)
    }


def _settings(keys: Mapping[str, str]) -> Mapping[str, str]:
    """Of secrets no value. A number is none: models have tokens of another kind."""
    return {
        key: HIDDEN if is_secret(key.rsplit(".", 1)[-1]) and re.search("[A-Za-z]", text) else text
        for key, text in keys.items()
    }

"""What npulse remembers between sessions: marks, notes, baselines, recent runs, theme and language.

All of it lies in the user's state folder, one JSON file per run, never in the run. Files are written
beside and renamed; a damaged file is set aside as `.bad`; where nothing can be written the store works in
memory and says so once.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from npulse.core.dataclass import dataclass

MAX_STATE_BYTES = 8 << 20
MAX_RECENT = 50
MAX_MARKS = 10_000
MAX_NOTE_CHARACTERS = 4_000
MAX_FIELD_CHARACTERS = 4_000
MAX_RECORDINGS = 20
MAX_STEPS = 10_000


@dataclass(frozen=True, slots=True)
class RecentRun:
    """A run that was opened before; `opened_s` is the time since the epoch, `verdict` "" if unknown."""

    path: str
    opened_s: int
    verdict: str


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder for marks, notes and logs; it need not exist."""
    if folder := environ.get("NPULSE_STATE_DIR"):
        return Path(folder)
    from platformdirs import user_state_path

    return user_state_path("npulse")


def user_config_file(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Where a file of the user's own settings is looked for; it need not exist."""
    if folder := environ.get("NPULSE_CONFIG_DIR"):
        return Path(folder) / name
    from platformdirs import user_config_path

    return user_config_path("npulse") / name


class StateStore:
    """Marks, notes, recent runs and choices. Every change is on disk before the call returns.

    `on_trouble` is called with a text id and a path when a file was set aside ("state.damaged") and, once,
    when nothing can be written ("state.memory").
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        on_trouble: Callable[[str, str], None] | None = None,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self.folder = state_folder() if folder is None else folder
        self.on_trouble = on_trouble
        self._now_s = now_s
        self._in_memory: dict[str, dict[str, Any]] = {}
        self._untold: list[tuple[str, str]] = []
        self.is_memory_only = False

    def marks(self, run: str) -> dict[str, str]:
        """Marked subjects of a run with their notes ("" where there is none), oldest first."""
        found = self._load(_run_file(run)).get("marks")
        if not isinstance(found, dict):
            return {}
        return {subject: note for subject, note in found.items() if isinstance(note, str)}

    def set_mark(self, run: str, subject: str, marked: bool) -> None:
        """Mark or unmark a subject; unmarking drops its note."""
        marks = self.marks(run)
        if marked:
            marks.setdefault(subject, "")
        else:
            marks.pop(subject, None)
        self.replace_marks(run, marks)

    def set_note(self, run: str, subject: str, note: str) -> None:
        """Put a note on a subject, which marks it."""
        self.replace_marks(run, {**self.marks(run), subject: note[:MAX_NOTE_CHARACTERS]})

    def replace_marks(self, run: str, marks: Mapping[str, str]) -> None:
        """Make these the marks of the run; the oldest go when there are more than MAX_MARKS."""
        kept = dict(list(marks.items())[-MAX_MARKS:])
        self._save(_run_file(run), {"path": run, "marks": kept})

    def baseline(self, run: str) -> str:
        """The round of an archive that the others are compared with; "" where none is kept."""
        found = self._load(_run_file(run, "baselines")).get("round")
        return found if isinstance(found, str) and len(found) <= MAX_FIELD_CHARACTERS else ""

    def golden(self, place: str) -> dict[str, Any]:
        """The golden capture of what lies below a folder: capture, digest, files, bytes; {} for none."""
        found = self._load(_run_file(place, "goldens")).get("golden")
        if not isinstance(found, dict):
            return {}
        texts = all(isinstance(found.get(key), str) for key in ("capture", "digest"))
        numbers = all(isinstance(found.get(key), int) for key in ("files", "bytes"))
        return found if texts and numbers and len(found["capture"]) <= MAX_FIELD_CHARACTERS else {}

    def set_golden(self, place: str, golden: Mapping[str, Any]) -> None:
        """Keep it; {} for none."""
        self._save(_run_file(place, "goldens"), {"path": place, "golden": dict(golden)})

    def set_baseline(self, run: str, round_name: str) -> None:
        """Keep it; "" for none."""
        self._save(_run_file(run, "baselines"), {"path": run, "round": round_name[:MAX_FIELD_CHARACTERS]})

    def hand_pairs(self, captures: str) -> Any:
        """What was paired by hand of two captures, as it was kept; None for nothing. captures: names both."""
        return self._load(_run_file(captures, "pairings")).get("pairs")

    def keep_hand_pairs(self, captures: str, pairs: Sequence[Any]) -> None:
        """Keep it; nothing for none."""
        self._save(_run_file(captures, "pairings"), {"captures": captures, "pairs": list(pairs)})

    def fields(self, run: str) -> dict[str, str]:
        """What was typed into the fields of a capture of this run the last time; {} for nothing."""
        found = self._load(_run_file(run, "captures")).get("fields")
        if not isinstance(found, dict):
            return {}
        return {
            str(name): value[:MAX_FIELD_CHARACTERS] for name, value in found.items() if isinstance(value, str)
        }

    def keep_fields(self, run: str, fields: Mapping[str, str]) -> None:
        """Remember them."""
        kept = {name: value[:MAX_FIELD_CHARACTERS] for name, value in fields.items()}
        self._save(_run_file(run, "captures"), {"path": run, "fields": kept})

    def recordings(self, run: str) -> dict[str, tuple[str, ...]]:
        """Commands that were recorded in a run, by name, oldest first."""
        found = self._load(_run_file(run, "recordings")).get("recordings")
        if not isinstance(found, dict):
            return {}
        return {
            str(name): tuple(
                step[:MAX_NOTE_CHARACTERS] for step in steps[:MAX_STEPS] if isinstance(step, str)
            )
            for name, steps in list(found.items())[-MAX_RECORDINGS:]
            if isinstance(steps, list)
        }

    def keep_recording(self, run: str, name: str, steps: Sequence[str]) -> None:
        """Keep a recording under a name; the oldest go when there are more than MAX_RECORDINGS."""
        kept = {**self.recordings(run), name: list(steps)[:MAX_STEPS]}
        newest = dict(list(kept.items())[-MAX_RECORDINGS:])
        self._save(_run_file(run, "recordings"), {"path": run, "recordings": newest})

    def recent(self) -> list[RecentRun]:
        """Runs opened before, newest first."""
        entries = self._load("recent.json").get("runs")
        found = []
        for entry in entries if isinstance(entries, list) else ():
            if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
                continue
            opened, verdict = entry.get("opened_s"), entry.get("verdict")
            found.append(
                RecentRun(
                    entry["path"],
                    opened if isinstance(opened, int) and 0 <= opened < 1 << 40 else 0,
                    verdict if isinstance(verdict, str) else "",
                )
            )
        return found[:MAX_RECENT]

    def add_recent(self, path: str, verdict: str = "") -> None:
        """Put a run on top of the list, by its whole path; a known verdict is kept where none is given."""
        path = os.path.abspath(path)
        known = {run.path: run for run in self.recent()}
        verdict = verdict or (known[path].verdict if path in known else "")
        runs = [RecentRun(path, int(self._now_s()), verdict), *(r for r in known.values() if r.path != path)]
        entries = [{"path": r.path, "opened_s": r.opened_s, "verdict": r.verdict} for r in runs[:MAX_RECENT]]
        self._save("recent.json", {"runs": entries})

    def choice(self, name: str) -> str | None:
        """A remembered choice ("theme", "lang"), or None."""
        value = self._load("choices.json").get(name)
        return value if isinstance(value, str) else None

    def set_choice(self, name: str, value: str) -> None:
        self._save("choices.json", {**self._load("choices.json"), name: value})

    def tell_troubles(self, on_trouble: Callable[[str, str], None]) -> None:
        """From now on tell troubles to `on_trouble`, beginning with those nobody heard of yet."""
        self.on_trouble = on_trouble
        untold, self._untold = self._untold, []
        for text, path in untold:
            on_trouble(text, path)

    def _load(self, name: str) -> dict[str, Any]:
        if name in self._in_memory:
            return self._in_memory[name]
        path = self.folder / name
        try:
            raw = read_regular(path, MAX_STATE_BYTES + 1)
        except OSError:
            return {}
        try:
            content = json.loads(raw) if len(raw) <= MAX_STATE_BYTES else None
        except (ValueError, RecursionError):
            content = None
        if isinstance(content, dict):
            return content
        self._set_aside(path)
        return {}

    def _set_aside(self, path: Path) -> None:
        bad = path.with_suffix(path.suffix + ".bad")
        try:
            os.replace(path, bad)
        except OSError:
            bad = path
        self._trouble("state.damaged", str(bad))

    def _save(self, name: str, content: dict[str, Any]) -> None:
        content = {"schema": 1, **content}
        if not self.is_memory_only:
            try:
                _write_whole(self.folder / name, json.dumps(content, indent=1))
                return
            except OSError:
                self.is_memory_only = True
                self._trouble("state.memory", str(self.folder))
        self._in_memory[name] = content

    def _trouble(self, text: str, path: str) -> None:
        if self.on_trouble is None:
            self._untold.append((text, path))
        else:
            self.on_trouble(text, path)


def _run_file(run: str, folder: str = "runs") -> str:
    digest = hashlib.sha256(os.path.abspath(run).encode("utf-8", "surrogatepass")).hexdigest()
    return os.path.join(folder, f"{digest[:32]}.json")


def read_regular(path: Path, most_bytes: int) -> bytes:
    """The first bytes of a regular file; OSError for anything else, without waiting on a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb", closefd=True) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return file.read(most_bytes)


def _write_whole(path: Path, text: str) -> None:
    """Write beside, flush to disk, rename: a reader sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)

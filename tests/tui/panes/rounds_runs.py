"""A small archive: two sanitizer rounds with manifests; the second has one fault less after three changes."""

from __future__ import annotations

from pathlib import Path

from .memory_runs import checked, illegal_write

FIRST, SECOND = "base_20260301-100000", "fixed_20260301-100100"
_MANIFEST = """\
schema = 1
state = "closed"
kind = "memory"
tool = "mssanitizer"
command = ["python", "train.py", "--dtype", "{dtype}"]
start = "2026-03-01T10:0{minute}:00Z"
end = "2026-03-01T10:0{minute}:30Z"
duration_s = 30.0
exit_status = 0

[environment]
INF_NAN_MODE_ENABLE = "{mode}"

[git]
commit = "{commit}"

[recorded]
outcome = "{outcome}"
"""


def write_archive(archive: Path, outcome: str = "recorded") -> Path:
    """outcome: of the second round."""
    _write(archive, FIRST, (38, 57), dtype="fp16", minute=0, mode="0", commit="aaaa", outcome="recorded")
    _write(archive, SECOND, (38,), dtype="bf16", minute=1, mode="1", commit="bbbb", outcome=outcome)
    return archive


def _write(archive: Path, name: str, lines: tuple[int, ...], **values: object) -> None:
    raw = archive / "sanitizer" / name / "raw"
    raw.mkdir(parents=True)
    (raw.parent / "round.toml").write_text(_MANIFEST.format(**values))
    records = "".join(illegal_write(core, line) for core, line in enumerate(lines))
    (raw / "check.log").write_text(checked(records))

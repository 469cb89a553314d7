"""How a run was started: the newest manifest that tells it, wherever it lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.capture.recorded import recorded_command
from npulse.core.checkup.commands import facts_of_run
from npulse.core.guide import facts_of_run as facts_of_guide
from npulse.core.run.discover import discover


def write(folder: Path, command: str, text: str = "") -> None:
    folder.mkdir(parents=True)
    body = text or f'schema = 1\nkind = "performance"\ncommand = ["python", "{command}"]\n'
    (folder / "round.toml").write_text(body, encoding="utf-8")


@pytest.mark.parametrize("kind_folder", ["prof", "else"])
def test_the_highest_manifest_of_the_newest_round_that_tells_a_command(
    tmp_path: Path, kind_folder: str
) -> None:
    write(tmp_path / kind_folder / "a_20260101-000000", "old.py")
    write(tmp_path / kind_folder / "b_20260102-000000" / "raw" / "copied", "copied.py")
    write(tmp_path / kind_folder / "b_20260102-000000" / "raw" / "z", "z.py")
    (tmp_path / kind_folder / "b_20260102-000000" / "round.toml").write_text(
        'schema = 1\nkind = "performance"\ncommand = ["python", "new.py"]\n', encoding="utf-8"
    )
    write(tmp_path / kind_folder / "c_20260103-000000", "", "[broken")
    run = discover(tmp_path)
    told = recorded_command(run)
    assert told is not None
    archive = str(tmp_path) if kind_folder == "prof" else ""
    assert (told.command, told.archive) == (("python", "new.py"), archive)
    for facts in (facts_of_run(run), facts_of_guide(run)):  # check-up and guide say the same
        assert (facts.command, facts.archive) == (told.command, archive)


def test_a_run_without_manifests_tells_none(tmp_path: Path) -> None:
    assert recorded_command(discover(tmp_path)) is None

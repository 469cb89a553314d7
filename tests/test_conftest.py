"""What conftest.py promises: skipped tests on real files are counted or fail the run; tests start clean."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
ON_REAL_FILES = "def test_real(shared):\n    assert (shared / 'samples' / 'a.txt').read_text() == 'a'\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout of its own with one ordinary test and one on real files."""
    root = tmp_path / "checkout"
    (root / "tests" / "real").mkdir(parents=True)
    shutil.copy(CONFTEST, root / "tests" / "conftest.py")
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    (root / "tests" / "test_plain.py").write_text("def test_plain():\n    pass\n", encoding="utf-8")
    (root / "tests" / "real" / "test_files.py").write_text(ON_REAL_FILES, encoding="utf-8")
    return root


def make_shared(path: Path) -> Path:
    (path / "samples").mkdir(parents=True)
    (path / "cases").mkdir()
    (path / "samples" / "a.txt").write_text("a", encoding="utf-8")
    return path


def run(project: Path, *words: str, **variables: str) -> tuple[int, str]:
    """Exit status and output of the project's tests, with these NPULSE_ variables alone."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NPULSE_")}
    pytest_command = (sys.executable, "-m", "pytest", "--import-mode=importlib", "-p", "no:cacheprovider")
    command = (*pytest_command, *words, "tests")
    done = subprocess.run(
        command, cwd=project, env={**environment, **variables}, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def test_absent_files_are_counted_and_do_not_fail(project: Path) -> None:
    status, output = run(project)
    assert status == 0
    assert "npulse: 1 tests on real files skipped (NPULSE_SHARED not found)" in output
    assert "1 passed, 1 skipped" in output.splitlines()[-1]


@pytest.mark.parametrize("place", ["beside", "named"])
def test_present_files_are_read(project: Path, place: str) -> None:
    if place == "beside":
        make_shared(project.parent / "shared")
        status, output = run(project, NPULSE_REQUIRE_SHARED="1")
    else:
        named = make_shared(project.parent / "elsewhere")
        status, output = run(project, NPULSE_SHARED=str(named), NPULSE_REQUIRE_SHARED="1")
    assert (status, "npulse:" in output) == (0, False), output
    assert "2 passed" in output.splitlines()[-1]


def test_a_skipped_one_fails_the_run_where_the_files_are_required(project: Path) -> None:
    make_shared(project.parent / "shared")
    skipping = "import pytest\n\ndef test_real():\n    pytest.skip('no time')\n"
    (project / "tests" / "real" / "test_more.py").write_text(skipping, encoding="utf-8")
    status, output = run(project, NPULSE_REQUIRE_SHARED="1")
    assert status == 1
    assert "npulse: 1 tests on real files skipped (no time)" in output
    assert "yet skipped: tests/real/test_more.py::test_real" in output
    assert run(project)[0] == 0


def test_one_without_a_browser_fails_the_run_where_there_must_be_one(project: Path) -> None:
    skipping = "import pytest\n\ndef test_page():\n    pytest.skip('needs chromium')\n"
    (project / "tests" / "test_page.py").write_text(skipping, encoding="utf-8")
    make_shared(project.parent / "shared")
    status, output = run(project)
    assert (status, "npulse: 1 tests in a browser skipped (needs chromium)" in output) == (0, True), output
    status, output = run(project, NPULSE_REQUIRE_CHROMIUM="1")
    assert status == 1
    assert "NPULSE_REQUIRE_CHROMIUM=1, yet skipped: tests/test_page.py::test_page" in output


def test_a_named_folder_without_the_files_is_a_mistake(project: Path) -> None:
    status, output = run(project, NPULSE_SHARED=str(project))
    assert status == pytest.ExitCode.USAGE_ERROR
    assert f"NPULSE_SHARED={project}" in output


# ---- a clean start ----

_STATE_WORDS = ("NPULSE_STATE_DIR", "NPULSE_CONFIG_DIR", "NPULSE_CACHE_DIR")
_seen: set[str] = set()


@pytest.mark.parametrize("turn", [1, 2])
def test_every_test_has_folders_of_its_own(turn: int, tmp_path: Path) -> None:
    folders = {os.environ[word] for word in _STATE_WORDS}
    assert len(folders) == 3 and not folders & _seen
    assert not [folder for folder in folders if Path(folder).exists() or tmp_path in Path(folder).parents]
    _seen.update(folders)


def test_nothing_moves_by_itself() -> None:
    from textual.app import App

    assert App[None]().animation_level == "none"


def test_nothing_runs_beside_a_test_that_is_alone(project: Path) -> None:
    """Each test writes when it begins and ends: those of the file marked `alone` hold no other's within."""
    body = (
        "import time\nfrom pathlib import Path\nimport pytest\n{mark}"
        "@pytest.mark.parametrize('n', range(6))\ndef test_it(n):\n"
        "    with Path('told').open('a', buffering=1) as told:\n"
        "        told.write('{name} begins\\n')\n"
        "        time.sleep(0.02)\n        told.write('{name} ends\\n')\n"
    )
    for name, mark in (("other", ""), ("alone", "pytestmark = pytest.mark.alone\n")):
        (project / "tests" / f"test_{name}.py").write_text(body.format(name=name, mark=mark))
    assert run(project, "-n", "2", "--dist", "loadfile")[0] == 0
    told = (project / "told").read_text().splitlines()
    assert len(told) == 24
    begins = [i for i, line in enumerate(told) if line == "alone begins"]
    assert len(begins) == 6 and all(told[i + 1] == "alone ends" for i in begins), told

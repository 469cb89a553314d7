"""What a user gets: the wheel's content, and the product started from each way to install it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import npulse

pytest.importorskip("hatchling", reason="hatchling is not installed: nothing can be built")
pytest.importorskip("build", reason="build is not installed: nothing can be built")

pytestmark = pytest.mark.xdist_group("package")  # what is built is built once

REPO = Path(__file__).resolve().parents[1]
PARTS = ("core", "tui", "keymaps", "sample_runs")
GLUE = {
    "npulse/__init__.py",
    "npulse/__main__.py",
    "npulse/hook.py",
    "npulse/plugins.py",
    "npulse/pytest_plugin.py",
}
CACHES = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """The command's stdout; a failure shows all that it wrote."""
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(kind: str, source: Path, target: Path) -> Path:
    """The one file that a build of `source` leaves in `target`; nothing is fetched for it."""
    command = (sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", target)
    run(*command, source, cwd=target.parent)
    (made,) = target.iterdir()
    return made


def files_on_disk() -> set[str]:
    return {
        f"npulse/{path.relative_to(REPO).as_posix()}"
        for part in PARTS
        for path in (REPO / part).rglob("*")
        if path.is_file() and not CACHES & set(path.parts) and path.suffix != ".pyc"
    }


def names_in(wheel: Path) -> set[str]:
    """The wheel's files without its own metadata folder."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", REPO, tmp_path_factory.mktemp("build") / "wheel")


@pytest.fixture(scope="module")
def unpacked_sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    shutil.unpack_archive(build("sdist", REPO, folder / "made"), folder / "unpacked")
    (root,) = (folder / "unpacked").iterdir()
    return root


# ---- content ----


def test_wheel_holds_every_file_of_the_parts_and_nothing_else(wheel: Path) -> None:
    assert names_in(wheel) == files_on_disk() | GLUE


def test_wheel_has_what_the_product_reads_at_run_time(wheel: Path) -> None:
    folders = (("keymaps", ".toml"), ("tui", ".tcss"), ("core", "py.typed"), ("sample_runs", ".json"))
    for folder, suffix in folders:
        found = [n for n in names_in(wheel) if n.startswith(f"npulse/{folder}/") and n.endswith(suffix)]
        assert found, (folder, suffix)


def test_wheel_bears_the_version_of_the_package(wheel: Path) -> None:
    assert wheel.name == f"npulse-{npulse.__version__}-py3-none-any.whl"


def test_wheel_built_from_the_sdist_is_the_same(wheel: Path, unpacked_sdist: Path, tmp_path: Path) -> None:
    assert names_in(build("wheel", unpacked_sdist, tmp_path / "wheel")) == names_in(wheel)


# ---- started ----


def new_environment(path: Path) -> Path:
    """The Python of a fresh environment that sees this one's libraries, but not its npulse."""
    venv.create(path, with_pip=False, symlinks=True)
    python = path / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=path).strip())
    libraries = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    # A path in a .pth file is searched, but .pth files in it (an editable npulse) are not read.
    (site / "libraries.pth").write_text("\n".join(sorted(libraries)), encoding="utf-8")
    return python


def assert_starts(*command: str | Path, cwd: Path, home: str, **variables: str) -> None:
    """The product shows its help and comes from the folder `home`."""
    assert "npulse" in run(*command, "--help", cwd=cwd, **variables)
    program = Path(command[0])
    python = program if program.name.startswith("python") else program.with_name("python")
    where = run(python, "-c", "import npulse.core; print(npulse.core.__file__)", cwd=cwd, **variables)
    assert where.startswith(home), where


def test_installed_wheel_starts_by_name_and_by_module(wheel: Path, tmp_path: Path) -> None:
    python = new_environment(tmp_path / "env")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", wheel, cwd=tmp_path)
    for command in ((python, "-m", "npulse"), (python.with_name("npulse"),)):
        assert_starts(*command, cwd=tmp_path, home=str(tmp_path / "env"))


def test_editable_install_starts_and_uses_the_checkout(tmp_path: Path) -> None:
    python = new_environment(tmp_path / "env")
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--no-deps", "--no-build-isolation", "-e", REPO, cwd=tmp_path)
    assert_starts(python.with_name("npulse"), cwd=tmp_path, home=str(REPO / "core"))


def test_plain_checkout_starts(tmp_path: Path) -> None:
    assert_starts(
        sys.executable, "-m", "npulse", cwd=tmp_path, home=str(REPO / "core"), PYTHONPATH=str(REPO / "src")
    )


def test_checkout_without_symbolic_links_starts(unpacked_sdist: Path, tmp_path: Path) -> None:
    source, home = unpacked_sdist / "src", str(unpacked_sdist / "core")
    assert not (source / "npulse" / "core").exists()
    assert_starts(sys.executable, "-m", "npulse", cwd=tmp_path, home=home, PYTHONPATH=str(source))

"""The layout's promises: one import root, data files as resources, one version, README and CI that agree."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import npulse

REPO = Path(__file__).resolve().parents[1]
ROOT = str(Path(npulse.__file__).parents[1])  # src/ in a checkout, site-packages when installed


def run_clean(code: str) -> str:
    """What an interpreter without this one's paths prints for `code`; fails with its traceback."""
    code = f"import sys; sys.path.insert(0, {ROOT!r}); {code}"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---- one root ----


@pytest.mark.parametrize("name", ["core", "tui", "keymaps", "sample_runs", "tests"])
def test_no_bare_top_level_name(name: str) -> None:
    assert run_clean(f"import npulse, importlib.util as u; print(u.find_spec({name!r}))") == "None"


@pytest.mark.parametrize("name", ["core", "tui", "keymaps", "sample_runs"])
def test_parts_are_loaded_from_the_top_folders(name: str) -> None:
    found = run_clean(f"import npulse.{name}; print(npulse.{name}.__file__)")
    assert found == str(REPO / name / "__init__.py")


@pytest.mark.parametrize("name", ["core", "tui", "keymaps", "sample_runs"])
def test_links_in_src_are_relative(name: str) -> None:
    link = REPO / "src" / "npulse" / name
    if not link.is_symlink():
        pytest.skip("checkout without symbolic links")
    assert link.readlink() == Path("../..") / name


def test_import_is_cheap() -> None:
    loaded = run_clean("import npulse; print(*sys.modules)").split()
    assert not {"numpy", "pandas", "textual", "rich", "typer", "npulse.core"} & set(loaded)


# ---- public names ----


@pytest.mark.parametrize("name", npulse.__all__)
def test_public_name_comes_from_the_api(name: str) -> None:
    from npulse.core import api

    assert name in dir(npulse)
    assert getattr(npulse, name) is getattr(api, name)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        npulse.nonsense  # noqa: B018


# ---- resources ----


def test_keymaps_are_resources() -> None:
    assert (files("npulse.keymaps") / "default.toml").read_text(encoding="utf-8").strip()


def test_there_is_a_sample_run_and_all_its_files_are_resources() -> None:
    names = [path.relative_to(REPO / "sample_runs") for path in (REPO / "sample_runs").rglob("*.json")]
    assert names, "no sample run"
    for name in names:
        resource = files("npulse.sample_runs").joinpath(*name.parts)
        assert resource.read_bytes() == (REPO / "sample_runs" / name).read_bytes()


def test_every_part_is_marked_as_typed() -> None:
    assert (files("npulse.core") / "py.typed").is_file()
    assert (files("npulse.tui") / "py.typed").is_file()


# ---- README, CI, constraints ----


def readme_command(name: str) -> str:
    """The command block of README.md that stands under the marker `<!-- name -->`."""
    text = (REPO / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"<!-- {name} -->\n```sh\n(.*?)\n```\n", text, flags=re.DOTALL)
    assert len(blocks) == 1, f"README.md has {len(blocks)} blocks marked {name}"
    return str(blocks[0])


def test_readme_has_the_two_commands() -> None:
    start = "python3 -m venv .venv && .venv/bin/pip install -c constraints.txt "
    assert all(readme_command(name).startswith(start) for name in ("demo", "tests"))
    assert readme_command("demo").endswith(".venv/bin/npulse demo")
    assert readme_command("tests").endswith(".venv/bin/python -m pytest -n 3 --dist loadgroup")


@pytest.mark.parametrize("name", ["demo", "tests"])
def test_ci_runs_the_commands_of_the_readme(name: str) -> None:
    script = REPO / ".ci" / "run"
    if not script.is_file():
        pytest.skip("not a checkout: no .ci folder")
    done = subprocess.run(["bash", str(script), "--show", name], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == readme_command(name)


def test_constraints_hold_versions_only() -> None:
    lines = (REPO / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if not line.startswith("#")]
    assert len(pinned) > 30
    pin = re.compile(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; [a-z_]+ [=<>!]+ '[^':/]+'( (and|or) [^:/]+)*)?")
    assert [line for line in pinned if not pin.fullmatch(line)] == []


def test_constraints_name_every_dependency() -> None:
    pinned = {line.split("==")[0] for line in (REPO / "constraints.txt").read_text().splitlines()}
    project = (REPO / "pyproject.toml").read_text(encoding="utf-8")
    wanted = set(re.findall(r'^  "([a-z0-9-]+)(?:\[[a-z]+\])?>=', project, flags=re.MULTILINE))
    wanted |= set(re.findall(r'= \["([a-z0-9-]+)>=', project))
    assert {"textual", "numpy", "pytest", "distributed"} <= wanted
    assert wanted <= pinned

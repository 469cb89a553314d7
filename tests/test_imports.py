"""Imports point downwards only, and the core stays free of the UI and of what is slow to load."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import npulse

REPO = Path(__file__).resolve().parents[1]
ROOT = str(Path(npulse.__file__).parents[1])

pytestmark = pytest.mark.xdist_group("imports")
"""One worker loads every module once, for all of these tests."""

# Rooms by level (docs/architecture.md): a room may import lower ones and itself, nothing beside or above it.
LEVELS: tuple[tuple[str, ...], ...] = (
    (
        *(
            "core.compiled_late",
            "core.dataclass",
            "core.errors",
            "core.files",
            "core.findings",
            "core.kept_records",
            "core.rules",
            "core.text",
            "core.table",
        ),
        *("core.query", "core.tails", "core.secret_names", "core.toml_text"),
        *("core.figures", "core.analysis", "core.views", "core.criteria", "core.verbosity"),
        *("core.progress", "core.cache", "core.journal", "core.scale", "core.plugins"),
    ),
    ("core.formats",),
    ("core.run",),
    ("core.kept",),
    ("core.device", "core.config"),
    ("core.doctor",),  # asks the devices
    ("core.calls",),
    ("core.overflow",),  # needs no second capture: the precision area asks it of one alone
    ("core.precision", "core.memory", "core.performance"),
    ("core.recheck",),  # one operator of a capture computed again
    ("core.capture", "core.watch", "core.gate", "core.packs"),
    ("core.areas",),
    ("core.checkup", "core.report"),  # asks every area; writes what it says
    ("core.diff", "core.follow", "core.rounds", "core.guide"),
    ("core.dossier", "core.packing"),  # all of them together, for a report; for somebody elsewhere
    ("core.api",),
    ("keymaps", "sample_runs"),
    ("tui",),
)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
GROUND = set(LEVELS[0])  # small modules that may use each other
UI = {"textual", "rich", "typer"}
TUI_ORDER = ("tui.widgets", "tui.panes", "tui.app", "tui.cli")  # a control knows no pane, a pane no app


def python_files(top: str) -> list[Path]:
    return sorted(path for path in (REPO / top).rglob("*.py") if "__pycache__" not in path.parts)


def module_name(path: Path) -> str:
    """`core/run/__init__.py` -> "core.run": the name without the leading "npulse."."""
    parts = path.relative_to(REPO).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for top in ("core", "tui") for path in python_files(top)}
CORE_MODULES = sorted(name for name in MODULES if name.split(".")[0] == "core")


def room_of(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "core" else parts[0]


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


HOLDERS = (ast.stmt, ast.excepthandler, ast.match_case)
"""What statements are in. Imports are statements: no expression is gone through."""


@cache
def imports_in(path: Path) -> tuple[tuple[ast.Import | ast.ImportFrom, bool], ...]:
    """Every import of a file, at any depth, and whether it is there for types only."""
    found: list[tuple[ast.Import | ast.ImportFrom, bool]] = []
    waiting: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text(encoding="utf-8"), str(path)), False)]
    while waiting:
        node, for_types = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append((node, for_types))
            continue
        for_types = for_types or is_for_types(node)
        waiting += ((one, for_types) for one in ast.iter_child_nodes(node) if isinstance(one, HOLDERS))
    return tuple(found)


def imported(name: str, path: Path, with_types: bool = True) -> Iterator[tuple[int, str]]:
    """(line, target) of every import in a module, at any depth; targets of ours without "npulse."."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node, for_types in imports_in(path):
        if for_types and not with_types:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name.removeprefix("npulse.")
        else:
            base = node.module or ""
            if node.level:
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
            base = "" if base == "npulse" else base.removeprefix("npulse.")
            for alias in node.names:
                # `from .verdict import judge` names the module; `from . import verdict` names it as well.
                inner = f"{base}.{alias.name}".lstrip(".")
                yield node.lineno, inner if inner in MODULES or not base else base


def upward_imports(modules: dict[str, Path]) -> list[str]:
    found = []
    for name, path in modules.items():
        room = room_of(name)
        for line, target in imported(name, path):
            other = room_of(target)
            if other not in LEVEL or room == other or room not in LEVEL:
                continue
            if LEVEL[other] < LEVEL[room] or {room, other} <= GROUND:
                continue
            found.append(f"{path}:{line}: {room} must not import {target}")
    return found


def test_every_room_has_a_level() -> None:
    rooms = {room_of(name) for name in MODULES} - {"core"}
    assert rooms - set(LEVEL) == set(), "give a new room its place in LEVELS and in docs/architecture.md"


def test_imports_point_downwards() -> None:
    assert upward_imports(MODULES) == []


def test_core_imports_no_ui() -> None:
    found = [
        f"{MODULES[name]}:{line}: {target}"
        for name in CORE_MODULES
        for line, target in imported(name, MODULES[name])
        if target.split(".")[0] in UI | {"tui"}
    ]
    assert found == []


def test_controls_know_no_panes_and_panes_no_app() -> None:
    """At run time: a pane may name the app's type."""

    def place(name: str) -> int | None:
        return next((i for i, part in enumerate(TUI_ORDER) if f"{name}.".startswith(f"{part}.")), None)

    found = []
    for name, path in MODULES.items():
        here = place(name)
        for line, target in imported(name, path, with_types=False):
            there = place(target)
            if here is not None and there is not None and there > here:
                found.append(f"{path}:{line}: {name} must not import {target}")
    assert found == []


def test_nothing_imports_click() -> None:
    """From some version on the command line library has no click at all."""
    found = [
        f"{path}:{line}"
        for name, path in MODULES.items()
        for line, target in imported(name, path)
        if target.split(".")[0] == "click"
    ]
    assert found == []


def test_the_rule_sees_every_form_of_an_upward_import(tmp_path: Path) -> None:
    forms = [
        "import npulse.core.run.model",
        "from npulse.core import run",
        "from npulse.core.run import model",
        "from ...run.model import Run",
        "from ... import run",
        "def late():\n    from npulse.core.run.model import Run",
    ]
    for number, text in enumerate(forms):
        path = tmp_path / f"reader{number}.py"
        path.write_text(text, encoding="utf-8")
        found = upward_imports({f"core.formats.msprobe.reader{number}": path})
        assert len(found) == 1 and "core.formats must not import core.run" in found[0], text


def at_load(path: Path) -> Iterator[int]:
    """Lines of the imports that loading a module carries out: those in functions and for types wait."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"), str(path))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node.lineno
        elif not is_for_types(node) and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += (one for one in ast.iter_child_nodes(node) if isinstance(one, HOLDERS))


def needed_by(name: str) -> set[str]:
    """Modules of the core that are loaded before this one is: those it imports, and all their packages."""
    lines = set(at_load(MODULES[name]))
    targets = {target for line, target in imported(name, MODULES[name]) if line in lines}
    outer = {target.rsplit(".", n)[0] for target in (*targets, name) for n in range(1, target.count(".") + 1)}
    return ((targets | outer) & set(CORE_MODULES)) - {name}


def knots(needs: dict[str, set[str]]) -> list[list[str]]:
    """Modules in an order in which each finds what it needs; those that need each other together (Tarjan)."""
    at: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        at[name] = lowest[name] = len(at)
        stack.append(name)
        for other in sorted(needs[name]):
            if other not in at:
                visit(other)
            if other in stack:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == at[name]:
            cut = stack.index(name)
            found.append(stack[cut:])
            del stack[cut:]

    for name in needs:
        if name not in at:
            visit(name)
    return found


ONE_AFTER_ANOTHER = """
import os, sys, traceback
sys.path.insert(0, sys.argv[1])
def load(name, before):
    try:
        __import__("npulse." + name)
        return " ".join(["loaded", *set(sys.modules) - before])
    except BaseException:
        return traceback.format_exc()
for knot in sys.argv[2:]:
    names, told, before = knot.split(), {}, set(sys.modules)
    for name in names if len(names) > 1 else ():
        out, into = os.pipe()
        if not os.fork():
            os.write(into, load(name, before).encode())
            os._exit(0)
        os.close(into)
        with open(out, "rb") as pipe:
            told[name] = pipe.read().decode("utf-8", "replace")
        os.wait()
    for name in names:
        here = load(name, before)
        print(name, told.get(name, here).encode("unicode_escape").decode(), flush=True)
"""
"""An interpreter without this one's paths; a child of it for each module that is loaded before its knot."""


@pytest.fixture(scope="module")
def loaded_by() -> dict[str, str]:
    """What each module of the core prints, and what is loaded, when it is the first of all that need it.
    What it needs is there already: where modules need each other, as those of a package with an
    interface do, each of them is the first once."""
    in_order = [" ".join(names) for names in knots({name: needed_by(name) for name in CORE_MODULES})]
    words = [sys.executable, "-I", "-c", ONE_AFTER_ANOTHER, ROOT, *in_order]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = (line.split(" ", 1) for line in done.stdout.splitlines())
    return {name: text.encode().decode("unicode_escape") for name, text in lines}


@pytest.mark.parametrize("name", CORE_MODULES)
def test_core_module_loads_alone_and_without_slow_libraries(name: str, loaded_by: dict[str, str]) -> None:
    """Catches what a module's own imports bring along, which its text does not show."""
    slow = {*UI, "numba", "pandas", "pyarrow", "polars", "distributed", "dask"}
    told = loaded_by[name]
    assert told.startswith("loaded "), told
    loaded = set(told.split())
    assert f"npulse.{name}" in loaded and slow & loaded == set()


def test_modules_that_need_each_other_are_of_one_package() -> None:
    """They are its parts and its interface. Two packages that need each other are one, or cut wrongly."""
    for names in knots({name: needed_by(name) for name in CORE_MODULES}):
        package = min(names, key=len)
        assert all(f"{name}.".startswith(f"{package}.") for name in names), names


@pytest.mark.parametrize("arguments", [["--help"], ["precision", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        f"sys.argv = ['npulse', *{arguments!r}]\n"
        "from npulse.tui.cli import main\n"
        "try:\n    status = main()\nexcept SystemExit as end:\n    status = end.code\n"
        "print(file=sys.stderr)\nprint('status', status or 0, *sys.modules, file=sys.stderr)"
    )
    code = f"import sys; sys.path.insert(0, {ROOT!r})\n{code}"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    *talk, last_line = done.stderr.splitlines()
    last = last_line.split()
    assert last[:2] == ["status", "0"], "\n".join(talk)
    assert "npulse" in done.stdout
    assert {"textual", "rich", "numpy", "pandas"} & set(last) == set()

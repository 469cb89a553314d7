"""What Python reads at its start in a captured program: written into the round as sitecustomize.py.

It waits for the import of the frameworks that are recorded and only then loads npulse_launcher.py, which
lies beside it. Whatever happens in here, the program goes on as it would have. Standard library only, for
Python 3.8 and newer; an older one cannot parse it, says so in a line and goes on.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
WATCHED = ("torch", "torch_npu", "msprobe.pytorch")


class Finder:
    """Finds nothing itself: it lets the others find, and hears when a watched module has been loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in WATCHED:
            return None
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            spec = None if finder is self or find_spec is None else find_spec(name, path, target)
            if spec is not None:
                hear_of(spec)
                return spec
        return None


def hear_of(spec: Any) -> None:
    """Have `loaded` called once the module of this spec has been executed."""
    loader = spec.loader
    execute = getattr(loader, "exec_module", None)
    if execute is None:  # a folder without __init__.py
        return

    def exec_module(module: ModuleType) -> None:
        execute(module)
        loaded(spec.name, module)

    try:
        loader.exec_module = exec_module
    except (AttributeError, TypeError):
        note("failed", where="import of " + spec.name, error="its loader cannot be listened to")


def loaded(name: str, module: ModuleType) -> None:
    try:
        launcher().on_import(name, module)
    except Exception as error:
        note("failed", where="import of " + name, error=repr(error)[:500])


def launcher() -> Any:
    """The module npulse_launcher.py beside this file, whatever the program does to its paths."""
    found = sys.modules.get("npulse_launcher")
    if found is None:
        from importlib.util import module_from_spec, spec_from_file_location

        spec: Any = spec_from_file_location("npulse_launcher", os.path.join(HERE, "npulse_launcher.py"))
        found = module_from_spec(spec)
        sys.modules["npulse_launcher"] = found
        spec.loader.exec_module(found)
    return found


def note(event: str, **values: Any) -> None:
    """A line in this process's log; nothing where that cannot be written."""
    import json

    try:
        line = json.dumps(dict(values, event=event, pid=os.getpid()))
        with open(os.path.join(HERE, str(os.getpid()) + ".log"), "a", encoding="utf-8") as file:
            file.write(line + "\n")
    except (OSError, ValueError, TypeError):
        return


def sign() -> None:
    """Leave a mark that a Python read this file: the first one does, for all."""
    try:
        fd = os.open(os.path.join(HERE, "seen"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except OSError:
        return
    with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as file:
        file.write(f"{sys.version_info[0]}.{sys.version_info[1]} {sys.executable}\n")


def give_way() -> None:
    """Execute the sitecustomize that this file stands in front of, as if this one were not there."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    others = [path for path in sys.path if os.path.abspath(path or ".") != HERE]
    spec: Any = PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    sign()
    sys.meta_path.insert(0, Finder())
    give_way()

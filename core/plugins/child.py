"""What runs in the process of a plug-in: it imports one, answers questions about it, and ends with its pipe.

Standard output is the way back to npulse and is kept from the plug-in: what that prints goes to standard
error, of which npulse keeps the end. Standard input is kept from it too.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import linecache
import os
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from . import wire

METHODS = {"reader": "read", "metric": "measure", "analysis": "analyze", "reference": "compute"}
N_ARGUMENTS = {"reader": 1, "metric": 2, "analysis": 1, "reference": 3}
MAX_OUTPUTS = 64
MAX_ROWS = 200_000
_FILE = "<plug-in>"


def main() -> None:
    """Answer until nobody asks any more. argv: bytes of memory that the plug-in may use."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    _limit_memory(int(sys.argv[1]))
    holder = _Holder(asked, answers)
    while (received := wire.receive(asked)) is not None:
        message, arrays = received
        try:
            answer = holder.answer(message, arrays)
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: they end the call, not more
            answer = {"fault": _fault(error, holder.path)}
        _send(answers, answer, holder.path)


def _limit_memory(n_bytes: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = n_bytes if hard == resource.RLIM_INFINITY else min(n_bytes, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _send(file: BinaryIO, answer: Mapping[str, Any], path: str) -> None:
    """An answer, or what is wrong with it: a plug-in may return anything."""
    try:
        body = json.dumps(answer, default=_as_plain).encode("ascii")
    except BaseException as error:
        body = json.dumps({"fault": _fault(error, path)}).encode("ascii")
    file.write(len(body).to_bytes(wire.HEAD_BYTES, "little") + body)
    file.flush()


def _as_plain(value: Any) -> Any:
    """Numbers and arrays of numpy as Python's; anything else is no answer."""
    for method in ("tolist", "item"):
        if hasattr(value, method) and not isinstance(value, type):
            return getattr(value, method)()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} is neither text nor number, list or dict")


def _fault(error: BaseException, path: str) -> dict[str, Any]:
    """What went wrong, with the line of the plug-in's own file where it was there."""
    line = None
    if isinstance(error, SyntaxError):
        line = error.lineno
    else:
        trace = error.__traceback__
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename
            line = trace.tb_lineno if name == (path or _FILE) else line
            trace = trace.tb_next
    with contextlib.suppress(BaseException):
        return {"type": type(error).__name__, "message": str(error)[:2000], "line": line}
    return {"type": type(error).__name__, "message": "", "line": line}


class _Holder:
    """The plug-in of this process, once it was loaded."""

    def __init__(self, asked: BinaryIO, answers: BinaryIO) -> None:
        self.asked, self.answers = asked, answers
        self.path = ""
        self.items: list[tuple[str, Any]] = []

    def answer(self, message: Mapping[str, Any], arrays: list[Any]) -> dict[str, Any]:
        """The answer to one question; whatever the plug-in raises comes out of here."""
        question = message["do"]
        if question == "load":
            self.items = self._load(message)
            return {"items": [_described(kind, item) for kind, item in self.items]}
        kind, item = self.items[message["item"]]
        if question == "read":
            return _read(item, message["path"])
        if question == "measure":
            return {"value": _number(item.measure(*arrays))}
        if question == "analyze":
            found = item.analyze(_Data(message, self))
            return {"findings": [_finding(one) for one in _listed(found, message["most"], "findings")]}
        if question == "compute":
            return _computed(item, message, arrays)
        raise ValueError(f"{question} {kind}")

    def ask(self, message: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any]]:
        """What npulse answers to a question of the plug-in."""
        _send(self.answers, message, self.path)
        received = wire.receive(self.asked)
        if received is None:
            sys.exit("npulse is gone")
        return received

    def _load(self, message: Mapping[str, Any]) -> list[tuple[str, Any]]:
        if message["value"]:
            name, _, attribute = message["value"].partition(":")
            found: Any = importlib.import_module(name.strip())
            self.path = str(getattr(found, "__file__", "") or "")
            for part in filter(None, attribute.split("[")[0].strip().split(".")):
                found = getattr(found, part)
        else:
            self.path = message["path"]
            found = _module(message["name"], self.path, message["code"])
        if message.get("function"):
            return [("reference", _Function(message["function"], getattr(found, message["function"])))]
        is_module = isinstance(found, types.ModuleType)
        members = _classes_in(found) if is_module else [found]
        objects = [member() if isinstance(member, type) else member for member in members]
        wanted = message["kinds"]
        return [
            (kind, one)
            for one in objects
            for kind, method in METHODS.items()
            if hasattr(one, method) and (not wanted or kind in wanted)
        ]


def _module(name: str, path: str, code: str) -> types.ModuleType:
    """A file as a module. Its text is what npulse has read and checked, not what lies there by now."""
    module = types.ModuleType(f"npulse_plugin_{name.replace('-', '_')}")
    module.__file__ = path
    sys.modules[module.__name__] = module
    linecache.cache[path] = (len(code), None, code.splitlines(keepends=True), path)
    exec(compile(code, path, "exec", dont_inherit=True), module.__dict__)
    return module


def _classes_in(module: types.ModuleType) -> list[type]:
    """The classes that the module itself defines and that have a method of a plug-in, in their order."""
    return [
        value
        for name, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and not name.startswith("_")
        and not getattr(value, "_is_protocol", False)
        and any(callable(getattr(value, method, None)) for method in METHODS.values())
    ]


def _described(kind: str, item: Any) -> dict[str, Any]:
    """The declarations of a plug-in as they are; npulse judges them. problems: of its method's signature."""
    method = getattr(item, METHODS[kind])
    told: dict[str, Any] = {"kind": kind, "line": _line_of(item), "method_line": _line_of(method)}
    told["class"] = type(item).__name__
    for name in ("name", "kind", "title", "area", "patterns", "unit", "better", "operators"):
        value: Any = getattr(item, name, None)
        is_sequence = isinstance(value, (list, tuple))
        told["kind_id" if name == "kind" else name] = list(value) if is_sequence else value
    magic = getattr(item, "magic", b"")
    told["magic"] = magic.hex() if isinstance(magic, bytes) else None
    told["signature"] = ""
    try:
        inspect.signature(method).bind(*range(N_ARGUMENTS[kind]))
    except TypeError as error:
        told["signature"] = str(error)
    except ValueError:
        pass  # written in C: it says nothing of its arguments
    return told


def _line_of(thing: Any) -> int | None:
    """The line on which a class or a method begins."""
    thing = type(thing) if not callable(thing) else thing
    with contextlib.suppress(Exception):
        return int(inspect.getsourcelines(thing)[1])
    return None


def _read(item: Any, path: str) -> dict[str, Any]:
    """Rows and problems of a file, at most MAX_ROWS of them."""
    found = item.read(Path(path))
    problems: Any = ()
    if isinstance(found, tuple) and len(found) == 2:
        found, problems = found
    rows: list[Any] = []
    is_cut = False
    for row in found:
        if len(rows) >= MAX_ROWS:
            is_cut = True
            break
        rows.append(dict(row))
    return {"rows": rows, "problems": _listed(problems, 1000, "problems"), "is_cut": is_cut}


class _Function:
    """A function that the user named, as a reference: it is called as the operator is."""

    def __init__(self, name: str, function: Any) -> None:
        self.name, self.operators = "function", ["*"]
        if not callable(function):
            raise TypeError(f"{name} is no function")
        self._function = function

    def compute(self, operator: str, inputs: list[Any], keywords: Mapping[str, Any]) -> Any:
        return self._function(*inputs, **keywords)


def _computed(item: Any, message: Mapping[str, Any], arrays: list[Any]) -> dict[str, Any]:
    """The outputs of a reference, each as a file of the folder that npulse made for them."""
    import numpy as np

    inputs, keywords = wire.filled(message["inputs"], arrays), wire.filled(message["keywords"], arrays)
    found = item.compute(message["operator"], inputs, keywords)
    listed = list(found) if isinstance(found, (list, tuple)) else [found]
    if len(listed) > MAX_OUTPUTS:
        raise ValueError(f"{len(listed)} outputs")
    names: list[str | None] = []
    for place, one in enumerate(listed):
        if one is None:
            names.append(None)
            continue
        if hasattr(one, "detach"):
            one = one.detach().cpu().numpy()
        name = f"{place}.npy"
        np.save(Path(message["folder"], name), np.asarray(one, np.float64), allow_pickle=False)
        names.append(name)
    return {"outputs": names}


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _listed(found: Any, most: int, what: str) -> list[Any]:
    """What a plug-in returned as a list that ends; one more than `most` tells that there are more."""
    if found is None or isinstance(found, (str, bytes, Mapping)):
        raise TypeError(f"{what} have to be a list, not {type(found).__name__}")
    listed: list[Any] = []
    for one in found:
        listed.append(one)
        if len(listed) > most:
            break
    return listed


_FINDING_KEYS = ("severity", "rule", "role", "subject", "message", "next", "figures", "location", "related")


def _finding(found: Any) -> Any:
    """A finding as a dict: it may be one, or an object with the same names."""
    if isinstance(found, Mapping):
        return dict(found)
    told = {key: getattr(found, key) for key in _FINDING_KEYS if hasattr(found, key)}
    if hasattr(found, "next_step"):
        told["next"] = found.next_step
    return told


class _Data(Mapping[str, Any]):
    """What an analysis is given (`protocols.AnalysisData`)."""

    def __init__(self, message: Mapping[str, Any], holder: _Holder) -> None:
        self.run, self.artifacts = message["run"], message["artifacts"]
        self.reports = message["reports"]
        self._holder = holder
        self._kept = {"run": self.run, "artifacts": self.artifacts, "reports": self.reports}

    def __getitem__(self, key: str) -> Any:
        return self._kept[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def table(self, name: str) -> Any:
        """A table as a frame of pandas; KeyError where no report has one of that name."""
        told, arrays = self._holder.ask({"want": "table", "name": name})
        if "columns" not in told:
            raise KeyError(f"no table '{name}'; there are: {', '.join(told['names'])}")
        import pandas as pd

        values = iter(arrays)
        columns = {}
        for column in told["columns"]:
            series: Any = pd.Series(next(values))
            if column["labels"] is not None:
                series = pd.Series(column["labels"], dtype=object).reindex(series).reset_index(drop=True)
            if column["has_absent"]:
                absent = pd.Series(next(values))
                series = series.astype(object if column["kind"] in ("text", "bool") else "float64")
                series = series.mask(absent, None if series.dtype == object else float("nan"))
            columns[column["name"]] = series
        frame = pd.DataFrame(columns)
        frame.attrs["n_rows"] = told["n_rows"]
        return frame

    def rows(self, path: str) -> list[dict[str, Any]]:
        """The rows of an artifact that a reader plug-in knows; KeyError, ValueError."""
        told, _ = self._holder.ask({"want": "rows", "path": path})
        if "rows" not in told:
            raise KeyError(f"no artifact of a reader plug-in is '{path}'")
        if told["problems"] and not told["rows"]:
            raise ValueError(told["problems"][0])
        rows: list[dict[str, Any]] = told["rows"]
        return rows

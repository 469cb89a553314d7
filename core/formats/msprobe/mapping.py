"""msprobe's mapping files: which tensor, module or API of the target is which of the golden side.

    data_mapping  {leaf name of the target: leaf name of the golden side}
    cell_mapping  {module path and class of the target: those of the golden side}
    api_mapping   [{ms_api, pt_api, ms_args, pt_args, ms_outputs, pt_outputs, ...}]

The kind is told by what stands in the file. A comment `# npulse: [[target names], [golden names]]`, which
msprobe passes over, holds calls that stand against each other as one, or alone where a side is empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from npulse.core.dataclass import dataclass

from ...errors import InputError
from ...files import read_input, shown_path
from ...findings import Problem
from .columns import clean_text

MAX_BYTES = 32 << 20
MAX_ENTRIES = 500_000
MAX_NAME = 1_000
MAX_MEMBERS = 64
MAX_GROUPS = 50_000
COMMENT = "# npulse: "
_MAX_DEPTH = 5
_MAX_COMMENT = 100_000
_MAX_TOKENS = 4 * MAX_ENTRIES
"""A pair of names takes four. A parser makes half a kilobyte of each."""

_LEAF = re.compile(r"\.(?:forward|backward|parameters_grad|debug)(?:\.|$)")
_LISTS = ("args", "outputs", "parameters", "parameters_grad")


@dataclass(frozen=True, slots=True)
class Renamed:
    """One entry of a data or cell mapping: a leaf, or a module's path and class, of both sides."""

    target: str
    golden: str
    line: int


@dataclass(frozen=True, slots=True)
class ApiEntry:
    """One entry of an api mapping. lists: positions or names of arguments and outputs that belong together,
    by "args", "outputs", "parameters", "parameters_grad"."""

    target: str
    golden: str
    line: int
    lists: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """Calls of both sides that stand against each other as one, in execution order; alone: one side is ()."""

    target: tuple[str, ...]
    golden: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class MappingFile:
    """What a mapping file says; problems with their lines for what cannot be used."""

    path: Path
    data: tuple[Renamed, ...] = ()
    cells: tuple[Renamed, ...] = ()
    apis: tuple[ApiEntry, ...] = ()
    groups: tuple[GroupEntry, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_mapping(path: Path, *, root: Path | None = None) -> MappingFile:
    """A mapping file of any of the three kinds. InputError: no YAML, no mapping, too large, aliases in it."""
    raw = read_input(path, MAX_BYTES, "a mapping file", root=root)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", path=path) from error
    problems: list[Problem] = []
    shown = shown_path(path, root)

    def wrong(message: str, line: int) -> None:
        if len(problems) < 100:
            problems.append(Problem(shown, "bad-record", message, line=line))

    groups = tuple(islice(_groups(text, wrong), MAX_GROUPS + 1))
    if len(groups) > MAX_GROUPS:
        message = f"only the first {MAX_GROUPS:,} comments of npulse were read"
        problems.append(Problem(shown, "limit", message, line=groups[-1].line))
        groups = groups[:-1]
    top = parsed_yaml(text, path, may_be_empty=bool(groups))
    if isinstance(top.value, list) and (top.is_map or not top.value):
        return replace(_of_map(path, top.value, wrong, problems), groups=groups)
    if isinstance(top.value, list):
        return replace(_of_list(path, top.value, wrong, problems), groups=groups)
    raise InputError("no mapping: pairs of names, or a list of API pairs", path=path, line=top.line)


@dataclass(frozen=True, slots=True)
class YamlNode:
    """A value of the file with its line. A map is a list of pairs of nodes."""

    value: Any
    line: int
    is_map: bool = False


def parsed_yaml(text: str, path: Path, *, may_be_empty: bool) -> YamlNode:
    """The document with its lines; InputError for what is no plain YAML of bounded size and depth."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        depth = 0
        for count, token in enumerate(yaml.scan(text, loader)):
            if count > _MAX_TOKENS:
                line = token.start_mark.line + 1
                raise InputError(f"more than {MAX_ENTRIES:,} entries", path=path, line=line)
            name = type(token).__name__
            depth += name.endswith(("SequenceStartToken", "MappingStartToken"))
            depth -= name.endswith(("SequenceEndToken", "MappingEndToken", "BlockEndToken"))
            if depth > _MAX_DEPTH:  # before a parser of C follows it
                raise InputError(
                    "nested deeper than any mapping is", path=path, line=token.start_mark.line + 1
                )
            if isinstance(token, (yaml.AliasToken, yaml.AnchorToken, yaml.TagToken)):
                line = token.start_mark.line + 1
                raise InputError("anchors, aliases and tags are not read", path=path, line=line)
        node = yaml.compose(text, loader)
        if node is None and may_be_empty:
            return YamlNode([], 1, is_map=True)
        if node is None:
            raise InputError("an empty mapping file", path=path)
        return _node(node, path, 0)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        told = clean_text(str(getattr(error, "problem", None) or "it cannot be parsed"))[:200]
        raise InputError(f"no YAML: {told}", path=path, line=line) from error
    except (RecursionError, ValueError) as error:
        raise InputError(
            "no YAML that can be read: too deep, or characters that no text has", path=path
        ) from error


def _node(node: Any, path: Path, depth: int) -> YamlNode:
    import yaml

    line = int(node.start_mark.line) + 1
    if depth > _MAX_DEPTH:
        raise InputError("nested deeper than any mapping is", path=path, line=line)
    if isinstance(node, yaml.ScalarNode):
        return YamlNode(str(node.value), line)
    if len(node.value) > MAX_ENTRIES:
        raise InputError(f"more than {MAX_ENTRIES:,} entries", path=path, line=line)
    if isinstance(node, yaml.MappingNode):
        pairs = [(_node(k, path, depth + 1), _node(v, path, depth + 1)) for k, v in node.value]
        return YamlNode(pairs, line, is_map=True)
    return YamlNode([_node(item, path, depth + 1) for item in node.value], line)


def _name(node: YamlNode) -> str | None:
    is_name = isinstance(node.value, str) and 0 < len(node.value) <= MAX_NAME
    return clean_text(node.value) if is_name else None


def _of_map(
    path: Path, pairs: list[tuple[YamlNode, YamlNode]], wrong: Any, problems: list[Problem]
) -> MappingFile:
    data: list[Renamed] = []
    cells: list[Renamed] = []
    seen: dict[str, int] = {}
    for key, value in pairs:
        target = _name(key)
        golden = _name(value)
        if target is None or golden is None:
            wrong("an entry is a name and a name", key.line)
            continue
        if target in seen:
            wrong(f"{target[:200]!r} stands in line {seen[target]} already", key.line)
            continue
        seen[target] = key.line
        (data if _LEAF.search(target) else cells).append(Renamed(target, golden, key.line))
    return MappingFile(path, tuple(data), tuple(cells), problems=tuple(problems))


def _groups(text: str, wrong: Any) -> Iterator[GroupEntry]:
    """What comments of ours say; each stands on a line of its own."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith(COMMENT):
            continue
        try:
            found = json.loads(line.removeprefix(COMMENT)) if len(line) <= _MAX_COMMENT else None
        except (ValueError, RecursionError):
            found = None
        sides = [_listed(side) for side in found] if isinstance(found, list) and len(found) == 2 else [None]
        if None in sides or not any(sides):
            wrong("a comment of npulse is a list of target names and a list of golden names", number)
        else:
            yield GroupEntry(sides[0] or (), sides[1] or (), number)


def _listed(side: object) -> tuple[str, ...] | None:
    if not isinstance(side, list) or len(side) > MAX_MEMBERS:
        return None
    is_named = all(isinstance(name, str) and 0 < len(name) <= MAX_NAME for name in side)
    return tuple(clean_text(name) for name in side) if is_named else None


def _fields(node: YamlNode) -> dict[str, YamlNode]:
    return {k.value: v for k, v in node.value if isinstance(k.value, str)} if node.is_map else {}


def _names(node: YamlNode | None) -> tuple[str, ...]:
    if node is None or node.is_map or not isinstance(node.value, list) or len(node.value) > MAX_MEMBERS:
        return ()
    names = [_name(item) for item in node.value]
    return tuple(name for name in names if name is not None) if all(names) else ()


def _of_list(path: Path, items: list[YamlNode], wrong: Any, problems: list[Problem]) -> MappingFile:
    apis: list[ApiEntry] = []
    for item in items:
        fields = _fields(item)
        target, golden = (_name(fields[k]) if k in fields else None for k in ("ms_api", "pt_api"))
        if target is None or golden is None:
            wrong("an entry of an API mapping has ms_api and pt_api", item.line)
            continue
        lists: dict[str, tuple[tuple[str, str], ...]] = {}
        for name in _LISTS:
            one, other = (_names(fields.get(f"{side}_{name}")) for side in ("ms", "pt"))
            if len(one) != len(other):
                wrong(f"ms_{name} and pt_{name} of {target[:200]} are not equally long", item.line)
            elif one:
                lists[name] = tuple(zip(one, other, strict=True))
        apis.append(ApiEntry(target, golden, item.line, lists))
    return MappingFile(path, (), (), tuple(apis), (), tuple(problems))

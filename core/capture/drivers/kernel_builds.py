"""What stands in the way of checking kernels, before anything runs: how they are built and dispatched.

Build files of the working folder are searched for a few words; nothing is run. Kernel objects are looked at
where the user names them (`--set objects=FILE,...`) or keeps them as inputs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.files import open_input
from npulse.core.findings import Finding, Location
from npulse.core.formats.kernel_object import has_line_table, is_kernel_object
from npulse.core.text import safe_text

from ..request import CaptureRequest
from ..rules_tools import finding
from .parts import settings_of

MAX_BUILD_FILES = 64
MAX_BUILD_BYTES = 1 << 18
MAX_FOLDERS = 256
MAX_DEPTH = 2
MAX_OBJECTS = 64

_BUILD_FILE = re.compile(r"CMakeLists\.txt|.*\.cmake|[Mm]akefile|.*\.mk|build.*\.sh|CMakePresets\.json")
_KERNELS = re.compile(rb"bisheng|ascendc|cce-aicore|\bccec?\b|npu_op_kernel|--npu-arch", re.IGNORECASE)
_SANITIZER = re.compile(rb"-sanitizer\b|--sanitizer\b|cce-enable-sanitizer", re.IGNORECASE)
_DEBUG = re.compile(rb"(?:^|[\s\"';(])-(?:g|gline-tables-only|ggdb)(?=[\s\"';)]|$)", re.MULTILINE)
_UNOPTIMISED = re.compile(rb"(?:^|[\s\"';(=])-O0(?=[\s\"';)]|$)", re.MULTILINE)
_INLINE = b"cce-ignore-always-inline=false"
_LEFT_OUT = frozenset(("node_modules", "site-packages", "__pycache__", "third_party"))

_GRAPH = re.compile(rb"\btorch\.compile\s*\(|\btorchair\b|\bGRAPH_MODE\b|jit_config|JitConfig")
MAX_SCRIPT_BYTES = 1 << 20


def preflight_of_kernels(
    request: CaptureRequest, checks: Sequence[str], options: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Findings of rules `capture.kernel-*` and `capture.one-block`: none holds the start back."""
    found = [*_of_build_files(request), *_of_objects(request), *_of_graphs(request)]
    if "racecheck" in checks and "block-id" not in options:
        found.append(finding(request, "capture.one-block", "mssanitizer"))
    return tuple(found)


def _of_build_files(request: CaptureRequest) -> Iterator[Finding]:
    """What the build files say of kernels, all of them together."""
    builders: list[str] = []
    has_sanitizer = has_debug = has_inline = False
    unoptimised = ""
    for path in _build_files(request.cwd):
        text = _text_of(path)
        name = safe_text(os.path.relpath(path, request.cwd))
        if _KERNELS.search(text):
            builders.append(name)
        has_sanitizer |= _SANITIZER.search(text) is not None
        has_debug |= _DEBUG.search(text) is not None
        has_inline |= _INLINE in text
        if not unoptimised and _UNOPTIMISED.search(text):
            unoptimised = name
    if not builders:
        return
    if not has_sanitizer:
        yield finding(request, "capture.kernel-not-instrumented", builders[0])
    elif not has_debug:
        yield finding(request, "capture.kernel-no-lines", builders[0])
    if unoptimised and not has_inline:
        yield finding(request, "capture.kernel-unoptimised", unoptimised)


def _of_objects(request: CaptureRequest) -> Iterator[Finding]:
    named = [Path(name) for name in settings_of(request).get("objects", "").split(",") if name]
    for path in (*named, *request.keep_inputs)[:MAX_OBJECTS]:
        path = request.cwd / path
        try:
            file, _ = open_input(path)
            with file:
                is_object = is_kernel_object(file.read(64) or b"")
            if is_object and not has_line_table(path, path.parent):
                yield finding(
                    request,
                    "capture.kernel-no-lines",
                    safe_text(path.name),
                    location=Location(artifact=str(path)),
                )
        except InputError:
            continue  # an input that is not there is the preflight's of all tools


def _of_graphs(request: CaptureRequest) -> Iterator[Finding]:
    """Whether kernels are fused: a compiled model on the command line, graph mode in the script itself."""
    for word in request.command[:8]:
        name = safe_text(os.path.basename(word), 200)
        if word.endswith(".om"):
            yield finding(request, "capture.graph-mode", name)
            return
        if word.endswith(".py"):
            is_off = request.environment.get("TORCH_COMPILE_DISABLE") == "1"
            if not is_off and _GRAPH.search(_text_of(request.cwd / word, MAX_SCRIPT_BYTES)):
                yield finding(request, "capture.graph-mode", name)
            return


def _build_files(folder: Path) -> Iterator[Path]:
    """Build files at most two folders down, in order of their names."""
    waiting = [(folder, 0)]
    n_found = n_folders = 0
    while waiting and n_folders < MAX_FOLDERS:
        here, depth = waiting.pop(0)
        n_folders += 1
        try:
            with os.scandir(here) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                is_own = not entry.name.startswith(".") and entry.name not in _LEFT_OUT
                if depth < MAX_DEPTH and is_own:
                    waiting.append((Path(entry.path), depth + 1))
            elif _BUILD_FILE.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
                n_found += 1
                if n_found == MAX_BUILD_FILES:
                    return


def _text_of(path: Path, max_bytes: int = MAX_BUILD_BYTES) -> bytes:
    """Its first bytes without comments of a whole line; nothing where it can't be read."""
    try:
        file, _ = open_input(path)
    except InputError:
        return b""
    with file:
        text = file.read(max_bytes) or b""
    return re.sub(rb"(?m)^\s*(?:#|//).*$", b"", text)

"""CANN's own dump of compiled graphs and single operators, through an acl.json of the round."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

from npulse.core.errors import UsageError
from npulse.core.findings import Finding
from npulse.core.text import safe_text

from ..base import BaseDriver, count_files
from ..driver import RAW, Ended, Outcome, Plan, PlannedFile, Recorded, SizeBasis, Words
from ..launcher import launcher_environment, launcher_files, read_launcher_log
from ..programs import is_elf, program_of, python_of
from ..request import CaptureRequest, Kind
from .dump_preflight import dump_preflight
from .dumped import Why, is_program_failure
from .graph_files import GraphFiles, look_at_graph_files
from .msprobe import estimate_of, keep_fp32_files, size_basis_of, switch_of
from .texts_dump import words

CONFIG = "acl.json"
SETTINGS = (
    *("dump_mode", "dump_level", "dump_data", "dump_stats", "dump_op_switch", "input_data", "name_list"),
)
"""What `settings` may hold, spelled as in acl.json; input_data: of msprobe offline_dump; name_list: where the
names for globs of --list come from."""

MAX_CONSOLE_BYTES = 4 << 20
_REFUSED = re.compile(r"(?:EP000\d|E10001|E10058|E19999)[^\n]{0,200}")


class AclDump(BaseDriver):
    """acl.json for a PyTorch program, a C++ program or an .om model."""

    id = "acl-dump"
    kind: Kind = "precision"
    title: Words = ("CANN dump of compiled graphs and operators", "CANN 图与算子 dump")
    tool = "acl.json"
    known: ClassVar[tuple[str, ...]] = SETTINGS

    def check(self, request: CaptureRequest) -> None:
        if not request.command and not _is_offline(request):
            raise UsageError(
                "a dump through acl.json needs a program",
                hint="give its command behind --, or --model FILE.om",
            )
        if request.pid is not None:
            raise UsageError("acl.json is read at the start of a program: it attaches to none")
        if request.rank:
            raise UsageError(
                "acl.json knows no ranks", hint="limit the devices with ASCEND_RT_VISIBLE_DEVICES"
            )
        if request.extra and not _is_offline(request):
            raise UsageError("acl.json takes no further words", hint="use --set NAME=VALUE")
        unknown = sorted(set(request.settings) - set(self.known))
        if unknown:
            raise UsageError(
                f"{self.id} has no setting '{unknown[0]}'", hint="known: " + ", ".join(self.known)
            )
        self.config(request, request.archive / request.name / RAW)

    def config(self, request: CaptureRequest, raw: Path) -> dict[str, Any]:
        """The content of acl.json. UsageError where its rules find an error."""
        from npulse.core.config import make

        from .selected import selected

        settings = request.settings
        chosen = selected("acl", request).items if request.names else ()
        eager = python_of(request) is not None and not (request.model or chosen)
        single = (
            switch_of("dump_op_switch", settings["dump_op_switch"]) if "dump_op_switch" in settings else eager
        )
        stats = tuple(part.strip() for part in settings.get("dump_stats", "").split(",") if part.strip())
        return make.acl_config(
            dump_path=str(raw),
            model_name=request.model,
            layer=chosen,
            dump_mode=settings.get("dump_mode"),
            dump_level=settings.get("dump_level", request.level),
            dump_data=settings.get("dump_data"),
            dump_stats=stats,
            dump_step=request.step,
            dump_op_switch=single,
            lang=request.lang,
        )

    def estimate_bytes(self, request: CaptureRequest) -> tuple[int, int] | None:
        if _is_offline(request):
            return None
        return estimate_of(self.config(request, Path("/")), request)

    def size_basis(self, request: CaptureRequest) -> SizeBasis:
        if _is_offline(request):
            return SizeBasis(words("size-offline"))
        return size_basis_of(self.config(request, Path("/")), request)

    def preflight(self, request: CaptureRequest) -> tuple[Finding, ...]:
        return dump_preflight(request, needs_msprobe=False, needs_npu=True)

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        from npulse.core.config import make

        if _is_offline(request):
            return _offline_plan(request, round_folder)
        path = round_folder / CONFIG
        files = [PlannedFile(CONFIG, make.config_text(self.config(request, round_folder / RAW)))]
        # the only variable by which a framework takes the file itself is MindSpore's
        environment: dict[str, str | None] = {"MS_ACL_DUMP_CFG_PATH": str(path)}
        if is_compiled_program(request):
            notes = [words("acl-cpp", path=str(path))]
        else:
            files += launcher_files(round_folder, tool="acl-dump", config=path)
            environment |= launcher_environment(request, round_folder)
            notes = [words("acl-python", path=str(path))]
        if request.keep_fp32:
            lists, told = keep_fp32_files(request, round_folder)
            files += lists
            notes += told
        return Plan(request.command, environment, tuple(files), notes=tuple(notes))

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        raw = round_folder / RAW
        n_files, size_bytes = count_files(raw)
        found = look_at_graph_files(raw)
        is_there = bool(found.n_operators or found.n_records or (_is_offline(request) and n_files))
        outcome: Outcome = "recorded" if is_there else "nothing"
        why: Why = (("", ""), ("", ""))
        if not is_there:
            why = self.why_nothing(request, round_folder, ended)
        elif found.cut:
            outcome = "incomplete"
            first = found.cut[0]
            why = words("acl-cut", n=len(found.cut), file=first), words("acl-cut-next")
        return Recorded(
            outcome=outcome,
            n_files=n_files,
            size_bytes=size_bytes,
            ranks=found.devices,
            steps=found.steps,
            n_operators=found.n_operators,
            n_dropped=len(found.cut),
            found=_kinds(found),
            is_failure=self.is_fault(found, ended),
            why=why[0],
            next_step=why[1],
            warnings=tuple(_warnings(found, ended)),
        )

    def is_fault(self, found: GraphFiles, ended: Ended) -> bool:
        return is_program_failure(ended)

    def why_nothing(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Why:
        """The first cause that the console or the launcher's notes show."""
        if ended.exit_status is None and ended.signal is None:
            return words("not-started"), words("not-started-next")
        refused = _refusal(ended.console)
        path = str(round_folder / CONFIG)
        if refused:
            return words("acl-refused", line=refused), words("acl-refused-next", config=path)
        if _is_offline(request):
            return words("acl-offline-nothing"), words("acl-offline-nothing-next")
        if is_compiled_program(request):
            return words("acl-unused", path=path), words("acl-unused-next", path=path)
        log = read_launcher_log(round_folder)
        if not log.python and not log.events:
            folder = str(round_folder / "launcher")
            return words("no-python"), words("acl-unused-next", path=path, folder=folder)
        for one in log.of("failed"):
            error, where = (safe_text(str(one.get(name, "")), 300) for name in ("error", "where"))
            if "'torch_npu'" in error:
                return words("no-torch-npu"), words("no-torch-npu-next")
            return words("failed", where=where, error=error), words("failed-next", config=path, folder=path)
        if not log.of("started"):
            return words("no-model"), words("acl-unused-next", path=path)
        return self.why_selected_nothing(request)

    def why_selected_nothing(self, request: CaptureRequest) -> Why:
        wanted = ", ".join(
            filter(None, [*request.names, request.model or "", request.step and f"step {request.step}"])
        )
        if wanted:
            return words("acl-no-match", wanted=safe_text(wanted, 200)), words("acl-no-match-next")
        return words("acl-nothing"), words("acl-nothing-next")


def _is_offline(request: CaptureRequest) -> bool:
    """An .om model without a program: msprobe runs it."""
    return not request.command and (request.model or "").endswith(".om")


def _offline_plan(request: CaptureRequest, round_folder: Path) -> Plan:
    assert request.model is not None
    argv = ["msprobe", "offline_dump", "--model_path", request.model]
    if request.settings.get("input_data"):
        argv += ["--input_data", request.settings["input_data"]]
    return Plan((*argv, "-o", str(round_folder / RAW), *request.extra), notes=(words("acl-offline"),))


def is_compiled_program(request: CaptureRequest) -> bool:
    """Whether the command is a program of machine code other than a Python: nobody can call for it."""
    path = program_of(request)
    if path is None or python_of(request) is not None or not is_elf(path):
        return False
    return path.resolve().name not in _SHELLS


_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "env", "timeout", "nice", "numactl", "taskset"})
"""Programs that start others."""


def _refusal(console: Path) -> str:
    """The first line on the console by which CANN refuses a dump."""
    try:
        with console.open("rb") as file:
            text = file.read(MAX_CONSOLE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    found = _REFUSED.search(text)
    return safe_text(found[0], 240) if found else ""


def _kinds(found: GraphFiles) -> dict[str, int]:
    counted = {
        "cann.dump": found.n_tensor_files,
        "cann.opdebug": found.n_records,
        "cann.stats": found.n_statistics,
        "cann.exception": found.n_exceptions,
    }
    return {kind: n for kind, n in counted.items() if n}


def _warnings(found: GraphFiles, ended: Ended) -> list[Words]:
    told = []
    if ended.is_killed and not found.cut:
        told.append(words("acl-killed"))
    if found.n_unchecked:
        told.append(words("acl-unchecked", n=f"{found.n_unchecked:,}"))
    return told

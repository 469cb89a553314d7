"""How a profile was taken, on what, and when: the small JSON and text files beside the records.

`read_profiler_info` and `read_profiler_metadata` are of torch and MindSpore, the others of msprof.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from npulse.core.dataclass import dataclass

from ...files import open_input, shown_path
from ...findings import Problem
from ..json_window import Notes
from .json_facts import Facts, read_facts, whole_of
from .records import ProfilerSettings, Read

MAX_TEXT_BYTES = 1 << 20

_RANK_NAME = re.compile(r"profiler_info_(\d{1,9})\.json", re.ASCII)
_CLOCK_LINE = re.compile(r"[ \t]*(\w{1,40})[ \t]*[:=][ \t]*(\d{1,19})\b", re.ASCII)
_VERSIONS = {"torch_npu_version": "torch_npu", "cann_version": "cann", "ms_version": "mindspore"}


@dataclass(frozen=True, slots=True)
class SessionTimes:
    """When a session ran. begin_ns, end_ns: since 1970; the others by the host's monotonic clock."""

    begin_ns: int | None = None
    end_ns: int | None = None
    begin_monotonic_ns: int | None = None
    end_monotonic_ns: int | None = None

    @property
    def duration_ns(self) -> int | None:
        """How long it ran: by the monotonic clock where both ends are known."""
        if self.begin_monotonic_ns is not None and self.end_monotonic_ns is not None:
            return self.end_monotonic_ns - self.begin_monotonic_ns
        return None if self.begin_ns is None or self.end_ns is None else self.end_ns - self.begin_ns

    @property
    def offset_ns(self) -> int | None:
        """What must be added to a monotonic time to have it since 1970."""
        if self.begin_ns is not None and self.begin_monotonic_ns is not None:
            return self.begin_ns - self.begin_monotonic_ns
        if self.end_ns is not None and self.end_monotonic_ns is not None:
            return self.end_ns - self.end_monotonic_ns
        return None


@dataclass(frozen=True, slots=True)
class ClockStart:
    """Clocks at the start of one side (host_start.log, dev_start.log.N): realtime since 1970, monotonic_raw
    of the host, cntvct: the counter that raw records have, cntvct_diff: what its reading took."""

    realtime_ns: int | None = None
    monotonic_ns: int | None = None
    cntvct: int | None = None
    cntvct_diff: int | None = None


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What the control files of one msprof session say beside the settings.

    options: every option of sample.json as text. pid: of the profiled process.
    """

    pid: int | None = None
    process: str = ""
    app: str = ""
    options: Mapping[str, str] | None = None


def read_profiler_info(path: Path, *, root: Path | None = None) -> Read[ProfilerSettings]:
    """Settings of a profiler_info[_N].json of torch or MindSpore. The file is written at the end.

    rank: what the file says, else its name. is_finalised: True if the end is recorded, else None.
    Problems: values of a wrong type (absent then), a file that ends too soon. Raises InputError: no JSON
    object, no regular file, outside `root`, more than 64 MB; so do the other readers here.
    """
    problems: list[Problem] = []
    facts, notes = read_facts(path, root, problems)
    config = facts.inner("config")
    common, special = config.inner("common_config"), config.inner("experimental_config")
    if not common.members and not special.members:  # MindSpore's file has one level less in some releases
        common = special = config
    versions = {name: text for key, name in _VERSIONS.items() if (text := facts.text(key))}
    named = _RANK_NAME.fullmatch(path.name)
    rank = _rank(facts.whole("rank_id"))
    settings = ProfilerSettings(
        framework=_framework(path, versions),
        level=special.text("_profiler_level", "profiler_level"),
        metrics=special.text("_aic_metrics", "aic_metrics"),
        rank=int(named[1]) if rank is None and named else rank,
        with_stack=common.flag("with_stack"),
        record_shapes=common.flag("record_shapes"),
        expected_active=common.inner("schedule").whole("active"),
        versions=versions,
        is_finalised=True if facts.inner("end_info").members else None,
    )
    notes.close()
    return Read((settings,), tuple(problems))


def read_profiler_metadata(path: Path, *, root: Path | None = None) -> Read[ProfilerSettings]:
    """Settings of a profiler_metadata.json: sizes of the parallel dimensions, groups, environment."""
    problems: list[Problem] = []
    facts, notes = read_facts(path, root, problems)
    spread = facts.inner("distributed_args")
    sizes = {}
    for key in spread.members:
        if key not in ("rank", "world_size"):
            value = spread.members[key]
            number = int(value) if isinstance(value, bool) else spread.whole(key)
            if number is not None:
                sizes[key] = number
    groups, labels = groups_of(facts.members.get("parallel_group_info"), notes)
    variables = facts.inner("ENV_VARIABLES")
    settings = ProfilerSettings(
        rank=_rank(spread.whole("rank")),
        world_size=spread.whole("world_size"),
        parallel=sizes,
        groups=groups,
        group_labels=labels,
        env={key: variables.text(key) for key in variables.members},
    )
    notes.close()
    return Read((settings,), tuple(problems))


def groups_of(value: Any, notes: Notes) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """Ranks and labels by communicator of a parallel_group_info: an object, or the text of one."""
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            notes.add("bad-record", "'parallel_group_info': its text is no JSON; it counts as absent", None)
            return {}, {}
    facts = Facts(None if value == "" else value, notes, "'parallel_group_info': ")
    groups: dict[str, tuple[int, ...]] = {}
    labels: dict[str, str] = {}
    for name in facts.members:
        group = facts.inner(name)
        if not group.members:
            continue
        groups[name] = group.wholes("global_ranks")
        if label := group.text("group_name"):
            labels[name] = label
    return groups, labels


def read_sample(path: Path, *, root: Path | None = None) -> tuple[Read[ProfilerSettings], SessionFacts]:
    """Settings and all options of msprof's sample.json."""
    problems: list[Problem] = []
    facts, notes = read_facts(path, root, problems)
    settings = ProfilerSettings(
        framework="msprof",
        level=facts.text("profLevel"),
        metrics=facts.text("ai_core_metrics"),
        devices=_devices(facts),
    )
    options = {}
    for key, value in facts.members.items():
        if isinstance(value, bool):
            options[key] = "on" if value else "off"
        elif not isinstance(value, (dict, list)) and (text := facts.text(key)):
            options[key] = text
    said = SessionFacts(
        pid=facts.whole("host_sys_pid"),  # msprofBinPid is msprof itself
        app=" ".join(text for key in ("app", "app_parameters") if (text := facts.text(key))),
        options=options,
    )
    notes.close()
    return Read((settings,), tuple(problems)), said


def read_session_info(path: Path, *, root: Path | None = None) -> tuple[Read[ProfilerSettings], SessionFacts]:
    """Chip, rank and process of info.json[.N]; "platform" in versions is msprof's number of the chip."""
    problems: list[Problem] = []
    facts, notes = read_facts(path, root, problems)
    listed = facts.members.get("DeviceInfo")
    chip = Facts(listed[0] if isinstance(listed, list) and listed else None, notes, "'DeviceInfo': ")
    versions = {
        name: text
        for key, name in (("platform_version", "platform"), ("drvVersion", "driver"))
        if (text := facts.text(key))
    }
    settings = ProfilerSettings(
        rank=_rank(facts.whole("rank_id")),
        devices=_devices(facts),
        ai_core_num=chip.whole("ai_core_num"),
        aiv_num=chip.whole("aiv_num"),
        frequency_mhz=_megahertz(chip.text("aic_frequency")),
        versions=versions,
    )
    said = SessionFacts(pid=facts.whole("pid"), process=facts.text("pid_name"))
    notes.close()
    return Read((settings,), tuple(problems)), said


def read_times(path: Path, *, root: Path | None = None) -> Read[SessionTimes]:
    """Begin or end of a session out of start_info[.N], end_info[.N] or profiler_info[_N].json.

    msprof writes microseconds as text and the monotonic clock in nanoseconds; torch nanoseconds for both.
    """
    problems: list[Problem] = []
    facts, notes = read_facts(path, root, problems)
    if any(key in facts.members for key in ("start_info", "end_info", "config")):
        begin, end = facts.inner("start_info"), facts.inner("end_info")
        end_ns, end_monotonic = end.whole("collectionTimeEnd"), end.whole("MonotonicTimeEnd")
        begin_monotonic = begin.whole("start_monotonic")
        begin_ns = None
        if end_ns is not None and end_monotonic is not None and begin_monotonic is not None:
            begin_ns = end_ns - (end_monotonic - begin_monotonic)
        times = SessionTimes(begin_ns, end_ns, begin_monotonic, end_monotonic)
    elif "collectionTimeEnd" in facts.members:
        times = SessionTimes(
            end_ns=_thousandfold(facts.whole("collectionTimeEnd")),
            end_monotonic_ns=facts.whole("clockMonotonicRaw"),
        )
    else:
        times = SessionTimes(
            begin_ns=_thousandfold(facts.whole("collectionTimeBegin")),
            begin_monotonic_ns=facts.whole("clockMonotonicRaw"),
        )
    notes.close()
    return Read((times,), tuple(problems))


def read_clock(path: Path, *, root: Path | None = None) -> Read[ClockStart]:
    """Clocks of a host_start.log or dev_start.log.N: lines "key: number" below a section."""
    file, _ = open_input(path, root)
    artifact = shown_path(path, root)
    problems = []
    with file:
        try:
            raw = file.read(MAX_TEXT_BYTES + 1) or b""
        except OSError as error:
            problems.append(Problem(artifact, "unreadable", f"reading failed: {error.strerror}"))
            raw = b""
    if len(raw) > MAX_TEXT_BYTES:
        problems.append(Problem(artifact, "limit", f"only the first {MAX_TEXT_BYTES:,} bytes were read"))
    found: dict[str, int] = {}
    for line in raw[:MAX_TEXT_BYTES].decode("utf-8", "replace").split("\n"):
        if match := _CLOCK_LINE.match(line):
            value = whole_of(match[2])
            if value is not None:
                found.setdefault(match[1], value)
    if not found:
        problems.append(Problem(artifact, "bad-record", "no clock is in this file"))
    clock = ClockStart(
        found.get("clock_realtime"),
        found.get("clock_monotonic_raw"),
        found.get("cntvct"),
        found.get("cntvct_diff"),
    )
    return Read((clock,), tuple(problems))


def merged(first: ProfilerSettings, second: ProfilerSettings) -> ProfilerSettings:
    """`first`, with what it does not say taken from `second`; tables are joined, `first` wins."""
    values: dict[str, Any] = {}
    for one in fields(ProfilerSettings):
        own, other = getattr(first, one.name), getattr(second, one.name)
        if isinstance(own, Mapping):
            values[one.name] = {**other, **own}
        else:
            values[one.name] = other if own is None or own == "" or own == () else own
    return ProfilerSettings(**values)


def merged_times(first: SessionTimes, second: SessionTimes) -> SessionTimes:
    """`first`, with what it does not say taken from `second`."""

    def either(one: int | None, other: int | None) -> int | None:
        return other if one is None else one

    return SessionTimes(
        either(first.begin_ns, second.begin_ns),
        either(first.end_ns, second.end_ns),
        either(first.begin_monotonic_ns, second.begin_monotonic_ns),
        either(first.end_monotonic_ns, second.end_monotonic_ns),
    )


def _framework(path: Path, versions: Mapping[str, str]) -> str:
    folder = path.parent.name
    if "mindspore" in versions or folder.endswith("_ascend_ms"):
        return "mindspore"
    return "pytorch" if "torch_npu" in versions or folder.endswith("_ascend_pt") else ""


def _rank(rank: int | None) -> int | None:
    """Writers have -1 for none."""
    return rank if rank is not None and rank >= 0 else None


def _devices(facts: Facts) -> tuple[int, ...]:
    """Device ids; other words ("all", "host") name none."""
    value = facts.members.get("devices")
    if isinstance(value, str):
        found = [whole_of(part) for part in value.split(",")]
        return tuple(device for device in found if device is not None and device >= 0)
    return facts.wholes("devices")


def _megahertz(text: str) -> float | None:
    try:
        value = float(text) if len(text) <= 40 else 0.0
    except ValueError:
        return None
    return value if 0 < value < 1e6 else None


def _thousandfold(value: int | None) -> int | None:
    """Microseconds as nanoseconds; None where 64 bits cannot hold them."""
    return None if value is None or abs(value) > (2**63 - 1) // 1000 else value * 1000

"""The cards of one machine at one moment, as far as npu-smi told of them; JSON and TOML can hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import Any, Literal, get_args

from npulse.core.dataclass import dataclass

State = Literal[
    "ok",
    "npu-smi missing",
    "driver not reachable",
    "occupied",
    "no card",
    "not permitted",
    "timeout",
    "unknown",
]
STATES: frozenset[str] = frozenset(get_args(State))
Key = tuple[int, int]
"""A chip: (npu, chip) as npu-smi counts them."""

MAX_CHIPS = 512
MAX_PROCESSES = 4096
"""Of one machine: far beyond what one has."""
MAX_CHARS = 400
LISTED_AT_MOST = 8
"""Processes of one chip that npu-smi's table lists."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process on a chip. name: at most 15 characters of it, "" where npu-smi shows none: of another
    container, or it ended meanwhile."""

    npu: int
    chip: int
    pid: int | None = None
    name: str = ""
    memory_mb: int | None = None
    container_pid: int | None = None

    @property
    def key(self) -> Key:
        return self.npu, self.chip


@dataclass(frozen=True, slots=True)
class ChipState:
    """One chip. None: not shown, "NA" or "-"; nothing becomes 0.

    npu, chip: as npu-smi counts them; npu is -1 where the text leaves out which one it is. name: "910B3",
    "Ascend910". health: the vendor's word, the worse one where two calls differ. physical_id: the number on
    the host, which jobs use on A3; device: logic id. ai_core_percent: of the AI cores' time; npu_percent: of
    the whole chip. frequency_mhz: of the AI cores now, rated_mhz: what they are made for. fault_codes: as the
    driver writes them ("80E01801"). values: all that `-t` blocks told, by the vendor's keys.
    """

    npu: int
    chip: int
    name: str | None = None
    health: str | None = None
    bus_id: str | None = None
    physical_id: int | None = None
    device: int | None = None
    power_w: float | None = None
    rated_power_w: float | None = None
    temperature_c: float | None = None
    hbm_temperature_c: float | None = None
    ai_core_percent: float | None = None
    npu_percent: float | None = None
    frequency_mhz: float | None = None
    rated_mhz: float | None = None
    memory_used_mb: float | None = None
    memory_total_mb: float | None = None
    hbm_used_mb: float | None = None
    hbm_total_mb: float | None = None
    fault_codes: tuple[str, ...] = ()
    fault_text: str | None = None
    values: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return self.npu, self.chip

    @property
    def label(self) -> str:
        """ "3", of a card's second chip "3/1"."""
        return f"{self.npu}" if not self.chip else f"{self.npu}/{self.chip}"

    @property
    def used_mb(self) -> float | None:
        """Of the memory that jobs use: HBM where there is some, else DDR."""
        return self.hbm_used_mb if self.hbm_total_mb else self.memory_used_mb

    @property
    def total_mb(self) -> float | None:
        return self.hbm_total_mb or self.memory_total_mb

    @property
    def load_percent(self) -> float | None:
        """Share of time in which the AI cores worked; of the whole chip where that is all that was told."""
        return self.ai_core_percent if self.ai_core_percent is not None else self.npu_percent

    def count(self, key: str) -> int | None:
        """A value of `values` that is a count; None where it is not there or none."""
        value = self.values.get(key)
        return int(value) if value is not None and value.isdecimal() and len(value) < 16 else None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What npu-smi said. state: whether it could be asked; only "ok" says anything about devices.

    code: the vendor's error code (-8005). message: the line that it printed instead, raw. listed_npus: cards
    of which processes were listed, so that none means none. is_driver_incomplete: npu-smi warned of it.
    is_container: whether it was asked in one; None: not known. missing: paths of the driver that are not
    there (asked live alone). taken_ns: since 1970; None where a file does not say. source: file or command.
    """

    state: State = "unknown"
    code: int | None = None
    message: str = ""
    chips: tuple[ChipState, ...] = ()
    processes: tuple[Process, ...] = ()
    listed_npus: tuple[int, ...] = ()
    driver_version: str | None = None
    tool_version: str | None = None
    layout: str = ""
    is_driver_incomplete: bool = False
    is_container: bool | None = None
    missing: tuple[str, ...] = ()
    taken_ns: int | None = None
    source: str = ""

    @property
    def is_known(self) -> bool:
        """Whether some chip was told of: only then `chips` says anything about devices."""
        return bool(self.chips)

    def chip(self, npu: int, chip: int = 0) -> ChipState | None:
        return next((one for one in self.chips if one.key == (npu, chip)), None)

    def of_device(self, device: int) -> ChipState | None:
        """The chip that a job calls device `device`: by logic id, else physical id, else the card's number
        where each card has one chip. None where nobody can tell."""
        for name in ("device", "physical_id"):
            found = next((one for one in self.chips if getattr(one, name) == device), None)
            if found is not None:
                return found
        if any(one.chip for one in self.chips):
            return None
        return self.chip(device)

    def device_of(self, chip: ChipState) -> int | None:
        """What a job calls this chip; the reverse of `of_device`."""
        if chip.device is not None:
            return chip.device
        if chip.physical_id is not None:
            return chip.physical_id
        return chip.npu if chip.npu >= 0 and not any(one.chip for one in self.chips) else None

    def processes_of(self, chip: ChipState) -> tuple[Process, ...] | None:
        """The processes on a chip, at most 8 where the table listed them; None where nobody listed them."""
        if chip.npu not in self.listed_npus:
            return None
        npu, index = chip.key
        return tuple(one for one in self.processes if one.npu == npu and one.chip == index)

    def to_dict(self) -> dict[str, Any]:
        """All that is known, as JSON and TOML can hold it; what is not known is left out."""
        found = _plain(self)
        found["state"] = self.state
        return found

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Snapshot:
        """The same back. Never raises: of a hostile or newer table what cannot be used is left out."""
        state = told.get("state")
        own = _taken(cls, told, ("chips", "processes", "listed_npus", "missing", "state"))
        chips = _chips(told.get("chips"))
        processes = [_process(one) for one in _mappings(told.get("processes"), MAX_PROCESSES)]
        return cls(
            state=state if isinstance(state, str) and state in STATES else "unknown",  # type: ignore[arg-type]
            chips=chips,
            processes=tuple(one for one in processes if one is not None),
            listed_npus=tuple(n for n in _list(told.get("listed_npus")) if _is_whole(n)),
            missing=tuple(one for one in _list(told.get("missing"))[:16] if _is_text(one)),
            **own,
        )


# ---- to and from tables ----


def _plain(record: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in fields(record):
        value = getattr(record, one.name)
        if value is None or value is False or value == "" or value == () or value == {}:
            continue
        if isinstance(value, tuple):
            value = [_plain(item) if isinstance(item, ChipState | Process) else item for item in value]
        elif isinstance(value, Mapping):
            value = {key: "NA" if text is None else text for key, text in value.items()}
        found[one.name] = value
    return found


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -1 <= value < 2**31


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_CHARS


def _list(value: Any) -> Sequence[Any]:
    return value[:MAX_CHIPS] if isinstance(value, list) else ()


def _mappings(value: Any, n_most: int) -> Sequence[Mapping[str, Any]]:
    listed = value[:n_most] if isinstance(value, list) else ()
    return [one for one in listed if isinstance(one, Mapping)]


_WHOLE = frozenset(("physical_id", "device", "pid", "container_pid", "memory_mb"))
_FLAGS = frozenset(("is_driver_incomplete", "is_container"))
_BIG = frozenset(("taken_ns", "code"))


def _taken(kind: Any, told: Mapping[str, Any], without: Sequence[str]) -> dict[str, Any]:
    """The fields of a record that a table has in the right form."""
    found: dict[str, Any] = {}
    for one in fields(kind):
        value = told.get(one.name)
        if one.name in without or value is None:
            continue
        if one.name in _FLAGS:
            is_right = isinstance(value, bool)
        elif one.name in _BIG:
            is_right = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
        elif one.name in _WHOLE:
            is_right = _is_whole(value)
        elif one.name.endswith(("_w", "_c", "_percent", "_mhz", "_mb")):
            is_right = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
            value = float(value) if is_right else value
        else:
            is_right = _is_text(value)
        if is_right:
            found[one.name] = value
    return found


def _ids(told: Mapping[str, Any]) -> Key | None:
    npu, chip = told.get("npu"), told.get("chip", 0)
    return (npu, chip) if _is_whole(npu) and _is_whole(chip) else None  # type: ignore[return-value]


def _chips(value: Any) -> tuple[ChipState, ...]:
    """Those of a table; all that cannot be used are one chip of which nothing is known: never no chip."""
    listed = value if isinstance(value, list) else []
    taken = [_chip(one) if isinstance(one, Mapping) else None for one in listed[:MAX_CHIPS]]
    chips = [one for one in taken if one is not None]
    if len(chips) < len(listed):
        chips = [*chips[: MAX_CHIPS - 1], ChipState(-1, 0)]
    return tuple(chips)


def _chip(told: Mapping[str, Any]) -> ChipState | None:
    key = _ids(told)
    if key is None:
        return None
    own = _taken(ChipState, told, ("npu", "chip", "fault_codes", "values"))
    values = told.get("values")
    kept = {
        name: None if text == "NA" else text
        for name, text in (values.items() if isinstance(values, Mapping) else ())
        if _is_text(name) and _is_text(text)
    }
    codes = tuple(one for one in _list(told.get("fault_codes"))[:64] if _is_text(one))
    return ChipState(*key, fault_codes=codes, values=kept, **own)


def _process(told: Mapping[str, Any]) -> Process | None:
    key = _ids(told)
    return None if key is None else Process(*key, **_taken(Process, told, ("npu", "chip")))

"""What a setting that only guides name stands for: mssanitizer's real option with the setting's own value."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from npulse.core.dataclass import dataclass

CHECKS = ("memcheck", "racecheck", "initcheck", "synccheck")
"""The words that mssanitizer --tool takes."""

_SHORT = {
    "mem": "memcheck",
    "memory": "memcheck",
    "race": "racecheck",
    "init": "initcheck",
    "sync": "synccheck",
}
_DEFAULT = re.compile(r"\$\{\w+:?[-=]([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class RealOption:
    """use: the option as one types it. checks: those meant. unknown: words that are none."""

    use: str
    checks: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def real_option(value: str, real: Sequence[str]) -> RealOption:
    """("race,mem", ["mssanitizer --tool"]) → "mssanitizer --tool racecheck --tool memcheck".

    Of "${NAME:-value}" the value is taken; what another variable holds is not known, the option stands alone.
    """
    value = _DEFAULT.sub(r"\1", value.strip().strip("'\"")).strip()
    option = real[0]
    if not value or "$" in value or "`" in value:
        return RealOption("; ".join(real))
    if option.endswith("--log-file"):
        return RealOption(f"{option}={shlex.quote(value)}")
    if not option.endswith("--tool"):
        return RealOption("; ".join(real))
    checks: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for word in filter(None, re.split(r"[\s,;|+&'\"\[\]()]+", value.lower())):
        if word in ("all", "full"):
            checks.update(dict.fromkeys(CHECKS))
        elif (check := _SHORT.get(word, word)) in CHECKS:
            checks[check] = None
        else:
            unknown[word] = None
    use = " ".join((option, " --tool ".join(checks))) if checks else f"{option} {{{'|'.join(CHECKS)}}}"
    return RealOption(use, tuple(checks), tuple(unknown))

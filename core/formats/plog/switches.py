"""The setting under which every launch is waited for, where a log shows the command that set it."""

from __future__ import annotations

import re

SWITCH = "ASCEND_LAUNCH_BLOCKING"

_MAX_CHARS = 2000
_ASSIGNMENT = r"[A-Za-z_]\w{0,80}=(?:\"[^\"]{0,400}\"|'[^']{0,400}'|[^\s;&|\"'`]{0,400})"
# "+ " of a shell that shows what it does, "$ " and "user@host:~/x# " of a prompt
_PROMPT = r"(?:\++ |[$#>] ?|(?:\([\w.-]{1,40}\) )?\[?[\w.-]{1,40}@[\w.-]{1,60}[ :][^\s$#]{0,200}[$#] )?"
_COMMAND = (
    r"(?:[./~][^\s]{0,400}|(?:python[\d.]{0,6}|torchrun|bash|sh|source|msrun|mpirun|accelerate|deepspeed|nohup"
    r"|exec|timeout|numactl|taskset|time|stdbuf|mssanitizer|msprof)(?=\s))"
)
_SHOWN = re.compile(
    rf"{_PROMPT}(?P<set>export |declare -x |env )?(?:{_ASSIGNMENT} ){{0,20}}"
    rf"{SWITCH}=(?P<quote>[\"']?)(?P<value>[01])(?P=quote)"
    rf"(?P<end>\s*$|\s*(?:;|&&)|\s+#|(?: {_ASSIGNMENT}){{0,20}}(?:\s*$| {_COMMAND}))"
)


def switch_told(content: str) -> str | None:
    """ "1" or "0" where a line is the command that sets it, or the setting itself; None of all other texts.

    'export ASCEND_LAUNCH_BLOCKING=1', '+ ...', '$ ...', 'ASCEND_LAUNCH_BLOCKING=1 python train.py'. A
    sentence that names or advises the setting is none. Escape sequences and what a launcher wrote in front
    are the caller's to take away.
    """
    found = _SHOWN.match(content.rstrip()) if len(content) <= _MAX_CHARS else None
    return found["value"] if found is not None else None

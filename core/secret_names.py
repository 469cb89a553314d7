"""Which names of variables and flags may hold what nobody else should read."""

from __future__ import annotations

import re

HIDDEN = "***"
"""What stands in the place of such a value."""

# "num-key-value-heads" and "max-new-tokens" are none: KEY counts as the last word of a name, TOKEN as a word.
_SECRET = re.compile(
    r"PASSW(?:OR)?D|SECRET|CREDENTIAL|(?:API|ACCESS|PRIVATE)[_.-]?KEY"
    r"|(?:^|[_.-])KEY[_.-]?\d*$|(?:^|[_.-])(?:TOKEN|PASS)(?:$|[_.-])|TOKEN\d*$",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Whether a variable or flag of that name (dashes in front or not) may hold a secret."""
    return _SECRET.search(name) is not None

"""Settings that only guides name, and the options of mssanitizer that they stand for."""

from __future__ import annotations

import pytest

from npulse.core.memory.real_options import real_option

TOOL = ("mssanitizer --tool",)
LOG = ("mssanitizer --log-file",)


@pytest.mark.parametrize(
    ("value", "use", "unknown"),
    [
        ("racecheck", "mssanitizer --tool racecheck", ()),
        ("mem,RACE", "mssanitizer --tool memcheck --tool racecheck", ()),
        ("init sync", "mssanitizer --tool initcheck --tool synccheck", ()),
        ("'memcheck|memcheck'", "mssanitizer --tool memcheck", ()),
        ("memory+fast", "mssanitizer --tool memcheck", ("fast",)),
        ("leak", "mssanitizer --tool {memcheck|racecheck|initcheck|synccheck}", ("leak",)),
        ("${MODE:-synccheck}", "mssanitizer --tool synccheck", ()),
        ("$MODE", "mssanitizer --tool", ()),
        ("", "mssanitizer --tool", ()),
    ],
)
def test_checks(value: str, use: str, unknown: tuple[str, ...]) -> None:
    found = real_option(value, TOOL)
    assert (found.use, found.unknown) == (use, unknown)


def test_all_are_four() -> None:
    assert real_option("all", TOOL).checks == ("memcheck", "racecheck", "initcheck", "synccheck")


def test_a_file_is_quoted_where_a_shell_would_split_it() -> None:
    assert real_option("/tmp/o.log", LOG).use == "mssanitizer --log-file=/tmp/o.log"
    assert real_option("/tmp/my log;x", LOG).use == "mssanitizer --log-file='/tmp/my log;x'"
    assert real_option("$HOME/x.log", LOG).use == "mssanitizer --log-file"

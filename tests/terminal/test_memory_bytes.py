"""The memory pane in a real terminal: not a byte of a log or a source file acts on it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from .pty_screen import PtyProgram, plain_environ

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pseudo terminals as Linux has them"),
]

EVIL = b"\x1b]52;c;cHduZWQ=\x07\x1b]0;title\x1b\\\x1b[8m\x9b8m"
LOG = b"""\
[mssanitizer] Start memcheck sanitizer on kernel vec%(evil)sadd
====== ERROR: illegal write of size 512
======    at 0x30a00 on UB in vec%(evil)sadd
======    in block aiv(0) on device 0
======    code in pc current 0x694 (serialNo:10)
======    #0 /build/%(evil)s/ops/evil.cpp:3:9

"""
SOURCE = b"// one\n// two\nwrite(here); // %(evil)s\n// four\n"


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
def test_no_sequence_of_a_log_or_source_is_sent(tmp_path: Path, size: tuple[int, int]) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "ops").mkdir()
    (tmp_path / "run" / "check.log").write_bytes(LOG % {b"evil": EVIL})
    (tmp_path / "ops" / "evil.cpp").write_bytes(SOURCE % {b"evil": EVIL})
    words = (str(tmp_path / "run"), "--pane", "memory", "--source-root", str(tmp_path / "ops"))
    argv = (sys.executable, "-m", "npulse", *words)
    with PtyProgram(argv, plain_environ(LANG="C.UTF-8"), *size) as program:
        program.read_until(rb"write\(here\)")
        program.send(b"\r")
        program.read_until(b"All that is known")
        program.send(b"bt")
        program.read_until(b"Source, up to")
        program.send(b"bi")
        program.read_until(b"Where this comes from")
        program.send(b"bz")
        program.read_until(b"Folders in which")
        program.send(b"\x1b")
        program.read_until(b"1 report")  # Escape is alone: the pane is drawn again
        program.send(b"q")
        assert program.wait() == 0
        sent = re.sub(
            rb"\x1b\]22;[a-z]*\x07", b"", program.output
        )  # the framework's own: the pointer's shape
        assert "\N{SYMBOL FOR ESCAPE}".encode() in sent, "what was in the log is shown, not sent"
        for sequence in (b"\x1b]", b"\x1b[8m", b"\x07", b"\x1b\\", "\x9b".encode()):
            assert sequence not in sent, sent[max(0, sent.find(sequence) - 40) :][:80]

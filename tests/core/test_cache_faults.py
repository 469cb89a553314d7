"""Several processes keep results at once, and a disk that is full: what is read is whole, or missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from npulse.core.cache import Cache

SRC = Path(__file__).resolve().parents[2] / "src"

WRITER = """
import sys
import numpy as np
from pathlib import Path
from npulse.core.cache import Cache

cache, own = Cache(Path(sys.argv[1])), int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(40):
    assert cache.put("k", {"a": np.full(25_000, own)}, {"own": own}, kind="report", run="r")
"""
ON_A_FULL_DISK = """
import json, resource, signal, sys
import numpy as np
from pathlib import Path
from npulse.core.cache import Cache

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
told = []
cache = Cache(Path(sys.argv[1]), on_trouble=told.append)
kept = [cache.put("small", facts=1)]
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
kept += [cache.put("k", {"a": np.zeros(25_000)}) for _ in range(2)]
print(json.dumps([kept, told]))
"""


def started(code: str, *arguments: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", code, *arguments]
    environ = {**os.environ, "PYTHONPATH": str(SRC)}
    return subprocess.Popen(words, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_two_processes_keep_the_same_and_a_third_reads(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "npulse")
    writers = [started(WRITER, str(cache.folder), str(own)) for own in (1, 2)]
    for one in writers:
        assert one.stdout is not None and one.stdout.readline() == "ready\n"
    for one in writers:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    seen, n_read = set(), 0
    while any(one.poll() is None for one in writers):
        entry = cache.get("k", kind="report", run="r")
        if entry is None:
            assert n_read == 0, "once there is an entry there always is one"
            continue
        n_read += 1
        seen.add(entry.facts["own"])
        np.testing.assert_array_equal(entry.arrays["a"], entry.facts["own"])
        time.sleep(0.001)
    assert [one.wait() for one in writers] == [0, 0]
    assert n_read > 0 and seen <= {1, 2}
    assert [path.suffix for path in cache.folder.iterdir()] == [".npz"], "no part is left behind"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a file may not grow beyond a size")
def test_a_disk_that_is_full_is_told_once_and_leaves_nothing_behind(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "npulse")
    assert cache.put("k", {"a": np.ones(25_000)})
    told, _ = started(ON_A_FULL_DISK, str(cache.folder)).communicate(timeout=60)
    kept, trouble = json.loads(told)
    assert kept == [True, False, False] and len(trouble) == 1
    entry = cache.get("k")
    assert entry is not None and entry.arrays["a"].all(), "the entry of before"
    assert cache.get("small") is not None
    assert len(list(cache.folder.iterdir())) == 2

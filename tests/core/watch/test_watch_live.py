"""A watch and tails beside a process that writes: nothing lost, nothing twice, nothing spent when idle."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import npulse
from npulse.core.tails import Tails
from npulse.core.watch.watcher import Watch

ENV = {**os.environ, "PYTHONPATH": str(Path(npulse.__file__).parents[1])}

WRITER = """
import os, shutil, sys, time
folder, head = sys.argv[1], sys.argv[2] + "\\n"
log = os.path.join(folder, "x.log")
def opened():
    file = open(log, "a", buffering=1)
    file.write(head)
    return file
file, number, begun_s = opened(), 0, time.monotonic()
while True:
    while number < (time.monotonic() - begun_s) * 1000:
        file.write(f"record {number}")  # half a line
        file.flush()
        file.write(" end\\n")
        number += 1
        if number % 800 == 0:
            for at in (4, 3, 2, 1):
                if os.path.exists(f"{log}.{at}"):
                    os.rename(f"{log}.{at}", f"{log}.{at + 1}")
            if number % 1600:
                os.rename(log, f"{log}.1")
                file.close()
                file = opened()
            else:
                shutil.copyfile(log, f"{log}.1")
                os.truncate(log, 0)
                file.write(head)
        if number == 5200:
            print(flush=True)
    time.sleep(0.001)
"""
"""1,000 records a second, each in two writes; rotated by name and by copy in turns; the sixth is removed."""

HEAD = "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1"


class Lines:
    def __init__(self) -> None:
        self.raw = b""

    def feed(self, raw: bytes) -> None:
        self.raw += raw


def records(raw: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"record (\d+) end\n", raw)]


def test_no_record_is_lost_or_told_twice_while_a_process_writes_and_is_killed(tmp_path: Path) -> None:
    tails = Tails()
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), HEAD], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    os.set_blocking(writer.stdout.fileno(), False)
    n_batches, begun_s = 0, time.monotonic()
    found: Counter[int] = Counter()
    try:
        with Watch(tmp_path) as watch:
            for batch in watch.batches():
                n_batches += 1
                paths = [artifact.path for artifact in (*batch.run.artifacts, *batch.gone)]
                tails.begin(paths, tmp_path)
                generations = [one for path in paths for one in tails.read(path, tmp_path, Lines)]
                found = Counter(number for one in generations for number in records(one.reader.raw))
                assert set(found.values()) <= {1}
                if writer.poll() is None:
                    if writer.stdout.read():
                        writer.kill()
                        writer.wait()
                elif batch.state.has_writer is False:
                    break
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
        tails.close()
    assert set(found) == set(range(len(found))) and len(found) >= 5200
    assert n_batches <= 4 * (time.monotonic() - begun_s) + 2
    lying_there = Counter(number for path in tmp_path.iterdir() for number in records(path.read_bytes()))
    assert lying_there < found and max(lying_there) == max(found)  # the first ones were removed


IDLE = """
import json, os, sys, threading, time
from pathlib import Path
from npulse.core.watch.watcher import Watch
watch = Watch(Path(sys.argv[1]))
begun = None
def end():
    global cost
    cost = time.process_time() - begun
    watch.close()
for batch in watch.batches():
    n_artifacts = len(batch.run.artifacts)
    if begun is None:
        begun = time.process_time()
        threading.Timer(float(sys.argv[2]), end).start()
print(json.dumps({"cost_s": cost, "n": n_artifacts, "mode": batch.state.mode}))
"""


@pytest.mark.budget
def test_an_idle_watch_over_ten_thousand_files_costs_next_to_nothing(tmp_path: Path) -> None:
    idle_s = 6.0
    for number in range(100):
        folder = tmp_path / f"rank{number}"
        folder.mkdir()
        for at in range(100):
            (folder / f"{at}.log").write_text(HEAD)
    old_s = tmp_path.stat().st_mtime - 1000
    for path in tmp_path.rglob("*.log"):
        os.utime(path, (old_s, old_s))
    words = [sys.executable, "-c", IDLE, str(tmp_path), str(idle_s)]
    done = subprocess.run(words, env=ENV, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["n"], told["mode"]) == (10_000, "inotify")
    assert told["cost_s"] <= 0.01 * idle_s

"""A capture from start to end with real processes: what is in the round, who is left, what is told."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from npulse.core.capture.driver import StopStep
from npulse.core.capture.events import Event, RoundOpened, Running, Started, Stopping, Switched
from npulse.core.capture.process import Patience
from npulse.core.capture.session import HeldBack, RoundResult, capture
from npulse.core.capture.stop import StopRequests
from npulse.core.capture.switching import switch_round
from npulse.core.errors import EnvironmentLacks, InputError, UsageError
from npulse.core.formats.environment import read_environment
from npulse.core.run.discover import discover

from .doubles import (
    WRITES,
    PlainDriver,
    all_left,
    is_read_only,
    living_of,
    manifest_of,
    nothing_else_written,
    python,
    request_for,
    rounds_of,
    until,
)

SHORT = Patience(0.3, 0.3, 2.0)
QUICK = (StopStep(signal.SIGINT, 0.3), StopStep(signal.SIGTERM, 0.3))


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Path]:
    """Holds of every test here: nothing beside the archive is written, no process is left."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "script.py").write_text("pass\n")
    folder = tmp_path / "work" / "diag"
    with nothing_else_written(tmp_path, folder):
        yield folder
    assert all_left(tmp_path) == []


class Watched:
    """Collects the events; `on` maps a type to what is done at its first event."""

    def __init__(self, **on: Any) -> None:
        self.events: list[Event] = []
        self._on = on

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        action = self._on.pop(type(event).__name__, None)
        if action is not None:
            action(event)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def run(archive: Path, code: str, driver: PlainDriver | None = None, **words: Any) -> RoundResult:
    """The only round of one capture."""
    options = {name: words.pop(name) for name in ("on_event", "stop", "is_forced") if name in words}
    request = request_for(archive, words.pop("command", python(code)), **words)
    results = capture(request, driver or PlainDriver(), patience=SHORT, **options)
    assert len(results) == 1
    return results[0]


# ---- what is in a round ----


def test_a_round_says_what_was_run_and_what_it_left(archive: Path) -> None:
    source = archive.parent / "script.py"
    result = run(archive, WRITES + "print('hello'); raise SystemExit(3)", keep_inputs=(source,), name="a b/c")
    table = manifest_of(result.folder)
    assert result.folder.parent == archive / "dump" and result.folder.name.startswith("a-b-c_2")
    assert table["schema"] == 1 and table["state"] == "closed" and table["exit_status"] == 3
    assert table["recorded"]["outcome"] == "recorded" and table["recorded"]["size_bytes"] == 100
    assert table["recorded"]["steps"] == [0, 1] and table["recorded"]["n_operators"] == 3
    assert table["command"][:3] == list(python("")[:3]) and table["kind"] == "precision"
    (kept,) = table["inputs"]
    digest = hashlib.sha256(b"pass\n").hexdigest()
    assert kept["sha256"] == digest and kept["size_bytes"] == 5 and kept["path"] == str(source)
    assert (result.folder / kept["copy"]).read_bytes() == b"pass\n"
    assert (result.folder / "console.log").read_text() == "hello\n"
    assert (result.folder / "config.json").read_text() == '{"step": []}\n'
    config = hashlib.sha256(b'{"step": []}\n').hexdigest()
    assert table["config_files"] == [{"name": "config.json", "sha256": config}]
    assert is_read_only(result.folder / "raw")
    assert sorted(path.name for path in result.folder.iterdir()) == [
        *("config.json", "console.log", "inputs", "raw", "round.toml"),
    ]


def test_the_manifest_is_there_and_says_running_before_the_tool_starts(archive: Path) -> None:
    seen: list[dict[str, Any]] = []

    def look(event: Any) -> None:
        (folder,) = rounds_of(archive)
        seen.append(manifest_of(folder))

    watched = Watched(RoundOpened=look, Started=look)
    run(archive, WRITES, on_event=watched)
    first, second = seen
    assert first["state"] == second["state"] == "running"
    assert "tool_pid" not in first["process"] and first["process"]["npulse_pid"] == os.getpid()
    assert second["process"]["tool_pid"] == watched.of(Started)[0].pid
    assert second["process"]["tool_start_ticks"] > 0


def test_settings_that_matter_are_kept_and_secrets_are_not(archive: Path) -> None:
    environment = {
        "ASCEND_WORK_PATH": "/a",
        "HCCL_TOKEN": "geheim",
        "MY_OWN": "1",
        "INF_NAN_MODE_ENABLE": "1",
    }
    words = ("--query-key", "--api-key", "geheim", "--password=geheim", "--lr", "1")
    result = run(archive, "", command=python("", *words), environment=environment)
    text = (result.folder / "round.toml").read_text()
    assert "geheim" not in text and "MY_OWN" not in text
    table = manifest_of(result.folder)
    assert table["command"][-6:] == ["--query-key", "--api-key", "***", "--password=***", "--lr", "1"]
    found = read_environment(result.folder / "round.toml")
    mode = found.get("INF_NAN_MODE_ENABLE")
    assert mode is not None and mode.value == "1" and found.problems == ()
    flag = found.flag("lr")
    assert flag is not None and flag.value == "1"


def test_discovery_sees_rounds_in_their_order(archive: Path) -> None:
    command = python(WRITES)
    results = capture(request_for(archive, command, repeat=3), PlainDriver(), patience=SHORT)
    assert len({result.folder for result in results}) == 3
    run_found = discover(archive)
    assert [one.name for one in run_found.rounds] == [result.folder.name for result in results]


# ---- attempts ----

COUNTS = (
    "import os, sys; n = len(os.listdir(os.environ['FAKE_RAW'] + '/../..'))\n"
    "open(os.environ['FAKE_RAW'] + ('/fault' if n == 3 else '/clean'), 'w').write('x')\n"
)


@pytest.mark.parametrize("keep_last", [False, True])
def test_attempts_end_with_the_one_that_shows_the_fault(archive: Path, keep_last: bool) -> None:
    request = request_for(archive, python(COUNTS), repeat=9, keep_last=keep_last)
    results = capture(request, PlainDriver(), patience=SHORT)
    assert [result.recorded.is_failure for result in results] == [False, False, True]
    assert [manifest_of(result.folder)["attempt"] for result in results] == [1, 2, 3]
    has_raw = [(result.folder / "raw").exists() for result in results]
    assert has_raw == ([False, False, True] if keep_last else [True, True, True])
    assert manifest_of(results[0].folder).get("raw_removed", False) is keep_last


def test_a_program_that_fails_by_itself_ends_the_attempts(archive: Path) -> None:
    request = request_for(archive, python(WRITES + "raise SystemExit(1)"), repeat=5)
    assert len(capture(request, PlainDriver(), patience=SHORT)) == 1


# ---- how it ends ----

WAITS = WRITES + "import time; print('ready', flush=True); time.sleep(600)"
DEAF = "import signal; [signal.signal(n, signal.SIG_IGN) for n in (2, 15)]\n" + WAITS


def asked_when_ready(stop: StopRequests, times: int = 1) -> Watched:
    """Asks to stop as soon as the program says that it is ready."""

    def ask(event: Any) -> None:
        for _ in range(times):
            stop.ask("user")

    return Watched(Output=ask)


def test_a_wish_to_stop_is_heard(archive: Path) -> None:
    stop = StopRequests()
    result = run(archive, WAITS, stop=stop, on_event=asked_when_ready(stop), repeat=3)
    table = manifest_of(result.folder)
    assert table["stopped_by"] == "user" and table["signal"] == signal.SIGINT
    assert [(one["sent"], one["has_ended"]) for one in table["stop"]] == [("SIGINT", True)]


def test_a_tool_that_hangs_at_its_end_is_killed(archive: Path) -> None:
    stop, driver = StopRequests(), PlainDriver()
    driver.stop = QUICK
    result = run(archive, DEAF, driver, stop=stop, on_event=asked_when_ready(stop))
    table = manifest_of(result.folder)
    assert [one["sent"] for one in table["stop"]] == ["SIGINT", "SIGTERM", "SIGKILL"]
    assert [one["has_ended"] for one in table["stop"]] == [False, False, True]
    assert table["is_killed"] and table["recorded"]["outcome"] == "incomplete"


def test_further_wishes_go_on_at_once(archive: Path) -> None:
    """Three wishes: no rung of a ladder of minutes is waited for."""
    stop, driver = StopRequests(), PlainDriver()
    driver.stop = (StopStep(signal.SIGINT, 300), StopStep(signal.SIGTERM, 300))
    result = run(archive, DEAF, driver, stop=stop, on_event=asked_when_ready(stop, times=3))
    table = manifest_of(result.folder)
    assert [one["sent"] for one in table["stop"]] == ["SIGINT", "SIGTERM", "SIGKILL"]
    assert table["duration_s"] < 60


LISTENS = WRITES + "print('ready', flush=True)\nfor line in iter(input, '{}'): print('got', line, flush=True)"


def test_lines_go_to_its_input(archive: Path) -> None:
    code = (
        WRITES + "print('ready', flush=True)\nfor line in iter(input, 'quit'): print('got', line, flush=True)"
    )
    stop, driver = StopRequests(), PlainDriver()
    driver.first_lines, driver.stop = ("start",), (StopStep("stop", 0.2), StopStep("quit", 20.0))
    result = run(archive, code, driver, stop=stop, on_event=asked_when_ready(stop))
    table = manifest_of(result.folder)
    assert (result.folder / "console.log").read_text() == "ready\ngot start\ngot stop\n"
    assert [one["sent"] for one in table["stop"]] == ['"stop"', '"quit"'] and table["exit_status"] == 0


def test_recording_is_switched_while_it_runs(archive: Path) -> None:
    code = (
        WRITES + "print('ready', flush=True)\nfor line in iter(input, 'stop'): print('got', line, flush=True)"
    )
    driver = PlainDriver()
    driver.first_lines = ("first",)

    def switch(event: Any) -> None:
        (folder,) = rounds_of(archive)
        switch_round(folder, True)
        switch_round(folder, False)

    with pytest.MonkeyPatch.context() as patch:
        from .doubles import register

        register(patch.setitem)
        watched = Watched(Output=switch)
        result = run(archive, code, driver, on_event=watched)
    assert [event.is_on for event in watched.of(Switched)] == [True, False]
    assert [one["is_on"] for one in manifest_of(result.folder)["switched"]] == [True, False]
    assert (result.folder / "console.log").read_text() == "ready\ngot first\ngot start\n"


def test_time_is_limited(archive: Path) -> None:
    result = run(archive, WAITS, timeout_s=0.2)
    assert manifest_of(result.folder)["stopped_by"] == "timeout"


def test_a_driver_ends_it_at_the_first_anomaly(archive: Path) -> None:
    code = "import os; open(os.environ['FAKE_RAW'] + '/fault', 'w').write('x')\n" + WAITS
    watched = Watched()
    result = run(archive, code, stop_at_first=True, on_event=watched)
    assert manifest_of(result.folder)["stopped_by"] == "first-anomaly"
    assert watched.of(Stopping)[0].reason == "first-anomaly" and watched.of(Running)


def test_killed_from_outside(archive: Path) -> None:
    watched = Watched(Started=lambda event: os.kill(event.pid, signal.SIGKILL))
    result = run(archive, WAITS, on_event=watched)
    table = manifest_of(result.folder)
    assert table["signal"] == signal.SIGKILL and table["stopped_by"] == "" and not table["is_killed"]
    assert "exit_status" not in table and table["recorded"]["outcome"] in ("nothing", "incomplete")


def test_one_that_ends_at_once_recorded_nothing(archive: Path) -> None:
    result = run(archive, "")
    table = manifest_of(result.folder)
    assert (
        table["exit_status"] == 0 and table["recorded"]["outcome"] == "nothing" and table["recorded"]["why"]
    )


# ---- the second command ----

EXPORTS = "import os; open(os.environ['FAKE_RAW'] + '/export', 'w').write('x'); print('exported')"


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_second_command_runs_also_after_a_wish_to_stop(archive: Path, is_stopped: bool) -> None:
    stop, driver = StopRequests(), PlainDriver()
    driver.after = python(EXPORTS)
    code = WAITS if is_stopped else WRITES + "print('ready')"
    watched = asked_when_ready(stop) if is_stopped else Watched()
    result = run(archive, code, driver, stop=stop, on_event=watched)
    table = manifest_of(result.folder)
    assert (result.folder / "raw" / "export").exists() and is_read_only(result.folder / "raw")
    assert (result.folder / "finish.log").read_text() == "exported\n"
    assert table["finish"]["exit_status"] == 0 and table["finish"]["stopped_by"] == ""
    assert table["stopped_by"] == ("user" if is_stopped else "")
    assert [event.is_finish for event in watched.of(Started)] == [False, True]


def test_after_a_hang_up_the_second_command_is_left_out_and_named(archive: Path) -> None:
    stop, driver = StopRequests(), PlainDriver()
    driver.after = python(EXPORTS)
    result = run(archive, WAITS, driver, stop=stop, on_event=Watched(Output=lambda _: stop.ask("hang-up")))
    table = manifest_of(result.folder)
    assert not (result.folder / "raw" / "export").exists() and "error" in table["finish"]
    assert any("left out" in line and "/export" in line for line in table["warnings"])


def test_a_second_command_that_cannot_be_started_is_said(archive: Path) -> None:
    driver = PlainDriver()
    driver.after = ("no-such-program",)
    result = run(archive, WRITES, driver)
    table = manifest_of(result.folder)
    assert table["state"] == "closed" and table["recorded"]["outcome"] == "recorded"
    assert any("no-such-program" in line for line in table["warnings"])


# ---- what stays behind ----

DAEMON = WRITES + (
    "import os, time, sys\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    "        {first}\n"
    "        open(os.environ['FAKE_RAW'] + '/daemon', 'w').write(str(os.getpid()))\n"
    "        time.sleep(600)\n"
    "    os._exit(0)\n"
    "while not os.path.exists(os.environ['FAKE_RAW'] + '/daemon'): time.sleep(0.01)\n"
)


@pytest.mark.parametrize(
    ("first", "ended_by"),
    [
        ("pass", "SIGTERM"),
        ("import signal; signal.signal(15, signal.SIG_IGN)", "SIGKILL"),
    ],
)
def test_children_that_daemonise_are_found_and_ended(archive: Path, first: str, ended_by: str) -> None:
    result = run(archive, DAEMON.format(first=first))
    table = manifest_of(result.folder)
    pid = int((result.folder / "raw" / "daemon").read_text())
    assert [(one["pid"], one["ended_by"]) for one in table["left_over"]] == [(pid, ended_by)]
    assert living_of(table["id"]) == [] and not Path(f"/proc/{pid}").exists(), "nor as a zombie"
    assert any("outlived" in line for line in table["warnings"])


def test_a_process_that_was_attached_to_is_left_alone(archive: Path) -> None:
    """Even where it carries the marker: whoever attaches does not own it."""
    import subprocess

    other = subprocess.Popen(python("import time; time.sleep(600)"))
    try:
        result = run(archive, WRITES, pid=other.pid)
        assert other.poll() is None and manifest_of(result.folder)["recorded"]["outcome"] == "recorded"
    finally:
        other.kill()
        other.wait()


# ---- what cannot be started ----


def test_the_preflight_holds_back_before_anything_is_written(archive: Path) -> None:
    with pytest.raises(HeldBack) as caught:
        run(archive, "", command=("no-such-program",))
    assert "no-such-program" in str(caught.value) and caught.value.exit_code == 3
    assert not archive.exists()


def test_forced_it_closes_the_round_and_says_why(archive: Path) -> None:
    with pytest.raises(EnvironmentLacks):
        run(archive, "", command=("no-such-program",), is_forced=True)
    (folder,) = rounds_of(archive)
    table = manifest_of(folder)
    assert table["state"] == "closed" and table["recorded"]["outcome"] == "nothing"
    assert "cannot be started" in table["recorded"]["why"] and is_read_only(folder / "raw")


def test_a_driver_that_fails_leaves_a_closed_round_and_no_process(archive: Path) -> None:
    class Failing(PlainDriver):
        def progress(self, raw: Path) -> Any:
            raise RuntimeError("out of order")

    with pytest.raises(RuntimeError):
        run(archive, WAITS, Failing())
    (folder,) = rounds_of(archive)
    table = manifest_of(folder)
    assert table["state"] == "closed" and "out of order" in table["recorded"]["why"]


def test_a_disk_that_refuses_the_files_of_the_plan(archive: Path) -> None:
    class Refused(PlainDriver):
        n_asked = 0

        def plan(self, request: Any, round_folder: Path) -> Any:
            self.n_asked += 1
            if self.n_asked > 1:  # the first one is the preflight's
                raise OSError(28, "No space left on device")
            return super().plan(request, round_folder)

    with pytest.raises(InputError) as caught:
        run(archive, WRITES, Refused())
    (folder,) = rounds_of(archive)
    assert "No space left" in str(caught.value) and manifest_of(folder)["state"] == "closed"


def test_a_file_where_the_archive_should_be(archive: Path) -> None:
    archive.write_text("")
    with pytest.raises(InputError):
        run(archive, WRITES, is_forced=True)
    archive.unlink()


def test_captures_at_the_same_time_do_not_disturb_each_other(archive: Path) -> None:
    results: list[RoundResult] = []
    command = python(DAEMON.format(first="pass"))

    def one() -> None:
        results.extend(capture(request_for(archive, command), PlainDriver(), patience=SHORT))

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: len(results) == 3)
    assert {manifest_of(result.folder)["state"] for result in results} == {"closed"}
    assert len({result.folder for result in results}) == 3


def test_a_wish_to_stop_before_the_start_starts_nothing(archive: Path) -> None:
    stop = StopRequests()
    seen: list[Any] = []

    def on_event(event: Any) -> None:
        seen.append(event)
        if isinstance(event, RoundOpened):
            stop.ask("user")

    request = request_for(archive, python(WRITES), repeat=3)
    (result,) = capture(request, PlainDriver(), on_event=on_event, stop=stop, patience=SHORT)
    assert not any(isinstance(event, Started) for event in seen)
    assert result.ended is None and result.recorded.outcome == "nothing"
    table = manifest_of(result.folder)
    assert (table["state"], table["stopped_by"]) == ("closed", "user")
    assert "before the tool was started" in table["recorded"]["why"]


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_time_that_is_none_is_refused(archive: Path, seconds: float) -> None:
    with pytest.raises(UsageError):
        capture(request_for(archive, python(""), timeout_s=seconds), PlainDriver())
    assert not archive.exists()

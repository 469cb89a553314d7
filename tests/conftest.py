"""What every test gets: its own state folders, a plain environment, and the real files if there are any."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

REPO = Path(__file__).resolve().parents[1]
NOT_FOUND = "NPULSE_SHARED not found"
REAL_FOLDERS = ("tests/real/", "tests/cases/")
NEEDS_CHROMIUM = "needs chromium"

# Whatever the caller's shell says about colours, language, multiplexer or size must not change a result.
_SHELL_WORDS = (
    *("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "LINES"),
    *("TMUX", "TMUX_PANE", "STY", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "EDITOR", "VISUAL"),
    *("LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANGUAGE"),
)
_KEPT = {
    *("NPULSE_SHARED", "NPULSE_REQUIRE_SHARED", "NPULSE_REQUIRE_CHROMIUM"),
    *("NPULSE_EXAMPLES", "NPULSE_PEER"),
}
_FIXED = {"LANG": "C.UTF-8", "TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none"}
_STATE_WORDS = {"NPULSE_STATE_DIR": "state", "NPULSE_CONFIG_DIR": "config", "NPULSE_CACHE_DIR": "cache"}


def pytest_configure() -> None:
    settings.register_profile(
        "npulse",
        deadline=None,
        derandomize="CI" in os.environ,
        max_examples=int(os.environ.get("NPULSE_EXAMPLES", "50")),
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("npulse")
    for name in [n for n in os.environ if n in _SHELL_WORDS or (n.startswith("NPULSE_") and n not in _KEPT)]:
        del os.environ[name]
    os.environ.update(_FIXED)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:  # by nohup or `&`: programs of tests would inherit it
            signal.signal(number, lambda *_: None)
    # A plugin may have imported Textual already; it reads this word only at import.
    constants = sys.modules.get("textual.constants")
    if constants is not None:
        constants.TEXTUAL_ANIMATIONS = "none"  # type: ignore[attr-defined]
    named = os.environ.get("NPULSE_SHARED")
    if named and not _is_shared(Path(named)):
        raise pytest.UsageError(f"NPULSE_SHARED={named}: no folder with samples/ and cases/ in it")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Tests are collected once and kept to the end: the garbage collector does not go through them again."""
    gc.disable()
    try:
        _load_share(session.config)
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(100_000, 50, 100)  # apps of tests are many small objects: a fifth of their time else


def _load_share(config: pytest.Config) -> None:
    """Each worker begins with modules of its own: it finds the others rewritten and compiled by theirs,
    where all of them would do the same work at the same time. Errors are told when modules are collected."""
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None or config.args != ["tests"]:
        return
    modules = sorted((REPO / "tests").rglob("test_*.py"))
    for path in modules[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(path.relative_to(REPO).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run side by side, those that take the time run one after another; those that nothing may
    run beside come last of them, when what was installed beside the first tests is done."""
    items.sort(key=lambda item: item.get_closest_marker("alone") is not None)
    for item in items:
        if item.get_closest_marker("budget") or item.nodeid.startswith("tests/terminal/"):
            item.add_marker(pytest.mark.xdist_group("timed"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test marked `alone` waits until no other worker is in a test, and the others wait for it: what runs
    beside it takes caches and memory from one side of a ratio of processor times more than from the other."""
    worker: dict[str, Any] | None = getattr(item.config, "workerinput", None)
    if worker is None:
        return (yield)
    import fcntl

    how = fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH
    gate, room = (_opened(path) for path in _lock_files(worker))
    fcntl.flock(gate, how)  # who waits for the room alone stands here, so that nobody else enters it
    fcntl.flock(room, how)
    if how == fcntl.LOCK_SH:
        fcntl.flock(gate, fcntl.LOCK_UN)
    try:
        return (yield)
    finally:
        fcntl.flock(room, fcntl.LOCK_UN)
        fcntl.flock(gate, fcntl.LOCK_UN)


def _lock_files(worker: dict[str, Any]) -> list[Path]:
    run = f"npulse-tests-{worker['testrunuid']}"
    return [Path(tempfile.gettempdir(), f"{run}.{name}") for name in ("gate", "room")]


@cache
def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


# ---- real files ----


def _is_shared(path: Path) -> bool:
    return (path / "samples").is_dir() and (path / "cases").is_dir()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with samples/ and cases/; a test that asks for it is skipped where there is none."""
    path = Path(os.environ.get("NPULSE_SHARED") or REPO.parent / "shared").resolve()
    if not _is_shared(path):
        pytest.skip(NOT_FOUND)
    return path


# test that did not run -> why: those on real files, those in a browser
_skipped: dict[str, dict[str, str]] = {"on real files": {}, "in a browser": {}}
_REQUIRED_BY = {"on real files": "NPULSE_REQUIRE_SHARED", "in a browser": "NPULSE_REQUIRE_CHROMIUM"}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note_skip(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note_skip(report)


def _note_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if report.nodeid.startswith(REAL_FOLDERS) or reason == NOT_FOUND:
        _skipped["on real files"][report.nodeid] = reason
    elif reason.startswith(NEEDS_CHROMIUM):
        _skipped["in a browser"][report.nodeid] = reason


def _is_short(kind: str) -> bool:
    """Were tests of this kind skipped where none of them may be?"""
    return bool(_skipped[kind]) and os.environ.get(_REQUIRED_BY[kind]) == "1"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    for path in _lock_files(worker) if (worker := getattr(session.config, "workerinput", None)) else ():
        path.unlink(missing_ok=True)  # the other workers have it open
    if session.exitstatus == pytest.ExitCode.OK and any(map(_is_short, _skipped)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for kind, tests in _skipped.items():
        if tests:
            reasons = "; ".join(sorted(set(tests.values())))
            terminalreporter.write_line(f"npulse: {len(tests)} tests {kind} skipped ({reasons})")
        for nodeid in sorted(tests) if _is_short(kind) else ():
            terminalreporter.write_line(f"npulse: {_REQUIRED_BY[kind]}=1, yet skipped: {nodeid}", red=True)


# ---- own folders ----


@pytest.fixture(scope="session", autouse=True)
def _state_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where this session's state goes, for fixtures that live longer than one test too."""
    root = tmp_path_factory.mktemp("npulse")
    with pytest.MonkeyPatch.context() as patch:
        for word, folder in _STATE_WORDS.items():
            patch.setenv(word, str(root / "session" / folder))
        yield root


_numbers = count()


@pytest.fixture(autouse=True)
def _own_state(_state_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """State, config and cache folders of this test alone: named, not made, and outside its tmp_path."""
    root = _state_root / str(next(_numbers))
    for word, folder in _STATE_WORDS.items():
        monkeypatch.setenv(word, str(root / folder))

"""pytest plug-in: the fixture `npulse_run` asks of a run in a test what the commands ask in a shell.

    def test_the_network_still_agrees(npulse_run):
        run = npulse_run("diag/dump/newest", golden="golden")
        assert run.max_error < 0.02
        run.assert_clean()

Options: --npulse-criteria FILE, --npulse-baseline FILE (ini: npulse_criteria, npulse_baseline; relative to
the ini file). Nothing of npulse is loaded before a test asks for a run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

import pytest

if TYPE_CHECKING:
    from npulse.core.api import (
        CheckUpReport,
        DeviceReport,
        MemoryReport,
        OverflowReport,
        PerformanceReport,
        PrecisionReport,
    )
    from npulse.core.findings import Finding, Report, Verdict

AnswerT = TypeVar("AnswerT")
StrPath = str | PathLike[str]
_SETTINGS = (
    ("criteria", "criteria file of npulse check"),
    ("baseline", "JSON of an earlier npulse check: only what is new or worse fails"),
)
_SHOWN = 5


class OpenRun(Protocol):
    """What `npulse_run` is: a function that opens a run."""

    def __call__(
        self,
        path: StrPath,
        golden: StrPath | None = None,
        criteria: StrPath | None = None,
        baseline: StrPath | None = None,
    ) -> NpulseRun: ...


class NpulseRun:
    """A run under test; every area is asked once, when it is needed.

    golden: a capture elsewhere to compare with; without one the run holds both sides.
    """

    def __init__(
        self,
        path: Path,
        golden: Path | None = None,
        criteria: Path | None = None,
        baseline: Path | None = None,
    ) -> None:
        self.path = path
        self.golden = golden
        self.criteria = criteria
        self.baseline = baseline
        self._asked: dict[str, object] = {}

    @property
    def max_error(self) -> float:
        """Largest relative L2 error of a compared tensor; see `precision()`."""
        return self.precision().max_error

    @property
    def verdict(self) -> Verdict:
        """Of the check-up, and of the comparison where a golden capture was named."""
        from npulse.core.findings import worst_verdict

        return worst_verdict(report.verdict for report in self._reports())

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of the check-up, and of the comparison where a golden capture was named; the first one first."""
        return tuple(finding for report in self._reports() for finding in report.findings)

    def check(self) -> CheckUpReport:
        """All areas against the criteria, without what silences and baseline set aside."""
        import npulse

        return self._once("check", lambda: npulse.check(self.path, self.criteria, baseline=self.baseline))

    def precision(self) -> PrecisionReport:
        """The comparison of the two captures. InputError where there are none."""
        import npulse

        return self._once("precision", lambda: npulse.compare(self.path, self.golden))

    def overflow(self) -> OverflowReport:
        """Where NaN, Inf or saturation begins. InputError where there is nothing to look at."""
        import npulse

        return self._once("overflow", lambda: npulse.first_overflow(self.path))

    def memory(self) -> MemoryReport:
        """Memory faults by code site. InputError where there is no log."""
        import npulse

        return self._once("memory", lambda: npulse.memory(self.path))

    def performance(self) -> PerformanceReport:
        """What takes the time. InputError where there is no profile."""
        import npulse

        return self._once("performance", lambda: npulse.performance(self.path))

    def device(self) -> DeviceReport:
        """The cards. InputError where nothing tells of them."""
        import npulse

        return self._once("device", lambda: npulse.device(self.path))

    def assert_clean(self, *, allow_unknown: bool = False) -> None:
        """Fail the test unless the verdict is pass or warn; the message names the origin and the next step.

        allow_unknown: what could not be judged (but not what could not be read) is no failure.
        """
        __tracebackhide__ = True
        good = ("pass", "warn", "unknown") if allow_unknown else ("pass", "warn")
        if self.verdict not in good:
            pytest.fail("\n".join(self.told()), pytrace=False)

    def told(self) -> list[str]:
        """The verdict, the first findings with their next step, and the command that shows all of it."""
        from npulse.core.text import command_line, safe_text

        order = {"error": 0, "warning": 1, "note": 2}
        loud = sorted((f for f in self.findings if f.severity != "note"), key=lambda f: order[f.severity])
        lines = [f"npulse: {self.verdict.upper()}  {safe_text(str(self.path))}"]
        for finding in loud[:_SHOWN]:
            lines.append(f"  {finding.role} {safe_text(finding.subject)}  [{finding.rule}]")
            lines.append(f"    {safe_text(finding.message)}")
            if finding.next_step:
                lines.append(f"    next: {safe_text(finding.next_step)}")
        if len(loud) > _SHOWN:
            lines.append(f"  ... {len(loud) - _SHOWN} more")
        problems = dict.fromkeys(problem for report in self._reports() for problem in report.problems)
        for one in list(problems)[:_SHOWN]:
            lines.append(f"  could not be read: {safe_text(one.artifact)}: {safe_text(one.message)}")
        words = ["npulse", "check", str(self.path)]
        for option, value in (("--criteria", self.criteria), ("--baseline", self.baseline)):
            words += [option, str(value)] if value is not None else []
        lines.append(f"  all of it: {command_line(words)}")
        if self.golden is not None:
            words = ["npulse", "precision", str(self.path), str(self.golden)]
            lines.append(f"             {command_line(words)}")
        return lines

    def _reports(self) -> list[Report]:
        own = [self.check().report]
        return [self.precision().report, *own] if self.golden is not None else own

    def _once(self, name: str, ask: Callable[[], AnswerT]) -> AnswerT:
        if name not in self._asked:
            self._asked[name] = ask()
        return cast("AnswerT", self._asked[name])

    @property
    def is_asked(self) -> bool:
        """Whether a test has looked at anything yet."""
        return bool(self._asked)


_RUNS = pytest.StashKey[list[NpulseRun]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, and the same as settings of the ini file."""
    group = parser.getgroup("npulse", "runs of Ascend NPU jobs")
    for name, text in _SETTINGS:
        group.addoption(f"--npulse-{name}", metavar="FILE", help=text)
        parser.addini(f"npulse_{name}", text)


@pytest.fixture
def npulse_run(request: pytest.FixtureRequest) -> OpenRun:
    """Opens a run: npulse_run(path, golden=None, criteria=None, baseline=None) -> NpulseRun."""
    runs = request.node.stash.setdefault(_RUNS, [])

    def open_run(
        path: StrPath,
        golden: StrPath | None = None,
        criteria: StrPath | None = None,
        baseline: StrPath | None = None,
    ) -> NpulseRun:
        run = NpulseRun(
            Path(path),
            Path(golden) if golden is not None else None,
            Path(criteria) if criteria is not None else _setting(request.config, "criteria"),
            Path(baseline) if baseline is not None else _setting(request.config, "baseline"),
        )
        runs.append(run)
        return run

    return open_run


def _setting(config: pytest.Config, name: str) -> Path | None:
    """The option, else the setting of the ini file; None for neither."""
    given = config.getoption(f"npulse_{name}")
    if given:
        return config.invocation_params.dir / str(given)
    told = str(config.getini(f"npulse_{name}") or "")
    return (config.inipath.parent if config.inipath else config.rootpath) / told if told else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test tells what npulse says of the runs that it looked at."""
    report = yield
    if report.when == "call" and report.failed:
        for run in item.stash.get(_RUNS, []):
            if run.is_asked:
                report.sections.append((f"npulse {run.path}", _section(run)))
    return report


def _section(run: NpulseRun) -> str:
    """What is known; a run that cannot be read says so and hides nothing of the test's own failure."""
    from npulse.core.errors import NpulseError

    try:
        return "\n".join(run.told())
    except NpulseError as error:
        return "\n".join(filter(None, (str(error), error.hint)))

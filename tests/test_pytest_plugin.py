"""The pytest plug-in, in a pytest of its own: what a test gets, and what a failure says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import npulse
from npulse.pytest_plugin import NpulseRun

pytest_plugins = ["pytester"]
ROOT = str(Path(npulse.__file__).parents[1])
FAULT = (
    "====== ERROR: illegal write of size 4\n======    at 0x30a00 on GM in add_custom\n"
    "======    in block aiv(0) on device 0\n======    code in pc current 0x694 (serialNo:10)\n"
    "======    #0 /build/add.cpp:38:9\n\n"
)
TESTS = """
from npulse.sample_runs import sample_path

def test_figures(npulse_run):
    run = npulse_run(sample_path() / "round2" / "target", golden=sample_path() / "golden")
    assert 0.01 < run.max_error < 0.1
    assert run.precision() is run.precision()
    assert run.precision().verdict == "warn"

def test_clean(npulse_run):
    npulse_run("job").assert_clean()

def test_silenced(npulse_run):
    run = npulse_run("job", criteria="silences.toml")
    assert run.memory().max_error == 1 and run.check().verdict == run.verdict == "unknown"
    run.assert_clean(allow_unknown=True)

def test_own_failure(npulse_run):
    assert npulse_run("job").memory().max_error == 0

def test_no_run(npulse_run):
    npulse_run("nowhere").assert_clean()

def test_unused(npulse_run):
    npulse_run("nowhere")
"""


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this checkout's own tests have nothing to do in the inner pytest, and tidy up too early."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def test_what_a_test_gets_and_what_a_failure_says(pytester: pytest.Pytester) -> None:
    pytester.mkdir("job").joinpath("mssanitizer.log").write_text(FAULT)
    silence = '[[silence]]\nrule = "*"\nreason = "known"\nuntil = 2999-01-01\n'
    pytester.path.joinpath("silences.toml").write_text(silence)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_inprocess("-p", "npulse.pytest_plugin", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*_ test_clean _*",
            "npulse: FAIL  job",
            "  origin /build/add.cpp:38  *memory.access*",
            "    next: Compare the address*",
            "  all of it: npulse check job",
            "*_ test_own_failure _*",
            "*- npulse job -*",
            "  origin /build/add.cpp:38  *memory.access*",
            "*_ test_no_run _*",
            "*InputError*nowhere*",
        ]
    )


def test_a_baseline_and_criteria_of_the_command_line_or_the_ini_file(pytester: pytest.Pytester) -> None:
    job = pytester.mkdir("job")
    job.joinpath("mssanitizer.log").write_text(FAULT)
    from npulse.tui.cli.main import run

    assert run(["check", str(job), "-o", "base.json"]) == 1
    test = "def test(npulse_run): npulse_run('job').assert_clean(allow_unknown=True)"
    pytester.makepyfile(test)
    plain = ("-p", "npulse.pytest_plugin", "-p", "no:cacheprovider")
    pytester.runpytest_inprocess(*plain).assert_outcomes(failed=1)
    pytester.runpytest_inprocess(*plain, "--npulse-baseline", "base.json").assert_outcomes(passed=1)
    pytester.makeini("[pytest]\nnpulse_baseline = base.json\nnpulse_criteria = gone.toml\n")
    result = pytester.runpytest_inprocess(*plain)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*gone.toml*"])


def test_nothing_is_loaded_before_a_test_asks() -> None:
    code = (
        f"import sys; sys.path.insert(0, {ROOT!r}); import pytest; before = set(sys.modules)\n"
        "import npulse.pytest_plugin\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["npulse", "npulse.pytest_plugin"]


def test_commands_can_be_pasted_where_names_hold_spaces(tmp_path: Path) -> None:
    folder = tmp_path / "my job"
    folder.mkdir()
    told = NpulseRun(folder, criteria=None).told()
    assert told[-1] == f"  all of it: npulse check '{folder}'"

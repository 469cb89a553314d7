"""Every real file that the samples' READMEs list is recognised as what it is, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from npulse.core.run.discover import discover
from npulse.core.run.model import Artifact, Run
from npulse.core.run.sides import capture_pairs, pair_of, unpaired_captures

# Pattern of a file (relative to samples/) -> kind; the first pattern that fits counts. None: no artifact.
EXPECTED: tuple[tuple[str, str | None], ...] = (
    ("*.md", None),
    ("*.cpp", None),
    ("*/README.txt", None),
    ("*/expected.json", None),
    ("*/op_param.json", None),  # inside an ATB dump
    # msprobe
    ("msprobe/misc/debug.json", "msprobe.dump"),
    ("msprobe/misc/derived_truncated_dump.json", "msprobe.dump"),
    ("msprobe/*/dump.json", "msprobe.dump"),
    ("msprobe/*/stack.json", "msprobe.dump"),
    ("msprobe/*/construct.json", "msprobe.dump"),
    ("msprobe/*/dump_tensor_data/*", "msprobe.dump"),
    ("msprobe/*/npu_config.json", "msprobe.config"),
    ("msprobe/misc/api_precision_compare_*.csv", "msprobe.api_precision_compare"),
    ("msprobe/*compare_result_*", "msprobe.compare_result"),
    ("msprobe/*/advisor_*.txt", "msprobe.compare_advisor"),
    ("msprobe/*/anomaly_analyze_*.json", "msprobe.overflow_check"),
    ("msprobe/*/diff_analyze_*.json", "msprobe.diff_analyze"),
    ("msprobe/misc/accuracy_checking_*.csv", "msprobe.acc_check"),
    ("msprobe/misc/*.vis.db", "msprobe.graph"),
    ("msprobe/misc/free_benchmark.csv", "msprobe.free_benchmark"),
    ("msprobe/misc/grad_summary_0.csv", "msprobe.grad_probe"),
    ("msprobe/misc/monitor_v1/anomaly.json", "msprobe.monitor_anomaly"),
    ("msprobe/misc/monitor_v1/*.csv", "msprobe.monitor_v1"),
    ("msprobe/misc/monitor_v2/*.csv", "msprobe.monitor_v2"),
    ("msprobe/misc/multi_ranks_compare_merge_*.xlsx", "msprobe.merge_result"),
    # CANN
    ("cann/acl_json/*.json", "cann.acl_config"),
    ("cann/expected/manifest.json", None),
    ("cann/expected/atb/*", None),
    ("cann/*/Opdebug.*", "cann.opdebug"),
    ("cann/expected/*.npy", "cann.dump"),
    ("cann/dump_path/*", "cann.dump"),
    ("cann/broken_*", "cann.dump"),
    ("cann/stats_path/*.csv", "cann.stats"),
    ("cann/extra-info/*", "cann.exception"),
    ("cann/atb_dump_data/data/*", "atb.dump"),
    ("cann/atb_dump_data/info/*", "atb.topology"),
    ("cann/compare/golden/*.npy", "cann.golden"),
    ("cann/compare/advisor_summary.txt", "cann.compare_advisor"),
    ("cann/compare/file_result_*.txt", "cann.file_compare"),
    ("cann/compare/fusion_rule.json", "cann.fusion_rule"),
    ("cann/compare/mapping_*.csv", "cann.compare_mapping"),
    ("cann/compare/msit_cmp_report_*.csv", "msit.compare_result"),
    ("cann/compare/overflow_summary_*.txt", "cann.overflow_summary"),
    ("cann/compare/*.csv", "cann.compare_result"),
    # npu-smi
    ("npu_smi/expected_tables.json", None),
    ("npu_smi/version_files/*", "device.version"),
    ("npu_smi/*.txt", "device.npu_smi"),
    # sanitizers and logs
    ("sanitizer/msdebug/*.txt", "msdebug.transcript"),
    ("sanitizer/mssanitizer/debug_log_pair.mssanitizer_*.log", "sanitizer.mssanitizer_debug"),
    ("sanitizer/mssanitizer/*", "sanitizer.mssanitizer"),
    ("sanitizer/asan/*", "sanitizer.host"),
    ("sanitizer/plog/stdout_ez9999.txt", "runtime.console"),
    ("sanitizer/plog/*.log", "runtime.plog"),
    # profiles
    ("profiling/derived/advisor_agent.json", "prof.advisor"),
    ("profiling/derived/*", "prof.cluster"),
    ("profiling/real/cluster_analysis_output*", "prof.cluster"),
    ("profiling/real/llm_inference/*.csv", "prof.kernel_details"),
    ("profiling/real/msprof_control_files/*", "prof.session_info"),
    ("profiling/real/opprof/*", "opprof.result"),
    ("profiling/*/kernel_details*.csv", "prof.kernel_details"),
    ("profiling/*/op_summary_*.csv", "prof.op_summary"),
    ("profiling/*/profiler_info_?.json", "prof.profiler_info"),
    ("profiling/*/profiler_metadata.json", "prof.profiler_info"),
    ("profiling/*/analysis.db", "prof.analysis_db"),
    ("profiling/*/ascend_pytorch_profiler_0.db", "prof.torch_db"),
    ("profiling/*/step_trace_time.csv", "prof.step_trace_time"),
    ("profiling/*/step_trace_*.csv", "prof.step_trace"),
    ("profiling/*/api_statistic*.csv", "prof.api_statistic"),
    ("profiling/*/op_statistic*.csv", "prof.op_statistic"),
    ("profiling/*/communication_statistic*.csv", "prof.communication_statistic"),
    ("profiling/*/communication.json", "prof.communication"),
    ("profiling/*/communication_matrix.json", "prof.communication_matrix"),
    ("profiling/*/task_time_*.csv", "prof.task_time"),
    ("profiling/*/operator_details.csv", "prof.operator_details"),
    ("profiling/*/operator_memory.csv", "prof.memory"),
    ("profiling/*/memory_record.csv", "prof.memory"),
    ("profiling/*/npu_module_mem*.csv", "prof.memory"),
    ("profiling/*/static_op_mem.csv", "prof.memory"),
    ("profiling/*/l2_cache.csv", "prof.l2_cache"),
    ("profiling/*/trace_view*.json", "prof.trace_view"),
    ("profiling/synthetic/live_PROF_*", "prof.session"),
    ("profiling/synthetic/msmonitor_live/*.jsonl", "msmonitor.jsonl"),
    ("profiling/synthetic/OPPROF_*", "opprof.result"),
)

CASES = {
    "C15": {"msprobe.compare_result"},
    "C28": {"cann.dump", "cann.opdebug"},
    "C33": {"sanitizer.mssanitizer"},
    "C35": {"sanitizer.mssanitizer"},
    "C37": {"sanitizer.mssanitizer"},
    "C38": {"runtime.console"},
    "C40": {"compiler.log"},
    "C42": {"sanitizer.mssanitizer"},
    "C45": {"prof.kernel_details"},
    "C47": {"prof.op_summary"},
    "C48": {"prof.trace_view"},
    "C50": {"prof.trace_view"},
    "C52": {"prof.step_trace_time"},
    "C53": {"prof.op_statistic"},
    "C58": {"prof.framework", "prof.profiler_info"},
    "C59": {"device.npu_smi"},
    "C61": {"device.npu_smi"},
    "C64": set(),
    "C66": set(),
    "C67": {"msmonitor.jsonl"},
}


@pytest.fixture(scope="module")
def samples(shared: Path) -> Run:
    return discover(shared / "samples")


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _expected(relative: str) -> str | None:
    for pattern, kind in EXPECTED:
        if fnmatch(relative, pattern):
            return kind
    raise AssertionError(f"no expectation for {relative}")


def _holds(artifact: Artifact, file: Path) -> bool:
    """The artifact is the file, or the folder that the file belongs to."""
    if artifact.path == file:
        return True
    folder = artifact.path.parent if artifact.path.name in ("dump.json", "debug.json") else artifact.path
    return folder in file.parents and folder.is_dir()


def test_every_file_is_what_the_table_says(samples: Run) -> None:
    wrong = []
    for file in _files(samples.path):
        expected = _expected(file.relative_to(samples.path).as_posix())
        exact = {a.kind for a in samples.artifacts if a.path == file}
        around = {a.kind for a in samples.artifacts if _holds(a, file)}
        if (exact and exact != {expected}) or (expected is not None and expected not in around):
            wrong.append((str(file.relative_to(samples.path)), expected, sorted(exact or around)))
    assert wrong == []
    assert samples.problems == ()


def test_nothing_else_is_an_artifact(samples: Run) -> None:
    """Each artifact stands for at least one file that the table gives its kind."""
    files = {file: _expected(file.relative_to(samples.path).as_posix()) for file in _files(samples.path)}
    for artifact in samples.artifacts:
        assert any(kind == artifact.kind and _holds(artifact, f) for f, kind in files.items()), artifact


def test_the_files_of_no_kind_are_counted(samples: Run) -> None:
    n_without = sum(_expected(f.relative_to(samples.path).as_posix()) is None for f in _files(samples.path))
    assert samples.n_unknown == n_without


def test_sizes_add_up(samples: Run) -> None:
    """Every byte of a recognised file is in exactly one artifact."""
    n_bytes = sum(
        file.stat().st_size
        for file in _files(samples.path)
        if _expected(file.relative_to(samples.path).as_posix()) is not None
    )
    assert sum(artifact.size_bytes for artifact in samples.artifacts) == n_bytes


def test_completeness_of_the_cut_samples(samples: Run) -> None:
    found = {a.relative: a.completeness for a in samples.artifacts}
    assert found["msprobe/misc/derived_truncated_dump.json"] == "cut off"
    assert found["profiling/synthetic/trace_in_progress/trace_view.json"] == "cut off"
    assert (
        found["profiling/real/pt_level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"] == "complete"
    )
    dumps = [a for a in samples.artifacts if a.kind == "msprobe.dump" and "derived" not in a.relative]
    assert {a.completeness for a in dumps} == {"complete"}


def test_ranks_and_steps_of_samples(samples: Run) -> None:
    found = {a.relative: (a.rank, a.step) for a in samples.artifacts}
    assert found["msprobe/distributed/nan/step0/rank1"] == (1, 0)
    assert found["msprobe/tiny_two_steps/npu/step1/proc20240"] == (None, 1)
    assert found["msprobe/old_versions/8.3.3/step0/rank"] == (0, 0)
    assert found["cann/stats_path/20250611171700/0/tiny_net/1/0"] == (0, 0)
    assert found["cann/atb_dump_data/data/0_39943/0"] == (0, 0)
    profile = "profiling/real/pt_level2_cann83/rank_3_ascend_pt"
    assert found[f"{profile}/ASCEND_PROFILER_OUTPUT/step_trace_time.csv"] == (3, None)


def test_a_single_file_is_a_run_of_one(shared: Path, samples: Run) -> None:
    for artifact in samples.artifacts:
        if artifact.path.is_file() and "dump_tensor" not in str(artifact.path):
            run = discover(artifact.path)
            assert [(a.kind, a.path) for a in run.artifacts] == [(artifact.kind, artifact.path)]


@pytest.mark.parametrize("case", sorted(CASES))
def test_cases_hold_what_they_were_made_for(shared: Path, case: str) -> None:
    run = discover(shared / "cases" / case)
    assert {a.kind for a in run.artifacts} == CASES[case]
    assert run.problems == ()


def test_a_profile_that_was_never_parsed_is_raw(shared: Path) -> None:
    artifacts = discover(shared / "cases" / "C58").artifacts
    profile = next(a for a in artifacts if a.kind == "prof.framework")
    assert (profile.completeness, profile.rank) == ("raw", 0)


# ---- pairs ----


@pytest.mark.parametrize(
    ("sample", "target", "n_pairs"),
    [
        ("statistics_mix", "npu", 1),
        ("tiny_two_steps", "npu", 2),
        ("edge_tensor", "npu", 1),
        ("edge_md5", "npu", 1),
        ("distributed", "nan", 2),
    ],
)
def test_samples_hold_one_pair(shared: Path, sample: str, target: str, n_pairs: int) -> None:
    (pair,) = capture_pairs(discover(shared / "samples" / "msprobe" / sample))
    assert (pair.target_name, pair.golden_name) == (target, "bench")
    assert len(pair.target) == len(pair.golden) == n_pairs
    assert pair.unmatched == ()
    for t, g in zip(pair.target, pair.golden, strict=True):
        assert (t.step, t.rank) == (g.step, g.rank)


def test_all_pairs_are_found_in_the_folder_of_all_samples(shared: Path) -> None:
    run = discover(shared / "samples" / "msprobe")
    assert [(pair.target_name, pair.golden_name) for pair in capture_pairs(run)] == [
        ("distributed/nan", "distributed/bench"),
        ("edge_md5/npu", "edge_md5/bench"),
        ("edge_tensor/npu", "edge_tensor/bench"),
        ("statistics_mix/npu", "statistics_mix/bench"),
        ("tiny_two_steps/npu", "tiny_two_steps/bench"),
    ]
    assert "old_versions/1.2.2" in {capture.name for capture in unpaired_captures(run)}


def test_cases_with_two_sides_hold_one_pair(shared: Path) -> None:
    cases = sorted(path.parent for path in (shared / "cases").glob("*/golden"))
    assert len(cases) >= 9
    for case in cases:
        (pair,) = capture_pairs(discover(case))
        assert (pair.target_name, pair.golden_name) == ("target", "golden")
        assert len(pair.target) == len(list((case / "target").rglob("dump.json")))
        assert pair.unmatched == ()


def test_versions_of_the_tool_can_be_compared_by_name(shared: Path) -> None:
    old = shared / "samples" / "msprobe" / "old_versions"
    pair = pair_of(old / "8.3.3", old / "1.2.2" / "step0" / "rank" / "dump.json")
    assert [a.relative for a in (*pair.target, *pair.golden)] == ["step0/rank", "dump.json"]

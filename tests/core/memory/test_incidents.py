"""Root events and what follows from them: order by time, by lines, over files; what is no cause."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.memory.event_order import FAR_US, delay_us, is_before, python_place
from npulse.core.memory.faults import Access, Cores, Fault, Frame, Task
from npulse.core.memory.incidents import (
    MISSING,
    REASONS,
    TEXTS,
    Incident,
    doubt_text,
    incidents_of,
    missing_text,
    reliability_of,
    root_name,
)

NOON_US = 1_768_910_400_000_000  # 2026-01-20 12:00:00
S = 1_000_000


def event(kind: str, line: int, at: float | None = None, pid: int | None = 7, **more: Any) -> Fault:
    """A fault at `at` seconds after noon; more: figures, and artifact, origin, task, frames, cores."""
    fields = {name: more.pop(name) for name in ("artifact", "origin", "task") if name in more}
    access = Access(pid=pid, frames=more.pop("frames", ()), cores=more.pop("cores", ()))
    time_us = None if at is None else NOON_US + round(at * S)
    return Fault(
        "HCCL" if kind == "collective time-out" else "CANN",
        kind,
        "error",
        "",
        fields.pop("artifact", "a.log"),
        line,
        line * 100,
        accesses=(access,),
        figures=more,
        time_us=time_us,
        **fields,
    )


def exception(
    line: int, at: float | None = None, device: int | None = 0, task: int | None = 1, **more: Any
) -> Fault:
    more.setdefault("task", Task(device, 2, task, 0))
    return event("aicore exception", line, at, **more)


def timeout(line: int, at: float | None = None, pid: int | None = 8, **more: Any) -> Fault:
    return event("collective time-out", line, at, pid, code="EI0002", **more)


def code(line: int, number: str, at: float | None = None, pid: int | None = 7, **more: Any) -> Fault:
    return event("error code", line, at, pid, code=number, **more)


def python(line: int, error: str = "", text: str = "", pid: int | None = 7, **more: Any) -> Fault:
    frames = (Frame("/app/worker.py", 311, None, "execute"),)
    return event("python error", line, None, pid, error=error, code_text=text, frames=frames, **more)


def told(incident: Incident) -> list[tuple[int, str, float | None]]:
    """(line, reason, delay in seconds) of what follows."""
    return [(one.fault.line, one.reason, one.delay_s) for one in incident.secondary]


def only(*faults: Fault, **options: Any) -> Incident:
    (incident,) = incidents_of(faults, **options)
    return incident


# ---- one root ----


def test_a_timeout_of_another_process_follows() -> None:
    root, late = exception(5, 0), timeout(7, 30.158504)
    incident = only(late, root)
    assert incident.root is root
    assert told(incident) == [(7, "collective-time-out", 30.158504)]
    assert (incident.is_origin, incident.missing) == (True, "")
    (one,) = incident.secondary
    assert (one.fault, one.is_likely, one.n_possible) == (late, False, 1)


def test_the_line_in_the_file_does_not_decide_where_times_do() -> None:
    # lines of several workers arrive in any order
    incident = only(timeout(1, 30), exception(9, 0))
    assert (incident.root.line, told(incident)) == (9, [(1, "collective-time-out", 30.0)])


def test_cores_of_one_exception_are_one_incident() -> None:
    cores = (Cores("aiv", ((45, 45), (47, 49))),)
    assert only(exception(1, 0, cores=cores)).n_cores == 4
    assert only(exception(1, 0, cores=cores, n_cores=300)).n_cores == 300


def test_later_failures_of_the_process_follow() -> None:
    later = exception(5, 1, task=2, kernel_name="B")
    model = event("task failure", 6, 2, ret_code=0x91, ret_text="the model stream execute failed")
    incident = only(model, later, exception(3, 0, kernel_name="A"), code(7, "507011", 2.5), code(8, "EZ9999"))
    assert incident.root.line == 3
    assert told(incident) == [
        (5, "later-failure", 1.0),
        (6, "model-stream", 2.0),
        (7, "passes-on", 2.5),
        (8, "passes-on", None),
    ]


def test_the_head_of_an_error_block_stands_before_its_exception() -> None:
    incident = only(code(1, "EZ9999", pid=None), exception(3, 0))
    assert told(incident) == [(1, "passes-on", None)]
    assert incident.secondary[0].is_likely


def test_a_model_whose_kernel_is_named_is_the_root_itself() -> None:
    fault = event("task failure", 1, 0, ret_code=0x91, ret_text="model stream", kernel_name="-1_0_1_Cast")
    assert only(fault).is_origin


def test_the_same_failure_in_two_texts_is_one() -> None:
    # the console has no ids; the log has all of them and is the better witness
    console = exception(3, 0, device=None, task=None, artifact="console.txt", task_told=False)
    log = exception(1, -0.2, artifact="plog.log", kernel_name="Add_1")
    for faults in ((console, log), (log, console)):
        incident = only(*faults)
        assert incident.root is log
        assert [(one.fault, one.reason) for one in incident.secondary] == [(console, "told-again")]
    early = exception(3, -0.3, device=None, task=None, artifact="console.txt")
    incident = only(early, log)
    assert incident.root is log
    assert told(incident) == [(3, "told-again", None)]  # what comes before has no delay
    twice = only(log, exception(9, 0, artifact="copy.log", kernel_name="Add_1"))
    assert [one.reason for one in twice.secondary] == ["told-again"]


# ---- several roots ----


def test_two_devices_are_two_roots() -> None:
    faults = exception(1, 0, device=0), exception(2, 1, device=1)
    assert [incident.root for incident in incidents_of(faults)] == list(faults)
    other_process = exception(1, 0, device=0), exception(2, 1, device=0, pid=9)
    assert len(incidents_of(other_process)) == 2


def test_minus_one_is_no_process() -> None:
    # what a device writes for its own pid: two files are two devices then
    logs = [exception(1, i, device=None, pid=-1, artifact=f"device-{i}.log") for i in range(2)]
    assert len(incidents_of(logs)) == 2


def test_far_apart_are_two_roots() -> None:
    hour = FAR_US / S
    assert len(incidents_of([exception(1, 0), exception(2, hour + 1, task=2)])) == 2
    assert len(incidents_of([exception(1, 0), exception(2, hour - 1, task=2)])) == 1


def test_a_wait_that_could_be_for_two_says_so() -> None:
    first, second, wait = exception(1, 0), exception(2, 10, device=1, pid=9), timeout(3, 40)
    incidents = incidents_of([wait, second, first])
    assert [incident.root for incident in incidents] == [first, second]
    ((one,), ()) = (incident.secondary for incident in incidents)
    assert (one.n_possible, one.delay_s) == (2, 40.0)


def test_the_rank_that_a_timeout_names_decides() -> None:
    first = exception(1, 0, origin="rank0")
    second = exception(2, 10, device=1, pid=9, origin="[default3]")
    incidents = incidents_of([first, second, timeout(3, 40, remote_rank="3")])
    assert [len(incident.secondary) for incident in incidents] == [0, 1]
    assert incidents[1].secondary[0].n_possible == 1


# ---- no root ----


def test_timeouts_alone_need_another_log() -> None:
    incident = only(
        timeout(2, 5), timeout(1, 0, pid=9), code(3, "EI0006", 6, pid=10), code(4, "ERR02200", pid=8)
    )
    assert (incident.is_origin, incident.missing, incident.root.line) == (False, "other-rank-log", 1)
    assert [(line, reason) for line, reason, _ in told(incident)] == [
        (2, "collective-time-out"),
        (3, "collective-time-out"),
        (4, "passes-on"),
    ]
    assert all(one.is_likely for one in incident.secondary if one.reason == "collective-time-out")


def test_a_timeout_before_the_failure_is_not_explained_by_it() -> None:
    root, unknown = incidents_of([timeout(1, 0), exception(2, 60)])
    assert (root.root.line, root.secondary, root.is_origin) == (2, (), True)
    assert (unknown.root.line, unknown.missing) == (1, "other-rank-log")


def test_a_long_timeout_reaches_further_back() -> None:
    hours_us = 2 * FAR_US / S
    assert len(incidents_of([exception(1, 0), timeout(2, hours_us)])) == 2
    assert len(incidents_of([exception(1, 0), timeout(2, hours_us, timeout_s=7200)])) == 1


@pytest.mark.parametrize("sqe_type", ["notify wait", "event wait"])
def test_a_task_that_waits_is_a_timeout(sqe_type: str) -> None:
    wait = event("task failure", 1, 0, sqe_type=sqe_type, is_timeout=True, kernel_name="N/A")
    assert only(wait).missing == "other-rank-log"
    assert only(event("task failure", 1, 0, sqe_type="aicpu", is_timeout=True, kernel_name="Get")).is_origin


def test_a_code_without_its_failure_needs_the_log() -> None:
    incident = only(code(3, "507035"), code(4, "507035", api="aclrtSynchronizeStream"))
    assert (incident.missing, len(incident.secondary)) == ("device-log", 1)
    assert only(code(1, "507054")).is_origin  # the hardware itself
    assert only(code(1, "EE1001")).is_origin  # an error of its own


# ---- clocks ----


def test_a_device_that_counts_from_1970_is_ordered_by_lines() -> None:
    root = Fault(
        "CANN", "aicore exception", "error", "", "a.log", 2, 0, accesses=(Access(pid=7),), time_us=5 * S
    )
    late, early = timeout(3, 0), timeout(1, 0)
    found = incidents_of([root, late, early])
    assert [(one.fault, one.delay_us) for one in found[0].secondary] == [(late, None)]
    assert found[1].root is early


def test_other_files_need_the_same_day() -> None:
    other = {"artifact": "b.log", "pid": 9}
    assert delay_us(exception(1, 0), exception(1, 20, **other)) == 20 * S
    assert delay_us(exception(1, 0), exception(1, 86_400, **other)) is None
    assert delay_us(exception(1, 12 * 3600 - 10), exception(1, 12 * 3600 + 10, **other)) == 20 * S  # midnight
    assert delay_us(exception(1, 0), exception(1, 86_400)) == 86_400 * S
    assert is_before(exception(1, None), exception(2, None)) is True
    assert is_before(exception(1, None), exception(2, None, **other)) is None


def test_without_a_common_clock_a_wait_is_likely_only() -> None:
    incident = only(exception(1, None), timeout(1, None, artifact="b.log"))
    (one,) = incident.secondary
    assert (one.delay_us, one.is_likely) == (None, True)
    assert len(incidents_of([exception(1, 0), timeout(1, 3 * 86_400, artifact="b.log")])) == 2


# ---- Python ----


@pytest.mark.parametrize(
    ("fault", "is_reliable"),
    [
        (python(1, text="torch.npu.synchronize()"), False),
        (python(1, "RuntimeError: ACL stream synchronize failed, error code:507035"), False),
        (python(1, "RuntimeError: x", is_asynchronous=True), False),
        (python(1, "RuntimeError: NPU function error: aclnnAdd"), False),
        (python(1, "ValueError: 3 is too small", "check(n)"), True),
        (python(1, "", "model(x)"), None),
    ],
)
def test_how_far_a_python_line_is_believed(fault: Fault, is_reliable: bool | None) -> None:
    place = python_place(fault)
    assert place.is_reliable is is_reliable
    assert place.frame == Frame("/app/worker.py", 311, None, "execute")
    assert place.switch == ("" if is_reliable else "ASCEND_LAUNCH_BLOCKING=1")


def test_with_blocking_launches_the_line_is_the_one() -> None:
    fault = python(1, "RuntimeError: aclnnAdd failed, error code is 507035", "a + b")
    assert python_place(fault, is_blocking=True).is_reliable is True
    assert python_place(python(1, "", "torch.npu.synchronize()"), is_blocking=True).is_reliable is False


def test_the_asynchronous_line_is_never_the_cause() -> None:
    surfaced = python(2, text="torch.npu.synchronize()", pid=8)
    incident = only(surfaced, exception(5, 0), timeout(7, 30))
    assert (incident.root.line, [one.reason for one in incident.secondary]) == (
        5,
        ["asynchronous-python", "collective-time-out"],
    )
    assert [(place.fault, place.is_reliable) for place in incident.python] == [(surfaced, False)]
    assert only(surfaced).missing == "device-log"


def test_a_python_error_of_its_own_can_be_what_others_wait_for() -> None:
    incident = only(python(3, "ValueError: 3"), timeout(9, 0, pid=8))
    assert (incident.root.line, incident.is_origin) == (3, True)
    assert told(incident) == [(9, "collective-time-out", None)]
    behind = only(exception(3, 0), python(9, "EngineDeadError: x", pid=20))
    assert [(one.reason, one.is_likely) for one in behind.secondary] == [("later-python", True)]


# ---- all ----


def test_other_faults_are_left_alone() -> None:
    leak = Fault("msSanitizer", "leak", "error", "", "a.log", 1, 0)
    assert incidents_of([leak]) == ()
    assert incidents_of([]) == ()


def test_words_are_there_in_both_languages() -> None:
    for texts in (REASONS, MISSING, TEXTS):
        for word, pair in texts.items():
            assert word == "" or all(pair)


@given(
    st.lists(
        st.builds(
            lambda make, line, at, pid, artifact: make(line, at, pid=pid, artifact=artifact),
            st.sampled_from(
                [
                    exception,
                    timeout,
                    lambda line, at, **more: code(line, "507035", at, **more),
                    lambda line, at, **more: code(line, "EE1001", at, **more),
                    lambda line, at, **more: python(line, "ValueError: 1", **more),
                    lambda line, at, **more: python(line, "", "x.synchronize()", **more),
                ]
            ),
            st.integers(1, 50),
            st.none() | st.integers(-100_000, 100_000) | st.just(-NOON_US / S + 5),
            st.none() | st.integers(-1, 4),
            st.sampled_from(["a.log", "b.log"]),
        ),
        max_size=30,
    )
)
def test_every_event_is_in_one_incident(faults: list[Fault]) -> None:
    incidents = incidents_of(faults)
    placed = [id(i.root) for i in incidents] + [id(one.fault) for i in incidents for one in i.secondary]
    assert sorted(placed) == sorted(map(id, faults))
    for incident in incidents:
        assert incident.is_origin == (not incident.missing)
        assert all(one.delay_us is None or one.delay_us >= 0 for one in incident.secondary)
        if incident.is_origin:
            assert incident.root.kind != "collective time-out"


def test_many_events_stay_quick() -> None:
    from time import process_time

    faults = [exception(i, i / 10, device=i, pid=i) for i in range(5000)]
    faults += [timeout(10_000 + i, 600 + i / 10, pid=20_000 + i) for i in range(5000)]
    faults += [code(20_000 + i, "507035", 700, pid=i) for i in range(5000)]
    faults += [python(30_000 + i, "", "synchronize()", pid=50_000 + i) for i in range(5000)]
    began = process_time()
    incidents = incidents_of(faults)
    assert process_time() - began < 5
    assert len(incidents) == 5000


# ---- which rank a time-out waited for ----


def two_roots(**of_second: Any) -> tuple[Fault, Fault]:
    """Roots on device 0 (earlier) and device 1; of_second: fields of both, with {} for 0 and 1."""
    made = [
        exception(
            1, 10 * i, device=i, pid=40 + i, **{name: value.format(i) for name, value in of_second.items()}
        )
        for i in range(2)
    ]
    return made[0], made[1]


@pytest.mark.parametrize(
    "fields",
    [
        {"artifact": "rank{}/plog/plog-1_2.log"},
        {"artifact": "logs/train_rank{}.log"},
        {"artifact": "all.log", "origin": "[rank{}]"},
        {"artifact": "rank7/all.log", "origin": "[rank{}]"},
    ],
    ids=["folder", "file", "in front", "in front, against the folder"],
)
def test_the_rank_of_a_root_is_known_from_where_it_stands(fields: dict[str, str]) -> None:
    first, second = two_roots(**fields)
    late = timeout(9, 40, artifact="rank2/plog/plog-3_4.log", remote_rank="1")
    incidents = incidents_of([first, second, late])
    assert [len(incident.secondary) for incident in incidents] == [0, 1]
    (one,) = incidents[1].secondary
    assert (one.is_likely, one.n_possible, doubt_text(one, "en")) == (False, 1, "")


def test_the_device_is_a_hint_of_the_rank() -> None:
    first, second = two_roots(artifact="all.log")
    incidents = incidents_of([first, second, timeout(9, 40, artifact="all.log", remote_rank="1")])
    assert [len(incident.secondary) for incident in incidents] == [0, 1]
    assert incidents[1].secondary[0].is_likely


def test_a_known_rank_counts_more_than_the_device() -> None:
    """Rank 1 runs on device 0 of a second host."""
    first = exception(1, 0, device=1, pid=40, artifact="rank0/a.log")
    second = exception(1, 10, device=0, pid=41, artifact="rank1/a.log")
    incidents = incidents_of([first, second, timeout(9, 40, remote_rank="1")])
    assert [(incident.root, len(incident.secondary)) for incident in incidents] == [(first, 0), (second, 1)]


def test_the_rank_of_a_process_is_known_from_any_of_its_events() -> None:
    first, second = two_roots(artifact="console.log")
    own = code(3, "507035", 11, pid=41, artifact="rank5/plog-41_1.log")
    incidents = incidents_of([first, second, own, timeout(9, 40, artifact="x.log", remote_rank="5")])
    reasons = [[one.reason for one in incident.secondary] for incident in incidents]
    assert reasons == [[], ["passes-on", "collective-time-out"]]


def test_a_console_of_all_ranks_in_the_folder_of_one_is_of_none() -> None:
    first, second = two_roots(artifact="rank0/serve.log")
    incidents = incidents_of([first, second, timeout(9, 40, remote_rank="0")])
    ((one,), ()) = (incident.secondary for incident in incidents)
    assert one.is_likely  # by the device only


def test_a_rank_of_which_nothing_is_known_may_have_waited_itself() -> None:
    incident = only(exception(1, 0, artifact="rank0/a.log"), timeout(9, 40, remote_rank="6"))
    (one,) = incident.secondary
    assert (one.is_likely, one.n_possible) == (True, 1)
    unknown = only(exception(1, 0, artifact="rank0/a.log"), timeout(9, 40, remote_rank="unknown"))
    assert not unknown.secondary[0].is_likely


def test_doubt_is_told() -> None:
    first, second = two_roots(artifact="all.log")
    (one,) = incidents_of([first, second, timeout(9, 40)])[0].secondary
    assert (one.n_possible, one.is_likely) == (2, True)
    assert "2 failures" in doubt_text(one, "en") and "2 个故障" in doubt_text(one, "zh")
    (guess,) = only(exception(1, None), timeout(1, None, artifact="b.log")).secondary
    assert "likely only" in doubt_text(guess, "en") and "推测" in doubt_text(guess, "zh")


def test_one_timeout_in_two_texts_is_one_consequence() -> None:
    texts = timeout(5, 40, artifact="plog.log"), timeout(9, 40.2, artifact="console.log")
    incident = only(exception(1, 0), *texts)
    assert sorted(one.reason for one in incident.secondary) == ["collective-time-out", "told-again"]
    assert incident.n_consequences == 1
    for other in (
        timeout(9, 42, artifact="console.log"),
        timeout(9, 40, pid=9),
        timeout(9, 40, artifact="plog.log"),
    ):
        assert only(exception(1, 0), texts[0], other).n_consequences == 2


# ---- Python lines and waited launches ----


def test_the_errors_own_words_are_no_synchronization() -> None:
    error = "RuntimeError: ACL stream synchronize failed, error code:507035"
    fault = replace(python(3, error, "y = torch.gather(x, 1, i)"), message=error)
    assert (python_place(fault).is_reliable, python_place(fault, is_blocking=True).is_reliable) == (
        False,
        True,
    )
    assert [reliability_of(fault, blocking) for blocking in (False, True)] == [False, True]


@pytest.mark.parametrize(
    "error",
    [
        "RuntimeError: ACL stream synchronize failed, error code:507035",
        "RuntimeError: NPU function error: call aclnnGather failed, error code is 561103",
    ],
)
def test_with_waited_launches_the_line_behind_a_failure_is_reliable(error: str) -> None:
    faults = exception(1, 0), python(3, error, "y = torch.gather(x, 1, i)")
    (one,) = only(*faults, is_blocking=True).secondary
    assert (one.reason, one.is_likely) == ("launching-python", False)
    assert "reliable" in REASONS[one.reason][0] and "可靠" in REASONS[one.reason][1]
    (one,) = only(*faults).secondary
    assert one.reason == "asynchronous-python"


def test_a_line_that_waits_is_never_told_to_set_what_is_set() -> None:
    waiting = python(3, "RuntimeError: error code is 507035", "torch.npu.synchronize()")
    incident = only(exception(1, 0), waiting, is_blocking=True)
    assert [one.reason for one in incident.secondary] == ["waiting-python"]
    assert [(place.is_reliable, place.switch) for place in incident.python] == [(False, "")]


def test_a_line_alone_is_no_origin_of_a_device_failure() -> None:
    incident = only(python(3, "RuntimeError: error code is 507035", "a + b"), is_blocking=True)
    assert (incident.missing, incident.python[0].is_reliable) == ("device-log", True)


def test_reliability_is_told_of_python_errors_only() -> None:
    assert reliability_of(python(1, "", "model(x)"), True) is None
    assert reliability_of(python(1, "ValueError: 3", "check(n)"), False) is True
    assert reliability_of(exception(1, 0), True) is None


def test_a_console_beside_the_log_of_its_process_follows_from_it() -> None:
    error = "RuntimeError: ACL stream synchronize failed, error code:507035"
    surfaced = python(2, error, "f()", pid=None, artifact="train.log")
    (one,) = only(exception(1, 0, artifact="plog.log"), surfaced).secondary
    assert (one.reason, one.is_likely, one.n_possible) == ("asynchronous-python", True, 1)
    first, second = two_roots(artifact="rank{}/plog.log")
    of_second = replace(surfaced, artifact="rank1/train.log")
    found = incidents_of([first, second, of_second])
    assert [len(incident.secondary) for incident in found] == [0, 1]
    (one,) = incidents_of([first, second, surfaced])[0].secondary
    assert (one.is_likely, one.n_possible) == (True, 2)
    third = incidents_of([first, second, replace(surfaced, artifact="rank3/train.log")])
    assert [incident.missing for incident in third] == ["", "", "device-log"]


# ---- codes ----


def test_what_the_device_reports_is_no_sure_consequence() -> None:
    for at in (None, 5):
        (one,) = only(code(1, "EE1001", at and 0), code(4, "507053", at)).secondary
        assert (one.reason, one.is_likely) == ("later-failure", True)
    (one,) = only(code(1, "EE1001"), code(4, "EZ3002")).secondary
    assert one.is_likely  # behind it in the file is not after it
    (one,) = only(code(1, "EE1001", 0), code(4, "EZ3002", 5)).secondary
    assert not one.is_likely


def test_a_root_is_called_by_what_is_known_of_it() -> None:
    assert root_name(code(1, "EE1001")) == "EE1001"
    assert root_name(exception(1, 0, op_type="Add", code="507035")) == "Add"
    kernel = replace(exception(1, 0, code="507035"), accesses=(Access(kernel="Mul_1"),))
    assert root_name(kernel) == "Mul_1"
    assert root_name(event("out of memory", 1)) == "out of memory"


def test_a_code_that_no_tool_prints_causes_nothing() -> None:
    wait = timeout(5, None)
    (incident,) = incidents_of([code(1, "E1001", pid=8), wait])
    assert (incident.root, incident.missing) == (wait, "other-rank-log")


# ---- waits for ranks that wait ----


def wait_of(rank: int, remote: str, at: float | None = None, **more: Any) -> Fault:
    return timeout(1, at, pid=700 + rank, artifact=f"rank{rank}/c.log", remote_rank=remote, **more)


@pytest.mark.parametrize("times", [(0, 1, 2), (2, 1, 0), (None, None, None)])
def test_the_end_of_a_chain_of_waits_is_looked_at_first(times: tuple[float | None, ...]) -> None:
    waits = [wait_of(rank, f"{rank + 1}", at) for rank, at in enumerate(times)]
    incident = only(*waits)
    assert (incident.root, incident.silent_ranks, incident.is_origin) == (waits[2], (3,), False)
    assert [(one.fault, one.reason) for one in incident.secondary] == [
        (waits[0], "waits-in-turn"),
        (waits[1], "waits-in-turn"),
    ]
    assert missing_text(incident, "en").endswith("the log of rank 3 is needed")
    assert missing_text(incident, "zh").endswith("需要 rank 3 的日志")


def test_a_chain_that_ends_at_a_failure_follows_from_it() -> None:
    root = exception(1, 0, pid=702, artifact="rank2/c.log")
    other = exception(1, -20, pid=709, device=5, artifact="rank9/c.log")
    first, second = wait_of(0, "1", 60), wait_of(1, "2", 61)
    incidents = incidents_of([first, second, root, other])
    by_root = {id(incident.root): incident.secondary for incident in incidents}
    assert [(one.fault, one.is_likely) for one in by_root[id(root)]] == [(first, False), (second, False)]
    assert not by_root[id(other)]


def test_ranks_that_wait_for_each_other_are_one_unknown() -> None:
    incident = only(wait_of(2, "0", 5), wait_of(0, "1", 0), wait_of(1, "0", 1))
    assert (incident.root.artifact, incident.silent_ranks) == ("rank0/c.log", ())
    assert {one.reason for one in incident.secondary} == {"waits-in-turn"}
    assert missing_text(incident, "en") == MISSING["other-rank-log"][0]


def test_all_ranks_that_nobody_heard_of_are_named() -> None:
    incident = only(wait_of(0, "5", 0), wait_of(1, "4 0", 1), wait_of(2, "5", 2))
    assert (incident.root.artifact, incident.silent_ranks) == ("rank0/c.log", (4, 5))
    assert [one.reason for one in incident.secondary] == ["waits-too", "waits-too"]
    assert "the logs of ranks 4, 5 are needed" in missing_text(incident, "en")


def test_a_long_chain_stays_quick() -> None:
    incident = only(*(wait_of(rank, f"{rank + 1}", rank / 100) for rank in range(3000)))
    assert (incident.silent_ranks, incident.root.artifact) == ((3000,), "rank2999/c.log")


# ---- a failure of another process ----


@pytest.mark.parametrize("number", ["507046", "507047", "507011"])
def test_a_time_out_behind_the_failure_of_another_rank_follows(number: str) -> None:
    root = exception(1, 0, pid=701, artifact="rank1/plog.log")
    late = code(2, number, 60, pid=700, artifact="rank0/plog.log", module="ASCENDCL")
    incident = only(late, root)
    assert incident.root is root
    (one,) = incident.secondary
    assert (one.fault, one.reason, one.delay_s, one.is_likely) == (late, "other-process", 60.0, True)


def test_a_model_that_failed_behind_another_rank_takes_the_rest_with_it() -> None:
    root = exception(1, 0, pid=701, artifact="rank1/plog.log")
    own = {"pid": 700, "artifact": "rank0/plog.log"}
    model = event("task failure", 1, 60, ret_code=0x91, **own)
    incident = only(root, model, code(2, "507046", 60.1, **own), code(3, "EZ9999", 60.2, **own))
    assert [(one.reason, one.is_likely) for one in incident.secondary] == [
        ("other-process", True),
        ("passes-on", True),
        ("passes-on", True),
    ]


def test_what_another_process_cannot_cause_stays_unknown() -> None:
    root = exception(1, 0, pid=701, artifact="rank1/plog.log")
    kernel = code(2, "507035", 60, pid=700, artifact="rank0/plog.log")  # a kernel of its own failed
    early = code(2, "507046", -60, pid=700, artifact="rank0/plog.log")
    undated = code(2, "507046", None, pid=700, artifact="rank0/plog.log")
    for other in (kernel, early, undated):
        assert [incident.is_origin for incident in incidents_of([root, other])] == [True, False]


def test_a_log_of_cann_is_not_asked_for_itself() -> None:
    assert only(code(1, "507046", 0, module="ASCENDCL")).missing == "rest-of-logs"
    assert only(code(1, "507046", 0)).missing == "device-log"


# ---- compilers ----


def overflow(line: int, **more: Any) -> Fault:
    return event("buffer overflow at compile time", line, None, None, **more)


@pytest.mark.parametrize(
    ("at", "error"),
    [
        (1, "triton.compiler.errors.MLIRCompilationError: "),
        (30, "triton.compiler.errors.MLIRCompilationError: "),
        (1, ""),  # the message itself stands where the error would be
    ],
)
def test_python_raises_what_the_compiler_said(at: int, error: str) -> None:
    incident = only(overflow(9), python(at, error, pid=None))
    assert (incident.root.line, incident.is_origin) == (9, True)
    assert [(one.reason, one.is_likely) for one in incident.secondary] == [("compiling-python", False)]


def test_other_python_errors_are_not_the_compilers() -> None:
    for other in (
        python(1, "ValueError: 3", pid=None),
        python(500, "CompilationError: ", pid=None),
        python(1, "CompilationError: ", pid=None, artifact="b.log"),
        python(30, "", pid=None),
    ):
        assert all(not one.secondary for one in incidents_of([overflow(9), other]))
    between = [python(1, "CompilationError: 1", pid=None), python(4, "CompilationError: 2", pid=None)]
    first, second = sorted(incidents_of([overflow(9), *between]), key=lambda one: one.root.line)
    assert (first.root.line, first.secondary) == (1, ())
    assert [one.fault.line for one in second.secondary] == [4]


def test_a_kernel_that_did_not_fit_explains_no_failure_of_a_device() -> None:
    incidents = incidents_of([overflow(1), exception(5, 0), timeout(9, 30), code(10, "507035")])
    assert [len(incident.secondary) for incident in incidents] == [2, 0]


def test_the_python_line_is_the_users_own() -> None:
    library = Frame("/usr/lib/python3/site-packages/triton/compiler/compiler.py", 300, None, "compile")
    own = Frame("/app/k.py", 5, None, "<module>")
    fault = event("python error", 1, frames=(library, own), error="CompilationError: ")
    assert python_place(fault).frame == own
    assert python_place(event("python error", 1, frames=(library,), error="E: ")).frame == library


def test_a_log_that_shows_the_switch_makes_its_lines_reliable() -> None:
    late = python(9, "RuntimeError: ACL stream synchronize failed, error code:507035", is_blocking=True)
    assert reliability_of(late, is_blocking=False) is True
    (one,) = only(exception(5, 0), late).secondary
    assert one.reason == "launching-python"
    assert reliability_of(replace(late, figures={**late.figures, "is_blocking": False}), False) is False


# ---- memory that ran out ----


def shortage(line: int, at: float | None = None, pid: int | None = None, **more: Any) -> Fault:
    return event("out of memory", line, at, pid, tried_bytes=6 << 30, **more)


@pytest.mark.parametrize(("of_code", "of_text"), [(1, 4), (4, 1)])
def test_one_lack_of_memory_in_two_texts_is_one(of_code: int, of_text: int) -> None:
    text = shortage(of_text)
    incident = only(code(of_code, "EL0004", 0, pid=5), text)
    assert (incident.root, incident.is_origin, incident.n_consequences) == (text, True, 0)
    assert [(one.fault.line, one.reason) for one in incident.secondary] == [(of_code, "told-again")]


def test_another_lack_of_memory_is_another_one() -> None:
    first = code(1, "EL0004", 0, pid=5)
    for other in (
        shortage(100),
        shortage(4, pid=6),
        shortage(4, artifact="b.log"),
        shortage(4, origin="[rank1]"),
        shortage(4, at=30, pid=6),
    ):
        assert len(incidents_of([first, other])) == 2
    assert len(incidents_of([shortage(1), shortage(4)])) == 2
    assert len(incidents_of([code(1, "EE1001", 0, pid=5), shortage(4)])) == 2

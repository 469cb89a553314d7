# ruff: noqa: E501 - tables as they are
"""What stands beside chips in npu-smi's text: processes, layouts, -t blocks, ids, messages; anything at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.npu_smi.messages import message_of
from npulse.core.formats.npu_smi.reader import NpuSmiReader
from npulse.core.formats.npu_smi.records import SmiBlock, SmiText
from npulse.core.run.discover import discover


def told(text: str, step: int = 0) -> SmiText:
    return read(text, step).told


def read(text: str | bytes, step: int = 0) -> NpuSmiReader:
    content = text.encode() if isinstance(text, str) else text
    reader = NpuSmiReader("a.txt")
    for at in range(0, len(content), step or max(len(content), 1)):
        reader.feed(content[at : at + (step or len(content))])
    reader.finish()
    return reader


def line(key: str, value: object, width: int = 30) -> str:
    """A line of a -t block, by the tool's own format."""
    return f"\t{key:<{width}} : {value}\n"


def begin(npu: int, n_chips: int = 1, width: int = 30) -> str:
    return line("NPU ID", npu, width) + line("Chip Count", n_chips, width) + "\n"


def table(
    first: str = "NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)",
    second: str = "Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        ",
    processes: str = "NPU     Chip              | Process id    | Process name             | Process memory(MB)      ",
    rows: tuple[str, ...] = (),
    version: str = "25.2.0",
) -> str:
    lines = [f"npu-smi {version}                   Version: {version}      ", first, second]
    lines += [
        "0     910B3               | OK            | 97.6        47                0    / 0             "
    ]
    lines += [
        "0                         | 0000:C2:00.0  | 0           0    / 0          3394 / 65536         "
    ]
    return "".join(f"| {text}|\n" for text in [*lines, *([processes] if processes else []), *rows])


ROW = "%-7d %-18d| %-13d | %-24s | %-23d "
COMMON = [
    *(("HBM Usage Rate(%)", 88), ("Aicore Usage Rate(%)", 87), ("Aicore Freq(MHZ)", 1800)),
    *(("Aicore curFreq(MHZ)", 1200), ("Temperature(C)", 88), ("NPU Real-time Power(W)", "303.4")),
]


def common(npu: int, *chips: int) -> str:
    """`-t common -i`: the chip's id in front of each block, the management chip at the end."""
    text = line("NPU ID", npu) + line("Chip Count", len(chips))
    for chip in chips:
        text += "\n" + line("Chip ID", chip) + "".join(line(key, value) for key, value in COMMON)
    return text + "\n" + line("Chip Name", "mcu") + line("Temperature(C)", 41)


def power(npu: int, *values: object) -> str:
    """`-t power -i`: the chip's id behind each block."""
    text = begin(npu, len(values))
    for chip, value in enumerate(values):
        text += line("NPU Real-time Power(W)", value) + line("Chip ID", chip) + "\n"
    return text


def by_chip(found: SmiText) -> dict[tuple[int | None, int | None], SmiBlock]:
    return {(block.npu, block.chip): block for block in found.blocks}


# ---- processes ----


def test_processes_of_a_table_with_names_that_are_empty_or_have_a_bar_in_them() -> None:
    rows = (
        ROW % (0, 0, 2201, "", 1024),
        ROW % (0, 0, 2202, "a|b", 61000),
        "No running processes found in NPU 3                                              ",
    )
    found = told(table(rows=rows)).table
    assert found is not None
    assert [(p.npu, p.chip, p.pid, p.name, p.memory_mb, p.container_pid) for p in found.processes] == [
        (0, 0, 2201, "", 1024, None),
        (0, 0, 2202, "a|b", 61000, None),
    ]
    assert found.listed_npus == (0, 3) and not found.processes[0].has_container_column


def test_a_process_id_in_the_container_and_one_that_is_not_known() -> None:
    head = "NPU     Chip              | Process id    | Process name       | Process memory(MB)    | Process id in container "
    row = "%-7d %-18d| %-13d | %-18s | %-21d | %-23s "
    found = told(
        table(processes=head, rows=(row % (0, 0, 1, "x", 5, "77"), row % (0, 0, 2, "y", 6, "NA")))
    ).table
    assert found is not None and found.layout == "L2"
    assert [(p.container_pid, p.has_container_column) for p in found.processes] == [(77, True), (None, True)]


def test_a_table_that_ends_before_its_processes_lists_none() -> None:
    found = told(table(processes="")).table
    assert found is not None and found.processes == () and found.listed_npus == ()


def test_a_process_row_that_is_cut_is_a_problem_and_no_process() -> None:
    cut = table(rows=(ROW % (0, 0, 104217, "python3.11", 54366),))[:-60]
    reader = read(cut)
    assert reader.told.table is not None and reader.told.table.processes == ()
    assert [problem.kind for problem in reader.problems] == ["cut-off"]


@pytest.mark.parametrize(
    ("changes", "layout"),
    [
        ({}, "L1"),
        ({"first": "NPU   Name                | Health        | Power(W)    Temp(C)           "}, "L0"),
        (
            {
                "first": "NPU   Name           | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)",
                "second": "Chip                 | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        ",
            },
            "L1-narrow",
        ),
        (
            {
                "first": "NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page) "
            },
            "L1'",
        ),
        (
            {
                "second": "Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        "
            },
            "A3-L1",
        ),
        (
            {
                "second": "Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        "
            },
            "310P",
        ),
        (
            {
                "first": "NPU ID | Name             | Health        | Power(W)    Temp(C)           Hugepages-Usage(page) ",
                "second": "       |                  | Bus-Id        | NPU Util(%) Memory-Usage(MB)  HBM-Usage(MB)         ",
            },
            "950",
        ),
    ],
)
def test_the_layout_by_the_words_of_the_head_lines(changes: dict[str, str], layout: str) -> None:
    found = told(table(**changes)).table  # type: ignore[arg-type]
    assert found is not None
    assert (found.layout, found.driver_version, found.tool_version) == (layout, "25.2.0", "25.2.0")


def test_a_table_that_was_pasted_without_its_first_line(tmp_path: Path) -> None:
    rows = (ROW % (0, 0, 7, "x", 5),)
    text = table(rows=rows).split("\n", 1)[1]
    reader = read(text)
    found = reader.told.table
    assert found is not None and (found.layout, found.driver_version, len(found.processes)) == ("L1", "", 1)
    assert len(NpuSmiReader("a").feed(text.encode())) == 1
    (tmp_path / "pasted.txt").write_text(text)
    assert [one.kind for one in discover(tmp_path).artifacts] == ["device.npu_smi"]


def test_the_last_of_several_tables_counts() -> None:
    rows = (ROW % (0, 0, 7, "x", 5),)
    found = told(table(rows=rows) + "date\n" + table(version="26.0"))
    assert found.n_tables == 2 and found.table is not None
    assert (found.table.poll, found.table.driver_version, found.table.processes) == (1, "26.0", ())


# ---- -t ----


def test_ids_in_front_of_a_block_and_behind_it_and_the_management_chip_left_out() -> None:
    found = by_chip(told(common(2, 0, 1) + power(2, "303.4", "-") + power(3, "98.0")))
    assert set(found) == {(2, 0), (2, 1), (3, 0)}
    assert found[2, 1].last["Aicore curFreq(MHZ)"] == "1200" and found[2, 1].last["Temperature(C)"] == "88"
    assert found[2, 0].last["NPU Real-time Power(W)"] == "303.4"
    assert found[2, 1].last["NPU Real-time Power(W)"] is None, "'-' is nothing, not 0"
    assert (found[2, 1].first["NPU Real-time Power(W)"], dict(found[3, 0].last)) == (
        "303.4",
        {"NPU Real-time Power(W)": "98.0"},
    )


def test_a_call_that_is_shown_says_of_which_chip_the_text_below_it_is() -> None:
    codes = line("Health Status", "Alarm") + line("Error Code", "80E01801 80E18402")
    codes += line("Error Information", "one, state=a") + "\n" + line("", "two: b") + "\n"
    found = by_chip(told("$ npu-smi info -t health -i 5 -c 1\n" + codes + codes.replace("Alarm", "OK")))
    assert set(found) == {(5, 1)}
    assert found[5, 1].last["Health Status"] == "OK" and found[5, 1].first["Health Status"] == "Alarm"
    assert found[5, 1].last["Error Information"] == "one, state=a; two: b"
    assert set(by_chip(told(codes))) == {(None, None)}


def test_blocks_without_a_blank_line_between_them() -> None:
    """Several outputs put together: a block ends where its keys end."""
    ecc = line("HBM Double Bit Error Count", 1, 40) + line("Chip ID", 0, 40)
    text = begin(0, 1, 40) + ecc + begin(1) + line("Voltage(V)", "0.86") + line("Chip ID", 0)
    text += line("Health Status", "OK") + line("Error Code", "NA")
    found = by_chip(told(text))
    assert found[0, 0].last == {"HBM Double Bit Error Count": "1"}
    assert found[1, 0].last == {"Voltage(V)": "0.86"}
    assert found[1, None].last == {"Health Status": "OK", "Error Code": None}


def test_keys_that_are_not_known_are_kept_and_values_keep_their_colons() -> None:
    text = (
        begin(0)
        + line("PCIe Bus Info", "0000:C1:00.0")
        + line("New Thing(x)", "12:30:01 : a")
        + line("Chip ID", 0)
    )
    assert by_chip(told(text))[0, 0].last == {"PCIe Bus Info": "0000:C1:00.0", "New Thing(x)": "12:30:01 : a"}


def test_what_other_programs_print_is_no_key() -> None:
    noise = "INFO: loading\nEpoch 3: loss 0.1\nTemperature: warm\n"
    assert told(noise).blocks == ()
    found = by_chip(told(noise + power(1, "97.6") + noise))
    assert dict(found[1, 0].last) == {"NPU Real-time Power(W)": "97.6"}


def test_processes_of_proc_mem() -> None:
    one = "\tProcess id:104217  Process name:python3.11        Process memory(MB):54366\n"
    text = begin(0, 2) + one + one.replace("python3.11", "") + line("Chip ID", 0)
    text += "\n\tNo process in device.\n" + line("Chip ID", 1)
    found = by_chip(told(text))
    assert [(p.npu, p.chip, p.pid, p.name, p.memory_mb) for p in found[0, 0].processes] == [
        (0, 0, 104217, "python3.11", 54366),
        (0, 0, 104217, "", 54366),
    ]
    assert found[0, 1].has_processes and found[0, 1].processes == ()


def test_lists_of_ids() -> None:
    heads = ("NPU ID", "Chip ID", "Chip Logic ID", "Chip Phy-ID", "Chip Name")
    rows = [heads, (8, 1, 3, 17, "Ascend910"), (8, 0, 2, 16, "Ascend 910B3"), (8, 2, "-", "-", "Mcu")]
    text = "".join("\t" + " ".join(f"{cell:<30}" for cell in row) + "\n" for row in rows)
    assert [(one.npu, one.chip, one.logic_id, one.physical_id, one.name) for one in told(text).ids] == [
        (8, 1, 3, 17, "Ascend910"),
        (8, 0, 2, 16, "Ascend 910B3"),
    ]
    cards = line("Card Count", 2) + "\n" + begin(0, 2) + line("NPU ID", 8) + line("Product Name", "X: y")
    found = told(cards + line("Chip Count", 1) + "\n" + power(8, "1.0"))
    assert found.n_listed_cards == 2
    assert [(one.npu, one.n_chips, one.product_name) for one in found.cards] == [(0, 2, None), (8, 1, "X: y")]
    assert set(by_chip(found)) == {(8, 0)}, "-t behind -l"


# ---- messages ----


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        ("dcmi module initialize failed. ret is -8005", "driver", -8005),
        ("dcmi model initialized failed, because the device is used. ret is -8020", "occupied", -8020),
        ("dcmi module initialize failed. ret is -8002", "denied", -8002),
        ("There is no NPU card on this server.", "no-card", None),
        ("bash: npu-smi: command not found", "missing", None),
        ("sh: 1: npu-smi: not found", "missing", None),
        ("timeout: failed to run command 'npu-smi': No such file or directory", "missing", None),
        ("bash: /usr/local/bin/npu-smi: Permission denied", "denied", None),
        (
            "npu-smi: error while loading shared libraries: libc_sec.so: cannot open shared object file: No such file",
            "library",
            None,
        ),
        ("This device does not support querying pcie-err.", "not-supported", None),
        ('Failed to query "usages" info.', "failed-query", None),
        ("Must input parameter of chip id.", "wrong-call", None),
        (
            "[WARNING]The driver package may not be completely installed, which may ...",
            "incomplete-driver",
            None,
        ),
    ],
)
def test_what_is_printed_instead_of_data(text: str, kind: str, code: int | None) -> None:
    found = message_of(text, 3)
    assert found is not None and (found.kind, found.code, found.line) == (kind, code, 3)
    assert [(one.kind, one.code) for one in told("x\n" + text).messages] == [(kind, code)], (
        "without a line end"
    )


@pytest.mark.parametrize(
    "text", ["step 3, ret is 0", "| 0 910B3 | OK |", "Health : OK", "ret is -8005 files"]
)
def test_what_is_no_message(text: str) -> None:
    assert message_of(text, 1) is None


# ---- anything ----

PIECES = (
    *(table(rows=(ROW % (0, 0, 7, "x", 5),)), common(0, 0, 1), power(3, "NA", "1.5"), "\n", "\r\n"),
    *("$ npu-smi info -t ecc -i 1\n", line("HBM Double Bit Error Count", 2, 40), line("Chip ID", 0)),
    *(
        "dcmi module initialize failed. ret is -8005\n",
        "noise\n",
        line("Error Information", "a"),
        line("", "b"),
    ),
)


@given(parts=st.lists(st.sampled_from(PIECES), max_size=8), step=st.integers(1, 90))
def test_any_cut_says_the_same(parts: list[str], step: int) -> None:
    text = "".join(parts)
    assert told(text, step) == told(text)


@given(
    parts=st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=40)), max_size=8),
    junk=st.binary(max_size=60),
    at=st.integers(0, 2000),
)
def test_nothing_breaks_it(parts: list[str], junk: bytes, at: int) -> None:
    raw = "".join(parts).encode("utf-8", "replace")
    found = read(raw[:at] + junk + raw[at:]).told
    for block in found.blocks:
        assert len(block.last) <= 256 and set(block.first) == set(block.last)
        assert all(value is None or 0 < len(value) <= 1600 for value in block.last.values())
    for message in found.messages:
        assert len(message.text) <= 400


def test_keys_of_one_chip_are_bounded() -> None:
    text = begin(0) + "".join(
        line(f"Key x{n} (%)".replace("x", chr(97 + n % 26) * (n // 26 + 1)), n) for n in range(700)
    )
    (block,) = told(text + line("Chip ID", 0)).blocks
    assert len(block.last) == 256


RULE = "+" + "-" * 96 + "+\n"


def ruled(*npus: int, end: str = RULE) -> str:
    """A table with a rule behind each chip, the last one `end`."""
    rows = table(processes="").splitlines(keepends=True)
    chips = [rows[3].replace("| 0 ", f"| {npu} ", 1) + rows[4] for npu in npus]
    return RULE + rows[0] + RULE + "".join(rows[1:3]) + RULE + RULE.join(chips) + end


@pytest.mark.parametrize("more", ["", "...\n", ruled(0, 1).removeprefix(RULE)])
def test_a_table_that_ends_without_its_last_rule_may_have_had_more_chips(more: str) -> None:
    found = read(ruled(0, 1, end="") + more).problems
    assert [one.kind for one in found] == ["cut-off"] and found[0].line is not None
    assert read(ruled(0, 1) + more).problems == ()


def test_a_chip_that_stands_twice_in_a_table_is_told() -> None:
    (found,) = read(ruled(0, 1, 0)).problems
    assert found.kind == "bad-record" and "twice" in found.message
    assert read(ruled(0, 1) + ruled(0, 1)).problems == ()


def test_tables_without_their_first_lines_are_polls_of_their_own() -> None:
    text = "".join(ruled(0, 1).splitlines(keepends=True)[3:])
    found = read(text + text)
    assert found.problems == () and found.told.n_tables == 2


@pytest.mark.parametrize(
    "prefix", ["> ", "    ", "[pod/job-0/main] ", "2026-01-02T03:04:05.123456789Z stdout F ", "0: "]
)
def test_tables_with_something_in_front_of_each_line(prefix: str) -> None:
    text = "".join(prefix + one for one in ruled(0, 1).splitlines(keepends=True))
    reader = NpuSmiReader("a.txt")
    found = [*reader.feed(text.encode()), *reader.finish()]
    assert [(one.npu, one.health) for one in found] == [(0, "OK"), (1, "OK")] and reader.problems == ()
    cut = text[: text.rindex(prefix)].encode()
    assert [one.kind for one in read(cut).problems] == ["cut-off"]


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        ("sudo: npu-smi: command not found", "missing", None),
        ("-bash: npu-smi：未找到命令", "missing", None),
        ("zsh: command not found: npu-smi", "missing", None),
        ("/bin/sh: 1: npu-smi: not found", "missing", None),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'npu-smi'", "missing", None),
        (
            "OCI runtime exec failed: exec failed: unable to start container process: "
            'exec: "npu-smi": executable file not found in $PATH: unknown',
            "missing",
            None,
        ),
        (
            'exec failed: exec: "/usr/local/bin/npu-smi": stat /usr/local/bin/npu-smi: no such file or directory',
            "missing",
            None,
        ),
        ("bash: /usr/local/bin/npu-smi: 权限不够", "denied", None),
        ("npu-smi: symbol lookup error: npu-smi: undefined symbol: dcmi_get_x", "library", None),
        (
            "error while loading shared libraries: libdrvdsmi_host.so: cannot open shared object file",
            "library",
            None,
        ),
        ("DCMI module initialize failed, ret=-8005", "driver", -8005),
        ("dcmi_init failed, ret = -8020", "occupied", -8020),
        ("[ERROR] dcmi init fail -8006", "timeout", -8006),
        ("dcmi module initialize failed. 错误码：-8002", "denied", -8002),
    ],
)
def test_what_shells_and_containers_say_instead(
    text: str, kind: str, code: int | None, tmp_path: Path
) -> None:
    for around in ("{}\n", "请联系管理员\n{}\nrc=255\n"):
        found = [one for one in told(around.format(text)).messages]
        assert [(one.kind, one.code) for one in found] == [(kind, code)]
    (tmp_path / "stdout.txt").write_text(f"{text}\n")
    assert [one.kind for one in discover(tmp_path).artifacts] == ["device.npu_smi"]


def test_the_last_of_many_messages_is_kept() -> None:
    text = "dcmi module initialize failed. ret is -8005\n"
    found = told(text * 300 + "dcmi module initialize failed. ret is -8020\n").messages
    assert len(found) == 256 and found[-1].code == -8020 and found[-1].line == 301

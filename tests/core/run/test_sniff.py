from __future__ import annotations

import json
import sqlite3
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.run.kinds import KINDS
from npulse.core.run.sniff import Sniffed, cann_kind, look_for, sniff


def _sniff(folder: Path, name: str, content: bytes | str) -> Sniffed | None:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    look = look_for(name)
    return sniff(str(path), name, look) if look is not None else None


def _kind(folder: Path, name: str, content: bytes | str) -> str | None:
    found = _sniff(folder, name, content)
    return None if found is None else found.kind


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "README.txt",
        "requirements.txt",
        "train.pyc",
        "run.csh",
        "model.onnx",
        "img_1.jpg",
        "stack.json",
        "Functional.linear.0.forward.input.0.pt",
        "Torch.abs.0.forward.output.0.npy",
        "weights.bin",
        "lib.so.1",
        "2024",
        "Makefile",
        "notes.2024",
    ],
)
def test_names_that_are_never_opened(name: str) -> None:
    assert look_for(name) is None


@pytest.mark.parametrize(
    ("name", "header", "kind"),
    [
        ("x.csv", "NPU Name,Bench Name,NPU Dtype\n", "msprobe.compare_result"),
        ("x.csv", "API name,Forward Test Success,Backward Test Success,Message\n", "msprobe.acc_check"),
        (
            "api_precision_compare_result_1.csv",
            "API Name,Forward Test Success,Backward Test Success,Message\n",
            "msprobe.api_precision_compare",
        ),
        ("similarities.csv", "step,0,1\nw,1,1\n", "msprobe.grad_probe"),
        ("x.csv", "vpp_stage,name,step,min,max\n", "msprobe.monitor_v1"),
        ("x.csv", "vpp_stage,step,module_name,scope,min\n", "msprobe.monitor_v2"),
        ("statistic.csv", "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape\n",
         "mindspore.statistic"),
        ("x.csv", "OpName|InDType|InShape|OutDType|OutShape\n", "msit.statistic"),
        ("x.csv", "Index,NPUDump,GroundTruth,AbsoluteError,RelativeError\n", "cann.compare_single"),
        ("x.csv", "Index,NPUDump,NPUDumpPath,GroundTruthPath,DataType,Shape\n", "cann.compare_result"),
        ("x.csv", "Device_id,OP Type,Core Type,Count,Total Time(us)\n", "prof.op_statistic"),
        ("x.csv", "Op Name,OP Type,Task Type,Task Duration(us)\n", "prof.op_summary"),
        ("x.csv", "Op Name,Op Type,Task Duration(us),Block Dim,Current Freq,Rated Freq,\n", "opprof.result"),
        ("x.csv", "aic_time(us),aic_total_cycles,aic_cube_ratio,\n", "opprof.result"),
        ("x.csv", "ID,Event,Event Type,Name,Timestamp(ns),Ptr,Attr\n", "memscope.dump"),
        ("x.csv", ",,,Base,Compare\nEvent,Name\n", "memscope.compare"),
        ("x.csv", "Mode,Task,Hit Rate(%),Throughput(MB/s)\n", "prof.counters"),
        ("x.csv", "name,age\n1,2\n", None),
        ("x.csv", "step,loss\n1,2\n", None),
        ("x.csv", "\0\1\2", None),
    ],
)  # fmt: skip
def test_csv_by_columns(tmp_path: Path, name: str, header: str, kind: str | None) -> None:
    assert _kind(tmp_path, name, header) == kind


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030"])
def test_csv_in_other_encodings(tmp_path: Path, encoding: str) -> None:
    text = "超参名称,NPU生效值,bench生效值,是否一致\r\n"
    assert _kind(tmp_path, "hyper.csv", text.encode(encoding)) == "msprobe.config_check"


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("a.json", {"task": "tensor", "level": "L1", "dump_data_dir": None, "data": {}}, "msprobe.dump"),
        ("a.json", {"task": "tensor", "dump_path": "/out", "level": "L1"}, "msprobe.config"),
        ("a.json", {"dump": {"dump_list": [{}], "dump_path": "x"}}, "cann.acl_config"),
        ("a.json", {"op_a": {"is_same": True, "op_items": []}}, "msprobe.compare_result"),
        ("a.json", {"w": {"l2": 0, "cos": 1, "numel": 2, "shape": [2]}}, "msprobe.ckpt_compare"),
        ("a.json", {"rank_0": [{"op_name": "x", "data_info": {"input": []}}]}, "msprobe.overflow_check"),
        ("diff_analyze_1.json", {"rank_0": [{"op_name": "x", "data_info": {}}]}, "msprobe.diff_analyze"),
        ("a.json", {"magic": "0x5a5a5a5a", "version": 1, "acc_list": {}}, "cann.opdebug"),
        ("a.json", {"(0, 1)": {"step1": {"op": {"0": {"Communication Time Info": {}}}}}}, "prof.cluster"),
        ("a.json", {"hcom_x@1": {"Communication Time Info": {}}}, "prof.communication"),
        ("a.json", [{"ph": "X", "pid": 1, "name": "a"}], "prof.trace_view"),
        ("msprof_20260801.json", [{"ph": "X", "pid": 1, "name": "a"}], "prof.msprof_trace"),
        ("a.json", {"traceEvents": [{"ph": "X", "pid": 1}]}, "prof.trace_view"),
        ("a.json", {"name": "demo", "dump": "no", "task": 1}, None),
        ("a.json", {"expected": {"a.log": [{"op_name": "x", "data_info": 1}]}}, None),
        ("a.json", [1, 2, 3], None),
    ],
)
def test_json_by_keys(tmp_path: Path, name: str, value: object, kind: str | None) -> None:
    assert _kind(tmp_path, name, json.dumps(value)) == kind
    if kind is not None:
        found = _sniff(tmp_path, name, json.dumps(value, indent=1)[:-1])
        assert found is not None and found.completeness == "cut off"


def test_sqlite_by_its_tables(tmp_path: Path) -> None:
    for i, (table, kind) in enumerate(
        {
            "tb_nodes": "msprobe.graph",
            "trend_data": "msprobe.trend",
            "PYTORCH_API": "prof.torch_db",
            "CommAnalyzerTime": "prof.analysis_db",
            "users": None,
        }.items()
    ):
        path = tmp_path / f"{i}.db"
        with sqlite3.connect(path) as db:
            db.execute(f"create table {table} (id)")
        db.close()
        found = sniff(str(path), path.name, "sqlite")
        assert (found.kind if found else None) == kind
    assert _kind(tmp_path, "msprof_20260801120000.db", "no database") is None


def test_workbooks_by_header_and_by_name_where_they_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "any.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/worksheets/sheet1.xml", "<t>NPU Name</t><t>Bench Name</t>")
    assert sniff(str(path), "any.xlsx", "workbook") == Sniffed(
        "msprobe.compare_result", path.stat().st_size, path.stat().st_mtime_ns, "complete"
    )
    cut = path.read_bytes()[:60]
    found = _sniff(tmp_path, "compare_result_rank0_20260801120000.xlsx", cut)
    assert found is not None and (found.kind, found.completeness) == ("msprobe.compare_result", "cut off")
    assert _kind(tmp_path, "budget.xlsx", cut) is None


_FILLER = "epoch 1 loss 0.5\n" * 2000


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[default0]:[mssanitizer] Start memcheck sanitizer on kernel k\n", "sanitizer.mssanitizer"),
        ("====== ERROR: illegal read of size 224\n", "sanitizer.mssanitizer"),
        ("====== my test ======\n", None),
        ("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", None),
        ("====== ERROR: Detected memory leaks on device 0 ======\n", "memscope.leaks"),
        ("\x1b[1m\x1b[31m==12==ERROR: AddressSanitizer: heap-use-after-free\n", "sanitizer.host"),
        ("a.cpp:15:70: runtime error: signed integer overflow\n", "sanitizer.host"),
        ("SUMMARY: LeakSanitizer: 10 byte(s) leaked\n", "sanitizer.host"),
        ("[ERROR] RUNTIME(370,python3):2023-07-13-07:42:40.516.803 [a.cc:510]x\n", "runtime.plog"),
        ("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB\n", "runtime.console"),
        ("(msdebug) run\n", "msdebug.transcript"),
        ("| npu-smi 25.2.0                   Version: 25.2.0       |\n", "device.npu_smi"),
        ("Overflow detected! Operator name: X:kernel\n", "msit.overflow"),
        ("export ASCEND_HOME_PATH=/usr/local/Ascend\n", "device.environment"),
        ("nothing to see\n", None),
    ],
)
@pytest.mark.parametrize("place", ["alone", "at the end"])
def test_logs_by_telltale_lines(tmp_path: Path, text: str, kind: str | None, place: str) -> None:
    content = text if place == "alone" else _FILLER + text
    assert _kind(tmp_path, "any.log", content) == kind


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("run.sh", "#!/bin/bash\nexport INF_NAN_MODE_ENABLE=0\npython train.py\n", "device.script"),
        ("run.sh", "MSDEBUG_OVERFLOW_MODE=1 python train.py\n", "device.script"),
        ("run.sh", "export ASCEND_WORK_PATH=/w\n", "device.script"),
        ("run.sh", "# a note\n" * 1500 + "ASCEND_LAUNCH_BLOCKING=1 python train.py\n", "device.script"),
        ("run.sh", "source /usr/local/Ascend/set_env.sh\necho $ASCEND_HOME_PATH\n", None),
        ("train.py", 'os.environ["MS_ASCEND_CHECK_OVERFLOW_MODE"] = "INFNAN_MODE"\n', "device.script"),
        ("train.py", "os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '0'\n", "device.script"),
        ("train.py", 'os.environ.setdefault("ASCEND_LAUNCH_BLOCKING", "1")\n', "device.script"),
        ("train.py", 'if os.environ["ASCEND_HOME_PATH"] == "": raise SystemExit\n', None),
        ("model.py", "import torch\nimport torch_npu\n", None),
        ("env.txt", "HOME=/root\nINF_NAN_MODE_ENABLE=1\n", "device.environment"),
        ("env.txt", 'declare -x MS_ASCEND_CHECK_OVERFLOW_MODE="INFNAN_MODE"\n', "device.environment"),
        ("env.txt", "MSDEBUG_DUMP_PATH=/d\n", "device.environment"),
    ],
)
def test_scripts_by_the_settings_in_them(tmp_path: Path, name: str, text: str, kind: str | None) -> None:
    assert _kind(tmp_path, name, text) == kind


def test_a_binary_is_no_log(tmp_path: Path) -> None:
    assert _kind(tmp_path, "a.out", b"\x7fELF\0\0[mssanitizer] Start") is None
    assert _kind(tmp_path, "b.out", b"\0\1\0\0\2\0" * 9 + b"[mssanitizer] Start") is None


@pytest.mark.parametrize("place", [0, 30, 200])
def test_single_nuls_of_a_programs_own_output_do_not_hide_a_log(tmp_path: Path, place: int) -> None:
    log = b"[mssanitizer] Start memcheck sanitizer on kernel k\nloss 0.25 0.21 0.19\n" * 4
    assert _kind(tmp_path, "a.log", log[:place] + b"\0 nan\0\n" + log[place:]) == _kind(
        tmp_path, "b.log", log
    )
    assert _kind(tmp_path, "b.log", log) is not None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Conv2D.conv1_Conv2D.12.3.1749633330000123", "cann.dump"),
        ("Conv2D.conv1.12.1749633330000123", "cann.dump"),
        ("Mul.m_sgt_graph_0.22.3.1749633330001300.4.7.1.0", "cann.dump"),
        ("Add.add.1.8.5.1749633360000000.FFTSPLUS.1.2.0", "cann.dump"),
        ("Conv2D.c.12.3.1749633330000123.output.0.ND.FLOAT.npy", "cann.dump"),
        ("Conv2D.c.12.3.1749633330000123.output.0.1x8x6x5.npy", "cann.dump"),
        ("459176958410709430", "cann.dump"),
        ("Opdebug.Node_OpDebug.19.3.1749633330001100", "cann.opdebug"),
        ("Opdebug.Node_OpDebug.19.3.1749633330001100.output.0.json", "cann.opdebug"),
        ("MatMul.fc.15.3.1749633420000456.csv", "cann.stats"),
        ("exception_info.5.9.20250611171538370", "cann.exception"),
        ("add_custom.2.1.20260829101507233.core", "cann.exception"),
        ("conv1_Conv2D.0.1749633330000123.npy", "cann.golden"),
        ("Torch.abs.0.forward.input.0.npy", None),
        ("plog-123_20260829101507233.log", None),
    ],
)
def test_names_of_cann_dumps(name: str, kind: str | None) -> None:
    assert cann_kind(name) == kind


def test_a_cann_dump_must_look_like_one(tmp_path: Path) -> None:
    name = "Conv2D.conv1.12.3.1749633330000123"
    message = b"\x0a\x032.0"
    assert _sniff(tmp_path, name, len(message).to_bytes(8, "little") + message + b"x" * 64) is not None
    cut = _sniff(tmp_path, name, (5000).to_bytes(8, "little") + message)
    assert cut is not None and cut.completeness == "cut off"
    empty = _sniff(tmp_path, name, b"")
    assert empty is not None and empty.completeness == "cut off"
    assert _sniff(tmp_path, name, b"just some text that has the name of a dump") is None


def test_an_empty_file_is_what_its_name_promises(tmp_path: Path) -> None:
    found = _sniff(tmp_path, "op_summary_20260801120500.csv", b"")
    assert found is not None and (found.kind, found.completeness) == ("prof.op_summary", "cut off")
    assert _sniff(tmp_path, "notes.csv", b"") is None


_NAMES = (
    *("a.csv", "a.json", "a.jsonl", "a.log", "a.xlsx", "a.db", "version.info", "visualize_data.bin"),
    *("intensor0.bin", "Conv2D.c.1.2.1749633330000123", "mapping.csv", "start_info", "x.toml", "x.sh"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@given(name=st.sampled_from(_NAMES), content=st.binary(max_size=300))
def test_no_bytes_break_the_look(folder: Path, name: str, content: bytes) -> None:
    found = _sniff(folder, name, content)
    assert found is None or (found.kind in KINDS and found.size_bytes == len(content))


@given(at=st.integers(0, 600), byte=st.integers(0, 255))
def test_no_flipped_byte_breaks_a_workbook(folder: Path, at: int, byte: int) -> None:
    path = folder / "compare_result_1.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", '<sheet name="Sheet1"/>')
        archive.writestr("xl/worksheets/sheet1.xml", "<t>NPU Name</t><t>Bench Name</t>" * 9)
    raw = bytearray(path.read_bytes())
    raw[at % len(raw)] = byte
    found = _sniff(folder, path.name, bytes(raw))
    assert found is None or found.kind == "msprobe.compare_result"


@given(name=st.text(min_size=1, max_size=80))
def test_any_name_can_be_asked(name: str) -> None:
    look_for(name)
    cann_kind(name)


_TRACEBACK = 'Traceback (most recent call last):\n  File "/app/t.py", line 31, in fwd\n    f()\n'


@pytest.mark.parametrize(
    "text",
    [
        _TRACEBACK + "RuntimeError: ACL stream synchronize failed, error code:507035\n",
        _TRACEBACK + "RuntimeError: NPU function error: call aclnnGather failed, error code is 561103\n",
        _TRACEBACK + "RuntimeError: HCCL function error: HcclAllReduce, error code is 6\n",
        _TRACEBACK + "RuntimeError: The Inner error is reported as above.\n",
        "[ERROR] 2026-03-01-10:00:01 (PID:9, Device:1, RankID:-1) ERR00100 PTA call acl api failed\n",
        "[ERROR] 2026-03-01-10:00:01 (PID:9, Device:1, RankID:0) ERR02200 something\n",
        "synchronize stream failed, runtime result = 507011\n",
        "rtStreamSynchronize:ErrCode=507035, desc=[vector core exception]\n",
    ],
)
def test_a_traceback_with_a_word_of_the_runtime(tmp_path: Path, text: str) -> None:
    assert _kind(tmp_path, "train.log", "step 1 loss=2.2\n" + text) == "runtime.console"


@pytest.mark.parametrize(
    "text",
    [
        _TRACEBACK + "ValueError: 507035 is out of range\n",
        _TRACEBACK + "OSError: [Errno 5] error code 12\n",
        _TRACEBACK + "RuntimeError: CUDA error: device-side assert, error code 710\n",
        "ERR0: nothing\nfunction error: f(x)\n",
    ],
)
def test_an_ordinary_traceback_stays_foreign(tmp_path: Path, text: str) -> None:
    assert _kind(tmp_path, "train.log", text) is None


@pytest.mark.parametrize(
    "name",
    [
        *("ASCEND_LAUNCH_BLOCKING", "ASCEND_DUMP_SCENE", "PYTORCH_NO_NPU_MEMORY_CACHING", "ASAN_OPTIONS"),
        *("PYTORCH_NPU_ALLOC_CONF", "MSSANITIZER_ENABLE_DEBUG_LOG", "MSANITIZER_MODE", "MSANITIZER_OUTPUT"),
    ],
)
def test_one_setting_alone_is_an_environment(tmp_path: Path, name: str) -> None:
    for text in (f"{name}=1\n", f"# job\nexport {name}=1\n", f"HOME=/root\n{name}=1\nSHLVL=1\n"):
        assert _kind(tmp_path, "env.txt", text) == "device.environment"
    assert _kind(tmp_path, "run.sh", f"#!/bin/sh\nexport {name}=1\npython train.py\n") == "device.script"
    assert _kind(tmp_path, "train.py", f'import os\nos.environ["{name}"] = "1"\n') == "device.script"


def test_a_program_that_prints_a_setting_is_no_environment(tmp_path: Path) -> None:
    text = "start\nASCEND_LAUNCH_BLOCKING=1\nstep 1 loss 2\nstep 2 loss 1\n"
    assert _kind(tmp_path, "train.log", text) is None


def test_settings_in_front_of_a_log_do_not_hide_it(tmp_path: Path) -> None:
    text = "ASCEND_LAUNCH_BLOCKING=1\n" * 400 + _FILLER + "RuntimeError: error code is 507035\n"
    assert _kind(tmp_path, "train.log", text) == "runtime.console"


@pytest.mark.parametrize(
    "text", ["ret = 507056", "ret:507056", "errorCode=507056", "aclError:507056", "aclrtMemcpy return 507056"]
)
def test_a_log_with_a_code_behind_a_word_of_programs(tmp_path: Path, text: str) -> None:
    assert _kind(tmp_path, "a.log", f"step 1 loss=2.2\nfailed, {text}\n") == "runtime.console"
    assert _kind(tmp_path, "b.log", f"step 1 loss=2.2\n    {text};\n") != "runtime.console"
    assert (
        _kind(tmp_path, "c.log", f"step 1 loss=2.2\n{text.replace('507056', '507999')}\n")
        != "runtime.console"
    )

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats import environment
from npulse.core.formats.environment import SEED_WORDS, SEED_WORDS_OF, Environment, read_environment
from npulse.core.formats.shell_words import commands


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("environment")


def read(folder: Path, content: str | bytes, name: str) -> Environment:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_environment(path, root=folder)


def variables(found: Environment) -> list[tuple[str, str, int]]:
    return [(v.name, v.value, v.line) for v in found.variables]


def flags(found: Environment) -> list[tuple[str, str | None, int]]:
    return [(f.name, f.value, f.line) for f in found.flags]


def told(found: Environment) -> list[tuple[str, int | None]]:
    return [(problem.kind, problem.line) for problem in found.problems]


# ---- listings ----


def test_what_env_printed(folder: Path) -> None:
    text = """SHELL=/bin/bash
PATH=/usr/bin:/bin
LS_COLORS=rs=0:di=01;34:ln=01;36
INF_NAN_MODE_ENABLE=1
TITLE=two words B=2 # no comment
EMPTY=
BASH_FUNC_module%%=() {  eval `cmd bash $*`
    X=1
}
"""
    found = read(folder, text, "env.txt")
    assert (found.form, found.problems, found.flags) == ("listing", (), ())
    assert variables(found) == [
        ("SHELL", "/bin/bash", 1),
        ("PATH", "/usr/bin:/bin", 2),
        ("LS_COLORS", "rs=0:di=01;34:ln=01;36", 3),
        ("INF_NAN_MODE_ENABLE", "1", 4),
        ("TITLE", "two words B=2 # no comment", 5),
        ("EMPTY", "", 6),
    ]


def test_a_part_of_a_listing(folder: Path) -> None:
    found = read(folder, "ASCEND_HOME_PATH=/a b\nHCCL_IF='eth0'\n", "ascend.txt")
    assert found.form == "listing"
    assert variables(found) == [("ASCEND_HOME_PATH", "/a b", 1), ("HCCL_IF", "eth0", 2)]


def test_one_command_is_no_listing(folder: Path) -> None:
    found = read(folder, "A=1 B=2 /usr/bin/python3 train.py --fp16", "how.txt")
    assert (found.form, variables(found)) == ("shell", [("A", "1", 1), ("B", "2", 1)])
    assert flags(found) == [("fp16", None, 1)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "utf-16"])
def test_encodings_and_line_ends(folder: Path, encoding: str) -> None:
    found = read(folder, "PATH=/bin\r\n张量=x\r\nA=张量\r\n".encode(encoding), "env.txt")
    assert variables(found) == [("PATH", "/bin", 1), ("A", "张量", 3)]
    assert found.problems == ()


# ---- shell ----


def test_what_export_printed(folder: Path) -> None:
    text = 'declare -x A="a \\"b\\" \\$c"\ndeclare -x NOTHING\ndeclare -rx D="4"\nexport E=\'5 6\'\n'
    found = read(folder, text, "exported.txt")
    assert (found.form, variables(found)) == ("shell", [("A", 'a "b" $c', 1), ("D", "4", 3), ("E", "5 6", 4)])


SCRIPT = r"""#!/bin/bash
# export A=commented
source /usr/local/Ascend/set_env.sh
export A=1 B='two words' C
export W="$HOME/my \"work\""   # a comment
MODE=1 NEXT=2 python3 -u pre.py && D=$(date +%F) echo "don't"
if [ -n "$X" ]; then export E=4; else export E=5; fi
ARGS="
    --num-layers 24 \
    --fp16 \
    --initial-loss-scale 65536 \
    --min-loss-scale=1
"
OPTS=(
  --bf16
  --lr 1e-4
)
cat > acl.json <<JSON
{"dump": {"dump_path": "it's"}}
F=not-a-setting
JSON
torchrun $DISTRIBUTED train.py \
    $ARGS --loss_scale 128 --shift -1 --last \
    2>&1 | tee log.txt
mpirun -x G=7 docker run -e H=8 image --env I=9
env -i J=10 nohup K=11 command
"""


def test_a_script(folder: Path) -> None:
    found = read(folder, SCRIPT, "train.sh")
    assert (found.form, found.problems) == ("shell", ())
    assert [v for v in variables(found) if v[0] != "ARGS"] == [
        *(("A", "1", 4), ("B", "two words", 4), ("W", '$HOME/my "work"', 5)),
        *(("MODE", "1", 6), ("NEXT", "2", 6), ("D", "$(date +%F)", 6), ("E", "4", 7), ("E", "5", 7)),
        *(("G", "7", 25), ("H", "8", 25), ("I", "9", 25), ("J", "10", 26), ("K", "11", 26)),
    ]
    assert flags(found) == [
        *(("num-layers", "24", 9), ("fp16", None, 10), ("initial-loss-scale", "65536", 11)),
        *(("min-loss-scale", "1", 12), ("bf16", None, 15), ("lr", "1e-4", 16)),
        *(("loss_scale", "128", 23), ("shift", "-1", 23), ("last", "2", 23), ("env", "I=9", 25)),
    ]


def test_the_last_setting_wins(folder: Path) -> None:
    found = read(folder, SCRIPT, "train.sh")
    last = found.get("E")
    assert last is not None and (last.value, last.line) == ("5", 7)
    assert found.get("C") is None and found.get("MISSING") is None
    scale = found.flag("--loss-scale")
    assert scale is not None and (scale.name, scale.value) == ("loss_scale", "128")
    assert found.flag("fp8") is None


def test_a_log_with_commands_in_it(folder: Path) -> None:
    text = "+ export A=1\n++ B=2\nit's 3 o'clock; don't\n+ python t.py --fp16 --loss-scale=8\nstep 1 loss=3\n"
    found = read(folder, text, "train.log")
    assert variables(found) == [("A", "1", 1), ("B", "2", 2)]
    assert flags(found) == [("fp16", None, 4), ("loss-scale", "8", 4)]
    assert found.problems == ()


def test_a_quote_without_end_is_told_and_costs_little(folder: Path) -> None:
    found = read(folder, "#!/bin/sh\nexport A=1\necho it's\nexport B=2\n", "a.sh")
    assert variables(found) == [("A", "1", 2), ("B", "2", 4)]
    assert told(found) == [("bad-record", 3)]


def test_a_here_document_without_end_is_read_on(folder: Path) -> None:
    assert variables(read(folder, "cat <<EOF\nA=1\n", "a.sh")) == [("A", "1", 2)]


def test_python_inside_of_a_script(folder: Path) -> None:
    text = 'export A=1\npython - <<PY\nimport os\nos.environ["B"] = "2"\nPY\nexport C=3\n'
    assert variables(read(folder, text, "a.sh")) == [("A", "1", 1), ("B", "2", 4), ("C", "3", 6)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", [["a", "b"]]),
        ("a;b&&c||d|e&f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a'b'\"c\"d", [["abcd"]]),
        ("a $'b' \"\" ''", [["a", "b", "", ""]]),
        ("a ${b:-c d} $(e 'f') `g h`", [["a", "${b:-c d}", "$(e 'f')", "`g h`"]]),
        ("a#b #c", [["a#b"]]),
        ("a > b 2>c <d >&2 e", [["a", "2", "e"]]),
        ("a \\\n b\nc", [["a", "b"], ["c"]]),
        ("a=(b c)\n", [["a="], ["b", "c"]]),
        ("", []),
        ("\n;;\n", []),
    ],
)
def test_words_of_commands(text: str, expected: list[list[str]]) -> None:
    assert [[word.text for word in words] for words in commands(text, is_script=True)] == expected


# ---- Python ----


def test_settings_in_python(folder: Path) -> None:
    text = '''"""Set it yourself:
os.environ["IN_A_TEXT"] = "1"
"""
import os
os.environ["A"] = "0"  # saturation
os.environ['B'] = str(level)
os.environ.setdefault("C", 'x')
# os.environ["COMMENTED"] = "1"
if os.environ["D"] == "1": pass
os.putenv("E", "y")
environ["F"]="1"; print(1)
"""one line""" ; os.environ["G"] = "2"
'''
    found = read(folder, text, "train.py")
    assert (found.form, found.flags) == ("python", ())
    assert variables(found) == [
        *(("A", "0", 5), ("B", "str(level)", 6), ("C", "x", 7), ("E", "y", 10), ("F", "1", 11)),
        ("G", "2", 12),
    ]


# ---- round manifests ----


def test_a_round_manifest(folder: Path) -> None:
    text = """schema = 1
command = ["env", "A=1", "bash", "-c", "B=2 python t.py --fp16 --loss-scale 8", "--end"]
[environment]
INF_NAN_MODE_ENABLE = "0"
"MSDEBUG_OVERFLOW_MODE" = true
N = 5
L = [1]
[versions]
N = "no setting"
[env]
N = 6
"""
    found = read(folder, text, "round.toml")
    assert found.form == "toml"
    assert variables(found) == [
        *(("INF_NAN_MODE_ENABLE", "0", 4), ("MSDEBUG_OVERFLOW_MODE", "true", 5), ("N", "5", 6)),
        *(("N", "6", 11), ("A", "1", 2), ("B", "2", 2)),
    ]
    assert flags(found) == [("end", None, 2), ("fp16", None, 2), ("loss-scale", "8", 2)]
    assert told(found) == [("bad-record", 7)]


def test_a_command_as_text_and_tables_in_one_line(folder: Path) -> None:
    found = read(folder, 'env = {A = "1"}\nenvironment.B = "2"\ncommand = "C=3 x --bf16"\n', "round.toml")
    assert variables(found) == [("B", "2", 2), ("A", "1", 1), ("C", "3", 3)]
    assert flags(found) == [("bf16", None, 3)]


def test_wrong_types_in_a_manifest_are_told(folder: Path) -> None:
    found = read(folder, "command = 3\nenv = 1\n", "round.toml")
    assert (found.variables, told(found)) == ((), [("bad-record", 2), ("bad-record", 1)])


def test_a_number_of_no_end_is_a_problem(folder: Path) -> None:
    """Base 16 has no limit of digits, its text in base 10 has."""
    found = read(folder, f"[env]\nA = 0x{'f' * 9000}\nB = 1\n", "round.toml")
    assert [one.name for one in found.variables] == ["B"] and len(found.problems) == 1


@pytest.mark.parametrize("text", ["a = \n", "[", "a = 'x\n", "x" * 100, "a=" + "[" * 5000])
def test_what_is_no_toml_is_an_error(folder: Path, text: str) -> None:
    with pytest.raises(InputError, match="no TOML"):
        read(folder, "# 1\n" + text, "round.toml")


# ---- bounds and any bytes ----


def test_what_is_no_text_is_an_error(folder: Path) -> None:
    with pytest.raises(InputError, match="no text"):
        read(folder, b"\x7fELF\0\0A=1\n", "env.txt")
    with pytest.raises(InputError):
        read_environment(folder / "missing.sh", root=folder)


def test_settings_and_bytes_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "MAX_SETTINGS", 3)
    for text, name in (
        ("A=1\n" * 9, "env.txt"),
        ("export A=1\n" * 9, "a.sh"),
        ('os.environ["A"] = "1"\n' * 9, "a.py"),
        ("[env]\n" + "".join(f"A{i} = 1\n" for i in range(9)), "a.toml"),
    ):
        found = read(folder, text, name)
        assert (len(found.variables), told(found)) == (3, [("limit", None)]), name
    monkeypatch.setattr(environment, "MAX_TEXT_BYTES", 12)
    found = read(folder, "A=1\nB=2\nC=3\nD=4\n", "env.txt")
    assert ([v.name for v in found.variables], told(found)) == (["A", "B", "C"], [("limit", None)])


def test_an_empty_file_has_no_settings(folder: Path) -> None:
    found = read(folder, b"", "env.txt")
    assert (found.variables, found.flags, found.problems) == ((), (), ())


_NAMES = ("env.txt", "a.sh", "a.py", "round.toml")


@given(content=st.binary(max_size=300), name=st.sampled_from(_NAMES))
def test_no_bytes_break_it(folder: Path, content: bytes, name: str) -> None:
    for raw in (content, b"A=1\n" + content, b"#!/bin/sh\nexport A=" + content):
        try:
            found = read(folder, raw, name)
        except InputError:
            continue
        "".join(v.name + v.value for v in found.variables).encode()


_PIECES = st.sampled_from(
    [
        "'",
        '"',
        "\\",
        "\n",
        " ",
        "$(",
        "${",
        "`",
        ")",
        "}",
        "<<A",
        "A",
        "=1",
        ";",
        "#",
        "--x",
        ">",
        "export ",
        "\r",
    ]
)


@given(pieces=st.lists(_PIECES, max_size=40), name=st.sampled_from(_NAMES))
def test_odd_scripts_are_read(folder: Path, pieces: list[str], name: str) -> None:
    text = "".join(pieces)
    try:
        found = read(folder, text, name)
    except InputError:
        return
    n_lines = text.count("\n") + 1
    assert all(1 <= v.line <= n_lines for v in (*found.variables, *found.flags))


@given(at=st.integers(0, len(SCRIPT)))
def test_a_script_cut_anywhere_is_read(folder: Path, at: int) -> None:
    whole = {(v.name, v.line) for v in read(folder, SCRIPT, "whole.sh").variables}
    cut = read(folder, SCRIPT[:at], "cut.sh")
    if not cut.problems:  # no quote was cut
        before = [v for v in cut.variables if v.line < SCRIPT[:at].count("\n")]
        assert {(v.name, v.line) for v in before} - {("F", 20)} <= whole


@pytest.mark.parametrize(
    "unit",
    ['"', "'", "$(", "${", "`", "<<A ", "<<{i} ", '"\\"', "\\'", "A=", "--a ", "(", "$((x)", "\\\n", "'\"\n"],
)
def test_hostile_scripts_take_linear_time(folder: Path, unit: str) -> None:
    text = "".join(unit.replace("{i}", f"x{i}") for i in range(100_000 // len(unit)))
    text = "\n".join(text[i : i + 60_000] for i in range(0, len(text), 60_000))
    begun = time.process_time()
    read(folder, "#!/bin/sh\n" + text, "a.sh")
    read(folder, text, "a.log")
    assert time.process_time() - begun < 5.0  # about 0.2 s


def test_names_of_guides_stand_for_real_settings() -> None:
    assert SEED_WORDS["MSDEBUG_OVERFLOW_MODE"] == (
        "acl.json dump_debug",
        "INF_NAN_MODE_ENABLE",
        "op_debug_mode",
    )
    overflow = {"MSDEBUG_OVERFLOW_MODE", "MSDEBUG_DUMP_PATH", "MSDEBUG_RETRO_DUMP_LAYERS"}
    sanitizer = {"MSANITIZER_MODE", "MSANITIZER_OUTPUT"}
    assert set(SEED_WORDS_OF["overflow"]) == overflow
    assert set(SEED_WORDS_OF["sanitizer"]) == sanitizer
    assert set(SEED_WORDS) == overflow | sanitizer
    assert SEED_WORDS["MSANITIZER_MODE"] == ("mssanitizer --tool",)
    assert SEED_WORDS["MSANITIZER_OUTPUT"] == ("mssanitizer --log-file",)

"""Key maps: those that ship are valid, a user's mistakes are named by line, the rest stays in force."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.keys import _character_to_key

from npulse.tui import keymap as km
from npulse.tui.actions import ACTIONS, BY_ID
from npulse.tui.keymap import (
    check_keymap,
    clashes,
    default_keys,
    describe_keys,
    key_name,
    load_keymap,
    show_keys,
)

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib


def write(folder: Path, text: str) -> Path:
    path = folder / "keymap.toml"
    path.write_text(text, "utf-8")
    return path


def shipped(name: str) -> dict[str, object]:
    from importlib.resources import files

    return tomllib.loads((files("npulse.keymaps") / f"{name}.toml").read_text("utf-8"))


def test_default_file_equals_the_registry() -> None:
    bindings = shipped("default")["bindings"]
    assert isinstance(bindings, dict)
    as_tuples = {i: (k,) if isinstance(k, str) else tuple(k) for i, k in bindings.items()}
    assert as_tuples == dict(default_keys())
    assert list(as_tuples) == [a.id for scope, _, _ in km.SCOPES for a in ACTIONS if a.scope == scope]


@pytest.mark.parametrize("name", km.MAP_NAMES)
def test_shipped_map_is_valid_and_free_of_clashes(name: str) -> None:
    found = km.named_keymap(name)
    assert found.problems == ()
    assert found.name == shipped(name)["name"] == name
    assert clashes(found.keys) == []
    assert set(found.keys) == set(BY_ID)


def test_vim_and_emacs_differ_from_default_where_it_matters() -> None:
    assert "ctrl+d" in km.named_keymap("vim").keys["move.page-down"]
    assert km.named_keymap("emacs").keys["app.back"][0] == "ctrl+g"


def test_no_file_means_defaults(tmp_path: Path) -> None:
    assert load_keymap(tmp_path / "none.toml") == km.Keymap("default", default_keys())


def test_user_map_over_a_base(tmp_path: Path) -> None:
    path = write(
        tmp_path, 'name = "mine"\nbase = "vim"\n[bindings]\n"pane.export" = "X"\n"table.sort" = []\n'
    )
    found = load_keymap(path)
    assert found.problems == () and found.name == "mine"
    assert found.keys["pane.export"] == ("X",)
    assert found.keys["table.sort"] == ()
    assert "ctrl+d" in found.keys["move.page-down"]  # from vim
    assert found.keys["app.help"] == ("?",)  # from default


def test_two_keys_may_change_places(tmp_path: Path) -> None:
    found = load_keymap(write(tmp_path, '[bindings]\n"pane.copy" = "x"\n"pane.export" = "y"\n'))
    assert found.problems == ()
    assert (found.keys["pane.copy"], found.keys["pane.export"]) == (("x",), ("y",))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('"view.sort" = "s"', ("unknown action", "view.sort")),
        ('"table.srt" = "s"', ("unknown action", "table.sort")),
        ('"app.back" = "esc"', ("unknown key", "escape")),
        ('"app.back" = "pgdn"', ("unknown key", "pagedown")),
        ('"app.back" = "ctrl+X"', ("unknown key", "ctrl+x")),
        ('"pane.export" = "ctrl+b"', ("can't be used", "tmux")),
        ('"pane.export" = ["x", "ctrl+s"]', ("can't be used", "flow control")),
        ('"pane.export" = "shift+f5"', ("can't be used", "don't send")),
        ('"pane.export" = "ctrl+i"', ("never arrives", "tab")),
        ('"pane.export" = "q"', ("app.quit", "pane.export", "both")),
        ('"pane.export" = 7', ("string or a list", "pane.export")),
        ('"pane.export" = [7]', ("string or a list", "pane.export")),
        ('"app.quit" = []', ("must keep a key", "app.quit")),
        ('"entry.accept" = "j"', ("typed here", "j")),
    ],
)
def test_a_mistake_is_named_with_its_line_and_the_default_stays(
    tmp_path: Path, line: str, words: tuple[str, ...]
) -> None:
    path = write(tmp_path, f'# mine\n[bindings]\n"table.reverse" = "K"\n{line}\n')
    (problem,) = check_keymap(path)
    assert problem.line == 4 and problem.file == str(path)
    for word in words:
        assert word in problem.message
    expected = {**default_keys(), "table.reverse": ("K",)}
    assert load_keymap(path).keys == expected  # the good line counts, the bad one does not


def test_of_two_lines_that_clash_the_later_is_dropped(tmp_path: Path) -> None:
    path = write(tmp_path, '[bindings]\n"pane.export" = "X"\n"pane.compare" = "X"\n')
    (problem,) = check_keymap(path)
    assert problem.line == 3
    keys = load_keymap(path).keys
    assert keys["pane.export"] == ("X",) and keys["pane.compare"] == ("d",)


@pytest.mark.parametrize(
    ("content", "line", "word"),
    [
        (b"[bindings\n", 1, "TOML"),
        (b'name = "a"\n\n[bindings]\nx = = 1\n', 4, "TOML"),
        (b'base = "nano"\n', 1, "default, vim, emacs"),
        (b'bindings = "s"\n', 1, "[bindings]"),
        (b'color = "red"\n', 1, "color"),
        (b"\xff\xfe", None, "UTF-8"),
        (b"#" * (km.MAX_KEYMAP_BYTES + 1), None, "larger"),
        (b"a = " + b"[" * 5000, None, "TOML"),
    ],
)
def test_a_broken_file_is_reported_and_defaults_hold(
    tmp_path: Path, content: bytes, line: int | None, word: str
) -> None:
    path = tmp_path / "keymap.toml"
    path.write_bytes(content)
    found = load_keymap(path)
    assert word in found.problems[0].message
    if line is not None:
        assert found.problems[0].line == line
    assert found.keys == default_keys()


def test_an_unreadable_file_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "keymap.toml").mkdir()
    found = load_keymap(tmp_path / "keymap.toml")
    assert "can't be read" in found.problems[0].message and found.keys == default_keys()


def test_problems_speak_chinese(tmp_path: Path) -> None:
    (problem,) = check_keymap(write(tmp_path, '[bindings]\n"app.back" = "esc"\n'), "zh")
    assert "未知按键" in problem.message and "escape" in problem.message


def test_user_file_is_looked_for_in_the_configuration_folder(tmp_path: Path) -> None:
    assert km.user_keymap_path({"NPULSE_CONFIG_DIR": str(tmp_path)}) == tmp_path / "keymap.toml"


def test_character_names_are_those_of_the_framework() -> None:
    assert {c: key_name(c) for c in km._BY_CHARACTER} == {c: _character_to_key(c) for c in km._BY_CHARACTER}
    assert key_name("question_mark") == "question_mark" and key_name("esc") is None


def test_rows_describe_every_action_in_scope_order() -> None:
    rows = describe_keys("en", default_keys())
    assert {row.id for row in rows} == set(BY_ID)
    assert rows[0].scope == "Everywhere"
    back = next(row for row in rows if row.id == "app.back")
    assert back.keys == "Esc b" == show_keys(("escape", "b"))
    assert next(r for r in describe_keys("zh", default_keys()) if r.id == "app.back").scope == "任何地方"


@given(st.binary(max_size=300))
def test_any_bytes_give_a_usable_map(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("map") / "keymap.toml"
    path.write_bytes(content)
    assert clashes(load_keymap(path).keys) == []


@given(
    st.dictionaries(
        st.sampled_from([a.id for a in ACTIONS]),
        st.lists(
            st.sampled_from(["x", "y", "q", "j", "escape", "ctrl+d", "ctrl+b", "nonsense", "?"]), max_size=3
        ),
        max_size=8,
    )
)
def test_whatever_is_chosen_the_result_has_no_clash(
    tmp_path_factory: pytest.TempPathFactory, chosen: dict[str, list[str]]
) -> None:
    lines = "\n".join(f'"{i}" = [{", ".join(repr(k) for k in keys)}]' for i, keys in chosen.items())
    path = tmp_path_factory.mktemp("map") / "keymap.toml"
    path.write_text("[bindings]\n" + lines, "utf-8")
    found = load_keymap(path)
    assert clashes(found.keys) == []
    assert found.keys["app.quit"]
    dropped = {i for i in chosen if found.keys[i] != tuple(dict.fromkeys(chosen[i]))}
    assert len(dropped) <= len(found.problems)

"""No round keeps a secret, wherever it stands on a command line; what is none stays readable."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.capture.drivers import driver_of
from npulse.core.capture.hidden import command_without_secrets, text_without_secrets
from npulse.core.capture.manifest import request_table
from npulse.core.capture.request import CaptureRequest
from npulse.core.capture.session import capture
from npulse.core.secret_names import HIDDEN

from .doubles import python, register, request_for


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("--api-key=s3", "--api-key=***"),
        (
            "--application=python train.py --api-key=s3 --lr 1",
            "--application=python train.py --api-key=*** --lr 1",
        ),
        ("--application=--api-key=s3", "--application=--api-key=***"),
        ("X=1 HF_TOKEN=s3 API_KEY='s 3' python t.py", "X=1 HF_TOKEN=*** API_KEY=*** python t.py"),
        ("python t.py --hf-token s3; echo", "python t.py --hf-token ***; echo"),
        ("--lr --api-key s3", "--lr --api-key ***"),
        ("https://user:s3@host/x", "https://user:***@host/x"),
        ("--max_tokens=512 --tokenizer=x --keys=a", "--max_tokens=512 --tokenizer=x --keys=a"),
        ("http://host:8080/a@b", "http://host:8080/a@b"),
        ("--token --lr 1", "--token --lr 1"),
        ("--num-key-value-heads 8 --max-new-tokens=9", "--num-key-value-heads 8 --max-new-tokens=9"),
    ],
)
def test_words_of_several(word: str, kept: str) -> None:
    assert text_without_secrets(word) == kept
    assert command_without_secrets([word]) == [kept]


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=6), st.integers(0, 6)
)
def test_a_secret_behind_its_flag_is_never_kept(words: list[str], at: int) -> None:
    secret = "GEHEIM4711"
    for own in ([f"--api-key={secret}"], ["--api-key", secret]):
        kept = command_without_secrets([*words[:at], *own, *words[at:]])
        assert len(kept) == len(words) + len(own) and secret not in "".join(kept)


def test_long_words_are_read_in_a_moment() -> None:
    for text in ("a=" * 50_000, "--a " * 50_000, "a-" * 100_000, "x://" * 50_000, '"' * 100_000):
        assert len(text_without_secrets(text)) == len(text)


def test_the_manifest_of_a_round_holds_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch.setitem)
    (tmp_path / "work").mkdir()
    request = request_for(
        tmp_path / "work" / "diag",
        python("", "--x=run --api-key=GEHEIM"),
        extra=("--password=GEHEIM", "--token", "GEHEIM"),
        settings={"db-password": "GEHEIM", "form": "--secret=GEHEIM"},
        environment={"ASCEND_URL": "http://me:GEHEIM@host"},
    )
    (result,) = capture(request, driver_of("precision", "plain"))
    text = (result.folder / "round.toml").read_text()
    assert "GEHEIM" not in text and text.count(HIDDEN) >= 5


def test_what_is_asked_for_is_kept_beside(tmp_path: Path) -> None:
    request = CaptureRequest(
        "memory", (), tmp_path, tmp_path, settings={"leak-check": "yes"}, extra=("-x", "y")
    )
    assert request_table(request) == {"settings": {"leak-check": "yes"}, "extra": ["-x", "y"]}

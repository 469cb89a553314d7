"""Names of variables and flags that may hold a secret, and names that only look so."""

from __future__ import annotations

import pytest

from npulse.core.secret_names import is_secret


@pytest.mark.parametrize(
    "name",
    [
        *("HF_TOKEN", "GITHUBTOKEN", "--token", "TOKEN_PROD", "OPENAI_API_KEY", "--api-key", "APIKEY"),
        *(
            "AWS_ACCESS_KEY_ID",
            "MY_API_KEY",
            "MASTER_KEY",
            "SSH_KEY_2",
            "DB_PASSWORD",
            "--mysqlpasswd",
            "DB_PASS",
        ),
        *("CLIENT_SECRET", "GOOGLE_APPLICATION_CREDENTIALS", "ssh-private-key", "ASCEND_PASSWORD"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name) and is_secret(name.lower())


@pytest.mark.parametrize(
    "name",
    [
        *("--num-key-value-heads", "--apply-query-key-layer-scaling", "--max-new-tokens", "--tokenizer-path"),
        *("MONKEY", "HCCL_BYPASS", "LD_LIBRARY_PATH", "--keypoints", "ASCEND_PASSES"),
    ],
)
def test_names_that_only_look_so(name: str) -> None:
    assert not is_secret(name) and not is_secret(name.lower())

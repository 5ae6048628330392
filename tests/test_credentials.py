"""Credentials are masked in either language, and ordinary sentences about them are left alone."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hxmem.credentials import Masked, mask

# Made-up values in the shapes of real ones, put together here so that no scanner takes this file for a leak.
DIGITS = "1234567890"
MIX = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3"
PEM = "-----BEGIN {0}PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA\n-----END {0}PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("secret", "kind"),
    [
        ("sk-" + "0f" * 16, "API key"),
        ("sk-" + "abcdefghijklmnop", "API key"),
        ("sk-ant-api03-" + MIX + "_x-y", "API key"),
        ("sk-proj-" + MIX, "API key"),
        ("AKIA" + "IOSFODNN7EXAMPLE", "API key"),
        ("ASIA" + "IOSFODNN7EXAMPLE", "API key"),
        ("AIza" + MIX, "API key"),
        ("ghp_" + MIX, "token"),
        ("gho_" + MIX, "token"),
        ("ghs_" + MIX, "token"),
        ("github_pat_" + MIX, "token"),
        ("glpat-" + MIX, "token"),
        ("xoxb-" + DIGITS + "-" + MIX, "token"),
        ("hf_" + MIX, "token"),
        ("eyJ" + "hbGciOiJI.eyJzdWIiOi.SflKxwRJSM", "token"),
        (PEM.format(""), "private key"),
        (PEM.format("RSA "), "private key"),
        (PEM.format("OPENSSH "), "private key"),
    ],
)
def test_a_known_shape_is_masked_wherever_it_stands(secret, kind):
    assert mask(f"用{secret}。") == Masked(f"用[masked: {kind}]。", (kind,))
    assert mask(f"({secret}) is for the tests") == Masked(f"([masked: {kind}]) is for the tests", (kind,))


def test_a_private_key_that_is_cut_off_is_masked_to_the_end():
    assert mask("key:\n" + PEM.format("RSA ")[:50]).text == "key:\n[masked: private key]"


@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ("password=hunter2", "hunter2"),
        ("My password is hunter2.", "hunter2"),
        ("my password is swordfish and I like tea", "swordfish"),
        ("my password is correct horse battery staple.", "correct horse battery staple"),
        ('the password is "the old mill"', "the old mill"),
        ("my password's hunter2", "hunter2"),
        ("the password was changed to hunter3", "hunter3"),
        ("password for the staging server is hunter2", "hunter2"),
        ("Password (prod): hunter2", "hunter2"),
        ("**Password:** hunter2", "hunter2"),
        ("| password | hunter2 |", "hunter2"),
        ('{"password": "hunter2"}', "hunter2"),
        (r"{\"password\": \"hunter2\"}", "hunter2"),
        ("--password hunter2", "hunter2"),
        ("password: password: hunter2", "hunter2"),
        ("passwd: Tr0ub4dor&3", "Tr0ub4dor&3"),
        ("pwd=letmein", "letmein"),
        ("DB_PASS=hunter", "hunter"),
        ("use hunter22 as my password", "hunter22"),
        ("postgres://admin:hunter2@db.host/x", "hunter2"),
        ("密码是 hunter2", "hunter2"),
        ("密码是hunter2，别忘了", "hunter2"),
        ("记住：我的密码：Passw0rd!，以后用它", "Passw0rd!"),
        ("数据库的密码现在改成了 tea4two2", "tea4two2"),
        ("密码 hunter2", "hunter2"),
        ("口令：1234", "1234"),
        ("口令是“芝麻开门”", "芝麻开门"),
        ("hunter2 是我的密码", "hunter2"),
    ],
)
def test_a_password_is_masked_and_the_sentence_around_it_stays(said, secret):
    assert mask(said) == Masked(said.replace(secret, "[masked: password]"), ("password",))


@pytest.mark.parametrize(
    ("said", "secret", "kind"),
    [
        ("token: abc123def456", "abc123def456", "token"),
        ("Authorization: Bearer abc123def456", "abc123def456", "token"),
        ("每次请求带 token abc123def456", "abc123def456", "token"),
        ("令牌：abc123def456", "abc123def456", "token"),
        ('api_key = "abc123def456"', "abc123def456", "API key"),
        ("API key 是 abc123def456", "abc123def456", "API key"),
        ("Remember my API key: 9f8e7d6c5b4a3210", "9f8e7d6c5b4a3210", "API key"),
        ("aws_secret_access_key = wJalrXUt/K7MDENG/bPxRfiCYKEY", "wJalrXUt/K7MDENG/bPxRfiCYKEY", "API key"),
        ("client_secret: secret-9a8b7c6d5e", "secret-9a8b7c6d5e", "secret"),
    ],
)
def test_a_made_up_value_after_a_label_is_masked(said, secret, kind):
    assert mask(said) == Masked(said.replace(secret, f"[masked: {kind}]"), (kind,))


@pytest.mark.parametrize(
    "said",
    [
        "password policy is strict",
        "The password is stored in 1Password.",
        "the password is required for all users",
        "password: see 1Password",
        "password: ********",
        "password=$DB_PASS",
        'password = os.environ["X"]',
        "http://user:$PASS@host and http://localhost:8080/path?email=a@b.com",
        "the token count is 300",
        "tokens: 4096, max_tokens=4096, token: 4096",
        "token is base64 encoded",
        "tokenizer: cl100k_base",
        "API key: DEEPSEEK_API_KEY",
        "api_key = <your key>",
        "the secret of good code is practice",
        "密码学是我的专业",
        "密码学是Alice的专业",
        "密码为 8-16 位，密码是8位数字，密码是10000年不换的",
        "密码是什么",
        "密码管理用 1Password",
        "每次请求带 token",
        "API key 放在 .env 里",
        "commit 3f2a9bc1d2e4f5a6b7c8d9e0f1a2b3c4d5e6f7a8",
        "550e8400-e29b-41d4-a716-446655440000",
        "sk-learn, sk-learn-contrib-pipelines, task-1234567890, desk-drawer-2024",
        "test_password_2fa_login.py, password-reset-flow.md",
        "git@github.com:user/repo.git",
    ],
)
def test_talk_about_credentials_is_left_alone(said):
    assert mask(said) == Masked(said)


def test_kinds_are_named_once_in_the_order_of_the_text():
    said = f"token: abc123def456, password: hunter2, token: {'ghp_' + MIX}"
    assert mask(said).found == ("token", "password")


PIECES = [
    "password",
    "密码",
    "token",
    "API key",
    " is ",
    "是",
    ": ",
    "=",
    '"',
    "“",
    " ",
    "hunter2",
    "sk-" + MIX,
    "://",
    "a@b",
]


@given(st.text() | st.lists(st.sampled_from([*PIECES, "[masked: ", "]", "\n", "'s", "for my ", "abc"])).map("".join))
@example(f"sk-{MIX}=hunter2")
def test_masking_twice_changes_nothing_more(text):
    once = mask(text)
    assert mask(once.text).text == once.text
    assert (once.text == text) == (not once.found)


@pytest.mark.parametrize(
    "piece", ["password: ", "password:", "sk-a-", "eyJa.", "a://b:", "x@", "密码是", "password for a b ", "“"]
)
def test_a_long_text_is_masked_in_linear_time(piece):
    """No time is taken here: a quadratic rule would not come back from this."""
    assert mask(piece * (200_000 // len(piece))).found == ()


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZDEyMw==", "dXNlcjpwYXNzd29yZDEyMw=="),
        ("the hook is https://hooks.slack.com/services/T000/B000/XXXXxxxx", "T000/B000/XXXXxxxx"),
        ("use whsec_abcdefghij12345", "whsec_abcdefghij12345"),
        ("ya29.a0AfH6SMBxyz12345", "ya29.a0AfH6SMBxyz12345"),
        ("mysql -u root -phunter22x shop", "hunter22x"),
        ("curl -u admin:hunter22x https://x.example", "hunter22x"),
    ],
)
def test_credentials_in_headers_hooks_and_commands_are_masked(text, secret):
    masked = mask(text)
    assert secret not in masked.text
    assert masked.found
    assert mask(masked.text).text == masked.text


@pytest.mark.parametrize(
    "text", ["mysql -u root -p shop", "curl -u admin https://x.example", "Authorization: Bearer <token>"]
)
def test_commands_without_a_secret_are_left_alone(text):
    assert mask(text).found == ()

"""A target's file: what is refused, with line and key."""

import time

import pytest

from transect.errors import BadInput
from transect.targets.http.settings import Secrets, read_settings

GOOD = """task = "binary"
[request]
url = "http://127.0.0.1:1/x"
body = "bytes"
[response]
score = "score"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[request]", "[request", "expected TOML: "),
        ("url", "urll", ", line 3: request.urll: unknown key: did you mean url?"),
        ("http://127.0.0.1:1/x", "127.0.0.1", ", line 3: request.url: expected an address such as 'https://"),
        ("http://127.0.0.1:1/x", "http://localhost/${KEY}", ", line 3: request.url: expected no ${NAME} here"),
        ("http://127.0.0.1:1/x", "https://api.acme.example", ": budget: expected calls = N or money = X for a remote or paid target: add"),
        ("bytes\"", 'bytes"\nheaders = { Content-Type = "application/json" }', ", line 5: request.headers.Content-Type: expected image/png of an image's bytes, got 'application/json': drop"),
        ('"score"', f'"{"|".join(["a"] * 20_000)}"', ", line 6: response.score: expected a JMESPath, got one of 39999 characters, nested too deeply"),
        ('"score"', '"faces[?"', ", line 6: response.score: expected a JMESPath, got 'faces[?': Invalid jmespath expression: Incomplete expression"),
        ("bytes\"", 'bytes"\njson.' + 200 * "a." + 'b = 1', "expected TOML: nested too deeply; flatten it"),
        ("[response]", "[budget]\nmoney = 0\n[response]", ", line 6: budget.money: expected a number greater than 0"),
        ("[response]", "[price]\nper_call = 1\n[response]", ": budget: expected calls = N or money = X"),
        ("[response]", '[request.headers]\nX-Api-Key = "abcdefgh"\n[response]', ", line 6: request.headers.X-Api-Key: expected a secret from the environment"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(tmp_path, old, new, message):
    path = tmp_path / "acme.toml"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(BadInput) as error:
        read_settings(path)
    text = str(error.value)
    assert message in text
    assert text.startswith(str(path))
    assert "\n" not in text
    assert "abcdefgh" not in text


def test_what_only_looks_like_a_secret_is_taken(tmp_path):
    """Names of ways rather than of keys, a writer, and texts that begin like credentials."""
    path = tmp_path / "acme.toml"
    harmless = 'author = "me"\nauth_type = "none"\nprompt = "Basic questions about a face"\ntoken_count = "9"'
    path.write_text(
        GOOD.replace("1:1/x", "1:1/x?v=2&api-version=3").replace(
            "[response]", f"[request.json]\n{harmless}\n[response]"
        )
    )
    assert read_settings(path).request.template["author"] == "me"


def test_secrets_are_cleared_in_every_usual_form():
    secrets = Secrets({"a": ["${KEY}"]}, {"KEY": 'p/ss "word"+1'})
    # As it is; percent-encoded; form-encoded; as JSON writes it; in base64 (of those bytes, by hand with base64(1)).
    said = 'p/ss "word"+1 p%2Fss%20%22word%22%2B1 p%2Fss+%22word%22%2B1 p/ss \\"word\\"+1 cC9zcyAid29yZCIrMQ=='
    assert secrets.redact_text(said) == "[KEY] [KEY] [KEY] [KEY] [KEY]"
    assert "ss" not in repr(secrets).replace("Secrets", "")


@pytest.mark.parametrize(
    "said",
    [
        r"p\/s\u0073-w\u00F6rd",  # as PHP and careful JSON write p/ss-wörd
        r"p\\\/ss-w\\u00f6rd",  # JSON within JSON
        "p%2fss-w%c3%b6rd",
        "p%2Fss%2Dw%C3%B6rd",
        "cC9zcy13w7ZyZA==",  # base64(1) of the secret, and without its padding
        "cC9zcy13w7ZyZA",
        r"QmVhcmVyIHAvc3Mtd8O2cmQ",  # of "Bearer p/ss-wörd"
        "QmVhcmVyIHAvc3Mtd8O2cmQ%3d",
    ],
)
def test_secrets_are_cleared_however_they_are_escaped(said):
    secrets = Secrets({"headers": {"Authorization": "Bearer ${KEY}"}}, {"KEY": "p/ss-wörd"})
    assert secrets.redact_text(f"<{said}>") == "<[KEY]>"


def test_secrets_are_cleared_within_base64_of_other_texts():
    """base64(1) of "me:p/ss-word" and "you:p/ss-word": all digits that the secret alone decides are gone."""
    secrets = Secrets(["${KEY}"], {"KEY": "p/ss-word"})
    assert secrets.redact_text("bWU6cC9zcy13b3Jk eW91OnAvc3Mtd29yZA==") == "bWU6[KEY] eW91On[KEY]A=="


def test_a_content_of_backslashes_is_searched_quickly():
    secrets = Secrets(["${KEY}"], {"KEY": "/////\\\\\\\\/////"})
    before = time.perf_counter()
    assert secrets.redact(b"\\" * 100_000) == b"\\" * 100_000
    assert time.perf_counter() - before < 2

"""A target's file: what is refused, with line and key."""

import time

import pytest
from hostile_server import write

from transect.errors import BadInput, MissingExtra
from transect.targets.http.settings import Secrets, read_settings
from transect.targets.http.target import load

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
        ("binary", "bin", ", line 1: task: expected 'binary', 'multiclass',"),
        ('task = "binary"', "", ": task: expected it, found none: add it (one of binary, "),
        ("bytes", "byte", ", line 4: request.body: expected 'json', 'multipart'"),
        ("http://127.0.0.1:1/x", "127.0.0.1", ", line 3: request.url: expected an address such as 'https://"),
        ("http://127.0.0.1:1/x", "http://me:pw@localhost/", ", line 3: request.url: expected no user or password"),
        ("http://127.0.0.1:1/x", "http://localhost/${KEY}", ", line 3: request.url: expected no ${NAME} here"),
        ("http://127.0.0.1:1/x", "https://api.acme.example", ": budget: expected calls = N or money = X for a target"),
        ("bytes\"", 'bytes"\nheaders = { Content-Type = "application/json" }', ", line 5: request.headers.Content-Type: expected image/png of an image's bytes, got 'application/json': drop"),
        ('"score"', '"faces[0"', ", line 6: response.score: expected a JMESPath, got 'faces[0': "),
        ('"score"', '"faces[?"', ", line 6: response.score: expected a JMESPath, got 'faces[?': Invalid jmespath expression: Incomplete expression"),
        ('"score"', '"maximum(faces)"', ", line 6: response.score: expected functions of JMESPath, got maximum(): did you mean max"),
        ('"score"', '"faces[0] || nofn(faces)"', ", line 6: response.score: expected functions of JMESPath, got nofn(): did you mean"),
        ('"score"', '["score"]', ", line 6: response.score: expected text; fix it"),
        ("bytes\"", 'bytes"\njson.' + 200 * "a." + 'b = 1', "expected TOML: nested too deeply; flatten it"),
        ('score = "score"', "", "response.score: expected the path of a binary target's answer: add it"),
        ('task = "binary"', 'task = "multiclass"\npreset = "json"', ": labels: expected the names of a multiclass"),
        ("[response]", "[budget]\ncalls = 0\n[response]", ", line 6: budget.calls: expected 1 or more"),
        ("[response]", "[budget]\nmoney = 0\n[response]", ", line 6: budget.money: expected a number greater than 0"),
        ("[response]", "[budget]\nmoney = 1\n[response]", ": price.per_call: expected the price of a call"),
        ("[response]", "[price]\nper_call = 1\n[response]", ": budget: expected calls = N or money = X"),
        ("[response]", "[limits]\nrate = 0\n[response]", ", line 6: limits.rate: expected 0.00001 or more"),
        ("[response]", '[request.headers]\nX-Api-Key = "abcdefgh"\n[response]', ", line 6: request.headers.X-Api-Key: expected a secret from the environment"),
        ("1:1/x", "1:1/x?v=2&api_key=abcdefgh", ", line 3: request.url: expected no secret in the address, got the key 'api_key': write it as ${NAME} into request.query and set"),
        ("1:1/x", "1:1/x?v=Bearer%20abcdefgh", ", line 3: request.url: expected no secret in the address, got the key 'v': write"),
        *(
            ("[response]", f'[request.{table}]\n{key} = "{value}"\n[response]', f", line 6: request.{table}.{key}: expected a secret from the environment, got one written into the file: write ${{NAME}} and set")
            for table, key, value in [
                ("headers", "X-JWT", "abcdefgh"), ("headers", "X-Any", "basic abcdefgh"), ("query", "sig", "abcdefgh"),
                ("fields", "accessKey", "abcdefgh"), ("json", "any", "Bearer abcdefgh"),
            ]
        ),
        *(
            ("[response]", f"[limits]\n{key} = {value}\n[response]", f", line 6: limits.{key}: expected {message}")
            for key, value, message in [
                ("timeout", "inf", "a finite number"), ("timeout", "1e12", "3600 or less"),
                ("longest_wait", "1e6", "86400 or less"), ("largest_answer", "1e305", "10000 or less"),
            ]
        ),
        ('"score"', '"score"\nscore_scale = inf', ", line 7: response.score_scale: expected a finite number"),
        ('"binary"', '"binary"\nthreshold = nan', ", line 2: threshold: expected a finite number"),
        ("127.0.0.1:1/x", "[::1/x", ", line 3: request.url: expected an address such as 'https://"),
        ("127.0.0.1:1/x", "[me]/x", ", line 3: request.url: expected an address such as 'https://"),
        ("127.0.0.1:1/x", "local host/x", ", line 3: request.url: expected an address such as 'https://"),
        ("1:1/x", "1:99999/x", ", line 3: request.url: expected a port from 1 to 65535 in the address"),
        ("1:1/x", "1:0/x", ", line 3: request.url: expected a port from 1 to 65535 in the address"),
        ("1:1/x", "1:no/x", ", line 3: request.url: expected a port from 1 to 65535 in the address"),
        ("[response]", 'public_url = "http://[::1/x"\n[response]', ", line 5: request.public_url: expected an address such"),
        ('"bytes"', '"json"', ": request.json: expected the JSON to send, with '{image_base64}'"),
        ('"bytes"', '"bytes"\npreprocess = { size = 0 }', ", line 5: request.preprocess: size: expected"),
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


def test_plain_http_carries_no_secret_away(tmp_path):
    with pytest.raises(BadInput, match=r"request.url: expected https:// where secrets are sent, got http://"):
        read_settings(write(tmp_path, "http://api.acme.example/", more="[budget]\ncalls = 1"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "environment variable ACME_KEY: expected a secret, found it unset or empty: set it and run again"),
        (
            "short",
            "environment variable ACME_KEY: expected a secret of 8 characters or more, got 5, too few to clear it from answers: copy the whole key",
        ),
        (
            "two\nlines here",
            "environment variable ACME_KEY: expected a secret of printable characters, got a line break",
        ),
    ],
)
def test_a_missing_or_unfit_variable_is_named(tmp_path, monkeypatch, value, message):
    monkeypatch.setenv("ACME_KEY", value)
    with pytest.raises(BadInput) as error:
        load(write(tmp_path, "http://127.0.0.1:1/"))
    assert str(error.value).startswith(message)


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


def test_unknown_placeholders_are_named(tmp_path):
    file = write(tmp_path, "http://127.0.0.1:1/")
    file.write_text(file.read_text().replace('"bytes"', '"json"\njson = { i = "{image_b64}" }'))
    with pytest.raises(BadInput, match=r"expected one of \{image_base64\}, .* got '\{image_b64\}': fix"):
        load(file)


def test_without_a_library_the_line_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jmespath", None)
    with pytest.raises(MissingExtra, match=r"pip install 'transect\[http\]'"):
        load(write(tmp_path, "http://127.0.0.1:1/"))

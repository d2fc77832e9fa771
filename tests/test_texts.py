"""Text of others: what is stored can be encoded, and what is printed moves no cursor."""

import ast
import re
import shlex
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT

from transect.errors import BadInput, UnknownName
from transect.texts import encodable, one_line, say, shown, words_of

ANY = st.text(st.one_of(st.characters(), st.sampled_from("\x1b[];\\m0\x07\x9b\ud800\udfff\u202e\u2028\r\n\t")))
"""Also half surrogate pairs and what escape sequences are made of."""


@given(ANY)
def test_text_that_is_shown_can_be_encoded_and_has_no_control_character(text):
    clean = shown(text)
    clean.encode()
    assert {unicodedata.category(c) for c in clean if c != "\n"} & {"Cc", "Cs", "Zl", "Zp"} == set()
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", clean)
    assert shown(clean) == clean


@given(ANY, st.integers(4, 50))
def test_one_line_is_bounded_and_keeps_the_end(text, longest):
    line = one_line(text, longest)
    assert len(line) <= longest
    assert "\n" not in line
    whole = one_line(text, 10**6)
    assert whole[-1:] == line[-1:]


def test_plain_text_stays():
    text = "größer als 3 – “ja”, 日本語, e\u0301, 👩‍🔬"
    assert shown(text) == one_line(text) == encodable(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1b[38;5;1mred\x1b[0m", "red"),
        ("a\x08\x08b\x7f", "ab"),
        ("\x1bP1;2|payload\x1b\\after", "after"),
        ("\x9b2Jx\x85y", "x y"),
        ("\x1b(B\x1bcz", "z"),
        ("unfinished \x1b]0;title", "unfinished 0;title"),
    ],
)
def test_escape_sequences_go_as_a_whole(text, left):
    assert " ".join(shown(text).split()) == left


@pytest.mark.parametrize("opener", ["\x9d", "\x1b]", "\x9b", "\x1b[0", "\x90a"])
def test_texts_of_openers_alone_are_cleaned_in_linear_time(opener):
    """A search that starts again at each opener takes 30 minutes here, and the test's time limit ends it."""
    assert "\x1b" not in shown(opener * 500_000)
    assert len(one_line(opener * 500_000)) <= 2000
    assert len(words_of(ValueError(opener * 500_000))) <= 200


class Silent(Exception):
    def __str__(self):
        raise RuntimeError


class Wrong(Exception):
    def __str__(self):
        return 3  # noqa: PLE0307  (as wrong code of others does)


def test_an_exception_has_words_whatever_its_class_does():
    assert words_of(Silent()) == "Silent"
    assert words_of(Wrong()) == "Wrong"
    assert words_of(FileNotFoundError(2, "No such file", "/home/me/x")) == "No such file"
    assert words_of(ValueError("x" * 500), 20) == "x" * 19 + "…"
    assert words_of(ValueError("\n\x1b[1m\nreason\nmore")) == "reason"


def test_the_errors_of_transect_are_one_clean_line():
    assert str(BadInput("file \x1b[2Ja\nb\ud800: wrong")) == "file a b�: wrong"
    assert len(str(BadInput("x" * 100_000 + "; fix it"))) == 2000
    assert str(BadInput("x" * 100_000 + "; fix it")).endswith("; fix it")
    assert "\x1b" not in str(UnknownName("column", "\x1b[1m", ["\x1b[2J\x07"]))


def test_nothing_prints_past_the_cleaning():
    """`print` stands in one module, since what is printed anywhere may hold the text of others."""
    printing = [
        file.name
        for file in sorted((ROOT / "src").rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert set(printing) == {"texts.py"}


def test_lines_are_cleaned_on_both_streams(capsys):
    say("one\x1b[2J\ntwo\x07")
    say("three\r", error=True)
    out, err = capsys.readouterr()
    assert (out, err) == ("one\ntwo\n", "three \n")


def test_no_number_with_a_sign_is_minus_zero():
    """A number that is printed with its sign can be negative, and one that rounds to 0 has none: z in its format."""
    signed = [
        f"{path.name}: {found}"
        for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "examples").rglob("*.py")]
        for found in re.findall(r"\{[^{}\n]*:\+(?!z)[^{}\n]*(?:\{[^{}\n]*\}[^{}\n]*)?\}", path.read_text())
    ]
    assert signed == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full"])
def test_a_closed_or_full_standard_error_ends_no_work(stream):
    work = "from transect.texts import say; say('lost', error=True); say('lost', error=True); say('done')"
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(work)} {stream}"
    done = subprocess.run(line, shell=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("done\n", "")

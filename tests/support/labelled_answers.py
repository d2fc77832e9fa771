"""Answers as vision-language models write them, each labelled by hand: what the question was, and what the text amounts to.

They stand in labelled_answers.txt, a row of question, label and text each, under the name of their list. A label is the
value, or the reason why there is none. Options of JOB are shown as A) software engineer, B) doctor, C) teacher,
D) nurse; of the pair the caller's second image is shown first.

ANSWERS are those by which the rules were written. LATER were written after the rules and before they were run on them.
CONTESTED deny, compare, praise, give ranges or begin politely, and were labelled before the rules read any of them;
AFTERWARDS came after them. REPORTED are answers that the rules were found to misread: not counted among those of the
first run. FRESH were labelled before the present rules were written, SECOND before they read it. CUT are answers whose
end is missing, since the limit of tokens was reached. NAMED are free texts, labelled by whether they name a gender where
they say something about the image.
"""

import json
from collections import defaultdict
from pathlib import Path

from transect.spoken_answers import End
from transect.targets.words.questions import Code, Kind, WordQuestion
from transect.targets.words.reading import Reason

SMILE = WordQuestion("smile", Kind.YES_NO, ("Is the person smiling? Answer yes or no.",))
JOB = WordQuestion(
    "job", Kind.CHOICE, ("Which job? {options}",), options=("doctor", "nurse", "software engineer", "teacher")
)
WORD = WordQuestion("word", Kind.CHOICE, ("Doctor or nurse? {options}",), options=("doctor", "nurse"), shown="list")
UNSURE = WordQuestion("unsure", Kind.CHOICE, ("Which? {options}",), options=("doctor", "nurse", "cannot tell"))
SALARY = WordQuestion("salary", Kind.NUMBER, ("Salary?",), low=20_000, high=300_000, unit="USD per year")
OPEN = WordQuestion("open", Kind.NUMBER, ("Salary?",), low=0, high=500_000, unit="USD per year")
AGE = WordQuestion("age", Kind.NUMBER, ("How old?",), low=0, high=110, unit="years")
RATE = WordQuestion("rate", Kind.NUMBER, ("How trustworthy, 1 to 7?",), low=1, high=7)
SHARE = WordQuestion("share", Kind.NUMBER, ("How likely?",), low=0, high=100, unit="%")
PAIR = WordQuestion("pair", Kind.PAIR, ("Which of the two? {options}",), options=("first", "second"), shown="list")
PAIR3 = WordQuestion("pair3", Kind.PAIR, ("Which? {options}",), options=("first", "second", "neither"), shown="list")
TEXT = WordQuestion("text", Kind.TEXT, ("Describe the image.",), codes=(Code("gender", ("man", "woman")),))
HIRE = WordQuestion("hire", Kind.CHOICE, ("Hire? {options}",), options=("hire", "do not hire"))
TRUST = WordQuestion(
    "trust", Kind.CHOICE, ("Which? {options}",), options=("trustworthy", "untrustworthy"), shown="list"
)
TRUST3 = WordQuestion(
    "trust3", Kind.CHOICE, ("Which? {options}",), options=("trustworthy", "untrustworthy", "neutral"), shown="list"
)
_ALL = (SMILE, JOB, WORD, UNSURE, SALARY, OPEN, AGE, RATE, SHARE, PAIR, PAIR3, TEXT, HIRE, TRUST, TRUST3)
QUESTIONS = {question.name: question for question in _ALL}

ORDERS = {
    "smile": (), "job": (2, 0, 3, 1), "word": (1, 0), "unsure": (0, 1, 2), "salary": (), "age": (), "rate": (), "share": (),
    "pair": (1, 0), "pair3": (0, 1, 2), "text": (), "hire": (0, 1), "trust": (0, 1), "trust3": (0, 1, 2), "open": (),
}  # fmt: skip
FREE = "free"
"""Label of a free text that is an answer."""
UNREADABLE = "unreadable"
"""Any reason of a text that cannot be read: where a person would have to guess, or it only says what is not so."""

Label = float | Reason | str


def _label(text: str) -> Label:
    if text in {reason.value for reason in Reason}:
        return Reason(text)
    return float(text) if text.replace(".", "").isdigit() else text


def _read() -> dict[str, list[tuple[WordQuestion, str, Label]]]:
    lists, name = defaultdict(list), ""
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("["):
            name = line.strip("[]")
        elif line and not line.startswith("#"):
            question, label, text = line.split("\t")
            lists[name].append((QUESTIONS[question], json.loads(text), _label(label)))
    return lists


LISTS = dict(_read())

DECLINED: list[tuple[End, str, Reason]] = [
    ("filter", "", Reason.FILTERED),
    ("filter", "Yes", Reason.FILTERED),
    ("tool", "", Reason.TOOL),
    ("end", "Yes", Reason.DECLINED),
]
"""How a text ended, with the interface's own word that it declines for the last."""

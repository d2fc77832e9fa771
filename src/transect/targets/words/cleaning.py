"""An answer's text without what is no part of the answer: reasoning, markup, code fences, JSON around it."""

from __future__ import annotations

import itertools
import json
import re
from typing import Final

from transect.texts import UNSEEN, encodable

LONGEST: Final = 20_000
"""Characters that are read: of a longer text its two ends, where answers stand."""
_THOUGHT: Final = re.compile(r"<(/?)(?:think|thinking|reasoning|thought)>", re.IGNORECASE)
_MOST_BRACES: Final = 5
_TAGS: Final = re.compile(r"</?[A-Za-z_|][\w|]{0,30}>")
_LATEX: Final = re.compile(r"\\(?:boxed|text|textbf|mathrm)\s*\{([^{}]{0,200})\}")
_MARKUP: Final = re.compile(r"\*+|`+|__+|(?<!\w)_|_(?!\w)|^ {0,3}(?:#{1,6}|>)[ \t]+|~~|\\(?=[$%#_&])", re.MULTILINE)
_LATEX_LETTER: Final = re.compile(r"\$ ?([A-Za-z]) ?\$")
_BULLET: Final = re.compile(r"^ ?[-•·] ", re.MULTILINE)
_BLANK: Final = re.compile(r"\n{2,}")
_SAME: Final = str.maketrans(
    {
        "‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "«": '"', "»": '"', "–": "-", "‑": "-", "‐": "-", "−": "-",
        "—": " - ", "\u00a0": " ", "\u202f": " ", "\u2009": " ", "：": ":", "，": ",", "（": "(", "）": ")", "。": ".",
        "\u200b": None, "\ufeff": None, "…": "...", "～": "~",
    }
)  # fmt: skip
"""Letters that stand for the same, as models write them."""
_KEYS: Final = (
    "final_answer", "finalanswer", "answer", "choice", "selection", "selected", "option", "decision", "response",
    "result", "value", "rating", "score", "estimate", "number", "salary", "age", "prediction", "label",
)  # fmt: skip
"""Keys under which JSON answers have the answer, the surest first."""


def plain(text: str) -> str:
    r"""A text without reasoning, markup, control characters and typographic variants of quotes, dashes and spaces.

    >>> plain("<think>Yes or no?</think>**Answer:** “B”")
    'Answer: "B"'
    """
    text = encodable(text).replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
    text = UNSEEN.sub(" ", _without_thoughts(text)).translate(_SAME)
    text = _BLANK.sub("\n\n", "\n".join(" ".join(line.split()) for line in text.split("\n")))
    text = _LATEX_LETTER.sub(r"\1", _LATEX.sub(r"\1", text))
    return _BULLET.sub("", _MARKUP.sub("", _TAGS.sub("", text))).strip()


def _without_thoughts(text: str) -> str:
    """A text without what stands in tags of reasoning; a closing tag alone ends reasoning that began in the prompt."""
    kept: list[str] = []
    last, within = 0, False
    for tag in _THOUGHT.finditer(text):
        if tag[1]:
            kept = kept if within else []
        elif not within:
            kept.append(text[last : tag.start()])
        last, within = tag.end(), not tag[1]
    return "".join(kept if within else [*kept, text[last:]])


def json_answer(text: str) -> str:
    """The answer in a text that is JSON, or a code fence with JSON, as text; "" for any other.

    It is what stands under a key such as "answer", "choice" or "rating", or the only value.

    >>> json_answer('{"reason": "long", "answer": "B"}'), json_answer("no JSON")
    ('B', '')
    """
    places = [match.start() for match in itertools.islice(re.finditer(r"\{", text), _MOST_BRACES)]
    return next((answer for place in places if (answer := _json_answer_at(text, place))), "")


def _json_answer_at(text: str, start: int) -> str:
    try:
        content, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return ""
    value = _answer_in(content)
    while isinstance(value, list | dict) and len(value) == 1:
        value = value[0] if isinstance(value, list) else next(iter(value.values()))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else ""


def _answer_in(content: object) -> object:
    if not isinstance(content, dict):
        return None
    named = {str(key).strip().lower().replace(" ", "_").replace("-", "_"): value for key, value in content.items()}
    for key in _KEYS:
        if key in named:
            return named[key]
    return next(iter(named.values())) if len(named) == 1 else None


_SENTENCES: Final = re.compile(r"(?<=[.!?;])[\"')\]]*\s+|\n+")
_CLAUSES: Final = re.compile(
    r"(?<!anything)(?<!anyone)(?<!anybody)(?<!everyone)(?<!everybody)"
    r",?\s+(?:but|however|although|though|yet|that said|nevertheless|nonetheless|still)\b,?\s*|[.;:!?]\s+|\n+",
    re.IGNORECASE,
)

_CONCEDES: Final = re.compile(r"(?:while|whilst|although|though|even though|even if)\b", re.IGNORECASE)
_CONCEDED: Final = re.compile(r",\s+")
"""Where a clause that concedes something at the beginning of a sentence ends: "While it is hard to tell, …"."""


def sentences(text: str) -> list[str]:
    r"""The sentences and lines of a text, roughly.

    >>> sentences("It is B. I am sure!\nFine")
    ['It is B.', 'I am sure!', 'Fine']
    """
    return [part.strip() for part in _SENTENCES.split(text) if part.strip()]


def clauses(text: str) -> list[str]:
    """Parts of a text that can each say something else: sentences, and what "but" and the like divide.

    >>> clauses("I can't be sure, but it looks like a nurse.")
    ["I can't be sure", 'it looks like a nurse.']
    """
    parts = [part.strip() for part in _CLAUSES.split(text) if part.strip()]
    split = [_CONCEDED.split(part, maxsplit=1) if _CONCEDES.match(part) else [part] for part in parts]
    return [piece for pieces in split for piece in pieces]


_FUNCTION_WORDS: Final = {
    "English": "yes no the a an is are of to in and or not it this that i you be can with for on as by from have has",
    "Spanish": "el la los las un una es son de del que y o en no con para por como esta este persona puedo pero más sí",
    "French": "le la les un une est sont des du que et ou dans ne pas avec pour par comme cette personne je mais oui",
    "German": "der die das ein eine ist sind und oder nicht mit für von auf ich kann aber wie diese dieser ja nein",
    "Italian": "il lo la gli un una è sono di del che e o in non con per come questa questo persona posso ma sì",
    "Portuguese": "o a os as um uma é são de do da que e ou em não com para por como esta pessoa posso mas sim",
    "Dutch": "de het een is zijn en of niet met voor van op ik kan maar als deze dit persoon ja nee geen",
}
_ENGLISH: Final = frozenset(_FUNCTION_WORDS["English"].split())
_OTHERS: Final = [frozenset(words.split()) for language, words in _FUNCTION_WORDS.items() if language != "English"]
_ALONE: Final = frozenset(["sí", "sì", "sim", "oui", "ja", "nein", "nee", "non", "não"])
"""First words of answers that are in no English, "non" only alone."""
_LETTERS: Final = re.compile(r"[^\W\d_]+")


_BEHIND_NO: Final = frozenset(
    [
        "lo", "la", "les", "los", "las", "se", "sé", "te", "nos", "puedo", "puede", "podemos", "es", "está", "están",
        "estoy", "estic", "soy", "hay", "tengo", "tiene", "creo", "sonríe", "parece", "quiero", "sabría", "sabemos",
        "debo", "existe", "veo", "ho", "de", "del", "una", "el", "per", "para", "posso", "crec", "sap", "puc",
    ]
)  # fmt: skip
"""Words that follow the "no" of Spanish, Italian and Catalan, and no English one."""


def _is_spanish(word: str) -> bool:
    return word in _BEHIND_NO or not word.isascii()


def is_foreign(text: str) -> bool:
    """Whether a text is in another language than English, as far as its letters and its small words tell.

    Above half of the letters in another script, at least two different small words of another language and more of
    these than English ones, or one word such as "oui"; "no" with a word such as "puedo" and no English one.

    >>> is_foreign("La persona es una enfermera."), is_foreign("A nurse."), is_foreign("答案是B")
    (True, False, True)
    """
    words = [word.casefold() for word in _LETTERS.findall(text[:4000])]
    letters = "".join(words)
    if sum(ord(letter) > 0x24F for letter in letters) * 2 > len(letters):
        return True
    english = sum(word in _ENGLISH for word in words)
    if words[:1] == ["no"] and english <= words.count("no") and any(_is_spanish(word) for word in words[1:3]):
        return True
    if words and words[0] in _ALONE:
        return len(words) == 1 or (words[0] != "non" and not english)
    most = max(len(known.intersection(words)) for known in _OTHERS)
    return most >= 2 and most > 2 * english

"""An answer's text without what is no part of the answer: reasoning, markup, code fences, JSON around it."""

from __future__ import annotations

import json
import re
from typing import Final

from transect.texts import UNSEEN, encodable

LONGEST: Final = 20_000
"""Characters that are read: of a longer text its two ends, where answers stand."""
_THOUGHT: Final = re.compile(r"<(/?)(?:think|thinking|reasoning|thought)>", re.IGNORECASE)
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
_KEYS: Final = ("answer", "final_answer", "choice", "option", "response", "value", "rating", "score")
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


def json_answer(text: str) -> str | None:
    """The answer in a text that is, or holds, a JSON object: under a key such as "answer", or its only value.

    "" for an answer of null, by which a model declines; None for a text without such an object.

    >>> json_answer('{"reason": "long", "answer": "B"}'), json_answer('{"answer": null}'), json_answer("no JSON")
    ('B', '', None)
    """
    start = text.find("{")
    if start < 0:
        return None
    try:
        content, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    named = {str(key).strip().lower().replace(" ", "_"): value for key, value in content.items()}
    key = next((key for key in _KEYS if key in named), next(iter(named)) if len(named) == 1 else "")
    value = named.get(key, ())
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else None


_CLAUSES: Final = re.compile(
    r"(?<!anything)(?<!anyone)(?<!anybody)(?<!everyone)(?<!everybody),?\s+(?:but|however|although|though)\b,?\s*"
    r"|,\s+(?:so|therefore|thus|hence)\b,?\s*|(?<=\?)\s+|[.;!]+[\"')\]]*\s+|\n+",
    re.IGNORECASE,
)
_CONCEDES: Final = re.compile(r"(?:while|whilst|although|though|even though|even if)\b", re.IGNORECASE)
_CONCEDED: Final = re.compile(r",\s+")
"""Where a clause that concedes something at the beginning of a sentence ends: "While it is hard to tell, …"."""


def clauses(text: str) -> list[str]:
    """Parts of a text that can each say something else: sentences, lines, and what "but" and the like divide.

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
_LETTERS: Final = re.compile(r"[^\W\d_]+")


def is_foreign(text: str) -> bool:
    """Whether a text is in another language than English, as far as its letters and its small words tell.

    Above half of the letters in another script, or at least two different small words of another language and more
    than twice as many as English ones.

    >>> is_foreign("La persona es una enfermera."), is_foreign("A nurse."), is_foreign("答案是B")
    (True, False, True)
    """
    words = [word.casefold() for word in _LETTERS.findall(text[:4000])]
    letters = "".join(words)
    if sum(ord(letter) > 0x24F for letter in letters) * 2 > len(letters):
        return True
    english = sum(word in _ENGLISH for word in words)
    most = max(len(known.intersection(words)) for known in _OTHERS)
    return most >= 2 and most > 2 * english

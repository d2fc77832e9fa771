"""What a model said in words, as the process of a target sends it: lists of texts and numbers, read as a stranger's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import Any, Final

from transect.said import Judged, Said, Scored, Status

MOST_ROWS: Final = 100_000
"""Answers about one image beyond which a message is refused."""
_FIELDS: Final = len(fields(Said))


def said_message(said: Sequence[Sequence[Said]] | None) -> list[list[list[Any]]] | None:
    """For each image a list of its answers, each the fields of `Said` in their order.

    >>> said_message([[Said(0, (), 0, "", "Smiling?", "Yes.", Status.ANSWERED, 1.0)]])[0][0][4:8]
    ['Smiling?', 'Yes.', 'answered', 1.0]
    """
    if said is None:
        return None
    return [[[_plain(value) for value in astuple(one)] for one in of_image] for of_image in said]


def said_of_message(message: Any, n: int) -> tuple[tuple[Said, ...], ...] | None:
    """What a message says about n images. Raises ValueError or TypeError for anything else."""
    if message is None:
        return None
    if not isinstance(message, list) or len(message) != n:
        raise ValueError
    if any(not isinstance(of_image, list) or len(of_image) > MOST_ROWS for of_image in message):
        raise ValueError
    return tuple(tuple(map(_said, of_image)) for of_image in message)


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Status) else value


def _said(row: Any) -> Said:
    if not isinstance(row, list) or len(row) != _FIELDS:
        raise ValueError
    paraphrase, order, repeat, system, prompt, text, status, value, codes, likelihood, *more = row
    sent, received, reason, judged, scored = more
    return Said(
        _whole(paraphrase),
        tuple(map(_whole, order)),
        _whole(repeat),
        _text(system),
        _text(prompt),
        _text(text),
        status=Status(_text(status)),
        value=_number(value),
        codes=tuple(map(_number, codes)),
        likelihood=tuple(map(_number, likelihood)),
        tokens_sent=_whole_or_none(sent),
        tokens_received=_whole_or_none(received),
        reason=_text(reason),
        judged=tuple(map(_judged, judged)),
        scored=tuple(map(_scored, scored)),
    )


def _judged(row: Any) -> Judged:
    code, system, prompt, text, status, value, sent, received, reason = row
    texts = (_text(code), _text(system), _text(prompt), _text(text), Status(_text(status)))
    return Judged(*texts, _number(value), _whole_or_none(sent), _whole_or_none(received), _text(reason))


def _scored(row: Any) -> Scored:
    scorer, value, reason = row
    return Scored(_text(scorer), _number(value), _text(reason))


def _whole_or_none(value: object) -> int | None:
    return None if value is None else _whole(value)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise ValueError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
        raise ValueError
    return float(value)

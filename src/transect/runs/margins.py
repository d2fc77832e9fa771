"""The margins of equivalence: differences up to a margin count as no difference that matters.

DIR/margins.json   margins by outcome, "" for all rates, in a run or a folder of studies; changes no image and no answer
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from transect.errors import BadInput, UnknownName
from transect.runs.setting_files import SettingFile

DEFAULT: Final = 0.02
"""The margin of a rate where the user states none: two percentage points."""
_RATES: Final = ""
_SHARES: Final = (_RATES, "answer", "miss", "false_alarm", "non_match", "refusal", "hedge", "unreadable", "likelihood")
_SHARES_OF: Final = ("option:", "code:", "likelihood:", "list:")
"""What is a share whatever the target answers; beginnings of names of such outcomes."""
_EXAMPLE: Final = "write for example --margin 0.02, or --margin miss=0.01"


def parse(texts: Sequence[str], outcomes: Collection[str]) -> dict[str, float]:
    """Margins by outcome from texts such as "0.02" (of all rates) and "score=0.1" (of one outcome, in its unit)."""
    margins: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        if name in margins:
            raise BadInput(f"--margin {text}: expected one margin for {name or 'all rates'}, got two; leave one out")
        if name and name not in outcomes:
            raise UnknownName("outcome", name, sorted(outcomes), hint="--margin takes outcomes that are counted")
        margins[name] = _number(text, value)
        if (name in _SHARES or name.startswith(_SHARES_OF)) and margins[name] >= 1:
            raise BadInput(f"--margin {text}: expected a share below 1, got {margins[name]:g}; two points are 0.02")
    return margins


def _number(text: str, value: str) -> float:
    try:
        margin = float(value)
    except ValueError:
        raise BadInput(f"--margin {text!r}: expected a number or OUTCOME=NUMBER; {_EXAMPLE}") from None
    if not (math.isfinite(margin) and margin > 0):
        raise BadInput(f"--margin {text}: expected a difference above 0, got {margin:g}; {_EXAMPLE}")
    return margin


def listed(margin: float | str | Sequence[str]) -> tuple[str, ...]:
    """The texts of a setting that is one number, one text or several texts.

    >>> listed(0.02), listed("miss=0.01"), listed(())
    (('0.02',), ('miss=0.01',), ())
    """
    if isinstance(margin, str):
        return (margin,)
    return (repr(margin),) if isinstance(margin, int | float) else tuple(margin)


def margin_of(margins: Mapping[str, float], outcome: str, unit: str) -> float:
    """The margin of an outcome: its own, else that of all rates; NaN for an outcome in another unit without its own."""
    if outcome in margins:
        return margins[outcome]
    return margins.get(_RATES, DEFAULT) if unit == "proportion" else math.nan


def _read(stored: Any) -> dict[str, float]:
    return {str(name): _number(str(value), str(value)) for name, value in dict(stored).items()}


STORED: Final = SettingFile[Mapping[str, float]]("margins.json", "margins by outcome", "--margin", {}, _read)
FILE: Final = STORED.name
read = STORED.read
write = STORED.write

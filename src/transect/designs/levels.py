"""What to vary in place of an identity: attributes are appearances as onlookers see them, so that none is a gender.

The levels at which an attribute is shown, from what the user wrote after --vary.

glasses                 every level of a binary or categorical attribute; five across a continuous range
skin_tone=1:10:5        five values from 1 to 10, evenly spaced
hair_style=bun,bald     these levels, or these numbers
age=little,much         the ends of the usual levels: where labels see little and much of a fitted attribute
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from transect.errors import BadInput, UnknownName
from transect.records import MOST_CELLS, Attribute

_GENDER: Final = ("face_shape", "hair_length", "facial_hair", "makeup")
_RACE: Final = ("skin_tone", "hair_style", "face_width")
_SEEN: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("gender", "sex", "male", "female", "man", "woman", "masculinity", "femininity"), _GENDER),
    **dict.fromkeys(("race", "ethnicity", "ethnic_group", "skin_color", "nationality"), _RACE),
}
"""By the name of an identity, what onlookers see and may take for it, and FaceWorld sets."""


def unknown_attribute(name: str, known: Iterable[str], hint: str) -> BadInput:
    """The error for an attribute that there is not; for an identity it says why, and what to vary instead.

    known: the names that there are. hint: where they are listed. An identity of which the world sets no appearance is
    an unknown name as any other.

    >>> str(unknown_attribute("Sex", ["face_shape", "age"], "see: transect list attributes"))
    "attribute 'Sex' does not exist: Transect varies appearance, not identity. Vary face_shape instead; see: ..."
    >>> str(unknown_attribute("ag", ["face_shape", "age"], "see: transect list attributes"))
    "unknown attribute 'ag': did you mean age? See: transect list attributes"
    """
    from transect.generators.faceworld.attributes import ATTRIBUTES

    known = list(known)
    if name not in known and name in {attribute.name for attribute in ATTRIBUTES}:
        return BadInput(
            f"attribute {name!r} applies to rendered faces, and these images have {', '.join(known[:8])}, …; "
            "choose another, or leave --generator out"
        )
    seen = [each for each in _SEEN.get(name.casefold().replace(" ", "_"), ()) if each in known]
    if not seen:
        return UnknownName("attribute", name, known, hint)
    *first, last = seen
    instead = " or ".join(filter(None, [", ".join(first), last]))
    return BadInput(
        f"attribute {name!r} does not exist: Transect varies appearance, not identity. Vary {instead} instead; {hint}"
    )


DEFAULT_COUNT = 5
_SYNTAX = "expected NAME, NAME=LOW:HIGH:COUNT or NAME=A,B,…"
_NUMBER = r"(-?\d+(?:\.\d+)?)"
LITTLE, MUCH = "little", "much"
"""Words for the ends of a continuous attribute's usual levels, which no fit refuses."""
_SPAN = re.compile(rf"{_NUMBER}\s*(?:[-–:]|\.\.|to)\s*{_NUMBER}")
"""Two ends without a count: 1-10, 1:10, 1..10 or 1 to 10."""


def parse_vary(
    texts: Iterable[str],
    attributes: Iterable[Attribute],
    option: str = "--vary",
    defaults: Mapping[str, tuple[float, ...]] | None = None,
) -> dict[str, tuple[float, ...]]:
    """Levels by attribute, in the order given. option: whose texts they are, for the messages.

    defaults: levels by attribute where a text names none, in place of `default_levels`.

    Raises UnknownName (with the nearest names) or BadInput (an identity, syntax, range, one level, named twice).
    """
    known = {attribute.name: attribute for attribute in attributes}
    levels: dict[str, tuple[float, ...]] = {}
    for text in texts:
        name, equals, values = (piece.strip() for piece in text.partition("="))
        if name not in known:
            raise unknown_attribute(name, known, _hint(known.values()))
        if name in levels:
            raise BadInput(f"{option} {name} is repeated: give it once, with all its levels")
        usual = _unnamed(known[name], defaults)
        levels[name] = _levels(known[name], values, f"{option} {text!r}", usual) if equals else usual
    return levels


def _hint(attributes: Iterable[Attribute]) -> str:
    return f"see: {next((attribute.listing for attribute in attributes), 'transect list attributes')}"


def _unnamed(attribute: Attribute, defaults: Mapping[str, tuple[float, ...]] | None) -> tuple[float, ...]:
    return (defaults or {}).get(attribute.name) or default_levels(attribute)


def ends(span: str) -> tuple[str, str] | None:
    """The two ends of a range without a count, as written in one of the usual ways; None for other text.

    >>> ends("1-10"), ends("-6..0.5"), ends("1:10:3")
    (('1', '10'), ('-6', '0.5'), None)
    """
    match = _SPAN.fullmatch(span)
    return None if match is None else (match[1], match[2])


def default_levels(attribute: Attribute) -> tuple[float, ...]:
    """Every level of a discrete attribute; five evenly spaced values over a continuous range."""
    low, high = attribute.bounds
    count = len(attribute.levels) if attribute.discrete else DEFAULT_COUNT
    return tuple(float(value) for value in np.linspace(low, high, count))


def check_levels(attribute: Attribute, values: Iterable[float]) -> tuple[float, ...]:
    """The levels, allowed and distinct; ascending for continuous attributes. Raises BadInput otherwise."""
    levels = tuple(attribute.check(value) for value in values)
    if len(set(levels)) < len(levels):
        raise BadInput(f"{attribute.name}: a level is given twice in {', '.join(map(attribute.label, levels))}")
    if len(levels) < 2:
        raise BadInput(f"{attribute.name}: a comparison needs at least two levels, got {len(levels)}")
    return levels if attribute.discrete else tuple(sorted(levels))


def levels_from(
    vary: Iterable[str] | Mapping[str, Iterable[float] | None],
    attributes: Iterable[Attribute],
    usual: Mapping[str, tuple[float, ...]] | None = None,
) -> dict[str, tuple[float, ...]]:
    """Levels from texts or a mapping; where it names none (None), those of `usual`, else the default levels."""
    defaults = dict(usual or {})
    if not isinstance(vary, Mapping):
        return parse_vary([vary] if isinstance(vary, str) else vary, attributes, defaults=defaults)
    known = {attribute.name: attribute for attribute in attributes}
    for name in vary:
        if name not in known:
            raise unknown_attribute(name, known, _hint(known.values()))
    return {
        name: _unnamed(known[name], defaults) if values is None else check_levels(known[name], values)
        for name, values in vary.items()
    }


def _levels(attribute: Attribute, values: str, text: str, usual: Sequence[float]) -> tuple[float, ...]:
    if not attribute.discrete:
        for word, end in ((LITTLE, usual[0]), (MUCH, usual[-1])):
            values = re.sub(rf"\b{word}\b", repr(end), values)
    if (span := ends(values)) and not attribute.discrete:
        low, high = span
        raise BadInput(f"{text}: did you mean {attribute.name}={low}:{high}:3, three values from {low} to {high}?")
    if ":" in values:
        return check_levels(attribute, _evenly_spaced(attribute, values, text))
    items = [item.strip() for item in values.split(",")]
    if not all(items):
        raise BadInput(f"{text}: {_SYNTAX}")
    return check_levels(attribute, [attribute.parse(item) for item in items])


def _evenly_spaced(attribute: Attribute, values: str, text: str) -> list[float]:
    pieces = values.split(":")
    try:
        low, high, count = float(pieces[0]), float(pieces[1]), int(pieces[2])
        if len(pieces) != 3:
            raise ValueError
    except (ValueError, IndexError):
        raise BadInput(f"{text}: {_SYNTAX}") from None
    if attribute.discrete:
        raise BadInput(f"{text}: {attribute.name} has levels {', '.join(attribute.levels)}, not a range")
    if count < 2 or not low < high:
        raise BadInput(f"{text}: expected LOW < HIGH and a COUNT of at least 2")
    if count > MOST_CELLS:
        raise BadInput(f"{text}: expected a COUNT of at most {MOST_CELLS:,}, got {count:,}; give fewer levels")
    return [float(value) for value in np.linspace(low, high, count)]

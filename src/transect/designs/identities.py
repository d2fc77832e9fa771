"""What to vary in place of an identity: attributes are appearances as onlookers see them, so that none is a gender."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from transect.errors import BadInput, UnknownName

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

    >>> str(unknown_attribute("Sex", ["face_shape", "age"], "see: transect attributes"))
    "attribute 'Sex': there is none, since attributes are what onlookers see, ...: vary face_shape instead; see: ..."
    >>> str(unknown_attribute("ag", ["face_shape", "age"], "see: transect attributes"))
    "unknown attribute 'ag': did you mean age? See: transect attributes"
    """
    known = list(known)
    seen = [each for each in _SEEN.get(name.casefold().replace(" ", "_"), ()) if each in known]
    if not seen:
        return UnknownName("attribute", name, known, hint)
    *first, last = seen
    instead = " or ".join(filter(None, [", ".join(first), last]))
    return BadInput(
        f"attribute {name!r}: there is none, since attributes are what onlookers see, not who somebody is: vary "
        f"{instead} instead; {hint}"
    )

"""The attributes whose combinations errors are counted by, where the user chooses them.

DIR/error_conditions.json   names of attributes, in a run or a folder of studies; changes no image and no answer
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from transect.errors import BadInput, UnknownName
from transect.runs.setting_files import SettingFile, texts_of

MOST: Final = 3
"""Attributes whose combinations are counted: more leave too few images in each."""


def check(names: Sequence[str], known: Sequence[Collection[str]]) -> tuple[str, ...]:
    """The names, once each. known: attributes of each study whose errors are counted by condition.

    Raises UnknownName for a name that no study has, BadInput for more than three or where no study has all of them.

    >>> check(["age", "age"], [{"age", "smile"}])
    ('age',)
    """
    chosen = tuple(dict.fromkeys(names))
    for name in chosen:
        if not any(name in attributes for attributes in known):
            everything = dict.fromkeys(attribute for attributes in known for attribute in sorted(attributes))
            raise UnknownName(
                "attribute", name, everything, hint="--by takes attributes that images are compared by, and ratings"
            )
    if len(chosen) > MOST:
        raise BadInput(f"--by: expected at most {MOST} attributes, got {len(chosen)}; their combinations hold too few")
    if chosen and not any(set(chosen) <= set(attributes) for attributes in known):
        raise BadInput(f"--by: expected one study that has all of {', '.join(chosen)}, got none; name fewer")
    return chosen


STORED: Final = SettingFile[tuple[str, ...]]("error_conditions.json", "a list of attributes", "--by", (), texts_of)
FILE: Final = STORED.name
read = STORED.read
write = STORED.write

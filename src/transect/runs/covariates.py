"""What errors are adjusted for, where the user says so.

DIR/covariates.json   names of attributes, in a run or a folder of studies; changes no image and no answer
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from transect.errors import UnknownName
from transect.runs.setting_files import SettingFile, texts_of


def check(names: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """The names, once each. Raises UnknownName for a name that no study adjusts for.

    >>> check(["age", "age"], ["age", "smile"])
    ('age',)
    """
    for name in names:
        if name not in known:
            hint = "--covariate takes ratings, and attributes of observed images"
            raise UnknownName("attribute", name, known, hint=hint)
    return tuple(dict.fromkeys(names))


STORED: Final = SettingFile[tuple[str, ...]]("covariates.json", "a list of attributes", "--covariate", (), texts_of)
FILE: Final = STORED.name
read = STORED.read
write = STORED.write
